//! `cargo xtask fuzz`: builds every fuzz target with coverage counters and runs each for a while, two at once; `--build`
//! only builds them.
//!
//! libFuzzer comes as C++ source in a crate, and the counters are a pass that the stable compiler has; so there is
//! nothing to install but a C++ compiler. `cargo fuzz run TARGET` works on the same folder.

use anyhow::{Context, Result, bail};
use std::collections::VecDeque;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Counters at each edge, and what comparisons compare.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0";
/// Longest input, octets; those of `ring` and `record` have to be longer to be whole.
const LENGTH: u32 = 4_096;
const LONG: u32 = 16_384;
/// Seconds that one input may take, and MiB that a target may use.
const PATIENCE: u32 = 25;
const ROOM: u32 = 2_048;
/// Targets at once.
const JOBS: usize = 2;

/// What is asked for.
pub(crate) struct Asked {
    /// For each target; none only builds.
    seconds: Option<u32>,
    /// Every one of them without names.
    targets: Vec<String>,
}

impl Asked {
    /// Reads `--seconds N` or `--build`, and names of targets.
    ///
    /// # Errors
    /// What is neither.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Asked> {
        let mut asked = Asked { seconds: Some(60), targets: Vec::new() };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seconds" => {
                    let text = arguments.next().context("--seconds needs a number")?;
                    // To libFuzzer none are without end.
                    let seconds: NonZeroU32 = text.parse().with_context(|| format!("--seconds {text}"))?;
                    asked.seconds = Some(seconds.get());
                }
                "--build" => asked.seconds = None,
                name if !name.starts_with('-') => asked.targets.push(name.to_owned()),
                other => bail!("{other}: there is --seconds N, --build and names of targets"),
            }
        }
        Ok(asked)
    }
}

/// What became of a target.
struct Outcome {
    target: String,
    executions: u64,
    seconds: f64,
    /// The last lines that it said, when it found something.
    found: Option<String>,
}

/// Builds, runs, and tells executions by target and in all.
///
/// # Errors
/// A target does not build, or found something.
pub(crate) fn run(root: &Path, asked: &Asked) -> Result<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if !Command::new(&compiler).arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        writeln!(
            std::io::stderr(),
            "SKIPPED fuzz: libFuzzer needs a C++ compiler, and there is no {compiler}"
        )?;
        return Ok("fuzz: 0 executions".to_owned());
    }
    let built = build(root)?;
    let Some(seconds) = asked.seconds else {
        return Ok(format!("fuzz: {} targets are built", targets(root)?.len()));
    };
    let targets = if asked.targets.is_empty() { targets(root)? } else { asked.targets.clone() };
    let waiting = Mutex::new(VecDeque::from(targets));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let outcomes = std::iter::from_fn(next).map(|target| one(root, &built, target, seconds));
        outcomes.collect::<Result<Vec<_>>>()
    };
    let outcomes = std::thread::scope(|scope| {
        let workers = [(); JOBS].map(|()| scope.spawn(work));
        let all = workers.map(|worker| worker.join().unwrap_or_else(|_| bail!("a worker ended early")));
        all.into_iter().collect::<Result<Vec<_>>>()
    })?;
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    tell(&outcomes)
}

/// The programs of the fuzz crate, by their files.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds every target; the folder with the programs. A target of its own keeps the flags from build scripts.
fn build(root: &Path) -> Result<PathBuf> {
    let said = Command::new("rustc").arg("-vV").output().context("rustc -vV")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let folder = folder(root);
    let begun = Instant::now();
    let built = cargo()
        .args(["build", "--quiet", "--release", "--locked", "--bins", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target", host, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", FLAGS)
        .current_dir(root)
        .status()
        .context("cargo build")?;
    if !built.success() {
        bail!("fuzz/Cargo.toml does not build");
    }
    writeln!(std::io::stdout(), "fuzz: built in {} s", begun.elapsed().as_secs())?;
    Ok(folder.join(host).join("release"))
}

/// Where programs, grown inputs and findings lie.
fn folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("fuzz")
}

fn one(root: &Path, built: &Path, target: String, seconds: u32) -> Result<Outcome> {
    let place = |kind: &str| folder(root).join(kind).join(&target);
    let (corpus, artifacts) = (place("corpus"), place("artifacts"));
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let length = if ["record", "ring"].contains(&target.as_str()) { LONG } else { LENGTH };
    let begun = Instant::now();
    let ran = Command::new(built.join(&target))
        .arg(&corpus)
        .arg(root.join("fuzz/seeds").join(&target))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={length}"))
        .arg(format!("-timeout={PATIENCE}"))
        .arg(format!("-rss_limit_mb={ROOM}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{}: is it a target?", built.join(&target).display()))?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    let found = (!ran.status.success()).then(|| lines[lines.len().saturating_sub(30)..].join("\n"));
    Ok(Outcome { target, executions: executions(&said), seconds: begun.elapsed().as_secs_f64(), found })
}

/// What libFuzzer counts at its end.
fn executions(said: &str) -> u64 {
    let line = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

fn tell(outcomes: &[Outcome]) -> Result<String> {
    let mut out = std::io::stdout();
    let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
    sorted.sort_by(|a, b| a.target.cmp(&b.target));
    for outcome in &sorted {
        let rate = outcome.executions as f64 / outcome.seconds;
        let word = if outcome.found.is_some() { "FOUND" } else { "ok" };
        writeln!(
            out,
            "{word:<6} {:<8} {:>12} executions, {rate:>9.0} a second",
            outcome.target, outcome.executions
        )?;
    }
    let total: u64 = outcomes.iter().map(|outcome| outcome.executions).sum();
    let found: Vec<&&Outcome> = sorted.iter().filter(|outcome| outcome.found.is_some()).collect();
    for outcome in &found {
        writeln!(out, "{}: {}", outcome.target, outcome.found.as_deref().unwrap_or_default())?;
    }
    match found.len() {
        0 => Ok(format!("fuzz: {total} executions of {} targets, nothing found", outcomes.len())),
        found => bail!("{found} targets found something, {total} executions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_seconds_and_targets() {
        let read = |text: &str| Asked::read(text.split_whitespace().map(str::to_owned));
        let asked = read("decode --seconds 7 ring").unwrap();
        assert_eq!((asked.seconds, asked.targets), (Some(7), vec!["decode".to_owned(), "ring".to_owned()]));
        assert_eq!((read("").unwrap().seconds, read("--build").unwrap().seconds), (Some(60), None));
        for bad in ["--seconds", "--seconds x", "--seconds 0", "--second 1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn executions_are_those_that_libfuzzer_counts() {
        let said = "Done 12 runs\nstat::number_of_executed_units: 4711\nstat::peak_rss_mb: 40\n";
        assert_eq!((executions(said), executions("killed")), (4711, 0));
    }
}
