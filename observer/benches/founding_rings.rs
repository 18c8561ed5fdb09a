//! The founding case with real rings: the simulated device and its web service as processes, `wireproof observe` with
//! downloads every five seconds, and the device's own account to compare.
//!
//! `cargo bench -p wireproof --bench founding_rings [-- SECONDS]` (default 60). It runs in a network namespace of its
//! own where it may make one. A line that does not hold is FAIL and makes the exit code 1.

use serde_json::Value;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Frames a second.
const RATE: u64 = 60;
/// Ports of BigPacket, sACN and DDP.
const PORTS: [u16; 3] =
    [wireproof_protocols::bigpacket::PORT, wireproof_protocols::sacn::PORT, wireproof_protocols::ddp::PORT];
/// Datagrams of a frame: BigPacket, sACN, DDP.
const A_FRAME: [(&str, u64); 3] = [("bigpacket", 6), ("sacn", 12), ("ddp", 6)];
/// Time that the observer listens longer than the device sends: what is under way.
const MORE: Duration = Duration::from_secs(1);

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if arguments.first().is_some_and(|first| first == "inside") {
        Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
        return bench(seconds(arguments.get(1))?);
    }
    let seconds = seconds(arguments.first())?;
    let may = Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    if !may {
        return bench(seconds);
    }
    let exe = std::env::current_exe()?;
    let run = Command::new("unshare").arg("-n").arg(exe).arg("inside").arg(seconds.to_string()).status()?;
    Ok(if run.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn seconds(given: Option<&String>) -> Outcome<u64> {
    Ok(given.map_or(Ok(60), |text| text.parse())?)
}

/// A process that does not outlive this value.
struct Kept(Child, Option<ChildStdin>);

impl Kept {
    fn start(command: &mut Command) -> Outcome<Kept> {
        let mut child = command.stdin(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        Ok(Kept(child, stdin))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.1.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wireproof() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wireproof"))
}

fn json(path: &Path) -> Outcome<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// Lets everything run; the observer's summary and the device's account.
fn run(seconds: u64, dir: &Path) -> Outcome<(Value, Value)> {
    let (ring, account, summary) = (dir.join("ring"), dir.join("device.json"), dir.join("summary.json"));
    let mut device = wireproof();
    device.args(["device", "-q", "--with-parent", "--format", "json", "--frames"]);
    device.arg((seconds * RATE).to_string()).arg("--ring").arg(&ring).arg("-o").arg(&account);
    let mut device = Kept::start(&mut device)?;
    let began = Instant::now();
    while !ring.exists() {
        if began.elapsed() > Duration::from_secs(10) {
            return Err("the device made no ring".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let mut service = wireproof();
    service.arg("device-service").arg(&ring).arg("--with-parent").stdout(Stdio::piped());
    let mut service = Kept::start(&mut service)?;
    let mut url = String::new();
    let out = service.0.stdout.take().ok_or("the service has no output")?;
    BufReader::new(out).read_line(&mut url)?;
    let mut observe = wireproof();
    observe.args(["observe", "--format", "json", "--drain-every", "5s", "--exit-zero", "--udp"]);
    observe.args(PORTS.map(|port| format!("127.0.0.1:{port}"))).arg("--drain-dir").arg(dir.join("rings"));
    observe.arg("--drain").arg(format!("{}/v1/ring/raw", url.trim_end())).arg("-o").arg(&summary);
    let mut observe = Kept::start(observe.stderr(Stdio::null()))?;
    listening()?;
    if let Some(stdin) = &mut device.1 {
        stdin.write_all(b"go\n")?;
    }
    // A busy host makes the device skip periods and take longer: its end is the end, not a time.
    let sent = device.0.wait()?;
    thread::sleep(MORE);
    Command::new("kill").arg("-INT").arg(observe.0.id().to_string()).status()?;
    let observed = observe.0.wait()?;
    if !observed.success() || !sent.success() {
        return Err(format!("the observer ended with {observed}, the device with {sent}").into());
    }
    Ok((json(&summary)?, json(&account)?))
}

/// Waits until the observer has the ports: nobody else can bind them then.
fn listening() -> Outcome<()> {
    let began = Instant::now();
    for port in PORTS {
        let taken = || match std::net::UdpSocket::bind(("127.0.0.1", port)) {
            Ok(_) => false,
            Err(error) => error.kind() == ErrorKind::AddrInUse,
        };
        while !taken() {
            if began.elapsed() > Duration::from_secs(10) {
                return Err(format!("port {port} was never listened to").into());
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

fn bench(seconds: u64) -> Outcome<ExitCode> {
    let dir = Path::new("/dev/shm").join(format!("wireproof-founding-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let ran = run(seconds, &dir);
    let _ = fs::remove_dir_all(&dir);
    let (summary, device) = ran?;
    let holds = lines(seconds, &summary, &device);
    let mut out = io::stdout().lock();
    for (what, holds) in &holds {
        writeln!(out, "{} {what}", if *holds { "ok  " } else { "FAIL" })?;
    }
    let all = holds.iter().all(|(_, holds)| *holds);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What has to hold, each with the figure it rests on.
fn lines(seconds: u64, summary: &Value, device: &Value) -> Vec<(String, bool)> {
    let empty = Vec::new();
    let list = |key: &str| summary[key].as_array().unwrap_or(&empty);
    let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let mut lines = Vec::new();
    for (protocol, a_frame) in A_FRAME {
        let own: Vec<&Value> = list("streams").iter().filter(|s| s["protocol"] == protocol).collect();
        let datagrams: u64 = own.iter().map(|s| number(&s["datagrams"])).sum();
        let lost: u64 = own.iter().map(|s| number(&s["sequence"]["lost"])).sum();
        // Each universe says goodbye three times.
        let expected = seconds * RATE * a_frame + if protocol == "sacn" { 3 * a_frame } else { 0 };
        let text =
            format!("{protocol}: {datagrams} datagrams of {expected}, {lost} lost, {} streams", own.len());
        lines.push((text, datagrams == expected && lost == 0));
    }
    let (skipped, frames) = (number(&device["skipped"]), number(&device["frames"]));
    lines.push((format!("device: {frames} frames, {skipped} periods skipped"), frames == seconds * RATE));
    let drains = list("drains");
    let good = drains.iter().filter(|d| d["ring"]["status"] == "ok").count();
    let ms = |d: &&Value| {
        (d["ended_ns"].as_i64().unwrap_or(0) - d["started_ns"].as_i64().unwrap_or(0)) / 1_000_000
    };
    let longest = drains.iter().map(|d| ms(&d)).max().unwrap_or(0);
    let least = (seconds / 5).saturating_sub(1).max(1) as usize;
    let text = format!("{} raw drains, {good} rings verified, longest {longest} ms", drains.len());
    lines.push((text, drains.len() >= least && good == drains.len()));
    let whole = number(&summary["reconciled"]["frames"]);
    lines.push((
        format!("device's record: {whole} whole frames in all rings together"),
        whole == seconds * RATE,
    ));
    let lost = number(&summary["observer"]["lost"]);
    lines.push((format!("observer lost {lost}"), lost == 0));
    let verdict = summary["verdict"].as_str().unwrap_or("none");
    lines.push((
        format!("verdict {verdict}: {}", summary["reason"].as_str().unwrap_or("")),
        verdict == "pass",
    ));
    lines
}
