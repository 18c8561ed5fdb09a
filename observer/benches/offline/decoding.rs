//! Decoding alone: datagrams of one frame in memory, every check, no reader and no engine.

use super::Outcome;
use super::traffic::Traffic;
use crate::load::sys::thread_cpu_ns;
use std::hint::black_box;
use wireproof_protocols::{Datagram, Faults, Protocol, registry};

/// Datagrams decoded for one figure, at least.
const LEAST: usize = 200_000;

/// What a datagram costs, ns: of all kinds as they come, then of each.
pub(crate) fn measure() -> Outcome<Vec<(&'static str, f64)>> {
    let frame = Traffic::new(None)?.frame(true)?;
    let all: Vec<Datagram<'_>> = frame.iter().map(|planted| planted.datagram()).collect();
    let mut figures = vec![("all", each(&all)?)];
    for (protocol, port) in [(Protocol::Sacn, 5568), (Protocol::Ddp, 4048), (Protocol::ArtNet, 6454)] {
        let own: Vec<_> = all.iter().filter(|d| d.destination.port() == port).copied().collect();
        figures.push((protocol.name(), each(&own)?));
    }
    Ok(figures)
}

fn each(datagrams: &[Datagram<'_>]) -> Outcome<f64> {
    let mut faults = Faults::new();
    let mut decoded = 0usize;
    let start = thread_cpu_ns();
    while decoded < LEAST {
        for datagram in datagrams {
            // As both engines do it: what there is something to say about goes the long way.
            faults.clear();
            let datagram = black_box(datagram);
            let long = || registry::decode(datagram, &mut faults)?.ok();
            let Some(pdu) = registry::plain(datagram).or_else(long) else {
                return Err("a datagram of the bench is not decoded".into());
            };
            black_box((pdu.stream, pdu.sequence, pdu.data, pdu.sender, pdu.marks));
        }
        decoded += datagrams.len();
    }
    let took = thread_cpu_ns() - start;
    if faults.is_empty() {
        Ok(took as f64 / decoded as f64)
    } else {
        Err("a datagram of the bench has faults".into())
    }
}
