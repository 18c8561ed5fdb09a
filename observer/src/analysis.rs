//! Capture files through the verifier: one run over one or more files.

use crate::capture::{self, CaptureError, Item, SourceReport, Taker};
use crate::taping::Taping;
use std::path::Path;
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram};
use wireproof_reports::summary::{Fragments, Source};
use wireproof_reports::tape::Event;

/// Reads files in the given order as one run; record numbers count on from file to file.
///
/// # Errors
/// The first file that cannot be read at all, or none of whose packets can be decoded; damage behind a valid header is
/// part of the report.
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
    for (at, file) in files.iter().enumerate() {
        let base = whole.as_ref().map_or(0, |report| report.packets);
        let report =
            capture::read_into(file.as_ref(), layouts, &mut Feed { verifier: &mut verifier, base, tape })?;
        let of =
            if files.len() > 1 { format!("file {} of {}: ", at + 1, files.len()) } else { String::new() };
        undecoded(&report, &of, &mut verifier)?;
        if let Some(damage) = &report.damaged {
            verifier.on_damage(base.saturating_add(report.packets), format!("{of}{damage}"));
        }
        whole = Some(match whole {
            Some(before) => joined(before, report),
            None => report,
        });
    }
    let whole = whole.unwrap_or_default();
    whole.ended.into_iter().for_each(|at| verifier.on_end(at));
    Ok((whole, verifier.finish()))
}

/// Tells of packets whose link type is not dissected; a file that holds nothing else cannot be read.
fn undecoded(report: &SourceReport, of: &str, verifier: &mut Verifier) -> Result<(), CaptureError> {
    let packets = report.undecoded.values().sum::<u64>();
    if packets == 0 {
        return Ok(());
    }
    if packets >= report.packets {
        let link_types = report.undecoded.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(CaptureError::LinkType { name: report.name.clone(), packets, link_types });
    }
    let each = report.undecoded.iter().map(|(name, n)| format!("{n} of link type {name}"));
    let each = each.collect::<Vec<_>>().join(", ");
    let all = report.packets;
    let text =
        format!("{of}{packets} of {all} packets were not looked at, their link type is not decoded: {each}");
    verifier.on_undecoded(packets, text);
    Ok(())
}

/// Hands a capture to the verifier, and to the tape where there is one.
struct Feed<'a> {
    verifier: &'a mut Verifier,
    /// Records of the files before.
    base: u64,
    tape: &'a mut Option<Taping>,
}

impl Feed<'_> {
    #[inline]
    fn counted(&self, arrival: Arrival) -> Arrival {
        Arrival { packet: arrival.packet.saturating_add(self.base), ..arrival }
    }
}

impl Taker for Feed<'_> {
    #[inline(always)]
    fn datagram(&mut self, arrival: Arrival, datagram: &Datagram<'_>) {
        let arrival = self.counted(arrival);
        match self.tape {
            None => self.verifier.on_datagram(arrival, datagram),
            Some(tape) => tape.datagram(self.verifier, arrival, datagram),
        }
    }

    fn item(&mut self, item: Item<'_>) {
        match item {
            Item::Datagram(arrival, datagram) => self.datagram(arrival, &datagram),
            Item::Packet(arrival) => {
                let arrival = self.counted(arrival);
                self.verifier.on_packet(arrival);
                self.tape.iter_mut().for_each(|tape| tape.packet(arrival));
            }
            Item::Blind { from, to, dropped } => {
                self.verifier.on_blind(from, to, dropped);
                self.tape.iter_mut().for_each(|tape| tape.blind(from, to, dropped));
            }
            Item::Drops(drops) => {
                self.verifier.on_drops(drops);
                self.tape.iter_mut().for_each(|tape| tape.drops(&drops));
            }
            Item::ClockStep(by) => {
                self.verifier.on_clock_step(by);
                self.tape.iter_mut().for_each(|tape| tape.clock_step(by));
            }
            Item::Taped(event) => {
                self.tape.iter_mut().for_each(Taping::refuse);
                let base = self.base;
                let counted =
                    |arrival: Arrival| Arrival { packet: arrival.packet.saturating_add(base), ..arrival };
                replay(self.verifier, event, counted);
            }
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
    for (link_type, packets) in b.undecoded {
        *a.undecoded.entry(link_type).or_default() += packets;
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
        ended: b.ended,
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
