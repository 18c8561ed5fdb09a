//! When capturing ended, as the interface statistics of a pcapng section say (pcapng draft, section 4.6). It reads nothing
//! itself, and believes no statistics of a file that lacks records which they count.
//!
//! `dumpcap` writes such statistics, and so does `wireproof observe -w`. Programs that cut records out of a file copy them as
//! they are: what they say then is the end of the whole capture, and no stream of the piece fell silent with it.

use wireproof_protocols::Timestamp;

/// A first record may have been stamped this long before the time that the capturing program calls the beginning, ns.
const EARLY: i64 = 1_000_000_000;

/// What the newest statistics of one interface say.
#[derive(Clone, Copy, Default)]
pub(super) struct Ending {
    /// When capturing ended, or these statistics were taken.
    pub(super) at: Option<Timestamp>,
    /// Records that were delivered until then.
    delivered: u64,
    /// By them, capturing began after the first record: another clock.
    strange: bool,
}

/// Counts and times of one statistics block.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) start: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
    pub(super) received: u64,
    pub(super) dropped: u64,
    pub(super) delivered: Option<u64>,
}

impl Ending {
    /// Takes another block of the interface, whose first record was stamped `first`.
    pub(super) fn take(&mut self, told: &Told, first: Option<Timestamp>) {
        let Some(end) = told.end else { return };
        self.at = self.at.max(Some(end));
        self.delivered = told.delivered.unwrap_or(told.received.saturating_sub(told.dropped));
        let early =
            told.start.zip(first).is_some_and(|(start, first)| start.0 > first.0.saturating_add(EARLY));
        self.strange |= early;
    }
}

impl Told {
    /// With times in the unit that is meant: `dumpcap` writes microseconds whatever the resolution of the interface is, so
    /// that read as nanoseconds they are of January 1970. What lies nearer to the `newest` record is meant.
    pub(super) fn meant(self, newest: Option<Timestamp>) -> Told {
        let Some(newest) = newest else { return self };
        Told {
            start: self.start.map(|at| nearer(at, newest)),
            end: self.end.map(|at| nearer(at, newest)),
            ..self
        }
    }
}

/// A time in ns, or the same number in µs.
pub(super) fn nearer(at: Timestamp, newest: Timestamp) -> Timestamp {
    let micros = at.0.checked_mul(1_000).unwrap_or(at.0);
    let [one, other] = [at.0, micros].map(|ns| ns.abs_diff(newest.0));
    if other < one { Timestamp(micros) } else { at }
}

/// The end of a section that has so many records: the latest one of its interfaces.
pub(super) fn of_section(endings: impl Iterator<Item = Ending>, records: u64) -> Option<Timestamp> {
    let (mut at, mut delivered) = (None, 0u64);
    for ending in endings {
        if ending.strange {
            return None;
        }
        at = at.max(ending.at);
        delivered = delivered.saturating_add(ending.delivered);
    }
    at.filter(|_| delivered <= records)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn told(start: i64, end: i64, delivered: u64) -> Told {
        let at = |s: i64| Some(Timestamp(s * SECOND));
        Told { start: at(start), end: at(end), delivered: Some(delivered), ..Told::default() }
    }

    fn ending(told: &[Told], first: i64) -> Ending {
        let mut ending = Ending::default();
        told.iter().for_each(|told| ending.take(told, Some(Timestamp(first * SECOND))));
        ending
    }

    #[test]
    fn the_latest_end_of_the_interfaces_is_that_of_the_section() {
        let both = [ending(&[told(0, 5, 3), told(0, 9, 4)], 1), ending(&[told(0, 8, 2)], 1)];
        assert_eq!(of_section(both.into_iter(), 6), Some(Timestamp(9 * SECOND)));
        assert_eq!(of_section(std::iter::once(Ending::default()), 6), None);
    }

    #[test]
    fn statistics_of_another_clock_or_of_records_that_are_not_there_say_nothing() {
        for (start, records, ends) in [(0, 4, true), (1, 4, true), (3, 4, false), (0, 3, false)] {
            let ended = of_section(std::iter::once(ending(&[told(start, 9, 4)], 1)), records);
            assert_eq!(ended.is_some(), ends, "{start} {records}");
        }
    }

    /// The numbers that dumpcap 4.0 wrote of an interface of nanoseconds.
    #[test]
    fn times_in_microseconds_are_known_by_the_records_of_the_interface() {
        let newest = Some(Timestamp(1_796_079_522_234_785_785));
        let at = |raw: i64| Some(Timestamp(raw));
        let told =
            Told { start: at(1_796_079_517_903_251), end: at(1_796_079_525_149_568), ..Told::default() };
        let meant = told.meant(newest);
        assert_eq!(meant.start, at(1_796_079_517_903_251_000));
        assert_eq!(meant.end, at(1_796_079_525_149_568_000));
        let right = Told { start: meant.start, end: meant.end, ..Told::default() };
        assert_eq!(right.meant(newest).end, meant.end, "nanoseconds stay what they are");
        assert_eq!(told.meant(None).end, told.end, "nobody knows without a record");
        assert_eq!(nearer(Timestamp(i64::MAX), Timestamp(5)), Timestamp(i64::MAX));
    }

    #[test]
    fn without_a_count_of_delivered_records_those_received_and_not_dropped_count() {
        let told = Told { received: 10, dropped: 4, delivered: None, ..told(0, 9, 0) };
        for (records, ends) in [(5, false), (6, true)] {
            assert_eq!(of_section(std::iter::once(ending(&[told], 1)), records).is_some(), ends);
        }
    }
}
