//! What two runs must have in common before their figures are compared, and how they differ.
//!
//! It refuses nothing: whoever compares decides what may differ.

use crate::digest::Digest;
use crate::metrics::DEFINITIONS;
use crate::plan::{Plan, PlanStream, Word};
use std::collections::BTreeMap;

/// What two runs must have in common before their figures may be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Metrics and the versions of their definitions.
    pub metrics: BTreeMap<String, u32>,
    /// Build of the device, as it said.
    pub device_build: String,
    /// What the plan requires of the device's status: the pins.
    #[serde(default)]
    pub pins: BTreeMap<String, String>,
    /// Frames a second.
    pub fps: u32,
    /// Streams as one line each.
    pub streams: Vec<String>,
    /// Hash of the gates.
    pub gates_sha256: String,
}

/// Why two runs may not be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Metrics whose definition changed: these are never compared.
    pub versions: Vec<String>,
    /// What may be allowed to differ, and then marks the report.
    pub conditions: Vec<String>,
}

impl Identity {
    /// That of a run: its plan, the hash of its gates, and the build the device said it was.
    pub fn of(plan: &Plan, gates_sha256: &str, device_build: &str) -> Self {
        let stream = |one: &PlanStream| {
            let (id, protocol, universes) = (&one.id, &one.protocol, &one.universes);
            let declared = plan.layout.iter().find(|layout| layout.protocol() == *protocol);
            let text =
                declared.map(|layout| format!(", text {}", Digest::of(layout.text.as_bytes()).short()));
            let text = text.unwrap_or_default();
            format!("{id} {protocol} [{universes}] {} a frame{text}", one.datagrams_per_frame)
        };
        Identity {
            metrics: plan.gate.iter().map(|gate| (gate.metric.clone(), DEFINITIONS)).collect(),
            device_build: device_build.to_owned(),
            pins: plan.target.require.iter().map(|(key, word)| (key.clone(), text(word))).collect(),
            fps: plan.target.expected_fps,
            streams: plan.stream.iter().map(stream).collect(),
            gates_sha256: gates_sha256.to_owned(),
        }
    }

    /// How another run differs from this one.
    pub fn differences(&self, other: &Identity) -> Differences {
        let mut found = Differences::default();
        for (metric, version) in &self.metrics {
            match other.metrics.get(metric) {
                Some(now) if now != version => {
                    found.versions.push(format!("{metric}: definition {version} then, {now} here"));
                }
                Some(_) => {}
                None => found.conditions.push(format!("metric {metric} is only in the baseline")),
            }
        }
        let added = other.metrics.keys().filter(|metric| !self.metrics.contains_key(*metric));
        found.conditions.extend(added.map(|metric| format!("metric {metric} is not in the baseline")));
        let rows = [
            ("device build", self.device_build.clone(), other.device_build.clone()),
            ("pins of the device", listed(&self.pins), listed(&other.pins)),
            ("frames a second", self.fps.to_string(), other.fps.to_string()),
            ("streams", self.streams.join("; "), other.streams.join("; ")),
            ("gates_sha256", self.gates_sha256.clone(), other.gates_sha256.clone()),
        ];
        let differ = rows.into_iter().filter(|(_, then, now)| then != now);
        found.conditions.extend(differ.map(|(what, then, now)| format!("{what}: {then} then, {now} here")));
        found
    }
}

fn text(word: &Word) -> String {
    match word {
        Word::Truth(truth) => truth.to_string(),
        Word::Integer(number) => number.to_string(),
        Word::Text(text) => text.clone(),
    }
}

fn listed(pins: &BTreeMap<String, String>) -> String {
    let pins: Vec<String> = pins.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pins.is_empty() { "none".to_owned() } else { pins.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_under_other_conditions_or_definitions_are_told_apart() {
        let identity =
            Identity { metrics: [("a".into(), 1), ("b".into(), 1)].into(), fps: 60, ..Identity::default() };
        let mut other = identity.clone();
        assert_eq!(identity.differences(&other), Differences::default());
        other.metrics = [("a".into(), 2), ("c".into(), 1)].into();
        other.fps = 50;
        let found = identity.differences(&other);
        assert_eq!(found.versions, ["a: definition 1 then, 2 here"]);
        let conditions = [
            "metric b is only in the baseline",
            "metric c is not in the baseline",
            "frames a second: 60 then, 50 here",
        ];
        assert_eq!(found.conditions, conditions);
    }
}
