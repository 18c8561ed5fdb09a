//! `wireproof device-service`: the web service of the simulated device, as a process of its own.

use super::failure::Failure;
use super::output;
use clap::Args;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use wireproof_fixture::service::{Dialect, Misbehave, Options, Service, ServiceError};

/// Longest that a raw download is stretched: responses end after 20 s.
const RAW_TIME_MAX: Duration = Duration::from_secs(10);

/// What the service is started with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof device-service /dev/shm/ring --listen 127.0.0.1:8080
  wireproof device-service /dev/shm/ring --misbehave cut:30 --misbehave liar --truth truth.jsonl

Prints the URL it listens on. `wireproof device --http` starts it for its own ring.")]
pub(super) struct DeviceServiceArgs {
    /// The ring to hand out; it is never written
    #[arg(value_name = "RING")]
    ring: PathBuf,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Token that toggles need: one line in a file with mode 0600; without it there are no toggles
    #[arg(long, value_name = "FILE", requires = "control")]
    token_file: Option<PathBuf>,
    /// Control socket of the engine
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,
    /// Plant a fault: slow, cut, corrupt, length, crc, generation, liar, refuse; :PERCENT of the answers
    #[arg(long, value_name = "KIND[:PERCENT]")]
    misbehave: Vec<Misbehave>,
    /// Seed of the faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Append each planted fault here, one JSON object a line
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Let a raw download take so long at least, as on the way to a real device
    #[arg(long, value_name = "TIME", value_parser = super::quantity::time)]
    raw_time: Option<Duration>,
    /// Speak another controller's words: field, wled. WLED's API knows no token: whoever reaches it can switch
    #[arg(long, value_name = "DIALECT", default_value = "wireproof")]
    http_dialect: Dialect,
    /// Run at the ordinary priority instead of SCHED_IDLE and nice 19
    #[arg(long)]
    normal_priority: bool,
    /// End when standard input closes, as it does when the process that started this one ends
    #[arg(long)]
    with_parent: bool,
}

/// Serves until ended.
pub(super) fn run(args: DeviceServiceArgs) -> Result<u8, Failure> {
    let options = Options {
        token_file: args.token_file,
        control: args.control,
        misbehave: args.misbehave,
        seed: args.seed,
        truth: args.truth,
        raw_time: args.raw_time.unwrap_or_default().min(RAW_TIME_MAX),
        dialect: args.http_dialect,
        idle: !args.normal_priority,
        ..Options::new(args.ring, args.listen)
    };
    let service = Service::start(options).map_err(|error| match error {
        ServiceError::Listen(..) => Failure::io(&error.to_string(), "choose another --listen address"),
        error => Failure::io_line(&error),
    })?;
    output::write(None, |out| {
        writeln!(out, "http://{}", service.address())?;
        Ok(out.flush()?)
    })?;
    if args.with_parent {
        // What the parent says does not matter, only that it is there.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        service.stop();
        return Ok(0);
    }
    loop {
        std::thread::park();
    }
}
