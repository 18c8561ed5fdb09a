//! Live capture: sources of datagrams, the receive loop, kernel counters, and background downloads.

#[cfg(target_os = "linux")]
mod bpf;
pub mod conduct;
pub mod control;
pub mod counters;
pub mod drain;
pub mod glances;
mod handover;
pub mod health;
pub mod interfaces;
pub mod lens;
pub mod multicast;
#[cfg(feature = "libpcap")]
mod pcap_host;
#[cfg(feature = "libpcap")]
pub mod pcap_source;
pub mod quiet;
pub mod receive;
pub mod record;
#[cfg(target_os = "linux")]
pub mod ring;
pub mod source;
#[cfg(target_os = "linux")]
mod sys_packet;
mod sys_socket;
pub(crate) mod sys_thread;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the packet ring uses all of it"))]
pub mod tap;
pub mod tape;
pub mod udp;
pub mod untold;
