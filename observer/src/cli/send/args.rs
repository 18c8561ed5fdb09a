//! What can be typed after `wireproof send`.

use crate::send::faults::Odds;
use crate::send::pace::Rate;
use crate::send::pattern::Pattern;
use crate::send::replay::Target;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use wireproof_protocols::{Cid, Protocol};

/// A protocol that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Sent {
    /// ANSI E1.31
    Sacn,
    /// 3waylabs DDP
    Ddp,
    /// Art-Net 4
    Artnet,
    /// BigPacket, default layout
    Bigpacket,
}

impl From<Sent> for Protocol {
    fn from(sent: Sent) -> Protocol {
        match sent {
            Sent::Sacn => Protocol::Sacn,
            Sent::Ddp => Protocol::Ddp,
            Sent::Artnet => Protocol::ArtNet,
            Sent::Bigpacket => Protocol::BigPacket,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof send --protocol ddp --to 10.0.0.5 --pixels 480 --duration 10s
  wireproof send --protocol sacn --multicast --interface eth1 --universes 1-17 --frames 1000 --fault drop=0.001
  wireproof send --layout my-protocol.toml --to 10.0.0.5 --pixels 480 --frames 1000

Without --to or --multicast everything goes to 127.0.0.1: nothing reaches a network unless a target is named. Frames
leave at absolute deadlines; a sender that is late by a period or more skips whole periods and counts them, and never
makes up for them in a burst. What leaves is PASS in `observe` and `analyze`: at 40 Hz by default where DMX lines may
follow (sACN, Art-Net), at 60 Hz elsewhere. A DMX line carries 510 slots 44 times a second, or 375 slots 60 times:
more is sent when asked for, and TIME-RATE may warn of it. sACN ends every stream with three goodbyes, also after
Ctrl-C, which `analyze` notes as STREAM-ENDED (info), and announces its universes when it multicasts. Art-Net
leaves from port 6454 as prescribed, except towards this host. A layout without chunks counts its streams as universes
are counted, and is sent at 40 Hz, too; its frames have the octets that it declares.

Towards one host other than this the kernel cuts datagrams out of larger messages (GSO), at a third of the CPU time.
Captures on this host and on virtual interfaces, also at the other end, may see such messages uncut, which decoders
take for malformed datagrams: --no-gso prevents that.

The CID is derived from this host and --name, and printed: two senders at a time on one host need different names.

Exit code 0; 2 for a value out of range: nothing was sent then; 5 when Ctrl-C cut a fixed length short; 6 when
datagrams could not be sent.")]
pub(in crate::cli) struct SendArgs {
    /// What to speak
    #[arg(long, value_name = "PROTOCOL", required_unless_present = "layout")]
    pub(super) protocol: Option<Sent>,
    /// Speak the house protocol of this layout: a TOML file, or the name of one of `wireproof layouts list`
    #[arg(long, value_name = "LAYOUT", conflicts_with = "protocol")]
    pub(super) layout: Option<PathBuf>,
    /// Where to [default: 127.0.0.1 and the protocol's port]
    #[arg(long, value_name = "ADDR[:PORT]", conflicts_with = "multicast")]
    pub(super) to: Option<Target>,
    /// Send every universe to its multicast group (sACN), and announce the universes
    #[arg(long)]
    pub(super) multicast: bool,
    /// Send over this interface, from its address
    #[arg(long, value_name = "IF")]
    pub(super) interface: Option<String>,
    /// Time to live of the datagrams [default: 64, for multicast 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) ttl: Option<u8>,
    /// Consecutive universes (sACN), Port-Addresses (Art-Net) or streams of a layout without chunks, such as 1-17
    #[arg(long, value_name = "FIRST-LAST", value_parser = span, conflicts_with = "first_universe")]
    pub(super) universes: Option<(u64, u64)>,
    /// The first universe, Port-Address or stream; the frame decides how many there are
    #[arg(long, value_name = "N")]
    pub(super) first_universe: Option<u64>,
    /// Slots of the frame in each universe or Port-Address [default: 510]
    #[arg(long, value_name = "N")]
    pub(super) slots: Option<u64>,
    /// Octets of the frame in each datagram of DDP, BigPacket and layouts [default: 1440, of a layout what it has room for]
    #[arg(long, value_name = "N")]
    pub(super) chunk: Option<u64>,
    /// Octets of a frame [default: --universes times --slots, or 8640]
    #[arg(long, value_name = "N", conflicts_with = "pixels")]
    pub(super) frame_bytes: Option<u64>,
    /// Pixels of a frame, of three octets each
    #[arg(long, value_name = "N")]
    pub(super) pixels: Option<u64>,
    /// Frames a second, such as 60 or 44.1 [default: 40 where universes are sent, 60 elsewhere]
    #[arg(long, value_name = "HZ", value_parser = rate)]
    pub(super) rate: Option<Rate>,
    /// End after this long, such as 90s or 10min [default: Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = crate::cli::quantity::time, conflicts_with = "frames")]
    pub(super) duration: Option<Duration>,
    /// End after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) frames: Option<u64>,
    /// What frames show: ramp (a slow gradient), noise (seeded; flickers), chase, solid, solid:LEVEL
    #[arg(long, value_name = "PATTERN", default_value = "ramp")]
    pub(super) pattern: Pattern,
    /// Raw frames to show, over and over
    #[arg(long, value_name = "FRAMES.bin", conflicts_with = "pattern")]
    pub(super) file: Option<PathBuf>,
    /// Priority of sACN, 0..200 [default: 100]
    #[arg(long, value_name = "N")]
    pub(super) priority: Option<u64>,
    /// Source name of sACN, at most 63 octets, or of a layout [default: wireproof]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Component identifier of sACN, or sender of a layout [default: derived from this host and --name]
    #[arg(long, value_name = "UUID", value_parser = cid)]
    pub(super) cid: Option<Cid>,
    /// Synchronize sACN on this universe
    #[arg(long, value_name = "UNIVERSE")]
    pub(super) sync: Option<u64>,
    /// Output ID of DDP, device id of BigPacket, or stream of a layout with chunks [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) id: Option<u64>,
    /// Allow datagrams of DDP, BigPacket and layouts that IP sends in fragments
    #[arg(long)]
    pub(super) fragment: bool,
    /// Hand every datagram to the kernel by itself instead of letting it cut larger messages
    #[arg(long)]
    pub(super) no_gso: bool,
    /// Keep the sending thread on this CPU
    #[arg(long, value_name = "N")]
    pub(super) cpu: Option<usize>,
    /// Send under SCHED_FIFO: a busy host delays frames less
    #[arg(long, value_name = "PRIORITY", num_args = 0..=1, default_missing_value = "20",
          value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(super) realtime: Option<u8>,
    /// Seed of noise and faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Do this to a fraction of the datagrams: drop, duplicate, reorder, truncate; of the frames: stall
    #[arg(long, value_name = "KIND=FRACTION,…")]
    pub(super) fault: Option<Odds>,
    /// Write what was done on purpose, deed by deed, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) truth: Option<PathBuf>,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub(super) format: String,
    /// Write the account here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Say nothing before the account
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// `1-17`, or a single number.
fn span(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err(format!("{text} is no row of universes: write 1-17, or 5")),
    }
}

/// A rate above zero.
pub(in crate::cli) fn rate(text: &str) -> Result<Rate, String> {
    let limits = || format!("rate {text} is not 0.001..10000 Hz");
    let hz = text.parse::<f64>().map_err(|_| limits())?;
    let mhz = if (0.0..=1e6).contains(&hz) { (hz * 1000.0).round() as u64 } else { 0 };
    Rate::from_mhz(mhz).ok_or_else(limits)
}

fn cid(text: &str) -> Result<Cid, String> {
    let parsed = crate::rig_file::parse_cid(text).filter(|cid| *cid != [0; 16]);
    parsed.ok_or_else(|| format!("{text} is no UUID: write 01234567-89ab-4def-8123-456789abcdef"))
}
