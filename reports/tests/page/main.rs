//! The page of a run: every figure against the record, escapes, size, well-formed HTML, and one page that is kept.
//!
//! `WIREPROOF_UPDATE=1 cargo test -p wireproof-reports --test page` writes the kept page again; read the difference.
//! `WIREPROOF_PAGES=DIR` keeps all pages to look at; `WIREPROOF_PAGE_FPS=60` gives the day 5 million frames.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests read and update a kept page")]

mod figures;
mod html;
mod runs;
#[path = "../../../protocols/tests/wire/mod.rs"]
mod wire;

use figures::{figures, problem, record};
use html::{Element, read};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use wireproof_reports::page::{self, Section};
use wireproof_reports::summary::Finding;
use wireproof_reports::waiver::{Day, Most, Scope};
use wireproof_reports::{
    Alerts, Filter, Format, Observer, Style, Summary, Terms, Waiver, WaiverState, render,
};

/// No page may be larger, octets.
const LARGEST: usize = 2_000_000;

fn text(name: &str, s: &Summary) -> String {
    let mut out = Vec::new();
    render(s, Format::Html, Style::default(), &mut out).unwrap();
    kept(name, &out);
    String::from_utf8(out).unwrap()
}

/// Keeps a page to look at, if somebody wants to.
fn kept(name: &str, page: &[u8]) {
    if let Ok(folder) = std::env::var("WIREPROOF_PAGES") {
        std::fs::write(Path::new(&folder).join(format!("{name}.html")), page).unwrap();
    }
}

fn of_file(account: &wireproof_protocols::verify::Account, name: &str) -> Summary {
    Summary::new(account, runs::file(name), Observer::default())
}

fn planted() -> Summary {
    of_file(&runs::planted(), "captures/planted <loss>.pcapng")
}

/// Reads a page and holds every figure against its record; how many there are.
fn check(name: &str, page: &str) -> (Element, usize) {
    let tree = read(page).unwrap_or_else(|error| panic!("{name}: {error}"));
    let record = record(&tree);
    let all = figures(&tree);
    let problems: Vec<String> = all.iter().filter_map(|f| problem(&record, f)).collect();
    assert_eq!(problems, Vec::<String>::new(), "{name}");
    let n = all.len();
    (tree, n)
}

#[test]
fn every_figure_is_the_one_of_the_record() {
    let mut empty = of_file(&Default::default(), "empty.pcap");
    empty.source.damaged = Some("cut inside record <1>".to_owned());
    for (name, summary, least) in
        [("planted", planted(), 250), ("live", runs::live(), 100), ("empty", empty, 20)]
    {
        let (_, n) = check(name, &text(name, &summary));
        assert!(n >= least, "{name}: {n} figures");
    }
}

/// The planted run with a filter, a waiver that covers all losses, one that is over, and alerts.
fn settled() -> Summary {
    let mut account = runs::planted();
    let waiver = |code, day| Waiver {
        code,
        scope: Scope::Streams(Filter::parse("protocol == *").unwrap()),
        most: Most::InAll(1_234),
        reason: "<b>known</b>".to_owned(),
        expires: Day::parse(day).unwrap(),
    };
    let waivers = vec![waiver("SEQ-LOST", "2199-12-31"), waiver("FRAME-TORN", "1970-01-01")];
    let filter = Some(Filter::parse("stream_id < 63999 && name != '<i>'").unwrap());
    let settled = Terms { filter, waivers, ..Terms::default() }.settle(&mut account);
    let mut s = Summary::settled(&account, runs::file("planted.pcapng"), Observer::default(), false, settled);
    s.alerts =
        Some(Alerts { delivered: 1_234, failed: 5, failures: vec!["<i>".to_owned()], ..Alerts::default() });
    s
}

#[test]
fn filter_waivers_and_alerts_stand_on_the_page_with_their_places_in_the_record() {
    let s = settled();
    let states: Vec<WaiverState> = s.waivers.iter().map(|w| w.state).collect();
    assert_eq!(states, [WaiverState::Used, WaiverState::Expired]);
    let page = text("settled", &s);
    let (tree, n) = check("settled", &page);
    assert!(n >= 250, "{n} figures");
    for path in ["/filter/expression", "/alerts/delivered", "/alerts/failures/0", "/waivers/0/reason"] {
        assert!(figures(&tree).iter().any(|f| f.path == path), "{path}");
    }
    assert!(page.contains("&lt;b&gt;known&lt;/b&gt;") && !page.contains("<b>known"));
    assert!(page.contains("waived by "));
}

#[test]
fn a_figure_that_is_not_the_one_of_the_record_is_noticed() {
    let page = text("planted", &planted());
    let tree = read(&page).unwrap();
    let mut record = record(&tree);
    for path in [
        "/streams/1/sequence/lost",
        "/outputs/0/frame_interval_ns/p50",
        "/timeline/bin_ns",
        "/findings/0/first_ns",
    ] {
        let before = record.pointer(path).unwrap().clone();
        *record.pointer_mut(path).unwrap() = Value::from(before.as_i64().unwrap() + 20_000_000);
        let wrong = figures(&tree).iter().filter(|f| problem(&record, f).is_some()).count();
        assert!(wrong > 0, "{path}");
        *record.pointer_mut(path).unwrap() = before;
    }
}

/// Texts with digits that belong to no figure: labels of axes, and sentences that count rows of the page itself.
fn bare(e: &Element, list: &mut Vec<String>) {
    let is = |name: &str| e.get("class").is_some_and(|class| class.split(' ').any(|one| one == name));
    let skipped = ["script", "style", "code", "title"].contains(&e.name.as_str());
    if skipped || is("x") || is("y") || e.get("data-path").is_some() && e.name != "tr" {
        return;
    }
    let text = e.own_text();
    let known = ["in the bin from", "not shown", "more streams", "findings like this", "CID "]
        .iter()
        .any(|known| text.contains(known));
    let row = e.name == "td";
    if text.contains(|c: char| c.is_ascii_digit()) && !known && !row {
        list.push(text.trim().to_owned());
    }
    e.elements().for_each(|e| bare(e, list));
}

#[test]
fn no_number_stands_outside_of_a_figure() {
    for (name, summary) in [("planted", planted()), ("live", runs::live())] {
        let mut list = Vec::new();
        bare(&read(&text(name, &summary)).unwrap(), &mut list);
        // Rule titles and rings in words come from the record's own sentences.
        list.retain(|text| !text.starts_with("rings: "));
        list.retain(|text| !text.contains("0.0.0.0:5568"));
        let headings = ["interval p50 ms", "p99 ms", "spread p99 ms", "interval p99 ms", "p50", ", p99"];
        list.retain(|text| !headings.iter().any(|h| text.contains(h)));
        assert_eq!(list, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn names_from_the_wire_stay_texts() {
    let page = text("planted", &planted());
    let (tree, _) = check("planted", &page);
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    for forbidden in ["<b>\"", "\u{1b}", "planted <loss>"] {
        assert!(!page.contains(forbidden), "{forbidden:?}");
    }
    let name = "Desk <b>\"&'</script>\\u{1b}[31m";
    assert!(tree.all().iter().any(|e| e.name == "span" && e.text() == name), "the name is shown as it is");
    assert_eq!(record(&tree)["streams"][0]["name"], "Desk <b>\"&'</script>\u{1b}[31m");
}

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    for (name, summary) in [("planted", planted()), ("live", runs::live())] {
        let page = text(name, &summary);
        for outside in ["http:", "https:", "src=", "href=", "url(", "@import", " on", "javascript:"] {
            let found = page.match_indices(outside).find(|(at, _)| {
                outside != " on"
                    || page[at + 3..].starts_with(|c: char| c.is_ascii_lowercase())
                        && page[at + 3..].split(' ').next().unwrap().contains("=\"")
            });
            assert_eq!(found, None, "{name}");
        }
        assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
        let tree = read(&page).unwrap();
        assert!(tree.find("svg").iter().all(
            |svg| svg.get("role") == Some("img") && svg.get("aria-label").is_some_and(|l| !l.is_empty())
        ));
        assert!(
            tree.find("table")
                .iter()
                .all(|table| table.get("aria-label").is_some() || table.get("class") == Some("facts"))
        );
    }
}

#[test]
fn the_page_of_a_demo_has_its_sections_and_the_verdict_in_words() {
    let section = Section {
        heading: "What was planted".to_owned(),
        text: String::new(),
        columns: vec!["fault".to_owned(), "n".to_owned()],
        rows: vec![vec!["drop <1>".to_owned(), "3".to_owned()]],
    };
    let mut out = Vec::new();
    page::write("a demo", &runs::live(), &[section], &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let (tree, _) = check("demo", &page);
    let heading = tree.find("h1")[0].text();
    assert_eq!(heading, "a demo");
    assert!(page.contains("What was observed: <span class=\"bad badge\">INVALID</span> "), "{page}");
    let row = "<td data-name=\"fault\">drop &lt;1&gt;<td class=\"n\" data-name=\"n\">3";
    assert!(page.contains(row), "{page}");
}

#[test]
fn losses_and_downloads_share_one_time_line() {
    let page = text("live", &runs::live());
    let (tree, _) = check("live", &page);
    let lanes: Vec<String> = tree
        .all()
        .iter()
        .filter(|e| e.get("id") == Some("drains"))
        .flat_map(|e| e.find("span").iter().map(|e| e.text()).collect::<Vec<_>>())
        .collect();
    for lane in ["downloads", "torn frames", "lost: observer", "observer's drops"] {
        assert!(lanes.iter().any(|name| name == lane), "{lane}: {lanes:?}");
    }
    assert!(page.contains("refused: <span data-path=\"/drains/2/ring/code\">torn-header</span>"));
    assert!(page.contains("connection &lt;reset&gt;"));
}

#[test]
fn what_cost_the_most_frames_comes_first() {
    let (tree, _) = check("planted", &text("planted", &planted()));
    let table = tree.find("table").into_iter().find(|t| t.get("aria-label") == Some("Events")).unwrap();
    let rows: Vec<&Element> =
        table.find("tr").into_iter().filter(|tr| tr.elements().all(|e| e.name == "td")).collect();
    let cost = |row: &&Element| row.elements().nth(1).unwrap().text().trim().parse::<u64>().unwrap();
    let costs: Vec<u64> = rows.iter().map(cost).collect();
    assert!(costs.len() >= 4 && costs[0] > 0 && costs.windows(2).all(|w| w[0] >= w[1]), "{costs:?}");
    let code = rows[0].elements().nth(3).unwrap().text();
    assert!(rows[0].text().contains(&format!("wireproof explain {}", code.trim())), "{}", rows[0].text());
}

/// The rows of the events.
fn events(tree: &Element) -> Vec<&Element> {
    let table = tree.find("table").into_iter().find(|t| t.get("aria-label") == Some("Events")).unwrap();
    table.find("tbody")[0].find("tr")
}

#[test]
fn findings_alike_are_one_row_that_has_each_of_them() {
    let summary = of_file(&runs::scattered(), "scattered.pcapng");
    let lost: Vec<&Finding> = summary.findings.iter().filter(|f| f.code == "SEQ-LOST").collect();
    assert!(lost.len() >= 40, "{}", lost.len());
    let (tree, _) = check("scattered", &text("scattered", &summary));
    let rows = events(&tree);
    let codes: Vec<String> =
        rows.iter().map(|row| row.elements().nth(3).unwrap().text().trim().to_owned()).collect();
    assert_eq!(codes.iter().filter(|code| *code == "SEQ-LOST").count(), 1, "{codes:?}");
    let row = rows[codes.iter().position(|code| code == "SEQ-LOST").unwrap()];
    let cell = |at: usize| row.elements().nth(at).unwrap().text().trim().to_owned();
    assert_eq!(cell(4), lost.iter().map(|f| f.count).sum::<u64>().to_string());
    assert_eq!(cell(5), format!("unknown {}", lost.iter().map(|f| f.owners.unwrap().unknown).sum::<u64>()));
    let summaries = row.find("summary");
    assert_eq!(summaries[0].text(), format!("all {} findings like this", lost.len()));
    let ids: Vec<String> = row.find("li").iter().map(|li| li.find("b")[0].text()).collect();
    assert_eq!(ids, lost.iter().map(|f| f.id.clone()).collect::<Vec<_>>(), "every finding is there");
    // Whatever else was found has a row, in sight without scrolling past forty.
    let kinds: BTreeSet<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(kinds.len() > 1 && rows.len() < 10, "{kinds:?} {codes:?}");
    assert!(kinds.iter().all(|kind| codes.iter().any(|code| code == kind)), "{kinds:?} {codes:?}");
}

#[test]
fn streams_have_the_names_of_their_senders_and_where_those_are_alike_the_cid() {
    let named = |names: [&str; 2]| {
        let mut summary = planted();
        for (at, name) in names.iter().enumerate() {
            summary.streams[at].name = Some((*name).to_owned());
            summary.streams[at].sender = Some(format!("{at}cde5d2f-1111-2222-3333-444455556666"));
            summary.streams[at].stream_id = 1;
        }
        summary.streams.truncate(2);
        let (tree, _) = check("names", &text("names", &summary));
        let table =
            tree.find("table").into_iter().find(|t| t.get("aria-label") == Some("Streams")).unwrap().clone();
        assert_eq!(table.get("class"), Some("fold"), "few streams become cards on a narrow screen");
        let rows: Vec<String> = table.find("tbody")[0]
            .find("tr")
            .iter()
            .map(|row| row.elements().nth(3).unwrap().text())
            .collect();
        rows.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(["Desk A", "Desk B"]), ["Desk A", "Desk B"]);
    assert_eq!(named(["Desk", "Desk"]), ["Desk CID 0cde5d2f\u{2026}", "Desk CID 1cde5d2f\u{2026}"]);
}

#[test]
fn a_name_of_two_hundred_thousand_characters_stays_in_the_record() {
    let mut summary = planted();
    let long = "<Pult>".repeat(34_000);
    summary.streams.iter_mut().for_each(|s| s.name = Some(long.clone()));
    summary.outputs.iter_mut().for_each(|o| o.name.clone_from(&long));
    summary.source.name = format!("/captures/{long}");
    summary.findings.iter_mut().for_each(|f| f.text = format!("{long} lost"));
    let page = text("long", &summary);
    assert!(page.len() < LARGEST / 4, "{} octets", page.len());
    let (tree, _) = check("long", &page);
    assert!(tree.find("title")[0].text().chars().count() < 120);
    // One that is small enough is carried whole.
    let mut summary = planted();
    summary.streams[0].name = Some("x".repeat(9_000));
    let page = text("longer", &summary);
    let (tree, _) = check("longer", &page);
    assert_eq!(record(&tree)["streams"][0]["name"].as_str().unwrap().len(), 9_000);
    assert_eq!(page.matches(&"x".repeat(121)).count(), 9_000 / 121, "only in the record");
}

#[test]
fn three_datagrams_within_microseconds_have_no_rate() {
    let mut summary = planted();
    summary.streams[0].datagrams = 3;
    summary.streams[0].rate_mhz = 153_846_154;
    let page = text("short", &summary);
    let (tree, _) = check("short", &page);
    assert!(page.contains("data-value=\"153846.154\" data-name=\"per second\">\u{2013}<"), "{page}");
    assert_eq!(record(&tree)["streams"][0]["rate_hz"], 153_846.154);
    assert!(!page.contains(">153846.154"));
}

#[test]
fn four_thousand_streams_are_a_small_page_that_says_what_it_leaves_out() {
    let summary = of_file(&runs::many(4_096), "many.pcapng");
    assert_eq!(summary.streams.len(), 4_096);
    let page = text("many", &summary);
    assert!(page.len() < LARGEST, "{} octets", page.len());
    let (tree, n) = check("many", &page);
    assert!(n > 4_096 * 7, "{n} figures");
    for said in ["more outputs are not shown: the worst are drawn", " more are not shown: <code>"] {
        assert!(page.contains(said), "{said}");
    }
    assert!(record(&tree)["excerpt"].as_str().unwrap().contains("--format json"));
    let worst = summary.streams.iter().map(|s| s.frames.torn + s.frames.unterminated).max().unwrap();
    let strips = tree.all().into_iter().filter(|e| e.get("class") == Some("sum")).count();
    assert!(worst > 0 && (12..=96).contains(&strips), "{strips} strips");
}

#[test]
fn as_many_streams_as_are_followed_are_still_a_small_page() {
    let mut summary = of_file(&runs::many(8_192), "most.pcapng");
    for (at, stream) in summary.streams.iter_mut().enumerate() {
        stream.source = format!("[2001:db8:1234:5678:9abc:def0:1234:{at:04x}]:54321");
        stream.destination = Some(format!("[2001:db8:1234:5678:9abc:def0:4321:{at:04x}]:54321"));
        stream.name = Some("\u{1f4a1}<&>".repeat(16));
    }
    let page = text("most", &summary);
    assert!(page.len() < LARGEST, "{} octets", page.len());
    check("most", &page);
}

#[test]
fn a_day_is_a_small_page_whose_time_line_has_the_whole_of_it() {
    let frames = std::env::var("WIREPROOF_PAGE_FPS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let summary = of_file(&runs::day(frames), "day.pcapng");
    let page = text("day", &summary);
    assert!(page.len() < LARGEST / 2, "{} octets", page.len());
    check("day", &page);
    let axis = summary.timeline.unwrap();
    assert!((256..=512).contains(&axis.bins), "{axis:?}");
    let stream = &summary.streams[0];
    assert_eq!(stream.timeline.lost.iter().sum::<u64>(), stream.sequence.lost);
    let bin = |hour: f64| (hour * 3.6e12 / axis.bin_ns as f64) as usize;
    let lossy =
        |from: f64, to: f64| stream.timeline.lost[bin(from)..bin(to)].iter().filter(|n| **n > 0).count();
    // The last hours count as the first do, though findings have an end.
    assert!(lossy(0.1, 1.0) > 0 && lossy(22.9, 23.9) > 0, "{:?}", stream.timeline.lost);
    assert!(stream.timeline.frames[bin(12.5)] > 0 && stream.timeline.frames[bin(23.5)] > 0);
}

#[test]
fn the_page_of_a_small_run_is_the_one_that_is_kept() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/kept.html");
    let page = text("kept", &runs::live());
    // The stylesheet and the record have tests of their own.
    let body = &page[page.find("<body>").unwrap()..page.find("<script").unwrap()];
    if std::env::var("WIREPROOF_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(&path, body).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(before == body, "{} differs: WIREPROOF_UPDATE=1 writes it again", path.display());
}
