//! The founding case, short: downloads in the background cost no datagram, and what a held-up receive loop loses is
//! the observer's own. The long version is the bench `founding`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

#[allow(dead_code, reason = "shared with other tests")]
mod live_support;
#[path = "../benches/load/mod.rs"]
mod load;

use live_support::isolated;
use load::disturbed::Disturbed;
use load::host::udp_counter;
use load::rig::{self, Tally};
use std::thread;
use std::time::Duration;
use wireproof::live::conduct::{Observed, Run, conduct};
use wireproof::live::drain::{DrainPlan, DrainStatus};
use wireproof::live::source::Source;
use wireproof_protocols::verify::Options;

/// Receive buffer of an untouched Linux, octets.
const UNTOUCHED: u32 = 212_992;
/// Time for what is under way to arrive, on a host that does other work too.
const TAIL: Duration = Duration::from_secs(2);

/// Observes while the device sends for so long.
fn observe(source: impl Source + 'static, seconds: u32, drain: Option<DrainPlan>) -> Observed {
    let device = thread::spawn(move || rig::send(seconds * rig::RATE).map_err(|error| error.to_string()));
    let duration = Some(Duration::from_secs(seconds.into()) + TAIL);
    let run = Run { duration, drain, ..Run::default() };
    let observed = conduct(vec![Box::new(source)], Options::default(), &run, &mut |_| {}).unwrap();
    device.join().unwrap().unwrap();
    observed
}

#[test]
fn downloads_in_the_background_cost_no_datagram() {
    isolated("downloads_in_the_background_cost_no_datagram", || {
        let ring = rig::serve([225, 250, 269].map(Duration::from_millis).to_vec()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = format!("http://{ring}/ring").parse().unwrap();
        let plan = DrainPlan::new(url, Duration::from_millis(1_500), folder.path());
        let plan = DrainPlan { run: Some(Duration::from_secs(6)), ..plan };
        let observed = observe(rig::open(None).unwrap(), 6, Some(plan));
        let drains: Vec<_> = observed.drains.iter().map(|drain| (&drain.status, drain.bytes)).collect();
        assert_eq!(drains, [(&DrainStatus::Ok, rig::RING as u64); 3]);
        let tally = Tally::of(&observed.account);
        assert_eq!((tally.received, tally.missing), (rig::sent(360), [0; 3]));
        assert_eq!(observed.observer.lost, 0);
    });
}

#[test]
fn what_a_stall_of_250_ms_loses_is_the_observers_own() {
    isolated("what_a_stall_of_250_ms_loses_is_the_observers_own", || {
        let stall = (Duration::from_millis(1_000), Duration::from_millis(250));
        let observed = observe(Disturbed::new(rig::open(Some(UNTOUCHED)).unwrap(), vec![stall]), 2, None);
        let tally = Tally::of(&observed.account);
        let missing: u64 = tally.missing.iter().sum();
        assert!(tally.missing[2] > 0, "14 frames of twelve sACN datagrams do not fit: {tally:?}");
        assert_eq!(tally.own, tally.missing, "every one is the observer's");
        for at in 0..3 {
            assert_eq!(tally.received[at] + tally.missing[at], rig::sent(120)[at], "{tally:?}");
        }
        assert_eq!([udp_counter("RcvbufErrors"), observed.account.observer.socket], [missing; 2]);
        assert_eq!(observed.observer.lost, missing);
        assert_eq!(tally.violations, 0, "held against the device: {:#?}", observed.account.findings);
    });
}

#[test]
fn the_default_settings_hold_a_stall_of_269_ms() {
    isolated("the_default_settings_hold_a_stall_of_269_ms", || {
        let stall = (Duration::from_millis(1_000), Duration::from_millis(269));
        let observed = observe(Disturbed::new(rig::open(None).unwrap(), vec![stall]), 2, None);
        let tally = Tally::of(&observed.account);
        assert_eq!((tally.received, tally.missing), (rig::sent(120), [0; 3]));
        assert_eq!((observed.observer.lost, udp_counter("RcvbufErrors")), (0, 0));
        assert!(observed.observer.loop_gap_max_ns >= 269_000_000, "the stall was seen all the same");
    });
}
