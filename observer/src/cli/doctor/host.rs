//! Checks of the host itself: kernel, rights, clocks, processors and disk.

use super::check::{Check, State, octets};
use super::facts::{Facts, Right, TimeService};

/// First Linux whose packet sockets leave out frames this host sends (`PACKET_IGNORE_OUTGOING`).
const OLDEST_LINUX: (u64, u64) = (4, 20);
/// Clock sources that take a slow access for each reading.
const SLOW_CLOCKS: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
/// Drivers whose governor `powersave` follows the load nevertheless.
const ADAPTIVE_DRIVERS: [&str; 3] = ["intel_pstate", "amd-pstate", "amd-pstate-epp"];
/// Octets a second a capture of 12 sACN universes at 60 frames a second takes, headers included.
const CAPTURE_RATE: u64 = 720 * (638 + 42 + 32);
/// Free space below which a recording is in danger, octets.
pub(in crate::cli) const LITTLE_SPACE: u64 = 1 << 30;

/// Operating system and kernel.
pub(super) fn platform(facts: &Facts) -> Check {
    let name = "platform";
    let kernel = facts.kernel.as_deref().unwrap_or("of unknown release");
    let text = format!("{} {kernel} on {}", facts.system, facts.architecture);
    if !facts.linux() {
        return Check::warn(
            name,
            format!("{text}: no drop counters of sockets, no packet ring; libpcap only"),
        );
    }
    match facts.kernel.as_deref().and_then(release) {
        Some(release) if release >= OLDEST_LINUX => Check::ok(name, text),
        Some(_) => {
            Check::warn(name, format!("{text}: older than 4.20, the packet ring also shows what is sent"))
        }
        None => Check::warn(name, text),
    }
}

fn release(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// `CAP_NET_RAW`, which captures on an interface.
pub(super) fn capture_right(facts: &Facts) -> Check {
    let name = "rights capture";
    match (facts.net_raw(), &facts.asked) {
        (Right::Held, _) => Check::ok(name, "CAP_NET_RAW: -i IF works"),
        (Right::Missing, Some(interface)) => {
            let text = format!("no CAP_NET_RAW: -i {interface} cannot be opened");
            Check::fail(name, text).repair(facts.setcap())
        }
        (Right::Missing, None) => {
            let text = "no CAP_NET_RAW: --udp works, -i IF does not";
            Check::warn(name, text).repair(facts.setcap())
        }
        (Right::Unknown, _) => Check::warn(name, "not known on this platform: opening -i IF shows it"),
    }
}

/// Who stamps datagrams.
pub(super) fn timestamps(facts: &Facts) -> Check {
    let name = "timestamps";
    if !facts.linux() {
        return Check::warn(name, "by libpcap with -i IF, by this process with --udp");
    }
    let clocks = facts.interfaces.iter().flatten().filter(|interface| interface.clock);
    let clocks: Vec<_> = clocks.map(|interface| interface.name.as_str()).collect();
    let hardware = match clocks.as_slice() {
        [] => "no interface has a clock of its own".to_owned(),
        names => format!("interfaces with a clock of their own: {}", names.join(", ")),
    };
    Check::ok(name, format!("by the kernel; {hardware}"))
}

/// What the kernel reads the time from.
pub(super) fn clock_source(facts: &Facts) -> Check {
    let name = "clock source";
    match facts.clock_source.as_deref() {
        Some(source) if SLOW_CLOCKS.contains(&source) => Check::warn(
            name,
            format!("{source} is slow or coarse: stamps cost time; look for tsc in the kernel's log"),
        ),
        Some(source) => Check::ok(name, source),
        None => Check::warn(name, "not known"),
    }
}

/// Whether stamps of two hosts can be compared.
pub(super) fn clock_sync(facts: &Facts) -> Check {
    let name = "clock sync";
    match &facts.time_service {
        TimeService::Synchronized(who) => Check::ok(name, format!("synchronized by {who}")),
        TimeService::Running(who) => Check::ok(name, format!("{who} runs")),
        TimeService::Waiting(who) => {
            Check::warn(name, format!("{who} runs and has not synchronized the clock yet"))
        }
        TimeService::None => Check::warn(
            name,
            "no time service seen: stamps of this host and of others may differ, and steps may come",
        ),
    }
}

/// How many processors, and whether they sleep deeply.
pub(super) fn processors(facts: &Facts) -> Check {
    let name = "processors";
    let Some(count) = facts.processors else { return Check::warn(name, "number not known") };
    let saving = facts.governor.as_ref().is_some_and(|(driver, governor)| {
        governor == "powersave" && !ADAPTIVE_DRIVERS.contains(&driver.as_str())
    });
    let governor =
        facts.governor.as_ref().map(|(_, governor)| format!(", governor {governor}")).unwrap_or_default();
    let text = format!("{count}{governor}");
    let check = match (count, saving) {
        (_, true) => Check::warn(name, format!("{text}: held at the lowest frequency"))
            .repair("sudo cpupower frequency-set -g performance"),
        (1, false) => Check::warn(name, format!("{text}: whatever else runs delays the receive thread")),
        _ => Check::ok(name, text),
    };
    check.value("count", count)
}

/// Room for recordings in the current directory.
pub(super) fn disk(facts: &Facts) -> Check {
    let name = "disk";
    let Some(free) = facts.free_bytes else { return Check::warn(name, "free space not known") };
    let state = if free < LITTLE_SPACE { State::Warn } else { State::Ok };
    let minutes = free / CAPTURE_RATE / 60;
    let text = format!("{} free here: {minutes} min of 12 sACN universes at 60 fps with -w", octets(free));
    Check::new(state, name, text).value("free_bytes", free).value("minutes", minutes)
}
