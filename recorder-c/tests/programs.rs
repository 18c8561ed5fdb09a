//! Engines that are not Rust: the C example, linked both ways, and the Python example, and what the parser makes of
//! the rings they leave.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};
use support::{file, folder, libraries, program, ring, shared_library};
use wireproof_recorder::header::facts;
use wireproof_recorder::layout::{Counter, STATE, state, u64_at};
use wireproof_recorder::{Kind, Record, Ring};

/// What the compiler is asked for besides the example: strict C11, and every warning is an error.
const STRICT: [&str; 6] = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
const FRAMES: u32 = 95;

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn compile(compiler: &str, more: &[&OsStr], to: &Path) {
    let mut command = Command::new(compiler);
    command.args(STRICT).arg("-I").arg(file("include")).arg(file("examples/writer.c"));
    run(command.args(more).arg("-o").arg(to));
}

fn kinds(records: &[Record]) -> Vec<Kind> {
    records.iter().map(|record| record.kind().unwrap()).collect()
}

/// What `writer.c` does in so many frames.
fn check_c(path: &Path, frames: u32) {
    let read = ring(path);
    let whole: Vec<u32> = (1..=frames).filter(|id| id % 10 != 0).collect();
    assert_eq!(read.frames.iter().map(|frame| frame.id).collect::<Vec<_>>(), whole);
    assert_eq!(read.framed_records(), 7 * whole.len() as u64);
    assert_eq!(read.partial.unfinished, u64::from(frames / 10));
    assert_eq!((read.unpublished_tail, read.gaps.len()), (0, (frames / 10) as usize));
    for frame in &read.frames {
        check_c_frame(&frame.records, frame.id);
    }
    assert_eq!(read.loose.len() as u32, frames + frames / 30);
    let anchors = read.loose.iter().filter(|record| record.kind() == Some(Kind::Anchor));
    assert_eq!(anchors.count() as u32, frames / 30);
    check_header(path, &read, frames);
}

fn check_c_frame(records: &[Record], id: u32) {
    use Kind::{Cause, Counter, FrameComplete, Mark, Span};
    assert_eq!(kinds(records), [Cause, Span, Span, Span, Counter, Mark, FrameComplete]);
    assert_eq!((records[0].flags(), records[0].aux()), (1, 1));
    let spans = records[1..4].iter().map(|r| (r.stage(), r.device(), r.protocol(), r.parent(), r.aux()));
    let expected = [(1, 0xFFFF, 0, 0xFFFF, 0), (2, 0, 2, 1, 0), (3, 0, 2, 1, 4)];
    assert_eq!(spans.collect::<Vec<_>>(), expected);
    assert!(records[1..4].iter().all(|r| 0 < r.start_ns() && r.start_ns() <= r.end_ns()));
    assert_eq!((records[4].stage(), records[4].aux()), (4, u64::from(id % 7)));
    assert_eq!((records[5].stage(), records[5].aux()), (1, u64::from(id)));
}

fn check_header(path: &Path, read: &Ring, frames: u32) {
    let image = std::fs::read(path).unwrap();
    let facts = facts(&image);
    assert_eq!((facts.counter(Counter::SlowFrames), facts.period_ns), (3, 16_666_667));
    assert_eq!(facts.counter(Counter::FramesAbandoned), u64::from(frames / 10));
    assert_eq!(facts.counter(Counter::Heartbeat) > 0, frames >= 30);
    assert_eq!(u64_at(&image, STATE), state::CLOSED);
    let stages: Vec<(u16, u8, &str)> =
        read.tables.stages.iter().map(|s| (s.id, s.category, s.name.as_str())).collect();
    let expected =
        [(1, 0, "frame"), (2, 0, "render"), (3, 0, "wire_send"), (4, 2, "queue"), (5, 0, "housekeeping")];
    assert_eq!(stages, expected);
    let device = &read.tables.devices[0];
    assert_eq!((device.id, device.protocol, device.pixels, device.name.as_str()), (0, 2, 2040, "pole-a"));
    assert_eq!((read.tables.protocols[0].id, read.tables.protocols[0].name.as_str()), (2, "sacn"));
}

#[test]
fn a_c_program_linked_with_the_shared_library_writes_frames_that_parse_exactly() {
    let test = "a_c_program_linked_with_the_shared_library_writes_frames_that_parse_exactly";
    let Some(cc) = program(test, "CC", &["cc", "gcc", "clang"]) else { return };
    let folder = folder();
    let (binary, path) = (folder.path().join("writer"), folder.path().join("ring"));
    let libraries = libraries();
    let search = [format!("-L{}", libraries.display()), format!("-Wl,-rpath,{}", libraries.display())];
    compile(&cc, &[search[0].as_ref(), search[1].as_ref(), "-lwireproof_recorder_c".as_ref()], &binary);
    run(Command::new(&binary).arg(&path).arg(FRAMES.to_string()));
    check_c(&path, FRAMES);
}

#[test]
fn a_c_program_linked_with_the_static_library_does_the_same_and_keeps_the_former_ring() {
    let test = "a_c_program_linked_with_the_static_library_does_the_same_and_keeps_the_former_ring";
    let Some(cc) = program(test, "CC", &["cc", "gcc", "clang"]) else { return };
    let folder = folder();
    let (binary, path) = (folder.path().join("writer"), folder.path().join("ring"));
    let library = libraries().join("libwireproof_recorder_c.a");
    let system = ["-lpthread", "-ldl", "-lm"].map(OsStr::new);
    compile(&cc, &[&[library.as_os_str()], &system[..]].concat(), &binary);
    for frames in [FRAMES, 12] {
        run(Command::new(&binary).arg(&path).arg(frames.to_string()));
        check_c(&path, frames);
    }
    let former = ring(&folder.path().join("ring.prev"));
    assert_eq!(former.frames.last().unwrap().id, FRAMES);
}

#[test]
fn a_c_program_says_in_one_line_why_there_is_no_ring() {
    let Some(cc) =
        program("a_c_program_says_in_one_line_why_there_is_no_ring", "CC", &["cc", "gcc", "clang"])
    else {
        return;
    };
    let folder = folder();
    let binary = folder.path().join("writer");
    compile(
        &cc,
        &[
            libraries().join("libwireproof_recorder_c.a").as_ref(),
            "-lpthread".as_ref(),
            "-ldl".as_ref(),
            "-lm".as_ref(),
        ],
        &binary,
    );
    let output = Command::new(&binary).arg(folder.path().join("absent/ring")).arg("1").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.starts_with("wpr_open: ") && said.contains("absent"), "{said}");
}

#[test]
fn the_header_is_cpp_too() {
    let Some(cxx) = program("the_header_is_cpp_too", "CXX", &["c++", "g++", "clang++"]) else { return };
    let folder = folder();
    let source = folder.path().join("header.cpp");
    let text = "#include \"wireproof_recorder.h\"\nint main() { wpr_event e = WPR_EVENT_INIT; return e.kind != WPR_KIND_SPAN; }\n";
    std::fs::write(&source, text).unwrap();
    let binary = folder.path().join("header");
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    run(Command::new(cxx).args(warnings).arg("-I").arg(file("include")).arg(&source).arg("-o").arg(&binary));
    run(&mut Command::new(&binary));
}

#[test]
fn a_python_program_writes_frames_that_parse_exactly() {
    use Kind::{Anchor, Cause, Counter, FrameComplete, Span};
    let test = "a_python_program_writes_frames_that_parse_exactly";
    let Some(python) = program(test, "WIREPROOF_PYTHON", &["python3"]) else { return };
    let folder = folder();
    let path = folder.path().join("ring");
    let mut command = Command::new(python);
    command.arg("-B").arg(file("examples/writer.py")).arg(shared_library()).arg(&path);
    run(command.arg(FRAMES.to_string()));
    let read = ring(&path);
    let ids: Vec<u32> = read.frames.iter().map(|frame| frame.id).collect();
    assert_eq!(ids, (1..=FRAMES).collect::<Vec<_>>());
    assert_eq!(kinds(&read.loose), [Anchor]);
    assert_eq!((read.window.hi, read.unpublished_tail), (u64::from(7 * FRAMES + 1), 0));
    for frame in &read.frames {
        let records = &frame.records;
        assert_eq!(kinds(records), [Cause, Span, Span, Span, Span, Counter, FrameComplete]);
        let devices = records[2..5].iter().map(|r| (r.device(), r.protocol(), r.parent(), r.aux()));
        assert_eq!(devices.collect::<Vec<_>>(), [(0, 1, 1, 4), (1, 2, 1, 4), (2, 3, 1, 4)]);
        assert!(records[2..5].is_sorted_by(|a, b| a.end_ns() == b.start_ns()));
        assert_eq!(records[5].aux(), u64::from(frame.id % 7));
    }
    assert_eq!(read.tables.device(2), Some("pole-c"));
}

#[test]
fn a_python_program_gets_the_library_s_line_as_an_exception() {
    let test = "a_python_program_gets_the_library_s_line_as_an_exception";
    let Some(python) = program(test, "WIREPROOF_PYTHON", &["python3"]) else { return };
    let folder = folder();
    let mut command = Command::new(python);
    command.arg("-B").arg(file("examples/writer.py")).arg(shared_library());
    let output = command.arg(folder.path().join("absent/ring")).arg("1").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.starts_with("writer.py: wpr_open: ") && said.ends_with("(code 10)\n"), "{said}");
}
