//! Loss counters of the host that belong to no single socket: UDP errors of the network namespace, softnet drops,
//! and the statistics of network interfaces; and how busy its processors were. Read by a control thread every
//! [`PERIOD`], never by the receive thread. A counter this platform does not have is `None`: nothing is made up.

mod cpu;
mod parse;
mod reader;
mod tally;

pub use cpu::{CpuDelta, CpuTimes, parse_stat};
pub use parse::{Softnet, UdpErrors, parse_snmp, parse_snmp6, parse_softnet};
pub use reader::CounterReader;

use std::time::Duration;

/// How often the counters are worth reading.
pub const PERIOD: Duration = Duration::from_millis(100);

/// What a [`CounterReader`] has counted since its first reading. Counters never step back: one that the kernel reset
/// goes on from where it was, and an interface that went away keeps its share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// UDP datagrams with a wrong checksum, IPv4 and IPv6.
    pub checksum_errors: Option<u64>,
    /// UDP datagrams that found a full receive buffer, of any socket, IPv4 and IPv6.
    pub rcvbuf_errors: Option<u64>,
    /// Frames that passed the per-processor backlog.
    pub softnet_processed: Option<u64>,
    /// Frames thrown away because a per-processor backlog was full.
    pub softnet_dropped: Option<u64>,
    /// Frames that interfaces received and had no room for: `rx_missed_errors`, and the larger of `rx_fifo_errors` and
    /// `rx_over_errors`, which drivers use for the same event (Linux `if_link.h`).
    pub nic_dropped: Option<u64>,
    /// Frames that interfaces did not hand on, for want of room or because nobody here speaks their protocol
    /// (`rx_dropped`): proof of nothing.
    pub nic_unclear: Option<u64>,
    /// Frames with a wrong check sequence: damaged on the cable, not lost by the host (`rx_crc_errors`).
    pub nic_damaged: Option<u64>,
    /// Times a link came up or went down.
    pub carrier_changes: Option<u64>,
}

/// What was counted between two readings; `None` where one of them had no such counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterDelta {
    /// See [`Counters::checksum_errors`].
    pub checksum_errors: Option<u64>,
    /// See [`Counters::rcvbuf_errors`].
    pub rcvbuf_errors: Option<u64>,
    /// See [`Counters::softnet_processed`].
    pub softnet_processed: Option<u64>,
    /// See [`Counters::softnet_dropped`].
    pub softnet_dropped: Option<u64>,
    /// See [`Counters::nic_dropped`].
    pub nic_dropped: Option<u64>,
    /// See [`Counters::nic_unclear`].
    pub nic_unclear: Option<u64>,
    /// See [`Counters::nic_damaged`].
    pub nic_damaged: Option<u64>,
    /// See [`Counters::carrier_changes`].
    pub carrier_changes: Option<u64>,
}

impl Counters {
    /// What was counted since an earlier reading of the same reader; 0 where that one is in truth the later.
    pub fn since(&self, earlier: &Counters) -> CounterDelta {
        CounterDelta {
            checksum_errors: advance(earlier.checksum_errors, self.checksum_errors),
            rcvbuf_errors: advance(earlier.rcvbuf_errors, self.rcvbuf_errors),
            softnet_processed: advance(earlier.softnet_processed, self.softnet_processed),
            softnet_dropped: advance(earlier.softnet_dropped, self.softnet_dropped),
            nic_dropped: advance(earlier.nic_dropped, self.nic_dropped),
            nic_unclear: advance(earlier.nic_unclear, self.nic_unclear),
            nic_damaged: advance(earlier.nic_damaged, self.nic_damaged),
            carrier_changes: advance(earlier.carrier_changes, self.carrier_changes),
        }
    }
}

impl CounterDelta {
    /// Frames the bench host lost below its sockets: interfaces and backlog; `None` when neither is counted here.
    pub fn host_dropped(&self) -> Option<u64> {
        tally::sum([self.nic_dropped, self.softnet_dropped])
    }

    /// True when no counter of loss moved, those that do not exist left aside.
    pub fn is_flat(&self) -> bool {
        let counters = [self.checksum_errors, self.rcvbuf_errors, self.host_dropped(), self.nic_damaged];
        counters.iter().all(|counter| counter.unwrap_or(0) == 0)
    }
}

fn advance(earlier: Option<u64>, later: Option<u64>) -> Option<u64> {
    Some(later?.saturating_sub(earlier?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(rcvbuf_errors: u64, nic_dropped: Option<u64>) -> Counters {
        Counters { rcvbuf_errors: Some(rcvbuf_errors), nic_dropped, ..Counters::default() }
    }

    #[test]
    fn a_difference_is_never_negative_and_never_made_up() {
        let delta = counters(52, Some(7)).since(&counters(50, None));
        assert_eq!((delta.rcvbuf_errors, delta.nic_dropped, delta.checksum_errors), (Some(2), None, None));
        assert_eq!(counters(50, None).since(&counters(52, None)).rcvbuf_errors, Some(0));
        let widest = counters(u64::MAX, Some(u64::MAX)).since(&counters(0, Some(0)));
        assert_eq!((widest.rcvbuf_errors, widest.nic_dropped), (Some(u64::MAX), Some(u64::MAX)));
    }

    #[test]
    fn losses_of_interfaces_and_backlog_are_those_of_the_host() {
        let only = CounterDelta { softnet_dropped: Some(3), ..CounterDelta::default() };
        assert_eq!(only.host_dropped(), Some(3));
        assert_eq!(CounterDelta { nic_dropped: Some(4), ..only }.host_dropped(), Some(7));
        assert_eq!(CounterDelta::default().host_dropped(), None);
        assert_eq!(CounterDelta { nic_dropped: Some(u64::MAX), ..only }.host_dropped(), Some(u64::MAX));
    }

    #[test]
    fn a_link_that_came_up_is_no_loss() {
        let delta =
            CounterDelta { carrier_changes: Some(2), softnet_processed: Some(9), ..Default::default() };
        assert!(delta.is_flat() && CounterDelta::default().is_flat());
        for moved in [
            CounterDelta { rcvbuf_errors: Some(1), ..delta },
            CounterDelta { checksum_errors: Some(1), ..delta },
            CounterDelta { softnet_dropped: Some(1), ..delta },
            CounterDelta { nic_damaged: Some(1), ..delta },
        ] {
            assert!(!moved.is_flat(), "{moved:?}");
        }
    }
}
