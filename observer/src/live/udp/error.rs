//! Why a UDP source cannot be opened, each with what to do about it in one line.

use std::io;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// The command that names who holds a port.
fn holder(port: u16) -> String {
    if cfg!(target_os = "linux") {
        format!("ss -ulnp 'sport = {port}'")
    } else {
        format!("lsof -nP -iUDP:{port}")
    }
}

/// A UDP source that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UdpError {
    /// Another socket has the port.
    #[error(
        "UDP port {} of {} is in use; end the program that has it (`{}` names it), or capture from \
         the interface instead", .address.port(), .address.ip(), holder(.address.port())
    )]
    PortInUse {
        /// What was to be opened.
        address: SocketAddr,
    },
    /// The user may not open it.
    #[error("no right to open UDP port {} of {}; run as root or choose a port above 1023", .address.port(), .address.ip())]
    NotPermitted {
        /// What was to be opened.
        address: SocketAddr,
    },
    /// No interface has the address.
    #[error("no interface of this host has the address {}; `ip address` lists those it has", .address.ip())]
    NoSuchAddress {
        /// What was to be opened.
        address: SocketAddr,
    },
    /// The host has no IPv6.
    #[error("{address}: IPv6 is switched off on this host; name an IPv4 address")]
    NoIpv6 {
        /// What was to be opened.
        address: SocketAddr,
    },
    /// No more files may be opened.
    #[error("{address}: too many files are open; raise the limit (`ulimit -n`) or join fewer groups")]
    TooManyFiles {
        /// What was to be opened.
        address: SocketAddr,
    },
    /// The address to receive on is a multicast group.
    #[error("{address} is a multicast group; receive on 0.0.0.0 or [::] and ask for a join of the group")]
    GroupAddress {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The kernel refuses an option without which the source cannot keep its account.
    #[error("{address}: the kernel refuses {option}: {source}; capture from the interface instead")]
    Option {
        /// Socket it was for.
        address: SocketAddr,
        /// Name of the option.
        option: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot receive on {address}: {source}")]
    Other {
        /// What was to be opened.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// A universe that has no multicast group.
    #[error("universe {universe} has no multicast group; sACN universes are 1 to 63999 (64214 is discovery)")]
    NoSuchUniverse {
        /// What was asked for.
        universe: u16,
    },
    /// A group that is none.
    #[error("{group} is not a multicast address; groups are 224.0.0.0 to 239.255.255.255 and ff00::/8")]
    NoGroup {
        /// What was asked for.
        group: IpAddr,
    },
    /// More groups than a socket source should take on.
    #[error(
        "{asked} multicast groups are more than {most}; join fewer, or capture from the interface instead"
    )]
    TooManyGroups {
        /// Groups asked for.
        asked: usize,
        /// Most groups of one source.
        most: usize,
    },
    /// The interface of the joins does not exist.
    #[error("no interface is called or numbered {name:?}; `ip link` lists them")]
    NoSuchInterface {
        /// What was asked for.
        name: String,
    },
    /// The kernel refuses a membership.
    #[error(
        "cannot join {group} on {interface}: {source}; name an interface that is up and carries multicast"
    )]
    Join {
        /// Group to be joined.
        group: IpAddr,
        /// Interface asked for.
        interface: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The counters of a socket cannot be read.
    #[error("cannot read the socket counters: {source}; Linux 4.12 or newer is needed")]
    Counters {
        /// What the operating system says.
        source: io::Error,
    },
}

impl UdpError {
    /// What a failure to open `address` means.
    pub(crate) fn opening(address: SocketAddr, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EADDRINUSE) => UdpError::PortInUse { address },
            Some(libc::EACCES | libc::EPERM) => UdpError::NotPermitted { address },
            Some(libc::EADDRNOTAVAIL) => UdpError::NoSuchAddress { address },
            Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT) if address.is_ipv6() => {
                UdpError::NoIpv6 { address }
            }
            Some(libc::EMFILE | libc::ENFILE) => UdpError::TooManyFiles { address },
            _ => UdpError::Other { address, source },
        }
    }

    /// True when the host as a whole lacks IPv6, so that a list nobody asked for may go without it.
    pub(crate) fn says_no_ipv6(&self) -> bool {
        match self {
            UdpError::NoIpv6 { .. } => true,
            UdpError::NoSuchAddress { address } => address.is_ipv6() && address.ip().is_unspecified(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(address: &str, errno: i32) -> UdpError {
        UdpError::opening(address.parse().unwrap(), io::Error::from_raw_os_error(errno))
    }

    #[test]
    fn each_failure_is_one_line_that_names_what_failed() {
        for errno in [libc::EADDRINUSE, libc::EACCES, libc::EADDRNOTAVAIL, libc::EMFILE, libc::EIO] {
            let text = meaning("10.0.0.1:5568", errno).to_string();
            assert!(text.contains("10.0.0.1") && !text.contains('\n') && !text.contains("  "), "{text}");
        }
        let text = meaning("0.0.0.0:5568", libc::EADDRINUSE).to_string();
        assert!(text.starts_with("UDP port 5568 of 0.0.0.0 is in use; end the program"), "{text}");
    }

    #[test]
    fn only_a_host_without_ipv6_lets_the_default_list_go_without_it() {
        assert!(meaning("[::]:5568", libc::EAFNOSUPPORT).says_no_ipv6());
        assert!(meaning("[::]:5568", libc::EADDRNOTAVAIL).says_no_ipv6());
        assert!(!meaning("[fd00::9]:5568", libc::EADDRNOTAVAIL).says_no_ipv6());
        assert!(!meaning("[::]:5568", libc::EADDRINUSE).says_no_ipv6());
        assert!(!meaning("0.0.0.0:5568", libc::EADDRNOTAVAIL).says_no_ipv6());
    }
}
