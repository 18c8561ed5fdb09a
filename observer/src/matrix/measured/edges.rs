//! What a stream lost over the edges of a window: it was silent there while the device went on making frames.
//!
//! The account of the window knows losses between two datagrams of it only. Here a silence from the window's beginning, to
//! its end, or all through it is held against what the device did meanwhile. Where nothing shows that it went on, nothing
//! is lost: it paused.

use super::tape::{One, Taped};
use super::wire::Wanted;
use crate::matrix::declared::is_by_universe;
use std::net::SocketAddr;
use wireproof_matrices::arm::{Episode, Measured, Owners, Span};
use wireproof_matrices::levels::Levels;
use wireproof_matrices::plan::Plan;
use wireproof_protocols::Protocol;
use wireproof_protocols::layout::{Sequence, Step};

/// Silences up to so many periods are how frames lie against an edge, not a loss.
const PERIODS: i128 = 3;
/// Frames that the device has to have made in a silence for it to be one.
const WENT_ON: u64 = 2;

/// A datagram of a lane.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at_ns: i64,
    source: SocketAddr,
    number: Option<u32>,
}

/// What can fall silent by itself: a universe of a stream that has one datagram a frame in each, or else a whole stream.
#[derive(Debug)]
pub(super) struct Lane {
    /// Index of the stream in the plan.
    stream: usize,
    per_frame: u64,
    /// Numbers start over after so many; `None` where they are those of several universes.
    modulus: Option<i128>,
    /// Datagrams with the same number.
    per_number: u64,
    port: u16,
    /// It came to a group, or would have.
    multicast: bool,
    seen: Vec<Seen>,
}

/// The lanes of a stream of the plan with their datagrams over the whole tape; a sync or a goodbye is none.
pub(super) fn lanes<'a>(index: usize, want: &Wanted<'_>, own: impl Iterator<Item = &'a One>) -> Vec<Lane> {
    let universes: Vec<u32> = match want.universes.len() == want.plan.datagrams_per_frame as usize {
        true => want.universes.iter().copied().collect(),
        false => Vec::new(),
    };
    let mut lanes: Vec<Lane> = match universes.as_slice() {
        [] => vec![Lane::of(index, want, want.plan.datagrams_per_frame.max(1))],
        several => several.iter().map(|_| Lane::of(index, want, 1)).collect(),
    };
    for one in own.filter(|one| one.data || one.protocol.is_none()) {
        match universes.binary_search(&one.stream) {
            Ok(at) if one.protocol.is_some() => lanes.iter_mut().skip(at).take(1).for_each(|l| l.take(one)),
            // Whose it is cannot be told: nobody was silent then.
            _ => lanes.iter_mut().for_each(|lane| lane.take(one)),
        }
    }
    lanes.iter_mut().for_each(|lane| lane.seen.sort_by_key(|seen| seen.at_ns));
    lanes
}

/// All datagrams of a frame have the same number.
fn numbers_frames(protocol: Protocol) -> bool {
    match protocol.layout() {
        Some(table) => {
            let by_frame = |sequence: &Sequence| sequence.step == Step::Frame;
            table.layout.has_chunks() && table.layout.sequence.as_ref().is_some_and(by_frame)
        }
        None => protocol == Protocol::BigPacket,
    }
}

impl Lane {
    fn of(stream: usize, want: &Wanted<'_>, per_frame: u32) -> Lane {
        let by_universe = want.protocol.is_some_and(is_by_universe);
        let by_frame = want.protocol.is_some_and(numbers_frames);
        let modulus = Some(i128::from(want.plan.seq_modulus)).filter(|modulus| *modulus > 0);
        Lane {
            stream,
            per_frame: u64::from(per_frame),
            modulus: modulus.filter(|_| per_frame == 1 || !by_universe),
            per_number: if by_frame { u64::from(per_frame) } else { 1 },
            port: want.port,
            multicast: want.protocol == Some(Protocol::Sacn),
            seen: Vec::new(),
        }
    }

    fn take(&mut self, one: &One) {
        self.multicast = one.destination.ip().is_multicast();
        // 0 is no number where numbers begin with 1.
        let zero = matches!(one.protocol, Some(Protocol::Ddp | Protocol::ArtNet));
        let number = one.number.filter(|number| *number > 0 || !zero);
        self.seen.push(Seen { at_ns: one.at_ns, source: one.source, number });
    }

    /// Where it was silent at the edges: one span if it was all through the window.
    fn silences(&self, window: Span) -> Vec<Span> {
        let inside = || self.seen.iter().filter(|seen| holds(window, seen.at_ns)).map(|seen| seen.at_ns);
        match (inside().next(), inside().next_back()) {
            (Some(first), Some(last)) => {
                vec![Span { end_ns: first, ..window }, Span { start_ns: last, ..window }]
            }
            _ => vec![window],
        }
    }

    /// Frames that it showed within a span, by the number of its datagrams.
    fn frames(&self, span: Span) -> u64 {
        let within = self.seen.iter().filter(|seen| seen.at_ns > span.start_ns && seen.at_ns < span.end_ns);
        within.count() as u64 / self.per_frame
    }

    /// Its last datagram before a silence and its first one after.
    fn around(&self, silence: Span) -> (Option<&Seen>, Option<&Seen>) {
        let before = self.seen.iter().rfind(|seen| seen.at_ns <= silence.start_ns);
        (before, self.seen.iter().find(|seen| seen.at_ns >= silence.end_ns))
    }

    /// What its numbers say is missing between the datagrams around a silence, nearest to what was due in that time; `None`
    /// without numbers, or from another socket.
    fn by_numbers(&self, silence: Span, fps: u32) -> Option<u64> {
        let (Some(before), Some(after)) = self.around(silence) else { return None };
        let (from, to) = (i128::from(before.number?), i128::from(after.number?));
        let modulus = self.modulus.filter(|_| before.source == after.source)?;
        let gap = Span { start_ns: before.at_ns, end_ns: after.at_ns };
        let due = (frames_of(gap, fps) - 1).max(0) * i128::from(self.per_frame / self.per_number);
        let least = (to - from - 1).rem_euclid(modulus);
        let rounds = (due - least + modulus / 2).div_euclid(modulus).max(0);
        u64::try_from(least + rounds * modulus).ok()?.checked_mul(self.per_number)
    }

    /// Nothing of it came again, and it came to a group: this host may have been put out of the group.
    fn may_have_left(&self, silence: Span) -> bool {
        self.multicast && self.around(silence).1.is_none()
    }
}

/// Adds what was lost at the edges of the window to the streams and the episodes.
pub(super) fn measure(plan: &Plan, levels: &Levels, lanes: &[Lane], taped: &Taped, m: &mut Measured) {
    let fps = plan.target.expected_fps;
    let mut bench = Bench::of(taped);
    for (i, lane) in lanes.iter().enumerate() {
        let Some(stream) = plan.stream.get(lane.stream).filter(|stream| plan.sends(stream, levels)) else {
            continue;
        };
        for silence in lane.silences(m.window).into_iter().filter(|span| is_long(*span, fps)) {
            let others = lanes.iter().enumerate().filter(|(j, _)| *j != i);
            let shown = others.map(|(_, other)| other.frames(silence)).chain([ring_frames(m, silence)]).max();
            let went_on = shown.filter(|frames| *frames >= WENT_ON).unwrap_or(0);
            let due = u64::try_from(frames_of(silence, fps)).unwrap_or(0).min(went_on);
            let lost = due.saturating_mul(lane.per_frame);
            let lost = lane.by_numbers(silence, fps).map_or(lost, |most| lost.min(most));
            if lost > 0 {
                let owners = bench.owners(lane, silence, lost);
                let of = stream.id.clone();
                add(m, lane.stream, Episode { stream: of, span: silence, missing: lost, owners });
            }
        }
    }
}

fn add(m: &mut Measured, stream: usize, episode: Episode) {
    if let Some(of) = m.streams.get_mut(stream) {
        of.lost += episode.missing;
        of.owners.observer += episode.owners.observer;
        of.owners.upstream += episode.owners.upstream;
        of.owners.ambiguous += episode.owners.ambiguous;
    }
    m.episodes.push(episode);
}

/// What this host lost, or left out, and when: each of it explains one missing datagram.
#[derive(Debug)]
struct Bench {
    lost: Vec<(Span, Option<u16>, u64)>,
}

impl Bench {
    fn of(taped: &Taped) -> Bench {
        let drops = taped.drops.iter();
        let drops =
            drops.map(|d| (Span { start_ns: d.from.0, end_ns: d.to.0 }, d.port, d.count)).collect::<Vec<_>>();
        let blind = taped.blind.iter().map(|(span, count)| (*span, None, *count));
        Bench { lost: drops.into_iter().chain(blind).collect() }
    }

    /// Who lost so many of a lane in a silence.
    fn owners(&mut self, lane: &Lane, silence: Span, lost: u64) -> Owners {
        let mut observer = 0;
        for (span, port, left) in &mut self.lost {
            let meets = span.start_ns < silence.end_ns && span.end_ns > silence.start_ns;
            if meets && port.is_none_or(|port| port == lane.port) {
                let taken = (*left).min(lost - observer);
                *left -= taken;
                observer += taken;
            }
        }
        let rest = lost - observer;
        match lane.may_have_left(silence) {
            true => Owners { observer, ambiguous: rest, ..Owners::default() },
            false => Owners { observer, upstream: rest, ..Owners::default() },
        }
    }
}

fn holds(span: Span, ns: i64) -> bool {
    (span.start_ns..span.end_ns).contains(&ns)
}

fn length(span: Span) -> i128 {
    i128::from(span.end_ns) - i128::from(span.start_ns)
}

/// Whole periods in a span.
fn frames_of(span: Span, fps: u32) -> i128 {
    length(span) * i128::from(fps) / 1_000_000_000
}

fn is_long(span: Span, fps: u32) -> bool {
    length(span) * i128::from(fps) > PERIODS * 1_000_000_000
}

/// Whole frames of the ring that began and ended in a span of the capture timestamps for certain.
fn ring_frames(m: &Measured, span: Span) -> u64 {
    let Some(device) = m.device_window else { return 0 };
    let ahead = device.start_ns.saturating_sub(m.window.start_ns);
    let error = i64::try_from(m.clock_error_ns).unwrap_or(i64::MAX);
    let from = span.start_ns.saturating_add(ahead).saturating_add(error);
    let to = span.end_ns.saturating_add(ahead).saturating_sub(error);
    let frames = m.frames.iter().filter(|frame| frame.span.start_ns > from && frame.span.end_ns < to);
    frames.count() as u64
}
