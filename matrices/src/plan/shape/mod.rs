//! What every typed plan must keep to, wherever it was read from: words, addresses, paths, counts and lengths.
//!
//! Whatever uses a plan may rely on these limits; they bound its memory and time.

mod gates;
mod toggles;

use super::profile::{self, RingMap};
use super::{Factor, Plan, PlanError, PlanLayout, PlanStream, Role, Toggle, layouts};
use crate::order;
use std::net::{IpAddr, SocketAddr};

pub(super) use gates::misfit;

/// Most blocks of a stratum.
pub const MOST_BLOCKS: u32 = 1000;
/// Most combinations of treatment levels, and of stratum levels.
pub const MOST_COMBINATIONS: usize = 64;
/// Most arms of a plan.
pub const MOST_ARMS: u64 = 10_000;
/// Most drains of an arm.
pub const MOST_DRAINS: usize = 64;
/// Longest of all durations: a day, ns.
pub const LONGEST_NS: u64 = 86_400 * 1_000_000_000;
/// Most streams, factors, toggles, gates and requirements.
pub(super) const MOST_ENTRIES: usize = 64;
/// Most levels of a factor.
const MOST_LEVELS: usize = 64;
/// Longest free text, octets.
const LONGEST_TEXT: usize = 4096;
/// Longest path, body, argument or value, octets.
const LONGEST_WORD: usize = 1024;

pub(super) type Checked = Result<(), PlanError>;

/// Refuses a plan that breaks a limit.
///
/// # Errors
/// One line that names the table, the field and the limit.
pub fn check(plan: &Plan) -> Checked {
    root(plan)?;
    target(plan)?;
    unique(plan.stream.iter().map(|stream| stream.id.as_str()), "stream", "id")?;
    layouts::check(&plan.layout)?;
    plan.stream.iter().try_for_each(|one| stream(one, &plan.layout))?;
    plan.stream.iter().try_for_each(|stream| from_level(plan, stream))?;
    unique(plan.factor.iter().map(|factor| factor.name.as_str()), "factor", "name")?;
    plan.factor.iter().try_for_each(factor)?;
    size(plan)?;
    durations(plan)?;
    drain(plan)?;
    ladder(plan)?;
    unique(plan.toggle.iter().map(|toggle| toggle.factor.as_str()), "toggle", "factor")?;
    plan.toggle.iter().try_for_each(toggles::check)?;
    unique(plan.gate.iter().map(|gate| gate.id.as_str()), "gate", "id")?;
    plan.gate.iter().try_for_each(gates::check)
}

/// Number of universes of a list such as `1-12,40`; 0 for an empty one.
///
/// # Errors
/// What is wrong with it.
pub fn count_universes(text: &str) -> Result<u32, String> {
    let refused =
        || format!("{:?} is no list of universes: write 1-12,40", text.chars().take(40).collect::<String>());
    let mut ranges = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|number| *number <= 63_999);
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        ranges.push(range.ok_or_else(refused)?);
    }
    ranges.sort_unstable();
    match ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
        true => Err(format!("{text:?} names a universe twice: name each once")),
        false => Ok(ranges.iter().map(|(first, last)| u32::from(last - first) + 1).sum()),
    }
}

/// A number from `least` to `most`.
pub(super) fn within(table: &str, field: &str, number: u64, least: u64, most: u64) -> Checked {
    match (least..=most).contains(&number) {
        true => Ok(()),
        false => refuse(table, field, format!("is {number}: {least} to {most}")),
    }
}

pub(super) fn refuse(table: impl Into<String>, field: &str, reason: impl Into<String>) -> Checked {
    Err(PlanError::at(table, field, reason))
}

/// Letters, digits and a few marks, so that a name can be part of a file name.
pub(super) fn name(table: &str, field: &str, text: &str, marks: &str) -> Checked {
    let fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c);
    if (1..=40).contains(&text.len()) && text.chars().all(fit) {
        return Ok(());
    }
    let shown: String = text.chars().take(40).collect();
    refuse(table, field, format!("{shown:?} is no name: use 1 to 40 of a-z, 0-9 and {marks}"))
}

/// What a toggle has to keep to, wherever it stands.
pub(super) fn toggle(toggle: &Toggle) -> Checked {
    toggles::check(toggle)
}

/// Levels are parts of file names too, but may have capitals.
fn level(table: &str, text: &str) -> Checked {
    name(table, "levels", &text.to_ascii_lowercase(), "-_.")
}

pub(super) fn word(table: &str, field: &str, text: &str) -> Checked {
    match text.len() <= LONGEST_WORD {
        true => Ok(()),
        false => refuse(table, field, format!("is longer than {LONGEST_WORD} octets")),
    }
}

pub(super) fn path(table: &str, field: &str, text: &str) -> Checked {
    word(table, field, text)?;
    match text.starts_with('/') && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
        true => Ok(()),
        false => refuse(table, field, "is no path: write it like \"/v1/status\""),
    }
}

pub(super) fn unique<'a>(names: impl Iterator<Item = &'a str>, table: &str, field: &str) -> Checked {
    let mut names: Vec<&str> = names.collect();
    if names.len() > MOST_ENTRIES {
        return refuse(table, "", format!("stands {} times: {MOST_ENTRIES} at most", names.len()));
    }
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => refuse(format!("{table} {}", pair[0]), field, "stands twice: name each once"),
        None => Ok(()),
    }
}

fn root(plan: &Plan) -> Checked {
    if plan.schema != 1 {
        return refuse("plan", "schema", format!("is {}: this version reads 1", plan.schema));
    }
    name("plan", "name", &plan.name, "-")?;
    let long = plan.purpose.len() > LONGEST_TEXT;
    if long { refuse("plan", "purpose", format!("is longer than {LONGEST_TEXT} octets")) } else { Ok(()) }
}

fn target(plan: &Plan) -> Checked {
    let target = &plan.target;
    let host = target.base_url.strip_prefix("http://").unwrap_or_default().trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]%_".contains(c);
    if host.is_empty() || !host.chars().all(plain) || host.len() > 255 {
        return refuse("target", "base_url", "is no \"http://HOST\" or \"http://HOST:PORT\"");
    }
    path("target", "status", &target.status)?;
    target.profile.iter().try_for_each(|profile| profile::check(profile))?;
    if let Some(variable) = &target.auth {
        let fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if variable.is_empty() || variable.len() > 100 || !variable.chars().all(fit) {
            return refuse("target", "auth", "names no environment variable: write \"env:PI_TOKEN\"");
        }
    }
    within("target", "expected_fps", target.expected_fps.into(), 1, 1000)?;
    if target.require.len() > MOST_ENTRIES {
        return refuse("target", "require", format!("has more than {MOST_ENTRIES} keys"));
    }
    target.require.keys().try_for_each(|key| word("target.require", key, key))
}

fn stream(stream: &PlanStream, given: &[PlanLayout]) -> Checked {
    let table = format!("stream {}", stream.id.chars().take(40).collect::<String>());
    name(&table, "id", &stream.id, "-_.")?;
    let known = ["bigpacket", "sacn", "ddp", "artnet"].contains(&stream.protocol.as_str());
    let declared = layouts::of(given, &stream.protocol).and_then(PlanLayout::declared);
    if !known && declared.is_none() {
        let reason = "is none of bigpacket, sacn, ddp, artnet, and none that a layout of the plan declares";
        return refuse(table, "protocol", reason);
    }
    let by_universe = declared.as_ref().map_or_else(
        || ["sacn", "artnet"].contains(&stream.protocol.as_str()),
        |declared| declared.by_universe,
    );
    let Some(listen) = stream.listen.parse::<SocketAddr>().ok().filter(|listen| listen.port() != 0) else {
        return refuse(table, "listen", "is no address and port: write it like \"0.0.0.0:5568\"");
    };
    if declared.as_ref().is_some_and(|of| !of.any_port && !of.ports.contains(&listen.port())) {
        let reason =
            format!("has a port that udp_dst of {} does not name: nothing would be read", stream.protocol);
        return refuse(table, "listen", reason);
    }
    within(&table, "datagrams_per_frame", stream.datagrams_per_frame.into(), 1, 65_536)?;
    within(&table, "seq_modulus", stream.seq_modulus, 2, 1 << 48)?;
    if stream.source.parse::<IpAddr>().is_err() {
        return refuse(table, "source", "is no IP address: write it like \"10.0.0.17\"");
    }
    match count_universes(&stream.universes) {
        Err(reason) => refuse(table, "universes", reason),
        Ok(0) => Ok(()),
        Ok(_) if !by_universe => {
            refuse(table, "universes", format!("mean nothing to {}: leave them out", stream.protocol))
        }
        Ok(_) => Ok(()),
    }
}

fn from_level(plan: &Plan, stream: &PlanStream) -> Checked {
    let Some(level) = stream.from_level else { return Ok(()) };
    let table = format!("stream {}", stream.id.chars().take(40).collect::<String>());
    match plan.rungs() {
        levels if levels.is_empty() => {
            refuse(table, "from_level", "means something to a ladder only: leave it out")
        }
        levels if !levels.contains(&level) => {
            refuse(table, "from_level", "is no level of the ladder's factor")
        }
        _ => Ok(()),
    }
}

fn factor(factor: &Factor) -> Checked {
    let table = format!("factor {}", factor.name.chars().take(40).collect::<String>());
    name(&table, "name", &factor.name, "-_")?;
    let count = factor.levels.len();
    if !(1..=MOST_LEVELS).contains(&count) {
        return refuse(table, "levels", format!("are {count}: 1 to {MOST_LEVELS}"));
    }
    factor.levels.iter().try_for_each(|text| level(&table, text))?;
    unique(factor.levels.iter().map(String::as_str), &table, "levels")?;
    if !factor.levels.contains(&factor.baseline) {
        return refuse(table, "baseline", format!("is none of its levels: {}", factor.levels.join(", ")));
    }
    if factor.role == Role::Fixed && count > 1 {
        return refuse(
            table,
            "levels",
            "are several: a fixed factor has one, a varied one is treatment or stratum",
        );
    }
    Ok(())
}

/// Combinations of the levels of a role, at most [`MOST_COMBINATIONS`].
fn combinations(plan: &Plan, role: Role) -> Result<u64, PlanError> {
    let levels =
        plan.factor.iter().filter(|factor| factor.role == role).map(|factor| factor.levels.len() as u64);
    let product = levels.fold(1u64, |product, levels| product.saturating_mul(levels));
    match product <= MOST_COMBINATIONS as u64 {
        true => Ok(product),
        false => {
            let reason = format!("give {product} combinations of one role: {MOST_COMBINATIONS} at most");
            Err(PlanError::at("factor", "levels", reason))
        }
    }
}

fn size(plan: &Plan) -> Checked {
    let design = &plan.design;
    if design.order != order::NAME {
        return refuse("design", "order", format!("is none known: write {:?}", order::NAME));
    }
    within("design", "blocks", design.blocks.into(), 1, MOST_BLOCKS.into())?;
    within("design", "max_invalid_repeats", design.max_invalid_repeats.into(), 0, 1000)?;
    if design.seed > i64::MAX as u64 {
        return refuse("design", "seed", "is not below 2^63");
    }
    let (treatments, strata) = (combinations(plan, Role::Treatment)?, combinations(plan, Role::Stratum)?);
    let arms = treatments * strata * u64::from(design.blocks);
    if arms > MOST_ARMS {
        return refuse("design", "blocks", format!("give {arms} arms: {MOST_ARMS} at most"));
    }
    let rising = design.looks.windows(2).all(|pair| pair[0] < pair[1]);
    match rising && design.looks.last().is_none_or(|last| *last == design.blocks) && design.looks.len() <= 8 {
        true => Ok(()),
        false => refuse("design", "looks", "must rise and end with the number of blocks"),
    }
}

fn durations(plan: &Plan) -> Checked {
    let (timing, validity) = (&plan.timing, &plan.validity);
    let all = [
        ("timing", "warmup", timing.warmup_ns, 0),
        ("timing", "settle", timing.settle_ns, 0),
        ("timing", "measure", timing.measure_ns, 1),
        ("timing", "guard", timing.guard_ns, 0),
        ("timing", "arm_deadline", timing.arm_deadline_ns, 1),
        ("validity", "max_loop_gap", validity.max_loop_gap_ns.unwrap_or(1), 1),
        ("validity", "min_hold", validity.min_hold_ns, 0),
        ("validity", "clock_step", validity.clock_step_ns, 1),
    ];
    all.into_iter().try_for_each(|(table, field, ns, least)| duration(table, field, ns, least))?;
    if validity.fps_tolerance_ppm == 0 || validity.fps_tolerance_ppm >= 1_000_000 {
        return refuse("validity", "fps_tolerance", "is not above 0% and below 100%");
    }
    word("evidence", "dir", &plan.evidence.dir)?;
    if plan.evidence.dir.is_empty() { refuse("evidence", "dir", "is empty: name a folder") } else { Ok(()) }
}

fn ladder(plan: &Plan) -> Checked {
    match &plan.ladder {
        Some(ladder) => within("ladder", "arms_per_step", ladder.arms_per_step.into(), 1, MOST_BLOCKS.into()),
        None => Ok(()),
    }
}

fn duration(table: &str, field: &str, ns: u64, least: u64) -> Checked {
    match ns {
        ns if ns < least => refuse(table, field, "is zero: it needs a length"),
        ns if ns > LONGEST_NS => refuse(table, field, "is longer than a day"),
        _ => Ok(()),
    }
}

fn drain(plan: &Plan) -> Checked {
    let Some(drain) = &plan.drain else { return Ok(()) };
    let recorder = plan.profile().is_none_or(|profile| profile.ring != RingMap::None);
    if recorder || !drain.url.is_empty() {
        path("drain", "url", &drain.url)?;
    }
    if !recorder && !drain.url.is_empty() {
        return refuse("drain", "url", "names a ring, and the device has no recorder: leave it out");
    }
    if drain.paths.len() > MOST_LEVELS {
        return refuse("drain", "paths", format!("has more than {MOST_LEVELS} levels"));
    }
    within("drain", "expect_bytes", drain.expect_bytes, 1, 1 << 32)?;
    drain.paths.iter().try_for_each(|(level, text)| path("drain.paths", level, text))?;
    let offsets = &drain.offsets_ns;
    if offsets.len() > MOST_DRAINS {
        return refuse("drain", "offsets", format!("are {}: {MOST_DRAINS} at most", offsets.len()));
    }
    if offsets.windows(2).any(|pair| pair[0] >= pair[1]) {
        return refuse("drain", "offsets", "do not rise: write them in order, each once");
    }
    for (field, ns, least) in [
        ("jitter", drain.jitter_ns, 0),
        ("tail", drain.tail_ns, 0),
        ("timeout", drain.timeout_ns, 1),
        ("offsets", offsets.iter().copied().max().unwrap_or(0), 0),
    ] {
        duration("drain", field, ns, least)?;
    }
    match drain.jitter_ns % 1000 == 0 && drain.jitter_ns / 1000 < u64::from(u32::MAX) {
        true => Ok(()),
        false => refuse("drain", "jitter", "is not a whole number of us below 2^32: starts are drawn in us"),
    }
}
