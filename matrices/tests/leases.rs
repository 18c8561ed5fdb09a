//! Leases of factors: what a plan may say, and that a run renews them in time and never inside a window.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod simulation;

use simulation::{SECOND, run, short};
use wireproof_matrices::plan::check::check;
use wireproof_matrices::plan::{Lock, Plan};
use wireproof_matrices::runner::io::{Command, Outcome};
use wireproof_matrices::simulated::Fault;
use wireproof_protocols::Timestamp;

const EXAMPLE: &str = include_str!("golden/plan_example.toml");

/// Three blocks of the example, its profiler held by a lease.
fn leased(seconds: u64) -> Plan {
    let mut plan = short(3);
    let toggle = plan.toggle.iter_mut().find(|toggle| toggle.factor == "profiler").expect("it has one");
    toggle.lease_ns = Some(seconds * SECOND as u64);
    let path = toggle.set.path.as_mut().expect("it is set over HTTP");
    path.push_str("&lease_ms={lease_ms}");
    plan
}

fn codes(plan: &Plan) -> Vec<&'static str> {
    let remarks = check(plan, &|_| Vec::new()).remarks;
    remarks.iter().map(|remark| remark.code).filter(|code| code.starts_with("lease-")).collect()
}

/// When the profiler was set, and the windows.
fn told(trace: &[(Timestamp, Command)]) -> (Vec<i64>, Vec<(i64, i64)>) {
    let at = |is: &dyn Fn(&Command) -> bool| -> Vec<i64> {
        trace.iter().filter(|(_, command)| is(command)).map(|(at, _)| at.0).collect()
    };
    let sets = at(&|c| matches!(c, Command::SetToggle { factor, .. } if factor == "profiler"));
    let opened = at(&|c| matches!(c, Command::OpenWindow));
    let closed = at(&|c| matches!(c, Command::CloseWindow));
    (sets, opened.into_iter().zip(closed).collect())
}

#[test]
fn a_lease_is_renewed_before_it_runs_out_and_never_inside_a_window() {
    let plan = leased(99);
    let run = run(&plan, &[]);
    assert_eq!(run.outcome(), Outcome::Complete, "{}", run.why());
    let (sets, windows) = told(&run.bench.trace);
    assert!(windows.len() >= 6, "{windows:?}");
    let end = windows.last().expect("a window").1;
    assert!(end - sets[0] > 99 * SECOND, "the run is longer than the lease");
    assert!(sets.windows(2).all(|pair| pair[1] - pair[0] < 99 * SECOND), "{sets:?}");
    let inside = |set: &i64| windows.iter().any(|(from, to)| (from..to).contains(&set));
    assert_eq!(sets.iter().find(|set| inside(set)), None, "{windows:?}");
    let after = |window: &(i64, i64)| sets.iter().any(|set| window.0 - 99 * SECOND < *set && *set < window.0);
    assert!(windows.iter().all(after), "each window lies within a lease");
}

#[test]
fn without_a_lease_a_fixed_factor_is_set_once() {
    let run = run(&short(3), &[]);
    let (sets, windows) = told(&run.bench.trace);
    let before = sets.iter().filter(|set| **set < windows[0].0).count();
    let between =
        sets.iter().filter(|set| **set > windows[0].0 && **set < windows[windows.len() - 1].1).count();
    assert_eq!((before, between), (1, 0), "{sets:?}");
}

#[test]
fn a_lease_that_is_not_renewed_ends_the_run_as_invalid() {
    let refuse = Fault::LevelRefused { factor: "profiler".to_owned(), level: "on".to_owned() };
    let run = run(&leased(99), &[(1..=1, refuse)]);
    assert_eq!(run.outcome(), Outcome::Invalid, "{}", run.why());
    assert!(run.why().contains("the lease of profiler could not be renewed: 403 Forbidden"), "{}", run.why());
    assert!(run.is_restored());
}

#[test]
fn a_lease_has_to_be_told_to_the_device_and_to_outlast_an_arm() {
    assert_eq!(codes(&leased(99)), [""; 0]);
    assert_eq!(codes(&leased(98)), ["lease-short"]);
    let mut silent = leased(99);
    silent.toggle.iter_mut().for_each(|toggle| {
        toggle.set.path = toggle.set.path.take().map(|path| path.replace("&lease_ms={lease_ms}", ""));
    });
    assert_eq!(codes(&silent), ["lease-unused"]);
    let mut none = leased(99);
    none.toggle.iter_mut().for_each(|toggle| toggle.lease_ns = None);
    assert_eq!(codes(&none), ["lease-missing"]);
}

#[test]
fn a_lease_changes_the_hash_and_its_absence_does_not() {
    let plain = Lock::freeze(EXAMPLE).expect("the example is a plan");
    let canonical = plain.plan.canonical().expect("it has a canonical form");
    assert!(!canonical.contains("lease"), "{canonical}");
    let text = EXAMPLE.replacen("[[toggle]]\n", "[[toggle]]\nlease = \"90s\"\n", 1);
    let leased = Lock::freeze(&text).expect("it is a plan");
    assert_ne!(leased.plan_sha256, plain.plan_sha256);
    let minutes = Lock::freeze(&text.replace("90s", "1.5min")).expect("it is a plan");
    assert_eq!(minutes.plan_sha256, leased.plan_sha256);
    assert!(Lock::freeze(&text.replace("90s", "soon")).is_err());
}
