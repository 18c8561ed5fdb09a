//! The pages of benches: every figure against the record they carry, that against the bench, escapes, and what is said.
//!
//! `WIREPROOF_PAGES=DIR` keeps the pages to look at.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests keep pages")]

#[path = "../page/figures.rs"]
mod figures;
#[path = "../page/html.rs"]
mod html;

use figures::{figures, problem, record};
use html::{Element, read};
use std::path::Path;
use wireproof_reports::bench::{Bench, Clock, Copying, Encoder, Interval, Paired, Times};
use wireproof_reports::bench_recorder::{
    Check, Cost, Difference, Extrapolation, Place, RecorderBench, Timed,
};
use wireproof_reports::{Format, Style};

const HOSTILE: &str = "ddp</script><b>\"'&\u{202e}\u{1b}[";

fn times(p50: f64) -> Times {
    Times { min: p50 - 1.5, p50, p95: p50 + 2.25 }
}

fn encoder(name: &str, ratio: f64) -> Encoder {
    Encoder {
        name: name.to_owned(),
        backend: "contiguous".to_owned(),
        datagrams: 17,
        bytes: 10_782,
        ns_per_frame: Some(times(85.0 * ratio)),
        ratio_to_memcpy: Some(ratio),
        identical: true,
        ratio_interval: Some(Interval { low: ratio * 0.98, high: ratio * 1.034_56 }),
        ratio_to_own: None,
        disturbed_blocks: 2,
        difference: None,
        habit: None,
    }
}

fn clock() -> Clock {
    Clock { name: "CLOCK_THREAD_CPUTIME_ID".to_owned(), step_ns: 120, cpu: Some(1) }
}

fn bench() -> Bench {
    let own = Paired { median: 5.791, low: 5.7, high: 5.85 };
    let peer = Encoder { ratio_to_own: Some(own), ..encoder("peer:sacn/pack", 131.4) };
    let wrong = Encoder {
        ns_per_frame: None,
        ratio_to_memcpy: None,
        ratio_interval: None,
        identical: false,
        difference: Some("frame 0, datagram 3, octet 1: expected 0x0f, got 0x10".to_owned()),
        ..encoder(HOSTILE, 1.0)
    };
    Bench {
        schema: wireproof_reports::bench::SCHEMA.to_owned(),
        seed: u64::MAX,
        frame_bytes: 8_640,
        blocks: 200,
        encoders: vec![encoder("sacn", 0.979_4), wrong, encoder("artnet", 1.2), peer],
        warm_up_blocks: 10,
        clock: clock(),
        memcpy: Copying { ns_per_frame: times(85.0), disturbed_blocks: 1 },
    }
}

fn recorder() -> RecorderBench {
    let arm = |(name, unit, p50): (&str, &str, f64)| Timed {
        name: name.to_owned(),
        unit: unit.to_owned(),
        ns: times(p50),
        ratio_to_clock: p50 / 25.0,
        ratio_interval: Interval { low: p50 / 26.0, high: p50 / 24.0 },
        disturbed_blocks: 1,
    };
    let difference = |median: f64| Difference { median, low: median - 2.5, high: median + 2.5 };
    let cost = Cost {
        per_frame_ns: difference(1_620.0),
        per_event_ns: difference(60.0),
        per_frame_given_times_ns: difference(405.0),
        per_event_given_times_ns: difference(15.0),
        per_unframed_event_ns: difference(-0.5),
    };
    RecorderBench {
        schema: wireproof_reports::bench_recorder::SCHEMA.to_owned(),
        seed: 7,
        frame_bytes: 8_640,
        events_per_frame: 27,
        blocks: 200,
        ring: Place { place: HOSTILE.to_owned(), capacity: 131_072 },
        arms: [
            ("clock_gettime", "read", 25.0),
            ("frame/off", "frame", 5_000.0),
            ("frame/on", "frame", 6_620.0),
            (HOSTILE, "event", 64.0),
        ]
        .map(arm)
        .to_vec(),
        cost,
        extrapolation: Extrapolation::of(&cost, 60, 1_938),
        check: Check { frames_written: 5_000, frames_published: 5_000, frames_read: 4_096, wrong: 0 },
        warm_up_blocks: 20,
        clock: clock(),
    }
}

/// Both pages by name, each with the record that `--format json` writes.
fn pages() -> [(&'static str, String, String); 2] {
    let text = |write: &dyn Fn(Format, &mut Vec<u8>)| {
        [Format::Html, Format::Json].map(|format| {
            let mut out = Vec::new();
            write(format, &mut out);
            String::from_utf8(out).unwrap()
        })
    };
    let [encoders, encoders_json] =
        text(&|format, out| bench().render(format, Style::default(), out).unwrap());
    let [writer, writer_json] =
        text(&|format, out| recorder().render(format, Style::default(), out).unwrap());
    [("bench", encoders, encoders_json), ("bench-recorder", writer, writer_json)]
}

fn check(name: &str, page: &str) -> Element {
    let tree = read(page).unwrap_or_else(|error| panic!("{name}: {error}"));
    let record = record(&tree);
    let problems: Vec<String> = figures(&tree).iter().filter_map(|f| problem(&record, f)).collect();
    assert_eq!(problems, Vec::<String>::new(), "{name}");
    tree
}

#[test]
fn every_figure_is_the_one_of_the_record_and_that_is_the_one_of_the_json_format() {
    for (name, page, json) in pages() {
        let tree = check(name, &page);
        assert!(figures(&tree).len() > 40, "{name}: {}", figures(&tree).len());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(record(&tree), json, "{name}");
        if let Ok(folder) = std::env::var("WIREPROOF_PAGES") {
            std::fs::write(Path::new(&folder).join(format!("{name}.html")), page).unwrap();
        }
    }
}

#[test]
fn a_figure_that_is_not_the_one_of_the_record_is_noticed() {
    for ((name, page, _), path) in
        pages().iter().zip(["/encoders/0/ratio_interval/high", "/cost/per_event_ns/low"])
    {
        let tree = read(page).unwrap();
        let mut record = record(&tree);
        *record.pointer_mut(path).unwrap() = 1234.5.into();
        assert!(figures(&tree).iter().any(|f| problem(&record, f).is_some()), "{name}");
    }
}

#[test]
fn a_dot_and_an_interval_stand_for_each_ratio_with_words_beside() {
    let [(_, page, _), (_, writer, _)] = pages();
    let tree = check("bench", &page);
    let section =
        |tree: &Element, id: &str| tree.all().into_iter().find(|e| e.get("id") == Some(id)).cloned().unwrap();
    let ratios = section(&tree, "ratios");
    assert_eq!(
        (ratios.find("circle").len(), ratios.find("svg").len()),
        (3, 3),
        "the one without times is not drawn"
    );
    assert!(ratios.text().contains("0.979\u{d7} [0.960, 1.013]"), "{}", ratios.text());
    assert_eq!(section(&tree, "peers").find("circle").len(), 1);
    let tree = check("bench-recorder", &writer);
    assert_eq!(section(&tree, "costs").find("circle").len(), 5);
    assert!(section(&tree, "costs").text().contains("-0.500 ns [-3.000, 2.000]"));
    assert_eq!(section(&tree, "ratios").find("circle").len(), 4);
    let longer = |tree: &Element| {
        let ratios = section(tree, "ratios");
        let x = |e: &&Element| e.get("cx").unwrap().trim_end_matches('%').parse::<f64>().unwrap();
        ratios.find("circle").iter().map(x).collect::<Vec<_>>()
    };
    let places = longer(&tree);
    assert!(places[0] < places[3] && places[3] < places[1] && places[1] < places[2], "{places:?}");
}

#[test]
fn limits_and_what_is_not_shown_are_said() {
    let [(_, page, _), (_, writer, _)] = pages();
    for text in [
        "DIFFERS</span>",
        "The limit is a plain copy",
        "What this does not show",
        "nothing is sent",
        "NOT TIMED",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in
        ["READS BACK</span>", "The limit is one read of the clock", "What this does not show", "extrapolat"]
    {
        assert!(writer.contains(text), "{text}");
    }
}

#[test]
fn names_stay_texts_nothing_is_fetched_and_nothing_runs() {
    for (name, page, _) in pages() {
        let tree = check(name, &page);
        assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (1, 1), "{name}");
        for forbidden in
            ["<b>\"", "\u{202e}", "\u{1b}", "http:", "https:", "src=", "href=", "url(", "@import"]
        {
            assert!(!page.contains(forbidden), "{name}: {forbidden:?}");
        }
        assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""), "{name}");
        assert!(
            tree.find("svg").iter().all(|svg| svg.get("aria-label").is_some_and(|label| !label.is_empty()))
        );
        assert!(page.len() < 100_000, "{name}: {} octets", page.len());
    }
}
