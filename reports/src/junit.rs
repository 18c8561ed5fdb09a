//! JUnit XML for CI, as every report writes it; of a run one test case a stream and code: a violation is a failure, one
//! that cannot be held against anybody is skipped, a run that says nothing is an error.

use crate::page;
use crate::summary::{Finding, Stream, Summary};
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wireproof_protocols::words::counted;

/// What a test case ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It holds.
    Passed,
    /// Nothing can be said.
    Skipped,
    /// It does not hold.
    Failure,
    /// The run is worth nothing.
    Error,
}

/// A test case.
pub(crate) struct Case {
    /// What is tested.
    pub(crate) name: String,
    /// What came of it.
    pub(crate) end: End,
    /// Why, in a line.
    pub(crate) message: String,
    /// More of it.
    pub(crate) detail: String,
}

/// A whole report.
pub(crate) struct Suite<'a> {
    /// What made it.
    pub(crate) tool: &'a str,
    /// Name of the suite.
    pub(crate) name: &'a str,
    /// Class of its cases.
    pub(crate) class: &'a str,
    /// Word of the verdict.
    pub(crate) word: &'a str,
    /// Facts by name.
    pub(crate) properties: &'a [(&'a str, String)],
    /// Cases.
    pub(crate) cases: &'a [Case],
    /// What is said about the whole.
    pub(crate) talk: &'a str,
}

impl Suite<'_> {
    /// Writes the report.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let number = |end: End| self.cases.iter().filter(|case| case.end == end).count();
        let totals = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
            self.cases.len(),
            number(End::Failure),
            number(End::Error),
            number(End::Skipped)
        );
        writeln!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {totals}>",
            self.tool
        )?;
        writeln!(out, "  <testsuite name=\"{}\" {totals}>\n    <properties>", escape(self.name))?;
        for (name, value) in self.properties {
            writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", escape(value))?;
        }
        writeln!(out, "    </properties>")?;
        self.cases.iter().try_for_each(|case| self.case(case, out))?;
        writeln!(out, "    <system-out>{}</system-out>", escape(self.talk))?;
        writeln!(out, "  </testsuite>\n</testsuites>")
    }

    fn case(&self, case: &Case, out: &mut dyn Write) -> io::Result<()> {
        let head =
            format!("    <testcase classname=\"{}\" name=\"{}\"", escape(self.class), escape(&case.name));
        let (word, message, detail) = (self.word, escape(&case.message), escape(&case.detail));
        match case.end {
            End::Passed => writeln!(out, "{head}><system-out>{detail}</system-out></testcase>"),
            End::Skipped => {
                writeln!(
                    out,
                    "{head}><skipped message=\"{message}\"/><system-out>{detail}</system-out></testcase>"
                )
            }
            End::Failure => {
                writeln!(
                    out,
                    "{head}><failure type=\"FAIL\" message=\"{message}\">{detail}</failure></testcase>"
                )
            }
            End::Error => {
                writeln!(
                    out,
                    "{head}><error type=\"{word}\" message=\"{message}\">{detail}</error></testcase>"
                )
            }
        }
    }
}

/// Writes the run.
pub(crate) fn write(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let mut properties = vec![
        ("verdict", s.verdict.word().to_owned()),
        ("source", s.source.name.clone()),
        ("datagrams", s.datagrams.lighting.to_string()),
        ("lost", s.totals.lost.to_string()),
        ("observer_lost", s.observer.lost.to_string()),
    ];
    properties.extend(s.filter.as_ref().map(|f| ("filter", f.expression.clone())));
    properties.extend(s.alerts.as_ref().map(|alerts| ("alerts", alerts.words())));
    let limits = s.limits.iter().map(|limit| format!("does not show: {limit}"));
    let waivers = s.waivers.iter().map(|w| {
        let (used, limit, state) = (w.used, w.limit(), w.state.name());
        format!(
            "waiver {} of {} ({}): {state}, {used} of {limit}, until {}: {}",
            w.id, w.code, w.streams, w.expires, w.reason
        )
    });
    let lines: Vec<String> = std::iter::once(s.reason.clone()).chain(limits).chain(waivers).collect();
    Suite {
        tool: "wireproof",
        name: &s.source.name,
        class: "wireproof",
        word: s.verdict.word(),
        properties: &properties,
        cases: &cases(s),
        talk: &lines.join("\n"),
    }
    .write(out)
}

/// A case for every code found on a stream, one for every stream without, and one for the run where none of them shows
/// what it amounts to.
fn cases(s: &Summary) -> Vec<Case> {
    let mut by_stream: BTreeMap<(Option<usize>, &str), Vec<&Finding>> = BTreeMap::new();
    for f in s.findings.iter().filter(|f| f.severity != "info") {
        by_stream.entry((f.stream, f.code.as_str())).or_default().push(f);
    }
    let mut cases: Vec<Case> = by_stream
        .iter()
        .filter(|((stream, _), _)| stream.is_none())
        .map(|(key, list)| case(s, key, list))
        .collect();
    for (at, stream) in s.streams.iter().enumerate() {
        let own = by_stream.range((Some(at), "")..(Some(at + 1), ""));
        let before = cases.len();
        cases.extend(own.map(|(key, list)| case(s, key, list)));
        if cases.len() == before {
            cases.push(Case {
                name: name(at, stream),
                end: End::Passed,
                message: String::new(),
                detail: held(stream),
            });
        }
    }
    let end = match s.verdict {
        // Nothing was there that could fail.
        Verdict::Pass if s.datagrams.lighting == 0 => End::Skipped,
        Verdict::Pass => End::Passed,
        Verdict::Inconclusive => End::Skipped,
        Verdict::Fail => End::Failure,
        Verdict::Invalid | Verdict::Partial => End::Error,
    };
    if end == End::Passed && cases.is_empty()
        || end != End::Passed && cases.iter().all(|case| case.end != end)
    {
        cases.push(Case { name: "run".to_owned(), end, message: s.reason.clone(), detail: s.reason.clone() });
    }
    cases
}

fn case(s: &Summary, (stream, code): &(Option<usize>, &str), list: &[&Finding]) -> Case {
    let place = stream.and_then(|at| Some(name(at, s.streams.get(at)?))).unwrap_or_else(|| "run".to_owned());
    let violation = |f: &&&Finding| f.severity == "violation" && f.waiver.is_none();
    let waiver = list.iter().find_map(|f| s.waiver_of(f));
    let end = match (list.iter().any(|f| violation(&f) && !f.tainted), list.iter().any(|f| violation(&f))) {
        (true, _) => End::Failure,
        (false, true) => End::Skipped,
        _ if waiver.is_some() => End::Skipped,
        _ => End::Passed,
    };
    let texts: Vec<String> =
        list.iter().take(8).map(|f| format!("{} x{} {}", f.id, f.count, f.text)).collect();
    let more = list.len().saturating_sub(texts.len());
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    let severity = if end == End::Passed { "warning, no failure: " } else { "" };
    let waived = waiver.map(|w| format!("waived by {} until {}: {}", w.id, w.expires, w.reason));
    let text = list.iter().find(|f| f.waiver.is_none()).or(list.first()).map(|f| f.text.clone());
    let message = waived.filter(|_| end == End::Skipped && !list.iter().any(|f| violation(&f)));
    let message = message.or(text).unwrap_or_default();
    let detail = format!("{severity}{}{more}\nsee: wireproof explain {code}", texts.join("\n"));
    Case { name: format!("{place}: {code}"), end, message, detail }
}

fn name(at: usize, s: &Stream) -> String {
    format!("stream {at} {}/{} {} from {}", s.protocol, s.kind, s.stream_id, s.source)
}

fn held(s: &Stream) -> String {
    format!(
        "{}, {} lost; {} of {} complete",
        counted(s.datagrams, "datagram"),
        s.sequence.lost,
        s.frames.complete,
        counted(s.frames.seen, "frame")
    )
}

/// Text fit for XML 1.0: markup escaped, characters that it cannot hold made visible, line feeds kept.
pub(crate) fn escape(text: &str) -> String {
    let line = |line: &str| page::escape(line).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::summary;

    fn text(s: &Summary) -> String {
        let mut out = Vec::new();
        write(s, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn violations_are_failures_warnings_are_not_and_streams_without_findings_pass() {
        let text = text(&summary());
        assert!(text.contains("<testsuite name=\"show\\u{1b}.pcapng\" tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"0\">"), "{text}");
        assert!(
            text.contains(
                "name=\"stream 0 sacn/data 1 from 192.168.0.2:5568: SEQ-LOST\"><failure type=\"FAIL\""
            ),
            "{text}"
        );
        assert!(text.contains("name=\"run: SEQ-DUPLICATE\"><system-out>warning, no failure: "), "{text}");
        assert!(
            text.contains("name=\"stream 1 ddp/display 1 from [fe80::1]:4048\"><system-out>591 datagrams"),
            "{text}"
        );
        assert!(text.contains("see: wireproof explain FRAME-TORN"), "{text}");
    }

    #[test]
    fn what_cannot_be_held_against_anybody_is_skipped_and_a_spoiled_run_is_an_error() {
        let mut s = summary();
        s.findings.iter_mut().for_each(|f| f.tainted = true);
        s.verdict = Verdict::Invalid;
        let text = text(&s);
        assert!(text.contains("tests=\"5\" failures=\"0\" errors=\"1\" skipped=\"2\""), "{text}");
        assert!(text.contains("name=\"run\"><error type=\"INVALID\""), "{text}");
    }

    #[test]
    fn a_run_that_saw_nothing_has_a_case() {
        let mut s = summary();
        (s.streams, s.findings, s.verdict) = (Vec::new(), Vec::new(), Verdict::Pass);
        assert!(text(&s).contains("tests=\"1\" failures=\"0\""));
    }
}
