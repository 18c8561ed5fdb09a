//! Percentiles of stages and devices, each of its own: never added, since stages may run side by side.

use super::quantiles::Quantiles;
use crate::account::{Account, Share};
use crate::frames::{Frame, Ring};
use crate::header::Tables;
use crate::layout::{Kind, NO_DEVICE, Record};
use serde::Serialize;
use std::collections::BTreeMap;

/// Spans of one stage, of one device where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageRow {
    /// Stage.
    pub stage: u16,
    /// Its name in the ring.
    pub name: Option<String>,
    /// Device.
    pub device: Option<u16>,
    /// Its name in the ring.
    pub device_name: Option<String>,
    /// Number of spans.
    pub spans: u64,
    /// Durations, ns.
    pub ns: Quantiles,
}

/// A row for each stage and device, in order of their ids.
pub fn stages(frames: &[Frame], tables: &Tables) -> Vec<StageRow> {
    let mut spans: BTreeMap<(u16, u16), Vec<u64>> = BTreeMap::new();
    for record in frames.iter().flat_map(|frame| &frame.records).filter(|r| r.kind() == Some(Kind::Span)) {
        let duration = record.end_ns().saturating_sub(record.start_ns());
        spans.entry((record.stage(), record.device())).or_default().push(duration);
    }
    let row = |((stage, device), durations): ((u16, u16), Vec<u64>)| StageRow {
        stage,
        name: tables.stage(stage).map(str::to_owned),
        device: (device != NO_DEVICE).then_some(device),
        device_name: tables.device(device).map(str::to_owned),
        spans: durations.len() as u64,
        ns: Quantiles::of(durations),
    };
    spans.into_iter().map(row).collect()
}

/// Device roots of one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceRow {
    /// Device.
    pub device: u16,
    /// Its name in the ring.
    pub name: Option<String>,
    /// Number of roots.
    pub roots: u64,
    /// Time in children of all its roots, per cent.
    pub coverage: Option<f64>,
    /// The root with the smallest share, per cent.
    pub worst: Option<f64>,
    /// Durations of the roots, ns.
    pub ns: Quantiles,
}

/// A row for each device, in order of their ids.
pub fn devices(account: &Account, tables: &Tables) -> Vec<DeviceRow> {
    let mut roots: BTreeMap<u16, Vec<Share>> = BTreeMap::new();
    for root in account.rows.iter().flat_map(|row| &row.devices) {
        roots.entry(root.device).or_default().push(Share { part: root.covered_ns, whole: root.root_ns });
    }
    let row = |(device, shares): (u16, Vec<Share>)| DeviceRow {
        device,
        name: tables.device(device).map(str::to_owned),
        roots: shares.len() as u64,
        coverage: shares.iter().copied().fold(Share::default(), Share::add).percent(),
        worst: shares
            .iter()
            .copied()
            .filter(|share| share.whole > 0)
            .reduce(Share::worse)
            .and_then(Share::percent),
        ns: Quantiles::of(shares.iter().map(|share| share.whole)),
    };
    roots.into_iter().map(row).collect()
}

/// Records of a kind, in frames and beside them.
pub fn records(ring: &Ring, kind: Kind) -> impl Iterator<Item = &Record> {
    let framed = ring.frames.iter().flat_map(|frame| &frame.records);
    framed.chain(&ring.loose).filter(move |record| record.kind() == Some(kind))
}
