//! The shipped JSON Schemas, as text: what every record on standard output or beside a file looks like. Validates nothing.

/// The JSON Schema of an alert of `observe` as JSON (`wireproof.alert/1`, draft 2020-12).
pub const ALERT_SCHEMA: &str = include_str!("../schemas/alert.schema.json");

/// The JSON Schema of [`Summary`](crate::Summary) as JSON (`wireproof.summary/1`, draft 2020-12).
pub const SUMMARY_SCHEMA: &str = include_str!("../schemas/summary.schema.json");

/// The JSON Schema of [`Bench`](crate::Bench) as JSON (`wireproof.bench/1`, draft 2020-12).
pub const BENCH_SCHEMA: &str = include_str!("../schemas/bench.schema.json");

/// The JSON Schema of `ring verify` as JSON (`wireproof.ring/1`, draft 2020-12).
pub const RING_SCHEMA: &str = include_str!("../schemas/ring.schema.json");

/// The JSON Schema of `ring summary` as JSON (`wireproof.ring-summary/1`, draft 2020-12).
pub const RING_SUMMARY_SCHEMA: &str = include_str!("../schemas/ring-summary.schema.json");

/// The JSON Schema of `ring frames` as JSON (`wireproof.ring-frames/1`, draft 2020-12).
pub const RING_FRAMES_SCHEMA: &str = include_str!("../schemas/ring-frames.schema.json");

/// The JSON Schema of [`RingPage`](crate::RingPage) as JSON (`wireproof.ring-page/1`, draft 2020-12).
pub const RING_PAGE_SCHEMA: &str = include_str!("../schemas/ring-page.schema.json");

/// The JSON Schema of `ring causes` as JSON (`wireproof.ring-causes/1`, draft 2020-12).
pub const RING_CAUSES_SCHEMA: &str = include_str!("../schemas/ring-causes.schema.json");

/// The JSON Schema of [`RecorderBench`](crate::RecorderBench) as JSON (`wireproof.bench-recorder/1`, draft 2020-12).
pub const BENCH_RECORDER_SCHEMA: &str = include_str!("../schemas/bench-recorder.schema.json");

/// The JSON Schema of the manifest of `ring fetch` as JSON (`wireproof.fetch/1`, draft 2020-12).
pub const FETCH_SCHEMA: &str = include_str!("../schemas/fetch.schema.json");

/// The JSON Schema of the manifest of `ring convert` as JSON (`wireproof.conversion/1`, draft 2020-12).
pub const CONVERSION_SCHEMA: &str = include_str!("../schemas/conversion.schema.json");

/// The JSON Schema of the record of `send` as JSON (`wireproof.send/1`, draft 2020-12).
pub const SEND_SCHEMA: &str = include_str!("../schemas/send.schema.json");

/// The JSON Schema of the record of `replay` as JSON (`wireproof.replay/1`, draft 2020-12).
pub const REPLAY_SCHEMA: &str = include_str!("../schemas/replay.schema.json");

/// The JSON Schema of what `send` did on purpose as JSON (`wireproof.truth/1`, draft 2020-12).
pub const TRUTH_SCHEMA: &str = include_str!("../schemas/truth.schema.json");

/// The JSON Schema of a line of a device's truth file as JSON (`wireproof.deed/1`, draft 2020-12).
pub const DEED_SCHEMA: &str = include_str!("../schemas/deed.schema.json");

/// The JSON Schema of the record of `doctor` as JSON (`wireproof.doctor/1`, draft 2020-12).
pub const DOCTOR_SCHEMA: &str = include_str!("../schemas/doctor.schema.json");

/// The JSON Schema of a device's status, of its engine or its web service, as JSON (`wireproof.device-status/1`, draft 2020-12).
pub const DEVICE_STATUS_SCHEMA: &str = include_str!("../schemas/device-status.schema.json");

/// The JSON Schema of a matrix verdict as JSON (`wireproof.verdict/1`, draft 2020-12).
pub const VERDICT_SCHEMA: &str = include_str!("../schemas/verdict.schema.json");

/// The JSON Schema of [`crate::matrix::calibrate::CalibrationReport`] as JSON (`wireproof.calibration/1`, draft 2020-12).
pub const CALIBRATION_SCHEMA: &str = include_str!("../schemas/calibration.schema.json");

/// The JSON Schema of `matrix check` as JSON (`wireproof.plan-check/1`, draft 2020-12).
pub const PLAN_CHECK_SCHEMA: &str = include_str!("../schemas/plan-check.schema.json");

/// The JSON Schema of `matrix order` as JSON (`wireproof.order/1`, draft 2020-12).
pub const ORDER_SCHEMA: &str = include_str!("../schemas/order.schema.json");
/// The JSON Schema of [`Baseline`](crate::Baseline) as JSON (`wireproof.baseline/1`, draft 2020-12).
pub const BASELINE_SCHEMA: &str = include_str!("../schemas/baseline.schema.json");

/// The JSON Schema of [`Comparison`](crate::Comparison) as JSON (`wireproof.compare/1`, draft 2020-12).
pub const COMPARE_SCHEMA: &str = include_str!("../schemas/compare.schema.json");

/// The JSON Schema of [`crate::compare_runs::Runs`] as JSON (`wireproof.compare-runs/1`, draft 2020-12).
pub const COMPARE_RUNS_SCHEMA: &str = include_str!("../schemas/compare-runs.schema.json");

/// The JSON Schema of [`SoakReport`](crate::soak::SoakReport) as JSON (`wireproof.soak/1`, draft 2020-12).
pub const SOAK_SCHEMA: &str = include_str!("../schemas/soak.schema.json");

/// Every shipped schema by its name: the part of the record's `schema` between `wireproof.` and `/1`.
pub const SCHEMAS: [(&str, &str); 25] = [
    ("alert", ALERT_SCHEMA),
    ("baseline", BASELINE_SCHEMA),
    ("bench", BENCH_SCHEMA),
    ("bench-recorder", BENCH_RECORDER_SCHEMA),
    ("calibration", CALIBRATION_SCHEMA),
    ("compare", COMPARE_SCHEMA),
    ("compare-runs", COMPARE_RUNS_SCHEMA),
    ("conversion", CONVERSION_SCHEMA),
    ("deed", DEED_SCHEMA),
    ("device-status", DEVICE_STATUS_SCHEMA),
    ("doctor", DOCTOR_SCHEMA),
    ("fetch", FETCH_SCHEMA),
    ("order", ORDER_SCHEMA),
    ("plan-check", PLAN_CHECK_SCHEMA),
    ("replay", REPLAY_SCHEMA),
    ("ring", RING_SCHEMA),
    ("ring-causes", RING_CAUSES_SCHEMA),
    ("ring-frames", RING_FRAMES_SCHEMA),
    ("ring-page", RING_PAGE_SCHEMA),
    ("ring-summary", RING_SUMMARY_SCHEMA),
    ("send", SEND_SCHEMA),
    ("soak", SOAK_SCHEMA),
    ("summary", SUMMARY_SCHEMA),
    ("truth", TRUTH_SCHEMA),
    ("verdict", VERDICT_SCHEMA),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_schema_is_listed_under_the_name_of_its_record() {
        for (name, text) in SCHEMAS {
            let schema: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(schema["$id"], format!("wireproof.{name}/1"));
        }
        assert!(SCHEMAS.is_sorted());
        let files = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
        let shipped = std::fs::read_dir(files).unwrap().count();
        assert_eq!(SCHEMAS.len(), shipped);
    }
}
