//! What the collected ring says about the window: frames, misses, stage ranges, holes.

use super::Clock;
use crate::matrix::causes::ArmCauses;
use crate::matrix::ring_reader::RingReader;
use std::collections::BTreeSet;
use wireproof_matrices::arm::{FrameSpan, Measured, Span};
use wireproof_matrices::plan::Plan;
use wireproof_recorder::analysis::skips::Skips;
use wireproof_recorder::analysis::span::Range;
use wireproof_recorder::analysis::{causes_within, select, stages};
use wireproof_recorder::layout::{STAMP_START, u64_at};
use wireproof_recorder::places::Places;
use wireproof_recorder::{Frame, Kind, Record, Ring};

/// Frames this much before and after the window are kept, ns: enough for every drain's edges.
const AROUND_NS: i64 = 1_000_000_000;

/// Fills in what the ring says and returns it; `None` when it cannot be believed.
pub(super) fn measure(plan: &Plan, image: &[u8], clock: Option<Clock>, m: &mut Measured) -> Option<Ring> {
    let ring = RingReader::of(plan).read(image).ok()?;
    m.ring = true;
    m.torn_frames = ring.partial.count + ring.partial.crc + ring.partial.unfinished;
    let (Some(window), Some(clock)) = (m.device_window, clock) else { return Some(ring) };
    m.frames = around(&ring, window);
    m.missing_frames = missing(&ring, window);
    m.wrapped |= wrapped(&ring, window);
    m.stale = stale(&ring, image, window);
    let misses = stages::records(&ring, Kind::DeadlineMiss);
    m.misses = misses.filter(|r| holds(window, r.start_ns())).count() as u64;
    let guard = plan.timing.guard_ns.saturating_add(clock.error_ns);
    for range in ranges(plan) {
        let times = range_times(&ring, &range, window, guard);
        m.ranges.insert(range, times);
    }
    Some(ring)
}

/// Why the frames of the window were made: the same frames whose times are judged. A ring of layout 1 records no causes.
pub(super) fn causes(plan: &Plan, ring: &Ring, places: Option<&str>, m: &Measured) -> Option<ArmCauses> {
    let window = m.device_window.filter(|_| ring.version > 1)?;
    let guard = plan.timing.guard_ns.saturating_add(m.clock_error_ns);
    let places = places.map(Places::read).unwrap_or_default();
    let report = causes_within(ring, &places, (unsigned(window.start_ns), unsigned(window.end_ns)), guard);
    Some(ArmCauses::of(report))
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn unsigned(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

fn holds(window: Span, ns: u64) -> bool {
    (window.start_ns..window.end_ns).contains(&signed(ns))
}

fn around(ring: &Ring, window: Span) -> Vec<FrameSpan> {
    let (from, to) = (window.start_ns.saturating_sub(AROUND_NS), window.end_ns.saturating_add(AROUND_NS));
    let near = |f: &&Frame| signed(f.start_ns) >= from && signed(f.end_ns) <= to;
    let span = |f: &Frame| Span { start_ns: signed(f.start_ns), end_ns: signed(f.end_ns) };
    let mut frames: Vec<FrameSpan> =
        ring.frames.iter().filter(near).map(|f| FrameSpan { id: f.id, span: span(f) }).collect();
    frames.sort_by_key(|f| (f.span.start_ns, f.id));
    frames
}

/// Ids missing between frames of the window that were not left out on purpose.
fn missing(ring: &Ring, window: Span) -> u64 {
    let skips = Skips::of(stages::records(ring, Kind::Skipped));
    let end_of = |id: u32| ring.frames.iter().find(|f| f.id == id).map(|f| signed(f.end_ns));
    let start_of = |id: u32| ring.frames.iter().find(|f| f.id == id).map(|f| signed(f.start_ns));
    let touches = |after: u32, before: u32| {
        start_of(before).is_some_and(|ns| ns > window.start_ns)
            && end_of(after).is_some_and(|ns| ns < window.end_ns)
    };
    let gaps = ring.gaps.iter().filter(|gap| touches(gap.after, gap.before));
    gaps.map(|gap| u64::from(skips.lost(gap.after, gap.missing))).sum()
}

/// Whether a copy lacks the beginning of a window on the device's clock, because the ring wrapped, and its end, because the
/// copy is older.
pub fn lacks(reader: &RingReader, image: &[u8], window: Span) -> (bool, bool) {
    let Ok(ring) = reader.read(image) else { return (false, false) };
    (wrapped(&ring, window), stale(&ring, image, window))
}

/// The copy was begun before the window had ended. A copy without a stamp ends with its newest record.
fn stale(ring: &Ring, image: &[u8], window: Span) -> bool {
    let until = match ring.stamped {
        true => Some(u64_at(image, STAMP_START)),
        false => ring.frames.iter().map(|f| f.end_ns).chain(ring.loose.iter().map(Record::start_ns)).max(),
    };
    until.is_some_and(|until| signed(until) < window.end_ns)
}

/// The ring begins inside the window, and not because its writer did.
fn wrapped(ring: &Ring, window: Span) -> bool {
    let first = ring.frames.first().map_or(i64::MAX, |f| signed(f.start_ns));
    ring.window.lo > 0 && first > window.start_ns
}

/// The stage ranges that gates ask for, such as `wire_prepare,wire_send`.
fn ranges(plan: &Plan) -> BTreeSet<String> {
    let of = |metric: &str| {
        let (inside, _) = metric.strip_prefix("frame.range(")?.split_once(')')?;
        Some(inside.to_owned())
    };
    plan.gate.iter().filter_map(|gate| of(&gate.metric)).collect()
}

fn range_times(ring: &Ring, range: &str, window: Span, guard: u64) -> Vec<u64> {
    let Ok(range) = Range::parse(&range.replacen(',', "..", 1), &ring.tables) else { return Vec::new() };
    let frames = select::within(&ring.frames, (unsigned(window.start_ns), unsigned(window.end_ns)), guard);
    frames.filter_map(|frame| range.time(frame, None)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::measured::example_plan;
    use wireproof_recorder::header::{Identity, Stage, Tables};
    use wireproof_recorder::layout::file_bytes;
    use wireproof_recorder::snapshot::{self, Times};
    use wireproof_recorder::words::HeapWords;
    use wireproof_recorder::{Event, Writer};

    const PERIOD: u64 = 16_666_667;
    const CAUSE: u16 = 18;
    const RECORDS: u64 = 4_096;

    /// 100 frames a period apart: even ones because source 10 asked for them, odd ones by an event of source 2.
    fn image() -> Vec<u8> {
        let words = HeapWords::new((file_bytes(RECORDS) / 8) as usize);
        let stages = vec![Stage { id: CAUSE, category: 0, name: "cause".to_owned() }];
        let tables = Tables { stages, ..Tables::default() };
        let identity = Identity { period_ns: PERIOD, tables, ..Identity::default() };
        let mut writer = Writer::start(&words, &identity, RECORDS, 0x66AA_0002).unwrap();
        for id in 0..100 {
            let start = u64::from(id) * PERIOD;
            let (class, source) = if id % 2 == 0 { (3, 10) } else { (2, 2) };
            let cause =
                Event { kind: Kind::Cause, flags: class, aux: source, ..Event::span(CAUSE, start, start) };
            let mut batch = writer.frame(id);
            assert!(batch.event(&cause).is_some());
            batch.complete(start, start + 5_000_000);
        }
        snapshot::take(&words).unwrap().seal(&Times::default(), 1)
    }

    #[test]
    fn causes_are_those_of_the_windows_frames_and_places_have_their_names() {
        let window = Span { start_ns: 20 * PERIOD as i64, end_ns: 80 * PERIOD as i64 };
        let mut m =
            Measured { window, device_window: Some(window), clock_error_ns: 1_000, ..Measured::default() };
        let clock = Clock { offset_ns: 0, error_ns: 1_000, drift_ns: 0 };
        let plan = example_plan();
        let ring = measure(&plan, &image(), Some(clock), &mut m).unwrap();
        let judged = wireproof_matrices::metrics::window_frames(&m, plan.timing.guard_ns).count() as u64;
        let of = |places: Option<&str>| causes(&plan, &ring, places, &m).unwrap();
        let named = of(Some("2\tcontrol\n10\tsrc/melt.rs:118\n"));
        let counts = &named.counts;
        assert_eq!(
            (counts.frames, counts.by_events, counts.by_refresh, counts.by_other),
            (judged, 26, 27, 0)
        );
        assert_eq!((counts.places[0].place.as_str(), counts.places[0].requests), ("src/melt.rs:118", 27));
        assert_eq!((named.events[0].place.as_str(), named.events[0].requests), ("control", 26));
        assert_eq!(of(None).counts.places[0].place, "source 10");
        assert_eq!(of(None).octets(), of(None).octets());
        m.device_window = None;
        assert_eq!(causes(&plan, &ring, None, &m), None, "without a clock nobody knows the window");
    }
}
