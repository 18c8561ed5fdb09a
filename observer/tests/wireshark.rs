//! Wireshark's own reader against `extcap` and the shipped profile: tshark lists the interface, captures through it, and
//! shows what was found beside the packets.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(dead_code, unused_imports, reason = "each test file uses its own part of the support")]

mod live_support;

use live_support::{isolated, skipped};
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXE: &str = env!("CARGO_BIN_EXE_wireproof");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A home with the shipped profile and a folder with the link that Wireshark calls.
fn home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join(".config/wireshark/profiles/wireproof");
    fs::create_dir_all(&profile).unwrap();
    for entry in fs::read_dir(root().join("docs/wireshark/wireproof")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, profile.join(path.file_name().unwrap())).unwrap();
    }
    fs::create_dir(dir.path().join("extcap")).unwrap();
    symlink(EXE, dir.path().join("extcap/wireproof-extcap")).unwrap();
    dir
}

/// tshark as a user would have it; `None` where there is none.
fn tshark(home: &Path, arguments: &[&str]) -> Option<Command> {
    Command::new("tshark").arg("--version").output().ok()?;
    let mut command = Command::new("tshark");
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join(".config")).env_remove("LANG");
    command.args(arguments).stdin(Stdio::null());
    Some(command)
}

fn out(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn the_profile_shows_universe_and_sequence_number_of_sacn() {
    let home = home();
    let show = home.path().join("corpus");
    let made = Command::new(EXE).args(["selftest", "--write"]).arg(&show).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let files = fs::read_dir(&show).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|path| path.to_string_lossy().contains("sacn")).min().expect("a capture of sACN");
    let file = file.to_str().unwrap();
    let Some(mut command) =
        tshark(home.path(), &["-C", "wireproof", "-r", file, "-c", "200", "-T", "fields"])
    else {
        return skipped("the_profile_shows_universe_and_sequence_number_of_sacn", "needs tshark");
    };
    let fields = out(command.args(["-e", "acn.dmx.universe", "-e", "acn.dmx.seq_number"]));
    let shown = fields.lines().filter(|line| line.split('\t').all(|field| field.parse::<u32>().is_ok()));
    assert!(shown.count() > 50, "{file}: {fields}");
    let said = tshark(home.path(), &["-C", "wireproof", "-r", file, "-c", "1"]).unwrap().output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        !said.contains("Error") && !said.contains("unknown"),
        "every file of the profile is read: {said}"
    );
}

#[test]
fn it_answers_in_the_notation_of_wireshark() {
    let home = home();
    let program = home.path().join("extcap/wireproof-extcap");
    let ask = |arguments: &[&str]| {
        let output = Command::new(&program).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, text) = ask(&["--extcap-interfaces", "--extcap-version=4.0"]);
    assert!(code == 0 && text.starts_with("extcap {version="), "{text}");
    assert!(text.contains("interface {value=wireproof-udp}"), "{text}");
    let (code, text) = ask(&["--extcap-interface", "wireproof-udp", "--extcap-dlts"]);
    assert_eq!((code, text.as_str()), (0, "dlt {number=1}{name=EN10MB}{display=Ethernet}\n"));
    let (code, text) = ask(&["--extcap-interface", "wireproof-udp", "--extcap-config"]);
    assert!(code == 0 && text.contains("{call=--rig}") && text.contains("{call=--join}"), "{text}");
    for bad in [
        &["--extcap-interface", "eth0", "--extcap-dlts"][..],
        &["--capture", "--extcap-interface", "wireproof-udp"],
        &[
            "--capture",
            "--extcap-interface",
            "wireproof-udp",
            "--fifo",
            "x",
            "--extcap-capture-filter",
            "udp",
        ],
        &[],
    ] {
        let (code, text) = ask(bad);
        assert!(code == 2 && text.lines().count() == 1, "{bad:?}: {text}");
    }
}

/// Reads the pipe as Wireshark does, until a text came; then it closes the pipe.
fn read_until(fifo: &Path, text: &str) -> Vec<u8> {
    let mut file = fs::File::open(fifo).unwrap();
    let (mut all, mut room) = (Vec::new(), vec![0; 65_536]);
    loop {
        let taken = file.read(&mut room).unwrap();
        assert!(taken > 0, "the capture ended before {text:?}");
        all.extend_from_slice(&room[..taken]);
        if String::from_utf8_lossy(&all).contains(text) {
            return all;
        }
    }
}

#[test]
fn findings_come_with_the_packets_and_a_closed_pipe_ends_the_capture() {
    isolated("findings_come_with_the_packets_and_a_closed_pipe_ends_the_capture", || {
        let home = home();
        let fifo = home.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let arguments = ["--capture", "--extcap-interface", "wireproof-udp", "--fifo"];
        let mut capture = Command::new(home.path().join("extcap/wireproof-extcap"));
        let capture =
            capture.args(arguments).arg(&fifo).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let sender =
            ["send", "--protocol", "sacn", "--universes", "1-2", "--fault", "drop=0.05", "--seed", "3"];
        let mut sender =
            Command::new(EXE).args(sender).args(["--quiet", "--duration", "60s"]).spawn().unwrap();
        let octets = read_until(&fifo, "wireproof: SEQ-LOST");
        let output = capture.wait_with_output().unwrap();
        sender.kill().unwrap();
        sender.wait().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(output.stderr.is_empty(), "closing the pipe is no error: {output:?}");
        let file = home.path().join("read.pcapng");
        fs::write(&file, octets).unwrap();
        let Some(mut command) = tshark(home.path(), &["-r", file.to_str().unwrap(), "-T", "fields"]) else {
            return skipped("findings_come_with_the_packets (tshark)", "needs tshark");
        };
        let comments = out(command.args(["-Y", "frame.comment contains \"SEQ-LOST\"", "-e", "frame.number"]));
        assert!(comments.lines().count() >= 1, "{comments}");
    });
}

#[test]
fn ports_that_no_protocol_has_are_captured_on_the_sockets_where_they_are_named() {
    isolated("ports_that_no_protocol_has_are_captured_on_the_sockets_where_they_are_named", || {
        let home = home();
        let fifo = home.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let arguments =
            ["--capture", "--extcap-interface", "wireproof-udp", "--ports", "6001, 6002", "--fifo"];
        let mut capture = Command::new(home.path().join("extcap/wireproof-extcap"));
        let capture =
            capture.args(arguments).arg(&fifo).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let sender = std::thread::spawn(move || {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            // Until they are listened to; nobody answers before.
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
                stopped.recv_timeout(std::time::Duration::from_millis(20))
            {
                let _ = socket.send_to(b"sent to port 6002", "127.0.0.1:6002");
            }
        });
        let octets = read_until(&fifo, "sent to port 6002");
        drop(stop);
        sender.join().unwrap();
        let output = capture.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(octets[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    });
}

/// What a layout reads out of each datagram: stream, number, place in the frame, octets of data.
fn by_layout(name: &str, file: &Path) -> Vec<String> {
    use wireproof::capture::Item;
    use wireproof_protocols::layout::Layouts;
    use wireproof_protocols::{Decoder, Faults};
    let decoders = Layouts::shipped().unwrap().decoders();
    let decoder =
        decoders.iter().find(|decoder| decoder.protocol().name() == format!("layout:{name}")).unwrap();
    let mut rows = Vec::new();
    wireproof::capture::read_path(file, &mut |item| {
        let Item::Datagram(_, d) = item else { return };
        let mut faults = Faults::default();
        if let Ok(pdu) = decoder.decode(&d, &mut faults) {
            let number = |value: Option<u32>| value.map_or_else(String::new, |n| n.to_string());
            rows.push(format!("{}\t{}\t{}", number(pdu.stream), number(pdu.sequence), pdu.data.len()));
        }
    })
    .unwrap();
    rows
}

#[test]
fn the_dissector_of_a_layout_shows_the_fields_that_the_layout_reads() {
    let test = "the_dissector_of_a_layout_shows_the_fields_that_the_layout_reads";
    let home = home();
    let show = home.path().join("corpus");
    let made = Command::new(EXE).args(["selftest", "--write"]).arg(&show).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    for (layout, [stream, number], like) in [
        ("bigpacket", ["device", "sequence"], "bigpacket"),
        ("artdmx", ["port_address", "sequence"], "artnet"),
    ] {
        let script = home.path().join(format!("{layout}.lua"));
        let made = Command::new(EXE).args(["layouts", "lua", layout, "-o"]).arg(&script).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let files = fs::read_dir(&show).unwrap().map(|entry| entry.unwrap().path());
        let file = files.filter(|path| path.to_string_lossy().contains(like)).min().expect("a capture");
        let load = format!("lua_script:{}", script.display());
        let fields = ["-X", &load, "-r", file.to_str().unwrap(), "-T", "fields"];
        let Some(mut command) = tshark(home.path(), &fields) else { return skipped(test, "needs tshark") };
        let name = |field: &str| format!("wp_{layout}.{field}");
        let chosen =
            ["-Y", &format!("wp_{layout}"), "-e", &name(stream), "-e", &name(number), "-e", &name("data")];
        let output = command.args(chosen).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.to_lowercase().contains("lua"), "{said}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let octets = |hex: &str| hex.len() / 2;
        let rows = text.lines().filter_map(|line| line.rsplit_once('\t'));
        let rows: Vec<String> = rows.map(|(front, data)| format!("{front}\t{}", octets(data))).collect();
        let wanted = by_layout(layout, &file);
        assert!(wanted.len() > 100, "{layout}: {}", wanted.len());
        assert_eq!(rows.len(), wanted.len(), "{layout}");
        assert_eq!(rows, wanted, "{layout}");
    }
}
