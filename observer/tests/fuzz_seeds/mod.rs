//! The seeds of the fuzzers, made by the project's own code: small, and whole in what they are.

use crate::capture_support::*;
use crate::harness::decode::PORTS;
use wireproof::capture::{Item, read_stream};
use wireproof::rig_file;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::manifest::Manifest;
use wireproof_matrices::plan::{Lock, TEMPLATES};
use wireproof_protocols::verify::{Options, Verifier};
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::file_bytes;
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::v1::FieldMap;
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Writer, places};
use wireproof_reports::tape::{Encoder, Sealer, Totals};
use wireproof_reports::{Format, Observer, Source, Style, Summary, render};

/// Target, file name, octets.
type Seed = (&'static str, String, Vec<u8>);

const GOLDEN: [(u8, &str); 4] = [
    (0, include_str!("../../../protocols/vectors/sacn/golden.json")),
    (1, include_str!("../../../protocols/vectors/ddp/golden.json")),
    (2, include_str!("../../../protocols/vectors/artnet/golden.json")),
    (3, include_str!("../../../protocols/vectors/bigpacket/golden.json")),
];
/// Golden vectors of each protocol that become seeds.
const EACH: usize = 12;

/// Every seed.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    seeds.extend(datagrams());
    seeds.extend(captures());
    seeds.extend(texts());
    seeds.extend(rings());
    seeds.extend(requests());
    seeds.extend(layouts());
    seeds
}

fn layouts() -> Vec<Seed> {
    let shipped = wireproof_protocols::layout::SHIPPED.iter();
    let broken = seed("layout", "broken", "name = \"x\"\nport = \nfield = [");
    shipped.map(|shipped| seed("layout", shipped.name, shipped.text)).chain([broken]).collect()
}

fn seed(target: &'static str, name: impl Into<String>, octets: impl Into<Vec<u8>>) -> Seed {
    (target, name.into(), octets.into())
}

/// Golden datagrams with the place of their port.
fn vectors() -> Vec<(u8, Vec<u8>)> {
    let octet = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let unhex = |hex: &str| (0..hex.len() / 2).map(|at| octet(hex, 2 * at)).collect();
    let mut all = Vec::new();
    for (port, text) in GOLDEN {
        let list: serde_json::Value = serde_json::from_str(text).unwrap();
        let vectors = list.as_array().unwrap();
        let step = (vectors.len() / EACH).max(1);
        all.extend(vectors.iter().step_by(step).map(|v| (port, unhex(v["hex"].as_str().unwrap()))));
    }
    all
}

fn datagrams() -> Vec<Seed> {
    let vectors = vectors();
    let mut seeds = Vec::new();
    for (number, (port, octets)) in vectors.iter().enumerate() {
        seeds.push(seed("decode", format!("golden-{number:02}"), [&[*port, 0][..], octets].concat()));
    }
    for port in 0..PORTS.len() as u8 - 1 {
        let own = vectors.iter().filter(|vector| vector.0 == port).map(|vector| &vector.1);
        let script: Vec<u8> = own.flat_map(|octets| step(port, octets)).collect();
        seeds.push(seed("verify", format!("port-{port}"), [&[port][..], &script].concat()));
    }
    seeds
}

/// A datagram of the verifier's target, 25 ms after the one before.
fn step(port: u8, octets: &[u8]) -> Vec<u8> {
    let octets = &octets[..octets.len().min(1_400)];
    let (time, length) = (2_500u16.to_le_bytes(), (octets.len() as u16).to_le_bytes());
    [&[0x1f, port, 1][..], &time, &length, octets].concat()
}

/// Small captures of every format, order and link type that the reader knows.
fn captures() -> Vec<Seed> {
    let (little, big) = (Order::Little, Order::Big);
    let four = udp4(&pattern(40));
    let tagged = ethernet(0x88a8, &[&[0, 5, 0x81, 0, 0, 6, 8, 0][..], &four].concat());
    let six = ipv6(0, &[&[17, 0][..], &[0; 6], &udp(&SOURCE6, &DESTINATION6, b"six")].concat());
    let parts = fragments4(9, &pattern(200), 64);
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let blocks = |order: Order| {
        let interface = interface(order, 1, 96, &option(order, 9, &[9]));
        let packet = enhanced(order, 0, 3, &tagged, &option(order, 1, b"note"));
        [section(order), interface, packet, statistics(order, 30, 4, Some((1, 2)))].concat()
    };
    let plain = [
        ("raw", raw(&[&four, &six])),
        ("fragments", raw(&parts)),
        ("tagged", pcap(little, KUZNETZOV, 1, &[(1, 2, &tagged, 99)])),
        ("big", pcap(big, NANO, 1, &[(1, 2, &tagged, 99)])),
        ("blocks", blocks(little)),
        ("blocks-big", [blocks(big), blocks(little)].concat()),
    ];
    let mut seeds = Vec::new();
    for (name, octets) in &plain {
        seeds.push(seed("packed", format!("{name}.gz"), gzip(octets)));
        seeds.push(seed("packed", format!("{name}.zst"), zst(octets)));
    }
    seeds.extend(plain.into_iter().map(|(name, octets)| seed("capture", name, octets)));
    seeds.push(seed("capture", "golden", GOLDEN_CAPTURE));
    seeds.push(seed("tape", "golden", tape()));
    seeds
}

const GOLDEN_CAPTURE: &[u8] = include_bytes!("../../testdata/golden.pcap");

/// The tape of the golden capture.
fn tape() -> Vec<u8> {
    let (mut verifier, mut encoder) = (Verifier::new(Options::default()), Encoder::with_digests());
    let (mut slots, mut first) = (Vec::new(), None);
    read_stream("golden", GOLDEN_CAPTURE, &mut |item| {
        if let Item::Datagram(arrival, datagram) = item {
            first.get_or_insert(arrival.at.0);
            match verifier.on_datagram_noted(arrival, &datagram) {
                Some(noted) => {
                    let faults = verifier.faults().as_slice();
                    encoder.datagram(arrival, &datagram, &noted, faults, &mut slots);
                }
                None => encoder.other(arrival, true, &mut slots),
            }
        }
    })
    .unwrap();
    encoder.finish(&mut slots);
    let (mut out, mut sealer) = (Sealer::header(first.unwrap_or_default()), Sealer::default());
    sealer.seal(&slots, &mut out);
    sealer.end(&Totals { datagrams: encoder.datagrams, ..Totals::default() }, &mut out);
    out
}

fn summary() -> Summary {
    let mut verifier = Verifier::new(Options::default());
    read_stream("golden", GOLDEN_CAPTURE, &mut |item| {
        if let Item::Datagram(arrival, datagram) = item {
            verifier.on_datagram(arrival, &datagram);
        }
    })
    .unwrap();
    Summary::new(&verifier.finish(), Source::default(), Observer::default())
}

fn texts() -> Vec<Seed> {
    let mut json = Vec::new();
    render(&summary(), Format::Json, Style { color: false, width: 80 }, &mut json).unwrap();
    let rig = "[[output]]\nname = \"wall\"\nprotocol = \"sacn\"\nsource = \"10.0.0.5\"\nstreams = \"1-4,9\"\n\
               datagrams_per_frame = 5\nrate_hz = 40.0\nrate_tolerance_percent = 2.5\nsync = 7\n\n\
               [severity]\n\"TIME-GAP\" = \"violation\"\n";
    assert!(rig_file::parse("seed", rig).is_ok());
    let device = "[[output]]\nname = \"wall\"\nprotocol = \"artnet\"\nto = [\"10.0.0.5\", \"10.0.0.6:7000\"]\n\
                  pixels = 340\nchunk = 510\n\n[[fault]]\nkind = \"burst\"\nframe = [120, \"300-310\"]\n";
    let plan = TEMPLATES.iter().map(|template| (template.name, template.with(&[])));
    let mut seeds: Vec<Seed> = plan
        .filter(|(name, _)| ["drain", "ladder"].contains(name))
        .map(|(n, t)| seed("plan", n, t))
        .collect();
    let lock = Lock::freeze(&TEMPLATES[0].with(&[])).unwrap().text().unwrap();
    let manifest = Manifest::parse(format!("{}  plan.lock\n", Digest::of(b"x")).as_bytes());
    seeds.extend([
        seed("plan", "lock", lock),
        seed("rig", "rig", rig),
        seed("rig", "device", device),
        seed("record", "summary", json),
        seed("record", "bench", include_bytes!("../../../reports/tests/compare/bench.json").as_slice()),
        seed(
            "record",
            "plain",
            r#"{"schema":"wireproof.order/1","seed":7,"strata":[],"blocks":[["a","b"]]}"#,
        ),
        seed("bundle", "manifest", manifest.map(|m| m.render()).unwrap_or_default()),
        seed("bundle", "budgets", "schema = 1\n[[budget]]\nmetric = \"p95\"\nceiling = \"20ms\"\n"),
        seed("words", "observe", "observe\n--join\n1-12,40\n--duration\n90s\n-w\nx.pcapng\n--rotate\n1GiB\n"),
        seed("words", "device", "device\n--fault\nburst:count=3,every=60\n--seed\n7\n"),
        seed("words", "replay", "replay\nx.pcap\n--map\n10.0.0.5=10.0.0.9\n--speed\n2\n"),
        seed("words", "control", "profiler 1 lease_ms=500"),
        seed("words", "disturb", "disturb us=7 frames=2"),
    ]);
    seeds
}

/// Rings with frames, one of them abandoned, and records between.
fn rings() -> Vec<Seed> {
    let memory = HeapWords::new((file_bytes(64) / 8) as usize);
    let mut writer = Writer::start(&memory, &Identity::default(), 64, 0x66AA_0002).unwrap();
    for id in 1..=6u32 {
        let mut batch = writer.frame(id);
        (0..u64::from(id)).for_each(|n| _ = batch.event(&Event::span(n as u16, 1_000 * n, 1_000 * n + 17)));
        if id != 4 {
            batch.complete(u64::from(id) * 64_000, u64::from(id) * 64_000 + 5_000);
        }
    }
    let plain = snapshot::take(&memory).unwrap().into_octets();
    let sealed = snapshot::take(&memory).unwrap().seal(&Times::default(), 3);
    let mut seeds = vec![seed("ring", "plain", [&[0][..], &plain].concat())];
    for how in [1, 3, 5, 7] {
        seeds.push(seed("ring", format!("sealed-{how}"), [&[how][..], &sealed].concat()));
    }
    let map = r#"{"magic":"PFXRING1","header":64,"record":48,"visible":40,"generation":24,"seq":32,"capacity":16,"fields":{
"start":[0,8],"end":[8,8],"frame":[16,8],"stage":[24,2],"device":[26,2],"proto":[28,2],"flags":[30,2],"aux":[32,4]},
"commit":36,"commit_bias":1,"complete_stage":16,"no_frame":0}"#;
    assert!(serde_json::from_str::<FieldMap>(map).unwrap().check().is_ok());
    let switch = "    engine-412   [001] d..2.  5021.004311: sched_switch: prev_comm=engine prev_pid=412 prev_prio=120 \
                  prev_state=R+ ==> next_comm=kworker/1:2 next_pid=88 next_prio=120\n";
    let lines: String =
        [(1, "pacing timer"), (2, "control")].map(|(id, place)| places::line(id, place)).concat();
    seeds.extend([
        seed("places", "map", map),
        seed("places", "switch", switch),
        seed("places", "places", lines),
    ]);
    seeds
}

fn requests() -> Vec<Seed> {
    let get =
        |path: &str, fields: &str| format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n{fields}\r\n");
    let said = |head: &str, body: &str| format!("HTTP/1.1 {head}\r\n\r\n{body}");
    vec![
        seed("service", "ring", get("/v1/ring/raw", "Range: bytes=64-\r\nIf-Range: \"1-2-3\"\r\n")),
        seed("service", "status", get("/v1/status", "")),
        seed("service", "trace", get("/v1/trace.json?frames=3&nice=1&work=2", "")),
        seed(
            "service",
            "toggle",
            "POST /v1/preview?fps=25&lease_ms=500 HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n",
        ),
        seed("page", "page", get("/", "Cookie: a=b; wireproof=00\r\n")),
        seed("page", "login", get("/?token=0123456789abcde%66", "")),
        seed("page", "metrics", get("/metrics", "Authorization: Bearer 0123456789abcdef\r\n")),
        seed(
            "fetch",
            "whole",
            said("200 OK\r\nContent-Length: 4\r\nETag: \"a\"\r\nX-Ring-Sent-Ns: 7", "ring"),
        ),
        seed("fetch", "chunked", said("200 OK\r\nTransfer-Encoding: chunked", "4\r\nring\r\n0\r\n\r\n")),
        seed("fetch", "part", said("206 Partial Content\r\nContent-Range: bytes 4-7/8", "ring")),
        seed("fetch", "redirect", said("302 Found\r\nLocation: http://elsewhere/", "")),
        seed("fetch", "url", "http://user:pass@[::1]:8080/v1/ring/raw?x=1"),
    ]
}
