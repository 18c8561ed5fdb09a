//! Frames that their chunks do not tile, and datagrams whose length is wrong: what is told, and that what follows is read
//! as if it had not been.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod wire;

use wire::account::{found, has};
use wire::capture::{FRAME, Wire};
use wireproof_protocols::layout::{Layout, Layouts};
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Severity, Timestamp};

/// Data octets of the chunks of a usual frame.
const SIZES: [usize; 4] = [512, 512, 512, 300];
/// Frames of a run.
const FRAMES: u32 = 60;

/// Number of the datagram, offset of its data; the mark on the last chunk ends a frame.
const NUMBERED: &str = r#"
name = "numbered"
header_len = 9
[match]
udp_dst = [9321]
[[field]]
name = "magic"
at = 0
role = "magic"
const_hex = "a5 5a"
[[field]]
name = "last"
at = 2
size = 1
role = "last_packet"
[[field]]
name = "number"
at = 3
size = 2
role = "packet_seq"
[[field]]
name = "offset"
at = 5
size = 2
role = "byte_offset"
[[field]]
name = "length"
at = 7
size = 2
role = "payload_len"
"#;

/// Number of the frame, index and count of the chunk, offset of its data.
const INDEXED: &str = r#"
name = "indexed"
header_len = 10
[match]
udp_dst = [9322]
[[field]]
name = "magic"
at = 0
role = "magic"
const_hex = "50 58"
[[field]]
name = "frame"
at = 2
size = 2
role = "frame_seq"
[[field]]
name = "chunk"
at = 4
size = 1
role = "packet_index"
[[field]]
name = "chunks"
at = 5
size = 1
role = "packet_count"
[[field]]
name = "offset"
at = 6
size = 2
role = "byte_offset"
[[field]]
name = "length"
at = 8
size = 2
role = "payload_len"
"#;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Ddp,
    BigPacket,
    Numbered,
    Indexed,
}
use Kind::{BigPacket, Ddp, Indexed, Numbered};

const KINDS: [Kind; 4] = [Ddp, BigPacket, Numbered, Indexed];

/// One chunk as its header describes it.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    frame: u32,
    number: u32,
    index: u16,
    count: u16,
    offset: u32,
    octets: usize,
    announced: usize,
    last: bool,
    at: i64,
}

fn usual() -> Vec<Chunk> {
    let mut all = Vec::new();
    for frame in 0..FRAMES {
        for (index, size) in SIZES.into_iter().enumerate() {
            all.push(Chunk {
                frame,
                number: all.len() as u32,
                index: index as u16,
                count: SIZES.len() as u16,
                offset: 512 * index as u32,
                octets: size,
                announced: size,
                last: index + 1 == SIZES.len(),
                at: i64::from(frame) * FRAME + index as i64 * 150_000,
            });
        }
    }
    all
}

fn octets(kind: Kind, c: &Chunk) -> Vec<u8> {
    let data: Vec<u8> = (0..c.octets).map(|i| (c.number as usize * 7 + i) as u8).collect();
    let announced = (c.announced as u16).to_be_bytes();
    let offset = (c.offset as u16).to_be_bytes();
    match kind {
        Ddp => {
            let head = [0x40 | u8::from(c.last), (c.number % 15) as u8 + 1, 1];
            wire::ddp(head, c.offset, c.announced as u16, &data)
        }
        BigPacket => {
            let head = [u16::from(c.last), 7, c.index, c.count];
            let mut out = wire::bigpacket(head, [c.frame, c.offset, 1836, 0], &data);
            out[14..16].copy_from_slice(&announced);
            out
        }
        Numbered => {
            let number = (c.number as u16).to_be_bytes();
            [&[0xa5, 0x5a, u8::from(c.last)][..], &number, &offset, &announced, &data].concat()
        }
        Indexed => {
            let frame = (c.frame as u16).to_be_bytes();
            [&b"PX"[..], &frame, &[c.index as u8, c.count as u8], &offset, &announced, &data].concat()
        }
    }
}

fn wire(kind: Kind) -> Wire {
    let mut w = Wire::new(match kind {
        Ddp => 4048,
        BigPacket => 21_600,
        Numbered => 9321,
        Indexed => 9322,
    });
    let layouts = [NUMBERED, INDEXED].map(|text| Layout::read(text).unwrap());
    let layouts = Layouts::new(layouts.to_vec()).unwrap();
    w.verifier = Verifier::new(Options { layouts, ..Options::default() });
    w
}

/// The account of these chunks; IP ids run on without a hole.
fn account(kind: Kind, chunks: &[Chunk]) -> Account {
    let mut w = wire(kind);
    let start = w.at;
    for (n, c) in chunks.iter().enumerate() {
        w.at = start + c.at;
        w.link.ip_id = Some(n as u16 + 1);
        w.send(&octets(kind, c));
    }
    w.finish()
}

/// A run in which one chunk was changed.
fn with(kind: Kind, frame: u32, index: usize, change: impl Fn(&mut Chunk)) -> Account {
    let mut chunks = usual();
    change(&mut chunks[frame as usize * SIZES.len() + index]);
    account(kind, &chunks)
}

/// Frames: seen, complete, torn, without end.
fn frames(a: &Account) -> (u64, u64, u64, u64) {
    assert_eq!(a.outputs.len(), 1, "{:?}", a.outputs);
    let f = &a.outputs[0].frames;
    (f.seen, f.complete, f.torn, f.unterminated)
}

/// Codes but for pixels cut in two, which chunks of 512 octets do.
fn codes(a: &Account) -> Vec<&'static str> {
    let mut all: Vec<_> = a.findings.iter().map(|f| f.code).filter(|code| *code != "DDP-D10").collect();
    all.sort_unstable();
    all
}

const WHOLE: u64 = FRAMES as u64;

#[test]
fn a_clean_run_of_each_kind_has_whole_frames_and_nothing_to_tell() {
    for kind in KINDS {
        let a = account(kind, &usual());
        assert_eq!((frames(&a), codes(&a)), ((WHOLE, WHOLE, 0, 0), vec![]), "{kind:?}");
        assert_eq!((a.outputs[0].datagrams_per_frame, a.outputs[0].octets_per_frame), (4, 1836), "{kind:?}");
    }
}

#[test]
fn a_length_beyond_the_datagram_is_one_violation_and_falsifies_no_other_frame() {
    let code = |kind| match kind {
        Ddp => "DDP-D08",
        BigPacket => "BIGPACKET-B06",
        Numbered | Indexed => "LAYOUT-L06",
    };
    for kind in KINDS {
        for (frame, index, announced) in [0, 1, 30, FRAMES - 1]
            .iter()
            .flat_map(|f| (0..4).map(move |i| (*f, i)))
            .flat_map(|(f, i)| [513, 520, 900, 1440, 5000, 65_535].map(|announced| (f, i, announced)))
        {
            let a = with(kind, frame, index, |c| c.announced = announced);
            let case = format!("{kind:?}, frame {frame}, chunk {index}, {announced}");
            assert_eq!(frames(&a), (WHOLE, WHOLE, 0, 0), "{case}: {:?}", a.findings);
            let mut all = codes(&a);
            // A chunk that claims to reach past the frame says so, too.
            all.retain(|found| *found != "BIGPACKET-B07");
            assert_eq!(all, [code(kind)], "{case}");
            let o = &a.outputs[0];
            assert_eq!((o.datagrams_per_frame, o.octets_per_frame), (4, 1836), "{case}");
            assert!(o.rate_mhz.abs_diff(40_000) < 10, "{case}: {}", o.rate_mhz);
            assert!(o.frame_interval_ns.max < 26_000_000, "{case}");
        }
    }
}

#[test]
fn a_length_beyond_the_datagram_of_a_universe_falsifies_no_frame() {
    for (port, at) in [(5568, 123), (6454, 16)] {
        for bad in [0u8, 30] {
            let mut w = Wire::new(port);
            for n in 0..60u8 {
                let data = wire::capture::Data { slots: 120, ..wire::capture::Data::numbered(n) };
                let mut octets =
                    if port == 5568 { data.octets() } else { wire::art_dmx(n + 1, 0, 1, &[n; 120]) };
                if n == bad {
                    octets[at..at + 2].copy_from_slice(&512u16.to_be_bytes());
                }
                w.send(&octets).wait(FRAME);
            }
            let a = w.finish();
            assert_eq!(frames(&a), (60, 60, 0, 0), "{port}: {:?}", a.findings);
            assert_eq!(
                (a.outputs[0].octets_per_frame, a.streams[0].data_octets),
                (120, (120, 120)),
                "{port}"
            );
            let violations = a.findings.iter().filter(|f| f.severity == Severity::Violation).count();
            assert_eq!(violations, 1, "{port}: {:?}", a.findings);
        }
    }
}

#[test]
fn one_larger_datagram_does_not_change_the_chunk_size_of_the_frames_after_it() {
    for kind in [Ddp, Numbered] {
        let mut chunks = usual();
        // Frame 30 comes as one datagram of 1,440 octets and one of the rest.
        let first = 30 * SIZES.len();
        chunks.drain(first + 2..first + 4);
        (chunks[first].octets, chunks[first].announced) = (1440, 1440);
        let rest = &mut chunks[first + 1];
        (rest.offset, rest.octets, rest.announced, rest.last) = (1440, 396, 396, true);
        (0..).zip(&mut chunks).for_each(|(n, c)| c.number = n);
        let a = account(kind, &chunks);
        assert_eq!((frames(&a), codes(&a)), ((WHOLE, WHOLE, 0, 0), vec![]), "{kind:?}: {:?}", a.findings);
        // A datagram lost afterwards is placed as before.
        chunks.remove(45 * SIZES.len());
        let a = account(kind, &chunks);
        assert_eq!((frames(&a).0, frames(&a).2), (WHOLE, 1), "{kind:?}: {:?}", a.findings);
    }
}

#[test]
fn a_chunk_in_another_place_leaves_a_hole_that_is_told_and_no_frame_is_split() {
    for kind in KINDS {
        for frame in [2, 30, FRAMES - 2] {
            for (index, offset) in
                [(1, 513), (1, 0), (1, 60_000), (2, 1023), (2, 1025), (2, 1536), (2, 5), (3, 1537)]
            {
                let a = with(kind, frame, index, |c| c.offset = offset);
                let case = format!("{kind:?}, frame {frame}, chunk {index} at {offset}: {:?}", a.findings);
                // Before there is a period to judge by, a chunk at the very first offset begins another frame.
                if frame == 2 && offset == 0 && matches!(kind, Ddp | Numbered) {
                    let code = if kind == Ddp { "DDP-D12" } else { "FRAME-TORN" };
                    assert!(frames(&a).0 == WHOLE + 1 && has(&a, code), "{case}");
                } else if kind == Ddp {
                    assert_eq!(frames(&a), (WHOLE, WHOLE, 0, 0), "{case}");
                    assert_eq!(codes(&a), ["DDP-D12"], "{case}");
                    let told = found(&a, "DDP-D12")[0];
                    assert_eq!((told.severity, told.count), (Severity::Warning, 1), "{case}");
                } else {
                    assert_eq!(frames(&a), (WHOLE, WHOLE - 1, 1, 0), "{case}");
                    let torn = found(&a, "FRAME-TORN");
                    assert_eq!((torn.len(), &torn[0].frames[..]), (1, &[u64::from(frame)][..]), "{case}");
                    assert!(torn[0].text.contains("has a hole"), "{case}");
                    assert!(!has(&a, "SEQ-LOST"), "{case}");
                }
            }
        }
    }
}

#[test]
fn chunks_that_overlap_without_a_hole_are_told() {
    for kind in KINDS {
        let a = with(kind, 30, 2, |c| (c.offset, c.octets, c.announced) = (1000, 536, 536));
        let (code, severity) = match kind {
            Ddp => ("DDP-D12", Severity::Warning),
            _ => ("FRAME-SHAPE", Severity::Violation),
        };
        assert_eq!(frames(&a).0, WHOLE, "{kind:?}");
        let told = found(&a, code);
        assert_eq!((told.len(), told[0].severity), (1, severity), "{kind:?}: {:?}", a.findings);
        assert!(told[0].text.contains("overlap: 24 octets"), "{kind:?}: {}", told[0].text);
    }
}

#[test]
fn one_frame_that_ends_past_the_usual_end_is_told_and_another_size_from_there_on_is_not() {
    for kind in [Numbered, Indexed] {
        let a = with(kind, 30, 3, |c| (c.octets, c.announced) = (312, 312));
        assert_eq!((frames(&a), codes(&a)), ((WHOLE, WHOLE, 0, 0), vec!["FRAME-SHAPE"]), "{kind:?}");
        let mut chunks = usual();
        let later = chunks.iter_mut().filter(|c| c.frame >= 30 && c.index == 3);
        later.for_each(|c| (c.octets, c.announced) = (312, 312));
        let a = account(kind, &chunks);
        assert_eq!((frames(&a), codes(&a)), ((WHOLE, WHOLE, 0, 0), vec![]), "{kind:?}: {:?}", a.findings);
    }
}

#[test]
fn a_count_that_differs_within_a_frame_is_told() {
    for kind in [BigPacket, Indexed] {
        for (index, count) in [(0, 5), (1, 200), (1, 5), (2, 4 + 3), (1, 2 + 1)] {
            let a = with(kind, 30, index, |c| c.count = count);
            assert_eq!(frames(&a), (WHOLE, WHOLE, 0, 0), "{kind:?} {index} {count}: {:?}", a.findings);
            let told = found(&a, "FRAME-SHAPE");
            assert_eq!(told.len(), 1, "{kind:?} {index} {count}: {:?}", a.findings);
            let violation = told[0].severity == Severity::Violation;
            assert!(violation && told[0].text.contains(&count.to_string()), "{}", told[0].text);
        }
    }
}

#[test]
fn a_chunk_with_the_number_of_another_frame_leaves_its_own_frame_torn() {
    for kind in [BigPacket, Indexed] {
        for other in [31, 29, 9999] {
            let a = with(kind, 30, 1, |c| c.frame = other);
            let torn = frames(&a).2;
            assert!(torn >= 1, "{kind:?} {other}: {:?}", a.findings);
            assert!(has(&a, "FRAME-TORN"), "{kind:?} {other}: {:?}", a.findings);
            if other == 31 {
                assert_eq!(frames(&a), (WHOLE, WHOLE - 1, 1, 0), "{kind:?}: {:?}", a.findings);
                assert_eq!(found(&a, "FRAME-TORN")[0].frames, [30], "{kind:?}");
            }
        }
    }
}

#[test]
fn an_index_beyond_the_count_loses_nothing_but_its_own_place() {
    for kind in [BigPacket, Indexed] {
        let a = with(kind, 30, 1, |c| c.index = 7);
        assert!(!has(&a, "SEQ-LOST"), "{kind:?}: {:?}", a.findings);
        assert_eq!(frames(&a), (WHOLE, WHOLE - 1, 1, 0), "{kind:?}: {:?}", a.findings);
    }
}

#[test]
fn partial_updates_and_cut_edges_are_no_flaw() {
    let flaws = ["DDP-D12", "FRAME-SHAPE", "FRAME-TORN"];
    for kind in KINDS {
        // Every second frame is an update of two areas.
        let mut chunks = usual();
        if matches!(kind, Ddp | Numbered) {
            chunks.retain(|c| c.frame % 2 == 0 || c.index == 0 || c.index == 3);
            (0..).zip(&mut chunks).for_each(|(n, c)| c.number = n);
            let a = account(kind, &chunks);
            assert!(flaws.iter().all(|code| !has(&a, code)), "{kind:?}: {:?}", a.findings);
        }
        // The capture begins and ends in the middle of a frame.
        let chunks = usual();
        let a = account(kind, &chunks[2..chunks.len() - 2]);
        assert!(flaws.iter().all(|code| !has(&a, code)), "{kind:?}: {:?}", a.findings);
    }
}

#[test]
fn a_lost_a_late_and_a_repeated_datagram_are_told_as_that_and_as_no_flaw() {
    for kind in KINDS {
        let at = 30 * SIZES.len() + 1;
        let no_flaw = |what: &str, chunks: &[Chunk], torn: u64| {
            let mut w = wire(kind);
            let start = w.at;
            for c in chunks {
                w.at = start + c.at;
                w.send(&octets(kind, c));
            }
            let a = w.finish();
            assert!(!has(&a, "FRAME-SHAPE") && !has(&a, "DDP-D12"), "{kind:?} {what}: {:?}", a.findings);
            assert_eq!((frames(&a).0, frames(&a).2), (WHOLE, torn), "{kind:?} {what}: {:?}", a.findings);
        };
        let mut lost = usual();
        lost.remove(at);
        no_flaw("lost", &lost, 1);
        let mut late = usual();
        late.swap(at, at + 1);
        (late[at].at, late[at + 1].at) = (late[at + 1].at, late[at].at);
        no_flaw("late", &late, 0);
        let mut twice = usual();
        twice.insert(at, twice[at]);
        no_flaw("twice", &twice, 0);
    }
}

/// The frame after the next one shows that nothing of it is to come.
#[test]
fn a_hole_without_a_missing_number_is_told_while_the_run_goes_on() {
    for (kind, code) in
        [(Ddp, "DDP-D12"), (BigPacket, "FRAME-TORN"), (Numbered, "FRAME-TORN"), (Indexed, "FRAME-TORN")]
    {
        let mut chunks = usual();
        let short = &mut chunks[30 * SIZES.len() + 1];
        (short.octets, short.announced) = (400, 400);
        let (mut w, mut told) = (wire(kind), Vec::new());
        let start = w.at;
        for (n, c) in chunks.iter().enumerate() {
            w.at = start + c.at;
            w.link.ip_id = Some(n as u16 + 1);
            w.send(&octets(kind, c));
            let news = w.verifier.news(Timestamp(w.at));
            told.extend(news.into_iter().filter(|f| f.code == code).map(|f| (c.frame, f.text)));
        }
        let a = w.finish();
        let found = found(&a, code);
        assert_eq!((told.len(), found.len()), (1, 1), "{kind:?}: {told:?}");
        assert!((31..=32).contains(&told[0].0), "{kind:?}: {told:?}");
        assert_eq!(told[0].1, found[0].text, "{kind:?}");
    }
}
