//! The header against the library: every constant, every function and the layout of the event.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::{align_of, offset_of, size_of};
use wireproof_recorder::Kind;
use wireproof_recorder::header::{DEVICE_NAME, PROTOCOL_NAME, ROWS, STAGE_NAME};
use wireproof_recorder::layout::{Counter, DEFAULT_CAPACITY, NO_DEVICE, NO_FRAME, NO_PARENT};
use wireproof_recorder_c::border::{ABI_VERSION, WprEvent, wpr_close, wpr_new};
use wireproof_recorder_c::{ANY_FILE_SYSTEM, LOCK_MEMORY, code};

fn header() -> String {
    fs::read_to_string(support::file("include/wireproof_recorder.h")).unwrap()
}

/// Every `#define WPR_NAME NUMBER`.
fn defines(header: &str) -> BTreeMap<String, u64> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let lines = header.lines().filter_map(|line| line.strip_prefix("#define WPR_"));
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let numbers = words.filter(|words| words[0] != "EVENT_INIT");
    numbers.map(|words| (words[0].to_owned(), number(words[1]))).collect()
}

fn codes() -> [(&'static str, i32); 12] {
    [
        ("OK", code::OK),
        ("E_ARGUMENT", code::ARGUMENT),
        ("E_HANDLE", code::HANDLE),
        ("E_STATE", code::STATE),
        ("E_BUSY", code::BUSY),
        ("E_LIMIT", code::LIMIT),
        ("E_DROPPED", code::DROPPED),
        ("E_HELD", code::HELD),
        ("E_DISK", code::DISK),
        ("E_NOT_A_RING", code::NOT_A_RING),
        ("E_IO", code::IO),
        ("E_INTERNAL", code::INTERNAL),
    ]
}

fn kinds() -> [(&'static str, Kind); 10] {
    [
        ("KIND_SPAN", Kind::Span),
        ("KIND_FRAME_COMPLETE", Kind::FrameComplete),
        ("KIND_CAUSE", Kind::Cause),
        ("KIND_DEADLINE_MISS", Kind::DeadlineMiss),
        ("KIND_DROPS", Kind::Drops),
        ("KIND_ANCHOR", Kind::Anchor),
        ("KIND_COUNTER", Kind::Counter),
        ("KIND_MARK", Kind::Mark),
        ("KIND_SKIPPED", Kind::Skipped),
        ("KIND_STATE", Kind::State),
    ]
}

fn counters() -> [(&'static str, Counter); 7] {
    [
        ("COUNTER_EVENTS_DROPPED", Counter::EventsDropped),
        ("COUNTER_FRAMES_ABANDONED", Counter::FramesAbandoned),
        ("COUNTER_EVENTS_DISABLED", Counter::EventsDisabled),
        ("COUNTER_DEADLINE_MISSES", Counter::DeadlineMisses),
        ("COUNTER_SLOW_FRAMES", Counter::SlowFrames),
        ("COUNTER_SLOW_LOGS_SUPPRESSED", Counter::SlowLogsSuppressed),
        ("COUNTER_CLOCK_STEPS", Counter::ClockSteps),
    ]
}

/// The classes of a cause have no names in the recorder: these are the layout's (`cause`, aux by kind).
const CLASSES: [(&str, u64); 4] =
    [("CAUSE_TIMER", 1), ("CAUSE_EVENT", 2), ("CAUSE_REFRESH", 3), ("CAUSE_OTHER", 4)];

#[test]
fn every_constant_of_the_header_is_the_one_of_the_library_and_none_is_missing() {
    let mut expected = BTreeMap::from([
        ("ABI_VERSION".to_owned(), u64::from(ABI_VERSION)),
        ("STAGES".to_owned(), ROWS[0] as u64),
        ("DEVICES".to_owned(), ROWS[1] as u64),
        ("PROTOCOLS".to_owned(), ROWS[2] as u64),
        ("STAGE_NAME".to_owned(), STAGE_NAME as u64),
        ("DEVICE_NAME".to_owned(), DEVICE_NAME as u64),
        ("PROTOCOL_NAME".to_owned(), PROTOCOL_NAME as u64),
        ("DEFAULT_CAPACITY".to_owned(), DEFAULT_CAPACITY),
        ("ANY_FILE_SYSTEM".to_owned(), u64::from(ANY_FILE_SYSTEM)),
        ("LOCK_MEMORY".to_owned(), u64::from(LOCK_MEMORY)),
        ("NO_DEVICE".to_owned(), u64::from(NO_DEVICE)),
        ("NO_PARENT".to_owned(), u64::from(NO_PARENT)),
        ("NO_FRAME".to_owned(), u64::from(NO_FRAME)),
        ("HANDLES".to_owned(), handles()),
    ]);
    expected.extend(codes().map(|(name, code)| (name.to_owned(), code as u64)));
    expected.extend(kinds().map(|(name, kind)| (name.to_owned(), kind as u64)));
    expected.extend(counters().map(|(name, counter)| (name.to_owned(), counter as u64)));
    expected.extend(CLASSES.map(|(name, class)| (name.to_owned(), class)));
    assert_eq!(defines(&header()), expected);
}

/// How many handles there are before the library says that there are no more; this process has no other test with one.
fn handles() -> u64 {
    let mut open = Vec::new();
    let mut handle = 0;
    while wpr_new(&raw mut handle) == code::OK {
        open.push(handle);
    }
    assert_eq!(open.iter().collect::<BTreeSet<_>>().len(), open.len());
    assert!(open.iter().all(|handle| wpr_close(*handle) == code::OK));
    open.len() as u64
}

#[test]
fn the_header_declares_the_functions_of_the_library_and_no_others() {
    let border = fs::read_to_string(support::file("src/border.rs")).unwrap();
    let exported: BTreeSet<&str> = border.split("pub extern \"C\" fn ").skip(1).map(until_bracket).collect();
    let header = header();
    let declared = header
        .lines()
        .filter(|line| ["int32_t", "uint32_t", "const char"].iter().any(|t| line.starts_with(t)));
    let declared: BTreeSet<&str> = declared
        .filter_map(|line| line.split_once(" wpr_").or(line.split_once("*wpr_")))
        .map(|(_, rest)| rest)
        .collect();
    let declared: BTreeSet<String> =
        declared.iter().map(|rest| format!("wpr_{}", until_bracket(rest))).collect();
    assert_eq!(declared, exported.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(exported.len(), 24);
}

fn until_bracket(text: &str) -> &str {
    text.split_once('(').unwrap().0
}

#[test]
fn an_event_lies_in_memory_as_the_header_declares_it() {
    let offsets = [
        offset_of!(WprEvent, start_ns),
        offset_of!(WprEvent, end_ns),
        offset_of!(WprEvent, aux),
        offset_of!(WprEvent, stage),
        offset_of!(WprEvent, device),
        offset_of!(WprEvent, parent),
        offset_of!(WprEvent, flags),
        offset_of!(WprEvent, protocol),
        offset_of!(WprEvent, kind),
        offset_of!(WprEvent, reserved),
    ];
    assert_eq!(offsets, [0, 8, 16, 24, 26, 28, 30, 32, 33, 34]);
    assert_eq!((size_of::<WprEvent>(), align_of::<WprEvent>()), (40, 8));
    let fields =
        ["start_ns", "end_ns", "aux", "stage", "device", "parent", "flags", "protocol", "kind", "reserved"];
    let header = header();
    let structure = header.split_once("typedef struct wpr_event {").unwrap().1.split_once('}').unwrap().0;
    let places = fields
        .map(|field| structure.find(&format!(" {field}{}", if field == "reserved" { "[6];" } else { ";" })));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
}
