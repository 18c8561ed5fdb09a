//! One judged line of the doctor.

use serde::Serialize;
use std::collections::BTreeMap;

/// How a check ended, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// Nothing to do.
    Ok,
    /// Something works less well, or is not known.
    Warn,
    /// Something asked for cannot be done.
    Fail,
}

impl State {
    /// The word of the table.
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Ok => "OK",
            State::Warn => "WARN",
            State::Fail => "FAIL",
        }
    }
}

/// One line; fields in alphabetical order, which is the order in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) name: String,
    /// The command that repairs it.
    pub(super) repair: Option<String>,
    /// How it ended.
    pub(super) state: State,
    /// What was found and what it means.
    pub(super) text: String,
    /// The numbers in the text, for scripts; a key says its unit.
    pub(super) values: BTreeMap<&'static str, u64>,
}

impl Check {
    pub(super) fn new(state: State, name: &str, text: impl Into<String>) -> Self {
        Check { name: name.to_owned(), repair: None, state, text: text.into(), values: BTreeMap::new() }
    }

    pub(super) fn ok(name: &str, text: impl Into<String>) -> Self {
        Check::new(State::Ok, name, text)
    }

    pub(super) fn warn(name: &str, text: impl Into<String>) -> Self {
        Check::new(State::Warn, name, text)
    }

    pub(super) fn fail(name: &str, text: impl Into<String>) -> Self {
        Check::new(State::Fail, name, text)
    }

    /// Adds the repairing command, unless nothing is wrong.
    pub(super) fn repair(self, command: impl Into<String>) -> Self {
        let repair = (self.state != State::Ok).then(|| command.into());
        Check { repair, ..self }
    }

    /// Adds a number.
    pub(super) fn value(mut self, key: &'static str, value: u64) -> Self {
        self.values.insert(key, value);
        self
    }
}

/// Octets for people: `4 MiB`, `208 KiB`, `12.3 GiB`.
pub(super) fn octets(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let Some((shift, unit)) = units.into_iter().find(|(shift, _)| bytes >> shift > 0) else {
        return format!("{bytes} octets");
    };
    let (whole, tenth) = (bytes >> shift, ((bytes & ((1 << shift) - 1)) * 10) >> shift);
    if tenth == 0 { format!("{whole} {unit}") } else { format!("{whole}.{tenth} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_have_a_unit_people_read() {
        for (bytes, text) in [
            (0, "0 octets"),
            (1_023, "1023 octets"),
            (212_992, "208 KiB"),
            (4 << 20, "4 MiB"),
            (13_207_024_436, "12.3 GiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(octets(bytes), text);
        }
    }

    #[test]
    fn what_is_well_is_not_repaired() {
        assert_eq!(Check::ok("a", "b").repair("c").repair, None);
        assert_eq!(Check::warn("a", "b").repair("c").repair.as_deref(), Some("c"));
    }
}
