//! What goes into the runner and what comes out of it: the whole border between the state machine and the world.
//!
//! The contract with whoever executes it (the conductor):
//! * `poll_output` hands out one [`Output`] at a time; the next one comes when it was answered with [`Input::Done`] and its
//!   ticket. The only exceptions are [`Command::Abort`] and [`Command::Exit`], which may come while another is open and
//!   are not answered.
//! * An aborted command is given up and answered with [`Failure::Aborted`]. Answers with an old ticket are ignored.
//! * A command that takes longer than `limit_ns` is answered with [`Failure::TimedOut`]; a second later the runner goes on
//!   as if it had been, and whatever comes then is too late.
//! * [`Command::Journal`] is answered only when the record is on disk (fsync). Everything that touches the device follows it.
//! * `StartWarmup`, `StartSettle` and `OpenWindow` are answered at once and then keep going; what they see comes as
//!   [`Input::Warming`] (one a second) and [`Input::Settling`] (every 100 to 250 ms). `StartDrain` is answered when the
//!   download began and ends with [`Input::Drained`], once, also when it failed or was cut off.
//! * All times are ns of one monotonic clock, that of `now`; the window is cut by capture timestamps, not by these.

use crate::arm::{Arm, ArmDrain, Measured, Place};
use crate::journal::{Record, Stored};
use crate::plan::Word;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of a command, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// Something to be done, and how long it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Comes back in the answer.
    pub ticket: Ticket,
    /// Longest it may take, ns.
    pub limit_ns: u64,
    /// What to do.
    pub command: Command,
}

/// What to do. The answer expected is named with each.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Append to the journal and fsync. [`Answer::Done`].
    Journal(Box<Record>),
    /// Take the lock and the lease, open sockets, look for streams, measure hold time, run the stall control.
    /// [`Answer::Preflight`].
    Preflight,
    /// Read the device's status. [`Answer::Status`].
    ReadStatus,
    /// Free space of the evidence folder. [`Answer::Space`].
    ReadSpace,
    /// Renew the lease of the device, if it has one; a failure means that somebody else holds it. [`Answer::Done`].
    RenewLease,
    /// Read what a factor stands at. [`Answer::Level`].
    ReadToggle {
        /// Factor.
        factor: String,
    },
    /// Set a factor, once. [`Answer::Done`].
    SetToggle {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// Read a factor once. [`Answer::Level`].
    VerifyToggle {
        /// Factor.
        factor: String,
        /// The level that is hoped for.
        level: String,
    },
    /// Read the counter of a toggle's effect, once. [`Answer::Counter`].
    ReadCounter {
        /// Factor.
        factor: String,
    },
    /// Leave the multicast groups and join them again (a membership may have been lost). [`Answer::Done`].
    Rejoin,
    /// Begin to report [`Input::Warming`]. [`Answer::Done`].
    StartWarmup,
    /// Begin to report [`Input::Settling`]; warming reports end. [`Answer::Done`].
    StartSettle,
    /// At least nine request/response samples, the smallest round trip kept. [`Answer::Clock`].
    SampleClock,
    /// Open files and reset counters of an arm. [`Answer::Done`].
    StartArm(Box<ArmOrder>),
    /// Begin the window: the answer says that it began. Settling reports end. [`Answer::Done`].
    OpenWindow,
    /// Begin a download (or a sham one). [`Answer::Done`], later [`Input::Drained`].
    StartDrain {
        /// Index in the plan of the arm.
        index: u32,
        /// What is downloaded.
        kind: DrainKind,
        /// Cut it off after this long, ns.
        timeout_ns: u64,
    },
    /// End the window. A download that is still going is cut off and reported. [`Answer::Done`].
    CloseWindow,
    /// Download the ring after the window. [`Answer::Collected`].
    Collect {
        /// 1, or 2 for the retry.
        attempt: u32,
    },
    /// Put together what the arm measured; the drains come back in it with device times. [`Answer::Measured`].
    Measure(Box<Around>),
    /// Write the files of an arm (`*.part`, fsync, rename, fsync of the folder). [`Answer::Kept`].
    KeepArm(Box<Arm>),
    /// Record which files of these arms go, and delete them; the totals of the streams stay. [`Answer::Done`].
    DropEvidence {
        /// Which.
        places: Vec<Place>,
    },
    /// Give up the arm that is going: close what `StartArm` opened. [`Answer::Done`].
    DropArm {
        /// Which.
        place: Place,
    },
    /// Analyse what is there, write summary, report and verdict, the record `sealed` and the manifest. [`Answer::Done`].
    Seal(Box<Ending>),
    /// Give up the command with this ticket; it is answered with [`Failure::Aborted`]. Not answered itself.
    Abort {
        /// Which.
        open: Ticket,
    },
    /// Leave. Not answered. Nothing follows.
    Exit(Box<Exit>),
}

/// What an arm is going to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmOrder {
    /// Where it stands.
    pub place: Place,
    /// Level of every factor.
    pub levels: BTreeMap<String, String>,
    /// Length of the window, ns.
    pub measure_ns: u64,
    /// Planned drains or sham windows, ns from the beginning of the window.
    pub drains_ns: Vec<u64>,
    /// What is downloaded at these times; `None`: nothing, they are sham windows.
    pub drain: Option<DrainKind>,
}

/// What was seen around a window, for whoever puts together what it measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// Clock samples before and after.
    pub clock: [Option<ClockSample>; 2],
    /// Status before and after.
    pub status: [Option<Status>; 2],
    /// Drains and sham windows as they went, on the clock of `now`. A sham window has no length here: it is as long as the
    /// block's downloads at the same place.
    pub drains: Vec<ArmDrain>,
}

/// What is downloaded inside a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrainKind {
    /// The raw ring of the device.
    Raw,
    /// As many octets from a local dummy server.
    Sham,
    /// Another path of the device.
    Path(String),
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A command was done, or not.
    Done {
        /// Its ticket.
        ticket: Ticket,
        /// What came of it.
        result: Result<Answer, Failure>,
    },
    /// One second of warm-up.
    Warming(Warming),
    /// How the streams stand while settling.
    Settling(Settling),
    /// A download ended.
    Drained {
        /// Its index.
        index: u32,
        /// How it went; times on the clock of `now`.
        drain: Box<ArmDrain>,
    },
    /// SIGINT, SIGTERM or SIGHUP.
    Signal,
    /// Writing evidence failed, or a thread died: stop, restore, seal what is there.
    Fault(Fault),
    /// Something the bench noticed inside an arm that does not spoil it, such as `tap_dropped`: a word, and a sentence.
    Noted {
        /// Code.
        code: String,
        /// One sentence.
        text: String,
    },
    /// Nothing but that time passed (`poll_timeout`).
    Tick,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It was done.
    Done,
    /// What the checks before the start found.
    Preflight(Box<Preflight>),
    /// The device's status.
    Status(Box<Status>),
    /// Free space, octets.
    Space(u64),
    /// What a factor stands at.
    Level {
        /// The level that shows it, if any does.
        level: Option<String>,
        /// The value as read.
        value: Word,
    },
    /// A counter.
    Counter(u64),
    /// The clocks.
    Clock(ClockSample),
    /// The ring was downloaded.
    Collected(Collected),
    /// What the arm measured.
    Measured(Box<Measured>),
    /// The files of an arm are on disk: path in the bundle to what lies there.
    Kept(BTreeMap<String, Stored>),
}

/// Why a command was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// It was given up on request.
    #[error("given up")]
    Aborted,
    /// It took too long.
    #[error("took too long")]
    TimedOut,
    /// The device did not answer, or refused for the moment: worth another try.
    #[error("the device did not answer: {0}")]
    Unreachable(String),
    /// It answered, and the answer is no good.
    #[error("{0}")]
    Refused(String),
    /// The bench could not write.
    #[error("writing failed: {0}")]
    Disk(String),
}

/// What stops a run from inside the bench.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Evidence could not be written.
    Disk(String),
    /// A thread ended or panicked.
    Internal(String),
}

/// What the checks before the start found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    /// Streams of the plan of which no datagram came.
    pub silent: Vec<String>,
    /// Receive buffers.
    pub buffers: Vec<Buffer>,
    /// What the stall control lost and how much of it was reported as the observer's; `None`: it could not be run.
    pub stall: Option<StallControl>,
    /// Free space, octets.
    pub free_bytes: u64,
    /// Who holds the lock or the lease, if somebody else does.
    pub held_by: Option<String>,
    /// An unrestored journal of the same target: its bundle.
    pub unrestored: Option<String>,
    /// Addresses that could not be bound, with the error.
    pub taken: Vec<String>,
    /// How long the ring keeps a record, ns; `None` without a ring.
    pub retention_ns: Option<u64>,
}

/// A receive buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Stream.
    pub stream: String,
    /// Asked for, octets (as the kernel reports it: doubled).
    pub asked_bytes: u64,
    /// Got, octets.
    pub got_bytes: u64,
    /// How long it holds at the rate of the stream, ns.
    pub hold_ns: u64,
    /// What raises the limit, such as `sysctl -w net.core.rmem_max=8388608`.
    pub remedy: String,
}

/// What the deliberate stall of a private socket pair showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallControl {
    /// Datagrams that were lost.
    pub lost: u64,
    /// Of them, reported as the observer's.
    pub reported: u64,
}

/// The device's status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Values of `target.require`; a missing key is left out.
    pub values: BTreeMap<String, Word>,
    /// Build of its software; empty if it names none.
    pub build: String,
    /// Boot id or start time, as a word; empty if it has none.
    pub boot: String,
    /// Generation of its ring; 0 without a ring.
    pub generation: u64,
    /// `throttled` flags, if it has them.
    pub throttled: Option<u64>,
    /// Frames in a thousand seconds by its own account, if a profile says where.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fps_mhz: Option<u64>,
}

/// One second of warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warming {
    /// Frames a million seconds, from the wire.
    pub rate_uhz: u64,
    /// Median frame time from the ring, ns, if read.
    pub p50_ns: Option<u64>,
}

/// How the streams stood over the last two seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settling {
    /// How far the frame rate is from the expected, ppm; `None` until two seconds were seen.
    pub rate_off_ppm: Option<u64>,
    /// Sequence gaps.
    pub gaps: u64,
    /// Generation of the ring; 0 without a ring.
    pub generation: u64,
}

/// Device clock against bench clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSample {
    /// Device minus bench, ns.
    pub offset_ns: i64,
    /// Half of the smallest round trip, ns.
    pub error_ns: u64,
}

/// What a collecting download brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Octets received.
    pub bytes: u64,
    /// True when records of the window had been overwritten.
    pub wrapped: bool,
    /// True when the copy was made before the window had ended, because the device answers with one that it had.
    #[serde(default)]
    pub stale: bool,
    /// True when the window's records were still in the device when the download ended, so that a retry is worth it.
    pub still_there: bool,
    /// True when it parsed as a ring.
    pub whole: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// In what state.
    pub outcome: Outcome,
    /// Why, one line each.
    pub reasons: Vec<String>,
    /// False when a factor could not be put back.
    pub restored: bool,
}

/// In what state a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every block counts; the gates decide.
    Complete,
    /// Fewer than all blocks.
    Partial,
    /// The measurement says nothing about the device.
    Invalid,
    /// It did not start.
    Refused,
}

/// The last word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// How it ended.
    pub ending: Ending,
    /// Exit code; `None`: the verdict's own.
    pub code: Option<u8>,
    /// Lines for the terminal; the exact restore command when something was not put back.
    pub lines: Vec<String>,
}
