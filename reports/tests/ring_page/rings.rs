//! Rings for the page: one with everything a page can show, a full one of hostile names and times, and those of the
//! shared samples.

use std::path::Path;
use wireproof_recorder::header::{Device, Identity, Protocol, Stage, Tables};
use wireproof_recorder::layout::{CLAIM_WINDOW, NO_DEVICE, file_bytes};
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Kind, Writer};

const GENERATION: u64 = 0x66AA_0002;
/// A name that would leave its element, an attribute, a script and the line.
pub(super) const HOSTILE: &str = "</script>\"'&<b>\u{202e}\u{1b}[";

fn tables() -> Tables {
    let stages = [
        (1, "frame_due"),
        (2, "source"),
        (4, "audio"),
        (5, "device"),
        (14, "wire_encode"),
        (15, "wire_send"),
    ];
    let stage = |(id, name): (u16, &str)| Stage { id, category: 0, name: name.to_owned() };
    let device = |(id, name): (u16, &str)| Device { id, protocol: 2, pixels: 100, name: name.to_owned() };
    Tables {
        stages: stages
            .map(stage)
            .into_iter()
            .chain([stage((20, HOSTILE)), stage((60, "recording"))])
            .collect(),
        devices: [(0, "pole-a"), (1, HOSTILE)].map(device).to_vec(),
        protocols: vec![Protocol { id: 2, name: "sacn".to_owned() }],
    }
}

fn identity(tables: Tables) -> Identity {
    let anchor = [1_000_000, 1_789_000_000_123_456_789, 400, 0];
    Identity { tables, anchor, period_ns: 16_666_667, ..Identity::default() }
}

fn sealed(words: &HeapWords) -> Vec<u8> {
    snapshot::take(words).unwrap().seal(&Times::default(), 3)
}

fn span(stage: u16, device: u16, start: u64, length: u64, aux: u64) -> Event {
    Event { aux, ..Event::span(stage, start, start + length).device(device, 2) }
}

/// One frame at a time of the ring, ns, with its own work stretched by a factor.
fn frame(writer: &mut Writer<&HeapWords>, id: u32, at: u64, factor: u64) {
    let mut batch = writer.frame(id);
    let unit = 100_123 * factor;
    batch.event(&Event { kind: Kind::Cause, flags: 3, aux: 5, ..span(0, NO_DEVICE, at, 0, 0) });
    // Audio of this frame began beside the frame before.
    batch.event(&span(4, NO_DEVICE, at - 50_007, 20_001, 0));
    batch.event(&span(2, NO_DEVICE, at, unit, 0));
    for device in 0..2u16 {
        let from = at + unit * (1 + 3 * u64::from(device));
        batch.event(&span(5, device, from, 3 * unit, 0));
        batch.event(&span(14, device, from, unit, 1));
        batch.event(&span(15, device, from + unit, unit + 17, 12_345));
        // Two sends at once lie in rows of their own.
        batch.event(&span(15, device, from + unit + 9, unit, 3));
    }
    batch.event(&span(20, 1, at + unit, 7, u64::from(id)));
    batch.event(&span(1, NO_DEVICE, at, 7 * unit, 0));
    if factor > 9 {
        let miss = Event { kind: Kind::DeadlineMiss, ..span(0, NO_DEVICE, at + 5, 20, 1_234_567) };
        batch.event(&miss);
    }
    batch.complete(at, at + 7 * unit);
}

/// 400 frames: two skipped on purpose, three lost, a slow one that missed its deadline, one never completed.
pub(super) fn planted() -> Vec<u8> {
    let capacity = 8_192;
    let words = HeapWords::new((file_bytes(capacity) / 8) as usize);
    let mut writer = Writer::start(&words, &identity(tables()), capacity, GENERATION).unwrap();
    for id in 10..410u32 {
        let at = u64::from(id) * 16_666_667;
        if id == 100 {
            let aux = u64::from(id) << 32 | 2;
            writer.event(&Event { kind: Kind::Skipped, ..span(0, NO_DEVICE, at, 0, aux) });
        }
        if (100..102).contains(&id) || (200..203).contains(&id) {
            continue;
        }
        frame(&mut writer, id, at, if id == 300 { 12 } else { 1 + u64::from(id % 7) });
    }
    sealed(&words)
}

/// A ring that is full to the last record: frames of 28 spans, each of another stage and device, under the worst names
/// there can be, and times out of all proportion.
pub(super) fn hostile() -> Vec<u8> {
    let capacity = 131_072;
    let words = HeapWords::new((file_bytes(capacity) / 8) as usize);
    let name = |octets: usize| "<&\">".repeat(octets / 4);
    let tables = Tables {
        stages: (0..64).map(|id| Stage { id, category: 0, name: name(28) }).collect(),
        devices: (0..16).map(|id| Device { id, protocol: 0, pixels: 0, name: name(40) }).collect(),
        protocols: Vec::new(),
    };
    let mut writer = Writer::start(&words, &identity(tables), capacity, GENERATION).unwrap();
    writer.set_batch_limit(4_000);
    for id in 0..5_600u32 {
        let mut batch = writer.frame(id.wrapping_mul(3));
        let spans = if id > 5_590 { 3_000 } else { 20 };
        for n in 0..spans {
            let start = if n % 11 == 10 { u64::MAX - 9 } else { u64::from(id) << 40 | n };
            let odd = u64::from(id) * 31 + n;
            batch.event(
                &Event { aux: u64::MAX, ..span(odd as u16 % 4_000, odd as u16 % 900, 0, 0, 0) }.at(start),
            );
        }
        batch.complete(u64::from(id) << 40, (u64::from(id) << 40) + (1 << 39) + u64::from(id % 977));
    }
    sealed(&words)
}

trait At {
    fn at(self, start: u64) -> Self;
}

impl At for Event {
    /// The same at another time.
    fn at(self, start_ns: u64) -> Event {
        Event { start_ns, end_ns: start_ns.saturating_add(1_000_000_007), ..self }
    }
}

/// A ring in which nothing was written.
pub(super) fn empty() -> Vec<u8> {
    let words = HeapWords::new((file_bytes(256) / 8) as usize);
    let _writer = Writer::start(&words, &identity(Tables::default()), 256, GENERATION).unwrap();
    assert_eq!(CLAIM_WINDOW, 64);
    sealed(&words)
}

/// The sample rings that are read as they are; none where they are absent.
pub(super) fn samples(test: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings");
    let Ok(list) = std::fs::read_dir(folder) else {
        super::skipped(test, "../shared is absent");
        return Vec::new();
    };
    let mut list: Vec<_> = list.map(|entry| entry.unwrap().path()).collect();
    list.retain(|path| path.to_string_lossy().ends_with(".bin"));
    list.sort();
    let named = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())
    };
    list.into_iter().map(named).collect()
}
