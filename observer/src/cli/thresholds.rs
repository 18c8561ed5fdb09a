//! Every threshold of the program: those of the crates beside those of the host's checks, the rig and the rings.
//! `docs/thresholds.md` is the Markdown of this list.

use super::doctor::{LEAST_HOLD_MS, LITTLE_SPACE, USUAL_BACKLOG};
use crate::live::drain::{DEADLINE, LIMIT_BYTES};
use crate::live::health::STEP;
use crate::live::udp::HOLD;
use crate::rig_file::TOLERANCE;
use std::io::{self, Write};
use wireproof_protocols::Rule;
use wireproof_protocols::threshold::{Threshold, time};
use wireproof_recorder::analysis::{coverage, requests, runs, slow};

/// What a threshold may be of, in the order of the document: title and which thresholds belong there.
type Part = (&'static str, Vec<Threshold>);

/// Every threshold, by part.
pub(super) fn parts() -> Vec<Part> {
    vec![
        ("Rules over what is on the wire", wire()),
        ("Rules over recorder rings", rings()),
        ("Owners and comparisons of runs", wireproof_reports::thresholds::thresholds()),
        ("Matrices, soaks, baselines", wireproof_matrices::thresholds::thresholds()),
        ("Checks of the host (`wireproof doctor`)", host()),
        ("Downloads (`--drain`, `wireproof ring fetch`)", downloads()),
    ]
}

/// The thresholds of one rule.
pub(super) fn of(rule: &Rule) -> Vec<Threshold> {
    let all = wire().into_iter().chain(rings());
    all.filter(|t| t.codes.contains(&rule.code)).collect()
}

/// One threshold in a line of text.
pub(super) fn line(threshold: &Threshold) -> String {
    format!("{}: {} ({})", threshold.what, threshold.value, threshold.source)
}

fn wire() -> Vec<Threshold> {
    let mut all = wireproof_protocols::verify::thresholds::thresholds();
    let steps = Threshold {
        codes: &["TIME-CLOCK-STEP"],
        what: "step of the observing host's clock while `observe` runs",
        value: format!("{} and more", time(STEP)),
        source: "above what a clock is slewed by within a look",
        place: "observer/src/live/health.rs",
    };
    let rate = Threshold {
        codes: &["RIG-RATE"],
        what: "frame rate away from the rig's `rate_hz`",
        value: format!("more than {} % (`rate_tolerance_percent`)", TOLERANCE / 10),
        source: "own choice; `learn` writes the rate it saw",
        place: "observer/src/rig_file.rs",
    };
    all.extend([steps, rate]);
    all
}

fn ring(
    codes: &'static [&'static str],
    what: &'static str,
    value: String,
    source: &'static str,
    place: &'static str,
) -> Threshold {
    Threshold { codes, what, value, source, place }
}

fn ns(ns: u64) -> String {
    time(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn rings() -> Vec<Threshold> {
    let slow_frame = format!("{} and more; told once in {}", ns(slow::SLOW_NS), ns(slow::EVERY_NS));
    let covered = format!("less than {} %", coverage::TARGET_PERCENT);
    let late = format!(
        "more than {} periods; {} where the ring names no period",
        requests::LATE_PERIODS,
        ns(requests::LATE_NS)
    );
    let surge = format!("half of {} frames, and twice the share of all before", runs::BLOCK);
    let always = format!("{} frames in a row", runs::EVERY);
    vec![
        ring(
            &["RING-SLOW"],
            "time of a frame",
            slow_frame,
            "a frame at 60 Hz has 16.7 ms",
            "recorder/src/analysis/slow.rs",
        ),
        ring(
            &["RING-COVERAGE"],
            "share of frame or device time that spans explain",
            covered,
            "the field's target",
            "recorder/src/analysis/coverage.rs",
        ),
        ring(
            &["RING-FRAME-LATE", "RING-FRAME-UNRELATED"],
            "wait of a request for its frame (`--late`)",
            late,
            "own choice: the frame after the next one at worst",
            "recorder/src/analysis/requests.rs",
        ),
        ring(
            &["RING-FRAME-ALWAYS"],
            "frames that one source asked for",
            always,
            "a second at 60 Hz",
            "recorder/src/analysis/runs.rs",
        ),
        ring(
            &["RING-OTHER-SURGE"],
            "frames by `other` in a block",
            surge,
            "own choice",
            "recorder/src/analysis/runs.rs",
        ),
        ring(
            &["RING-DEADLINE"],
            "end of a frame after its deadline",
            "any".to_owned(),
            "the engine's own deadline, in the ring",
            "recorder/src/analysis/findings.rs",
        ),
    ]
}

fn host() -> Vec<Threshold> {
    let hold = format!(
        "FAIL below {LEAST_HOLD_MS} ms, WARN below {} of 12 sACN universes at 60 Hz",
        format_args!("{} s", HOLD.as_secs())
    );
    vec![
        Threshold {
            codes: &["receive buffer"],
            what: "how long the buffer of a socket holds while nobody reads",
            value: hold,
            source: "waits for the processor were up to 47 ms on a busy host",
            place: "observer/src/cli/doctor/buffers.rs",
        },
        Threshold {
            codes: &["backlog"],
            what: "`net.core.netdev_max_backlog`",
            value: format!("WARN below {USUAL_BACKLOG} frames"),
            source: "an untouched Linux",
            place: "observer/src/cli/doctor/buffers.rs",
        },
        Threshold {
            codes: &["disk"],
            what: "free space where a recording would go",
            value: format!("WARN below {} GiB", LITTLE_SPACE >> 30),
            source: "own choice",
            place: "observer/src/cli/doctor/host.rs",
        },
    ]
}

fn downloads() -> Vec<Threshold> {
    let row = |what, value, source| Threshold {
        codes: &["download"],
        what,
        value,
        source,
        place: "observer/src/live/drain.rs",
    };
    vec![
        row(
            "time of one download",
            format!("{} s at most", DEADLINE.as_secs()),
            "the field's took 0.15 to 0.27 s",
        ),
        row(
            "length of one download",
            format!("{} MiB at most", LIMIT_BYTES >> 20),
            "the field's ring has 6 MiB",
        ),
    ]
}

/// Writes the whole list as Markdown.
pub(super) fn markdown(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Thresholds\n")?;
    writeln!(
        out,
        "Generated by `cargo xtask docs` from the constants themselves; `wireproof explain --thresholds` prints them, and \
         `wireproof explain CODE` those of one rule. Ranges of single fields (a priority of 0..200) are the rules \
         themselves: [findings](findings.md). What a plan or a rig sets stands with its default and its key.\n"
    )?;
    parts().iter().try_for_each(|(title, all)| {
        writeln!(out, "## {title}\n\n| rule or word | judged | limit | from | in |\n|---|---|---|---|---|")?;
        all.iter().try_for_each(|threshold| row(threshold, out))?;
        writeln!(out)
    })
}

fn row(t: &Threshold, out: &mut dyn Write) -> io::Result<()> {
    let known = |code: &&&str| wireproof_protocols::registry::rule(code).is_some();
    let linked = |code: &&str| match Some(code).filter(known) {
        Some(code) => format!("[{code}](findings.md#{})", code.to_ascii_lowercase()),
        None => format!("`{code}`"),
    };
    let codes: Vec<String> = t.codes.iter().map(linked).collect();
    writeln!(out, "| {} | {} | {} | {} | `{}` |", codes.join(", "), t.what, t.value, t.source, t.place)
}

/// Writes the whole list as text.
pub(super) fn table(out: &mut dyn Write) -> io::Result<()> {
    parts()
        .iter()
        .flat_map(|(_, all)| all)
        .try_for_each(|t| writeln!(out, "{}\n  {}\n  {}", t.codes.join(", "), line(t), t.place))
}
