//! `wireproof ring fetch`: a ring from a device's web service, verified before it has its name.

use super::args::FetchArgs;
use super::convert::manifest::RingFacts;
use super::convert::pack::{self, Listed};
use super::convert::{beside, writer};
use crate::cli::failure::{Failure, INTEGRITY};
use crate::cli::{output, say, transmit};
use crate::live::drain::{DrainUrl, Single, SingleError, single};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use wireproof_recorder::layout::{MAX_CAPACITY, file_bytes};
use wireproof_recorder::offset::Exchange;

const SCHEMA: &str = "wireproof.fetch/1";
/// Time between two pictures of the progress.
const REDRAW: Duration = Duration::from_millis(100);

/// The manifest beside the file; keys in this order.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    tool: &'static str,
    tool_version: &'static str,
    /// Without user and password.
    url: String,
    started_ns: i64,
    ended_ns: i64,
    attempts: u32,
    resumed: u32,
    files: &'a [Listed],
    /// Null for a legacy ring, which says nothing about itself and was not verified.
    ring: Option<RingFacts>,
    /// Readings of both clocks; null where the server gives none.
    clock: Option<Clocks>,
}

/// An exchange of clocks: the bench's wall clock, the device's monotonic one.
#[derive(Debug, Serialize)]
struct Clocks {
    asked_ns: i64,
    received_ns: i64,
    sent_ns: i64,
    answered_ns: i64,
}

impl From<Exchange> for Clocks {
    fn from(e: Exchange) -> Self {
        Clocks {
            asked_ns: e.asked_ns,
            received_ns: e.received_ns,
            sent_ns: e.sent_ns,
            answered_ns: e.answered_ns,
        }
    }
}

/// Runs the verb.
pub(super) fn run(args: &FetchArgs) -> Result<u8, Failure> {
    if args.output.as_os_str() == "-" {
        let what = "a ring is written to a file, which is whole or absent";
        return Err(Failure::usage(what, "give -o a file name"));
    }
    let url = url(args)?;
    let stop = transmit::interrupts()?;
    let mut bar = Bar::new(!args.quiet && io::stderr().is_terminal());
    let limit = file_bytes(MAX_CAPACITY);
    let got = single(&url, &args.output, limit, args.timeout, &stop, &mut |now, whole| bar.show(now, whole));
    bar.clear();
    let got = got.map_err(|error| failure(&url, &args.output, error))?;
    if let Some((refusal, kept)) = &got.refused {
        let kept = kept.as_ref().map_or(String::new(), |path| format!(", it is kept as {}", path.display()));
        say(&format!("a first copy was refused ({refusal}){kept}"));
    }
    write_beside(args, &url, &got)?;
    if !args.quiet {
        say(&line(&args.output, &got));
    }
    Ok(0)
}

/// The URL with its token.
fn url(args: &FetchArgs) -> Result<DrainUrl, Failure> {
    let url: DrainUrl = args.url.parse().map_err(|e| Failure::usage("URL", &format!("{e}")))?;
    let Some(name) = &args.token_env else { return Ok(url) };
    if url.has_user() {
        return Err(Failure::usage("the URL has a user name and --token-env is given", "give one of them"));
    }
    let token = std::env::var(name).ok().filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| {
        let what = format!("the environment variable {name:?} of --token-env is not set, or is no text");
        Failure::usage(&what, "export it, it holds the token")
    })?;
    url.with_bearer(&token).map_err(|e| Failure::usage(&format!("--token-env {name}"), &e.to_string()))
}

fn failure(url: &DrainUrl, path: &Path, error: SingleError) -> Failure {
    match error {
        SingleError::Failed(why) => Failure::io(
            &format!("{url} was not downloaded ({why})"),
            "check the address, and that the service of the device runs",
        ),
        SingleError::Interrupted => Failure::io(
            &format!("{url} was not downloaded (interrupted)"),
            "nothing was written, start it again",
        ),
        SingleError::File(error) => Failure::io(
            &format!("{} cannot be written ({error})", path.display()),
            "check the folder, its rights and the space on the disk",
        ),
        SingleError::Refused { refusal, kept } => {
            let kept = kept.map_or(String::new(), |kept| format!("; it is kept as {}", kept.display()));
            let text = format!("what {url} gave is refused, {refusal}: {}{kept}", refusal.advice());
            Failure::Said { code: INTEGRITY, text }
        }
    }
}

/// Manifest and checksum.
fn write_beside(args: &FetchArgs, url: &DrainUrl, got: &Single) -> Result<(), Failure> {
    let name = pack::name(&args.output);
    let sum = format!("{}  {name}\n", got.sha256);
    let files = [Listed { role: "ring", name, size: got.bytes, sha256: got.sha256.clone() }];
    if !args.no_manifest {
        let manifest = Manifest {
            schema: SCHEMA,
            tool: "wireproof",
            tool_version: env!("CARGO_PKG_VERSION"),
            url: url.to_string(),
            started_ns: got.started_ns,
            ended_ns: got.ended_ns,
            attempts: got.attempts,
            resumed: got.resumed,
            files: &files,
            ring: got.ring.as_ref().map(|(image, ring)| RingFacts::new(ring, &writer(image, ring))),
            clock: got.exchange.map(Clocks::from),
        };
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?;
        text.push(b'\n');
        output::write(Some(&beside(&args.output, ".manifest.json")), |out| Ok(out.write_all(&text)?))?;
    }
    if args.checksum {
        output::write(Some(&beside(&args.output, ".sha256")), |out| Ok(out.write_all(sum.as_bytes())?))?;
    }
    Ok(())
}

fn line(path: &Path, got: &Single) -> String {
    let worth = match &got.ring {
        None => "a legacy ring, not verified: see --map of ring verify".to_owned(),
        Some((_, ring)) => {
            let stamped = if ring.stamped { "" } else { ", not stamped" };
            format!("{} whole frames of generation {}{stamped}", ring.frames.len(), ring.generation)
        }
    };
    let ms = got.ended_ns.saturating_sub(got.started_ns) / 1_000_000;
    let how = match (got.attempts, got.resumed) {
        (..=1, 0) => String::new(),
        (attempts, 0) => format!(", in {attempts} attempts"),
        (_, resumed) => format!(", gone on with {resumed} times"),
    };
    format!("{}: {} octets in {ms} ms{how}, {worth}", path.display(), got.bytes)
}

/// Progress on a terminal, and nowhere else.
struct Bar {
    is_terminal: bool,
    drawn: Option<Instant>,
}

impl Bar {
    fn new(is_terminal: bool) -> Self {
        Bar { is_terminal, drawn: None }
    }

    fn show(&mut self, now: u64, whole: Option<u64>) {
        if !self.is_terminal || self.drawn.is_some_and(|at| at.elapsed() < REDRAW) {
            return;
        }
        let mb = |octets: u64| octets as f64 / 1e6;
        let of = whole.map_or(String::new(), |whole| format!(" of {:.1}", mb(whole)));
        // A terminal that is gone is nothing to end a download for.
        let _ = write!(io::stderr(), "\r\x1b[K{:.1}{of} MB", mb(now));
        self.drawn = Some(Instant::now());
    }

    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
