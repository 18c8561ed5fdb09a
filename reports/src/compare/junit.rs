//! A comparison as JUnit XML: one test case a figure that decides, be it by its budget alone.

use super::Comparison;
use crate::Verdict;
use crate::junit::escape;
use std::io::{self, Write};
use wireproof_matrices::compare::Grade;
use wireproof_matrices::plan::Class;

/// The element within a test case, if it has one, and what stands in it.
type Case = (String, Option<&'static str>, String);

/// Writes the suite.
pub(super) fn write(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let cases = cases(c);
    let number = |element| cases.iter().filter(|(_, end, _)| *end == Some(element)).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len(),
        number("failure"),
        number("error"),
        number("skipped")
    );
    let marked = if c.allowed_differences.is_empty() { "" } else { " (different runs)" };
    let suite = escape(&format!("{} against {}{marked}", c.run.name, c.baseline.name));
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"wireproof compare\" {totals}>"
    )?;
    writeln!(out, "  <testsuite name=\"{suite}\" {totals}>")?;
    for (name, end, text) in &cases {
        let (name, text) = (escape(name), escape(text));
        let inner = end.map_or_else(
            || format!("<system-out>{text}</system-out>"),
            |end| format!("<{end} message=\"{text}\"/>"),
        );
        writeln!(out, "    <testcase classname=\"{suite}\" name=\"{name}\">{inner}</testcase>")?;
    }
    writeln!(out, "    <system-out>{}</system-out>", escape(&c.line()))?;
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn cases(c: &Comparison) -> Vec<Case> {
    let rows = c.rows.iter().filter_map(|row| Some((row, row.decides()?)));
    let mut cases: Vec<Case> = rows
        .map(|(row, grade)| {
            let [metric, baseline, now, change, ratio, budget, says] = row.cells();
            let text = format!(
                "{says}: {baseline} then, {now} here ({change} {}), ratio {ratio}, budget {budget}",
                row.unit.word()
            );
            (metric, end(grade), text.replace(" )", ")"))
        })
        .collect();
    let missing = c.not_compared.iter().filter(|one| one.class == Class::Gate || one.budget.is_some());
    cases.extend(missing.map(|one| {
        let over = one.budget.as_ref().is_some_and(|budget| budget.verdict == Grade::Fail);
        let held =
            one.class == Class::Diagnostic && one.budget.as_ref().is_some_and(|b| b.verdict == Grade::Pass);
        let end = if over { Some("failure") } else { Some("skipped").filter(|_| !held) };
        (one.metric.clone(), end, one.says())
    }));
    if matches!(c.verdict, Verdict::Invalid | Verdict::Partial) {
        cases.push(("run".to_owned(), Some("error"), c.line()));
    }
    cases
}

fn end(grade: Grade) -> Option<&'static str> {
    match grade {
        Grade::Pass | Grade::Warn => None,
        Grade::Inconclusive => Some("skipped"),
        Grade::Fail => Some("failure"),
    }
}
