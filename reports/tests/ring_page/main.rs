//! The page of a ring: every figure against the record it carries, and that against the ring; escapes, size, policy, and
//! the script in a browser.
//!
//! `WIREPROOF_PAGES=DIR` keeps all pages to look at.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests read samples and keep pages")]

mod browser;
#[path = "../page/figures.rs"]
mod figures;
#[path = "../page/html.rs"]
mod html;
mod rings;
mod script;

use figures::{figures, problem, record};
use html::{Element, read};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use wireproof_recorder::analysis::Quantiles;
use wireproof_recorder::header::{Facts, facts};
use wireproof_recorder::places::Places;
use wireproof_recorder::{Kind, Policy, Ring, account, parse};
use wireproof_reports::{RingPage, RingSummary};

/// No page may be larger, octets.
const LARGEST: usize = 2_000_000;

fn skipped(test: &str, why: &str) {
    let _ = std::io::stderr().write_fmt(format_args!("SKIPPED {test}: {why}\n"));
}

fn page_of(name: &str, ring: &Ring, facts: &Facts) -> String {
    let account = account(&ring.frames);
    let places = Places::read(&format!("5\tmelt.py:118 {}\n", rings::HOSTILE));
    let summary = RingSummary::of(ring, facts, &account, Vec::new());
    let mut out = Vec::new();
    RingPage::of(name, ring, facts, &account, &places, summary).html(&mut out).unwrap();
    if let Ok(folder) = std::env::var("WIREPROOF_PAGES") {
        std::fs::write(Path::new(&folder).join(format!("{}.html", name.replace('/', "_"))), &out).unwrap();
    }
    String::from_utf8(out).unwrap()
}

fn page(name: &str, image: &[u8]) -> (Ring, String) {
    let ring = parse(image, Policy::Conservative).unwrap();
    let page = page_of(name, &ring, &facts(image));
    (ring, page)
}

/// The record is what the shipped schema says.
fn conforms(record: &Value) {
    let schema: Value = serde_json::from_str(wireproof_reports::RING_PAGE_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(record).map(|e| format!("{}: {e}", e.instance_path())).take(5).collect();
    assert_eq!(problems, Vec::<String>::new());
}

/// Reads a page and holds every figure against its record; how many there are.
fn check(name: &str, page: &str) -> (Element, Value, usize) {
    let tree = read(page).unwrap_or_else(|error| panic!("{name}: {error}"));
    let record = record(&tree);
    let all = figures(&tree);
    conforms(&record);
    let problems: Vec<String> = all.iter().filter_map(|f| problem(&record, f)).collect();
    assert_eq!(problems, Vec::<String>::new(), "{name}");
    let n = all.len();
    (tree, record, n)
}

#[test]
fn every_figure_is_the_one_of_the_record() {
    for (name, image, least) in [("planted", rings::planted(), 150), ("empty", rings::empty(), 25)] {
        let (_, page) = page(name, &image);
        let (_, _, n) = check(name, &page);
        assert!(n >= least, "{name}: {n} figures");
    }
}

#[test]
fn a_figure_that_is_not_the_one_of_the_record_is_noticed() {
    let (_, page) = page("planted", &rings::planted());
    let tree = read(&page).unwrap();
    let mut record = record(&tree);
    for path in ["/summary/frame_ns/p95", "/gaps/1/lost", "/whole/skipped", "/frames/0/duration_ns"] {
        let paths: Vec<String> = match path {
            "/frames/0/duration_ns" => vec![format!("/frames/{}/duration_ns", record["picks"]["p50"])],
            path => vec![path.to_owned()],
        };
        let before = record.pointer(&paths[0]).unwrap().clone();
        *record.pointer_mut(&paths[0]).unwrap() = Value::from(before.as_i64().unwrap() + 20_000_000);
        assert!(figures(&tree).iter().any(|f| problem(&record, f).is_some()), "{path}");
        *record.pointer_mut(&paths[0]).unwrap() = before;
    }
}

#[test]
fn the_record_is_the_ring_s_own() {
    let (ring, page) = page("planted", &rings::planted());
    let (_, record, _) = check("planted", &page);
    let durations: Vec<u64> = ring.frames.iter().map(|f| f.end_ns - f.start_ns).collect();
    let q = Quantiles::of(durations.iter().copied());
    let frames = record["frames"].as_array().unwrap();
    for (pick, ns) in [("p50", q.p50), ("p95", q.p95), ("p99", q.p99), ("worst", q.max)] {
        let row = &frames[record["picks"][pick].as_u64().unwrap() as usize];
        assert_eq!(row["duration_ns"], ns, "{pick}");
    }
    for row in frames {
        let frame = ring.frames.iter().find(|frame| row["id"] == frame.id).unwrap();
        let slower = durations.iter().filter(|ns| **ns > frame.end_ns - frame.start_ns).count() as u64;
        assert_eq!(row["slowest"], slower + 1, "{row}");
        let spans = &row["spans"];
        let column = |key: &str| {
            spans[key].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect::<Vec<_>>()
        };
        let lane = |at: i64| &row["rows"][at as usize];
        let (offsets, lengths) = (column("offset_ns"), column("duration_ns"));
        let mut carried: Vec<_> = column("row")
            .into_iter()
            .enumerate()
            .map(|(n, at)| (lane(at)["stage"].as_u64().unwrap(), offsets[n], lengths[n]))
            .collect();
        let records = frame.records.iter().filter(|r| r.kind() == Some(Kind::Span));
        let mut all: Vec<_> = records
            .map(|r| {
                (
                    u64::from(r.stage()),
                    r.start_ns() as i64 - frame.start_ns as i64,
                    (r.end_ns() - r.start_ns()) as i64,
                )
            })
            .collect();
        carried.sort_unstable();
        all.sort_unstable();
        assert_eq!(carried, all, "frame {}", frame.id);
    }
}

#[test]
fn gaps_stand_where_they_lie_with_their_reason() {
    let (_, page) = page("planted", &rings::planted());
    let (_, record, _) = check("planted", &page);
    let gap = |at: usize| {
        let gap = &record["gaps"][at];
        ["after", "before", "missing", "skipped", "lost"].map(|key| gap[key].as_u64().unwrap())
    };
    assert_eq!([gap(0), gap(1)], [[99, 102, 2, 2, 0], [199, 203, 3, 0, 3]]);
    assert_eq!(record["gaps"].as_array().unwrap().len(), 2);
    let whole = &record["whole"];
    assert_eq!((&whole["ids"], &whole["skipped"], &whole["lost"]), (&400.into(), &2.into(), &3.into()));
    assert_eq!(whole["due_percent"].as_f64().unwrap(), 99.246);
    let frames = record["frames"].as_array().unwrap();
    let behind = frames.iter().find(|row| row["id"] == 203).expect("frames beside gaps are carried");
    assert_eq!((&behind["missing_before"], &behind["lost_before"]), (&3.into(), &3.into()));
    assert!(page.contains("gaps: left out on purpose") && page.contains("gaps: lost"));
}

#[test]
fn names_of_the_ring_and_the_side_file_stay_texts() {
    let (_, page) = page("planted </script><b>", &rings::planted());
    let (tree, record, _) = check("planted", &page);
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    for forbidden in ["<b>\u{202e}", "\u{202e}", "\u{1b}", "<b></"] {
        assert!(!page.contains(forbidden), "{forbidden:?}");
    }
    let shown = "</script>\"'&<b>\\u{202e}\\u{1b}[";
    assert!(tree.all().iter().any(|e| e.own_text().contains(shown)), "the name is shown as it is");
    assert_eq!(record["names"]["devices"]["1"], shown);
    assert_eq!(record["summary"]["devices"][1]["name"], rings::HOSTILE, "the summary is the ring's own");
}

#[test]
fn nothing_is_fetched_and_the_policy_names_the_one_script() {
    use base64::Engine;
    use sha2::Digest;
    let (_, page) = page("planted", &rings::planted());
    let tree = read(&page).unwrap();
    let script = tree.find("script").into_iter().find(|e| e.get("type").is_none()).unwrap().text();
    let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(&script));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    );
    let said: Vec<_> =
        tree.find("meta").iter().filter_map(|meta| meta.get("content").map(str::to_owned)).collect();
    assert!(said.contains(&policy), "{said:?}");
    for outside in [
        "http:",
        "https:",
        "src=",
        "href=",
        "url(",
        "@import",
        "fetch(",
        "XMLHttp",
        "import(",
        "innerHTML",
        "eval(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    let handlers =
        tree.all().into_iter().flat_map(|e| e.attributes.keys()).filter(|name| name.starts_with("on"));
    assert_eq!(handlers.count(), 0);
}

#[test]
fn percentiles_of_stages_are_never_stacked_and_the_page_says_why() {
    let (_, page) = page("planted", &rings::planted());
    let (tree, _, _) = check("planted", &page);
    let stages = tree.all().into_iter().find(|e| e.get("id") == Some("stages")).unwrap();
    assert!(stages.text().contains("They do not add up"));
    assert!(stages.find("svg").is_empty() && stages.all().iter().all(|e| e.get("class") != Some("shares")));
}

#[test]
fn without_a_script_the_slowest_and_the_median_frame_are_drawn() {
    let (_, page) = page("planted", &rings::planted());
    let (tree, record, _) = check("planted", &page);
    let still = tree.all().into_iter().find(|e| e.get("id") == Some("still")).unwrap();
    assert_eq!(still.get("hidden"), None);
    let pictures: Vec<_> = still.all().into_iter().filter(|e| e.get("class") == Some("gantt")).collect();
    assert_eq!(pictures.len(), 2);
    for (picture, pick) in pictures.iter().zip(["worst", "p50"]) {
        let frame = &record["frames"][record["picks"][pick].as_u64().unwrap() as usize];
        let bars = picture.find("i").len();
        assert_eq!(bars, frame["spans"]["row"].as_array().unwrap().len(), "{pick}");
        let rows = picture.all().into_iter().filter(|e| e.get("class") == Some("g")).count();
        assert_eq!(rows, frame["rows"].as_array().unwrap().len(), "{pick}");
    }
    let chart = tree.all().into_iter().find(|e| e.get("id") == Some("chart")).unwrap();
    assert_eq!(chart.get("hidden"), Some("hidden"), "what needs the script is not there without it");
}

#[test]
fn a_full_ring_of_hostile_names_and_times_is_a_small_page() {
    let (ring, page) = page("hostile", &rings::hostile());
    assert!(ring.frames.len() > 4_000 && ring.framed_records() > 120_000, "{}", ring.framed_records());
    assert!(page.len() < LARGEST, "{} octets", page.len());
    let (_, record, _) = check("hostile", &page);
    assert!(record["left_out"]["frames"].as_u64().unwrap() > 3_000);
    assert!(record["left_out"]["stages"].as_u64().unwrap() > 0);
    assert!(record["gaps_left_out"].as_u64().unwrap() > 3_000);
    assert!(page.contains("others are not"), "the page says what it leaves out");
    let spans = |row: &Value| row["spans"]["row"].as_array().unwrap().len();
    let frames = record["frames"].as_array().unwrap();
    assert!(frames.iter().all(|row| spans(row) <= 600 && row["rows"].as_array().unwrap().len() <= 96));
    assert!(frames.iter().any(|row| row["spans_left_out"].as_u64().unwrap() > 0));
}

#[test]
fn every_sample_ring_that_is_believed_has_a_whole_page() {
    let mut pages = 0;
    let samples = rings::samples("every_sample_ring_that_is_believed_has_a_whole_page");
    let there = !samples.is_empty();
    for (name, image) in samples.into_iter().filter(|(name, _)| name.starts_with("v2_")) {
        if let Ok(ring) = parse(&image, Policy::Conservative) {
            let page = page_of(&name, &ring, &facts(&image));
            let (_, record, _) = check(&name, &page);
            assert_eq!(record["summary"]["frames"], ring.frames.len() as u64, "{name}");
            pages += 1;
        }
    }
    assert!(!there || pages >= 12, "{pages} pages");
}

#[test]
fn too_little_explained_is_marked_for_frames_and_for_devices() {
    let (_, page) = page("planted", &rings::planted());
    let (tree, record, _) = check("planted", &page);
    let coverage = &record["summary"]["coverage"];
    let share = |key: &str| coverage[key].as_f64().unwrap();
    assert!(share("frames") > 95.0 && share("devices") < 95.0, "{coverage}");
    let tile =
        tree.all().into_iter().find(|e| e.name == "section" && e.text().starts_with("Frame time explained"));
    assert_eq!(tile.unwrap().get("class"), Some("tile bad"));
    assert!(record["summary"]["findings"].as_array().unwrap().iter().any(|f| f["code"] == "RING-COVERAGE"));
}
