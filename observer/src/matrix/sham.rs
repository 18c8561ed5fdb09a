//! A dummy of the ring's server on this host: the same octets at the same instants load the bench like a download, and the
//! device not at all. It serves zeros, one connection after another.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest that a client may keep it waiting.
const PATIENCE: Duration = Duration::from_secs(5);
/// Octets sent at once.
const PIECE: usize = 64 << 10;

/// The running server; it ends when dropped.
#[derive(Debug)]
pub struct Sham {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sham {
    /// Serves bodies of so many octets on a free port of the loopback interface.
    ///
    /// # Errors
    /// No socket or no thread.
    pub fn start(octets: u64) -> io::Result<Sham> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            while let Ok((client, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                // A client that went away is its own business.
                let _ = answer(client, octets);
            }
        };
        let thread = thread::Builder::new().name("sham".to_owned()).spawn(serve)?;
        Ok(Sham { address, stop, thread: Some(thread) })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/sham", self.address)
    }
}

impl Drop for Sham {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(client: TcpStream, octets: u64) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(io::Read::take(client.try_clone()?, 16 << 10));
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut client = client;
    write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {octets}\r\nConnection: close\r\n\r\n")?;
    let zeros = [0; PIECE];
    let mut left = octets;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        client.write_all(&zeros[..part])?;
        left -= part as u64;
    }
    client.flush()
}
