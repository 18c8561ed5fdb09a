//! Help, version, completions, manual pages, explanations and the self-test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, wireproof};
use std::fs;

const VERBS: [&str; 20] = [
    "demo",
    "analyze",
    "observe",
    "doctor",
    "learn",
    "explain",
    "slice",
    "layouts",
    "ring",
    "matrix",
    "baseline",
    "compare",
    "report",
    "send",
    "replay",
    "bench",
    "device",
    "selftest",
    "completions",
    "man",
];

#[test]
fn the_help_of_every_verb_has_two_examples() {
    let dir = tempfile::tempdir().unwrap();
    for verb in VERBS {
        let (code, out, err) = outcome(wireproof(dir.path()).args([verb, "--help"]));
        assert_eq!((code, err.as_str()), (0, ""), "{verb}");
        let examples = out.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{verb}: {out}"));
        let call = format!("wireproof {verb}");
        assert!(examples.lines().filter(|l| l.contains(&call)).count() >= 2, "{verb}: {out}");
    }
}

#[test]
fn the_help_of_the_tool_lists_every_verb() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, _) = outcome(wireproof(dir.path()).arg("--help"));
    assert_eq!(code, 0);
    for verb in VERBS {
        assert!(out.contains(&format!("\n  {verb} ")), "{verb}: {out}");
    }
    assert!(out.contains("Exit codes: 0 PASS, 1 FAIL"), "{out}");
}

#[test]
fn the_version_is_that_of_the_package() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, _) = outcome(wireproof(dir.path()).arg("--version"));
    assert_eq!((code, out), (0, format!("wireproof {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, err) = outcome(wireproof(dir.path()).args(["completions", shell]));
        assert_eq!((code, err.as_str()), (0, ""), "{shell}");
        assert!(VERBS.iter().all(|verb| out.contains(verb)), "{shell}");
    }
    let (code, page, _) = outcome(wireproof(dir.path()).arg("man"));
    assert_eq!(code, 0);
    let pages = dir.path().join("pages");
    let (code, out, err) = outcome(wireproof(dir.path()).args(["man", "--out", "pages"]));
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    for verb in VERBS {
        assert!(page.contains(&format!("wireproof\\-{verb}")), "{verb}");
        let text = fs::read_to_string(pages.join(format!("wireproof-{verb}.1"))).unwrap();
        assert!(text.contains(".TH"), "{verb}: {text}");
    }
}

/// The verbs below a verb, as its help lists them.
fn below(verb: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let (_, help, _) = outcome(wireproof(dir.path()).args([verb, "--help"]));
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let list = list.split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|l| l.strip_prefix("  ")).filter(|l| !l.starts_with(' '));
    names.filter_map(|l| l.split(' ').next()).filter(|n| *n != "help").map(str::to_owned).collect()
}

#[test]
fn every_verb_and_every_verb_below_it_has_a_whole_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    outcome(wireproof(dir.path()).args(["man", "--out", "pages"]));
    let mut names = vec!["wireproof".to_owned()];
    for verb in VERBS {
        names.push(format!("wireproof-{verb}"));
        names.extend(below(verb).iter().map(|name| format!("wireproof-{verb}-{name}")));
    }
    assert!(names.iter().any(|name| name == "wireproof-matrix-resume"), "{names:?}");
    for name in &names {
        let text = fs::read_to_string(dir.path().join(format!("pages/{name}.1"))).expect(name);
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "\"EXIT STATUS\"", "\"SEE ALSO\""] {
            assert_eq!(text.matches(&format!(".SH {section}\n")).count(), 1, "{name}: {section}\n{text}");
        }
        assert!(text.is_ascii(), "{name}");
        let call = name.replace('-', " ");
        let examples = text.split(".SH EXAMPLES\n").nth(1).unwrap().split(".SH").next().unwrap();
        assert!(examples.replace("\\-", "-").contains(&call), "{name}: {examples}");
        let status = text.split("EXIT STATUS").nth(1).unwrap().split(".SH").next().unwrap();
        assert!(status.contains("\\fB0\\fR") && status.contains("\\fB2\\fR"), "{name}: {status}");
        let also = text.split("SEE ALSO\"\n").nth(1).unwrap().replace("\\-", "-");
        for page in also.split("\\fB").skip(1).filter_map(|rest| rest.split("\\fR").next()) {
            assert!(names.iter().any(|name| name == page), "{name}: there is no page {page}");
        }
    }
    let written = fs::read_dir(dir.path().join("pages")).unwrap().count();
    assert_eq!(written, names.len(), "a hidden verb has no page");
}

#[test]
fn a_code_is_explained_whatever_its_case() {
    let dir = tempfile::tempdir().unwrap();
    let (code, upper, err) = outcome(wireproof(dir.path()).args(["explain", "SEQ-LOST"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(upper.starts_with("SEQ-LOST  violation  "), "{upper}");
    for label in ["written in", "meaning", "what to do", "example"] {
        assert!(upper.contains(&format!("\n{label} ")), "{label}: {upper}");
    }
    let (_, lower, _) = outcome(wireproof(dir.path()).args(["explain", "seq-lost"]));
    assert_eq!(lower, upper);
}

#[test]
fn every_code_of_the_list_can_be_explained() {
    for rule in wireproof_protocols::registry::rules() {
        for text in [rule.title, rule.edition, rule.meaning, rule.advice, rule.example] {
            assert!(!text.is_empty(), "{}", rule.code);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let (_, all, _) = outcome(wireproof(dir.path()).arg("explain"));
    let (_, some, _) = outcome(wireproof(dir.path()).args(["explain", "sacn-"]));
    assert_eq!(all.lines().count(), wireproof_protocols::registry::rules().count());
    assert!(some.lines().count() > 10 && some.lines().all(|l| l.starts_with("SACN-")), "{some}");
}

#[test]
fn the_findings_document_is_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let (_, out, _) = outcome(wireproof(dir.path()).args(["explain", "--format", "markdown"]));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/findings.md");
    let written = fs::read_to_string(path).unwrap();
    assert!(written == out, "docs/findings.md differs from the catalogues: run `cargo xtask docs`");
}

#[test]
fn the_selftest_runs_the_corpus_and_ends_with_its_count() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = outcome(wireproof(dir.path()).args(["selftest", "--filter", "clean"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let cases = out.lines().count() - 1;
    assert!(cases >= 4 && out.lines().take(cases).all(|l| l.starts_with("PASS  ")), "{out}");
    assert_eq!(out.lines().last().unwrap(), format!("{cases}/{cases}"));
    let (_, again, _) = outcome(wireproof(dir.path()).args(["selftest", "--filter", "clean", "--seed", "1"]));
    assert_eq!(again, out);
}

#[test]
fn the_selftest_writes_its_cases_as_captures_that_analyze_reads() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new/corpus");
    let mut command = wireproof(dir.path());
    let (code, out, err) =
        outcome(command.args(["selftest", "--filter", "sacn-drop-one", "--write"]).arg(&folder));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let capture = folder.join("sacn-drop-one.pcap");
    let (code, out, _) = outcome(wireproof(dir.path()).arg("analyze").arg(&capture));
    assert_eq!(code, 1);
    assert!(out.contains(" violation SEQ-LOST "), "{out}");
}

#[test]
fn the_selftest_runs_every_case_with_several_seeds() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["selftest", "--filter", "clean", "--seed", "7", "--seeds", "3"];
    let (code, out, err) = outcome(wireproof(dir.path()).args(arguments));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let cases = out.lines().count() - 1;
    assert!(out.lines().take(cases).all(|l| l.starts_with("PASS  ") && l.ends_with("  3 seeds")), "{out}");
    assert_eq!(out.lines().last().unwrap(), format!("{cases}/{cases}"));
}
