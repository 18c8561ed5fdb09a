//! A silence of the whole capture: when every steady stream goes on with its next number, the clock was set
//! forward (or all senders slept at once); the silence is then nobody's.

use super::flow::Flow;
use super::output::Output;
use super::{Verifier, findings, rules};
use crate::Arrival;
use crate::time::SECOND;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// A silence under suspicion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leap {
    from: i64,
    to: i64,
    by: i64,
    place: (u64, i64),
    yes: u32,
    no: u32,
}

impl Verifier {
    /// Nothing was captured for `by` nanoseconds after `from`.
    pub(crate) fn leapt(&mut self, arrival: Arrival, from: i64, by: i64) {
        self.judge_leap(true);
        // One silent host is a host that paused; two of them are a clock.
        let hosts: BTreeSet<IpAddr> =
            self.flows.iter_mut().filter_map(|f| active(f, from, by).then_some(f.key.source)).collect();
        if hosts.len() >= 2 {
            let place = (arrival.packet, arrival.at.0);
            self.leap = Some(Leap { from, to: from + by, by, place, yes: 0, no: 0 });
        }
    }

    /// Lets a stream that was silent over the leap vote: its next number says the silence is the clock's.
    pub(crate) fn vote(&mut self, flow: usize, raw: Option<u32>) {
        let Some(leap) = &mut self.leap else { return };
        let f = &mut self.flows[flow];
        if f.arrived_at > leap.from || leap.by < 2 * f.longest_ns {
            return;
        }
        let goes_on = match (f.group_raw, raw) {
            (Some(last), Some(raw)) => follows(last, raw) || (f.chunked() && raw == last),
            _ => false,
        };
        if !goes_on {
            leap.no += 1;
            return;
        }
        leap.yes += 1;
        let leap = *leap;
        shift(f, leap.by);
        let outputs = f.chunks.iter().map(|c| c.output).chain(f.output);
        for index in outputs.collect::<Vec<_>>() {
            shift_output(&mut self.shared.outputs[index], leap);
        }
    }

    /// Decides the leap once all had time to speak.
    pub(crate) fn judge_leap(&mut self, now: bool) {
        let Some(leap) = self.leap else { return };
        if !now && self.clock.now() - leap.to < SECOND {
            return;
        }
        self.leap = None;
        if leap.yes < 2 || leap.no > 0 {
            return;
        }
        let place = findings::Place { stream: None, packet: leap.place.0, stamp: leap.place.1 };
        self.shared.findings.add(rules::TIME_CLOCK_STEP, rules::TIME_CLOCK_STEP.severity, place, 1, || {
            format!(
                "the capture clock jumped forward by {} ms, or every sender slept: all {} streams go on with their \
                 next number",
                leap.by / crate::time::MS,
                leap.yes
            )
        });
    }
}

fn active(f: &mut Flow, from: i64, by: i64) -> bool {
    let period = f.chunks.first_mut().map_or_else(|| f.cadence.steady(), |c| c.cadence.steady());
    period.is_some_and(|p| from - f.arrived_at <= 4 * p && by >= 5 * p)
}

fn follows(last: u32, raw: u32) -> bool {
    raw == last.wrapping_add(1) || (raw <= 1 && matches!(last, 15 | 16 | 255))
}

fn shift(f: &mut Flow, by: i64) {
    f.arrived_at += by;
    f.last_at += by;
    for c in &mut f.chunks {
        c.start += by;
        c.last += by;
    }
}

fn shift_output(output: &mut Output, leap: Leap) {
    output.forget_time();
    if let Some(c) = &mut output.current
        && c.last <= leap.from
    {
        c.start += leap.by;
        c.last += leap.by;
    }
}
