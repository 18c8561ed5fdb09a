//! Writer to copy to parser: what was written whole comes back whole, and nothing else, whatever happens in between.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use proptest::prelude::*;
use wireproof_recorder::header::{Identity, Stage, Tables};
use wireproof_recorder::layout::{
    CLAIM_WINDOW, Counter, FLAG_TRUNCATED, NO_FRAME, VISIBLE, file_bytes, u64_at, word,
};
use wireproof_recorder::memory::Shared;
use wireproof_recorder::protocol::{self, Sound};
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Frame, Kind, Policy, Record, Refusal, Ring, Writer, parse};

const GENERATION: u64 = 0x66AA_0002;

fn words(capacity: u64) -> HeapWords {
    HeapWords::new((file_bytes(capacity) / 8) as usize)
}

fn writer(words: &HeapWords, capacity: u64) -> Writer<&HeapWords> {
    Writer::start(words, &Identity::default(), capacity, GENERATION).unwrap()
}

fn event(n: u64) -> Event {
    Event {
        aux: n,
        flags: n as u16,
        ..Event::span(n as u16 % 20, 100 * n, 100 * n + 7).device(n as u16 % 4, 2)
    }
}

fn frame(writer: &mut Writer<&HeapWords>, id: u32, events: u64) {
    let mut batch = writer.frame(id);
    (0..events).for_each(|n| _ = batch.event(&event(u64::from(id) * 100 + n)));
    batch.complete(u64::from(id) * 1000, u64::from(id) * 1000 + 500);
}

fn sealed(words: &HeapWords, policy: Policy) -> Result<Ring, Refusal> {
    parse(&snapshot::take(words).unwrap().seal(&Times::default(), 1), policy)
}

fn ids(ring: &Ring) -> Vec<u32> {
    ring.frames.iter().map(|frame| frame.id).collect()
}

/// What a writer is asked to do.
#[derive(Clone, Debug)]
enum Step {
    Frame(u64),
    FrameWithLoose(u64),
    Abandon(u64),
    Loose,
    Off(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0_u64..40).prop_map(Step::Frame),
        2 => (1_u64..20).prop_map(Step::FrameWithLoose),
        1 => (0_u64..40).prop_map(Step::Abandon),
        2 => Just(Step::Loose),
        1 => (0_u64..5).prop_map(Step::Off),
    ]
}

/// A model of the ring: every record ever written, by ordinal; the frames that were completed.
#[derive(Default)]
struct Model {
    records: Vec<(u32, u16, u64)>,
    complete: Vec<u32>,
    dropped: u64,
    abandoned: u64,
    disabled: u64,
}

impl Model {
    fn events(&mut self, id: u32, events: u64, limit: u64, loose: bool) -> u16 {
        let first = self.records.len() as u64;
        let mut seq = 0;
        for n in 0..events {
            for loose in [false, true].into_iter().take(1 + usize::from(loose)) {
                if self.records.len() as u64 - first + 1 >= limit {
                    self.dropped += 1;
                } else if loose {
                    self.records.push((NO_FRAME, 0, n));
                } else {
                    self.records.push((id, seq, u64::from(id) * 100 + n));
                    seq += 1;
                }
            }
        }
        seq
    }

    /// The frames that are whole from an ordinal on, and the id that the field's rule gives up.
    fn expected(&self, lo: u64, policy: Policy) -> Vec<u32> {
        let framed = |from: u64| self.records.iter().skip(from as usize).find(|(id, ..)| *id != NO_FRAME);
        let given_up = (lo > 0 && policy == Policy::Conservative).then(|| framed(lo)).flatten();
        let begins = |id: u32| self.records.iter().position(|(frame, ..)| *frame == id).unwrap() as u64;
        let whole = |id: &&u32| begins(**id) >= lo && given_up.is_none_or(|(first, ..)| first != *id);
        self.complete.iter().filter(whole).copied().collect()
    }
}

fn run(words: &HeapWords, capacity: u64, steps: &[Step]) -> Model {
    let (mut writer, mut model) = (writer(words, capacity), Model::default());
    for (id, step) in (1_u32..).zip(steps) {
        match step {
            Step::Frame(events) | Step::FrameWithLoose(events) | Step::Abandon(events) => {
                let loose = matches!(step, Step::FrameWithLoose(_));
                let mut batch = writer.frame(id);
                for n in 0..*events {
                    batch.event(&event(u64::from(id) * 100 + n));
                    if loose {
                        batch.loose(&event(n));
                    }
                }
                let seq = model.events(id, *events, capacity / 2, loose);
                if matches!(step, Step::Abandon(_)) {
                    drop(batch);
                    model.abandoned += 1;
                } else {
                    batch.complete(u64::from(id) * 1000, u64::from(id) * 1000 + 500);
                    model.records.push((id, seq, u64::MAX));
                    model.complete.push(id);
                }
            }
            Step::Loose => {
                writer.event(&event(5));
                model.records.push((NO_FRAME, 0, 5));
            }
            Step::Off(events) => {
                writer.set_enabled(false);
                frame(&mut writer, id, *events);
                writer.event(&event(1));
                writer.set_enabled(true);
                model.disabled += events + 1;
            }
        }
    }
    model
}

fn compare(model: &Model, frame: &Frame) {
    for record in &frame.records {
        let (id, seq, aux) = model.records[record.ordinal as usize];
        assert_eq!((record.frame(), record.seq()), (id, seq));
        if record.kind() == Some(Kind::Span) {
            let expected = Event { ..event(aux) };
            assert_eq!((record.aux(), record.stage()), (expected.aux, expected.stage));
            assert_eq!((record.start_ns(), record.end_ns()), (expected.start_ns, expected.end_ns));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_completed_comes_back_whole_and_nothing_else(
        steps in prop::collection::vec(step(), 0..60),
        exponent in 1_u32..9,
    ) {
        let capacity = 1 << exponent;
        let memory = words(capacity);
        let model = run(&memory, capacity, &steps);
        let hi = model.records.len() as u64;
        let window = CLAIM_WINDOW.min(capacity / 2);
        let lo = (hi.div_ceil(window) * window).saturating_sub(capacity);
        for policy in [Policy::Conservative, Policy::Exact] {
            let ring = sealed(&memory, policy).unwrap();
            prop_assert_eq!((ring.window.lo, ring.window.hi), (lo, hi));
            prop_assert_eq!(ids(&ring), model.expected(lo, policy));
            prop_assert_eq!(ring.drops, Default::default());
            prop_assert_eq!(ring.partial.crc, 0);
            ring.frames.iter().for_each(|frame| compare(&model, frame));
            let plain = parse(snapshot::take(&memory).unwrap().octets(), policy).unwrap();
            prop_assert_eq!(plain.frames, ring.frames, "without a stamp");
        }
        let counter = |counter: Counter| memory.load(word(counter.offset()));
        prop_assert_eq!(counter(Counter::EventsDropped), model.dropped);
        prop_assert_eq!(counter(Counter::FramesAbandoned), model.abandoned);
        prop_assert_eq!(counter(Counter::EventsDisabled), model.disabled);
    }
}

#[test]
fn a_frame_under_way_is_private() {
    let memory = words(256);
    let mut writer = writer(&memory, 256);
    frame(&mut writer, 1, 26);
    let mut batch = writer.frame(2);
    for n in 0..11 {
        assert_eq!(batch.event(&event(n)), Some(n as u16));
        let ring = sealed(&memory, Policy::Conservative).unwrap();
        assert_eq!((ids(&ring), ring.unpublished_tail), (vec![1], n + 1));
    }
    batch.complete(1, 2);
    assert_eq!(ids(&sealed(&memory, Policy::Conservative).unwrap()), [1, 2]);
    let block = protocol::published::<Sound>(&memory, 1).unwrap();
    assert_eq!((block.visible, block.last_frame, block.frames, block.last_end_ns), (39, 2, 2, 2));
}

#[test]
fn a_batch_over_its_limit_is_flagged_and_counted() {
    let memory = words(256);
    let mut writer = writer(&memory, 256);
    writer.set_batch_limit(10);
    let mut batch = writer.frame(1);
    let places: Vec<_> = (0..12).map(|n| batch.event(&event(n))).collect();
    assert_eq!(places[8], Some(8));
    assert_eq!(places[9..], [None; 3]);
    batch.complete(1, 2);
    let ring = sealed(&memory, Policy::Conservative).unwrap();
    assert_eq!((ring.frames[0].records.len(), ring.frames[0].truncated), (10, true));
    assert_eq!(ring.frames[0].records[9].flags(), FLAG_TRUNCATED);
    assert_eq!(memory.load(word(Counter::EventsDropped.offset())), 3);
}

#[test]
fn a_batch_never_overwrites_itself() {
    let memory = words(64);
    let mut writer = writer(&memory, 64);
    writer.set_batch_limit(u64::MAX);
    frame(&mut writer, 1, 1000);
    let ring = sealed(&memory, Policy::Exact).unwrap();
    assert_eq!((ring.frames[0].records.len(), ring.frames[0].truncated), (32, true));
}

#[test]
fn the_id_of_no_frame_opens_no_batch() {
    let memory = words(64);
    let mut writer = writer(&memory, 64);
    frame(&mut writer, NO_FRAME, 3);
    let ring = sealed(&memory, Policy::Exact).unwrap();
    assert_eq!((ring.frames.len(), ring.loose.len(), ring.window.hi), (0, 0, 0));
    assert_eq!(memory.load(word(Counter::EventsDropped.offset())), 3);
}

#[test]
fn ids_that_wrap_around_leave_no_gap_but_the_reserved_one() {
    let memory = words(256);
    let mut writer = writer(&memory, 256);
    for id in [NO_FRAME - 2, NO_FRAME - 1, 0, 1] {
        frame(&mut writer, id, 2);
    }
    let ring = sealed(&memory, Policy::Exact).unwrap();
    let gaps: Vec<_> = ring.gaps.iter().map(|gap| (gap.after, gap.before, gap.missing)).collect();
    assert_eq!(gaps, [(NO_FRAME - 1, 0, 1)]);
}

#[test]
fn a_writer_refuses_what_cannot_be_a_ring() {
    let start = |octets: u64, capacity, generation| {
        let memory = HeapWords::new((octets / 8) as usize);
        Writer::start(&memory, &Identity::default(), capacity, generation)
            .err()
            .map(|error| error.to_string())
    };
    let rows = [
        (start(file_bytes(64), 64, 2), None),
        (start(file_bytes(64), 63, 2), Some("a ring holds a power of two of records, 2 to 16777216, not 63")),
        (start(file_bytes(1), 1, 2), Some("a ring holds a power of two of records, 2 to 16777216, not 1")),
        (start(64, 64, 2), Some("a ring of 64 records needs 7168 octets, not 64")),
        (start(file_bytes(64), 64, 3), Some("a generation is even and not zero, not 3")),
        (start(file_bytes(64), 64, 0), Some("a generation is even and not zero, not 0")),
    ];
    for (said, expected) in rows {
        assert_eq!(said.as_deref(), expected);
    }
}

#[test]
fn records_of_a_former_generation_are_foreign_and_never_returned() {
    let memory = words(256);
    let mut writer = writer(&memory, 256);
    (1..10).for_each(|id| frame(&mut writer, id, 26));
    let stage = Stage { id: 1, category: 0, name: "frame_due".into() };
    let tables = Tables { stages: vec![stage], ..Tables::default() };
    writer.restart(&Identity { tables: tables.clone(), ..Identity::default() });
    assert_eq!(ids(&sealed(&memory, Policy::Conservative).unwrap()), [0_u32; 0]);
    (1..5).for_each(|id| frame(&mut writer, id, 26));
    let ring = sealed(&memory, Policy::Conservative).unwrap();
    assert_eq!((ids(&ring), ring.generation, ring.tables), (vec![1, 2, 3, 4], GENERATION + 2, tables));
    let mut image = snapshot::take(&memory).unwrap().into_octets();
    image[0x148..0x150].copy_from_slice(&128_u64.to_le_bytes());
    let further = parse(&image, Policy::Conservative).unwrap();
    assert_eq!((further.frames, further.drops.pending), (ring.frames, 20), "claimed and not written");
}

/// A ring that has wrapped, and what happens to a copy when `during` runs between its first two chunks.
fn copied_while(
    during: impl FnOnce(&mut Writer<&HeapWords>),
) -> (HeapWords, Result<Vec<u8>, String>, [u64; 2]) {
    let capacity = 8192;
    let memory = words(capacity);
    let mut counts = [0; 2];
    let copied = {
        let mut writer = writer(&memory, capacity);
        (1..=700).for_each(|id| frame(&mut writer, id, 26));
        let mut during = Some(during);
        let mut rest = || during.take().map(|during| during(&mut writer)).is_some();
        let copy = snapshot::take_into(&memory, Vec::new(), &mut rest);
        copy.map_err(|error| error.to_string()).map(|copy| {
            assert!(copy.moved());
            counts = [copy.overtaken(), copy.uncommitted()];
            copy.seal(&Times::default(), 7)
        })
    };
    (memory, copied, counts)
}

#[test]
fn a_wrap_during_the_copy_costs_the_oldest_records_and_nothing_else() {
    let (_memory, copied, [overtaken, uncommitted]) = copied_while(|writer| {
        (701..=740).for_each(|id| frame(writer, id, 26));
    });
    let image = copied.unwrap();
    let ring = parse(&image, Policy::Conservative).unwrap();
    let claimed = (740_u64 * 27).next_multiple_of(CLAIM_WINDOW);
    assert_eq!((ring.window.lo, ring.window.hi), (claimed - 8192, 700 * 27));
    assert_eq!((overtaken, uncommitted), (ring.window.lo - (700 * 27 - 8192), 0));
    assert_eq!((ring.drops, ring.partial.count, ring.partial.crc), Default::default());
    assert_eq!(ring.frames.last().unwrap().id, 700);
    assert_eq!(u64_at(&image, VISIBLE), 700 * 27, "the header is of the moment it was copied");
}

#[test]
fn a_writer_that_overtakes_the_copy_leaves_nothing_certain() {
    let (_memory, copied, [overtaken, _]) = copied_while(|writer| {
        (701..=1100).for_each(|id| frame(writer, id, 26));
    });
    assert_eq!(parse(&copied.unwrap(), Policy::Conservative), Err(Refusal::Lapped));
    assert_eq!(overtaken, 8192);
}

#[test]
fn a_restart_during_the_copy_is_refused() {
    let (_memory, copied, _) = copied_while(|writer| writer.restart(&Identity::default()));
    assert_eq!(copied, Err("GenerationChanged".to_owned()));
}

#[test]
fn a_ring_that_was_never_started_is_refused() {
    let refused = snapshot::take(&words(64)).unwrap_err();
    assert_eq!(refused.to_string(), "Initialising");
}

#[test]
fn a_record_is_read_by_its_commit_word_alone() {
    let memory = words(64);
    let mut writer = writer(&memory, 64);
    (1..=9).for_each(|id| frame(&mut writer, id, 9));
    let read = |ordinal| protocol::record::<Sound>(&memory, GENERATION, ordinal, 64);
    let words = read(80).unwrap();
    assert_eq!((Record { ordinal: 80, words }).frame(), 9);
    assert_eq!((read(80 - 64), read(90)), (None, None), "overwritten; not yet written");
}

#[test]
fn a_ring_that_nobody_writes_to_has_not_moved() {
    let memory = words(64);
    writer(&memory, 64).event(&event(1));
    assert!(!snapshot::take(&memory).unwrap().moved());
}

#[test]
fn a_batch_set_aside_after_every_event_gives_the_same_ring() {
    let image = |pause: bool| {
        let words = words(64);
        let mut writer = writer(&words, 64);
        for id in 1..=9 {
            let mut paused = writer.frame(id).pause();
            let events: Vec<Event> = (0..u64::from(id)).map(event).collect();
            if pause {
                for (place, event) in events.iter().enumerate() {
                    let mut batch = writer.resume(paused);
                    assert_eq!(batch.event(event), Some(place as u16));
                    paused = batch.pause();
                }
                if id == 5 { drop(writer.resume(paused)) } else { writer.resume(paused).complete(1, 2) }
            } else {
                let mut batch = writer.resume(paused);
                events.iter().for_each(|event| _ = batch.event(event));
                if id == 5 { drop(batch) } else { batch.complete(1, 2) }
            }
        }
        snapshot::take(&words).unwrap().seal(&Times::default(), 1)
    };
    assert_eq!(image(true), image(false));
    let ring = parse(&image(true), Policy::Exact).unwrap();
    assert_eq!((ids(&ring), ring.partial.unfinished), (vec![1, 2, 3, 4, 6, 7, 8, 9], 1));
}

#[test]
fn a_batch_set_aside_before_a_restart_takes_nothing_after_it() {
    let words = words(64);
    let mut writer = writer(&words, 64);
    let mut batch = writer.frame(1);
    batch.event(&event(1));
    let paused = batch.pause();
    writer.restart(&Identity::default());
    let mut batch = writer.resume(paused);
    assert_eq!(batch.event(&event(2)), None);
    batch.complete(1, 2);
    assert_eq!((writer.position(), words.load(word(VISIBLE))), (0, 0));
}
