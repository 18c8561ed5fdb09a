//! Conversion of a full ring against the machine and against Python's json, in one run, by hand:
//! `cargo bench -p wireproof-recorder --bench convert [-- RING]`. Medians of CPU time; ratios are what counts.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a bench prints, and ends at the first problem")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use wireproof_recorder::convert::ring::{Context, tracks};
use wireproof_recorder::convert::{chrome, perfetto};
use wireproof_recorder::layout::Record;
use wireproof_recorder::{Policy, Ring, parse};

const ROUNDS: usize = 15;

fn main() {
    let path = std::env::args().skip(1).find(|a| !a.starts_with("--")).map_or_else(sample, PathBuf::from);
    if !path.is_file() {
        println!("SKIPPED: {} is not there; name a ring of layout 2", path.display());
        return;
    }
    let image = read(&path);
    let ring = parse(&image, Policy::Conservative).expect("a ring");
    let records: Vec<Record> =
        ring.frames.iter().flat_map(|f| &f.records).chain(&ring.loose).copied().collect();
    let times = measure(&path, &image, &ring, &records);
    report(&times, &python(&path), records.len());
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings/v2_full_size.bin.gz")
}

fn read(path: &Path) -> Vec<u8> {
    let octets = std::fs::read(path).expect("readable");
    if !octets.starts_with(&[0x1f, 0x8b]) {
        return octets;
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&octets[..]).read_to_end(&mut plain).expect("gzip");
    plain
}

/// CPU time of this thread, ns.
fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn timed(times: &mut Vec<u64>, work: impl FnOnce()) {
    let started = cpu_ns();
    work();
    times.push(cpu_ns() - started);
}

#[derive(Default)]
struct Times {
    copy: Vec<u64>,
    parse: Vec<u64>,
    tracks: Vec<u64>,
    zstd: Vec<u64>,
    perfetto: Vec<u64>,
    chrome: Vec<u64>,
    whole: Vec<u64>,
    octets: [usize; 3],
}

/// Rounds with every arm in each, so that a slow moment of the machine hits all of them.
fn measure(path: &Path, image: &[u8], ring: &Ring, records: &[Record]) -> Times {
    let mut times = Times::default();
    let file = std::env::temp_dir().join(format!("wireproof-convert-{}.ring", std::process::id()));
    std::fs::write(&file, image).expect("a copy of the ring in the temporary folder");
    let (mut trace, mut json) = (Vec::with_capacity(16 << 20), Vec::with_capacity(32 << 20));
    let mut copy = vec![0u8; image.len()];
    for _ in 0..ROUNDS {
        timed(&mut times.copy, || black_box(&mut copy).copy_from_slice(black_box(image)));
        timed(&mut times.parse, || drop(black_box(parse(image, Policy::Conservative))));
        let context = Context { tables: Some(&ring.tables), ..Context::default() };
        timed(&mut times.tracks, || drop(black_box(tracks(black_box(records), &context))));
        timed(&mut times.perfetto, || convert(records, ring, &mut trace, perfetto::write));
        timed(&mut times.chrome, || convert(records, ring, &mut json, chrome::write));
        timed(&mut times.zstd, || drop(black_box(zstd::encode_all(&trace[..], 1))));
        timed(&mut times.whole, || times.octets[2] = whole(&file));
    }
    times.octets[0] = trace.len();
    times.octets[1] = json.len();
    std::fs::remove_file(&file).expect("the copy goes");
    println!("{}: {} records, {} octets", path.display(), records.len(), image.len());
    times
}

type Writer = fn(
    &wireproof_recorder::convert::Timeline,
    &mut dyn Write,
) -> std::io::Result<wireproof_recorder::convert::Written>;

/// Parsed records to octets: tracks, sorting, lanes, interned names and encoding.
fn convert(records: &[Record], ring: &Ring, out: &mut Vec<u8>, write: Writer) {
    out.clear();
    let context = Context { tables: Some(&ring.tables), ..Context::default() };
    let (timeline, _) = tracks(black_box(records), &context);
    write(&timeline, out).expect("memory");
}

/// Read, checked, parsed, converted and packed.
fn whole(file: &Path) -> usize {
    let image = std::fs::read(file).expect("readable");
    let ring = parse(&image, Policy::Conservative).expect("a ring");
    let records = ring.frames.iter().flat_map(|f| &f.records).chain(&ring.loose);
    let context = Context { tables: Some(&ring.tables), ..Context::default() };
    let (timeline, _) = tracks(records, &context);
    let mut packed = zstd::Encoder::new(Vec::with_capacity(1 << 20), 1).expect("zstd");
    perfetto::write(&timeline, &mut packed).expect("memory");
    black_box(packed.finish().expect("zstd")).len()
}

fn python(path: &Path) -> serde_json::Value {
    let python = std::env::var("WIREPROOF_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/convert.py");
    match Command::new(&python).arg(script).arg(path).arg("5").output() {
        Ok(output) if output.status.success() => serde_json::from_slice(&output.stdout).expect("JSON"),
        _ => {
            println!("SKIPPED: {python} does not run the comparison");
            serde_json::Value::Null
        }
    }
}

fn median(times: &[u64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2] as f64
}

fn report(times: &Times, python: &serde_json::Value, records: usize) {
    let row = |name: &str, ns: f64, octets: usize| {
        println!(
            "{name:<34} {:>9.3} ms {:>7.1} ns/record {octets:>10} octets",
            ns / 1e6,
            ns / records as f64
        );
    };
    row("memcpy of the ring", median(&times.copy), 0);
    row("parse", median(&times.parse), 0);
    row("records -> tracks (part of the next)", median(&times.tracks), 0);
    row("records -> Perfetto", median(&times.perfetto), times.octets[0]);
    row("records -> Chrome JSON", median(&times.chrome), times.octets[1]);
    row("zstd -1 of the Perfetto trace", median(&times.zstd), 0);
    row("file -> parse -> Perfetto -> zstd", median(&times.whole), times.octets[2]);
    let of = |key: &str| python[key].as_f64();
    let (Some(dumps), Some(build), Some(gzip)) = (of("dumps"), of("build_dumps"), of("gzip")) else { return };
    row("Python json.dumps", dumps, python["octets"].as_u64().unwrap_or_default() as usize);
    row("Python build + json.dumps", build, 0);
    row("Python gzip -6 of it", gzip, 0);
    let ratio = |name: &str, theirs: f64, ours: &[u64], goal: f64| {
        let goal = if goal.is_nan() { String::new() } else { format!(" (goal {goal} x)") };
        println!("{name:<58} {:>6.1} x{goal}", theirs / median(ours));
    };
    ratio("Perfetto against Python from the same records", build, &times.perfetto, 80.0);
    ratio("Chrome JSON against Python from the same records", build, &times.chrome, 60.0);
    ratio("whole path against Python's json + gzip", build + gzip, &times.whole, 20.0);
    ratio("Perfetto against json.dumps of dicts that exist already", dumps, &times.perfetto, f64::NAN);
    ratio("Chrome JSON against the same", dumps, &times.chrome, f64::NAN);
}
