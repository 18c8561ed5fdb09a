//! Figures of a verdict as text: the unit of the record in, the unit of the reader out; half away from zero,
//! thousands separated by commas. It rounds for the eye only; nothing is computed from what it writes.

use wireproof_matrices::compare::{thousands, us};
use wireproof_matrices::number::Number;
use wireproof_matrices::verdict::Unit;

/// Figures beyond this are shown as this: a record may be anybody's.
const LARGEST_NS: f64 = 1e30;

/// What stands where there is no figure.
pub(crate) const DASH: &str = "\u{2014}";

/// How a unit is shown: what its figures are divided by, the decimals, the word.
struct Shown {
    divisor: f64,
    decimals: usize,
    word: &'static str,
}

fn shown(unit: Unit) -> Shown {
    let (divisor, decimals, word) = match unit {
        Unit::Ns => (1000.0, 1, "\u{b5}s"),
        Unit::Ppm => (1.0, 1, "ppm"),
        Unit::Count => (1.0, 0, "count"),
        Unit::PerSecond => (1.0, 3, "/s"),
        Unit::CpuHundredths => (100.0, 2, "points"),
    };
    Shown { divisor, decimals, word }
}

/// The word of a unit, as it is shown.
pub(crate) fn word(unit: Unit) -> &'static str {
    shown(unit).word
}

/// What the figures of a unit are divided by for the reader.
pub(crate) fn divisor(unit: Unit) -> f64 {
    shown(unit).divisor
}

/// A value of an axis, already in the reader's unit, with as many decimals as its steps need.
pub(crate) fn tick(value: f64, step: f64) -> String {
    let decimals = (0..6).find(|n| step * 10_f64.powi(*n) >= 0.999).unwrap_or(6);
    decimal(value, 1.0, decimals.unsigned_abs() as usize)
}

/// A figure without its unit: ns as us with one decimal, ppm with one, rates with three, CPU as points with two; counts
/// whole, unless a median lies between two.
pub(crate) fn figure(number: Number, unit: Unit) -> String {
    let Shown { divisor, decimals, .. } = shown(unit);
    match unit {
        // Truncated to whole ns first: halves lie on whole ns, so that nothing is rounded twice.
        Unit::Ns => us(number.0.clamp(-LARGEST_NS, LARGEST_NS) as i128),
        Unit::Count if number.0.fract() != 0.0 => decimal(number.0, 1.0, 1),
        _ => decimal(number.0, divisor, decimals),
    }
}

/// A figure with its sign, `+` for zero too: a difference.
pub(crate) fn signed(number: Number, unit: Unit) -> String {
    let text = figure(number, unit);
    if text.starts_with('-') { text } else { format!("+{text}") }
}

/// A figure with its sign, or a dash.
pub(crate) fn signed_or_dash(number: Option<Number>, unit: Unit) -> String {
    number.map_or_else(|| DASH.to_owned(), |number| signed(number, unit))
}

/// A figure, or a dash.
pub(crate) fn or_dash(number: Option<Number>, unit: Unit) -> String {
    number.map_or_else(|| DASH.to_owned(), |number| figure(number, unit))
}

/// `value / divisor` with so many decimals, half away from zero, thousands separated.
fn decimal(value: f64, divisor: f64, decimals: usize) -> String {
    let places = (0..decimals).fold(1.0, |scale, _| scale * 10.0);
    // Whole units of the last decimal: `round` takes halves away from zero.
    let scaled = (value * places / divisor).round();
    let size = scaled.abs() as u128;
    let power = places as u128;
    let fraction = format!("{:0>decimals$}", size % power);
    let sign = if scaled < 0.0 { "-" } else { "" };
    let point = if decimals > 0 { "." } else { "" };
    let fraction = if decimals > 0 { fraction } else { String::new() };
    format!("{sign}{}{point}{fraction}", thousands(size / power))
}

/// A count with thousands separated.
pub(crate) fn count(n: u64) -> String {
    thousands(n.into())
}

/// A probability: four decimals, or two significant digits where those would be noughts.
pub(crate) fn probability(p: Number) -> String {
    if p.0 == 0.0 || p.0 >= 0.001 { format!("{:.4}", p.0) } else { format!("{:.1e}", p.0) }
}

/// A one-sided error of parts per million as the confidence it leaves, in percent: `95 %`.
pub(crate) fn confidence(alpha_ppm: u64) -> String {
    let ppm = 1_000_000_u64.saturating_sub(alpha_ppm);
    let fraction = format!("{:04}", ppm % 10_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} %", ppm / 10_000)
}

/// Nanoseconds as seconds with three decimals and their unit.
pub(crate) fn seconds(ns: f64) -> String {
    format!("{} s", decimal(ns, 1e9, 3))
}

/// A short time in the largest unit that leaves it whole or with three decimals: `15 s`, `0.5 ms`.
pub(crate) fn duration(ns: u64) -> String {
    let (divisor, word) = match ns {
        0 => (1_000_000_000.0, "s"),
        1..1_000_000 => (1000.0, "\u{b5}s"),
        1_000_000..1_000_000_000 => (1_000_000.0, "ms"),
        _ => (1_000_000_000.0, "s"),
    };
    let text = decimal(ns as f64, divisor, 3);
    format!("{} {word}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_with_one_decimal_half_away_from_zero() {
        let shown = |ns: f64| figure(Number(ns), Unit::Ns);
        assert_eq!(shown(5_402_000.0), "5,402.0");
        assert_eq!(shown(-10_000.0), "-10.0");
        assert_eq!(shown(50.0), "0.1");
        assert_eq!(shown(-50.0), "-0.1");
        assert_eq!(shown(-49.0), "0.0");
        assert_eq!(shown(999_950.0), "1,000.0");
        assert_eq!(signed(Number(0.0), Unit::Ns), "+0.0");
        assert_eq!(signed(Number(68_500.0), Unit::Ns), "+68.5");
        assert_eq!(shown(1_234_567_890_150.0), "1,234,567,890.2");
    }

    #[test]
    fn other_units_keep_their_own_decimals() {
        assert_eq!(figure(Number(-1924.368), Unit::Ppm), "-1,924.4");
        assert_eq!(figure(Number(43_200.0), Unit::Count), "43,200");
        assert_eq!(figure(Number(2.5), Unit::Count), "2.5");
        assert_eq!(figure(Number(719.999_6), Unit::PerSecond), "720.000");
        assert_eq!(figure(Number(-376.5), Unit::CpuHundredths), "-3.77");
        assert_eq!(or_dash(None, Unit::Ns), DASH);
    }

    #[test]
    fn small_probabilities_keep_two_digits() {
        assert_eq!(probability(Number(0.109_375)), "0.1094");
        assert_eq!(probability(Number(2.328e-6)), "2.3e-6");
        assert_eq!(probability(Number(0.0)), "0.0000");
    }

    #[test]
    fn confidence_and_durations_are_short() {
        assert_eq!(confidence(50_000), "95 %");
        assert_eq!(confidence(25_000), "97.5 %");
        assert_eq!(duration(15_000_000_000), "15 s");
        assert_eq!(duration(500_000), "500 \u{b5}s");
        assert_eq!(duration(2_500_000), "2.5 ms");
        assert_eq!(duration(0), "0 s");
    }
}
