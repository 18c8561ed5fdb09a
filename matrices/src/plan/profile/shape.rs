//! What every profile must keep to, wherever it was read from: names, paths, pointers, headers, sizes and octets.

use super::super::PlanError;
use super::super::shape::{self, Checked, MOST_ENTRIES, refuse, within, word};
use super::{Auth, ClockMap, Profile, RECORD_FIELDS, RingFields, RingMap, Source, StatusMap, Unit};

/// Smallest and largest limit of an answer, octets.
const ANSWERS: (u64, u64) = (1024, 1 << 20);
/// Most documents that make up a status.
const MOST_DOCUMENTS: usize = 8;
/// Largest header or record of a ring of layout 1, octets.
const MOST_OCTETS: u64 = 1 << 20;
/// Maps of layout 1 that the program knows.
const MAPS: [&str; 2] = ["v1-assumed-a", "v1-assumed-b"];
/// Headers that say something else in every question: a token never goes there.
const TAKEN: [&str; 6] =
    ["host", "connection", "content-length", "content-type", "transfer-encoding", "accept-encoding"];

/// Refuses a profile that breaks a limit.
///
/// # Errors
/// One line that names the table, the field and the limit.
pub(in crate::plan) fn check(profile: &Profile) -> Checked {
    within("profile", "schema", profile.schema.into(), 1, 1)?;
    shape::name("profile", "name", &profile.name, "-")?;
    within("profile", "answer_limit", profile.answer_bytes, ANSWERS.0, ANSWERS.1)?;
    if let Auth::Header { name } = &profile.auth {
        header("profile.auth", "header", name)?;
    }
    status(&profile.status)?;
    clock(&profile.clock)?;
    ring(&profile.ring)?;
    shape::unique(profile.toggle.iter().map(|toggle| toggle.factor.as_str()), "profile.toggle", "factor")?;
    within("profile", "toggle", profile.toggle.len() as u64, 0, MOST_ENTRIES as u64)?;
    profile.toggle.iter().try_for_each(shape::toggle)
}

fn status(status: &StatusMap) -> Checked {
    let table = "profile.status";
    shape::path(table, "path", &status.path)?;
    let times = [("uptime", &status.uptime), ("cpu", &status.cpu)];
    let plain = [
        ("build", &status.build),
        ("boot", &status.boot),
        ("generation", &status.generation),
        ("throttled", &status.throttled),
    ];
    for (field, found) in times {
        found.iter().try_for_each(|found| source(table, field, found, Some(true)))?;
    }
    status.fps.iter().try_for_each(|found| source(table, "fps", found, Some(false)))?;
    for (field, found) in plain {
        found.iter().try_for_each(|found| source(table, field, found, None))?;
    }
    for (field, map) in [("values", &status.values), ("counters", &status.counters)] {
        within(table, field, map.len() as u64, 0, MOST_ENTRIES as u64)?;
        for (name, found) in map {
            shape::name(&format!("{table}.{field}"), name, name, "_-.")?;
            source(&format!("{table}.{field}"), name, found, None)?;
        }
    }
    let documents = status.documents().len();
    match documents > MOST_DOCUMENTS {
        true => {
            refuse(table, "", format!("is put together from {documents} documents: {MOST_DOCUMENTS} at most"))
        }
        false => Ok(()),
    }
}

impl StatusMap {
    /// Paths of the documents that a status is put together from, each once, the status's own first.
    pub fn documents(&self) -> Vec<&str> {
        let single =
            [&self.build, &self.boot, &self.uptime, &self.generation, &self.throttled, &self.cpu, &self.fps];
        let sources = single.into_iter().flatten().chain(self.values.values());
        let mut paths = vec![self.path.as_str()];
        for source in sources {
            if !paths.contains(&source.path.as_str()) {
                paths.push(&source.path);
            }
        }
        paths
    }
}

/// `times`: it needs a unit of time, or of a rate; `None`: it has none.
fn source(table: &str, field: &str, source: &Source, times: Option<bool>) -> Checked {
    shape::path(table, field, &source.path)?;
    pointer(table, field, &source.pointer)?;
    let of_rate = |unit: Unit| matches!(unit, Unit::Fps | Unit::Mfps);
    if source.unit.map(|unit| !of_rate(unit)) != times {
        return refuse(table, field, "has no unit that fits: ns, us, ms, s of a time, fps, mfps of a rate");
    }
    within(table, field, source.map.len() as u64, 0, MOST_ENTRIES as u64)?;
    source.map.keys().try_for_each(|key| word(table, field, key))
}

/// RFC 6901: empty, or parts that begin with `/`, in which `~` stands before 0 or 1 only.
fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes
}

fn pointer(table: &str, field: &str, text: &str) -> Checked {
    word(table, field, text)?;
    match !text.is_empty() && is_pointer(text) {
        true => Ok(()),
        false => refuse(table, field, "has no JSON pointer: write it like \"/info/leds/fps\" (RFC 6901)"),
    }
}

/// A name as RFC 9110 has it, in small letters.
fn header(table: &str, field: &str, name: &str) -> Checked {
    let fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(fit) {
        return refuse(table, field, "is no name of a header: 1 to 64 letters, digits, -, _ and .");
    }
    match TAKEN.contains(&name) {
        true => refuse(table, field, format!("is {name}, which says something else already")),
        false => Ok(()),
    }
}

fn clock(clock: &ClockMap) -> Checked {
    let table = "profile.clock";
    match clock {
        ClockMap::None => Ok(()),
        ClockMap::Headers { received, sent, unit } => {
            header(table, "received", received)?;
            header(table, "sent", sent)?;
            match matches!(unit, Unit::Fps | Unit::Mfps) {
                true => refuse(table, "unit", "is no unit of a time: ns, us, ms, s"),
                false => Ok(()),
            }
        }
        ClockMap::Value { source: found } => source(table, "pointer", found, Some(true)),
    }
}

fn ring(ring: &RingMap) -> Checked {
    let table = "profile.ring";
    let Some((path, bytes)) = ring.copy() else { return Ok(()) };
    shape::path(table, "path", path)?;
    within(table, "bytes", bytes, 1, 1 << 32)?;
    let RingMap::V1 { map, fields, stages, .. } = ring else { return Ok(()) };
    within(table, "stages", stages.len() as u64, 0, MOST_ENTRIES as u64)?;
    stages.keys().try_for_each(|name| shape::name("profile.ring.stages", name, name, "_-."))?;
    match fields {
        None if !MAPS.contains(&map.as_str()) => {
            refuse(table, "map", format!("is none known: one of {}, or a table [ring.map]", MAPS.join(", ")))
        }
        Some(_) if !map.is_empty() => refuse(table, "map", "has a name and fields: give one of them"),
        Some(fields) => octets(fields),
        None => Ok(()),
    }
}

/// Every field lies where it can be read.
fn octets(map: &RingFields) -> Checked {
    let table = "profile.ring.map";
    within(table, "header", map.header, 1, MOST_OCTETS)?;
    within(table, "record", map.record, 1, MOST_OCTETS)?;
    word(table, "magic", map.magic.as_deref().unwrap_or_default())?;
    let inside = |at: u64, length: u64, of: u64| at.checked_add(length).is_some_and(|end| end <= of);
    for (name, most) in RECORD_FIELDS {
        let placed = map.fields.get(name).copied();
        let fits =
            placed.is_some_and(|(at, length)| (1..=most).contains(&length) && inside(at, length, map.record));
        if !fits {
            return refuse(table, name, format!("is not inside the record with 1 to {most} octets"));
        }
    }
    if map.fields.len() != RECORD_FIELDS.len() {
        return refuse(table, "", "has fields that no record has");
    }
    if !inside(map.commit, 8, map.record) {
        return refuse(table, "commit", "is not inside the record with 8 octets");
    }
    let header = [
        ("visible", Some(map.visible), 8),
        ("generation", map.generation, 8),
        ("seq", map.seq, 8),
        ("capacity", map.capacity, 4),
    ];
    for (name, at, length) in header {
        if at.is_some_and(|at| !inside(at, length, map.header)) {
            return refuse(table, name, format!("is not inside the header with {length} octets"));
        }
    }
    Ok(())
}

/// A profile inside a plan: its switches are the plan's.
pub(in crate::plan) fn check_resolved(profile: &Profile) -> Result<(), PlanError> {
    check(profile)?;
    match profile.toggle.is_empty() {
        true => Ok(()),
        false => refuse("target.profile", "toggle", "holds switches: those of a plan stand in [[toggle]]"),
    }
}
