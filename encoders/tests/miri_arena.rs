//! Small frames through both backends in every order of calls, short enough for an interpreter that checks memory
//! accesses: `cargo +nightly miri test -p wireproof-encoders --test miri_arena`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod support;

use support::{frame, kept, plain, usual};
use wireproof_encoders::{Backend, ENCODERS, Setup};
use wireproof_protocols::Protocol;

/// Small datagrams, a synchronization packet where there is one.
fn small(protocol: Protocol) -> Setup {
    let setup = usual(protocol);
    Setup { chunk: Some(34), sync_universe: 9, art_sync: setup.destination, timecode: true, ..setup }
}

#[test]
fn lengths_that_come_and_go_leave_no_stale_piece() {
    for entry in ENCODERS {
        let setup = small(entry.protocol);
        for backend in Backend::ALL {
            let mut encoder = (entry.build)(backend, &setup).unwrap();
            for (salt, octets) in (0..).zip([70, 70, 1, 0, 103, 33, 69, 70]) {
                let frame = frame(octets, salt);
                let sent: Vec<u8> = kept(encoder.encode(&frame).unwrap()).concat_payloads();
                drop(frame);
                let own = self::frame(octets, salt + 100);
                encoder.frame_mut(octets).unwrap().copy_from_slice(&own);
                let sent_own = kept(encoder.encode_own().unwrap()).concat_payloads();
                assert_eq!(sent.len(), sent_own.len());
                encoder.frame_mut(octets).unwrap().fill(7);
                kept(encoder.encode_own().unwrap());
            }
        }
    }
}

#[test]
fn small_frames_are_the_plain_ones() {
    for entry in ENCODERS {
        let setup = small(entry.protocol);
        for backend in Backend::ALL {
            let mut encoder = (entry.build)(backend, &setup).unwrap();
            for nth in 0..3 {
                let frame = frame(101, nth);
                let want = plain::datagrams(entry.protocol, &setup, &frame, nth.into());
                assert_eq!(kept(encoder.encode(&frame).unwrap()), want);
            }
            kept(encoder.discovery());
            kept(encoder.terminate());
        }
    }
}

#[test]
fn an_encoder_may_move_between_threads_and_places() {
    let mut encoders: Vec<_> =
        ENCODERS.iter().map(|e| (e.build)(Backend::Gather, &small(e.protocol)).unwrap()).collect();
    for encoder in &mut encoders {
        encoder.frame_mut(40).unwrap().fill(1);
        kept(encoder.encode_own().unwrap());
    }
    let moved = std::thread::scope(|scope| {
        scope
            .spawn(move || {
                for encoder in &mut encoders {
                    encoder.frame_mut(40).unwrap()[39] = 2;
                    kept(encoder.encode_own().unwrap());
                }
                encoders
            })
            .join()
            .unwrap()
    });
    assert_eq!(moved.len(), ENCODERS.len());
}

trait Payloads {
    fn concat_payloads(&self) -> Vec<u8>;
}

impl Payloads for Vec<(std::net::SocketAddr, Vec<u8>)> {
    fn concat_payloads(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, payload)| payload.iter().copied()).collect()
    }
}
