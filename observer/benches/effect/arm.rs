//! One arm: a window of the device's frames, with downloads at planned times or without, and the collecting copy after
//! it, which is the same for all arms and never inside a window.

use super::Outcome;
use super::http;
use super::quiet::{Quiet, Sentinel};
use super::rig::Rig;
use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;
use wireproof::send::clock::{Clock, Monotonic};
use wireproof_recorder::analysis::quantiles::Quantiles;
use wireproof_recorder::analysis::select::{durations, overlapping, within};
use wireproof_recorder::snapshot::{self, Pread, Times};
use wireproof_recorder::{Policy, Ring, parse};

/// Time between two arms, so that the one before is over.
const SETTLE: Duration = Duration::from_millis(400);
/// What is cut off both ends of a window, ns.
const GUARD_NS: u64 = 50_000_000;
/// Frames a second of the device.
pub(crate) const RATE: u64 = 60;
const SECOND_NS: u64 = 1_000_000_000;

/// What an arm came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arm {
    /// Frames, ns.
    pub(crate) frames: Quantiles,
    /// Frames that count.
    pub(crate) counted: u64,
    /// Periods of the window without a frame.
    pub(crate) left_out: u64,
    /// The median of the frames that overlap a download, or the time of one in an arm without, ns.
    pub(crate) in_download_ns: u64,
    /// How long each download took, ns.
    pub(crate) downloads_ns: Vec<u64>,
    /// What the host did.
    pub(crate) quiet: Quiet,
}

/// A window: its length and when downloads begin, ns from its start.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) length_ns: u64,
    pub(crate) offsets_ns: Vec<u64>,
}

/// An arm with what it is compared by.
pub(crate) struct Ran {
    pub(crate) arm: Arm,
    /// The copy behind it.
    pub(crate) ring: Ring,
    /// Downloads, CLOCK_MONOTONIC.
    pub(crate) spans: Vec<(u64, u64)>,
    /// Start of the window, as above.
    pub(crate) start_ns: u64,
}

/// Runs an arm; `path` is what is downloaded.
pub(crate) fn run(rig: &Rig, sentinel: &Sentinel, window: &Window, path: Option<&str>) -> Outcome<Ran> {
    thread::sleep(SETTLE);
    let mut clock = Monotonic::for_this_thread();
    let watch = sentinel.watch();
    let start_ns = clock.now_ns();
    let spans = match path {
        Some(path) => downloads(rig, window, path, start_ns, &mut clock)?,
        None => Vec::new(),
    };
    let end_ns = sleep_until(&mut clock, start_ns + window.length_ns);
    let quiet = watch.end();
    thread::sleep(Duration::from_nanos(GUARD_NS));
    let ring = collect(&rig.ring())?;
    let frames: Vec<_> = within(&ring.frames, (start_ns, end_ns), GUARD_NS).collect();
    let ids = frames.first().zip(frames.last()).map_or(0, |(a, b)| u64::from(b.id.wrapping_sub(a.id)) + 1);
    let counted = frames.len() as u64;
    if counted < window.length_ns * RATE / SECOND_NS / 2 {
        return Err(format!("only {counted} frames of an arm are in the ring: is the device held up?").into());
    }
    let arm = Arm {
        frames: durations(frames),
        counted,
        left_out: ids.saturating_sub(counted),
        downloads_ns: spans.iter().map(|(from, to)| to - from).collect(),
        quiet,
        ..Arm::default()
    };
    Ok(Ran { arm, ring, spans, start_ns })
}

/// Makes the downloads of an arm, one after the other; when each began and ended.
fn downloads(
    rig: &Rig,
    window: &Window,
    path: &str,
    start_ns: u64,
    clock: &mut Monotonic,
) -> Outcome<Vec<(u64, u64)>> {
    let mut buffer = vec![0; 256 << 10];
    let mut one = |offset: &u64| {
        let began = sleep_until(clock, start_ns + offset);
        http::get(&rig.authority, path, &mut buffer)?;
        Ok((began, clock.now_ns()))
    };
    window.offsets_ns.iter().map(&mut one).collect()
}

/// The median of the frames that overlap these times, ns; 0 of none.
pub(crate) fn beside(ring: &Ring, spans: &[(u64, u64)]) -> u64 {
    durations(overlapping(&ring.frames, spans)).p50
}

fn sleep_until(clock: &mut Monotonic, ns: u64) -> u64 {
    clock.wait(ns, &|| false)
}

/// A copy of the ring by this program, from the other processor.
fn collect(path: &Path) -> Outcome<Ring> {
    let copy = snapshot::take(&Pread(&File::open(path)?))?;
    let image = copy.seal(&Times::default(), 0);
    parse(&image, Policy::Conservative).map_err(|refusal| refusal.to_string().into())
}
