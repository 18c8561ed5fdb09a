//! `wireproof matrix` when something goes wrong while it has its hands on a device: more than one signal, programs that
//! hang or fail, a full disk, a mistake in the program itself. The device is put back, and what is not is said.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests count as tests, and a test that is skipped says so"
)]

mod device_process;
mod matrix_bench;

use device_process::{TOKEN, binary};
use matrix_bench::{Bench, Matrix, verdict};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use wireproof::matrix::bundle::TargetLock;
use wireproof::matrix::conductor::Seen;
use wireproof::matrix::running::{Ended, New, prepare};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::State;

/// Longer than anything here takes on a host that does other work too.
const GENEROUS: Duration = Duration::from_secs(60);

/// A program that throws the switch of the device over HTTP. With a file `hang-LEVEL` beside it, it says so in the pipe
/// `held` and hangs together with a program that it started; `once` in the file makes it hang only once. With
/// `slow-LEVEL` it waits for a line from the pipe `go` before it throws; with `fail-LEVEL` it says no.
const THROW: &str = r#"#!/bin/bash
cd "$(dirname "$0")"
if [ -e "hang-$1" ]; then
    if [ "$(cat "hang-$1")" = once ]; then rm "hang-$1"; fi
    exec 4> held
    echo hanging >&4
    sleep 1000 &
    wait
fi
if [ -e "slow-$1" ]; then
    rm "slow-$1"
    echo slow > held
    read -r _ < go
fi
if [ -e "fail-$1" ]; then echo "no relay answers" >&2; exit 3; fi
case $1 in on) fps=30 ;; *) fps=0 ;; esac
exec 3<> /dev/tcp/ADDRESS
printf 'POST /v1/preview?fps=%s HTTP/1.1\r\nHost: device\r\nAuthorization: Bearer %s\r\n\r\n' $fps "$(cat token)" >&3
read -r _ status _ <&3
[ "$status" = 200 ] || { echo "the device answered $status" >&2; exit 1; }
"#;

/// Reads the same switch.
const READ: &str = r#"#!/bin/bash
exec 3<> /dev/tcp/ADDRESS
printf 'GET /v1/status HTTP/1.1\r\nHost: device\r\n\r\n' >&3
case $(tr -d ' ' <&3) in *'"preview_streaming":true'*) echo on ;; *) echo off ;; esac
"#;

/// Makes the switch of a bench one that is thrown and read by programs.
fn by_programs(bench: &Bench, timeout: &str) -> PathBuf {
    let folder = bench.folder.path();
    let address = bench.web.0.replace(':', "/");
    for (name, text) in [("throw.sh", THROW), ("read.sh", READ)] {
        fs::write(folder.join(name), text.replace("ADDRESS", &address)).unwrap();
    }
    for pipe in ["held", "go"] {
        assert!(Command::new("mkfifo").arg(folder.join(pipe)).status().unwrap().success());
    }
    let plan = folder.join("plan.toml");
    let program = |name: &str| format!("\"bash\", \"{}\"", folder.join(name).display());
    let with = |line: &str| match line.split(' ').next() {
        Some("set") => format!("set = {{ argv = [{}, \"{{level}}\"] }}", program("throw.sh")),
        Some("verify") => {
            format!(
                "verify = {{ argv = [{}], equals = {{ on = \"on\", off = \"off\" }} }}",
                program("read.sh")
            )
        }
        Some("timeout") if line == "timeout = \"3s\"" => format!("timeout = \"{timeout}\""),
        _ => line.to_owned(),
    };
    let text = fs::read_to_string(&plan).unwrap();
    let lines: Vec<String> = text.lines().map(with).collect();
    fs::write(&plan, lines.join("\n") + "\n").unwrap();
    plan
}

/// A file that tells the program what to do.
fn tell(bench: &Bench, name: &str, text: &str) {
    fs::write(bench.folder.path().join(name), text).unwrap();
}

/// Waits until the program stands in its place; what is returned ends when everything it started is gone.
fn held(bench: &Bench) -> BufReader<fs::File> {
    let pipe = bench.folder.path().join("held");
    let (give, take) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut held = BufReader::new(fs::File::open(pipe).unwrap());
        let mut line = String::new();
        held.read_line(&mut line).unwrap();
        let _ = give.send((held, line));
    });
    let (held, line) = take.recv_timeout(GENEROUS).expect("no program came there");
    assert!(["hanging\n", "slow\n"].contains(&line.as_str()), "{line:?}");
    held
}

/// Reads until nobody holds the pipe any more: what other programs said that came there meanwhile.
fn killed(mut held: BufReader<fs::File>) -> String {
    let (give, take) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut rest = String::new();
        held.read_to_string(&mut rest).unwrap();
        let _ = give.send(rest);
    });
    take.recv_timeout(GENEROUS).expect("it is still there")
}

/// Waits until another program stands there, or the one that did is gone.
fn next(mut held: BufReader<fs::File>) -> BufReader<fs::File> {
    let (give, take) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        held.read_line(&mut String::new()).unwrap();
        let _ = give.send(held);
    });
    take.recv_timeout(GENEROUS).expect("it is still there")
}

fn in_a_window(matrix: &mut Matrix) {
    assert!(matrix.until(|line| line.contains("arm 1 of ") && line.contains(" measure ")), "{}", matrix.said);
}

/// What has to hold of a run that was stopped in its first window.
fn is_partial(bench: &Bench, (code, out, said): (i32, String, String)) {
    assert_eq!(code, 5, "{said}{out}");
    assert_eq!(bench.preview(), false, "put back: {said}");
    let bundle = bench.bundle();
    assert_eq!(verdict(&bundle)["verdict"], "partial");
    let (code, out, said) = bench.outcome(&["verify", bundle.to_str().unwrap()]);
    assert!(code == 0 && out.contains("manifest: sealed"), "{out}{said}");
}

#[test]
fn sigterm_and_sighup_end_an_arm_as_ctrl_c_does() {
    for signal in ["-TERM", "-HUP"] {
        let bench = Bench::new(&[]);
        bench.plan("10s", 2, "on");
        let mut matrix = bench.matrix(&["run", "plan.toml"]);
        in_a_window(&mut matrix);
        matrix.signal(signal);
        is_partial(&bench, matrix.ended());
    }
}

#[test]
fn programs_throw_a_switch_and_read_it_back() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    by_programs(&bench, "10s");
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
    assert_eq!(bench.preview(), false, "put back");
    let (code, out, said) = bench.outcome(&["verify", bench.bundle().to_str().unwrap()]);
    assert_eq!(code, 0, "{out}{said}");
}

#[test]
fn a_second_signal_gives_up_a_restoring_that_hangs_and_tries_it_once_more() {
    let bench = Bench::new(&[]);
    bench.plan("10s", 2, "on");
    by_programs(&bench, "120s");
    tell(&bench, "hang-off", "once");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    in_a_window(&mut matrix);
    matrix.signal_group("-INT");
    let hanging = held(&bench);
    matrix.signal_group("-INT");
    assert_eq!(killed(hanging), "");
    is_partial(&bench, matrix.ended());
}

/// Notes of devices that are changed.
fn notes(bench: &Bench) -> usize {
    let all = fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "changed")).count()
}

#[test]
fn a_third_signal_leaves_at_once_and_says_the_command_that_restores() {
    let bench = Bench::new(&[]);
    bench.plan("10s", 2, "on");
    by_programs(&bench, "120s");
    tell(&bench, "hang-off", "always");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    in_a_window(&mut matrix);
    matrix.signal("-INT");
    let first = held(&bench);
    matrix.signal("-TERM");
    // The second signal was taken: the third one falls into the one attempt that it leaves.
    let second = next(first);
    matrix.signal("-HUP");
    killed(second);
    let (code, out, said) = matrix.ended();
    assert_eq!(code, 4, "{said}{out}");
    let bundle = bench.bundle();
    let name = bundle.strip_prefix(bench.folder.path()).unwrap().to_str().unwrap().to_owned();
    assert!(said.contains("NOT RESTORED: preview has to stand at off"), "{said}");
    let to_do = format!("wireproof matrix restore {name}");
    assert!(said.lines().last().is_some_and(|line| line.ends_with(&to_do)), "{said}");
    assert_eq!(bench.preview(), true, "nobody put it back");
    // Another evidence folder does not hide it, and the address may be written in another way.
    let plan = bench.folder.path().join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap().replace(&bench.web.0, &format!("{}/", bench.web.0));
    fs::write(&plan, text).unwrap();
    let elsewhere = ["run", "plan.toml", "-o", "elsewhere"];
    let (code, out, said) = bench.outcome(&elsewhere);
    assert_eq!(code, 6, "{said}{out}");
    let whole = bundle.canonicalize().unwrap();
    assert!(
        said.contains(&format!("left the device changed: wireproof matrix restore {}", whole.display())),
        "{said}"
    );
    fs::remove_file(bench.folder.path().join("hang-off")).unwrap();
    let (code, _, said) = bench.outcome(&["restore", &name]);
    assert!(code == 0 && said.contains("preview stands at off again"), "{code} {said}");
    assert_eq!(bench.preview(), false);
    assert_eq!(notes(&bench), 0);
    let mut matrix = bench.matrix(&elsewhere);
    in_a_window(&mut matrix);
    assert_eq!(notes(&bench), 1, "a run that is killed here leaves its note");
    matrix.signal("-INT");
    let (code, out, said) = matrix.ended();
    assert_eq!((code, bench.preview()), (5, false.into()), "{said}{out}");
    assert_eq!(notes(&bench), 0);
}

#[test]
fn ctrl_c_at_the_terminal_does_not_reach_a_program_that_restores() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 1, "on");
    by_programs(&bench, "120s");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    assert!(matrix.until(|line| line.contains("arm 2 of ") && line.contains(" measure ")), "{}", matrix.said);
    tell(&bench, "slow-off", "");
    let restoring = held(&bench);
    matrix.signal_group("-INT");
    fs::write(bench.folder.path().join("go"), "\n").unwrap();
    assert_eq!(killed(restoring), "");
    let (code, out, said) = matrix.ended();
    assert_eq!(bench.preview(), false, "{said}{out}");
    // All arms were measured: the signal came too late to spoil that.
    assert_eq!((code, verdict(&bench.bundle())["verdict"].as_str()), (0, Some("pass")), "{said}{out}");
}

#[test]
fn a_program_that_hangs_is_killed_with_its_group_and_the_run_stops_with_the_device_as_it_was() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    by_programs(&bench, "3s");
    tell(&bench, "hang-on", "always");
    let matrix = bench.matrix(&["run", "plan.toml"]);
    // It is set once more, sooner or later than the first one is seen to be gone.
    match killed(held(&bench)).as_str() {
        "" => assert_eq!(killed(held(&bench)), ""),
        again => assert_eq!(again, "hanging\n"),
    }
    let (code, out, said) = matrix.ended();
    assert_eq!(code, 4, "{said}{out}");
    assert!(said.contains("preview") && said.contains("took too long"), "{said}");
    assert_eq!(bench.preview(), false);
    assert_eq!(verdict(&bench.bundle())["verdict"], "invalid");
}

#[test]
fn a_program_that_fails_stops_the_run_with_its_last_words() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    by_programs(&bench, "10s");
    tell(&bench, "fail-on", "");
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    assert_eq!(code, 4, "{said}{out}");
    assert!(said.contains("bash ended with exit status: 3: no relay answers"), "{said}");
    assert_eq!(bench.preview(), false);
}

/// Runs a plan with an evidence folder of its own that is gone with the run, and keeps a copy of it. While the third arm
/// is measured, `fill` takes what room there is. `None` where this host does not let a user mount.
fn on_a_small_disk(bench: &Bench, options: &str, fill: &str) -> Option<(i32, String, String)> {
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let folder = bench.folder.path();
    fs::create_dir(folder.join("evidence")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("fill")).status().unwrap().success());
    let mount = format!("mount -t tmpfs -o {options} disk {}", folder.join("evidence").display());
    if !inside(&mount).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this host does not let a user mount a small disk");
        return None;
    }
    let run = format!(
        "{mount} || exit 99; {} matrix run plan.toml & run=$!; read -r _ < fill; {fill}; wait $run; code=$?; \
         cp -a evidence kept; exit $code",
        binary().display()
    );
    let mut matrix = Matrix::of(folder, inside(&run));
    assert!(matrix.until(|line| line.contains("arm 3 of ") && line.contains(" measure ")), "{}", matrix.said);
    fs::write(folder.join("fill"), "\n").unwrap();
    Some(matrix.ended())
}

/// The bundle that was copied from the small disk.
fn kept(bench: &Bench) -> PathBuf {
    let list = fs::read_dir(bench.folder.path().join("kept")).unwrap();
    let mut found: Vec<PathBuf> = list.map(|entry| entry.unwrap().path()).filter(|p| p.is_dir()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Arms of a verdict that came to their end.
fn ended(verdict: &Value) -> usize {
    let arms = verdict["arms"].as_array().unwrap();
    arms.iter().filter(|arm| ["ok", "valid", "invalid"].iter().any(|state| arm["state"] == *state)).count()
}

#[test]
fn a_disk_that_fills_up_has_the_device_put_back_and_what_is_there_sealed_as_partial() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 4, "on");
    let fill = "dd if=/dev/zero of=evidence/other bs=64k 2>/dev/null; dd if=/dev/zero of=evidence/rest bs=1k 2>/dev/null";
    let Some((code, out, said)) = on_a_small_disk(&bench, "size=96m", fill) else { return };
    assert_eq!(code, 5, "{said}{out}");
    assert!(said.contains("evidence could not be written: "), "{said}");
    assert_eq!(bench.preview(), false, "put back");
    let bundle = kept(&bench);
    let verdict = verdict(&bundle);
    assert_eq!(verdict["verdict"], "partial");
    assert!(ended(&verdict) >= 2, "what was recorded before is there: {verdict}");
    let (code, out, said) = bench.outcome(&["verify", bundle.to_str().unwrap()]);
    assert!(code == 0 && out.contains("manifest: sealed"), "{out}{said}");
}

#[test]
fn a_disk_that_takes_no_seal_is_said_and_the_run_goes_on_elsewhere() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    // No file can be made any more, however much room there is: the seal needs several.
    let fill = "n=0; while (: > evidence/other$n) 2>/dev/null; do n=$((n+1)); done";
    let Some((code, out, said)) = on_a_small_disk(&bench, "size=96m,nr_inodes=100", fill) else { return };
    assert_eq!(code, 6, "{said}{out}");
    assert!(said.contains("the bundle could not be sealed: "), "{said}");
    assert_eq!(bench.preview(), false, "put back");
    let bundle = kept(&bench);
    let name = bundle.to_str().unwrap();
    let (code, out, said) = bench.outcome(&["judge", name, "--format", "json"]);
    let judged: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 5 && ended(&judged) >= 2, "what was recorded before is there: {code} {said}{judged}");
    let (code, out, said) = bench.outcome(&["resume", name]);
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
    assert_eq!(verdict(&bundle)["blocks_complete"], 2);
    let (code, out, said) = bench.outcome(&["verify", name]);
    assert_eq!(code, 0, "{out}{said}");
}

/// Ends a run by a mistake in whoever watches it, once its factor is set and a window is open.
fn mistaken(plan: &Path) -> Ended {
    let text = fs::read_to_string(plan).unwrap();
    let read = Plan::read(&text).unwrap();
    let new = New {
        plan: &read,
        text: text.as_bytes(),
        profile: None,
        pre_registered: false,
        soak: None,
        tap: None,
    };
    let ready = prepare(&new, &plan.with_file_name("evidence")).unwrap();
    let mut watch =
        |seen: &Seen<'_>| assert!(seen.progress.state != State::Measure, "a mistake in the program");
    ready.run(&mut watch).unwrap()
}

#[test]
fn a_panic_while_a_window_is_open_puts_the_device_back() {
    let bench = Bench::new(&[]);
    let plan = bench.plan("10s", 2, "on");
    by_programs(&bench, "10s");
    // The programs have the token, the library needs none.
    let text = fs::read_to_string(&plan).unwrap().replace("auth = \"env:DEVICE_TOKEN\"\n", "");
    assert!(!text.contains(TOKEN));
    fs::write(&plan, text).unwrap();
    let ended = mistaken(&plan);
    assert_eq!(ended.exit, None);
    assert_eq!(ended.rescued, Some(Ok(vec![("preview".to_owned(), "off".to_owned())])));
    assert_eq!(bench.preview(), false);
    let name = ended.bundle.to_str().unwrap().to_owned();
    let (code, _, said) = bench.outcome(&["restore", &name]);
    assert!(code == 0 && said.contains("nothing to put back"), "{code} {said}");
}

/// Five pairs are the fewest that can decide: the device against itself, judged, calibrated, and used for the next plan.
#[test]
fn an_aa_run_is_calibrated_and_its_spread_tells_the_power_of_the_next_plan() {
    let bench = Bench::new(&[]);
    let plan = bench.plan_of("1s", 5, "off", r#""idle", "again""#);
    let text = fs::read_to_string(&plan).unwrap();
    let gate = "id = \"p95\"\nclass = \"gate\"\nmin_pairs = 5";
    let text = text.replace("1300ms", "300ms");
    fs::write(&plan, text.replace("id = \"p95\"\nclass = \"diagnostic\"", gate)).unwrap();
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    // This host is busy: the gate may fail, which is the false alarm that is looked for.
    assert!(matches!(code, 0 | 1 | 3), "{code} {said}{out}");
    let bundle = bench.bundle();
    let name = bundle.to_str().unwrap();
    for arm in verdict(&bundle)["arms"].as_array().unwrap().iter().filter(|arm| arm["counted"] == true) {
        let path = bundle.join("arms").join(arm["name"].as_str().unwrap()).join("arm.json");
        let arm: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert!(
            arm["measured"]["drains"].as_array().unwrap().iter().all(|drain| drain["real"] == false),
            "{arm}"
        );
    }
    let (code, out, said) = bench.outcome(&["calibrate", name, "--format", "json"]);
    assert_eq!((code, said.as_str()), (0, ""), "{out}");
    let calibrated: Value = serde_json::from_str(&out).unwrap();
    let p95 = &calibrated["gates"][0];
    assert_eq!(
        (&p95["id"], &p95["patterns"], &p95["nominal_ppm"]),
        (&"p95".into(), &32.into(), &50_000.into())
    );
    // Of 32 swaps of five pairs one alone can have all differences on the bad side.
    assert!(
        p95["alarms"].as_u64() <= Some(1) && p95["not_passed"].as_u64() >= p95["alarms"].as_u64(),
        "{p95}"
    );
    let (code, _, said) = bench.outcome(&["calibrate", name, name]);
    assert!(code == 2 && said.contains("given twice"), "{code} {said}");
    let (code, out, said) = bench.outcome(&["check", "plan.toml", "--from", name, "--format", "json"]);
    let checked: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && said.contains("p95 (5 pairs)"), "{code} {said}");
    let power = &checked["power"][0];
    assert!(power["gate"] == "p95" && power["assumed"].as_str().unwrap().ends_with(" measured"), "{power}");
}

#[test]
fn a_run_that_goes_on_is_neither_resumed_nor_restored_by_another_process() {
    let bench = Bench::new(&[]);
    bench.plan("4s", 1, "on");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    in_a_window(&mut matrix);
    let bundle = bench.bundle();
    let name = bundle.to_str().unwrap();
    for verb in ["resume", "restore"] {
        let (code, out, said) = bench.outcome(&[verb, name]);
        assert_eq!((code, out.as_str()), (6, ""), "{said}");
        assert!(said.lines().count() == 1 && said.contains("its run is still going on"), "{said}");
    }
    let (code, out, said) = matrix.ended();
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
    assert_eq!(bench.preview(), false, "put back");
    let (code, out, said) = bench.outcome(&["verify", name]);
    assert!(code == 0 && out.contains("manifest: sealed"), "{out}{said}");
}

#[test]
fn a_device_that_another_run_holds_is_told_before_a_resumption_writes_anything() {
    let bench = Bench::new(&[]);
    bench.plan("4s", 1, "on");
    let mut cut = bench.matrix(&["run", "plan.toml"]);
    in_a_window(&mut cut);
    cut.signal("-KILL");
    drop(cut);
    let bundle = bench.bundle();
    let journal = bundle.join("journal.log");
    let before = fs::read(&journal).unwrap();
    let held = TargetLock::take(bench.folder.path(), &format!("http://{}", bench.web.0), "a run").unwrap();
    let (code, out, said) = bench.outcome(&["resume", bundle.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (6, ""), "{said}");
    assert!(said.contains("another run works on http://") && said.contains("a run)"), "{said}");
    assert_eq!(fs::read(&journal).unwrap(), before);
    drop(held);
    let (code, out, said) = bench.outcome(&["resume", bundle.to_str().unwrap()]);
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
}
