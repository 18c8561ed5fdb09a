//! Signals for a run: each one that comes is handed on, so that the first can end an arm in order, the second hurry, and the
//! third leave.

use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread;

/// Signals that wait to be looked at; more say nothing more.
const WAITING: usize = 8;

/// Signals as they come.
#[derive(Debug)]
pub struct Caught {
    /// One number a signal.
    pub came: Receiver<i32>,
    handle: Handle,
}

impl Caught {
    /// Catches SIGINT, SIGTERM and SIGHUP from here on.
    ///
    /// # Errors
    /// What the system says.
    pub fn start() -> io::Result<Caught> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = signals.handle();
        let (give, came) = bounded(WAITING);
        let forward = move || {
            for signal in signals.forever() {
                // One that finds no room says nothing that those before did not.
                let _ = give.try_send(signal);
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
        Ok(Caught { came, handle })
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        self.handle.close();
    }
}
