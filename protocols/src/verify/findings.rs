//! The findings of a run: merged by rule and stream, bounded, numbered in order of first occurrence.

use super::account::{Finding, Owners};
use super::noted::Remark;
use crate::{Rule, Severity};
use std::collections::HashMap;

/// Most findings kept of each severity (info, warning, violation), so that none crowds out a worse one; further ones
/// are counted only.
const FINDINGS_MAX: [usize; 3] = [1024, 1024, 2048];
/// Most frame numbers kept in one finding.
pub(crate) const FRAMES_MAX: usize = 32;

/// Where and when something was found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Stream index.
    pub stream: Option<usize>,
    /// Capture record, 1-based.
    pub packet: u64,
    /// Capture stamp, ns.
    pub stamp: i64,
}

/// Collects findings.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    index: HashMap<(&'static str, Severity, Option<usize>, u32), usize>,
    kept: [usize; 3],
    dropped: u64,
}

impl Findings {
    /// Room for one more of this severity; without it the finding is only counted.
    fn room(&mut self, severity: Severity) -> bool {
        let kept = &mut self.kept[severity as usize];
        let room = *kept < FINDINGS_MAX[severity as usize];
        if room {
            *kept += 1
        } else {
            self.dropped += 1
        }
        room
    }

    /// Takes a finding back that turned out to be something else.
    pub(crate) fn retract(&mut self, code: &str, stream: usize) {
        self.list.retain(|f| f.code != code || f.stream != Some(stream));
        self.index.clear();
    }

    /// Takes back every finding of a code.
    pub(crate) fn retract_all(&mut self, code: &str) {
        self.list.retain(|f| f.code != code);
        self.index.clear();
    }

    /// Counts a fault of one datagram under its rule and stream; the first case is kept as the example.
    pub(crate) fn fault(&mut self, fault: &Remark<'_>, place: Place) {
        let key = (fault.rule.code, fault.severity, place.stream, 0);
        let text = || fault_text(fault);
        if let Some(f) = self.entry(key, fault.rule, fault.severity, place, text)
            && f.count == 1
        {
            f.expected = fault.expected.to_string();
            f.got = fault.got.to_string();
            f.offset = Some(fault.offset);
        }
    }

    /// Counts a finding that merges with others of its rule, stream and variant.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        place: Place,
        variant: u32,
        text: impl FnOnce() -> String,
    ) -> Option<&mut Finding> {
        self.entry((rule.code, severity, place.stream, variant), rule, severity, place, text)
    }

    /// Counts a finding that stands for `n` cases.
    pub(crate) fn add_n(
        &mut self,
        rule: &'static Rule,
        place: Place,
        variant: u32,
        n: u64,
        text: impl FnOnce() -> String,
    ) {
        if let Some(f) = self.add(rule, rule.severity, place, variant, text) {
            f.count = n;
        }
    }

    /// Adds a finding of its own.
    pub(crate) fn single(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        place: Place,
        text: String,
    ) -> Option<&mut Finding> {
        if !self.room(severity) {
            return None;
        }
        self.list.push(blank(rule, severity, place, text));
        self.list.last_mut()
    }

    fn entry(
        &mut self,
        key: (&'static str, Severity, Option<usize>, u32),
        rule: &'static Rule,
        severity: Severity,
        place: Place,
        text: impl FnOnce() -> String,
    ) -> Option<&mut Finding> {
        if let Some(&at) = self.index.get(&key) {
            let found = &mut self.list[at];
            found.count += 1;
            found.last_ns = found.last_ns.max(place.stamp);
            return Some(found);
        }
        if !self.room(severity) {
            return None;
        }
        self.index.insert(key, self.list.len());
        self.list.push(blank(rule, severity, place, text()));
        self.list.last_mut()
    }

    /// Marks findings about losses that fall into a time in which the capture was blind.
    pub(crate) fn taint(&mut self, blind: impl Fn(i64, i64) -> bool) {
        for f in &mut self.list {
            let about_loss =
                matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS" | "FRAME-TORN" | "FRAME-UNTERMINATED");
            f.tainted |= about_loss && blind(f.first_ns, f.last_ns);
        }
    }

    /// Loss episodes, in order of report.
    pub(crate) fn losses(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.list.iter_mut().filter(|f| matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS"))
    }

    /// Findings listed so far, in order of report.
    #[inline]
    pub(crate) fn listed(&self) -> &[Finding] {
        &self.list
    }

    /// Findings listed so far by severity: info, warning, violation.
    pub(crate) fn kept(&self) -> [u64; 3] {
        self.kept.map(|n| n as u64)
    }

    /// Findings beyond the bound.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// All findings in order of first occurrence, numbered.
    pub(crate) fn into_list(self) -> Vec<Finding> {
        let mut list = self.list;
        list.sort_by(|a, b| {
            (a.first_packet, a.stream, a.code, a.severity).cmp(&(
                b.first_packet,
                b.stream,
                b.code,
                b.severity,
            ))
        });
        for (i, f) in list.iter_mut().enumerate() {
            f.id = format!("f{:04}", i + 1);
        }
        list
    }
}

/// The rule is quoted, so the sentence has to say that it is the rule and not what was seen.
fn fault_text(fault: &Remark<'_>) -> String {
    let title = fault.rule.title.trim_end_matches('.');
    let said = match fault.severity {
        Severity::Violation => format!("rule broken: {title}"),
        Severity::Warning => format!("rule not kept: {title}"),
        Severity::Info if fault.hint.is_empty() => title.to_owned(),
        Severity::Info => return fault.hint.to_owned(),
    };
    if fault.hint.is_empty() { said } else { format!("{said} ({})", fault.hint) }
}

/// A finding of one case.
pub(crate) fn blank(rule: &'static Rule, severity: Severity, place: Place, text: String) -> Finding {
    Finding {
        id: String::new(),
        code: rule.code,
        severity,
        stream: place.stream,
        count: 1,
        first_packet: place.packet,
        first_ns: place.stamp,
        since_ns: place.stamp,
        proven: 0,
        residue: 0,
        last_ns: place.stamp,
        text,
        expected: String::new(),
        got: String::new(),
        offset: None,
        frames: Vec::new(),
        owners: None::<Owners>,
        tainted: false,
        open: 0,
        missing: None,
        waiver: None,
    }
}
