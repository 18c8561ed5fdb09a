//! The rig: what the outputs are expected to look like. The text format is TOML; parsing it is the shell's work.

use crate::{Cid, Protocol, Severity};
use std::net::IpAddr;

/// Expected outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rig {
    /// One entry a logical device.
    pub outputs: Vec<RigOutput>,
    /// Severity by rule code, in place of the usual one.
    pub severities: Vec<(String, Severity)>,
}

/// One expected logical device.
#[derive(Clone, Debug, PartialEq)]
pub struct RigOutput {
    /// Its name, used in findings.
    pub name: String,
    /// Protocol.
    pub protocol: Protocol,
    /// Source address; any when `None`.
    pub source: Option<IpAddr>,
    /// Destination address; any when `None`.
    pub destination: Option<IpAddr>,
    /// sACN CID; any when `None`.
    pub sender: Option<Cid>,
    /// Universes, Port-Addresses, DDP IDs or device ids, ascending.
    pub streams: Vec<u32>,
    /// Datagrams in a frame, data only; not checked when `None`.
    pub datagrams_per_frame: Option<u32>,
    /// Data octets in a frame; not checked when `None`.
    pub octets_per_frame: Option<u64>,
    /// Frames per second in thousandths and the tolerance in thousandths of the rate; not checked when `None`.
    pub rate_mhz: Option<(u64, u64)>,
    /// Synchronization universe; not checked when `None`.
    pub sync: Option<u16>,
    /// True when the sender leaves out unchanged frames, so that silence is no loss.
    pub on_change: bool,
}
