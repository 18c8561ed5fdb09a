//! What the libpcap source asks of the host beside libpcap itself, which differs between Linux and the BSDs (macOS):
//! rights, waiting, leaving out what the host sends, and the unit of stamps.

use super::tap::TapError;
use pcap::{Active, Capture, Precision};
use std::io;
use std::time::Duration;

#[cfg(not(target_os = "linux"))]
use super::sys_socket;
#[cfg(target_os = "linux")]
use super::{sys_packet, tap};

/// What stamps are asked for. BPF devices know microseconds only.
pub(super) const PRECISION: Precision =
    if cfg!(target_os = "linux") { Precision::Nano } else { Precision::Micro };
/// Nanoseconds of one unit of the fraction of a stamp.
pub(super) const UNIT_NS: i64 = if cfg!(target_os = "linux") { 1 } else { 1_000 };

/// Says in a sentence of its own what libpcap says with an error number.
///
/// # Errors
/// [`TapError::NotPermitted`] and the like.
#[cfg(target_os = "linux")]
pub(super) fn may_open(name: &str) -> Result<(), TapError> {
    sys_packet::open().map(drop).map_err(|error| TapError::refused(name, "opening a packet socket", error))
}

/// Opening a BPF device is all the proof there is.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as above")]
pub(super) fn may_open(_: &str) -> Result<(), TapError> {
    Ok(())
}

/// Waits for frames, or for bad news of the interface; true when there are frames.
///
/// # Errors
/// `NetworkDown` when the interface is down, and whatever else the system says.
#[cfg(target_os = "linux")]
pub(super) fn wait(capture: &Capture<Active>, name: &str, wait: Duration) -> io::Result<bool> {
    let woken = sys_packet::wait(capture, wait)?;
    let error = if woken.failed { sys_packet::take_error(capture)? } else { None };
    if !woken.readable && sys_packet::bound(capture)?.index.is_none() {
        return Err(tap::was_removed(name));
    }
    match error {
        None => Ok(woken.readable),
        Some(error) if error.kind() == io::ErrorKind::NetworkDown => Err(tap::went_down(name)),
        Some(error) => Err(error),
    }
}

/// Waits for frames; true when there are some, or bad news, which reading tells.
///
/// # Errors
/// What the system says.
#[cfg(not(target_os = "linux"))]
pub(super) fn wait(capture: &Capture<Active>, _: &str, wait: Duration) -> io::Result<bool> {
    sys_socket::wait_readable(capture, wait)
}

/// libpcap leaves out by direction what the kernel has counted already; so the kernel is to leave it out too.
///
/// # Errors
/// What the system says.
#[cfg(target_os = "linux")]
pub(super) fn only_incoming(capture: &Capture<Active>) -> io::Result<()> {
    sys_packet::ignore_outgoing(capture)
}

/// The direction is the device's own (`BIOCSSEESENT`).
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as above")]
pub(super) fn only_incoming(_: &Capture<Active>) -> io::Result<()> {
    Ok(())
}
