//! Laws every encoder of the registry keeps, with every packing and backend, for frames of 0..100,000 octets: what it
//! sends decodes without a fault into the frame, exactly one decoder claims it, both backends and a plain writer send
//! the same octets, and a changed header octet shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod support;

use proptest::prelude::*;
use std::net::SocketAddr;
use support::{each, edges, frame, kept, packings, plain, reassembled, usual};
use wireproof_encoders::{Backend, ENCODERS, Setup};
use wireproof_protocols::registry::claim;
use wireproof_protocols::{Datagram, Faults, Pdu, Protocol};

/// Most octets of the property tests' frames.
const FRAME_MAX: usize = 100_000;

/// The frame that comes back: Art-Net pads an odd end with one zero slot.
fn expected(protocol: Protocol, frame: &[u8]) -> Vec<u8> {
    let mut expected = frame.to_vec();
    if protocol == Protocol::ArtNet && frame.len() % 2 == 1 {
        expected.push(0);
    }
    expected
}

/// Sends two frames of this length through both backends, by both ways, and checks them against each other, the
/// plain writer and the decoders.
fn round_trip(protocol: Protocol, setup: &Setup, octets: usize, salt: u32) {
    let entry = ENCODERS.iter().find(|entry| entry.protocol == protocol).unwrap();
    let mut encoders = Backend::ALL.map(|backend| (entry.build)(backend, setup).unwrap());
    let mut own = Backend::ALL.map(|backend| (entry.build)(backend, setup).unwrap());
    for nth in 0..2 {
        let frame = frame(octets, salt + nth);
        let want = plain::datagrams(protocol, setup, &frame, nth.into());
        for (encoder, own) in encoders.iter_mut().zip(&mut own) {
            assert_eq!(kept(encoder.encode(&frame).unwrap()), want, "{} {octets} octets", protocol.name());
            own.frame_mut(octets).unwrap().copy_from_slice(&frame);
            assert_eq!(kept(own.encode_own().unwrap()), want, "{} {octets} octets", protocol.name());
        }
        assert_eq!(reassembled(protocol, setup, &want), expected(protocol, &frame), "{}", protocol.name());
    }
}

fn room(protocol: Protocol, setup: &Setup) -> usize {
    let chunk = usize::from(setup.chunk.unwrap_or(510));
    match protocol {
        Protocol::Sacn => (64_000 - usize::from(setup.first.unwrap_or(1))) * chunk,
        Protocol::ArtNet => (32_768 - usize::from(setup.first.unwrap_or(0))) * chunk,
        _ => usize::MAX,
    }
}

#[test]
fn frames_of_every_edge_come_back_without_faults() {
    for entry in ENCODERS {
        for setup in packings(entry.protocol) {
            for octets in edges(usize::from(setup.chunk.unwrap_or(510))) {
                if octets <= room(entry.protocol, &setup) {
                    round_trip(entry.protocol, &setup, octets, 1);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_of_any_length_come_back_without_faults(octets in 0..=FRAME_MAX, salt in any::<u16>(), pick in any::<prop::sample::Index>()) {
        for entry in ENCODERS {
            let all = packings(entry.protocol);
            let setup = pick.get(&all);
            if octets <= room(entry.protocol, setup) {
                round_trip(entry.protocol, setup, octets, salt.into());
            }
        }
    }

    #[test]
    fn frames_of_changing_length_are_the_same_from_both_backends(
        lengths in prop::collection::vec(0..4000_usize, 1..12),
        pick in any::<prop::sample::Index>(),
    ) {
        for entry in ENCODERS {
            let all = packings(entry.protocol);
            let setup = pick.get(&all);
            let [mut one, mut two] = Backend::ALL.map(|backend| (entry.build)(backend, setup).unwrap());
            for (salt, octets) in (0..).zip(&lengths) {
                let frame = frame(*octets, salt);
                let out = kept(one.encode(&frame).unwrap());
                if salt % 2 == 0 {
                    two.frame_mut(*octets).unwrap().copy_from_slice(&frame);
                    prop_assert_eq!(&kept(two.encode_own().unwrap()), &out);
                } else {
                    prop_assert_eq!(&kept(two.encode(&frame).unwrap()), &out);
                }
                prop_assert_eq!(reassembled(entry.protocol, setup, &out), expected(entry.protocol, &frame));
            }
        }
    }
}

#[test]
fn a_thousand_frames_number_as_the_plain_writer_does() {
    for entry in ENCODERS {
        let setup = usual(entry.protocol);
        let mut encoder = (entry.build)(Backend::Gather, &setup).unwrap();
        let frame = frame(4000, 3);
        for nth in 0..1000 {
            let want = plain::datagrams(entry.protocol, &setup, &frame, nth);
            assert_eq!(kept(encoder.encode(&frame).unwrap()), want, "{} frame {nth}", entry.protocol.name());
        }
    }
}

#[test]
fn what_is_not_accepted_changes_nothing() {
    for entry in ENCODERS.iter().filter(|e| matches!(e.protocol, Protocol::Sacn | Protocol::ArtNet)) {
        for backend in Backend::ALL {
            let last = if entry.protocol == Protocol::Sacn { 63_999 } else { 32_767 };
            let setup = Setup { first: Some(last), chunk: Some(8), ..usual(entry.protocol) };
            let build = || (entry.build)(backend, &setup).unwrap();
            let (mut told, mut untold) = (build(), build());
            assert_eq!(kept(told.encode(&[1; 8]).unwrap()), kept(untold.encode(&[1; 8]).unwrap()));
            assert!(told.encode(&[1; 9]).is_err());
            assert!(told.frame_mut(9).is_err());
            assert_eq!(kept(told.encode(&[2; 8]).unwrap()), kept(untold.encode(&[2; 8]).unwrap()));
        }
    }
}

/// Header octets whose change a decoder cannot see, because the values it comes to are as good.
fn is_invisible(protocol: Protocol, at: usize) -> bool {
    // The changed version of Art-Net is a later one, which has to be accepted.
    protocol == Protocol::ArtNet && (at == 10 || at == 11)
}

/// Everything of a PDU that a receiver acts on.
fn seen(pdu: &Pdu<'_>) -> String {
    format!("{pdu:?}")
}

#[test]
fn a_changed_header_octet_shows_or_is_listed_as_invisible() {
    for entry in ENCODERS {
        let protocol = entry.protocol;
        let setup = usual(protocol);
        let head = match protocol {
            Protocol::Sacn => 126,
            Protocol::Ddp => 10,
            Protocol::ArtNet => 18,
            _ => 32,
        };
        let mut encoder = (entry.build)(Backend::Contiguous, &setup).unwrap();
        let (to, octets) = kept(encoder.encode(&frame(3000, 5)).unwrap()).swap_remove(0);
        for at in 0..head {
            for flip in [0x01, 0x80, 0xFF] {
                let mut changed = octets.clone();
                changed[at] ^= flip;
                let shown = shows(to, &octets, &changed);
                let listed = is_invisible(protocol, at);
                assert_eq!(shown, !listed, "{} octet {at} ^ {flip:#x}: listed {listed}", protocol.name());
            }
        }
    }
}

/// True when the change is a fault, another PDU, or no longer the protocol.
fn shows(to: SocketAddr, octets: &[u8], changed: &[u8]) -> bool {
    let source = SocketAddr::from(([10, 0, 0, 1], to.port()));
    let (before, after) = (Datagram::new(source, to, octets), Datagram::new(source, to, changed));
    let decoder = claim(&before).unwrap();
    let (mut none, mut faults) = (Faults::new(), Faults::new());
    let want = decoder.decode(&before, &mut none).unwrap();
    match decoder.decode(&after, &mut faults) {
        Ok(got) => !faults.is_empty() || seen(&got) != seen(&want),
        Err(_) => true,
    }
}

#[test]
fn every_datagram_of_a_batch_is_the_same_number_of_parts() {
    each(|protocol, backend, _, mut encoder| {
        for octets in [1, 509, 1441, 5001] {
            let frame = frame(octets, 9);
            let batch = encoder.encode(&frame).unwrap();
            let width = batch.width();
            let most = if backend == Backend::Contiguous { 1 } else { 3 };
            assert!((1..=most).contains(&width), "{} {}: {width} parts", protocol.name(), backend.name());
            assert!(batch.iter().all(|datagram| datagram.parts.len() == width));
        }
    });
}

#[test]
fn gathered_parts_borrow_the_frame_itself() {
    for entry in ENCODERS {
        let mut encoder = (entry.build)(Backend::Gather, &usual(entry.protocol)).unwrap();
        let frame = frame(8640, 2);
        let range = frame.as_ptr_range();
        for datagram in encoder.encode(&frame).unwrap().iter() {
            assert!(range.contains(&datagram.parts[1].as_ptr()), "{}", entry.protocol.name());
        }
    }
}

#[test]
fn contiguous_payloads_start_on_a_cache_line() {
    for (entry, head) in ENCODERS.iter().zip([126, 10, 18, 32]) {
        let mut encoder = (entry.build)(Backend::Contiguous, &usual(entry.protocol)).unwrap();
        let frame = frame(8640, 2);
        for datagram in encoder.encode(&frame).unwrap().iter() {
            assert_eq!((datagram.parts[0].as_ptr() as usize + head) % 64, 0, "{}", entry.protocol.name());
        }
    }
}

#[test]
fn frames_to_one_place_can_be_segmented() {
    let sizes = [636, 1450, 528, 1472];
    for (entry, size) in ENCODERS.iter().zip(sizes) {
        for backend in Backend::ALL {
            let mut encoder = (entry.build)(backend, &usual(entry.protocol)).unwrap();
            let frame = frame(8640, 2);
            let segment = encoder.encode(&frame).unwrap().segment();
            assert_eq!(segment, Some((support::receiver(entry.protocol), size)), "{}", entry.protocol.name());
        }
    }
}
