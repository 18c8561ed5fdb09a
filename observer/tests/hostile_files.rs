//! Hostile files through the program itself, each with 512 MiB of address space and 60 s: a documented exit code, one
//! line a message, no panic, and nothing of what was there before the damage is lost.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

#[allow(dead_code, reason = "each test file uses a part of the builders")]
mod capture_support;

use capture_support::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// KiB of address space of a run.
const ROOM: u64 = 512 << 10;
const SEED: u64 = 0x7769_7265_7072_6f6f;
/// Files that have to be run.
const FILES: usize = 380;
/// Files changed at random.
const CHANGED: u64 = 360;

/// What a run ended with, and what it said.
struct Ended {
    code: Option<i32>,
    said: String,
    out: String,
}

fn analyze(path: &Path) -> Ended {
    let limited = format!("ulimit -v {ROOM}; exec timeout -s KILL 60 \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_wireproof"), "analyze", "--format", "json"]).arg(path);
    let ran = command.env_remove("WIREPROOF_FORMAT").env("RUST_BACKTRACE", "0").output().unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    Ended { code: ran.status.code(), said: text(&ran.stderr), out: text(&ran.stdout) }
}

fn is_unharmed(path: &Path) -> Ended {
    let name = path.display();
    let ended = analyze(path);
    let code = ended.code.unwrap_or_else(|| panic!("{name}: killed: {}", ended.said));
    assert!([0, 1, 3, 4, 6].contains(&code), "{name}: exit code {code}: {}", ended.said);
    assert!(!ended.said.contains("panicked") && ended.said.lines().count() <= 3, "{name}: {}", ended.said);
    match code {
        6 => assert_eq!((ended.said.lines().count(), ended.out.as_str()), (1, ""), "{name}: {}", ended.said),
        _ => drop(
            serde_json::from_str::<serde_json::Value>(&ended.out).unwrap_or_else(|e| panic!("{name}: {e}")),
        ),
    }
    ended
}

/// Whole captures that damage is done to.
fn whole() -> Vec<Vec<u8>> {
    let (little, big) = (Order::Little, Order::Big);
    let four = udp4(&pattern(40));
    let tagged = ethernet(0x88a8, &[&[0, 5, 0x81, 0, 0, 6, 8, 0][..], &four].concat());
    let parts = fragments4(9, &pattern(200), 64);
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let blocks = [
        section(little),
        interface(little, 1, 96, &option(little, 9, &[9])),
        enhanced(little, 0, 3, &tagged, &option(little, 1, b"note")),
        statistics(little, 30, 4, Some((1, 2))),
    ];
    let plain = vec![
        raw(&[&four, &four]),
        raw(&parts),
        pcap(big, NANO, 1, &[(1, 2, &tagged, 99)]),
        blocks.concat(),
        include_bytes!("../testdata/golden.pcap").to_vec(),
    ];
    let packed = [gzip(&plain[0]), zst(&plain[3]), gzip(&plain[4])];
    plain.into_iter().chain(packed).collect()
}

/// Headers that promise what is not there, and wrappers that hold far more than they weigh.
fn made() -> Vec<(String, Vec<u8>)> {
    let (little, big) = (Order::Little, Order::Big);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, length) in
        [("0", 0u32), ("1", 1), ("most", u32::MAX), ("half", 1 << 31), ("snap", 0x0004_0001)]
    {
        let record = [&[0; 8][..], &length.to_le_bytes(), &length.to_le_bytes()].concat();
        files.push((format!("pcap-length-{name}"), [pcap(little, MICRO, 1, &[]), record].concat()));
        for order in [little, big] {
            let head = [order.p32(6), order.p32(length)].concat();
            let file = [section(order), interface(order, 1, 0, &[]), head].concat();
            files.push((format!("block-length-{name}-{}", files.len()), file));
        }
    }
    let interfaces = interface(little, 1, 0, &[]).repeat(100_000);
    files.push(("many-interfaces".into(), [section(little), interfaces].concat()));
    files.push(("many-sections".into(), section(little).repeat(100_000)));
    let comment = option(little, 1, &[b'x'; 60_000]);
    let noted = enhanced(little, 0, 1, &udp4(b"x"), &comment).repeat(100);
    files.push(("long-comments".into(), [section(little), interface(little, 101, 0, &[]), noted].concat()));
    // First fragments of datagrams that never become whole.
    let open: Vec<Vec<u8>> =
        (0..60_000u32).map(|id| fragments4(id as u16, &pattern(200), 64).remove(0)).collect();
    files.push(("open-fragments".into(), raw(&open.iter().map(Vec::as_slice).collect::<Vec<_>>())));
    files.push(("only-gzip".into(), vec![0x1f, 0x8b]));
    files.push(("gzip-in-gzip".into(), gzip(&gzip(&raw(&[&udp4(b"x")])))));
    files.push(("gzip-bomb".into(), gzip(&[pcap(little, MICRO, 1, &[]), vec![0; 64 << 20]].concat())));
    files.push(("zstd-bomb".into(), zst_bomb()));
    files.push(("zstd-window".into(), [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff][..], &[0; 64]].concat()));
    files
}

/// A pcap header and 2 GiB of zeros in 64 KiB of zstd: frames of run-length blocks (RFC 8878, 3.1.1.2).
fn zst_bomb() -> Vec<u8> {
    let mut file = zst(&pcap(Order::Little, MICRO, 1, &[]));
    const BLOCK: u32 = 128 << 10;
    // Magic, no content size, a window of 128 KiB.
    file.extend([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
    for number in 0..16_384u32 {
        let header = BLOCK << 3 | 1 << 1 | u32::from(number == 16_383);
        file.extend(&header.to_le_bytes()[..3]);
        file.push(0);
    }
    file
}

fn changed(number: u64, whole: &[Vec<u8>]) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED ^ number);
    let mut below = |bound: usize| (random.next_u64() % bound.max(1) as u64) as usize;
    let mut file = whole[below(whole.len())].clone();
    for _ in 0..1 + below(6) {
        let at = below(file.len());
        let length = below(40).min(file.len() - at);
        match below(5) {
            0 => file.truncate(at),
            1 => drop(file.drain(at..at + length)),
            2 => {
                let stretch = file[at..at + length].to_vec();
                file.splice(at..at, stretch);
            }
            _ => file.iter_mut().skip(at).take(4).for_each(|octet| *octet = below(256) as u8),
        }
    }
    file
}

#[test]
fn hostile_captures_leave_the_program_unharmed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile");
    let whole = whole();
    let mut files: Vec<(String, Vec<u8>)> = made();
    files.extend((0..CHANGED).map(|number| (format!("changed-{number}"), changed(number, &whole))));
    let mut ended = std::collections::BTreeMap::<i32, usize>::new();
    for (name, octets) in &files {
        let path = path.with_file_name(name);
        fs::write(&path, octets).unwrap();
        *ended.entry(is_unharmed(&path).code.unwrap()).or_default() += 1;
        fs::remove_file(&path).unwrap();
    }
    assert!(files.len() >= FILES, "{} files", files.len());
    let _ = writeln!(std::io::stderr(), "{} hostile files of our own, by exit code: {ended:?}", files.len());
    // Both kinds of end are there: refused, and read up to the damage.
    assert!(ended[&6] > 20 && ended[&0] > 20, "{ended:?}");
}

#[test]
fn a_wrapper_that_unpacks_to_far_more_than_it_weighs_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.zst");
    fs::write(&path, zst_bomb()).unwrap();
    let ended = is_unharmed(&path);
    let record: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let damage = record["source"]["damaged"].as_str().unwrap();
    assert!(damage.contains("unpacks to over 2000 times its size"), "{damage}");
}

#[test]
fn the_robustness_files_leave_the_program_unharmed() {
    let Some(shared) = shared("the_robustness_files_leave_the_program_unharmed") else { return };
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![shared.join("captures/robustness")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
        }
    }
    files.sort();
    files.iter().for_each(|path| drop(is_unharmed(path)));
    assert!(files.len() >= 255, "only {} files", files.len());
    let _ = writeln!(std::io::stderr(), "{} robustness files left the program unharmed", files.len());
}
