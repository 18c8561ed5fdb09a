//! The UDP socket source on loopback: what it says of each datagram, its account of drops, its memberships.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests count as tests"
)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wireproof::live::multicast::{Families, Joins};
use wireproof::live::source::{Layer, Seen, Source};
use wireproof::live::udp::{UdpError, UdpOptions, UdpSource, default_addresses};
use wireproof_protocols::{Timestamp, time::SECOND};

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// Held by the tests that need the sACN port, so that they do not get in each other's way.
static SACN_PORT: Mutex<()> = Mutex::new(());

/// What a test keeps of what it saw.
#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Datagram {
        at: Timestamp,
        from: SocketAddr,
        to: SocketAddr,
        octets: Vec<u8>,
        length: u32,
        cut: bool,
        ttl: Option<u8>,
    },
    Dropped(u64),
}

fn keep(seen: Seen<'_>) -> Kept {
    match seen {
        Seen::Datagram(at, d) => Kept::Datagram {
            at,
            from: d.source,
            to: d.destination,
            octets: d.payload.to_vec(),
            length: d.length,
            cut: d.is_cut(),
            ttl: d.link.ttl,
        },
        Seen::Dropped(n) => Kept::Dropped(n),
        Seen::Packet(_) | Seen::Frame(_) => panic!("a socket sees datagrams only"),
    }
}

fn options(addresses: &[SocketAddr]) -> UdpOptions {
    UdpOptions { addresses: addresses.to_vec(), hops: true, ..UdpOptions::default() }
}

fn any_port(ip: impl Into<IpAddr>) -> SocketAddr {
    SocketAddr::new(ip.into(), 0)
}

/// A source on loopback with a buffer of so many octets, and its address.
fn small(buffer: u32) -> (UdpSource, SocketAddr) {
    let source =
        UdpSource::open(&UdpOptions { buffer_bytes: Some(buffer), ..options(&[any_port(LOOPBACK)]) })
            .unwrap();
    let address = source.local_addresses().next().unwrap();
    (source, address)
}

fn sender(ip: impl Into<IpAddr>) -> UdpSocket {
    UdpSocket::bind(any_port(ip)).unwrap()
}

/// Polls until `done` or until patience ends.
fn poll_until(
    source: &mut UdpSource,
    kept: &mut Vec<Kept>,
    mut done: impl FnMut(&mut UdpSource, &[Kept]) -> bool,
) {
    let start = Instant::now();
    while !done(source, kept) {
        assert!(start.elapsed() < PATIENCE, "patience ended with {kept:?}");
        source.poll(Duration::from_millis(20), &mut |seen| kept.push(keep(seen))).unwrap();
    }
}

fn poll_count(source: &mut UdpSource, count: usize) -> Vec<Kept> {
    let mut kept = Vec::new();
    poll_until(source, &mut kept, |_, kept| datagrams(kept) >= count);
    kept
}

fn datagrams(kept: &[Kept]) -> usize {
    kept.iter().filter(|k| matches!(k, Kept::Datagram { .. })).count()
}

fn dropped(kept: &[Kept]) -> u64 {
    kept.iter().map(|k| if let Kept::Dropped(n) = k { *n } else { 0 }).sum()
}

/// First octet and destination of each datagram.
fn firsts(kept: &[Kept]) -> Vec<(u8, SocketAddr)> {
    let first = |k: &Kept| match k {
        Kept::Datagram { octets, to, .. } => Some((octets[0], *to)),
        Kept::Dropped(_) => None,
    };
    kept.iter().filter_map(first).collect()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_nanos()).unwrap())
}

fn has_ipv6() -> bool {
    UdpSocket::bind(any_port(Ipv6Addr::LOCALHOST)).is_ok()
}

/// Opens a source on a port that is free for all addresses, with groups to join there on loopback.
fn with_groups(groups: &[Ipv4Addr]) -> Result<(UdpSource, u16), UdpError> {
    let mut tries = 20;
    loop {
        let port = sender(Ipv4Addr::UNSPECIFIED).local_addr().unwrap().port();
        let groups = groups.iter().map(|g| SocketAddr::from((*g, port))).collect();
        let joins = Joins { groups, interface: Some("lo".to_owned()), ..Joins::default() };
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        tries -= 1;
        match UdpSource::open(&UdpOptions { joins, ..options(&[any]) }) {
            Err(UdpError::PortInUse { .. }) if tries > 0 => {}
            other => return other.map(|source| (source, port)),
        }
    }
}

/// Memberships of 239.255.`third`.x on loopback, over all sockets of the host; `None` where the system does not tell.
fn members(third: u8) -> Option<u32> {
    let text = std::fs::read_to_string("/proc/net/igmp").ok()?;
    let (mut on_loopback, mut users) = (false, 0);
    for line in text.lines() {
        if !line.starts_with('\t') {
            on_loopback = line.split_whitespace().nth(1) == Some("lo");
            continue;
        }
        let mut words = line.split_whitespace();
        let group = u32::from_str_radix(words.next()?, 16).ok()?;
        if on_loopback && group.to_ne_bytes().starts_with(&[239, 255, third]) {
            users += words.next()?.parse::<u32>().ok()?;
        }
    }
    Some(users)
}

/// Waits for what the system shows at its own pace: a list that changes while it is read may miss a line.
fn eventually(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "patience ended");
        std::thread::yield_now();
    }
}

/// A sender whose multicast stays on loopback.
fn multicast_sender() -> UdpSocket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    socket.set_multicast_if_v4(&LOOPBACK).unwrap();
    socket.set_broadcast(true).unwrap();
    socket.into()
}

#[test]
fn a_datagram_is_seen_with_its_addresses_and_a_stamp_near_now() {
    let (mut source, to) = small(1 << 20);
    let from = sender(LOOPBACK);
    let before = now();
    from.send_to(b"DMX", to).unwrap();
    let kept = poll_count(&mut source, 1);
    let [Kept::Datagram { at, from: seen_from, to: seen_to, octets, length, cut, ttl }] = &kept[..] else {
        panic!("{kept:?}")
    };
    assert_eq!((*seen_from, *seen_to), (from.local_addr().unwrap(), to));
    assert_eq!((octets.as_slice(), *length, *cut), (&b"DMX"[..], 3, false));
    assert_eq!(*ttl, Some(64));
    assert!(*at >= before && *at <= now(), "{at:?} is outside of the test, which began at {before:?}");
    assert_eq!((source.info().kind, source.info().timestamps), ("udp", "kernel"));
    assert_eq!((source.info().name.clone(), source.layer()), (to.to_string(), Layer::Socket));
}

#[test]
fn an_idle_poll_ends_after_its_wait_with_nothing() {
    let (mut source, _) = small(1 << 20);
    let start = Instant::now();
    let n = source.poll(Duration::from_millis(30), &mut |_| panic!("nothing was sent")).unwrap();
    assert_eq!(n, 0);
    assert!(start.elapsed() >= Duration::from_millis(29));
    assert_eq!(source.counters().unwrap().received, 0);
}

#[test]
fn an_empty_and_a_jumbo_datagram_are_whole_and_a_longer_one_is_cut() {
    let (mut source, to) = small(1 << 20);
    let from = sender(LOOPBACK);
    for length in [0_usize, 9_188, 20_000, 1] {
        from.send_to(&vec![7; length], to).unwrap();
    }
    let kept = poll_count(&mut source, 4);
    let seen: Vec<_> = kept
        .iter()
        .map(|k| match k {
            Kept::Datagram { octets, length, cut, .. } => (octets.len(), *length, *cut),
            Kept::Dropped(_) => panic!("{kept:?}"),
        })
        .collect();
    assert_eq!(seen, [(0, 0, false), (9_188, 9_188, false), (9_280, 20_000, true), (1, 1, false)]);
    assert_eq!(source.counters().unwrap().cut, 1);
}

#[test]
fn seen_and_dropped_make_up_what_was_sent_to_a_loop_that_does_not_read() {
    const SENT: u64 = 500;
    let (mut source, to) = small(32_768);
    let from = sender(LOOPBACK);
    for _ in 0..SENT {
        from.send_to(&[0; 638], to).unwrap();
    }
    let mut kept = Vec::new();
    poll_until(&mut source, &mut kept, |source, _| {
        let counters = source.counters().unwrap();
        counters.received + counters.dropped == SENT
    });
    let counters = source.counters().unwrap();
    assert!(counters.dropped > 0, "the buffer took everything");
    assert_eq!(datagrams(&kept) as u64, counters.received);
    assert_eq!(dropped(&kept), 0, "no datagram followed that could announce the drops");
    assert_eq!(source.take_unannounced().unwrap(), counters.dropped);
    assert_eq!(source.take_unannounced().unwrap(), 0);
    assert_eq!(source.counters().unwrap().dropped, counters.dropped);
}

#[test]
fn drops_are_told_once_and_before_the_datagram_that_announces_them() {
    let (mut source, to) = small(16_384);
    let from = sender(LOOPBACK);
    let mut kept = Vec::new();
    for round in 1..=3_u64 {
        for _ in 0..100 {
            from.send_to(&[0; 638], to).unwrap();
        }
        // Everything has been received or dropped, and the counters know it before any datagram announces it.
        poll_until(&mut source, &mut kept, |source, _| {
            let counters = source.counters().unwrap();
            counters.received + counters.dropped == round * 100 + round - 1
        });
        from.send_to(&[1; 638], to).unwrap();
        let total = |kept: &[Kept]| datagrams(kept) as u64 + dropped(kept);
        poll_until(&mut source, &mut kept, |_, kept| total(kept) == round * 101);
        let tail = &kept[kept.len() - 2..];
        assert!(matches!(tail[0], Kept::Dropped(n) if n > 0), "{tail:?}");
        assert!(matches!(&tail[1], Kept::Datagram { octets, .. } if octets[0] == 1), "{tail:?}");
        assert_eq!(source.counters().unwrap().dropped, dropped(&kept));
    }
    assert_eq!(source.take_unannounced().unwrap(), 0);
    // The drop counter takes room beside the datagram, and must not push out what else stands there.
    let whole = |k: &Kept| matches!(k, Kept::Datagram { ttl: Some(_), .. } | Kept::Dropped(_));
    assert!(kept.iter().all(whole), "control messages are cut");
}

#[test]
fn a_buffer_is_granted_as_the_kernel_charges_it() {
    let (mut source, _) = small(212_992);
    assert_eq!(source.info().buffer_bytes, (212_992, 212_992));
    assert_eq!(source.counters().unwrap().granted_bytes, 212_992);
    assert!(!source.gathers(), "166 datagrams are no reserve");
    assert!(source.info().notes.iter().any(|n| n.contains("taken at once")), "{:?}", source.info().notes);
}

#[test]
fn a_buffer_smaller_than_asked_for_is_said() {
    let source = UdpSource::open(&options(&[any_port(LOOPBACK)])).unwrap();
    let (asked, granted) = source.info().buffer_bytes;
    let said = source.info().notes.iter().any(|n| n.contains("net.core.rmem_max"));
    assert_eq!(said, granted < asked, "{asked} asked, {granted} granted: {:?}", source.info().notes);
}

#[test]
fn ipv6_datagrams_are_seen_with_their_addresses() {
    if !has_ipv6() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED ipv6_datagrams_are_seen_with_their_addresses: no IPv6 on loopback\n"),
        );
        return;
    }
    let mut source = UdpSource::open(&options(&[any_port(Ipv6Addr::UNSPECIFIED)])).unwrap();
    let port = source.local_addresses().next().unwrap().port();
    let to = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    let sending = sender(Ipv6Addr::LOCALHOST);
    sending.send_to(b"six", to).unwrap();
    let kept = poll_count(&mut source, 1);
    let Kept::Datagram { from, to: seen_to, ttl, .. } = &kept[0] else { panic!("{kept:?}") };
    assert_eq!((*from, *seen_to, *ttl), (sending.local_addr().unwrap(), to, Some(64)));
}

#[test]
fn datagrams_of_two_sockets_come_in_the_order_of_their_stamps() {
    let mut source = UdpSource::open(&options(&[any_port(LOOPBACK), any_port(LOOPBACK)])).unwrap();
    let to: Vec<_> = source.local_addresses().collect();
    assert_ne!(to[0], to[1]);
    let from = sender(LOOPBACK);
    for n in 0..200_u8 {
        // Runs of one to four datagrams on each socket.
        from.send_to(&[n], to[usize::from(n / (1 + n % 4) % 2)]).unwrap();
    }
    let kept = poll_count(&mut source, 200);
    let order: Vec<_> = firsts(&kept).iter().map(|(n, _)| *n).collect();
    assert_eq!(order, (0..200).collect::<Vec<_>>());
    for (n, seen_to) in firsts(&kept) {
        assert_eq!(seen_to, to[usize::from(n / (1 + n % 4) % 2)]);
    }
}

#[test]
fn stamps_do_not_step_back_while_two_sockets_receive() {
    const SENT: usize = 20_000;
    let mut source = UdpSource::open(&options(&[any_port(LOOPBACK), any_port(LOOPBACK)])).unwrap();
    let to: Vec<_> = source.local_addresses().collect();
    let sending = std::thread::spawn(move || {
        let from = sender(LOOPBACK);
        (0..SENT).for_each(|n| assert_eq!(from.send_to(&[0], to[n % 2]).unwrap(), 1));
    });
    let (mut last, mut back, mut told, start) = (Timestamp(0), 0, 0, Instant::now());
    while told < SENT as u64 {
        assert!(start.elapsed() < PATIENCE, "patience ended after {told}");
        let each = &mut |seen: Seen<'_>| {
            if let Seen::Datagram(at, _) = seen {
                back += usize::from(at < last);
                last = at;
            }
        };
        // Without a wait nothing gathers: many rounds, and each may end between two datagrams.
        source.poll(Duration::ZERO, each).unwrap();
        let counters = source.counters().unwrap();
        told = counters.received + counters.dropped;
    }
    sending.join().unwrap();
    // The kernel may queue a datagram late that it has stamped, when the sender moves to another processor.
    assert!(back <= 5, "{back} steps back");
}

#[test]
fn more_than_a_round_is_handed_over_without_loss() {
    let (mut source, to) = small(16 << 20);
    if source.info().buffer_bytes.1 < 8 << 20 {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "SKIPPED more_than_a_round_is_handed_over_without_loss: the receive buffer is too small\n"
            ),
        );
        return;
    }
    let from = sender(LOOPBACK);
    for n in 0..5_000_u32 {
        from.send_to(&n.to_be_bytes(), to).unwrap();
    }
    let (mut next, start) = (0_u32, Instant::now());
    while next < 5_000 {
        assert!(start.elapsed() < PATIENCE, "patience ended after {next}");
        let each = &mut |seen: Seen<'_>| {
            let Seen::Datagram(_, d) = seen else { panic!("{seen:?}") };
            assert_eq!(d.payload, next.to_be_bytes());
            next += 1;
        };
        assert!(source.poll(Duration::from_millis(20), each).unwrap() <= 4_096);
    }
}

#[test]
fn a_port_in_use_is_said_in_one_line() {
    let holder = sender(LOOPBACK);
    let address = holder.local_addr().unwrap();
    let Err(error) = UdpSource::open(&options(&[address])) else { panic!("{address} was opened twice") };
    assert!(matches!(error, UdpError::PortInUse { .. }), "{error:?}");
    let text = error.to_string();
    let start = format!("UDP port {} of 127.0.0.1 is in use; ", address.port());
    assert!(text.starts_with(&start) && !text.contains('\n'), "{text}");
}

#[test]
fn addresses_that_cannot_be_received_on_are_refused() {
    let open = |address: &str| UdpSource::open(&options(&[address.parse().unwrap()])).err();
    assert!(matches!(open("192.0.2.1:5568"), Some(UdpError::NoSuchAddress { .. })));
    assert!(matches!(open("239.255.0.1:5568"), Some(UdpError::GroupAddress { .. })));
    let six = open("[2001:db8::1]:5568");
    assert!(matches!(six, Some(UdpError::NoSuchAddress { .. } | UdpError::NoIpv6 { .. })), "{six:?}");
}

#[test]
fn an_address_named_twice_is_opened_once() {
    let free = sender(LOOPBACK).local_addr().unwrap();
    let source = UdpSource::open(&options(&[free, free])).unwrap();
    assert_eq!(source.local_addresses().collect::<Vec<_>>(), [free]);
}

#[test]
fn the_default_list_opens_every_protocol_port() {
    let _port = SACN_PORT.lock().unwrap_or_else(PoisonError::into_inner);
    match UdpSource::open(&UdpOptions::default()) {
        Ok(mut source) => {
            let opened: Vec<_> = source.local_addresses().collect();
            let wanted = default_addresses();
            let no_ipv6 = source.info().notes.iter().any(|n| n.contains("IPv6"));
            assert_eq!(opened, if no_ipv6 { &wanted[..wanted.len() / 2] } else { &wanted[..] });
            assert!(source.join_budget().is_none());
            source.counters().unwrap();
        }
        Err(UdpError::PortInUse { address }) => {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("SKIPPED the_default_list_opens_every_protocol_port: {address} is in use\n"),
            );
        }
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn sixty_four_joins_take_four_sockets_and_leave_nothing_behind() {
    let groups: Vec<_> = (1..=64).map(|n| Ipv4Addr::new(239, 255, 77, n)).collect();
    let limit = std::fs::read_to_string("/proc/sys/net/ipv4/igmp_max_memberships").unwrap_or_default();
    if limit.trim() != "20" || members(77).is_none() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "SKIPPED sixty_four_joins_take_four_sockets_and_leave_nothing_behind: limit is {limit:?}\n"
            ),
        );
        return;
    }
    eventually(|| members(77) == Some(0));
    for closes in [true, false] {
        let (source, _) = match with_groups(&groups) {
            Err(e @ UdpError::Join { .. }) => {
                let _ = std::io::Write::write_fmt(
                    &mut std::io::stderr(),
                    format_args!(
                        "SKIPPED sixty_four_joins_take_four_sockets_and_leave_nothing_behind: {e}\n"
                    ),
                );
                return;
            }
            other => other.unwrap(),
        };
        let budget = source.join_budget().unwrap();
        assert_eq!((budget.groups, budget.sockets, budget.per_socket), (64, 4, Some(20)));
        let text = "64 multicast groups joined on lo over 4 sockets, at most 20 each in IPv4";
        assert!(budget.to_string().starts_with(text), "{budget}");
        assert_eq!(source.local_addresses().count(), 4);
        eventually(|| members(77) == Some(64));
        if closes {
            source.close().unwrap()
        } else {
            drop(source)
        }
        eventually(|| members(77) == Some(0));
    }
}

#[test]
fn with_shards_every_unicast_multicast_and_broadcast_is_seen_once() {
    let groups: Vec<_> = (1..=41).map(|n| Ipv4Addr::new(239, 255, 78, n)).collect();
    let (mut source, port) = match with_groups(&groups) {
        Err(e @ UdpError::Join { .. }) => {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("SKIPPED with_shards_every_unicast_multicast_and_broadcast_is_seen_once: {e}\n"),
            );
            return;
        }
        other => other.unwrap(),
    };
    let from = multicast_sender();
    let mut wanted = Vec::new();
    let broadcast = Ipv4Addr::new(127, 255, 255, 255);
    for (n, ip) in [LOOPBACK, broadcast].iter().chain(&groups).chain(&[LOOPBACK]).enumerate() {
        let to = SocketAddr::from((*ip, port));
        if let Err(e) = from.send_to(&[n as u8], to) {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!(
                    "SKIPPED with_shards_every_unicast_multicast_and_broadcast_is_seen_once: {to}: {e}\n"
                ),
            );
            return;
        }
        wanted.push((n as u8, to));
    }
    assert_eq!(firsts(&poll_count(&mut source, wanted.len())), wanted);
    let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    other.set_reuse_address(true).unwrap();
    let taken = other.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into());
    assert!(taken.is_err(), "another program may take unicast datagrams away");
}

#[test]
fn what_another_socket_has_joined_is_not_seen() {
    let group = Ipv4Addr::new(239, 255, 79, 1);
    let (mut source, port) = with_groups(&[]).unwrap();
    let other = sender(Ipv4Addr::UNSPECIFIED);
    let from = multicast_sender();
    let joined = other.join_multicast_v4(&group, &LOOPBACK);
    if let Err(e) = joined.and_then(|()| from.send_to(&[1], (group, port))) {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED what_another_socket_has_joined_is_not_seen: {e}\n"),
        );
        return;
    }
    let to = SocketAddr::from((LOOPBACK, port));
    from.send_to(&[2], to).unwrap();
    assert_eq!(firsts(&poll_count(&mut source, 1)), [(2, to)]);
    assert!(source.join_budget().is_none());
}

#[test]
fn ipv6_universes_are_joined_and_left() {
    let _port = SACN_PORT.lock().unwrap_or_else(PoisonError::into_inner);
    let members = |group: &str| {
        let text = std::fs::read_to_string("/proc/net/igmp6").unwrap_or_default();
        text.lines().filter(|l| l.contains(" lo ") && l.contains(group)).count()
    };
    let joins = Joins {
        universes: vec![1, 0x1234],
        families: Families::V6,
        interface: Some("lo".to_owned()),
        ..Joins::default()
    };
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 5568));
    let opened = UdpSource::open(&UdpOptions { joins, ..options(&[any]) });
    let Ok(source) = opened else {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED ipv6_universes_are_joined_and_left: {}\n", opened.err().unwrap()),
        );
        return;
    };
    let budget = source.join_budget().unwrap();
    assert_eq!(budget.to_string(), "2 multicast groups joined on lo over 1 socket");
    eventually(|| members("ff180000000000000000000083000001") == 1);
    eventually(|| members("ff180000000000000000000083001234") == 1);
    source.close().unwrap();
    eventually(|| members("ff1800000000000000000000830") == 0);
}

#[test]
fn groups_that_cannot_be_joined_are_refused() {
    let joins = Joins { universes: vec![1], interface: Some("no-such-if".to_owned()), ..Joins::default() };
    let opened = UdpSource::open(&UdpOptions { joins, ..options(&[any_port(LOOPBACK)]) });
    assert!(matches!(opened.err(), Some(UdpError::NoSuchInterface { .. })));
}

#[test]
fn a_stamp_is_the_time_of_arrival_and_not_of_the_poll() {
    let (mut source, to) = small(1 << 20);
    let from = sender(LOOPBACK);
    // The kernel begins to stamp a moment after the first socket asked for it: wait until it does.
    let start = Instant::now();
    loop {
        from.send_to(&[0], to).unwrap();
        let sent = now();
        while now().since(sent) < SECOND / 50 {
            std::hint::spin_loop();
        }
        let kept = poll_count(&mut source, 1);
        let Kept::Datagram { at, .. } = kept[0] else { panic!("{kept:?}") };
        if at.since(sent) < SECOND / 100 {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "stamps are those of the poll");
    }
}
