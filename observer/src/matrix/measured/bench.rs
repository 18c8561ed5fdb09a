//! The bench's own state in the window, from its counters and from the drop evidence on the tape.

use super::Noted;
use super::tape::Taped;
use crate::matrix::bundle;
use serde::{Deserialize, Serialize};
use wireproof_matrices::arm::Measured;
use wireproof_matrices::clock::{Reading, step};
use wireproof_matrices::plan::Plan;
use wireproof_protocols::verify::DropLayer;

/// The time for which a bench slept, ns, beyond which it was suspended.
const ASLEEP_NS: i64 = 1_000_000;

/// One reading of the bench's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Clock of the capture timestamps, ns.
    pub at_ns: i64,
    /// A clock that only goes on, ns.
    pub steady_ns: i64,
    /// A clock that goes on while the bench sleeps, minus the steady one, ns.
    pub asleep_ns: i64,
    /// UDP datagrams that found a full receive buffer, of any socket.
    pub rcvbuf_errors: Option<u64>,
    /// UDP datagrams with a wrong checksum.
    pub checksum_errors: Option<u64>,
    /// Frames the network cards had no room for.
    pub nic_dropped: Option<u64>,
    /// Frames that found a full backlog.
    pub softnet_dropped: Option<u64>,
    /// Times a link came up or went down.
    pub carrier_changes: Option<u64>,
}

impl Row {
    fn clocks(&self) -> Reading {
        Reading { steady_ns: self.steady_ns, settable_ns: self.at_ns }
    }
}

impl bundle::Row for Row {
    const HEADER: &'static [&'static str] = &[
        "at_ns",
        "steady_ns",
        "asleep_ns",
        "rcvbuf_errors",
        "checksum_errors",
        "nic_dropped",
        "softnet_dropped",
        "carrier_changes",
    ];
}

/// Fills in the state of the bench.
pub(super) fn measure(plan: &Plan, noted: &Noted, rows: &[Row], taped: &Taped, m: &mut Measured) {
    let observer = &taped.account.observer;
    let health = &mut m.health;
    health.loop_gap_max_ns = noted.loop_gap_max_ns;
    health.lost = observer.lost().saturating_add(taped.left_out);
    let rows = around(rows, m.window.start_ns, m.window.end_ns);
    let pairs = || rows.iter().zip(rows.iter().skip(1));
    let grown = |of: fn(&Row) -> Option<u64>| {
        let (first, last) = (rows.first().and_then(of), rows.last().and_then(of));
        last.zip(first).map_or(0, |(last, first)| last.saturating_sub(first))
    };
    health.host_drops = grown(|row| row.nic_dropped).saturating_add(grown(|row| row.softnet_dropped));
    let limit = i64::try_from(plan.validity.clock_step_ns).unwrap_or(i64::MAX);
    health.clock_steps_ns = pairs().filter_map(|(a, b)| step(a.clocks(), b.clocks(), limit)).collect();
    health.clock_steps_ns.extend(taped.steps.iter().filter(|_| rows.len() < 2));
    health.suspended = pairs().any(|(a, b)| b.asleep_ns.saturating_sub(a.asleep_ns) > ASLEEP_NS);
    let down = taped.drops.iter().any(|drops| drops.layer == DropLayer::Link);
    health.link_down = down || grown(|row| row.carrier_changes) > 0;
}

/// The readings from the last one before the window to the first one after it.
fn around(rows: &[Row], start_ns: i64, end_ns: i64) -> &[Row] {
    let first = rows.iter().rposition(|row| row.at_ns <= start_ns).unwrap_or(0);
    let last = rows.iter().position(|row| row.at_ns >= end_ns).unwrap_or(rows.len().saturating_sub(1));
    rows.get(first..=last.max(first)).unwrap_or_default()
}
