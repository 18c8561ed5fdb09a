//! Pictures of a run as inline SVG that stretches over the width of the page; what is to be read stands beside it as
//! text, so that it keeps its size on every screen. Colours are classes, every mark has a shape as well.

use crate::summary::{Axis, Bars};
use std::fmt::Write;

/// Units over the width of every picture.
const WIDTH: f64 = 1000.0;
/// Units over the height of a plot.
const HEIGHT: f64 = 120.0;
/// Units over the height of a strip.
const STRIP: f64 = 12.0;

/// Share of the axis at which an instant lies.
fn share(axis: Axis, ns: i64) -> f64 {
    let length = (axis.bin_ns as f64 * axis.bins as f64).max(1.0);
    (ns.saturating_sub(axis.start_ns) as f64 / length).clamp(0.0, 1.0)
}

/// Left edge of a bin.
fn left(axis: Axis, bin: usize) -> f64 {
    WIDTH * bin as f64 / axis.bins.max(1) as f64
}

/// Steps of a time axis, seconds.
const STEPS: [u64; 12] = [60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400];

/// What runs to the right: round times since the start.
pub(super) fn time_labels(axis: Axis) -> String {
    let length = axis.bin_ns.saturating_mul(axis.bins as u64);
    let step = time_step(length);
    let mut out = String::from("<div class=\"x\" aria-hidden=\"true\">");
    for n in (0..8u64).take_while(|n| n.saturating_mul(step) <= length) {
        let share = n.saturating_mul(step) as f64 * 100.0 / length.max(1) as f64;
        let class = match (n, share) {
            (0, _) => " class=\"start\"",
            (_, 96.0..) => " class=\"end\"",
            (n, _) if n % 2 == 1 => " class=\"mid\"",
            _ => "",
        };
        let _ =
            write!(out, "<span{class} style=\"left:{share:.2}%\">{}</span>", clock(n.saturating_mul(step)));
    }
    out.push_str("</div>\n");
    out
}

/// A step for five labels or so, ns.
fn time_step(length: u64) -> u64 {
    if length < 240_000_000_000 {
        return (super::step(length as f64) as u64).max(1);
    }
    let whole = STEPS.iter().map(|s| s * 1_000_000_000).find(|step| length / step < 6);
    whole.unwrap_or(length / 5)
}

/// A round time since the start.
fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0 => round(ns as f64),
        1..240 => format!("{} s", ns as f64 / 1e9),
        240..7_200 => format!("{} min", seconds / 60),
        _ => format!("{}:{:02} h", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A label to the left of a plot at a share of its height from the top.
fn label(top: f64, text: &str) -> String {
    format!("<span class=\"y\" style=\"top:{:.1}%\">{text}</span>", top * 100.0)
}

/// An axis of times from 0, or logarithmic where the largest is far above the usual.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    fn new(usual: u64, most: u64) -> Scale {
        let (usual, most) = (usual.max(1) as f64, most.max(1) as f64);
        let log = most > 6.0 * usual;
        if log {
            Scale { low: usual / 2.0, high: most * 1.15, log }
        } else {
            Scale { low: 0.0, high: most * 1.1, log }
        }
    }

    /// Share of the height from the top.
    fn top(&self, ns: f64) -> f64 {
        let part = if self.log {
            (ns.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            ns / self.high
        };
        1.0 - part.clamp(0.0, 1.0)
    }

    /// Values that get a line and a label.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let first = 10f64.powf(self.low.log10().ceil());
            return (0..12).map(|n| first * 10f64.powi(n)).take_while(|t| *t < self.high).collect();
        }
        let step = super::step(self.high * 0.8);
        (0..12).map(|n| step * f64::from(n)).take_while(|t| *t < self.high).collect()
    }
}

/// The longest interval of each bin, the usual one as a line.
pub(super) fn intervals(axis: Axis, longest: &[u64], usual: u64, label_text: &str) -> String {
    let most = longest.iter().copied().max().unwrap_or(0);
    let scale = Scale::new(usual, most);
    let mut out = format!("<div class=\"plot\">{}", ticks(&scale));
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label_text}\">"
    );
    for tick in scale.ticks() {
        let y = scale.top(tick) * HEIGHT;
        let _ = write!(out, "<line class=\"grid\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    let (line, area) = steps(axis, longest, &scale);
    let y = scale.top(usual as f64) * HEIGHT;
    let _ = write!(
        out,
        "<path class=\"area\" d=\"{area}\"/><path class=\"trace\" d=\"{line}\"/><line class=\"usual\" x1=\"0\" \
         x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/></svg></div>"
    );
    out.push_str(&time_labels(axis));
    out
}

fn ticks(scale: &Scale) -> String {
    let label = |tick: &f64| label(scale.top(*tick), &round(*tick));
    scale.ticks().iter().map(label).collect()
}

/// A round time.
fn round(ns: f64) -> String {
    match ns {
        n if n >= 1e9 => format!("{} s", n / 1e9),
        n if n < 1.0 => "0".to_owned(),
        n if n >= 1e6 => format!("{} ms", n / 1e6),
        n => format!("{} \u{b5}s", n / 1e3),
    }
}

/// A line in steps over the bins that have a value, and the area below it.
fn steps(axis: Axis, values: &[u64], scale: &Scale) -> (String, String) {
    let (mut line, mut area) = (String::new(), String::new());
    let mut at = 0;
    while at < values.len() {
        let run = values[at..].iter().take_while(|n| **n == values[at]).count();
        if values[at] > 0 {
            let (x, end, y) = (left(axis, at), left(axis, at + run), scale.top(values[at] as f64) * HEIGHT);
            let joins = at > 0 && values[at - 1] > 0;
            let _ = match joins {
                true => write!(line, "V{y:.1}H{end:.1}"),
                false => write!(line, "M{x:.1} {y:.1}H{end:.1}"),
            };
            let _ = write!(area, "M{x:.1} {HEIGHT}V{y:.1}H{end:.1}V{HEIGHT}Z");
        }
        at += run;
    }
    (line, area)
}

/// How many times were how long.
pub(super) fn histogram(bars: &Bars, label_text: &str) -> String {
    let most = bars.counts.iter().copied().max().unwrap_or(0).max(1);
    let n = bars.counts.len().max(1) as f64;
    let mut out = String::from("<div class=\"plot\">");
    out.push_str(&label(0.06, &super::cell::spaced(most)));
    out.push_str(&label(1.0, "0"));
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label_text}\">"
    );
    for (at, count) in bars.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        // Something stays visible of one among a million.
        let height = (*count as f64 / most as f64 * HEIGHT * 0.94).max(2.0);
        let (x, width) = (WIDTH * at as f64 / n, WIDTH / n * 0.88);
        let _ = write!(
            out,
            "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
            HEIGHT - height
        );
    }
    out.push_str("</svg></div><div class=\"x\" aria-hidden=\"true\">");
    let end = bars.from_ns.saturating_add(bars.width_ns.saturating_mul(bars.counts.len() as u64));
    let middle = bars.from_ns / 2 + end / 2;
    let text = |ns: u64| round(ns as f64);
    let _ = writeln!(
        out,
        "<span class=\"start\" style=\"left:0\">{}</span><span style=\"left:50%\">{}</span><span class=\"end\" style=\"left:100%\">{}</span></div>",
        text(bars.from_ns),
        text(middle),
        text(end)
    );
    out
}

/// What a strip shows of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No frame was seen, and none is known to be missing: a pause, or the time before and after the stream.
    Nothing,
    /// All frames whole.
    Whole,
    /// Frames torn, or without their end.
    Torn(Share),
    /// Of some frames nothing was seen.
    Gone(Share),
}

/// How many of the frames of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// Less than one in a hundred.
    Few,
    /// Less than one in ten.
    Some,
    /// One in ten or more.
    Many,
    /// All of them.
    All,
}

impl Share {
    /// `n` of `all`.
    pub(super) fn of(n: u64, all: u64) -> Share {
        match n {
            n if n >= all => Share::All,
            n if n.saturating_mul(10) >= all => Share::Many,
            n if n.saturating_mul(100) >= all => Share::Some,
            _ => Share::Few,
        }
    }

    fn height(self) -> f64 {
        match self {
            Share::Few => 7.0,
            Share::Some => 9.0,
            Share::Many | Share::All => STRIP,
        }
    }
}

/// Bins in a row: thin where all is whole, high where something was torn, broken where nothing was seen.
pub(super) fn strip(axis: Axis, states: &[State], label_text: &str) -> String {
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {STRIP}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label_text}\">"
    );
    let mut at = 0;
    while at < states.len() {
        let state = states[at];
        let run = states[at..].iter().take_while(|s| **s == state).count();
        let (x, width) = (left(axis, at), left(axis, at + run) - left(axis, at));
        at += run;
        let mut rect = |class: &str, y: f64, height: f64, least: f64| {
            let width = width.max(least);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"/>"
            );
        };
        match state {
            State::Nothing => {}
            State::Whole => rect("whole", 4.0, 4.0, 0.0),
            State::Torn(share) => rect("torn", STRIP - share.height(), share.height(), 3.0),
            State::Gone(share) => {
                rect("gone", STRIP - share.height(), share.height() - 5.0, 3.0);
                rect("gone", 9.0, 3.0, 3.0);
            }
        }
    }
    out.push_str("</svg>");
    out
}

/// Intervals and instants on a lane; those closer than can be told apart are one.
pub(super) fn lane(axis: Axis, class: &str, spans: &[(i64, i64)], label_text: &str) -> String {
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {STRIP}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label_text}\">"
    );
    let mut edges: Vec<(i64, i64)> = spans
        .iter()
        .map(|(from, to)| ((share(axis, *from) * WIDTH) as i64, (share(axis, *to) * WIDTH) as i64))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    for (from, to) in edges {
        let (x, width) = (from.min(998), (to - from).max(2));
        let _ =
            write!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{STRIP}\"/>");
    }
    out.push_str("</svg>");
    out
}

/// Bins of a column that are not 0, as a lane.
pub(super) fn column(axis: Axis, class: &str, values: &[u64], label_text: &str) -> String {
    let bin = i64::try_from(axis.bin_ns).unwrap_or(i64::MAX);
    let start = |at: usize| axis.start_ns.saturating_add(bin.saturating_mul(i64::try_from(at).unwrap_or(0)));
    let filled = values.iter().enumerate().filter(|(_, n)| **n > 0);
    let spans: Vec<(i64, i64)> = filled.map(|(at, _)| (start(at), start(at + 1))).collect();
    lane(axis, class, &spans, label_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis { start_ns: 1_000, bin_ns: 10, bins: 4 };

    #[test]
    fn a_strip_has_one_mark_a_run_and_a_shape_for_each_state() {
        let picture =
            strip(AXIS, &[State::Whole, State::Whole, State::Torn(Share::All), State::Gone(Share::Few)], "x");
        assert_eq!(picture.matches("<rect").count(), 4, "{picture}");
        assert!(picture.contains("class=\"whole\" x=\"0.0\" y=\"4\" width=\"500.0\""), "{picture}");
        assert!(
            picture.contains("class=\"torn\" x=\"500.0\" y=\"0\" width=\"250.0\" height=\"12\""),
            "{picture}"
        );
    }

    #[test]
    fn times_along_the_axis_are_round_and_few() {
        let second = 1_000_000_000;
        for (length, last) in [
            (5 * second / 10, "500 ms"),
            (100 * second, "100 s"),
            (3_600 * second, "60 min"),
            (86_400 * second, "24:00 h"),
        ] {
            let labels = time_labels(Axis { start_ns: 0, bin_ns: length, bins: 1 });
            assert!((4..=8).contains(&labels.matches("<span").count()), "{labels}");
            assert!(labels.contains(&format!(">{last}</span></div>")), "{labels}");
        }
        assert!(time_labels(Axis { start_ns: 0, bin_ns: u64::MAX, bins: 512 }).matches("<span").count() <= 8);
    }

    #[test]
    fn marks_outside_of_the_run_stand_at_its_ends_and_near_ones_are_one() {
        let picture = lane(AXIS, "l", &[(0, 0), (-9, 5), (1_020, 1_020), (i64::MAX, i64::MAX)], "x");
        assert_eq!(picture.matches("<rect").count(), 3, "{picture}");
        assert!(picture.contains("x=\"500\"") && picture.contains("x=\"998\""), "{picture}");
    }

    #[test]
    fn a_line_breaks_where_there_is_no_value() {
        let scale = Scale::new(10, 20);
        let (line, area) = steps(AXIS, &[10, 20, 0, 10], &scale);
        assert_eq!(
            (line.matches('M').count(), line.matches('V').count(), area.matches('Z').count()),
            (2, 1, 3)
        );
    }

    #[test]
    fn an_outlier_far_above_the_usual_makes_the_axis_logarithmic() {
        let scale = Scale::new(16_000_000, 2_500_000_000);
        assert!(scale.log && !scale.ticks().is_empty() && scale.ticks().len() < 6);
        assert!(!Scale::new(16_000_000, 40_000_000).log);
        for scale in [Scale::new(0, 0), Scale::new(1, u64::MAX)] {
            assert!(scale.ticks().len() <= 12 && scale.top(5.0).is_finite());
        }
    }
}
