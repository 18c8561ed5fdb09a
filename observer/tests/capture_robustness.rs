//! Real and malformed captures against the counts an independent checker found (`MANIFEST.json`).

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test file uses a part of the builders")]
mod capture_support;

use capture_support::shared;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use wireproof::capture::{CaptureError, Item, SourceReport, read_path, read_records_path};
use wireproof_protocols::{Checksum, Datagram};

const LIGHTING: [u16; 5] = [5568, 4048, 6454, 21600, 6038];

/// Counts of one pass.
#[derive(Default)]
struct Counts {
    items: u64,
    lighting: BTreeMap<u16, u64>,
    good: u64,
    bad: u64,
}

fn lighting_port(datagram: &Datagram<'_>) -> Option<u16> {
    let ports = [datagram.destination.port(), datagram.source.port()];
    ports.into_iter().find(|port| LIGHTING.contains(port))
}

fn count(path: &Path) -> Result<(Counts, SourceReport), CaptureError> {
    let mut counts = Counts::default();
    let report = read_path(path, &mut |item| match item {
        Item::Datagram(_, datagram) => {
            counts.items += 1;
            if let Some(port) = lighting_port(&datagram) {
                *counts.lighting.entry(port).or_insert(0) += 1;
                counts.good += u64::from(datagram.link.checksum == Checksum::Good);
                counts.bad += u64::from(datagram.link.checksum == Checksum::Bad);
            }
        }
        Item::Packet(_) => counts.items += 1,
        Item::Blind { .. } | Item::Drops(_) | Item::ClockStep(_) | Item::Taped(_) => {}
    })?;
    Ok((counts, report))
}

fn entries(test: &str) -> Option<Vec<(std::path::PathBuf, Value)>> {
    let captures = shared(test)?.join("captures");
    let text = std::fs::read_to_string(captures.join("MANIFEST.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let entry = |entry: &Value| Some((captures.join(entry["file"].as_str()?), entry.clone()));
    Some(manifest["entries"].as_array().unwrap().iter().filter_map(entry).collect())
}

fn counts_of(value: &Value) -> BTreeMap<String, u64> {
    let object = value.as_object().unwrap();
    object.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

fn is_robustness(entry: &Value) -> bool {
    entry["class"] == "robustness"
}

#[test]
fn every_robustness_file_yields_exactly_its_packets_and_link_types_and_no_lighting() {
    let Some(entries) = entries("every_robustness_file_yields_exactly_its_packets") else { return };
    let mut read = 0;
    for (path, entry) in entries.iter().filter(|(_, entry)| is_robustness(entry)) {
        let name = path.display();
        let damaged = !entry["expected"]["file_errors"].as_array().unwrap().is_empty();
        let (counts, report) = count(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(Some(report.packets), entry["expected"]["packets"].as_u64(), "{name}: {report:?}");
        assert_eq!(counts.items, report.packets, "{name}");
        assert_eq!(report.link_types, counts_of(&entry["link_types"]), "{name}");
        assert_eq!(report.damaged.is_some(), damaged, "{name}: {:?}", report.damaged);
        assert!(counts.lighting.is_empty(), "{name}: {:?}", counts.lighting);
        read += 1;
    }
    assert_eq!(read, 255);
}

#[test]
fn every_real_capture_yields_its_packets_link_types_and_lighting_datagrams() {
    let Some(entries) = entries("every_real_capture_yields_its_packets") else { return };
    for (path, entry) in entries.iter().filter(|(_, entry)| !is_robustness(entry)) {
        let Some(packets) = entry["expected"]["packets"].as_u64() else { continue };
        let name = path.display();
        let (counts, report) = count(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((report.packets, &report.damaged), (packets, &None), "{name}");
        assert_eq!(report.link_types, counts_of(&entry["expected"]["linktypes"]), "{name}");
        let expected = entry["expected"].get("lighting").map(counts_of).unwrap_or_default();
        for (protocol, port) in [("sacn", 5568), ("ddp", 4048), ("artnet", 6454), ("kinet", 6038)] {
            let got = counts.lighting.get(&port).copied().unwrap_or_default();
            let want = expected.get(protocol).copied().unwrap_or_default();
            assert_eq!(got, want, "{name}: {protocol} of {:?}", counts.lighting);
        }
    }
}

#[test]
fn checksums_of_lighting_datagrams_are_judged_as_the_independent_checker_did() {
    let Some(entries) = entries("checksums_of_lighting_datagrams") else { return };
    let mut judged = 0;
    for (path, entry) in &entries {
        let Some(want) = entry["expected"].get("udp_checksum").map(counts_of) else { continue };
        let of = |key: &str| want.get(key).copied().unwrap_or_default();
        let (counts, _) = count(path).unwrap();
        let removed = entry["expected"]["capture_dup"].as_u64().unwrap_or_default();
        // The manifest counts after the removal of capture duplicates; here the file with any has good ones only.
        assert_eq!((counts.good, counts.bad), (of("ok") + removed, of("bad")), "{}", path.display());
        judged += 1;
    }
    assert!(judged >= 15, "only {judged} captures state checksums");
}

#[test]
fn raw_records_and_dissected_items_of_a_real_capture_agree() {
    let Some(shared) = shared("raw_records_and_dissected_items_agree") else { return };
    let path = shared.join("captures/captures/sacn_test5.pcapng");
    let (mut arrivals, mut items) = (Vec::new(), Vec::new());
    let raw = read_records_path(&path, &mut |record| arrivals.push(record.arrival())).unwrap();
    let dissected = read_path(&path, &mut |item| {
        if let Item::Datagram(arrival, _) | Item::Packet(arrival) = item {
            items.push(arrival);
        }
    })
    .unwrap();
    assert_eq!(arrivals, items);
    assert_eq!((raw.packets, raw.link_types), (dissected.packets, dissected.link_types));
    assert_eq!(arrivals.last().unwrap().at.since(arrivals[0].at), 100_055_894_000);
}
