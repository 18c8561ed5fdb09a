//! Runs that are killed: after every record, in the middle of a file, and anywhere. Nothing that was recorded is lost.
//!
//! The runs are processes of their own: this test program, started again, writes a bundle and is killed with SIGKILL.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bundle that cannot be read fails the test; the child tells its steps"
)]

mod matrix_support;

use matrix_support::{START_NS, create, device, plan, run, schedule, script, step};
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use wireproof::matrix::bundle::{Bundle, BundleError, BundleLock, JOURNAL, Seal, TargetLock, Writer, scan};
use wireproof_matrices::journal::{Entry, Record};
use wireproof_matrices::manifest::MANIFEST;
use wireproof_matrices::resume::{Progress, unrestored};

const FOLDER: &str = "WIREPROOF_TEST_BUNDLE_FOLDER";
const MODE: &str = "WIREPROOF_TEST_BUNDLE_MODE";

/// Not a test: what the started program does. Without the variables it does nothing.
#[test]
fn child() {
    let (Ok(folder), Ok(mode)) = (std::env::var(FOLDER), std::env::var(MODE)) else { return };
    let folder = PathBuf::from(folder);
    match mode.as_str() {
        "lock" => {
            let _lock = TargetLock::take(&folder, "http://10.0.0.5", "the child").unwrap();
            told(0, true);
        }
        "half" => half(&folder),
        mode => whole(&folder, mode == "asked"),
    }
}

/// Says how many records there are, and waits for a line if it is asked to.
fn told(records: usize, wait: bool) {
    // The harness writes its own lines to the same place.
    println!("\n@{records}");
    stdout().flush().unwrap();
    if wait && stdin().read_line(&mut String::new()).unwrap() == 0 {
        std::process::exit(0);
    }
}

fn whole(folder: &Path, wait: bool) {
    let mut writer = create(folder);
    told(0, wait);
    for (n, doing) in (1..).zip(script()) {
        step(&mut writer, &doing, START_NS + n);
        told(records(n as usize), wait);
    }
    writer.seal(START_NS + 1_000, "pass").unwrap();
    told(records(script().len()) + 1, wait);
}

/// Records after so many steps: the first one brings those of three files along.
fn records(steps: usize) -> usize {
    if steps == 0 { 0 } else { steps + 3 }
}

fn half(folder: &Path) {
    let mut writer = create(folder);
    script()[..7].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let place = matrix_support::place(1, 1, 1, 1);
    let written = writer.put_arm(&place, "raw", "ring.raw", |out| {
        out.write_all(&[7; 100_000])?;
        out.flush()?;
        told(records(7), true);
        Ok(())
    });
    drop(written);
}

struct Run {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Run {
    fn start(folder: &Path, mode: &str) -> Run {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
            .env(FOLDER, folder)
            .env(MODE, mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Run { child, lines }
    }

    /// The next number of records it tells.
    fn told(&mut self) -> usize {
        let line = self
            .lines
            .by_ref()
            .map(Result::unwrap)
            .find_map(|line| line.strip_prefix('@').map(str::to_owned));
        line.expect("the child ended early").parse().unwrap()
    }

    fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn only_bundle(evidence: &Path) -> PathBuf {
    let mut all = std::fs::read_dir(evidence).unwrap().map(|entry| entry.unwrap().path());
    let dir = all.next().unwrap();
    assert!(all.next().is_none());
    dir
}

fn reference() -> Vec<Entry> {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    Bundle::open(&dir).unwrap().journal().to_vec()
}

/// Everything that has to hold of a bundle whose run was killed with `told` records on the disk.
fn nothing_is_lost(dir: &Path, told: usize, reference: &[Entry]) -> usize {
    if told == 0 && !std::fs::read(dir.join(JOURNAL)).is_ok_and(|octets| octets.contains(&b'\n')) {
        assert!(matches!(Bundle::open(dir), Err(BundleError::NotABundle { .. })));
        return 0;
    }
    let bundle = Bundle::open(dir).unwrap();
    let there = bundle.journal();
    assert!(there.len() >= told, "{} of {told} records", there.len());
    assert_eq!(there, &reference[..there.len()]);
    assert_eq!(bundle.unrestored(), unrestored(&reference[..there.len()]));
    let progress = Progress::of(&schedule(), there).unwrap();
    assert_eq!(progress.used.len() + progress.todo.len(), 4);
    for path in bundle.files().keys() {
        bundle.read(path).unwrap();
    }
    there.len()
}

/// An open run is PARTIAL until every block is complete, and it can go on.
fn it_goes_on(dir: &Path, records: usize) {
    let (mut writer, entries) = Writer::resume(dir, device()).unwrap();
    assert_eq!(entries.len(), records);
    let first = writer.first().unwrap().clone();
    writer.record(START_NS + 5_000, &first).unwrap();
    let progress = Progress::of(&schedule(), &entries).unwrap();
    let complete = progress.blocks_complete == progress.blocks_planned;
    writer.seal(START_NS + 5_001, if complete { "pass" } else { "partial" }).unwrap();
    let bundle = Bundle::open(dir).unwrap();
    assert_eq!((bundle.seal(), bundle.journal().len()), (Seal::Sealed, records + 2));
    assert!(matches!(bundle.journal()[records].record, Record::Resumed { .. }));
}

#[test]
fn a_run_killed_after_any_record_has_lost_nothing_and_goes_on() {
    let reference = reference();
    let steps = script().len() + 1;
    for kill_after in 0..=steps {
        let evidence = tempfile::tempdir().unwrap();
        let mut run = Run::start(evidence.path(), "asked");
        let mut told = run.told();
        for _ in 0..kill_after {
            run.go_on();
            told = run.told();
        }
        run.kill();
        let dir = only_bundle(evidence.path());
        let there = nothing_is_lost(&dir, told, &reference);
        assert_eq!(there, told);
        let left = scan(evidence.path()).unwrap();
        let changed = left.left_changed(&plan().target.base_url).count();
        assert_eq!(changed, usize::from(!unrestored(&reference[..there]).is_empty()), "after {there}");
        match kill_after {
            0 => assert!(left.runs.is_empty()),
            after if after == steps => assert_eq!(Bundle::open(&dir).unwrap().seal(), Seal::Sealed),
            _ => it_goes_on(&dir, there),
        }
    }
}

#[test]
fn a_run_killed_anywhere_has_lost_nothing_that_it_told() {
    let reference = reference();
    for kill_after in (0..=script().len()).step_by(2) {
        let evidence = tempfile::tempdir().unwrap();
        let mut run = Run::start(evidence.path(), "free");
        let told = (0..=kill_after).map(|_| run.told()).last().unwrap();
        run.kill();
        let dir = only_bundle(evidence.path());
        let there = nothing_is_lost(&dir, told, &reference);
        match Bundle::open(&dir).map(|bundle| bundle.seal()) {
            Ok(Seal::Open) => it_goes_on(&dir, there),
            Ok(Seal::Cut) => drop(Writer::finish_seal(BundleLock::take(&dir).unwrap()).unwrap()),
            Ok(Seal::Sealed) => assert_eq!(there, reference.len()),
            Err(_) => assert_eq!(there, 0),
        }
    }
}

/// The exit code of a verb of matrices on a bundle.
fn matrix(verb: &str, dir: &Path) -> Option<i32> {
    let quiet = || Stdio::null();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireproof"));
    let status = command.args(["matrix", verb]).arg(dir).stdout(quiet()).stderr(quiet()).status();
    status.unwrap().code()
}

#[test]
fn resuming_a_run_whose_seal_was_cut_writes_the_manifest_and_needs_no_device() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    let manifest = std::fs::read(dir.join(MANIFEST)).unwrap();
    let judged = matrix("judge", &dir);
    std::fs::remove_file(dir.join(MANIFEST)).unwrap();
    assert_eq!(matrix("resume", &dir), judged);
    assert_eq!(std::fs::read(dir.join(MANIFEST)).unwrap(), manifest);
}

#[test]
fn every_verb_on_a_changed_bundle_ends_with_7() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    let path = dir.join("arms/b02-p1-idle-a1/frames.csv");
    let mut octets = std::fs::read(&path).unwrap();
    octets[30] ^= 1;
    std::fs::write(&path, octets).unwrap();
    for verb in ["judge", "verify", "resume", "restore"] {
        assert_eq!(matrix(verb, &dir), Some(7), "{verb}");
    }
}

#[test]
fn a_file_that_was_being_written_is_an_orphan_and_no_evidence() {
    let evidence = tempfile::tempdir().unwrap();
    let mut run = Run::start(evidence.path(), "half");
    let told = run.told();
    run.kill();
    let dir = only_bundle(evidence.path());
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!(bundle.journal().len(), told);
    assert_eq!(bundle.orphans(), ["arms/b01-p1-raw-a1/ring.raw.part"]);
    assert_eq!(bundle.arms().len(), 1);
    assert_eq!((bundle.arms()[0].end, bundle.arms()[0].files.len()), (None, 0));
    it_goes_on(&dir, told);
    assert_eq!(Bundle::open(&dir).unwrap().orphans().len(), 1);
}

#[test]
fn a_lock_ends_with_its_process_however_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::start(folder.path(), "lock");
    run.told();
    let error = TargetLock::take(folder.path(), "http://10.0.0.5/", "me").unwrap_err();
    let who = format!("(process {}, the child)", run.child.id());
    assert!(matches!(error, BundleError::Locked { .. }) && error.to_string().contains(&who), "{error}");
    run.kill();
    TargetLock::take(folder.path(), "http://10.0.0.5/", "me").unwrap();
}

/// A small file system of its own; `None`, and told why, where it cannot be mounted.
struct Small(tempfile::TempDir);

impl Small {
    fn mounted(test: &str) -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        if mount.is_ok_and(|status| status.success()) {
            return Some(Small(folder));
        }
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no small file system can be mounted here");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_stops_the_arm_and_what_is_there_is_sealed_as_partial() {
    let Some(small) = Small::mounted("a_full_disk_stops_the_arm_and_what_is_there_is_sealed_as_partial")
    else {
        return;
    };
    let mut writer = create(small.0.path());
    script()[..6].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let mut done = 0;
    let error = loop {
        let place = matrix_support::place(1, 1, 1, done + 1);
        writer
            .record(START_NS, &Record::ArmStart { arm: place.clone(), treatment: "raw".to_owned() })
            .unwrap();
        let full = writer.put_arm(&place, "raw", "ring.raw", |out| out.write_all(&[5; 100_000]));
        if let Err(error) = full {
            break error;
        }
        let files = writer.arm_files(&place, "raw");
        let state = wireproof_matrices::journal::ArmEnd::Ok;
        writer.record(START_NS, &Record::ArmEnd { arm: place, state, reasons: Vec::new(), files }).unwrap();
        done += 1;
        assert!(done < 20, "the disk never fills");
    };
    assert!(error.is_full() && error.exit_code() == 6, "{error}");
    writer.record(START_NS, &Record::Interrupted { why: error.to_string() }).unwrap();
    writer.record(START_NS, &Record::Restored { factors: vec!["profiler".to_owned()] }).unwrap();
    let dir = writer.dir().to_owned();
    writer.seal(START_NS, "partial").unwrap();
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!((bundle.seal(), bundle.unrestored().len(), bundle.orphans().len()), (Seal::Sealed, 0, 0));
    assert_eq!(bundle.arms().iter().filter(|arm| arm.end.is_some()).count(), done as usize);
    assert!(done > 0);
}

#[test]
fn the_journal_has_room_for_its_last_records_on_a_full_disk_and_never_holds_half_a_record() {
    let Some(small) = Small::mounted("the_journal_has_room_for_its_last_records_on_a_full_disk") else {
        return;
    };
    let mut writer = create(small.0.path());
    script()[..6].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let filler = small.0.path().join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0]).is_ok() {}
    writer.record(START_NS, &Record::Restored { factors: vec!["profiler".to_owned()] }).unwrap();
    let long = Record::Interrupted { why: "x".repeat(60_000) };
    let mut told = 9 + 1;
    let error = loop {
        match writer.record(START_NS, &long) {
            Ok(()) => told += 1,
            Err(error) => break error,
        }
        assert!(told < 100, "the reserve never ends");
    };
    assert!(error.is_full(), "{error}");
    let bundle = Bundle::open(writer.dir()).unwrap();
    assert_eq!((bundle.journal().len(), bundle.torn_octets()), (told, 0));
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    writer.record(START_NS, &long).unwrap();
    let dir = writer.dir().to_owned();
    writer.seal(START_NS, "partial").unwrap();
    assert!(dir.join(MANIFEST).exists());
    assert_eq!(Bundle::open(&dir).unwrap().journal().len(), told + 2);
}

#[test]
fn too_little_room_is_refused_before_anything_is_made() {
    let evidence = tempfile::tempdir().unwrap();
    let mut plan = plan();
    plan.evidence.min_free_bytes = 1 << 60;
    let new = wireproof::matrix::bundle::NewBundle {
        at_ns: START_NS,
        plan: &plan,
        plan_toml: b"",
        profile_toml: None,
        order: b"",
        pre_registered: false,
        tool: "",
        estimate: wireproof::matrix::bundle::estimate(&plan, 20, false),
        soak: None,
    };
    assert!(new.estimate > 20 * 6_295_552, "{}", new.estimate);
    let error = Writer::create(evidence.path(), &new).unwrap_err();
    assert!(matches!(error, BundleError::NoSpace { .. }) && error.is_full(), "{error}");
    assert_eq!(std::fs::read_dir(evidence.path()).unwrap().count(), 0);
}

#[test]
fn a_named_pipe_for_a_plan_or_a_record_is_refused_in_one_line_and_a_pipe_of_the_shell_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let program = env!("CARGO_BIN_EXE_wireproof");
    let said = |program: &str, arguments: &[&str]| {
        let run = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    for arguments in [&["matrix", "check", pipe][..], &["report", pipe], &["compare", pipe, pipe]] {
        let (code, said) = said(program, arguments);
        assert!(code == Some(6) && said.lines().count() == 1, "{arguments:?} {code:?} {said}");
        assert!(said.contains("a named pipe, which may have no writer"), "{said}");
    }
    for verb in ["judge", "verify", "resume", "restore"] {
        let (code, said) = said(program, &["matrix", verb, pipe]);
        assert_eq!(code, Some(6), "{said}");
        assert!(said.ends_with("pipe is a file, not a bundle: give the folder of a run\n"), "{said}");
    }
    let plan = folder.path().join("plan.toml");
    let made = Command::new(program).args(["matrix", "init", "--template", "drain"]).output().unwrap();
    std::fs::write(&plan, made.stdout).unwrap();
    for given in ["<(cat plan.toml)", "/dev/stdin < <(cat plan.toml)", "- < plan.toml"] {
        let script = format!("cd {} && exec {program} matrix order {given}", folder.path().display());
        let (code, said) = said("bash", &["-c", &script]);
        assert_eq!(code, Some(0), "{given}: {said}");
    }
}
