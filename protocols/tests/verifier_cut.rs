//! Captures that keep only the beginning of datagrams: what was cut off is not judged, and that is said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod wire;

use wire::{SacnData, art_dmx};
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Timestamp};

/// 200 datagrams at 40 Hz of which the capture kept so many octets, with the same levels all the time; the 100th is lost.
fn kept(octets: usize, port: u16, datagram: impl Fn(u8) -> Vec<u8>) -> Account {
    let mut verifier = Verifier::new(Options::default());
    for n in (0..200u64).filter(|n| *n != 100) {
        let whole = datagram(n as u8);
        let at = Timestamp(1_700_000_000_000_000_000 + n as i64 * 25_000_000);
        let (from, to) = (([10, 0, 0, 5], port).into(), ([10, 0, 0, 9], port).into());
        let mut d = Datagram::new(from, to, &whole[..octets.min(whole.len())]);
        d.length = whole.len() as u32;
        verifier.on_datagram(Arrival { at, packet: n + 1 }, &d);
    }
    verifier.finish()
}

fn sacn(n: u8) -> Vec<u8> {
    let data = SacnData {
        cid: [7, 7, 7, 7, 7, 7, 0x47, 7, 0x87, 7, 7, 7, 7, 7, 7, 7],
        name: b"desk",
        priority: 100,
        sync: 0,
        number: n,
        options: 0,
        universe: 1,
        start_code: 0,
    };
    data.octets(&[9; 512])
}

fn lost(a: &Account) -> u64 {
    a.streams.iter().map(|s| s.sequence.lost).sum()
}

#[test]
fn datagrams_cut_before_their_number_are_counted_and_not_judged() {
    // sACN has its number at octet 111 and its universe at 113, ArtDmx at 12 and 14.
    for octets in [54, 86, 111] {
        let a = kept(octets, 5568, sacn);
        assert_eq!((a.datagrams.lighting, a.datagrams.unread, a.streams.len()), (199, 199, 0), "{octets}");
        assert!(a.limits.iter().any(|limit| limit.contains("not judged: 199")), "{:?}", a.limits);
        assert!(!a.limits.iter().any(|limit| limit.contains("nothing to judge")), "{:?}", a.limits);
    }
    let a = kept(12, 6454, |n| art_dmx(n.max(1), 0, 1, &[9; 512]));
    assert_eq!((a.datagrams.lighting, a.datagrams.unread), (199, 199));
}

#[test]
fn datagrams_cut_behind_their_number_are_judged_by_it_and_never_frozen() {
    let whole = kept(638, 5568, sacn);
    assert_eq!((whole.datagrams.unread, lost(&whole)), (0, 1));
    assert!(whole.findings.iter().any(|f| f.code == "FRAME-FROZEN"));
    for octets in [126, 300] {
        let a = kept(octets, 5568, sacn);
        assert_eq!((a.datagrams.unread, lost(&a)), (0, 1), "{octets}");
        assert!(!a.findings.iter().any(|f| f.code == "FRAME-FROZEN"), "{octets}");
    }
}
