//! The processes of a run: the device with its web service on one processor, an observer that receives everything on the
//! other. All end with this program.

use super::Outcome;
use super::options::Options;
use crate::load::sys;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Ports of BigPacket, sACN and DDP.
const PORTS: [u16; 3] =
    [wireproof_protocols::bigpacket::PORT, wireproof_protocols::sacn::PORT, wireproof_protocols::ddp::PORT];
/// Longest that something may take to start or to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A process that does not outlive this value: its input closes, and it is killed.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A device, its web service and its observer.
pub(crate) struct Rig {
    device: Kept,
    observe: Option<Kept>,
    folder: PathBuf,
    /// `HOST:PORT` of the web service.
    pub(crate) authority: String,
    control: UnixDatagram,
}

impl Rig {
    /// Starts them; the device shows its first frame when everything listens.
    pub(crate) fn start(options: &Options, load: &str) -> Outcome<Rig> {
        let folder = Path::new("/dev/shm").join(format!("wireproof-effect-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        // What is started here stays here, and so does what it starts.
        stay_on(options.device_cpu)?;
        let started = device(&folder, load);
        stay_on(options.bench_cpu)?;
        let (mut device, authority) = started?;
        let observe = observe(&folder)?;
        listening()?;
        if let Some(stdin) = &mut device.0.stdin {
            stdin.write_all(b"go\n")?;
        }
        let control = UnixDatagram::bind(folder.join("asker"))?;
        control.connect(folder.join("control"))?;
        control.set_read_timeout(Some(PATIENCE))?;
        Ok(Rig { device, observe: Some(observe), folder, authority, control })
    }

    /// The ring's file.
    pub(crate) fn ring(&self) -> PathBuf {
        self.folder.join("ring")
    }

    /// Process of the engine, whose first thread is the engine's.
    pub(crate) fn engine(&self) -> u32 {
        self.device.0.id()
    }

    /// Asks the engine.
    pub(crate) fn ask(&self, request: &str) -> Outcome<String> {
        self.control.send(request.as_bytes())?;
        let mut buffer = [0; 4096];
        let n = self.control.recv(&mut buffer)?;
        let text = String::from_utf8_lossy(buffer.get(..n).unwrap_or_default()).into_owned();
        match text.strip_prefix("ok ") {
            Some(said) => Ok(said.to_owned()),
            None => Err(format!("the device answered {request:?} with {text:?}").into()),
        }
    }

    /// Ends device and observer; what each of them says about the whole run.
    pub(crate) fn end(mut self) -> Outcome<(Value, Value)> {
        self.ask("shutdown")?;
        self.device.0.wait()?;
        thread::sleep(Duration::from_millis(500));
        if let Some(mut observe) = self.observe.take() {
            Command::new("kill").arg("-INT").arg(observe.0.id().to_string()).status()?;
            observe.0.wait()?;
        }
        let json = |name: &str| -> Outcome<Value> {
            Ok(serde_json::from_str(&fs::read_to_string(self.folder.join(name))?)?)
        };
        Ok((json("device.json")?, json("summary.json")?))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Nothing is left in memory, whatever happened.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ties the calling thread, and what it starts, to a processor.
pub(crate) fn stay_on(cpu: usize) -> Outcome<()> {
    sys::stay_on(cpu).map_err(|error| {
        format!("processor {cpu} cannot be used ({error}): set OBSERVER_EFFECT_DEVICE_CPU and _BENCH_CPU")
            .into()
    })
}

fn wireproof() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wireproof"))
}

/// The device, waiting for a word, and where its web service is.
fn device(folder: &Path, load: &str) -> Outcome<(Kept, String)> {
    let mut command = wireproof();
    command.args(["device", "--with-parent", "--format", "json", "--http", "127.0.0.1:0", "--load", load]);
    command.arg("--ring").arg(folder.join("ring")).arg("-o").arg(folder.join("device.json"));
    command.arg("--control").arg(folder.join("control")).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut device = Kept(command.spawn()?);
    let said = device.0.stderr.take().ok_or("the device says nothing")?;
    let mut lines = BufReader::new(said).lines();
    let url = lines.by_ref().find_map(|line| line.ok()?.split_once("http://").map(|(_, url)| url.to_owned()));
    let url = url.ok_or("the device did not say where its ring is")?;
    // What it says later is nothing to wait for.
    thread::spawn(move || lines.for_each(drop));
    Ok((device, url.split('/').next().unwrap_or_default().to_owned()))
}

fn observe(folder: &Path) -> Outcome<Kept> {
    let mut command = wireproof();
    command.args(["observe", "--format", "json", "--exit-zero", "--udp"]);
    command.args(PORTS.map(|port| format!("127.0.0.1:{port}"))).arg("-o").arg(folder.join("summary.json"));
    Ok(Kept(command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?))
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
            if began.elapsed() > PATIENCE {
                return Err(format!("port {port} was never listened to").into());
            }
            thread::sleep(LOOK);
        }
    }
    Ok(())
}
