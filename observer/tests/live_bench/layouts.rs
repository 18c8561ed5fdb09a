//! Declared protocols over a cable and on the loopback interface: what `send --layout` sends is what `observe --layout`
//! counts, by sockets and by packet ring, and what `analyze --layout` reads from the capture of it.

use super::process::Finished;
use super::sending::{count, punctually, sent, was_in_time};
use super::{Bench, NEAR, WIREPROOF, undisturbed};
use serde_json::Value;

/// The layouts that come with the program, streams and datagrams of a frame of 8,640 octets, and whether a frame tells
/// that it is complete.
const SHIPPED: [(&str, usize, u64, bool); 4] = [
    ("artdmx", 17, 17, true),
    ("bigpacket", 1, 6, true),
    ("tpm2net", 1, 6, true),
    ("wled-dnrgb", 1, 6, false),
];
const FRAMES: u64 = 120;

/// `send` to the loopback interface of the observer's namespace, to the port of the layout.
fn sent_here(bench: &Bench, name: &str) -> Finished {
    let mut command = bench.near(WIREPROOF);
    let frames = FRAMES.to_string();
    command.args(["send", "--layout", name, "--frames", &frames, "--format", "json", "--quiet"]);
    command.args(punctually());
    Finished::of(command)
}

fn analyzed(bench: &Bench, name: &str) -> Finished {
    let mut command = bench.near(WIREPROOF);
    command.args(["analyze", "show.pcapng", "--format", "json", "--layout", name]);
    Finished::of(command)
}

/// Every datagram is there, as this protocol, in its streams, and none is said to be missing.
#[track_caller]
fn is_whole(run: &Finished, send: &Finished, (name, streams, each, _): (&str, usize, u64, bool)) {
    assert_eq!(count(send, "datagrams"), FRAMES * each, "{send}");
    let kinds = &run.summary["datagrams"]["by_kind"];
    assert_eq!(*kinds, serde_json::json!({ format!("layout:{name}"): FRAMES * each }), "{run}");
    assert_eq!(run.summary["streams"].as_array().map(Vec::len), Some(streams), "{run}");
    assert_eq!(run.sum("/datagrams"), FRAMES * each, "{run}");
    assert_eq!(run.sum("/bytes"), count(send, "octets"), "{run}");
    assert_eq!((run.sum("/sequence/lost"), run.codes("violation")), (0, Vec::new()), "{run}");
}

/// One layout sent and heard; false when the host held somebody up.
fn passes(
    bench: &Bench,
    source: &[&str],
    row: (&str, usize, u64, bool),
    send: &dyn Fn() -> Finished,
) -> bool {
    let (name, _, _, is_told) = row;
    let run = bench.observe(&[source, &["--layout", name, "-w", "show.pcapng"], punctually()].concat());
    let send = send();
    let live = run.interrupt();
    send.exits(0);
    assert_eq!(send.summary["protocol"], format!("layout:{name}"), "{send}");
    let file = analyzed(bench, name);
    for run in [&live, &file] {
        is_whole(run, &send, row);
    }
    if !was_in_time(&send, &live) {
        return false;
    }
    for run in [&live, &file] {
        run.exits(0);
        assert_eq!(run.summary["verdict"], "pass", "{run}");
        assert_eq!(run.codes("warning"), Vec::<&str>::new(), "{run}");
        let complete = run.sum("/frames/complete");
        assert!(!is_told || complete >= FRAMES - 2, "{complete} frames are complete\n{run}");
    }
    live.equals(&file);
    true
}

#[test]
fn every_shipped_layout_as_sent_to_this_host_is_clean_by_sockets() {
    undisturbed("every_shipped_layout_as_sent_to_this_host_is_clean_by_sockets", false, |bench| {
        SHIPPED.iter().all(|row| passes(bench, &[], *row, &|| sent_here(bench, row.0)))
    });
}

#[test]
fn every_shipped_layout_as_sent_over_a_cable_is_clean_by_packet_ring() {
    undisturbed("every_shipped_layout_as_sent_over_a_cable_is_clean_by_packet_ring", false, |bench| {
        let frames = FRAMES.to_string();
        let over = |name| sent(bench, &["--layout", name, "--to", NEAR, "--no-gso", "--frames", &frames]);
        SHIPPED.iter().all(|row| passes(bench, &["-i", "near"], *row, &|| over(row.0)))
    });
}

#[test]
fn datagrams_of_a_layout_that_were_dropped_on_purpose_are_those_that_are_missing() {
    let test = "datagrams_of_a_layout_that_were_dropped_on_purpose_are_those_that_are_missing";
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[&["--layout", "bigpacket"], punctually()].concat());
        let faults = ["--fault", "drop=0.01", "--seed", "9", "--truth", "truth.json", "--frames", "240"];
        let send = sent(bench, &[&["--layout", "bigpacket", "--to", NEAR], &faults[..]].concat());
        let live = run.interrupt();
        send.exits(0);
        let truth = std::fs::read_to_string(bench.path("truth.json")).unwrap();
        let truth: Value = serde_json::from_str(&truth).unwrap();
        assert_eq!(truth["protocol"], "layout:bigpacket");
        let dropped = truth["counts"]["drop"].as_u64().unwrap();
        assert!(dropped > 3, "{truth}");
        assert_eq!(live.sum("/datagrams") + dropped, 240 * 6, "{live}");
        if !was_in_time(&send, &live) {
            return false;
        }
        live.exits(1);
        let (lost, edge) = (live.sum("/sequence/lost"), live.sum("/sequence/edge"));
        assert!(lost <= dropped && dropped <= lost + edge, "{lost} + {edge} of {dropped}\n{live}");
        assert!(!live.found("SEQ-LOST").is_empty() && !live.found("FRAME-TORN").is_empty(), "{live}");
        true
    });
}
