//! Each stream of a capture against the independent checker: datagrams, numbers, sessions, rate, contents.

use super::{Ledger, Run, counts_of};
use serde_json::Value;
use std::collections::BTreeSet;
use wireproof_protocols::Protocol;
use wireproof_protocols::verify::StreamAccount;

/// A file-us stamp tells no less than this apart, ns; the median of an even number of intervals may be either
/// of the two in the middle.
const RESOLUTION: f64 = 1_000.0;

/// Where the checker's plain counter reading differs from what the capture's octets say.
struct Reading {
    file: &'static str,
    restarts: u64,
    duplicates: u64,
}

const READINGS: [Reading; 3] = [
    // Six source ports, each used once and never again: 64988, 52104, 60171, 58700, 60213, 60457.
    Reading { file: "captures/artnet_nodelib_seqoff.pcapng", restarts: 5, duplicates: 0 },
    // Eight runs of one ArtDmx and one ArtSync with the number 1, each from a source port of its own.
    Reading { file: "captures/artnet_malformed_negative.pcap", restarts: 14, duplicates: 0 },
    // The KiNET counter never moves: `not 99 duplicates`.
    Reading { file: "third_party_senders/ola_e131_artnet_kinet.pcap", restarts: 0, duplicates: 0 },
];

/// All streams of one capture.
pub(crate) fn check(run: &Run, ledger: &mut Ledger) {
    let listed = run.expected("streams").as_array().unwrap();
    let mut found = BTreeSet::new();
    for expected in listed {
        let name = expected["stream"].as_str().unwrap();
        let matching: Vec<usize> =
            (0..run.account.streams.len()).filter(|i| is(&run.account.streams[*i], name)).collect();
        ledger.equal(run, &format!("streams that are `{name}`"), 1, matching.len());
        let Some(index) = matching.first() else { continue };
        found.insert(*index);
        stream(run, expected, name, &run.account.streams[*index], ledger);
    }
    for (index, extra) in run.account.streams.iter().enumerate().filter(|(i, _)| !found.contains(i)) {
        // The checker counts ArtNzs and follows no stream of it.
        let text =
            || format!("stream {index} is {} {} {}", extra.protocol.name(), extra.kind, extra.stream_id);
        ledger.hold(run, extra.kind == "ArtNzs", || format!("{}: the checker has no such stream", text()));
    }
    totals(run, ledger);
}

/// The manifest's names: protocol, source address, then what tells its streams apart.
fn is(stream: &StreamAccount, name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').collect();
    let [kind, ip, rest @ ..] = words.as_slice() else { return false };
    let id = |word: &str| word.parse() == Ok(stream.stream_id);
    let cid = |word: &str| stream.sender.as_ref().is_some_and(|s| s.starts_with(word));
    let rest_is = match (*kind, stream.protocol, stream.kind, rest) {
        ("sacn", Protocol::Sacn, "data", [c, u]) | ("sacn-sync", Protocol::Sacn, "sync", [c, u]) => {
            cid(c) && id(u)
        }
        ("artnet", Protocol::ArtNet, "ArtDmx", [address, part]) => {
            id(address) && part.parse() == Ok(stream.part)
        }
        ("artsync", Protocol::ArtNet, "ArtSync", ["0", "0"]) => true,
        ("ddp", Protocol::Ddp, "display", [port, i]) => id(i) && port.parse() == Ok(stream.source.port()),
        ("kinet", Protocol::Kinet, kind, [k, _]) => kind == *k,
        _ => false,
    };
    rest_is && stream.source.ip().to_string() == *ip
}

fn stream(run: &Run, expected: &Value, name: &str, got: &StreamAccount, ledger: &mut Ledger) {
    let what = |field: &str| format!("`{name}` {field}");
    let by_frame = expected["unit"] == "frames";
    let counted = if by_frame { got.frames.seen } else { got.datagrams };
    let unit = if by_frame { "frames" } else { "datagrams" };
    ledger.equal(run, &what(unit), expected["packets"].as_u64(), Some(counted));
    if run.truth("lost").is_none() && !run.naive() {
        ledger.equal(run, &what("lost"), expected["lost"].as_u64(), Some(got.sequence.lost));
        ledger.equal(run, &what("gaps"), expected["gap_events"].as_u64(), Some(got.sequence.gaps));
    }
    ledger.hold(run, got.sequence.lost_min <= got.sequence.lost, || {
        format!("`{name}`: lost_min {} is above lost {}", got.sequence.lost_min, got.sequence.lost)
    });
    let o = got.owners;
    let owned = o.sender + o.wire + o.observer + o.unknown;
    ledger.equal(run, &what("owners of lost"), got.sequence.lost, owned);
    let began = got.sequence.restarts + 1;
    ledger.hold(run, got.protocol == Protocol::Sacn || got.sessions == began, || {
        format!("`{name}`: {} sessions and {} restarts", got.sessions, got.sequence.restarts)
    });
    if got.protocol == Protocol::Sacn {
        ledger.equal(run, &what("sessions"), expected["sessions"].as_u64(), Some(got.sessions));
    }
    time(run, expected, name, got, ledger);
    contents(run, expected, name, got, ledger);
    frames(run, &expected["ddp_frames"], got, ledger);
}

/// The checker measures from the first to the last datagram, the account only inside sessions.
fn time(run: &Run, expected: &Value, name: &str, got: &StreamAccount, ledger: &mut Ledger) {
    let by_port = got.protocol == Protocol::ArtNet && got.sessions > 1;
    let output = got.output.map(|i| &run.account.outputs[i]);
    let (rate, median) = match output {
        Some(output) if expected["unit"] == "frames" => (output.rate_mhz, output.frame_interval_ns.p50),
        _ => (got.rate_mhz, got.interval_ns.p50),
    };
    if let (Some(hz), false) = (expected["hz"].as_f64(), by_port) {
        ledger.near(run, &format!("`{name}` rate_hz"), hz, rate as f64 / 1e3, 0.000_6);
    }
    if let (Some(ms), false) = (expected["interval_ms"]["p50"].as_f64(), by_port) {
        ledger.near(run, &format!("`{name}` interval p50 ns"), ms * 1e6, median as f64, RESOLUTION);
    }
}

fn contents(run: &Run, expected: &Value, name: &str, got: &StreamAccount, ledger: &mut Ledger) {
    let what = |field: &str| format!("`{name}` {field}");
    for (field, seen) in [
        ("priorities", numbers(&got.priorities)),
        ("start_codes", numbers(&got.start_codes)),
        ("sync_addresses", numbers(&got.sync_addresses)),
    ] {
        if expected[field].is_object() {
            let listed = counts_of(&expected[field]).into_keys().filter_map(|n| n.parse::<u32>().ok());
            let listed: BTreeSet<u32> = listed.filter(|n| field != "sync_addresses" || *n != 0).collect();
            ledger.equal(run, &what(field), listed, seen);
        }
    }
    if let Some(names) = expected["source_names"].as_object() {
        let got = got.name.clone().unwrap_or_default();
        ledger.hold(run, names.contains_key(&got), || format!("`{name}` is named {got:?}, not {names:?}"));
    }
    let octets = ["slots", "lengths"].iter().find(|field| expected[**field].is_object());
    if let Some(field) = octets {
        // -1 slots: a datagram that announces no property at all, not even a start code.
        let listed = counts_of(&expected[*field]).into_keys().filter_map(|n| n.parse::<i64>().ok());
        let listed: BTreeSet<u32> = listed.map(|n| u32::try_from(n).unwrap_or(0)).collect();
        let ends = (*listed.first().unwrap(), *listed.last().unwrap());
        ledger.equal(run, &what("data octets"), ends, got.data_octets);
    }
}

fn numbers<T: Copy + Into<u32>>(list: &[T]) -> BTreeSet<u32> {
    list.iter().map(|n| (*n).into()).collect()
}

/// The account leaves a frame out that the start of the capture may have cut; the checker counts it.
fn frames(run: &Run, expected: &Value, got: &StreamAccount, ledger: &mut Ledger) {
    let Some(frames) = expected["frames"].as_u64() else { return };
    let cut = u64::from(run.truth("edge").is_some_and(|edge| edge > 0));
    ledger.equal(run, "DDP frames", frames, got.frames.seen + cut);
    let pushed = expected["pushed"].as_u64();
    ledger.equal(run, "DDP frames pushed", pushed, Some(got.frames.seen + cut - got.frames.unterminated));
    let sum = got.frames.complete + got.frames.torn + got.frames.unterminated;
    ledger.equal(run, "complete + torn + unterminated", got.frames.seen, sum);
    if !run.naive() {
        let incomplete = expected["incomplete_frames"].as_u64();
        let holes = got.frames.torn + got.frames.unterminated + cut;
        ledger.equal(run, "DDP frames incomplete", incomplete, Some(holes));
    }
}

/// Sums over all streams; `truth` stands above `expected`.
fn totals(run: &Run, ledger: &mut Ledger) {
    let streams = &run.account.streams;
    let sum = |of: &dyn Fn(&StreamAccount) -> u64| streams.iter().map(of).sum::<u64>();
    let counted = |field: &str| run.expected("totals")[field].as_u64().unwrap_or(0);
    let reading = READINGS.iter().find(|r| r.file == run.file);
    if let Some(lost) = run.truth("lost") {
        ledger.equal(run, "lost", lost, sum(&|s| s.sequence.lost));
    }
    ledger.equal(run, "SEQ-LOST findings", sum(&|s| s.sequence.lost_min), run.count_of("SEQ-LOST"));
    let edge = run.truth("edge").unwrap_or(0);
    ledger.equal(run, "edge", edge, sum(&|s| s.sequence.edge));
    let unterminated = run.truth("lost_push").unwrap_or(0);
    ledger.equal(run, "unterminated frames", unterminated, sum(&|s| s.frames.unterminated));
    let restarts = run.truth("restarts").or(reading.map(|r| r.restarts)).unwrap_or(counted("restart"));
    ledger.equal(run, "restarts", restarts, sum(&|s| s.sequence.restarts));
    if !run.naive() {
        let repeated = counted("dup_exact") + counted("seq_repeat");
        let duplicates = reading.map_or(repeated, |r| r.duplicates);
        ledger.equal(run, "duplicates", duplicates, sum(&|s| s.sequence.duplicates));
        ledger.equal(run, "late", counted("late"), sum(&|s| s.sequence.late));
        ledger.equal(run, "old", counted("dup_old"), sum(&|s| s.sequence.old));
    }
}
