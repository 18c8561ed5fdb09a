//! What the verbs that transmit share: signals, the interface, and how their accounts read.

use super::failure::Failure;
use crate::live::interfaces;
use crate::send::pace::Lateness;
use crate::send::socket::{Sent, Way};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wireproof_protocols::words::counted;
use wireproof_reports::text::milliseconds;

/// Exit code of a run of a fixed length that was cut short.
pub(super) const CUT_SHORT: u8 = 5;

/// How late things happened, as JSON has it; keys in alphabetical order.
#[derive(Debug, Serialize)]
pub(super) struct Late {
    max: u64,
    p50: u64,
    p99: u64,
}

impl From<Lateness> for Late {
    fn from(l: Lateness) -> Late {
        Late { max: l.max_ns, p50: l.p50_ns, p99: l.p99_ns }
    }
}

/// How late things happened, in a line.
pub(super) fn lateness(l: Lateness) -> String {
    let [p50, p99, max] = [l.p50_ns, l.p99_ns, l.max_ns].map(milliseconds);
    format!("p50 {p50} ms, p99 {p99} ms, max {max} ms")
}

/// What went wrong with sending; nothing when nothing did.
pub(super) fn errors(sent: &Sent, out: &mut dyn Write) -> Result<(), Failure> {
    if sent.failed > 0 {
        let why = sent.error.as_deref().unwrap_or("unknown");
        writeln!(out, "send errors   {} not sent: {why}", counted(sent.failed, "datagram"))?;
    }
    if sent.refused > 0 {
        writeln!(out, "refused       {} times: nobody listens on the port", sent.refused)?;
    }
    if sent.waits > 0 {
        writeln!(out, "waits         {} times for room in the kernel", sent.waits)?;
    }
    Ok(())
}

/// True from the first Ctrl-C, `kill`, or end of the session on; under nohup a session may end.
pub(super) fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let hangup = (!ignores_hangup()).then_some(signal_hook::consts::SIGHUP);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM].into_iter().chain(hangup) {
        let hooked = signal_hook::flag::register(signal, Arc::clone(&interrupted));
        hooked
            .map_err(|e| Failure::io(&format!("signals cannot be caught ({e})"), "see `wireproof doctor`"))?;
    }
    Ok(interrupted)
}

/// Whether this process was started to outlive its session. Without `/proc` nobody knows, and SIGHUP stays as it is.
fn ignores_hangup() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & 1 << (signal_hook::consts::SIGHUP - 1) != 0)
}

/// How to send over an interface.
pub(super) fn way(interface: Option<&str>, ttl: Option<u8>) -> Result<Way, Failure> {
    let Some(name) = interface else { return Ok(Way { ttl, ..Way::default() }) };
    let found = interfaces::find(name).map_err(|e| Failure::io_line(&e))?;
    let from = found.addresses.iter().find(|a| a.is_ipv4()).or(found.addresses.first()).copied();
    if from.is_none() {
        let what = format!("the interface {name} has no address to send from");
        return Err(Failure::io(&what, "give it one, or name another"));
    }
    Ok(Way { from, interface: Some(found.index), ttl, ..Way::default() })
}
