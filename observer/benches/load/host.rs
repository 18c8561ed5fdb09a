//! The host under a bench: what it is, whether something else had its processors, and counters of this namespace.

use super::sys::thread_cpu_ns;
use std::collections::HashMap;
use std::fs;

/// Most of all CPU time that may be stolen by the machine below, in percent, before a run counts as disturbed.
pub(crate) const STEAL_LIMIT: f64 = 1.0;
/// Most CPU time of processes that are not the bench's, in percent of one core, before a run counts as disturbed.
pub(crate) const FOREIGN_LIMIT: f64 = 10.0;
/// Ticks of `/proc` a second.
const TICKS: f64 = 100.0;

/// Processor time so far.
pub(crate) struct Usage {
    total: u64,
    steal: u64,
    foreign: HashMap<u32, u64>,
}

/// Processor time that the bench did not have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Disturbance {
    /// Stolen, percent of all.
    pub(crate) steal: f64,
    /// Used by processes of others, percent of one core.
    pub(crate) foreign: f64,
}

impl Disturbance {
    /// Beyond the limits fixed beforehand.
    pub(crate) fn is_over(self) -> bool {
        self.steal > STEAL_LIMIT || self.foreign > FOREIGN_LIMIT
    }
}

impl Usage {
    /// Reads `/proc`.
    pub(crate) fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let columns: Vec<u64> = first.split_whitespace().skip(1).filter_map(|c| c.parse().ok()).collect();
        Usage {
            total: columns.iter().take(8).sum(),
            steal: columns.get(7).copied().unwrap_or(0),
            foreign: foreign(),
        }
    }

    /// What others had since an earlier reading.
    pub(crate) fn since(&self, earlier: &Usage) -> Disturbance {
        let total = self.total.saturating_sub(earlier.total).max(1) as f64;
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let ticks = |(pid, now): (&u32, &u64)| now.saturating_sub(*earlier.foreign.get(pid).unwrap_or(&0));
        let foreign: u64 = self.foreign.iter().map(ticks).sum();
        Disturbance {
            steal: 100.0 * self.steal.saturating_sub(earlier.steal) as f64 / total,
            foreign: 100.0 * foreign as f64 * cores / total,
        }
    }
}

/// Ticks of every process outside the group of this one.
fn foreign() -> HashMap<u32, u64> {
    let own = group(&stat("self"));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let rows = pids.map(|pid| (pid, stat(&pid.to_string())));
    // Threads of the kernel have group 0; what they do for the bench cannot be told from the rest.
    let foreign = rows.filter(|(_, row)| ![own, Some(0)].contains(&group(row)));
    foreign.filter_map(|(pid, row)| Some((pid, row.get(11)? + row.get(12)?))).collect()
}

/// Numbers of `/proc/PID/stat` behind the name: state (here 0), parent, process group and so on.
fn stat(pid: &str) -> Vec<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    behind.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect()
}

fn group(row: &[u64]) -> Option<u64> {
    row.get(2).copied()
}

/// `VmHWM` (largest) or `VmRSS` (now) of this process, octets.
pub(crate) fn memory(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1_024
}

/// A counter of UDP over IPv4 in this network namespace, e.g. `RcvbufErrors`.
pub(crate) fn udp_counter(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/net/snmp").unwrap_or_default();
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(n, _)| *n == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// Packets that the backlog of any CPU had no room for, host-wide.
pub(crate) fn backlog_drops() -> u64 {
    let text = fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    let columns = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    columns.filter_map(|c| u64::from_str_radix(c, 16).ok()).sum()
}

/// What the figures were measured on, one line each.
pub(crate) fn facts() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo");
    let before = thread_cpu_ns();
    let reads: u32 = 10_000;
    (1..reads).for_each(|_| {
        std::hint::black_box(thread_cpu_ns());
    });
    let clock = (thread_cpu_ns() - before) / u64::from(reads);
    vec![
        format!("cpu: {} x {cores}", model.split_once(": ").map_or("", |(_, name)| name)),
        format!("memory: {}", memory.lines().next().unwrap_or_default()),
        format!("kernel: {} {}", read("/proc/sys/kernel/osrelease"), read("/proc/sys/kernel/version")),
        format!("clock source: {}", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        format!("one reading of the thread's CPU clock: {clock} ns"),
        format!(
            "net.core: rmem_default {} rmem_max {} netdev_max_backlog {}",
            read("/proc/sys/net/core/rmem_default"),
            read("/proc/sys/net/core/rmem_max"),
            read("/proc/sys/net/core/netdev_max_backlog")
        ),
        format!("load: {}", read("/proc/loadavg")),
    ]
}
