//! Instructions of a pass over a small fixed capture, counted by callgrind: the same every time, whatever else the host
//! does. What starting up costs is taken out by going over the capture once and three times.

use super::arms::{CORE, FULL};
use super::report::line;
use super::{Outcome, traffic};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Datagrams of the capture: enough that every stream's numbering is known for most of it.
const DATAGRAMS: usize = 20_000;
/// A pass may take so much more or less than its budget, percent; a fall beyond it wants the budget lowered.
const TOLERANCE: f64 = 3.0;
const PASSES: [&str; 3] = ["dissect + checksum", CORE, FULL];

/// Counts, and compares with the budget or writes it.
///
/// # Errors
/// A pass outside its budget, and a valgrind that fails; one that is not there is a visible skip.
pub(crate) fn run(bless: bool) -> Outcome<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return line("SKIPPED instructions: valgrind is not installed");
    }
    let file = tempfile::Builder::new().prefix("wireproof-bench-").suffix(".pcap").tempfile()?;
    let (datagrams, _) = traffic::write(DATAGRAMS, None, &mut BufWriter::new(File::create(file.path())?))?;
    let mut counts = Vec::new();
    for pass in PASSES {
        let (once, thrice) = (count(pass, file.path(), 1)?, count(pass, file.path(), 3)?);
        counts.push((pass, thrice.saturating_sub(once) as f64 / 2.0 / datagrams as f64));
    }
    if bless {
        let lines: Vec<String> = counts.iter().map(|(pass, n)| format!("{pass}: {n:.0}\n")).collect();
        std::fs::write(budget_file(), lines.concat())?;
    }
    compare(&counts)
}

/// Instructions of a process that makes a pass so many times.
fn count(pass: &str, path: &Path, rounds: usize) -> Outcome<u64> {
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--alone", pass])
        .arg(path)
        .arg(rounds.to_string())
        .output()?;
    let said = String::from_utf8_lossy(&ran.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    collected.ok_or_else(|| format!("valgrind counted nothing: {said}").into())
}

fn compare(counts: &[(&str, f64)]) -> Outcome<()> {
    let text = std::fs::read_to_string(budget_file())?;
    let mut outside = Vec::new();
    for (pass, n) in counts {
        let budget =
            text.lines().find_map(|line| line.strip_prefix(pass)?.strip_prefix(": ")?.parse::<f64>().ok());
        let budget = budget.ok_or_else(|| format!("budget.txt names no {pass}: run with --bless"))?;
        let percent = 100.0 * (n / budget - 1.0);
        line(&format!("{pass:>20}: {n:7.0} instructions/datagram, budget {budget:.0}, {percent:+.1} %"))?;
        if percent.abs() > TOLERANCE {
            outside.push(*pass);
        }
    }
    if outside.is_empty() {
        return line(&format!("within {TOLERANCE} % of the budget"));
    }
    Err(format!("outside the budget by more than {TOLERANCE} %: {}", outside.join(", ")).into())
}

fn budget_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/offline/budget.txt")
}
