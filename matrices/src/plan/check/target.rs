//! Checks of the device by its profile: what it gives, what a plan asks of it that it has no word for, and its token.

use super::super::profile::{Auth, ClockMap, Given, RingMap, given};
use super::super::{Plan, Profile};
use super::Remarks;

/// What a reader has to know of a device's own, if it is not given.
const TOLD: [&str; 3] = ["owners", "restart", "frames"];

pub(super) fn check(plan: &Plan, remarks: &mut Remarks) {
    let Some(profile) = plan.profile() else { return };
    token(plan, profile, remarks);
    require(plan, profile, remarks);
    effects(plan, profile, remarks);
    for Given { what, how, .. } in given(profile).into_iter().filter(|row| !row.given) {
        if TOLD.contains(&what) {
            let code = match (&profile.ring, what) {
                (RingMap::V1 { .. }, "owners") => "ring_v1_no_stamps",
                _ => "profile-gives-not",
            };
            remarks.note(code, "target", format!("{what}: {how}"));
        }
    }
    if profile.ring != RingMap::None && profile.clock == ClockMap::None {
        let text = "has a ring and no clock: rings are kept as evidence and measure nothing, add [clock]";
        remarks.warning("profile-no-clock", "target", text);
    }
}

fn token(plan: &Plan, profile: &Profile, remarks: &mut Remarks) {
    match (&profile.auth, &plan.target.auth) {
        (Auth::None, Some(_)) => {
            let text =
                format!("auth is given, and {} sends no token: leave it out, or set [auth]", profile.name);
            remarks.error("auth-unused", "target", text);
        }
        (Auth::Bearer | Auth::Header { .. }, None) => {
            let text =
                format!("{} sends a token, and no auth names one: the device may refuse", profile.name);
            remarks.warning("auth-missing", "target", text);
        }
        _ => {}
    }
}

/// Names of a plan are those of the profile; a JSON pointer is read in the status document as it is.
fn require(plan: &Plan, profile: &Profile, remarks: &mut Remarks) {
    let known = |key: &str| {
        let build = key == "build" && profile.status.build.is_some();
        build || key.starts_with('/') || profile.status.values.contains_key(key)
    };
    for key in plan.target.require.keys().filter(|key| !known(key)) {
        let mut names: Vec<&str> = profile.status.values.keys().map(String::as_str).collect();
        names.extend(profile.status.build.is_some().then_some("build"));
        let text = format!("require: {} has no {key}: it knows {}", profile.name, names.join(", "));
        remarks.error("require-unknown", "target", text);
    }
}

fn effects(plan: &Plan, profile: &Profile, remarks: &mut Remarks) {
    for toggle in &plan.toggle {
        let Some(effect) = &toggle.effect else { continue };
        let name = effect.counter.trim_start_matches('/');
        if !profile.status.counters.contains_key(name) {
            let text = format!(
                "effect: {name} is no counter of {}: it is read as the JSON pointer {} of {}",
                profile.name, effect.counter, profile.status.path
            );
            remarks.note("effect-pointer", format!("toggle {}", toggle.factor), text);
        }
    }
}
