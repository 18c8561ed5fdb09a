//! Waivers over an account: which finding each of them covers, what is left of its limit, and what is said of those that
//! expired, were overdrawn, or had nothing to do.

use super::{Day, Most, Waiver};
use crate::text::clean;
use serde::{Deserialize, Serialize};
use wireproof_protocols::verify::rig::RigOutput;
use wireproof_protocols::verify::{Account, Finding, Options, rules};
use wireproof_protocols::{Rule, Severity};

/// What became of a waiver, for the run record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waived {
    /// `w1` …, in the order of the rig.
    pub id: String,
    /// The code it is for.
    pub code: String,
    /// Which streams, as an expression, or `the capture`.
    pub streams: String,
    /// Most occurrences in a run; absent where it is by the hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Most occurrences an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_hour: Option<u64>,
    /// Most occurrences in this run.
    pub allowed: u64,
    /// Why.
    pub reason: String,
    /// Last day, UTC.
    pub expires: String,
    /// What became of it.
    pub state: WaiverState,
    /// Occurrences that it is for.
    pub used: u64,
    /// The findings they are in.
    pub findings: Vec<String>,
}

/// What became of a waiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaiverState {
    /// Its findings do not count.
    Used,
    /// There was nothing to waive.
    Unused,
    /// There was more than it covers: its findings count whole.
    Exceeded,
    /// Its last day was over: its findings count.
    Expired,
}

impl WaiverState {
    /// The word in every output.
    pub fn name(self) -> &'static str {
        match self {
            WaiverState::Used => "used",
            WaiverState::Unused => "unused",
            WaiverState::Exceeded => "exceeded",
            WaiverState::Expired => "expired",
        }
    }
}

impl Waived {
    /// Its limit in words.
    pub(crate) fn limit(&self) -> String {
        match self.max_per_hour {
            Some(n) => format!("{} ({n} an hour)", self.allowed),
            None => self.allowed.to_string(),
        }
    }
}

/// Marks the findings that are waived and says what became of each waiver. The day is that of the last packet; `options`
/// are those of the run, for the severity of what is said about waivers.
pub fn waive(
    account: &mut Account,
    waivers: &[Waiver],
    declared: &[RigOutput],
    options: &Options,
) -> Vec<Waived> {
    let told = mark(account, waivers, declared);
    told.iter().for_each(|w| notice(w, account, options));
    told
}

/// The same for a run that goes on: that nothing matched a waiver so far says nothing.
pub(crate) fn waive_so_far(
    account: &mut Account,
    waivers: &[Waiver],
    declared: &[RigOutput],
    options: &Options,
) -> Vec<Waived> {
    let told = mark(account, waivers, declared);
    let matched = told.iter().filter(|w| w.used > 0);
    matched.for_each(|w| notice(w, account, options));
    told
}

/// Marks the findings that are waived.
pub(crate) fn mark(account: &mut Account, waivers: &[Waiver], declared: &[RigOutput]) -> Vec<Waived> {
    let is_over = |w: &Waiver| account.last_ns.is_some_and(|ns| Day::of(ns) > w.expires);
    let over: Vec<bool> = waivers.iter().map(is_over).collect();
    let mut matched: Vec<Vec<usize>> = vec![Vec::new(); waivers.len()];
    for (at, f) in account.findings.iter().enumerate() {
        let covers = |w: &Waiver| w.code == f.code && may_be(f) && w.scope.holds(f, account, declared);
        let first = |expired: bool| (0..waivers.len()).find(|i| over[*i] == expired && covers(&waivers[*i]));
        if let Some(waiver) = first(false).or_else(|| first(true)) {
            matched[waiver].push(at);
        }
    }
    let span_ns = match (account.first_ns, account.last_ns) {
        (Some(first), Some(last)) => u64::try_from(last.saturating_sub(first)).unwrap_or(0),
        _ => 0,
    };
    let mut told = Vec::new();
    for (at, waiver) in waivers.iter().enumerate() {
        told.push(settle(at, waiver, &matched[at], (over[at], span_ns), account));
    }
    told
}

/// A loss of the capture or the observer has no certain number, and says nothing about the device.
fn may_be(f: &Finding) -> bool {
    !f.tainted && f.owners.is_none_or(|o| o.observer == 0)
}

fn settle(at: usize, w: &Waiver, matched: &[usize], run: (bool, u64), account: &mut Account) -> Waived {
    let (over, span_ns) = run;
    let findings = &mut account.findings;
    let used = matched.iter().filter_map(|f| findings.get(*f)).fold(0u64, |n, f| n.saturating_add(f.count));
    let allowed = w.most.allowed(span_ns);
    let state = match (over, used) {
        (true, _) => WaiverState::Expired,
        (_, 0) => WaiverState::Unused,
        (_, used) if used > allowed => WaiverState::Exceeded,
        _ => WaiverState::Used,
    };
    let mut ids = Vec::new();
    for f in matched {
        let Some(f) = findings.get_mut(*f) else { continue };
        f.waiver = (state == WaiverState::Used).then_some(at);
        ids.push(f.id.clone());
    }
    let (max, max_per_hour) = match w.most {
        Most::InAll(n) => (Some(n), None),
        Most::PerHour(n) => (None, Some(n)),
    };
    Waived {
        id: format!("w{}", at + 1),
        code: w.code.to_owned(),
        streams: w.scope.text().to_owned(),
        max,
        max_per_hour,
        allowed,
        reason: w.reason.clone(),
        expires: w.expires.to_string(),
        state,
        used,
        findings: ids,
    }
}

/// Says what somebody should know about a waiver as a finding of its own.
fn notice(w: &Waived, account: &mut Account, options: &Options) {
    let (id, code, streams) = (&w.id, &w.code, clean(&w.streams));
    let (rule, text): (&'static Rule, String) = match w.state {
        WaiverState::Used => return,
        WaiverState::Unused => {
            let text = format!("waiver {id} of {code} ({streams}) matched nothing: it can be taken out");
            (rules::RIG_WAIVER_UNUSED, text)
        }
        WaiverState::Exceeded => (
            rules::RIG_WAIVER_EXCEEDED,
            format!(
                "waiver {id} of {code} covers {}, and {} were found: all of them count",
                w.limit(),
                w.used
            ),
        ),
        WaiverState::Expired => (
            rules::RIG_WAIVER_EXPIRED,
            format!(
                "waiver {id} of {code} ({streams}) ended on {}: {}",
                w.expires,
                if w.used == 0 { "it matched nothing".to_owned() } else { format!("{} count", w.used) }
            ),
        ),
    };
    reported(account, rule, text, options);
}

/// Adds a finding about the run as a whole, after those of the verifier.
pub fn reported(account: &mut Account, rule: &'static Rule, text: String, options: &Options) {
    let last = account.findings.iter().filter_map(|f| f.id.get(1..)?.parse::<u64>().ok()).max().unwrap_or(0);
    account.findings.push(Finding {
        id: format!("f{:04}", last + 1),
        code: rule.code,
        severity: options.severity(rule.code, rule.severity),
        stream: None,
        count: 1,
        first_packet: 0,
        first_ns: 0,
        since_ns: 0,
        proven: 0,
        residue: 0,
        last_ns: 0,
        text,
        expected: String::new(),
        got: String::new(),
        offset: None,
        frames: Vec::new(),
        owners: None,
        tainted: false,
        open: 0,
        missing: None,
        waiver: None,
    });
}

/// The findings of the account that count to the verdict.
pub(crate) fn counting(account: &Account) -> impl Iterator<Item = &Finding> {
    account.findings.iter().filter(|f| f.waiver.is_none())
}

/// Datagrams whose loss is not proven and that are waived.
pub(crate) fn open(account: &Account) -> u64 {
    let unproven = |f: &Finding| {
        let lost = f.owners.map_or(0, |o| o.sender + o.wire + o.observer + o.unknown);
        lost.saturating_sub(f.proven)
    };
    account.findings.iter().filter(|f| f.waiver.is_some()).map(unproven).fold(0, u64::saturating_add)
}

/// Violations and warnings that are waived.
pub(crate) fn waived(account: &Account) -> u64 {
    account.findings.iter().filter(|f| f.waiver.is_some() && f.severity > Severity::Info).count() as u64
}
