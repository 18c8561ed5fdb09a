//! What a simulated arm measures, faults included.

use super::{Bench, Fault, MS, OFFSET_NS};
use crate::arm::{ArmDrain, Episode, FrameSpan, Health, Measured, Owners, Span, WireStream};
use crate::runner::io::Around;
use wireproof_protocols::Timestamp;

impl Bench {
    pub(super) fn measure(&mut self, around: Around) -> Measured {
        let Some(order) = self.order.clone() else { return Measured::default() };
        let (from, to) = (self.opened, self.opened.plus(order.measure_ns as i64));
        let window = Span { start_ns: from.0, end_ns: to.0 };
        let device_window = Some(Span { start_ns: from.plus(OFFSET_NS).0, end_ns: to.plus(OFFSET_NS).0 });
        let mut measured = Measured {
            window,
            device_window,
            frames: self.frames(from, to, &around.drains),
            ring: true,
            generation: [self.generation; 2],
            streams: self.streams(from, to),
            cpu_hundredths: Some(1200 + self.noise.milli_normal() / 10),
            drains: around.drains,
            ..Measured::default()
        };
        measured.health = Health { loop_gap_max_ns: 2_000_000, ..Health::default() };
        for fault in self.faults().cloned().collect::<Vec<_>>() {
            apply(&fault, &mut measured);
        }
        measured
    }

    /// Frames from half a second before the window to half a second after it.
    fn frames(&mut self, from: Timestamp, to: Timestamp, drains: &[ArmDrain]) -> Vec<FrameSpan> {
        let period = 1_000_000_000 / i64::from(self.plan.target.expected_fps.max(1));
        let level_cost =
            |(factor, level): (&String, &String)| self.level_cost_ns.get(&format!("{factor}={level}"));
        let cost: i64 = self.levels.iter().filter_map(level_cost).sum();
        let shift = cost + self.noise.milli_normal() * 100;
        let (start, end) = (from.plus(-500 * MS), to.plus(500 * MS));
        let count = (end.since(start) / period).max(0);
        let mut frames = Vec::with_capacity(count as usize);
        for i in 0..count {
            let at = start.plus(i * period);
            let drained =
                drains.iter().any(|d| d.real && d.bench.start_ns < at.0 + 5 * MS && at.0 < d.bench.end_ns);
            let cost = if drained { self.drain_cost_ns } else { 0 };
            let begin = at.plus(OFFSET_NS).0;
            let span = Span { start_ns: begin, end_ns: begin + self.noise.frame_ns() + shift + cost };
            frames.push(FrameSpan { id: i as u32, span });
        }
        frames
    }

    fn streams(&self, from: Timestamp, to: Timestamp) -> Vec<WireStream> {
        let fps = i64::from(self.plan.target.expected_fps.max(1));
        let period = 1_000_000_000 / fps;
        let frames = to.since(from) / period;
        let sent = |stream: &crate::plan::PlanStream| WireStream {
            id: stream.id.clone(),
            datagrams: frames as u64 * u64::from(stream.datagrams_per_frame),
            frames: frames as u64,
            first_ns: from.plus(MS).0,
            last_ns: from.plus(MS + (frames - 1) * 1_000_000_000 / fps).0,
            jitter_ns: [period as u64, period as u64 + 40_000, period as u64 + 90_000],
            ..WireStream::default()
        };
        let make = |stream: &crate::plan::PlanStream| match self.plan.sends(stream, &self.levels) {
            false => WireStream { id: stream.id.clone(), ..WireStream::default() },
            true => sent(stream),
        };
        self.plan.stream.iter().map(make).collect()
    }
}

fn apply(fault: &Fault, measured: &mut Measured) {
    match fault {
        Fault::DeviceTimesFall => {
            if let [first, second, ..] = measured.frames.as_mut_slice() {
                std::mem::swap(&mut first.span, &mut second.span);
            }
        }
        Fault::BenchClockSteps(ns) => measured.health.clock_steps_ns.push(*ns),
        Fault::LoopStalls { for_ns, lost } => {
            measured.health.loop_gap_max_ns = *for_ns;
            measured.health.lost = *lost;
            lose(measured, *lost, Owners { observer: *lost, ..Owners::default() });
        }
        Fault::HostDrops(n) => measured.health.host_drops = *n,
        Fault::BadChecksums(n) => lose(measured, *n, Owners { wire: *n, ..Owners::default() }),
        Fault::LostBySender(n) => lose(measured, *n, Owners { sender: *n, ..Owners::default() }),
        Fault::LostAmbiguous(n) => lose(measured, *n, Owners { ambiguous: *n, ..Owners::default() }),
        Fault::TornFrames(n) => measured.torn_frames = *n,
        Fault::LinkDown => {
            measured.health.link_down = true;
            measured.streams.iter_mut().for_each(silence);
        }
        Fault::AllSilent => measured.streams.iter_mut().for_each(silence),
        Fault::StreamSilent(id) => measured.streams.iter_mut().filter(|s| s.id == *id).for_each(silence),
        Fault::RateChanges(ppm) | Fault::RateOff(ppm) => {
            measured.streams.iter_mut().for_each(|stream| stretch(stream, *ppm));
        }
        Fault::ForeignSource(n) => measured.streams.iter_mut().take(1).for_each(|stream| stream.foreign = *n),
        Fault::Suspended => measured.health.suspended = true,
        Fault::FewFrames(n) => measured.frames.truncate(*n as usize),
        _ => {}
    }
}

/// Loses datagrams of the last stream in the middle of the window.
fn lose(measured: &mut Measured, missing: u64, owners: Owners) {
    let Some(stream) = measured.streams.last_mut().filter(|_| missing > 0) else { return };
    stream.lost += missing;
    stream.datagrams = stream.datagrams.saturating_sub(missing);
    let total = &mut stream.owners;
    total.sender += owners.sender;
    total.wire += owners.wire;
    total.observer += owners.observer;
    total.upstream += owners.upstream;
    total.ambiguous += owners.ambiguous;
    let middle = measured.window.start_ns / 2 + measured.window.end_ns / 2;
    let span = Span { start_ns: middle, end_ns: middle + 40 * MS };
    measured.episodes.push(Episode { stream: stream.id.clone(), span, missing, owners });
}

/// A stream that nothing came of: everything is missing upstream.
fn silence(stream: &mut WireStream) {
    let lost = stream.datagrams;
    *stream = WireStream {
        id: stream.id.clone(),
        lost,
        owners: Owners { upstream: lost, ..Owners::default() },
        ..WireStream::default()
    };
}

/// Slows a stream down by so many ppm of its rate.
fn stretch(stream: &mut WireStream, ppm: i64) {
    let time = stream.last_ns - stream.first_ns;
    stream.last_ns = stream.first_ns + time + time / 1_000 * ppm / 1_000;
}
