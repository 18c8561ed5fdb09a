//! Every renderer of the recorder's bench, its shares, and what the schema refuses.

use super::*;

fn arm(name: &str, unit: &str, p50: f64) -> Timed {
    Timed {
        name: name.to_owned(),
        unit: unit.to_owned(),
        ns: Times { min: p50 - 1.0, p50, p95: p50 + 2.25 },
        ratio_to_clock: p50 / 25.0,
        ratio_interval: Interval { low: p50 / 26.0, high: p50 / 24.0 },
        disturbed_blocks: 1,
    }
}

fn difference(median: f64) -> Difference {
    Difference { median, low: median - 2.5, high: median + 2.5 }
}

fn record() -> RecorderBench {
    let cost = Cost {
        per_frame_ns: difference(1620.0),
        per_event_ns: difference(60.0),
        per_frame_given_times_ns: difference(405.0),
        per_event_given_times_ns: difference(15.0),
        per_unframed_event_ns: difference(-0.5),
    };
    RecorderBench {
        schema: SCHEMA.to_owned(),
        seed: 7,
        frame_bytes: 8640,
        events_per_frame: 27,
        blocks: 200,
        ring: Place { place: "/dev/shm".to_owned(), capacity: 131_072 },
        arms: vec![
            arm("clock_gettime", "read", 25.0),
            arm("frame/off", "frame", 5000.0),
            arm("frame/on", "frame", 6620.0),
            arm("frame/given-times", "frame", 5405.0),
            arm("unframed/off", "event", 1.5),
            arm("unframed/on", "event", 64.0),
        ],
        cost,
        extrapolation: Extrapolation::of(&cost, 60, 1938),
        check: Check { frames_written: 5000, frames_published: 5000, frames_read: 4096, wrong: 0 },
        warm_up_blocks: 20,
        clock: Clock { name: "CLOCK_THREAD_CPUTIME_ID".to_owned(), step_ns: 120, cpu: Some(1) },
    }
}

fn rendered(format: Format, width: usize) -> String {
    let mut out = Vec::new();
    record().render(format, Style { color: false, width }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_field_s_figures_give_the_field_s_shares() {
    // 6.137 us an event, 27 events, 60 frames/s: 0.99 % of a core; with 1,938 unframed events/s 2.18 %.
    let field = Cost {
        per_frame_ns: difference(27.0 * 6137.0),
        per_unframed_event_ns: difference(6137.0),
        ..record().cost
    };
    let shares = Extrapolation::of(&field, 60, 1938);
    assert_eq!(format!("{:.2}", shares.framed_core_percent), "0.99");
    assert_eq!(format!("{:.2}", shares.core_percent), "2.18");
    assert!(shares.label.starts_with("extrapolation: "));
}

#[test]
fn a_check_is_right_only_when_everything_written_was_published_and_reads_back() {
    let right = record().check;
    assert!(right.right());
    assert!(!Check { frames_published: 4999, ..right }.right());
    assert!(!Check { frames_read: 0, ..right }.right());
    assert!(!Check { wrong: 1, ..right }.right());
}

#[test]
fn the_table_shows_arms_differences_and_a_share_that_is_called_an_extrapolation() {
    let text = rendered(Format::Table, 120);
    let words = |start: &str| {
        let line = text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let on = ["frame/on", "frame", "6619.00", "6620.00", "6622.25", "264.80", "254.62..275.83"];
    assert_eq!(words("frame/on "), on);
    assert_eq!(words("an event of it ")[4..], ["60.00", "57.50..62.50"]);
    assert_eq!(words("an unframed event")[3..], ["-0.50", "-3.00..2.00"]);
    assert!(
        text.contains("\n0.010 % of a core at 60 frames/s and 1938 unframed events/s (0.010 + -0.000 %);")
    );
    let flat = text.replace('\n', " ");
    assert!(
        flat.contains("; extrapolation: a straight line from hot arms of one process, not measured"),
        "{text}"
    );
    let last = "5000 frames written, 5000 published, the last 4096 read back: all right";
    assert_eq!(text.lines().last().unwrap(), last);
    assert!(text.contains("6 timings took over 1.25 x") && text.contains("kept on CPU 1"), "{text}");
}

#[test]
fn a_narrow_table_stays_within_its_width() {
    let text = rendered(Format::Table, 60);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.contains("p50 ns") && text.contains("left out for want of width: "), "{text}");
    assert!(!text.lines().any(|line| line.contains("p50 ns") && line.contains("MIN ns")), "{text}");
}

#[test]
fn json_reads_back_and_csv_has_a_cell_under_every_header() {
    assert_eq!(serde_json::from_str::<RecorderBench>(&rendered(Format::Json, 80)).unwrap(), record());
    let text = rendered(Format::Csv, 80);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let get = |row: usize, name: &str| rows[row].get(header.iter().position(|h| h == name).unwrap()).unwrap();
    assert_eq!(rows.len(), 6 + 5 + 1);
    assert_eq!((get(2, "name"), get(2, "p50_ns"), get(2, "ratio_to_clock")), ("frame/on", "6620", "264.8"));
    assert_eq!((get(7, "kind"), get(7, "p50_ns"), get(7, "low_95")), ("difference", "60", "57.5"));
    assert_eq!((get(11, "kind"), get(11, "unit"), get(11, "min_ns")), ("extrapolation", "percent", ""));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

#[test]
fn markdown_has_both_tables_and_the_label() {
    let text = rendered(Format::Markdown, 80);
    assert_eq!(text.lines().filter(|line| line.starts_with('|')).count(), 2 + 6 + 2 + 5);
    assert!(text.contains("| frame/on | frame | 6619.00 |") && text.contains("extrapolation: "), "{text}");
}

#[test]
fn json_lines_are_refused() {
    assert!(record().render(Format::Jsonl, Style::default(), &mut Vec::new()).is_err());
}

#[test]
fn the_record_is_valid_and_one_without_its_label_or_its_check_is_not() {
    let schema: serde_json::Value = serde_json::from_str(crate::BENCH_RECORDER_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document: serde_json::Value = serde_json::from_str(&rendered(Format::Json, 80)).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let wrong = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut document = document.clone();
        change(&mut document);
        !validator.is_valid(&document)
    };
    assert!(wrong(&|d| d["extrapolation"]["label"] = "measured".into()));
    assert!(wrong(&|d| d["check"] = serde_json::Value::Null));
    assert!(wrong(&|d| d["arms"][0]["unit"] = "hour".into()));
    assert!(wrong(&|d| d["arms"][0]["name"] = "other".into()));
    assert!(wrong(&|d| d["cost"]["per_event_ns"]["low"] = serde_json::Value::Null));
    assert!(wrong(&|d| d["schema"] = "wireproof.bench/1".into()));
}
