//! `wireproof matrix check`: what is wrong with a plan, how long it takes, what it can find.

use super::args::PlanArgs;
use super::load::{self, Loaded};
use super::spread;
use crate::cli::failure::Failure;
use crate::cli::output;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::plan::PlanLayout;
use wireproof_matrices::plan::check::{Checked, Predicted, Severity, check, percent, predicted};
use wireproof_matrices::plan::profile::{Given, given};
use wireproof_matrices::units::duration_text;
use wireproof_reports::text::clean;

const SCHEMA: &str = "wireproof.plan-check/1";
const SECOND: u64 = 1_000_000_000;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    name: &'a str,
    frozen: bool,
    plan_sha256: &'a str,
    gates_sha256: &'a str,
    runnable: bool,
    arms: u64,
    blocks: u32,
    treatments: u64,
    strata: u64,
    total_ns: u64,
    evidence_bytes: u64,
    ring_retention_ns: u64,
    ring_margin_ns: i64,
    ring_longest_arm_s: u64,
    power: Vec<PowerDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layouts: Vec<LayoutDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileDocument<'a>>,
    remarks: Vec<RemarkDocument<'a>>,
}

/// A layout of the plan.
#[derive(Serialize)]
struct LayoutDocument<'a> {
    name: &'a str,
    sha256: String,
}

/// What the device's profile gives.
#[derive(Serialize)]
struct ProfileDocument<'a> {
    name: &'a str,
    gives: Vec<GivenDocument>,
}

#[derive(Serialize)]
struct GivenDocument {
    what: &'static str,
    given: bool,
    how: String,
}

#[derive(Serialize)]
struct PowerDocument<'a> {
    gate: &'a str,
    assumed: &'a str,
    pass_ppm: u32,
    detectable: Option<&'a str>,
    blocks_needed: Option<u32>,
}

#[derive(Serialize)]
struct RemarkDocument<'a> {
    severity: &'static str,
    code: &'static str,
    table: &'a str,
    text: &'a str,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix check plan.toml
  wireproof matrix check plan.lock --format json
  wireproof matrix check plan.toml --from evidence/20261130T090000Z-drain-safety-5f0c1234
  wireproof matrix check plan.toml --pair-sd 0.2ms --pair-sd rate=150ppm

What a plan can find is told from 0.3 ms between arms unless something was measured. Exit code 0 when it can be run,
warnings or not; 2 when it cannot; 7 when a lock or a bundle does not match its hashes.")]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    pub(super) plan: PlanArgs,
    /// Tell power from how far the pairs of this earlier bundle spread, gate by gate
    #[arg(long, value_name = "BUNDLE")]
    from: Option<PathBuf>,
    /// Tell power from this standard deviation of paired differences, of every gate on times or of one; before --from
    #[arg(long, value_name = "[GATE=]SD")]
    pair_sd: Vec<String>,
}

/// Runs the verb.
pub(super) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let CheckArgs { plan: args, from, pair_sd } = args;
    output::check(std::slice::from_ref(&args.file), args.output.as_deref())?;
    let loaded = load::load(&args.file)?;
    let measured = spread::measured(&loaded.lock.plan, from.as_deref(), pair_sd)?;
    let checked = check(&loaded.lock.plan, &|plan| predicted(plan, &measured));
    output::write(args.output.as_deref(), |out| match args.format.as_str() {
        "json" => json(&loaded, &checked, out),
        _ => table(&loaded, &checked, out),
    })?;
    refuse_unrunnable(&args.file, &checked)?;
    Ok(0)
}

/// What the gates of a plan can be expected to find, without an earlier bundle.
pub(super) fn predict(plan: &Plan) -> Vec<Predicted> {
    predicted(plan, &BTreeMap::new())
}

/// One line for a plan that cannot be run.
pub(super) fn refuse_unrunnable(file: &Path, checked: &Checked) -> Result<(), Failure> {
    let errors: Vec<_> = checked.remarks.iter().filter(|remark| remark.severity == Severity::Error).collect();
    let Some(first) = errors.first() else { return Ok(()) };
    let more = match errors.len() {
        1 => String::new(),
        count => format!(" (and {} more, `wireproof matrix check` lists them)", count - 1),
    };
    let what = format!("{} cannot be run, [{}]", file.display(), first.table);
    Err(Failure::usage(&what, &format!("{}{more}", first.text)))
}

fn json(loaded: &Loaded, checked: &Checked, out: &mut dyn Write) -> Result<(), Failure> {
    let (lock, totals, retention) = (&loaded.lock, checked.totals, checked.retention);
    let document = Document {
        schema: SCHEMA,
        name: &lock.plan.name,
        frozen: loaded.frozen,
        plan_sha256: &lock.plan_sha256,
        gates_sha256: &lock.gates_sha256,
        runnable: checked.runnable(),
        arms: totals.arms,
        blocks: lock.plan.design.blocks,
        treatments: totals.treatments,
        strata: totals.strata,
        total_ns: totals.total_ns,
        evidence_bytes: totals.evidence_bytes,
        ring_retention_ns: retention.retention_ns,
        ring_margin_ns: retention.margin_ns,
        ring_longest_arm_s: retention.longest_arm_s,
        power: checked.power.iter().map(power).collect(),
        layouts: lock.plan.layout.iter().map(layout).collect(),
        profile: lock.plan.profile().map(|profile| ProfileDocument {
            name: &profile.name,
            gives: given(profile).into_iter().map(document).collect(),
        }),
        remarks: checked
            .remarks
            .iter()
            .map(|remark| RemarkDocument {
                severity: remark.severity.name(),
                code: remark.code,
                table: &remark.table,
                text: &remark.text,
            })
            .collect(),
    };
    let text = serde_json::to_string(&document).map_err(|error| Failure::io_line(&error))?;
    Ok(writeln!(out, "{text}")?)
}

fn layout(layout: &PlanLayout) -> LayoutDocument<'_> {
    LayoutDocument { name: &layout.name, sha256: Digest::of(layout.text.as_bytes()).to_string() }
}

fn document(Given { what, given, how }: Given) -> GivenDocument {
    GivenDocument { what, given, how }
}

fn power(predicted: &Predicted) -> PowerDocument<'_> {
    PowerDocument {
        gate: &predicted.gate,
        assumed: &predicted.assumed,
        pass_ppm: predicted.pass_ppm,
        detectable: predicted.detectable.as_deref(),
        blocks_needed: predicted.blocks_needed,
    }
}

fn table(loaded: &Loaded, checked: &Checked, out: &mut dyn Write) -> Result<(), Failure> {
    let (lock, totals, retention) = (&loaded.lock, checked.totals, checked.retention);
    let frozen = if loaded.frozen { ", frozen" } else { "" };
    writeln!(out, "plan          {}{frozen}", lock.plan.name)?;
    writeln!(out, "plan_sha256   {}", lock.plan_sha256)?;
    writeln!(out, "gates_sha256  {}", lock.gates_sha256)?;
    let parts = [
        (lock.plan.design.blocks.into(), "block"),
        (totals.treatments, "treatment"),
        (totals.strata, "stratum"),
    ];
    let parts = parts.map(|(count, word)| counted(count, word)).join(" x ");
    writeln!(out, "arms          {} = {parts}", totals.arms)?;
    let (all, warmup) = (long(totals.total_ns), long(lock.plan.timing.warmup_ns));
    writeln!(
        out,
        "time          {all} and more, warm-up of {warmup} included: the device's answers come on top"
    )?;
    writeln!(out, "evidence      about {} MB", totals.evidence_bytes.div_ceil(1_000_000))?;
    for LayoutDocument { name, sha256 } in lock.plan.layout.iter().map(layout) {
        writeln!(out, "layout        {name}, SHA-256 {sha256}")?;
    }
    if let Some(profile) = lock.plan.profile() {
        writeln!(out, "profile       {}", profile.name)?;
        for Given { what, given, how } in given(profile) {
            let sign = if given { '+' } else { '-' };
            writeln!(out, "            {sign} {what:<11} {}", clean(&how))?;
        }
    }
    let held = retention.retention_ns / 100_000_000 * 100_000_000;
    if lock.plan.has_ring() || lock.plan.profile().is_none() {
        writeln!(
            out,
            "ring          holds {}: an arm of {}s at most",
            duration_text(held),
            retention.longest_arm_s
        )?;
    }
    for one in &checked.power {
        let (gate, pass, assumed) = (clean(&one.gate), percent(one.pass_ppm), &one.assumed);
        let found =
            one.detectable.as_ref().map(|effect| format!(", {effect} fails in 80%")).unwrap_or_default();
        writeln!(out, "power         {gate}: no effect passes in {pass} of runs{found}; {assumed}")?;
    }
    if !checked.remarks.is_empty() {
        writeln!(out)?;
    }
    for remark in &checked.remarks {
        let (severity, code) = (remark.severity.name(), remark.code);
        writeln!(out, "{severity:<8} {code:<20} {:<18} {}", clean(&remark.table), clean(&remark.text))?;
    }
    let count = |severity| checked.remarks.iter().filter(|remark| remark.severity == severity).count() as u64;
    let verdict = if checked.runnable() { "can be run" } else { "cannot be run" };
    let (errors, warnings) =
        (counted(count(Severity::Error), "error"), counted(count(Severity::Warning), "warning"));
    Ok(writeln!(out, "\n{verdict}: {errors}, {warnings}")?)
}

fn counted(count: u64, word: &str) -> String {
    match (count, word) {
        (1, word) => format!("1 {word}"),
        (count, "stratum") => format!("{count} strata"),
        (count, word) => format!("{count} {word}s"),
    }
}

/// A duration in hours, minutes and seconds, whole seconds up.
fn long(ns: u64) -> String {
    let seconds = ns.div_ceil(SECOND);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}min {seconds}s"),
        _ => format!("{hours}h {minutes}min {seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_shown_in_their_parts() {
        let shown = [1, 59 * SECOND, 406 * SECOND, 3600 * SECOND, 90_061 * SECOND].map(long);
        assert_eq!(shown, ["1s", "59s", "6min 46s", "1h 0min 0s", "25h 1min 1s"]);
        assert_eq!(
            [counted(1, "stratum"), counted(2, "stratum"), counted(0, "error")],
            ["1 stratum", "2 strata", "0 errors"]
        );
    }
}
