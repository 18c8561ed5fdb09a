//! Pictures of a matrix as inline SVG: arms in run order, paired differences, lags of losses. Every text is escaped,
//! every colour is a class of the page's style, every mark has a shape as well.

use super::figure::{divisor, figure, signed, tick, word};
use super::parts::{Climb, Lags, Series};
use crate::page::{escape, step};
use std::fmt::Write;
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::Kind;
use wireproof_matrices::verdict::{Comparison, GateResult, Unit};

/// Size of a picture in its own units; the page scales it.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 228.0;
/// Edges of the plane within it.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 430.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 188.0;

/// Width of a usual character of a label.
const CHARACTER: f64 = 6.8;

/// Shapes of treatments, in turn.
const SHAPES: usize = 4;

/// A plane with a vertical axis.
struct Plane {
    text: String,
    low: f64,
    high: f64,
}

impl Plane {
    /// An axis over all values (in the reader's unit) of at least that height, with its ticks, its unit and what runs
    /// to the right.
    fn new(label: &str, values: &[f64], least: f64, unit: &str, right: &str) -> Plane {
        let (low, high) = ends(values, least);
        let mut plane = Plane { text: String::new(), low, high };
        let _ = writeln!(
            plane.text,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(label)
        );
        let step = step(high - low);
        let mut at = (low / step).ceil() * step;
        // At most ten, whatever rounding does to the step.
        for _ in 0..10 {
            if at > high {
                break;
            }
            plane.across(at, "grid");
            plane.label(LEFT - 6.0, plane.y(at) + 4.0, "end", &tick(at, step));
            at += step;
        }
        plane.label(LEFT, TOP - 5.0, "start", unit);
        plane.label(RIGHT, HEIGHT - 8.0, "end", right);
        plane
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (value - self.low) / (self.high - self.low) * (BOTTOM - TOP)
    }

    /// A line over the whole width.
    fn across(&mut self, value: f64, class: &str) {
        let y = self.y(value);
        let _ = writeln!(
            self.text,
            "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        );
    }

    /// A line over the whole height.
    fn down(&mut self, x: f64, class: &str) {
        let _ = writeln!(
            self.text,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>"
        );
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    fn band(&mut self, low: f64, high: f64) {
        let (top, bottom) = (self.y(high).max(TOP), self.y(low).min(BOTTOM));
        let (width, height) = (RIGHT - LEFT, (bottom - top).max(0.5));
        let _ = writeln!(
            self.text,
            "<rect class=\"band\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{width}\" height=\"{height:.1}\"/>"
        );
    }

    fn mark(&mut self, x: f64, value: f64, mark: &Mark) {
        let y = self.y(value);
        let _ = writeln!(self.text, "{}", shape(x, y, mark));
    }

    /// From a value to its bound, with a foot at the bound.
    fn whisker(&mut self, x: f64, value: f64, bound: f64) {
        let (from, to, left, right) = (self.y(value), self.y(bound), x - 5.0, x + 5.0);
        let _ = writeln!(
            self.text,
            "<path class=\"whisker\" d=\"M{x:.1} {from:.1}V{to:.1}M{left:.1} {to:.1}H{right:.1}\"/>"
        );
    }

    fn end(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Both ends of an axis: all values and some air, so that no height falls below `least`.
fn ends(values: &[f64], least: f64) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !low.is_finite() || !high.is_finite() {
        return (0.0, 1.0);
    }
    let air = ((high - low) * 0.06).max(high.abs() * 1e-9).max((least - (high - low)) / 2.0).max(1e-9);
    (low - air, high + air)
}

/// The least height of an axis, in the reader's unit: values that hardly differ must not look as if they did.
fn least(unit: Unit) -> f64 {
    match unit {
        Unit::Ns | Unit::Ppm => 10.0,
        Unit::Count => 2.0,
        Unit::PerSecond => 0.01,
        Unit::CpuHundredths => 1.0,
    }
}

/// How a dot looks, and what it says when pointed at.
struct Mark {
    treatment: usize,
    hollow: bool,
    title: String,
}

/// A dot: circle, triangle, square or diamond, by treatment.
fn shape(x: f64, y: f64, mark: &Mark) -> String {
    let class = format!("t{}{}", mark.treatment % SHAPES, if mark.hollow { " off" } else { "" });
    let title =
        if mark.title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(&mark.title)) };
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> =
            points.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        format!("<polygon class=\"{class}\" points=\"{}\">{title}</polygon>", points.join(" "))
    };
    match mark.treatment % SHAPES {
        0 => format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">{title}</circle>"),
        1 => polygon(&[(0.0, -5.0), (4.8, 3.8), (-4.8, 3.8)]),
        2 => polygon(&[(-3.8, -3.8), (3.8, -3.8), (3.8, 3.8), (-3.8, 3.8)]),
        _ => polygon(&[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
    }
}

/// The mark of a treatment for a legend.
pub(super) fn key(treatment: usize) -> String {
    let dot = shape(7.0, 7.0, &Mark { treatment, hollow: false, title: String::new() });
    format!("<svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">{dot}</svg>")
}

/// Arms in run order, one dot an arm; hollow ones do not count. `median` and `limit` are in the unit of the series.
pub(super) fn run_order(
    series: &Series<'_>,
    treatments: &[&str],
    median: Option<f64>,
    limit: Option<f64>,
) -> String {
    let scale = divisor(series.unit);
    let lines = median.into_iter().chain(limit);
    let values: Vec<f64> = series.arms.iter().map(|(_, v)| *v).chain(lines).map(|v| v / scale).collect();
    let label = format!("{} of every arm in run order", series.key);
    let mut plane =
        Plane::new(&label, &values, least(series.unit), word(series.unit), "arms in run order \u{2192}");
    median.into_iter().for_each(|value| plane.across(value / scale, "median"));
    limit.into_iter().for_each(|value| plane.across(value / scale, "limit"));
    strata(&mut plane, series);
    for (n, (arm, value)) in series.arms.iter().enumerate() {
        let treatment = treatments.iter().position(|name| *name == arm.treatment).unwrap_or(0);
        let title = format!("{}: {} {}", arm.name, figure(Number(*value), series.unit), word(series.unit));
        let x = place(n, series.arms.len());
        plane.mark(x, value / scale, &Mark { treatment, hollow: !arm.counted, title });
    }
    plane.end()
}

/// Where the nth of so many stands.
fn place(n: usize, of: usize) -> f64 {
    LEFT + (RIGHT - LEFT) / of.max(1) as f64 * (n as f64 + 0.5)
}

/// A line where a stratum begins, if there are several.
fn strata(plane: &mut Plane, series: &Series<'_>) {
    let names: Vec<&str> = series.arms.iter().map(|(arm, _)| arm.stratum.as_str()).collect();
    if !series.several_strata() {
        return;
    }
    for (n, name) in names.iter().enumerate() {
        let before = n.checked_sub(1).and_then(|n| names.get(n));
        if before != Some(name) {
            let x = place(n, names.len()) - (RIGHT - LEFT) / names.len() as f64 / 2.0;
            plane.down(x, "stratum");
            let length = names[n..].iter().take_while(|other| *other == name).count();
            let room = (RIGHT - LEFT) / names.len() as f64 * length as f64;
            plane.label(x + 2.0, BOTTOM + 14.0, "start", &shortened(name, room));
        }
    }
}

/// A name that fits into so many units of a picture.
fn shortened(name: &str, room: f64) -> String {
    let most = (room / CHARACTER) as usize;
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// Paired differences by block with the HL estimate, the band of its bounds and the limit.
pub(super) fn differences(gate: &GateResult, comparison: &Comparison, treatment: usize) -> String {
    let scale = divisor(gate.unit);
    let limits = limits(gate);
    let ends = [comparison.bound_low, comparison.bound_high, comparison.hl].into_iter().flatten();
    let figures = comparison.differences.iter().copied().chain(ends).map(|number| number.0);
    let values: Vec<f64> = figures.chain(limits.iter().copied()).chain([0.0]).map(|v| v / scale).collect();
    let label = format!("paired differences of {} for {}", gate.metric, comparison.treatment);
    let mut plane =
        Plane::new(&label, &values, least(gate.unit), word(gate.unit), "blocks in run order \u{2192}");
    if let (Some(low), Some(high)) = (comparison.bound_low, comparison.bound_high) {
        plane.band(low.0 / scale, high.0 / scale);
    }
    plane.across(0.0, "zero");
    limits.iter().for_each(|limit| plane.across(limit / scale, "limit"));
    comparison.hl.into_iter().for_each(|hl| plane.across(hl.0 / scale, "hl"));
    for (n, difference) in comparison.differences.iter().enumerate() {
        let title = format!("{} {}", signed(*difference, gate.unit), word(gate.unit));
        let x = place(n, comparison.differences.len());
        plane.mark(x, difference.0 / scale, &Mark { treatment, hollow: false, title });
    }
    plane.end()
}

/// The limits of a difference: one, or two for equivalence.
fn limits(gate: &GateResult) -> Vec<f64> {
    match (gate.kind, gate.margin) {
        (Kind::Equivalence, Some(margin)) => vec![-margin.0, margin.0],
        (Kind::NonInferiority, Some(margin)) => vec![margin.0],
        _ => Vec::new(),
    }
}

/// Estimates of a gate over the steps of a ladder, each with a whisker up to its bound, and the limit.
pub(super) fn climb(climb: &Climb<'_>, factor: &str) -> String {
    let scale = divisor(climb.unit);
    let ends = climb.steps.iter().flat_map(|(_, point, bound)| [*point, *bound]).flatten();
    let values: Vec<f64> = ends.chain([climb.limit]).map(|value| value / scale).collect();
    let label = format!("{} over the steps of {factor}", climb.metric);
    let mut plane =
        Plane::new(&label, &values, least(climb.unit), word(climb.unit), &format!("{factor} \u{2192}"));
    plane.across(climb.limit / scale, "limit");
    for (n, (level, point, bound)) in climb.steps.iter().enumerate() {
        let x = place(n, climb.steps.len());
        plane.label(x, BOTTOM + 14.0, "middle", &level.to_string());
        let Some(point) = point else { continue };
        if let Some(bound) = bound {
            plane.whisker(x, point / scale, bound / scale);
        }
        let title = format!("{level}: {} {}", figure(Number(*point), climb.unit), word(climb.unit));
        plane.mark(x, point / scale, &Mark { treatment: 0, hollow: false, title });
    }
    plane.end()
}

/// Edges of the lags that are drawn, ms.
const LAG_MS: i64 = 1000;
/// Width of a bin, ms.
const BIN_MS: i64 = 50;

/// Lags of losses behind the start of the nearest download.
pub(super) fn lags(lags: &Lags) -> String {
    let most = lags.bins.values().copied().max().unwrap_or(0) as f64;
    let unit = "loss episodes";
    let mut plane =
        Plane::new("lags of losses behind the nearest download", &[0.0, most], 1.0, unit, "lag, ms");
    let x = |ms: i64| LEFT + (ms + LAG_MS) as f64 / (2 * LAG_MS) as f64 * (RIGHT - LEFT);
    plane.down(x(0), "zero");
    for (from, episodes) in &lags.bins {
        let (top, bottom) = (plane.y(*episodes as f64), plane.y(0.0));
        let title = format!("{from} to {} ms: {episodes}", from + BIN_MS);
        let _ = writeln!(
            plane.text,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            x(*from) + 0.5,
            x(from + BIN_MS) - x(*from) - 1.0,
            bottom - top,
            escape(&title)
        );
    }
    for ms in [-LAG_MS, -LAG_MS / 2, 0, LAG_MS / 2] {
        plane.label(x(ms), BOTTOM + 14.0, "middle", &ms.to_string());
    }
    plane.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (range, wanted) in [(332.0, 100.0), (0.9, 0.2), (4.0, 1.0), (12_000.0, 5000.0), (1e-7, 2e-8)] {
            assert!((step(range) / wanted - 1.0).abs() < 1e-9, "{range}: {}", step(range));
        }
    }

    #[test]
    fn an_axis_of_nothing_or_of_one_value_has_a_height() {
        for values in [&[][..], &[0.0], &[5.0, 5.0], &[-1e12]] {
            let (low, high) = ends(values, 1.0);
            assert!(high - low > 0.999 && low.is_finite() && high.is_finite(), "{values:?}");
        }
    }

    #[test]
    fn a_name_is_cut_where_the_next_one_begins() {
        assert_eq!(shortened("preview-off", 80.0), "preview-off");
        assert_eq!(shortened("preview-off", 40.0), "prev\u{2026}");
        assert_eq!(shortened("preview-off", 1.0), "\u{2026}");
    }

    #[test]
    fn a_name_cannot_leave_its_text() {
        let title = "</title><script>".to_owned();
        let dot = shape(1.0, 2.0, &Mark { treatment: 5, hollow: true, title });
        assert_eq!(dot.matches("<script").count(), 0, "{dot}");
        assert!(dot.contains("class=\"t1 off\""), "{dot}");
    }
}
