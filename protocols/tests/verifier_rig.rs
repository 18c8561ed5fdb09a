//! Outputs as a rig declares them: what it declares apart is judged apart, and what it does not declare is none of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod wire;

use wire::{SacnData, sacn_sync};
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Protocol, Timestamp};

const CID: [u8; 16] = [7, 7, 7, 7, 7, 7, 0x47, 7, 0x87, 7, 7, 7, 7, 7, 7, 7];
const FRAMES: i64 = 200;
const PERIOD: i64 = 25_000_000;

fn output(name: &str, streams: &[u32]) -> RigOutput {
    RigOutput {
        name: name.to_owned(),
        protocol: Protocol::Sacn,
        source: Some([10, 0, 0, 5].into()),
        destination: None,
        sender: None,
        streams: streams.to_vec(),
        datagrams_per_frame: Some(streams.len() as u32),
        octets_per_frame: Some(512 * streams.len() as u64),
        rate_mhz: Some((40_000, 20)),
        sync: None,
        on_change: false,
    }
}

/// A desk with these universes, 40 frames a second; of one the datagram of one frame is lost.
fn desk(rig: Vec<RigOutput>, universes: &[u16], lost: Option<(u16, i64)>, sync: u16) -> Account {
    desk_until(rig, universes, |universe, frame| lost == Some((universe, frame)), sync)
}

/// The same without the datagrams of which it is asked; with a synchronization address every frame ends with a sync packet.
fn desk_until(rig: Vec<RigOutput>, universes: &[u16], lost: impl Fn(u16, i64) -> bool, sync: u16) -> Account {
    let rig = Rig { outputs: rig, severities: vec![] };
    let mut verifier = Verifier::new(Options { rig: Some(rig), ..Options::default() });
    let mut packet = 0;
    let mut send = |verifier: &mut Verifier, at: i64, universe: u16, octets: &[u8]| {
        let [high, low] = universe.to_be_bytes();
        let to = ([239, 255, high, low], 5568).into();
        packet += 1;
        let at = Timestamp(1_700_000_000_000_000_000 + at);
        verifier
            .on_datagram(Arrival { at, packet }, &Datagram::new(([10, 0, 0, 5], 5568).into(), to, octets));
    };
    for frame in 0..FRAMES {
        for (place, universe) in universes.iter().copied().enumerate() {
            if lost(universe, frame) {
                continue;
            }
            let data = SacnData {
                cid: CID,
                name: b"desk",
                priority: 100,
                sync,
                number: frame as u8,
                options: 0,
                universe,
                start_code: 0,
            };
            let at = frame * PERIOD + place as i64 * 100_000;
            send(&mut verifier, at, universe, &data.octets(&[frame as u8; 512]));
        }
        if sync != 0 {
            send(&mut verifier, frame * PERIOD + 5_000_000, sync, &sacn_sync(&CID, frame as u8, sync));
        }
    }
    verifier.finish()
}

fn codes(a: &Account) -> Vec<&'static str> {
    a.findings.iter().map(|f| f.code).collect()
}

/// Name, streams, datagrams a frame, frames, torn ones.
fn outputs(a: &Account) -> Vec<(&str, usize, u32, u64, u64)> {
    let mut all: Vec<_> = a
        .outputs
        .iter()
        .map(|o| (o.name.as_str(), o.streams.len(), o.datagrams_per_frame, o.frames.seen, o.frames.torn))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn one_desk_declared_as_two_outputs_is_two_outputs() {
    let rig = || vec![output("left", &[1, 2]), output("right", &[3, 4])];
    let a = desk(rig(), &[1, 2, 3, 4], None, 0);
    assert_eq!(codes(&a), [""; 0]);
    assert_eq!(outputs(&a), [("left", 2, 2, 200, 0), ("right", 2, 2, 200, 0)]);
    let a = desk(rig(), &[1, 2, 3, 4], Some((4, 100)), 0);
    assert_eq!(outputs(&a), [("left", 2, 2, 200, 0), ("right", 2, 2, 200, 1)]);
    let a = desk(rig(), &[1, 2, 3], None, 0);
    assert!(codes(&a).contains(&"RIG-MISSING") && codes(&a).contains(&"RIG-SHAPE"), "{:?}", codes(&a));
    assert!(a.findings.iter().all(|f| !f.text.contains("left")), "{:?}", a.findings);
}

#[test]
fn a_stream_that_stops_while_its_output_goes_on_is_missing() {
    // The last second and a quarter of universe 3 is left out, then only the last second: a keep-alive may take as long.
    for (frames, missing) in [(50, 1), (40, 0)] {
        let (rig, all) = (|| vec![output("desk", &[1, 2, 3, 4])], [1, 2, 3, 4]);
        let a = desk_until(rig(), &all, |universe, frame| universe == 3 && frame >= FRAMES - frames, 0);
        let found: Vec<_> = a.findings.iter().filter(|f| f.code == "RIG-MISSING").collect();
        assert_eq!(found.len(), missing, "{frames}: {:?}", a.findings);
        assert!(found.iter().all(|f| f.text.contains("stream 3 stopped")), "{found:?}");
        let on_change = vec![RigOutput { on_change: true, ..output("desk", &[1, 2, 3, 4]) }];
        let a = desk_until(on_change, &all, |universe, frame| universe == 3 && frame >= FRAMES - frames, 0);
        assert!(!codes(&a).contains(&"RIG-MISSING"), "{:?}", a.findings);
    }
}

#[test]
fn a_universe_outside_the_rig_is_unexpected_and_changes_no_declared_frame() {
    let a = desk(vec![output("desk", &[1, 2, 3, 4])], &[1, 2, 3, 4, 9], None, 0);
    assert_eq!(codes(&a), ["RIG-UNEXPECTED"]);
    assert_eq!(outputs(&a), [("desk", 4, 4, 200, 0), ("sacn 10.0.0.5 desk", 1, 1, 200, 0)]);
    let a = desk(vec![output("part", &[1, 2])], &[1, 2, 3, 4], None, 0);
    assert_eq!(codes(&a), ["RIG-UNEXPECTED"; 2]);
}

#[test]
fn a_sync_packet_closes_the_frames_of_every_output_of_its_sender() {
    let rig = vec![
        RigOutput { sync: Some(7999), ..output("left", &[1, 2]) },
        RigOutput { sync: Some(7999), ..output("right", &[3, 4]) },
    ];
    let a = desk(rig, &[1, 2, 3, 4], None, 7999);
    assert_eq!(codes(&a), [""; 0]);
    for output in &a.outputs {
        assert_eq!((output.frames.seen, output.frames.torn), (200, 0), "{}", output.name);
        assert!(output.sync.explicit >= 199, "{}: {:?}", output.name, output.sync);
    }
}
