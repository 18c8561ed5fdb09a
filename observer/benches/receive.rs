//! What receiving costs and what it loses, over a cable between two network namespaces; needs root and two CPUs.
//!
//! `cargo bench -p wireproof --features libpcap --bench receive [-- ARM…] [--seconds N] [--short N] [--buffer MIB]`
//!
//! Arms: `full` (4,096 universes x 60 a second, ours, the socket also with a real-time receive thread), `busy` (61,440
//! datagrams a second while both CPUs are busy, ours and a `recv_from` with an untouched buffer), `cost` (CPU time a
//! datagram at four rates, ours beside others); without one, all three. A run is repeated, at most twice, when the host was disturbed: time stolen by the machine
//! below or taken by other processes beyond the limits of `load/host.rs`; and, in `full` and `busy`, when the sender
//! was late beyond [`LATE_LIMIT`]. Every run is printed.

mod load;

use load::child::{Role, Said, number, wait_for_parent};
use load::host::{Disturbance, Usage, facts};
use load::receivers::{NEAR, PORT, Settings, run};
use load::sacn;
use load::sys::{realtime, stay_on, thread_cpu_ns};
use load::wire::Wire;
use std::error::Error;
use std::fmt::Arguments;
use std::hint::spin_loop;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Latest start of a frame behind its deadline, in microseconds: three frames.
const LATE_LIMIT: u64 = 50_000;
/// Runs of one line at most.
const RUNS: u32 = 3;
/// Universes of the four rates: 3.9, 15.5, 61 and 246 thousand datagrams a second.
const UNIVERSES: [u16; 4] = [64, 256, 1_024, 4_096];
/// Receivers of the cost table, ours first.
const RECEIVERS: [&str; 7] = ["ring-count", "ring", "socket-count", "socket", "std", "tokio", "libpcap"];
/// Receive buffer of std and tokio in the cost table, octets: what an unprivileged program gets with an untouched
/// `rmem_max` of 4 MiB.
const PLAIN_BUFFER: u64 = 8 << 20;
/// Time for what is under way to arrive.
const TAIL: Duration = Duration::from_millis(500);
/// Scheduling priority of the sender under SCHED_FIFO: it stands for other machines, so nothing here delays it.
const SENDER_PRIORITY: &str = "10";
/// Scheduling priority of a receive thread that runs before everything else (`--realtime`).
const REALTIME: u8 = 20;
/// CPU of the receiver, and of the sender.
const CPUS: [usize; 2] = [0, 1];

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["send", universes, seconds, cpu, priority, how] => {
            let load = (universes.parse()?, seconds.parse()?, *how == "gso");
            send(load, cpu.parse().ok(), priority.parse()?)?;
        }
        ["receive", name, buffer, rate, cpu, realtime] => {
            let settings = Settings {
                buffer: buffer.parse()?,
                rate: rate.parse()?,
                cpu: cpu.parse().ok(),
                realtime: realtime.parse().ok().filter(|priority| *priority > 0),
            };
            run(name, settings)?;
        }
        ["spin", cpu] => spin(cpu.parse()?)?,
        _ => return bench(&words),
    }
    Ok(ExitCode::SUCCESS)
}

/// The sender: its figures once every frame is out.
fn send((universes, seconds, gso): (u16, u32, bool), cpu: Option<usize>, priority: i32) -> Outcome<()> {
    cpu.map_or(Ok(()), stay_on)?;
    if priority > 0 {
        realtime(priority)?;
    }
    let to = SocketAddr::from((NEAR, PORT));
    let (sent, paced) = sacn::send(to, universes, seconds * sacn::RATE, gso)?;
    say(format_args!("sent {sent}"))?;
    say(format_args!("latest_us {}", paced.latest.as_micros()))?;
    say(format_args!("took_ms {}", paced.took.as_millis()))?;
    Ok(say(format_args!("cpu_ns {}", thread_cpu_ns()))?)
}

/// A busy process, until the parent closes the input.
fn spin(cpu: usize) -> Outcome<()> {
    stay_on(cpu)?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        wait_for_parent();
        told.store(true, Ordering::Relaxed);
    });
    while !stop.load(Ordering::Relaxed) {
        spin_loop();
    }
    Ok(())
}

fn say(text: Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// What the command line asks for.
struct Asked {
    arms: Vec<String>,
    /// Length of a run of `full` and `busy`, s.
    seconds: u32,
    /// Length of a run of `cost`, s.
    short: u32,
    /// Buffer or ring of ours, octets.
    buffer: u64,
}

fn asked(words: &[&str]) -> Outcome<Asked> {
    let mut asked = Asked { arms: Vec::new(), seconds: 30, short: 8, buffer: 256 << 20 };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or("a number is missing").map(|v| v.parse::<u32>());
        match *word {
            "--seconds" => asked.seconds = value()??,
            "--short" => asked.short = value()??,
            "--buffer" => asked.buffer = u64::from(value()??) << 20,
            "full" | "busy" | "cost" => asked.arms.push((*word).to_owned()),
            other => return Err(format!("{other} is no arm and no option").into()),
        }
    }
    if asked.arms.is_empty() {
        asked.arms = ["full", "busy", "cost"].map(str::to_owned).to_vec();
    }
    Ok(asked)
}

fn bench(words: &[&str]) -> Outcome<ExitCode> {
    let asked = asked(words)?;
    for fact in facts() {
        say(format_args!("{fact}"))?;
    }
    let wire = Wire::new()?;
    let mut failed = 0;
    for arm in &asked.arms {
        failed += match arm.as_str() {
            "full" => full(&wire, &asked)?,
            "busy" => busy(&wire, &asked)?,
            _ => cost(&wire, &asked)?,
        };
    }
    say(format_args!("\n{failed} lines do not hold"))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One run to be made.
#[derive(Clone, Copy)]
struct Trial {
    receiver: &'static str,
    universes: u16,
    seconds: u32,
    buffer: u64,
    /// Both CPUs are busy.
    busy: bool,
    /// Scheduling priority of the receive thread under SCHED_FIFO; 0 leaves it a thread like others.
    realtime: u8,
}

/// What came of it.
struct Ran {
    receiver: Said,
    sender: Said,
    others: Disturbance,
}

impl Ran {
    fn sent(&self) -> u64 {
        number(&self.sender, "sent")
    }

    fn received(&self) -> u64 {
        number(&self.receiver, "received")
    }

    fn missing(&self) -> u64 {
        self.sent().saturating_sub(self.received())
    }

    fn missing_percent(&self) -> f64 {
        100.0 * self.missing() as f64 / self.sent().max(1) as f64
    }

    fn is_late(&self) -> bool {
        number(&self.sender, "latest_us") > LATE_LIMIT
    }

    /// Datagrams a second, as sent.
    fn rate(&self) -> f64 {
        1e3 * self.sent() as f64 / number(&self.sender, "took_ms").max(1) as f64
    }

    /// CPU time of the receive thread, us a datagram received.
    fn cost(&self) -> f64 {
        number(&self.receiver, "cpu_ns") as f64 / 1e3 / self.received().max(1) as f64
    }
}

fn attempt(wire: &Wire, trial: Trial) -> Outcome<Ran> {
    let text = |value: u64| value.to_string();
    let [near, far] = CPUS.map(|cpu| if trial.busy { "-".to_owned() } else { cpu.to_string() });
    let rate = u64::from(trial.universes) * u64::from(sacn::RATE);
    let realtime = text(trial.realtime.into());
    let settings = [trial.receiver.to_owned(), text(trial.buffer), text(rate), near, realtime];
    let mut receiver = Role::start(&wire.near, "receive", &settings)?;
    receiver.line()?;
    let spinners = if trial.busy { &CPUS[..] } else { &[] };
    let spinners: Vec<_> =
        spinners.iter().map(|cpu| Role::start("", "spin", &[cpu.to_string()])).collect::<Result<_, _>>()?;
    let before = Usage::now();
    // Only the highest rate is beyond what a core sends one by one.
    let how = if trial.universes > 1_024 { "gso" } else { "each" }.to_owned();
    let sending =
        [text(trial.universes.into()), text(trial.seconds.into()), far, SENDER_PRIORITY.to_owned(), how];
    let sender = Role::start(&wire.far, "send", &sending)?.end()?;
    let others = Usage::now().since(&before);
    thread::sleep(TAIL);
    let receiver = receiver.end()?;
    for spinner in spinners {
        spinner.end()?;
    }
    Ok(Ran { receiver, sender, others })
}

/// Runs until the host was left alone; the last run counts whatever came of it.
fn undisturbed(wire: &Wire, trial: Trial, print: impl Fn(&Ran, &str) -> io::Result<()>) -> Outcome<Ran> {
    for left in (0..RUNS).rev() {
        let ran = attempt(wire, trial)?;
        let is_disturbed = ran.others.is_over() || ran.is_late();
        let word = match (is_disturbed, left) {
            (false, _) => "",
            (true, 0) => "  (disturbed)",
            (true, _) => "  (disturbed, again)",
        };
        print(&ran, word)?;
        if !is_disturbed || left == 0 {
            return Ok(ran);
        }
    }
    Err("no run was made".into())
}

/// Prints the heading of the tables of `full` and `busy`.
fn heading(text: &str) -> io::Result<()> {
    say(format_args!("\n{text}"))?;
    say(format_args!(
        "{:<9} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8} {:>8} {:>9} {:>7} {:>8} {:>8} {:>8}",
        "receiver",
        "sent",
        "rate/s",
        "seen",
        "dropped",
        "missing %",
        "lost",
        "own",
        "us/dgram",
        "streams",
        "HWM, MB",
        "late, ms",
        "steal %"
    ))
}

fn row(name: &str, ran: &Ran, word: &str) -> io::Result<()> {
    let said = |key| number(&ran.receiver, key);
    say(format_args!(
        "{name:<9} {:>9} {:>9.0} {:>9} {:>8} {:>9.3} {:>8} {:>8} {:>9.3} {:>7} {:>8.1} {:>8.1} {:>8.2}{word}",
        ran.sent(),
        ran.rate(),
        ran.received(),
        said("dropped"),
        ran.missing_percent(),
        said("lost"),
        said("own"),
        ran.cost(),
        said("streams"),
        said("hwm") as f64 / 1e6,
        number(&ran.sender, "latest_us") as f64 / 1e3,
        ran.others.steal
    ))?;
    say(format_args!(
        "          sender {:.2} us a datagram; others {:.0} % of a core; RcvbufErrors {}, backlog drops {}; {}",
        number(&ran.sender, "cpu_ns") as f64 / 1e3 / ran.sent().max(1) as f64,
        ran.others.foreign,
        said("rcvbuf_errors"),
        said("backlog_drops"),
        ran.receiver.get("note").map_or("", String::as_str)
    ))
}

fn judge(text: &str, holds: bool) -> Outcome<u32> {
    say(format_args!("{}: {text}", if holds { "PASS" } else { "FAIL" }))?;
    Ok(u32::from(!holds))
}

/// Nothing lost, and the counters say the same.
fn lost_none(ran: &Ran, universes: u16) -> bool {
    let said = |key| number(&ran.receiver, key);
    ran.received() + said("dropped") == ran.sent()
        && [said("dropped"), said("lost"), said("own"), said("unfollowed")] == [0; 4]
        && said("streams") == u64::from(universes)
}

/// Ours at 245,760 datagrams a second.
fn full(wire: &Wire, asked: &Asked) -> Outcome<u32> {
    heading("4,096 universes x 60 a second through the whole observe path")?;
    let mut failed = 0;
    for (receiver, realtime) in [("ring", 0), ("socket", 0), ("socket", REALTIME)] {
        let (seconds, buffer) = (asked.seconds, asked.buffer);
        let trial = Trial { receiver, universes: 4_096, seconds, buffer, busy: false, realtime };
        let name = if realtime > 0 { format!("{receiver} rt") } else { receiver.to_owned() };
        let ran = undisturbed(wire, trial, |ran, word| row(&name, ran, word))?;
        failed += judge("0 lost; seen + dropped = sent", lost_none(&ran, trial.universes))?;
        failed += judge("the sender kept its deadlines", !ran.is_late())?;
    }
    Ok(failed)
}

/// 61,440 datagrams a second beside a busy process on each CPU.
fn busy(wire: &Wire, asked: &Asked) -> Outcome<u32> {
    heading("1,024 universes x 60 a second, a busy process of equal priority on each CPU")?;
    let mut failed = 0;
    for receiver in ["ring", "socket", "std"] {
        let is_ours = receiver != "std";
        let buffer = if is_ours { asked.buffer } else { 0 };
        let trial =
            Trial { receiver, universes: 1_024, seconds: asked.seconds, buffer, busy: true, realtime: 0 };
        let ran = undisturbed(wire, trial, |ran, word| row(receiver, ran, word))?;
        failed += match is_ours {
            true => judge("0 lost; seen + dropped = sent", lost_none(&ran, trial.universes))?,
            false => judge("an untouched buffer loses >= 30 %", ran.missing_percent() >= 30.0)?,
        };
    }
    Ok(failed)
}

/// CPU time a datagram.
fn cost(wire: &Wire, asked: &Asked) -> Outcome<u32> {
    say(format_args!(
        "\nCPU time of the receive thread, us a datagram; * the sender was late by more than three frames beside this \
         receiver, with the rate it kept; % lost"
    ))?;
    let receivers = RECEIVERS.iter().filter(|r| cfg!(feature = "libpcap") || **r != "libpcap");
    let receivers: Vec<_> = receivers.copied().collect();
    let mut costs = vec![[f64::NAN; UNIVERSES.len()]; receivers.len()];
    for (column, universes) in UNIVERSES.into_iter().enumerate() {
        for (receiver, costs) in receivers.iter().copied().zip(&mut costs) {
            let is_plain = ["std", "tokio"].contains(&receiver);
            let buffer = if is_plain { PLAIN_BUFFER } else { asked.buffer };
            let trial = Trial { receiver, universes, seconds: asked.short, buffer, busy: false, realtime: 0 };
            let ran = measured(wire, trial)?;
            costs[column] = ran.cost();
        }
    }
    table(&receivers, &costs)?;
    Ok(0)
}

/// A run of the cost table. A sender that is late because of the receiver is a result, not a disturbance.
fn measured(wire: &Wire, trial: Trial) -> Outcome<Ran> {
    let mut ran = attempt(wire, trial)?;
    for _ in 1..RUNS {
        if !ran.others.is_over() {
            break;
        }
        ran = attempt(wire, trial)?;
    }
    say(format_args!(
        "{:<13} {:>5} universes: {:.3} us, {:>7.0}/s{}, lost {:.3} %, HWM {:.1} MB, steal {:.2} %, others {:.0} %{}",
        trial.receiver,
        trial.universes,
        ran.cost(),
        ran.rate(),
        if ran.is_late() { "*" } else { "" },
        ran.missing_percent(),
        number(&ran.receiver, "hwm") as f64 / 1e6,
        ran.others.steal,
        ran.others.foreign,
        if ran.others.is_over() { " (disturbed)" } else { "" }
    ))?;
    Ok(ran)
}

/// The costs and how many times as much as ours each is.
fn table(receivers: &[&str], costs: &[[f64; UNIVERSES.len()]]) -> io::Result<()> {
    let rates = UNIVERSES.map(|u| format!("{:.1}k/s", f64::from(u) * f64::from(sacn::RATE) / 1e3));
    let heads = rates.map(|rate| format!("{rate:>10}")).concat();
    say(format_args!("\n{:<14}{heads}   us a datagram", "receiver"))?;
    for (name, costs) in receivers.iter().zip(costs) {
        say(format_args!("{name:<14}{}", costs.map(|c| format!("{c:>10.3}")).concat()))?;
    }
    for ours in [0, 2] {
        let Some((name, base)) = receivers.get(ours).zip(costs.get(ours)) else { continue };
        say(format_args!("\n{:<14}{heads}   times {name}", "receiver"))?;
        for (other, costs) in receivers.iter().zip(costs) {
            let ratio = |at: usize| format!("{:>10.1}", costs[at] / base[at]);
            say(format_args!("{other:<14}{}", [0, 1, 2, 3].map(ratio).concat()))?;
        }
    }
    Ok(())
}
