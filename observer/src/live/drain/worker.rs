//! The control thread: waits for a start, downloads, reports the span; ends when told to or when the run is over.

use super::fetch::{Told, exchange, fetch};
use super::schedule::{Schedule, Start};
use super::verify::check;
use super::{BROKEN_OFF, Counts, DrainPlan, DrainSpan, DrainStatus};
use crossbeam_channel::Sender;
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;
use tokio::time::{sleep_until, timeout};
use wireproof_recorder::offset::Exchange;

/// Readings of the clock on each side of a download: the quickest answers tell most.
const PROBES: usize = 3;
/// Longest wait for one.
const PATIENCE: Duration = Duration::from_millis(200);
/// What costs the device next to nothing.
const HEALTH: &str = "/v1/health";

/// What the control thread owns.
pub(super) struct Worker {
    pub(super) plan: DrainPlan,
    pub(super) schedule: Schedule,
    pub(super) run_start: Instant,
    pub(super) spans: Sender<DrainSpan>,
    pub(super) counts: Arc<Counts>,
    /// The server has handed out a ring, so that it is worth asking for the time.
    pub(super) is_ring: Cell<bool>,
}

impl Worker {
    /// Downloads until the schedule ends or `stop` closes.
    pub(super) async fn run(mut self, mut stop: oneshot::Receiver<Infallible>) {
        while let Some(start) = self.upcoming() {
            let Some(due) = self.run_start.checked_add(start.at) else { return };
            tokio::select! {
                biased;
                _ = &mut stop => return,
                () = sleep_until(due.into()) => {}
            }
            if self.upcoming() != Some(start) {
                continue;
            }
            self.schedule.begun(start);
            Counts::add(&self.counts.started, 1);
            let stopped = self.one(start, &mut stop).await;
            Counts::add(&self.counts.skipped, self.schedule.pass(self.run_start.elapsed()));
            if stopped {
                return;
            }
        }
    }

    /// Makes one download more, whatever the schedule says.
    pub(super) async fn once(&self, number: u64) {
        let (_open, mut stop) = oneshot::channel();
        Counts::add(&self.counts.started, 1);
        self.one(Start { number, at: Duration::ZERO }, &mut stop).await;
    }

    fn upcoming(&mut self) -> Option<Start> {
        let (start, skipped) = self.schedule.upcoming(self.run_start.elapsed());
        Counts::add(&self.counts.skipped, skipped);
        start
    }

    /// Makes one download and reports it; true when it was broken off because of `stop`.
    async fn one(&self, start: Start, stop: &mut oneshot::Receiver<Infallible>) -> bool {
        let name = format!("drain-{:04}-{}.bin", start.number, now_ns());
        let mut probes = self.probes().await;
        let (mut span, stopped) = download(&self.plan, start.number, &name, stop).await;
        self.is_ring.set(span.exchange.is_some() || span.ring.is_some());
        if !stopped {
            probes.extend(self.probes().await);
        }
        span.probes = probes;
        Counts::add(&self.counts.unreported, u64::from(self.spans.try_send(span).is_err()));
        stopped
    }

    /// Readings of the device's clock beside a download; the first that fails is the last that is asked for.
    async fn probes(&self) -> Vec<Exchange> {
        let mut found = Vec::new();
        while self.is_ring.get() && found.len() < PROBES {
            let Ok(Some(exchange)) = timeout(PATIENCE, exchange(&self.plan.url, HEALTH)).await else { break };
            found.push(exchange);
        }
        found
    }
}

/// Makes one download into `NAME` in the plan's folder, whatever the schedule says; true with it when `stop` broke it
/// off.
pub async fn download(
    plan: &DrainPlan,
    number: u64,
    name: &str,
    stop: &mut oneshot::Receiver<Infallible>,
) -> (DrainSpan, bool) {
    let started_ns = now_ns();
    let mut told = Told::default();
    let mut nobody = |_, _| {};
    let body = fetch(&plan.url, &plan.directory, name, plan.limit_bytes, &mut told, &mut nobody);
    let (outcome, stopped) = tokio::select! {
        biased;
        _ = stop => (Err(BROKEN_OFF.to_owned()), true),
        outcome = timeout(plan.deadline, body) => (match outcome {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err(format!("not finished within {}", shown(plan.deadline))),
        }, false),
    };
    let ended_ns = now_ns();
    let (status, sha256, file_name, ring) = match outcome {
        Ok(fetched) => {
            // A file that cannot be read back has its error when somebody wants to read it.
            let ring = check(&plan.directory.join(name), told.ring).unwrap_or_default();
            (DrainStatus::Ok, fetched.sha256, name.to_owned(), ring)
        }
        Err(text) => (DrainStatus::Error(text), String::new(), String::new(), None),
    };
    let span = DrainSpan {
        number,
        started_ns,
        ended_ns,
        bytes: told.bytes,
        sha256,
        status,
        file_name,
        resumed: told.resumed,
        ring,
        exchange: told.exchange,
        probes: Vec::new(),
    };
    (span, stopped)
}

/// The wall clock, which kernel stamps come from too.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn shown(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}
