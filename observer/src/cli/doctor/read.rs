//! Reads the facts off the host: `/proc`, `/sys`, `/run`, the path of this program, and `df` for the free space.

use super::facts::{Facts, Interface, Ipv6, TimeService};
use super::ports;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names under which time services run, as far as the kernel keeps them (15 octets).
const TIME_SERVICES: [&str; 6] = ["chronyd", "ptp4l", "phc2sys", "ntpd", "openntpd", "systemd-timesyn"];
/// `IFF_UP` and `IFF_LOOPBACK`.
const UP: u64 = 0x1;
const LOOPBACK: u64 = 0x8;

/// The facts of this host.
pub(super) fn facts(interface: Option<&str>) -> Facts {
    let root = Path::new("/");
    Facts {
        system: std::env::consts::OS.to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        binary: binary(),
        asked: interface.map(str::to_owned),
        processors: std::thread::available_parallelism().ok().map(|count| count.get() as u64),
        free_bytes: free_bytes(),
        ..facts_below(root)
    }
}

/// The facts that stand in files.
fn facts_below(root: &Path) -> Facts {
    let first_cpu = root.join("sys/devices/system/cpu/cpu0/cpufreq");
    let core = root.join("proc/sys/net/core");
    Facts {
        kernel: word(&root.join("proc/sys/kernel/osrelease")),
        capabilities: fs::read_to_string(root.join("proc/self/status"))
            .ok()
            .and_then(|text| capabilities(&text)),
        rmem_max: number(&core.join("rmem_max")),
        rmem_default: number(&core.join("rmem_default")),
        backlog: number(&core.join("netdev_max_backlog")),
        memberships: number(&root.join("proc/sys/net/ipv4/igmp_max_memberships")),
        ports: ports::ports(root),
        ipv6: ipv6(root),
        interfaces: interfaces(root),
        clock_source: word(&root.join("sys/devices/system/clocksource/clocksource0/current_clocksource")),
        time_service: time_service(root),
        governor: word(&first_cpu.join("scaling_driver")).zip(word(&first_cpu.join("scaling_governor"))),
        ..Facts::default()
    }
}

fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number(path: &Path) -> Option<u64> {
    word(path)?.parse().ok()
}

/// The effective set in `/proc/self/status`.
fn capabilities(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

fn binary() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let path = fs::canonicalize(&path).unwrap_or(path);
    Some(path.to_string_lossy().into_owned())
}

fn ipv6(root: &Path) -> Ipv6 {
    let off = number(&root.join("proc/sys/net/ipv6/conf/all/disable_ipv6"));
    match off {
        Some(0) => Ipv6::On,
        Some(_) => Ipv6::Disabled,
        None if root.join("proc/net/if_inet6").exists() => Ipv6::On,
        None if root.join("proc/net").exists() => Ipv6::Absent,
        None => Ipv6::Unknown,
    }
}

/// The interfaces by name; `None` without `/sys`.
fn interfaces(root: &Path) -> Option<Vec<Interface>> {
    let folder = fs::read_dir(root.join("sys/class/net")).ok()?;
    let mut interfaces: Vec<_> = folder.flatten().filter_map(|entry| interface(&entry.path())).collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    Some(interfaces)
}

fn interface(folder: &Path) -> Option<Interface> {
    let flags = word(&folder.join("flags"))?;
    let flags = u64::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
    let statistics = folder.join("statistics");
    let dropped = ["rx_dropped", "rx_missed_errors"].map(|name| number(&statistics.join(name)));
    Some(Interface {
        name: folder.file_name()?.to_string_lossy().into_owned(),
        loopback: flags & LOOPBACK != 0,
        up: flags & UP != 0,
        carrier: number(&folder.join("carrier")).map(|carrier| carrier != 0),
        mtu: number(&folder.join("mtu")),
        speed: number(&folder.join("speed")).filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX)),
        dropped: dropped.into_iter().flatten().reduce(u64::saturating_add),
        clock: folder.join("device/ptp").is_dir(),
    })
}

fn time_service(root: &Path) -> TimeService {
    if root.join("run/systemd/timesync/synchronized").exists() {
        return TimeService::Synchronized("systemd-timesyncd".to_owned());
    }
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let processes =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let names = processes.filter_map(|entry| word(&entry.path().join("comm")));
    let running: Vec<_> = names.filter(|name| TIME_SERVICES.contains(&name.as_str())).collect();
    match TIME_SERVICES.iter().find(|name| running.iter().any(|running| running == *name)) {
        Some(&"systemd-timesyn") => TimeService::Waiting("systemd-timesyncd".to_owned()),
        Some(name) => TimeService::Running((*name).to_owned()),
        None => TimeService::None,
    }
}

/// Free octets of the current directory's file system, by the POSIX form of `df`.
fn free_bytes() -> Option<u64> {
    let mut command = Command::new("df");
    command.args(["-P", "-k", "."]).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
    parse_df(&String::from_utf8_lossy(&command.output().ok()?.stdout))
}

/// The column before the percentage of the second line; names of file systems may hold spaces.
fn parse_df(text: &str) -> Option<u64> {
    let columns: Vec<_> = text.lines().nth(1)?.split_whitespace().collect();
    let percentage = columns
        .iter()
        .position(|column| column.strip_suffix('%').is_some_and(|value| value.parse::<u64>().is_ok()))?;
    let kibibytes: u64 = columns.get(percentage.checked_sub(1)?)?.parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_capabilities_are_read() {
        let status = "Name:\tw\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000003000\nCapBnd:\t0\n";
        assert_eq!(capabilities(status), Some(0x3000));
        for text in ["", "CapEff:\n", "CapEff:\tz\n"] {
            assert_eq!(capabilities(text), None, "{text:?}");
        }
    }

    #[test]
    fn free_space_stands_before_the_percentage() {
        let head = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n";
        assert_eq!(
            parse_df(&format!("{head}/dev/vda 264212084 31379416 63906472 33% /\n")),
            Some(63_906_472 << 10)
        );
        assert_eq!(parse_df(&format!("{head}map auto 1 0 0 0 100% /a b\n")), Some(0));
        for text in ["", head, "x\n5%\n", "x\nno numbers here\n", "x\n a 99999999999999999999 1% /\n"] {
            assert_eq!(parse_df(text), None, "{text:?}");
        }
        assert_eq!(parse_df(&format!("{head}a {} 0 {} 1% /\n", u64::MAX, u64::MAX)), None);
    }

    #[test]
    fn an_empty_tree_gives_no_facts() {
        let root = tempfile::tempdir().unwrap();
        let facts = facts_below(root.path());
        assert_eq!((facts.kernel, facts.capabilities, facts.rmem_max), (None, None, None));
        assert_eq!((facts.interfaces, facts.ports, facts.ipv6), (None, None, Ipv6::Unknown));
        assert_eq!(facts.time_service, TimeService::None);
    }

    #[test]
    fn a_tree_of_files_is_read() {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("proc/sys/net/core/rmem_max", "212992\n"),
            ("proc/sys/net/ipv6/conf/all/disable_ipv6", "1\n"),
            ("proc/12/comm", "chronyd\n"),
            ("proc/13/comm", "systemd-timesyn\n"),
            ("sys/class/net/bonding_masters", "\n"),
            ("sys/class/net/lo/flags", "0x9\n"),
            ("sys/class/net/eth0/flags", "0x1003\n"),
            ("sys/class/net/eth0/carrier", "1\n"),
            ("sys/class/net/eth0/speed", "-1\n"),
            ("sys/class/net/eth0/statistics/rx_dropped", "3\n"),
            ("sys/class/net/eth0/statistics/rx_missed_errors", "4\n"),
            ("sys/class/net/eth0/device/ptp/ptp0/dev", "249:0\n"),
        ] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let facts = facts_below(root.path());
        assert_eq!((facts.rmem_max, facts.ipv6), (Some(212_992), Ipv6::Disabled));
        assert_eq!(facts.time_service, TimeService::Running("chronyd".to_owned()));
        let eth0 = Interface { name: "eth0".to_owned(), up: true, clock: true, ..Interface::default() };
        let eth0 = Interface { carrier: Some(true), dropped: Some(7), ..eth0 };
        let lo = Interface { name: "lo".to_owned(), up: true, loopback: true, ..Interface::default() };
        assert_eq!(facts.interfaces, Some(vec![eth0, lo]));
    }
}
