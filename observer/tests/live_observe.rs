//! `wireproof observe` as a user runs it, against a sender that is not ours, over a cable between two network
//! namespaces: what is missing is found and nothing else, by sockets and by packet ring, and the capture file says
//! the same as the live run.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

mod live_bench;

use live_bench::process::Finished;
use live_bench::summary::{Owners, link_types};
use live_bench::{Bench, FAR_6, NEAR_6, Truth, undisturbed};

/// How to listen.
const SOCKETS: &[&str] = &[];
const RING: &[&str] = &["-i", "near"];

/// An open-ended run with a capture file, ended by Ctrl-C when the sender is done.
fn watched(bench: &Bench, source: &[&str], sender: &[&str]) -> (Finished, Truth, Finished) {
    let run = bench.observe(&[source, &["-w", "show.pcapng"]].concat());
    let truth = bench.send(sender);
    let live = run.interrupt();
    let file = bench.analyze(&[bench.path("show.pcapng")]);
    (live, truth, file)
}

fn clean(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let (live, truth, file) = watched(bench, source, &["--bigpacket", "1"]);
        if !truth.was_in_time() {
            return false;
        }
        live.exits(0);
        live.agrees_with(&truth);
        assert_eq!((live.owners(), live.observer_lost()), (Owners::default(), 0), "{live}");
        // 60 frames a second are more than a DMX line carries; a disturbed host holds sender or loop up.
        let expected = ["OBS-STALL", "SEQ-AMBIGUOUS", "TIME-GAP", "TIME-RATE"];
        assert!(live.codes("warning").iter().all(|code| expected.contains(code)), "{live}");
        file.exits(0);
        live.equals(&file);
        // Tools built on libpcap read no file whose interfaces differ in link type.
        let octets = std::fs::read(bench.path("show.pcapng")).unwrap();
        assert_eq!(link_types(&octets).len(), 1, "{live}");
        true
    });
}

#[test]
fn a_clean_run_by_sockets_loses_nothing() {
    clean("a_clean_run_by_sockets_loses_nothing", SOCKETS);
}

#[test]
fn a_clean_run_by_ring_loses_nothing() {
    clean("a_clean_run_by_ring_loses_nothing", RING);
}

fn missing(test: &str, source: &[&str], sender: &[&str]) {
    undisturbed(test, false, |bench| {
        let (live, truth, file) = watched(bench, source, sender);
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        live.agrees_with(&truth);
        let owners = Owners { unknown: truth.all_missing(), ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, 0), "{live}");
        file.exits(1);
        live.equals(&file);
        true
    });
}

#[test]
fn every_datagram_skipped_is_found_by_sockets_and_none_else() {
    let test = "every_datagram_skipped_is_found_by_sockets_and_none_else";
    missing(test, SOCKETS, &["--bigpacket", "1", "--skip", "3", "--seed", "11"]);
}

#[test]
fn every_datagram_skipped_is_found_by_ring_and_none_else() {
    let test = "every_datagram_skipped_is_found_by_ring_and_none_else";
    missing(test, RING, &["--bigpacket", "1", "--skip", "3", "--seed", "12"]);
}

#[test]
fn every_datagram_lost_on_the_way_is_found_by_ring_and_none_else() {
    let test = "every_datagram_lost_on_the_way_is_found_by_ring_and_none_else";
    missing(test, RING, &["--bigpacket", "1", "--stray", "3", "--seed", "14"]);
}

fn over_ipv6(test: &str, source: &[&str]) {
    undisturbed(test, true, |bench| {
        let sender = [
            "--to",
            NEAR_6,
            "--source",
            FAR_6,
            "--artnet",
            "0",
            "--skip",
            "2",
            "--seed",
            "13",
            "--seconds",
            "1",
        ];
        let (live, truth, file) = watched(bench, source, &sender);
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        live.agrees_with(&truth);
        assert_eq!(live.observer_lost(), 0, "{live}");
        let from = live.stream("sacn/1")["source"].as_str().unwrap();
        assert!(from.starts_with("[fd00:9::2]:"), "{from}\n{live}");
        file.exits(1);
        live.equals(&file);
        true
    });
}

#[test]
fn datagrams_over_ipv6_are_judged_alike_by_sockets() {
    over_ipv6("datagrams_over_ipv6_are_judged_alike_by_sockets", SOCKETS);
}

#[test]
fn datagrams_over_ipv6_are_judged_alike_by_ring() {
    over_ipv6("datagrams_over_ipv6_are_judged_alike_by_ring", RING);
}

/// Fragments are put together by the kernel for a socket, by the tap for itself. `seen` says whether they show.
fn in_fragments(test: &str, source: &[&str], seen: bool, mtu: u32, sender: &[&str]) {
    undisturbed(test, false, |bench| {
        bench.ip_far(&format!("link set far mtu {mtu}"));
        let (live, truth, file) =
            watched(bench, source, &[&["--stray", "1", "--seconds", "1"], sender].concat());
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        live.agrees_with(&truth);
        assert_eq!(live.observer_lost(), 0, "{live}");
        live.equals(&file);
        let of = |run: &Finished| {
            let keys = ["seen", "reassembled", "incomplete"];
            keys.map(|key| run.summary["source"]["fragments"][key].as_u64().unwrap())
        };
        assert_eq!(of(&live), of(&file), "{live}");
        let fragmented = live.summary["datagrams"]["fragmented"].as_u64().unwrap();
        assert_eq!(of(&live)[1], fragmented, "{live}");
        assert!(!seen || (fragmented > 100 && of(&live)[0] >= 2 * fragmented), "{fragmented}\n{live}");
        assert!(seen || of(&live) == [0; 3], "{live}");
        true
    });
}

const SHORT_LINK: &[&str] = &["--sacn", "2"];
/// Datagrams of 2,912 octets over a usual link.
const LONG: &[&str] = &["--sacn", "2", "--ddp", "0", "--bigpacket", "1", "--chunk", "2880"];

#[test]
fn fragments_are_one_datagram_by_sockets() {
    in_fragments("fragments_are_one_datagram_by_sockets", SOCKETS, false, 1_200, SHORT_LINK);
}

#[test]
fn fragments_are_one_datagram_by_ring() {
    in_fragments("fragments_are_one_datagram_by_ring", RING, true, 1_200, SHORT_LINK);
}

#[test]
fn long_datagrams_are_put_together_by_the_kernel_for_sockets() {
    let test = "long_datagrams_are_put_together_by_the_kernel_for_sockets";
    in_fragments(test, SOCKETS, false, 1_500, LONG);
}

#[test]
fn fragments_of_long_datagrams_are_counted_and_put_together_by_ring() {
    in_fragments("fragments_of_long_datagrams_are_counted_and_put_together_by_ring", RING, true, 1_500, LONG);
}

fn broadcast(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let (live, truth, file) = watched(bench, source, &["--to", "10.9.0.255", "--seconds", "1"]);
        if !truth.was_in_time() {
            return false;
        }
        live.agrees_with(&truth);
        assert_eq!(live.observer_lost(), 0, "{live}");
        file.exits(live.code.unwrap());
        live.equals(&file);
        true
    });
}

#[test]
fn broadcast_is_judged_alike_by_sockets() {
    broadcast("broadcast_is_judged_alike_by_sockets", SOCKETS);
}

#[test]
fn broadcast_is_judged_alike_by_ring() {
    broadcast("broadcast_is_judged_alike_by_ring", RING);
}
