//! `send` and `replay` on this host alone: bad input sends nothing, and good input what it says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use std::fs;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use wireproof_fixture::{case, write_pcap};

/// A socket that stands for the device, and its address.
fn device() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

/// Nothing has arrived; loopback delivers before the sender's call returns.
fn is_silent(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).unwrap();
    let silent = socket.recv(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    socket.set_nonblocking(false).unwrap();
    silent
}

fn received(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 65_536];
    (0..count).map(|_| socket.recv(&mut buffer).map(|n| buffer[..n].to_vec()).unwrap()).collect()
}

const LONG: &str = "0123456789012345678901234567890123456789012345678901234567890123";
const CUT: &str = "01234567890123456789012345678901234567890123456789012345678901\u{e9}";

/// Options of `send`, exit code, and what the line holds: field, value and limit.
const ROWS: &[(&[&str], i32, &str)] = &[
    (&["sacn", "--first-universe", "0"], 2, "universe 0 is not 1..63999"),
    (&["sacn", "--first-universe", "64000"], 2, "universe 64000 is not 1..63999"),
    (&["sacn", "--universes", "0-3"], 2, "universe 0 is not 1..63999"),
    (&["sacn", "--universes", "63990-64000"], 2, "universe 64000 is not 1..63999"),
    (&["sacn", "--universes", "70000"], 2, "universe 70000 is not 1..63999"),
    (&["sacn", "--universes", "9-3"], 2, "9-3 is no row of universes"),
    (&["sacn", "--priority", "201"], 2, "priority 201 is not 0..200"),
    (&["sacn", "--priority", "65736"], 2, "priority 65736 is not 0..200"),
    (&["sacn", "--name", LONG], 2, "source name octets 64 is not at most 63"),
    (&["sacn", "--name", CUT], 2, "a cut after 63 would fall inside a character"),
    (&["sacn", "--universes", "1-17", "--frame-bytes", "8671"], 2, "frame octets 8671 is not 1..8670"),
    (&["sacn", "--first-universe", "63999", "--pixels", "171"], 2, "frame octets 513 is not at most 510"),
    (&["sacn", "--slots", "513"], 2, "slots 513 is not 1..512"),
    (&["sacn", "--slots", "0"], 2, "slots 0 is not 1..65535"),
    (&["sacn", "--sync", "64000"], 2, "sync address 64000 is not 1..63999"),
    (&["sacn", "--cid", "6b0aee41"], 2, "6b0aee41 is no UUID"),
    (&["artnet", "--slots", "511"], 2, "slots 511 is not even"),
    (&["artnet", "--first-universe", "32768"], 2, "port-address 32768 is not 0..32767"),
    (&["ddp", "--chunk", "1500"], 2, "1538 is not at most 1500"),
    (&["bigpacket", "--chunk", "9000"], 2, "is not at most 1500"),
    (&["bigpacket", "--chunk", "65535", "--fragment"], 2, "is not at most 65507"),
    (&["ddp", "--frame-bytes", "0"], 2, "frame octets 0 is not 1..16777216"),
    (&["ddp", "--pixels", "18446744073709551615"], 2, "is not 1..16777216"),
    (&["ddp", "--id", "256"], 2, "id 256 is not 1..255"),
    (&["ddp", "--rate", "0"], 2, "rate 0 is not 0.001..10000 Hz"),
    (&["ddp", "--rate", "nan"], 2, "rate nan is not"),
    (&["ddp", "--frames", "0"], 2, "0 is not in 1.."),
    (&["ddp", "--duration", "0s"], 2, "0s is no time"),
    (&["ddp", "--pattern", "rainbow"], 2, "rainbow is no pattern"),
    (&["ddp", "--pattern", "solid:256"], 2, "level 256 is not 0..255"),
    (&["ddp", "--fault", "drop=2"], 2, "fault drop=2 is not 0..1"),
    (&["ddp", "--file", "uneven.bin"], 2, "file octets 100 is not a multiple of the frame's 8640"),
    (&["ddp", "--file", "absent.bin"], 6, "absent.bin\" cannot be read"),
    (&["ddp", "--priority", "100"], 2, "--priority means nothing in ddp"),
    (&["sacn", "--chunk", "100"], 2, "--chunk means nothing in sacn"),
    (&["ddp", "--interface", "none7"], 6, "no network interface \"none7\""),
    (&["ddp", "--truth", "same", "-o", "same"], 2, "--truth and -o are both same"),
];

#[test]
fn bad_input_is_one_line_with_field_value_and_limit_and_sends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("uneven.bin"), [0; 100]).unwrap();
    let (socket, address) = device();
    for (arguments, expected, words) in ROWS {
        let mut command = wireproof(dir.path());
        command.args(["send", "--to", &address, "--protocol"]).args(*arguments);
        if !arguments.iter().any(|a| ["--frames", "--duration"].contains(a)) {
            command.args(["--frames", "2"]);
        }
        let (code, out, err) = outcome(&mut command);
        assert_eq!(code, *expected, "{arguments:?}: {err}");
        assert_eq!((out.as_str(), err.lines().count()), ("", 1), "{arguments:?}: {err}");
        assert!(err.starts_with("wireproof: ") && err.contains(words), "{arguments:?}: {err}");
        assert!(is_silent(&socket), "{arguments:?} sent something");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was written");
}

/// A layout without a port, whose fields leave little room.
const NARROW: &str = r#"
name = "narrow"
header_len = 16
payload_unit = 3
[match]
any_port = true
[[field]]
name = "magic"
at = 0
role = "magic"
const_hex = "4e 41 52 4f"
[[field]]
name = "output"
at = 4
size = 1
role = "stream_id"
min = 5
max = 9
[[field]]
name = "index"
at = 5
size = 1
role = "packet_index"
max = 3
[[field]]
name = "offset"
at = 6
size = 2
role = "byte_offset"
scale = 3
[[field]]
name = "name"
at = 8
size = 8
role = "sender_name"
"#;

/// Options of `send --layout`, exit code, and what the line holds.
const LAYOUT_ROWS: &[(&[&str], i32, &str)] = &[
    (&["narrow.toml"], 2, "index 4 is not 0..3: nothing was sent"),
    (&["narrow.toml", "--pixels", "20", "--id", "4"], 2, "output 4 is not 5..9"),
    (
        &["narrow.toml", "--pixels", "20", "--chunk", "20", "--id", "5"],
        2,
        "offset 20 is not a multiple of its scale",
    ),
    (
        &["narrow.toml", "--pixels", "20", "--name", "too-long-a-name"],
        2,
        "source name octets 15 is not at most 8",
    ),
    (
        &["narrow.toml", "--cid", "6b0aee41-0000-4000-8000-000000000001"],
        2,
        "--cid means nothing in layout:narrow",
    ),
    (&["narrow.toml", "--universes", "1-4"], 2, "--universes means nothing in layout:narrow"),
    (&["tpm2net", "--id", "1"], 2, "--id means nothing in layout:tpm2net"),
    (&["tpm2net", "--chunk", "1500"], 2, "is not at most 1500"),
    (&["artdmx", "--universes", "32760-32768"], 2, "port_address 32768 is not 0..32767"),
    (&["artdmx", "--chunk", "513"], 2, "chunk octets 513 is not 1..512"),
    (&["artdmx", "--priority", "1"], 2, "--priority means nothing in layout:artdmx"),
    (&["artdmx", "--protocol", "ddp"], 2, "cannot be used with"),
    (&["absent.toml"], 6, "absent.toml cannot be read"),
    (&["broken.toml"], 2, "broken.toml, line 1: layout, header_len: is 0"),
];

#[test]
fn what_a_layout_has_no_room_for_is_one_line_and_sends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("narrow.toml"), NARROW).unwrap();
    let broken = "header_len = 0\nname = \"b\"\nmatch = { udp_dst = [1] }\n";
    fs::write(dir.path().join("broken.toml"), broken).unwrap();
    let (socket, address) = device();
    for (arguments, expected, words) in LAYOUT_ROWS {
        let mut command = wireproof(dir.path());
        command.args(["send", "--to", &address, "--frames", "2", "--layout"]).args(*arguments);
        let (code, out, err) = outcome(&mut command);
        assert_eq!(code, *expected, "{arguments:?}: {err}");
        assert_eq!((out.as_str(), err.lines().count()), ("", 1), "{arguments:?}: {err}");
        assert!(err.starts_with("wireproof: ") && err.contains(words), "{arguments:?}: {err}");
        assert!(is_silent(&socket), "{arguments:?} sent something");
    }
    let (code, _, err) =
        outcome(wireproof(dir.path()).args(["send", "--layout", "narrow.toml", "--to", "127.0.0.1"]));
    assert!(
        code == 2 && err.contains("layout:narrow names no port to send to: give --to ADDR:PORT"),
        "{err}"
    );
    let (code, _, err) = outcome(wireproof(dir.path()).args(["send", "--to", &address]));
    assert!(code == 2 && err.contains("--protocol"), "{err}");
}

#[test]
fn frames_of_a_file_leave_by_a_layout_as_it_declares() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("narrow.toml"), NARROW).unwrap();
    fs::write(dir.path().join("frames.bin"), (0..30).collect::<Vec<u8>>()).unwrap();
    let (socket, address) = device();
    let mut command = wireproof(dir.path());
    command.args([
        "send",
        "--layout",
        "narrow.toml",
        "--to",
        &address,
        "--file",
        "frames.bin",
        "--frame-bytes",
        "15",
    ]);
    command.args([
        "--chunk", "9", "--name", "abc", "--frames", "2", "--rate", "100", "--format", "json", "--quiet",
    ]);
    let (code, out, err) = outcome(&mut command);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let header = |index: u8, offset: u8| [b"NARO\x05", &[index, 0, offset][..], b"abc\0\0\0\0\0"].concat();
    let want: Vec<Vec<u8>> = [(0, 0, 0..9), (1, 3, 9..15), (0, 0, 15..24), (1, 3, 24..30)]
        .into_iter()
        .map(|(index, offset, data)| [header(index, offset), data.collect()].concat())
        .collect();
    assert_eq!(received(&socket, 4), want);
    let account: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&account["protocol"], &account["datagrams"]), (&"layout:narrow".into(), &4.into()), "{out}");
}

#[test]
fn frames_of_a_file_are_sent_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let frames: Vec<u8> = (0..60).collect();
    fs::write(dir.path().join("frames.bin"), &frames).unwrap();
    let (socket, address) = device();
    let mut command = wireproof(dir.path());
    command.args([
        "send",
        "--protocol",
        "ddp",
        "--to",
        &address,
        "--file",
        "frames.bin",
        "--frame-bytes",
        "20",
    ]);
    let (code, out, err) =
        outcome(command.args(["--frames", "4", "--rate", "100", "--quiet", "--format", "json"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let shown: Vec<u8> = received(&socket, 4).iter().flat_map(|d| d[10..].to_vec()).collect();
    assert_eq!(shown, [&frames[..], &frames[..20]].concat());
    assert!(is_silent(&socket));
    let account: serde_json::Value = serde_json::from_str(&out).unwrap();
    let counts = ["frames", "datagrams", "octets", "send_errors"].map(|key| account[key].as_u64().unwrap());
    assert_eq!(counts, [4, 4, 120, 0], "{out}");
}

#[test]
fn the_account_for_people_says_what_was_sent_and_how_well() {
    let dir = tempfile::tempdir().unwrap();
    let (_socket, address) = device();
    let mut command = wireproof(dir.path());
    command.args(["send", "--protocol", "sacn", "--to", &address, "--universes", "1-2", "--frames", "3"]);
    let (code, out, err) = outcome(&mut command);
    assert_eq!(code, 0, "{err}");
    let labels = ["sent", "source", "frames", "datagrams", "beside data", "pacing error", "CPU", "GSO"];
    let lines: Vec<&str> = out.lines().collect();
    assert!(labels.iter().zip(&lines).all(|(label, line)| line.starts_with(label)), "{out}");
    assert!(
        out.contains("p99") && out.contains("3 of 1020 octets at 40 Hz") && out.contains("6 goodbyes"),
        "{out}"
    );
    assert!(err.contains(&format!("sending sacn to {address}")) && err.contains("CID "), "{err}");
}

/// The first datagrams of a planted case as a capture, and their payloads.
fn short(folder: &Path, name: &str, count: usize) -> Vec<Vec<u8>> {
    let mut planted = (case(name).unwrap().build)(1).unwrap();
    planted.arrivals.truncate(count);
    let mut octets = Vec::new();
    write_pcap(&planted, &mut octets).unwrap();
    fs::write(folder.join("short.pcap"), octets).unwrap();
    planted.arrivals.into_iter().map(|a| a.payload).collect()
}

#[test]
fn a_replay_sends_every_payload_untouched_in_order_as_often_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let expected = short(dir.path(), "sacn-clean-12", 36);
    let (socket, address) = device();
    for rounds in ["1", "3"] {
        let mut command = wireproof(dir.path());
        command.args(["replay", "short.pcap", "--to", &address, "--loop", rounds, "--format", "json"]);
        let (code, out, err) = outcome(&mut command);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        let times = rounds.parse().unwrap();
        assert!(received(&socket, 36 * times) == vec![&expected[..]; times].concat());
        let account: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(account["datagrams"].as_u64(), Some(36 * times as u64), "{out}");
        assert_eq!(
            (account["rounds"].as_u64(), account["complete"].as_bool()),
            (Some(times as u64), Some(true))
        );
    }
    assert!(is_silent(&socket));
}

#[test]
fn only_what_a_rule_names_is_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let expected = short(dir.path(), "ddp-clean-6", 12);
    let planted = (case("ddp-clean-6").unwrap().build)(1).unwrap();
    let old = planted.arrivals[0].destination.ip().to_string();
    let (socket, address) = device();
    let run = |rule: &str| {
        let mut command = wireproof(dir.path());
        outcome(command.args(["replay", "short.pcap", "--speed", "0", "--map", rule]))
    };
    let (code, out, err) = run(&format!("{old}={address}"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(received(&socket, 12) == expected);
    let (code, out, err) = run(&format!("192.0.2.77={address}"));
    assert_eq!(code, 6, "{out}");
    assert!(err.contains("holds no datagram for an address that --map names"), "{err}");
    assert!(out.contains("left out      12 not named by --map"), "{out}");
    assert!(is_silent(&socket));
}

#[test]
fn a_capture_that_cannot_be_replayed_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    short(dir.path(), "ddp-clean-6", 12);
    planted(dir.path(), "sacn-drop-one");
    fs::write(dir.path().join("text.txt"), "no capture\n").unwrap();
    let rows: [(&[&str], i32, &str); 9] = [
        (&["absent.pcap"], 6, "no such file"),
        (&["text.txt"], 6, "not a capture"),
        (&["-"], 6, "is empty"),
        (&["-", "--loop", "2"], 2, "--loop cannot read standard input again"),
        (&["short.pcap", "--to", "lamp"], 2, "lamp is no address"),
        (&["short.pcap", "--map", "10.0.0.1"], 2, "10.0.0.1 is no rule"),
        (&["short.pcap", "--speed", "-1"], 2, "unexpected argument '-1'"),
        (&["short.pcap", "--speed", "1e9"], 2, "1e9 is no speed"),
        (&["short.pcap", "-o", "short.pcap"], 2, "input and output at once"),
    ];
    for (arguments, expected, words) in rows {
        let (code, _, err) = outcome(wireproof(dir.path()).arg("replay").args(arguments).write_stdin(""));
        assert_eq!((code, err.lines().count()), (expected, 1), "{arguments:?}: {err}");
        assert!(err.starts_with("wireproof: ") && err.contains(words), "{arguments:?}: {err}");
    }
}

#[test]
fn a_damaged_capture_is_replayed_up_to_the_damage_and_said_so() {
    let dir = tempfile::tempdir().unwrap();
    let expected = short(dir.path(), "ddp-clean-6", 12);
    let path = dir.path().join("short.pcap");
    let octets = fs::read(&path).unwrap();
    fs::write(&path, &octets[..octets.len() - 1]).unwrap();
    let (socket, address) = device();
    let (code, _, err) = outcome(wireproof(dir.path()).args(["replay", "short.pcap", "--to", &address]));
    assert_eq!((code, err.lines().count()), (6, 1), "{err}");
    assert!(err.contains("is damaged, everything before it was replayed"), "{err}");
    assert!(received(&socket, 11) == expected[..11]);
    assert!(is_silent(&socket));
}
