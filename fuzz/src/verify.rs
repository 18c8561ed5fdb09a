//! Datagrams with times, through the verifier to a record in every format.

use super::decode::{HEAD, PORTS};
use std::net::SocketAddr;
use std::sync::OnceLock;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::{DropLayer, HostDrops, Options, Verifier};
use wireproof_protocols::{Arrival, Checksum, Datagram, Link, Timestamp};
use wireproof_reports::{Format, Observer, Source, Style, Summary, render};

/// Octets in front of each datagram: kind, port, source, time (2), length (2).
pub const STEP: usize = 5 + HEAD;

/// Runs a script of steps: the account adds up, and each format can be written of it.
pub fn verify(data: &[u8]) {
    let Some((&how, mut rest)) = data.split_first() else { return };
    let layouts = if how & 16 == 0 { Layouts::default() } else { shipped() };
    let options = Options { rig: None, strict: how & 1 != 0, no_drop_counter: how & 2 != 0, layouts };
    let mut verifier = Verifier::new(options);
    let (mut at, mut packet, mut fed) = (0i64, 0u64, 0u64);
    while let Some((step, behind)) = rest.split_first_chunk::<STEP>() {
        let length = usize::from(u16::from_le_bytes([step[5], step[6]]) % 2_048).min(behind.len());
        let (payload, next) = behind.split_at(length);
        rest = next;
        at = at.saturating_add(pause(step));
        packet += 1;
        fed += u64::from(one(&mut verifier, step, Arrival { at: Timestamp(at), packet }, payload));
    }
    let account = verifier.finish();
    assert_eq!(account.datagrams.lighting + account.datagrams.other, fed, "{:?}", account.datagrams);
    for stream in &account.streams {
        let (q, o) = (&stream.sequence, &stream.owners);
        assert!(q.lost_min <= q.lost, "{q:?}");
        assert_eq!(o.sender + o.wire + o.observer + o.unknown, q.lost, "{o:?} of {q:?}");
    }
    let summary = Summary::new(&account, Source::default(), Observer::default());
    let format = [Format::Json, Format::Table, Format::Csv, Format::Html][usize::from(how >> 2) % 4];
    let mut out = Vec::new();
    let written = render(&summary, format, Style { color: false, width: 80 }, &mut out);
    assert!(written.is_ok() && !out.is_empty());
}

/// The shipped layouts, compiled once: they stay for the life of the program.
fn shipped() -> Layouts {
    static SHIPPED: OnceLock<Layouts> = OnceLock::new();
    *SHIPPED.get_or_init(|| Layouts::shipped().unwrap_or_default())
}

/// The time since the step before, ns: forwards up to 65 s, now and then backwards or far away.
fn pause(step: &[u8; STEP]) -> i64 {
    let units = i64::from(u16::from_le_bytes([step[3], step[4]]));
    match step[0] >> 5 {
        0..=3 => units * 10_000,
        4 => units * 1_000_000,
        5 => -units * 1_000,
        6 => units * 1_000_000_000_000,
        _ => 0,
    }
}

/// One step; true for a datagram.
fn one(verifier: &mut Verifier, step: &[u8; STEP], arrival: Arrival, payload: &[u8]) -> bool {
    let from = Timestamp(arrival.at.0.saturating_sub(i64::from(step[2]) * 1_000_000));
    match step[0] & 0x1f {
        0 => verifier.on_packet(arrival),
        1 => verifier.on_blind(from, arrival.at, u64::from(step[1])),
        2 => verifier.on_clock_step(i64::from(step[1]) * 1_000_000 - 64_000_000),
        3 => verifier.on_stall(from, arrival.at),
        4 => {
            let layer = DropLayer::ALL[usize::from(step[1]) % DropLayer::ALL.len()];
            verifier.on_drops(HostDrops {
                layer,
                port: None,
                from,
                to: arrival.at,
                count: u64::from(step[2]),
            });
        }
        _ => {
            verifier.on_datagram(arrival, &datagram(step, payload));
            return true;
        }
    }
    false
}

fn datagram<'a>(step: &[u8; STEP], payload: &'a [u8]) -> Datagram<'a> {
    let port = PORTS[usize::from(step[1]) % PORTS.len()];
    let source = SocketAddr::from(([10, 0, 0, step[2] & 3], port + u16::from(step[2] >> 6)));
    let ip = [[10, 0, 1, 1], [239, 255, 0, 1], [255; 4]][usize::from(step[2] >> 2) % 3];
    let checksum = [Checksum::Unknown, Checksum::Good, Checksum::Bad][usize::from(step[2] >> 4) % 3];
    let link = Link { ip_id: (step[0] & 8 != 0).then_some(u16::from(step[3])), checksum, ..Link::default() };
    Datagram { link, ..Datagram::new(source, SocketAddr::from((ip, port)), payload) }
}
