//! What handing a frame to the kernel costs the sender: one message that the kernel cuts (GSO), `sendmmsg`, and a
//! `send` for each datagram. Needs root, for two network namespaces with a cable between them, and nothing else.
//!
//! `cargo bench -p wireproof --bench send [-- --blocks N]`
//!
//! CPU time of the sending thread, encoder included, in blocks of frames; the arms of a block are in seeded random
//! order. At the other end of a cable everything is dropped on arrival, by its link address, because a virtual cable
//! charges the work of the other end to the sender. The rows: a cable before which the sender's kernel has to cut (what
//! most network cards are), one that takes messages whole (what a card with UDP segmentation is), and the loopback
//! interface, where a socket that never reads drops what does not fit and the sender pays for that, too. The limit
//! holds for the frame of 17 datagrams before a cable; the others are printed beside it.

mod load;

use load::child::{Role, wait_for_parent};
use load::host::{Usage, facts};
use load::receivers::NEAR;
use load::sys::{stay_on, thread_cpu_ns};
use load::wire::Wire;
use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, ExitCode};
use wireproof::send::identity::derived;
use wireproof::send::pattern::{Pattern, scramble};
use wireproof::send::show::Exit;
use wireproof::send::socket::{Outlet, Segmentation, Way};
use wireproof_encoders::{Backend, Encoder, Setup, build};
use wireproof_protocols::Protocol;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Most CPU time of the unicast path with GSO, as a part of that with `sendmmsg`.
const LIMIT: f64 = 0.35;
/// Octets of a frame: 17 universes of 510 slots, 6 chunks of 1,440.
const FRAME: usize = 8_640;
/// Frames of an arm in a block.
const FRAMES: u64 = 200;
const BLOCKS: usize = 60;
const SEED: u64 = 1;
/// Interface of the sender, and a link address that nobody has.
const SENDER: &str = "wp-tx";
const NOBODY: &str = "02:77:00:00:00:99";
/// CPU of the sender.
const CPU: usize = 0;

/// Ways to send a frame; the first is the measure of the others.
const ARMS: [(&str, Backend, Manner); 5] = [
    ("sendmmsg", Backend::Contiguous, Manner::Batch),
    ("sendmmsg gather", Backend::Gather, Manner::Batch),
    ("GSO", Backend::Contiguous, Manner::Gso),
    ("GSO gather", Backend::Gather, Manner::Gso),
    ("send() each", Backend::Contiguous, Manner::Single),
];
/// Where the arm that is judged stands.
const GSO: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Batch,
    Gso,
    Single,
}

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["sink", address] => sink(address.parse()?)?,
        ["arms", name, address, blocks] => return arms(name, address.parse()?, blocks.parse()?),
        [] => return bench(BLOCKS),
        ["--blocks", blocks] => return bench(blocks.parse()?),
        other => return Err(format!("{} is no option", other.join(" ")).into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn bench(blocks: usize) -> Outcome<ExitCode> {
    for fact in facts() {
        say(format_args!("{fact}"))?;
    }
    let wire = Wire::new()?;
    let near = IpAddr::V4(NEAR);
    // An address that the other end does not have: it drops what arrives before it looks any further.
    ip(&[
        "-n",
        &wire.far,
        "neigh",
        "replace",
        &NEAR.to_string(),
        "lladdr",
        NOBODY,
        "nud",
        "permanent",
        "dev",
        SENDER,
    ])?;
    let mut failed = 0;
    for (name, namespace, address, segments) in [
        ("cable, cut by the sender's kernel", &wire.far, near, "1"),
        ("cable that takes messages whole", &wire.far, near, "65535"),
        ("loopback", &wire.near, Ipv4Addr::LOCALHOST.into(), ""),
    ] {
        if !segments.is_empty() {
            ip(&["-n", namespace, "link", "set", SENDER, "gso_max_segs", segments])?;
        }
        let mut sink = Role::start(&wire.near, "sink", &[address.to_string()])?;
        sink.line()?;
        let usage = Usage::now();
        let exe = std::env::current_exe()?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(exe);
        command.args(["arms", name, &address.to_string(), &blocks.to_string()]);
        let status = command.status()?;
        let others = Usage::now().since(&usage);
        let word = if others.is_over() { " (disturbed)" } else { "" };
        say(format_args!("others {:.0} % of a core, steal {:.2} %{word}", others.foreign, others.steal))?;
        sink.end()?;
        failed += status.code().unwrap_or(1);
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn ip(arguments: &[&str]) -> Outcome<()> {
    let status = Command::new("ip").args(arguments).status()?;
    if status.success() { Ok(()) } else { Err(format!("ip {}: {status}", arguments.join(" ")).into()) }
}

/// A receiver that never reads.
fn sink(address: IpAddr) -> Outcome<()> {
    let sockets = [port(Protocol::Sacn), port(Protocol::Ddp)].map(|port| UdpSocket::bind((address, port)));
    let sockets = sockets.into_iter().collect::<io::Result<Vec<_>>>()?;
    say(format_args!("ready"))?;
    wait_for_parent();
    drop(sockets);
    Ok(())
}

fn port(protocol: Protocol) -> u16 {
    if protocol == Protocol::Sacn { 5568 } else { 4048 }
}

/// One way to send, ready to.
struct Arm {
    encoder: Box<dyn Encoder + Send>,
    outlet: Outlet,
    manner: Manner,
    sent: u64,
    per_frame: usize,
}

impl Arm {
    fn new(protocol: Protocol, backend: Backend, manner: Manner, to: SocketAddr) -> Outcome<Arm> {
        let encoder = build(protocol, backend, &Setup::new(Some(to), derived("bench", "send")))?;
        let way = Way { to: Some(to), no_segmentation: manner != Manner::Gso, ..Way::default() };
        Ok(Arm { encoder, outlet: Outlet::open(&way)?, manner, sent: 0, per_frame: 0 })
    }

    /// CPU time of a block, ns a frame.
    fn block(&mut self, frame: &mut [u8]) -> Outcome<u64> {
        let before = thread_cpu_ns();
        for _ in 0..FRAMES {
            // The content costs the same in every arm; one octet of it is enough to change the frame.
            frame[0] = frame[0].wrapping_add(1);
            let batch = self.encoder.encode(frame)?;
            let count = batch.len();
            match self.manner {
                Manner::Single => (0..count).for_each(|i| self.outlet.batch(&batch, i..i + 1, 0)),
                _ => self.outlet.batch(&batch, 0..count, 0),
            }
            (self.sent, self.per_frame) = (self.sent + count as u64, count);
        }
        Ok((thread_cpu_ns() - before) / FRAMES)
    }

    /// Whether everything left in the way it was to.
    fn is_fair(&self) -> bool {
        let sent = self.outlet.sent();
        let cut = if self.manner == Manner::Gso { sent.datagrams } else { 0 };
        sent.failed == 0 && sent.datagrams == self.sent && sent.segmented == cut
    }
}

fn arms(name: &str, address: IpAddr, blocks: usize) -> Outcome<ExitCode> {
    stay_on(CPU)?;
    say(format_args!(
        "\n{name}: us of CPU a frame (median of {blocks} blocks of {FRAMES} frames), x sendmmsg"
    ))?;
    let mut failed = 0;
    for protocol in [Protocol::Sacn, Protocol::Ddp] {
        let to = SocketAddr::new(address, port(protocol));
        let mut arms = Vec::new();
        for (_, backend, manner) in ARMS {
            arms.push(Arm::new(protocol, backend, manner, to)?);
        }
        let mut frame = vec![0; FRAME];
        Pattern::Noise.fill(SEED, 0, &mut frame);
        let costs = costs(&mut arms, &mut frame, blocks)?;
        let judged = protocol == Protocol::Sacn && !address.is_loopback();
        failed += table(protocol, &arms, &costs, judged)?;
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Median cost of each arm, ns a frame, after a block that warms up.
fn costs(arms: &mut [Arm], frame: &mut [u8], blocks: usize) -> Outcome<Vec<u64>> {
    let mut costs = vec![Vec::with_capacity(blocks); arms.len()];
    for block in 0..=blocks {
        let mut order: Vec<usize> = (0..arms.len()).collect();
        order.sort_by_key(|arm| scramble(scramble(SEED, block as u64), *arm as u64));
        for arm in order {
            let cost = arms[arm].block(frame)?;
            if block > 0 {
                costs[arm].push(cost);
            }
        }
    }
    costs.iter_mut().for_each(|costs| costs.sort_unstable());
    Ok(costs.iter().map(|costs| costs[costs.len() / 2]).collect())
}

fn table(protocol: Protocol, arms: &[Arm], costs: &[u64], judged: bool) -> Outcome<u32> {
    let ratio = |at: usize| costs[at] as f64 / costs[0].max(1) as f64;
    say(format_args!("{} ({} datagrams)", protocol.name(), arms[0].per_frame))?;
    for (at, (name, ..)) in ARMS.iter().enumerate() {
        let us = costs[at] as f64 / 1e3;
        let note = if arms[at].is_fair() { "" } else { "  NOT COMPARABLE: not everything left in this way" };
        say(format_args!("  {name:<16}{us:>9.2}{:>8.2}{note}", ratio(at)))?;
    }
    if let Segmentation::Refused(why) = arms[GSO].outlet.segmentation() {
        say(format_args!("  the kernel refuses to cut: {why}"))?;
    }
    if !judged {
        return Ok(0);
    }
    let holds = ratio(GSO) <= LIMIT && arms.iter().all(Arm::is_fair);
    let word = if holds { "PASS" } else { "FAIL" };
    say(format_args!("  {word}: GSO <= {LIMIT} x sendmmsg"))?;
    Ok(u32::from(!holds))
}

fn say(text: Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
