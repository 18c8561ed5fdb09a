//! Every renderer on a record with a row of each kind.

use super::*;

fn times(p50: f64) -> Times {
    Times { min: p50 - 1.5, p50, p95: p50 + 2.25 }
}

fn row(name: &str, backend: &str) -> Encoder {
    Encoder {
        name: name.to_owned(),
        backend: backend.to_owned(),
        datagrams: 17,
        bytes: 10_782,
        ns_per_frame: Some(times(83.25)),
        ratio_to_memcpy: Some(0.979_4),
        identical: true,
        ratio_interval: Some(Interval { low: 0.97, high: 0.9912 }),
        ratio_to_own: None,
        disturbed_blocks: 2,
        difference: None,
        habit: None,
    }
}

fn record() -> Bench {
    let own = Paired { median: 5.791, low: 5.7, high: 5.85 };
    let peer = Encoder {
        ratio_to_own: Some(own),
        ratio_to_memcpy: Some(131.4),
        habit: Some("it counts to 16".to_owned()),
        disturbed_blocks: 0,
        ..row("peer:sacn/pack", "contiguous")
    };
    let wrong = Encoder {
        ns_per_frame: None,
        ratio_to_memcpy: None,
        ratio_interval: None,
        identical: false,
        disturbed_blocks: 0,
        difference: Some("frame 0, datagram 3, octet 1: expected 0x0f, got 0x10".to_owned()),
        ..row("ddp", "gather")
    };
    Bench {
        schema: SCHEMA.to_owned(),
        seed: u64::MAX,
        frame_bytes: 8640,
        blocks: 200,
        encoders: vec![row("sacn", "contiguous"), wrong, peer],
        warm_up_blocks: 10,
        clock: Clock { name: "CLOCK_THREAD_CPUTIME_ID".to_owned(), step_ns: 120, cpu: Some(1) },
        memcpy: Copying { ns_per_frame: times(85.0), disturbed_blocks: 1 },
    }
}

fn rendered(format: Format, width: usize) -> String {
    let mut out = Vec::new();
    record().render(format, Style { color: false, width }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_table_shows_times_ratios_and_who_was_not_timed() {
    let text = rendered(Format::Table, 120);
    let line = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{text}"));
    let words = |start: &str| line(start).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words("memcpy")[3..8], ["8640", "83.50", "85.00", "87.25", "1.00"]);
    let sacn =
        ["sacn", "contiguous", "17", "10782", "81.75", "83.25", "85.50", "0.979", "0.970..0.991", "-", "yes"];
    assert_eq!(words("sacn"), sacn);
    assert_eq!(words("ddp"), ["ddp", "gather", "17", "10782", "-", "-", "-", "-", "-", "-", "NO"]);
    assert_eq!(words("peer:sacn/pack")[7..], ["131", "0.970..0.991", "5.79", "yes"]);
    assert!(text.contains("\nNOT TIMED ddp gather: frame 0, datagram 3, octet 1: expected 0x0f, got 0x10\n"));
    assert!(text.contains("\npeer:sacn/pack: it counts to 16\n"));
    assert!(text.contains("3 timings of 2 arms took over 1.25 x"), "{text}");
    assert!(text.contains("kept on CPU 1"), "{text}");
    assert_eq!(text.lines().last().unwrap(), "2/3 byte-identical to the golden datagrams");
}

#[test]
fn a_narrow_table_keeps_names_medians_ratios_and_the_gate() {
    let text = rendered(Format::Table, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let header = text.lines().find(|l| l.starts_with("ENCODER")).unwrap();
    for column in ["BACKEND", "p50 ns", "p95 ns", "x MEMCPY", "x OURS", "IDENTICAL"] {
        assert!(header.contains(column), "{header}");
    }
}

#[test]
fn a_run_without_peers_and_disturbance_does_not_speak_of_them() {
    let mut bench = record();
    bench.encoders.truncate(1);
    bench.encoders[0].disturbed_blocks = 0;
    bench.memcpy.disturbed_blocks = 0;
    let mut out = Vec::new();
    bench.render(Format::Table, Style::default(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("OURS") && !text.contains("1.25"), "{text}");
}

#[test]
fn json_has_the_keys_of_the_contract_first_and_reads_back() {
    let text = rendered(Format::Json, 80);
    assert!(text.starts_with("{\n  \"schema\": \"wireproof.bench/1\",\n  \"seed\": 18446744073709551615,\n"));
    assert_eq!(serde_json::from_str::<Bench>(&text).unwrap(), record());
    let keys = [
        "name",
        "backend",
        "datagrams",
        "bytes",
        "ns_per_frame",
        "ratio_to_memcpy",
        "identical",
        "ratio_interval",
    ];
    let places: Vec<usize> = keys.iter().map(|k| text.find(&format!("\n      \"{k}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(text.contains("\"ratio_to_memcpy\": 0.9794,"), "{text}");
}

#[test]
fn csv_has_a_cell_under_every_header() {
    let text = rendered(Format::Csv, 80);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let get = |row: usize, name: &str| rows[row].get(header.iter().position(|h| h == name).unwrap()).unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!((get(0, "name"), get(0, "p50_ns"), get(0, "ratio_to_memcpy")), ("memcpy", "85", "1"));
    assert_eq!((get(1, "min_ns"), get(1, "ratio_high"), get(1, "identical")), ("81.75", "0.9912", "true"));
    assert_eq!((get(2, "p50_ns"), get(2, "identical")), ("", "false"));
    assert!(get(2, "difference").starts_with("frame 0"));
    assert_eq!((get(3, "ratio_to_own"), get(3, "ratio_to_own_low")), ("5.791", "5.7"));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

#[test]
fn markdown_is_a_table_and_a_list() {
    let text = rendered(Format::Markdown, 80);
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 4);
    assert!(rows.iter().all(|row| row.matches('|').count() == rows[0].matches('|').count()), "{text}");
    assert!(rows[5].contains("| peer:sacn/pack | contiguous | 17 |") && rows[5].contains("| 5.79 | yes |"));
    assert!(text.contains("* NOT TIMED ddp gather: frame 0"), "{text}");
    assert!(text.ends_with("* 2/3 byte-identical to the golden datagrams\n"));
}

#[test]
fn json_lines_are_refused() {
    let mut out = Vec::new();
    assert!(record().render(Format::Jsonl, Style::default(), &mut out).is_err());
    assert!(out.is_empty());
}

#[test]
fn the_record_is_valid_and_a_row_that_contradicts_itself_is_not() {
    let schema: serde_json::Value = serde_json::from_str(crate::BENCH_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document: serde_json::Value = serde_json::from_str(&rendered(Format::Json, 80)).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let wrong = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut document = document.clone();
        change(&mut document);
        !validator.is_valid(&document)
    };
    assert!(wrong(&|d| d["encoders"][0]["ns_per_frame"] = serde_json::Value::Null));
    assert!(wrong(&|d| d["encoders"][1]["difference"] = serde_json::Value::Null));
    assert!(wrong(&|d| d["encoders"][0]["backend"] = "both".into()));
    assert!(wrong(&|d| d["encoders"][0]["name"] = "kinet".into()));
    assert!(wrong(&|d| d["blocks"] = 5.into()));
    assert!(wrong(&|d| d["schema"] = "wireproof.bench/2".into()));
}
