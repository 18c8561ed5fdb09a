//! What an event of a ring costs: the Rust writer, the C interface, and Python by `struct.pack_into` and by ctypes, each
//! with two clock reads, in alternating laps. By hand: `cargo bench -p wireproof-recorder-c`. Prints; judges nothing.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench talks to its reader")]

use rustix::time::{ClockId, clock_gettime};
use std::ffi::CString;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use wireproof_recorder::Event;
use wireproof_recorder::file::{self, Options, RingFile};
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::{DEFAULT_CAPACITY, NO_PARENT};
use wireproof_recorder_c::{ANY_FILE_SYSTEM, border};

const LAPS: usize = 31;
/// Frames of a lap in Rust and through the C interface; a fiftieth of them in Python.
const FRAMES: u32 = 5000;
const PYTHON_FRAMES: u32 = 100;
/// Events of a frame in the field, `frame_complete` included.
const FRAME: u16 = 27;
const WALL_S: u64 = 1_770_000_000;
const ARMS: [&str; 6] = [
    "clock_gettime",
    "Rust, span with two clocks",
    "C interface, span with two clocks",
    "Python, struct.pack_into, two clocks",
    "Python, the same written out in one loop",
    "Python, ctypes, two clocks",
];

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of this thread's CPU time for each of `n` rounds.
fn timed(n: f64, body: impl FnOnce()) -> f64 {
    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = cpu();
    body();
    (cpu() - start) / n
}

fn events() -> f64 {
    f64::from(FRAMES) * f64::from(FRAME)
}

fn clocks() -> f64 {
    timed(events(), || (0..FRAMES * u32::from(FRAME)).for_each(|_| _ = black_box(now_ns())))
}

fn rust(ring: &mut RingFile) -> f64 {
    timed(events(), || {
        for id in 0..FRAMES {
            let mut batch = ring.writer.frame(id);
            for stage in 0..FRAME - 1 {
                let start = now_ns();
                let span = Event::span(stage, start, now_ns()).device(0, 2);
                black_box(batch.event(black_box(&Event { aux: 1, ..span })));
            }
            batch.complete(1, 2);
        }
    })
}

fn through_c(handle: u64) -> f64 {
    // Through pointers, as C calls it: not built into the loop.
    let (begin, span, complete) =
        black_box((border::wpr_begin as extern "C" fn(_, _) -> _, border::wpr_span, border::wpr_complete));
    timed(events(), || {
        for id in 0..FRAMES {
            assert_eq!(begin(handle, id), 0);
            for stage in 0..FRAME - 1 {
                let (start, mut place) = (now_ns(), 0);
                assert_eq!(span(handle, stage, 0, 2, NO_PARENT, start, now_ns(), 1, &raw mut place), 0);
                black_box(place);
            }
            assert_eq!(complete(handle, 1, 2), 0);
        }
    })
}

fn handle(path: &Path) -> u64 {
    let (mut handle, path) = (0, CString::new(path.as_os_str().as_bytes()).unwrap());
    assert_eq!(border::wpr_new(&raw mut handle), 0);
    assert_eq!(border::wpr_open(handle, path.as_ptr(), 0, WALL_S, ANY_FILE_SYSTEM), 0);
    handle
}

/// Python, waiting for work.
struct Python {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Python {
    fn start(folder: &Path) -> Option<Python> {
        let python = std::env::var("WIREPROOF_PYTHON").unwrap_or_else(|_| "python3".into());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/struct_writer.py");
        let mut command = Command::new(&python);
        command.arg("-B").arg(script).arg(library()).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            println!("SKIPPED the Python arms: {python} does not run; set WIREPROOF_PYTHON");
            return None;
        };
        let (to, from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        Some(Python { child, to, from })
    }

    fn lap(&mut self, way: &str) -> f64 {
        writeln!(self.to, "{way} {PYTHON_FRAMES}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }

    fn end(mut self) {
        drop(self.to);
        self.child.wait().unwrap();
    }
}

/// The shared library, which lies beside this program.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libwireproof_recorder_c.so")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let options = Options {
        capacity: DEFAULT_CAPACITY,
        generation: 2 * WALL_S,
        any_file_system: true,
        lock_memory: false,
    };
    let mut ring = file::create(&folder.path().join("rust"), &Identity::default(), &options).unwrap();
    let handle = handle(&folder.path().join("c"));
    let mut python = Python::start(folder.path());
    let mut arms: [Vec<f64>; ARMS.len()] = Default::default();
    for _ in 0..LAPS {
        let [clock, in_rust, in_c, ..] = &mut arms;
        clock.push(clocks());
        in_rust.push(rust(&mut ring));
        in_c.push(through_c(handle));
        if let Some(python) = &mut python {
            arms[3].push(python.lap("struct"));
            arms[4].push(python.lap("local"));
            arms[5].push(python.lap("ctypes"));
        }
    }
    if let Some(python) = python {
        python.end();
    }
    assert_eq!(border::wpr_close(handle), 0);
    report(&mut arms);
}

fn report(arms: &mut [Vec<f64>; ARMS.len()]) {
    let measured: Vec<(&str, f64)> = ARMS
        .into_iter()
        .zip(arms)
        .filter(|(_, laps)| !laps.is_empty())
        .map(|(n, laps)| (n, median(laps)))
        .collect();
    let (clock, rust) = (measured[0].1, measured[1].1);
    println!("{LAPS} alternating laps, medians of CPU time, frames of {FRAME}");
    for (name, ns) in &measured {
        println!("{name:<40} {ns:>9.1} ns/event {:>7.2} x clock {:>7.2} x Rust", ns / clock, ns / rust);
    }
    if let [_, _, _, (_, method), (_, local), _] = measured[..] {
        println!("Python struct writer / Rust writer: {:.1} x (goal >= 9 x)", method / rust);
        println!("the same written out in one loop:   {:.1} x", local / rust);
    }
}
