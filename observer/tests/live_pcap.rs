//! libpcap in the same cases as the packet ring.

#![cfg(feature = "libpcap")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

mod live_support;

use live_support::cases;
use live_support::{Tape, isolated, sender};
use wireproof::live::pcap_source::PcapSource;
use wireproof::live::source::Source;
use wireproof::live::tap::{TapError, TapFilter, TapOptions};

fn pcap(options: &TapOptions) -> Result<Box<dyn Source>, TapError> {
    Ok(Box::new(PcapSource::open(options)?))
}

#[test]
fn every_datagram_is_seen_once_with_addresses_and_kernel_stamps() {
    cases::once_each("every_datagram_is_seen_once_with_addresses_and_kernel_stamps", pcap);
}

#[test]
fn the_filter_passes_only_the_protocol_ports() {
    cases::ports_only("the_filter_passes_only_the_protocol_ports", pcap);
}

#[test]
fn without_a_filter_everything_is_seen() {
    cases::everything("without_a_filter_everything_is_seen", pcap);
}

#[test]
fn fragments_of_a_datagram_are_put_together() {
    cases::fragments("fragments_of_a_datagram_are_put_together", pcap);
}

#[test]
fn datagrams_and_fragments_over_ipv6_are_seen() {
    cases::version_6("datagrams_and_fragments_over_ipv6_are_seen", pcap);
}

#[test]
fn the_outer_vlan_tag_is_seen_though_the_kernel_takes_it_out() {
    cases::tags("the_outer_vlan_tag_is_seen_though_the_kernel_takes_it_out", pcap);
}

#[test]
fn frames_for_other_hosts_are_seen_and_broadcast_is_told_apart() {
    cases::link_addresses("frames_for_other_hosts_are_seen_and_broadcast_is_told_apart", pcap);
}

#[test]
fn seen_and_dropped_make_up_what_was_sent_and_drops_are_announced_in_place() {
    cases::drops("seen_and_dropped_make_up_what_was_sent_and_drops_are_announced_in_place", pcap);
}

#[test]
fn the_account_closes_while_the_sender_does_not_wait() {
    cases::drops_meanwhile("the_account_closes_while_the_sender_does_not_wait", pcap);
}

#[test]
fn drops_at_the_end_are_told_once_when_asked_for() {
    cases::drops_at_the_end("drops_at_the_end_are_told_once_when_asked_for", pcap);
}

#[test]
fn frames_are_handed_over_as_they_were_on_the_wire() {
    cases::frames("frames_are_handed_over_as_they_were_on_the_wire", pcap);
}

#[test]
fn an_interface_that_goes_down_is_told_once_and_heard_again_when_up() {
    cases::down_and_up("an_interface_that_goes_down_is_told_once_and_heard_again_when_up", pcap);
}

#[test]
fn an_unknown_interface_is_refused_with_the_ones_there_are() {
    cases::unknown("an_unknown_interface_is_refused_with_the_ones_there_are", pcap);
}

#[test]
fn a_missing_right_is_one_line_that_says_what_to_do() {
    cases::no_right("a_missing_right_is_one_line_that_says_what_to_do", pcap);
}

#[test]
fn a_quiet_network_ends_a_poll_in_time() {
    cases::idle("a_quiet_network_ends_a_poll_in_time", pcap);
}

#[test]
fn a_link_without_a_header_carries_ip() {
    cases::headerless("a_link_without_a_header_carries_ip", pcap);
}

#[test]
fn a_filter_expression_decides_and_a_wrong_one_is_refused_in_one_line() {
    isolated("a_filter_expression_decides_and_a_wrong_one_is_refused_in_one_line", || {
        let filter = |text: &str| TapOptions::new("lo", TapFilter::Expression(text.to_owned()));
        let mut source = PcapSource::open(&filter("udp dst port 9000")).unwrap();
        sender("127.0.0.1:0").send_to(b"a", "127.0.0.1:9001").unwrap();
        sender("127.0.0.1:0").send_to(b"b", "127.0.0.1:9000").unwrap();
        assert_eq!(Tape::collect(&mut source, 1)[0].payload, b"b");
        let text = PcapSource::open(&filter("udp port and")).err().unwrap().to_string();
        assert!(text.starts_with("\"lo\": filter \"udp port and\": ") && !text.contains('\n'), "{text}");
    });
}
