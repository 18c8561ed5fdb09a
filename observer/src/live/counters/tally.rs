//! One counter of the kernel followed over time: its advances added up, whatever it does in between.

/// How many bits the kernel keeps of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Wraps to 0 after 4,294,967,295.
    Bits32,
    /// Never wraps in practice; a step back is a reset.
    Bits64,
}

/// The advances of one counter since it was first seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    last: Option<u64>,
    total: u64,
}

impl Tally {
    /// Takes the next reading; `None` (not readable now) changes nothing.
    pub(super) fn take(&mut self, reading: Option<u64>, width: Width) {
        let Some(now) = reading else { return };
        if let Some(last) = self.last {
            self.total = self.total.saturating_add(step(last, now, width));
        }
        self.last = Some(now);
    }

    /// The sum so far; `None` as long as there was no reading.
    pub(super) fn total(&self) -> Option<u64> {
        self.last.map(|_| self.total)
    }
}

/// How far a counter went at least. A smaller value is a reset, after which it counted from 0; a 32-bit counter may
/// have wrapped instead, and the smaller of the two is what is certain.
fn step(last: u64, now: u64, width: Width) -> u64 {
    match now.checked_sub(last) {
        Some(advance) => advance,
        None if width == Width::Bits32 => match now.saturating_add(1 << 32).checked_sub(last) {
            Some(wrapped) => wrapped.min(now),
            None => now,
        },
        None => now,
    }
}

/// Adds what is there; `None` when nothing is.
pub(super) fn sum(values: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    values.into_iter().flatten().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(readings: &[Option<u64>], width: Width) -> Option<u64> {
        let mut tally = Tally::default();
        readings.iter().for_each(|reading| tally.take(*reading, width));
        tally.total()
    }

    #[test]
    fn the_first_reading_is_where_counting_begins() {
        assert_eq!(total(&[], Width::Bits64), None);
        assert_eq!(total(&[None], Width::Bits64), None);
        assert_eq!(total(&[Some(1_000)], Width::Bits64), Some(0));
        assert_eq!(total(&[Some(1_000), None, Some(1_003)], Width::Bits64), Some(3));
    }

    #[test]
    fn a_reset_counter_goes_on_from_where_it_was() {
        assert_eq!(total(&[Some(10), Some(15), Some(2), Some(4)], Width::Bits64), Some(9));
        assert_eq!(total(&[Some(10), Some(15), Some(0)], Width::Bits32), Some(5));
    }

    #[test]
    fn a_wrapped_counter_of_32_bits_advances_by_what_is_certain() {
        let top = u64::from(u32::MAX);
        assert_eq!(total(&[Some(top), Some(0), Some(7)], Width::Bits32), Some(7));
        assert_eq!(total(&[Some(top - 4), Some(3)], Width::Bits32), Some(3));
        assert_eq!(total(&[Some(top), Some(5)], Width::Bits64), Some(5));
    }

    #[test]
    fn the_sum_of_nothing_is_nothing() {
        assert_eq!(sum([None, None]), None);
        assert_eq!(sum([None, Some(2), Some(u64::MAX)]), Some(u64::MAX));
    }

    #[test]
    fn no_reading_makes_a_total_step_back() {
        let extremes = [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX];
        for width in [Width::Bits32, Width::Bits64] {
            let mut tally = Tally::default();
            let mut before = 0;
            for now in extremes.iter().flat_map(|a| extremes.iter().flat_map(move |b| [*a, *b])) {
                tally.take(Some(now), width);
                let after = tally.total().unwrap();
                assert!(after >= before, "{now}");
                before = after;
            }
        }
    }
}
