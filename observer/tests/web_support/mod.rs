//! A browser driven through its own pipe, and a sender of sACN that leaves a datagram out when told to.

#![allow(dead_code, reason = "not every test uses all of it")]

pub(crate) mod browser;

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time from frame to frame.
const PERIOD: Duration = Duration::from_millis(25);

/// An E1.31 data packet with 512 slots (ANSI E1.31, tables 4-1, 5-2, 6-1, 7-1).
pub(crate) fn packet(name: &str, universe: u16, sequence: u8) -> Vec<u8> {
    let mut p = vec![0; 638];
    let mut put = |at: usize, octets: &[u8]| p[at..at + octets.len()].copy_from_slice(octets);
    put(0, &[0, 0x10, 0, 0]);
    put(4, b"ASC-E1.17\0\0\0");
    put(16, &[0x72, 0x6e, 0, 0, 0, 4]);
    put(22, &[0x5a; 16]);
    put(38, &[0x72, 0x58, 0, 0, 0, 2]);
    put(44, name.as_bytes());
    put(108, &[100, 0, 0, sequence, 0]);
    put(113, &universe.to_be_bytes());
    put(115, &[0x72, 0x0b, 2, 0xa1, 0, 0, 0, 1, 0x02, 0x01, 0, sequence]);
    p
}

/// Sends two universes at 40 Hz until dropped.
pub(crate) struct Show {
    tell: Option<Sender<Sender<Instant>>>,
    thread: Option<JoinHandle<()>>,
}

impl Show {
    pub(crate) fn start(to: SocketAddr, name: &'static str) -> Show {
        let (tell, told) = channel::<Sender<Instant>>();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let body = move || {
            let (mut due, mut sequence) = (Instant::now(), 0u8);
            let mut leave_out: Option<Sender<Instant>> = None;
            loop {
                due += PERIOD;
                match told.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Ok(answer) => leave_out = Some(answer),
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                }
                sequence = sequence.wrapping_add(1);
                socket.send_to(&packet(name, 1, sequence), to).unwrap();
                match leave_out.take() {
                    Some(answer) => answer.send(Instant::now()).unwrap(),
                    None => drop(socket.send_to(&packet(name, 2, sequence), to).unwrap()),
                }
            }
        };
        Show { tell: Some(tell), thread: Some(thread::spawn(body)) }
    }

    /// Leaves the next datagram of universe 2 out; says when.
    pub(crate) fn leave_one_out(&self) -> Instant {
        let (answer, answered) = channel();
        self.tell.as_ref().unwrap().send(answer).unwrap();
        answered.recv().unwrap()
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        drop(self.tell.take());
        self.thread.take().unwrap().join().unwrap();
    }
}
