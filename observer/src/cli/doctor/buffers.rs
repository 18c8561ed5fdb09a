//! Checks of receive buffers: what a socket is granted and how long that holds while nobody reads.

use super::check::{Check, State, octets};
use super::facts::{Facts, Right};
use crate::live::udp::{HOLD, UNKNOWN_BUFFER, hold_time};

/// Octets that `observe` asks for by `SO_RCVBUF` when no load is given; the kernel grants twice that.
pub(in crate::cli) const WANTED: u64 = UNKNOWN_BUFFER as u64 / 2;
/// Octets the kernel charges for a 638-octet sACN datagram.
const CHARGE: u32 = 1_280;
/// Datagrams a second of 12 sACN universes at 60 frames a second.
const RATE: u32 = 720;
/// What the hold time is stated for.
const LOAD: &str = "12 sACN universes at 60 fps";
/// A buffer that holds less than this loses at ordinary waits for the processor: up to 47 ms on a busy host.
pub(in crate::cli) const LEAST_HOLD_MS: u64 = 50;
/// Backlog of an untouched Linux, frames.
pub(in crate::cli) const USUAL_BACKLOG: u64 = 1_000;
/// Backlog that is advised, frames.
const ADVISED_BACKLOG: u64 = 10_000;

/// `CAP_NET_ADMIN`, which exceeds `net.core.rmem_max`.
pub(super) fn buffer_right(facts: &Facts) -> Check {
    let name = "rights buffer";
    let suffices = facts.rmem_max.is_some_and(|most| most >= WANTED);
    match facts.net_admin() {
        Right::Held => Check::ok(name, "CAP_NET_ADMIN: buffers may exceed net.core.rmem_max"),
        Right::Missing if suffices => {
            Check::ok(name, "no CAP_NET_ADMIN, and net.core.rmem_max suffices without")
        }
        Right::Missing => {
            let text = "no CAP_NET_ADMIN: net.core.rmem_max limits the receive buffers";
            Check::warn(name, text).repair(facts.setcap())
        }
        Right::Unknown => Check::warn(name, "not known on this platform"),
    }
}

/// The buffer a socket of observe gets.
pub(super) fn receive_buffer(facts: &Facts) -> Check {
    let name = "receive buffer";
    let asked = octets(WANTED);
    let allowed = match (facts.net_admin(), facts.rmem_max) {
        (Right::Held, _) => WANTED,
        (_, Some(most)) => most.min(WANTED),
        (_, None) => {
            return Check::warn(name, format!("{asked} asked; net.core.rmem_max cannot be read here"));
        }
    };
    let granted = allowed.saturating_mul(2);
    let hold = held_ms(granted);
    let state = match hold {
        _ if u128::from(hold) >= HOLD.as_millis() && allowed == WANTED => State::Ok,
        ..LEAST_HOLD_MS => State::Fail,
        _ => State::Warn,
    };
    let whole = if allowed == WANTED { String::new() } else { format!(", {} allowed", octets(allowed)) };
    let text = format!("{asked} asked{whole}: holds {hold} ms of {LOAD} while nobody reads");
    let check = Check::new(state, name, text).value("granted_bytes", granted).value("hold_ms", hold);
    let check = facts.rmem_max.into_iter().fold(check, |check, most| check.value("rmem_max_bytes", most));
    check.repair(format!("sudo sysctl -w net.core.rmem_max={WANTED}"))
}

/// The buffer a program gets that asks for none.
pub(super) fn default_buffer(facts: &Facts) -> Check {
    let name = "default buffer";
    let Some(default) = facts.rmem_default else {
        return Check::warn(name, "net.core.rmem_default cannot be read here");
    };
    let hold = held_ms(default);
    let text = format!("{}: programs that ask for nothing hold {hold} ms of {LOAD}", octets(default));
    Check::ok(name, text).value("hold_ms", hold).value("rmem_default_bytes", default)
}

/// The queue between interface and sockets.
pub(super) fn backlog(facts: &Facts) -> Check {
    let name = "backlog";
    let Some(backlog) = facts.backlog else {
        return Check::warn(name, "net.core.netdev_max_backlog cannot be read here");
    };
    let state = if backlog < USUAL_BACKLOG { State::Warn } else { State::Ok };
    let text = format!("net.core.netdev_max_backlog is {backlog} frames a processor");
    let repair = format!("sudo sysctl -w net.core.netdev_max_backlog={ADVISED_BACKLOG}");
    Check::new(state, name, text).value("frames", backlog).repair(repair)
}

fn held_ms(granted: u64) -> u64 {
    u64::try_from(hold_time(granted, CHARGE, RATE).as_millis()).unwrap_or(u64::MAX)
}
