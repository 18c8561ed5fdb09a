//! The tape of a live run: it tells what the run told, whatever ended the run or the disk.

use super::{Bench, Observe, WIREPROOF, undisturbed};

fn taped(test: &str, source: &[&str]) {
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[source, &["-w", "show.pcapng", "--tape", "show.tape"]].concat());
        let truth = bench.send(&["--bigpacket", "1", "--skip", "2", "--seed", "51"]);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        live.agrees_with(&truth);
        let tape = bench.analyze(&[bench.path("show.tape")]);
        tape.exits(1);
        assert_eq!(tape.summary["source"]["damaged"], serde_json::Value::Null, "{tape}");
        assert_eq!(tape.owners(), live.owners(), "{tape}");
        live.equals(&tape);
        // A record a datagram, and little else.
        let octets = std::fs::metadata(bench.path("show.tape")).unwrap().len();
        assert!(octets < 64 * (live.sum("/datagrams") + 400), "{octets} octets\n{live}");
        true
    });
}

#[test]
fn the_tape_of_a_run_by_sockets_tells_what_the_run_told() {
    taped("the_tape_of_a_run_by_sockets_tells_what_the_run_told", &[]);
}

#[test]
fn the_tape_of_a_run_by_ring_tells_what_the_run_told() {
    taped("the_tape_of_a_run_by_ring_tells_what_the_run_told", &["-i", "near"]);
}

#[test]
fn the_tape_knows_what_the_observer_lost() {
    undisturbed("the_tape_knows_what_the_observer_lost", false, |bench| {
        let run = bench.observe(&["--rcvbuf", "212992", "--tape", "show.tape"]);
        let id = run.id();
        let stop = ["--stop", &id, "--stop-at", "40", "--go-on-at", "76", "--seconds", "1.6", "--ddp", "0"];
        let truth = bench.send(&stop);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(4);
        let tape = bench.analyze(&[bench.path("show.tape")]);
        tape.exits(4);
        assert_eq!((tape.owners(), tape.observer_lost()), (live.owners(), live.observer_lost()), "{tape}");
        live.equals(&tape);
        true
    });
}

#[test]
fn a_run_that_is_killed_leaves_a_tape_up_to_the_last_quarter_of_a_second() {
    let test = "a_run_that_is_killed_leaves_a_tape_up_to_the_last_quarter_of_a_second";
    let Some(bench) = Bench::new(test) else { return };
    let mut run = bench.observe(&["--tape", "show.tape"]);
    let truth = bench.send(&["--ddp", "0", "--seconds", "2"]);
    // A record takes 64 octets.
    bench.until_written("show.tape", truth.all_sent() * 64 * 3 / 4);
    assert!(run.is_running());
    run.signal("KILL");
    let killed = run.end();
    assert_eq!(killed.code, None, "{killed}");
    let tape = bench.analyze(&[bench.path("show.tape")]);
    let damage = tape.summary["source"]["damaged"].as_str().unwrap();
    assert!(damage.contains("was cut after") && damage.contains("none of its end"), "{damage}");
    let (kept, sent) = (tape.sum("/datagrams"), truth.all_sent());
    assert!(kept > sent / 2 && kept <= sent, "{kept} of {sent}\n{tape}");
    assert_eq!(tape.sum("/sequence/lost"), 0, "{tape}");
}

/// A run whose tape is in a file system of 64 KiB; it is brought out when the run is over.
#[test]
fn a_full_disk_ends_the_tape_and_not_the_run() {
    let Some(bench) = Bench::new("a_full_disk_ends_the_tape_and_not_the_run") else { return };
    std::fs::create_dir(bench.path("disk")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none disk || exit 77
        {WIREPROOF} observe --format json --duration 4s --tape disk/show.tape; code=$?
        cp disk/show.tape show.tape; exit $code"
    );
    let mut command = bench.near("sh");
    command.args(["-c", &script]);
    let run = Observe::start(command);
    let truth = bench.send(&["--ddp", "0", "--bigpacket", "1", "--seconds", "1.6"]);
    let live = run.end();
    live.exits(6);
    live.agrees_with(&truth);
    assert!(live.last_line().contains("disk/show.tape: writing ended early"), "{live}");
    assert_eq!(live.found("OBS-RECORD").len(), 1, "{live}");
    let tape = bench.analyze(&[bench.path("show.tape")]);
    assert!(tape.summary["source"]["damaged"].as_str().unwrap().contains("was cut"), "{tape}");
    let kept = tape.sum("/datagrams");
    assert!(kept > 100 && kept < live.sum("/datagrams"), "{kept}\n{tape}");
    assert_eq!(tape.sum("/sequence/lost"), 0, "{tape}");
}
