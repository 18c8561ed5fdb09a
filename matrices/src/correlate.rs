//! Do losses coincide with downloads? A question about time; it never says who lost anything (that is attribution's).
//!
//! The unit is the loss episode, not the datagram: losses of all streams closer than 50 ms are one event, since tests that
//! take datagrams for units raise false alarms in 13 to 19 % of clean runs (experiments section 7.1). Everything is
//! deterministic. Time is bounded by (episodes + downloads) x shifts, and merged episodes cannot be closer than 50 ms.

mod shift;
mod sweep;

use crate::arm::{Arm, ArmState, Episode, Span};
use crate::number::Number;
use crate::plan::Plan;
use crate::stats::{binomial_tail, clopper_pearson};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use sweep::Windows;

/// Losses closer than this are one episode, ns (RFC 3357: loss period).
pub const MERGE_NS: i64 = 50_000_000;
/// Circular shifts that are tried.
pub const SHIFTS: u32 = 999;
/// Both tests have to be below this.
pub(crate) const LEVEL: f64 = 0.01;
/// Width of a bin of the histogram of lags, ns.
const BIN_NS: i64 = 50_000_000;
/// Lags beyond this are counted together, ns.
const FAR_NS: i64 = 1_000_000_000;

/// Losses that are one event: from the last datagram before the first to the first behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// Its time, ns from the beginning of the window of the arm.
    pub span: Span,
    /// Datagrams missing.
    pub missing: u64,
}

impl Loss {
    /// Where it counts: the middle.
    fn middle(&self) -> i64 {
        i64::midpoint(self.span.start_ns, self.span.end_ns)
    }
}

/// An arm: its length, its downloads and its losses, all in ns from the beginning of its window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArmTimes {
    /// Length.
    pub length_ns: i64,
    /// Downloads, begun and ended; not those that were only planned.
    pub drains: Vec<Span>,
    /// Losses, merged or not.
    pub losses: Vec<Loss>,
}

impl ArmTimes {
    /// From what an arm measured: real downloads and episodes of every stream, on the bench's clock.
    pub fn of(window: Span, drains: impl IntoIterator<Item = Span>, episodes: &[Episode]) -> ArmTimes {
        let own = |span: Span| Span {
            start_ns: span.start_ns.saturating_sub(window.start_ns),
            end_ns: span.end_ns.saturating_sub(window.start_ns),
        };
        let losses = episodes.iter().map(|e| Loss { span: own(e.span), missing: e.missing }).collect();
        let length_ns = window.end_ns.saturating_sub(window.start_ns).max(0);
        ArmTimes { length_ns, drains: drains.into_iter().map(own).collect(), losses }
    }
}

/// Losses as episodes: in order of time, those closer than 50 ms merged with the next.
pub fn episodes(losses: &[Loss]) -> Vec<Loss> {
    let mut sorted = losses.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<Loss> = Vec::new();
    for loss in sorted {
        match merged.last_mut() {
            Some(last) if loss.span.start_ns.saturating_sub(last.span.end_ns) < MERGE_NS => {
                last.span.end_ns = last.span.end_ns.max(loss.span.end_ns);
                last.missing = last.missing.saturating_add(loss.missing);
            }
            _ => merged.push(loss),
        }
    }
    merged
}

/// Windows with losses against windows without a download, in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Pairs where only the window of the download has a loss.
    pub drain_only: u64,
    /// Pairs where only the control window has one.
    pub control_only: u64,
    /// One-sided p of the sign test; it needs five such pairs to say anything.
    pub p: Number,
}

/// Signed lags of losses to the nearest begin of a download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lags {
    /// More than a second before it.
    pub under: u64,
    /// A second or more behind it.
    pub over: u64,
    /// Begin of a bin of 50 ms, in ms, to losses.
    pub bins: BTreeMap<i64, u64>,
}

/// Losses against downloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DropsVsDrains {
    /// True when both p are below 0.01. About time, never about blame.
    pub correlated: bool,
    /// True when the answer depends on which side of an edge losses are counted that reach over one.
    pub depends_on_straddles: bool,
    /// What it says, in a sentence.
    pub text: String,
    /// Length of all arms, ns.
    pub exposure_ns: i64,
    /// Of it inside windows of downloads, tail included, ns.
    pub window_exposure_ns: i64,
    /// Downloads.
    pub drains: u64,
    /// Loss episodes.
    pub episodes: u64,
    /// Of them, by their middle, inside windows.
    pub episodes_inside: u64,
    /// Datagrams missing.
    pub datagrams: u64,
    /// Of them, in the episodes inside.
    pub datagrams_inside: u64,
    /// Episodes that reach over the edge of a window.
    pub straddles: u64,
    /// Episodes inside if all of those are counted outside, and if all are counted inside.
    pub inside_range: [u64; 2],
    /// Exact conditional test: P(Bin(episodes, window share) >= inside).
    pub binomial_p: Number,
    /// It for both ends of `inside_range`.
    pub binomial_p_range: [Number; 2],
    /// Rate inside over rate outside; absent when nothing is outside.
    pub rate_ratio: Option<Number>,
    /// Its 95 % bounds (Clopper-Pearson); the upper one is absent when it is infinite.
    pub rate_ratio_95: [Option<Number>; 2],
    /// Shifts that were tried.
    pub circular_shifts: u32,
    /// Of them, with at least as many episodes inside.
    pub circular_shift_hits: u32,
    /// (1 + hits) / (shifts + 1).
    pub circular_shift_p: Number,
    /// It for both ends of `inside_range`.
    pub circular_shift_p_range: [Number; 2],
    /// Pairs of windows.
    pub paired: Paired,
    /// Lags.
    pub lag_histogram_50ms: Lags,
}

/// Lays losses against downloads over all arms; `tail_ns` is added to the end of each download.
pub fn drops_vs_drains(arms: &[ArmTimes], tail_ns: u64) -> DropsVsDrains {
    let laid: Vec<Laid> = arms.iter().map(|arm| Laid::of(arm, tail_ns)).collect();
    let sum = |of: fn(&Laid) -> u64| laid.iter().map(of).fold(0, u64::saturating_add);
    let length = |of: fn(&Laid) -> i64| laid.iter().map(of).fold(0, i64::saturating_add);
    let (exposure_ns, window_exposure_ns) = (length(|a| a.length_ns), length(|a| a.windows.exposure()));
    let episodes = sum(|a| a.losses.len() as u64);
    let inside = sum(|a| a.inside().count() as u64);
    let inside_range = [sum(|a| a.certain().0), sum(|a| a.certain().1)];
    let share = if exposure_ns > 0 { window_exposure_ns as f64 / exposure_ns as f64 } else { 0.0 };
    let binomial = |inside: u64| binomial_tail(inside, episodes, share);
    let counts = shift::counts(&laid, SHIFTS);
    let hits = |inside: u64| counts.iter().filter(|count| **count >= inside).count();
    let circular = |inside: u64| (1 + hits(inside)) as f64 / f64::from(SHIFTS + 1);
    let both = |inside: u64| binomial(inside) < LEVEL && circular(inside) < LEVEL;
    let correlated = both(inside);
    let (rate_ratio, rate_ratio_95) = rate_ratio(inside, episodes, share);
    DropsVsDrains {
        correlated,
        depends_on_straddles: inside_range.iter().any(|inside| both(*inside) != correlated),
        text: sentence(correlated, binomial(inside) < LEVEL, [inside, episodes], hits(inside), share),
        exposure_ns,
        window_exposure_ns,
        drains: sum(|a| a.drains.len() as u64),
        episodes,
        episodes_inside: inside,
        datagrams: sum(|a| a.losses.iter().map(|l| l.missing).fold(0, u64::saturating_add)),
        datagrams_inside: sum(|a| a.inside().map(|l| l.missing).fold(0, u64::saturating_add)),
        straddles: sum(|a| a.losses.iter().filter(|l| a.windows.crosses(l.span)).count() as u64),
        inside_range,
        binomial_p: Number(binomial(inside)),
        binomial_p_range: inside_range.map(|inside| Number(binomial(inside))),
        rate_ratio,
        rate_ratio_95,
        circular_shifts: SHIFTS,
        circular_shift_hits: u32::try_from(hits(inside)).unwrap_or(SHIFTS),
        circular_shift_p: Number(circular(inside)),
        circular_shift_p_range: inside_range.map(|inside| Number(circular(inside))),
        paired: paired(&laid),
        lag_histogram_50ms: lags(&laid),
    }
}

/// Over what was measured: every attempt that was not interrupted and has downloads, invalid ones too, because losses of the
/// observer are what they may show. `None` without such an attempt.
pub fn of_arms(plan: &Plan, arms: &[Arm]) -> Option<DropsVsDrains> {
    let tail_ns = plan.drain.as_ref()?.tail_ns;
    let whole = arms.iter().filter(|arm| arm.state != ArmState::Interrupted).map(|arm| &arm.measured);
    let times = whole.map(|m| {
        let begun = m.drains.iter().filter(|d| d.real && d.bench.start_ns < d.bench.end_ns);
        ArmTimes::of(m.window, begun.map(|d| d.bench), &m.episodes)
    });
    let times: Vec<ArmTimes> = times.filter(|arm| !arm.drains.is_empty()).collect();
    (!times.is_empty()).then(|| drops_vs_drains(&times, tail_ns))
}

/// An arm with merged losses and windows in order.
struct Laid {
    length_ns: i64,
    /// In order of their begins.
    drains: Vec<Span>,
    windows: Windows,
    losses: Vec<Loss>,
    tail_ns: i64,
}

impl Laid {
    fn of(arm: &ArmTimes, tail_ns: u64) -> Laid {
        let tail_ns = i64::try_from(tail_ns).unwrap_or(i64::MAX);
        let mut drains = arm.drains.clone();
        drains.retain(|d| d.end_ns >= d.start_ns && d.start_ns < arm.length_ns && d.end_ns >= 0);
        drains.sort_unstable();
        let windows = drains.iter().map(|d| window(*d, tail_ns));
        let windows = Windows::of(windows, arm.length_ns);
        let mut losses = episodes(&arm.losses);
        losses.retain(|l| (0..arm.length_ns).contains(&l.middle()));
        losses.sort_unstable_by_key(Loss::middle);
        Laid { length_ns: arm.length_ns.max(0), drains, windows, losses, tail_ns }
    }

    fn inside(&self) -> impl Iterator<Item = &Loss> {
        self.losses.iter().filter(|loss| self.windows.holds(loss.middle()))
    }

    /// Losses inside if those over an edge are counted outside, and if they are counted inside.
    fn certain(&self) -> (u64, u64) {
        let over = self.losses.iter().filter(|l| self.windows.crosses(l.span)).count() as u64;
        let sure = self.inside().filter(|l| !self.windows.crosses(l.span)).count() as u64;
        (sure, sure + over)
    }

    /// A window of the same length as that of each download, at the middle between its begin and the next; for the last
    /// one the next is where the mean spacing puts it, and a single one has its control half the arm away. `None` where
    /// that leaves the arm or touches a download.
    fn controls(&self) -> Vec<Option<Span>> {
        let (Some(first), Some(last)) = (self.drains.first(), self.drains.last()) else { return Vec::new() };
        let between = i64::try_from(self.drains.len()).unwrap_or(i64::MAX) - 1;
        let nexts = self.drains.iter().skip(1).map(|d| d.start_ns);
        let mean =
            last.start_ns.saturating_sub(first.start_ns).checked_div(between).unwrap_or(self.length_ns);
        let nexts = nexts.chain([last.start_ns.saturating_add(mean)]);
        let control = |(drain, next): (&Span, i64)| {
            let mut start_ns = i64::midpoint(drain.start_ns, next);
            if between == 0 {
                start_ns %= self.length_ns.max(1);
            }
            let window = window(*drain, self.tail_ns);
            let end_ns = start_ns.saturating_add(window.end_ns.saturating_sub(window.start_ns));
            let control = Span { start_ns, end_ns };
            (end_ns <= self.length_ns && !self.windows.touches(control)).then_some(control)
        };
        self.drains.iter().zip(nexts).map(control).collect()
    }

    fn any_within(&self, span: Span) -> bool {
        let from = self.losses.partition_point(|l| l.middle() < span.start_ns);
        self.losses.get(from).is_some_and(|l| l.middle() < span.end_ns)
    }

    /// Signed lag to the nearest begin of a download; the earlier one of two equally near.
    fn lag(&self, loss: &Loss) -> Option<i64> {
        let at = loss.middle();
        let next = self.drains.partition_point(|d| d.start_ns <= at);
        let before =
            next.checked_sub(1).and_then(|i| self.drains.get(i)).map(|d| at.saturating_sub(d.start_ns));
        let behind = self.drains.get(next).map(|d| at - d.start_ns);
        match (before, behind) {
            (Some(before), Some(behind)) => Some(if before <= -behind { before } else { behind }),
            (one, other) => one.or(other),
        }
    }
}

fn window(drain: Span, tail_ns: i64) -> Span {
    Span { start_ns: drain.start_ns, end_ns: drain.end_ns.saturating_add(tail_ns) }
}

fn rate_ratio(inside: u64, episodes: u64, share: f64) -> (Option<Number>, [Option<Number>; 2]) {
    if episodes == 0 {
        return (None, [None, None]);
    }
    let ratio = |p: f64| Number::finite(p / (1.0 - p) * (1.0 - share) / share);
    let (low, high) = clopper_pearson(inside, episodes, 0.05);
    (ratio(inside as f64 / episodes as f64), [ratio(low), ratio(high)])
}

fn paired(laid: &[Laid]) -> Paired {
    let (mut drain_only, mut control_only) = (0, 0);
    for arm in laid {
        for (drain, control) in arm.drains.iter().zip(arm.controls()) {
            let Some(control) = control else { continue };
            match (arm.any_within(window(*drain, arm.tail_ns)), arm.any_within(control)) {
                (true, false) => drain_only += 1,
                (false, true) => control_only += 1,
                _ => {}
            }
        }
    }
    let p = Number(binomial_tail(drain_only, drain_only + control_only, 0.5));
    Paired { drain_only, control_only, p }
}

fn lags(laid: &[Laid]) -> Lags {
    let mut lags = Lags::default();
    for lag in laid.iter().flat_map(|arm| arm.losses.iter().filter_map(|loss| arm.lag(loss))) {
        match lag {
            lag if lag < -FAR_NS => lags.under += 1,
            lag if lag >= FAR_NS => lags.over += 1,
            lag => *lags.bins.entry(lag.div_euclid(BIN_NS) * (BIN_NS / 1_000_000)).or_default() += 1,
        }
    }
    lags
}

/// What it comes to. Losses that keep a place of their own within windows stay in them when they are shifted a little:
/// windows that are long against the arm then leave the shift test nothing to tell, which is said.
fn sentence(
    correlated: bool,
    beyond_chance: bool,
    [inside, episodes]: [u64; 2],
    hits: usize,
    share: f64,
) -> String {
    let share = format!("{:.1} %", share * 100.0);
    let counted =
        format!("{inside} of {episodes} loss episodes lie in the windows of downloads, {share} of the time");
    if correlated {
        format!("{counted}: losses and downloads coincide, which does not say who lost anything")
    } else if beyond_chance {
        format!(
            "{counted}: more than chance alone puts there, but {hits} of {SHIFTS} shifts in time do as well, so that a \
             rhythm of their own is not excluded; longer arms or shorter downloads would tell"
        )
    } else {
        format!("{counted}: no coincidence is shown")
    }
}

#[cfg(test)]
mod tests;
