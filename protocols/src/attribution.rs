//! Who lost it: splits the missing datagrams of an episode among their owners, counter by counter.
//!
//! The order of the questions is the decision: what a socket's own drop counter proves comes first, then damage on
//! the way, then what a tap saw, then the host's network card and backlog, and what no counter explains was lost
//! before it reached this host. A stall of the receive loop proves nothing where a drop counter exists and stayed
//! flat: the buffer held.

use crate::time::MS;

/// A stall of the receive loop this long convicts the observer on a platform without drop counters, ns.
pub const STALL_LIMIT: i64 = 115 * MS;

/// What the counters say about the time of an episode. `None`: there is no such counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Datagrams missing.
    pub missing: u64,
    /// Drops that the socket, or the packet ring, counted; a socket counts wrong checksums among them.
    pub socket_drops: Option<u64>,
    /// Datagrams with a wrong UDP checksum.
    pub checksum_errors: u64,
    /// How many of the missing datagrams an independent tap saw.
    pub tap_seen: Option<u64>,
    /// Frames the tap itself dropped; `None` when that is not known.
    pub tap_drops: Option<u64>,
    /// Drops counted by the network card.
    pub nic_drops: u64,
    /// Drops counted by the kernel's backlog queues.
    pub softnet_drops: u64,
    /// Longest gap between two rounds of the receive loop, ns.
    pub loop_gap_ns: Option<i64>,
    /// The sender's own record: sent or not.
    pub device_sent: Option<bool>,
}

/// The missing datagrams of an episode by owner; the four add up to `Evidence::missing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Lost by the observing host.
    pub observer: u64,
    /// Damaged on the way (owner `wire`).
    pub corrupt: u64,
    /// Lost before they reached the observing host.
    pub upstream: u64,
    /// The counters do not decide.
    pub ambiguous: u64,
}

/// Who is meant by `upstream`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The sender's own record says that it did not send.
    Device,
    /// Nothing tells the two apart.
    DeviceOrNetwork,
}

impl Who {
    /// The words in every output.
    pub fn name(self) -> &'static str {
        match self {
            Who::Device => "device",
            Who::DeviceOrNetwork => "device or network",
        }
    }
}

/// What an episode does to the run it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The observer had a share: the run says nothing about the device.
    Invalid,
    /// It may be the observer's.
    Inconclusive,
    /// A loss.
    Loss,
}

impl Split {
    /// What the episode does to its run.
    pub fn effect(&self) -> Effect {
        match self {
            Split { observer: 1.., .. } => Effect::Invalid,
            Split { ambiguous: 1.., .. } => Effect::Inconclusive,
            _ => Effect::Loss,
        }
    }

    /// Who the upstream share belongs to; `None` without one.
    pub fn who(&self, e: &Evidence) -> Option<Who> {
        (self.upstream > 0)
            .then(|| if e.device_sent == Some(false) { Who::Device } else { Who::DeviceOrNetwork })
    }
}

/// Splits the missing datagrams; see the module for the order.
pub fn split(e: &Evidence) -> Split {
    let mut s = Split::default();
    let mut rest = e.missing;
    let mut give = |share: &mut u64, most: u64| {
        let part = rest.min(most);
        *share += part;
        rest -= part;
        rest
    };
    if let Some(drops) = e.socket_drops {
        give(&mut s.observer, drops.saturating_sub(e.checksum_errors));
        give(&mut s.corrupt, drops.min(e.checksum_errors));
    }
    let explained = s.observer + s.corrupt;
    give(&mut s.observer, e.tap_seen.unwrap_or(0).saturating_sub(explained));
    let host = e.nic_drops.saturating_add(e.softnet_drops);
    let left = give(&mut s.observer, 0);
    if host > 0 {
        give(if host >= left { &mut s.observer } else { &mut s.ambiguous }, u64::MAX);
    }
    if e.socket_drops.is_none() {
        let stalled = e.loop_gap_ns.is_some_and(|gap| gap >= STALL_LIMIT);
        let healthy = e.tap_seen.is_some() && e.tap_drops == Some(0);
        let owner = match (stalled, healthy) {
            (true, _) => &mut s.observer,
            (false, true) => &mut s.upstream,
            (false, false) => &mut s.ambiguous,
        };
        give(owner, u64::MAX);
    }
    give(&mut s.upstream, u64::MAX);
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_always_add_up_and_a_flat_counter_never_convicts_the_observer() {
        let some = |v: u64| (v > 0).then(|| v - 1);
        let mut seen = 0;
        for code in 0..4u64.pow(7) {
            let digit = |i: u32| code / 4u64.pow(i) % 4;
            let e = Evidence {
                missing: digit(0) * 3,
                socket_drops: some(digit(1)),
                checksum_errors: digit(2),
                tap_seen: some(digit(3)),
                tap_drops: some(digit(4)),
                nic_drops: digit(5) * 2,
                softnet_drops: 0,
                loop_gap_ns: Some(digit(6) as i64 * 50 * MS),
                device_sent: None,
            };
            let s = split(&e);
            assert_eq!(s.observer + s.corrupt + s.upstream + s.ambiguous, e.missing, "{e:?}");
            let flat = e.socket_drops == Some(0) && e.tap_seen.unwrap_or(0) == 0 && e.nic_drops == 0;
            assert!(!flat || s.observer == 0, "{e:?}");
            seen += 1;
        }
        assert_eq!(seen, 16_384);
    }
}
