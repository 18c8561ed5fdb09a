//! Steps of a settable clock, seen against one that only goes on.

/// Slewing moves a clock by this much, parts in a million, without being a step.
pub const SLEW_PPM: i64 = 500;

/// Both clocks, read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The clock that only goes on, ns.
    pub steady_ns: i64,
    /// The clock that may be set, ns.
    pub settable_ns: i64,
}

/// How far the settable clock jumped between two readings; `None` within slew and `limit_ns`.
pub fn step(before: Reading, after: Reading, limit_ns: i64) -> Option<i64> {
    let passed = after.steady_ns.saturating_sub(before.steady_ns);
    let by = after.settable_ns.saturating_sub(before.settable_ns).saturating_sub(passed);
    let slewed = passed.saturating_abs().saturating_mul(SLEW_PPM) / 1_000_000;
    (by.saturating_abs() > limit_ns.saturating_add(slewed)).then_some(by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_worked_case_has_one_step() {
        let case = crate::golden::case("clock-step");
        let samples = case["input"]["samples"].as_array().unwrap();
        let reading = |s: &serde_json::Value| Reading {
            steady_ns: s[0].as_i64().unwrap(),
            settable_ns: s[1].as_i64().unwrap(),
        };
        let readings: Vec<Reading> = samples.iter().map(reading).collect();
        let steps: Vec<_> = readings
            .windows(2)
            .filter_map(|pair| Some(json!([pair[1].steady_ns, step(pair[0], pair[1], 1_000_000)?])))
            .collect();
        assert_eq!(json!(steps), case["expected"]["steps"]);
    }

    #[test]
    fn slew_and_limit_together_are_no_step_and_one_more_is() {
        let after = |by: i64| Reading { steady_ns: 1_000_000_000, settable_ns: 1_000_000_000 + by };
        for by in [1_500_000, -1_500_000] {
            assert_eq!(step(Reading::default(), after(by), 1_000_000), None);
            assert_eq!(step(Reading::default(), after(by + by.signum()), 1_000_000), Some(by + by.signum()));
        }
        let far = Reading { steady_ns: i64::MIN, settable_ns: i64::MAX };
        assert!(step(far, Reading { steady_ns: i64::MAX, settable_ns: i64::MIN }, 0).is_some());
    }
}
