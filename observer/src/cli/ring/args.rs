//! What can be typed behind `wireproof ring`.

use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    after_help = "\
Examples:
  wireproof ring verify ring.bin
  wireproof ring summary ring.bin --format json

Rings are files: a download, a copy, or the file of a live or dead writer; plain or packed with gzip."
)]
pub(in crate::cli) struct RingArgs {
    #[command(subcommand)]
    pub(super) verb: RingVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum RingVerb {
    /// Say which frames of a ring are whole, what was dropped and why; refuse what cannot be believed
    Verify(VerifyArgs),
    /// Percentiles of frames and stages, coverage, deadline misses
    Summary(SummaryArgs),
    /// One line for each whole frame
    Frames(FramesArgs),
    /// Why each frame was made, which places asked for it, and how long requests waited
    Causes(CausesArgs),
    /// Write a ring as a Perfetto trace, a Chrome trace or a table, with what was seen beside it
    Convert(Box<super::convert::ConvertArgs>),
}

/// How a ring is read.
#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    /// Field map of a legacy ring: v1-assumed-a, v1-assumed-b, or a JSON or TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) map: Option<String>,
    /// Keep the oldest frame of a ring that has wrapped, if it proves whole
    #[arg(long)]
    pub(super) exact: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring verify ring.bin
  wireproof ring verify old.bin --map v1-assumed-a --format json

Exit code 0, or 7 when an image is refused; the reason is on standard error. Several files give one JSON object a line.")]
pub(super) struct VerifyArgs {
    /// Rings; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub(super) format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring summary ring.bin
  wireproof ring summary ring.bin --range wire_prepare..wire_send --format json

Percentiles of stages are each of their own: they are never added, and stages may run side by side.")]
pub(super) struct SummaryArgs {
    /// The ring; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Times from the start of one stage to the latest end up to another, by name or id of the ring's table; again for more
    #[arg(long, value_name = "FROM..TO")]
    pub(super) range: Vec<String>,
    /// Only spans of this device in the ranges, by name or id of the ring's table
    #[arg(long, value_name = "DEVICE", requires = "range")]
    pub(super) device: Option<String>,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub(super) format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring frames ring.bin --last 20
  wireproof ring frames ring.bin --format csv -o frames.csv")]
pub(super) struct FramesArgs {
    /// The ring; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Only the last frames
    #[arg(long, value_name = "COUNT")]
    pub(super) last: Option<usize>,
    /// Output format
    #[arg(long, value_parser = ["table", "json", "jsonl", "csv"], default_value = "table")]
    pub(super) format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring causes ring.bin
  wireproof ring causes ring.bin --places ring.bin.places --format json

Every frame has exactly one cause: an event, else the requests for a refresh before it, else other (a timer or an
animation). Only the last recording in the ring counts: places are started over with each. Findings do not change the
exit code.")]
pub(super) struct CausesArgs {
    /// The ring; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Side file with the places; without it FILE.places, if it is there
    #[arg(long, value_name = "FILE")]
    pub(super) places: Option<PathBuf>,
    /// A request is late after this; without it two frame periods, or 100 ms where the ring names none
    #[arg(long, value_name = "TIME", value_parser = crate::cli::quantity::time)]
    pub(super) late: Option<Duration>,
    /// Output format
    #[arg(long, value_parser = ["table", "json", "csv"], default_value = "table")]
    pub(super) format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}
