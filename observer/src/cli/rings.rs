//! The device's own record beside a run: rings from the disk, handed to the reconcile. Decides nothing itself.

use super::failure::{Failure, INTEGRITY};
use super::{ring, say};
use crate::analysis;
use crate::capture::{self, Item};
use crate::live::conduct::Observed;
use crate::live::drain::{DrainSpan, RingCheck};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::{Account, Options};
use wireproof_protocols::{Faults, Marks, Pdu, Timestamp};
use wireproof_recorder::offset::{DRIFT_PPM, Track};
use wireproof_reports::reconcile::{Clock, Delays, DeviceRecord, OutputDelays, Reconciled, reconcile};
use wireproof_reports::tape::Event;

/// Most that the wall clocks of a device and this host are taken to be apart when no download tells its time, ns.
const APART_NS: u64 = 5_000_000;

/// Reconciles with the rings that a run downloaded; nothing without any.
/// `kept` are files of the run with every arrival.
pub(super) fn of_drains(
    observed: &mut Observed,
    directory: &Path,
    kept: &[PathBuf],
    layouts: Layouts,
) -> Result<Option<Reconciled>, Failure> {
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
    let exchanges: Vec<_> = observed.drains.iter().flat_map(DrainSpan::exchanges).collect();
    let anchored = Clock::Anchored { uncertainty_ns: APART_NS };
    let clock = Track::new(&exchanges, DRIFT_PPM).map_or(anchored, Clock::Measured);
    let mut told = reconcile(&mut observed.account, &record, &clock);
    told.delays = delays((&observed.account, layouts), &record, &clock, kept, 0);
    Ok(Some(told))
}

/// Reconciles with the rings of these files; nothing without any.
///
/// # Errors
/// A file that cannot be read, or is no ring that can be believed.
pub(super) fn of_files(
    account: &mut Account,
    paths: &[PathBuf],
    apart: Duration,
    (kept, layouts): (&[PathBuf], Layouts),
) -> Result<Option<Reconciled>, Failure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let mut record = DeviceRecord::default();
    for path in paths {
        let refused = |refusal| Failure::Said { code: INTEGRITY, text: ring::refused(path, refusal) };
        record.add(&ring::image(path)?).map_err(refused)?;
    }
    let clock = Clock::Anchored { uncertainty_ns: u64::try_from(apart.as_nanos()).unwrap_or(u64::MAX) };
    let mut told = reconcile(account, &record, &clock);
    told.delays = delays((account, layouts), &record, &clock, kept, 0);
    Ok(Some(told))
}

/// The times from send to arrival of a ring's frames in captures; `offset_ns` is added to their stamps.
///
/// # Errors
/// A capture that cannot be read, or a ring that cannot be believed.
pub(super) fn of_image(
    image: &[u8],
    (captures, layouts): (&[PathBuf], Layouts),
    offset_ns: i64,
) -> Result<Vec<OutputDelays>, Failure> {
    let mut record = DeviceRecord::default();
    if captures.is_empty() || record.add(image).is_err() {
        // A legacy ring has no clock that a capture could stand beside.
        return Ok(Vec::new());
    }
    let (_, mut account) = analysis::analyze(captures, Options { layouts, ..Options::default() })?;
    for stream in &mut account.streams {
        stream.first_ns = stream.first_ns.saturating_add(offset_ns);
        stream.last_ns = stream.last_ns.saturating_add(offset_ns);
    }
    let clock = Clock::Anchored { uncertainty_ns: APART_NS };
    Ok(delays((&account, layouts), &record, &clock, captures, offset_ns))
}

/// Goes through files once more, for the times from send to arrival.
fn delays(
    (account, layouts): (&Account, Layouts),
    record: &DeviceRecord,
    clock: &Clock,
    files: &[PathBuf],
    offset_ns: i64,
) -> Vec<OutputDelays> {
    let mut delays = Delays::new(account, record, clock);
    for file in files.iter().filter(|file| file.as_os_str() != "-") {
        // It was read before, so that whatever is wrong with it has been told.
        let _ = capture::read_into(file, layouts, &mut |item: Item<'_>| {
            if let Some((at, source, pdu)) = data(&item, layouts) {
                let stream = pdu.stream.unwrap_or_default();
                let at_ns = at.0.saturating_add(offset_ns);
                delays.arrival(at_ns, pdu.kind.protocol, source, stream, pdu.sequence);
            }
        });
    }
    delays.finish()
}

/// A datagram of a frame: goodbyes and repetitions by the capture are none.
fn data<'a>(item: &Item<'a>, layouts: Layouts) -> Option<(Timestamp, IpAddr, Pdu<'a>)> {
    let (arrival, source, pdu) = match item {
        Item::Datagram(arrival, datagram) => {
            let decoder = layouts.claim(datagram)?;
            (arrival, datagram.source, decoder.decode(datagram, &mut Faults::default()).ok()?)
        }
        Item::Taped(Event::Datagram(arrival, datagram, noted, _)) if !noted.copy => {
            (arrival, datagram.source, noted.pdu?)
        }
        _ => return None,
    };
    let is_frame = pdu.marks.has(Marks::DATA) && !pdu.marks.has(Marks::TERMINATED);
    is_frame.then_some((arrival.at, source.ip(), pdu))
}
