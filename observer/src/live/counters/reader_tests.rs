//! The reader over made-up trees of files, and over the host it runs on.

use super::*;
use tempfile::TempDir;

/// A host made of files.
struct Host(TempDir);

impl Host {
    fn new() -> Self {
        let host = Host(tempfile::tempdir().unwrap());
        host.udp(0, 0);
        host.write("proc/net/softnet_stat", "00000001 00000000\n00000002 00000000\n");
        host.interface("lo", "0x9", 0);
        host.interface("eth0", "0x1003", 0);
        host
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn udp(&self, rcvbuf: u64, checksum: u64) {
        self.write("proc/net/snmp", &format!("Udp: RcvbufErrors InCsumErrors\nUdp: {rcvbuf} {checksum}\n"));
    }

    fn interface(&self, name: &str, flags: &str, dropped: u64) {
        let folder = format!("sys/class/net/{name}");
        self.write(&format!("{folder}/flags"), &format!("{flags}\n"));
        self.write(&format!("{folder}/carrier_changes"), "4\n");
        self.statistic(name, "rx_missed_errors", dropped);
        for other in ["rx_dropped", "rx_fifo_errors", "rx_over_errors", "rx_crc_errors"] {
            self.statistic(name, other, 0);
        }
    }

    fn statistic(&self, interface: &str, name: &str, value: u64) {
        self.write(&format!("sys/class/net/{interface}/statistics/{name}"), &format!("{value}\n"));
    }

    fn remove(&self, name: &str) {
        fs::remove_dir_all(self.0.path().join(name)).unwrap();
    }

    fn reader(&self, interface: Option<&str>) -> CounterReader {
        CounterReader::at(self.0.path(), interface)
    }
}

/// Every counter at 0.
fn zeroes() -> Counters {
    Counters {
        checksum_errors: Some(0),
        rcvbuf_errors: Some(0),
        softnet_processed: Some(0),
        softnet_dropped: Some(0),
        nic_dropped: Some(0),
        nic_unclear: Some(0),
        nic_damaged: Some(0),
        carrier_changes: Some(0),
    }
}

#[test]
fn counting_begins_with_the_first_reading() {
    let host = Host::new();
    host.udp(50, 8);
    let mut reader = host.reader(None);
    assert_eq!(reader.read(), zeroes());
    host.udp(102, 11);
    host.write("proc/net/softnet_stat", "00000011 00000002\n00000002 00000001\n");
    let counters = reader.read();
    assert_eq!((counters.rcvbuf_errors, counters.checksum_errors), (Some(52), Some(3)));
    assert_eq!((counters.softnet_processed, counters.softnet_dropped), (Some(16), Some(3)));
    assert_eq!(reader.read(), counters);
}

#[test]
fn both_address_families_are_summed() {
    let host = Host::new();
    host.write("proc/net/snmp6", "Udp6RcvbufErrors 7\nUdp6InCsumErrors 1\n");
    let mut reader = host.reader(None);
    reader.read();
    host.udp(1, 0);
    host.write("proc/net/snmp6", "Udp6RcvbufErrors 9\nUdp6InCsumErrors 5\n");
    let counters = reader.read();
    assert_eq!((counters.rcvbuf_errors, counters.checksum_errors), (Some(3), Some(4)));
}

#[test]
fn a_platform_without_these_files_has_no_counters() {
    let empty = tempfile::tempdir().unwrap();
    let mut reader = CounterReader::at(empty.path(), None);
    assert_eq!(reader.read(), Counters::default());
    assert_eq!(reader.read().since(&Counters::default()), Default::default());
    assert_eq!(reader.cpu_times(), None);
}

#[test]
fn an_interface_counts_the_same_event_once() {
    let host = Host::new();
    let mut reader = host.reader(None);
    reader.read();
    for (name, value) in [
        ("rx_dropped", 1),
        ("rx_missed_errors", 20),
        ("rx_fifo_errors", 300),
        ("rx_over_errors", 200),
        ("rx_crc_errors", 5),
    ] {
        host.statistic("eth0", name, value);
    }
    let counters = reader.read();
    assert_eq!((counters.nic_dropped, counters.nic_damaged), (Some(320), Some(5)));
    assert_eq!(counters.nic_unclear, Some(1));
}

#[test]
fn loopback_is_left_out_and_one_interface_can_be_chosen() {
    let host = Host::new();
    host.interface("eth1", "0x1003", 0);
    let mut readers = [None, Some("eth1"), Some("lo")].map(|interface| host.reader(interface));
    readers.iter_mut().for_each(|reader| assert_eq!(reader.read().nic_dropped, Some(0)));
    for (interface, dropped) in [("lo", 1_000), ("eth0", 30), ("eth1", 4)] {
        host.statistic(interface, "rx_missed_errors", dropped);
    }
    let dropped = readers.each_mut().map(|reader| reader.read().nic_dropped);
    assert_eq!(dropped, [Some(34), Some(4), Some(1_000)]);
}

#[test]
fn an_interface_that_goes_and_comes_back_neither_adds_nor_takes_what_it_had() {
    let host = Host::new();
    host.interface("eth1", "0x1003", 4_000);
    let mut reader = host.reader(None);
    reader.read();
    host.statistic("eth1", "rx_missed_errors", 4_002);
    assert_eq!(reader.read().nic_dropped, Some(2));
    host.remove("sys/class/net/eth1");
    assert_eq!(reader.read().nic_dropped, Some(2));
    host.interface("eth1", "0x1003", 50);
    assert_eq!(reader.read().nic_dropped, Some(2));
    host.statistic("eth1", "rx_missed_errors", 51);
    assert_eq!(reader.read().nic_dropped, Some(3));
}

#[test]
fn interfaces_that_come_and_go_leave_no_memory_behind() {
    let host = Host::new();
    let mut reader = host.reader(None);
    for number in 0..50 {
        let name = format!("veth{number}");
        host.interface(&name, "0x1003", 0);
        reader.read();
        host.remove(&format!("sys/class/net/{name}"));
    }
    reader.read();
    assert_eq!(reader.nics.len(), 1);
}

#[test]
fn a_reset_by_the_driver_is_no_loss_and_no_step_back() {
    let host = Host::new();
    host.statistic("eth0", "rx_missed_errors", 900);
    let mut reader = host.reader(Some("eth0"));
    let first = reader.read();
    host.statistic("eth0", "rx_missed_errors", 0);
    assert_eq!(reader.read().since(&first).nic_dropped, Some(0));
}

#[test]
fn names_that_lead_elsewhere_are_no_interfaces() {
    let host = Host::new();
    for name in ["", ".", "..", "../net/eth0", "eth0/../eth0", "eth7", "eth0\0"] {
        assert_eq!(host.reader(Some(name)).read().nic_dropped, None, "{name:?}");
    }
}

#[test]
fn the_host_of_this_test_is_read() {
    if !Path::new("/proc/net/snmp").exists() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED the_host_of_this_test_is_read: there is no /proc/net/snmp\n"),
        );
        return;
    }
    let mut reader = CounterReader::new(None);
    let first = reader.read();
    assert_eq!((first.rcvbuf_errors, first.softnet_dropped), (Some(0), Some(0)));
    let times = reader.cpu_times().unwrap();
    assert!(times.total_ticks >= times.idle_ticks);
    assert!(reader.read().since(&first).softnet_processed.is_some());
}
