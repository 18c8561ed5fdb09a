//! A run of the paced sender: frames at their deadlines, universe discovery, faults on purpose, and the goodbye. It
//! learns the time from a clock it is given and sends through what it is given, so that a run of hours is a test of
//! milliseconds.

use super::clock::Clock;
use super::faults::{Faults, Owned, STALL_PERIODS};
pub use super::pace::Length;
use super::pace::{GOODBYE_GAP_NS, GOODBYES, Lateness, Pacer, Rate};
use super::pattern::{FramesError, Picture};
use super::socket::{Outlet, single};
use std::io::IoSlice;
use std::ops::Range;
use thiserror::Error;
use wireproof_protocols::{Batch, EncodeError, Encoder, Timestamp};

/// Time between two announcements of the universes sent (E1.31 4.3: E131_UNIVERSE_DISCOVERY_INTERVAL).
const DISCOVERY_EVERY_NS: u64 = 10_000_000_000;
/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Frames in a second.
    pub rate: Rate,
    /// When the run ends.
    pub length: Length,
    /// Octets of a frame.
    pub frame_octets: usize,
    /// Announces the universes sent, to everybody.
    pub discovery: bool,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Frames sent.
    pub frames: u64,
    /// Periods that passed without a frame because the sender was late.
    pub skipped: u64,
    /// Periods that passed without a frame on purpose.
    pub stalled: u64,
    /// How late frames began.
    pub lateness: Lateness,
    /// Announcements of the universes.
    pub discoveries: u64,
    /// Datagrams that said goodbye.
    pub goodbyes: u64,
    /// Somebody ended a run of a fixed length before its end.
    pub cut_short: bool,
}

/// A run that ended early because nothing more can be sent.
#[derive(Debug, Error)]
pub enum ShowError {
    /// The encoder refuses the frame; nothing of it was sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The file of frames cannot be read any more.
    #[error(transparent)]
    Frames(#[from] FramesError),
}

/// Takes datagrams on their way.
pub trait Exit {
    /// Sends these datagrams of a batch, in order.
    fn batch(&mut self, batch: &Batch<'_>, which: Range<usize>, now_ns: u64);

    /// Sends datagrams one by one, in order.
    fn owned(&mut self, datagrams: &[Owned], now_ns: u64);
}

impl Exit for Outlet {
    fn batch(&mut self, batch: &Batch<'_>, which: Range<usize>, _: u64) {
        let batch = *batch;
        let datagrams = which.filter_map(move |i| batch.get(i));
        self.send(datagrams.map(|d| (Some(d.destination), d.parts)));
    }

    fn owned(&mut self, datagrams: &[Owned], _: u64) {
        for (to, payload) in datagrams {
            self.send(single(Some(*to), &[IoSlice::new(payload)]));
        }
    }
}

/// Sends a run: until its end, or until `stop` says so; either way every stream is ended properly.
///
/// # Errors
/// [`ShowError`]; what was begun is ended properly, too.
pub fn show(
    plan: &Plan,
    encoder: &mut dyn Encoder,
    picture: &mut Picture,
    faults: &mut Faults,
    clock: &mut dyn Clock,
    exit: &mut dyn Exit,
    stop: &dyn Fn() -> bool,
) -> Result<Shown, ShowError> {
    let mut run = Run { plan, encoder, faults, clock, exit, shown: Shown::default() };
    let start = run.clock.now_ns();
    let mut pacer = Pacer::new(start, plan.rate);
    let outcome = run.frames(&mut pacer, picture, stop);
    run.shown.lateness = pacer.lateness();
    run.goodbye(pacer.deadline_ns());
    outcome.map(|()| run.shown)
}

struct Run<'a> {
    plan: &'a Plan,
    encoder: &'a mut dyn Encoder,
    faults: &'a mut Faults,
    clock: &'a mut dyn Clock,
    exit: &'a mut dyn Exit,
    shown: Shown,
}

impl Run<'_> {
    fn frames(
        &mut self,
        pacer: &mut Pacer,
        picture: &mut Picture,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), ShowError> {
        let mut frame = vec![0; self.plan.frame_octets];
        let mut announce_ns = pacer.deadline_ns();
        while self.goes_on(pacer.next()) {
            let now = self.clock.wait(pacer.deadline_ns(), stop);
            if stop() {
                self.shown.cut_short = self.plan.length != Length::Open;
                return Ok(());
            }
            let next = pacer.next();
            let Some(turn) = pacer.turn(now) else { continue };
            self.shown.skipped += self.within(turn.period) - self.within(next);
            if !self.goes_on(turn.period) {
                break;
            }
            let number = self.shown.frames;
            picture.fill(number, &mut frame)?;
            self.frame(number, &frame, now)?;
            if self.plan.discovery && now >= announce_ns {
                announce_ns = now.saturating_add(DISCOVERY_EVERY_NS);
                let batch = self.encoder.discovery();
                self.exit.batch(&batch, 0..batch.len(), now);
                self.shown.discoveries += 1;
            }
            if self.goes_on(pacer.next()) && self.faults.stalls(self.shown.frames) {
                pacer.pass_over(STALL_PERIODS);
                self.shown.stalled += STALL_PERIODS;
            }
        }
        Ok(())
    }

    /// A period, or the one behind the last of the run.
    fn within(&self, period: u64) -> u64 {
        match self.plan.length {
            Length::Time(ns) => period.min(self.plan.rate.frames_in(ns)),
            _ => period,
        }
    }

    /// Whether a frame may be sent in this period.
    fn goes_on(&self, period: u64) -> bool {
        match self.plan.length {
            Length::Frames(frames) => self.shown.frames < frames,
            Length::Time(ns) => period < self.plan.rate.frames_in(ns),
            Length::Open => true,
        }
    }

    fn frame(&mut self, number: u64, frame: &[u8], now_ns: u64) -> Result<(), EncodeError> {
        self.encoder.set_time(Timestamp(i64::try_from(now_ns).unwrap_or(i64::MAX)));
        let batch = self.encoder.encode(frame)?;
        match self.faults.disturb(number, &batch) {
            None => self.exit.batch(&batch, 0..batch.len(), now_ns),
            Some(disturbed) => self.exit.owned(&disturbed, now_ns),
        }
        self.shown.frames += 1;
        Ok(())
    }

    /// Sends what was held back, and ends every stream: three goodbyes as far apart as frames are, none in a burst.
    fn goodbye(&mut self, first_ns: u64) {
        let now = self.clock.now_ns();
        self.exit.owned(&self.faults.rest(), now);
        let gap = self.plan.rate.offset_ns(1).min(GOODBYE_GAP_NS);
        let batch = self.encoder.terminate();
        let all = batch.len();
        let round = all.div_ceil(GOODBYES).max(1);
        let mut due = first_ns.min(now.saturating_add(gap));
        for from in (0..all).step_by(round) {
            // A second Ctrl-C changes nothing: it is a third of a second at most.
            let now = self.clock.wait(due, &|| false);
            self.exit.batch(&batch, from..all.min(from + round), now);
            due = now.max(due).saturating_add(gap);
        }
        self.shown.goodbyes = all as u64;
    }
}

#[cfg(test)]
mod tests;
