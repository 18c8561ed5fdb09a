//! What can be typed behind `wireproof ring`.

use clap::{Args, Subcommand, ValueEnum};
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
    /// Download a ring: verified, whole or absent, with a manifest beside it
    Fetch(FetchArgs),
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

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring fetch http://10.0.0.5:8080/v1/ring/raw -o ring.bin
  wireproof ring fetch http://10.0.0.5:8080/v1/ring/raw -o ring.bin --token-env PI_TOKEN

What breaks off is gone on with (Range, If-Range) up to four times, and so often a connection is tried; an image that is
refused is asked for once more. FILE appears when everything is on the disk and length, stamp, checksums and the pair of generations agree;
FILE.manifest.json beside it has size, SHA-256, the ring's identity and both clocks.

Exit code 0; 2 when the URL or the token cannot be meant; 6 when nothing came or nothing can be written; 7 when what
came cannot be believed: it is kept as FILE.refused then.")]
pub(super) struct FetchArgs {
    /// Where the ring is, an http:// URL
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Send the value of this environment variable as a bearer token
    #[arg(long, value_name = "NAME")]
    pub(super) token_env: Option<String>,
    /// Longest that one attempt may take
    #[arg(long, value_name = "TIME", value_parser = crate::cli::quantity::time, default_value = "20s")]
    pub(super) timeout: Duration,
    /// Write FILE.sha256 too, for sha256sum -c
    #[arg(long)]
    pub(super) checksum: bool,
    /// Write no manifest
    #[arg(long)]
    pub(super) no_manifest: bool,
    /// Say nothing when all is well
    #[arg(short, long)]
    pub(super) quiet: bool,
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

/// Where the answer goes, and as what.
#[derive(Debug, Args)]
pub(super) struct OutArgs<F: ValueEnum + Default + Send + Sync + 'static> {
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(super) format: F,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Formats of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Plain {
    #[default]
    Table,
    Json,
}

/// Formats of a record that is a page, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Pages {
    #[default]
    Table,
    Json,
    Html,
}

/// Formats of rows that can also be read one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Rows {
    #[default]
    Table,
    Json,
    Jsonl,
    Csv,
}

/// Formats of a record with rows in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Sheets {
    #[default]
    Table,
    Json,
    Csv,
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
    #[command(flatten)]
    pub(super) out: OutArgs<Plain>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof ring summary ring.bin --range wire_prepare..wire_send --format json
  wireproof ring summary ring.bin --format html -o ring.html

html is one file to look at: the frames at the percentiles, the slowest and those beside gaps span by span, with all
figures of the summary, the gaps, the causes (places from FILE.places, if it is there) and the record as JSON in it.

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
    #[command(flatten)]
    pub(super) out: OutArgs<Pages>,
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
    #[command(flatten)]
    pub(super) out: OutArgs<Rows>,
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
    #[command(flatten)]
    pub(super) out: OutArgs<Sheets>,
}
