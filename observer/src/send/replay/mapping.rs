//! Where the datagrams of a capture go: loopback, unless a target is named.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// An address, with a port where one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub ip: IpAddr,
    /// The port; `None` stands for every port, and keeps the one there is.
    pub port: Option<u16>,
}

impl Target {
    fn matches(&self, address: SocketAddr) -> bool {
        self.ip == address.ip() && self.port.is_none_or(|port| port == address.port())
    }

    fn applied(&self, address: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.ip, self.port.unwrap_or(address.port()))
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = bare.parse() {
            return Ok(Target { ip, port: None });
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.port() != 0 => Ok(Target { ip: address.ip(), port: Some(address.port()) }),
            _ => Err(format!("{text} is no address: write 10.0.0.5, 10.0.0.5:5568 or [fd00::5]:5568")),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

/// One destination in the file and what stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Address in the file.
    pub old: Target,
    /// Address to send to.
    pub new: Target,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let halves = text.split_once('=').ok_or_else(|| format!("{text} is no rule: write OLD=NEW"))?;
        Ok(Rule { old: halves.0.parse()?, new: halves.1.parse()? })
    }
}

/// Where every destination of a capture leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Rules, asked in order before anything else.
    pub rules: Vec<Rule>,
    /// Where everything goes that no rule names.
    pub to: Option<Target>,
    /// Multicast groups of the file are kept.
    pub multicast: bool,
}

impl Mapping {
    /// Where a datagram for `destination` goes; `None` when it stays at home.
    ///
    /// Rules first; then kept groups; then the target for the rest. With neither rules nor target everything goes to
    /// 127.0.0.1, the port kept: nothing reaches a network that was not named.
    pub fn target(&self, destination: SocketAddr) -> Option<SocketAddr> {
        if let Some(rule) = self.rules.iter().find(|rule| rule.old.matches(destination)) {
            return Some(rule.new.applied(destination));
        }
        if self.multicast && destination.ip().is_multicast() {
            return Some(destination);
        }
        let home = Target { ip: Ipv4Addr::LOCALHOST.into(), port: None };
        let rest = self.to.or(self.rules.is_empty().then_some(home));
        rest.map(|to| to.applied(destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn mapped(mapping: &Mapping, from: &str) -> Option<String> {
        mapping.target(address(from)).map(|to| to.to_string())
    }

    #[test]
    fn without_a_target_nothing_leaves_the_host() {
        let mapping = Mapping::default();
        for from in ["10.0.0.5:5568", "239.255.0.1:5568", "255.255.255.255:5568", "[ff18::8300:1]:5568"] {
            assert_eq!(mapped(&mapping, from).as_deref(), Some("127.0.0.1:5568"), "{from}");
        }
    }

    #[test]
    fn a_target_takes_everything_and_keeps_the_port_unless_it_has_one() {
        let to = |text: &str| Mapping { to: Some(text.parse().unwrap()), ..Mapping::default() };
        assert_eq!(mapped(&to("10.0.0.9"), "239.255.0.1:5568").as_deref(), Some("10.0.0.9:5568"));
        assert_eq!(mapped(&to("10.0.0.9:4048"), "10.0.0.5:5568").as_deref(), Some("10.0.0.9:4048"));
        assert_eq!(mapped(&to("fd00::9"), "10.0.0.5:5568").as_deref(), Some("[fd00::9]:5568"));
    }

    #[test]
    fn rules_name_what_goes_where_and_the_rest_stays() {
        let rules = ["10.0.0.5:4048=10.9.0.1:4049", "10.0.0.5=10.9.0.2"].map(|r| r.parse().unwrap());
        let mut mapping = Mapping { rules: rules.to_vec(), ..Mapping::default() };
        assert_eq!(mapped(&mapping, "10.0.0.5:4048").as_deref(), Some("10.9.0.1:4049"));
        assert_eq!(mapped(&mapping, "10.0.0.5:6454").as_deref(), Some("10.9.0.2:6454"));
        assert_eq!(mapped(&mapping, "10.0.0.6:6454"), None);
        mapping.to = Some("10.9.0.3".parse().unwrap());
        assert_eq!(mapped(&mapping, "10.0.0.6:6454").as_deref(), Some("10.9.0.3:6454"));
    }

    #[test]
    fn groups_are_kept_on_request_only() {
        let kept = Mapping { multicast: true, ..Mapping::default() };
        assert_eq!(mapped(&kept, "239.255.0.1:5568").as_deref(), Some("239.255.0.1:5568"));
        assert_eq!(mapped(&kept, "10.0.0.5:5568").as_deref(), Some("127.0.0.1:5568"));
        let rule = Mapping { rules: vec!["239.255.0.1=239.255.0.2".parse().unwrap()], ..Mapping::default() };
        assert_eq!(mapped(&rule, "239.255.0.1:5568").as_deref(), Some("239.255.0.2:5568"));
    }

    #[test]
    fn addresses_are_read_as_they_are_typed() {
        for text in ["10.0.0.5", "10.0.0.5:5568", "fd00::5", "[fd00::5]:5568"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("[fd00::5]".parse::<Target>().unwrap().to_string(), "fd00::5");
        for text in ["", "lamp", "10.0.0", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:70000", "10.0.0.5 "] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
        for text in ["10.0.0.5", "=10.0.0.5", "10.0.0.5=", "10.0.0.5=a"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
