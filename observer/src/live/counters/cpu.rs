//! How the processors of the host spent their time: busy, idle, or taken away by the machine below (steal).

/// Processor time since the host started, all processors together, in ticks of 1/100 s, as far as the kernel says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// All time there was.
    pub total_ticks: u64,
    /// Time nothing wanted to run, waiting for storage included.
    pub idle_ticks: u64,
    /// Time the machine below ran something else while this host wanted to run.
    pub steal_ticks: Option<u64>,
    /// Threads that run or could run at this moment.
    pub running: Option<u64>,
}

/// Processor time between two readings, in ticks of 1/100 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuDelta {
    /// All time there was.
    pub total_ticks: u64,
    /// Time something ran.
    pub busy_ticks: u64,
    /// Time taken away by the machine below; `None` when the kernel does not say.
    pub steal_ticks: Option<u64>,
}

/// Reads `/proc/stat`; `None` when its first line is not the sum over the processors.
pub fn parse_stat(text: &str) -> Option<CpuTimes> {
    let mut times = CpuTimes { running: running(text), ..CpuTimes::default() };
    let row = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user nice system idle iowait irq softirq steal; the guest columns behind are already in the first two.
    let mut columns = 0;
    for (index, value) in row.split_whitespace().take(8).map_while(|c| c.parse::<u64>().ok()).enumerate() {
        times.total_ticks = times.total_ticks.saturating_add(value);
        match index {
            3 | 4 => times.idle_ticks = times.idle_ticks.saturating_add(value),
            7 => times.steal_ticks = Some(value),
            _ => {}
        }
        columns = index + 1;
    }
    (columns >= 4).then_some(times)
}

fn running(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}

impl CpuTimes {
    /// The time between an earlier reading and this one; 0 for a column that stepped back, as the wait for storage may.
    pub fn since(&self, earlier: &CpuTimes) -> CpuDelta {
        let total = self.total_ticks.saturating_sub(earlier.total_ticks);
        let idle = self.idle_ticks.saturating_sub(earlier.idle_ticks);
        let steal = match (earlier.steal_ticks, self.steal_ticks) {
            (Some(before), Some(now)) => Some(now.saturating_sub(before)),
            _ => None,
        };
        let busy = total.saturating_sub(idle).saturating_sub(steal.unwrap_or(0));
        CpuDelta { total_ticks: total, busy_ticks: busy, steal_ticks: steal }
    }
}

impl CpuDelta {
    /// Share of the time that was taken away, in thousandths; `None` without such a counter or without time.
    pub fn steal_thousandths(&self) -> Option<u64> {
        self.steal_ticks?.saturating_mul(1_000).checked_div(self.total_ticks)
    }

    /// Share of the time in which something ran, in thousandths; `None` without time.
    pub fn busy_thousandths(&self) -> Option<u64> {
        self.busy_ticks.saturating_mul(1_000).checked_div(self.total_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  1000 20 300 5000 60 7 80 90 11 12
cpu0 500 10 150 2500 30 3 40 45 5 6
intr 1 2 3
ctxt 99
procs_running 3
procs_blocked 0
";

    #[test]
    fn ticks_are_added_without_the_guest_columns() {
        let times = parse_stat(STAT).unwrap();
        assert_eq!((times.total_ticks, times.idle_ticks), (6_557, 5_060));
        assert_eq!((times.steal_ticks, times.running), (Some(90), Some(3)));
    }

    #[test]
    fn an_old_kernel_has_no_steal_column() {
        let times = parse_stat("cpu  10 0 5 100\n").unwrap();
        assert_eq!((times.total_ticks, times.steal_ticks, times.running), (115, None, None));
        assert_eq!(parse_stat(STAT).unwrap().since(&times).steal_ticks, None);
    }

    #[test]
    fn a_difference_splits_into_busy_idle_and_steal() {
        let earlier = parse_stat(STAT).unwrap();
        let later = parse_stat("cpu  1060 20 310 5110 60 7 80 110 0 0\n").unwrap();
        let delta = later.since(&earlier);
        assert_eq!(delta, CpuDelta { total_ticks: 200, busy_ticks: 70, steal_ticks: Some(20) });
        assert_eq!((delta.steal_thousandths(), delta.busy_thousandths()), (Some(100), Some(350)));
        assert_eq!(earlier.since(&later), CpuDelta { steal_ticks: Some(0), ..CpuDelta::default() });
        assert_eq!(CpuDelta::default().busy_thousandths(), None);
    }

    #[test]
    fn texts_that_are_something_else_give_nothing() {
        for text in ["", "cpu", "cpu \n", "cpu  1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  a b c d\n"] {
            assert_eq!(parse_stat(text), None, "{text:?}");
        }
        let widest = format!("cpu  {0} {0} {0} {0} {0} {0} {0} {0}\n", u64::MAX);
        assert_eq!(parse_stat(&widest).unwrap().total_ticks, u64::MAX);
    }
}
