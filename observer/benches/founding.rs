//! The founding case on one host: a device that sends three outputs and gives out its recorder ring, and receivers
//! that download the ring meanwhile, or are held up for as long.
//!
//! `cargo bench -p wireproof --bench founding [-- SECONDS]` (default 60). It runs in a network namespace of its own
//! where it may make one. A line that does not hold is FAIL and makes the exit code 1.

#[path = "load/mod.rs"]
mod load;

use load::child::{Role, Said, number, wait_for_parent};
use load::disturbed::Disturbed;
use load::host::{Usage, facts, udp_counter};
use load::rig::{self, Tally};
use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wireproof::live::conduct::{Observed, Run, conduct};
use wireproof::live::drain::{DrainPlan, DrainStatus};
use wireproof::live::source::Source;
use wireproof_protocols::verify::Options;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Time between two downloads.
const EVERY: Duration = Duration::from_secs(5);
/// Lengths of the downloads, in turn: the range seen in the field, on a Raspberry Pi.
const DOWNLOADS: [u64; 5] = [225, 236, 247, 258, 269];
/// Receive buffer of an untouched Linux, octets.
const UNTOUCHED: u32 = 212_992;
/// Lengths of the stalls, ms.
const STALLS: [u64; 5] = [150, 225, 240, 250, 269];
/// Length of a run with stalls, and when they come.
const STALLED: (u64, [u64; 3]) = (6, [1_500, 3_000, 4_500]);
/// Stalls shorter than this may meet only thirteen frames of sACN, which an untouched buffer holds, ms.
const HOLD_SACN: u64 = 234;
/// An untouched buffer holds 92 datagrams of 1,450 octets (2,304 octets charged for each), so 15 whole frames of six:
/// a stall of 250 ms and more may meet a sixteenth. Of the smaller sACN datagrams it holds 166, 13 frames of twelve
/// (217 ms), so that sACN is lost first.
const HOLD_OTHERS: u64 = 250;
/// Time for what is under way to arrive.
const TAIL: Duration = Duration::from_millis(300);

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("device") => {
            device(arguments.get(1).ok_or("how many seconds?")?.parse()?).map(|()| ExitCode::SUCCESS)
        }
        Some("inside") => {
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
            if up.success() { bench(seconds(arguments.get(1))?) } else { Err("lo did not come up".into()) }
        }
        given => apart(seconds(given.map(str::to_owned).as_ref())?),
    }
}

fn seconds(given: Option<&String>) -> Outcome<u32> {
    Ok(given.map_or(Ok(60), |text| text.parse())?)
}

/// Runs the bench in a network namespace of its own, where the ports are free; in this one where that is refused.
fn apart(seconds: u32) -> Outcome<ExitCode> {
    let may = Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    if !may {
        return bench(seconds);
    }
    let exe = std::env::current_exe()?;
    let status =
        Command::new("unshare").arg("-n").arg(exe).arg("inside").arg(seconds.to_string()).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The device: says where the ring is, waits, sends.
fn device(seconds: u32) -> Outcome<()> {
    let ring = rig::serve(DOWNLOADS.map(Duration::from_millis).to_vec())?;
    say(format_args!("{ring}"))?;
    wait_for_parent();
    let paced = rig::send(seconds * rig::RATE)?;
    say(format_args!("latest_us {}", paced.latest.as_micros()))?;
    // The last download may still run.
    wait_for_parent();
    Ok(())
}

fn say(text: Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// One line of the table.
struct Line {
    arm: String,
    tally: Tally,
    /// What the kernel counted as dropped for want of room in this namespace, whatever the socket.
    kernel: u64,
    latest_us: u64,
    rule: &'static str,
    holds: bool,
}

fn bench(seconds: u32) -> Outcome<ExitCode> {
    let before = Usage::now();
    for fact in facts() {
        say(format_args!("{fact}"))?;
    }
    say(format_args!(
        "{:<38} {:>22} {:>17} {:>17} {:>7} {:>9}  line",
        "arm (BigPacket / DDP / sACN)", "received", "missing", "observer's own", "kernel", "late, us"
    ))?;
    let mut lines = vec![naive(seconds)?, background(seconds)?];
    for (buffer, name) in [(Some(UNTOUCHED), "212,992"), (None, "default")] {
        for ms in STALLS {
            lines.push(stalled(buffer, name, ms)?);
        }
    }
    let failed = lines.iter().filter(|line| !line.holds).count();
    let others = Usage::now().since(&before);
    say(format_args!(
        "\nsteal {:.1} % of all, other processes {:.0} % of one core (limits: 1, 10)",
        others.steal, others.foreign
    ))?;
    say(format_args!("{} lines hold, {failed} do not", lines.len() - failed))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A device that is about to send, and where its ring is.
fn start(seconds: u32) -> Outcome<(Role, String)> {
    let mut device = Role::start("", "device", &[seconds.to_string()])?;
    let ring = device.line()?;
    Ok((device, ring))
}

fn triple(values: [u64; 3]) -> String {
    values.map(|v| v.to_string()).join(" / ")
}

impl Line {
    fn print(self) -> Outcome<Line> {
        let verdict = if self.holds { "PASS" } else { "FAIL" };
        let (arm, rule) = (&self.arm, self.rule);
        say(format_args!(
            "{arm:<34} {:>22} {:>17} {:>17} {:>7} {:>9}  {verdict}: {rule}",
            triple(self.tally.received),
            triple(self.tally.missing),
            triple(self.tally.own),
            self.kernel,
            self.latest_us
        ))?;
        Ok(self)
    }
}

/// Arm a: the first observer of the field.
fn naive(seconds: u32) -> Outcome<Line> {
    let sockets = rig::addresses().map(UdpSocket::bind);
    let sockets = sockets.into_iter().collect::<Result<Vec<_>, _>>()?;
    sockets.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
    let (mut device, ring) = start(seconds)?;
    let stop = Arc::new(AtomicBool::new(false));
    let before = udp_counter("RcvbufErrors");
    device.go()?;
    let length = Duration::from_secs(seconds.into());
    let ender = thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            thread::sleep(length + TAIL);
            stop.store(true, Ordering::Relaxed);
        }
    });
    let received = receive_and_download(&sockets, &ring, length, &stop)?;
    ender.join().map_err(|_| "a thread panicked")?;
    let said = device.end()?;
    let sent = rig::sent(seconds * rig::RATE);
    let mut missing = [0; 3];
    for (at, missing) in missing.iter_mut().enumerate() {
        *missing = sent[at].saturating_sub(received[at]);
    }
    let kernel = udp_counter("RcvbufErrors") - before;
    Line {
        arm: "a downloads in its receive loop".to_owned(),
        tally: Tally { received, missing, ..Tally::default() },
        kernel,
        latest_us: number(&said, "latest_us"),
        rule: "loses sACN, as the first observer did; all in its own socket buffers",
        holds: missing[2] > 0 && missing.iter().sum::<u64>() == kernel,
    }
    .print()
}

/// Receives from all sockets in turn, and every five seconds downloads before it goes on.
fn receive_and_download(
    sockets: &[UdpSocket],
    ring: &str,
    length: Duration,
    stop: &AtomicBool,
) -> Outcome<[u64; 3]> {
    let (start, mut due) = (Instant::now(), EVERY);
    let (mut received, mut buffer) = ([0; 3], [0; 2_048]);
    while !stop.load(Ordering::Relaxed) {
        let mut idle = true;
        for (socket, received) in sockets.iter().zip(&mut received) {
            match socket.recv_from(&mut buffer) {
                Ok(_) => (*received, idle) = (*received + 1, false),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        if idle {
            thread::sleep(Duration::from_millis(1));
        }
        if start.elapsed() >= due && due < length {
            due += EVERY;
            download(ring)?;
        }
    }
    Ok(received)
}

fn download(ring: &str) -> Outcome<()> {
    let mut stream = TcpStream::connect(ring)?;
    write!(stream, "GET /ring HTTP/1.1\r\nHost: {ring}\r\n\r\n")?;
    let mut octets = Vec::with_capacity(rig::RING + 1_024);
    stream.read_to_end(&mut octets)?;
    if octets.len() > rig::RING { Ok(()) } else { Err("the ring did not come whole".into()) }
}

/// Runs our observer while the device sends.
fn observe(
    source: Box<dyn Source>,
    seconds: u32,
    drain: impl FnOnce(&str) -> Outcome<Option<DrainPlan>>,
) -> Outcome<(Observed, Said)> {
    let (mut device, ring) = start(seconds)?;
    let duration = Some(Duration::from_secs(seconds.into()) + TAIL);
    let run = Run { duration, drain: drain(&ring)?, ..Run::default() };
    device.go()?;
    let observed = conduct(vec![source], Options::default(), &run, &mut |_| {})?;
    Ok((observed, device.end()?))
}

/// Arm b: ours, downloading in the background.
fn background(seconds: u32) -> Outcome<Line> {
    let folder = tempfile::tempdir()?;
    let length = Duration::from_secs(seconds.into());
    let before = udp_counter("RcvbufErrors");
    let (observed, said) = observe(Box::new(rig::open(None)?), seconds, |ring| {
        let plan = DrainPlan::new(format!("http://{ring}/ring").parse()?, EVERY, folder.path());
        Ok(Some(DrainPlan { run: Some(length), ..plan }))
    })?;
    let whole = |bytes: u64, status: &DrainStatus| *status == DrainStatus::Ok && bytes == rig::RING as u64;
    let drains = observed.drains.iter().filter(|d| whole(d.bytes, &d.status)).count();
    let took = observed.drains.iter().map(|d| (d.ended_ns - d.started_ns) / 1_000_000);
    let (shortest, longest) = (took.clone().min().unwrap_or(0), took.max().unwrap_or(0));
    let sent = rig::sent(seconds * rig::RATE);
    let tally = Tally::of(&observed.account);
    // None starts at the end of the run.
    let due = (length.as_nanos().div_ceil(EVERY.as_nanos()) - 1) as usize;
    let line = Line {
        arm: format!("b ours, {drains} of {due} downloads"),
        tally,
        kernel: udp_counter("RcvbufErrors") - before,
        latest_us: number(&said, "latest_us"),
        rule: "misses none",
        holds: tally.received == sent && tally.missing == [0; 3] && drains == due,
    }
    .print()?;
    let delay = observed.observer.queue_delay_ns;
    say(format_args!(
        "  downloads of {shortest} to {longest} ms; longest loop gap {} us; queue delay p99 {} us, max {} us; {} violations",
        observed.observer.loop_gap_max_ns / 1_000,
        delay.p99 / 1_000,
        delay.max / 1_000,
        tally.violations
    ))?;
    Ok(line)
}

/// Arm c: our loop, held up for so long three times.
fn stalled(buffer: Option<u32>, name: &str, ms: u64) -> Outcome<Line> {
    let (seconds, starts) = STALLED;
    let seconds = u32::try_from(seconds)?;
    let stalls = starts.map(|at| (Duration::from_millis(at), Duration::from_millis(ms)));
    let before = udp_counter("RcvbufErrors");
    let source = Disturbed::new(rig::open(buffer)?, stalls.to_vec());
    let (observed, said) = observe(Box::new(source), seconds, |_| Ok(None))?;
    let (sent, tally) = (rig::sent(seconds * rig::RATE), Tally::of(&observed.account));
    let kernel = udp_counter("RcvbufErrors") - before;
    let missing: u64 = tally.missing.iter().sum();
    let is_whole = (0..3).all(|at| tally.received[at] + tally.missing[at] == sent[at]);
    let is_own =
        tally.own == tally.missing && missing == kernel && missing == observed.account.observer.socket;
    let gap = observed.observer.loop_gap_max_ns / 1_000_000;
    let others = missing - tally.missing[2];
    let (rule, holds) = match (buffer, ms) {
        (None, _) | (_, 150) => ("loses nothing", missing == 0),
        _ if gap < HOLD_SACN => ("may lose sACN, called the observer's own", others == 0),
        _ if gap < HOLD_OTHERS => ("loses sACN only, called the observer's own", missing > 0 && others == 0),
        _ => (
            "held up beyond 250 ms: sACN first, then the others, all the observer's own",
            tally.missing[2] > others,
        ),
    };
    Line {
        arm: format!("c buffer {name}, {} x {ms} ms ({gap})", starts.len()),
        tally,
        kernel,
        latest_us: number(&said, "latest_us"),
        rule,
        holds: holds && is_whole && is_own,
    }
    .print()
}
