//! `observe` as root in a network namespace of its own: what it goes on with once its sources are open, and that
//! everything it has to write later is still written.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

const WIREPROOF: &str = env!("CARGO_BIN_EXE_wireproof");
/// A user that needs no entry anywhere.
const SOMEBODY: u32 = 54_321;
/// No capability, and CAP_SYS_NICE alone, as `/proc/PID/status` writes them.
const NONE: &str = "0000000000000000";
const NICE: &str = "0000000000800000";
/// CAP_NET_RAW alone.
const RAW: &str = "0000000000002000";
/// SCHED_FIFO in `/proc/PID/task/TID/stat`, field 41.
const FIFO: &str = "1";

static BENCHES: AtomicU32 = AtomicU32::new(0);

/// A namespace with a loopback, and a folder that belongs to somebody.
struct Bench {
    namespace: String,
    dir: TempDir,
}

impl Bench {
    fn new(test: &str) -> Option<Bench> {
        let number = BENCHES.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("wpp{}-{number}", std::process::id());
        let bench = Bench { namespace, dir: tempfile::tempdir().unwrap() };
        let made = ip(&["netns", "add", &bench.namespace])
            .and_then(|()| ip(&["-n", &bench.namespace, "link", "set", "lo", "up"]))
            .and_then(|()| {
                chown(bench.dir.path(), Some(SOMEBODY), Some(SOMEBODY)).map_err(|e| e.to_string())
            });
        match made {
            Ok(()) => Some(bench),
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
                None
            }
        }
    }

    /// The command in the namespace, as called by sudo if anybody is named.
    fn command(&self, sudo: Option<u32>, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, WIREPROOF]).args(arguments);
        command.current_dir(self.dir.path()).env("HOME", self.dir.path());
        for name in ["SUDO_UID", "SUDO_GID"] {
            command.env_remove(name);
            sudo.into_iter().for_each(|id| _ = command.env(name, id.to_string()));
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs until it says that it listens.
    fn start(&self, sudo: Option<u32>, arguments: &[&str]) -> Run {
        let mut command = self.command(sudo, arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut talk = String::new();
        while !talk.contains("listening on") {
            assert!(lines.read_line(&mut talk).unwrap() > 0, "{arguments:?} ended: {talk}");
        }
        Run { child, lines, talk }
    }

    fn ended(&self, sudo: Option<u32>, arguments: &[&str]) -> Output {
        self.command(sudo, arguments).output().unwrap()
    }

    /// Names in the folder, with their owners.
    fn owners(&self) -> BTreeMap<String, u32> {
        let entries = fs::read_dir(self.dir.path()).unwrap().map(Result::unwrap);
        entries.map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().uid())).collect()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = ip(&["netns", "delete", &self.namespace]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let ran = Command::new("ip").args(arguments).output().map_err(|error| format!("no ip: {error}"))?;
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned()) }
}

struct Run {
    child: Child,
    lines: BufReader<std::process::ChildStderr>,
    talk: String,
}

impl Run {
    /// What the kernel says of each thread.
    fn threads(&self) -> Vec<BTreeMap<String, String>> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        tasks
            .map(|task| {
                let task = task.unwrap().path();
                let text = fs::read_to_string(task.join("status")).unwrap();
                let pair = |line: &str| {
                    line.split_once(':').map(|(key, value)| {
                        (key.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" "))
                    })
                };
                let mut fields: BTreeMap<_, _> = text.lines().filter_map(pair).collect();
                fields.insert("Policy".to_owned(), policy(&task));
                fields
            })
            .collect()
    }

    /// Ctrl-C, and its exit code.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        while self.lines.read_line(&mut self.talk).unwrap() > 0 {}
        (self.child.wait().unwrap().code(), self.talk.clone())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn policy(task: &Path) -> String {
    let stat = fs::read_to_string(task.join("stat")).unwrap();
    let behind = stat.rsplit_once(") ").unwrap().1;
    behind.split(' ').nth(38).unwrap().to_owned()
}

/// No thread has a right left, nor a way to one.
fn is_bare(threads: &[BTreeMap<String, String>], uid: u32) {
    is_left_with(NONE, threads, uid);
}

/// The same but for these capabilities.
fn is_left_with(kept: &str, threads: &[BTreeMap<String, String>], uid: u32) {
    is_left_with_of(kept, threads, uid, 3);
}

/// The same of so many threads at least: between two windows there is one.
fn is_left_with_of(kept: &str, threads: &[BTreeMap<String, String>], uid: u32, least: usize) {
    assert!(threads.len() >= least, "{threads:?}");
    for thread in threads {
        for capabilities in ["CapPrm", "CapEff"] {
            assert_eq!(thread[capabilities], kept, "{capabilities} of {}", thread["Name"]);
        }
        for capabilities in ["CapInh", "CapBnd", "CapAmb"] {
            assert_eq!(thread[capabilities], NONE, "{capabilities} of {}", thread["Name"]);
        }
        assert_eq!(thread["NoNewPrivs"], "1", "{}", thread["Name"]);
        for ids in ["Uid", "Gid"] {
            assert_eq!(thread[ids], [uid.to_string().as_str(); 4].join(" "), "{ids} of {}", thread["Name"]);
        }
        if uid != 0 {
            assert_eq!(thread["Groups"], "", "{}", thread["Name"]);
        }
    }
}

#[test]
fn who_called_sudo_goes_on_and_everything_written_later_is_theirs() {
    let Some(bench) = Bench::new("who_called_sudo_goes_on_and_everything_written_later_is_theirs") else {
        return;
    };
    let served = ["--prom", "127.0.0.1:91", "--prom-textfile", "metrics.prom"];
    let written = ["-w", "show.pcapng", "--rotate", "2KiB", "--tape", "show.tape", "-o", "run.json"];
    let arguments = [&["observe", "-i", "lo", "--format", "json"][..], &served, &written].concat();
    let run = bench.start(Some(SOMEBODY), &arguments);
    assert!(run.talk.contains("goes on as user 54321, all other rights are given up"), "{}", run.talk);
    is_bare(&run.threads(), SOMEBODY);
    let sender = ["send", "--protocol", "ddp", "--to", "127.0.0.1", "--pixels", "480", "--duration", "500ms"];
    assert!(bench.ended(None, &sender).status.success());
    let (_, talk) = run.interrupt();
    let owners = bench.owners();
    let captures = owners.keys().filter(|name| name.ends_with(".pcapng")).count();
    assert!(captures > 1, "{owners:?}: no file was begun later\n{talk}");
    for name in ["show.tape", "run.json", "metrics.prom"] {
        assert!(owners.contains_key(name), "{name} is missing in {owners:?}\n{talk}");
    }
    assert!(owners.values().all(|owner| *owner == SOMEBODY), "{owners:?}");
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
    assert!(record["datagrams"]["lighting"].as_u64().unwrap() > 20, "{record}");
}

#[test]
fn root_without_anybody_behind_it_goes_on_without_capabilities() {
    let Some(bench) = Bench::new("root_without_anybody_behind_it_goes_on_without_capabilities") else {
        return;
    };
    // A folder of somebody else is not root's without CAP_DAC_OVERRIDE.
    chown(bench.dir.path(), Some(0), Some(0)).unwrap();
    let run = bench.start(None, &["observe", "--tap", "lo", "-w", "show.pcapng"]);
    is_bare(&run.threads(), 0);
    assert!(run.talk.contains("goes on as root without capabilities"), "{}", run.talk);
    assert_eq!(run.interrupt().0, Some(0));
}

/// Where root may not raise the limit, as in some containers, the capability stays, and that is said.
#[test]
fn real_time_priority_is_had_with_no_more_than_it_takes() {
    let Some(bench) = Bench::new("real_time_priority_is_had_with_no_more_than_it_takes") else { return };
    let run = bench.start(Some(SOMEBODY), &["observe", "-i", "lo", "--realtime", "5"]);
    let threads = run.threads();
    let kept = if run.talk.contains("but CAP_SYS_NICE, which --realtime takes") { NICE } else { NONE };
    is_left_with(kept, &threads, SOMEBODY);
    let receiving = threads.iter().find(|thread| thread["Name"] == "receive").unwrap();
    assert_eq!(receiving["Policy"], FIFO, "{receiving:?}");
}

#[test]
fn a_soak_opens_its_interface_for_each_window_with_that_right_alone_and_its_folder_is_theirs() {
    let test = "a_soak_opens_its_interface_for_each_window_with_that_right_alone_and_its_folder_is_theirs";
    let Some(bench) = Bench::new(test) else { return };
    let soak = ["observe", "-i", "lo", "--until-bound", "1e-3", "--window", "1s", "--soak", "soak"];
    let mut run = bench.start(Some(SOMEBODY), &soak);
    assert!(
        run.talk.contains("goes on as user 54321, all other rights are given up but CAP_NET_RAW"),
        "{}",
        run.talk
    );
    while !run.talk.contains("window 2: ") {
        assert!(run.lines.read_line(&mut run.talk).unwrap() > 0, "{}", run.talk);
    }
    is_left_with_of(RAW, &run.threads(), SOMEBODY, 1);
    let (_, talk) = run.interrupt();
    let owners: Vec<u32> = below(&bench.path("soak")).iter().map(|p| p.metadata().unwrap().uid()).collect();
    assert!(owners.len() > 2 && owners.iter().all(|owner| *owner == SOMEBODY), "{owners:?}: {talk}");
    assert_eq!(bench.owners()["soak"], SOMEBODY);
}

/// The sockets of a soak need no right, but for receive buffers that the kernel would not grant.
#[test]
fn a_soak_on_sockets_keeps_no_right_but_that_to_its_buffers() {
    let Some(bench) = Bench::new("a_soak_on_sockets_keeps_no_right_but_that_to_its_buffers") else { return };
    let soak = ["observe", "--until-bound", "1e-3", "--window", "1s", "--soak", "soak"];
    let run = bench.start(Some(SOMEBODY), &soak);
    let limited = run.talk.contains("but CAP_NET_ADMIN, which receive buffers beyond net.core.rmem_max take");
    is_left_with(if limited { "0000000000001000" } else { NONE }, &run.threads(), SOMEBODY);
}

/// Every file and folder below one.
fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let with = |path: std::path::PathBuf| {
        let inside = if path.is_dir() { below(&path) } else { Vec::new() };
        std::iter::once(path).chain(inside)
    };
    entries.flat_map(with).collect()
}

#[test]
fn a_user_by_name_goes_before_who_called_sudo_and_root_keeps_everything() {
    let Some(bench) = Bench::new("a_user_by_name_goes_before_who_called_sudo_and_root_keeps_everything")
    else {
        return;
    };
    let run = bench.start(Some(SOMEBODY), &["observe", "-i", "lo", "--user", "12345:12345"]);
    is_bare(&run.threads(), 12_345);
    drop(run);
    let run = bench.start(Some(SOMEBODY), &["observe", "-i", "lo", "--user", "root"]);
    let threads = run.threads();
    assert!(threads.iter().all(|t| t["CapEff"] != NONE && t["Uid"] == "0 0 0 0"), "{threads:?}");
    assert!(!run.talk.contains("given up"), "{}", run.talk);
    drop(run);
    let refused = bench.ended(None, &["observe", "-i", "lo", "--user", "no-such-user"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("no such user"), "{said}");
}

#[test]
fn what_could_not_be_written_later_is_refused_at_once() {
    let Some(bench) = Bench::new("what_could_not_be_written_later_is_refused_at_once") else { return };
    fs::create_dir(bench.path("roots")).unwrap();
    fs::set_permissions(bench.path("roots"), fs::Permissions::from_mode(0o755)).unwrap();
    for later in [
        &["-w", "roots/show.pcapng"][..],
        &["--tape", "roots/show.tape"],
        &["-o", "roots/run.json"],
        &["--prom-textfile", "roots/metrics.prom"],
        &["--drain", "http://127.0.0.1:1/", "--drain-dir", "roots/drains/of/today"],
    ] {
        let arguments = [&["observe", "-i", "lo", "--duration", "60s"][..], later].concat();
        let ran = bench.ended(Some(SOMEBODY), &arguments);
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(6), "{later:?}: {said}");
        let last = said.lines().last().unwrap();
        assert!(last.contains("cannot be written as user 54321") && last.contains("--user root"), "{last}");
    }
    assert_eq!(fs::read_dir(bench.path("roots")).unwrap().count(), 0);
}
