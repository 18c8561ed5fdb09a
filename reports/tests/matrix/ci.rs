//! What a CI job makes of a verdict.

use super::{NARROW, between, fixtures, odd, render, text};
use wireproof_matrices::verdict::{Outcome, Verdict};
use wireproof_reports::Format;
use wireproof_reports::matrix::InconclusiveIs;

/// Test cases, failures, errors and skipped ones: as the suite says, and as there are.
fn totals(xml: &str) -> [usize; 4] {
    let said = ["tests", "failures", "errors", "skipped"]
        .map(|name| between(xml, &format!(" {name}=\""), "\"").parse::<usize>().unwrap());
    let there = ["<testcase ", "<failure ", "<error ", "<skipped "].map(|tag| xml.matches(tag).count());
    assert_eq!(said, there, "{xml}");
    said
}

#[test]
fn ci_sees_failures_errors_and_skipped_tests_as_the_verdict_has_them() {
    let of = |v: &Verdict, inconclusive| totals(&render(v, Format::Junit, NARROW, inconclusive));
    let (skip, fail) = (InconclusiveIs::Skipped, InconclusiveIs::Failure);
    assert_eq!(of(&fixtures::pass(), skip), [3, 0, 0, 0]);
    assert_eq!(of(&fixtures::fail(), skip), [3, 2, 0, 0]);
    assert_eq!(of(&fixtures::inconclusive(), skip), [3, 0, 0, 1]);
    assert_eq!(of(&fixtures::inconclusive(), fail), [3, 1, 0, 0]);
    assert_eq!(of(&fixtures::invalid(), skip), [3, 0, 3, 0]);
    assert_eq!(of(&fixtures::partial(), skip), [3, 0, 3, 0]);
    // A what-if passes nothing, whatever holds.
    assert_eq!(of(&fixtures::exploratory(), skip), [3, 0, 0, 3]);
    assert_eq!(of(&fixtures::exploratory(), fail), [3, 3, 0, 0]);
}

#[test]
fn ci_is_never_green_for_a_run_that_no_gate_gives_away() {
    let mut verdict = fixtures::pass();
    verdict.verdict = Outcome::Fail;
    assert_eq!(totals(&text(&verdict, Format::Junit)), [4, 1, 0, 0]);
    verdict.verdict = Outcome::Inconclusive;
    assert_eq!(totals(&text(&verdict, Format::Junit)), [4, 0, 0, 1]);
    verdict.gates.clear();
    assert_eq!(totals(&text(&verdict, Format::Junit)), [1, 0, 0, 1]);
}

#[test]
fn junit_is_well_formed_whatever_the_names_are() {
    let xml = text(&odd::hostile(), Format::Junit);
    totals(&xml);
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1) {
        let (inside, rest) = tag.split_once('>').unwrap();
        assert!(!rest.contains(']') || !rest.contains("]]>"), "{rest}");
        assert_eq!(inside.matches('"').count() % 2, 0, "{inside}");
        for entity in inside.split('&').skip(1).chain(rest.split('&').skip(1)) {
            let known = ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|name| entity.starts_with(name));
            assert!(known, "{entity}");
        }
        let name = inside.split(' ').next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None if inside.ends_with('/') || inside.starts_with('?') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
