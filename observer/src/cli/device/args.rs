//! What can be typed after `wireproof device`.

use crate::send::pace::Rate;
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use wireproof_fixture::device::Planned;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof device --duration 60s
  wireproof device --ring /dev/shm/pole.ring --control /tmp/pole.ctl --fault drop:rate=0.01 --fault reboot:frame=600 --truth truth.jsonl
  wireproof device --http 127.0.0.1:8080 --token-file token --build ad2d91a --raw-time 200ms --fault disturb:us=600,while=drain

A lighting controller as a process of its own: source, effects, audio, then background, geometry, brightness,
wire_prepare, wire_encode and wire_send of each output, at absolute deadlines; a late frame skips whole periods and is
never made up for in a burst. Without --rig there are three outputs: BigPacket (6 datagrams a frame), sACN (12) and
DDP (6), to 127.0.0.1 unless --to or the file names a target.

A fault is NAME or NAME:KEY=VALUE,...: frame=120, frame=120-180, every=60 or rate=0.001 say when, while=drain, profiler
or preview beside what; output, datagram, outputs, count, ms and us say to what and how much. Names: drop, burst, unsent,
duplicate, reorder, late, truncate, torn, payload, missing-push, second-source, stall, clock-step, reboot, generation,
lying-toggle, disturb, capacity, unserved, unrelated, skip, throttled, build-change; and for the HTTP service
slow-endpoint, truncated-download, corrupt-download, generation-in-download, refused-download. docs/device.md explains them, the ring, the switches and the web service.

Exit code 0, also after Ctrl-C without a fixed length; 2 for what cannot be meant: nothing was sent then; 5 when a
fixed length was cut short; 6 when the ring, a socket or a file cannot be used, or datagrams could not be sent.")]
pub(in crate::cli) struct DeviceArgs {
    /// End after this long, such as 90s or 10min [default: Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = crate::cli::quantity::time, conflicts_with = "frames")]
    pub(super) duration: Option<Duration>,
    /// End after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) frames: Option<u64>,
    /// Frames a second
    #[arg(long, value_name = "HZ", default_value = "60", value_parser = crate::cli::send::rate)]
    pub(super) rate: Rate,
    /// Where outputs go that name no target themselves
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    pub(super) to: IpAddr,
    /// Outputs and faults as TOML
    #[arg(long, value_name = "FILE")]
    pub(super) rig: Option<PathBuf>,
    /// The recorder's file, in memory [default: one below /dev/shm that is gone at the end]
    #[arg(long, value_name = "FILE", conflicts_with = "no_recorder")]
    pub(super) ring: Option<PathBuf>,
    /// Records of the ring, a power of two
    #[arg(long, value_name = "N", default_value_t = wireproof_recorder::layout::DEFAULT_CAPACITY)]
    pub(super) records: u64,
    /// Let the ring lie on a disk, where writeback holds the engine up
    #[arg(long)]
    pub(super) ring_on_disk: bool,
    /// No recorder at all
    #[arg(long)]
    pub(super) no_recorder: bool,
    /// Start with the recorder switched off
    #[arg(long)]
    pub(super) profiler_off: bool,
    /// Previews a second at the start
    #[arg(long, value_name = "FPS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(super) preview: u32,
    /// What the device says it is when asked, as a plan's `require` reads it
    #[arg(long, value_name = "TEXT", default_value = concat!("simulated-", env!("CARGO_PKG_VERSION")), value_parser = build)]
    pub(super) build: String,
    /// Listen for control messages on this Unix datagram socket
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: Option<PathBuf>,
    /// Hand out the ring over HTTP at this address, from a process of its own; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "no_recorder")]
    pub(super) http: Option<SocketAddr>,
    /// Let a raw download of the ring take so long at least: the field's device takes 150 to 270 ms
    #[arg(long, value_name = "TIME", value_parser = crate::cli::quantity::time, requires = "http")]
    pub(super) raw_time: Option<Duration>,
    /// Let the web service speak another controller's words: field (a ring of layout 1), wled (no recorder, no token)
    #[arg(long, value_name = "DIALECT", value_parser = ["wireproof", "field", "wled"], requires = "http")]
    pub(super) http_dialect: Option<String>,
    /// Run the web service at the ordinary priority: at the lowest it waits for as long as others keep the processors busy
    #[arg(long, requires = "http")]
    pub(super) http_normal_priority: bool,
    /// Token that switches over HTTP need: one line in a file with mode 0600; without it there are no switches
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(super) token_file: Option<PathBuf>,
    /// Work of the stages: 1 is 0.6 ms of processor time a frame, 8 about the field's 5 ms
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = load)]
    pub(super) load: u64,
    /// Seed of picture, durations and faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Do something wrong on purpose; may be given several times
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]")]
    pub(super) fault: Vec<Planned>,
    /// Write each thing done on purpose as a JSON line, as it is done
    #[arg(long, value_name = "FILE")]
    pub(super) truth: Option<PathBuf>,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub(super) format: String,
    /// Write the account here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Wait for a line on standard input before the first frame, and end when it closes, as it does when the process
    /// that started this one ends
    #[arg(long, hide = true)]
    pub(super) with_parent: bool,
    /// Say nothing before the account
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// What a device may say it is.
fn build(text: &str) -> Result<String, String> {
    let fit = !text.is_empty() && text.len() <= 64 && !text.contains(char::is_control);
    if fit {
        Ok(text.to_owned())
    } else {
        Err("a build has 1 to 64 octets, none of them a control".to_owned())
    }
}

/// A factor in thousandths.
fn load(text: &str) -> Result<u64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| (0.0..=1_000.0).contains(factor));
    factor.map(|factor| (factor * 1_000.0) as u64).ok_or_else(|| format!("load {text} is not 0..1000"))
}
