//! Putting a run together: a new bundle, or one that goes on; then conducting it, with the device put back whatever happens.

use super::argv;
use super::bundle::{Bundle, BundleError, BundleLock, NewBundle, TargetLock, Writer, estimate, lock_folder};
use super::clock::{BenchClock, wall_ns};
use super::conductor::{Conductor, Parts, Seen};
use super::device::{Device, NoDevice};
use super::env::tool;
use super::evidence::Evidence;
use super::restoring::{Restored, restore};
use super::schedule::{order_json, schedule};
use super::signals::Caught;
use super::soaking::run_by;
use super::wire::{self, NoWire};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wireproof_matrices::journal::{DeviceId, Record};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::resume::ResumeError;
use wireproof_matrices::runner::io::{Exit, Failure};
use wireproof_matrices::runner::{Left, Runner, Start};
use wireproof_matrices::soak::{NoSoak, Rule, course};

/// What a new run is made from.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The plan as it was given.
    pub text: &'a [u8],
    /// The profile as it was given, of a plan that names a file.
    pub profile: Option<&'a [u8]>,
    /// True when the hash was given beforehand.
    pub pre_registered: bool,
    /// What a soak is to show; `None` of a matrix.
    pub soak: Option<&'a Rule>,
    /// Interface whose datagrams are tapped beside the sockets.
    pub tap: Option<&'a str>,
}

/// A run that has a bundle and did not begin.
pub struct Ready {
    parts: Parts,
    bundle: PathBuf,
    /// Kept so that signals are caught as long as the run is.
    caught: Caught,
}

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum NoRun {
    /// The bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The device cannot be spoken to.
    #[error(transparent)]
    Device(#[from] NoDevice),
    /// A tap cannot be had.
    #[error("{0}; nothing was sent")]
    Tap(#[from] NoWire),
    /// The device does not answer.
    #[error("the device cannot be asked who it is: {0}")]
    Silent(Failure),
    /// The plan cannot be soaked.
    #[error(transparent)]
    Soak(#[from] NoSoak),
    /// Threads, sockets or signals.
    #[error("the run cannot be started: {0}")]
    System(#[from] io::Error),
}

/// A run that ended.
#[derive(Debug)]
pub struct Ended {
    /// The runner's last word; `None` when the program itself failed.
    pub exit: Option<Exit>,
    /// What was put back after the program failed.
    pub rescued: Option<Result<Restored, String>>,
    /// The bundle.
    pub bundle: PathBuf,
}

/// Makes the bundle of a new run.
///
/// # Errors
/// [`NoRun`]; nothing was sent then.
pub fn prepare(new: &New<'_>, evidence: &Path) -> Result<Ready, NoRun> {
    let New { plan: frozen, text, profile, pre_registered, soak, tap } = *new;
    may_tap(frozen, tap)?;
    let plan = match soak {
        Some(rule) => course(frozen, rule)?,
        None => frozen.clone(),
    };
    let plan = Arc::new(plan);
    let device = Device::of(Arc::clone(&plan))?;
    let caught = Caught::start()?;
    let arms = match soak {
        Some(Rule { disk, .. }) => u64::from(disk.clean.saturating_add(disk.invalid).saturating_add(2)),
        None => schedule(&plan).places().len() as u64,
    };
    let writer = Writer::create(
        evidence,
        &NewBundle {
            at_ns: wall_ns(),
            plan: frozen,
            plan_toml: text,
            profile_toml: profile,
            order: &order_json(&plan),
            pre_registered,
            tool: &tool(),
            estimate: estimate(&plan, arms, tap.is_some()),
            soak,
        },
    )?;
    let start = start(&plan, &writer)?;
    let clock = BenchClock::start();
    let runner = Runner::new(start, clock.now());
    let evidence = Evidence::of(writer, &plan.target.base_url, schedule(&plan))?;
    Ok(ready(plan, evidence, device, (runner, clock), caught).with_tap(tap))
}

/// Opens the tap once, so that a right that is missing is told before anything is sent.
fn may_tap(plan: &Plan, tap: Option<&str>) -> Result<(), NoRun> {
    tap.map(|interface| wire::open_tap(plan, interface)).transpose()?;
    Ok(())
}

/// Takes a cut run up again, if the same device answers. The locks of bundle and device are held before anything is
/// written.
///
/// # Errors
/// [`NoRun`]; nothing was changed then.
pub fn take_up(bundle: BundleLock, tap: Option<&str>) -> Result<Ready, NoRun> {
    let plan = Arc::new(run_by(&Bundle::open(bundle.dir())?)?);
    let holder = bundle.dir().display().to_string();
    let lock = TargetLock::take(&lock_folder(), &plan.target.base_url, &holder)?;
    may_tap(&plan, tap)?;
    let device = Device::of(Arc::clone(&plan))?;
    let caught = Caught::start()?;
    let status = ask(&device)?;
    let (writer, entries) = Writer::resume_locked(bundle, status)?;
    let left = Left::of(&schedule(&plan), &entries).map_err(BundleError::from)?;
    let start = start(&plan, &writer)?;
    let clock = BenchClock::start();
    let runner = Runner::resume(start, left, clock.now());
    let evidence = Evidence::under(lock, writer, &plan.target.base_url, schedule(&plan));
    Ok(ready(plan, evidence, device, (runner, clock), caught).with_tap(tap))
}

fn ask(device: &Device) -> Result<DeviceId, NoRun> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let told = runtime.block_on(device.status(&wall_ns)).map_err(NoRun::Silent)?;
    Ok(DeviceId { build: told.status.build, boot_id: told.status.boot })
}

fn start(plan: &Plan, writer: &Writer) -> Result<Start, NoRun> {
    let first: Option<&Record> = writer.first();
    let first = first.cloned().ok_or(BundleError::from(ResumeError::Sealed))?;
    let bundle = writer.dir().display().to_string();
    Ok(Start { plan: plan.clone(), schedule: schedule(plan), first, bundle })
}

fn ready(
    plan: Arc<Plan>,
    evidence: Evidence,
    device: Device,
    (runner, clock): (Runner, BenchClock),
    caught: Caught,
) -> Ready {
    let bundle = evidence.dir().to_owned();
    let signals = caught.came.clone();
    Ready { parts: Parts { runner, plan, evidence, device, clock, signals, tap: None }, bundle, caught }
}

impl Ready {
    fn with_tap(mut self, tap: Option<&str>) -> Ready {
        self.parts.tap = tap.map(str::to_owned);
        self
    }

    /// The bundle's folder.
    pub fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// How it is left when a third signal finds it too busy to leave by itself; `leave` is given the bundle.
    pub fn left_by(&self, leave: impl Fn(&Path) + Send + Sync + 'static) {
        let bundle = self.bundle.clone();
        self.caught.left_by(move || leave(&bundle));
    }

    /// Runs to the end. A mistake in this program ends the run, not the duty to put the device back.
    ///
    /// # Errors
    /// No threads; nothing was sent then.
    pub fn run(self, watch: &mut dyn FnMut(&Seen<'_>)) -> Result<Ended, NoRun> {
        let Ready { parts, bundle, caught } = self;
        let conductor = Conductor::new(parts)?;
        let outcome = catch_unwind(AssertUnwindSafe(|| conductor.run(watch).0));
        argv::settle();
        let ended = match outcome {
            Ok(exit) => Ended { exit: Some(exit), rescued: None, bundle },
            Err(_) => {
                let rescued = restore(&bundle).map_err(|error| error.to_string());
                Ended { exit: None, rescued: Some(rescued), bundle }
            }
        };
        drop(caught);
        Ok(ended)
    }
}
