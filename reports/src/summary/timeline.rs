//! Time lines of the run record: bins that all of them share, and one number a bin.

use crate::number::bounded;
use serde::{Deserialize, Serialize};
use wireproof_protocols::verify::{self, Account};

/// The bins that all time lines share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Where the first bin begins, ns since 1970.
    pub start_ns: i64,
    /// Width of a bin, ns; steps of the clock that stamps are taken out.
    #[serde(deserialize_with = "bounded::width")]
    pub bin_ns: u64,
    /// How many there are.
    #[serde(deserialize_with = "bounded::bins")]
    pub bins: usize,
}

/// Frames and losses over time; a column whose numbers are all 0 is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Frames, by the time they began; those nobody saw where they were due.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub frames: Vec<u64>,
    /// Of them: with a hole.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub torn: Vec<u64>,
    /// Of them: without their end mark.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub unterminated: Vec<u64>,
    /// Of them: nothing was seen of the frame.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub missing: Vec<u64>,
    /// Datagrams lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub lost: Vec<u64>,
    /// Longest time from the start of the frame before, ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub longest_ns: Vec<u64>,
}

/// Losses of the observer and the capture over time; a column whose numbers are all 0 is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossTimes {
    /// Drops of sockets and packet rings.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub lost: Vec<u64>,
    /// Packets that the capture says it lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::column")]
    pub capture_dropped: Vec<u64>,
}

/// How many times were how long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bars {
    /// Where the first bar begins, ns.
    pub from_ns: u64,
    /// Width of a bar, ns.
    #[serde(deserialize_with = "bounded::width")]
    pub width_ns: u64,
    /// Times below the first bar.
    pub under: u64,
    /// Times of each bar.
    #[serde(deserialize_with = "bounded::bars")]
    pub counts: Vec<u64>,
    /// Times above the last bar.
    pub over: u64,
}

impl Axis {
    /// The bins of a run that saw something.
    pub(super) fn of(account: &Account) -> Option<Axis> {
        let axis = account.axis;
        let start_ns = account.first_ns.filter(|_| axis.bins > 0)?;
        Some(Axis { start_ns, bin_ns: axis.bin_ns, bins: axis.bins })
    }
}

impl Timeline {
    /// Nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Timeline::default()
    }
}

impl LossTimes {
    /// Nothing was lost.
    pub fn is_empty(&self) -> bool {
        *self == LossTimes::default()
    }
}

impl Bars {
    /// Nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

impl From<&verify::Timeline> for Timeline {
    fn from(t: &verify::Timeline) -> Self {
        Timeline {
            frames: t.frames.clone(),
            torn: t.torn.clone(),
            unterminated: t.unterminated.clone(),
            missing: t.missing.clone(),
            lost: t.lost.clone(),
            longest_ns: t.longest_ns.clone(),
        }
    }
}

impl From<&verify::ObserverTimeline> for LossTimes {
    fn from(t: &verify::ObserverTimeline) -> Self {
        LossTimes { lost: t.lost.clone(), capture_dropped: t.capture_dropped.clone() }
    }
}

impl From<&verify::Bars> for Bars {
    fn from(b: &verify::Bars) -> Self {
        Bars {
            from_ns: b.from_ns,
            width_ns: b.width_ns,
            under: b.under,
            counts: b.counts.clone(),
            over: b.over,
        }
    }
}
