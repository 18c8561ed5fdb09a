//! The metrics against a strict reading of the text format, version 0.0.4, and against what they are made from.

use super::*;
use crate::summary::sample;
use std::collections::BTreeSet;

/// One sample: its name, its labels and its value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads the format strictly: one HELP and one TYPE before the samples of a family, families in one piece, names and
/// labels as the specification spells them, no series twice, every value a number.
fn read(text: &str) -> Result<Vec<Sample>, String> {
    let (mut family, mut typed, mut closed) = (String::new(), false, BTreeSet::new());
    let (mut series, mut samples) = (BTreeSet::new(), Vec::new());
    if !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    for line in text.lines() {
        let wrong = |why: &str| format!("{why}: {line}");
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').ok_or_else(|| wrong("no help"))?;
            closed.insert(std::mem::replace(&mut family, name.to_owned()));
            typed = false;
            if closed.contains(name) || !is_name(name) {
                return Err(wrong("family twice, or no name"));
            }
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').ok_or_else(|| wrong("no type"))?;
            let fits = (kind == "counter") == name.ends_with("_total");
            if name != family || typed || !["counter", "gauge"].contains(&kind) || !fits {
                return Err(wrong("a type out of place, or a counter without _total"));
            }
            typed = true;
        } else {
            let (name, labels, value) = sample_of(line).ok_or_else(|| wrong("no sample"))?;
            if !typed || name != family || !series.insert((name.clone(), labels.clone())) {
                return Err(wrong("out of its family, or twice"));
            }
            samples.push((name, labels, value));
        }
    }
    Ok(samples)
}

fn is_name(text: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(first) && text.chars().all(|c| first(c) || c.is_ascii_digit())
}

fn sample_of(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels: Vec<(String, String)> = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if !is_name(label) || labels.iter().any(|(l, _)| l == label) {
                return None;
            }
            labels.push((label.to_owned(), value));
            match after.chars().next()? {
                ',' => rest = &after[1..],
                '}' => break rest = &after[1..],
                _ => return None,
            }
        }
    }
    let value = rest.strip_prefix(' ')?;
    let plain = value.chars().all(|c| c.is_ascii_digit() || c == '.');
    (is_name(name) && plain).then(|| Some((name.to_owned(), labels, value.parse().ok()?)))?
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
    None
}

fn summary(streams: u32) -> Summary {
    let mut summary = sample::summary();
    let stream = summary.streams[0].clone();
    summary.streams = (0..streams)
        .map(|n| Stream { stream_id: n, ended: "running".to_owned(), ..stream.clone() })
        .collect();
    summary
}

fn text(summary: &Summary) -> String {
    let moment = Moment {
        version: "0.1 \"x\" \\ \n",
        at_ns: 1_700_000_000_000_000_001,
        run_ns: 1_500_000_000,
        streams_seen: summary.streams.len(),
        findings: [1, 2, 3],
        waived: 4,
        lost: 0,
        not_looked_at: 0,
    };
    Exporter::default().text(summary, &moment)
}

fn value(samples: &[Sample], name: &str, label: &[(&str, &str)]) -> Option<f64> {
    let has =
        |labels: &[(String, String)]| label.iter().all(|(l, v)| labels.iter().any(|(a, b)| a == l && b == v));
    samples.iter().find(|(n, labels, _)| n == name && has(labels)).map(|(_, _, value)| *value)
}

#[test]
fn every_line_is_well_formed_and_says_what_the_record_says() {
    let mut summary = summary(3);
    summary.streams[1].sequence.lost = 7;
    summary.streams[1].bytes = u64::MAX;
    summary.observer.loop_gap_max_ns = 2_000_000;
    let samples = read(&text(&summary)).unwrap();
    let names: BTreeSet<&str> = samples.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, METRICS.iter().map(|(name, ..)| *name).collect());
    assert_eq!(value(&samples, "wireproof_stream_lost_datagrams", &[("stream", "1")]), Some(7.0));
    assert_eq!(value(&samples, "wireproof_observer_loop_gap_max_seconds", &[]), Some(0.002));
    assert_eq!(value(&samples, "wireproof_findings_total", &[("severity", "violation")]), Some(3.0));
    assert_eq!(value(&samples, "wireproof_findings_waived", &[]), Some(4.0));
    assert_eq!(value(&samples, "wireproof_build_info", &[("version", "0.1 \"x\" \\ \n")]), Some(1.0));
    assert_eq!(value(&samples, "wireproof_run_seconds", &[]), Some(1.5));
}

#[test]
fn the_reader_of_these_tests_refuses_what_the_format_refuses() {
    let head = "# HELP a_total x\n# TYPE a_total counter\n";
    assert!(read(&format!("{head}a_total{{b=\"c\"}} 1\n")).is_ok());
    for bad in [
        "a_total 1",
        "a_total 1\na_total 1\n",
        "a_total{b=\"c} 1\n",
        "a_total{b=\"c\",b=\"d\"} 1\n",
        "a_total{0=\"c\"} 1\n",
        "b_total 1\n",
        "a_total{b=\"\\x\"} 1\n",
        "a_total  1\n",
        "a_total NaN\n",
        "# TYPE a_total counter\n",
        "# HELP a_total x\n",
        "",
    ] {
        let text =
            if bad.is_empty() { "# HELP a x\n# TYPE a counter\n".to_owned() } else { format!("{head}{bad}") };
        assert!(read(&text).is_err(), "{text}");
    }
}

#[test]
fn no_label_names_an_address_a_component_or_a_source() {
    let text = text(&summary(2));
    let s = &summary(2).streams[0];
    for hidden in
        [Some(&s.source), s.destination.as_ref(), s.sender.as_ref(), s.name.as_ref()].into_iter().flatten()
    {
        assert!(!text.contains(hidden.as_str()), "{hidden}");
    }
    let labels: BTreeSet<String> =
        read(&text).unwrap().into_iter().flat_map(|(_, labels, _)| labels).map(|(label, _)| label).collect();
    let known = ["kind", "owner", "protocol", "q", "severity", "state", "stream", "verdict", "version"];
    assert_eq!(labels.iter().map(String::as_str).collect::<Vec<_>>(), known);
}

#[test]
fn series_are_bounded_and_those_left_out_are_counted() {
    let mut summary = summary(300);
    let samples = read(&text(&summary)).unwrap();
    let of = |name: &str| samples.iter().filter(|(n, ..)| n == name).count();
    assert_eq!(of("wireproof_stream_bytes_total"), STREAMS_EXPORTED);
    assert_eq!(value(&samples, "wireproof_streams_not_exported", &[]), Some(44.0));
    // The record itself has room for fewer than were seen.
    summary.streams.truncate(10);
    let moment = Moment { streams_seen: 1_000, ..Moment::default() };
    let samples = read(&Exporter::default().text(&summary, &moment)).unwrap();
    assert_eq!(value(&samples, "wireproof_streams_not_exported", &[]), Some(990.0));
}

#[test]
fn a_stream_that_ended_has_no_series_and_two_senders_of_one_universe_are_one() {
    let mut summary = summary(2);
    summary.streams[1].ended = "silent".to_owned();
    let samples = read(&text(&summary)).unwrap();
    assert_eq!(value(&samples, "wireproof_stream_bytes_total", &[("stream", "1")]), None);
    assert!(value(&samples, "wireproof_stream_bytes_total", &[("stream", "0")]).is_some());
    summary.streams[1].stream_id = 0;
    let both = summary.streams[0].datagrams + summary.streams[1].datagrams;
    let samples = read(&text(&summary)).unwrap();
    assert_eq!(value(&samples, "wireproof_stream_datagrams_total", &[("stream", "0")]), Some(both as f64));
}

#[test]
fn a_counter_never_falls_and_what_can_fall_is_a_gauge() {
    let (mut exporter, mut summary) = (Exporter::default(), summary(1));
    (summary.streams[0].frames.complete, summary.streams[0].sequence.lost) = (100, 5);
    exporter.text(&summary, &Moment::default());
    (summary.streams[0].frames.complete, summary.streams[0].sequence.lost) = (99, 4);
    let samples = read(&exporter.text(&summary, &Moment::default())).unwrap();
    assert_eq!(value(&samples, "wireproof_stream_frames_total", &[("state", "complete")]), Some(100.0));
    assert_eq!(value(&samples, "wireproof_stream_lost_datagrams", &[]), Some(4.0));
    // A series that is gone leaves nothing behind.
    summary.streams.clear();
    exporter.text(&summary, &Moment::default());
    assert!(exporter.marks.keys().all(|series| !series.starts_with("wireproof_stream_")));
}

/// Names of ours in a text.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("wireproof_")).collect()
}

#[test]
fn the_dashboard_names_only_what_is_exported_and_the_page_of_the_metrics_all_of_it() {
    let known: BTreeSet<&str> = METRICS.iter().map(|(name, ..)| *name).collect();
    let dashboard = include_str!("../../docs/grafana/wireproof.json");
    let read: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = read["panels"].as_array().unwrap();
    let expressions: Vec<&str> = panels
        .iter()
        .flat_map(|p| p["targets"].as_array().unwrap())
        .map(|t| t["expr"].as_str().unwrap())
        .collect();
    assert!(expressions.len() >= panels.len() && panels.len() >= 10);
    for expression in expressions {
        let names = named(expression);
        assert!(!names.is_empty() && names.is_subset(&known), "{expression}");
        // A rate of a gauge is no rate, and a counter has one.
        let rate = expression.contains("rate(");
        assert_eq!(
            rate,
            names.iter().all(|n| n.ends_with("_total")) && !expression.contains("lost"),
            "{expression}"
        );
    }
    assert!(named(dashboard).is_subset(&known));
    let page = include_str!("../../docs/web.md");
    assert!(named(page).is_subset(&known));
    for (name, kind, help) in METRICS {
        let row = format!("| `{name}` | {kind} | {} |", help.trim_end_matches('.'));
        assert!(page.contains(&row), "docs/web.md lacks {row}");
    }
}

#[test]
fn every_label_that_the_dashboard_asks_for_is_exported() {
    let samples = read(&text(&summary(1))).unwrap();
    let labels: BTreeSet<&str> =
        samples.iter().flat_map(|(_, l, _)| l).map(|(label, _)| label.as_str()).collect();
    let dashboard = include_str!("../../docs/grafana/wireproof.json");
    let asked = dashboard.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    // Prometheus itself adds the instance.
    for label in asked.filter(|label| *label != "instance") {
        assert!(labels.contains(label), "{label}");
    }
}
