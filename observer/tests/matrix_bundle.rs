//! Bundles: what is written comes back, what was changed is named, what was cut can go on, and nothing recorded is lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a bundle that cannot be read fails the test")]

mod matrix_support;

use matrix_support::{START_NS, create, device, place, plan, run, schedule, script, step};
use std::fs;
use std::path::{Path, PathBuf};
use wireproof::matrix::bundle::{
    Bundle, BundleError, BundleLock, JOURNAL, MASKED, Masked, NewBundle, Seal, Writer, scan,
};
use wireproof::matrix::judging::anonymized;
use wireproof_matrices::arm::Place;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{ArmEnd, DeviceId, Entry, Record, Step};
use wireproof_matrices::manifest::MANIFEST;
use wireproof_matrices::resume::{Progress, ResumeError};

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

fn relative(dir: &Path, path: &Path) -> String {
    path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned()
}

fn damaged(dir: &Path) -> Vec<String> {
    match Bundle::open(dir) {
        Err(error @ BundleError::Damaged { .. }) => {
            assert_eq!(error.exit_code(), 7);
            let BundleError::Damaged { damages, .. } = error else { unreachable!() };
            damages.into_iter().map(|damage| damage.path).collect()
        }
        Ok(_) => Vec::new(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_sealed_bundle_comes_back_with_everything_that_was_written() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    let name = dir.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("20231114T221320Z-") && name.ends_with(&plan().sha256().unwrap()[..8]),
        "{name}"
    );
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!((bundle.seal(), bundle.torn_octets(), bundle.orphans().len()), (Seal::Sealed, 0, 0));
    assert_eq!(bundle.plan().unwrap(), plan());
    assert_eq!(bundle.plan_sha256().to_string(), plan().sha256().unwrap());
    assert!(bundle.unrestored().is_empty());
    let arms = bundle.arms();
    assert_eq!(arms.iter().map(|a| a.treatment.as_str()).collect::<Vec<_>>(), ["raw", "idle", "idle", "raw"]);
    for files in &arms {
        assert_eq!(files.end, Some(ArmEnd::Ok));
        let arm = bundle.arm(files).unwrap().unwrap();
        assert_eq!((&arm.place, arm.measured.frames.len()), (&files.place, 5));
        let table = bundle.read(&files.files["frames.csv"]).unwrap();
        assert_eq!(wireproof::matrix::bundle::read_frames(&table).unwrap(), arm.measured.frames);
    }
    let expected = ["arms/b01-p1-raw-a1/arm.json", "arms/b01-p1-raw-a1/frames.csv"];
    assert_eq!(bundle.files().keys().take(2).collect::<Vec<_>>(), expected);
    let progress = Progress::of(&schedule(), bundle.journal()).unwrap();
    assert_eq!((progress.used.len(), progress.todo.len(), progress.blocks_complete), (4, 0, 2));
}

#[test]
fn the_manifest_is_what_sha256sum_would_check() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    let listed = fs::read_to_string(dir.join(MANIFEST)).unwrap();
    for line in listed.lines() {
        let (digest, path) = line.split_once("  ").unwrap();
        assert_eq!(Digest::of(&fs::read(dir.join(path)).unwrap()).to_string(), digest);
    }
    assert_eq!(listed.lines().count(), files(&dir).len() - 1);
    match std::process::Command::new("sha256sum")
        .args(["-c", "--strict", "--quiet", MANIFEST])
        .current_dir(&dir)
        .status()
    {
        Ok(status) => assert!(status.success()),
        Err(why) => {
            matrix_note(&format!("SKIPPED the_manifest_is_what_sha256sum_would_check: no sha256sum ({why})"))
        }
    }
}

/// A line that the test harness does not keep to itself.
fn matrix_note(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn a_changed_octet_in_any_file_of_a_sealed_bundle_is_named() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    for path in files(&dir) {
        let name = relative(&dir, &path);
        let good = fs::read(&path).unwrap();
        let dense = name == JOURNAL || name == MANIFEST;
        let stride = if dense { 3 } else { (good.len() / 7).max(1) };
        for at in (0..good.len()).step_by(stride).chain([good.len() - 1]) {
            let mut changed = good.clone();
            changed[at] ^= 0x01;
            fs::write(&path, &changed).unwrap();
            let named = damaged(&dir);
            assert!(named.contains(&name), "{name}, octet {at}: {named:?}");
        }
        fs::write(&path, &good).unwrap();
    }
    assert_eq!(damaged(&dir), Vec::<String>::new());
}

#[test]
fn a_changed_octet_in_any_file_of_a_cut_bundle_is_named() {
    let evidence = tempfile::tempdir().unwrap();
    let mut writer = create(evidence.path());
    script()[..10].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let dir = writer.dir().to_owned();
    for path in files(&dir) {
        let name = relative(&dir, &path);
        let good = fs::read(&path).unwrap();
        let stride = if name == JOURNAL { 1 } else { (good.len() / 7).max(1) };
        for at in (0..good.len()).step_by(stride) {
            let mut changed = good.clone();
            changed[at] ^= 0x80;
            fs::write(&path, &changed).unwrap();
            assert_eq!(damaged(&dir), [name.as_str()], "octet {at}");
        }
        fs::write(&path, &good).unwrap();
    }
}

#[test]
fn every_missing_file_and_every_file_too_many_is_named() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    for path in files(&dir) {
        let name = relative(&dir, &path);
        let kept = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        match name.as_str() {
            JOURNAL => assert!(matches!(Bundle::open(&dir), Err(BundleError::NotABundle { .. }))),
            MANIFEST => assert_eq!(Bundle::open(&dir).unwrap().seal(), Seal::Cut),
            _ => assert_eq!(damaged(&dir), [name.as_str()]),
        }
        fs::write(&path, kept).unwrap();
    }
    fs::write(dir.join("arms/extra.txt"), "x").unwrap();
    fs::remove_file(dir.join("report.md")).unwrap();
    assert_eq!(damaged(&dir), ["arms/extra.txt", "report.md"]);
}

#[test]
fn a_threshold_edited_after_the_start_is_refused() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), false);
    let path = dir.join("plan.canonical.json");
    let mut eased = plan();
    eased.gate[0].min_pairs += 1;
    fs::write(&path, eased.canonical().unwrap()).unwrap();
    let error = Bundle::open(&dir).unwrap_err().to_string();
    assert!(
        error.contains("plan.canonical.json: it is not the plan that the journal begins with"),
        "{error}"
    );
}

#[test]
fn a_bundle_is_never_reused() {
    let evidence = tempfile::tempdir().unwrap();
    let first = create(evidence.path());
    let plan = plan();
    let new = NewBundle {
        at_ns: START_NS,
        plan: &plan,
        plan_toml: b"",
        profile_toml: None,
        order: b"",
        pre_registered: false,
        tool: "",
        estimate: 0,
        soak: None,
    };
    let name = first.dir().file_name().unwrap().to_str().unwrap().to_owned();
    for n in 2..=9 {
        let next = Writer::create(evidence.path(), &new).unwrap();
        assert_eq!(next.dir().file_name().unwrap().to_str().unwrap(), format!("{name}-{n}"));
    }
    let error = Writer::create(evidence.path(), &new).unwrap_err();
    assert!(matches!(&error, BundleError::Exists(dir) if dir == first.dir()), "{error}");
    assert_eq!(error.exit_code(), 6);
}

#[test]
fn records_and_files_out_of_place_are_refused_and_leave_no_trace() {
    let evidence = tempfile::tempdir().unwrap();
    let mut writer = create(evidence.path());
    let early = Record::Interrupted { why: "x".to_owned() };
    let refused = |error: BundleError| assert!(matches!(error, BundleError::Refused { .. }), "{error}");
    refused(writer.record(START_NS, &early).unwrap_err());
    let first = writer.first().unwrap().clone();
    writer.record(START_NS, &first).unwrap();
    refused(writer.record(START_NS, &first).unwrap_err());
    refused(writer.record(START_NS, &Record::Sealed { verdict: "pass".to_owned() }).unwrap_err());
    for bad in ["../x", "/x", "a/../../x", JOURNAL, MANIFEST, "plan.toml", ""] {
        refused(writer.put(START_NS, bad, b"x").unwrap_err());
    }
    let arm = place(1, 1, 1, 1);
    let stored = wireproof_matrices::journal::Stored { sha256: Digest::of(b""), octets: 0 };
    let files = [("arms/b01-p1-raw-a1/ring.raw".to_owned(), stored)].into();
    let end = Record::ArmEnd { arm, state: ArmEnd::Ok, reasons: Vec::new(), files };
    refused(writer.record(START_NS, &end).unwrap_err());
    let bundle = Bundle::open(writer.dir()).unwrap();
    assert_eq!(bundle.journal().len(), 4);
    assert!(bundle.orphans().is_empty());
}

#[test]
fn a_cut_run_goes_on_and_is_sealed_with_what_it_had() {
    let evidence = tempfile::tempdir().unwrap();
    let mut writer = create(evidence.path());
    let script = script();
    let half =
        script.iter().position(|d| matches!(d, matrix_support::Doing::Arm(p, _) if p.block == 2)).unwrap();
    script[..half].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let dir = writer.dir().to_owned();
    drop(writer);
    let journal = dir.join(JOURNAL);
    let torn = [fs::read(&journal).unwrap(), b"0123abc {\"at".to_vec()].concat();
    fs::write(&journal, torn).unwrap();
    assert_eq!(Bundle::open(&dir).unwrap().torn_octets(), 12);

    let other = DeviceId { boot_id: "after a reboot".to_owned(), ..device() };
    let error = Writer::resume(&dir, other).unwrap_err();
    assert!(matches!(error, BundleError::Resume(ResumeError::Device { .. })) && error.exit_code() == 2);
    let (mut writer, entries) = Writer::resume(&dir, device()).unwrap();
    let progress = Progress::of(&schedule(), &entries).unwrap();
    assert_eq!(progress.todo, [place(2, 1, 0, 2), place(2, 2, 1, 1)]);
    let first = writer.first().unwrap().clone();
    assert_eq!(first, Record::Resumed { dropped_octets: 12, device: device() });
    writer.record(START_NS, &first).unwrap();
    for arm in progress.todo {
        let treatment = ["idle", "raw"][arm.treatment as usize].to_owned();
        writer.record(START_NS, &Record::ArmStart { arm: arm.clone(), treatment }).unwrap();
        matrix_support::arm(&mut writer, &arm, 100, START_NS);
    }
    writer.seal(START_NS, "fail").unwrap();
    let bundle = Bundle::open(&dir).unwrap();
    let progress = Progress::of(&schedule(), bundle.journal()).unwrap();
    assert_eq!((progress.used.len(), progress.unfinished.len(), progress.resumes), (4, 1, 1));
    assert!(matches!(Writer::resume(&dir, device()), Err(BundleError::Resume(ResumeError::Sealed))));
    assert!(matches!(
        Writer::reopen(BundleLock::take(&dir).unwrap()),
        Err(BundleError::Resume(ResumeError::Sealed))
    ));
}

#[test]
fn a_device_is_put_back_later_from_the_journal() {
    let evidence = tempfile::tempdir().unwrap();
    let mut writer = create(evidence.path());
    script()[..6].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let dir = writer.dir().to_owned();
    drop(writer);
    let url = plan().target.base_url;
    let runs = scan(evidence.path()).unwrap();
    let left: Vec<_> = runs.left_changed(&url).collect();
    assert_eq!((left.len(), left[0].unrestored[0].factor.as_str()), (1, "profiler"));
    assert_eq!(runs.left_changed("http://192.0.2.1").count(), 0);
    let (mut writer, entries) = Writer::reopen(BundleLock::take(&dir).unwrap()).unwrap();
    assert_eq!(wireproof_matrices::resume::unrestored(&entries)[0].value, "off");
    writer.record(START_NS, &Record::Restored { factors: vec!["profiler".to_owned()] }).unwrap();
    assert_eq!(scan(evidence.path()).unwrap().left_changed(&url).count(), 0);
}

#[test]
fn every_run_of_a_plan_is_counted_and_a_journal_that_is_not_one_is_told() {
    let evidence = tempfile::tempdir().unwrap();
    assert_eq!(scan(&evidence.path().join("none")).unwrap(), wireproof::matrix::bundle::Runs::default());
    let plan = plan();
    let new = |at_ns| NewBundle {
        at_ns,
        plan: &plan,
        plan_toml: b"",
        profile_toml: None,
        order: b"",
        pre_registered: false,
        tool: "",
        estimate: 0,
        soak: None,
    };
    let mut dirs = Vec::new();
    for n in [2, 0, 1] {
        let at_ns = START_NS + n * 1_000_000_000;
        let mut writer = Writer::create(evidence.path(), &new(at_ns)).unwrap();
        let first = writer.first().unwrap().clone();
        writer.record(at_ns, &first).unwrap();
        dirs.push(writer.dir().to_owned());
    }
    fs::create_dir(evidence.path().join("junk")).unwrap();
    fs::write(evidence.path().join("junk").join(JOURNAL), "no journal\n").unwrap();
    fs::create_dir(evidence.path().join("other")).unwrap();
    let runs = scan(evidence.path()).unwrap();
    let hash: Digest = plan.sha256().unwrap().parse().unwrap();
    let attempts: Vec<_> = dirs.iter().map(|dir| runs.attempt(&hash, dir)).collect();
    assert_eq!(attempts, [(3, 3), (1, 3), (2, 3)]);
    // One that its preflight refused measured nothing, and is no attempt; going on after that, it is one.
    let at_ns = START_NS + 1_000_000_001;
    let mut writer = Writer::create(evidence.path(), &new(at_ns)).unwrap();
    let first = writer.first().unwrap().clone();
    let what = "no datagram of stream pole-a came".to_owned();
    let refused = Record::Result { step: Step::Preflight, arm: None, ok: false, what };
    for record in [first, refused] {
        writer.record(at_ns, &record).unwrap();
    }
    dirs.push(writer.dir().to_owned());
    let attempts = |dirs: &[PathBuf]| {
        let runs = scan(evidence.path()).unwrap();
        dirs.iter().map(|dir| runs.attempt(&hash, dir)).collect::<Vec<_>>()
    };
    assert_eq!(attempts(&dirs), [(3, 3), (1, 3), (2, 3), (0, 3)]);
    let arm = Place { stratum: 0, block: 1, position: 1, treatment: 0, attempt: 1 };
    writer.record(at_ns, &Record::ArmStart { arm, treatment: "idle".to_owned() }).unwrap();
    assert_eq!(attempts(&dirs), [(4, 4), (1, 4), (2, 4), (3, 4)]);
    assert_eq!((runs.attempt(&Digest::of(b""), &dirs[0]), runs.unreadable.len()), ((0, 0), 1));
}

#[test]
fn a_seal_that_was_cut_is_finished() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    let manifest = fs::read(dir.join(MANIFEST)).unwrap();
    assert!(matches!(Writer::finish_seal(BundleLock::take(&dir).unwrap()), Err(BundleError::Refused { .. })));
    fs::remove_file(dir.join(MANIFEST)).unwrap();
    assert_eq!(Writer::finish_seal(BundleLock::take(&dir).unwrap()).unwrap(), Digest::of(&manifest));
    assert_eq!(fs::read(dir.join(MANIFEST)).unwrap(), manifest);
    assert_eq!(Bundle::open(&dir).unwrap().seal(), Seal::Sealed);
}

#[test]
fn a_report_of_a_run_that_was_cut_while_it_was_sealed_is_written_anew() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), false);
    let (mut writer, _) = Writer::resume(&dir, device()).unwrap();
    let first = writer.first().unwrap().clone();
    writer.record(START_NS, &first).unwrap();
    writer.put(START_NS, "report.md", b"# FAIL\n").unwrap();
    for evidence in ["report.md", "env.json", "plan.toml", "order.json", "arms/b01-p1-raw-a1/arm.json"] {
        let error = writer.put(START_NS, evidence, b"x").unwrap_err();
        assert!(matches!(error, BundleError::Refused { .. }), "{error}");
    }
    drop(writer);
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!(bundle.read("report.md").unwrap(), b"# FAIL\n");
    let told = |e: &&Entry| matches!(&e.record, Record::File { path, .. } if path == "report.md");
    assert_eq!(bundle.journal().iter().filter(told).count(), 2);

    // Cut between the record and the name.
    fs::rename(dir.join("report.md"), dir.join("report.md.part")).unwrap();
    fs::write(dir.join("report.md"), "# PASS on 192.168.7.20\n").unwrap();
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!((bundle.read("report.md").unwrap().as_slice(), bundle.orphans().len()), (&b"# FAIL\n"[..], 0));
    let (writer, _) = Writer::reopen(BundleLock::take(&dir).unwrap()).unwrap();
    assert_eq!(fs::read(dir.join("report.md")).unwrap(), b"# FAIL\n");
    writer.seal(START_NS, "fail").unwrap();
    assert_eq!(Bundle::open(&dir).unwrap().orphans().len(), 0);
}

#[test]
fn what_is_no_bundle_is_said_to_be_none() {
    let evidence = tempfile::tempdir().unwrap();
    let error = Bundle::open(evidence.path()).unwrap_err();
    assert!(error.to_string().ends_with("not an evidence bundle, it holds no journal.log"), "{error}");
    let unwritten = create(evidence.path());
    let error = Bundle::open(unwritten.dir()).unwrap_err();
    assert!(error.to_string().ends_with("it holds no record of a plan"), "{error}");
}

#[test]
fn a_copy_without_addresses_is_a_bundle_of_its_own() {
    let evidence = tempfile::tempdir().unwrap();
    let dir = run(evidence.path(), true);
    let bundle = Bundle::open(&dir).unwrap();
    let copy = evidence.path().join("copy");
    let left_out = anonymized(&bundle, &copy).unwrap();
    let rings = |path: &&String| path.ends_with("/ring.raw");
    assert_eq!(left_out.iter().filter(rings).count(), 4, "what is no ring may hold anything: {left_out:?}");
    let masked = Bundle::open(&copy).unwrap();
    let records = bundle.journal().len() + 1 - (left_out.len() - 4);
    assert_eq!(
        (masked.seal(), masked.arms().len(), masked.journal().len()),
        (Seal::Sealed, 4, records),
        "one record more for what was left out, and none of a report that could not be made again: {left_out:?}"
    );
    let told: Masked = serde_json::from_slice(&masked.read(MASKED).unwrap()).unwrap();
    assert_eq!(told.left_out, left_out);
    assert_ne!(masked.plan_sha256(), bundle.plan_sha256());
    let plan = bundle.plan().unwrap();
    let mut secrets: Vec<String> = plan.stream.iter().map(|s| s.source.clone()).collect();
    secrets.extend([device().boot_id, "192.168.7.20".to_owned()]);
    secrets.push(plan.target.base_url.split("//").nth(1).unwrap().to_owned());
    for path in files(&copy) {
        let octets = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&octets);
        let left: Vec<&String> = secrets.iter().filter(|secret| text.contains(secret.as_str())).collect();
        assert!(left.is_empty(), "{}: {left:?}", path.display());
    }
    assert!(matches!(anonymized(&bundle, &copy), Err(BundleError::Exists(_))));
}

#[test]
fn a_bundle_that_is_written_is_not_opened_to_be_written_and_not_an_octet_of_it_changes() {
    let evidence = tempfile::tempdir().unwrap();
    let mut writer = create(evidence.path());
    script()[..6].iter().for_each(|doing| step(&mut writer, doing, START_NS));
    let dir = writer.dir().to_owned();
    // What a resumption would cut off: the record that the writer is just writing.
    let journal = dir.join(JOURNAL);
    let torn = [fs::read(&journal).unwrap(), b"half a rec".to_vec()].concat();
    fs::write(&journal, &torn).unwrap();
    let error = Writer::resume(&dir, device()).unwrap_err();
    assert!(matches!(error, BundleError::Busy(_)) && error.exit_code() == 6, "{error}");
    assert_eq!(fs::read(&journal).unwrap(), torn);
    drop(writer);
    let (first, _) = Writer::resume(&dir, device()).unwrap();
    assert!(matches!(Writer::resume(&dir, device()), Err(BundleError::Busy(_))));
    assert!(matches!(BundleLock::take(&dir), Err(BundleError::Busy(_))));
    drop(first);
    BundleLock::take(&dir).unwrap();
}

#[test]
fn a_file_or_a_pipe_in_the_place_of_a_bundle_is_said_and_nothing_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pcapng");
    fs::write(&file, "x").unwrap();
    let pipe = folder.path().join(JOURNAL);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = format!("{} is a file, not a bundle: give the folder of a run", file.display());
    let refused = |dir: &Path| {
        [Bundle::open(dir).unwrap_err(), BundleLock::take(dir).unwrap_err()].map(|error| {
            assert_eq!(error.exit_code(), 6, "{error}");
            error.to_string()
        })
    };
    assert_eq!(refused(&file), [said.clone(), said]);
    for said in refused(folder.path()) {
        assert!(said.ends_with("journal.log: not a regular file"), "{said}");
    }
}
