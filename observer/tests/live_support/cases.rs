//! What every tap must do, whatever it is made of.

use super::{
    Event, Tape, cable, frame, ip, isolated, number, numbered, sender, skipped, transmit, try_ip,
    without_rights,
};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wireproof::live::source::Source;
use wireproof::live::tap::{TapError, TapFilter, TapOptions};
use wireproof_protocols::{Checksum, Timestamp};

/// Opens the source under test.
pub(crate) type Open = fn(&TapOptions) -> Result<Box<dyn Source>, TapError>;

pub(crate) const PORTS: [u16; 3] = [5568, 6454, 4048];

pub(crate) fn options(interface: &str) -> TapOptions {
    TapOptions::new(interface, TapFilter::Ports(PORTS.to_vec()))
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// 100 datagrams over the loopback interface, whose taps hear everything twice.
pub(crate) fn once_each(test: &str, open: Open) {
    isolated(test, || {
        let mut source = open(&options("lo")).unwrap();
        let socket = sender("127.0.0.1:0");
        let before = now();
        for number in 0..100 {
            socket.send_to(&numbered(number, 638), "127.0.0.1:5568").unwrap();
        }
        let after = now();
        let got = Tape::collect(&mut *source, 100);
        for (index, datagram) in got.iter().enumerate() {
            assert_eq!(datagram.payload, numbered(index as u32, 638));
            assert_eq!(datagram.source, socket.local_addr().unwrap());
            assert_eq!(datagram.destination, "127.0.0.1:5568".parse::<SocketAddr>().unwrap());
            assert_eq!(datagram.link.checksum, Checksum::Unknown, "loopback leaves checksums out");
            assert_eq!((datagram.link.ttl, datagram.link.vlan), (Some(64), None));
        }
        assert!(got.is_sorted_by_key(|datagram| datagram.at));
        // The stamps may come from a clock read that is a tick behind.
        let slack = 10_000_000;
        let (first, last) = (got[0].at, got[99].at);
        assert!(first > Timestamp(before - slack) && last < Timestamp(after + slack), "{before} {got:?}");
        let counters = source.counters().unwrap();
        assert_eq!((counters.received, counters.dropped, counters.cut), (100, 0, 0));
        assert_eq!((source.info().timestamps, source.info().link_type), ("kernel", Some("EN10MB")));
    });
}

/// Everything else on the wire stays in the kernel.
pub(crate) fn ports_only(test: &str, open: Open) {
    isolated(test, || {
        let mut source = open(&options("lo")).unwrap();
        let socket = sender("127.0.0.1:0");
        for port in [53, 5567, 5569, 6454, 6455, 40_480, 4048, 5568] {
            socket.send_to(b"whole", ("127.0.0.1", port)).unwrap();
        }
        // From a port counts as well as to it: replies of devices go to any port.
        sender("127.0.0.1:6454").send_to(b"whole", "127.0.0.1:9999").unwrap();
        let got = Tape::collect(&mut *source, 4);
        let ports: Vec<_> = got.iter().map(|datagram| datagram.destination.port()).collect();
        assert_eq!(ports, [6454, 4048, 5568, 9999]);
        // Nothing but these four: neither other ports nor the ICMP answers to them.
        assert_eq!(source.counters().unwrap().received, 4);
    });
}

/// A tap without a filter hands over what is no datagram, too.
pub(crate) fn everything(test: &str, open: Open) {
    isolated(test, || {
        let mut source = open(&TapOptions::new("lo", TapFilter::Everything)).unwrap();
        sender("127.0.0.1:0").send_to(b"x", "127.0.0.1:53").unwrap();
        let mut tape = Tape::default();
        tape.until(&mut *source, |tape| tape.0.len() >= 2);
        assert_eq!(tape.datagrams()[0].destination.port(), 53);
        assert_eq!(tape.0[1], Event::Packet, "the host's port unreachable");
    });
}

/// 5,000 octets in four fragments over a cable, with others' traffic between them.
pub(crate) fn fragments(test: &str, open: Open) {
    isolated(test, || {
        cable();
        ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev far");
        let mut source = open(&options("near")).unwrap();
        let socket = sender("10.9.0.1:0");
        for number in 0..5 {
            socket.send_to(&numbered(number, 5_000), "10.9.0.2:4048").unwrap();
            socket.send_to(&numbered(99, 5_000), "10.9.0.2:53").unwrap();
        }
        let got = Tape::collect(&mut *source, 5);
        for (index, datagram) in got.iter().enumerate() {
            assert_eq!(datagram.payload, numbered(index as u32, 5_000));
            assert_eq!((datagram.link.fragments, datagram.link.checksum), (4, Checksum::Good));
            assert_eq!(datagram.destination, "10.9.0.2:4048".parse::<SocketAddr>().unwrap());
        }
    });
}

/// Whole and fragmented datagrams over IPv6.
pub(crate) fn version_6(test: &str, open: Open) {
    isolated(test, || {
        cable();
        if !try_ip("-6 neigh add fd00:9::2 lladdr 02:00:00:00:00:02 dev far") {
            return skipped(test, "the kernel lacks IPv6");
        }
        let mut source = open(&options("near")).unwrap();
        let socket = sender("[fd00:9::1]:0");
        socket.send_to(&numbered(0, 100), "[fd00:9::2]:5568").unwrap();
        socket.send_to(&numbered(1, 5_000), "[fd00:9::2]:5568").unwrap();
        socket.send_to(&numbered(2, 100), "[fd00:9::2]:5569").unwrap();
        let got = Tape::collect(&mut *source, 2);
        assert_eq!((got[0].payload.len(), got[0].link.fragments), (100, 1));
        assert_eq!((&got[1].payload, got[1].link.fragments), (&numbered(1, 5_000), 4));
        assert_eq!(got[1].destination, "[fd00:9::2]:5568".parse::<SocketAddr>().unwrap());
    });
}

/// The kernel takes the outer tag out of the frame; the id is seen all the same.
pub(crate) fn tags(test: &str, open: Open) {
    isolated(test, || {
        cable();
        let mut source = open(&options("near")).unwrap();
        let tagged = [
            frame(&[], 5568, &numbered(0, 40)),
            frame(&[(0x8100, 100)], 5568, &numbered(1, 40)),
            frame(&[(0x8100, 0x6005)], 5568, &numbered(2, 40)),
            frame(&[(0x88a8, 7), (0x8100, 8)], 5568, &numbered(3, 40)),
            frame(&[(0x8100, 100)], 5569, &numbered(4, 40)),
        ];
        transmit("far", &tagged);
        let got = Tape::collect(&mut *source, 4);
        let seen: Vec<_> = got.iter().map(|datagram| (number(datagram), datagram.link.vlan)).collect();
        assert_eq!(seen, [(0, None), (1, Some(100)), (2, Some(5)), (3, Some(7))]);
        assert!(got.iter().all(|datagram| datagram.link.checksum == Checksum::Absent));
    });
}

/// Frames for other hosts are seen, also when the host itself is not addressed at all; broadcast is told apart.
pub(crate) fn link_addresses(test: &str, open: Open) {
    isolated(test, || {
        cable();
        let mut source = open(&options("near")).unwrap();
        let unicast = frame(&[], 6454, &numbered(0, 40));
        let mut broadcast = frame(&[], 6454, &numbered(1, 40));
        broadcast[..6].fill(0xff);
        transmit("far", &[unicast, broadcast]);
        let got = Tape::collect(&mut *source, 2);
        assert_eq!([got[0].link.broadcast, got[1].link.broadcast], [false, true]);
    });
}

/// More than a small ring holds, unread, in three bouts: each gap in the numbers is announced, as large as it is,
/// before the datagram behind it.
pub(crate) fn drops(test: &str, open: Open) {
    isolated(test, || {
        let small = TapOptions { buffer_bytes: 512 << 10, ..options("lo") };
        let mut source = open(&small).unwrap();
        let socket = sender("127.0.0.1:0");
        let (mut tape, mut sent) = (Tape::default(), 0);
        // Each datagram alone takes a block, so the last ones go once around the ring.
        for bout in [3_000, 10, 4_000, 10, 2_500, 1, 1, 1, 1, 1] {
            for _ in 0..bout {
                socket.send_to(&numbered(sent, 638), "127.0.0.1:5568").unwrap();
                sent += 1;
            }
            while tape.poll(&mut *source).unwrap() > 0 {}
        }
        let counters = source.counters().unwrap();
        assert!(counters.dropped > 1_000, "{counters:?}");
        assert_eq!(counters.received, tape.datagrams().len() as u64);
        assert_eq!(counters.received + counters.dropped, u64::from(sent));
        assert_eq!(tape.dropped(), counters.dropped, "every drop was announced");
        let (mut expected, mut announced) = (0, 0);
        for event in &tape.0 {
            match event {
                Event::Dropped(count) => announced += count,
                Event::Datagram(got) => {
                    assert_eq!(u64::from(number(got) - expected), announced, "before {}", number(got));
                    (expected, announced) = (number(got) + 1, 0);
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

/// Drops at the end of a run, which no datagram announces any more, are told once when asked for.
pub(crate) fn drops_at_the_end(test: &str, open: Open) {
    isolated(test, || {
        let small = TapOptions { buffer_bytes: 512 << 10, ..options("lo") };
        let mut source = open(&small).unwrap();
        let socket = sender("127.0.0.1:0");
        for number in 0..3_000 {
            socket.send_to(&numbered(number, 638), "127.0.0.1:5568").unwrap();
        }
        let counters = source.counters().unwrap();
        assert!(counters.dropped > 0 && counters.received == 0, "{counters:?}");
        let unannounced = source.take_unannounced().unwrap();
        assert_eq!(unannounced, counters.dropped);
        assert_eq!(source.take_unannounced().unwrap(), 0);
        let mut tape = Tape::default();
        while tape.poll(&mut *source).unwrap() > 0 {}
        assert_eq!(tape.datagrams().len() as u64 + tape.dropped() + unannounced, 3_000);
        assert_eq!(tape.dropped(), 0);
    });
}

/// With frames asked for, each item comes behind its frame, whole as it was on the wire.
pub(crate) fn frames(test: &str, open: Open) {
    isolated(test, || {
        cable();
        let mut source = open(&options("near")).unwrap();
        source.show_frames();
        let sent = [
            frame(&[], 5568, &numbered(0, 40)),
            frame(&[(0x8100, 0x6005)], 5568, &numbered(1, 40)),
            frame(&[(0x88a8, 7), (0x8100, 8)], 5568, &numbered(2, 40)),
        ];
        transmit("far", &sent);
        let mut tape = Tape::default();
        tape.until(&mut *source, |tape| tape.datagrams().len() == 3);
        let vlans: Vec<_> = tape.datagrams().iter().map(|datagram| datagram.link.vlan).collect();
        assert_eq!(vlans, [None, Some(5), Some(7)]);
        assert_eq!(tape.0.len(), 6);
        for (pair, sent) in tape.0.chunks(2).zip(&sent) {
            assert_eq!(pair[0], Event::Frame(sent.clone(), sent.len() as u32));
            assert!(matches!(pair[1], Event::Datagram(_)));
        }
    });
}

/// A sender that does not wait for the reader: whatever is lost, the account closes.
pub(crate) fn drops_meanwhile(test: &str, open: Open) {
    const SENT: u32 = 40_000;
    isolated(test, || {
        let small = TapOptions { buffer_bytes: 512 << 10, ..options("lo") };
        let mut source = open(&small).unwrap();
        let sending = std::thread::spawn(|| {
            let socket = sender("127.0.0.1:0");
            for number in 0..SENT {
                socket.send_to(&numbered(number, 638), "127.0.0.1:5568").unwrap();
            }
        });
        let mut tape = Tape::default();
        while !sending.is_finished() || tape.poll(&mut *source).unwrap() > 0 {
            tape.poll(&mut *source).unwrap();
        }
        sending.join().unwrap();
        let counters = source.counters().unwrap();
        assert_eq!(counters.received, tape.datagrams().len() as u64);
        assert_eq!(counters.received + counters.dropped, u64::from(SENT), "{counters:?}");
        assert!(tape.datagrams().is_sorted_by_key(number), "in the order sent");
    });
}

/// Without the right to listen, one line says what to do.
pub(crate) fn no_right(test: &str, open: Open) {
    without_rights(test, || {
        let error = open(&options("lo")).err().unwrap();
        let binary = std::env::current_exe().unwrap();
        let expected = format!(
            "listening on \"lo\" takes the right CAP_NET_RAW: run `sudo setcap cap_net_raw=ep {}`, run as root, or \
             use --udp",
            binary.display()
        );
        assert_eq!(error.to_string(), expected);
    });
}

/// An interface that goes down is reported once; frames come again once it is up; its removal is reported.
pub(crate) fn down_and_up(test: &str, open: Open) {
    isolated(test, || {
        cable();
        let mut source = open(&options("near")).unwrap();
        let mut tape = Tape::default();
        transmit("far", &[frame(&[], 5568, &numbered(0, 40))]);
        tape.until(&mut *source, |tape| tape.datagrams().len() == 1);
        ip("link set near down");
        let error = first_error(&mut tape, &mut *source);
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkDown);
        assert_eq!(error.to_string(), "\"near\" is down; frames are seen again once it is up");
        for _ in 0..3 {
            assert_eq!(tape.poll(&mut *source).unwrap(), 0, "told once");
        }
        ip("link set near up");
        // The carrier of the far end comes back a little later, and with it the frames.
        let start = Instant::now();
        while tape.datagrams().len() == 1 {
            assert!(start.elapsed() < super::PATIENCE, "no frame after up");
            transmit("far", &[frame(&[], 5568, &numbered(1, 40))]);
            tape.poll(&mut *source).unwrap();
        }
        tape.poll(&mut *source).unwrap();
        ip("link del near");
        let mut error = first_error(&mut tape, &mut *source);
        if error.kind() == std::io::ErrorKind::NetworkDown {
            error = first_error(&mut tape, &mut *source);
        }
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        assert!(error.to_string().contains("\"near\" was removed"), "{error}");
        assert!(tape.poll(&mut *source).is_err(), "told at every poll");
    });
}

fn first_error(tape: &mut Tape, source: &mut dyn Source) -> std::io::Error {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < super::PATIENCE, "no error");
        if let Err(error) = tape.poll(source) {
            return error;
        }
    }
}

/// Names that stand for nothing are refused with the names there are.
pub(crate) fn unknown(test: &str, open: Open) {
    isolated(test, || {
        cable();
        ip("link set near down");
        let error = open(&options("eth99")).err().unwrap();
        assert!(matches!(error, TapError::NoSuchInterface(_)));
        let text = error.to_string();
        let names: BTreeSet<_> = text.split("there is: ").nth(1).unwrap().split(", ").collect();
        assert!(names.contains("lo") && names.contains("near (down)"), "{text}");
    });
}

/// A quiet network ends a poll when its time is over.
pub(crate) fn idle(test: &str, open: Open) {
    isolated(test, || {
        let mut source = open(&options("lo")).unwrap();
        let start = Instant::now();
        for _ in 0..3 {
            let wait = Duration::from_millis(20);
            assert_eq!(source.poll(wait, &mut |seen| panic!("{seen:?}")).unwrap(), 0);
        }
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(60) && took < super::PATIENCE, "{took:?}");
    });
}

/// A link without a header carries IP from the first octet.
pub(crate) fn headerless(test: &str, open: Open) {
    isolated(test, || {
        if !try_ip("tuntap add tun9 mode tun") {
            return skipped(test, "the kernel lacks tun");
        }
        ip("link set tun9 up");
        let source = open(&options("tun9")).unwrap();
        assert_eq!(source.info().link_type, Some("RAW"));
    });
}
