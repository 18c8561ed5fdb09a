//! The entries of `../shared/captures/MANIFEST.json`, each analyzed once, and a ledger of all differences.

pub(crate) mod claims;
pub(crate) mod counts;
pub(crate) mod sayings;
pub(crate) mod streams;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use wireproof::analysis::{analyze, source};
use wireproof_protocols::verify::{Account, Options};
use wireproof_reports::{Observer, Summary};

/// One capture of the manifest and what the product makes of it.
pub(crate) struct Run {
    /// Path below `captures/`, the name in every message.
    pub(crate) file: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The manifest's entry.
    pub(crate) entry: Value,
    /// The verifier's account.
    pub(crate) account: Account,
    /// The run record.
    pub(crate) summary: Summary,
}

impl Run {
    /// A value of `expected`; `Null` where the independent checker gives none.
    pub(crate) fn expected(&self, key: &str) -> &Value {
        &self.entry["expected"][key]
    }

    /// A number of `truth`, which stands above `expected`.
    pub(crate) fn truth(&self, key: &str) -> Option<u64> {
        self.entry["truth"][key].as_u64()
    }

    /// True when `expected` holds the plain counter reading, which the manifest itself calls false.
    pub(crate) fn naive(&self) -> bool {
        self.entry["expected_is_the_naive_reading"] == Value::Bool(true)
    }

    /// Findings with this code.
    pub(crate) fn count_of(&self, code: &str) -> u64 {
        self.account.findings.iter().filter(|f| f.code == code).map(|f| f.count).sum()
    }
}

/// A JSON object of counts; empty where there is none.
pub(crate) fn counts_of(value: &Value) -> BTreeMap<String, u64> {
    let Some(object) = value.as_object() else { return BTreeMap::new() };
    object.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

/// Every capture of the manifest but the robustness files; `None` with a visible line without `../shared`.
pub(crate) fn runs(test: &str) -> Option<&'static [Run]> {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    let captures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/captures"));
    if !captures.join("MANIFEST.json").is_file() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: ../shared is absent\n"),
        );
        return None;
    }
    Some(RUNS.get_or_init(|| read(captures)))
}

fn read(captures: &Path) -> Vec<Run> {
    let text = std::fs::read_to_string(captures.join("MANIFEST.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let entries = manifest["entries"].as_array().unwrap();
    entries.iter().filter(|e| is_capture(e)).map(|e| run(captures, e)).collect()
}

fn is_capture(entry: &Value) -> bool {
    let class = entry["class"].as_str().unwrap();
    class != "robustness" && class != "packet vectors"
}

fn run(captures: &Path, entry: &Value) -> Run {
    let file = entry["file"].as_str().unwrap().to_owned();
    let path = captures.join(&file);
    let (report, account) = analyze(&[&path], Options::default()).unwrap_or_else(|e| panic!("{file}: {e}"));
    let summary = Summary::new(&account, source(report), Observer::default());
    Run { file, path, entry: entry.clone(), account, summary }
}

/// Collects differences over all entries, so that one failure shows them all.
#[derive(Default)]
pub(crate) struct Ledger {
    lines: Vec<String>,
    checked: usize,
}

impl Ledger {
    /// Two values that have to be equal.
    pub(crate) fn equal<T: PartialEq + Debug>(&mut self, run: &Run, what: &str, expected: T, got: T) {
        self.checked += 1;
        if expected != got {
            self.lines.push(format!("{}: {what}: expected {expected:?}, got {got:?}", run.file));
        }
    }

    /// Two values that have to agree within 1 %, or within `resolution` where that is more.
    pub(crate) fn near(&mut self, run: &Run, what: &str, expected: f64, got: f64, resolution: f64) {
        self.checked += 1;
        if (expected - got).abs() > (expected.abs() / 100.0).max(resolution) {
            self.lines.push(format!("{}: {what}: expected {expected} within 1 %, got {got}", run.file));
        }
    }

    /// A statement that has to hold; the text says what was found instead.
    pub(crate) fn hold(&mut self, run: &Run, holds: bool, text: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.lines.push(format!("{}: {}", run.file, text()));
        }
    }

    /// Fails with every difference of every entry.
    pub(crate) fn settle(self) {
        let (differences, checked) = (self.lines.len(), self.checked);
        assert!(checked > 0, "nothing was checked");
        let list = self.lines.join("\n  ");
        assert!(differences == 0, "{differences} of {checked} checks differ:\n  {list}");
    }
}
