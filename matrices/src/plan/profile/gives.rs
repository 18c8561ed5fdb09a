//! What a profile gives a matrix and what it cannot give, in words, so that `check` says it before anything is sent.

use super::super::metric::{metric, range};
use super::super::{Plan, Profile};
use super::{Auth, ClockMap, RingMap};

/// One thing that a matrix wants of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// What, such as `frames`.
    pub what: &'static str,
    /// Whether it is to be had.
    pub given: bool,
    /// How, or why not.
    pub how: String,
}

/// Everything that a matrix wants of a device, and whether this profile gives it.
pub fn given(profile: &Profile) -> Vec<Given> {
    let row = |what, (given, how): (bool, String)| Given { what, given, how };
    vec![
        row("wire", (true, "every wire.* gate: no word of the device is needed".to_owned())),
        row("frames", frames(profile)),
        row("stages", stages(profile)),
        row("owners", owners(profile)),
        row("restart", restart(profile)),
        row("clock", clock(profile)),
        row("cpu", told(profile.status.cpu.is_some(), "device.cpu", "it tells no processor time")),
        row("throttling", told(profile.status.throttled.is_some(), "throttled", "it tells no throttling")),
        row(
            "rate",
            told(profile.status.fps.is_some(), "its own figure, beside the wire's", "it tells no rate"),
        ),
        row("token", auth(profile)),
    ]
}

/// What a reader of a verdict would look for and the device cannot give, a code and a sentence each.
pub fn unshown(plan: &Plan) -> Vec<(&'static str, String)> {
    let Some(profile) = plan.profile() else { return Vec::new() };
    let row = |Given { what, how, .. }: Given| match (what, &profile.ring) {
        ("owners", RingMap::V1 { .. }) => Some(("ring_v1_no_stamps", NO_STAMPS.to_owned())),
        ("owners" | "frames", _) => Some(("not_shown", format!("{what}: {how}"))),
        _ => None,
    };
    given(profile).into_iter().filter(|row| !row.given).filter_map(row).collect()
}

/// Why a metric cannot be measured on the plan's device; `None` when it can.
pub fn lacking(plan: &Plan, name: &str) -> Option<String> {
    let profile = plan.profile()?;
    let measured = metric(name)?;
    let status = &profile.status;
    if name == "device.cpu" {
        return status.cpu.is_none().then(|| "it tells no processor time".to_owned());
    }
    if !measured.ring {
        return None;
    }
    if let (false, why) = frames(profile) {
        return Some(why);
    }
    let (from, to, _) = range(name)?;
    let RingMap::V1 { stages, .. } = &profile.ring else { return None };
    let unnamed = [from, to].into_iter().find(|stage| !stages.contains_key(*stage));
    unnamed.map(|stage| format!("its ring names no stages, and the profile's [ring.stages] has no {stage}"))
}

fn told(is: bool, how: &str, why: &str) -> (bool, String) {
    (is, if is { how.to_owned() } else { why.to_owned() })
}

fn frames(profile: &Profile) -> (bool, String) {
    match (&profile.ring, &profile.clock) {
        (RingMap::None, _) => (false, "it has no recorder".to_owned()),
        (_, ClockMap::None) => {
            (false, "it does not tell its clock, so nobody knows which frames are of the window".to_owned())
        }
        (RingMap::V1 { map, .. }, _) => {
            let map = if map.is_empty() { "a map of its own" } else { map };
            (true, format!("frame.* from a ring of layout 1 ({map}); misses are frames over 1/fps"))
        }
        (RingMap::V2 { .. }, _) => (true, "frame.* from a ring of layout 2".to_owned()),
    }
}

fn stages(profile: &Profile) -> (bool, String) {
    match &profile.ring {
        _ if !frames(profile).0 => frames(profile),
        RingMap::V1 { stages, .. } if stages.is_empty() => {
            (false, "frame.range: its ring names no stages, and the profile none either".to_owned())
        }
        RingMap::V1 { stages, .. } => {
            let names: Vec<&str> = stages.keys().map(String::as_str).collect();
            (true, format!("frame.range of {}", names.join(", ")))
        }
        _ => (true, "frame.range of the stages that its ring names".to_owned()),
    }
}

fn owners(profile: &Profile) -> (bool, String) {
    match &profile.ring {
        RingMap::V2 { .. } if profile.clock != ClockMap::None => {
            (true, "losses are the sender's, the wire's or the observer's".to_owned())
        }
        RingMap::V1 { .. } => (false, NO_STAMPS.to_owned()),
        _ => {
            (false, "losses are the observer's or somebody's before it: sender or wire is unknown".to_owned())
        }
    }
}

/// What a ring of layout 1 leaves open.
const NO_STAMPS: &str =
    "a ring of layout 1 does not say what was sent: a loss is the sender's or the wire's, unknown which";

fn restart(profile: &Profile) -> (bool, String) {
    let status = &profile.status;
    match (&status.boot, &status.uptime, &status.generation) {
        (Some(_), _, _) => (true, "by the word of its boot".to_owned()),
        (None, Some(_), _) => (true, "by the time it has been up, to a few seconds".to_owned()),
        (None, None, Some(_)) => (true, "by the generation of its ring".to_owned()),
        (None, None, None) => {
            (false, "nothing tells a restart: only the gap on the wire would show".to_owned())
        }
    }
}

fn clock(profile: &Profile) -> (bool, String) {
    match &profile.clock {
        ClockMap::None => (false, "it does not tell its clock".to_owned()),
        ClockMap::Headers { received, sent, .. } => (true, format!("headers {received} and {sent}")),
        ClockMap::Value { source } => (true, format!("{} of {}", source.pointer, source.path)),
    }
}

fn auth(profile: &Profile) -> (bool, String) {
    match &profile.auth {
        Auth::Bearer => (true, "Authorization: Bearer".to_owned()),
        Auth::Header { name } => (true, format!("header {name}")),
        Auth::None => (false, "no token is sent".to_owned()),
    }
}
