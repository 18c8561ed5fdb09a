//! Stamps of a pcapng interface: units of `if_tsresol`, moved by `if_tsoffset`, to nanoseconds.

use super::octets::Endian;
use wireproof_protocols::Timestamp;

/// How the stamps of one interface count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    scale: Scale,
    offset_seconds: i64,
}

/// Units of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Each unit is so many nanoseconds.
    Nanoseconds(u64),
    /// So many units make a nanosecond.
    PerNanosecond(u64),
    /// A second has 2 to this power units.
    Binary(u8),
}

impl Default for Clock {
    fn default() -> Self {
        Clock { scale: Scale::Nanoseconds(1_000), offset_seconds: 0 }
    }
}

impl Clock {
    /// Takes `if_tsresol`: a negative power of 10, or of 2 when the top bit is set.
    pub(super) fn set_resolution(&mut self, octet: u8) {
        let power = octet & 0x7f;
        self.scale = match (octet & 0x80, power) {
            (0, 0..=9) => Scale::Nanoseconds(10u64.pow(u32::from(9 - power))),
            (0, _) => Scale::PerNanosecond(10u64.saturating_pow(u32::from(power - 9))),
            _ => Scale::Binary(power),
        };
    }

    /// Takes `if_tsoffset`, in seconds.
    pub(super) fn set_offset(&mut self, seconds: i64) {
        self.offset_seconds = seconds;
    }

    /// True when a unit is shorter than a microsecond.
    pub(super) fn finer_than_microseconds(&self) -> bool {
        match self.scale {
            Scale::Nanoseconds(each) => each < 1_000,
            Scale::PerNanosecond(_) => true,
            Scale::Binary(power) => power >= 20,
        }
    }

    /// The instant of a stamp given as two halves. Saturates.
    #[inline]
    pub(super) fn instant(&self, high: u32, low: u32) -> Timestamp {
        let units = u64::from(high) << 32 | u64::from(low);
        if let (Scale::Nanoseconds(each), 0) = (self.scale, self.offset_seconds)
            && let Some(ns) = units.checked_mul(each).and_then(|ns| i64::try_from(ns).ok())
        {
            return Timestamp(ns);
        }
        let elapsed = match self.scale {
            Scale::Nanoseconds(each) => i128::from(units) * i128::from(each),
            Scale::PerNanosecond(units_each) => i128::from(units / units_each),
            Scale::Binary(power) => (i128::from(units) * 1_000_000_000) >> power,
        };
        let ns = elapsed + i128::from(self.offset_seconds) * 1_000_000_000;
        Timestamp(i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX }))
    }

    /// The instant in an option value of two halves.
    pub(super) fn read(&self, endian: Endian, value: &[u8]) -> Option<Timestamp> {
        Some(self.instant(endian.u32(value, 0)?, endian.u32(value, 4)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(resolution: u8, offset: i64) -> Clock {
        let mut clock = Clock::default();
        clock.set_resolution(resolution);
        clock.set_offset(offset);
        clock
    }

    #[test]
    fn one_second_is_one_second_in_every_resolution_that_can_say_it() {
        for power in 0..=19u8 {
            let units = 10u64.pow(u32::from(power));
            let at = clock(power, 0).instant((units >> 32) as u32, units as u32);
            assert_eq!(at, Timestamp(1_000_000_000), "10^-{power}");
        }
        for power in 0..=63u8 {
            let units = 1u64 << power;
            let at = clock(0x80 | power, 0).instant((units >> 32) as u32, units as u32);
            assert_eq!(at, Timestamp(1_000_000_000), "2^-{power}");
        }
    }

    #[test]
    fn stamps_out_of_range_saturate() {
        for resolution in 0..=255u8 {
            for offset in [i64::MIN, -1, 0, 1, i64::MAX] {
                clock(resolution, offset).instant(u32::MAX, u32::MAX);
            }
        }
        assert_eq!(clock(0, 0).instant(u32::MAX, u32::MAX), Timestamp(i64::MAX));
        assert_eq!(clock(9, i64::MIN).instant(0, 1), Timestamp(i64::MIN));
    }

    #[test]
    fn finer_than_microseconds_starts_behind_ten_to_the_minus_six() {
        let finer = |resolution| clock(resolution, 0).finer_than_microseconds();
        assert!(!finer(6) && !finer(3) && finer(7) && finer(9) && finer(12));
        assert!(!finer(0x80 | 19) && finer(0x80 | 20) && finer(0x80 | 30));
    }
}
