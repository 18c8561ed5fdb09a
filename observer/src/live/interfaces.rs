//! Network interfaces of this host, and the lookup of one by its name.

use pnet_datalink::NetworkInterface;
use std::net::IpAddr;
use thiserror::Error;

/// A network interface as the operating system lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name, e.g. `eth0`.
    pub name: String,
    /// Index, from 1.
    pub index: u32,
    /// True when the interface is administratively up.
    pub up: bool,
    /// True for the loopback interface.
    pub loopback: bool,
    /// IPv4 and IPv6 addresses, in the order listed.
    pub addresses: Vec<IpAddr>,
    /// Link-layer address; `None` when the interface has none.
    pub mac: Option<[u8; 6]>,
}

/// An interface name that stands for nothing, with the names that do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no network interface {name:?}; there is: {known}")]
pub struct NoSuchInterface {
    /// Name as given.
    pub name: String,
    /// Names of the interfaces there are, those that are down marked so.
    pub known: String,
}

/// Lists the interfaces, by index.
pub fn list() -> Vec<Interface> {
    let mut interfaces: Vec<_> = pnet_datalink::interfaces().into_iter().map(Interface::from).collect();
    interfaces.sort_by_key(|interface| interface.index);
    interfaces
}

/// Finds the interface called `name`.
///
/// # Errors
/// [`NoSuchInterface`] with the names there are.
pub fn find(name: &str) -> Result<Interface, NoSuchInterface> {
    pick(list(), name)
}

/// Picks an interface out of a list.
fn pick(interfaces: Vec<Interface>, name: &str) -> Result<Interface, NoSuchInterface> {
    let known = describe(&interfaces);
    let found = interfaces.into_iter().find(|interface| interface.name == name);
    found.ok_or_else(|| NoSuchInterface { name: name.to_owned(), known })
}

/// Names for an error line; `none` when there is no interface at all.
fn describe(interfaces: &[Interface]) -> String {
    if interfaces.is_empty() {
        return "none".to_owned();
    }
    let one = |interface: &Interface| match interface.up {
        true => interface.name.clone(),
        false => format!("{} (down)", interface.name),
    };
    interfaces.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl From<NetworkInterface> for Interface {
    fn from(listed: NetworkInterface) -> Self {
        let mac = listed.mac.map(|mac| mac.octets()).filter(|octets| *octets != [0; 6]);
        Interface {
            up: listed.is_up(),
            loopback: listed.is_loopback(),
            addresses: listed.ips.iter().map(|network| network.ip()).collect(),
            mac,
            index: listed.index,
            name: listed.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32, up: bool) -> Interface {
        Interface { name: name.to_owned(), index, up, loopback: false, addresses: Vec::new(), mac: None }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let error = pick(vec![interface("lo", 1, true), interface("eth0", 2, false)], "eth7").unwrap_err();
        assert_eq!(error.to_string(), "no network interface \"eth7\"; there is: lo, eth0 (down)");
        assert_eq!(
            pick(Vec::new(), "").unwrap_err().to_string(),
            "no network interface \"\"; there is: none"
        );
    }

    #[test]
    fn a_name_is_found_whole_and_not_by_its_beginning() {
        let interfaces = || vec![interface("eth10", 3, true), interface("eth1", 2, true)];
        assert_eq!(pick(interfaces(), "eth1").unwrap().index, 2);
        assert!(pick(interfaces(), "eth").is_err());
    }

    #[test]
    fn the_loopback_interface_is_listed_as_such() {
        let Some(interface) = list().into_iter().find(|interface| interface.loopback) else {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!(
                    "SKIPPED the_loopback_interface_is_listed_as_such: there is no loopback interface\n"
                ),
            );
            return;
        };
        assert!(interface.index > 0);
        assert_eq!(interface.mac, None);
        assert_eq!(find(&interface.name).unwrap(), interface);
    }
}
