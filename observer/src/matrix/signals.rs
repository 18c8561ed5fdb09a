//! Signals for a run: each one that comes is handed on, so that the first can end an arm in order, the second hurry, and the
//! third leave. Whoever is too busy to leave at the third is left behind.

use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Signals that are caught.
const CAUGHT: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Signals that wait to be looked at; more say nothing more.
const WAITING: usize = 8;
/// The signal at which nothing is waited for any more.
const LAST: u32 = 3;
/// Time that the run has to leave by itself at the last signal.
const REST: Duration = Duration::from_secs(1);
/// Time between two looks whether it did.
const LOOK: Duration = Duration::from_millis(10);

/// Runs of this process that catch signals.
static CATCHING: AtomicUsize = AtomicUsize::new(0);

/// True while nobody catches signals: they do what they always do then.
fn usual() -> io::Result<&'static Arc<AtomicBool>> {
    static USUAL: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(usual) = USUAL.get() {
        return Ok(usual);
    }
    let usual = Arc::new(AtomicBool::new(false));
    for signal in CAUGHT {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&usual))?;
    }
    Ok(USUAL.get_or_init(|| usual))
}

/// How a run is left that does not end.
type Leave = Box<dyn Fn() + Send + Sync>;

/// Signals as they come.
pub struct Caught {
    /// One number a signal.
    pub came: Receiver<i32>,
    handle: Handle,
    leave: Arc<OnceLock<Leave>>,
}

impl Caught {
    /// Catches SIGINT, SIGTERM and SIGHUP from here on.
    ///
    /// # Errors
    /// What the system says.
    pub fn start() -> io::Result<Caught> {
        usual()?.store(false, Ordering::SeqCst);
        let leave = Arc::new(OnceLock::<Leave>::new());
        let mut signals = Signals::new(CAUGHT)?;
        let handle = signals.handle();
        let (give, came) = bounded(WAITING);
        let (watched, way_out) = (handle.clone(), Arc::clone(&leave));
        let forward = move || {
            for (signal, count) in signals.forever().zip(1..) {
                // One that finds no room says nothing that those before did not.
                let _ = give.try_send(signal);
                if count == LAST && !ends(&watched) {
                    way_out.get().iter().for_each(|leave| leave());
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
        CATCHING.fetch_add(1, Ordering::SeqCst);
        Ok(Caught { came, handle, leave })
    }

    /// How a run is left that does not end within a second of the third signal, because a disk holds it up: on another
    /// thread, whatever goes on. The first one counts.
    pub fn left_by(&self, leave: impl Fn() + Send + Sync + 'static) {
        let _ = self.leave.set(Box::new(leave));
    }
}

/// Waits for the run to end; false when it does not.
fn ends(run: &Handle) -> bool {
    let since = Instant::now();
    while !run.is_closed() && since.elapsed() < REST {
        thread::sleep(LOOK);
    }
    run.is_closed()
}

impl Drop for Caught {
    fn drop(&mut self) {
        self.handle.close();
        if CATCHING.fetch_sub(1, Ordering::SeqCst) == 1
            && let Ok(usual) = usual()
        {
            usual.store(true, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn a_run_that_is_too_busy_for_the_third_signal_is_left_and_one_that_ends_is_not() {
        for ends in [false, true] {
            let caught = Caught::start().unwrap();
            let (give, left) = bounded(1);
            caught.left_by(move || give.send(()).unwrap());
            for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
                kill_process(getpid(), signal).unwrap();
                assert_eq!(caught.came.recv(), Ok(signal.as_raw()));
            }
            if !ends {
                assert_eq!(left.recv(), Ok(()), "nobody looked at the third one");
            }
            drop(caught);
            // The thread is over when nobody can send any more; what it sent before would come first.
            assert!(left.recv().is_err() || !ends);
        }
    }
}
