//! From the raw record of an arm to what it measured: tape, ring, counters and what the runner noted, nothing else.
//!
//! Pure: the same octets give the same [`Measured`], on the bench right after the arm and years later in `matrix verify`.
//! Everything counts strictly within the window, by capture timestamps on the wire and by the device's clock in the ring.

mod bench;
mod edges;
#[cfg(test)]
mod edges_tests;
mod frames;
mod ring;
mod senders;
mod tape;
#[cfg(test)]
mod tests;
mod wire;

pub use bench::Row;
pub use frames::FrameStarts;
pub use ring::lacks;
pub use tape::TapeError;
#[cfg(test)]
pub(crate) use tests::plan as example_plan;

use super::causes::ArmCauses;
use super::declared;
use serde::{Deserialize, Serialize};
use wireproof_matrices::arm::{ArmDrain, Measured, Span};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::io::{ArmOrder, ClockSample, Collected, Status};
use wireproof_recorder::offset::{DRIFT_PPM, Offset};

/// What an arm's files say besides tape, ring and counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// What the arm was to be; `None` only before it is known.
    pub order: Option<ArmOrder>,
    /// The window by the clock of the capture timestamps.
    pub window: Span,
    /// Clock of the capture timestamps minus clock of the runner when the window opened, ns.
    pub ahead_ns: i64,
    /// Device clock minus clock of the runner, before and after the window.
    pub clock: [Option<ClockSample>; 2],
    /// The device's status before and after.
    pub status: [Option<Status>; 2],
    /// Processor time the device had used before and after, ns, if it tells.
    pub cpu_ns: [Option<u64>; 2],
    /// Drains and sham windows on the clock of the runner.
    pub drains: Vec<ArmDrain>,
    /// The collecting download.
    pub collected: Option<Collected>,
    /// Longest gap of the receive loop during the arm, ns.
    pub loop_gap_max_ns: u64,
    /// The capture beside the tape, if the plan wants one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capture: Option<CaptureNote>,
    /// The tap beside the sockets, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tap: Option<TapNote>,
}

/// What became of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureNote {
    /// Records written.
    pub records: u64,
    /// Records left out because the disk was too slow.
    pub left_out: u64,
}

/// What became of a tap. Nothing of it is judged but what its tape shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapNote {
    /// Frames that it dropped: it says nothing of the time in which it did.
    pub dropped: u64,
    /// Datagrams left out of its tape because the disk was too slow.
    pub left_out: u64,
    /// Why it ended before the arm did.
    pub ended: Option<String>,
}

/// The raw record of an arm.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// What the runner noted.
    pub noted: &'a Noted,
    /// `wire.tape`.
    pub tape: &'a [u8],
    /// `ring.raw`, if it was collected.
    pub ring: Option<&'a [u8]>,
    /// `ring.raw.places`, if it lies there: names of the sources of causes.
    pub places: Option<&'a str>,
    /// `tap.tape`, if there was a tap.
    pub tap: Option<&'a [u8]>,
    /// `counters.csv`, read.
    pub counters: &'a [Row],
}

/// What an arm measured, and what else its files show: nothing of the second is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// For the judge.
    pub measured: Measured,
    /// Why the frames of the window were made; `None` without a ring, or a clock to find the window by.
    pub causes: Option<ArmCauses>,
    /// Intervals between the frames of each stream in the window, ns, in their order.
    pub intervals: Vec<(String, Vec<u64>)>,
}

/// Works out what an arm measured.
///
/// # Errors
/// A tape that is damaged: nothing behind the damage could be counted.
pub fn measured(plan: &Plan, raw: &Raw<'_>) -> Result<Measured, TapeError> {
    worked(plan, raw).map(|worked| worked.measured)
}

/// The same, with what is not judged.
///
/// # Errors
/// As [`measured`].
pub fn worked(plan: &Plan, raw: &Raw<'_>) -> Result<Worked, TapeError> {
    let (mut m, offset, causes) = by_device(plan, raw);
    let layouts = declared::layouts(plan);
    let tap = raw.tap.map(|tap| tape::testimony(tap, layouts)).transpose()?;
    let taped = tape::read(raw.tape, raw.noted.window, layouts, tap)?;
    let device = raw.ring.zip(offset);
    let levels = raw.noted.order.as_ref().map(|order| order.levels.clone()).unwrap_or_default();
    let intervals = wire::measure(plan, &levels, &taped, device, &mut m);
    bench::measure(plan, raw.noted, raw.counters, &taped, &mut m);
    Ok(Worked { measured: m, causes, intervals })
}

/// What an arm measured as far as it can be told without its tape: everything but streams, losses and the bench's health.
pub fn without_wire(plan: &Plan, raw: &Raw<'_>) -> Measured {
    by_device(plan, raw).0
}

/// What clocks, status and ring say.
fn by_device(plan: &Plan, raw: &Raw<'_>) -> (Measured, Option<Offset>, Option<ArmCauses>) {
    let noted = raw.noted;
    let clock = Clock::of(noted);
    let mut m = Measured {
        window: noted.window,
        clock_drift_ns: clock.map_or(0, |c| c.drift_ns),
        clock_error_ns: clock.map_or(0, |c| c.error_ns),
        device_window: clock.map(|c| c.device(noted.window)),
        drains: drains(noted, clock),
        cpu_hundredths: cpu(noted),
        ..Measured::default()
    };
    for (i, status) in noted.status.iter().enumerate() {
        let Some(status) = status else { continue };
        m.generation[i] = status.generation;
        m.boot[i] = status.boot.clone();
        m.throttled[i] = status.throttled;
    }
    m.wrapped = noted.collected.is_some_and(|c| c.wrapped);
    let mut offset = clock.map(|c| c.offset(noted.window.start_ns));
    let mut causes = None;
    if let Some(image) = raw.ring {
        let ring = ring::measure(plan, image, clock, &mut m);
        causes = ring.as_ref().and_then(|ring| ring::causes(plan, ring, raw.places, &m));
        // A ring of layout 1 does not say what was sent: it is no witness of who lost a datagram.
        offset = offset.filter(|_| ring.is_some_and(|ring| ring.version > 1));
    }
    (m, offset, causes)
}

/// The device's clock against that of the capture timestamps.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Device minus stamps, ns.
    offset_ns: i64,
    error_ns: u64,
    drift_ns: i64,
}

impl Clock {
    /// The middle of both samples; `None` when a sample is missing, because nothing then tells whether it held.
    fn of(noted: &Noted) -> Option<Clock> {
        let [before, after] = noted.clock;
        let (before, after) = (before?, after?);
        let drift_ns = after.offset_ns.saturating_sub(before.offset_ns);
        let middle = before.offset_ns.saturating_add(drift_ns / 2);
        Some(Clock {
            offset_ns: middle.saturating_sub(noted.ahead_ns),
            error_ns: before.error_ns.max(after.error_ns),
            drift_ns,
        })
    }

    fn device(self, span: Span) -> Span {
        let moved = |ns: i64| ns.saturating_add(self.offset_ns);
        Span { start_ns: moved(span.start_ns), end_ns: moved(span.end_ns) }
    }

    fn offset(self, at_ns: i64) -> Offset {
        Offset {
            at_ns,
            offset_ns: self.offset_ns,
            uncertainty_ns: self.error_ns,
            exchanges: 2,
            drift_ppm: DRIFT_PPM,
        }
    }
}

/// The drains by the clock of the stamps and by the device's.
fn drains(noted: &Noted, clock: Option<Clock>) -> Vec<ArmDrain> {
    let moved = |ns: i64| ns.saturating_add(noted.ahead_ns);
    let one = |drain: &ArmDrain| {
        let bench = Span { start_ns: moved(drain.bench.start_ns), end_ns: moved(drain.bench.end_ns) };
        let device = clock.map_or(Span::default(), |clock| clock.device(bench));
        ArmDrain { bench, device, ..drain.clone() }
    };
    noted.drains.iter().map(one).collect()
}

/// Processor time over the time between the two readings of it, in hundredths of a percentage point of one core.
fn cpu(noted: &Noted) -> Option<i64> {
    let [before, after] = noted.cpu_ns;
    let used = i128::from(after?).checked_sub(i128::from(before?))?;
    let passed = i128::from(noted.window.end_ns) - i128::from(noted.window.start_ns);
    (passed > 0).then(|| i64::try_from(used * 10_000 / passed).unwrap_or(i64::MAX))
}
