//! `wireproof replay`: the datagrams of a capture on the wire again, at the times they were captured at.

use super::failure::{self, Failure};
use super::{layouts, output, transmit};
use crate::live::interfaces;
use crate::send::clock::Monotonic;
use crate::send::replay::{Mapping, Replayed, Rule, Sockets, Target, Timeline, WAITING, Which, read, replay};
use crate::send::socket::Sent;
use clap::Args;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use wireproof_reports::text::{clean, milliseconds};

/// Version of the JSON output.
const SCHEMA: &str = "wireproof.replay/1";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof replay show.pcapng
  wireproof replay show.pcapng.zst --to 10.0.0.5 --speed 2 --loop 10

Datagrams leave at their captured distances, measured from the first one on an absolute clock. Without --to, --map or
--multicast everything goes to 127.0.0.1 with its port kept: nothing reaches a network unless a target is named.
Payloads are untouched, sequence numbers and CIDs included; fragments are put together and sent as one datagram. The
source address cannot be kept: each sender of the file gets a socket of its own, on the way to loopback an address
of its own, too. A delay of this host above 20 ms moves what follows; nothing is made up for in a burst.

Exit code 0; 5 when Ctrl-C cut it short; 6 when the file is damaged or datagrams could not be sent.")]
pub(super) struct ReplayArgs {
    /// The capture: pcap or pcapng, plain or packed with gzip or zstd; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Send everything here that no --map names; the port is kept unless one is given
    #[arg(long, value_name = "ADDR[:PORT]")]
    to: Option<Target>,
    /// Send what goes to OLD in the file to NEW, such as 10.0.0.5=192.168.1.5; without --to nothing else is sent
    #[arg(long, value_name = "OLD=NEW")]
    map: Vec<Rule>,
    /// Keep the multicast groups of the file
    #[arg(long)]
    multicast: bool,
    /// Send over this interface
    #[arg(long, value_name = "IF")]
    interface: Option<String>,
    /// Time to live of the datagrams [default: 64, for multicast 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    ttl: Option<u8>,
    /// Times the original speed, such as 0.5 or 10; 0 sends as fast as possible
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    speed: u64,
    /// Go through the file this many times; 0 until Ctrl-C
    #[arg(long = "loop", value_name = "N", default_value_t = 1)]
    rounds: u64,
    /// Shorten gaps in the file to this long
    #[arg(long, value_name = "TIME", value_parser = super::quantity::time)]
    max_gap: Option<Duration>,
    /// Also replay the house protocol of this layout: a TOML file, or the name of one of `wireproof layouts list`; may be
    /// given several times
    #[arg(long, value_name = "LAYOUT", conflicts_with = "all")]
    layout: Vec<PathBuf>,
    /// Every UDP datagram, not only those of lighting protocols
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    format: String,
    /// Write the account here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A speed in thousandths.
fn speed(text: &str) -> Result<u64, String> {
    let refused = || format!("{text} is no speed: write 0.001 to 1000, or 0 for as fast as possible");
    let factor = text.parse::<f64>().map_err(|_| refused())?;
    let in_range = factor == 0.0 || (0.001..=1000.0).contains(&factor);
    if in_range { Ok((factor * 1000.0).round() as u64) } else { Err(refused()) }
}

/// The JSON output; keys in alphabetical order.
#[derive(Debug, Serialize)]
struct Document<'a> {
    clock_steps: u64,
    complete: bool,
    datagrams: u64,
    late_ns: transmit::Late,
    left_out: LeftOut,
    moved: u64,
    moved_ns: u64,
    octets: u64,
    rounds: u64,
    schema: &'static str,
    send_errors: u64,
    sockets: usize,
    source: &'a str,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    cut: u64,
    other_protocols: u64,
    unmapped: u64,
}

/// Runs the verb.
pub(super) fn run(args: &ReplayArgs) -> Result<u8, Failure> {
    check(args)?;
    let way = transmit::way(args.interface.as_deref(), args.ttl)?;
    let mapping = Mapping { rules: args.map.clone(), to: args.to, multicast: args.multicast };
    let most_gap = args.max_gap.map(|gap| u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX));
    let mut timeline = Timeline::new(args.speed, most_gap);
    let mut sockets = Sockets::new(way);
    let interrupted = transmit::interrupts()?;
    let stop = || interrupted.load(Ordering::Relaxed);
    let (to, parts) = crossbeam_channel::bounded(WAITING);
    let (path, rounds) = (args.file.clone(), args.rounds);
    let layouts = layouts::load(&args.layout)?;
    let which = if args.all { Which::All } else { Which::Lighting(layouts) };
    let reader = thread::spawn(move || read(&path, which, rounds, &to));
    let mut clock = Monotonic::for_this_thread();
    let done = replay(&parts, &mapping, &mut timeline, &mut clock, &mut sockets, &stop);
    if !done.cut_short {
        // It ended by itself, as the channel was closed; a reader of an endless pipe is left where it waits.
        reader.join().map_err(|_| Failure::io("the capture cannot be read", "please report it"))??;
    }
    let sent = sockets.sent();
    let source = args.file.display().to_string();
    let account = Account { source, done: &done, sent: &sent, sockets: sockets.count() };
    output::write(args.output.as_deref(), |out| account.write(&args.format, out))?;
    end(args, &done, &sent)
}

fn check(args: &ReplayArgs) -> Result<(), Failure> {
    output::check(std::slice::from_ref(&args.file), args.output.as_deref())?;
    if args.rounds != 1 && args.file.as_os_str() == "-" {
        return Err(Failure::usage("--loop cannot read standard input again", "write it to a file first"));
    }
    if let Some(name) = &args.interface {
        interfaces::find(name).map_err(|e| Failure::io_line(&e))?;
    }
    Ok(())
}

/// Everything a replay has to tell.
struct Account<'a> {
    source: String,
    done: &'a Replayed,
    sent: &'a Sent,
    sockets: usize,
}

impl Account<'_> {
    fn write(&self, format: &str, out: &mut dyn Write) -> Result<(), Failure> {
        if format != "json" {
            return self.table(out);
        }
        let text = serde_json::to_string_pretty(&self.document()).map_err(std::io::Error::from)?;
        Ok(writeln!(out, "{text}")?)
    }

    fn document(&self) -> Document<'_> {
        let (done, sent) = (self.done, self.sent);
        Document {
            clock_steps: done.clock_steps,
            complete: !done.cut_short && done.failed.is_none(),
            datagrams: sent.datagrams,
            late_ns: done.lateness.into(),
            left_out: LeftOut { cut: done.cut, other_protocols: done.other, unmapped: done.unmapped },
            moved: done.moved,
            moved_ns: done.moved_ns,
            octets: sent.octets,
            rounds: done.rounds,
            schema: SCHEMA,
            send_errors: sent.failed,
            sockets: self.sockets,
            source: &self.source,
        }
    }

    fn table(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let (done, sent, sockets) = (self.done, self.sent, self.sockets);
        writeln!(out, "replayed      {}", clean(&self.source))?;
        let plural = if sockets == 1 { "" } else { "s" };
        let (datagrams, octets) = (sent.datagrams, sent.octets);
        writeln!(out, "sent          {datagrams} datagrams, {octets} octets, from {sockets} socket{plural}")?;
        if done.rounds > 1 {
            writeln!(out, "rounds        {}", done.rounds)?;
        }
        self.left_out(out)?;
        writeln!(out, "pacing error  {}", transmit::lateness(done.lateness))?;
        if done.moved > 0 {
            let (times, ms) = (done.moved, milliseconds(done.moved_ns));
            writeln!(out, "held up       {times} times, {ms} ms in all: what followed was moved")?;
        }
        if done.clock_steps > 0 {
            writeln!(out, "clock steps   {} in the file", done.clock_steps)?;
        }
        transmit::errors(sent, out)
    }

    fn left_out(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let reasons = [
            (self.done.other, "of other protocols (--all, --layout)"),
            (self.done.cut, "cut by the capture"),
            (self.done.unmapped, "not named by --map"),
        ];
        for (count, why) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "left out      {count} {why}")?;
        }
        Ok(())
    }
}

/// The exit code, and what the user has to know.
fn end(args: &ReplayArgs, done: &Replayed, sent: &Sent) -> Result<u8, Failure> {
    if let Some(damage) = &done.failed {
        let what = format!("{} is damaged, everything before it was replayed", args.file.display());
        return Err(Failure::io(&what, damage));
    }
    if done.cut_short {
        return Ok(if args.rounds == 0 { 0 } else { transmit::CUT_SHORT });
    }
    if sent.failed > 0 {
        return Ok(failure::IO);
    }
    if done.datagrams == 0 {
        let name = args.file.display();
        let (what, todo) = match (done.unmapped, done.cut, done.other) {
            (1.., _, _) => {
                ("holds no datagram for an address that --map names", "add --to, or another --map")
            }
            (_, 1.., _) => ("holds no whole datagram", "capture without a snap length (tcpdump -s 0)"),
            (_, _, 1..) => (
                "holds no datagram of a lighting protocol",
                "--layout FILE knows another one, --all replays everything",
            ),
            _ => ("holds no UDP datagram", "name another capture"),
        };
        return Err(Failure::io(&format!("{name} {what}"), todo));
    }
    Ok(0)
}
