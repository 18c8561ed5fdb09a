//! What can be typed: verbs, options and the examples in their help.

use super::quantity::{self, Universes};
use crate::live::record::Rotation;
use crate::slice::Around;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use wireproof_reports::Format;

/// Watches what lighting controllers put on the wire and says whether it is right.
#[derive(Debug, Parser)]
#[command(
    name = "wireproof",
    version,
    propagate_version = true,
    subcommand_required = true,
    after_help = "\
Examples:
  wireproof analyze show.pcapng
  wireproof explain SEQ-LOST

Exit codes: 0 PASS, 1 FAIL, 2 usage, 3 INCONCLUSIVE, 4 INVALID, 5 PARTIAL, 6 I/O, 7 integrity."
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// See it work: a device as a process, its record drained, three faults planted and found; needs nothing
    Demo(super::demo::DemoArgs),
    /// Verify capture files: streams, frames, losses, findings and a verdict
    Analyze(AnalyzeArgs),
    /// Watch live traffic with the same engine: every missing datagram gets an owner
    Observe(Box<ObserveArgs>),
    /// Write a rig file from what a capture shows
    Learn(LearnArgs),
    /// Explain a finding's code: meaning, clause, example, what to do
    Explain(ExplainArgs),
    /// Cut the evidence of one finding out of a capture
    Slice(SliceArgs),
    /// Be a capture interface of Wireshark: findings as comments of the packets, live
    Extcap(super::extcap::ExtcapArgs),
    /// Say what this host can observe, and how to repair what it cannot
    Doctor(DoctorArgs),
    /// Send frames of a protocol, paced and known good
    Send(Box<super::send::SendArgs>),
    /// Send the datagrams of a capture again, at their times
    Replay(super::replay::ReplayArgs),
    /// Time the encoders on one identical frame, if every octet is right
    Bench(super::bench_args::BenchArgs),
    /// Be a lighting controller: outputs, a flight recorder, control, planted faults
    Device(Box<super::device::DeviceArgs>),
    /// Declare protocols of one's own: check a layout, list the ones there are
    Layouts(super::layouts::LayoutsArgs),
    /// Verify, summarise and account for flight-recorder rings
    Ring(super::ring::RingArgs),
    /// Run seeded A/B matrices against a device, keep their evidence, judge it
    Matrix(super::matrix::MatrixArgs),
    /// Choose the run that others are compared with
    Baseline(super::baseline::BaselineArgs),
    /// Compare a run with a baseline, or two captures or summaries with each other
    Compare(super::compare::CompareArgs),
    /// Write any record again, in any format that it has
    Report(super::render::RenderArgs),
    /// Hand out a recorder ring over HTTP, well or badly; started by the simulated device
    #[command(hide = true)]
    DeviceService(Box<super::device_service::DeviceServiceArgs>),
    /// Print the JSON Schema of a record, or list them
    Schema(super::schema::SchemaArgs),
    /// Run the planted-fault corpus through the verifier
    Selftest(SelftestArgs),
    /// Print, check and show settings: files, variables, defaults
    Config(super::config::ConfigArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print or write the manual pages
    Man(ManArgs),
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Parses the name of a format.
pub(super) fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::from_name(&name).ok_or("not a format"))
}

/// What `analyze` and `observe` share: what a run is judged by, and how its summary is written.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Nobody reads what is said of the end of the run.
    #[arg(skip)]
    pub(super) unheard: bool,
    /// Output format of the summary [default: table]
    #[arg(long, value_parser = format_parser())]
    pub(super) format: Option<Format>,
    /// Write the summary here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Verify against the outputs this file declares
    #[arg(long, value_name = "FILE")]
    pub(super) rig: Option<PathBuf>,
    /// Layout of a house protocol: a TOML file, or the name of one of `wireproof layouts list`; may be given several
    /// times. Its datagrams are read by it
    #[arg(long, value_name = "LAYOUT")]
    pub(super) layout: Vec<PathBuf>,
    /// Raise warnings to violations
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = clap::builder::BoolishValueParser::new())]
    pub(super) strict: Option<bool>,
    /// Report and judge only streams that fit, such as 'protocol == sacn && universe in 1..12'
    #[arg(id = "where", long = "where", value_name = "EXPR")]
    pub(super) filter: Option<String>,
    /// Exit with 0 whatever the verdict; errors keep their codes
    #[arg(long)]
    pub(super) exit_zero: bool,
    /// Replace addresses, CIDs and names by placeholders in the summary; captures and tapes cannot be masked
    #[arg(long)]
    pub(super) anonymize: bool,
    /// Colour of the table [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub(super) color: Option<Color>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof analyze show.pcapng.gz
  wireproof analyze show.pcapng --format html -o report.html
  tcpdump -i eth1 -c 5000 -w - udp | wireproof analyze - --rig rig.toml --format json -o show.json

Several files are one run in the given order. WIREPROOF_FORMAT, WIREPROOF_RIG and others stand in for options; below them
./wireproof.toml, then the user's config.toml (see wireproof config).")]
pub(super) struct AnalyzeArgs {
    /// Captures or tapes: pcap, pcapng or tape, plain or packed with gzip or zstd; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Also write a tape: a record of 64 octets for each datagram, from which all this can be told again
    #[arg(long, value_name = "FILE", conflicts_with = "anonymize")]
    pub(super) tape: Option<PathBuf>,
    /// Ask the device's own record who lost what: a recorder ring of the time; may be given several times
    #[arg(long, value_name = "RING")]
    pub(super) ring: Vec<PathBuf>,
    /// Most that the device's wall clock and the one of the capture are apart
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = quantity::time)]
    pub(super) ring_clock: Duration,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof observe --duration 60s
  wireproof observe --web 9090
  sudo wireproof observe -i eth1 --rig rig.toml -w show.pcapng --rotate 1GiB

Without -i it receives on UDP sockets, by default on the protocol ports of every address of this host. Nothing is
transmitted and no multicast group is joined unless --join asks for it. Ctrl-C ends the run and judges it. The
receive loop's own loss makes the run INVALID (exit code 4), never a FAIL of the device.")]
pub(super) struct ObserveArgs {
    /// Receive on UDP sockets [default: the protocol ports of all addresses]
    #[arg(long, value_name = "ADDR:PORT", num_args = 0.., conflicts_with = "interface")]
    pub(super) udp: Option<Vec<SocketAddr>>,
    /// Listen on this interface (packet ring; takes CAP_NET_RAW); may be given several times
    #[arg(short = 'i', long, value_name = "IF")]
    pub(super) interface: Vec<String>,
    /// UDP ports that pass the interface filter [default: the protocol ports]; 0 lets everything pass
    #[arg(long, value_name = "PORTS", value_delimiter = ',', requires = "interface")]
    pub(super) ports: Vec<u16>,
    /// Listen through libpcap, with a filter in its language
    #[cfg(feature = "libpcap")]
    #[arg(long, value_name = "FILTER", num_args = 0..=1, default_missing_value = "udp", requires = "interface")]
    pub(super) pcap: Option<String>,
    /// Watch this interface beside the sockets (takes CAP_NET_RAW): tells what was lost between it and the sockets
    #[arg(long, value_name = "IF", conflicts_with = "interface")]
    pub(super) tap: Option<String>,
    /// Hear only what is addressed to this host
    #[arg(long, requires = "interface")]
    pub(super) no_promiscuous: bool,
    /// Join the multicast groups of these sACN universes, such as 1-12,40
    #[arg(long, value_name = "UNIVERSES")]
    pub(super) join: Option<Universes>,
    /// Join on this interface
    #[arg(long, value_name = "IF")]
    pub(super) join_on: Option<String>,
    /// End after this long, such as 90s or 10min
    #[arg(long, value_name = "TIME", value_parser = super::quantity::time)]
    pub(super) duration: Option<Duration>,
    /// Receive buffer of each socket in octets as the kernel charges them (212992 is an untouched Linux), or of the
    /// packet ring
    #[arg(long, value_name = "BYTES", value_parser = super::quantity::bytes)]
    pub(super) rcvbuf: Option<u64>,
    /// Datagrams a second to expect; sizes the receive buffers
    #[arg(long, value_name = "N")]
    pub(super) rate: Option<u32>,
    /// Download from here in the background, such as a controller's flight recorder
    #[arg(long, value_name = "URL")]
    pub(super) drain: Option<String>,
    /// Time from one download to the next
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = super::quantity::time)]
    pub(super) drain_every: Duration,
    /// Folder for the downloads
    #[arg(long, value_name = "DIR", default_value = "drains")]
    pub(super) drain_dir: PathBuf,
    /// Write a pcapng file, findings as comments, drop evidence included; - is standard output, and takes -o FILE for the
    /// summary
    #[arg(short = 'w', long, value_name = "FILE", conflicts_with = "anonymize",
          value_parser = PathBufValueParser::new().map(quantity::target))]
    pub(super) write: Option<PathBuf>,
    /// Begin another file after this size or time, such as 1GiB or 10min
    #[arg(long, value_name = "LIMIT", value_parser = super::quantity::rotation)]
    pub(super) rotate: Option<Rotation>,
    /// Keep this many rotated files; the oldest go [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(super) keep: usize,
    /// Write a tape: a record of 64 octets for each datagram; `analyze` tells the same from it as from the packets
    #[arg(long, value_name = "FILE", conflicts_with = "anonymize")]
    pub(super) tape: Option<PathBuf>,
    /// Prove first, on a socket pair of its own, that a stall of this tool is reported as its own loss
    #[arg(long)]
    pub(super) self_check: bool,
    /// Receive as on a system that counts no drops of sockets, to see what a run is worth there
    #[arg(long, hide = true, conflicts_with = "interface")]
    pub(super) portable: bool,
    /// End at the first violation
    #[arg(long)]
    pub(super) fail_fast: bool,
    /// Keep the receive thread on this CPU
    #[arg(long, value_name = "N")]
    pub(super) cpu: Option<usize>,
    /// Run the receive thread under SCHED_FIFO
    #[arg(long, value_name = "PRIORITY", num_args = 0..=1, default_missing_value = "20",
          value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(super) realtime: Option<u8>,
    /// Go on as this user (a name, or UID:GID) once the sources are open; root keeps all rights [default: who called
    /// sudo]
    #[arg(short = 'Z', long, value_name = "USER")]
    pub(super) user: Option<String>,
    #[command(flatten)]
    pub(super) soak: SoakArgs,
    #[command(flatten)]
    pub(super) serve: ServeArgs,
    #[command(flatten)]
    pub(super) alert: super::alerts::AlertArgs,
    /// Say nothing while the run goes on
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Show the run full-screen: streams, frame intervals, events, and the observer's own health; ? lists the keys
    #[arg(long, conflicts_with = "quiet")]
    pub(super) tui: bool,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

/// A run that goes on until it has shown that failures are rare.
#[derive(Debug, Args)]
pub(super) struct SoakArgs {
    /// Observe windows until failures were shown to be rarer than this share of frames, such as 1e-5, with 95 %; the first
    /// failure ends it
    #[arg(long, value_name = "RATE")]
    pub(super) until_bound: Option<String>,
    /// Length of a window: what it found is safe on the disk when it ends
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::quantity::time, requires = "until_bound")]
    pub(super) window: Duration,
    /// Folder of the soak; the same command goes on with what is there
    #[arg(long, value_name = "DIR", default_value = "wireproof-soak", requires = "until_bound")]
    pub(super) soak: PathBuf,
    /// Most that kept windows may take together
    #[arg(long, value_name = "BYTES", default_value = "2GiB", value_parser = super::quantity::bytes, requires = "until_bound")]
    pub(super) soak_disk: u64,
}

/// The run, shown to others while it goes on.
#[derive(Debug, Default, Args)]
pub(super) struct ServeArgs {
    /// Serve a live page, /api/summary and /metrics here; a port alone is that of 127.0.0.1
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = super::serve::address)]
    pub(super) web: Option<SocketAddr>,
    /// Let in only who knows the token in this file, of mode 0600; an address other hosts can reach needs one
    #[arg(long, value_name = "FILE")]
    pub(super) web_token: Option<PathBuf>,
    /// Serve Prometheus metrics alone here, at /metrics
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = super::serve::address)]
    pub(super) prom: Option<SocketAddr>,
    /// Write Prometheus metrics to this file every 5 s, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub(super) prom_textfile: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof learn rehearsal.pcapng -o rig.toml
  wireproof learn rehearsal.pcapng.zst --where 'source == 10.0.0.*' | less")]
pub(super) struct LearnArgs {
    /// Learn only from streams that fit, such as 'protocol == sacn'
    #[arg(id = "where", long = "where", value_name = "EXPR")]
    pub(super) filter: Option<String>,
    /// Captures, one run in the given order; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Layout of a house protocol: a TOML file, or the name of one of `wireproof layouts list`; may be given several
    /// times. Its datagrams are read by it
    #[arg(long, value_name = "LAYOUT")]
    pub(super) layout: Vec<PathBuf>,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof explain SEQ-LOST
  wireproof explain SACN-
  wireproof explain --thresholds")]
pub(super) struct ExplainArgs {
    /// A code, or the beginning of several; all codes without it
    #[arg(value_name = "CODE")]
    pub(super) code: Option<String>,
    /// List every limit that is judged by, with its value, where it comes from and the file that holds it
    #[arg(long, conflicts_with = "code")]
    pub(super) thresholds: bool,
    /// Output format
    #[arg(long, value_parser = ["table", "markdown"], default_value = "table")]
    pub(super) format: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof slice show.pcapng --finding f0007 --around 30f -o f0007.pcapng
  wireproof slice show.pcapng --finding f0001 --around 2s --rig rig.toml -o f0001.pcapng
  wireproof slice show.pcapng --where 'source == 10.0.0.5 && universe in 1..4' -o desk.pcapng

Give --rig, --layout and --strict as in the run that gave the finding its id; a filter (--where) there changed no id. The
piece is checked: it is made longer than --around while analyze does not find the finding again in it. With --where it is
every record of the streams that fit, and of IP fragments all, because only the last of a datagram tells whose they are.")]
pub(super) struct SliceArgs {
    /// The capture; it is read several times, so that standard input will not do
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// The finding's id, such as f0007
    #[arg(long, value_name = "ID", required_unless_present = "where")]
    pub(super) finding: Option<String>,
    /// Cut whole streams instead, those that fit, such as 'protocol == sacn && universe in 1..12'
    #[arg(id = "where", long = "where", value_name = "EXPR", conflicts_with_all = ["finding", "around", "all"])]
    pub(super) filter: Option<String>,
    /// What to keep at least around the first occurrence: frames (30f) or time (500ms, 2s)
    #[arg(long, value_name = "SPAN", default_value = "30f")]
    pub(super) around: Around,
    /// Keep everything from the first to the last occurrence
    #[arg(long)]
    pub(super) all: bool,
    /// The pcapng file to write
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Verify against the outputs this file declares
    #[arg(long, value_name = "FILE")]
    pub(super) rig: Option<PathBuf>,
    /// Layout of a house protocol: a TOML file, or the name of one of `wireproof layouts list`; may be given several
    /// times. Its datagrams are read by it
    #[arg(long, value_name = "LAYOUT")]
    pub(super) layout: Vec<PathBuf>,
    /// Raise warnings to violations
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof doctor
  wireproof doctor -i eth1 --format json

Exit code 0, or 6 when a check says FAIL. Opens no socket and transmits nothing.")]
pub(super) struct DoctorArgs {
    /// Judge for capturing on this interface
    #[arg(short, long, value_name = "IF")]
    pub(super) interface: Option<String>,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub(super) format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// A self-test other than the planted faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SelftestOf {
    /// Stop the receive loop on purpose: its loss has to be reported as its own, to the datagram
    Stall,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof selftest stall
  wireproof selftest --filter ddp --seed 42 --seeds 1000")]
pub(super) struct SelftestArgs {
    /// What to test; without it the planted faults
    #[arg(value_enum, conflicts_with_all = ["filter", "seeds", "write"])]
    pub(super) what: Option<SelftestOf>,
    /// Only cases whose name holds this
    #[arg(long, value_name = "NAME")]
    pub(super) filter: Option<String>,
    /// Seed of the cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Run every case with this many seeds, from --seed on
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: u64,
    /// Also write every case as DIR/NAME.pcap, with NAME.truth.txt and NAME.rig.toml where it has a rig
    #[arg(long, value_name = "DIR", conflicts_with = "seeds")]
    pub(super) write: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof completions bash > /etc/bash_completion.d/wireproof
  wireproof completions fish > ~/.config/fish/completions/wireproof.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof man | man -l -
  wireproof man --out /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// Write one page a verb into this folder instead of standard output
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}
