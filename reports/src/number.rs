//! Numbers in the record that are not plain integers: thousandths shown as a decimal fraction.

/// `serde(with)`: an integer of thousandths, written as value / 1000.
pub(crate) mod thousandths {
    use serde::{Deserialize, Deserializer, Serializer};

    // serde's `with` contract passes a reference.
    #[expect(clippy::trivially_copy_pass_by_ref)]
    pub(crate) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*value as f64 / 1000.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        // A cast from f64 saturates, so that no input can leave the range.
        Ok((f64::deserialize(deserializer)? * 1000.0).round() as u64)
    }
}
