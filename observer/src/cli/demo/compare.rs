//! What was planted against what was found: each deed of the truth file has its findings, each finding its deed. Reads
//! nothing; judges by stream, time, rule, number and owner.

use super::plan::Output;
use serde::Deserialize;
use wireproof_protocols::Severity;
use wireproof_protocols::verify::{Account, Finding, Owners};

/// How far a deed may be from the finding that shows it, ns: half the time between two planted faults at least.
const NEAR_NS: i64 = 150_000_000;

/// A line of the truth file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Deed {
    pub(super) kind: String,
    pub(super) frame: u64,
    pub(super) output: Option<String>,
    #[serde(default)]
    pub(super) datagrams: u64,
    pub(super) wall_ns: i64,
}

/// A deed and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) deed: Deed,
    /// Ids and codes of its findings.
    pub(super) findings: Vec<(String, &'static str)>,
    /// Owners of what it made missing.
    pub(super) owners: Owners,
    pub(super) found: bool,
}

/// The comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) rows: Vec<Row>,
    /// Findings that nothing planted explains.
    pub(super) wrong: Vec<(String, &'static str)>,
}

impl Comparison {
    /// Deeds that were found.
    pub(super) fn found(&self) -> usize {
        self.rows.iter().filter(|row| row.found).count()
    }
}

/// Codes that show a kind of fault, and codes that follow from it.
fn codes(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "duplicate" => (&["SEQ-DUPLICATE"], &[]),
        "missing-push" => (&["FRAME-UNTERMINATED", "BIGPACKET-B08"], &["DDP-D12"]),
        _ => (&["SEQ-LOST"], &["FRAME-TORN", "FRAME-UNTERMINATED"]),
    }
}

/// Compares; what a busy host does to time is neither planted nor wrong.
pub(super) fn compare(account: &Account, deeds: &[Deed], outputs: &[Output]) -> Comparison {
    let judged = |f: &&Finding| {
        f.severity >= Severity::Warning && !f.code.starts_with("OBS-") && !f.code.starts_with("TIME-")
    };
    let findings: Vec<&Finding> = account.findings.iter().filter(judged).collect();
    let mut explained = vec![0u64; findings.len()];
    let rows = deeds.iter().map(|deed| row(account, deed, outputs, &findings, &mut explained)).collect();
    let counts = findings.iter().zip(&explained);
    let wrong = counts.filter(|(f, explained)| f.count > **explained).map(|(f, _)| (f.id.clone(), f.code));
    Comparison { rows, wrong: wrong.collect() }
}

fn row(
    account: &Account,
    deed: &Deed,
    outputs: &[Output],
    findings: &[&Finding],
    explained: &mut [u64],
) -> Row {
    let protocol = outputs.iter().find(|o| Some(o.name) == deed.output.as_deref()).map(|o| o.protocol);
    let (shows, follows) = codes(&deed.kind);
    let mut row = Row { deed: deed.clone(), findings: Vec::new(), owners: Owners::default(), found: false };
    let mut shown = 0;
    for (f, explained) in findings.iter().zip(explained) {
        let stream = f.stream.and_then(|at| account.streams.get(at));
        let near = f.since_ns - NEAR_NS <= deed.wall_ns && deed.wall_ns <= f.last_ns + NEAR_NS;
        let is_shown = shows.contains(&f.code);
        if !near || stream.map(|s| s.protocol.name()) != protocol || !(is_shown || follows.contains(&f.code))
        {
            continue;
        }
        // One deed explains what it did, and not whatever else was merged into the finding.
        *explained += if is_shown { deed.datagrams.max(1) } else { f.count };
        row.findings.push((f.id.clone(), f.code));
        shown += if is_shown { f.count } else { 0 };
        if let Some(o) = f.owners {
            row.owners.sender += o.sender;
            row.owners.wire += o.wire;
            row.owners.observer += o.observer;
            row.owners.unknown += o.unknown;
        }
    }
    let owned = match deed.kind.as_str() {
        "drop" => row.owners == Owners { wire: deed.datagrams, ..Owners::default() },
        "unsent" | "torn" => row.owners == Owners { sender: deed.datagrams, ..Owners::default() },
        _ => row.owners == Owners::default(),
    };
    row.found = shown == deed.datagrams.max(1) && owned;
    row
}
