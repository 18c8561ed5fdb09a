//! UDP sockets as on a system that counts no drops: the same datagrams, no drop that is told, and a loss whose owner
//! stays open, unless the receive loop itself was held up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, wireproof};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wireproof::live::conduct::{Observed, Run, conduct};
use wireproof::live::control::stall;
use wireproof::live::source::{Seen, Source};
use wireproof::live::udp::{UdpOptions, UdpSource};
use wireproof_protocols::attribution::STALL_LIMIT;
use wireproof_protocols::verify::Options;
use wireproof_reports::verdict::{Verdict, judge};

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(20);
/// Octets of a datagram that a source keeps.
const KEPT: usize = 9_280;
/// Tries of a run that a busy host may hold up; not one of them may find anything wrong.
const TRIES: usize = 20;

/// What came with a datagram.
#[derive(Debug, PartialEq)]
struct Kept {
    from: SocketAddr,
    to: SocketAddr,
    octets: Vec<u8>,
    cut: bool,
    ttl: Option<u8>,
}

fn open(ip: impl Into<IpAddr>, portable: bool, buffer_bytes: Option<u32>) -> (UdpSource, SocketAddr) {
    let addresses = vec![SocketAddr::new(ip.into(), 0)];
    let options = UdpOptions { addresses, buffer_bytes, portable, hops: true, ..UdpOptions::default() };
    let source = UdpSource::open(&options).unwrap();
    let address = source.local_addresses().next().unwrap();
    (source, address)
}

fn now_ns() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Polls until so many datagrams came; stamps, datagrams, drops told.
fn poll(source: &mut UdpSource, count: usize) -> (Vec<i64>, Vec<Kept>, u64) {
    let (mut stamps, mut kept, mut told) = (Vec::new(), Vec::new(), 0);
    let start = Instant::now();
    while kept.len() < count {
        assert!(start.elapsed() < PATIENCE, "patience ended with {kept:?}");
        let each = &mut |seen: Seen<'_>| match seen {
            Seen::Datagram(at, d) => {
                let octets = d.payload.to_vec();
                stamps.push(at.0);
                kept.push(Kept {
                    from: d.source,
                    to: d.destination,
                    octets,
                    cut: d.is_cut(),
                    ttl: d.link.ttl,
                });
            }
            Seen::Dropped(n) => told += n,
            Seen::Packet(_) | Seen::Frame(_) => panic!("a socket sees datagrams only"),
        };
        source.poll(Duration::from_millis(20), each).unwrap();
    }
    (stamps, kept, told)
}

fn alike(ip: impl Into<IpAddr> + Copy) {
    let sizes = [0, 1, 638, KEPT, KEPT + 1, 20_000, 3];
    let sent: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(n, size)| vec![n as u8; *size]).collect();
    let seen = [false, true].map(|portable| {
        let (mut source, to) = open(ip, portable, None);
        let from = UdpSocket::bind(SocketAddr::new(ip.into(), 0)).unwrap();
        let before = now_ns();
        sent.iter().for_each(|octets| {
            from.send_to(octets, to).unwrap();
        });
        let (stamps, kept, told) = poll(&mut source, sent.len());
        assert_eq!((told, source.info().timestamps), (0, "kernel"));
        assert!(kept.iter().all(|k| k.from == from.local_addr().unwrap() && k.to == to), "{kept:?}");
        // Stamps of microseconds may lie before the nanosecond the test began at.
        let unit = if portable { 1_000 } else { 1 };
        assert!(
            stamps.iter().all(|at| at % unit == 0 && (before - unit..=now_ns()).contains(at)),
            "{stamps:?}"
        );
        kept.into_iter().map(|k| (k.octets, k.cut, k.ttl)).collect::<Vec<_>>()
    });
    assert_eq!(seen[0], seen[1]);
    for (kept, sent) in seen[1].iter().zip(&sent) {
        assert_eq!((&kept.0[..], kept.1), (&sent[..sent.len().min(KEPT)], sent.len() > KEPT));
    }
}

#[test]
fn portable_sockets_see_what_the_others_see() {
    alike(Ipv4Addr::LOCALHOST);
}

#[test]
fn portable_sockets_see_the_same_over_ipv6() {
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED portable_sockets_see_the_same_over_ipv6: no IPv6 here\n"),
        );
        return;
    }
    alike(Ipv6Addr::LOCALHOST);
}

#[test]
fn what_a_portable_socket_drops_is_told_by_nobody() {
    let (mut source, to) = open(Ipv4Addr::LOCALHOST, true, Some(1 << 14));
    let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for _ in 0..200 {
        from.send_to(&[7; 1_000], to).unwrap();
    }
    let (mut received, mut told) = (0, 0);
    while source
        .poll(Duration::ZERO, &mut |seen| match seen {
            Seen::Datagram(..) => received += 1,
            Seen::Dropped(n) => told += n,
            _ => {}
        })
        .unwrap()
        > 0
    {}
    let counters = source.counters().unwrap();
    assert!(received > 0 && received < 200, "{received}");
    assert_eq!((told, counters.dropped, source.take_unannounced().unwrap()), (0, 0, 0));
    assert_eq!((counters.received, source.counts_drops()), (received, false));
    assert!(counters.granted_bytes > 0);
    assert!(source.info().notes.iter().any(|note| note.contains("No counter")), "{:?}", source.info().notes);
}

#[test]
fn an_idle_poll_of_portable_sockets_ends_after_its_wait() {
    let (mut source, _) = open(Ipv4Addr::LOCALHOST, true, None);
    let start = Instant::now();
    assert_eq!(source.poll(Duration::from_micros(30_500), &mut |_| panic!("nothing was sent")).unwrap(), 0);
    assert!(start.elapsed() >= Duration::from_micros(30_000));
}

/// A data packet of E1.31 for universe 7 with this number.
fn sacn(number: u8) -> Vec<u8> {
    let mut p = vec![0; 638];
    let mut put = |at: usize, octets: &[u8]| p[at..at + octets.len()].copy_from_slice(octets);
    put(0, &[0, 0x10, 0, 0]);
    put(4, b"ASC-E1.17\0\0\0");
    put(16, &[0x72, 0x6e, 0, 0, 0, 4]);
    put(22, b"portable-sockets");
    put(38, &[0x72, 0x58, 0, 0, 0, 2]);
    put(44, b"portable");
    put(108, &[100, 0, 0, number, 0, 0, 7]);
    put(115, &[0x72, 0x0b, 2, 0xa1, 0, 0, 0, 1, 2, 1, 0]);
    p
}

/// Forty numbers but 11 and 20, which never leave.
fn send(to: SocketAddr) {
    let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for number in (0..40).filter(|n| ![11, 20].contains(n)) {
        from.send_to(&sacn(number), to).unwrap();
    }
}

/// A run over datagrams that wait in the socket before it begins; `None` when the loop was held up meanwhile.
fn run(portable: bool) -> Option<Observed> {
    let (source, to) = open(Ipv4Addr::LOCALHOST, portable, None);
    send(to);
    let options = Options { no_drop_counter: !source.counts_drops(), ..Options::default() };
    let run = Run { duration: Some(Duration::from_millis(200)), ..Run::default() };
    let observed = conduct(vec![Box::new(source)], options, &run, &mut |_| {}).unwrap();
    (observed.observer.loop_gap_max_ns < STALL_LIMIT as u64).then_some(observed)
}

fn undisturbed<T>(mut once: impl FnMut() -> Option<T>) -> T {
    (0..TRIES).find_map(|_| once()).expect("an undisturbed run")
}

/// Lost as the numbers say, and by whom: sender, wire, observer, unknown.
fn losses(observed: &Observed) -> (u64, [u64; 4]) {
    let [stream] = &observed.account.streams[..] else { panic!("{:?}", observed.account.streams) };
    let o = &stream.owners;
    (stream.sequence.lost, [o.sender, o.wire, o.observer, o.unknown])
}

#[test]
fn without_a_counter_a_loss_has_no_owner_and_the_run_is_inconclusive() {
    let verdicts = [false, true].map(|portable| {
        let observed = undisturbed(|| run(portable));
        assert_eq!(losses(&observed), (2, [0, 0, 0, 2]));
        assert_eq!((observed.observer.lost, observed.packets), (0, 38));
        judge(&observed.account, &observed.observer, false).0
    });
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Inconclusive]);
}

#[test]
fn a_stall_of_the_loop_convicts_the_observer_without_a_counter() {
    let control = stall(true).unwrap();
    assert!(control.holds(), "{control:?}");
    assert!(!control.has_counter && control.counted == 0 && control.missing > 0, "{control:?}");
}

#[test]
fn the_tool_says_that_no_counter_clears_it_and_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let record = undisturbed(|| {
        let port = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let mut observe = std::process::Command::new(env!("CARGO_BIN_EXE_wireproof"));
        observe.args([
            "observe",
            "--portable",
            "--duration",
            "1s",
            "--format",
            "json",
            "--udp",
            &port.to_string(),
        ]);
        observe.env_clear().env("HOME", folder.path()).current_dir(folder.path());
        let mut observe = observe.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(observe.stderr.take().unwrap()).lines().map(Result::unwrap);
        lines.find(|line| line.contains("No counter tells")).expect("a note");
        send(port);
        let said: Vec<String> = lines.collect();
        let output = observe.wait_with_output().unwrap();
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a record");
        let held_up = record["observer"]["loop_gap_max_ns"].as_i64().unwrap() >= STALL_LIMIT;
        (!held_up).then(|| (output.status.code(), record, said))
    });
    let (code, record, said) = record;
    assert_eq!((code, &record["verdict"]), (Some(3), &"inconclusive".into()), "{said:?}");
    assert_eq!(record["streams"][0]["owners"]["unknown"], 2, "{record}");
    assert_eq!(record["observer"]["lost"], 0, "{record}");
}

#[test]
fn the_switch_is_not_part_of_the_help() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, _) = outcome(wireproof(folder.path()).args(["observe", "--help"]));
    assert_eq!((code, out.contains("--portable")), (0, false));
    let (code, _, err) = outcome(wireproof(folder.path()).args(["observe", "--portable", "-i", "lo"]));
    assert_eq!((code, err.contains("--interface")), (2, true), "{err}");
}
