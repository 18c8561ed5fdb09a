//! The verdict of a run: one word, one exit code, one reason, derived from the account and the observer alone.

use crate::filter::Filtered;
use crate::summary::Observer;
use crate::text::clean;
use crate::waiver::{self, counting};
use serde::{Deserialize, Serialize};
use wireproof_protocols::Severity;
use wireproof_protocols::verify::{Account, Finding};
use wireproof_protocols::words::counted;

/// What a run amounts to. Precedence: INVALID > PARTIAL > FAIL > INCONCLUSIVE > PASS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing worse than info or warning.
    Pass,
    /// Something may be wrong, and the capture cannot tell.
    Inconclusive,
    /// A violation, or a loss that is proven.
    Fail,
    /// A run with a fixed length was cut short.
    Partial,
    /// The observer, not the device, spoiled the measurement.
    Invalid,
}

impl Verdict {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Fail => "fail",
            Verdict::Partial => "partial",
            Verdict::Invalid => "invalid",
        }
    }

    /// The word in text formats.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::Fail => "FAIL",
            Verdict::Partial => "PARTIAL",
            Verdict::Invalid => "INVALID",
        }
    }

    /// The process exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Fail => 1,
            Verdict::Inconclusive => 3,
            Verdict::Invalid => 4,
            Verdict::Partial => 5,
        }
    }
}

/// The reason of a run that passes because nothing was there to fail.
const NOTHING_SEEN: &str =
    "no lighting datagrams, nothing was judged: with --rig an output that is not there is a violation";

/// Judges a run and says why in one sentence fit for a terminal.
///
/// `cut_short` is true for a run with a fixed length that ended early.
pub fn judge(account: &Account, observer: &Observer, cut_short: bool) -> (Verdict, String) {
    let violations =
        |tainted: bool| move |f: &&Finding| f.severity == Severity::Violation && f.tainted == tainted;
    let proven: Vec<&Finding> = counting(account).filter(violations(false)).collect();
    let tainted = counting(account).filter(violations(true)).count();
    let open: u64 = account
        .streams
        .iter()
        .fold(0u64, |sum, s| sum.saturating_add(s.sequence.lost.saturating_sub(s.sequence.lost_min)))
        .saturating_sub(waiver::open(account));
    if observer.lost > 0 {
        return (
            Verdict::Invalid,
            format!("the observer itself lost {}", counted(observer.lost, "datagram")),
        );
    }
    if cut_short {
        let found = match proven.len() + tainted {
            0 => "no violation was".to_owned(),
            1 => "1 violation was".to_owned(),
            n => format!("{n} violations were"),
        };
        return (Verdict::Partial, format!("the run ended before its time, {found} found so far"));
    }
    if let Some(worst) = worst(&proven) {
        return (Verdict::Fail, fail_reason(proven.len() as u64, worst));
    }
    if tainted > 0 {
        let what = counted(tainted as u64, "violation");
        return (Verdict::Inconclusive, format!("{what} in intervals where the capture itself lost packets"));
    }
    if open > 0 {
        let what = counted(open, "datagram");
        return (Verdict::Inconclusive, format!("{what} may be lost, and the capture cannot prove it"));
    }
    if account.datagrams.unfollowed > 0 {
        let what = counted(account.datagrams.unfollowed, "datagram");
        return (
            Verdict::Inconclusive,
            format!("{what} of streams beyond the most that are followed were not judged"),
        );
    }
    if account.datagrams.unread > 0 {
        let what = counted(account.datagrams.unread, "datagram");
        return (Verdict::Inconclusive, format!("{what} cut before the number by the capture, not judged"));
    }
    (Verdict::Pass, pass_reason(account))
}

/// The verdict on what a filter left: nothing at all was no test, and every reason names the filter.
pub(crate) fn filtered((verdict, reason): (Verdict, String), filter: &Filtered) -> (Verdict, String) {
    let all = filter.streams + filter.streams_left_out;
    let which =
        format!("filtered, {} of {} where {}", filter.streams, counted(all, "stream"), filter.expression);
    match (filter.streams, verdict) {
        (0, Verdict::Pass) => {
            (Verdict::Inconclusive, format!("no stream fits the filter, nothing was judged ({which})"))
        }
        _ => (verdict, format!("{reason} ({which})")),
    }
}

fn worst<'a>(findings: &[&'a Finding]) -> Option<&'a Finding> {
    findings.iter().copied().reduce(|a, b| if b.count > a.count { b } else { a })
}

fn fail_reason(findings: u64, worst: &Finding) -> String {
    let what = counted(findings, "violation");
    format!("{what}, first {} {}: {}", worst.id, worst.code, clean(&worst.text))
}

fn pass_reason(account: &Account) -> String {
    if account.datagrams.lighting == 0 {
        return NOTHING_SEEN.to_owned();
    }
    let number = |s: Severity| counting(account).filter(|f| f.severity == s).count() as u64;
    let found = match (number(Severity::Warning), number(Severity::Info)) {
        (0, 0) => "nothing found".to_owned(),
        (0, infos) => format!("nothing worse than info ({infos} info)"),
        (warnings, _) => format!("no violation ({})", counted(warnings, "warning")),
    };
    match waiver::waived(account) {
        0 => found,
        n => format!("{found}; {} waived", counted(n, "finding")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample;

    fn finding(severity: Severity, tainted: bool) -> Finding {
        Finding { severity, tainted, ..sample::finding("f0001", "SEQ-LOST") }
    }

    fn of(findings: Vec<Finding>) -> Account {
        let mut account = Account { findings, ..Account::default() };
        account.datagrams.lighting = 10;
        account
    }

    fn verdict(account: &Account) -> Verdict {
        judge(account, &Observer::default(), false).0
    }

    #[test]
    fn streams_that_were_not_followed_leave_the_verdict_open() {
        let mut account = of(vec![]);
        account.datagrams.unfollowed = 1;
        assert_eq!(verdict(&account), Verdict::Inconclusive);
    }

    #[test]
    fn datagrams_cut_before_their_number_leave_the_verdict_open() {
        let mut account = of(vec![]);
        account.datagrams.unread = 3;
        let (verdict, reason) = judge(&account, &Observer::default(), false);
        assert_eq!(
            (verdict, reason.starts_with("3 datagrams cut")),
            (Verdict::Inconclusive, true),
            "{reason}"
        );
    }

    #[test]
    fn an_untainted_violation_fails() {
        assert_eq!(verdict(&of(vec![finding(Severity::Violation, false)])), Verdict::Fail);
    }

    #[test]
    fn a_tainted_violation_is_inconclusive() {
        assert_eq!(verdict(&of(vec![finding(Severity::Violation, true)])), Verdict::Inconclusive);
    }

    #[test]
    fn an_untainted_violation_outweighs_a_tainted_one() {
        let both = vec![finding(Severity::Violation, true), finding(Severity::Violation, false)];
        assert_eq!(verdict(&of(both)), Verdict::Fail);
    }

    #[test]
    fn a_loss_beyond_what_is_proven_is_inconclusive() {
        let mut account = of(Vec::new());
        let mut stream = sample::stream();
        (stream.sequence.lost, stream.sequence.lost_min) = (16, 0);
        account.streams.push(stream);
        let (verdict, reason) = judge(&account, &Observer::default(), false);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert_eq!(reason, "16 datagrams may be lost, and the capture cannot prove it");
    }

    #[test]
    fn a_violation_outweighs_ambiguity() {
        let mut account = of(vec![finding(Severity::Violation, false)]);
        let mut stream = sample::stream();
        (stream.sequence.lost, stream.sequence.lost_min) = (16, 0);
        account.streams.push(stream);
        assert_eq!(verdict(&account), Verdict::Fail);
    }

    #[test]
    fn warnings_and_infos_pass() {
        let account = of(vec![finding(Severity::Warning, false), finding(Severity::Info, false)]);
        let (verdict, reason) = judge(&account, &Observer::default(), false);
        assert_eq!((verdict, reason.as_str()), (Verdict::Pass, "no violation (1 warning)"));
    }

    #[test]
    fn a_loss_of_the_observer_makes_everything_invalid() {
        let account = of(vec![finding(Severity::Violation, false)]);
        let observer = Observer { lost: 1, ..Observer::default() };
        let (verdict, reason) = judge(&account, &observer, true);
        assert_eq!((verdict, reason.as_str()), (Verdict::Invalid, "the observer itself lost 1 datagram"));
    }

    #[test]
    fn a_run_cut_short_is_partial_whatever_was_found() {
        let account = of(vec![finding(Severity::Violation, false)]);
        let (verdict, reason) = judge(&account, &Observer::default(), true);
        assert_eq!(verdict, Verdict::Partial);
        assert_eq!(reason, "the run ended before its time, 1 violation was found so far");
        let reason = judge(&of(Vec::new()), &Observer::default(), true).1;
        assert_eq!(reason, "the run ended before its time, no violation was found so far");
    }

    #[test]
    fn a_run_without_lighting_says_that_nothing_was_judged() {
        let (verdict, reason) = judge(&Account::default(), &Observer::default(), false);
        assert_eq!(verdict, Verdict::Pass);
        assert!(reason.starts_with("no lighting datagrams, nothing was judged: "), "{reason}");
        assert!(reason.contains("--rig"), "{reason}");
    }

    #[test]
    fn the_order_of_verdicts_is_their_precedence() {
        let order = [Verdict::Pass, Verdict::Inconclusive, Verdict::Fail, Verdict::Partial, Verdict::Invalid];
        assert!(order.is_sorted());
        assert_eq!(order.map(Verdict::exit_code), [0, 3, 1, 5, 4]);
    }
}
