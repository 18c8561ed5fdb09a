//! Three-way reconcile against the simulated device: four owners by three protocols, the owner of every datagram.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod reconcile_support;

use reconcile_support::{Plan, Run, Who, run};
use wireproof_protocols::verify::Owners;
use wireproof_recorder::Policy;
use wireproof_recorder::offset::{Exchange, estimate};
use wireproof_reports::reconcile::{Clock, DeviceRecord};

const OUTPUTS: [&str; 3] = ["pole-a", "pole-b", "pole-c"];

fn faults(output: &str, list: &[&str]) -> Vec<String> {
    list.iter().map(|text| format!("{text},output={output}")).collect()
}

#[test]
fn what_the_device_did_not_send_is_the_senders() {
    for output in OUTPUTS {
        let list = ["unsent:frame=60,frame=61,frame=150", "torn:frame=90", "unsent:frame=200,datagram=3"];
        let mut run = run(Plan { faults: faults(output, &list), ..Plan::default() });
        run.reconcile();
        run.every_datagram_is(output, Who::Sender);
        assert!(run.texts().iter().all(|text| text.ends_with("record says never sent")), "{:?}", run.texts());
    }
}

#[test]
fn what_was_lost_behind_the_device_is_the_wires() {
    for output in OUTPUTS {
        let list = ["drop:frame=60,frame=61,frame=150", "burst:frame=90,count=4"];
        let mut run = run(Plan { faults: faults(output, &list), ..Plan::default() });
        run.reconcile();
        run.every_datagram_is(output, Who::Wire);
        assert!(run.texts().iter().all(|text| text.ends_with("record says sent")), "{:?}", run.texts());
    }
}

#[test]
fn what_the_socket_counted_stays_the_observers_although_the_device_says_sent() {
    for output in OUTPUTS {
        let mut run = run(Plan { unseen: Some((output, vec![60, 61, 150])), ..Plan::default() });
        run.reconcile();
        run.every_datagram_is(output, Who::Observer);
        assert!(run.texts().iter().all(|text| !text.contains("record")), "{:?}", run.texts());
    }
}

#[test]
fn what_was_lost_while_nothing_was_recorded_stays_unknown() {
    for output in OUTPUTS {
        let plan =
            || Plan { faults: faults(output, &["drop:frame=60", "unsent:frame=80"]), ..Plan::default() };
        let mut off = run(Plan { messages: vec![(900, "profiler 0"), (2_000, "profiler 1")], ..plan() });
        let mut wrapped = run(Plan { capacity: 1 << 12, ..plan() });
        for run in [&mut off, &mut wrapped] {
            let told = run.reconcile();
            run.every_datagram_is(output, Who::Unknown);
            assert!(told.reasons[0].contains("has a hole there"), "{told:?}");
        }
    }
}

#[test]
fn an_episode_of_both_is_shared_as_the_record_has_it() {
    for output in OUTPUTS {
        let list = ["unsent:frame=60,datagram=2", "drop:frame=61,datagram=2", "drop:frame=62,datagram=2"];
        let mut run = run(Plan { faults: faults(output, &list), ..Plan::default() });
        run.reconcile();
        assert_eq!(run.owners(output), Owners { sender: 1, wire: 2, ..Owners::default() }, "{output}");
        assert_eq!(run.texts().len(), 1);
        assert!(run.texts()[0].ends_with("record says 1 never sent, 2 sent"), "{:?}", run.texts());
    }
}

#[test]
fn rings_of_several_downloads_are_one_record() {
    let list = faults("pole-c", &["drop:frame=100", "unsent:frame=450", "drop:frame=800"]);
    let plan = |frames| Plan { frames, capacity: 1 << 15, faults: list.clone(), ..Plan::default() };
    // The same device, looked at three times: each of the rings holds the last eight seconds.
    let rings: Vec<Vec<u8>> = [300, 600, 900].map(|frames| run(plan(frames)).image).into();
    let mut last = run(plan(900));
    last.images.clone_from(&rings);
    let told = last.reconcile();
    assert_eq!(last.owners("pole-c"), Owners { sender: 1, wire: 2, ..Owners::default() });
    assert_eq!((told.rings, told.unknown), (3, 0));
    let mut again = DeviceRecord::default();
    let backwards = rings.iter().rev().chain(&rings);
    backwards.for_each(|ring| again.add(ring).unwrap());
    assert_eq!((again.rings(), again.frames()), (6, told.frames), "order and repetition change nothing");
    let last_only = Run { images: vec![rings[2].clone()], ..run(plan(900)) }.reconciled();
    assert_eq!(last_only.owners("pole-c").unknown, 1, "the first loss is older than the last ring");
}

#[test]
fn a_device_that_starts_over_is_followed_through_its_lives() {
    let mut list = faults("pole-c", &["drop:frame=60", "unsent:frame=250", "drop:frame=350"]);
    list.push("generation:frame=150".into());
    let mut run = run(Plan { frames: 400, faults: list, ..Plan::default() });
    run.reconcile();
    let owners = run.owners("pole-c");
    // The ring of the first generation is gone: what was lost in its time is unknown.
    assert_eq!(owners, Owners { sender: 1, wire: 1, unknown: 1, observer: 0 });
}

#[test]
fn a_clock_that_is_uncertain_decides_what_it_can_and_nothing_else() {
    let owners = |list: &[&str], ms: u64| {
        let mut run = run(Plan { faults: faults("pole-c", list), ..Plan::default() });
        run.clock = Clock::Anchored { uncertainty_ns: ms * 1_000_000 };
        (run.reconcile(), run.owners("pole-c"))
    };
    let one = ["unsent:frame=150"];
    assert_eq!(owners(&one, 500).1, Owners { sender: 1, ..Owners::default() }, "only one can be meant");
    let two = ["unsent:frame=150", "drop:frame=170"];
    let (told, shares) = owners(&two, 500);
    assert_eq!(shares, Owners { unknown: 2, ..Owners::default() });
    assert!(told.reasons[0].contains("not known well enough"), "{told:?}");
    assert_eq!(owners(&two, 2).1, Owners { sender: 1, wire: 1, ..Owners::default() });
}

#[test]
fn a_measured_offset_takes_the_place_of_the_wall_clock() {
    let list = faults("pole-b", &["unsent:frame=150", "drop:frame=170"]);
    let mut run =
        run(Plan { faults: [list, vec!["clock-step:frame=20".into()]].concat(), ..Plan::default() });
    let told = run.reconcile();
    assert_eq!(run.owners("pole-b").unknown, 2);
    assert!(told.reasons[0].contains("clock was set"), "{told:?}");
    let wall = reconcile_support::WALL_NS as i64;
    let exchange = Exchange {
        asked_ns: wall,
        received_ns: reconcile_support::START_NS as i64 + 500_000,
        sent_ns: reconcile_support::START_NS as i64 + 600_000,
        answered_ns: wall + 1_100_000,
    };
    run.clock = Clock::Measured(estimate(&[exchange], 1_000).unwrap());
    let told = run.reconcile();
    assert_eq!(run.owners("pole-b"), Owners { sender: 1, wire: 1, ..Owners::default() }, "{told:?}");
}

#[test]
fn a_record_that_contradicts_the_wire_decides_nothing() {
    let list = faults("pole-c", &["unsent:frame=150", "drop:frame=250"]);
    let mut run = run(Plan { faults: list, ..Plan::default() });
    // The rings of a device whose losses are elsewhere.
    let other = faults("pole-c", &["unsent:frame=30"]);
    run.images = vec![reconcile_support::run(Plan { faults: other, ..Plan::default() }).image];
    let told = run.reconcile();
    assert_eq!(run.owners("pole-c"), Owners { unknown: 2, ..Owners::default() });
    assert!(told.reasons[0].contains("where nothing is missing"), "{told:?}");
}

#[test]
fn what_the_kernel_refused_is_the_senders_where_only_one_stream_can_be_meant() {
    // Datagrams 4 of frame 100 (pole-a) and 6 + 3 of frame 150 (pole-b, one stream of twelve).
    let mut run = run(Plan { refused: vec![100 * 24 + 4, 150 * 24 + 9], ..Plan::default() });
    let told = run.reconcile();
    assert_eq!(run.owners("pole-a"), Owners { sender: 1, ..Owners::default() });
    assert_eq!(run.owners("pole-b"), Owners { unknown: 1, ..Owners::default() });
    assert!(told.reasons[0].contains("does not say which"), "{told:?}");
}

#[test]
fn damaged_rings_are_refused_and_change_nothing() {
    let run = run(Plan { frames: 60, ..Plan::default() });
    let mut record = DeviceRecord::default();
    for cut in [0, 100, 4_096, run.image.len() - 1] {
        assert!(record.add(&run.image[..cut]).is_err());
    }
    let mut bent = run.image.clone();
    bent[70_000] ^= 1;
    assert!(record.add(&bent).is_err());
    assert_eq!((record.rings(), record.frames()), (0, 0));
    record.add(&run.image).unwrap();
    let whole = wireproof_recorder::parse(&run.image, Policy::Conservative).unwrap().frames.len();
    assert_eq!((record.rings(), record.frames()), (1, whole as u64));
}
