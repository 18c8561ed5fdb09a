//! `--tap`: what the interface saw and the sockets missed is lost in this host, whatever no counter says.

use super::summary::Owners;
use super::{Bench, FAR, Truth, undisturbed};

const TAP: [&str; 2] = ["--tap", "near"];
const SENDER: [&str; 4] = ["--ddp", "0", "--seconds", "2"];

/// Sends while the host routes into a hole what comes from the sender, for a while: the interface hears it, no socket does.
fn send_into_a_hole(bench: &Bench) -> Option<Truth> {
    // The table of own addresses is asked before every rule, unless its own rule comes later.
    if bench.try_ip_near("rule add pref 10 lookup local").is_err() {
        return None;
    }
    bench.ip_near("rule del pref 0");
    let sender = bench.sender(&SENDER);
    bench.until_received(700);
    let rule = format!("pref 5 from {FAR} iif near blackhole");
    bench.ip_near(&format!("rule add {rule}"));
    bench.until_received(200);
    bench.ip_near(&format!("rule del {rule}"));
    Some(sender.done())
}

#[test]
fn what_the_tap_saw_and_the_sockets_missed_is_the_observers() {
    let test = "what_the_tap_saw_and_the_sockets_missed_is_the_observers";
    undisturbed(test, false, |bench| {
        let run = bench.observe(&TAP);
        let Some(truth) = send_into_a_hole(bench) else {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("SKIPPED {test}: no policy routing here\n"),
            );
            run.interrupt();
            return true;
        };
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(4);
        let lost = truth.all_sent() - live.sum("/datagrams");
        assert!(lost > 30, "{lost}\n{live}");
        let owners = Owners { observer: lost, ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, lost), "{live}");
        assert_eq!(live.summary["observer"]["layers"]["nic"], lost, "{live}");
        assert_eq!(live.sum("/sequence/lost"), lost, "{live}");
        assert_eq!(live.found("OBS-LOST").len(), 1, "{live}");
        assert!(live.found("SEQ-LOST").iter().all(|f| f["tainted"] == true), "{live}");
        true
    });
}

/// The same hole without a witness: nobody here can say whose loss it is, and it stands.
#[test]
fn without_the_tap_the_same_loss_is_upstream() {
    let test = "without_the_tap_the_same_loss_is_upstream";
    undisturbed(test, false, |bench| {
        let run = bench.observe(&[]);
        let Some(truth) = send_into_a_hole(bench) else {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("SKIPPED {test}: no policy routing here\n"),
            );
            run.interrupt();
            return true;
        };
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        let lost = truth.all_sent() - live.sum("/datagrams");
        let owners = Owners { unknown: lost, ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, 0), "{live}");
        true
    });
}

#[test]
fn beside_a_tap_a_clean_run_passes() {
    undisturbed("beside_a_tap_a_clean_run_passes", false, |bench| {
        let run = bench.observe(&TAP);
        let truth = bench.send(&SENDER);
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(0);
        live.agrees_with(&truth);
        assert_eq!((live.owners(), live.observer_lost()), (Owners::default(), 0), "{live}");
        true
    });
}

#[test]
fn what_neither_tap_nor_sockets_saw_is_upstream() {
    undisturbed("what_neither_tap_nor_sockets_saw_is_upstream", false, |bench| {
        let run = bench.observe(&TAP);
        let truth = bench.send(&[&SENDER[..], &["--skip", "2", "--seed", "61"]].concat());
        let live = run.interrupt();
        if !truth.was_in_time() {
            return false;
        }
        live.exits(1);
        live.agrees_with(&truth);
        let owners = Owners { unknown: truth.all_missing(), ..Owners::default() };
        assert_eq!((live.owners(), live.observer_lost()), (owners, 0), "{live}");
        true
    });
}
