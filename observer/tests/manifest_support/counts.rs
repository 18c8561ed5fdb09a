//! Counts of a whole capture against the independent checker: packets, kinds, shape, checksums, facts.

use super::{Ledger, Run, counts_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use wireproof_protocols::Severity;
use wireproof_protocols::verify::{Finding, StreamAccount};

/// All counts of one capture.
pub(crate) fn check(run: &Run, ledger: &mut Ledger) {
    let summary = &run.summary;
    let datagrams = &summary.datagrams;
    ledger.equal(run, "packets", run.expected("packets").as_u64(), Some(summary.source.packets));
    ledger.equal(run, "link types", &counts_of(run.expected("linktypes")), &summary.source.link_types);
    ledger.equal(run, "by_kind", &counts_of(run.expected("kinds")), &datagrams.by_kind);
    let lighting = counts_of(run.expected("lighting")).values().sum();
    ledger.equal(run, "lighting", lighting, datagrams.lighting);
    let copies = run.expected("capture_dup").as_u64().unwrap_or(0);
    ledger.equal(run, "capture_duplicates", copies, datagrams.capture_duplicates);
    ledger.equal(run, "undecodable", 0, datagrams.undecodable);
    ledger.equal(run, "damaged", &None, &summary.source.damaged);
    let bad = run.expected("udp_checksum")["bad"].as_u64().unwrap_or(0);
    ledger.equal(run, "bad_checksum", bad, datagrams.bad_checksum);
    if let Some(span) = run.expected("span_s").as_f64() {
        ledger.equal(run, "span in us", (span * 1e6).round() as u64, summary.span_ns / 1_000);
    }
    shape(run, copies, ledger);
    facts(run, ledger);
    sources(run, ledger);
}

/// One datagram may break several rules, and in these captures the worst rule is broken by all that break any.
fn shape(run: &Run, copies: u64, ledger: &mut Ledger) {
    let violations = run.expected("violations").as_object().unwrap();
    let malformed = violations.values().filter_map(|v| v["count"].as_u64()).max().unwrap_or(0);
    let datagrams = &run.summary.datagrams;
    ledger.equal(run, "malformed", malformed, datagrams.malformed);
    let seen = datagrams.lighting.saturating_sub(copies + malformed);
    ledger.equal(run, "well_formed", seen, datagrams.well_formed);
    for (prose, value) in violations {
        let (code, count) = (code(prose), value["count"].as_u64().unwrap());
        ledger.equal(run, &format!("{code} for `{prose}`"), count, run.count_of(code));
        let first = run.account.findings.iter().find(|f| f.code == code).map(|f| f.first_packet);
        ledger.equal(run, &format!("first record of {code}"), value["first_frame"].as_u64(), first);
    }
    let named: BTreeSet<&str> = violations.keys().map(|prose| code(prose)).collect();
    let unnamed =
        run.account.findings.iter().filter(|f| f.severity == Severity::Violation && is_protocol_rule(f.code));
    for finding in unnamed {
        ledger.hold(run, named.contains(finding.code), || {
            format!("{} is a violation the independent checker does not know: {}", finding.code, finding.text)
        });
    }
}

fn is_protocol_rule(code: &str) -> bool {
    ["SACN-", "DDP-", "ARTNET-", "BIGPACKET-"].iter().any(|family| code.starts_with(family))
}

/// The rule of `reference/protocols.md` a sentence of the manifest speaks of.
fn code(prose: &str) -> &'static str {
    const RULES: [(&str, &str); 12] = [
        (" flags ", "SACN-S05"),
        ("root length", "SACN-S06"),
        ("framing length", "SACN-S08"),
        ("dmp length", "SACN-S09"),
        ("dmp address/data type", "SACN-S15"),
        ("address increment", "SACN-S17"),
        ("outside 1..513", "SACN-S18"),
        ("octets present", "SACN-S19"),
        ("reserved bits beside the sequence number", "DDP-D04"),
        ("protocol version", "ARTNET-A04"),
        ("ArtCommand length field", "ARTNET-A18"),
        ("", "no rule"),
    ];
    let first = if prose.starts_with("artnet/") { &RULES[9..] } else { &RULES[..] };
    first.iter().find(|(words, _)| prose.contains(words)).map_or("no rule", |(_, code)| *code)
}

/// `facts`: habits the independent checker counted without judging them.
fn facts(run: &Run, ledger: &mut Ledger) {
    for (fact, count) in counts_of(run.expected("facts")) {
        if let Some(universe) = fact.strip_prefix("sacn terminated u") {
            let ended = format!("said goodbye with {count} termination datagrams");
            let got = said_of(run, universe.parse().unwrap(), "STREAM-ENDED");
            ledger
                .hold(run, got.starts_with(&ended), || format!("universe {universe}: {ended}, got `{got}`"));
            continue;
        }
        match fact.as_str() {
            "ArtDmx from source port other than 6454" => {
                ledger.equal(run, &fact, count, run.count_of("ARTNET-A10"));
            }
            "sacn data broadcast" => ledger.equal(run, &fact, count, data_to(run, |ip| ip.ends_with(".255"))),
            "sacn data unicast" => {
                ledger.equal(run, &fact, count, data_to(run, |ip| !ip.starts_with("239.255.")))
            }
            "ArtDmx broadcast" => {
                let named = run.account.streams.iter().any(|s| {
                    s.kind == "ArtDmx" && s.destinations.iter().any(|d| d.ip().to_string().ends_with(".255"))
                });
                ledger.hold(run, named, || format!("{fact}: no such destination is listed"));
            }
            other => ledger.hold(run, false, || format!("fact `{other}` has no check here")),
        }
    }
}

fn said_of(run: &Run, stream_id: u32, code: &str) -> String {
    let streams = &run.account.streams;
    let of = |f: &&Finding| {
        f.code == code
            && f.stream.is_some_and(|i| streams[i].stream_id == stream_id && streams[i].kind == "data")
    };
    run.account.findings.iter().find(of).map(|f| f.text.clone()).unwrap_or_default()
}

fn data_to(run: &Run, is: impl Fn(&str) -> bool) -> u64 {
    let streams = run.account.streams.iter().filter(|s| s.kind == "data");
    let all = |s: &&StreamAccount| s.destinations.iter().all(|d| is(&d.ip().to_string()));
    streams.filter(all).map(|s| s.datagrams).sum()
}

/// Several sources on one universe have to be named, with every priority each of them used.
fn sources(run: &Run, ledger: &mut Ledger) {
    let Some(universes) = run.expected("multi_source_universes").as_object() else { return };
    for (universe, sources) in universes {
        let codes = ["SRC-CONFLICT", "SRC-LOWER-PRIORITY", "ARTNET-A14"];
        let named = codes.iter().any(|code| run.count_of(code) > 0);
        ledger.hold(run, named, || {
            format!("universe {universe} has {} sources, none of {codes:?} says so", sources_in(sources))
        });
        for (source, priorities) in sources.as_object().unwrap() {
            let ip = source.split('/').next().unwrap();
            let got = run.account.streams.iter().find(|s| s.source.ip().to_string() == ip);
            ledger.hold(run, got.is_some(), || format!("universe {universe}: no stream of {source}"));
            let Some(got) = got.filter(|s| !s.priorities.is_empty()) else { continue };
            let used: BTreeMap<String, u64> = counts_of(priorities);
            let seen: Vec<String> = got.priorities.iter().map(u8::to_string).collect();
            ledger.equal(run, &format!("priorities of {source}"), used.into_keys().collect(), seen);
        }
    }
}

fn sources_in(sources: &Value) -> usize {
    sources.as_object().map_or(0, serde_json::Map::len)
}
