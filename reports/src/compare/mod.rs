//! A run against a baseline (`wireproof.compare/1`): one row a figure, each by the rule of growth and by its budget.
//!
//! It judges by the rules of the matrices crate alone, and refuses what must not be compared.

mod junit;
mod sheet;

use crate::baseline::{Baseline, Conditions, Snapshot, class, pretty};
use crate::csv::cell;
use crate::{Format, RenderError, Style, Verdict};
use serde::{Deserialize, Serialize};
use std::io::Write;
use wireproof_matrices::compare::{self as rule, Better, BudgetLine, Budgets, Figure, Grade, Measure};
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::Class;
use wireproof_matrices::verdict::Outcome;

/// Name and version of the record.
pub const SCHEMA: &str = "wireproof.compare/1";

/// A run against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// What it amounts to.
    pub verdict: Verdict,
    /// Why, one sentence each, most important first.
    pub reasons: Vec<String>,
    /// The baseline.
    pub baseline: Side,
    /// When it was chosen, ns since 1970.
    pub set_ns: i64,
    /// Why it was chosen.
    pub set_because: Option<String>,
    /// The run.
    pub run: Side,
    /// Metrics and the versions of their definitions, in words.
    pub definitions: String,
    /// What differs between the two and was let pass; anything here marks every report.
    pub allowed_differences: Vec<String>,
    /// Figures of both, in the order of the gates.
    pub rows: Vec<Row>,
    /// Figures that were not compared.
    pub not_compared: Vec<NotCompared>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Name of the baseline, or of the run's plan.
    pub name: String,
    /// Name of the bundle's folder.
    pub bundle: String,
    /// SHA-256 of its manifest; null when it is not sealed.
    pub manifest_sha256: Option<String>,
    /// Hash of the plan.
    pub plan_sha256: String,
    /// Build of the device.
    pub device_build: String,
    /// What the run itself amounts to.
    pub verdict: Outcome,
    /// What was so while it was made.
    pub conditions: Conditions,
}

/// A figure then and now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name.
    pub metric: String,
    /// Whether its growth decides; a budget always does.
    pub class: Class,
    /// Unit of every figure of the row.
    pub unit: Measure,
    /// Which way it gets worse.
    pub better: Better,
    /// What it was.
    pub baseline: i64,
    /// What it is.
    pub now: i64,
    /// Now minus baseline.
    pub change: i64,
    /// Now over baseline, three decimals; null over a baseline at or below zero.
    pub ratio: Option<Number>,
    /// Growth that is noise.
    pub floor: i64,
    /// Its ceiling.
    pub budget: Option<BudgetRow>,
    /// What the growth is worth.
    pub growth: Grade,
    /// The worst of growth and budget.
    pub verdict: Grade,
    /// The same in words.
    pub says: String,
}

/// A ceiling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRow {
    /// The most that is allowed.
    pub ceiling: i64,
    /// Under what it was written to hold.
    pub condition: Option<String>,
    /// What the figure is worth by it; inconclusive when the condition did not hold.
    pub verdict: Grade,
}

/// A figure that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotCompared {
    /// Its name.
    pub metric: String,
    /// Whether it decides.
    pub class: Class,
    /// Why.
    pub why: String,
    /// What it is in its unit, where the run has it and it has a ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<i64>,
    /// Its ceiling, which holds without a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetRow>,
}

impl NotCompared {
    /// Why, and what its ceiling says.
    fn says(&self) -> String {
        let budget = self.budget.as_ref().zip(self.now);
        let held = budget.map(|(budget, now)| {
            format!("; {} by its budget of {}: {now} here", budget.verdict.word(), budget.ceiling)
        });
        format!("{}{}", self.why, held.unwrap_or_default())
    }
}

/// Why two runs are not compared at all: what differs, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Definitions of metrics differ: nothing allows that.
    Definitions(Vec<String>),
    /// Conditions differ, which may be allowed.
    Conditions(Vec<String>),
}

impl Comparison {
    /// The formats of a comparison, in the order of the help text.
    pub const FORMATS: [Format; 6] =
        [Format::Table, Format::Json, Format::Csv, Format::Markdown, Format::Junit, Format::Html];

    /// Compares a run with a baseline.
    ///
    /// # Errors
    /// [`Refusal::Definitions`] across versions of a metric's definition, always; [`Refusal::Conditions`] when metric set,
    /// build, pins, frame rate, stream table or gates differ and that is not allowed.
    pub fn of(
        baseline: &Baseline,
        run: &Snapshot,
        budgets: &Budgets,
        allow_different: bool,
    ) -> Result<Comparison, Refusal> {
        let differ = baseline.run.identity.differences(&run.identity);
        if !differ.versions.is_empty() {
            return Err(Refusal::Definitions(differ.versions));
        }
        if !allow_different && !differ.conditions.is_empty() {
            return Err(Refusal::Conditions(differ.conditions));
        }
        let (rows, not_compared) = rows(&baseline.run, run, budgets);
        let mut comparison = Comparison {
            schema: SCHEMA.to_owned(),
            verdict: Verdict::Pass,
            reasons: Vec::new(),
            baseline: side(&baseline.name, &baseline.run),
            set_ns: baseline.set_ns,
            set_because: baseline.reason.clone(),
            run: side(&run.plan, run),
            definitions: run.definitions(),
            allowed_differences: differ.conditions,
            rows,
            not_compared,
        };
        comparison.judge();
        Ok(comparison)
    }

    /// Figures that decide, each with its grade: gates by growth and budget, every other by its budget alone.
    fn decisive(&self) -> impl Iterator<Item = (&str, Grade)> {
        let rows = self.rows.iter().filter_map(|row| Some((row.metric.as_str(), row.decides()?)));
        let alone = self.not_compared.iter();
        rows.chain(alone.filter_map(|one| Some((one.metric.as_str(), one.budget.as_ref()?.verdict))))
    }

    /// Rows that decide: a run that says nothing says nothing here either, whatever its figures are.
    fn judge(&mut self) {
        let named = |grade: Grade| -> Vec<&str> {
            self.decisive().filter(|(_, of)| *of == grade).map(|(metric, _)| metric).collect()
        };
        let missing = || self.not_compared.iter().filter(|one| one.class == Class::Gate);
        let missing: Vec<&str> = missing().map(|one| one.metric.as_str()).collect();
        let said = [
            (Verdict::Invalid, self.run.verdict == Outcome::Invalid, "the run itself is INVALID".to_owned()),
            (Verdict::Partial, self.run.verdict == Outcome::Partial, "the run itself is PARTIAL".to_owned()),
            told(Verdict::Fail, &named(Grade::Fail), "got worse or is over budget"),
            told(
                Verdict::Inconclusive,
                &named(Grade::Inconclusive),
                "has a budget whose condition did not hold",
            ),
            told(Verdict::Inconclusive, &missing, "was not compared"),
            (
                Verdict::Inconclusive,
                self.decisive().next().is_none(),
                "no figure that decides was compared".to_owned(),
            ),
        ];
        let mut said: Vec<(Verdict, String)> =
            said.into_iter().filter(|(_, holds, _)| *holds).map(|(verdict, _, why)| (verdict, why)).collect();
        said.extend(
            Some(named(Grade::Warn)).filter(|warned| !warned.is_empty()).map(|warned| {
                (Verdict::Pass, format!("{} grew past 5 %, or from nothing", warned.join(", ")))
            }),
        );
        self.verdict = said.iter().map(|(verdict, _)| *verdict).max().unwrap_or(Verdict::Pass);
        if said.is_empty() {
            said.push((Verdict::Pass, "no figure that decides got worse".to_owned()));
        }
        self.reasons = said.into_iter().map(|(_, why)| why).collect();
    }

    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a comparison has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        if let Some(written) = sheet::of(self).render(format, style, out) {
            return written;
        }
        match format {
            Format::Json => pretty(self, out),
            Format::Csv => self.csv(out),
            Format::Junit => Ok(junit::write(self, out)?),
            _ => Err(format.missing("a comparison")),
        }
    }

    /// One line: the word and why.
    pub fn line(&self) -> String {
        let marked = if self.allowed_differences.is_empty() { "" } else { "of different runs, as allowed: " };
        format!("{}: {marked}{}", self.verdict.word(), self.reasons.join("; "))
    }

    fn csv(&self, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(HEADER)?;
        for row in &self.rows {
            let budget = row.budget.as_ref();
            writer.write_record([
                cell(&row.metric),
                class(row.class).to_owned(),
                row.unit.name().to_owned(),
                row.baseline.to_string(),
                row.now.to_string(),
                row.change.to_string(),
                row.ratio.map(|ratio| format!("{:.3}", ratio.0)).unwrap_or_default(),
                budget.map(|budget| budget.ceiling.to_string()).unwrap_or_default(),
                budget.and_then(|budget| budget.condition.as_deref()).map(cell).unwrap_or_default(),
                row.growth.word().to_owned(),
                row.verdict.word().to_owned(),
                (!self.allowed_differences.is_empty()).to_string(),
            ])?;
        }
        Ok(writer.flush()?)
    }
}

const HEADER: [&str; 12] = [
    "metric",
    "class",
    "unit",
    "baseline",
    "now",
    "change",
    "ratio",
    "budget",
    "condition",
    "growth",
    "verdict",
    "different_runs",
];

fn told(verdict: Verdict, names: &[&str], what: &str) -> (Verdict, bool, String) {
    (verdict, !names.is_empty(), format!("{} {what}", names.join(", ")))
}

fn side(name: &str, run: &Snapshot) -> Side {
    Side {
        name: name.to_owned(),
        bundle: run.bundle.clone(),
        manifest_sha256: run.manifest_sha256.clone(),
        plan_sha256: run.plan_sha256.clone(),
        device_build: run.identity.device_build.clone(),
        verdict: run.verdict,
        conditions: run.conditions,
    }
}

/// Figures of both; those of one only, or of another unit, with the reason.
fn rows(then: &Snapshot, run: &Snapshot, budgets: &Budgets) -> (Vec<Row>, Vec<NotCompared>) {
    let (mut rows, mut not_compared) = (Vec::new(), Vec::new());
    for now in &run.figures {
        let baseline = then.figures.iter().find(|figure| figure.metric == now.metric);
        let why = match baseline {
            Some(figure) if (figure.unit, figure.better) == (now.unit, now.better) => {
                rows.push(row(figure, now, budgets, &run.conditions));
                continue;
            }
            Some(_) => "its unit or direction is another one in the baseline",
            None => "the baseline has no such figure",
        };
        let budget = budgets.of(&now.metric, &run.conditions.facts());
        not_compared.push(NotCompared {
            metric: now.metric.clone(),
            class: now.class,
            why: why.to_owned(),
            now: budget.is_some().then_some(now.value),
            budget: budget.map(|(line, budget)| ceiling(line, alone(&budget, now.value))),
        });
    }
    let gone = then.figures.iter().filter(|old| run.figures.iter().all(|now| now.metric != old.metric));
    not_compared.extend(gone.map(|old| NotCompared {
        metric: old.metric.clone(),
        class: old.class,
        why: "the run has no such figure".to_owned(),
        now: None,
        budget: None,
    }));
    (rows, not_compared)
}

/// What a ceiling says of a figure without a baseline.
fn alone(budget: &rule::Budget, now: i64) -> Grade {
    match &budget.unmet {
        Some(_) => Grade::Inconclusive,
        None => rule::against_budget(now, Some(budget.limit)).unwrap_or(Grade::Pass),
    }
}

fn ceiling(line: &BudgetLine, verdict: Grade) -> BudgetRow {
    let condition = line.condition.as_ref().map(|condition| condition.text().to_owned());
    BudgetRow { ceiling: line.ceiling, condition, verdict }
}

fn row(then: &Figure, now: &Figure, budgets: &Budgets, conditions: &Conditions) -> Row {
    let budget = budgets.of(&now.metric, &conditions.facts());
    let plain = rule::Row {
        metric: now.metric.clone(),
        baseline: then.value,
        now: now.value,
        floor: then.floor,
        budget: budget.as_ref().map(|(_, budget)| budget.clone()),
        unit: now.unit,
        better: now.better,
    };
    let budget = budget.map(|(line, _)| ceiling(line, plain.budget_grade().unwrap_or(Grade::Pass)));
    let ratio = rule::ratio_thousandths(then.value, now.value).map(|ratio| Number(ratio as f64 / 1000.0));
    Row {
        class: now.class,
        change: now.value.saturating_sub(then.value),
        ratio,
        budget,
        growth: plain.growth(),
        verdict: plain.grade(),
        says: says(&plain, now.class),
        metric: plain.metric,
        unit: plain.unit,
        better: plain.better,
        baseline: plain.baseline,
        now: plain.now,
        floor: plain.floor,
    }
}

/// The grade in words; growth of a diagnostic that looks like a failure is said to decide nothing.
fn says(plain: &rule::Row, class: Class) -> String {
    match (class, plain.growth(), plain.budget_grade()) {
        (Class::Diagnostic, Grade::Fail, None) => "fail (a diagnostic, decides nothing)".to_owned(),
        (Class::Diagnostic, Grade::Fail, Some(Grade::Fail)) => plain.verdict(),
        (Class::Diagnostic, Grade::Fail, Some(held)) => {
            format!("fail (a diagnostic, decides nothing; its budget: {})", held.word())
        }
        _ => plain.verdict(),
    }
}

impl Row {
    /// The grade that decides, if the row does: growth is a gate's alone, a ceiling holds whatever the class.
    fn decides(&self) -> Option<Grade> {
        match self.class {
            Class::Gate => Some(self.verdict),
            Class::Diagnostic => self.budget.as_ref().map(|budget| budget.verdict),
        }
    }

    /// Cells of a table, as the rule has them; the verdict as it is recorded.
    fn cells(&self) -> [String; 7] {
        let budget = self.budget.as_ref().map(|row| rule::Budget { limit: row.ceiling, unmet: None });
        let plain = rule::Row {
            metric: self.metric.clone(),
            baseline: self.baseline,
            now: self.now,
            floor: self.floor,
            budget,
            unit: self.unit,
            better: self.better,
        };
        let mut cells = plain.cells();
        cells[6].clone_from(&self.says);
        cells
    }
}
