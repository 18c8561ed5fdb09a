//! A layout as a capture filter in the language of tcpdump: port, and magic where the language can look for it.

use super::table::{Field, Layout, Region, Role};
use std::fmt::Write;

/// Octets of a UDP header, from which `udp[…]` counts.
const UDP_HEAD: u16 = 8;

impl Layout {
    /// The filter; it lets every datagram of the layout pass, and as little else as it can.
    ///
    /// `udp[…]` does not see into IPv6, so that port alone decides there. Fragments after the first carry no port and
    /// pass all. It has no state: a filter knows no sequence. Datagrams behind a VLAN tag need `vlan and (…)`.
    pub fn capture_filter(&self) -> String {
        let ports: Vec<String> =
            self.matching.udp_dst.iter().map(|port| format!("udp dst port {port}")).collect();
        let magic = self.magic_filter();
        let mut either = Vec::new();
        if !ports.is_empty() {
            let ports = if ports.len() > 1 { format!("({})", ports.join(" or ")) } else { ports.join("") };
            either.push(match magic.is_empty() {
                true => ports,
                false => format!("({ports} and (ip6 or ({magic})))"),
            });
        }
        if self.matching.any_port {
            either.push(format!("(ip and udp and {magic})"));
        }
        either.push("(ip[6:2] & 0x1fff != 0)".to_owned());
        either.join(" or ")
    }

    /// Comparisons of the magic, joined by `and`; octets are compared four, two or one at a time.
    fn magic_filter(&self) -> String {
        let magic = self.fields.iter().filter(|f| f.role == Role::Magic && f.region == Region::Header);
        magic.flat_map(comparisons).collect::<Vec<_>>().join(" and ")
    }
}

fn comparisons(field: &Field) -> Vec<String> {
    let values = field.fixed_octets().unwrap_or_default();
    let octets: Vec<(u16, u8, u8)> =
        field.octets().zip(values).map(|((at, mask), value)| (at, mask, value & mask)).collect();
    let mut all = Vec::new();
    let mut rest = octets.as_slice();
    while let [first, ..] = rest {
        let whole = rest.iter().take_while(|(_, mask, _)| *mask == 0xff).count();
        let size = [4, 2, 1].into_iter().find(|size| *size <= whole).unwrap_or(1);
        let at = first.0 + UDP_HEAD;
        let (now, later) = rest.split_at(size);
        let mut value = String::from("0x");
        for (_, _, octet) in now {
            let _ = write!(value, "{octet:02x}");
        }
        all.push(match (size, first.1) {
            (1, 0xff) => format!("udp[{at}] = {value}"),
            (1, mask) => format!("udp[{at}] & {mask:#04x} = {value}"),
            _ => format!("udp[{at}:{size}] = {value}"),
        });
        rest = later;
    }
    all
}
