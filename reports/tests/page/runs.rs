//! Runs whose pages are looked at: datagrams through the verifier, in simulated time.

use super::wire::SacnData;
use super::wire::capture::{Data, MS, START, Wire, bigpacket, ddp};
use std::net::IpAddr;
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{Account, DropLayer, HostDrops};
use wireproof_reports::summary::Fragments;
use wireproof_reports::{Drain, DrainedRing, Observer, QueueDelay, Source, Summary};

pub(super) fn file(name: &str) -> Source {
    Source {
        kind: "file".to_owned(),
        name: name.to_owned(),
        timestamps: "file-us".to_owned(),
        packets: 4_321,
        fragments: Fragments::default(),
        ..Source::default()
    }
}

/// Three senders for ten seconds: one whole, one that loses single datagrams, one with an outage and a torn frame.
pub(super) fn planted() -> Account {
    let mut w = Wire::sacn();
    let names: [&[u8]; 2] = [b"Desk <b>\"&'</script>\x1b[31m", b"Stage left"];
    for i in 0..400u32 {
        for universe in 1..=4u16 {
            if universe == 2 && matches!(i, 120 | 121 | 300) {
                continue;
            }
            let octets = SacnData {
                cid: [7; 16],
                name: names[0],
                priority: 100,
                sync: 0,
                number: i as u8,
                options: 0,
                universe,
                start_code: 0,
            };
            w.send(&octets.octets(&[i as u8; 12]));
        }
        w.destination.set_port(4048);
        w.source.set_ip(IpAddr::from([10, 0, 0, 2]));
        if !(200..240).contains(&i) {
            w.send(&ddp((i % 15) as u8 + 1, &[i as u8, 2, 3]));
        }
        w.destination.set_port(21_600);
        w.source.set_ip(IpAddr::from([10, 0, 0, 3]));
        for index in (0..4).filter(|index| !(i == 250 && *index == 2)) {
            w.send(&bigpacket(i, index, 4));
        }
        w.destination.set_port(5568);
        w.source.set_ip(IpAddr::from([10, 0, 0, 1]));
        w.wait(25 * MS);
    }
    w.finish()
}

/// The same, observed live with downloads beside it, and one drop that the observer owns.
pub(super) fn live() -> Summary {
    let mut w = Wire::sacn();
    for i in 0..400u32 {
        if !(200..203).contains(&i) {
            w.send(&Data::numbered(i as u8).octets());
        }
        if i == 203 {
            let (from, to) = (Timestamp(w.at - 100 * MS), Timestamp(w.at));
            w.verifier.on_drops(HostDrops { layer: DropLayer::Socket, port: Some(5568), from, to, count: 3 });
        }
        w.wait(25 * MS);
    }
    let observer = Observer {
        loop_gap_max_ns: 81_234_567,
        queue_delay_ns: QueueDelay { p50: 12_000, p99: 95_000, max: 80_000_001 },
        ..Observer::default()
    };
    let source = Source { kind: "udp".to_owned(), timestamps: "kernel".to_owned(), ..file("0.0.0.0:5568") };
    let mut summary = Summary::new(&w.finish(), source, observer);
    summary.drains = (1..=4).map(drain).collect();
    summary
}

fn drain(number: u64) -> Drain {
    let at = START + number as i64 * 2_000 * MS;
    let ring = match number {
        3 => DrainedRing::Refused { code: "torn-header".to_owned() },
        _ => DrainedRing::Ok {
            generation: 1,
            snapshot: Some(number),
            frames: 80 * number,
            first_frame: Some(0),
            last_frame: Some(79),
            missing: 0,
            dropped: 0,
            partial: 0,
        },
    };
    let whole = number != 4;
    Drain {
        number,
        started_ns: at,
        ended_ns: at + 61 * MS,
        bytes: 6_295_552,
        sha256: "00".repeat(32),
        file: if whole { format!("drain-{number:04}.bin") } else { String::new() },
        error: (!whole).then(|| "connection <reset>".to_owned()),
        resumed: 0,
        ring: whole.then_some(ring),
    }
}

/// Twenty seconds of one universe that loses a single datagram forty times, and one that comes twice.
pub(super) fn scattered() -> Account {
    let mut w = Wire::sacn();
    for i in 0..880u32 {
        let octets = Data::numbered(i as u8).octets();
        if i % 20 != 10 || i < 40 {
            w.send(&octets);
        }
        if i == 15 {
            w.send(&octets);
        }
        w.wait(25 * MS);
    }
    w.finish()
}

/// So many DDP displays of one host each, most of them with a loss.
pub(super) fn many(streams: u32) -> Account {
    let mut w = Wire::new(4048);
    for i in 0..40u32 {
        for s in 0..streams {
            let [_, a, b, c] = s.to_be_bytes();
            w.source.set_ip(IpAddr::from([10, a, b, c]));
            if i != 20 + s % 7 || s % 5 == 0 {
                w.send(&ddp((i % 15) as u8 + 1, &[i as u8, 2, 3]));
            }
        }
        w.wait(25 * MS);
    }
    w.finish()
}

/// A day of one sACN universe at so many frames a second; every thousandth datagram is lost, and one hour is silent.
pub(super) fn day(frames_per_second: u32) -> Account {
    let mut w = Wire::sacn();
    let apart = 1_000 * MS / i64::from(frames_per_second);
    let mut octets = Data::numbered(0).octets();
    for i in 0..86_400 * frames_per_second {
        let hour = i / frames_per_second / 3_600;
        if hour != 13 && i % 1_000 != 999 {
            octets[111] = i as u8;
            let last = octets.len() - 1;
            octets[last] = (i / 7) as u8;
            w.send(&octets);
        }
        w.wait(apart);
    }
    w.finish()
}
