//! What the doctor knows about a host, without a judgement. `None` is what could not be read.

/// `CAP_NET_ADMIN` in a set of capabilities.
const NET_ADMIN: u64 = 1 << 12;
/// `CAP_NET_RAW` in a set of capabilities.
const NET_RAW: u64 = 1 << 13;

/// One host, one process, and the interface asked about.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Operating system, e.g. `linux`.
    pub(super) system: String,
    /// Processor architecture, e.g. `x86_64`.
    pub(super) architecture: String,
    /// Release of the kernel, e.g. `6.18.44`.
    pub(super) kernel: Option<String>,
    /// Real path of this program.
    pub(super) binary: Option<String>,
    /// Effective capabilities.
    pub(super) capabilities: Option<u64>,
    /// The interface asked about; all without it.
    pub(super) asked: Option<String>,
    /// `net.core.rmem_max`, octets.
    pub(super) rmem_max: Option<u64>,
    /// `net.core.rmem_default`, octets.
    pub(super) rmem_default: Option<u64>,
    /// `net.core.netdev_max_backlog`, frames.
    pub(super) backlog: Option<u64>,
    /// `net.ipv4.igmp_max_memberships`, groups a socket.
    pub(super) memberships: Option<u64>,
    /// Every protocol port; `None` when the tables of sockets cannot be read.
    pub(super) ports: Option<Vec<Port>>,
    /// Whether IPv6 works.
    pub(super) ipv6: Ipv6,
    /// Interfaces by name.
    pub(super) interfaces: Option<Vec<Interface>>,
    /// Clock source of the kernel, e.g. `tsc`.
    pub(super) clock_source: Option<String>,
    /// Who keeps the time.
    pub(super) time_service: TimeService,
    /// Processors this process may use.
    pub(super) processors: Option<u64>,
    /// Frequency driver and governor of the first processor.
    pub(super) governor: Option<(String, String)>,
    /// Free octets where the current directory is.
    pub(super) free_bytes: Option<u64>,
}

/// Whether a right is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// It is.
    Held,
    /// It is not.
    Missing,
    /// This platform has no such rights to read.
    Unknown,
}

/// A UDP port of a protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Port {
    /// The port.
    pub(super) number: u16,
    /// Names of the protocols on it.
    pub(super) protocols: Vec<&'static str>,
    /// Who has it open.
    pub(super) holders: Vec<Holder>,
}

/// A socket on a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    /// Name and process id; `None` when this user may not see it.
    pub(super) process: Option<(String, u32)>,
    /// User the socket belongs to.
    pub(super) user: u32,
}

/// State of IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ipv6 {
    /// On.
    On,
    /// Switched off by `net.ipv6.conf.all.disable_ipv6`.
    Disabled,
    /// The kernel has none.
    Absent,
    /// Not readable.
    #[default]
    Unknown,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    /// Name.
    pub(super) name: String,
    /// Loopback.
    pub(super) loopback: bool,
    /// Administratively up.
    pub(super) up: bool,
    /// Link present; `None` when down or not told.
    pub(super) carrier: Option<bool>,
    /// Largest IP packet, octets.
    pub(super) mtu: Option<u64>,
    /// Speed, Mbit/s.
    pub(super) speed: Option<u64>,
    /// Frames dropped on receipt since it came into being.
    pub(super) dropped: Option<u64>,
    /// It has a clock of its own, as hardware stamps need.
    pub(super) clock: bool,
}

/// What keeps the wall clock right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TimeService {
    /// A service says that the clock is synchronized.
    Synchronized(String),
    /// A service runs.
    Running(String),
    /// A service runs and has not synchronized the clock yet.
    Waiting(String),
    /// No service that is known here.
    #[default]
    None,
}

impl Facts {
    /// True on Linux.
    pub(super) fn linux(&self) -> bool {
        self.system == "linux"
    }

    /// The right to capture on an interface.
    pub(super) fn net_raw(&self) -> Right {
        self.right(NET_RAW)
    }

    /// The right to exceed `net.core.rmem_max`.
    pub(super) fn net_admin(&self) -> Right {
        self.right(NET_ADMIN)
    }

    fn right(&self, bit: u64) -> Right {
        match self.capabilities {
            Some(set) if set & bit != 0 => Right::Held,
            Some(_) => Right::Missing,
            None => Right::Unknown,
        }
    }

    /// The command that gives this program both rights.
    pub(super) fn setcap(&self) -> String {
        let binary = self.binary.as_deref().unwrap_or("wireproof");
        format!("sudo setcap cap_net_raw,cap_net_admin=ep {}", quoted(binary))
    }
}

/// A path as one word of a shell.
fn quoted(path: &str) -> String {
    if !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || "/._-+=:,@%".contains(c)) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_the_shell() {
        assert_eq!(quoted("/usr/bin/wireproof-0.1"), "/usr/bin/wireproof-0.1");
        assert_eq!(quoted("/opt/my tools/w"), "'/opt/my tools/w'");
        assert_eq!(quoted("/opt/it's;rm"), r"'/opt/it'\''s;rm'");
        assert_eq!(quoted(""), "''");
    }
}
