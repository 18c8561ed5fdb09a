//! The table of arms, the goals beside what was reached, and whether the arms agree about what they counted.

use super::Outcome;
use super::arms::{ALL, CORE, FULL, LIBPCAP, SWEEP};
use super::block::{Measured, STEAL_LIMIT, SWITCHES_LIMIT};
use super::captured::Captured;
use std::io::Write;

/// The most octets of memory that an analysis may take, whatever the size of the file.
const MEMORY: f64 = 16.0;

/// Octets of a file, and peak memory of its analysis.
type Peak = Option<(u64, u64)>;

/// Prints everything.
///
/// # Errors
/// When arms that count losses disagree with each other or with what was planted.
pub(crate) fn print(captured: &Captured, m: &Measured, peaks: [Peak; 2]) -> Outcome<()> {
    let full = index(FULL).ok_or("no full analysis")?;
    let counted = m.counted[full];
    line(&format!(
        "{} datagrams, {} MB, {} streams, {} missing, {} blocks, medians of CPU time of the thread",
        counted.datagrams,
        captured.octets / 1_000_000,
        counted.streams,
        counted.lost,
        m.times[full].len(),
    ))?;
    for (arm, times) in ALL.iter().zip(&m.times) {
        arm_line(arm.name, times, counted.datagrams, ratio(m, arm.name, SWEEP).unwrap_or(0.0))?;
    }
    for ns in &m.tshark {
        line(&format!(
            "{:>20}: {:8.1} ns/datagram",
            "tshark conv,udp",
            *ns as f64 / counted.datagrams.max(1) as f64
        ))?;
    }
    for (name, figures) in &m.decoding {
        line(&format!("{:>20}: {:8.1} ns/datagram", format!("decoding {name}"), median(figures)))?;
    }
    goals(m, peaks)?;
    host(m)?;
    agree(captured, m)
}

fn arm_line(name: &str, times: &[u64], datagrams: u64, ratio: f64) -> Outcome<()> {
    let each = |ns: f64| ns / datagrams.max(1) as f64;
    let ns: Vec<f64> = times.iter().map(|ns| *ns as f64).collect();
    let (least, most) = ns.iter().fold((f64::MAX, 0f64), |(a, b), ns| (a.min(*ns), b.max(*ns)));
    line(&format!(
        "{name:>20}: {:8.1} ns/datagram ({:.1} to {:.1}), {ratio:.2} x the sweep",
        each(median(&ns)),
        each(least),
        each(most),
    ))
}

fn goals(m: &Measured, peaks: [Peak; 2]) -> Outcome<()> {
    at_most("core pass, x the sweep", ratio(m, CORE, SWEEP), 1.25)?;
    at_most("full analysis, x the sweep", ratio(m, FULL, SWEEP), 2.0)?;
    at_least("libpcap + core pass, x full analysis", ratio(m, LIBPCAP, FULL), 1.5)?;
    at_least("tshark, x full analysis", tshark(m), 50.0)?;
    let all = m.decoding.first().map(|(_, figures)| median(figures));
    at_most("decoding with all checks, ns", all, 10.0)?;
    for (octets, peak) in peaks.into_iter().flatten() {
        let name = format!("peak memory over {} MB, MB", octets / 1_000_000);
        at_most(&name, Some(peak as f64 / 1e6), MEMORY)?;
    }
    Ok(())
}

fn at_most(name: &str, value: Option<f64>, limit: f64) -> Outcome<()> {
    goal(name, value, &format!("at most {limit}"), value.is_some_and(|value| value <= limit))
}

fn at_least(name: &str, value: Option<f64>, limit: f64) -> Outcome<()> {
    goal(name, value, &format!("at least {limit}"), value.is_some_and(|value| value >= limit))
}

fn goal(name: &str, value: Option<f64>, wanted: &str, reached: bool) -> Outcome<()> {
    let word = if reached { "reached" } else { "NOT REACHED" };
    match value {
        Some(value) => line(&format!("goal {name}: {value:.2}, {wanted}: {word}")),
        None => line(&format!("goal {name}: SKIPPED, it was not built in or is not installed")),
    }
}

fn host(m: &Measured) -> Outcome<()> {
    line(&format!(
        "host: {} blocks made again, {} of {} that count disturbed (limits {SWITCHES_LIMIT} involuntary switches a \
         second, {STEAL_LIMIT} % stolen)",
        m.again,
        m.disturbed,
        m.times[0].len(),
    ))
}

fn agree(captured: &Captured, m: &Measured) -> Outcome<()> {
    let counting = ALL.iter().zip(&m.counted).filter(|(_, counted)| counted.streams > 0);
    let mut first = None;
    for (arm, counted) in counting {
        let before = *first.get_or_insert(*counted);
        if before != *counted || captured.planted.is_some_and(|planted| planted != counted.lost) {
            return Err(
                format!("{}: {counted:?}, not {before:?}, planted {:?}", arm.name, captured.planted).into()
            );
        }
    }
    line("every arm that counts found what was planted")
}

fn index(name: &str) -> Option<usize> {
    ALL.iter().position(|arm| arm.name == name)
}

/// The median over blocks of what one arm took of what another did.
fn ratio(m: &Measured, arm: &str, beside: &str) -> Option<f64> {
    let (arm, beside) = (&m.times[index(arm)?], &m.times[index(beside)?]);
    let ratios: Vec<f64> = arm.iter().zip(beside).map(|(a, b)| *a as f64 / (*b).max(1) as f64).collect();
    Some(median(&ratios))
}

fn tshark(m: &Measured) -> Option<f64> {
    let full: Vec<f64> = m.times[index(FULL)?].iter().map(|ns| *ns as f64).collect();
    let tshark: Vec<f64> = m.tshark.iter().map(|ns| *ns as f64).collect();
    (!tshark.is_empty()).then(|| median(&tshark) / median(&full))
}

/// The lower of the two in the middle where they are two.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// A line on standard output.
pub(crate) fn line(text: &str) -> Outcome<()> {
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}
