//! From a bundle to its verdict and reports: everything is read from the bundle, never from the working directory.

use super::bundle::{ArmFiles, Bundle, BundleError, CANONICAL, Finding, JOURNAL, Reports, Seal, scan};
use super::bundle::{summary_rows, write_findings, write_rows};
use super::causes::by_treatment;
use super::env::tool;
use super::going::{NOTED, TAPE};
use super::measured::Noted;
use super::schedule::schedule;
use super::soaking::{run_by, told};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use wireproof_matrices::arm::{Arm, Episode, Owners, Place};
use wireproof_matrices::correlate::of_arms;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::Record;
use wireproof_matrices::ladder::Envelope;
use wireproof_matrices::levels::Layout;
use wireproof_matrices::plan::profile::unshown;
use wireproof_matrices::plan::{Margin, Plan};
use wireproof_matrices::resume::Progress;
use wireproof_matrices::runner::io::{Ending, Outcome};
use wireproof_matrices::verdict::{Circumstances, Verdict, judge, judge_soak, what_if};
use wireproof_reports::matrix::{CauseRow, InconclusiveIs, Report};
use wireproof_reports::{Format, RenderError, Style};

/// Name of what is known only when a run ends.
pub const CLOSING: &str = "closing.json";
/// Name of the verdict.
pub const VERDICT: &str = "verdict.json";

/// What is known only when a run ends: kept, so that the verdict can be made again whatever happens later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// How it ended.
    pub ending: Ending,
    /// This was run `attempt` of its plan ...
    pub attempt: u32,
    /// ... of `attempts` in the evidence folder.
    pub attempts: u32,
    /// Name and version of the program that judged.
    pub judged_by: String,
}

impl Closing {
    /// Looks at the other runs in the evidence folder.
    ///
    /// # Errors
    /// The folder or the bundle cannot be read.
    pub fn of(dir: &Path, ending: &Ending) -> Result<Closing, BundleError> {
        let bundle = Bundle::open(dir)?;
        let (attempt, attempts) = attempt(&bundle.plan_sha256(), dir)?;
        Ok(Closing { ending: ending.clone(), attempt, attempts, judged_by: tool() })
    }

    /// The file.
    pub fn octets(&self) -> Vec<u8> {
        // Plain words and numbers: they always have a JSON form.
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

fn attempt(plan: &Digest, dir: &Path) -> Result<(u32, u32), BundleError> {
    Ok(dir.parent().map(scan).transpose()?.map_or((1, 1), |runs| runs.attempt(plan, dir)))
}

/// How a bundle is judged.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// Margins that are tried instead of the frozen ones: exploratory, nothing passes.
    pub what_if: Vec<(String, Margin)>,
    /// Arms to be judged instead of those in the bundle, in the same order: worked out again from the raw record.
    pub arms: Option<Vec<Arm>>,
}

/// A judged bundle.
#[derive(Debug)]
pub struct Judged {
    /// The plan by which it was judged.
    pub plan: Plan,
    /// What came out.
    pub verdict: Verdict,
    /// `env.json`.
    pub environment: Option<serde_json::Value>,
    /// What a reader has to know.
    pub findings: Vec<Finding>,
    /// How far a ladder got.
    pub envelope: Option<Envelope>,
    /// Why frames were made, by treatment, over the arms that count.
    pub causes: Vec<CauseRow>,
}

/// Judges a bundle.
///
/// # Errors
/// [`BundleError`]; with `what_if` a gate that is not there is [`BundleError::Refused`].
pub fn judge_bundle(dir: &Path, how: &How) -> Result<Judged, BundleError> {
    let bundle = Bundle::open(dir)?;
    judge_opened(&bundle, how)
}

/// As [`judge_bundle`], of a bundle that was checked already.
///
/// # Errors
/// As [`judge_bundle`].
pub fn judge_opened(bundle: &Bundle, how: &How) -> Result<Judged, BundleError> {
    let frozen = bundle.plan()?;
    let refused = |why: String| BundleError::Refused { path: "--what-if".to_owned(), why };
    let told = told(bundle)?;
    if told.is_some() && !how.what_if.is_empty() {
        return Err(refused("a soak has no margin to try: begin one with another rate".to_owned()));
    }
    let (plan, changed) = what_if(&run_by(bundle)?, &how.what_if).map_err(refused)?;
    let arms = match &how.arms {
        Some(arms) => arms.clone(),
        None => arms(bundle)?,
    };
    let drops_vs_drains = of_arms(&plan, &arms).and_then(|laid| serde_json::to_value(laid).ok());
    let known = circumstances(bundle, &frozen)?;
    let circumstances = Circumstances { what_if: changed, drops_vs_drains, ..known };
    let (verdict, envelope) = match &told {
        Some(told) => (judge_soak(&plan, &arms, told, &circumstances), None),
        None => decided(&plan, &arms, &circumstances),
    };
    let environment = match bundle.files().contains_key("env.json") {
        true => serde_json::from_slice(&bundle.read("env.json")?).ok(),
        false => None,
    };
    let findings = findings(bundle, &plan, &arms);
    let causes = causes(bundle, &plan, &arms, &verdict)?;
    Ok(Judged { plan, verdict, environment, findings, envelope, causes })
}

/// Why frames were made, over the arms that the verdict counts.
fn causes(
    bundle: &Bundle,
    plan: &Plan,
    arms: &[Arm],
    verdict: &Verdict,
) -> Result<Vec<CauseRow>, BundleError> {
    let layout = Layout::of(plan);
    let counted: BTreeSet<&str> =
        verdict.arms.iter().filter(|row| row.counted).map(|row| row.name.as_str()).collect();
    let counted: BTreeSet<&Place> = arms
        .iter()
        .filter(|arm| counted.contains(layout.arm_name(arm).as_str()))
        .map(|arm| &arm.place)
        .collect();
    by_treatment(bundle, &layout.names, |place| counted.contains(place))
}

/// The verdict of a run, and of a plan with a ladder how far it got.
pub fn decided(plan: &Plan, arms: &[Arm], circumstances: &Circumstances) -> (Verdict, Option<Envelope>) {
    let mut verdict = judge(plan, arms, circumstances);
    let envelope = Envelope::of(plan, arms);
    if let Some(envelope) = &envelope {
        envelope.decide(&mut verdict);
    }
    (verdict, envelope)
}

/// Every attempt that was kept, in the order of the run.
///
/// # Errors
/// A file that cannot be read.
pub fn arms(bundle: &Bundle) -> Result<Vec<Arm>, BundleError> {
    let kept = bundle.arms().into_iter().filter_map(|files| bundle.arm(&files).transpose());
    kept.collect()
}

/// What a verdict needs to know besides plan and arms, all from the bundle.
fn circumstances(bundle: &Bundle, plan: &Plan) -> Result<Circumstances, BundleError> {
    let progress = Progress::of(&schedule(&run_by(bundle)?), bundle.journal())?;
    let pre_registered = bundle.journal().iter().find_map(|entry| match &entry.record {
        Record::Plan { pre_registered, .. } => Some(*pre_registered),
        _ => None,
    });
    let closing = closing(bundle)?;
    let (aborted, run_invalid) = spoiled(closing.as_ref(), bundle);
    let refused = |e: &dyn std::error::Error| BundleError::Refused {
        path: bundle.dir().display().to_string(),
        why: e.to_string(),
    };
    Ok(Circumstances {
        plan_sha256: bundle.plan_sha256().to_string(),
        gates_sha256: plan.gates_sha256().map_err(|e| refused(&e))?,
        pre_registered: pre_registered.unwrap_or(false),
        attempt: closing.as_ref().map_or(1, |c| c.attempt),
        attempts: closing.as_ref().map_or(1, |c| c.attempts),
        resumes: progress.resumes,
        longest_pause_ns: progress.longest_pause_ns,
        aborted,
        run_invalid,
        judged_by: closing.map_or_else(tool, |c| c.judged_by),
        ..Circumstances::default()
    })
}

/// Why the run was cut short, and what spoils it as a whole.
fn spoiled(closing: Option<&Closing>, bundle: &Bundle) -> (Option<String>, Vec<String>) {
    let Some(Closing { ending, .. }) = closing else {
        let why =
            if bundle.seal() == Seal::Open { "the run was cut or goes on" } else { "no closing record" };
        return (Some(why.to_owned()), Vec::new());
    };
    let mut invalid = Vec::new();
    if matches!(ending.outcome, Outcome::Invalid | Outcome::Refused) {
        invalid.extend(ending.reasons.iter().cloned());
    }
    if !ending.restored {
        invalid.push("a factor could not be put back".to_owned());
    }
    let cut = ending.outcome == Outcome::Partial;
    (cut.then(|| ending.reasons.join("; ")), invalid)
}

fn closing(bundle: &Bundle) -> Result<Option<Closing>, BundleError> {
    if !bundle.files().contains_key(CLOSING) {
        return Ok(None);
    }
    let damaged =
        |e: serde_json::Error| BundleError::Refused { path: CLOSING.to_owned(), why: e.to_string() };
    serde_json::from_slice(&bundle.read(CLOSING)?).map(Some).map_err(damaged)
}

/// The reports, and the format of each.
const REPORTS: [(&str, Format); 5] = [
    (VERDICT, Format::Json),
    ("report.md", Format::Markdown),
    ("report.html", Format::Html),
    ("junit.xml", Format::Junit),
    ("gates.csv", Format::Csv),
];
const SUMMARY: &str = "summary.csv";
const FINDINGS: &str = "findings.jsonl";

/// Names of the files that a judged bundle gets.
pub fn names() -> Vec<&'static str> {
    REPORTS.iter().map(|(name, _)| *name).chain([SUMMARY, FINDINGS]).collect()
}

/// Writes a copy of a bundle without addresses and host names; returns what was left out.
///
/// # Errors
/// As [`super::bundle::anonymized`].
pub fn anonymized(bundle: &Bundle, to: &Path) -> Result<Vec<String>, BundleError> {
    let judge = |dir: &Path| files(&judge_bundle(dir, &How::default())?);
    super::bundle::anonymized(bundle, to, &names(), &judge)
}

/// The files that a judged bundle gets: name and octets.
///
/// # Errors
/// None in memory, as far as anybody knows.
pub fn files(judged: &Judged) -> Result<Reports, BundleError> {
    let mut files = Vec::new();
    for (name, format) in REPORTS {
        let failed =
            |e: RenderError| BundleError::Io { path: PathBuf::from(name), source: io::Error::other(e) };
        let mut out = Vec::new();
        report(judged).render(format, Style::default(), InconclusiveIs::Skipped, &mut out).map_err(failed)?;
        files.push((name, out));
    }
    let disk = |name: &'static str| move |source| BundleError::Io { path: PathBuf::from(name), source };
    let (mut summary, mut findings) = (Vec::new(), Vec::new());
    write_rows(&mut summary, summary_rows(&judged.verdict.arms)).map_err(disk(SUMMARY))?;
    write_findings(&mut findings, &judged.findings).map_err(disk(FINDINGS))?;
    files.extend([(SUMMARY, summary), (FINDINGS, findings)]);
    Ok(files)
}

/// The report of a judged bundle.
pub fn report(judged: &Judged) -> Report<'_> {
    Report {
        plan: Some(&judged.plan),
        environment: judged.environment.as_ref(),
        envelope: judged.envelope.as_ref(),
        causes: &judged.causes,
        ..Report::new(&judged.verdict)
    }
}

/// What a reader has to know of a run, a line each: what the run itself found, and every loss of every attempt.
fn findings(bundle: &Bundle, plan: &Plan, arms: &[Arm]) -> Vec<Finding> {
    let told = bundle.journal().iter().filter_map(|entry| match &entry.record {
        Record::Finding { severity, arm, code, text } => Some(Finding {
            severity: severity.clone(),
            arm: arm.clone(),
            stream: None,
            at_ns: Some(entry.at_ns),
            code: code.clone(),
            text: text.clone(),
            evidence: vec![JOURNAL.to_owned()],
        }),
        _ => None,
    });
    let mut findings: Vec<Finding> = told.collect();
    findings.extend(not_shown(plan));
    for arm in arms {
        findings.extend(arm.measured.episodes.iter().map(|episode| loss(arm, episode)));
    }
    let kept = bundle.arms();
    findings.extend(kept.iter().filter(|arm| arm.end.is_some()).flat_map(|arm| incomplete(bundle, arm)));
    findings
}

/// What the device's profile cannot give and a reader would look for.
fn not_shown(plan: &Plan) -> impl Iterator<Item = Finding> {
    unshown(plan).into_iter().map(|(code, text)| Finding {
        severity: "info".to_owned(),
        arm: None,
        stream: None,
        at_ns: None,
        code: code.to_owned(),
        text,
        evidence: vec![CANONICAL.to_owned()],
    })
}

fn incomplete(bundle: &Bundle, arm: &ArmFiles) -> Vec<Finding> {
    let octets = arm.files.get(NOTED).and_then(|path| bundle.read(path).ok());
    let noted = octets.and_then(|octets| serde_json::from_slice::<Noted>(&octets).ok());
    noted.map_or_else(Vec::new, |noted| missing(noted, &arm.place))
}

/// What is missing of the evidence beside an arm: nothing of it is judged, and a reader has to know.
fn missing(noted: Noted, place: &Place) -> Vec<Finding> {
    let (capture, tap) = (noted.capture.unwrap_or_default(), noted.tap.unwrap_or_default());
    let told = [
        (capture.left_out > 0).then(|| {
            (
                "capture_incomplete",
                format!("{} records were left out, the disk was too slow", capture.left_out),
            )
        }),
        (tap.dropped + tap.left_out > 0).then(|| {
            let text = format!(
                "the tap dropped {} frames and {} were left out of its tape: it says nothing of those times",
                tap.dropped, tap.left_out
            );
            ("tap_dropped", text)
        }),
        tap.ended.map(|why| ("tap_ended", format!("the tap ended before the arm: {why}"))),
    ];
    let finding = |(code, text): (&str, String)| Finding {
        severity: "warning".to_owned(),
        arm: Some(place.clone()),
        stream: None,
        at_ns: Some(noted.window.start_ns),
        code: code.to_owned(),
        text,
        evidence: vec![NOTED.to_owned()],
    };
    told.into_iter().flatten().map(finding).collect()
}

fn loss(arm: &Arm, episode: &Episode) -> Finding {
    let Owners { sender, wire, observer, upstream, ambiguous } = episode.owners;
    let severity = if sender + wire + upstream > 0 { "violation" } else { "warning" };
    let text = format!(
        "{} datagrams missing: sender {sender}, wire {wire}, observer {observer}, upstream {upstream}, ambiguous {ambiguous}",
        episode.missing
    );
    Finding {
        severity: severity.to_owned(),
        arm: Some(arm.place.clone()),
        stream: Some(episode.stream.clone()),
        at_ns: Some(episode.span.start_ns),
        code: "loss".to_owned(),
        text,
        evidence: vec![TAPE.to_owned(), "episodes.csv".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::measured::{CaptureNote, TapNote};

    #[test]
    fn what_is_missing_beside_an_arm_is_a_finding_and_what_is_whole_is_none() {
        let place = Place { stratum: 0, block: 2, position: 1, treatment: 0, attempt: 1 };
        let told = |capture, tap| missing(Noted { capture, tap, ..Noted::default() }, &place);
        let whole = (CaptureNote { records: 9, left_out: 0 }, TapNote::default());
        assert_eq!(told(None, None), []);
        assert_eq!(told(Some(whole.0), Some(whole.1)), []);
        let tap = TapNote { dropped: 7, left_out: 2, ended: Some("it is down".to_owned()) };
        let findings = told(Some(CaptureNote { records: 9, left_out: 3 }), Some(tap));
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, ["capture_incomplete", "tap_dropped", "tap_ended"]);
        assert!(findings.iter().all(|f| f.arm.as_ref() == Some(&place) && f.severity == "warning"));
        assert!(findings[1].text.contains("dropped 7 frames and 2 were left out"), "{}", findings[1].text);
    }
}
