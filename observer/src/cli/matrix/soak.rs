//! The soak of `matrix run`: its options as a rule, and whether a plan can be soaked at all.

use super::check::refuse_unrunnable;
use crate::cli::failure::Failure;
use crate::cli::say;
use clap::Args;
use std::path::Path;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::plan::check::{Severity, check};
use wireproof_matrices::soak::{DiskPolicy, NoSoak, Rule, chunks_expected, course, rate_text};
use wireproof_matrices::units::duration_text;

/// One-sided error of the bound, ppm: 95 %.
const ALPHA_PPM: u64 = 50_000;

#[derive(Debug, Args)]
pub(in crate::cli) struct SoakArgs {
    /// Soak instead of comparing: clean windows of the baseline until the metric was shown to happen less often than this,
    /// such as 1e-5, with 95 %; the first event ends it
    #[arg(long, value_name = "RATE")]
    until_bound: Option<String>,
    /// What a soak counts: wire.lost, wire.dup, wire.reordered, wire.shape, wire.foreign or frame.misses
    /// [default: wire.lost]
    #[arg(long, value_name = "METRIC", requires = "until_bound")]
    metric: Option<String>,
}

impl SoakArgs {
    /// The rule that was asked for; `None` of a matrix.
    pub(super) fn rule(&self) -> Result<Option<Rule>, Failure> {
        let Some(text) = &self.until_bound else { return Ok(None) };
        let rate_ppb = Rule::rate(text)
            .map_err(|error| Failure::Said { code: super::USAGE, text: error.to_string() })?;
        let metric = self.metric.clone().unwrap_or_else(|| "wire.lost".to_owned());
        Ok(Some(Rule { metric, rate_ppb, alpha_ppm: ALPHA_PPM, disk: DiskPolicy::default() }))
    }
}

/// Checks a plan as the soak will run it, and says how long that takes.
pub(super) fn checked(file: &Path, plan: &Plan, rule: &Rule) -> Result<Plan, Failure> {
    let course = course(plan, rule).map_err(|error| refused(&error))?;
    // Its levels are all there still: what sets and shows them is checked as in a matrix.
    let whole =
        Plan { gate: course.gate.clone(), ladder: None, design: course.design.clone(), ..plan.clone() };
    let mut checked = check(&whole, &super::check::predict);
    checked
        .remarks
        .retain(|remark| !remark.table.starts_with("drain") && !remark.table.starts_with("ladder"));
    for remark in checked.remarks.iter().filter(|remark| remark.severity == Severity::Warning) {
        say(&format!("{} {} ({}): {}", remark.severity.name(), remark.code, remark.table, remark.text));
    }
    refuse_unrunnable(file, &checked)?;
    let (needed, chunks) = (rule.trials_needed(), chunks_expected(plan, rule));
    let timing = &plan.timing;
    let each = timing.settle_ns.saturating_add(timing.measure_ns).saturating_add(timing.guard_ns);
    let seconds = each.saturating_mul(chunks).saturating_add(timing.warmup_ns).div_ceil(1_000_000_000);
    say(&format!(
        "soak: {} below {} with {}: {needed} clean frames, {chunks} windows of {}, {}:{:02}:{:02} and more",
        rule.metric,
        rate_text(rule.rate_ppb),
        rule.confidence(),
        duration_text(timing.measure_ns),
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
    ));
    Ok(course)
}

/// A plan or a rule that cannot be followed: nothing was sent.
pub(super) fn refused(error: &NoSoak) -> Failure {
    Failure::Said { code: super::USAGE, text: error.to_string() }
}
