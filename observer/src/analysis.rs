//! Capture files through the verifier: one run over one or more files.

use crate::capture::{self, CaptureError, Item, SourceReport};
use crate::taping::Taping;
use std::path::Path;
use wireproof_protocols::Arrival;
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_reports::summary::{Fragments, Source};
use wireproof_reports::tape::Event;

/// Reads files in the given order as one run; record numbers count on from file to file.
///
/// # Errors
/// The first file that cannot be read at all; damage behind a valid header is part of the report.
pub fn analyze<P: AsRef<Path>>(
    files: &[P],
    options: Options,
) -> Result<(SourceReport, Account), CaptureError> {
    analyze_taping(files, options, &mut None)
}

/// As [`analyze`]; puts every datagram on a tape, too. What is read from a tape is not put on another one.
///
/// # Errors
/// As [`analyze`].
pub fn analyze_taping<P: AsRef<Path>>(
    files: &[P],
    options: Options,
    tape: &mut Option<Taping>,
) -> Result<(SourceReport, Account), CaptureError> {
    let layouts = options.layouts;
    let mut verifier = Verifier::new(options);
    let mut whole: Option<SourceReport> = None;
    for file in files {
        let base = whole.as_ref().map_or(0, |report| report.packets);
        let mut each = |item: Item<'_>| feed(&mut verifier, item, base, tape);
        let report = capture::read_path_with(file.as_ref(), layouts, &mut each)?;
        whole = Some(match whole {
            Some(before) => joined(before, report),
            None => report,
        });
    }
    Ok((whole.unwrap_or_default(), verifier.finish()))
}

fn feed(verifier: &mut Verifier, item: Item<'_>, base: u64, tape: &mut Option<Taping>) {
    let counted = |arrival: Arrival| Arrival { packet: arrival.packet.saturating_add(base), ..arrival };
    match (item, tape) {
        (Item::Datagram(arrival, datagram), None) => verifier.on_datagram(counted(arrival), &datagram),
        (Item::Datagram(arrival, datagram), Some(tape)) => {
            tape.datagram(verifier, counted(arrival), &datagram)
        }
        (Item::Packet(arrival), tape) => {
            verifier.on_packet(counted(arrival));
            tape.iter_mut().for_each(|tape| tape.packet(counted(arrival)));
        }
        (Item::Blind { from, to, dropped }, tape) => {
            verifier.on_blind(from, to, dropped);
            tape.iter_mut().for_each(|tape| tape.blind(from, to, dropped));
        }
        (Item::Drops(drops), tape) => {
            verifier.on_drops(drops);
            tape.iter_mut().for_each(|tape| tape.drops(&drops));
        }
        (Item::ClockStep(by), tape) => {
            verifier.on_clock_step(by);
            tape.iter_mut().for_each(|tape| tape.clock_step(by));
        }
        (Item::Taped(event), tape) => {
            tape.iter_mut().for_each(Taping::refuse);
            replay(verifier, event, counted);
        }
    }
}

/// A tape's event through the verifier.
fn replay(verifier: &mut Verifier, event: Event<'_>, counted: impl Fn(Arrival) -> Arrival) {
    match event {
        Event::Datagram(arrival, datagram, noted, remarks) => {
            verifier.on_noted(counted(arrival), datagram, noted, remarks);
        }
        Event::Others(arrival, datagrams) => {
            verifier.on_packet(counted(arrival));
            verifier.on_others(datagrams);
        }
        Event::Digests(_) => {}
        Event::Drops(drops) => verifier.on_drops(drops),
        Event::ClockStep(by) => verifier.on_clock_step(by),
        Event::Blind { from, to, count } => verifier.on_blind(from, to, count),
    }
}

fn joined(mut a: SourceReport, b: SourceReport) -> SourceReport {
    let damage = |report: &SourceReport| report.damaged.as_ref().map(|d| format!("{}: {d}", report.name));
    let damaged = match (a.damaged.clone(), damage(&b)) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    };
    for (link_type, packets) in b.link_types {
        *a.link_types.entry(link_type).or_default() += packets;
    }
    SourceReport {
        name: format!("{}, {}", a.name, b.name),
        timestamps: if b.timestamps == "file-ns" { b.timestamps } else { a.timestamps },
        packets: a.packets.saturating_add(b.packets),
        damaged,
        capture_dropped: a.capture_dropped.saturating_add(b.capture_dropped),
        fragments: (
            a.fragments.0 + b.fragments.0,
            a.fragments.1 + b.fragments.1,
            a.fragments.2 + b.fragments.2,
        ),
        overlapping: a.overlapping + b.overlapping,
        ..a
    }
}

/// The report of a file as the run record's source.
pub fn source(report: SourceReport) -> Source {
    let (seen, reassembled, incomplete) = report.fragments;
    Source {
        kind: "file".to_owned(),
        name: report.name,
        timestamps: report.timestamps.to_owned(),
        packets: report.packets,
        link_types: report.link_types,
        damaged: report.damaged,
        capture_dropped: report.capture_dropped,
        fragments: Fragments { seen, reassembled, incomplete },
    }
}
