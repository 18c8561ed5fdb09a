//! Writer and reader as two processes over one file: torn records, a writer killed inside a frame, restarts, files cut
//! short. The writer is this test binary, started again with the path of its ring.
//!
//! `WIREPROOF_RACING_READS` sets how many records the race reads (by default 2,000,000).

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use wireproof_recorder::bracket::{CopyError, Source};
use wireproof_recorder::file::{self, FileError, Options};
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::{
    HEADER_WORDS, MAGIC, PAYLOAD_WORDS, RECORD_BYTES, RECORD_WORDS, STATE, VISIBLE, slot, state, u64_at, word,
};
use wireproof_recorder::memory::Shared;
use wireproof_recorder::snapshot::{self, Pread, Snapshot, Times};
use wireproof_recorder::{Event, Frame, Kind, Policy, Record, Refusal, parse};

/// What the child is to do: `path capacity events restart-every kill-frame kill-event`.
const CHILD: &str = "WIREPROOF_RING_CHILD";
const READS: u64 = 2_000_000;
const EVENTS: u64 = 26;
const GENERATION: u64 = 0x66AA_0002;

/// A folder in memory where there is one.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn options(capacity: u64) -> Options {
    Options { capacity, generation: GENERATION, any_file_system: true, lock_memory: false }
}

/// Every word of a record says which record it is, and in which generation.
fn key(generation: u64, id: u32, n: u64) -> u64 {
    (generation & 0xFFFF) << 48 | u64::from(id) << 8 | n
}

fn event(generation: u64, id: u32, n: u64) -> Event {
    let key = key(generation, id, n);
    Event { aux: !key, flags: key as u16, ..Event::span(key as u16, key, key.rotate_left(17)) }
}

fn is_torn(record: &Record) -> bool {
    let key = record.start_ns();
    let span = record.kind() == Some(Kind::Span);
    let same = record.end_ns() == key.rotate_left(17) && record.aux() == !key && record.flags() == key as u16;
    let frame = record.frame() == (key >> 8) as u32 && u64::from(record.seq()) == key & 0xFF;
    span && !(same && frame && record.stage() == key as u16)
}

/// A child that is ended when the test ends, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn child(path: &Path, numbers: [u64; 5]) -> Running {
    let numbers = numbers.map(|n| n.to_string()).join(" ");
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_writer_of_these_tests", "--ignored"])
        .env(CHILD, format!("{} {numbers}", path.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Running(child)
}

/// Waits for the child's ring.
fn ring(path: &Path, child: &mut Running) -> File {
    loop {
        match file::open(path) {
            Ok(file) => return file,
            Err(_) => assert_eq!(child.0.try_wait().unwrap(), None, "the writer has ended"),
        }
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "the child of the other tests"]
fn the_writer_of_these_tests() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let mut words = task.split(' ');
    let path = PathBuf::from(words.next().unwrap());
    let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
    let [capacity, events, restart_every, kill_frame, kill_event] = numbers[..] else { panic!("{task}") };
    let mut ring = file::create(&path, &Identity::default(), &options(capacity)).unwrap();
    for id in 1..u32::MAX {
        if restart_every > 0 && u64::from(id) % restart_every == 0 {
            ring.writer.restart(&Identity::default());
        }
        let generation = ring.writer.generation();
        let mut batch = ring.writer.frame(id);
        for n in 0..events {
            if (u64::from(id), n) == (kill_frame, kill_event) {
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
            }
            batch.event(&event(generation, id, n));
        }
        batch.complete(1, 2);
    }
}

/// What a race gave.
#[derive(Debug, Default)]
struct Race {
    copies: u64,
    accepted: u64,
    torn: u64,
    uncommitted: u64,
    overtaken: u64,
    refused: u64,
    frames: u64,
    bad_frames: u64,
    partial: u64,
}

impl Race {
    fn copy(&mut self, copy: Result<Snapshot, CopyError>) -> Option<Vec<u8>> {
        self.copies += 1;
        let copy = match copy {
            Ok(copy) => copy,
            Err(CopyError::Refused(_)) => {
                self.refused += 1;
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        self.uncommitted += copy.uncommitted();
        self.overtaken += copy.overtaken();
        let (before, _) = copy.facts();
        let octets = copy.octets();
        let capacity = (octets.len() / 8 - HEADER_WORDS) as u64 / RECORD_WORDS as u64;
        for ordinal in copy.window() {
            let at = slot(ordinal, capacity) * 8;
            let record = record(&octets[at..at + RECORD_BYTES], ordinal);
            let foreign =
                record.kind() == Some(Kind::Span) && record.start_ns() >> 48 != before.generation & 0xFFFF;
            self.accepted += 1;
            self.torn += u64::from(is_torn(&record) || foreign);
        }
        Some(copy.into_octets())
    }

    /// Every now and then the whole way: what the parser makes of the copy.
    fn parse(&mut self, image: &[u8], events: u64) {
        if let Ok(ring) = parse(image, Policy::Exact) {
            self.frames += ring.frames.len() as u64;
            let bad = |frame: &&Frame| {
                frame.records.len() as u64 != events + 1 || frame.records.iter().any(is_torn)
            };
            self.bad_frames += ring.frames.iter().filter(bad).count() as u64;
            self.partial += ring.partial.crc;
        }
    }
}

fn record(octets: &[u8], ordinal: u64) -> Record {
    Record { ordinal, words: std::array::from_fn(|index| u64_at(octets, 8 * index)) }
}

fn racing_reads() -> u64 {
    std::env::var("WIREPROOF_RACING_READS").map_or(READS, |n| n.parse().unwrap())
}

/// Reads until so many records were accepted; every 16th copy is sealed and parsed, every other one plain.
fn race(source: &impl Source, reads: u64, events: u64) -> Race {
    let (mut race, mut buffer) = (Race::default(), Vec::new());
    while race.accepted < reads || race.frames == 0 {
        let copy = snapshot::take_into(source, std::mem::take(&mut buffer), &mut || false);
        buffer = race.copy(copy).unwrap_or_default();
        if race.copies % 16 == 1 && !buffer.is_empty() {
            race.parse(&buffer, events);
            if let Ok(copy) = snapshot::take(source) {
                race.parse(&copy.seal(&Times::default(), race.copies), events);
            }
        }
    }
    race
}

/// A reader without any check: the published position, then the records as they come.
fn naive(shared: &impl Shared, capacity: u64, wanted: u64) -> (u64, u64) {
    let (mut reads, mut torn) = (0, 0);
    while reads < wanted || (torn == 0 && reads < 1 << 32) {
        let visible = shared.load(word(VISIBLE));
        for ordinal in visible.saturating_sub(capacity)..visible {
            let [words @ .., _]: [u64; PAYLOAD_WORDS + 1] = shared.load_record(slot(ordinal, capacity));
            reads += 1;
            torn += u64::from(is_torn(&Record { ordinal, words }));
        }
    }
    (reads, torn)
}

fn check(name: &str, race: &Race) {
    println!("{name}: {race:?}");
    assert_eq!(
        (race.torn, race.bad_frames, race.uncommitted, race.partial),
        (0, 0, 0, 0),
        "{name}: {race:?}"
    );
    assert!(race.frames > 0, "{name}: {race:?}");
}

#[test]
fn no_racing_read_accepts_a_torn_record_and_a_naive_one_does() {
    let reads = racing_reads();
    // capacity, events a frame, restart in place every so many frames, records to read
    let rows = [(1024, EVENTS, 0, 4), (256, 9, 0, 8), (1024, EVENTS, 400, 8), (131_072, EVENTS, 0, 2)];
    for (capacity, events, restart, share) in rows {
        let folder = folder();
        let path = folder.path().join("ring");
        let mut child = child(&path, [capacity, events, restart, 0, 0]);
        let file = ring(&path, &mut child);
        let mapped = file::map(&path).unwrap();
        let name = format!("capacity {capacity}, {events} events, restart {restart}");
        check(&format!("{name}, mapped"), &race(&mapped, reads / share / 2, events));
        check(&format!("{name}, pread"), &race(&Pread(&file), reads / share / 2, events));
        let (read, torn) = naive(&mapped, capacity, reads / share);
        println!("{name}, naive control: {torn} torn of {read}");
        assert!(torn > 0, "{name}: the race has to be one that a naive reader loses");
    }
}

#[test]
fn a_writer_killed_inside_a_frame_leaves_whole_frames_and_its_tail() {
    for round in 0..20_u64 {
        let folder = folder();
        let path = folder.path().join("ring");
        let (frame, event) = (5 + round * 3, 1 + round % (EVENTS - 1));
        let mut child = child(&path, [1024, EVENTS, 0, frame, event]);
        child.0.wait().unwrap();
        let image = std::fs::read(&path).unwrap();
        let ring = parse(&image, Policy::Exact).unwrap();
        assert_eq!(ring.frames.last().map(|frame| u64::from(frame.id)), Some(frame - 1));
        assert!(
            ring.frames.iter().all(|frame| frame.records.len() == 27 && !frame.records.iter().any(is_torn))
        );
        assert_eq!((ring.unpublished_tail, ring.drops, ring.partial.crc), (event, Default::default(), 0));
        assert_eq!(u64_at(&image, STATE), state::LIVE, "it had no time to say goodbye");
    }
}

#[test]
fn the_ring_of_a_dead_writer_is_kept_and_its_readers_are_told() {
    let folder = folder();
    let path = folder.path().join("ring");
    child(&path, [256, EVENTS, 0, 12, 7]).0.wait().unwrap();
    let old = file::map(&path).unwrap();
    let before = snapshot::take(&old).unwrap();
    let (_, facts) = before.facts();
    let new = file::create(&path, &file::this_process(Identity::default()), &options(512)).unwrap();
    assert_eq!(old.load(word(STATE)), state::SUPERSEDED);
    let kept = std::fs::read(folder.path().join("ring.prev")).unwrap();
    assert_eq!(parse(&kept, Policy::Exact).unwrap().unpublished_tail, 7);
    assert_eq!(snapshot::take(&old).unwrap().facts().1, facts, "the reader keeps its ring");
    let second = file::create(&path, &Identity::default(), &options(512)).unwrap_err();
    assert!(matches!(second, FileError::Held(_)), "{second}");
    drop(new);
    assert_eq!(u64_at(&std::fs::read(&path).unwrap(), STATE), state::CLOSED);
    file::create(&path, &Identity::default(), &options(512)).unwrap();
}

#[test]
fn a_file_cut_short_under_a_reader_is_an_error_and_no_signal() {
    let folder = folder();
    let path = folder.path().join("ring");
    let mut ring = file::create(&path, &Identity::default(), &options(8192)).unwrap();
    (1..400).for_each(|id| {
        let mut batch = ring.writer.frame(id);
        (0..EVENTS).for_each(|n| _ = batch.event(&event(GENERATION, id, n)));
        batch.complete(1, 2);
    });
    // A copy of the ring: the writer's own mapping would end in SIGBUS, too.
    let copy = folder.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    let file = file::open(&copy).unwrap();
    assert!(snapshot::take(&Pread(&file)).is_ok());
    let cut = |octets| std::fs::OpenOptions::new().write(true).open(&copy).unwrap().set_len(octets).unwrap();
    let during = snapshot::take_into(&Pread(&file), Vec::new(), &mut || {
        cut(100_000);
        true
    });
    assert!(
        matches!(&during, Err(CopyError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof)
    );
    let after = snapshot::take(&Pread(&file));
    assert!(matches!(after, Err(CopyError::Refused(Refusal::Size))), "{after:?}");
    cut(7);
    let nothing = snapshot::take(&Pread(&file));
    assert!(matches!(nothing, Err(CopyError::Io(_))), "{nothing:?}");
}

#[test]
fn a_name_that_is_taken_by_something_else_stays_untouched() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "mine").unwrap();
    let refused = file::create(&path, &Identity::default(), &options(64)).unwrap_err();
    assert!(refused.to_string().ends_with("exists and is not a ring"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
    let link = file::create(&folder.path().join("link"), &Identity::default(), &options(64)).unwrap_err();
    assert!(matches!(link, FileError::Io { .. }), "{link}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn a_ring_on_a_disk_is_refused_unless_asked_for() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("ring");
    let strict = Options { any_file_system: false, ..options(64) };
    match file::create(&path, &Identity::default(), &strict) {
        Err(FileError::Disk(named)) => assert_eq!(named, folder.path()),
        Ok(_) => println!("the build folder lies in memory"),
        Err(error) => panic!("{error}"),
    }
    drop(file::create(&path, &Identity::default(), &options(64)).unwrap());
    assert_eq!(std::fs::read(&path).unwrap()[..8], MAGIC);
}

#[test]
fn a_process_names_itself() {
    let identity = file::this_process(Identity { period_ns: 5, ..Identity::default() });
    assert_eq!((identity.pid, identity.period_ns), (std::process::id(), 5));
    assert!(identity.process_start > 0);
    assert_ne!(identity.boot_id, [0; 16]);
}
