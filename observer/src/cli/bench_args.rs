//! What can be typed behind `wireproof bench`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use std::str::FromStr;
use wireproof_encoders::ENCODERS;
use wireproof_protocols::Protocol;
use wireproof_reports::{Bench, Format};

/// Largest frame, octets: a little more than 63,999 universes of 512 slots.
const FRAME_MAX: i64 = 32 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof bench
  wireproof bench --encoders sacn,artnet --packing 512 --blocks 1000 --seed 7 --format json -o bench.json
  wireproof bench --recorder
  wireproof bench --format html -o bench.html

Every encoder gets the same seeded frame; nothing is sent. Before and after it is timed, its datagrams are compared
with golden octets made another way; one that differs is not timed, and the exit code is 1. Times are CPU time of the
thread. Ratios are medians over the blocks, each block its own pair. Build with --release, or the times mean nothing.

--recorder times frames of 27 records with the flight recorder's writer on and off, alternating, and reads the ring back:
if it does not hold what was written, the exit code is 1. Shares of a core are extrapolations.")]
pub(super) struct BenchArgs {
    /// Time the flight recorder's writer, on and off, instead of the encoders
    #[arg(long, conflicts_with_all = ["encoders", "packing", "backend", "peers", "layout"])]
    pub(super) recorder: bool,
    /// Octets of the frame; 8640 are 2880 RGB pixels
    #[arg(long, value_name = "N", default_value_t = 8640,
          value_parser = clap::value_parser!(u32).range(1..=FRAME_MAX))]
    pub(super) frame_bytes: u32,
    /// Frame octets in a datagram, for all encoders (512) or for one (sacn=512)
    /// [default: 510 for sacn and artnet, 1440 for ddp and bigpacket]
    #[arg(long, value_name = "N|NAME=N", value_delimiter = ',')]
    pub(super) packing: Vec<Packing>,
    /// The encoders, in the order of the rows [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = protocol_parser())]
    pub(super) encoders: Vec<Protocol>,
    /// Also time the encoder of a layout, after the others: a TOML file, or the name of one of `wireproof layouts list`;
    /// may be given several times. --packing without a name is for it, too
    #[arg(long, value_name = "LAYOUT")]
    pub(super) layout: Vec<PathBuf>,
    /// How datagrams are held: in one piece, or as header and borrowed pixels
    #[arg(long, value_parser = ["contiguous", "gather", "all"], default_value = "all")]
    pub(super) backend: String,
    /// Blocks that count; each times everything once, in random order
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(6..=100_000))]
    pub(super) blocks: u32,
    /// Seed of the frame and of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Stay on this CPU
    #[arg(long, value_name = "N")]
    pub(super) cpu: Option<usize>,
    /// Time the crates sacn, ddp-rs and artnet_protocol, too (takes a build with --features peers)
    #[arg(long)]
    pub(super) peers: bool,
    /// Output format
    #[arg(long, value_parser = format_parser(), default_value = "table")]
    pub(super) format: Format,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Frame octets in a datagram, of one encoder or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    /// The encoder; `None` for all.
    pub(super) protocol: Option<Protocol>,
    /// Octets.
    pub(super) octets: u16,
}

impl FromStr for Packing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').map_or((None, text), |(name, number)| (Some(name), number));
        let protocol = name.map(|name| named(name).ok_or_else(|| format!("no encoder is called {name:?}")));
        let octets = number.parse::<u16>().ok().filter(|octets| *octets > 0);
        let octets = octets.ok_or("give a number of octets from 1 to 65535, or NAME=N")?;
        Ok(Packing { protocol: protocol.transpose()?, octets })
    }
}

/// Every protocol that is encoded.
pub(super) fn protocols() -> impl Iterator<Item = Protocol> {
    ENCODERS.iter().map(|entry| entry.protocol)
}

fn named(name: &str) -> Option<Protocol> {
    protocols().find(|protocol| protocol.name() == name)
}

fn protocol_parser() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(protocols().map(Protocol::name))
        .try_map(|name| named(&name).ok_or("not an encoder"))
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Bench::FORMATS.map(Format::name))
        .try_map(|name| Format::from_name(&name).ok_or("not a format"))
}
