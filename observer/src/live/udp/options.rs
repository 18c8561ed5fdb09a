//! What a UDP source is asked for: addresses, receive buffer by load, multicast joins; and what a buffer is worth.

use super::platform::COUNTS_DROPS;
use crate::live::multicast::Joins;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use wireproof_protocols::registry::DECODERS;

/// Datagrams per second assumed when nobody says: 64 universes of sACN at 60 per second.
pub const UNKNOWN_RATE: u32 = 4_000;
/// Octets the kernel charges for a datagram of full Ethernet size (measured for 1,450 octets on veth; 638-octet sACN
/// takes 1,280). Charges differ by network driver.
pub const FULL_SIZE_CHARGE: u32 = 2_304;
/// Time a receive buffer should hold the expected load while the receive thread does not run.
pub const HOLD: Duration = Duration::from_secs(2);
/// Time a receive buffer must hold the expected load before the source lets datagrams gather: a thread that is ready
/// to run was seen to wait up to 47 ms on a busy host, and gathering makes it a little later still.
pub const GATHER_HOLD: Duration = Duration::from_millis(50);
/// Octets charged by a buffer for an unknown load: two seconds of 638-octet datagrams at [`UNKNOWN_RATE`] with a
/// reserve, 1.8 s of full-size ones.
pub const UNKNOWN_BUFFER: u32 = 16 << 20;
/// Most octets asked for without being told to.
const LARGEST_BUFFER: u64 = 512 << 20;

/// What to receive and how.
#[derive(Clone, Debug, Default)]
pub struct UdpOptions {
    /// Addresses and ports to receive on; none means [`default_addresses`].
    pub addresses: Vec<SocketAddr>,
    /// Ports beside those of the protocols where `addresses` names none.
    pub ports: Vec<u16>,
    /// Receive buffer of each socket in octets as the kernel charges and reads it back (`SO_RCVBUF` takes half of
    /// that): 212,992 is an untouched Linux default. `None` sizes it by `rate`.
    pub buffer_bytes: Option<u32>,
    /// Expected datagrams per second over all sockets; `None` when nobody knows.
    pub rate: Option<u32>,
    /// Multicast groups to join; none unless asked.
    pub joins: Joins,
    /// Receive with what every Unix has, and without a counter of drops, as where there is no Linux; to see on Linux
    /// what a run is worth there.
    pub portable: bool,
    /// Ask for the time to live of each datagram: 0.05 us each, and no rule judges it.
    pub hops: bool,
}

impl UdpOptions {
    /// Octets of receive buffer to ask for, as the kernel charges them.
    pub fn asked_bytes(&self) -> u32 {
        if let Some(exactly) = self.buffer_bytes {
            return exactly;
        }
        let Some(rate) = self.rate else { return UNKNOWN_BUFFER };
        let held = u64::from(rate) * HOLD.as_secs() * u64::from(FULL_SIZE_CHARGE);
        let bytes = held.next_multiple_of(1 << 20).clamp(1 << 20, LARGEST_BUFFER);
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// True when no counter tells the drops: asked for, or on a system that has none.
    pub fn is_portable(&self) -> bool {
        self.portable || !COUNTS_DROPS
    }

    /// Expected datagrams per second.
    pub fn expected_rate(&self) -> u32 {
        self.rate.unwrap_or(UNKNOWN_RATE)
    }

    /// True when a buffer of `granted` octets is large enough to let datagrams gather for a millisecond.
    pub(crate) fn may_gather(&self, granted: u64) -> bool {
        hold_time(granted, FULL_SIZE_CHARGE, self.expected_rate()) >= GATHER_HOLD
    }
}

/// The ports of all decoders on every IPv4 and IPv6 address of the host.
pub fn default_addresses() -> Vec<SocketAddr> {
    default_addresses_and(&[])
}

/// As [`default_addresses`], and these ports.
pub(super) fn default_addresses_and(more: &[u16]) -> Vec<SocketAddr> {
    let mut ports: Vec<u16> = DECODERS.iter().flat_map(|d| d.ports().iter().copied()).collect();
    ports.extend_from_slice(more);
    ports.sort_unstable();
    ports.dedup();
    let any = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    any.into_iter().flat_map(|ip| ports.iter().map(move |port| SocketAddr::new(ip, *port))).collect()
}

/// How long a buffer of `granted` octets takes in `rate` datagrams per second of `charged_per_datagram` octets each,
/// while nobody reads. A rate of 0 holds for ever.
pub fn hold_time(granted: u64, charged_per_datagram: u32, rate: u32) -> Duration {
    let datagrams = granted / u64::from(charged_per_datagram.max(1));
    match datagrams.saturating_mul(1_000_000_000).checked_div(u64::from(rate)) {
        Some(ns) => Duration::from_nanos(ns),
        None => Duration::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_rate(rate: u32) -> UdpOptions {
        UdpOptions { rate: Some(rate), ..UdpOptions::default() }
    }

    #[test]
    fn the_kernel_default_holds_166_datagrams_of_sacn() {
        assert_eq!(hold_time(212_992, 1_280, 166), Duration::from_secs(1));
        assert_eq!(hold_time(212_992, 1_280, 0), Duration::MAX);
        assert_eq!(hold_time(0, 0, 1), Duration::ZERO);
    }

    #[test]
    fn the_worked_case_of_hold_times_comes_out_in_whole_milliseconds() {
        let cases = include_str!("../../../../matrices/tests/golden/experiments.json");
        let cases: serde_json::Value = serde_json::from_str(cases).unwrap();
        let case = cases["cases"].as_array().unwrap().iter().find(|c| c["id"] == "stall-hold-time").unwrap();
        let number = |v: &serde_json::Value| u32::try_from(v.as_u64().unwrap()).unwrap();
        let (buffer, fps) = (number(&case["input"]["rcvbuf"]), number(&case["input"]["fps"]));
        let streams = case["input"]["streams"].as_array().unwrap();
        let hold = |s: &serde_json::Value| {
            hold_time(buffer.into(), number(&s["charged"]), number(&s["per_frame"]) * fps).as_millis() as u64
        };
        let holds: Vec<u64> = streams.iter().map(hold).collect();
        assert_eq!(serde_json::json!(holds), case["expected"]["hold_ms"]);
        let smallest = holds.iter().min().unwrap();
        assert_eq!(Some(*smallest), case["expected"]["smallest_hold_ms"].as_u64());
        assert_eq!(Some(smallest / 2), case["expected"]["watchdog_limit_ms_half"].as_u64());
    }

    #[test]
    fn an_unknown_load_gets_two_seconds_of_sacn() {
        assert_eq!(UdpOptions::default().asked_bytes(), 16 << 20);
        assert!(hold_time(UNKNOWN_BUFFER.into(), 1_280, UNKNOWN_RATE) >= HOLD);
    }

    #[test]
    fn a_known_load_is_held_for_two_seconds_within_limits() {
        for rate in [0, 1, 360, 4_000, 61_800] {
            let granted = u64::from(at_rate(rate).asked_bytes());
            assert!(hold_time(granted, FULL_SIZE_CHARGE, rate) >= HOLD, "{rate}");
        }
        assert_eq!(at_rate(u32::MAX).asked_bytes(), 512 << 20);
    }

    #[test]
    fn an_explicit_buffer_is_taken_as_it_is() {
        let options = UdpOptions { buffer_bytes: Some(212_992), rate: Some(61_800), ..UdpOptions::default() };
        assert_eq!(options.asked_bytes(), 212_992);
    }

    #[test]
    fn the_kernel_default_is_too_small_to_let_datagrams_gather() {
        assert!(!UdpOptions::default().may_gather(212_992));
        assert!(UdpOptions::default().may_gather(UNKNOWN_BUFFER.into()));
        assert!(!at_rate(245_760).may_gather(16 << 20));
    }

    #[test]
    fn the_default_list_has_every_port_of_every_decoder_for_both_families() {
        let list = default_addresses();
        for decoder in DECODERS {
            for port in decoder.ports() {
                assert_eq!(list.iter().filter(|a| a.port() == *port).count(), 2, "{port}");
            }
        }
    }
}
