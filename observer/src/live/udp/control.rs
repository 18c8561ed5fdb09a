//! What the kernel says beside a datagram: control messages and the sender's address, read from octets.

use super::platform::{CONTROL_ALIGN, CONTROL_LENGTH};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wireproof_protocols::Timestamp;
use wireproof_protocols::time::SECOND;

/// Octets of `cmsghdr`: a length, level and type.
const HEADER: usize = CONTROL_LENGTH + 8;

/// What the control messages of one datagram say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Control {
    /// `SCM_TIMESTAMPNS`, or `SCM_TIMESTAMP` of microseconds.
    pub(crate) stamp: Option<Timestamp>,
    /// `SO_RXQ_OVFL`: datagrams the socket had dropped when this one was queued; absent before the first.
    pub(crate) drops: Option<u32>,
    /// `IP_PKTINFO` or `IPV6_PKTINFO`: the address the datagram was sent to.
    pub(crate) destination: Option<IpAddr>,
    /// The destination is a broadcast address of this host.
    pub(crate) broadcast: bool,
    /// `IP_TTL` or `IPV6_HOPLIMIT`.
    pub(crate) ttl: Option<u8>,
}

/// Reads every control message; what is not known or does not fit is left out.
#[inline]
pub(crate) fn read(control: &[u8]) -> Control {
    let mut found = Control::default();
    let mut rest = control;
    while let Some((level, kind, data, after)) = split(rest) {
        found.take(level, kind, data);
        rest = after;
    }
    found
}

/// Level, type and data of the first control message, and what follows it.
#[inline]
fn split(at: &[u8]) -> Option<(i32, i32, &[u8], &[u8])> {
    let length = length(at)?;
    let data = at.get(HEADER..length)?;
    let after = at.get(length.checked_next_multiple_of(CONTROL_ALIGN)?..).unwrap_or_default();
    Some((number(at, CONTROL_LENGTH)?, number(at, CONTROL_LENGTH + 4)?, data, after))
}

/// Octets of the first control message.
#[inline]
#[cfg(not(target_vendor = "apple"))]
fn length(at: &[u8]) -> Option<usize> {
    array(at, 0).map(usize::from_ne_bytes)
}

#[inline]
#[cfg(target_vendor = "apple")]
fn length(at: &[u8]) -> Option<usize> {
    array(at, 0).map(|octets| u32::from_ne_bytes(octets) as usize)
}

impl Control {
    #[inline]
    fn take(&mut self, level: i32, kind: i32, data: &[u8]) {
        match (level, kind) {
            #[cfg(target_os = "linux")]
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => self.stamp = timespec(data),
            #[cfg(target_os = "linux")]
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => self.drops = array(data, 0).map(u32::from_ne_bytes),
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMP) => self.stamp = timeval(data),
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => self.packet_info(data),
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                self.destination = array(data, 0).map(|octets: [u8; 16]| IpAddr::V6(octets.into()));
            }
            // Other systems than Linux name the message after the option, and give one octet.
            #[cfg(not(target_os = "linux"))]
            (libc::IPPROTO_IP, libc::IP_RECVTTL) => self.ttl = data.first().copied(),
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                self.ttl = number(data, 0).and_then(|ttl| u8::try_from(ttl).ok());
            }
            _ => {}
        }
    }

    /// `in_pktinfo`: interface, the local address a reply would come from, and the destination of the IP header. The
    /// two addresses differ for multicast and broadcast only.
    #[inline]
    fn packet_info(&mut self, data: &[u8]) {
        let (Some(local), Some(destination)) = (array(data, 4), array(data, 8)) else { return };
        let (local, destination) = (Ipv4Addr::from(local), Ipv4Addr::from(destination));
        self.broadcast = !destination.is_multicast() && destination != local && !local.is_unspecified();
        self.broadcast |= destination.is_broadcast();
        self.destination = Some(IpAddr::V4(destination));
    }
}

/// The address in a `sockaddr_in` or `sockaddr_in6`. Flow label and scope are left out: a capture file knows neither,
/// and the same sender must be the same stream there.
#[inline]
pub(crate) fn address(name: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(family(name)?);
    let port = u16::from_be_bytes(array(name, 2)?);
    let ip = match family {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(array::<4>(name, 4)?)),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(array::<16>(name, 8)?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[inline]
#[cfg(not(target_vendor = "apple"))]
fn family(name: &[u8]) -> Option<u16> {
    array(name, 0).map(u16::from_ne_bytes)
}

/// The first octet is the length of the address.
#[inline]
#[cfg(target_vendor = "apple")]
fn family(name: &[u8]) -> Option<u16> {
    name.get(1).map(|family| u16::from(*family))
}

/// Octets of a type that is not named: musl's names of the parts of a `timeval` are deprecated.
const fn octets<T>(_: fn(&libc::timeval) -> &T) -> usize {
    size_of::<T>()
}

const MICROS_OCTETS: usize = octets(|time| &time.tv_usec);

/// A `timeval`: seconds of a machine word, and microseconds in as many octets as the system takes for them.
#[inline]
fn timeval(data: &[u8]) -> Option<Timestamp> {
    let (seconds, micros) = match (array(data, 0), array(data, 8)) {
        (Some(s), Some(us)) if MICROS_OCTETS == 8 => (i64::from_ne_bytes(s), i64::from_ne_bytes(us)),
        (Some(s), _) if MICROS_OCTETS == 4 && data.len() > 8 => {
            (i64::from_ne_bytes(s), i64::from(number(data, 8)?))
        }
        _ => (i64::from(number(data, 0)?), i64::from(number(data, 4)?)),
    };
    Some(Timestamp(seconds.saturating_mul(SECOND).saturating_add(micros.saturating_mul(1_000))))
}

/// A `timespec` of two words of 64 bit, or of 32 bit on small machines.
#[inline]
#[cfg(target_os = "linux")]
fn timespec(data: &[u8]) -> Option<Timestamp> {
    let (seconds, ns) = match (array(data, 0), array(data, 8)) {
        (Some(s), Some(ns)) => (i64::from_ne_bytes(s), i64::from_ne_bytes(ns)),
        _ => (i64::from(number(data, 0)?), i64::from(number(data, 4)?)),
    };
    Some(Timestamp(seconds.saturating_mul(SECOND).saturating_add(ns)))
}

#[inline]
fn number(data: &[u8], at: usize) -> Option<i32> {
    array(data, at).map(i32::from_ne_bytes)
}

#[inline]
fn array<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A control message as the kernel lays it out.
    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut octets = (HEADER + data.len()).to_ne_bytes().to_vec();
        octets.extend(level.to_ne_bytes());
        octets.extend(kind.to_ne_bytes());
        octets.extend(data);
        octets.resize(octets.len().next_multiple_of(CONTROL_ALIGN), 0);
        octets
    }

    fn stamp(seconds: i64, ns: i64) -> Vec<u8> {
        let data = [seconds.to_ne_bytes(), ns.to_ne_bytes()].concat();
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &data)
    }

    fn info(local: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
        message(libc::IPPROTO_IP, libc::IP_PKTINFO, &[[7, 0, 0, 0], local, destination].concat())
    }

    #[test]
    fn every_message_is_found_in_any_order() {
        let drops = message(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &u32::MAX.to_ne_bytes());
        let ttl = message(libc::IPPROTO_IP, libc::IP_TTL, &64_i32.to_ne_bytes());
        let unknown = message(99, 99, &[1, 2, 3]);
        let group = info([10, 0, 0, 1], [239, 255, 0, 1]);
        let control = read(&[ttl, unknown, drops, group, stamp(3, 5)].concat());
        assert_eq!(control.stamp, Some(Timestamp(3 * SECOND + 5)));
        assert_eq!(control.drops, Some(u32::MAX));
        assert_eq!(control.destination, Some(IpAddr::from([239, 255, 0, 1])));
        assert_eq!((control.broadcast, control.ttl), (false, Some(64)));
    }

    #[test]
    fn a_stamp_of_microseconds_is_read_too() {
        let data = [3_i64.to_ne_bytes(), 999_999_i64.to_ne_bytes()].concat();
        let whole = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &data);
        assert_eq!(read(&whole).stamp, Some(Timestamp(3 * SECOND + 999_999_000)));
        let small = [3_i32.to_ne_bytes(), 5_i32.to_ne_bytes()].concat();
        let small = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &small);
        assert_eq!(read(&small).stamp, Some(Timestamp(3 * SECOND + 5_000)), "of 32 bit");
        assert_eq!(read(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &[1, 2, 3])).stamp, None);
    }

    #[test]
    fn a_destination_that_is_no_address_of_the_host_is_a_broadcast() {
        assert!(read(&info([10, 0, 0, 1], [10, 0, 0, 255])).broadcast);
        assert!(read(&info([0, 0, 0, 0], [255, 255, 255, 255])).broadcast);
        assert!(!read(&info([10, 0, 0, 1], [10, 0, 0, 1])).broadcast);
        assert!(!read(&info([0, 0, 0, 0], [10, 0, 0, 1])).broadcast, "nothing is known of the route");
    }

    #[test]
    fn cut_or_damaged_messages_are_left_out() {
        let whole = [stamp(3, 5), info([1, 1, 1, 1], [1, 1, 1, 1])].concat();
        for kept in 0..whole.len() {
            let control = read(&whole[..kept]);
            assert_eq!(control.stamp.is_some(), kept >= HEADER + 16);
        }
        for first in 0..=u8::MAX {
            let mut damaged = whole.clone();
            damaged[0] = first;
            let _ = read(&damaged);
        }
        assert_eq!(read(&[0xff; 64]), Control::default());
    }

    #[test]
    fn addresses_of_both_families_are_read_without_scope() {
        let v4 = [&2_u16.to_ne_bytes()[..], &[0x15, 0xc0, 10, 0, 0, 9]].concat();
        assert_eq!(address(&v4), Some(SocketAddr::from(([10, 0, 0, 9], 5568))));
        let mut v6 = 10_u16.to_ne_bytes().to_vec();
        v6.extend([0x15, 0xc0, 0, 0, 0, 0]);
        v6.extend(Ipv6Addr::LOCALHOST.octets());
        v6.extend(3_u32.to_ne_bytes());
        assert_eq!(address(&v6), Some(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 5568)));
        assert_eq!(address(&v6[..20]), None);
        assert_eq!(address(&[]), None);
    }
}
