//! Tapes among captures: the same walk, but datagrams come as they were judged, without octets.

use super::record::{Entry, Walker};
use super::tally::Tally;
use super::window::Window;
use wireproof_protocols::layout::Layouts;
use wireproof_reports::tape::{Decoder, Event};

pub(super) use wireproof_reports::tape::claims;

/// Hands everything on the tape to `on`. An error is one sentence on the damage that ended the walk.
pub(super) fn walk(
    window: &mut Window<'_>,
    tally: &mut Tally,
    layouts: Layouts,
    on: &mut impl Walker,
) -> Result<(), String> {
    let mut decoder = Decoder::knowing(layouts);
    let mut each = |event: Event<'_>| match event {
        Event::Blind { from, to, count } => on.entry(Entry::Blind { from, to, dropped: count }),
        Event::Drops(drops) => on.entry(Entry::Drops(drops)),
        Event::ClockStep(by) => on.entry(Entry::ClockStep(by)),
        event => on.entry(Entry::Taped(event)),
    };
    while window.require(1) > 0 {
        let octets = window.view().len();
        decoder.feed(window.view(), &mut each);
        window.advance(octets);
    }
    let report = decoder.finish(&mut each);
    tally.records = report.packets;
    // What the tape left out is missing like what the capture lost.
    tally.dropped = report.capture_dropped.saturating_add(report.left_out);
    tally.nanoseconds = !report.microseconds;
    tally.layout = report.layout;
    tally.ended = report.ended;
    match (report.damaged, report.unknown) {
        (Some(damage), _) => Err(damage),
        (None, 0) => Ok(()),
        (None, n) => Err(format!("{n} records of the tape say things that this version does not know")),
    }
}
