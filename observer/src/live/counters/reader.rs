//! Reads the counters off the file systems `/proc` and `/sys` and adds up their advances.

use super::cpu::{CpuTimes, parse_stat};
use super::parse::{parse_snmp, parse_snmp6, parse_softnet};
use super::tally::{Tally, Width, sum};
use super::{Counters, UdpErrors};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most octets read of one file.
const MOST_OCTETS: u64 = 4 << 20;
/// Most interfaces followed; hosts full of containers have some hundreds.
const MOST_INTERFACES: usize = 4_096;
/// `IFF_LOOPBACK` in the flags of an interface.
const LOOPBACK: u64 = 0x8;

/// Follows the counters of this host. Give it to a control thread: each reading opens a few small files.
#[derive(Debug)]
pub struct CounterReader {
    root: PathBuf,
    interface: Option<String>,
    text: String,
    path: PathBuf,
    udp: [UdpTallies; 2],
    cpus: BTreeMap<u64, [Tally; 2]>,
    nics: BTreeMap<String, Nic>,
    gone: Option<NicTotals>,
}

#[derive(Clone, Copy, Debug, Default)]
struct UdpTallies {
    rcvbuf: Tally,
    checksum: Tally,
}

/// One interface.
#[derive(Clone, Copy, Debug, Default)]
struct Nic {
    dropped: Tally,
    missed: Tally,
    fifo: Tally,
    over: Tally,
    crc: Tally,
    carrier: Tally,
    /// Found in the latest reading.
    present: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct NicTotals {
    dropped: Option<u64>,
    unclear: Option<u64>,
    damaged: Option<u64>,
    carrier: Option<u64>,
}

impl CounterReader {
    /// Follows one interface, or all but loopback.
    pub fn new(interface: Option<&str>) -> Self {
        CounterReader::at(Path::new("/"), interface)
    }

    /// As [`CounterReader::new`], with `proc` and `sys` below another folder.
    pub fn at(root: &Path, interface: Option<&str>) -> Self {
        CounterReader {
            root: root.to_owned(),
            interface: interface.map(str::to_owned),
            text: String::new(),
            path: PathBuf::new(),
            udp: [UdpTallies::default(); 2],
            cpus: BTreeMap::new(),
            nics: BTreeMap::new(),
            gone: None,
        }
    }

    /// Reads every counter. The first reading is where counting begins: all that exist are 0.
    pub fn read(&mut self) -> Counters {
        let errors =
            [self.udp_errors("proc/net/snmp", parse_snmp), self.udp_errors("proc/net/snmp6", parse_snmp6)];
        for (tallies, errors) in self.udp.iter_mut().zip(errors) {
            tallies.rcvbuf.take(errors.rcvbuf_errors, Width::Bits64);
            tallies.checksum.take(errors.checksum_errors, Width::Bits64);
        }
        self.read_softnet();
        self.read_nics();
        self.counters()
    }

    /// Reads how the processors spent their time; `None` where the system does not say.
    pub fn cpu_times(&mut self) -> Option<CpuTimes> {
        self.load("proc/stat").and_then(parse_stat)
    }

    fn udp_errors(&mut self, name: &str, parse: fn(&str) -> UdpErrors) -> UdpErrors {
        self.load(name).map(parse).unwrap_or_default()
    }

    fn read_softnet(&mut self) {
        let cpus = self.load("proc/net/softnet_stat").map(parse_softnet).unwrap_or_default();
        for cpu in cpus {
            let [processed, dropped] = self.cpus.entry(cpu.cpu).or_default();
            processed.take(cpu.processed, Width::Bits32);
            dropped.take(cpu.dropped, Width::Bits32);
        }
    }

    fn read_nics(&mut self) {
        self.nics.values_mut().for_each(|nic| nic.present = false);
        match self.interface.clone() {
            Some(name) => self.read_nic(name),
            None => self.listed().into_iter().for_each(|name| self.read_nic(name)),
        }
        let mut gone = self.gone;
        self.nics.retain(|_, nic| {
            if !nic.present {
                gone = Some(gone.unwrap_or_default().plus(nic.totals()));
            }
            nic.present
        });
        self.gone = gone;
    }

    /// Names of the interfaces that are not loopback.
    fn listed(&mut self) -> Vec<String> {
        let Ok(folder) = fs::read_dir(self.root.join("sys/class/net")) else { return Vec::new() };
        let names = folder.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: Vec<_> = names.take(MOST_INTERFACES).collect();
        names.into_iter().filter(|name| !self.is_loopback(name)).collect()
    }

    fn is_loopback(&mut self, interface: &str) -> bool {
        let flags = self.load(&format!("sys/class/net/{interface}/flags"));
        let flags = flags.and_then(|text| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok());
        flags.is_some_and(|flags| flags & LOOPBACK != 0)
    }

    fn read_nic(&mut self, interface: String) {
        if interface.contains(['/', '\0']) || matches!(interface.as_str(), "" | "." | "..") {
            return;
        }
        let mut value = |name: &str| {
            let text = self.load(&format!("sys/class/net/{interface}/{name}"))?;
            text.trim().parse::<u64>().ok()
        };
        let names = ["rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx_over_errors", "rx_crc_errors"];
        let statistics = names.map(|name| value(&format!("statistics/{name}")));
        let carrier = value("carrier_changes");
        if statistics.iter().chain([&carrier]).all(Option::is_none) {
            return;
        }
        let nic = self.nics.entry(interface).or_default();
        nic.present = true;
        let tallies = [&mut nic.dropped, &mut nic.missed, &mut nic.fifo, &mut nic.over, &mut nic.crc];
        tallies.into_iter().zip(statistics).for_each(|(tally, value)| tally.take(value, Width::Bits64));
        nic.carrier.take(carrier, Width::Bits32);
    }

    fn counters(&self) -> Counters {
        let nics = self.nics.values().map(Nic::totals).chain(self.gone);
        let nics = nics.reduce(NicTotals::plus).unwrap_or_default();
        Counters {
            checksum_errors: sum(self.udp.iter().map(|udp| udp.checksum.total())),
            rcvbuf_errors: sum(self.udp.iter().map(|udp| udp.rcvbuf.total())),
            softnet_processed: sum(self.cpus.values().map(|[processed, _]| processed.total())),
            softnet_dropped: sum(self.cpus.values().map(|[_, dropped]| dropped.total())),
            nic_dropped: nics.dropped,
            nic_unclear: nics.unclear,
            nic_damaged: nics.damaged,
            carrier_changes: nics.carrier,
        }
    }

    /// Reads a file below the root into the kept buffer; `None` when it cannot be read or is no text.
    fn load(&mut self, name: &str) -> Option<&str> {
        self.path.clear();
        self.path.push(&self.root);
        self.path.push(name);
        self.text.clear();
        let file = File::open(&self.path).ok()?;
        file.take(MOST_OCTETS).read_to_string(&mut self.text).ok()?;
        Some(&self.text)
    }
}

impl Nic {
    fn totals(&self) -> NicTotals {
        let overrun = self.fifo.total().max(self.over.total());
        NicTotals {
            dropped: sum([self.missed.total(), overrun]),
            unclear: self.dropped.total(),
            damaged: self.crc.total(),
            carrier: self.carrier.total(),
        }
    }
}

impl NicTotals {
    fn plus(self, other: NicTotals) -> NicTotals {
        NicTotals {
            dropped: sum([self.dropped, other.dropped]),
            unclear: sum([self.unclear, other.unclear]),
            damaged: sum([self.damaged, other.damaged]),
            carrier: sum([self.carrier, other.carrier]),
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
