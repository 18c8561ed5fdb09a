//! Judgements over made-up hosts.

use super::facts::{Holder, Interface, Ipv6, Port, TimeService};
use super::*;

/// A host with which nothing is wrong.
fn healthy() -> Facts {
    let port = |number, name| Port { number, protocols: vec![name], holders: Vec::new() };
    let interface = |name: &str, loopback| Interface {
        name: name.to_owned(),
        loopback,
        up: true,
        carrier: Some(true),
        mtu: Some(1_500),
        dropped: Some(0),
        ..Interface::default()
    };
    Facts {
        system: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        kernel: Some("6.18.44-generic".to_owned()),
        binary: Some("/usr/bin/wireproof".to_owned()),
        capabilities: Some(0x3000),
        asked: None,
        rmem_max: Some(212_992),
        rmem_default: Some(212_992),
        backlog: Some(1_000),
        memberships: Some(20),
        ports: Some(vec![port(5_568, "sacn"), port(6_454, "artnet")]),
        ipv6: Ipv6::On,
        interfaces: Some(vec![interface("eth0", false), interface("lo", true)]),
        clock_source: Some("tsc".to_owned()),
        time_service: TimeService::Running("chronyd".to_owned()),
        processors: Some(4),
        governor: Some(("intel_pstate".to_owned(), "powersave".to_owned())),
        free_bytes: Some(100 << 30),
    }
}

/// The one check of this name.
fn check(facts: &Facts, name: &str) -> Check {
    let mut found: Vec<_> = judge(facts).into_iter().filter(|check| check.name == name).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.remove(0)
}

fn states(facts: &Facts, state: State) -> Vec<String> {
    judge(facts).into_iter().filter(|check| check.state == state).map(|check| check.name).collect()
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn a_healthy_host_has_nothing_to_repair() {
    let checks = judge(&healthy());
    assert!(checks.iter().all(|check| check.state == State::Ok && check.repair.is_none()), "{checks:?}");
    let mut names: Vec<_> = checks.iter().map(|check| &check.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), checks.len());
}

#[test]
fn an_unprivileged_host_works_with_sockets_and_says_how_to_get_the_rest() {
    let facts = Facts { capabilities: Some(0), ..healthy() };
    assert_eq!(states(&facts, State::Fail), none());
    assert_eq!(states(&facts, State::Warn), ["rights capture", "rights buffer", "receive buffer"]);
    let setcap = "sudo setcap cap_net_raw,cap_net_admin=ep /usr/bin/wireproof";
    assert_eq!(check(&facts, "rights capture").repair.as_deref(), Some(setcap));
    let buffer = check(&facts, "receive buffer");
    assert_eq!(buffer.repair.as_deref(), Some("sudo sysctl -w net.core.rmem_max=8388608"));
    assert_eq!((buffer.values["granted_bytes"], buffer.values["hold_ms"]), (425_984, 461));
    let text = "8 MiB asked, 208 KiB allowed: holds 461 ms of 12 sACN universes at 60 fps while nobody reads";
    assert_eq!(buffer.text, text);
}

#[test]
fn an_interface_asked_for_without_the_right_is_a_failure() {
    let facts = Facts { capabilities: Some(0), asked: Some("eth0".to_owned()), ..healthy() };
    assert_eq!(states(&facts, State::Fail), ["rights capture"]);
}

#[test]
fn a_raised_limit_makes_up_for_a_missing_right() {
    let facts = Facts { capabilities: Some(1 << 13), rmem_max: Some(8 << 20), ..healthy() };
    assert_eq!(states(&facts, State::Warn), none());
    assert_eq!(check(&facts, "receive buffer").values["hold_ms"], 18_204);
}

#[test]
fn a_buffer_that_holds_less_than_ordinary_waits_is_a_failure() {
    for (rmem_max, expected) in [(23_040, State::Warn), (22_399, State::Fail), (0, State::Fail)] {
        let facts = Facts { capabilities: Some(1 << 13), rmem_max: Some(rmem_max), ..healthy() };
        assert_eq!(check(&facts, "receive buffer").state, expected, "{rmem_max}");
    }
}

#[test]
fn the_default_buffer_holds_what_was_measured() {
    assert_eq!(check(&healthy(), "default buffer").values["hold_ms"], 230);
}

#[test]
fn a_port_in_use_names_its_holder() {
    let holders = vec![
        Holder { process: Some(("sacnview".to_owned(), 77)), user: 1_000 },
        Holder { process: None, user: 0 },
    ];
    let port = Port { number: 5_568, protocols: vec!["sacn"], holders };
    let facts = Facts { ports: Some(vec![port.clone()]), ..healthy() };
    let found = check(&facts, "port 5568");
    assert_eq!(found.state, State::Warn);
    assert!(found.text.contains("sacnview (process 77), a process of user 0"), "{}", found.text);
    let facts = Facts { ports: Some(vec![port]), capabilities: Some(0), ..healthy() };
    let found = check(&facts, "port 5568");
    assert_eq!((found.state, found.repair), (State::Fail, Some(facts.setcap())));
}

#[test]
fn many_holders_of_a_port_stay_one_line() {
    let holders = (0..9).map(|user| Holder { process: None, user }).collect();
    let facts = Facts { ports: Some(vec![Port { number: 1, protocols: vec!["a"], holders }]), ..healthy() };
    assert!(check(&facts, "port 1").text.contains("user 2, 6 more:"));
}

#[test]
fn ipv6_off_is_told_with_its_repair() {
    for (ipv6, repair) in [
        (Ipv6::Disabled, Some("sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0")),
        (Ipv6::Absent, None),
        (Ipv6::Unknown, None),
    ] {
        let found = check(&Facts { ipv6, ..healthy() }, "ipv6");
        assert_eq!((found.state, found.repair.as_deref()), (State::Warn, repair));
    }
}

#[test]
fn an_interface_that_is_not_there_is_a_failure_with_the_names_there_are() {
    let facts = Facts { asked: Some("eth7".to_owned()), ..healthy() };
    let found = check(&facts, "interface eth7");
    assert_eq!((found.state, found.text.as_str()), (State::Fail, "no such interface; there is: eth0, lo"));
}

#[test]
fn an_interface_that_is_down_is_a_warning_when_asked_about() {
    let mut facts = healthy();
    facts.interfaces.as_mut().unwrap()[0].up = false;
    assert_eq!(states(&facts, State::Warn), ["interfaces"]);
    facts.asked = Some("eth0".to_owned());
    let found = check(&facts, "interface eth0");
    assert_eq!((found.state, found.repair.as_deref()), (State::Warn, Some("sudo ip link set eth0 up")));
}

#[test]
fn limits_and_clocks_below_the_usual_are_warnings() {
    let facts = Facts {
        backlog: Some(999),
        memberships: Some(0),
        clock_source: Some("hpet".to_owned()),
        time_service: TimeService::None,
        processors: Some(1),
        governor: Some(("acpi-cpufreq".to_owned(), "powersave".to_owned())),
        free_bytes: Some((1 << 30) - 1),
        kernel: Some("4.19.0".to_owned()),
        ..healthy()
    };
    let expected = ["platform", "backlog", "memberships", "clock source", "clock sync", "processors", "disk"];
    assert_eq!(states(&facts, State::Warn), expected);
}

#[test]
fn another_platform_is_known_by_what_it_lacks() {
    let facts = Facts { system: "macos".to_owned(), architecture: "aarch64".to_owned(), ..Facts::default() };
    let checks = judge(&facts);
    assert!(checks.iter().all(|check| check.state != State::Fail), "{checks:?}");
    assert!(checks.iter().any(|check| check.text.contains("libpcap")));
}

#[test]
fn names_from_outside_cannot_break_the_table() {
    let holders = vec![Holder { process: Some(("a\nb\u{1b}[31m".to_owned(), 1)), user: 0 }];
    let facts = Facts { ports: Some(vec![Port { number: 1, protocols: vec!["x"], holders }]), ..healthy() };
    let checks = judge(&facts);
    let mut out = Vec::new();
    table(&checks, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), checks.len());
    assert!(!text.contains('\u{1b}'));
}
