//! Who lost it: the observer stopped, its buffers full, checksums wrong on the wire, counters that prove nothing.

use super::summary::Owners;
use super::{Bench, Finished, Observe, Truth, undisturbed};

/// Receive buffer of an untouched Linux.
const SMALL: [&str; 2] = ["--rcvbuf", "212992"];

/// Sends, and stops the process for 0.6 s meanwhile.
fn send_and_stop(bench: &Bench, run: &Observe, sender: &[&str]) -> Truth {
    let id = run.id();
    bench.send(&[&["--stop", &id, "--stop-at", "40", "--go-on-at", "76"], sender].concat())
}

/// Stopped with the buffer of an untouched Linux while the sender sends; the kernel's count of what did not fit.
fn stopped(bench: &Bench, sender: &[&str]) -> (Finished, Truth, u64) {
    let run = bench.observe(&[&SMALL[..], &["-w", "show.pcapng"]].concat());
    let truth = send_and_stop(bench, &run, &[&["--seconds", "1.6"], sender].concat());
    let live = run.interrupt();
    let counted = bench.snmp("Udp", "RcvbufErrors");
    assert!(counted > 100, "{counted}\n{live}");
    live.exits(4);
    assert_eq!(live.observer_lost(), counted, "{live}");
    assert_eq!(live.summary["observer"]["layers"]["socket"], counted, "{live}");
    assert_eq!(live.found("OBS-LOST").len(), 1, "{live}");
    let file = bench.analyze(&[bench.path("show.pcapng")]);
    file.exits(4);
    assert_eq!((file.owners(), file.observer_lost()), (live.owners(), counted), "{file}");
    live.equals(&file);
    (live, truth, counted)
}

#[test]
fn what_a_stopped_process_loses_is_its_own_to_the_datagram() {
    undisturbed("what_a_stopped_process_loses_is_its_own_to_the_datagram", false, |bench| {
        let (live, truth, counted) = stopped(bench, &["--ddp", "0"]);
        if !truth.was_in_time() {
            return false;
        }
        assert_eq!(live.sum("/sequence/lost"), counted, "{live}");
        assert_eq!(live.sum("/datagrams"), truth.all_sent() - counted, "{live}");
        assert_eq!(live.owners(), Owners { observer: counted, ..Owners::default() }, "{live}");
        assert!(live.found("SEQ-LOST").iter().all(|f| f["tainted"] == true), "{live}");
        // What stands on other evidence is still told.
        assert!(live.found("TIME-RATE").len() >= 4, "{live}");
        true
    });
}

/// Its numbers repeat after 15 datagrams: how many times they did while nobody read, the socket's counter knows.
#[test]
fn what_a_stopped_process_loses_of_a_display_is_its_own() {
    undisturbed("what_a_stopped_process_loses_of_a_display_is_its_own", false, |bench| {
        let (live, truth, counted) = stopped(bench, &["--sacn", "0", "--artnet", "0"]);
        if !truth.was_in_time() {
            return false;
        }
        assert_eq!(live.number("ddp/1", "/datagrams"), truth.sent("ddp/1") - counted, "{live}");
        assert_eq!(live.number("ddp/1", "/sequence/lost"), counted, "{live}");
        assert_eq!(live.number("ddp/1", "/sequence/lost_min"), counted, "{live}");
        assert_eq!(live.owners(), Owners { observer: counted, ..Owners::default() }, "{live}");
        true
    });
}

#[test]
fn what_was_skipped_before_the_stop_is_not_the_observers() {
    undisturbed("what_was_skipped_before_the_stop_is_not_the_observers", false, |bench| {
        let (live, truth, counted) = stopped(bench, &["--ddp", "0", "--skip", "1", "--skip-until", "32"]);
        if !truth.was_in_time() {
            return false;
        }
        let skipped = truth.all_missing();
        assert_eq!(live.owners(), Owners { observer: counted, unknown: skipped, wire: 0 }, "{live}");
        let proven = live.found("SEQ-LOST").into_iter().filter(|f| f["tainted"] == false);
        assert_eq!(proven.map(|f| f["owners"]["unknown"].as_u64().unwrap()).sum::<u64>(), skipped, "{live}");
        true
    });
}

/// No datagram comes after the loss to tell of it.
fn to_the_end(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[source, &["-w", "show.pcapng"]].concat());
        let truth = bench.send(&["--seconds", "1.2", "--stop", &run.id(), "--stop-at", "25"]);
        // It finds the wish to end before anything else when it goes on.
        run.signal("INT");
        run.signal("CONT");
        let live = run.end();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(4);
        let lost = truth.all_sent() - live.sum("/datagrams");
        assert!(lost > 100, "{lost}\n{live}");
        assert_eq!((live.observer_lost(), live.owners()), (lost, Owners::default()), "{live}");
        let file = bench.analyze(&[bench.path("show.pcapng")]);
        file.exits(4);
        assert_eq!(file.observer_lost(), lost, "{file}");
        live.equals(&file);
        true
    });
}

#[test]
fn a_loss_at_the_very_end_is_counted_by_sockets() {
    to_the_end("a_loss_at_the_very_end_is_counted_by_sockets", &SMALL);
}

#[test]
fn a_loss_at_the_very_end_is_counted_by_ring() {
    to_the_end("a_loss_at_the_very_end_is_counted_by_ring", &["-i", "near", "--rcvbuf", "512KiB"]);
}

fn stopped_by_default(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(source);
        let truth = send_and_stop(bench, &run, &["--seconds", "1.6"]);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(0);
        live.agrees_with(&truth);
        assert_eq!(live.observer_lost(), 0, "{live}");
        assert_eq!(live.found("OBS-STALL").len(), 1, "{live}");
        true
    });
}

#[test]
fn a_process_stopped_with_the_default_buffer_loses_nothing() {
    stopped_by_default("a_process_stopped_with_the_default_buffer_loses_nothing", &[]);
}

#[test]
fn a_process_stopped_with_the_default_ring_loses_nothing() {
    stopped_by_default("a_process_stopped_with_the_default_ring_loses_nothing", &["-i", "near"]);
}

fn wrong_checksums(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[source, &["-w", "show.pcapng"]].concat());
        let sender =
            ["--software-checksums", "far", "--bad-checksums", "3", "--bad-in", "sacn/3", "--seed", "21"];
        let truth = bench.send(&sender);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        assert_eq!(live.number("sacn/3", "/sequence/lost"), 3, "{live}");
        assert_eq!(live.number("sacn/3", "/datagrams"), truth.sent("sacn/3"), "{live}");
        let owners = Owners { wire: 3, ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, 0), "{live}");
        let file = bench.analyze(&[bench.path("show.pcapng")]);
        file.exits(1);
        assert_eq!((file.owners(), file.observer_lost()), (owners, 0), "{file}");
        live.equals(&file);
        true
    });
}

#[test]
fn wrong_checksums_are_the_wires_by_sockets() {
    wrong_checksums("wrong_checksums_are_the_wires_by_sockets", &[]);
}

#[test]
fn wrong_checksums_are_the_wires_by_ring() {
    wrong_checksums("wrong_checksums_are_the_wires_by_ring", &["-i", "near"]);
}

/// A flood while nobody reads.
fn flooded(test: &str, source: &[&str], layer: &str) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[source, &["-w", "show.pcapng"]].concat());
        let flood = ["--ddp", "0", "--artnet", "0", "--seconds", "1.6", "--burst", "600", "--burst-at", "45"];
        let truth = send_and_stop(bench, &run, &flood);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(4);
        let lost = truth.all_sent() - live.sum("/datagrams");
        assert!(lost > 300, "{lost}\n{live}");
        let owners = Owners { observer: lost, ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, lost), "{live}");
        assert_eq!(live.summary["observer"]["layers"][layer], lost, "{live}");
        assert_eq!(live.sum("/sequence/lost"), lost, "{live}");
        let file = bench.analyze(&[bench.path("show.pcapng")]);
        file.exits(4);
        assert_eq!((file.owners(), file.observer_lost()), (owners, lost), "{file}");
        live.equals(&file);
        true
    });
}

#[test]
fn a_full_socket_is_the_observers_loss() {
    flooded("a_full_socket_is_the_observers_loss", &SMALL, "socket");
}

#[test]
fn a_stalled_tap_is_the_observers_loss() {
    flooded("a_stalled_tap_is_the_observers_loss", &["-i", "near", "--rcvbuf", "512KiB"], "ring");
}

fn foreign_frames(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(source);
        let truth = bench.send(&["--skip", "1", "--foreign", "far", "--seed", "31"]);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        let owners = Owners { unknown: truth.all_missing(), ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, 0), "{live}");
        true
    });
}

#[test]
fn frames_of_protocols_the_host_does_not_speak_prove_nothing() {
    foreign_frames("frames_of_protocols_the_host_does_not_speak_prove_nothing", &[]);
}
