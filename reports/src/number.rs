//! Numbers in the record that are not plain integers: thousandths shown as a decimal fraction, and those with a bound,
//! which whoever reads a record of somebody else relies on.

/// `serde(with)`: an integer of thousandths, written as value / 1000.
pub(crate) mod thousandths {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// More than any counter of thousandths holds, rounded down.
    const MOST: f64 = 1.8e16;

    // serde's `with` contract passes a reference.
    #[expect(clippy::trivially_copy_pass_by_ref)]
    pub(crate) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*value as f64 / 1000.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if !(0.0..=MOST).contains(&value) {
            return Err(D::Error::custom(format!("{value:e} is no rate from 0 to {MOST:e} a second")));
        }
        Ok((value * 1000.0).round() as u64)
    }
}

/// Reading what the schema of the summary bounds.
pub(crate) mod bounded {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    /// Most bins of a time line.
    const BINS: usize = 512;
    /// Most bars of a distribution.
    const BARS: usize = 64;

    /// A width: 1 at least.
    pub(crate) fn width<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        match u64::deserialize(from)? {
            0 => Err(D::Error::custom("a width of 0 where 1 is the least")),
            width => Ok(width),
        }
    }

    /// A number of bins.
    pub(crate) fn bins<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
        match usize::deserialize(from)? {
            bins @ 1..=BINS => Ok(bins),
            bins => Err(D::Error::custom(format!("{bins} bins, there are 1 to {BINS}"))),
        }
    }

    /// A number for each bin.
    pub(crate) fn column<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
        within(from, BINS)
    }

    /// A number for each bar.
    pub(crate) fn bars<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
        within(from, BARS)
    }

    fn within<'de, D: Deserializer<'de>>(from: D, most: usize) -> Result<Vec<u64>, D::Error> {
        let list = Vec::deserialize(from)?;
        if list.is_empty() || list.len() > most {
            return Err(D::Error::custom(format!("{} numbers, there are 1 to {most}", list.len())));
        }
        Ok(list)
    }
}
