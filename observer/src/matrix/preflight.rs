//! The checks before a run touches anything: ports, buffers, silent streams, the positive control, how long the ring keeps.
//!
//! It sends nothing but one download of the ring.

use super::control::discard;
use super::ring_reader::RingReader;
use super::wire::{self, Look, NoWire, Wire};
use crate::live::control::stall;
use crate::live::drain::{DrainPlan, DrainStatus, DrainUrl, download};
use crate::live::source::Source;
use crossbeam_channel::{Receiver, bounded};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use wireproof_matrices::levels::Levels;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::io::{Buffer, Preflight, StallControl};

/// How long streams are waited for.
const LISTEN: Duration = Duration::from_secs(3);
/// Longest time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Longest that the download of the ring may take.
const DOWNLOAD: Duration = Duration::from_secs(20);

/// What is checked with what.
#[derive(Clone, Debug)]
pub struct Checks<'a> {
    /// The plan.
    pub plan: &'a Arc<Plan>,
    /// Where the ring is; `None` without a drain.
    pub ring: Option<DrainUrl>,
    /// A folder for the download, on the evidence disk.
    pub folder: &'a Path,
}

/// Makes all checks; the lock and journals of earlier runs are looked at by whoever owns the bundle.
pub fn preflight(checks: &Checks<'_>) -> Preflight {
    let mut found = Preflight { free_bytes: free_bytes(checks.folder).unwrap_or(0), ..Preflight::default() };
    match wire::open(checks.plan) {
        Ok(source) => found.buffers = buffers(checks.plan, source.info()),
        Err(error) => found.taken.push(error.to_string()),
    }
    if found.taken.is_empty() {
        match silent(checks.plan) {
            Ok(silent) => found.silent = silent,
            Err(error) => found.taken.push(error.to_string()),
        }
    }
    // A control that cannot be run is told as that.
    found.stall = stall(false)
        .ok()
        .map(|c| StallControl { lost: c.missing, reported: if c.invalid { c.observers } else { 0 } });
    let reader = RingReader::of(checks.plan);
    found.retention_ns = checks.ring.as_ref().and_then(|url| retention(url, checks.folder, &reader));
    found
}

/// Free space of the disk that a folder is on, octets.
///
/// # Errors
/// What the system says.
pub fn free_bytes(folder: &Path) -> std::io::Result<u64> {
    let space = rustix::fs::statvfs(folder)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

fn buffers(plan: &Plan, info: &crate::live::source::SourceInfo) -> Vec<Buffer> {
    let (asked_bytes, got_bytes) = info.buffer_bytes;
    let hold_ns = wire::hold_ns(info, plan);
    let remedy = format!("sysctl -w net.core.rmem_max={}", asked_bytes.div_ceil(2));
    let of = |stream: &wireproof_matrices::plan::PlanStream| Buffer {
        stream: stream.id.clone(),
        asked_bytes,
        got_bytes,
        hold_ns,
        remedy: remedy.clone(),
    };
    plan.stream.iter().map(of).collect()
}

/// Streams of which nothing comes.
fn silent(plan: &Arc<Plan>) -> Result<Vec<String>, NoWire> {
    let (give, looks) = bounded(16);
    let running = Wire::start(plan, &Levels::new(), None, give)?;
    let seen = listen(&looks);
    running.stop()?;
    let sent = plan.stream.iter().filter(|stream| plan.sends(stream, &Levels::new()));
    let absent = sent.filter(|stream| !seen.seen.contains_key(&stream.id));
    Ok(absent.map(|stream| stream.id.clone()).collect())
}

/// The last look: when everything was seen, or the time is over.
fn listen(looks: &Receiver<Look>) -> Look {
    let began = Instant::now();
    let mut last = Look::default();
    while began.elapsed() < LISTEN && !last.all {
        if let Ok(look) = looks.recv_timeout(LOOK) {
            last = look;
        }
    }
    last
}

/// How long the ring keeps a record, ns: what it holds when it has wrapped, else what it will hold.
fn retention(url: &DrainUrl, folder: &Path, reader: &RingReader) -> Option<u64> {
    let name = "preflight-ring.bin";
    discard(&folder.join(name));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().ok()?;
    let plan =
        DrainPlan { deadline: DOWNLOAD, ..DrainPlan::new(url.clone(), Duration::from_secs(1), folder) };
    let (_open, mut never) = oneshot::channel();
    let (span, ..) = runtime.block_on(download(&plan, 1, name, &mut never));
    runtime.shutdown_background();
    let image = std::fs::read(folder.join(name)).ok();
    discard(&folder.join(name));
    image.filter(|_| span.status == DrainStatus::Ok).and_then(|image| kept_ns(&image, reader))
}

/// Time that a ring of this size holds at the rate it shows, ns.
pub fn kept_ns(image: &[u8], reader: &RingReader) -> Option<u64> {
    let ring = reader.read(image).ok()?;
    let (first, last) = (ring.frames.first()?, ring.frames.last()?);
    let passed = u128::from(last.end_ns.saturating_sub(first.start_ns));
    let held = u128::from(ring.window.hi.saturating_sub(ring.window.lo)).max(1);
    u64::try_from(passed * u128::from(ring.capacity) / held).ok()
}
