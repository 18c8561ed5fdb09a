//! `wireproof device`: the simulated device under test as a process.

mod args;
mod report;

pub(super) use args::DeviceArgs;

use super::children::{self, Kept};
use super::failure::{self, Failure};
use super::memory::{self, MEMORY};
use super::{output, say, send, transmit};
use crate::device::{ControlSocket, Host};
use crate::send::identity;
use crate::send::socket::{Sent, Way};
use crate::{infile, outfile};
use report::Account;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use wireproof_fixture::device::{
    Book, DeviceError, DeviceFile, Engine, FileRing, Kind, Length, Places, Planned, Report, Rig, Setting,
    default_rig, file_maker, parse_file, run as run_device,
};
use wireproof_recorder::file::FileError;

/// Largest device file that is read, octets.
const FILE_MAX: u64 = 1 << 20;

/// Runs the verb.
pub(super) fn run(args: &DeviceArgs) -> Result<u8, Failure> {
    let setting = setting(args)?;
    let rate = setting.rate;
    let ring = RingPath::of(args);
    memory::sweep(Path::new(MEMORY));
    let mut engine = engine(args, setting.clone(), ring.path())?;
    let interrupted = transmit::interrupts()?;
    let control_path = control_path(args);
    let control = control_path.as_deref().map(ControlSocket::open).transpose();
    let control = control.map_err(|error| Failure::io_line(&error))?;
    let mut host =
        Host::open(ways(&setting.rig), control, Arc::clone(&interrupted)).map_err(|(at, error)| {
            let name = setting.rig.outputs.get(at).map_or("", |output| &output.name);
            Failure::io(
                &format!("output {name} cannot send ({error})"),
                "check address and routes (`ip route`)",
            )
        })?;
    engine.start(&mut host)?;
    if !args.quiet {
        introduce(args, &setting, ring.path());
    }
    let _service = serve(args, control_path.as_deref(), &setting.faults, ring.path())?;
    if args.with_parent {
        follow_parent(interrupted)?;
    }
    let report = run_device(&mut engine, rate, length(args), &mut host)?;
    let sent = host.sent();
    let truth_error = engine.truth_error().map(ToString::to_string);
    let account = Account { args, report: &report, ring: ring.path(), sent: &sent };
    output::write(args.output.as_deref(), |out| report::write(&account, out))?;
    if let (Some(error), Some(path)) = (truth_error, &args.truth) {
        let what = format!("{} could not be written to its end ({error})", path.display());
        return Err(Failure::io(&what, "check the space on the disk"));
    }
    Ok(code(&report, &sent))
}

/// Waits for the parent's word, then ends the device when the parent is gone.
fn follow_parent(interrupted: Arc<AtomicBool>) -> Result<(), Failure> {
    let mut word = String::new();
    // A parent that is gone already has closed the pipe: the same as being told to end.
    let read = io::stdin().lock().read_line(&mut word);
    interrupted.fetch_or(!matches!(read, Ok(1..)), Ordering::Relaxed);
    let watch = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        interrupted.store(true, Ordering::Relaxed);
    };
    let started = thread::Builder::new().name("parent".to_owned()).spawn(watch);
    started.map_err(|e| Failure::io(&format!("no thread can be started ({e})"), "check the limits"))?;
    Ok(())
}

fn code(report: &Report, sent: &Sent) -> u8 {
    match (report.complete, sent.failed) {
        (false, _) => transmit::CUT_SHORT,
        (true, 0) => 0,
        (true, _) => failure::IO,
    }
}

/// The control socket: the one that was named, or one of this process, by which the web service asks and switches.
fn control_path(args: &DeviceArgs) -> Option<PathBuf> {
    let own = || Path::new(MEMORY).join(memory::own_name("device", "ctl"));
    args.control.clone().or_else(|| args.http.map(|_| own()))
}

/// Starts the web service that `--http` asks for, with the faults that are its own.
fn serve(
    args: &DeviceArgs,
    control: Option<&Path>,
    faults: &[Planned],
    ring: Option<&Path>,
) -> Result<Option<Kept>, Failure> {
    let (Some(address), Some(ring)) = (args.http, ring) else { return Ok(None) };
    let mut options: Vec<OsString> = vec!["--listen".into(), address.to_string().into()];
    let mut add = |name: &str, value: &OsStr| options.extend([name.into(), value.to_owned()]);
    add("--seed", args.seed.to_string().as_ref());
    if let Some(time) = args.raw_time {
        add("--raw-time", format!("{}ms", time.as_millis()).as_ref());
    }
    for (name, file) in [("--control", control), ("--token-file", args.token_file.as_deref())] {
        file.iter().for_each(|file| add(name, file.as_ref()));
    }
    for kind in faults.iter().filter_map(|fault| misbehaviour(fault.kind)) {
        add("--misbehave", kind.as_ref());
    }
    if let Some(truth) = args.truth.as_ref().filter(|_| faults.iter().any(|f| f.kind.is_of_http())) {
        let mut name = truth.clone().into_os_string();
        name.push(".http");
        add("--truth", &name);
    }
    if let Some(dialect) = &args.http_dialect {
        add("--http-dialect", dialect.as_ref());
    }
    if args.http_normal_priority {
        options.push("--normal-priority".into());
    }
    let (service, url) = children::service(ring, &options)?;
    if !args.quiet {
        match args.http_dialect.as_deref() {
            Some("wled") => say(&format!("the state is at {url}/json/si")),
            _ => say(&format!("the ring is at {url}/v1/ring/raw")),
        }
    }
    Ok(Some(service))
}

/// What the web service calls a fault of its own.
fn misbehaviour(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::SlowEndpoint => Some("slow"),
        Kind::TruncatedDownload => Some("cut"),
        Kind::CorruptDownload => Some("corrupt"),
        Kind::GenerationInDownload => Some("generation"),
        Kind::RefusedDownload => Some("refuse"),
        _ => None,
    }
}

fn length(args: &DeviceArgs) -> Length {
    match (args.frames, args.duration) {
        (Some(frames), _) => Length::Frames(frames),
        (_, Some(time)) => Length::Time(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        _ => Length::Open,
    }
}

/// The device that was asked for.
fn setting(args: &DeviceArgs) -> Result<Setting, Failure> {
    let host = send::host();
    let cid = |name: &str| identity::derived(&host, &format!("device {} {name}", args.seed));
    let mut file = match &args.rig {
        Some(path) => device_file(path, args, &cid)?,
        None => DeviceFile { rig: default_rig(args.to, cid("pole-b")), faults: Vec::new() },
    };
    file.faults.extend(args.fault.iter().cloned());
    Ok(Setting {
        rig: file.rig,
        rate: args.rate,
        seed: args.seed,
        load_milli: args.load,
        preview: args.preview,
        profiler: !args.profiler_off,
        build: args.build.clone(),
        faults: file.faults,
        ring: RingPath::of(args).path().map(|path| path.display().to_string()),
    })
}

fn device_file(
    path: &Path,
    args: &DeviceArgs,
    cid: &dyn Fn(&str) -> wireproof_protocols::Cid,
) -> Result<DeviceFile, Failure> {
    let text = infile::text(path, FILE_MAX).map_err(|error| {
        Failure::io(&format!("{} cannot be read ({error})", path.display()), "check the path")
    })?;
    parse_file(&text, args.to, cid)
        .map_err(|problem| Failure::usage(&format!("{}, {problem}", path.display()), "see docs/device.md"))
}

/// Everything but the sockets. Nothing is written before the settings are known to go together.
fn engine(args: &DeviceArgs, setting: Setting, ring: Option<&Path>) -> Result<Engine<FileRing>, Failure> {
    let files = args.truth.as_deref().zip(output::file(args.output.as_deref()));
    if let Some((_, account)) =
        files.filter(|(truth, account)| truth == account || outfile::same_file(truth, account))
    {
        let what = format!("--truth and -o are both {}", account.display());
        return Err(Failure::usage(&what, "give one of them another name"));
    }
    Engine::<FileRing>::new(setting.clone(), None, Places::none(), Book::new(None))?;
    let maker = ring.map(|path| file_maker(path.to_owned(), args.records, args.ring_on_disk));
    let places = ring.map_or_else(Places::none, Places::beside);
    let book: Option<Box<dyn Write + Send>> = match &args.truth {
        None => None,
        Some(path) => Some(Box::new(File::create(path).map_err(|error| {
            let what = format!("{} cannot be written ({error})", path.display());
            Failure::io(&what, "check the folder and its rights")
        })?)),
    };
    Ok(Engine::new(setting, maker, places, Book::new(book))?)
}

/// The ring's file: named and kept, or a file of this process that goes with it.
struct RingPath {
    path: Option<PathBuf>,
    own: bool,
}

impl RingPath {
    fn of(args: &DeviceArgs) -> RingPath {
        let own = || Path::new(MEMORY).join(memory::own_name("device", "ring"));
        let path = if args.no_recorder { None } else { Some(args.ring.clone().unwrap_or_else(own)) };
        RingPath { path, own: args.ring.is_none() }
    }

    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn remove(&self) {
        if let Some(path) = self.path().filter(|_| self.own) {
            memory::remove_ring(path);
        }
    }
}

fn ways(rig: &Rig) -> Vec<Way> {
    let way = |output: &wireproof_fixture::device::OutputSetting| Way {
        to: output.setup.destination,
        // A capture of the loopback interface would show messages that nobody ever cuts.
        no_segmentation: output.setup.destination.is_none_or(|to| to.ip().is_loopback())
            || output.further.iter().any(|to| to.ip().is_loopback()),
        ..Way::default()
    };
    rig.outputs.iter().map(way).collect()
}

/// What is about to happen.
fn introduce(args: &DeviceArgs, setting: &Setting, ring: Option<&Path>) {
    for output in &setting.rig.outputs {
        let mut to = output.setup.destination.map_or("its multicast groups".to_owned(), |to| to.to_string());
        output.further.iter().for_each(|further| to.extend([", ", &further.to_string()]));
        say(&format!(
            "{} sends {} to {to}, {} octets a frame",
            output.name,
            output.protocol.name(),
            output.octets
        ));
    }
    match ring {
        Some(ring) => say(&format!("recording into {}", ring.display())),
        None => say("no recorder"),
    }
    if let Some(control) = &args.control {
        say(&format!("control at {}", control.display()));
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Encode(error) => error.into(),
            DeviceError::Ring(FileError::Writer(error)) => {
                Failure::usage(&error.to_string(), "change --records")
            }
            DeviceError::Ring(error) => {
                Failure::io(&error.to_string(), "see --ring in `wireproof device --help`")
            }
            DeviceError::Setting(text) => {
                Failure::usage(&text, "nothing was sent; see `wireproof device --help`")
            }
            DeviceError::Sockets(_) => Failure::io_line(&error),
        }
    }
}

impl Drop for RingPath {
    fn drop(&mut self) {
        self.remove();
    }
}
