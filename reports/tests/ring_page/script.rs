//! The script of the page in a browser: what it shows is what the record says, whichever way a frame was reached.

use super::browser::Browser;
use super::{check, page, rings};
use serde_json::Value;

/// Place in the record of the frame that is shown.
fn shown(browser: &mut Browser) -> u64 {
    let path = browser.value("document.querySelector('#which [data-path]').dataset.path");
    path.as_str().unwrap().split('/').nth(2).unwrap().parse().unwrap()
}

/// The frame that is shown is this one, every figure of the page is the record's, and the picture has all its spans.
fn expect(browser: &mut Browser, record: &Value, at: u64, how: &str) {
    assert_eq!(shown(browser), at, "{how}");
    let (tree, same, _) = check(how, &browser.dump());
    assert_eq!(same, *record, "{how}: the record stays as it is");
    let gantt = tree.all().into_iter().find(|e| e.get("id") == Some("gantt")).unwrap();
    let frame = &record["frames"][at as usize];
    assert_eq!(gantt.find("button").len(), frame["spans"]["row"].as_array().unwrap().len(), "{how}");
    let which = tree.all().into_iter().find(|e| e.get("id") == Some("which")).unwrap().text();
    let (id, ns) = (frame["id"].as_u64().unwrap(), frame["duration_ns"].as_u64().unwrap());
    let (us, left) = (ns / 1_000, ns % 1_000);
    assert!(which.starts_with(&format!("Frame {id}: ")), "{how}: {which}");
    assert!(which.contains(&format!("({us}.{left:03} \u{b5}s)")), "{how}: {which}");
    let missing = frame["missing_before"].as_u64().unwrap();
    assert_eq!(
        which.contains(&format!("GAP in front of it, ids missing: {missing} (")),
        missing > 0,
        "{how}: {which}"
    );
}

#[test]
fn stepping_and_choosing_show_the_frames_of_the_record() {
    let test = "stepping_and_choosing_show_the_frames_of_the_record";
    let Some(mut browser) = Browser::start(test) else { return };
    let (_, page) = page("planted", &rings::planted());
    let (_, record, _) = check("planted", &page);
    let pick = |name: &str| record["picks"][name].as_u64().unwrap();
    browser.open("ring", &page, "");
    expect(&mut browser, &record, pick("p95"), "the page opens at p95");
    assert_eq!(browser.value("document.getElementById('still').hidden"), true);
    for (button, name) in [(0, "p50"), (2, "p99"), (3, "worst")] {
        browser.value(&format!("document.querySelectorAll('[data-frame]')[{button}].click()"));
        expect(&mut browser, &record, pick(name), name);
    }
    let worst = pick("worst");
    browser.press("ArrowRight", 39);
    expect(&mut browser, &record, worst + 1, "right arrow");
    browser.value("document.getElementById('on').click()");
    expect(&mut browser, &record, worst + 2, "later");
    browser.press("ArrowLeft", 37);
    browser.value("document.getElementById('back').click()");
    browser.press("ArrowLeft", 37);
    expect(&mut browser, &record, worst - 1, "left arrow and earlier");
    assert_eq!(browser.value("performance.getEntriesByType('resource').length"), 0, "nothing is fetched");
}

#[test]
fn both_ends_hold_and_a_frame_behind_a_gap_says_so() {
    let Some(mut browser) = Browser::start("both_ends_hold_and_a_frame_behind_a_gap_says_so") else { return };
    let (_, page) = page("planted", &rings::planted());
    let (_, record, _) = check("planted", &page);
    let frames = record["frames"].as_array().unwrap();
    let place = |id: u64| frames.iter().position(|row| row["id"] == id).unwrap() as u64;
    browser.open("gap", &page, "#frame=203");
    expect(&mut browser, &record, place(203), "a link to a frame");
    browser.open("first", &page, &format!("#frame={}", frames[0]["id"]));
    browser.press("ArrowLeft", 37);
    expect(&mut browser, &record, 0, "nothing in front of the first");
    assert_eq!(browser.value("document.getElementById('back').disabled"), true);
    let last = frames.len() as u64 - 1;
    browser.open("last", &page, &format!("#frame={}", frames[last as usize]["id"]));
    browser.press("ArrowRight", 39);
    expect(&mut browser, &record, last, "nothing behind the last");
}

#[test]
fn a_span_tells_its_exact_times_to_keyboard_and_pointer() {
    let Some(mut browser) = Browser::start("a_span_tells_its_exact_times_to_keyboard_and_pointer") else {
        return;
    };
    let (_, page) = page("planted", &rings::planted());
    let (_, record, _) = check("planted", &page);
    let at = record["picks"]["worst"].as_u64().unwrap() as usize;
    let frame = &record["frames"][at];
    let exact = |ns: i64| {
        format!("{}{}.{:03} \u{b5}s", if ns < 0 { "-" } else { "" }, ns.abs() / 1_000, ns.abs() % 1_000)
    };
    let told = |span: usize| {
        let ns = |key: &str| frame["spans"][key][span].as_i64().unwrap();
        let (offset, length) = (ns("offset_ns"), ns("duration_ns"));
        [
            format!("starts {}", exact(offset)),
            format!("takes {}", exact(length)),
            format!("ends at {}", exact(offset + length)),
        ]
    };
    browser.open("span", &page, &format!("#frame={}", frame["id"]));
    browser.value("document.querySelector('#gantt button').focus()");
    let spans = frame["spans"]["row"].as_array().unwrap().len();
    let early = (0..spans).find(|n| frame["spans"]["offset_ns"][*n].as_i64().unwrap() < 0).unwrap();
    for span in 0..spans {
        let live = browser.value("document.getElementById('live').textContent");
        for text in told(span) {
            assert!(live.as_str().unwrap().contains(&text), "span {span}: {live} has no {text}");
        }
        assert_eq!(live.as_str().unwrap().contains("before the frame's start"), span == early, "{live}");
        browser.press("ArrowDown", 40);
    }
    check("told", &browser.dump());
    browser.value(&format!(
        "document.querySelectorAll('#gantt button')[{early}].dispatchEvent(new MouseEvent('mouseenter'))"
    ));
    let live = browser.value("document.getElementById('live').textContent");
    assert!(told(early).iter().all(|text| live.as_str().unwrap().contains(text)), "{live}");
    // A step keeps the reader in the picture.
    browser.press("ArrowLeft", 37);
    assert_eq!(browser.value("document.activeElement.closest('#gantt') !== null"), true);
}

#[test]
fn a_script_that_was_changed_does_not_run_and_the_page_stays_readable() {
    let test = "a_script_that_was_changed_does_not_run_and_the_page_stays_readable";
    let Some(mut browser) = Browser::start(test) else { return };
    let (_, page) = page("planted", &rings::planted());
    let changed = page.replacen("\"use strict\";", "\"use strict\"; ", 1);
    assert_ne!(changed, page);
    browser.open("changed", &changed, "");
    assert_eq!(browser.value("document.getElementById('chart').hidden"), true);
    assert_eq!(browser.value("document.querySelectorAll('#still .gantt').length"), 2);
}

#[test]
fn an_empty_and_a_hostile_ring_run_without_an_error() {
    let Some(mut browser) = Browser::start("an_empty_and_a_hostile_ring_run_without_an_error") else {
        return;
    };
    browser.open("empty", &page("empty", &rings::empty()).1, "");
    check("empty", &browser.dump());
    let (_, page) = page("hostile", &rings::hostile());
    browser.open("hostile", &page, "");
    assert_eq!(browser.value("document.getElementById('chart').hidden"), false);
    let (tree, _, _) = check("hostile", &page);
    let scripts = tree.find("script").len();
    assert_eq!(browser.value("document.scripts.length"), scripts as u64);
}
