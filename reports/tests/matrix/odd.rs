//! Verdicts that are hard to render: several strata and treatments, no bounds, names that try to get out of their place.

use super::fixtures::*;
use serde_json::json;
use wireproof_matrices::ladder::{Envelope, StepGate, StepRow, Stop};
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::Kind;
use wireproof_matrices::verdict::*;

/// Two strata, three treatments, a ceiling, no finite bound, and no gate that decides by pairs.
pub(super) fn strata() -> Verdict {
    let mut arms = Vec::new();
    for (stratum, offset) in [("preview-off", 0.0), ("preview-on", 180_000.0)] {
        for block in 1..=3 {
            for (n, treatment) in ["idle", "raw", "sham"].iter().enumerate() {
                let at = (block * 7 + n * 3) % 10;
                let mut arm = arm(block as u32, n as u32 + 1, treatment, 1, IDLE[at] + offset);
                arm.stratum = stratum.to_owned();
                arm.values.insert("frame.misses".to_owned(), Number(0.0));
                arms.push(arm);
            }
        }
    }
    let row = |stratum: &str, hl: f64| StratumRow {
        stratum: stratum.to_owned(),
        pairs: 3,
        hl: some(hl),
        bound_low: None,
        bound_high: None,
    };
    let too_few = |treatment: &str| Comparison {
        treatment: treatment.to_owned(),
        pairs: 6,
        differences: numbers(&[78_000.0, 13_000.0, 79_000.0, 20_000.0, -12_000.0, 5000.0]),
        bound_low: None,
        bound_high: None,
        critical_t: -1,
        strata: vec![row("preview-off", 62_000.0), row("preview-on", 41_000.0)],
        ..comparison(&IDLE, &RAW, [78_000.0, 62_000.0, 0.0, 0.0], (Decision::Inconclusive, "too_few_pairs"))
    };
    let mut p95 = decided(p95(), too_few("raw"));
    p95.comparisons.push(too_few("sham"));
    p95.outliers.clear();
    let ceiling = GateResult {
        point: some(5_404_500.0),
        hl: some(5_410_000.0),
        bound_low: some(5_391_000.0),
        bound_high: some(5_447_250.0),
        reason: "upper_bound_within_margin".to_owned(),
        comparisons: Vec::new(),
        ..gate("absolute", "frame.p95", Kind::Ceiling, Unit::Ns, Some(16_666_666.0))
    };
    Verdict {
        verdict: Outcome::Inconclusive,
        reasons: vec!["p95: too_few_pairs".to_owned()],
        name: "three-levels".to_owned(),
        gates: vec![p95, ceiling, lost(), cpu()],
        blocks_planned: 6,
        blocks_complete: 6,
        arms,
        limits: Vec::new(),
        soak: None,
        ..pass()
    }
}

/// The passing run with names that try to get out of their place.
pub(super) fn hostile() -> Verdict {
    let mut v = fail();
    let bad = "</script><script>alert('x')</script>|\"]]>\u{1b}[31m\u{202e}\n=1+1";
    v.name = bad.to_owned();
    v.reasons.insert(0, bad.to_owned());
    v.judged_by = bad.to_owned();
    v.findings.push(bad.to_owned());
    v.limits.push(bad.to_owned());
    v.cpu.push(bad.to_owned());
    v.validity.rule = bad.to_owned();
    for gate in &mut v.gates {
        (gate.id, gate.reason) = (bad.to_owned(), bad.to_owned());
        gate.on_fail = Some(bad.to_owned());
        gate.comparisons
            .iter_mut()
            .for_each(|c| (c.treatment, c.stream) = (bad.to_owned(), Some(bad.to_owned())));
    }
    for arm in &mut v.arms {
        (arm.name, arm.stratum, arm.treatment) = (bad.to_owned(), bad.to_owned(), bad.to_owned());
        arm.notes.push(bad.to_owned());
    }
    v.attribution
        .losses
        .iter_mut()
        .for_each(|loss| (loss.arm, loss.stream) = (bad.to_owned(), bad.to_owned()));
    v.drops_vs_drains = Some(json!({bad: bad}));
    v
}

/// A ladder over the frame rate: a ceiling and a gate on losses, the last step not shown to hold.
pub(super) fn ladder() -> Verdict {
    let mut arms = Vec::new();
    for (stratum, p95) in [("fps-60", 5_400_000.0), ("fps-80", 6_900_000.0), ("fps-100", 9_300_000.0)] {
        for block in 1..=6 {
            let mut arm = arm(block, 1, "run", 1, p95 + f64::from(block * block) * 20_000.0);
            arm.stratum = stratum.to_owned();
            arms.push(arm);
        }
    }
    let ceiling = GateResult {
        point: some(9_500_000.0),
        hl: some(9_560_000.0),
        bound_low: None,
        bound_high: None,
        verdict: Decision::Inconclusive,
        reason: "interval_straddles_margin".to_owned(),
        ..gate("p95", "frame.p95", Kind::Ceiling, Unit::Ns, Some(9_800_000.0))
    };
    let verdict = Verdict {
        verdict: Outcome::Inconclusive,
        reasons: vec!["fps up to 80 holds".to_owned()],
        name: LADDER.to_owned(),
        gates: vec![ceiling, lost()],
        blocks_planned: 24,
        blocks_complete: 18,
        arms,
        cpu: Vec::new(),
        findings: Vec::new(),
        limits: Vec::new(),
        soak: None,
        ..pass()
    };
    Verdict { envelope: envelope(&verdict), ..verdict }
}

const LADDER: &str = "capacity-ladder";

/// The envelope that belongs to a verdict, if it is that of the ladder.
pub(super) fn envelope(v: &Verdict) -> Option<Envelope> {
    let step = |level: u64, point: f64, bound: Option<f64>, verdict: Decision| {
        let p95 = StepGate {
            id: "p95".to_owned(),
            metric: "frame.p95".to_owned(),
            unit: Unit::Ns,
            limit: some(9_800_000.0),
            point: some(point),
            bound: bound.map(Number),
            verdict,
            reason: "upper_bound_within_margin".to_owned(),
        };
        let lost = StepGate {
            id: "lost".to_owned(),
            metric: "wire.lost".to_owned(),
            unit: Unit::Count,
            limit: None,
            point: some(0.0),
            bound: some(101_432.0),
            verdict: Decision::Pass,
            reason: "no_events".to_owned(),
        };
        let kept_ns = (level < 100).then_some(2_184_533_000_000 / level);
        StepRow { level, arms: 6, gates: vec![p95, lost], verdict, kept_ns }
    };
    (v.name == LADDER).then(|| Envelope {
        factor: "fps".to_owned(),
        largest: Some(80),
        stop: Stop::NotShown,
        alpha_ppm: 50_000,
        step_alpha_ppm: 12_500,
        steps: vec![
            step(60, 5_700_000.0, Some(5_890_000.0), Decision::Pass),
            step(80, 7_200_000.0, Some(7_410_500.0), Decision::Pass),
            step(100, 9_560_000.0, None, Decision::Inconclusive),
        ],
    })
}
