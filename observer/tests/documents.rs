//! What the documents promise: links lead somewhere, codes, verbs and options exist, generated pages are up to date.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use clap::Command;
use cli_support::{outcome, wireproof};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use wireproof_protocols::{Layer, registry};

/// Rules over several datagrams that are judged without any limit: one occurrence is enough, or all of a run.
const NO_LIMIT: [&str; 19] = [
    "SACN-S44",
    "SYNC-ORPHAN",
    "CAP-TRUNCATED",
    "CAP-FRAGMENT",
    "CAP-DAMAGED",
    "CAP-LINK-TYPE",
    "CAP-DROPPED",
    "OBS-BUFFER",
    "OBS-LINK",
    "OBS-RECORD",
    "RIG-UNEXPECTED",
    "RIG-WAIVER-EXPIRED",
    "RIG-WAIVER-EXCEEDED",
    "RIG-WAIVER-UNUSED",
    "RING-LOST",
    "RING-FRAME-NEVER",
    "RING-CAUSE-MISSING",
    "RING-PLACE-UNKNOWN",
    "RING-CAUSES-ABSENT",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// README, changelog and everything below `docs`, by path from the root.
fn documents() -> BTreeMap<PathBuf, String> {
    let mut files = vec![PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "md") => files.push(path),
                false => {}
            }
        }
    }
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(root().join(path)).unwrap())).collect()
}

/// Code: fenced blocks by line, and spans between backticks.
fn code(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    let (mut fenced, mut carried, mut paragraph) = (false, String::new(), String::new());
    for line in text.lines().chain([""]) {
        let fence = line.trim_start().starts_with("```");
        if fence || line.trim().is_empty() {
            fenced ^= fence;
            // A span may go on in the next line, not in the next paragraph.
            let spans = std::mem::take(&mut paragraph);
            code.extend(spans.split('`').skip(1).step_by(2).map(str::to_owned));
        } else if fenced {
            let (whole, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
            carried.push_str(whole);
            if !goes_on {
                code.push(std::mem::take(&mut carried));
            }
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    code
}

/// Anchors of the headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let slug: String = title.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let times = seen.entry(slug.clone()).or_default();
        all.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
        *times += 1;
    }
    all
}

/// Targets of the links in a text, whatever lies between their brackets.
fn links(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut all = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        all.extend(targets.filter(|_| !fenced).map(str::to_owned));
    }
    all
}

/// Paths without `.` and `..`, so that they can be compared.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part.as_os_str().to_str() {
            Some("..") => drop(parts.pop()),
            Some(".") | None => {}
            Some(name) => parts.push(name),
        }
    }
    parts
}

#[test]
fn every_link_leads_to_a_file_and_an_anchor_that_are_there() {
    let documents = documents();
    let mut problems = Vec::new();
    for (path, text) in &documents {
        for link in links(text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(f, a)| (f, Some(a)));
            let folder = path.parent().unwrap();
            let target = if file.is_empty() { path.clone() } else { plain(&folder.join(file)) };
            if !root().join(&target).exists() {
                problems.push(format!("{}: {link}: no such file", path.display()));
            } else if let Some(anchor) = anchor {
                let there = documents.get(&target).is_some_and(|text| anchors(text).contains(anchor));
                if !there {
                    problems.push(format!("{}: {link}: no such heading", path.display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_document_is_reached_from_the_readme() {
    let documents = documents();
    let mut reached = BTreeSet::from([PathBuf::from("README.md")]);
    let mut waiting = vec![PathBuf::from("README.md")];
    while let Some(path) = waiting.pop() {
        let Some(text) = documents.get(&path) else { continue };
        for link in links(text) {
            let file = link.split('#').next().unwrap();
            let target = plain(&path.parent().unwrap().join(file));
            if reached.insert(target.clone()) {
                waiting.push(target);
            }
        }
    }
    // The README links the folder of decisions as a whole.
    let lost: Vec<_> =
        documents.keys().filter(|path| !reached.contains(*path) && !path.starts_with("docs/adr")).collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
}

#[test]
fn every_finding_code_in_the_documents_exists() {
    let known: BTreeSet<&str> = registry::rules().map(|rule| rule.code).collect();
    let prefixes: BTreeSet<&str> = known.iter().filter_map(|code| code.split('-').next()).collect();
    let mut found = BTreeSet::new();
    for (path, text) in documents() {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        for word in words.map(|word| word.trim_matches('-')) {
            let code = word.contains('-') && !word.contains(|c: char| c.is_ascii_lowercase() || c == '_');
            if code && prefixes.contains(word.split('-').next().unwrap()) {
                assert!(known.contains(word), "{}: no rule has the code {word}", path.display());
                found.insert(word.to_owned());
            }
        }
    }
    assert_eq!(found.len(), known.len(), "docs/findings.md names every rule");
}

/// Every verb and verb below a verb that is shown, with the names of its long options.
fn verbs() -> BTreeMap<String, BTreeSet<String>> {
    fn gather(command: &Command, name: &str, all: &mut BTreeMap<String, BTreeSet<String>>) {
        for verb in command.get_subcommands().filter(|v| !v.is_hide_set() && v.get_name() != "help") {
            let full = format!("{name} {}", verb.get_name()).trim().to_owned();
            let options = verb.get_arguments().filter_map(|a| a.get_long()).map(str::to_owned);
            // `--pcap` is there with the feature `libpcap` only.
            let own = ["help", "version"].into_iter().chain((full == "observe").then_some("pcap"));
            all.insert(full.clone(), options.chain(own.map(str::to_owned)).collect());
            gather(verb, &full, all);
        }
    }
    let mut all = BTreeMap::new();
    gather(&wireproof::cli::command(), "", &mut all);
    all
}

/// What follows the name of the program in a piece of code, up to where the shell begins another command.
fn calls(code: &str) -> Vec<Vec<&str>> {
    let mut calls = Vec::new();
    let mut words = code.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if word != "wireproof" && word != "$(wireproof" {
            continue;
        }
        words.next_if_eq(&"--");
        let ends = |word: &str| ["|", "\\|", "||", "&&", ";", "#", ">", ">>", "wireproof"].contains(&word);
        let mut call = Vec::new();
        while let Some(word) = words.next_if(|word| !ends(word)) {
            call.push(word);
        }
        calls.push(call);
    }
    calls
}

/// The verb of a call, with the one below it.
fn verb_of<'a>(call: &[&str], verbs: &'a BTreeMap<String, BTreeSet<String>>) -> Option<&'a String> {
    let names = [call.iter().take(2).copied().collect::<Vec<_>>().join(" "), call.first()?.to_string()];
    names.iter().find_map(|name| verbs.get_key_value(name)).map(|(name, _)| name)
}

#[test]
fn every_option_behind_a_verb_in_the_documents_is_one_of_it() {
    let verbs = verbs();
    let (mut problems, mut checked) = (Vec::new(), 0);
    for (path, text) in documents() {
        for code in &code(&text) {
            for call in calls(code) {
                let Some(verb) = verb_of(&call, &verbs) else { continue };
                let options =
                    call.iter().filter_map(|word| word.trim_matches(['[', ']', ',']).strip_prefix("--"));
                for option in
                    options.map(|o| o.split(['=', ']', '|']).next().unwrap()).filter(|o| !o.is_empty())
                {
                    checked += 1;
                    if !verbs[verb].contains(option) {
                        problems.push(format!("{}: {verb} has no --{option}: {code}", path.display()));
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 90, "only {checked} options were found in the documents");
}

#[test]
fn every_verb_is_named_in_the_documents() {
    let verbs = verbs();
    let mut named = BTreeSet::new();
    let mut unknown = Vec::new();
    for (path, text) in documents() {
        for code in &code(&text) {
            for call in calls(code) {
                match verb_of(&call, &verbs) {
                    Some(verb) => drop(named.insert(verb.clone())),
                    None if call.first().is_some_and(|word| word.chars().all(|c| c.is_ascii_lowercase())) => {
                        unknown.push(format!("{}: {code}", path.display()));
                    }
                    None => {}
                }
            }
        }
    }
    // Verbs that only hold others are named with one of them.
    let missing: Vec<_> = verbs
        .keys()
        .filter(|verb| !named.contains(*verb) && !named.iter().any(|n| n.starts_with(&format!("{verb} "))))
        .collect();
    assert!(missing.is_empty(), "no code in a document shows {missing:?}");
    assert!(unknown.is_empty(), "no such verb: {}", unknown.join("\n"));
}

#[test]
fn the_document_of_thresholds_is_up_to_date_and_names_every_rule_that_has_one() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) =
        outcome(wireproof(dir.path()).args(["explain", "--thresholds", "--format", "markdown"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let written = fs::read_to_string(root().join("docs/thresholds.md")).unwrap();
    assert!(written == out, "docs/thresholds.md differs from the constants: run `cargo xtask docs`");
    for rule in registry::rules().filter(|rule| rule.layer == Layer::Stream) {
        let named = written.contains(&format!("[{}](", rule.code));
        assert_eq!(
            named,
            !NO_LIMIT.contains(&rule.code),
            "{}: has a limit, or is listed in NO_LIMIT",
            rule.code
        );
    }
    for row in written.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |")) {
        let place = row.trim_end_matches("` |").rsplit('`').next().unwrap();
        assert!(root().join(place).is_file(), "{place}: no such file");
    }
}

#[test]
fn a_rule_is_explained_with_what_it_is_judged_by() {
    let dir = tempfile::tempdir().unwrap();
    let (_, gap, _) = outcome(wireproof(dir.path()).args(["explain", "TIME-GAP"]));
    assert!(gap.contains("judged by") && gap.contains("150 %"), "{gap}");
    let (_, orphan, _) = outcome(wireproof(dir.path()).args(["explain", "SYNC-ORPHAN"]));
    assert!(!orphan.contains("judged by"), "{orphan}");
    let (code, list, _) = outcome(wireproof(dir.path()).args(["explain", "--thresholds"]));
    assert!(code == 0 && list.contains("protocols/src/verify/settle.rs"), "{list}");
    let (code, _, err) = outcome(wireproof(dir.path()).args(["explain", "TIME-GAP", "--thresholds"]));
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
}

#[test]
fn the_document_of_the_bench_host_names_every_line_of_the_doctor() {
    let dir = tempfile::tempdir().unwrap();
    let (_, out, err) = outcome(wireproof(dir.path()).args(["doctor", "--format", "json"]));
    let document: serde_json::Value = serde_json::from_str(&out).expect(&err);
    let written = fs::read_to_string(root().join("docs/bench-host.md")).unwrap();
    let checks = document["checks"].as_array().unwrap();
    assert!(checks.len() > 10, "{out}");
    for check in checks {
        let name = check["name"].as_str().unwrap();
        let kind = ["port ", "interface "].into_iter().find(|kind| name.starts_with(kind));
        let line = format!("`{}", kind.map_or(name, str::trim_end));
        assert!(written.contains(&line), "docs/bench-host.md does not name the line {name:?}");
    }
}
