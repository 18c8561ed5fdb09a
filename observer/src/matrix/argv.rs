//! Programs that set or read a factor: in a process group of their own, so that a Ctrl-C at the terminal does not end
//! the `ssh` that restores the device; with a time limit that ends the whole group, and a bounded answer.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Most octets kept of each of the two outputs.
pub const KEPT: usize = 64 << 10;
/// Time between two looks at the program.
const LOOK: Duration = Duration::from_millis(5);
/// How long the outputs are waited for when the program has ended: something it started may hold them open.
const REST: Duration = Duration::from_millis(500);

/// Programs of this process that run.
static GOING: AtomicUsize = AtomicUsize::new(0);

/// One of [`GOING`].
struct Counted;

impl Counted {
    fn new() -> Counted {
        GOING.fetch_add(1, Ordering::SeqCst);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        GOING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until no program runs any more, for half a second at most: one that was given up is killed by a thread that would
/// end with this process before it does.
pub fn settle() {
    let began = Instant::now();
    while GOING.load(Ordering::SeqCst) > 0 && began.elapsed() < REST {
        thread::sleep(LOOK);
    }
}

/// What a program left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Standard output, cut at [`KEPT`].
    pub output: Vec<u8>,
    /// Standard error, cut at [`KEPT`].
    pub errors: Vec<u8>,
}

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// It cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It did not end in time; its process group was killed.
    #[error("{0} did not end in time and was killed")]
    TimedOut(String),
    /// It was given up; its process group was killed.
    #[error("{0} was given up")]
    GivenUp(String),
    /// It said no.
    #[error("{program} ended with {status}{said}")]
    Failed {
        /// Its name.
        program: String,
        /// Exit code or signal.
        status: String,
        /// The last line of its standard error.
        said: String,
    },
}

/// Runs a program without a shell and waits for its end; a `give_up` that becomes true ends it.
///
/// # Errors
/// [`NotRun`]; nothing of its process group runs on then.
pub fn run(argv: &[String], limit: Duration, give_up: &AtomicBool) -> Result<Ran, NotRun> {
    let _counted = Counted::new();
    let program = argv.first().cloned().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(argv.get(1..).unwrap_or_default()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| NotRun::Start { program: program.clone(), source })?;
    let output = child.stdout.take().map(gather);
    let errors = child.stderr.take().map(gather);
    let began = Instant::now();
    let status = loop {
        if let Ok(Some(status)) = child.try_wait() {
            break status;
        }
        let stop = give_up.load(Ordering::Relaxed);
        if stop || began.elapsed() >= limit {
            end(&mut child);
            return Err(if stop { NotRun::GivenUp(program) } else { NotRun::TimedOut(program) });
        }
        thread::sleep(LOOK);
    };
    let taken = |from: Option<Receiver<Vec<u8>>>| {
        from.and_then(|from| from.recv_timeout(REST).ok()).unwrap_or_default()
    };
    let ran = Ran { output: taken(output), errors: taken(errors) };
    if status.success() {
        return Ok(ran);
    }
    Err(NotRun::Failed { program, status: status.to_string(), said: last_line(&ran.errors) })
}

/// Kills the whole group and waits for its leader.
fn end(child: &mut Child) {
    if let Some(group) = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)) {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads to the end on a thread of its own, keeps the beginning.
fn gather(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (give, take) = channel();
    let read = move || {
        let mut kept = Vec::new();
        // What was read before an error counts.
        let _ = from.by_ref().take(KEPT as u64).read_to_end(&mut kept);
        let _ = give.send(kept);
        let _ = io::copy(&mut from, &mut io::sink());
    };
    // Without a thread nobody answers, which reads as no output.
    let _ = thread::Builder::new().name("toggle-output".to_owned()).spawn(read);
    take
}

fn last_line(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    let line: String = text.trim_end().lines().next_back().unwrap_or_default().chars().take(200).collect();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(script: &str, limit: Duration, give_up: &AtomicBool) -> Result<Ran, NotRun> {
        run(&["sh", "-c", script].map(str::to_owned), limit, give_up)
    }

    #[test]
    fn what_a_program_says_is_kept_up_to_the_limit_and_it_still_ends() {
        let ran = sh("head -c 300000 /dev/zero; echo oh >&2", LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!((ran.output.len(), ran.errors.as_slice()), (KEPT, &b"oh\n"[..]));
    }

    #[test]
    fn a_program_that_says_no_is_an_error_with_its_last_words() {
        let error =
            sh("echo a >&2; echo no such host >&2; exit 3", LONG, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(error.to_string(), "sh ended with exit status: 3: no such host");
        let none = run(&["/nowhere/at/all".to_owned()], LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(none.to_string().starts_with("/nowhere/at/all cannot be started"), "{none}");
    }

    #[test]
    fn one_that_takes_too_long_is_killed_with_everything_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("held");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        // The grandchild holds the pipe open for writing until it is killed; reading it to its end waits for that.
        let script = format!("sleep 1000 > {} & cat /dev/zero > /dev/null", fifo.display());
        let reader = thread::spawn(move || std::fs::read(fifo).unwrap());
        let error = sh(&script, Duration::from_millis(300), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, NotRun::TimedOut(_)), "{error}");
        assert_eq!(reader.join().unwrap(), Vec::<u8>::new());
    }

    #[test]
    fn one_that_is_given_up_is_killed_at_once() {
        let error = sh("sleep 1000", LONG, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(error, NotRun::GivenUp(_)), "{error}");
    }
}
