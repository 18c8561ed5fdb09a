//! Room on the disk: how much there is, and how much a run will take.

use super::error::BundleError;
use std::fs::File;
use std::path::Path;
use wireproof_matrices::plan::{Keep, Pcap, Plan};

/// Tables, tape and JSON of an arm of one second at one datagram a second come to about this, octets.
const OCTETS_A_DATAGRAM: u64 = 64;
/// Octets of a datagram in a full capture; a frame with its header and blocks.
const OCTETS_CAPTURED: u64 = 1_600;
/// Octets of the longest captured headers with their block.
const OCTETS_HEADER: u64 = 232;
/// Records of a tap for each datagram: that of a loopback interface hears everything twice.
const TAPPED: u64 = 2;
/// Files of an arm whose size does not grow with its length, octets.
const OCTETS_AN_ARM: u64 = 256 << 10;

/// Octets that a file of this user may still take in the file system of a folder.
///
/// # Errors
/// What the file system says.
pub fn free_bytes(folder: &Path) -> Result<u64, BundleError> {
    let about = rustix::fs::statvfs(folder).map_err(|e| BundleError::io(folder)(e.into()))?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Takes room below a folder and holds it until the file is closed; no name shows it, and it is gone with the process.
/// Best effort: a file system that cannot do it holds none.
#[cfg(target_os = "linux")]
pub fn hold(folder: &Path, octets: u64) -> Option<File> {
    use rustix::fs::{FallocateFlags, Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o600)).ok()?);
    rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, octets).ok()?;
    Some(file)
}

#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "as above")]
pub fn hold(_: &Path, _: u64) -> Option<File> {
    None
}

/// Refuses when `estimate` octets would leave less than `min_free`.
///
/// # Errors
/// [`BundleError::NoSpace`], or what the file system says.
pub fn check_space(folder: &Path, min_free: u64, estimate: u64) -> Result<u64, BundleError> {
    let free = free_bytes(folder)?;
    let needed = min_free.saturating_add(estimate);
    if free < needed {
        return Err(BundleError::NoSpace { folder: folder.to_owned(), free, needed, min_free });
    }
    Ok(free)
}

/// Octets that so many arms of a plan will take, generously; with a tap beside the sockets or without.
pub fn estimate(plan: &Plan, arms: u64, has_tap: bool) -> u64 {
    let kept = plan.drain.as_ref().filter(|drain| drain.keep == Keep::All);
    let kept = kept.map_or(0, |drain| drain.expect_bytes.saturating_mul(drain.offsets_ns.len() as u64));
    let ring = plan.ring_bytes().saturating_add(kept);
    let rate: u64 = plan
        .stream
        .iter()
        .map(|s| u64::from(s.datagrams_per_frame).saturating_mul(u64::from(plan.target.expected_fps)))
        .sum();
    let seconds = plan.timing.measure_ns.div_ceil(1_000_000_000).saturating_add(2);
    let capture = match plan.evidence.pcap {
        Pcap::None => 0,
        Pcap::Headers => OCTETS_HEADER,
        Pcap::Full => OCTETS_CAPTURED,
    };
    let tap = if has_tap { TAPPED * OCTETS_A_DATAGRAM } else { 0 };
    let wire = rate.saturating_mul(seconds).saturating_mul(OCTETS_A_DATAGRAM + capture + tap);
    ring.saturating_add(wire).saturating_add(OCTETS_AN_ARM).saturating_mul(arms)
}
