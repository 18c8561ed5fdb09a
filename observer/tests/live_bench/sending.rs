//! What `send` and `replay` put on a cable, as `observe` sees it and as `analyze` reads it from the capture of that.

use super::process::{Finished, Observe};
use super::{Bench, NEAR, WIREPROOF, tried, undisturbed};
use serde_json::Value;
use std::path::Path;
use wireproof::capture::{Item, read_path};
use wireproof_fixture::{case, write_pcap};

/// What lets a process keep its time on a busy host, where that is allowed.
pub(super) fn punctually() -> &'static [&'static str] {
    if tried("chrt -f 20 true").is_ok() { &["--realtime"] } else { &[] }
}

/// Runs `send` on the far side to its end.
pub(super) fn sent(bench: &Bench, arguments: &[&str]) -> Finished {
    let mut command = bench.far(WIREPROOF);
    command.args(["send", "--format", "json", "--quiet"]).args(punctually()).args(arguments);
    Finished::of(command)
}

pub(super) fn count(run: &Finished, key: &str) -> u64 {
    run.summary[key].as_u64().unwrap_or_else(|| panic!("{key}\n{run}"))
}

/// The host let neither the sender nor the observer wait for long: what else is found is the sender's fault.
pub(super) fn was_in_time(send: &Finished, live: &Finished) -> bool {
    let period_ns = 1_000_000_000_000 / count(send, "rate_mhz");
    let late_ns = send.summary["late_ns"]["max"].as_u64().unwrap();
    let held_up = live.summary["findings"].as_array().unwrap().iter();
    let held_up = held_up.filter(|f| f["code"].as_str().unwrap().starts_with("OBS-")).count();
    count(send, "skipped_periods") == 0 && late_ns < period_ns * 2 / 5 && held_up == 0
}

/// Everything that was found, but a proper end of a stream and that a virtual cable fills in no checksums.
fn found(run: &Finished) -> Vec<&Value> {
    let expected =
        |f: &Value| f["severity"] == "info" && (f["code"] == "STREAM-ENDED" || f["code"] == "CAP-OFFLOAD");
    run.summary["findings"].as_array().unwrap().iter().filter(|f| !expected(f)).collect()
}

/// Holds however long the host held anybody up: every datagram is there, to the octet, and keeps the rules.
#[track_caller]
fn is_whole(run: &Finished, send: &Finished) {
    assert_eq!(run.summary["datagrams"]["lighting"], send.summary["datagrams"], "{run}\n{send}");
    if send.summary["discoveries"] == 0 {
        assert_eq!(run.sum("/bytes"), count(send, "octets"), "{run}\n{send}");
    }
    let of_time = ["TIME-GAP", "SEQ-AMBIGUOUS", "OBS-"];
    let other: Vec<&Value> = found(run)
        .into_iter()
        .filter(|f| !of_time.iter().any(|code| f["code"].as_str().unwrap().starts_with(code)))
        .collect();
    assert_eq!(other, Vec::<&Value>::new(), "{run}");
}

/// Sends and observes; nothing may be found, live or in the capture, and counts are equal.
fn clean(test: &str, observe: &[&str], send: &[&str], streams: usize) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[observe, punctually(), &["-w", "show.pcapng"]].concat());
        let send = sent(bench, &[send, &["--duration", "3s"]].concat());
        let live = run.interrupt();
        send.exits(0);
        let file = bench.analyze(&[bench.path("show.pcapng")]);
        for run in [&live, &file] {
            is_whole(run, &send);
        }
        if !was_in_time(&send, &live) {
            return false;
        }
        for run in [&live, &file] {
            run.exits(0);
            assert_eq!(run.summary["verdict"], "pass", "{run}");
            assert_eq!(found(run), Vec::<&Value>::new(), "{run}");
            assert_eq!(run.summary["streams"].as_array().unwrap().len(), streams, "{run}");
        }
        let rate = count(&send, "rate_mhz") / 1000;
        assert_eq!((count(&send, "frames"), count(&send, "send_errors")), (rate * 3, 0), "{send}");
        true
    });
}

#[test]
fn sacn_as_sent_is_clean() {
    clean("sacn_as_sent_is_clean", &[], &["--protocol", "sacn", "--to", NEAR], 17);
}

#[test]
fn synchronized_sacn_as_sent_is_clean() {
    let send = ["--protocol", "sacn", "--to", NEAR, "--sync", "7000", "--universes", "5-8"];
    clean("synchronized_sacn_as_sent_is_clean", &[], &send, 5);
}

#[test]
fn multicast_sacn_as_sent_is_clean_and_announced() {
    let send = ["--protocol", "sacn", "--multicast", "--interface", "far", "--universes", "1-12"];
    let observe = ["--join", "1-12,64214", "--join-on", "near"];
    clean("multicast_sacn_as_sent_is_clean_and_announced", &observe, &send, 12);
}

#[test]
fn ddp_as_sent_is_clean() {
    clean("ddp_as_sent_is_clean", &[], &["--protocol", "ddp", "--to", NEAR], 1);
}

#[test]
fn artnet_as_sent_is_clean() {
    clean("artnet_as_sent_is_clean", &[], &["--protocol", "artnet", "--to", NEAR], 17);
}

#[test]
fn bigpacket_as_sent_is_clean() {
    clean("bigpacket_as_sent_is_clean", &[], &["--protocol", "bigpacket", "--to", NEAR], 1);
}

#[test]
fn a_packet_ring_sees_whole_datagrams_of_a_sender_that_hands_them_over_one_by_one() {
    let test = "a_packet_ring_sees_whole_datagrams_of_a_sender_that_hands_them_over_one_by_one";
    clean(test, &["-i", "near"], &["--protocol", "ddp", "--to", NEAR, "--no-gso"], 1);
}

#[test]
fn datagrams_dropped_on_purpose_are_those_that_are_missing() {
    undisturbed("datagrams_dropped_on_purpose_are_those_that_are_missing", false, |bench| {
        let run = bench.observe(punctually());
        let faults = ["--fault", "drop=0.01", "--seed", "9", "--truth", "truth.json"];
        let send = sent(
            bench,
            &[&["--protocol", "bigpacket", "--to", NEAR, "--frames", "240"], &faults[..]].concat(),
        );
        let live = run.interrupt();
        send.exits(0);
        if !was_in_time(&send, &live) {
            return false;
        }
        live.exits(1);
        let truth = std::fs::read_to_string(bench.path("truth.json")).unwrap();
        let truth: Value = serde_json::from_str(&truth).unwrap();
        let dropped = truth["counts"]["drop"].as_u64().unwrap();
        assert_eq!(truth["deeds"].as_array().map(Vec::len), Some(dropped as usize), "{truth}");
        assert!(dropped > 3, "{truth}");
        let (lost, edge) = (live.sum("/sequence/lost"), live.sum("/sequence/edge"));
        assert!(lost <= dropped && dropped <= lost + edge, "{lost} + {edge} of {dropped}\n{live}");
        assert_eq!(live.sum("/datagrams") + dropped, 240 * 6, "{live}");
        true
    });
}

/// A sender that runs until it is told to end.
fn until_interrupted(bench: &Bench, arguments: &[&str]) -> Finished {
    let mut command = bench.far(WIREPROOF);
    command.args(["send", "--format", "json", "--protocol", "sacn", "--to", NEAR]).args(arguments);
    let mut run = Observe::spawn(command);
    run.until("sending sacn to 10.9.0.1:5568");
    run.interrupt()
}

#[test]
fn an_interrupted_sender_says_goodbye_on_every_universe() {
    let Some(bench) = Bench::new("an_interrupted_sender_says_goodbye_on_every_universe") else { return };
    for (arguments, code) in [(&[][..], 0), (&["--duration", "60s"], 5), (&["--frames", "9999"], 5)] {
        let run = bench.observe(&[]);
        let send = until_interrupted(&bench, arguments);
        send.exits(code);
        assert_eq!(send.summary["complete"], code == 0, "{send}");
        let live = run.interrupt();
        // Ctrl-C may come before the first frame; then there is nothing to end.
        let streams = live.summary["streams"].as_array().unwrap();
        assert!(streams.iter().all(|s| s["ended"] == "terminated"), "{live}");
        assert_eq!(count(&send, "goodbyes"), streams.len() as u64 * 3, "{send}\n{live}");
    }
}

#[test]
fn a_destination_without_a_route_is_an_error_of_the_environment() {
    let Some(bench) = Bench::new("a_destination_without_a_route_is_an_error_of_the_environment") else {
        return;
    };
    let send = sent(&bench, &["--protocol", "ddp", "--to", "203.0.113.9", "--frames", "3"]);
    send.exits(6);
    assert_eq!((send.stdout.as_str(), send.stderr.lines().count()), ("", 1), "{send}");
    assert!(send.stderr.contains("cannot send to 203.0.113.9:4048"), "{send}");
}

#[test]
fn a_datagram_that_the_route_would_cut_is_refused_unless_asked_for() {
    let Some(bench) = Bench::new("a_datagram_that_the_route_would_cut_is_refused_unless_asked_for") else {
        return;
    };
    bench.ip_far("link set far mtu 1200");
    let arguments = ["--protocol", "ddp", "--to", NEAR, "--frames", "3"];
    let run = bench.observe(&[]);
    let refused = sent(&bench, &arguments);
    refused.exits(2);
    assert!(refused.stderr.contains("datagram octets 1450 is not at most 1172"), "{refused}");
    let send = sent(&bench, &[&arguments[..], &["--fragment"]].concat());
    send.exits(0);
    assert_eq!(count(&send, "datagrams"), 18, "{send}");
    let live = run.interrupt();
    assert_eq!(live.sum("/datagrams"), 18, "nothing of the refused run was sent\n{live}");
}

/// Payloads of a capture, in order.
fn payloads(path: &Path) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let each = &mut |item: Item<'_>| {
        if let Item::Datagram(_, d) = item {
            all.push(d.payload.to_vec());
        }
    };
    read_path(path, each).unwrap();
    all
}

#[test]
fn a_replayed_capture_arrives_octet_for_octet_in_order() {
    let Some(bench) = Bench::new("a_replayed_capture_arrives_octet_for_octet_in_order") else { return };
    for (name, to) in
        [("sacn-drop-one", &["--to", NEAR][..]), ("ddp-clean-6", &["--to", NEAR, "--speed", "2"])]
    {
        let planted = (case(name).unwrap().build)(1).unwrap();
        let mut octets = Vec::new();
        write_pcap(&planted, &mut octets).unwrap();
        std::fs::write(bench.path("old.pcap"), octets).unwrap();
        let run = bench.observe(&["-w", "new.pcapng"]);
        let mut command = bench.far(WIREPROOF);
        command.arg("replay").arg(bench.path("old.pcap")).args(["--format", "json"]).args(to);
        let replay = Finished::of(command);
        let live = run.interrupt();
        replay.exits(0);
        assert_eq!(count(&replay, "datagrams"), planted.arrivals.len() as u64, "{replay}");
        assert_eq!(live.observer_lost(), 0, "{live}");
        let (old, new) = (payloads(&bench.path("old.pcap")), payloads(&bench.path("new.pcapng")));
        assert!(old == new, "{name}: {} and {} datagrams differ\n{live}", old.len(), new.len());
        let before = bench.analyze(&[bench.path("old.pcap")]);
        for place in ["/sequence/lost", "/sequence/duplicates", "/sequence/late", "/bytes"] {
            assert_eq!(live.sum(place), before.sum(place), "{name} {place}\n{live}");
        }
    }
}
