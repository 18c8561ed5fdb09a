//! Statements about an account, and whether they hold.

use super::{Ledger, Run};
use wireproof_protocols::verify::{Finding, OutputAccount, StreamAccount};
use wireproof_reports::{Summary, Verdict};

/// One statement. Streams and outputs are named by their index in order of first appearance.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The verdict.
    Is(Verdict),
    /// Any verdict but this one.
    IsNot(Verdict),
    /// Number of streams.
    Streams(usize),
    /// Number of outputs.
    Outputs(usize),
    /// Sum of `count` over the findings with this code and severity.
    Counts(&'static str, &'static str, u64),
    /// Streams with a finding of this code, or findings where they belong to no stream.
    Places(&'static str, usize),
    /// No finding with this code, or with a code that starts so.
    Never(&'static str),
    /// No finding of this severity or worse.
    NothingOf(&'static str),
    /// A finding of the first code has this in its text, `expected` or `got`.
    Says(&'static str, &'static str),
    /// The first finding of a code stands at this record.
    At(&'static str, u64),
    /// The first finding of the one code comes before that of the other.
    Before(&'static str, &'static str),
    /// The numbering of a stream.
    Model(usize, &'static str),
    /// Destinations of a stream.
    Goes(usize, &'static [&'static str]),
    /// Sessions of a stream.
    Sessions(usize, u64),
    /// `ended` of a stream.
    Ended(usize, &'static str),
    /// Name of a stream.
    Named(usize, &'static str),
    /// Longest interval of an output's frames, ms.
    Longest(usize, u64),
    /// Streams, datagrams and octets of an output's frame.
    Shape(usize, usize, u32, u64),
    /// Frames of an output: seen, torn, unterminated.
    Frames(usize, u64, u64, u64),
    /// `explicit`, `all_data`, `timeout`, `missed` of an output.
    Sync(usize, [u64; 4]),
    /// Frames a second of an output within 1 %.
    Rate(usize, f64),
}
use Claim::{
    At, Before, Counts, Ended, Frames, Goes, Is, IsNot, Longest, Model, Named, Never, NothingOf, Outputs,
    Places, Rate, Says, Sessions, Shape, Streams, Sync,
};

/// All claims about one capture.
pub(crate) fn check(run: &Run, claims: &[Claim], ledger: &mut Ledger) {
    for claim in claims {
        if let Err(got) = judge(run, claim) {
            ledger.hold(run, false, || format!("{claim:?}: {got}"));
        } else {
            ledger.hold(run, true, String::new);
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("got {got:?}")) }
}

fn judge(run: &Run, claim: &Claim) -> Result<(), String> {
    match claim {
        Is(_) | IsNot(_) | Streams(_) | Outputs(_) => of_run(run, &run.summary, claim),
        Counts(..) | Places(..) | Never(_) | NothingOf(_) | Says(..) | At(..) | Before(..) => {
            of_findings(run, claim)
        }
        Model(i, _) | Goes(i, _) | Sessions(i, _) | Ended(i, _) | Named(i, _) => {
            let stream = run.account.streams.get(*i).ok_or("no such stream")?;
            of_stream(stream, claim)
        }
        Longest(i, _) | Shape(i, ..) | Frames(i, ..) | Sync(i, _) | Rate(i, _) => {
            let output = run.account.outputs.get(*i).ok_or("no such output")?;
            of_output(output, claim)
        }
    }
}

fn of_run(run: &Run, summary: &Summary, claim: &Claim) -> Result<(), String> {
    let verdict = summary.verdict();
    match claim {
        Is(expected) if *expected != verdict => Err(format!("got {verdict:?}: {}", summary.reason)),
        IsNot(bad) if *bad == verdict => Err(format!("got it: {}", summary.reason)),
        Streams(n) => same(n, &run.account.streams.len()),
        Outputs(n) => same(n, &run.account.outputs.len()),
        _ => Ok(()),
    }
}

fn of_findings(run: &Run, claim: &Claim) -> Result<(), String> {
    let all = &run.account.findings;
    let first = |code: &str| all.iter().find(|f| f.code == code).map(|f| f.first_packet);
    match claim {
        Counts(code, severity, n) => {
            let these = all.iter().filter(|f| f.code == *code && f.severity.name() == *severity);
            same(n, &these.map(|f| f.count).sum())
        }
        Places(code, n) => {
            let mut streams: Vec<_> = all.iter().filter(|f| f.code == *code).map(|f| f.stream).collect();
            streams.dedup();
            same(n, &streams.len())
        }
        Never(code) => none(all.iter().filter(|f| f.code.starts_with(code))),
        NothingOf(severity) => none(all.iter().filter(|f| rank(f.severity.name()) >= rank(severity))),
        Says(code, words) => {
            let mut these = all.iter().filter(|f| f.code == *code);
            let said = these.any(|f| [&f.text, &f.expected, &f.got].iter().any(|t| t.contains(words)));
            if said { Ok(()) } else { Err("no such words".to_owned()) }
        }
        At(code, record) => same(&Some(*record), &first(code)),
        Before(a, b) if first(a) >= first(b) => Err(format!("at {:?} and {:?}", first(a), first(b))),
        _ => Ok(()),
    }
}

fn none<'a>(findings: impl Iterator<Item = &'a Finding>) -> Result<(), String> {
    let list: Vec<String> = findings.map(|f| format!("{} x{} `{}`", f.code, f.count, f.text)).collect();
    if list.is_empty() { Ok(()) } else { Err(list.join(", ")) }
}

fn rank(severity: &str) -> usize {
    ["info", "warning", "violation"].iter().position(|s| *s == severity).unwrap()
}

fn of_stream(stream: &StreamAccount, claim: &Claim) -> Result<(), String> {
    match claim {
        Model(_, model) => same(&(*model).to_owned(), &stream.sequence.model),
        Goes(_, listed) => {
            let got: Vec<String> = stream.destinations.iter().map(ToString::to_string).collect();
            let all = listed.iter().all(|d| got.iter().any(|g| g == d));
            if all { Ok(()) } else { Err(format!("got {got:?}")) }
        }
        Sessions(_, n) => same(n, &stream.sessions),
        Ended(_, how) => same(how, &stream.ended.name()),
        Named(_, name) => same(&Some((*name).to_owned()), &stream.name),
        _ => Ok(()),
    }
}

fn of_output(output: &OutputAccount, claim: &Claim) -> Result<(), String> {
    let (frames, sync) = (output.frames, output.sync);
    match claim {
        Longest(_, ms) => same(ms, &(output.frame_interval_ns.max / 1_000_000)),
        Shape(_, streams, datagrams, octets) => {
            let got = (output.streams.len(), output.datagrams_per_frame, output.octets_per_frame);
            same(&(*streams, *datagrams, *octets), &got)
        }
        Frames(_, seen, torn, open) => {
            same(&(*seen, *torn, *open), &(frames.seen, frames.torn, frames.unterminated))
        }
        Sync(_, outcomes) => same(outcomes, &[sync.explicit, sync.all_data, sync.timeout, sync.missed]),
        Rate(_, hz) => {
            let got = output.rate_mhz as f64 / 1e3;
            if (got - hz).abs() <= hz / 100.0 { Ok(()) } else { Err(format!("got {got}")) }
        }
        _ => Ok(()),
    }
}
