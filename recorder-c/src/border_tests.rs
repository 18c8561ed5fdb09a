//! The functions as C calls them: what they refuse, with which code and which line, and that a refusal leaves no trace.

use super::*;
use std::ffi::CString;
use std::ptr::{null, null_mut};
use wireproof_recorder::header::facts;
use wireproof_recorder::layout::{FLAG_TRUNCATED, NO_FRAME};
use wireproof_recorder::{Policy, Ring, parse};

const ANY: u32 = crate::ANY_FILE_SYSTEM;
const WALL_S: u64 = 1_770_000_000;

fn c(value: impl AsRef<OsStr>) -> CString {
    CString::new(value.as_ref().as_bytes()).unwrap()
}

fn said() -> String {
    text("text", wpr_last_error()).unwrap().to_str().unwrap().to_owned()
}

/// A handle that is closed when the test ends, and a folder.
struct Writer {
    handle: u64,
    folder: tempfile::TempDir,
}

impl Writer {
    fn new() -> Writer {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let mut handle = 0;
        assert_eq!(wpr_new(&raw mut handle), code::OK);
        Writer { handle, folder: folder.unwrap() }
    }

    fn path(&self) -> CString {
        c(self.folder.path().join("ring"))
    }

    /// With a ring of so many records.
    fn open(capacity: u64) -> Writer {
        let writer = Writer::new();
        assert_eq!(wpr_open(writer.handle, writer.path().as_ptr(), capacity, WALL_S, ANY), code::OK);
        writer
    }

    fn image(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("ring")).unwrap()
    }

    fn ring(&self) -> Ring {
        parse(&self.image(), Policy::Conservative).unwrap()
    }

    fn span(&self, place: *mut u16) -> i32 {
        wpr_span(self.handle, 1, NO_DEVICE, 0, NO_PARENT, 10, 20, 0, place)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        wpr_close(self.handle);
    }
}

fn event(kind: Kind) -> WprEvent {
    WprEvent {
        start_ns: 1,
        end_ns: 2,
        aux: 3,
        stage: 4,
        device: 5,
        parent: NO_PARENT,
        flags: 6,
        protocol: 7,
        kind: kind as u8,
        reserved: [0; 6],
    }
}

/// Every function of a handle, with arguments that are right.
fn every_call(handle: u64) -> Vec<i32> {
    let (name, path, event) = (c("x"), c("/nowhere/ring"), event(Kind::Span));
    vec![
        wpr_add_stage(handle, 1, 0, name.as_ptr()),
        wpr_add_device(handle, 1, 0, 0, name.as_ptr()),
        wpr_add_protocol(handle, 1, name.as_ptr()),
        wpr_set_period(handle, 1),
        wpr_set_anchor(handle, 1, 2, 3, 4),
        wpr_open(handle, path.as_ptr(), 64, WALL_S, ANY),
        wpr_begin(handle, 1),
        wpr_span(handle, 1, NO_DEVICE, 0, NO_PARENT, 1, 2, 0, null_mut()),
        wpr_cause(handle, 1, 1, 1),
        wpr_counter(handle, 1, NO_DEVICE, 1, 1),
        wpr_mark(handle, 1, 1, 1),
        wpr_record(handle, &raw const event, null_mut()),
        wpr_record_unframed(handle, &raw const event),
        wpr_anchor(handle, 1, 2),
        wpr_complete(handle, 1, 2),
        wpr_abandon(handle),
        wpr_set_enabled(handle, 0),
        wpr_count(handle, 3, 1),
        wpr_heartbeat(handle, 1),
        wpr_close(handle),
    ]
}

#[test]
fn numbers_that_are_no_handle_are_refused_by_every_function() {
    let closed = Writer::open(64).handle;
    for handle in [0, 63, u64::MAX, closed, 1 << 40 | 1] {
        assert!(every_call(handle).iter().all(|code| *code == code::HANDLE), "{handle}");
    }
    assert_eq!(said(), "not a handle, or closed: use the one that wpr_new gave");
}

#[test]
fn a_ring_comes_before_frames_and_after_tables() {
    let writer = Writer::new();
    let codes = every_call(writer.handle);
    assert_eq!(codes[..5], [code::OK; 5]);
    assert_eq!(codes[5], code::IO);
    assert!(codes[6..19].iter().all(|code| *code == code::STATE), "{codes:?}");
    let writer = Writer::open(64);
    assert!(every_call(writer.handle)[..6].iter().all(|code| *code == code::STATE));
}

#[test]
fn null_pointers_and_bad_arguments_are_refused_with_the_name_of_the_argument() {
    let writer = Writer::new();
    let (h, name) = (writer.handle, c("x"));
    let bad = CString::new(b"\xFF".as_slice()).unwrap();
    let refused = |code: i32, wanted: &str| {
        assert_eq!(code, code::ARGUMENT, "{wanted}");
        assert!(said().starts_with(wanted), "{}", said());
    };
    refused(wpr_new(null_mut()), "handle: ");
    refused(wpr_add_stage(h, 1, 0, null()), "name: is NULL");
    refused(wpr_add_stage(h, 1, 0, c("").as_ptr()), "name: is empty");
    refused(wpr_add_stage(h, 1, 0, bad.as_ptr()), "name: is not UTF-8");
    refused(wpr_add_stage(h, 1, 3, name.as_ptr()), "category: ");
    refused(wpr_add_device(h, NO_DEVICE, 0, 0, name.as_ptr()), "id: ");
    refused(wpr_add_protocol(h, 0, name.as_ptr()), "id: ");
    assert_eq!(wpr_add_protocol(h, 1, name.as_ptr()), code::OK);
    refused(wpr_add_protocol(h, 1, name.as_ptr()), "id: is in the table already");
    let path = writer.path();
    refused(wpr_open(h, null(), 64, WALL_S, ANY), "path: is NULL");
    refused(wpr_open(h, c("..").as_ptr(), 64, WALL_S, ANY), "path: names no file");
    refused(wpr_open(h, path.as_ptr(), 64, 0, ANY), "wall_s: ");
    refused(wpr_open(h, path.as_ptr(), 64, u64::MAX, ANY), "wall_s: ");
    refused(wpr_open(h, path.as_ptr(), 64, WALL_S, 4), "flags: ");
    for capacity in [1, 3, 1 << 25, u64::MAX] {
        refused(wpr_open(h, path.as_ptr(), capacity, WALL_S, ANY), "a ring holds a power of two");
    }
    assert_eq!(std::fs::read_dir(writer.folder.path()).unwrap().count(), 0);
    assert_eq!(wpr_open(h, path.as_ptr(), 64, WALL_S, ANY), code::OK);
    assert_eq!(writer.ring().generation, 2 * WALL_S);
}

#[test]
fn events_that_the_layout_does_not_know_are_refused_and_leave_the_frame_as_it_was() {
    let writer = Writer::open(64);
    let h = writer.handle;
    assert_eq!(wpr_begin(h, NO_FRAME), code::ARGUMENT);
    assert_eq!(wpr_begin(h, 1), code::OK);
    assert_eq!((wpr_begin(h, 2), writer.span(null_mut())), (code::STATE, code::OK));
    let mut place = 0;
    let unaligned = (&raw const place).cast::<u8>().wrapping_add(1).cast::<WprEvent>();
    let bad = [
        WprEvent { kind: 0, ..event(Kind::Span) },
        WprEvent { kind: 11, ..event(Kind::Span) },
        event(Kind::FrameComplete),
        WprEvent { reserved: [0, 0, 0, 0, 0, 1], ..event(Kind::Span) },
    ];
    for pointer in [null(), unaligned].into_iter().chain(bad.iter().map(std::ptr::from_ref)) {
        assert_eq!(wpr_record(h, pointer, &raw mut place), code::ARGUMENT);
        assert_eq!((place, wpr_record_unframed(h, pointer)), (NO_PARENT, code::ARGUMENT));
    }
    assert_eq!((wpr_cause(h, 0, 1, 1), wpr_cause(h, 5, 1, 1)), (code::ARGUMENT, code::ARGUMENT));
    assert_eq!((wpr_count(h, 7, 1), wpr_count(h, u32::MAX, 1)), (code::ARGUMENT, code::ARGUMENT));
    assert_eq!(wpr_record(h, &raw const bad[0], null_mut()), code::ARGUMENT);
    let good = event(Kind::Skipped);
    assert_eq!((wpr_record(h, &raw const good, &raw mut place), place), (code::OK, 1));
    assert_eq!((wpr_complete(h, 1, 2), wpr_complete(h, 1, 2)), (code::OK, code::STATE));
    let frames = writer.ring().frames;
    assert_eq!((frames.len(), frames[0].records.len()), (1, 3));
    let read = frames[0].records[1];
    let fields = (read.start_ns(), read.end_ns(), read.aux(), read.stage(), read.device());
    assert_eq!((fields, read.kind()), ((1, 2, 3, 4, 5), Some(Kind::Skipped)));
    assert_eq!((read.flags(), read.protocol(), read.parent()), (6, 7, NO_PARENT));
}

#[test]
fn a_full_frame_drops_and_counts_and_says_so_in_its_last_record() {
    let writer = Writer::open(64);
    assert_eq!(wpr_begin(writer.handle, 1), code::OK);
    let mut place = 0;
    let codes: Vec<(i32, u16)> = (0..33).map(|_| (writer.span(&raw mut place), place)).collect();
    assert_eq!((codes[30], codes[31]), ((code::OK, 30), (code::DROPPED, NO_PARENT)));
    assert_eq!(wpr_anchor(writer.handle, 1, 2), code::DROPPED);
    assert_eq!(wpr_complete(writer.handle, 1, 2), code::OK);
    let ring = writer.ring();
    assert_eq!(ring.frames[0].records.len(), 32);
    assert_eq!(ring.frames[0].records[31].flags(), FLAG_TRUNCATED);
    assert_eq!(facts(&writer.image()).counter(Counter::EventsDropped), 3);
}

#[test]
fn recording_that_is_off_counts_events_and_leaves_no_frame() {
    let writer = Writer::open(64);
    let h = writer.handle;
    assert_eq!(wpr_set_enabled(h, 0), code::OK);
    assert_eq!((wpr_begin(h, 1), writer.span(null_mut())), (code::OK, code::DROPPED));
    assert_eq!((wpr_complete(h, 1, 2), wpr_anchor(h, 1, 2)), (code::OK, code::DROPPED));
    assert_eq!((wpr_set_enabled(h, 1), wpr_begin(h, 2)), (code::OK, code::OK));
    assert_eq!((writer.span(null_mut()), wpr_complete(h, 1, 2)), (code::OK, code::OK));
    let ring = writer.ring();
    assert_eq!((ring.frames.len(), ring.frames[0].id, ring.loose.len()), (1, 2, 0));
    assert_eq!(facts(&writer.image()).counter(Counter::EventsDisabled), 2);
}

#[test]
fn unframed_events_are_visible_at_once_or_with_the_frame_that_is_under_way() {
    let writer = Writer::open(64);
    let (h, loose) = (writer.handle, event(Kind::Counter));
    assert_eq!(wpr_record_unframed(h, &raw const loose), code::OK);
    assert_eq!(writer.ring().loose.len(), 1);
    assert_eq!((wpr_begin(h, 1), writer.span(null_mut())), (code::OK, code::OK));
    assert_eq!((wpr_record_unframed(h, &raw const loose), writer.ring().loose.len()), (code::OK, 1));
    assert_eq!((writer.span(null_mut()), wpr_complete(h, 1, 2)), (code::OK, code::OK));
    let ring = writer.ring();
    assert_eq!((ring.loose.len(), ring.frames.len(), ring.frames[0].records.len()), (2, 1, 3));
}

#[test]
fn closing_inside_a_frame_gives_it_up() {
    let writer = Writer::open(64);
    assert_eq!((wpr_begin(writer.handle, 1), writer.span(null_mut())), (code::OK, code::OK));
    assert_eq!(wpr_close(writer.handle), code::OK);
    let ring = writer.ring();
    assert_eq!((ring.frames.len(), ring.partial.unfinished), (0, 1));
    assert_eq!(facts(&writer.image()).counter(Counter::FramesAbandoned), 1);
}

#[test]
fn a_ring_has_one_writer_and_a_name_that_is_taken_is_left_alone() {
    let writer = Writer::open(64);
    let second = Writer::new();
    assert_eq!(wpr_open(second.handle, writer.path().as_ptr(), 64, WALL_S, ANY), code::HELD);
    assert!(said().contains("another writer holds this ring"), "{}", said());
    let other = second.folder.path().join("ring");
    std::fs::write(&other, "a letter").unwrap();
    assert_eq!(wpr_open(second.handle, second.path().as_ptr(), 64, WALL_S, ANY), code::NOT_A_RING);
    assert_eq!(std::fs::read(&other).unwrap(), b"a letter");
}

#[test]
fn a_handle_goes_from_thread_to_thread_and_errors_stay_in_theirs() {
    let writer = Writer::open(64);
    let h = writer.handle;
    let there = std::thread::spawn(move || {
        let codes = (wpr_begin(h, 1), wpr_complete(h, 1, 2), wpr_complete(h, 1, 2));
        (codes, said())
    });
    let (codes, text) = there.join().unwrap();
    assert_eq!(codes, (code::OK, code::OK, code::STATE));
    assert_eq!((text.as_str(), said()), ("no frame is under way: call wpr_begin first", String::new()));
    assert_eq!((wpr_begin(h, 2), wpr_complete(h, 1, 2)), (code::OK, code::OK));
    assert_eq!(writer.ring().frames.len(), 2);
}

#[test]
fn tables_take_what_the_header_has_room_for() {
    let (writer, name) = (Writer::new(), c("x"));
    let h = writer.handle;
    let last = |results: Vec<i32>| {
        let (last, before) = results.split_last().map(|(last, before)| (*last, before.to_vec())).unwrap();
        assert!(before.iter().all(|code| *code == code::OK));
        last
    };
    assert_eq!(last((0..=64).map(|id| wpr_add_stage(h, id, 0, name.as_ptr())).collect()), code::LIMIT);
    assert_eq!(last((0..=16).map(|id| wpr_add_device(h, id, 1, 1, name.as_ptr())).collect()), code::LIMIT);
    assert_eq!(last((1..=9).map(|id| wpr_add_protocol(h, id, name.as_ptr())).collect()), code::LIMIT);
    assert_eq!(said(), "8 protocols are named, there is no room for more");
}

#[test]
fn a_panic_ends_at_the_border_as_an_error() {
    assert_eq!(call(|| panic!("on purpose")), code::INTERNAL);
    assert!(said().starts_with("a mistake in wireproof-recorder"), "{}", said());
}

#[test]
fn the_version_is_the_one_of_the_package() {
    assert_eq!(text("version", wpr_version()).unwrap().to_str(), Ok(env!("CARGO_PKG_VERSION")));
    assert_eq!(wpr_abi_version(), 1);
}
