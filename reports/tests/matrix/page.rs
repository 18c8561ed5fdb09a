//! The page and the figures of the tables, against the record.

use super::figures::{Known, of_html, of_markdown};
use super::{between, causes, environment, fixtures, odd, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use wireproof_matrices::verdict::Verdict;
use wireproof_reports::Format;

/// Everything a report is made of.
fn record(v: &Verdict) -> Value {
    json!({"verdict": v, "environment": environment(), "causes": causes(), "envelope": odd::envelope(v)})
}

#[test]
fn every_figure_of_a_table_stands_in_the_record() {
    for (name, verdict) in fixtures::all() {
        let known = Known::of(&record(&verdict));
        let markdown = of_markdown(&text(&verdict, Format::Markdown));
        let html = of_html(&text(&verdict, Format::Html));
        assert!(Known::count(&markdown) > 80, "{name}: {}", Known::count(&markdown));
        for cell in markdown.iter().chain(&html) {
            let strange = known.strange(cell);
            let is_time = cell.ends_with('Z') && cell.contains('T');
            assert!(strange.is_empty() || is_time, "{name}: {cell}: {strange:?}");
        }
    }
}

#[test]
fn a_figure_of_another_record_is_noticed() {
    let mut other = fixtures::pass();
    other.gates[0].point = Some(wireproof_matrices::number::Number(68_640.0));
    let known = Known::of(&record(&fixtures::pass()));
    let cells = of_markdown(&text(&other, Format::Markdown));
    let strange: Vec<String> = cells.iter().flat_map(|cell| known.strange(cell)).collect();
    assert_eq!(strange, ["+68.6"]);
}

#[test]
fn the_page_has_the_tables_of_the_markdown_report() {
    for (name, verdict) in fixtures::all().into_iter().chain([("hostile", odd::hostile())]) {
        let markdown = of_markdown(&text(&verdict, Format::Markdown));
        assert_eq!(of_html(&text(&verdict, Format::Html)), markdown, "{name}");
    }
}

#[test]
fn the_page_carries_its_own_record() {
    for (name, verdict) in fixtures::all().into_iter().chain([("hostile", odd::hostile())]) {
        let page = text(&verdict, Format::Html);
        let carried = between(&page, "<script type=\"application/json\" id=\"record\">", "</script>");
        let carried: Value = serde_json::from_str(carried).unwrap();
        assert_eq!(serde_json::from_value::<Verdict>(carried["verdict"].clone()).unwrap(), verdict, "{name}");
        assert_eq!(carried["environment"], environment(), "{name}");
    }
}

#[test]
fn no_name_gets_out_of_its_place_in_a_page() {
    let page = text(&odd::hostile(), Format::Html);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    let open: BTreeSet<&str> =
        page.split('<').skip(1).map(|tag| tag.split([' ', '>', '/', '\n']).next().unwrap()).collect();
    let known = [
        "",
        "!doctype",
        "b",
        "body",
        "circle",
        "div",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "head",
        "html",
        "i",
        "li",
        "line",
        "meta",
        "path",
        "p",
        "polygon",
        "rect",
        "script",
        "section",
        "small",
        "span",
        "style",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
        "caption",
    ];
    let strange: Vec<&&str> = open.iter().filter(|tag| !known.contains(tag)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    for (name, verdict) in fixtures::all().into_iter().chain([("hostile", odd::hostile())]) {
        let page = text(&verdict, Format::Html);
        for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "onload", "\u{1b}", "\u{202e}"]
        {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
    }
}
