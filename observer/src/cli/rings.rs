//! The device's own record beside a run: rings from the disk, handed to the reconcile. Decides nothing itself.

use super::failure::{Failure, INTEGRITY};
use super::{ring, say};
use crate::live::conduct::Observed;
use crate::live::drain::{DrainSpan, RingCheck};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wireproof_protocols::verify::Account;
use wireproof_recorder::offset::{DRIFT_PPM, estimate};
use wireproof_reports::reconcile::{Clock, DeviceRecord, Reconciled, reconcile};

/// Most that the wall clocks of a device and this host are taken to be apart when no download tells its time, ns.
const APART_NS: u64 = 5_000_000;

/// Reconciles with the rings that a run downloaded; nothing without any.
pub(super) fn of_drains(observed: &mut Observed, directory: &Path) -> Result<Option<Reconciled>, Failure> {
    let good = |span: &&DrainSpan| matches!(span.ring, Some(RingCheck::Ok(_))) && !span.file_name.is_empty();
    let mut record = DeviceRecord::default();
    for span in observed.drains.iter().filter(good) {
        let path = directory.join(&span.file_name);
        // It was verified as it came: what cannot be read again is told, and the others still count.
        match ring::image(&path).map(|image| record.add(&image)) {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) => say(&format!("left out of the reconcile: {}", ring::refused(&path, refusal))),
            Err(failure) => say(&format!("left out of the reconcile: {failure}")),
        }
    }
    if record.rings() == 0 {
        return Ok(None);
    }
    let exchanges: Vec<_> = observed.drains.iter().filter_map(|span| span.exchange).collect();
    let anchored = Clock::Anchored { uncertainty_ns: APART_NS };
    let clock = estimate(&exchanges, DRIFT_PPM).map_or(anchored, Clock::Measured);
    Ok(Some(reconcile(&mut observed.account, &record, clock)))
}

/// Reconciles with the rings of these files; nothing without any.
///
/// # Errors
/// A file that cannot be read, or is no ring that can be believed.
pub(super) fn of_files(
    account: &mut Account,
    paths: &[PathBuf],
    apart: Duration,
) -> Result<Option<Reconciled>, Failure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let mut record = DeviceRecord::default();
    for path in paths {
        let refused = |refusal| Failure::Said { code: INTEGRITY, text: ring::refused(path, refusal) };
        record.add(&ring::image(path)?).map_err(refused)?;
    }
    let uncertainty_ns = u64::try_from(apart.as_nanos()).unwrap_or(u64::MAX);
    Ok(Some(reconcile(account, &record, Clock::Anchored { uncertainty_ns })))
}
