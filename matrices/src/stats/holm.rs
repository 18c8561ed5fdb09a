//! Holm's step-down adjustment of several probabilities.

/// Adjusted values in the order given: the i-th smallest of m times (m - i), never falling, at most 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut floor = 0.0_f64;
    for (step, index) in order.into_iter().enumerate() {
        floor = floor.max((p[index] * (p.len() - step) as f64).min(1.0));
        adjusted[index] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_keep_their_places_and_stop_at_one() {
        assert_eq!(holm(&[0.5, 0.25, 0.9]), [1.0, 0.75, 1.0]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }
}
