//! A network namespace for each test, frames built octet by octet, and a collector of what a source hands over.

pub(crate) mod cases;

use std::env;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wireproof::live::source::{Seen, Source};
use wireproof_protocols::{Link, Timestamp};

/// Set in the process that runs inside the namespace.
const INSIDE: &str = "WIREPROOF_TEST_NAMESPACE";
/// No test waits longer than this for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// One wait of a poll.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// Says a line past the test harness, which keeps what a test prints unless it fails.
fn said(line: &str) {
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n"));
}

/// Says why a test does nothing.
pub(crate) fn skipped(test: &str, why: &str) {
    said(&format!("SKIPPED {test}: {why}"));
}

/// Runs `body` in a process of its own with a fresh network namespace, where only the loopback interface is up: as
/// root, else with the rights of a user namespace, else not at all, visibly.
pub(crate) fn isolated(test: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        ip("link set lo up");
        return body();
    }
    let works = |rights: &&'static str| {
        let probe = [*rights, "ip", "link", "set", "lo", "up"];
        let status = Command::new("unshare").args(probe).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let Some(rights) = ["-n", "-rn"].into_iter().find(works) else {
        return skipped(test, "needs CAP_NET_RAW (and unshare and ip)");
    };
    again(test, Command::new("unshare").arg(rights).arg(env::current_exe().unwrap()));
}

/// Runs `body` in a process of its own that has no rights, whoever started it.
pub(crate) fn without_rights(test: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    let drop = ["--bounding-set", "-all", "--inh-caps", "-all"];
    let probe = Command::new("setpriv").args(drop).arg("true").stderr(Stdio::null()).status();
    let exe = env::current_exe().unwrap();
    match probe.is_ok_and(|status| status.success()) {
        true => again(test, Command::new("setpriv").args(drop).arg(exe)),
        false if sys_is_root() => skipped(test, "needs setpriv when run as root"),
        false => again(test, &mut Command::new(exe)),
    }
}

fn sys_is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.starts_with(b"0")
}

/// Runs the test `test` of this program with `command` in front, and passes on what it skipped.
fn again(test: &str, command: &mut Command) {
    let arguments = ["--exact", test, "--nocapture", "--test-threads", "1"];
    let output = command.args(arguments).env(INSIDE, "1").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // The line may begin with the name of the test.
    let skips = out.lines().chain(err.lines()).filter_map(|line| line.find("SKIPPED").map(|at| &line[at..]));
    skips.for_each(said);
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

/// Runs `ip` with arguments that hold no blanks.
pub(crate) fn ip(arguments: &str) {
    assert!(try_ip(arguments), "ip {arguments}");
}

/// As [`ip`]; false when it fails.
pub(crate) fn try_ip(arguments: &str) -> bool {
    let status = Command::new("ip").args(arguments.split_whitespace()).stderr(Stdio::null()).status();
    status.unwrap().success()
}

/// A cable between `near`, where tests listen, and `far`, where they send from 10.9.0.1 and fd00:9::1; both up.
pub(crate) fn cable() {
    ip("link add near type veth peer name far");
    ip("addr add 10.9.0.1/24 dev far");
    try_ip("addr add fd00:9::1/64 dev far nodad");
    ip("link set far up");
    ip("link set near up");
}

/// A datagram, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Got {
    pub(crate) at: Timestamp,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) payload: Vec<u8>,
    pub(crate) link: Link,
}

/// What was handed over, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Datagram(Got),
    Packet,
    /// Octets captured, and how many were on the wire.
    Frame(Vec<u8>, u32),
    Dropped(u64),
}

/// Everything a source handed over.
#[derive(Debug, Default)]
pub(crate) struct Tape(pub(crate) Vec<Event>);

impl Tape {
    /// One poll; its error when there is one.
    pub(crate) fn poll(&mut self, source: &mut dyn Source) -> std::io::Result<usize> {
        source.poll(SLICE, &mut |seen| {
            self.0.push(match seen {
                Seen::Datagram(at, datagram) => Event::Datagram(Got {
                    at,
                    source: datagram.source,
                    destination: datagram.destination,
                    payload: datagram.payload.to_vec(),
                    link: datagram.link,
                }),
                Seen::Packet(_) => Event::Packet,
                Seen::Frame(record) => Event::Frame(record.data.to_vec(), record.original_length),
                Seen::Dropped(count) => Event::Dropped(count),
            });
        })
    }

    /// Polls until `enough`, for as long as patience lasts, and then once more.
    pub(crate) fn until(&mut self, source: &mut dyn Source, enough: impl Fn(&Tape) -> bool) {
        let start = Instant::now();
        while !enough(self) {
            assert!(start.elapsed() < PATIENCE, "waited in vain: {:?}", self.0.last());
            self.poll(source).unwrap();
        }
        self.poll(source).unwrap();
    }

    /// Polls until `count` datagrams came, and no more come.
    pub(crate) fn collect(source: &mut dyn Source, count: usize) -> Vec<Got> {
        let mut tape = Tape::default();
        tape.until(source, |tape| tape.datagrams().len() >= count);
        let datagrams = tape.datagrams();
        assert_eq!(datagrams.len(), count, "{datagrams:?}");
        datagrams
    }

    pub(crate) fn datagrams(&self) -> Vec<Got> {
        let datagram = |event: &Event| match event {
            Event::Datagram(got) => Some(got.clone()),
            _ => None,
        };
        self.0.iter().filter_map(datagram).collect()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.0.iter().map(|event| if let Event::Dropped(count) = event { *count } else { 0 }).sum()
    }
}

/// A socket on the loopback interface.
pub(crate) fn sender(address: &str) -> UdpSocket {
    UdpSocket::bind(address).unwrap()
}

/// A payload of `length` octets that begins with `number`.
pub(crate) fn numbered(number: u32, length: usize) -> Vec<u8> {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(length.max(4), 0x5a);
    payload
}

/// The number a payload begins with.
pub(crate) fn number(got: &Got) -> u32 {
    u32::from_be_bytes(*got.payload.first_chunk().unwrap())
}

/// An IPv4 UDP datagram from 10.9.0.7 to 10.9.0.8 in a frame with the tags (type and id) in `tags`, with no checksum.
pub(crate) fn frame(tags: &[(u16, u16)], port: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [[2, 0, 0, 0, 0, 8], [2, 0, 0, 0, 0, 7]].concat();
    for (kind, id) in tags {
        frame.extend([kind.to_be_bytes(), id.to_be_bytes()].concat());
    }
    frame.extend([0x08, 0x00]);
    let (udp, total) = (payload.len() as u16 + 8, payload.len() as u16 + 28);
    let mut header = vec![0x45, 0, 0, 0, 0, 9, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 7, 10, 9, 0, 8];
    header[2..4].copy_from_slice(&total.to_be_bytes());
    frame.extend(header);
    frame.extend([40_000_u16.to_be_bytes(), port.to_be_bytes(), udp.to_be_bytes(), [0, 0]].concat());
    frame.extend(payload);
    frame
}

/// Puts frames on the wire at the interface `name`.
pub(crate) fn transmit(name: &str, frames: &[Vec<u8>]) {
    let interfaces = pnet_datalink::interfaces();
    let interface = interfaces.iter().find(|interface| interface.name == name).unwrap();
    let channel = pnet_datalink::channel(interface, pnet_datalink::Config::default()).unwrap();
    let pnet_datalink::Channel::Ethernet(mut sender, _) = channel else { panic!("no Ethernet channel") };
    for frame in frames {
        sender.send_to(frame, None).unwrap().unwrap();
    }
}
