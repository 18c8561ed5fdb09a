//! Texts of `/proc/net`: UDP errors and per-processor backlog. Columns that are missing are `None`, columns that are
//! new are passed over, and no text is refused.

use super::tally::sum;

/// Most processors taken from one text.
const MOST_CPUS: usize = 8_192;

/// UDP receive errors of one address family in this network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpErrors {
    /// `RcvbufErrors`: datagrams that found the receive buffer full.
    pub rcvbuf_errors: Option<u64>,
    /// `InCsumErrors`: datagrams with a wrong checksum.
    pub checksum_errors: Option<u64>,
}

/// Backlog counters of one processor; the kernel keeps 32 bits of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Number of the processor; its line, counted from 0, where the kernel does not say.
    pub cpu: u64,
    /// Frames processed.
    pub processed: Option<u64>,
    /// Frames dropped because the backlog was full.
    pub dropped: Option<u64>,
}

/// Reads `/proc/net/snmp`: the line of names that begins with `Udp:` and the line of values below it.
pub fn parse_snmp(text: &str) -> UdpErrors {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return UdpErrors::default() };
    let value = |wanted: &str| {
        let mut columns = names.split_whitespace().zip(values.split_whitespace());
        columns.find(|(name, _)| *name == wanted).and_then(|(_, value)| value.parse().ok())
    };
    UdpErrors { rcvbuf_errors: value("RcvbufErrors"), checksum_errors: value("InCsumErrors") }
}

/// Reads `/proc/net/snmp6`: a name and a value in each line.
pub fn parse_snmp6(text: &str) -> UdpErrors {
    let value = |wanted: &str| {
        let mut rows = text.lines().map(str::split_whitespace);
        rows.find_map(|mut row| (row.next()? == wanted).then(|| row.next()?.parse().ok())?)
    };
    UdpErrors { rcvbuf_errors: value("Udp6RcvbufErrors"), checksum_errors: value("Udp6InCsumErrors") }
}

/// Reads `/proc/net/softnet_stat`: a line of hexadecimal columns for each processor that is online. The thirteenth
/// column is the processor's number since Linux 5.10.
pub fn parse_softnet(text: &str) -> Vec<Softnet> {
    let one = |(line, text): (usize, &str)| {
        let column = |index| u64::from_str_radix(text.split_whitespace().nth(index)?, 16).ok();
        let cpu = column(12).unwrap_or(line as u64);
        Softnet { cpu, processed: column(0), dropped: column(1) }
    };
    text.lines().enumerate().take(MOST_CPUS).map(one).filter(|cpu| cpu.processed.is_some()).collect()
}

impl UdpErrors {
    /// Both address families together.
    pub fn plus(self, other: UdpErrors) -> UdpErrors {
        UdpErrors {
            rcvbuf_errors: sum([self.rcvbuf_errors, other.rcvbuf_errors]),
            checksum_errors: sum([self.checksum_errors, other.checksum_errors]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 19715
Icmp: InMsgs InErrors InCsumErrors
Icmp: 2 0 8
IcmpMsg: InType3
IcmpMsg: 2
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn InCsumErrors
Tcp: 1 200 120000 -1 9
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 187 1 55 189 52 0 3 0 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
UdpLite: 0 0 0 0 6 0 7 0 0
";
    const SNMP6: &str = "\
Ip6InReceives                   \t1284
Udp6InDatagrams                 \t120
Udp6InErrors                    \t5
Udp6RcvbufErrors                \t4
Udp6SndbufErrors                \t0
Udp6InCsumErrors                \t1
UdpLite6RcvbufErrors            \t17
";
    const SOFTNET: &str = "\
00004d02 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 \
00000000 00000000
ffffffff 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 \
00000000 00000000
";

    #[test]
    fn udp_errors_are_those_of_udp_and_not_of_its_neighbours() {
        assert_eq!(parse_snmp(SNMP), UdpErrors { rcvbuf_errors: Some(52), checksum_errors: Some(3) });
        assert_eq!(parse_snmp6(SNMP6), UdpErrors { rcvbuf_errors: Some(4), checksum_errors: Some(1) });
        let both = parse_snmp(SNMP).plus(parse_snmp6(SNMP6));
        assert_eq!(both, UdpErrors { rcvbuf_errors: Some(56), checksum_errors: Some(4) });
    }

    #[test]
    fn one_family_alone_is_counted_alone() {
        let only = UdpErrors { rcvbuf_errors: Some(2), checksum_errors: None };
        assert_eq!(only.plus(UdpErrors::default()), only);
        assert_eq!(UdpErrors::default().plus(UdpErrors::default()), UdpErrors::default());
    }

    #[test]
    fn columns_of_an_old_kernel_are_missing_and_no_zeroes() {
        let old =
            "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdp: 9 0 2 9 2 0\n";
        assert_eq!(parse_snmp(old), UdpErrors { rcvbuf_errors: Some(2), checksum_errors: None });
        assert_eq!(
            parse_softnet("0000000a 00000001 00000000\n0000000b\n"),
            [
                Softnet { cpu: 0, processed: Some(10), dropped: Some(1) },
                Softnet { cpu: 1, processed: Some(11), dropped: None },
            ]
        );
    }

    #[test]
    fn softnet_columns_are_hexadecimal_and_name_their_processor() {
        assert_eq!(
            parse_softnet(SOFTNET),
            [
                Softnet { cpu: 0, processed: Some(0x4d02), dropped: Some(3) },
                Softnet { cpu: 3, processed: Some(u64::from(u32::MAX)), dropped: Some(10) },
            ]
        );
    }

    #[test]
    fn texts_that_are_something_else_give_nothing() {
        for text in
            ["", "\n\n", "Udp:", "Udp:\nUdp:", "Udp: RcvbufErrors\n", "Udp: RcvbufErrors\nUdp: -1\n", "\0é"]
        {
            assert_eq!(parse_snmp(text), UdpErrors::default(), "{text:?}");
            assert_eq!(parse_snmp6(text), UdpErrors::default(), "{text:?}");
            assert_eq!(parse_softnet(text), [], "{text:?}");
        }
        assert_eq!(parse_snmp6("Udp6RcvbufErrors\n").rcvbuf_errors, None);
        assert_eq!(parse_softnet("fffffffffffffffff 1\n"), []);
    }

    #[test]
    fn no_text_is_cut_in_the_wrong_place() {
        for text in [SNMP, SNMP6, SOFTNET] {
            for end in 0..=text.len() {
                let _ = (parse_snmp(&text[..end]), parse_snmp6(&text[..end]), parse_softnet(&text[..end]));
            }
        }
    }
}
