//! Multicast joins on request: which groups, how many fit on one socket, and leaving them again.

use crate::live::sys_socket;
use crate::live::udp::UdpError;
use socket2::{InterfaceIndexOrAddress, Socket};
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// UDP port of sACN (E1.31 clause 9.1.1).
const SACN_PORT: u16 = 5568;
/// Universe of discovery messages.
const DISCOVERY: u16 = 64_214;
/// Highest universe of data (E1.31 clause 6.2.7).
const LAST_UNIVERSE: u16 = 63_999;
/// Most groups of one source: 205 sockets at 20 each. The kernel walks all sockets of a port for each datagram, so
/// that many more would cost it more than a packet ring does.
pub const MOST_GROUPS: usize = 4_096;
/// Memberships per socket in an untouched Linux; macOS takes 4,095 (`IP_MAX_MEMBERSHIPS`), without a switch.
const DEFAULT_LIMIT: usize = if cfg!(target_os = "linux") { 20 } else { MOST_PER_SOCKET };
/// Most memberships put on one socket, whatever the limit: they are paid from `net.core.optmem_max`, of which older
/// kernels give 20 KiB. Elsewhere one socket of a port takes all: a second one would need SO_REUSEPORT.
const MOST_PER_SOCKET: usize = if cfg!(target_os = "linux") { 256 } else { 4_095 };
/// Where Linux keeps the limit.
const LIMIT_FILE: &str = "/proc/sys/net/ipv4/igmp_max_memberships";

/// Address families in which universes are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    /// 239.255.hi.lo.
    #[default]
    V4,
    /// ff18::8300:hilo.
    V6,
    /// Both.
    Both,
}

/// Groups to join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// sACN universes, 1 to 63999, or 64214 for discovery.
    pub universes: Vec<u16>,
    /// Families in which the universes are joined.
    pub families: Families,
    /// Other groups, with the port their datagrams are sent to.
    pub groups: Vec<SocketAddr>,
    /// Name or number of the interface; `None` leaves the choice to the routing table.
    pub interface: Option<String>,
}

impl Joins {
    /// True when nothing is to be joined.
    pub fn is_empty(&self) -> bool {
        self.universes.is_empty() && self.groups.is_empty()
    }

    /// The groups, each once, in the order asked for.
    ///
    /// # Errors
    /// [`UdpError::NoSuchUniverse`], [`UdpError::NoGroup`], [`UdpError::TooManyGroups`].
    pub fn wanted(&self) -> Result<Vec<SocketAddr>, UdpError> {
        let mut wanted = Vec::new();
        for universe in &self.universes {
            let (v4, v6) =
                universe_groups(*universe).ok_or(UdpError::NoSuchUniverse { universe: *universe })?;
            wanted.extend((self.families != Families::V6).then_some(v4));
            wanted.extend((self.families != Families::V4).then_some(v6));
        }
        if let Some(other) = self.groups.iter().find(|g| !g.ip().is_multicast()) {
            return Err(UdpError::NoGroup { group: other.ip() });
        }
        wanted.extend(&self.groups);
        let mut seen = HashSet::new();
        wanted.retain(|group| seen.insert(*group));
        if wanted.len() > MOST_GROUPS {
            return Err(UdpError::TooManyGroups { asked: wanted.len(), most: MOST_GROUPS });
        }
        Ok(wanted)
    }

    /// Number of the interface; 0 leaves the choice to the routing table.
    ///
    /// # Errors
    /// [`UdpError::NoSuchInterface`].
    pub fn interface_index(&self) -> Result<u32, UdpError> {
        let Some(name) = &self.interface else { return Ok(0) };
        let by_number = || name.parse().ok().filter(|n| sys_socket::is_interface_index(*n));
        let index = sys_socket::interface_index(name).or_else(by_number);
        index.ok_or_else(|| UdpError::NoSuchInterface { name: name.clone() })
    }

    /// The interface in words.
    pub(crate) fn interface_name(&self) -> String {
        self.interface.clone().unwrap_or_else(|| "the interface of the route".to_owned())
    }
}

/// The IPv4 and IPv6 groups of an sACN universe; `None` when it has none (E1.31 clause 9.1.1).
pub fn universe_groups(universe: u16) -> Option<(SocketAddr, SocketAddr)> {
    if !(1..=LAST_UNIVERSE).contains(&universe) && universe != DISCOVERY {
        return None;
    }
    let [high, low] = universe.to_be_bytes();
    let v4 = Ipv4Addr::new(239, 255, high, low);
    let v6 = Ipv6Addr::new(0xff18, 0, 0, 0, 0, 0, 0x8300, universe);
    Some((SocketAddr::from((v4, SACN_PORT)), SocketAddr::from((v6, SACN_PORT))))
}

/// Memberships one socket takes in this family. IPv6 has no such limit but memory.
pub fn per_socket_limit(is_ipv4: bool) -> usize {
    if !is_ipv4 {
        return MOST_PER_SOCKET;
    }
    let text = std::fs::read_to_string(LIMIT_FILE).unwrap_or_default();
    text.trim().parse().unwrap_or(DEFAULT_LIMIT).clamp(1, MOST_PER_SOCKET)
}

/// What the joins of a source cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinBudget {
    /// Groups joined.
    pub groups: usize,
    /// Sockets that hold them.
    pub sockets: usize,
    /// Memberships one socket takes in IPv4; `None` when only IPv6 groups are joined, which have no such limit.
    pub per_socket: Option<usize>,
    /// The interface in words.
    pub interface: String,
}

impl fmt::Display for JoinBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JoinBudget { groups, sockets, per_socket, interface } = self;
        let plural = if *sockets == 1 { "" } else { "s" };
        write!(f, "{groups} multicast groups joined on {interface} over {sockets} socket{plural}")?;
        match per_socket.filter(|_| cfg!(target_os = "linux")) {
            Some(most) => write!(f, ", at most {most} each in IPv4 (net.ipv4.igmp_max_memberships)"),
            None => Ok(()),
        }
    }
}

/// A group a socket has joined. It leaves when told; closing the socket leaves too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    group: IpAddr,
    interface: u32,
}

impl Membership {
    /// Joins a group.
    ///
    /// # Errors
    /// What the operating system says; `ENOBUFS` when the socket takes no more.
    pub(crate) fn join(socket: &Socket, group: IpAddr, interface: u32) -> io::Result<Self> {
        match group {
            IpAddr::V4(g) => socket.join_multicast_v4_n(&g, &InterfaceIndexOrAddress::Index(interface))?,
            IpAddr::V6(g) => socket.join_multicast_v6(&g, interface)?,
        }
        Ok(Membership { group, interface })
    }

    /// Leaves the group.
    ///
    /// # Errors
    /// What the operating system says, e.g. that the interface is gone (and the membership with it).
    pub(crate) fn leave(self, socket: &Socket) -> io::Result<()> {
        match self.group {
            IpAddr::V4(g) => socket.leave_multicast_v4_n(&g, &InterfaceIndexOrAddress::Index(self.interface)),
            IpAddr::V6(g) => socket.leave_multicast_v6(&g, self.interface),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(universes: &[u16], families: Families) -> Joins {
        Joins { universes: universes.to_vec(), families, ..Joins::default() }
    }

    #[test]
    fn universes_map_to_the_groups_of_the_standard() {
        let (v4, v6) = universe_groups(0x1234).unwrap();
        assert_eq!(v4.to_string(), "239.255.18.52:5568");
        assert_eq!(v6.to_string(), "[ff18::8300:1234]:5568");
        assert_eq!(universe_groups(64_214).unwrap().0.to_string(), "239.255.250.214:5568");
        for none in [0, 64_000, 65_535] {
            assert_eq!(universe_groups(none), None);
        }
    }

    #[test]
    fn each_group_is_wanted_once_in_the_order_asked_for() {
        let mut joins = of(&[2, 1, 2], Families::Both);
        joins.groups = vec!["239.255.0.1:5568".parse().unwrap(), "239.1.1.1:4048".parse().unwrap()];
        let wanted: Vec<_> = joins.wanted().unwrap().iter().map(ToString::to_string).collect();
        let v4_and_v6 =
            ["239.255.0.2:5568", "[ff18::8300:2]:5568", "239.255.0.1:5568", "[ff18::8300:1]:5568"];
        assert_eq!(wanted[..4], v4_and_v6);
        assert_eq!(wanted[4..], ["239.1.1.1:4048"]);
        assert_eq!(of(&[7], Families::V6).wanted().unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_joined_is_refused_in_one_line() {
        let unicast = Joins { groups: vec!["10.0.0.1:5568".parse().unwrap()], ..Joins::default() };
        let everything = of(&(1..=LAST_UNIVERSE).collect::<Vec<_>>(), Families::V4);
        for joins in [of(&[0], Families::V4), unicast, everything] {
            let text = joins.wanted().unwrap_err().to_string();
            assert!(!text.contains('\n') && text.contains("; "), "{text}");
        }
    }

    #[test]
    fn an_interface_is_found_by_name_and_by_number() {
        let on =
            |name: &str| Joins { interface: Some(name.to_owned()), ..Joins::default() }.interface_index();
        assert_eq!(on("lo").unwrap(), on("1").unwrap());
        assert_eq!(Joins::default().interface_index().unwrap(), 0);
        for none in ["no such interface", "4000000000", "lo\0", ""] {
            assert!(matches!(on(none), Err(UdpError::NoSuchInterface { .. })), "{none:?}");
        }
    }
}
