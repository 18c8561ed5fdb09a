//! Verdicts to render: one of every outcome, with the figures of the worked cases of `matrices`.

use serde_json::json;
use std::collections::BTreeMap;
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::{Class, Kind};
use wireproof_matrices::verdict::*;

/// Of the golden `gate-pass`, ns.
pub(super) const IDLE: [f64; 10] = [
    5_402_000.0,
    5_388_000.0,
    5_441_000.0,
    5_370_000.0,
    5_510_000.0,
    5_395_000.0,
    5_620_000.0,
    5_407_000.0,
    5_386_000.0,
    5_433_000.0,
];
pub(super) const RAW: [f64; 10] = [
    5_480_000.0,
    5_401_000.0,
    5_520_000.0,
    5_466_000.0,
    5_498_000.0,
    5_377_000.0,
    5_702_000.0,
    5_590_000.0,
    5_444_000.0,
    5_451_000.0,
];
/// Of the golden `gate-fail`.
const RAW_SLOW: [f64; 10] = [
    7_474_000.0,
    7_012_000.0,
    7_390_000.0,
    7_205_000.0,
    7_288_000.0,
    6_990_000.0,
    7_611_000.0,
    7_120_000.0,
    7_333_000.0,
    7_054_000.0,
];
/// Of the golden `gate-inconclusive`.
const RAW_NOISY: [f64; 10] = [
    5_890_000.0,
    5_401_000.0,
    5_990_000.0,
    5_466_000.0,
    6_120_000.0,
    5_377_000.0,
    5_702_000.0,
    6_090_000.0,
    5_444_000.0,
    6_011_000.0,
];
/// The order of seed 42: true where the first arm of the block is `raw`.
const RAW_FIRST: [bool; 10] = [true, true, false, true, false, false, true, false, true, false];

pub(super) fn some(value: f64) -> Option<Number> {
    Some(Number(value))
}

pub(super) fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

/// Point, HL, lower and upper bound.
type Estimates = [f64; 4];

pub(super) fn comparison(
    idle: &[f64],
    raw: &[f64],
    estimates: Estimates,
    said: (Decision, &str),
) -> Comparison {
    let [point, hl, low, high] = estimates.map(some);
    let differences: Vec<f64> = raw.iter().zip(idle).map(|(raw, idle)| raw - idle).collect();
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
    };
    Comparison {
        treatment: "raw".to_owned(),
        stream: None,
        pairs: 10,
        differences: numbers(&differences),
        median_baseline: some(median(idle)),
        median_treatment: some(median(raw)),
        point,
        hl,
        critical_t: 10,
        bound_low: low,
        bound_high: high,
        p_fail: some(0.25),
        arms_over: 0,
        arms_over_flagged: false,
        seed_rule: Some(SeedRule::Pass),
        verdict: said.0,
        reason: said.1.to_owned(),
        strata: vec![StratumRow {
            stratum: "all".to_owned(),
            pairs: 10,
            hl,
            bound_low: low,
            bound_high: high,
        }],
        without_severe_outliers: None,
    }
}

pub(super) fn gate(id: &str, metric: &str, kind: Kind, unit: Unit, margin: Option<f64>) -> GateResult {
    GateResult {
        id: id.to_owned(),
        class: Class::Gate,
        metric: metric.to_owned(),
        kind,
        unit,
        margin: margin.map(Number),
        alpha_ppm: 50_000,
        point: None,
        hl: None,
        bound_low: None,
        bound_high: None,
        verdict: Decision::Pass,
        reason: String::new(),
        seed_rule: None,
        on_fail: None,
        comparisons: Vec::new(),
        zero: None,
        overhead: None,
        drift: Vec::new(),
        outliers: Vec::new(),
    }
}

/// A gate that its first comparison decides.
pub(super) fn decided(gate: GateResult, comparison: Comparison) -> GateResult {
    GateResult {
        point: comparison.point,
        hl: comparison.hl,
        bound_low: comparison.bound_low,
        bound_high: comparison.bound_high,
        verdict: comparison.verdict,
        reason: comparison.reason.clone(),
        seed_rule: comparison.seed_rule,
        comparisons: vec![comparison],
        ..gate
    }
}

pub(super) fn p95() -> GateResult {
    let c = comparison(
        &IDLE,
        &RAW,
        [68_500.0, 50_000.0, 20_000.0, 87_500.0],
        (Decision::Pass, "upper_bound_within_margin"),
    );
    let drift = DriftRow {
        stratum: "all".to_owned(),
        arms: 20,
        kendall_s: 124,
        p: Number(1.715_375_186_888_824_5e-5),
        slope_per_arm: Number(21_766.414_141_414_14),
        total: Number(413_561.868_686_868_7),
        reported: true,
    };
    let outlier = OutlierRow { arm: "b07-p1-raw-a1".to_owned(), value: Number(5_702_000.0), severe: false };
    GateResult {
        drift: vec![drift],
        outliers: vec![outlier],
        ..decided(gate("p95", "frame.p95", Kind::NonInferiority, Unit::Ns, Some(500_000.0)), c)
    }
}

pub(super) fn rate() -> GateResult {
    let differences = [
        -1.112_368_061_882_022_4,
        0.734_149_217_830_749_3,
        -2.736_368_695_915_422_3,
        1.067_853_977_909_571_7,
        -0.667_407_334_412_487_5,
        -1.848_227_396_712_752_5,
    ];
    let estimates = [
        Some(-0.889_9),
        Some(-0.834_257_359_002_925_4),
        Some(-1.924_368_378_898_722_5),
        Some(0.734_149_217_830_749_3),
    ];
    let of_stream = |stream: &str| {
        let [point, hl, bound_low, bound_high] = estimates.map(|value| value.map(Number));
        Comparison {
            stream: Some(stream.to_owned()),
            pairs: 6,
            differences: numbers(&differences),
            median_baseline: some(60.000_005),
            median_treatment: some(59.999_95),
            point,
            hl,
            bound_low,
            bound_high,
            critical_t: 2,
            ..comparison(&IDLE, &RAW, [0.0; 4], (Decision::Pass, "interval_within_margin"))
        }
    };
    let gate = gate("rate", "wire.rate", Kind::Equivalence, Unit::Ppm, Some(1000.0));
    let mut gate = decided(gate, of_stream("ddp"));
    gate.comparisons.push(of_stream("sacn"));
    gate.comparisons.iter_mut().for_each(|c| c.strata.truncate(1));
    gate
}

pub(super) fn lost() -> GateResult {
    let zero = ZeroRow {
        events: 0,
        episodes: 0,
        ambiguous: 0,
        trials: 43_200,
        min_trials: Some(30_000),
        upper_ppb: 69_344,
        interval_ppb: [0, 85_388],
        one_in: 14_421,
        by_arm: BTreeMap::new(),
    };
    GateResult {
        zero: Some(zero),
        reason: "no_events".to_owned(),
        ..gate("lost", "wire.lost", Kind::Zero, Unit::Count, None)
    }
}

pub(super) fn max() -> GateResult {
    let c = comparison(
        &IDLE.map(|v| v + 6_000_000.0),
        &RAW.map(|v| v + 6_100_000.0),
        [168_500.0, 150_000.0, 120_000.0, 187_500.0],
        (Decision::Pass, "upper_bound_within_margin"),
    );
    let gate = gate("max", "frame.max", Kind::NonInferiority, Unit::Ns, Some(2_000_000.0));
    GateResult { class: Class::Diagnostic, ..decided(gate, c) }
}

/// Of the golden `cpu-usability`, first run.
pub(super) fn cpu() -> GateResult {
    let row = |stratum: &str, hl: f64| StratumRow {
        stratum: stratum.to_owned(),
        pairs: 3,
        hl: some(hl),
        bound_low: None,
        bound_high: None,
    };
    let overhead = OverheadRow {
        strata: vec![row("preview-off", -86.0), row("preview-on", -376.5)],
        usable: false,
        reasons: vec!["preview-off:too_few_pairs".to_owned(), "preview-on:impossible_sign".to_owned()],
        text: "not usable as an overhead number".to_owned(),
    };
    GateResult {
        class: Class::Diagnostic,
        verdict: Decision::Shown,
        reason: "not_usable".to_owned(),
        hl: some(-86.0),
        overhead: Some(overhead),
        ..gate("cpu", "device.cpu", Kind::Overhead, Unit::CpuHundredths, None)
    }
}

/// Twenty arms in the order of seed 42.
pub(super) fn arms(idle: &[f64], raw: &[f64]) -> Vec<ArmRow> {
    let mut arms = Vec::new();
    for (n, raw_first) in RAW_FIRST.iter().enumerate() {
        for position in 1..=2 {
            let is_raw = *raw_first == (position == 1);
            let (treatment, p95) = if is_raw { ("raw", raw[n]) } else { ("idle", idle[n]) };
            arms.push(arm(n as u32 + 1, position, treatment, 1, p95));
        }
    }
    arms
}

pub(super) fn arm(block: u32, position: u32, treatment: &str, attempt: u32, p95: f64) -> ArmRow {
    let values = [
        ("frame.p95", p95),
        ("frame.max", p95 + 6_000_000.0),
        ("wire.rate:ddp", 60.000_001_334_82),
        ("wire.rate:sacn", 59.999_933_259_251_1),
        ("wire.lost:ddp", 0.0),
        ("wire.lost:sacn", 0.0),
        ("device.cpu", 4150.0),
    ];
    ArmRow {
        name: format!("b{block:02}-p{position}-{treatment}-a{attempt}"),
        stratum: "all".to_owned(),
        block,
        position,
        treatment: treatment.to_owned(),
        attempt,
        state: "ok".to_owned(),
        reasons: Vec::new(),
        notes: Vec::new(),
        counted: true,
        values: values.map(|(key, value)| (key.to_owned(), Number(value))).into(),
    }
}

pub(super) fn validity() -> ValidityRow {
    ValidityRow { max_invalid_repeats: 2, rule: "none".to_owned(), ..ValidityRow::default() }
}

/// Every gate passes.
pub(super) fn pass() -> Verdict {
    let zero = OwnerRow::default();
    Verdict {
        schema: SCHEMA.to_owned(),
        verdict: Outcome::Pass,
        reasons: vec!["every gate passes".to_owned()],
        name: "a6-raw-drain".to_owned(),
        plan_sha256: "8f3c1d0e5a7b9c2d4e6f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5".to_owned(),
        gates_sha256: "11aa22bb33cc44dd55ee66ff778899001122334455667788990011223344aabb".to_owned(),
        pre_registered: true,
        exploratory: false,
        what_if: Vec::new(),
        attempt: 1,
        attempts: 1,
        resumes: 0,
        longest_pause_ns: 0,
        blocks_planned: 10,
        blocks_complete: 10,
        judged_by: "wireproof 0.1.0".to_owned(),
        envelope: None,
        gates: vec![p95(), rate(), lost(), max(), cpu()],
        holm: Vec::new(),
        arms: arms(&IDLE, &RAW),
        attribution: Attribution {
            streams: [("ddp".to_owned(), zero), ("sacn".to_owned(), zero)].into(),
            ..Attribution::default()
        },
        drops_vs_drains: None,
        validity: validity(),
        findings: vec!["p95 drifts by 413.6 \u{b5}s over the run (p 1.7e-5)".to_owned()],
        cpu: vec!["cpu: not usable as an overhead number (preview-off:too_few_pairs)".to_owned()],
        limits: vec![
            "lost: 0 of 43,200 does not exclude a rate of 1 in 14,421 (95 %, one-sided).".to_owned(),
        ],
        soak: None,
    }
}

/// The first synchronous export: p95 two milliseconds up, and datagrams lost upstream in downloads.
pub(super) fn fail() -> Verdict {
    let mut p95 = decided(
        p95(),
        comparison(
            &IDLE,
            &RAW_SLOW,
            [1_842_000.0, 1_806_500.0, 1_699_500.0, 1_947_000.0],
            (Decision::Fail, "lower_bound_beyond_margin"),
        ),
    );
    p95.seed_rule = Some(SeedRule::Fail);
    p95.on_fail = Some("stop the export; move it off the frame thread".to_owned());
    p95.comparisons[0].seed_rule = Some(SeedRule::Fail);
    p95.comparisons[0].arms_over = 10;
    p95.comparisons[0].arms_over_flagged = true;
    let mut lost = lost();
    (lost.verdict, lost.reason) = (Decision::Fail, "events_upstream".to_owned());
    lost.zero = Some(ZeroRow {
        events: 5,
        episodes: 5,
        upper_ppb: 243_342,
        interval_ppb: [37_581, 270_080],
        one_in: 4109,
        by_arm: [("b01-p1-raw-a1".to_owned(), 2), ("b04-p1-raw-a1".to_owned(), 3)].into(),
        ..lost.zero.clone().unwrap()
    });
    let owners = OwnerRow { lost: 5, unknown: 5, upstream: 5, ..OwnerRow::default() };
    let loss = |arm: &str, n: u64, lag_ns: i64| LossRow {
        arm: arm.to_owned(),
        counted: true,
        stream: "sacn".to_owned(),
        start_ns: 1_700_000_012_345_678_901,
        end_ns: 1_700_000_012_395_678_901,
        owners: OwnerRow { lost: n, unknown: n, upstream: n, ..OwnerRow::default() },
        near_frame: Some(48_121),
        nearest_drain_lag_ns: Some(lag_ns),
    };
    Verdict {
        verdict: Outcome::Fail,
        reasons: vec![
            "p95: lower_bound_beyond_margin".to_owned(),
            "lost: 5 datagrams lost upstream".to_owned(),
        ],
        holm: vec![
            Adjusted { id: "p95".to_owned(), p: Number(0.001), adjusted: Number(0.002) },
            Adjusted { id: "lost".to_owned(), p: Number(0.03), adjusted: Number(0.03) },
        ],
        gates: vec![p95, rate(), lost, max(), cpu()],
        arms: arms(&IDLE, &RAW_SLOW),
        attribution: Attribution {
            counted: owners,
            streams: [("ddp".to_owned(), OwnerRow::default()), ("sacn".to_owned(), owners)].into(),
            losses: vec![loss("b01-p1-raw-a1", 2, 110_000_000), loss("b04-p1-raw-a1", 3, -2_500_000_000)],
            ..Attribution::default()
        },
        drops_vs_drains: Some(drops_vs_drains()),
        limits: Vec::new(),
        soak: None,
        ..pass()
    }
}

/// Of the golden `drops-vs-drains`.
pub(super) fn drops_vs_drains() -> serde_json::Value {
    json!({
        "correlated": true,
        "depends_on_straddles": false,
        "text": "5 of 6 loss episodes lie in the windows of downloads, 5.3 % of the time: losses and downloads coincide, which does not say who lost anything",
        "exposure_ns": 60_000_000_000_i64,
        "window_exposure_ns": 3_161_000_000_i64,
        "drains": 11,
        "episodes": 6,
        "episodes_inside": 5,
        "datagrams": 17,
        "datagrams_inside": 13,
        "straddles": 1,
        "inside_range": [4, 5],
        "binomial_p": 2.328_195_975_013_372e-6,
        "binomial_p_range": [0.000_109_1, 2.328_195_975_013_372e-6],
        "rate_ratio": 89.906_675_102_816_55,
        "rate_ratio_95": [10.060_407_595_173_79, null],
        "circular_shifts": 999,
        "circular_shift_hits": 2,
        "circular_shift_p": 0.003,
        "circular_shift_p_range": [0.009, 0.003],
        "paired": {"drain_only": 5, "control_only": 1, "p": 0.109_375},
        "lag_histogram_50ms": {"under": 1, "over": 0, "bins": {"0": 1, "100": 3, "150": 1}}
    })
}

/// The golden `gate-inconclusive`: the point rule passes, the interval does not.
pub(super) fn inconclusive() -> Verdict {
    let mut p95 = decided(
        p95(),
        comparison(
            &IDLE,
            &RAW_NOISY,
            [391_500.0, 315_500.0, 70_000.0, 549_000.0],
            (Decision::Inconclusive, "interval_straddles_margin"),
        ),
    );
    p95.comparisons[0].arms_over = 4;
    p95.comparisons[0].arms_over_flagged = true;
    p95.comparisons[0].without_severe_outliers = Some("upper bound 412.5 \u{b5}s, would pass".to_owned());
    Verdict {
        verdict: Outcome::Inconclusive,
        reasons: vec!["p95: interval_straddles_margin".to_owned()],
        gates: vec![p95, rate(), lost(), max(), cpu()],
        arms: arms(&IDLE, &RAW_NOISY),
        attempt: 2,
        attempts: 3,
        pre_registered: false,
        ..pass()
    }
}

/// The bench lost datagrams in the arms of one treatment.
pub(super) fn invalid() -> Verdict {
    let mut arms = arms(&IDLE, &RAW);
    for name in ["b01-p1-raw-a1", "b02-p1-raw-a1"] {
        let arm = arms.iter_mut().find(|arm| arm.name == name).unwrap();
        arm.state = "invalid".to_owned();
        arm.reasons = vec!["observer_lost".to_owned()];
        arm.notes = vec!["loop_stalled".to_owned()];
        arm.counted = false;
    }
    let observer = OwnerRow { lost: 5, observer: 5, ..OwnerRow::default() };
    Verdict {
        verdict: Outcome::Invalid,
        reasons: vec!["run invalid: losses cluster in raw".to_owned()],
        blocks_complete: 8,
        arms,
        attribution: Attribution {
            not_counted: observer,
            streams: [("sacn".to_owned(), observer)].into(),
            losses_rest: 3,
            ..Attribution::default()
        },
        validity: ValidityRow {
            invalid_by_treatment: [("idle".to_owned(), 0), ("raw".to_owned(), 2)].into(),
            rule: "run invalid: losses cluster in raw".to_owned(),
            reasons: [("observer_lost".to_owned(), 2)].into(),
            ..validity()
        },
        ..pass()
    }
}

/// Stopped after seven blocks, once resumed after a long pause.
pub(super) fn partial() -> Verdict {
    let mut arms = arms(&IDLE, &RAW);
    arms.truncate(15);
    if let Some(last) = arms.last_mut() {
        (last.state, last.counted) = ("interrupted".to_owned(), false);
        last.values.clear();
    }
    Verdict {
        verdict: Outcome::Partial,
        reasons: vec!["7 of 10 blocks; stopped by a signal".to_owned()],
        blocks_complete: 7,
        resumes: 2,
        longest_pause_ns: 2_460_000_000_000,
        arms,
        ..pass()
    }
}

/// Other margins tried on the passing run.
pub(super) fn exploratory() -> Verdict {
    let mut p95 = p95();
    p95.margin = some(60_000.0);
    p95.verdict = Decision::Inconclusive;
    p95.reason = "interval_straddles_margin".to_owned();
    Verdict {
        verdict: Outcome::Inconclusive,
        exploratory: true,
        what_if: vec!["p95.margin=60us".to_owned()],
        reasons: vec!["a what-if passes nothing".to_owned()],
        gates: vec![p95, rate(), lost(), max(), cpu()],
        ..pass()
    }
}

/// Every fixture with its name.
pub(super) fn all() -> Vec<(&'static str, Verdict)> {
    vec![
        ("pass", pass()),
        ("fail", fail()),
        ("inconclusive", inconclusive()),
        ("invalid", invalid()),
        ("partial", partial()),
        ("exploratory", exploratory()),
        ("strata", super::odd::strata()),
        ("ladder", super::odd::ladder()),
    ]
}
