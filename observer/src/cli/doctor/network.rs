//! Checks of the network side: joins, ports, IPv6 and interfaces.

use super::check::{Check, State};
use super::facts::{Facts, Holder, Interface, Ipv6, Port, Right};

/// Universes the membership budget is stated for.
const UNIVERSES: u64 = 64;
/// Most holders of a port that are named.
const MOST_NAMED: usize = 3;

/// How many multicast groups a socket may join.
pub(super) fn memberships(facts: &Facts) -> Check {
    let name = "memberships";
    match facts.memberships {
        None => Check::warn(name, "net.ipv4.igmp_max_memberships cannot be read here"),
        Some(0) => Check::warn(name, "net.ipv4.igmp_max_memberships is 0: --join fails")
            .repair("sudo sysctl -w net.ipv4.igmp_max_memberships=20")
            .value("groups_per_socket", 0),
        Some(limit) => {
            let sockets = UNIVERSES.div_ceil(limit);
            let text =
                format!("{limit} groups a socket: --join of {UNIVERSES} universes takes {sockets} sockets");
            Check::ok(name, text).value("groups_per_socket", limit)
        }
    }
}

/// A line for each protocol port.
pub(super) fn ports(facts: &Facts) -> Vec<Check> {
    match &facts.ports {
        Some(ports) => ports.iter().map(|port| one_port(port, facts)).collect(),
        None => vec![Check::warn("ports", "who has them open is not known on this platform")],
    }
}

fn one_port(port: &Port, facts: &Facts) -> Check {
    let name = format!("port {}", port.number);
    let protocols = port.protocols.join(", ");
    if port.holders.is_empty() {
        return Check::ok(&name, format!("free ({protocols})"));
    }
    let text =
        format!("({protocols}) in use by {}: observe --udp cannot open it meanwhile", named(&port.holders));
    let check = match facts.net_raw() {
        Right::Missing => {
            Check::fail(&name, format!("{text}, and -i IF takes CAP_NET_RAW")).repair(facts.setcap())
        }
        _ => Check::warn(&name, format!("{text}; -i IF listens beside it")),
    };
    check.value("holders", port.holders.len() as u64)
}

fn named(holders: &[Holder]) -> String {
    let one = |holder: &Holder| match &holder.process {
        Some((name, id)) => format!("{name} (process {id})"),
        None => format!("a process of user {}", holder.user),
    };
    let mut names: Vec<_> = holders.iter().take(MOST_NAMED).map(one).collect();
    let more = holders.len().saturating_sub(MOST_NAMED);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

/// Whether IPv6 senders can be seen.
pub(super) fn ipv6(facts: &Facts) -> Check {
    let name = "ipv6";
    match facts.ipv6 {
        Ipv6::On => Check::ok(name, "on"),
        Ipv6::Disabled => Check::warn(name, "off: --udp receives IPv4 only")
            .repair("sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0"),
        Ipv6::Absent => Check::warn(name, "not in this kernel: --udp receives IPv4 only"),
        Ipv6::Unknown => Check::warn(name, "not known on this platform"),
    }
}

/// A line for each interface, or for the one asked about.
pub(super) fn interfaces(facts: &Facts) -> Vec<Check> {
    let Some(listed) = &facts.interfaces else {
        return vec![Check::warn("interfaces", "not known on this platform")];
    };
    let Some(asked) = &facts.asked else {
        let alone = !listed.iter().any(|interface| interface.up && !interface.loopback);
        let alone = alone.then(|| Check::warn("interfaces", "none is up beside loopback"));
        return listed.iter().map(|interface| described(interface, false)).chain(alone).collect();
    };
    match listed.iter().find(|interface| interface.name == *asked) {
        Some(interface) => vec![described(interface, true)],
        None => {
            let names: Vec<_> = listed.iter().map(|interface| interface.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            vec![Check::fail(&format!("interface {asked}"), format!("no such interface; there is: {known}"))]
        }
    }
}

fn described(interface: &Interface, asked: bool) -> Check {
    let name = format!("interface {}", interface.name);
    let link = match (interface.up, interface.carrier) {
        (false, _) => "down",
        (true, Some(false)) => "up, no link",
        (true, _) => "up",
    };
    let number = |value: Option<u64>, before: &str, after: &str| {
        value.map(|value| format!(", {before}{value}{after}")).unwrap_or_default()
    };
    let text = format!(
        "{link}{}{}{}",
        number(interface.speed, "", " Mbit/s"),
        number(interface.mtu, "MTU ", ""),
        number(interface.dropped, "", " frames dropped on receipt so far"),
    );
    let silent = asked && (!interface.up || interface.carrier == Some(false));
    let check = Check::new(if silent { State::Warn } else { State::Ok }, &name, text);
    let check =
        if interface.up { check } else { check.repair(format!("sudo ip link set {} up", interface.name)) };
    interface.dropped.into_iter().fold(check, |check, dropped| check.value("rx_dropped", dropped))
}
