//! Two network namespaces with a cable (veth) between them, taken away when dropped.

use super::receivers::{FAR, INTERFACE, NEAR};
use std::error::Error;
use std::process::{Command, Stdio};

/// Interface of the sender.
const SENDER: &str = "wp-tx";
const ADDRESSES: [&str; 2] = ["02:77:00:00:00:01", "02:77:00:00:00:02"];

/// The cable.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Namespace of the sender.
    pub(crate) far: String,
    /// Namespace of the receiver.
    pub(crate) near: String,
}

impl Wire {
    /// Makes both namespaces and the cable; addresses are fixed, so that nobody asks for them on the wire.
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let id = std::process::id();
        let wire = Wire { far: format!("wp-far-{id}"), near: format!("wp-near-{id}") };
        let (far, near) = (&wire.far, &wire.near);
        ip(&format!("netns add {far}"))?;
        ip(&format!("netns add {near}"))?;
        ip(&format!("link add {INTERFACE} netns {near} type veth peer name {SENDER} netns {far}"))?;
        let [far_mac, near_mac] = ADDRESSES;
        let ends = [(far, SENDER, FAR, far_mac), (near, INTERFACE, NEAR, near_mac)];
        for (name, interface, address, mac) in ends {
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} link set {interface} address {mac} addrgenmode none"))?;
            ip(&format!("-n {name} addr add {address}/24 dev {interface}"))?;
            // Cuts what is larger before it is on the cable, so that every datagram arrives as one.
            ip(&format!("-n {name} link set {interface} gso_max_segs 1"))?;
            ip(&format!("-n {name} link set {interface} up"))?;
        }
        ip(&format!("-n {far} neigh replace {NEAR} lladdr {near_mac} nud permanent dev {SENDER}"))?;
        ip(&format!("-n {near} neigh replace {FAR} lladdr {far_mac} nud permanent dev {INTERFACE}"))?;
        Ok(wire)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in [&self.far, &self.near] {
            // One that was never made cannot be taken away.
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(arguments: &str) -> Result<(), Box<dyn Error>> {
    let status = Command::new("ip").args(arguments.split_whitespace()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("ip {arguments}: {status} (root is needed)").into()) }
}
