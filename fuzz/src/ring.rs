//! Images of flight recorders: parsed, accounted for, explained, and converted to every format.

use wireproof_recorder::analysis::frame_causes::causes;
use wireproof_recorder::analysis::requests::{late_after, requests};
use wireproof_recorder::convert::clock::Reading;
use wireproof_recorder::convert::ring::{Context, tracks};
use wireproof_recorder::convert::timeline::ClockPair;
use wireproof_recorder::convert::{WallClock, chrome, csv, perfetto, sched};
use wireproof_recorder::header::facts;
use wireproof_recorder::places::Places;
use wireproof_recorder::v1::{self, FieldMap};
use wireproof_recorder::{Policy, Ring, account, parse};
use wireproof_reports::{RingPage, RingSummary};

/// Most octets that are written for each octet of an image.
const BLOW_UP: usize = 64;
/// Octets that are written of any image.
const BASE: usize = 1 << 20;

/// Reads an image as `ring verify`, `summary`, `causes` and `convert` do.
pub fn ring(data: &[u8]) {
    let Some((&how, image)) = data.split_first() else { return };
    let policy = if how & 1 == 0 { Policy::Conservative } else { Policy::Exact };
    if let Ok(ring) = parse(image, policy) {
        read(&ring, image, how);
    }
    for name in v1::NAMES {
        let Some(map) = FieldMap::named(name) else { continue };
        if let Ok(ring) = v1::parse(image, &map) {
            let _ = account(&ring.frames);
        }
        let _ = v1::score(image, &map);
    }
}

/// Reads what lies beside a ring: places, the scheduler's events, a field map.
pub fn beside(data: &[u8]) {
    let places = Places::read(&String::from_utf8_lossy(data));
    assert!(places.len() <= data.len());
    let _ = sched::read(&mut &*data, &mut |switch| {
        assert!(switch.prev.0.len() + switch.next.0.len() <= data.len())
    });
    if let Ok(map) = serde_json::from_slice::<FieldMap>(data)
        && map.check().is_ok()
    {
        let _ = (v1::parse(data, &map), v1::score(data, &map));
    }
}

fn read(ring: &Ring, image: &[u8], how: u8) {
    let (account, facts, places) = (account(&ring.frames), facts(image), Places::default());
    let records: usize = ring.frames.iter().map(|frame| frame.records.len()).sum();
    assert!(records + ring.loose.len() <= image.len() / 48, "more records than the image holds");
    let _ = causes(ring, &places);
    let _ = requests(ring, &places, late_after(facts.period_ns));
    let summary = RingSummary::of(ring, &facts, &account, Vec::new());
    let mut out = Vec::new();
    match (how >> 1) & 3 {
        0 => {
            let page = RingPage::of("ring", ring, &facts, &account, &places, summary);
            assert!(page.html(&mut out).is_ok());
            assert!(out.len() < 4 * BASE, "{} octets of page", out.len());
            return;
        }
        1 => drop(csv::write(all(ring), &ring.tables, &mut out)),
        2 => drop(perfetto::write(&timeline(ring, image), &mut out)),
        _ => drop(chrome::write(&timeline(ring, image), &mut out)),
    }
    assert!(out.len() <= BASE + BLOW_UP * image.len(), "{} octets of {}", out.len(), image.len());
}

fn all(ring: &Ring) -> impl Iterator<Item = &wireproof_recorder::Record> {
    ring.frames.iter().flat_map(|frame| &frame.records).chain(&ring.loose)
}

fn timeline(ring: &Ring, image: &[u8]) -> wireproof_recorder::convert::Timeline {
    let reading = Reading::of(image);
    let clock = ClockPair {
        monotonic_ns: reading.monotonic_ns,
        wall_ns: reading.wall_ns,
        boot_offset_ns: reading.boot_offset_ns,
    };
    let context = Context { tables: Some(&ring.tables), places: Places::default(), pid: 1, clock };
    let (mut timeline, _) = tracks(all(ring), &context);
    let _ = WallClock::new(&reading, all(ring)).map(|wall| wall.monotonic(0));
    timeline.sort();
    timeline
}
