//! A day of the Gregorian calendar in UTC. Reads no clock: which day it is, somebody says.

use crate::text::rfc3339;
use std::fmt;

const DAY_NS: i64 = 86_400_000_000_000;

/// A day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

impl Day {
    /// The day of an instant, ns since 1970.
    pub fn of(ns: i64) -> Day {
        Day(ns.div_euclid(DAY_NS))
    }

    /// The day written as `2026-12-31`; `None` for what is no day of 1970 to 2199.
    pub fn parse(text: &str) -> Option<Day> {
        let date: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == 10)?;
        let since = date.duration_since(jiff::civil::date(1970, 1, 1));
        (1970..2200).contains(&date.year()).then_some(Day(since.as_secs() / 86_400))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = rfc3339(self.0.saturating_mul(DAY_NS), 6);
        f.write_str(text.get(..10).unwrap_or(&text))
    }
}
