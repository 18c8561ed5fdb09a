//! The bench with encoders that are wrong: at the gate, while they are timed, and beside right ones.

use super::*;
use wireproof_encoders::bench::gate::Subject;

fn options() -> Options {
    Options {
        frame_bytes: 600,
        encoders: vec![(Protocol::Sacn, 510), (Protocol::Ddp, 1440)],
        backends: Backend::ALL.into(),
        blocks: 6,
        seed: 1,
        cpu: None,
        peers: false,
    }
}

/// A right encoder with a mistake at the gate.
struct Wrong {
    right: Box<dyn Subject>,
    /// Flips a bit in the first datagram.
    octet: Option<usize>,
    /// Cannot encode at all.
    refuses: bool,
}

impl Wrong {
    fn put(candidate: &mut Candidate, octet: Option<usize>, refuses: bool) {
        let right = std::mem::replace(&mut candidate.subject, Box::new(Nothing));
        candidate.subject = Box::new(Wrong { right, octet, refuses });
    }
}

impl Subject for Wrong {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        if self.refuses {
            return Err("out of order".to_owned());
        }
        let mut datagrams = self.right.datagrams(frame)?;
        self.octet.into_iter().for_each(|at| datagrams[0][at] ^= 1);
        Ok(datagrams)
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        self.right.work(frames, iterations);
    }

    fn frames(&self) -> u64 {
        self.right.frames()
    }
}

struct Nothing;

impl Subject for Nothing {
    fn datagrams(&mut self, _frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        Err("nothing".to_owned())
    }

    fn work(&mut self, _frames: &[&[u8]], _iterations: u64) {}

    fn frames(&self) -> u64 {
        0
    }
}

/// Encodes a frame less than it is asked for while it is timed, and counts it all the same.
struct Cheat {
    right: Box<dyn Subject>,
    claimed: u64,
}

impl Subject for Cheat {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.right.datagrams(frame)
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        self.right.work(frames, iterations - 1);
        self.claimed += 1;
    }

    fn frames(&self) -> u64 {
        self.right.frames() + self.claimed
    }
}

#[test]
fn a_row_is_timed_and_right_for_every_backend_of_every_encoder() {
    let record = bench(&options()).unwrap();
    let rows: Vec<(&str, &str)> =
        record.encoders.iter().map(|e| (e.name.as_str(), e.backend.as_str())).collect();
    let of = |name: &'static str, moved| [(name, "contiguous"), (name, "gather"), (moved, "gather")];
    assert_eq!(rows, [of("sacn", "sacn/moved"), of("ddp", "ddp/moved")].concat());
    for row in &record.encoders {
        assert!(row.identical && row.difference.is_none(), "{row:?}");
        let times = row.ns_per_frame.unwrap();
        assert!(0.0 < times.min && times.min <= times.p50 && times.p50 <= times.p95, "{row:?}");
        let (ratio, interval) = (row.ratio_to_memcpy.unwrap(), row.ratio_interval.unwrap());
        assert!(interval.low <= ratio && ratio <= interval.high, "{row:?}");
        let (datagrams, octets) = if row.name.starts_with("sacn") { (2, 600 + 2 * 126) } else { (1, 610) };
        assert_eq!((row.datagrams, row.bytes), (datagrams, octets), "{row:?}");
        assert_eq!(row.ratio_to_own, None);
    }
    assert_eq!((record.blocks, record.warm_up_blocks, record.seed), (6, 3, 1));
    assert!(record.memcpy.ns_per_frame.min > 0.0 && record.clock.step_ns > 0);
}

#[test]
fn a_wrong_encoder_is_listed_and_not_timed_and_the_others_keep_their_arms() {
    let options = options();
    let mut candidates = candidates(&options).unwrap();
    Wrong::put(&mut candidates[1], Some(111), false);
    Wrong::put(&mut candidates[3], None, true);
    let record = bench_of(&options, candidates).unwrap();
    assert!(!record.identical());
    for (index, row) in record.encoders.iter().enumerate() {
        let wrong = index == 1 || index == 3;
        assert_eq!(row.identical, !wrong, "{row:?}");
        assert_eq!(row.ns_per_frame.is_none(), wrong, "{row:?}");
        assert_eq!((row.ratio_to_memcpy.is_none(), row.ratio_interval.is_none()), (wrong, wrong), "{row:?}");
    }
    let said = |index: usize| record.encoders[index].difference.as_deref().unwrap();
    assert_eq!(said(1), "frame 0, datagram 0, octet 111: expected 0x00, got 0x01");
    assert_eq!(said(3), "out of order");
    assert_eq!(record.encoders[1].datagrams, 2);
}

#[test]
fn an_encoder_that_leaves_frames_out_while_it_is_timed_loses_its_times() {
    let options = options();
    let mut candidates = candidates(&options).unwrap();
    let right = std::mem::replace(&mut candidates[4].subject, Box::new(Nothing));
    candidates[4].subject = Box::new(Cheat { right, claimed: 0 });
    let record = bench_of(&options, candidates).unwrap();
    let row = &record.encoders[4];
    assert!(!row.identical && row.ns_per_frame.is_none() && row.ratio_to_memcpy.is_none(), "{row:?}");
    assert!(row.difference.as_deref().unwrap().contains("octet 1: expected"), "{row:?}");
    assert!(record.encoders.iter().enumerate().all(|(index, row)| row.identical == (index != 4)));
    assert!(record.encoders[5].ns_per_frame.is_some());
}

#[test]
fn a_frame_or_packing_without_room_is_refused_with_its_limit() {
    let refused = |frame_bytes: usize, encoder: (Protocol, u16)| {
        bench(&Options { frame_bytes, encoders: vec![encoder], ..options() }).unwrap_err().to_string()
    };
    let text = "sacn cannot be benched: frame octets 32767489 is not at most 32767488";
    assert_eq!(refused(63_999 * 512 + 1, (Protocol::Sacn, 512)), text);
    assert_eq!(refused(10, (Protocol::Sacn, 513)), "sacn cannot be benched: slots 513 is not 1..512");
    assert!(refused(10, (Protocol::ArtNet, 511)).contains("slots 511"));
    assert!(refused(10, (Protocol::Ddp, 65_500)).contains("ddp cannot be benched"));
}

#[cfg(feature = "peers")]
#[test]
fn peers_are_right_too_and_compared_with_ours() {
    let options = Options {
        frame_bytes: 8640,
        encoders: vec![(Protocol::Sacn, 510), (Protocol::Ddp, 1440), (Protocol::ArtNet, 510)],
        peers: true,
        ..options()
    };
    let record = bench(&options).unwrap();
    let peers: Vec<&Encoder> = record.encoders.iter().filter(|e| e.name.starts_with("peer:")).collect();
    let names: Vec<&str> = peers.iter().map(|e| e.name.as_str()).collect();
    let expected = [
        "peer:sacn/pack",
        "peer:sacn/alloc",
        "peer:ddp-rs/scratch",
        "peer:ddp-rs/kept",
        "peer:artnet_protocol",
    ];
    assert_eq!(names, expected);
    for peer in peers {
        assert!(peer.identical, "{peer:?}");
        assert!(peer.ratio_to_own.unwrap().median > 0.0, "{peer:?}");
        assert_eq!(peer.habit.is_some(), peer.name.contains("ddp-rs"), "{peer:?}");
    }
}
