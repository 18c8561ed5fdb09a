//! `wireproof demo`: a simulated device as a process, observed over loopback while its recorder is drained; three
//! faults planted at seeded times and found. No rights, no hardware; whatever was started ends with it.

mod children;
mod compare;
mod matrix;
mod plan;
mod told;

use super::args::ServeArgs;
use super::children::{Kept, LOOK, service};
use super::failure::{self, Failure};
use super::live_view::View;
use super::{config, observe, output, rings, say, serve, transmit};
use crate::live::conduct::{Event, Observed, Run, conduct};
use crate::live::drain::DrainPlan;
use crate::live::source::Source as _;
use crate::live::udp::{UdpOptions, UdpSource};
use children::RingFile;
use clap::Args;
use compare::{Comparison, Deed, compare};
use plan::{Fault, Output, RATE};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use wireproof_protocols::ddp;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::Options;
use wireproof_reports::{Summary, Terms};

/// Time between two downloads.
const DRAIN_EVERY: Duration = Duration::from_secs(2);
/// How long what the device sent last may be on its way.
const GRACE: Duration = Duration::from_millis(500);
/// Longest that is waited for a download after the device's end.
const LAST: Duration = Duration::from_secs(10);
/// Exit code of a run that was cut short.
const PARTIAL: u8 = 5;
/// Exit code of a run that the observer spoiled.
const INVALID: u8 = 4;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof demo
  wireproof demo --seed 7 --seconds 30 --out /tmp/demo

A device of three outputs (BigPacket, sACN, DDP) sends to this host, is observed, and has its flight recorder
downloaded meanwhile. Three faults are planted at times that the seed chooses, and have to be found, each with its
owner. Then a short matrix lays four arms without and with downloads against each other; it has no latency gate and
decides nothing. Everything is kept in the folder: index.html, run.md, summary.json, the truth, the tape, the rings,
and the matrix with its bundle.

Exit code 0 when all three were found, nothing else was, and the observer lost nothing; 1 when not; 4 when the
observer lost something, or this host was too busy to download the recorder; 5 after Ctrl-C.")]
pub(super) struct DemoArgs {
    /// Folder for what is kept [default: ./wireproof-demo-SEED]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of picture, faults and their times
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Length, seconds
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(5..=50))]
    seconds: u64,
    /// Leave out the short matrix at the end
    #[arg(long)]
    no_matrix: bool,
    /// Serve a live page of the observation here; a port alone is that of 127.0.0.1, which it has to be
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = super::serve::address)]
    web: Option<SocketAddr>,
    /// Say nothing but the result
    #[arg(short, long)]
    quiet: bool,
}

impl DemoArgs {
    fn serve(&self) -> ServeArgs {
        ServeArgs { web: self.web, ..ServeArgs::default() }
    }
}

/// What was set up and what came of it.
struct Demo<'a> {
    args: &'a DemoArgs,
    out: PathBuf,
    outputs: Vec<Output>,
    faults: Vec<Fault>,
    frames: u64,
}

/// Runs the verb.
pub(super) fn run(args: &DemoArgs) -> Result<u8, Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("wireproof-demo-{}", args.seed)));
    if let Some(web) = args.web.filter(|web| !web.ip().is_loopback()) {
        let what = format!("--web {web} can be reached from other hosts");
        return Err(Failure::usage(&what, "give a port, or an address of this host alone such as 127.0.0.1"));
    }
    prepare(&out)?;
    let (source, outputs) = sockets()?;
    let frames = args.seconds * RATE;
    let faults = plan::faults(args.seed, frames, &outputs);
    write(&out.join("device.toml"), &plan::device_file(&outputs, &faults))?;
    let demo = Demo { args, out, outputs, faults, frames };
    let ended = transmit::interrupts()?;
    let ring = RingFile::new(&demo.out);
    let device = children::device(&demo.out, &ring, frames, args.seed, &[])?;
    // Beside other work on this host a service of the lowest priority would not answer within the run.
    let (_service, url) = service(&ring.path, &["--normal-priority".into()])?;
    demo.introduce(&url);
    let mut observed = demo.observe(source, device, &url, &ended)?;
    let reconciled = rings::of_drains(&mut observed, &demo.rings(), &[], Layouts::default())?;
    let deeds = demo.deeds()?;
    let comparison = compare(&observed.account, &deeds, &demo.outputs);
    let mut summary = observe::summary(&observed);
    summary.reconciled = reconciled;
    if !args.no_matrix && !ended.load(Ordering::Relaxed) {
        demo.matrix(&ended);
    }
    demo.keep(&summary, &comparison)?;
    Ok(demo.code(&summary, &comparison, ended.load(Ordering::Relaxed)))
}

/// Makes the folder; downloads of a demo before are taken away, so that those in it are those of the page.
fn prepare(out: &Path) -> Result<(), Failure> {
    let rings = out.join("rings");
    let failed = |error: io::Error| {
        let what = format!("{} cannot be used ({error})", out.display());
        Failure::io(&what, "give another folder with --out")
    };
    fs::create_dir_all(&rings).map_err(failed)?;
    for entry in fs::read_dir(&rings).map_err(failed)?.flatten() {
        if is_download(&entry.file_name()) {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    output::write(Some(path), |out| Ok(out.write_all(text.as_bytes())?))
}

/// Sockets on free ports, so that the demo runs beside whatever has the protocols' own. DDP has nothing but its port
/// to be known by: it is taken on an address of this process's own; where it is not to be had, Art-Net stands in.
fn sockets() -> Result<(UdpSource, Vec<Output>), Failure> {
    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let pid = std::process::id();
    let own = Ipv4Addr::new(127, 1 + (pid >> 16) as u8 % 254, (pid >> 8) as u8, 1 + (pid as u8) % 254);
    let port = |ip: Ipv4Addr| SocketAddr::new(IpAddr::V4(ip), ddp::PORT);
    let tries = [(port(own), "ddp"), (port(Ipv4Addr::LOCALHOST), "ddp"), (free, "artnet")];
    let mut refused = None;
    for (third, protocol) in tries {
        let options = UdpOptions { addresses: vec![free, free, third], ..UdpOptions::default() };
        match UdpSource::open(&options) {
            Ok(source) => {
                let local: Vec<SocketAddr> = source.local_addresses().collect();
                let outputs = local.into_iter().zip([
                    ("pole-a", "bigpacket"),
                    ("pole-b", "sacn"),
                    ("pole-c", protocol),
                ]);
                let outputs = outputs.map(|(to, (name, protocol))| Output { name, protocol, to }).collect();
                return Ok((source, outputs));
            }
            Err(error) => refused = Some(Failure::io_line(&error)),
        }
    }
    Err(refused.unwrap_or_else(|| Failure::io("no socket could be opened", "see `wireproof doctor`")))
}

impl Demo<'_> {
    fn rings(&self) -> PathBuf {
        self.out.join("rings")
    }

    fn introduce(&self, url: &str) {
        if self.args.quiet {
            return;
        }
        for output in &self.outputs {
            say(&format!("{} sends {} to {}", output.name, output.protocol, output.to));
        }
        let length = self.args.seconds;
        say(&format!("{length} s at {RATE} frames a second, recorder at {url}, seed {}", self.args.seed));
    }

    /// Runs the short matrix; whatever becomes of it is told and decides nothing.
    fn matrix(&self, ended: &AtomicBool) {
        let told = matrix::run(&self.out.join("matrix"), &self.outputs, self.args.seed, ended);
        if !self.args.quiet {
            say(&told.unwrap_or_else(|failure| format!("the short matrix was not run: {failure}")));
        }
    }

    /// Observes until the device has ended.
    fn observe(
        &self,
        source: UdpSource,
        device: Kept,
        url: &str,
        ended: &Arc<AtomicBool>,
    ) -> Result<Observed, Failure> {
        let url = format!("{url}/v1/ring/raw");
        let url =
            url.parse().map_err(|e| Failure::io(&format!("the service's URL {url}: {e}"), "try again"))?;
        let done = Arc::new(AtomicBool::new(false));
        let is_terminal = io::stderr().is_terminal() && !self.args.quiet;
        let infos = [source.info().clone()];
        let opened = serve::open(&self.args.serve(), false, &Terms::default())?;
        let (_web, glances) = serve::start(opened, self.args.quiet, &infos)?;
        let run = Run {
            glances: Mutex::new(glances),
            tape: Some(self.out.join("run.tape")),
            drain: Some(DrainPlan::new(url, DRAIN_EVERY, self.rings())),
            interrupted: Arc::clone(&done),
            progress_every: is_terminal.then_some(Duration::from_millis(500)),
            ..Run::default()
        };
        let mut waiting = Some(device);
        let mut watcher = None;
        let mut view = View::new(is_terminal, !is_terminal, config::width());
        let observed = conduct(vec![Box::new(source)], Options::default(), &run, &mut |event| {
            if let (Event::Listening(_), Some(device)) = (&event, waiting.take()) {
                watcher = Some(watch(device, self.rings(), Arc::clone(ended), Arc::clone(&done)));
            }
            view.show(&event);
        });
        view.clear();
        done.store(true, Ordering::Relaxed);
        let device = watcher.and_then(|watcher| watcher.join().ok());
        let observed = observed?;
        match device {
            Some(Ok(())) => Ok(observed),
            Some(Err(what)) => Err(Failure::io(&what, "see device.log in the folder")),
            None => Err(Failure::io("the device could not be started", "try again")),
        }
    }

    fn deeds(&self) -> Result<Vec<Deed>, Failure> {
        let path = self.out.join("truth.jsonl");
        let failed =
            |why: String| Failure::io(&format!("{} cannot be read ({why})", path.display()), "try again");
        let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        let lines = text.lines().map(|line| serde_json::from_str(line).map_err(|e| failed(e.to_string())));
        lines.collect()
    }

    fn code(&self, summary: &Summary, comparison: &Comparison, cut_short: bool) -> u8 {
        if summary.observer.lost > 0 {
            INVALID
        } else if cut_short {
            PARTIAL
        } else if self.amiss(summary, comparison).is_empty() {
            0
        } else if told::unread(summary).is_some() {
            INVALID
        } else {
            failure::FAIL
        }
    }
}

/// Downloads in the folder.
fn downloads(rings: &Path) -> usize {
    fs::read_dir(rings)
        .map_or(0, |entries| entries.flatten().filter(|entry| is_download(&entry.file_name())).count())
}

fn is_download(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("drain-") && name.ends_with(".bin")
}

/// Lets the device begin and waits for its end and for one more download, which has all of its record; then, or when
/// somebody wants to end, `done` is set.
fn watch(
    mut device: Kept,
    rings: PathBuf,
    ended: Arc<AtomicBool>,
    done: Arc<AtomicBool>,
) -> thread::JoinHandle<Result<(), String>> {
    thread::spawn(move || {
        let outcome = device.go().and_then(|()| device.wait(&ended));
        // What was sent last is on its way.
        thread::sleep(GRACE);
        let (before, since) = (downloads(&rings), Instant::now());
        while downloads(&rings) == before && since.elapsed() < LAST && !ended.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        done.store(true, Ordering::Relaxed);
        match outcome {
            Ok(status) if status.success() || ended.load(Ordering::Relaxed) => Ok(()),
            Ok(status) => Err(format!("the device ended with {status}")),
            Err(error) => Err(format!("the device was lost ({error})")),
        }
    })
}
