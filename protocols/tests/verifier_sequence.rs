//! Losses, restarts and pauses by number, time and IP id: each scenario of a sender with the right answer and why.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::{found, has, only};
use wire::capture::{Data, MS, Wire, bigpacket};
use wireproof_protocols::verify::Account;

/// Datagrams of a frame where frames have several.
const CHUNKS: u32 = 6;
/// Frames before and after what a scenario is about.
const BEFORE: u32 = 300;
const AFTER: u32 = 150;

/// How a sender numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// 0..255.
    Sacn,
    /// 1..255.
    ArtNet,
    /// 0..255, against the text.
    ArtNetZero,
    /// 1..15, one datagram a frame.
    Ddp,
    /// 1..15, six datagrams a frame.
    DdpChunks,
    /// 1..15, one number for the six datagrams of a frame.
    DdpFrames,
    /// 32 bits, one number for the six datagrams of a frame.
    Big,
}

use Kind::{ArtNet, ArtNetZero, Big, Ddp, DdpChunks, DdpFrames, Sacn};

impl Kind {
    fn port(self) -> u16 {
        match self {
            Sacn => 5568,
            ArtNet | ArtNetZero => 6454,
            Ddp | DdpChunks | DdpFrames => 4048,
            Big => 21_600,
        }
    }

    fn chunks(self) -> u32 {
        if matches!(self, DdpChunks | DdpFrames | Big) { CHUNKS } else { 1 }
    }

    /// The datagram `chunk` of frame `n` with this content.
    fn octets(self, n: u32, chunk: u32, content: u32) -> Vec<u8> {
        let bytes = content.to_be_bytes();
        let artnet = |number: u32| {
            let mut octets = b"Art-Net\0\x00\x50\x00\x0e".to_vec();
            octets.extend([number as u8, 0, 1, 0, 0, 4]);
            octets.extend(bytes);
            octets
        };
        let display = |number: u32| {
            let push = u8::from(chunk + 1 == self.chunks());
            wire::ddp([0x40 | push, number as u8, 1], chunk * 4, 4, &bytes)
        };
        match self {
            Sacn => Data { content: (content + content / 251) as u8, ..Data::numbered(n as u8) }.octets(),
            ArtNet => artnet(n % 255 + 1),
            ArtNetZero => artnet(n % 256),
            Ddp | DdpChunks => display((n * self.chunks() + chunk) % 15 + 1),
            DdpFrames => display(n % 15 + 1),
            Big => bigpacket(n, chunk as u16, CHUNKS as u16),
        }
    }
}

/// What the IP ids of the sending host are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ids {
    /// Up by one with each datagram of the stream.
    Counted,
    /// Up by twelve: eleven other streams in step with this one.
    Stride,
    /// Always 0, as with DF on many hosts.
    Zero,
    /// Without order.
    Random,
    /// Not seen, as through a socket.
    Unseen,
}

use Ids::{Counted, Random, Stride, Unseen, Zero};

const EVERY_ID: [Ids; 5] = [Counted, Stride, Zero, Random, Unseen];
const NO_WITNESS: [Ids; 3] = [Zero, Random, Unseen];

/// A sender and what became of its frames.
struct Sender {
    wire: Wire,
    kind: Kind,
    ids: Ids,
    period: i64,
    /// Content that never changes.
    still: bool,
    id: u32,
    /// Number of the next frame, and of its content.
    next: (u32, u32),
}

impl Sender {
    fn new(kind: Kind, ids: Ids, period: i64) -> Sender {
        Sender { wire: Wire::new(kind.port()), kind, ids, period, still: false, id: 7, next: (0, 0) }
    }

    fn still(self) -> Sender {
        Sender { still: true, ..self }
    }

    /// The sender goes from one frame to the next; whether anything of it is captured.
    fn frames(mut self, n: u32, captured: bool) -> Sender {
        for _ in 0..n {
            for chunk in 0..self.kind.chunks() {
                self.id += if self.ids == Stride { 12 } else { 1 };
                self.wire.link.ip_id = match self.ids {
                    Counted | Stride => Some(self.id as u16),
                    Zero => Some(0),
                    Random => Some((self.id.wrapping_mul(2_654_435_761) >> 13) as u16),
                    Unseen => None,
                };
                let content = if self.still { chunk } else { self.next.1 * 7 + chunk };
                if captured {
                    self.wire.send(&self.kind.octets(self.next.0, chunk, content));
                }
            }
            let jitter = i64::from(self.next.1 % 5) * self.period / 200;
            self.wire.wait(self.period + jitter - i64::from((self.next.1 + 4) % 5) * self.period / 200);
            self.next = (self.next.0 + 1, self.next.1 + 1);
        }
        self
    }

    fn sends(self, n: u32) -> Sender {
        self.frames(n, true)
    }

    fn loses(self, n: u32) -> Sender {
        self.frames(n, false)
    }

    /// Sends nothing for so many periods.
    fn pauses(mut self, periods: i64) -> Sender {
        self.wire.wait(periods * self.period);
        self
    }

    /// Begins anew with its first number after so many periods; a program that is started counts its ids elsewhere.
    fn restarts(mut self, periods: i64) -> Sender {
        self.id += 31_117;
        self.next.0 = 0;
        self.pauses(periods)
    }

    /// Skips so many numbers without sending them.
    fn skips(mut self, n: u32) -> Sender {
        self.next.0 += n;
        self
    }

    fn account(self) -> Account {
        self.wire.finish()
    }
}

const HZ40: i64 = 25 * MS;
const HZ1: i64 = 1_000 * MS;

/// (lost, lost_min, ambiguous, restarts) of the only stream.
fn told(a: &Account) -> (u64, u64, bool, u64) {
    let s = &only(a).sequence;
    (s.lost, s.lost_min, s.ambiguous, s.restarts)
}

/// Frames that were sent when the newest number is so many below the end of the cycle, long after the first.
fn until(kind: Kind, below: u32) -> u32 {
    let cycle = match kind {
        Sacn | ArtNetZero => 256,
        ArtNet => 255,
        Ddp | DdpFrames => 15,
        DdpChunks => 5,
        Big => 1,
    };
    BEFORE.next_multiple_of(cycle) - below
}

#[test]
fn a_restart_with_first_numbers_just_ahead_is_no_loss_however_long_it_took() {
    // 56 numbers to the first one: at 40 Hz 1.4 s. Neither 50 ms, 200 ms, 3 s, 10 s nor 20 minutes is the time of 55 losses,
    // and the ids, where they say anything, moved by another number.
    for kind in [Sacn, ArtNet] {
        for ids in EVERY_ID {
            for (period, periods) in
                [(HZ40, 2), (HZ40, 8), (HZ40, 120), (HZ40, 400), (HZ40, 48_000), (HZ1, 10)]
            {
                let a = Sender::new(kind, ids, period)
                    .sends(until(kind, 55))
                    .restarts(periods)
                    .sends(AFTER)
                    .account();
                let text = format!("{kind:?} {ids:?} {period} {periods}: {:?}", a.findings);
                assert_eq!(told(&a), (0, 0, false, 1), "{text}");
                assert!(has(&a, "SEQ-RESTART") && !has(&a, "SEQ-AMBIGUOUS"), "{text}");
            }
        }
    }
}

#[test]
fn a_restart_is_one_wherever_in_the_cycle_the_sender_was_and_whatever_it_shows() {
    // After 10 s at 40 Hz; numbers far ahead, near, just behind, or first ones of the run itself, with the content of before.
    for kind in [Sacn, ArtNet] {
        for still in [false, true] {
            for sent in [40, 60, 100, 129, 190, 200, 250, 253, 300, 500] {
                let s = Sender::new(kind, Counted, HZ40);
                let s = if still { s.still() } else { s };
                let a = s.sends(sent).restarts(400).sends(AFTER).account();
                assert_eq!(told(&a), (0, 0, false, 1), "{kind:?} {still} {sent}: {:?}", a.findings);
                assert_eq!(only(&a).sequence.duplicates, 0, "{kind:?} {still} {sent}: {:?}", a.findings);
            }
        }
    }
}

#[test]
fn a_loss_that_ends_at_the_first_number_stays_a_proven_loss() {
    // As a restart by number, but the time of just so many passed, and the ids, where they are counted, moved by as many.
    // (1 Hz is too slow for sACN, whose session ends after 2.5 s.)
    for (kind, period) in [(Sacn, HZ40), (ArtNet, HZ40), (ArtNet, HZ1)] {
        for ids in EVERY_ID {
            for lost in [1, 2, 7, 8, 20, 55] {
                let a = Sender::new(kind, ids, period)
                    .sends(until(kind, lost))
                    .loses(lost)
                    .sends(AFTER)
                    .account();
                let lost = u64::from(lost);
                assert_eq!(
                    told(&a),
                    (lost, lost, false, 0),
                    "{kind:?} {ids:?} {period} {lost}: {:?}",
                    a.findings
                );
            }
        }
    }
}

#[test]
fn a_loss_anywhere_else_stays_a_proven_loss() {
    for kind in [Sacn, ArtNet, ArtNetZero, Ddp, DdpChunks, Big] {
        let lost: &[u32] = match kind {
            Ddp => &[1, 5, 7],
            DdpChunks => &[1],
            _ => &[1, 3, 20, 55, 90],
        };
        for ids in EVERY_ID {
            for (lost, period) in lost.iter().flat_map(|lost| [(*lost, HZ40), (*lost, HZ1)]) {
                if kind == Sacn && period == HZ1 && lost > 1 {
                    continue;
                }
                let a = Sender::new(kind, ids, period).sends(BEFORE + 10).loses(lost).sends(AFTER).account();
                let lost = u64::from(lost * kind.chunks());
                assert_eq!(
                    told(&a),
                    (lost, lost, false, 0),
                    "{kind:?} {ids:?} {period} {lost}: {:?}",
                    a.findings
                );
            }
        }
    }
}

#[test]
fn numbers_for_which_time_has_no_room_prove_no_loss() {
    // 56 numbers in 2 periods at the same pace: not the first number, so no restart, and nothing but the number says lost.
    for kind in [Sacn, ArtNet, Big] {
        for ids in NO_WITNESS {
            let a =
                Sender::new(kind, ids, HZ40).sends(BEFORE + 10).pauses(1).skips(56).sends(AFTER).account();
            let (_, proven, ambiguous, restarts) = told(&a);
            assert_eq!((proven, ambiguous, restarts), (0, true, 0), "{kind:?} {ids:?}: {:?}", a.findings);
            assert!(!has(&a, "SEQ-LOST"), "{kind:?} {ids:?}: {:?}", a.findings);
        }
        // The ids run on without a hole: they were not sent.
        let a =
            Sender::new(kind, Counted, HZ40).sends(BEFORE + 10).pauses(1).skips(56).sends(AFTER).account();
        assert_eq!(told(&a), (0, 0, false, 0), "{kind:?}: {:?}", a.findings);
    }
}

#[test]
fn whole_cycles_lost_from_a_steady_stream_are_ambiguous_and_no_pass() {
    // Content that changes: time alone says it. Nothing but whole cycles is missing, so that no number proves it.
    let cases = [
        (Sacn, 256),
        (Sacn, 512),
        (ArtNet, 255),
        (ArtNet, 510),
        (ArtNet, 765),
        (ArtNetZero, 256),
        (Ddp, 15),
        (Ddp, 30),
        (DdpChunks, 5),
    ];
    for (kind, lost) in cases {
        for ids in EVERY_ID {
            let a = Sender::new(kind, ids, HZ40).sends(BEFORE).loses(lost).sends(AFTER).account();
            let lost = u64::from(lost * kind.chunks());
            let restarts = u64::from(kind == Sacn);
            assert_eq!(told(&a), (lost, 0, true, restarts), "{kind:?} {ids:?} {lost}: {:?}", a.findings);
        }
    }
}

#[test]
fn whole_cycles_of_a_look_that_stands_still_are_ambiguous_where_the_sender_does_not_leave_it_out() {
    // The same content for 300 frames at the full pace: this sender does not suppress, so a silence means what it means
    // with any content.
    let cases = [(Sacn, 256), (ArtNet, 255), (ArtNet, 510), (Ddp, 30), (DdpChunks, 5)];
    for (kind, lost) in cases {
        for ids in EVERY_ID {
            let a = Sender::new(kind, ids, HZ40).still().sends(BEFORE).loses(lost).sends(AFTER).account();
            let lost = u64::from(lost * kind.chunks());
            let restarts = u64::from(kind == Sacn);
            assert_eq!(told(&a), (lost, 0, true, restarts), "{kind:?} {ids:?} {lost}: {:?}", a.findings);
        }
    }
}

#[test]
fn cycles_and_more_are_told_in_full_and_proven_by_what_is_left() {
    for kind in [ArtNet, ArtNetZero] {
        let cycle = if kind == ArtNet { 255 } else { 256 };
        for (more, still) in [(1, false), (40, false), (1, true), (40, true)] {
            for cycles in [1, 2] {
                let s = Sender::new(kind, Unseen, HZ40);
                let s = if still { s.still() } else { s };
                let a = s.sends(BEFORE).loses(cycles * cycle + more).sends(AFTER).account();
                let lost = u64::from(cycles * cycle + more);
                let text = format!("{kind:?} {cycles} {more} {still}: {:?}", a.findings);
                assert_eq!(told(&a), (lost, u64::from(more), true, 0), "{text}");
            }
        }
    }
}

#[test]
fn content_that_comes_back_by_chance_hides_no_whole_cycle() {
    // The content repeats with every 256th frame, as numbers do: the first one after the loss shows what the last one before it
    // showed. A sender with keep-alives would look alike, but not after over 4 s (Art-Net) or 2.5 s (sACN), and not with these
    // ids.
    for ids in EVERY_ID {
        for (kind, lost) in [(ArtNet, 255), (ArtNet, 511), (Sacn, 255), (Sacn, 511)] {
            let mut s = Sender::new(kind, ids, HZ40);
            for n in 0..1_400 {
                s.next.1 = n % 256 * 3;
                s = s.frames(1, !(600..600 + lost).contains(&n));
            }
            let a = s.account();
            let text = format!("{kind:?} {ids:?} {lost}: {:?}", a.findings);
            assert_eq!((told(&a).0, told(&a).2), (u64::from(lost), true), "{text}");
        }
    }
}

#[test]
fn a_sender_that_only_paused_lost_nothing() {
    // The next number after a pause of just a cycle or of any length, and an id that did not move: nothing was sent.
    for kind in [ArtNet, ArtNetZero, Ddp, DdpChunks, DdpFrames, Big] {
        for ids in [Counted, Stride] {
            for periods in [1, 5, 15, 40, 255, 256, 400] {
                if ids == Stride && kind.chunks() > 1 {
                    continue;
                }
                let a = Sender::new(kind, ids, HZ40).sends(BEFORE).pauses(periods).sends(AFTER).account();
                assert_eq!(told(&a), (0, 0, false, 0), "{kind:?} {ids:?} {periods}: {:?}", a.findings);
            }
        }
    }
}

#[test]
fn keep_alives_are_no_losses_even_where_a_cycle_would_fit_between_them() {
    // Six moves of 40 frames at 64 Hz, then Art-Net's repeat of the look about every 4 s, which is the time of 255 frames.
    let period = 15_625_000;
    for ids in EVERY_ID {
        for apart in [255, 256, 257] {
            let mut s = Sender::new(ArtNet, ids, period).sends(100);
            for _ in 0..6 {
                s = s.sends(40);
                s.still = true;
                s = s.sends(3);
                for _ in 0..3 {
                    s = s.pauses(apart - 1).sends(1);
                }
                s.still = false;
            }
            let a = s.account();
            assert_eq!(told(&a), (0, 0, false, 0), "{ids:?} {apart}: {:?}", a.findings);
        }
    }
}

#[test]
fn a_restart_of_a_display_with_few_numbers_is_no_proven_loss() {
    // 10 s of silence, then the first number and the first chunk, with the same source port. 15 numbers come by chance, so
    // that without ids it stays open.
    for kind in [Ddp, DdpFrames] {
        for sent in [300, 306, 309, 311] {
            for ids in EVERY_ID {
                let a = Sender::new(kind, ids, HZ40).sends(sent).restarts(403).sends(AFTER).account();
                let text = format!("{kind:?} {ids:?} {sent}: {:?}", a.findings);
                assert!(!has(&a, "SEQ-LOST"), "{text}");
            }
        }
    }
}

#[test]
fn art_net_that_goes_through_zero_is_a_dialect_from_its_first_wrap_on() {
    // A stream seen from 200 on is locked before its first wrap.
    for begin in [0, 200, 240, 255] {
        let a = Sender::new(ArtNetZero, Unseen, HZ40).skips(begin).sends(2_000).account();
        let text = format!("{begin}: {:?}", a.findings);
        assert_eq!(told(&a), (0, 0, false, 0), "{text}");
        assert_eq!(only(&a).sequence.model, "per-datagram 0..255", "{text}");
        assert_eq!(found(&a, "SEQ-DIALECT").len(), 1, "{text}");
        assert!(!has(&a, "SEQ-UNUSED"), "{text}");
        assert_eq!(a.outputs[0].frames.complete, 2_000, "{text}");
    }
}

#[test]
fn a_zero_that_is_lost_from_a_cycle_with_zero_is_a_loss_of_one() {
    for lost in [1, 2, 30] {
        let a = Sender::new(ArtNetZero, Counted, HZ40)
            .skips(200)
            .sends(56 + 512)
            .loses(lost)
            .sends(900)
            .account();
        let lost = u64::from(lost);
        assert_eq!(told(&a), (lost, lost, false, 0), "{lost}: {:?}", a.findings);
        assert!(has(&a, "SEQ-DIALECT") && !has(&a, "SEQ-UNUSED"), "{:?}", a.findings);
    }
}

#[test]
fn a_restart_of_a_cycle_with_zero_is_one() {
    for sent in [250, 400, 470, 500] {
        let a =
            Sender::new(ArtNetZero, Unseen, HZ40).skips(200).sends(sent).restarts(400).sends(AFTER).account();
        assert_eq!(told(&a), (0, 0, false, 1), "{sent}: {:?}", a.findings);
    }
}

#[test]
fn healthy_bursts_with_pauses_between_lose_nothing() {
    // A sender on events: 2 to 8 frames 1 ms apart, then 50 to 500 ms nothing. Nothing here is a cadence.
    for kind in [Sacn, ArtNet, Ddp, DdpChunks, DdpFrames, Big] {
        for ids in NO_WITNESS {
            for seed in [3_u32, 5, 8, 11] {
                let mut dice = seed;
                let mut roll = |n: u32| {
                    dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (dice >> 8) % n
                };
                let mut s = Sender::new(kind, ids, MS);
                for _ in 0..80 {
                    s = s.sends(2 + roll(7)).pauses(50 + i64::from(roll(450)));
                }
                let a = s.account();
                assert_eq!(told(&a), (0, 0, false, 0), "{kind:?} {ids:?} {seed}: {:?}", a.findings);
            }
        }
    }
}

#[test]
fn frames_lost_from_a_look_that_stands_still_are_lost_as_from_a_moving_one() {
    // 100 and more repeats at the pace: time speaks as it does with content that changes.
    for still in [false, true] {
        for (kind, period, lost, proven) in [
            (DdpChunks, HZ40, 2, 12),
            (DdpChunks, HZ40, 4, 9),
            (ArtNet, HZ40, 130, 130),
            (ArtNet, HZ40, 200, 200),
            (Sacn, HZ40, 60, 60),
            (Sacn, HZ40, 90, 90),
        ] {
            let s = Sender::new(kind, Unseen, period);
            let s = if still { s.still() } else { s };
            let a = s.sends(120).loses(lost).sends(AFTER).account();
            let text = format!("{kind:?} {lost} {still}: {:?}", a.findings);
            assert_eq!((told(&a).0, told(&a).1), (u64::from(lost * kind.chunks()), proven), "{text}");
        }
        // Over 2.5 s a session of sACN ends, so that nothing is proven; at 1 Hz after 2 losses.
        for (period, lost) in [(HZ40, 126), (HZ40, 200), (HZ1, 4)] {
            let s = Sender::new(Sacn, Unseen, period);
            let s = if still { s.still() } else { s };
            let a = s.sends(120).loses(lost).sends(AFTER).account();
            assert_eq!(told(&a), (u64::from(lost), 0, true, 1), "{lost} {still}: {:?}", a.findings);
        }
    }
}
