//! Whatever the verifier says of a capture it says of its tape, word for word: for every planted fault, and for the
//! real captures where they are at hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[allow(dead_code, unused_imports)]
mod capture_support;

use capture_support::shared;
use std::path::{Path, PathBuf};
use wireproof::analysis::{analyze, analyze_taping};
use wireproof::capture::SourceReport;
use wireproof::taping::Taping;
use wireproof_fixture::{cases, write_pcap};
use wireproof_protocols::verify::{Account, Options};
use wireproof_protocols::{Protocol, Severity};

/// The accounts of a capture and of its tape.
fn both(capture: &Path, tape: &Path, options: &Options) -> [(SourceReport, Account); 2] {
    let mut taping = Some(Taping::create(tape).unwrap());
    let (report, account) = analyze_taping(&[capture], options.clone(), &mut taping).unwrap();
    taping.unwrap().finish(report.timestamps == "file-us", report.ended).unwrap();
    let again = analyze(&[tape], options.clone()).unwrap();
    [(report, account), again]
}

/// What differs between the two, one line each; nothing should.
fn differences(
    name: &str,
    [(report, mut account), (tape_report, tape_account)]: [(SourceReport, Account); 2],
) -> Vec<String> {
    let mut lines = Vec::new();
    if report.damaged.is_some() {
        // A tape is a whole file: it does not say that what it was made from was damaged.
        account.findings.retain(|finding| finding.code != "CAP-DAMAGED");
    }
    if let Some(damage) = tape_report.damaged.filter(|_| report.damaged.is_none()) {
        lines.push(format!("{name}: {damage}"));
    }
    if (report.packets, report.timestamps) != (tape_report.packets, tape_report.timestamps) {
        lines.push(format!("{name}: {} packets, {} on the tape", report.packets, tape_report.packets));
    }
    let (a, b) = (format!("{account:#?}"), format!("{tape_account:#?}"));
    let unlike = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    if let Some((a, b)) = unlike {
        lines.push(format!("{name}: {a} | on the tape: {b}"));
    } else if a != b {
        lines.push(format!("{name}: one account is longer"));
    }
    lines
}

#[test]
fn every_planted_fault_is_told_by_its_tape_as_by_its_capture() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, tape) = (folder.path().join("case.pcap"), folder.path().join("case.tape"));
    let mut lines = Vec::new();
    let (mut seen, mut violations) = (0, 0);
    for (case, seed) in cases().iter().flat_map(|case| (1..3).map(move |seed| (case, seed))) {
        let planted = (case.build)(seed).unwrap();
        let mut octets = Vec::new();
        write_pcap(&planted, &mut octets).unwrap();
        std::fs::write(&capture, octets).unwrap();
        let options = Options { rig: planted.rig.clone(), ..Options::default() };
        let accounts = both(&capture, &tape, &options);
        violations += accounts[1].1.findings.iter().filter(|f| f.severity == Severity::Violation).count();
        seen += accounts[1].1.datagrams.lighting;
        lines.extend(differences(&format!("{} seed {seed}", case.name), accounts));
    }
    println!("{seen} datagrams, {violations} violations on the tapes");
    assert!(seen > 100_000 && violations > 100, "{seen} {violations}");
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "pcap" || e == "pcapng" || e == "cap") {
            found.push(path);
        }
    }
}

#[test]
fn every_real_capture_is_told_by_its_tape_as_by_itself() {
    let Some(folder) = shared("every_real_capture_is_told_by_its_tape_as_by_itself") else { return };
    let mut captures = Vec::new();
    files(&folder.join("captures"), &mut captures);
    let temporary = tempfile::tempdir().unwrap();
    let tape = temporary.path().join("t");
    let (mut lines, mut read, mut protocols) = (Vec::new(), 0, std::collections::BTreeSet::new());
    for capture in &captures {
        if analyze(&[capture], Options::default()).is_err() {
            continue;
        }
        let accounts = both(capture, &tape, &Options::default());
        read += 1;
        protocols.extend(accounts[1].1.streams.iter().map(|s| s.protocol));
        lines.extend(differences(&capture.display().to_string(), accounts));
    }
    println!("{read} of {} files", captures.len());
    assert!(
        read > 20 && protocols.contains(&Protocol::Kinet) | (protocols.len() >= 3),
        "{read} {protocols:?}"
    );
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
}
