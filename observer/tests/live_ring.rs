//! The packet ring on the loopback interface and on a cable of its own, each test in its own network namespace, and
//! the sockets that keep the host silent meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

mod live_support;

use live_support::cases::{self, PORTS, options};
use live_support::{Tape, isolated, numbered, sender};
use std::net::UdpSocket;
use wireproof::live::interfaces;
use wireproof::live::quiet::Quiet;
use wireproof::live::ring::RingSource;
use wireproof::live::source::{Layer, Source};
use wireproof::live::tap::{TapError, TapFilter, TapOptions};

fn ring(options: &TapOptions) -> Result<Box<dyn Source>, TapError> {
    Ok(Box::new(RingSource::open(options)?))
}

/// Port-unreachable and other destination-unreachable messages this namespace has sent, over both IP versions.
fn unreachables_sent() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (v4, v6) = (read("/proc/self/net/snmp"), read("/proc/self/net/snmp6"));
    let mut lines = v4.lines().filter(|line| line.starts_with("Icmp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split_whitespace().position(|name| name == "OutDestUnreachs").unwrap();
    let number = |text: Option<&str>| text.unwrap().parse::<u64>().unwrap();
    let in_v6 = v6.lines().find(|line| line.starts_with("Icmp6OutDestUnreachs"));
    number(values.split_whitespace().nth(place))
        + in_v6.map_or(0, |line| number(line.split_whitespace().nth(1)))
}

#[test]
fn every_datagram_is_seen_once_with_addresses_and_kernel_stamps() {
    cases::once_each("every_datagram_is_seen_once_with_addresses_and_kernel_stamps", ring);
}

#[test]
fn the_filter_passes_only_the_protocol_ports() {
    cases::ports_only("the_filter_passes_only_the_protocol_ports", ring);
}

#[test]
fn without_a_filter_everything_is_seen() {
    cases::everything("without_a_filter_everything_is_seen", ring);
}

#[test]
fn fragments_of_a_datagram_are_put_together() {
    cases::fragments("fragments_of_a_datagram_are_put_together", ring);
}

#[test]
fn datagrams_and_fragments_over_ipv6_are_seen() {
    cases::version_6("datagrams_and_fragments_over_ipv6_are_seen", ring);
}

#[test]
fn the_outer_vlan_tag_is_seen_though_the_kernel_takes_it_out() {
    cases::tags("the_outer_vlan_tag_is_seen_though_the_kernel_takes_it_out", ring);
}

#[test]
fn frames_for_other_hosts_are_seen_and_broadcast_is_told_apart() {
    cases::link_addresses("frames_for_other_hosts_are_seen_and_broadcast_is_told_apart", ring);
}

#[test]
fn seen_and_dropped_make_up_what_was_sent_and_drops_are_announced_in_place() {
    cases::drops("seen_and_dropped_make_up_what_was_sent_and_drops_are_announced_in_place", ring);
}

#[test]
fn the_account_closes_while_the_sender_does_not_wait() {
    cases::drops_meanwhile("the_account_closes_while_the_sender_does_not_wait", ring);
}

#[test]
fn drops_at_the_end_are_told_once_when_asked_for() {
    cases::drops_at_the_end("drops_at_the_end_are_told_once_when_asked_for", ring);
}

#[test]
fn frames_are_handed_over_as_they_were_on_the_wire() {
    cases::frames("frames_are_handed_over_as_they_were_on_the_wire", ring);
}

#[test]
fn an_interface_that_goes_down_is_told_once_and_heard_again_when_up() {
    cases::down_and_up("an_interface_that_goes_down_is_told_once_and_heard_again_when_up", ring);
}

#[test]
fn an_unknown_interface_is_refused_with_the_ones_there_are() {
    cases::unknown("an_unknown_interface_is_refused_with_the_ones_there_are", ring);
}

#[test]
fn a_missing_right_is_one_line_that_says_what_to_do() {
    cases::no_right("a_missing_right_is_one_line_that_says_what_to_do", ring);
}

#[test]
fn a_quiet_network_ends_a_poll_in_time() {
    cases::idle("a_quiet_network_ends_a_poll_in_time", ring);
}

#[test]
fn a_link_without_a_header_carries_ip() {
    cases::headerless("a_link_without_a_header_carries_ip", ring);
}

#[test]
fn an_interface_that_is_down_is_accepted_and_told_at_the_first_poll() {
    isolated("an_interface_that_is_down_is_accepted_and_told_at_the_first_poll", || {
        live_support::cable();
        live_support::ip("link set near down");
        let mut source = RingSource::open(&options("near")).unwrap();
        let error = Tape::default().poll(&mut source).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkDown);
        assert_eq!(Tape::default().poll(&mut source).unwrap(), 0);
    });
}

#[test]
fn a_ring_of_64_mib_is_granted_and_its_filling_is_told() {
    isolated("a_ring_of_64_mib_is_granted_and_its_filling_is_told", || {
        let mut source = RingSource::open(&options("lo")).unwrap();
        assert_eq!(source.info().buffer_bytes, (64 << 20, 64 << 20), "{:?}", source.info().notes);
        assert_eq!((source.info().kind, source.info().name.as_str()), ("packet", "lo"));
        assert_eq!(source.layer(), Layer::Ring);
        let empty = source.counters().unwrap();
        assert_eq!((empty.queued_bytes, empty.granted_bytes), (0, 64 << 20));
        let socket = sender("127.0.0.1:0");
        for number in 0..2_000 {
            socket.send_to(&numbered(number, 638), "127.0.0.1:5568").unwrap();
        }
        // More than one block was filled, and nothing of it read.
        let full = source.counters().unwrap();
        assert!(full.queued_bytes > 2_000 * 638 / 2 && full.dropped == 0, "{full:?}");
        assert_eq!(Tape::collect(&mut source, 2_000).len(), 2_000);
        assert_eq!(source.counters().unwrap().queued_bytes, 0);
    });
}

#[test]
fn promiscuous_mode_ends_with_the_source_and_is_not_needed() {
    isolated("promiscuous_mode_ends_with_the_source_and_is_not_needed", || {
        live_support::cable();
        let on = || {
            let output =
                std::process::Command::new("ip").args(["-d", "link", "show", "near"]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().contains("promiscuity 1")
        };
        let plain = RingSource::open(&TapOptions { promiscuous: false, ..options("near") }).unwrap();
        assert!(!on());
        let source = RingSource::open(&options("near")).unwrap();
        assert!(on());
        drop((plain, source));
        assert!(!on());
    });
}

#[test]
fn the_largest_datagram_and_the_largest_filter_are_taken() {
    isolated("the_largest_datagram_and_the_largest_filter_are_taken", || {
        let ports: Vec<u16> = (0..512).map(|n| 5_568 + 3 * n).collect();
        let options = TapOptions { buffer_bytes: 1, ..TapOptions::new("lo", TapFilter::Ports(ports)) };
        let mut source = RingSource::open(&options).unwrap();
        assert_eq!(source.info().notes, Vec::<String>::new());
        sender("127.0.0.1:0").send_to(&numbered(7, 65_507), "127.0.0.1:7101").unwrap();
        assert_eq!(Tape::collect(&mut source, 1)[0].payload, numbered(7, 65_507));
        assert_eq!(source.counters().unwrap().cut, 0);
    });
}

#[test]
fn a_filter_expression_is_refused_by_the_ring() {
    isolated("a_filter_expression_is_refused_by_the_ring", || {
        let filter = TapFilter::Expression("udp".to_owned());
        let error = RingSource::open(&TapOptions::new("lo", filter)).err().unwrap();
        assert!(error.to_string().contains("feature `libpcap`"), "{error}");
    });
}

#[test]
fn opening_and_reading_a_tap_transmits_nothing() {
    isolated("opening_and_reading_a_tap_transmits_nothing", || {
        live_support::ip("link add near type veth peer name far");
        for name in ["near", "far"] {
            live_support::try_ip(&format!("link set {name} addrgenmode none"));
            live_support::ip(&format!("link set {name} up"));
        }
        let mut wire = RingSource::open(&TapOptions::new("far", TapFilter::Everything)).unwrap();
        let mut source = RingSource::open(&options("near")).unwrap();
        let _quiet = Quiet::hold(&PORTS);
        live_support::transmit("far", &[live_support::frame(&[], 5568, &numbered(0, 40))]);
        Tape::collect(&mut source, 1);
        drop(source);
        let mut heard = Tape::default();
        heard.poll(&mut wire).unwrap();
        assert_eq!(heard.0, []);
    });
}

#[test]
fn the_host_answers_unreachable_unless_it_is_kept_quiet() {
    isolated("the_host_answers_unreachable_unless_it_is_kept_quiet", || {
        let mut source = RingSource::open(&options("lo")).unwrap();
        let mut targets = vec![("127.0.0.1:0", "127.0.0.1")];
        if UdpSocket::bind("[::1]:0").is_ok() {
            targets.push(("[::1]:0", "::1"));
        }
        let send = || {
            for (from, to) in &targets {
                for port in PORTS {
                    // A fresh socket for each, since the answer to one would fail the next.
                    sender(from).send_to(b"frame", (*to, port)).unwrap();
                }
            }
        };
        let quiet = Quiet::hold(&PORTS);
        assert_eq!((quiet.held(), quiet.notes()), (PORTS.len() * targets.len(), &[][..]));
        send();
        assert_eq!(unreachables_sent(), 0);
        Tape::collect(&mut source, PORTS.len() * targets.len());
        drop(quiet);
        send();
        assert_eq!(unreachables_sent(), (PORTS.len() * targets.len()) as u64, "the control");
        Tape::collect(&mut source, PORTS.len() * targets.len());
    });
}

#[test]
fn a_port_that_another_program_has_is_left_to_it() {
    isolated("a_port_that_another_program_has_is_left_to_it", || {
        let other = UdpSocket::bind("0.0.0.0:5568").unwrap();
        let quiet = Quiet::hold(&PORTS);
        assert_eq!(quiet.notes().len(), 1);
        assert!(quiet.notes()[0].contains("another program has UDP port 5568"), "{:?}", quiet.notes());
        sender("127.0.0.1:0").send_to(b"mine", "127.0.0.1:5568").unwrap();
        let mut buffer = [0; 16];
        other.set_read_timeout(Some(live_support::PATIENCE)).unwrap();
        assert_eq!(other.recv(&mut buffer).unwrap(), 4);
    });
}

#[test]
fn a_program_that_comes_later_and_shares_the_port_gets_its_datagrams() {
    isolated("a_program_that_comes_later_and_shares_the_port_gets_its_datagrams", || {
        let _quiet = Quiet::hold(&PORTS);
        let later = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
        later.set_reuse_address(true).unwrap();
        later.bind(&"0.0.0.0:6454".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
        let later = UdpSocket::from(later);
        later.set_read_timeout(Some(live_support::PATIENCE)).unwrap();
        sender("127.0.0.1:0").send_to(b"theirs", "127.0.0.1:6454").unwrap();
        assert_eq!(later.recv(&mut [0; 16]).unwrap(), 6);
    });
}

#[test]
fn interfaces_are_listed_with_index_state_and_addresses() {
    isolated("interfaces_are_listed_with_index_state_and_addresses", || {
        live_support::cable();
        live_support::ip("link set near address 02:00:00:00:00:09");
        let far = interfaces::find("far").unwrap();
        assert!(far.up && !far.loopback && far.addresses.contains(&"10.9.0.1".parse().unwrap()), "{far:?}");
        assert_eq!(interfaces::find("near").unwrap().mac, Some([2, 0, 0, 0, 0, 9]));
        let lo = interfaces::find("lo").unwrap();
        assert!(lo.up && lo.loopback && lo.index == 1 && lo.mac.is_none(), "{lo:?}");
        assert!(interfaces::list().is_sorted_by_key(|interface| interface.index));
    });
}
