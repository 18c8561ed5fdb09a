//! What can be typed behind `wireproof ring convert`.

use crate::cli::quantity;
use crate::cli::ring::args::ReadArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What a ring becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum To {
    /// A Perfetto trace (protobuf), for ui.perfetto.dev and trace_processor
    Perfetto,
    /// A Chrome trace (JSON), one event a line
    Chrome,
    /// A table of all records
    Csv,
}

impl To {
    /// Whether people cannot read it.
    pub(super) fn is_binary(self) -> bool {
        self == To::Perfetto
    }
}

/// How the output is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pack {
    /// Not at all
    None,
    /// gzip, level 6
    Gzip,
    /// Zstandard, level 1
    Zstd,
}

/// The clock of a scheduler trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SchedClock {
    /// CLOCK_MONOTONIC: trace_clock mono, perf record -k CLOCK_MONOTONIC
    Mono,
    /// CLOCK_BOOTTIME: trace_clock boot
    Boot,
    /// CLOCK_REALTIME
    Real,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring convert ring.bin --to perfetto -o ring.pftrace
  wireproof ring convert ring.bin --to chrome -o ring.json.gz --wire show.pcapng --findings show.json --sched sched.txt

Beside -o FILE stands FILE.manifest.json: size and SHA-256 of every file, generation and copy of the ring. Wire times
come through the ring's own readings of both clocks; the difference between two hosts' clocks is not in them. Record
the scheduler on the ring's clock: echo mono > /sys/kernel/tracing/trace_clock, or perf record -k CLOCK_MONOTONIC
-e sched:sched_switch -a.")]
pub(in crate::cli::ring) struct ConvertArgs {
    /// The ring; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    pub(super) to: To,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Packing [default: by the output's name, .gz or .zst]
    #[arg(long, value_enum)]
    pub(super) pack: Option<Pack>,
    /// Write FILE.sha256 too, for sha256sum -c
    #[arg(long, requires = "output")]
    pub(super) checksum: bool,
    /// Write no manifest
    #[arg(long)]
    pub(super) no_manifest: bool,
    /// Only the last frames, and what lies beside them
    #[arg(long, value_name = "COUNT")]
    pub(super) last: Option<usize>,
    /// Places of causes [default: FILE.places, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(super) places: Option<PathBuf>,
    /// Add the arrivals of a capture; may be given several times
    #[arg(long, value_name = "CAPTURE")]
    pub(super) wire: Vec<PathBuf>,
    /// Layout of a house protocol in --wire: a TOML file, or the name of one of `wireproof layouts list`; may be given several
    /// times
    #[arg(long, value_name = "LAYOUT", requires = "wire")]
    pub(super) layout: Vec<PathBuf>,
    /// Add the findings and downloads of a summary (analyze or observe --format json)
    #[arg(long, value_name = "SUMMARY")]
    pub(super) findings: Vec<PathBuf>,
    /// Add this to the times of --wire and --findings, such as -3ms: the capturing host's clock was fast
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = offset, default_value = "0s")]
    pub(super) wire_offset: i64,
    /// Add the tasks of a Linux sched_switch text trace (ftrace or perf script), and name who ran in each gap
    #[arg(long, value_name = "FILE")]
    pub(super) sched: Option<PathBuf>,
    /// The clock of that trace
    #[arg(long, value_enum, default_value = "mono", requires = "sched")]
    pub(super) sched_clock: SchedClock,
    /// Task id of the engine's writing thread [default: the process id in the ring]
    #[arg(long, value_name = "TID", requires = "sched")]
    pub(super) engine_tid: Option<u32>,
    /// Shortest gap to name
    #[arg(long, value_name = "TIME", default_value = "10us", value_parser = quantity::time, requires = "sched")]
    pub(super) gap_min: Duration,
}

/// A time with an optional sign, ns.
fn offset(text: &str) -> Result<i64, String> {
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    if matches!(size, "0" | "0s") {
        return Ok(0);
    }
    let time = quantity::time(size)?;
    i64::try_from(time.as_nanos()).map(|ns| sign * ns).map_err(|_| format!("{text} is too long"))
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[test]
    fn offsets_have_signs() {
        assert_eq!((offset("-3ms"), offset("2s"), offset("0")), (Ok(-3_000_000), Ok(2_000_000_000), Ok(0)));
        assert!(["", "-", "--3ms", "3 ms"].iter().all(|text| offset(text).is_err()));
    }
}
