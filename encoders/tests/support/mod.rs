//! What the tests of the registry share: packings to try, frames, and reading datagrams back.
#![allow(dead_code, reason = "every test binary uses another part")]

pub(crate) mod plain;

use std::net::SocketAddr;
use wireproof_encoders::{Backend, Batch, ENCODERS, Encoder, Setup};
use wireproof_protocols::registry::{DECODERS, claim};
use wireproof_protocols::{Claim, Datagram, Faults, Marks, Protocol};

/// A UUID, version 4.
pub(crate) const CID: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\x4d\xef\x81\x23\x45\x67\x89\xab\xcd\xef";

/// The receiver of a protocol.
pub(crate) fn receiver(protocol: Protocol) -> SocketAddr {
    let port = match protocol {
        Protocol::Sacn => 5568,
        Protocol::Ddp => 4048,
        Protocol::ArtNet => 6454,
        _ => 21600,
    };
    SocketAddr::from(([10, 0, 0, 9], port))
}

/// The usual setup of a protocol.
pub(crate) fn usual(protocol: Protocol) -> Setup {
    Setup { name: "Bühne".to_owned(), id: 7, ..Setup::new(Some(receiver(protocol)), CID) }
}

/// Setups of a protocol that must all keep the laws: usual and unusual packings, synchronization, multicast.
pub(crate) fn packings(protocol: Protocol) -> Vec<Setup> {
    let usual = usual(protocol);
    let chunk = |chunk: u16| Setup { chunk: Some(chunk), ..usual.clone() };
    let mut all = vec![usual.clone()];
    match protocol {
        Protocol::Sacn => {
            all.extend([chunk(512), chunk(360), chunk(3), chunk(511)]);
            all.push(Setup { destination: None, sync_universe: 7000, priority: 200, ..usual.clone() });
            all.push(Setup { first: Some(60_000), ..chunk(510) });
        }
        Protocol::ArtNet => {
            let everybody = SocketAddr::from(([255, 255, 255, 255], 6454));
            all.extend([chunk(512), chunk(360), chunk(4), chunk(2)]);
            all.push(Setup { art_sync: Some(everybody), first: Some(300), ..usual.clone() });
        }
        Protocol::Ddp => {
            all.extend([chunk(1458), chunk(480), chunk(3), chunk(33)]);
            all.push(Setup { timecode: true, ..usual.clone() });
            all.push(Setup { fragment: true, ..chunk(60_000) });
        }
        _ => {
            all.extend([chunk(1000), chunk(31), chunk(3), chunk(64)]);
            all.push(Setup { fragment: true, ..chunk(60_000) });
        }
    }
    all
}

/// Every encoder with every packing and backend.
pub(crate) fn each(mut run: impl FnMut(Protocol, Backend, &Setup, Box<dyn Encoder + Send>)) {
    for entry in ENCODERS {
        for setup in packings(entry.protocol) {
            for backend in Backend::ALL {
                run(entry.protocol, backend, &setup, (entry.build)(backend, &setup).unwrap());
            }
        }
    }
}

/// Octets without an obvious pattern; no two near ones alike.
pub(crate) fn frame(octets: usize, salt: u32) -> Vec<u8> {
    (0..octets as u32).map(|i| ((i ^ salt).wrapping_mul(2_654_435_761) >> 21) as u8).collect()
}

/// The datagrams of a batch.
pub(crate) fn kept(batch: Batch<'_>) -> Vec<(SocketAddr, Vec<u8>)> {
    assert_eq!(batch.parts().len(), batch.len() * batch.width());
    assert_eq!(batch.iter().count(), batch.len());
    batch.iter().map(|datagram| (datagram.destination, datagram.to_vec())).collect()
}

/// Sizes at which something changes for datagrams of `chunk` octets.
pub(crate) fn edges(chunk: usize) -> Vec<usize> {
    let around = |n: usize| [n.saturating_sub(1), n, n + 1];
    let mut all: Vec<usize> =
        [0, chunk, 2 * chunk, 17 * chunk, 8640, 99_999].into_iter().flat_map(around).collect();
    all.retain(|size| *size <= 100_000);
    all
}

/// Decodes the datagrams of one frame without a fault, and puts the frame together again.
pub(crate) fn reassembled(protocol: Protocol, setup: &Setup, out: &[(SocketAddr, Vec<u8>)]) -> Vec<u8> {
    let source = SocketAddr::from(([10, 0, 0, 1], receiver(protocol).port()));
    let (mut frame, mut faults) = (Vec::new(), Faults::new());
    let mut ends = Vec::new();
    for (destination, payload) in out {
        let d = Datagram::new(source, *destination, payload);
        let sure = DECODERS.iter().filter(|decoder| decoder.claims(&d) != Claim::No).count();
        assert_eq!(sure, 1, "{} decoders claim a datagram of {}", sure, protocol.name());
        let decoder = claim(&d).unwrap();
        assert_eq!(decoder.protocol(), protocol);
        faults.clear();
        let pdu = decoder.decode(&d, &mut faults).unwrap();
        let found: Vec<_> = faults.as_slice().iter().filter(|f| !is_chosen(f.rule.code, setup)).collect();
        assert!(found.is_empty(), "{}: {found:?}", protocol.name());
        if pdu.marks.has(Marks::SYNC) {
            continue;
        }
        assert_eq!(pdu.data_length as usize, pdu.data.len());
        if matches!(protocol, Protocol::Ddp | Protocol::BigPacket) {
            assert_eq!(pdu.offset as usize, frame.len(), "{}", protocol.name());
            ends.push(pdu.marks.has(Marks::PUSH));
        }
        frame.extend_from_slice(pdu.data);
    }
    if let Some((last, others)) = ends.split_last() {
        assert!(*last && !others.contains(&true), "push stands on the last datagram alone: {ends:?}");
    }
    frame
}

/// Rules that a packing of these tests breaks on purpose: chunks that are no whole pixels, larger than the
/// specification's constant, or larger than a datagram on Ethernet.
fn is_chosen(code: &str, setup: &Setup) -> bool {
    match code {
        "DDP-D10" => true,
        "DDP-D11" => setup.chunk.is_some_and(|chunk| chunk > 1440),
        _ => false,
    }
}
