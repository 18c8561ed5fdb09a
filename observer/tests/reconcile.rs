//! Three-way reconcile against the simulated device: four owners by three protocols, the owner of every datagram.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod reconcile_support;

use reconcile_support::{Plan, Run, Who, run};
use wireproof_protocols::verify::Owners;
use wireproof_recorder::Policy;
use wireproof_recorder::offset::{Exchange, Track, estimate};
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
    run.clock = Clock::Measured(estimate(&[exchange], 1_000).unwrap().into());
    let told = run.reconcile();
    assert_eq!(run.owners("pole-b"), Owners { sender: 1, wire: 1, ..Owners::default() }, "{told:?}");
}

/// Exchanges of clocks every 100 ms without a delay, the device's clock so much ahead of what it is.
fn exact(ahead_ns: i64) -> Clock {
    let (wall, start) = (reconcile_support::WALL_NS as i64, reconcile_support::START_NS as i64);
    let exchange = |n: i64| {
        let (bench, device) = (wall + n * 100_000_000, start + n * 100_000_000 + ahead_ns);
        Exchange { asked_ns: bench, received_ns: device, sent_ns: device, answered_ns: bench }
    };
    Clock::Measured(Track::new(&(0..60).map(exchange).collect::<Vec<_>>(), 1_000).unwrap())
}

#[test]
fn the_times_from_send_to_arrival_are_those_of_the_wire() {
    let run = run(Plan::default());
    let found = run.delays(2_000_000, &exact(0));
    let names: Vec<_> = found.iter().map(|of| (of.output.as_str(), of.protocol.as_str())).collect();
    assert_eq!(names, [("pole-a", "bigpacket"), ("pole-b", "sacn"), ("pole-c", "ddp")]);
    for (of, datagrams) in found.iter().zip([6, 12, 6]) {
        assert_eq!((of.frames, of.incomplete, of.ambiguous), (300, 0, 0), "{of:?}");
        // In the simulated world handing one over takes 2 us, and reading the clock 25 ns.
        let first = of.start_to_first_ns;
        assert!((2_001_800..=2_002_200).contains(&first.p50), "{of:?}");
        let spread = of.start_to_last_ns.p50 - first.p50;
        assert_eq!(spread, 2_000 * (datagrams - 1), "{of:?}");
        assert!((1_999_900..=2_000_100).contains(&of.end_to_last_ns.p50), "{of:?}");
        for delay in [first, of.start_to_last_ns, of.end_to_first_ns, of.end_to_last_ns] {
            assert_eq!((delay.order_open, delay.before), (0, 0), "{of:?}");
        }
        assert!(of.uncertainty_max_ns <= 60_000, "50 ms of drift at most: {of:?}");
    }
}

#[test]
fn an_order_that_the_clocks_do_not_tell_is_left_open_and_one_that_cannot_be_is_told() {
    let run = run(Plan::default());
    for of in run.delays(0, &Clock::Anchored { uncertainty_ns: 1_000_000 }) {
        assert_eq!(
            (of.frames, of.start_to_first_ns.order_open, of.end_to_last_ns.order_open),
            (300, 300, 300)
        );
        assert!(of.uncertainty_p50_ns >= 1_000_000, "{of:?}");
    }
    // The device's clock is told 1 ms behind: every arrival seems to be before its send.
    for of in run.delays(0, &exact(-1_000_000)) {
        assert_eq!((of.frames, of.start_to_first_ns.before, of.end_to_last_ns.before), (300, 300, 300));
        assert_eq!(of.start_to_first_ns.order_open, 0);
    }
}

#[test]
fn frames_that_did_not_arrive_whole_have_no_times() {
    let list =
        ["drop:frame=60,output=pole-b", "unsent:frame=80,output=pole-c", "burst:frame=90,output=pole-a"];
    let run = run(Plan { faults: list.map(str::to_owned).to_vec(), ..Plan::default() });
    let frames: Vec<_> = run.delays(0, &exact(0)).iter().map(|of| (of.frames, of.incomplete)).collect();
    // What was not handed over is no send: its frame is left out, not incomplete.
    assert_eq!(frames, [(299, 1), (299, 1), (299, 0)]);
}

#[test]
fn a_number_that_comes_round_within_the_uncertainty_belongs_to_nobody() {
    let run = run(Plan::default());
    let found = run.delays(0, &Clock::Anchored { uncertainty_ns: 45_000_000 });
    // DDP counts to 15, six datagrams a frame; sACN and BigPacket need seconds.
    assert_eq!((found[0].frames, found[1].frames), (300, 300));
    assert!(found[2].ambiguous > 1_000 && found[2].frames < 20, "{found:?}");
    assert_eq!(run.delays(i64::MAX / 4, &exact(0)), []);
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
