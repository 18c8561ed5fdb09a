//! The folder of a soak: what stands between two runs, written whole after each window, and the tapes of the windows that are
//! kept. One process at a time.

use crate::cli::args::ObserveArgs;
use crate::cli::failure::{Failure, INTEGRITY};
use crate::{infile, outfile};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::soak::{Rule, Soak, State};
use wireproof_reports::soak::Memory;
use wireproof_reports::{Filter, Terms};

/// Name and version of the file.
const SCHEMA: &str = "wireproof.soak-state/1";
/// Longest file that is read, octets: the machine and its memory are bounded.
const LONGEST: u64 = 64 << 20;

/// Where a soak stands.
pub(super) struct Standing {
    /// The machine.
    pub(super) soak: Soak,
    /// What goes with it.
    pub(super) memory: Memory,
    /// Which run this is, from 1.
    pub(super) runs: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    identity: Vec<String>,
    window_ns: u64,
    runs: u64,
    soak: State,
    memory: Memory,
}

/// A folder that this process alone writes.
pub(super) struct Folder {
    path: PathBuf,
    identity: Vec<String>,
    window_ns: u64,
    _lock: File,
}

/// What two runs of one soak have in common: what is listened to, and what it is held to.
pub(super) fn identity(args: &ObserveArgs, terms: &Terms) -> Vec<String> {
    let options = &terms.options;
    let rig = options.rig.as_ref().map(|rig| Digest::of(format!("{rig:?}").as_bytes()).short());
    let mut lines = vec![
        format!("rig {}", rig.as_deref().unwrap_or("none")),
        format!("strict {}", options.strict),
        format!("filter {}", terms.filter.as_ref().map_or("none", Filter::text)),
        format!("waivers {}", Digest::of(format!("{:?}", terms.waivers).as_bytes()).short()),
        format!("layouts {}", Digest::of(format!("{:?}", options.layouts).as_bytes()).short()),
        format!("interfaces {}", args.interface.join(" ")),
        format!("ports {:?}", args.ports),
        format!("join {:?}", args.join.as_ref().map(|join| &join.0)),
    ];
    let sockets = args.udp.iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
    lines.push(format!("sockets {}", sockets.join(" ")));
    lines
}

impl Folder {
    /// Opens or makes the folder, and reads where its soak stands.
    ///
    /// # Errors
    /// Another process has it; its soak is over or was begun otherwise; what lies in it cannot be read or believed.
    pub(super) fn open(
        path: &Path,
        rule: &Rule,
        identity: &[String],
        window: Duration,
    ) -> Result<(Folder, Standing), Failure> {
        let refused = |error: &io::Error| {
            let what = format!("{} cannot be used for the soak ({error})", path.display());
            Failure::io(&what, "check the folder, its rights and the space on the disk")
        };
        fs::create_dir_all(path.join("windows")).map_err(|e| refused(&e))?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"));
        let lock = lock.map_err(|e| refused(&e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!("{} is another process's soak", path.display());
                return Err(Failure::io(&what, "wait for it, or give --soak another folder"));
            }
            Err(TryLockError::Error(error)) => return Err(refused(&error)),
        }
        let window_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        let folder = Folder { path: path.to_owned(), identity: identity.to_vec(), window_ns, _lock: lock };
        let standing = match folder.read()? {
            Some(stored) => folder.go_on(rule, stored)?,
            None => folder.begin(rule)?,
        };
        folder.keep(&standing)?;
        Ok((folder, standing))
    }

    fn begin(&self, rule: &Rule) -> Result<Standing, Failure> {
        let soak = Soak::new(rule.clone()).map_err(|error| self.otherwise(&error.to_string()))?;
        Ok(Standing { soak, memory: Memory::default(), runs: 1 })
    }

    fn go_on(&self, rule: &Rule, stored: Stored) -> Result<Standing, Failure> {
        let changed = stored.identity.iter().zip(&self.identity).find(|(then, now)| then != now);
        if let Some((then, now)) = changed {
            return Err(self.otherwise(&format!("it was begun with {then}, this is {now}")));
        }
        if stored.window_ns != self.window_ns {
            let seconds = Duration::from_nanos(stored.window_ns).as_secs_f64();
            return Err(self.otherwise(&format!("it was begun with windows of {seconds} s")));
        }
        let soak = Soak::resume(rule, stored.soak).map_err(|error| self.otherwise(&error.to_string()))?;
        if soak.state().ended.is_some() {
            return Err(self.otherwise(&format!("it is over: {}", soak.sentence())));
        }
        Ok(Standing { soak, memory: stored.memory, runs: stored.runs.saturating_add(1) })
    }

    fn otherwise(&self, why: &str) -> Failure {
        Failure::usage(&format!("the soak in {}: {why}", self.path.display()), "give --soak another folder")
    }

    fn read(&self) -> Result<Option<Stored>, Failure> {
        let path = self.state();
        let odd = |why: String| Failure::Said {
            code: INTEGRITY,
            text: format!(
                "{} is not the state of a soak ({why}): give --soak another folder",
                path.display()
            ),
        };
        let file = match infile::open_regular(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(odd(error.to_string())),
        };
        let mut text = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut text).map_err(|error| odd(error.to_string()))?;
        if text.len() as u64 > LONGEST {
            return Err(odd(format!("over {LONGEST} octets")));
        }
        let stored: Stored = serde_json::from_slice(&text).map_err(|error| odd(error.to_string()))?;
        match stored.schema.as_str() {
            SCHEMA => Ok(Some(stored)),
            other => Err(odd(format!("schema {:?}", other.chars().take(40).collect::<String>()))),
        }
    }

    fn state(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// Writes where the soak stands: the file of before or this one, whatever happens meanwhile.
    pub(super) fn keep(&self, standing: &Standing) -> Result<(), Failure> {
        let stored = Stored {
            schema: SCHEMA.to_owned(),
            identity: self.identity.clone(),
            window_ns: self.window_ns,
            runs: standing.runs,
            soak: standing.soak.state().clone(),
            memory: standing.memory.clone(),
        };
        let written = outfile::write(&self.state(), |out: &mut dyn Write| -> io::Result<()> {
            serde_json::to_writer_pretty(&mut *out, &stored)?;
            out.write_all(b"\n")
        });
        written.map_err(|error| {
            let what = format!("{} cannot be written ({error})", self.state().display());
            Failure::io(&what, "make room on the disk; the same command goes on from the window before")
        })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The tape of a window.
    pub(super) fn tape(&self, number: u64) -> PathBuf {
        self.path.join("windows").join(format!("{number:06}.tape"))
    }

    /// Octets of the evidence of a window.
    pub(super) fn size(&self, number: u64) -> u64 {
        fs::metadata(self.tape(number)).map_or(0, |about| about.len())
    }

    /// Drops the evidence of a window; what cannot be dropped is dropped by nobody and only takes room.
    pub(super) fn discard(&self, number: u64) {
        let _ = fs::remove_file(self.tape(number));
    }
}
