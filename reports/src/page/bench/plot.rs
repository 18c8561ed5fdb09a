//! Dots with their intervals on one axis of ratios, logarithmic where they lie far apart; the words stand beside them.

use crate::page::step;
use std::fmt::Write;

/// A row: its name and its figures in words, both HTML already, and where dot and interval lie.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) words: String,
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// Holds all rows and the line they are compared with.
    fn new(rows: &[Row], line: f64) -> Scale {
        let ends = rows.iter().flat_map(|row| [row.low, row.high, row.median]);
        let ends: Vec<f64> = ends.chain([line]).filter(|value| value.is_finite()).collect();
        let low = ends.iter().copied().fold(f64::MAX, f64::min);
        let high = ends.iter().copied().fold(f64::MIN, f64::max);
        if low > 0.0 && high > 8.0 * low {
            return Scale { low: low / 1.25, high: high * 1.25, log: true };
        }
        // Noise is not to look like an effect.
        let room = ((high - low) * 0.08).max(high.abs() * 0.02).max(1e-9);
        Scale { low: low - room, high: high + room, log: false }
    }

    fn share(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if part.is_finite() { part.clamp(0.0, 1.0) * 100.0 } else { 0.0 }
    }

    /// A few round values; the line is one of them where it is round itself.
    fn ticks(&self, line: f64) -> Vec<f64> {
        if self.log {
            let first = self.low.log10().floor() as i32;
            let all = (first..first + 14).flat_map(|n| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(n)));
            let inside: Vec<f64> = all.filter(|tick| *tick >= self.low && *tick <= self.high).collect();
            let every = inside.len().div_ceil(7).max(1);
            let first = inside.iter().position(|tick| *tick == line).unwrap_or(0) % every;
            return inside.into_iter().skip(first).step_by(every).collect();
        }
        let step = step(self.high - self.low);
        let first = (self.low / step).ceil();
        (0..12).map(|n| (first + f64::from(n)) * step).take_while(|tick| *tick <= self.high).collect()
    }
}

/// The rows on one axis, with a line at what they are compared with.
pub(super) fn intervals(rows: &[Row], line: f64, label: &str) -> String {
    let scale = Scale::new(rows, line);
    let mut out = format!(
        "<div class=\"dots\">\n<div class=\"x\" aria-hidden=\"true\">{}</div>\n",
        labels(&scale, line)
    );
    for row in rows {
        let _ = writeln!(
            out,
            "<div class=\"g\"><span class=\"who\">{}</span>{}<span class=\"sum\">{}</span></div>",
            row.name,
            picture(&scale, row, line, label),
            row.words
        );
    }
    out.push_str("</div>\n");
    out
}

fn labels(scale: &Scale, line: f64) -> String {
    let label = |tick: &f64| {
        let left = scale.share(*tick);
        let class = match left {
            94.0.. => " class=\"end\"",
            ..4.0 => " class=\"start\"",
            _ => "",
        };
        // A step of 0.1 has no digit behind the twelfth.
        let text = (tick * 1e12).round() / 1e12;
        format!("<span{class} style=\"left:{left:.2}%\">{text}</span>")
    };
    scale.ticks(line).iter().map(label).collect()
}

fn picture(scale: &Scale, row: &Row, line: f64, label: &str) -> String {
    let at = |value: f64| format!("{:.2}%", scale.share(value));
    let (low, high, dot, line) = (at(row.low), at(row.high), at(row.median), at(line));
    format!(
        "<svg role=\"img\" aria-label=\"{label}\"><line class=\"limit\" x1=\"{line}\" x2=\"{line}\" y1=\"0\" y2=\"100%\"/>\
         <line class=\"hl\" x1=\"{low}\" x2=\"{high}\" y1=\"50%\" y2=\"50%\"/><line class=\"hl\" x1=\"{low}\" x2=\"{low}\" \
         y1=\"25%\" y2=\"75%\"/><line class=\"hl\" x1=\"{high}\" x2=\"{high}\" y1=\"25%\" y2=\"75%\"/><circle class=\"t0\" \
         cx=\"{dot}\" cy=\"50%\" r=\"4\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(median: f64) -> Row {
        Row { name: String::new(), words: String::new(), median, low: median * 0.9, high: median * 1.1 }
    }

    #[test]
    fn far_apart_is_logarithmic_and_every_axis_has_a_few_round_labels() {
        for (rows, log) in [(vec![row(0.9), row(1.1)], false), (vec![row(0.5), row(900.0)], true)] {
            let scale = Scale::new(&rows, 1.0);
            assert_eq!(scale.log, log);
            let ticks = scale.ticks(1.0);
            assert!((2..=8).contains(&ticks.len()) && ticks.contains(&1.0), "{ticks:?}");
            assert!(ticks.iter().all(|tick| *tick >= scale.low && *tick <= scale.high), "{ticks:?}");
        }
    }

    #[test]
    fn figures_that_no_axis_can_hold_stay_inside_of_it() {
        let odd = Row { median: f64::NAN, low: f64::NEG_INFINITY, high: f64::MAX, ..row(1.0) };
        for rows in [vec![], vec![odd], vec![row(0.0)], vec![row(-5.0), row(5.0)]] {
            let picture = intervals(&rows, 1.0, "x");
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
    }
}
