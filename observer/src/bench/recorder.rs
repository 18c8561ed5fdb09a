//! The recorder's writer on and off, alternating in one process: what a frame of the field's size costs, with its clock
//! reads and without, and an event of no frame. Reads the ring back afterwards: what was timed was written.

use super::{BenchError, LEAST_WARM_UP, TIMING_NS, rounded, times};
use crate::live::sys_thread as thread;
use crate::send::monotonic_ns;
use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;
use wireproof_encoders::bench::frame::Aligned;
use wireproof_encoders::bench::{self as runner, Arm, Plan, RunError, Timings, run};
use wireproof_recorder::file::{self, RingFile};
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::{DEFAULT_CAPACITY, FRAMES_PUBLISHED, NO_FRAME, file_bytes, word};
use wireproof_recorder::memory::SharedMut;
use wireproof_recorder::snapshot;
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Policy, Writer, parse};
use wireproof_reports::RecorderBench;
use wireproof_reports::bench::{Clock, Interval, Times};
use wireproof_reports::bench_recorder::{Check, Cost, Difference, Extrapolation, Place, SCHEMA, Timed};

/// Records of a frame in the field, `frame_complete` included.
const EVENTS: u32 = 27;
/// Spans of a frame: each stage of the work is one.
const STAGES: usize = EVENTS as usize - 1;
/// Rates of the field: frames, and events of no frame.
const FRAMES_PER_S: u32 = 60;
const UNFRAMED_PER_S: u32 = 1938;
/// Frames written after the timing, so that there are some to read back.
const LAST_FRAMES: u64 = 100;
/// First generation of the ring.
const GENERATION: u64 = 2;
/// Where a ring belongs: a file system in memory.
const MEMORY: &str = "/dev/shm";

/// What to bench.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Octets that each frame of work goes through.
    pub frame_bytes: usize,
    /// Blocks that count.
    pub blocks: u32,
    /// Seed of the frame and of the order.
    pub seed: u64,
    /// The CPU to stay on.
    pub cpu: Option<usize>,
}

/// Times the arms and reads the ring back.
///
/// # Errors
/// [`BenchError`]; a ring that is not what was written is no error but a check of the record that fails.
pub fn bench_recorder(options: &RecorderOptions) -> Result<RecorderBench, BenchError> {
    thread::apply(options.cpu, None).map_err(BenchError::Cpu)?;
    if let Some(mut ring) = ring_in_memory() {
        return measure(options, &mut ring.writer, MEMORY);
    }
    let words = HeapWords::new((file_bytes(DEFAULT_CAPACITY) / 8) as usize);
    match Writer::start(words, &Identity::default(), DEFAULT_CAPACITY, GENERATION) {
        Ok(mut writer) => measure(options, &mut writer, "heap"),
        Err(error) => Err(BenchError::Ring(error.to_string())),
    }
}

/// A mapped ring whose file has no name any more, so that nothing is left behind however this process ends.
fn ring_in_memory() -> Option<RingFile> {
    let folder = Path::new(MEMORY).join(format!("wireproof-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).ok()?;
    let options = file::Options {
        capacity: DEFAULT_CAPACITY,
        generation: GENERATION,
        any_file_system: false,
        lock_memory: false,
    };
    let ring = file::create(&folder.join("ring"), &Identity::default(), &options);
    let removed = std::fs::remove_dir_all(&folder);
    ring.ok().filter(|_| removed.is_ok())
}

/// An engine: stages of work, each a span while recording is on.
struct Engine<'a, M: SharedMut> {
    writer: &'a mut Writer<M>,
    frame: Aligned,
    out: Aligned,
    gamma: [u8; 256],
    id: u32,
    written: u64,
}

impl<'a, M: SharedMut> Engine<'a, M> {
    fn new(writer: &'a mut Writer<M>, octets: usize, seed: u64) -> Self {
        Engine {
            writer,
            frame: Aligned::seeded(octets, seed, 0),
            out: Aligned::zeros(octets),
            gamma: std::array::from_fn(|level| (level * level / 255) as u8),
            id: 0,
            written: 0,
        }
    }

    /// So many frames, by the same code whether recording is on or off.
    fn frames(&mut self, count: u64, mut now: impl FnMut() -> u64) {
        let part = self.frame.octets().len().div_ceil(STAGES);
        for _ in 0..count {
            let recording = black_box(&*self.writer).enabled();
            let mut clock = || if recording { now() } else { 0 };
            let mut batch = self.writer.frame(self.id);
            let frame_start = clock();
            for stage in 0..STAGES {
                let start = clock();
                let (from, to) = (part_of(self.frame.octets().len(), part, stage), self.out.octets_mut());
                correct(&self.gamma, &self.frame.octets()[from.clone()], &mut to[from]);
                if recording {
                    let span = Event::span(stage as u16, start, clock()).device(stage as u16 % 3, 1);
                    black_box(batch.event(black_box(&span)));
                }
            }
            batch.complete(frame_start, clock());
            self.written += u64::from(recording);
            self.id = self.id.wrapping_add(1) % NO_FRAME;
        }
        black_box(self.out.octets());
    }

    /// So many events of no frame.
    fn unframed(&mut self, count: u64) {
        for _ in 0..count {
            if black_box(&*self.writer).enabled() {
                let start = monotonic_ns();
                self.writer.event(black_box(&Event::span(30, start, monotonic_ns())));
            }
        }
    }

    fn check(&self) -> Check {
        let published = self.writer.shared().load(word(FRAMES_PUBLISHED));
        let copy = snapshot::take(self.writer.shared()).ok();
        let image = copy.map(|copy| copy.seal(&snapshot::Times::default(), 1));
        let ring = image.and_then(|image| parse(&image, Policy::Conservative).ok());
        let counted = Check { frames_written: self.written, frames_published: published, ..Check::default() };
        let Some(ring) = ring else { return counted };
        let other = ring.frames.iter().filter(|frame| frame.records.len() != EVENTS as usize).count() as u64;
        let gone = ring.partial.count + ring.partial.crc + ring.drops.stale + ring.drops.empty;
        Check { frames_read: ring.frames.len() as u64, wrong: other + gone, ..counted }
    }
}

fn part_of(octets: usize, part: usize, stage: usize) -> std::ops::Range<usize> {
    (part * stage).min(octets)..(part * (stage + 1)).min(octets)
}

/// Gamma: the work of a stage.
fn correct(gamma: &[u8; 256], from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = gamma[usize::from(*from)];
    }
}

/// The arms: name, what its times are for, and whether recording is on.
const ARMS: [(&str, &str, bool); 6] = [
    ("clock_gettime", "read", false),
    ("frame/off", "frame", false),
    ("frame/on", "frame", true),
    ("frame/given-times", "frame", true),
    ("unframed/off", "event", false),
    ("unframed/on", "event", true),
];
const CLOCK: usize = 0;
const FRAME_OFF: usize = 1;
const FRAME_ON: usize = 2;
const GIVEN_TIMES: usize = 3;
const UNFRAMED_OFF: usize = 4;
const UNFRAMED_ON: usize = 5;

fn measure<M: SharedMut>(
    options: &RecorderOptions,
    writer: &mut Writer<M>,
    place: &str,
) -> Result<RecorderBench, BenchError> {
    let engine = RefCell::new(Engine::new(writer, options.frame_bytes, options.seed));
    let plan = Plan {
        blocks: options.blocks,
        warm_up: (options.blocks / 10).max(LEAST_WARM_UP),
        seed: options.seed,
        timing_ns: TIMING_NS,
    };
    let timings = run(&plan, &mut arms(&engine), &mut thread::cpu_ns)?;
    let mut engine = engine.into_inner();
    engine.writer.set_enabled(true);
    engine.frames(LAST_FRAMES, monotonic_ns);
    record(options, &plan, &timings, place, engine.check()).ok_or(BenchError::Run(RunError::ClockStands))
}

fn arms<'a, M: SharedMut>(engine: &'a RefCell<Engine<'_, M>>) -> Vec<Arm<'a>> {
    let mut given = 0;
    let works: [Box<dyn FnMut(u64) + 'a>; ARMS.len()] = [
        Box::new(|count| (0..count).for_each(|_| _ = black_box(monotonic_ns()))),
        Box::new(|count| engine.borrow_mut().frames(count, monotonic_ns)),
        Box::new(|count| engine.borrow_mut().frames(count, monotonic_ns)),
        Box::new(move |count| {
            engine.borrow_mut().frames(count, || {
                given += 1;
                given
            });
        }),
        Box::new(|count| engine.borrow_mut().unframed(count)),
        Box::new(|count| engine.borrow_mut().unframed(count)),
    ];
    let arm = |((name, _, on), work): ((&str, &str, bool), _)| {
        Arm::new(name, work).prepared(move |_| engine.borrow_mut().writer.set_enabled(on))
    };
    ARMS.into_iter().zip(works).map(arm).collect()
}

fn record(
    options: &RecorderOptions,
    plan: &Plan,
    timings: &Timings,
    place: &str,
    check: Check,
) -> Option<RecorderBench> {
    let cost = cost(timings)?;
    Some(RecorderBench {
        schema: SCHEMA.to_owned(),
        seed: options.seed,
        frame_bytes: options.frame_bytes as u64,
        events_per_frame: EVENTS,
        blocks: plan.blocks,
        ring: Place { place: place.to_owned(), capacity: DEFAULT_CAPACITY },
        arms: (0..ARMS.len()).map(|arm| timed(timings, arm)).collect::<Option<_>>()?,
        cost,
        extrapolation: Extrapolation::of(&cost, FRAMES_PER_S, UNFRAMED_PER_S),
        check,
        warm_up_blocks: plan.warm_up,
        clock: Clock {
            name: thread::CPU_CLOCK.to_owned(),
            step_ns: timings.step_ns(),
            cpu: options.cpu.map(|cpu| cpu as u64),
        },
    })
}

fn timed(timings: &Timings, arm: usize) -> Option<Timed> {
    let (name, unit, _) = ARMS[arm];
    let ratio = timings.ratio(arm, CLOCK)?;
    let ns: Times = times(timings, arm)?;
    Some(Timed {
        name: name.to_owned(),
        unit: unit.to_owned(),
        ns,
        ratio_to_clock: rounded(ratio.median, 4),
        ratio_interval: Interval {
            low: rounded(ratio.interval.low, 4),
            high: rounded(ratio.interval.high, 4),
        },
        disturbed_blocks: timings.disturbed(arm) as u64,
    })
}

fn cost(timings: &Timings) -> Option<Cost> {
    let frame = timings.difference(FRAME_ON, FRAME_OFF)?;
    let given = timings.difference(GIVEN_TIMES, FRAME_OFF)?;
    let unframed = timings.difference(UNFRAMED_ON, UNFRAMED_OFF)?;
    let events = f64::from(EVENTS);
    Some(Cost {
        per_frame_ns: parts(&frame, 1.0),
        per_event_ns: parts(&frame, events),
        per_frame_given_times_ns: parts(&given, 1.0),
        per_event_given_times_ns: parts(&given, events),
        per_unframed_event_ns: parts(&unframed, 1.0),
    })
}

/// One of so many equal parts of a difference.
fn parts(of: &runner::Difference, n: f64) -> Difference {
    let part = |ns: f64| rounded(ns / n, 3);
    Difference { median: part(of.median), low: part(of.interval.low), high: part(of.interval.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> Writer<HeapWords> {
        let words = HeapWords::new((file_bytes(1024) / 8) as usize);
        Writer::start(words, &Identity::default(), 1024, GENERATION).unwrap()
    }

    #[test]
    fn on_and_off_do_the_same_work_and_only_on_leaves_frames() {
        let mut writer = writer();
        let mut engine = Engine::new(&mut writer, 1000, 1);
        engine.writer.set_enabled(false);
        engine.frames(3, monotonic_ns);
        assert_eq!((engine.written, engine.writer.position()), (0, 0));
        let off = engine.out.octets().to_vec();
        assert_eq!(off[999], (u32::from(engine.frame.octets()[999]).pow(2) / 255) as u8);
        engine.out.octets_mut().fill(0);
        engine.writer.set_enabled(true);
        engine.frames(3, monotonic_ns);
        assert_eq!(engine.out.octets(), off);
        let expected = Check { frames_written: 3, frames_published: 3, frames_read: 3, wrong: 0 };
        assert_eq!((engine.check(), engine.writer.position()), (expected, 3 * u64::from(EVENTS)));
    }

    #[test]
    fn a_frame_that_was_not_written_and_one_of_another_size_fail_the_check() {
        let mut writer = writer();
        let mut engine = Engine::new(&mut writer, 100, 1);
        engine.frames(2, || 5);
        engine.written += 1;
        assert!(!engine.check().right());
        engine.writer.frame(9).complete(1, 2);
        let check = engine.check();
        assert_eq!((check.frames_published, check.wrong, check.right()), (3, 1, false));
    }

    #[test]
    fn every_octet_belongs_to_one_stage_however_few_there_are() {
        for octets in [1, 25, 26, 27, 8640, 8641] {
            let part = usize::div_ceil(octets, STAGES);
            let parts: Vec<usize> = (0..STAGES).flat_map(|stage| part_of(octets, part, stage)).collect();
            assert_eq!(parts, (0..octets).collect::<Vec<_>>(), "{octets}");
        }
    }

    #[test]
    fn the_record_has_every_arm_and_its_check_is_right() {
        let options = RecorderOptions { frame_bytes: 600, blocks: 6, seed: 1, cpu: None };
        let record = bench_recorder(&options).unwrap();
        let names: Vec<&str> = record.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ARMS.map(|(name, ..)| name));
        assert!(record.check.right(), "{:?}", record.check);
        assert!(record.check.frames_read >= LAST_FRAMES);
        let left = std::fs::read_dir(MEMORY).into_iter().flatten().flatten();
        let ours = format!("wireproof-bench-{}", std::process::id());
        assert!(left.into_iter().all(|entry| entry.file_name().to_string_lossy() != ours.as_str()));
    }
}
