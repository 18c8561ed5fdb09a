//! Where a packet was sent: port and multicast group against the number in the packet.

use super::{DISCOVERY_UNIVERSE, PORT, S34, S35, S36};
use crate::{Datagram, Faults, Severity, Value};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of address a datagram went to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// Unicast or broadcast.
    Host,
    /// The E1.31 group of this number.
    Group(u16),
    /// A multicast group E1.31 does not use.
    Foreign,
}

#[inline(always)]
fn target(ip: IpAddr) -> Target {
    match ip {
        IpAddr::V4(v4) => target4(v4),
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or_else(|| target6(v6), target4),
    }
}

#[inline(always)]
fn target4(ip: Ipv4Addr) -> Target {
    match ip.octets() {
        [239, 255, high, low] => Target::Group(u16::from_be_bytes([high, low])),
        [224..=239, ..] => Target::Foreign,
        _ => Target::Host,
    }
}

#[inline]
fn target6(ip: Ipv6Addr) -> Target {
    match ip.segments() {
        [0xff18, 0, 0, 0, 0, 0, 0x8300, number] => Target::Group(number),
        [0xff00..=0xffff, ..] => Target::Foreign,
        _ => Target::Host,
    }
}

/// True when nothing can be said against the destination of a packet for `number`.
#[inline(always)]
pub(super) fn fits(d: &Datagram<'_>, number: u16) -> bool {
    d.destination.port() == PORT
        && match target(d.destination.ip()) {
            Target::Host => true,
            Target::Group(group) => group == number && number >> 8 != 255,
            Target::Foreign => false,
        }
}

/// Reports a wrong port or group. `number` is the universe, the synchronization address or 64214; `at` is its
/// offset in the payload. The number in the packet decides which group is right.
#[cold]
pub(super) fn check(d: &Datagram<'_>, number: Option<u16>, at: usize, faults: &mut Faults) {
    let target = target(d.destination.ip());
    check_port(d.destination.port(), target, faults);
    let Some(number) = number else { return };
    let (rule, got, hint) = match target {
        Target::Group(group) if group >> 8 == 255 => {
            (S36, Value::Dec(group.into()), "the group lies in 239.255.255.0/24, where no universe lives")
        }
        Target::Group(group) if group != number => (S35, Value::Dec(group.into()), group_hint(group, number)),
        Target::Foreign => (S35, Value::Word("another group"), foreign_hint(d.destination.ip())),
        _ => return,
    };
    faults.add_with(rule, Severity::Violation, at, Value::Dec(number.into()), got, hint);
}

fn check_port(port: u16, target: Target, faults: &mut Faults) {
    if port != PORT {
        let (severity, hint) = match target {
            Target::Host => (Severity::Info, "5568 is only the default for unicast"),
            _ => (Severity::Violation, "multicast receivers listen on 5568 only"),
        };
        faults.add_with(S34, severity, 0, Value::Dec(PORT.into()), Value::Dec(port.into()), hint);
    }
}

fn group_hint(group: u16, number: u16) -> &'static str {
    if number == DISCOVERY_UNIVERSE {
        "universe discovery goes to 239.255.250.214 alone"
    } else if group == DISCOVERY_UNIVERSE {
        "239.255.250.214 is the group of universe discovery"
    } else if group == number.swap_bytes() {
        "the two octets of the group are swapped"
    } else if group.wrapping_add(1) == number {
        "the group counts universes from 0"
    } else {
        "the group belongs to another universe: docsteer/sacnview#252"
    }
}

fn foreign_hint(ip: IpAddr) -> &'static str {
    match ip {
        IpAddr::V6(v6) if matches!(v6.segments(), [0xff18, 0, 0, 0, 0x83, 0, _, _]) => {
            "ff18::83:00:hi:lo is byte notation; the address is ff18::8300:hhll"
        }
        IpAddr::V6(_) => "E1.31 groups are ff18::8300:hhll",
        IpAddr::V4(_) => "E1.31 groups are 239.255.hi.lo",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn found(destination: &str, number: u16) -> Vec<(&'static str, Severity)> {
        let destination: SocketAddr = destination.parse().unwrap();
        let d = Datagram::new(destination, destination, &[]);
        let mut faults = Faults::new();
        check(&d, Some(number), 113, &mut faults);
        let found: Vec<_> = faults.as_slice().iter().map(|f| (f.rule.code, f.severity)).collect();
        assert_eq!(fits(&d, number), found.is_empty(), "{destination} {number}");
        found
    }

    #[test]
    fn the_group_of_the_universe_is_right_in_both_families() {
        assert_eq!(found("239.255.1.2:5568", 258), []);
        assert_eq!(found("[ff18::8300:102]:5568", 258), []);
        assert_eq!(found("10.0.0.9:5568", 258), []);
        assert_eq!(found("255.255.255.255:5568", 258), []);
        assert_eq!(found("239.255.250.214:5568", DISCOVERY_UNIVERSE), []);
    }

    #[test]
    fn a_wrong_group_is_a_violation() {
        let wrong = [("SACN-S35", Severity::Violation)];
        assert_eq!(found("239.255.0.1:5568", 2), wrong);
        assert_eq!(found("[ff18::83:00:0:2]:5568", 2), wrong);
        assert_eq!(found("[ff18::8300:1]:5568", 2), wrong);
        assert_eq!(found("239.192.0.2:5568", 2), wrong);
        assert_eq!(found("239.255.255.255:5568", 2), [("SACN-S36", Severity::Violation)]);
        assert_eq!(found("239.255.255.1:5568", 65_281), [("SACN-S36", Severity::Violation)]);
    }

    #[test]
    fn another_port_is_a_violation_for_multicast_and_info_for_unicast() {
        assert_eq!(found("239.255.0.1:5569", 1), [("SACN-S34", Severity::Violation)]);
        assert_eq!(found("10.0.0.9:5569", 1), [("SACN-S34", Severity::Info)]);
    }
}
