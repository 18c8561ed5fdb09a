//! Tukey's fences on nearest-rank quartiles: they tag values and remove none.

/// Fences of a set of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fences {
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
}

impl Fences {
    /// True beyond one and a half quartile ranges, and not beyond three.
    pub fn mild(&self, value: f64) -> bool {
        self.beyond(value, 1.5) && !self.severe(value)
    }

    /// True beyond three quartile ranges.
    pub fn severe(&self, value: f64) -> bool {
        self.beyond(value, 3.0)
    }

    /// The upper fence at so many quartile ranges.
    pub fn above(&self, ranges: f64) -> f64 {
        self.q3 + ranges * (self.q3 - self.q1)
    }

    fn beyond(&self, value: f64, ranges: f64) -> bool {
        value > self.above(ranges) || value < self.q1 - ranges * (self.q3 - self.q1)
    }
}

/// Fences of values in any order; `None` of none.
pub fn fences(values: &[f64]) -> Option<Fences> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(Fences { q1: super::at(&sorted, 1, 4)?, q3: super::at(&sorted, 3, 4)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_a_fence_is_inside() {
        let fences = Fences { q1: 10.0, q3: 20.0 };
        let tags = [35.0, 35.5, 50.0, 50.5, -5.0, -5.5, -20.5].map(|v| (fences.mild(v), fences.severe(v)));
        let (no, mild, severe) = ((false, false), (true, false), (false, true));
        assert_eq!(tags, [no, mild, mild, severe, no, mild, severe]);
        assert_eq!(super::fences(&[]), None);
    }
}
