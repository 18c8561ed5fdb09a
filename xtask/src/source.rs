//! Checks on text files: what a source file starts with, how long files are, and what must not stand in them.

use crate::files::TextFile;

/// Longest source file, lines.
const SOURCE_LINES: usize = 600;
/// Longest decision record, lines.
const RECORD_LINES: usize = 30;
/// Files that may hold the keyword.
const UNSAFE_ALLOWED: &[&str] = &[
    "encoders/src/arena.rs",
    "fixture/src/service/sys_idle.rs",
    "fixture/src/service/sys_queue.rs",
    "observer/benches/load/sys.rs",
    "observer/src/capture/wide.rs",
    "observer/src/live/sys_packet.rs",
    "observer/src/live/sys_socket.rs",
    "observer/src/live/sys_thread.rs",
    "observer/src/send/sys_send.rs",
    "protocols/src/verify/soon.rs",
    "recorder-c/src/border.rs",
    "recorder/src/words.rs",
];
/// The keyword, spelled so that this file passes its own check.
const KEYWORD: &str = concat!("un", "safe");
/// What a test prints that the harness keeps to itself, spelled so that this file passes its own check.
const KEPT: &str = concat!("println!(\"", "SKIPPED");
/// First folders of paths that exist on one machine only, spelled so that this file passes its own check.
const MACHINE: &[&str] = &["work", "home", "root"];

/// One line for each problem.
pub(crate) fn check(files: &[TextFile]) -> Vec<String> {
    files.iter().flat_map(|(path, text)| one(path, text)).collect()
}

fn one(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if path.ends_with(".rs") {
        problems.extend(rust(path, text));
    }
    let lines = text.lines().count();
    if path.starts_with("docs/adr/") && lines > RECORD_LINES {
        problems.push(format!("{path}: {lines} lines, a decision record has {RECORD_LINES} at most"));
    }
    // Worked cases are kept octet by octet, and the paths in them are those of a device.
    let given = path.contains("/golden/") && path.ends_with(".json");
    for (number, line) in text.lines().enumerate().filter(|_| !given) {
        if let Some(folder) = MACHINE.iter().find(|folder| names_machine(line, folder)) {
            problems.push(format!("{path}:{}: holds a path of one machine (/{folder}/)", number + 1));
        }
    }
    problems
}

fn rust(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        problems.push(format!("{path}: does not start with //!"));
    }
    let lines = text.lines().count();
    if lines > SOURCE_LINES {
        problems.push(format!("{path}: {lines} lines, a source file has {SOURCE_LINES} at most"));
    }
    let number = text.lines().position(has_unsafe);
    if let Some(number) = number.filter(|_| !UNSAFE_ALLOWED.contains(&path)) {
        problems.push(format!("{path}:{}: the unsafe keyword is allowed in listed files only", number + 1));
    }
    let kept = text.lines().position(|line| line.contains(KEPT)).filter(|_| !path.contains("/benches/"));
    if let Some(number) = kept {
        problems
            .push(format!("{path}:{}: the test harness keeps this line, write it to stderr()", number + 1));
    }
    problems
}

/// The keyword in front of a block, function, implementation, trait or extern block; comments are left out.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '{'));
    while let Some(word) = words.next() {
        let next = words.clone().find(|w| !w.is_empty()).unwrap_or("{");
        let opens = next.starts_with('{') || ["fn", "impl", "trait", "extern"].contains(&next);
        let opened = word == KEYWORD && opens;
        if opened || word.strip_suffix('{') == Some(KEYWORD) {
            return true;
        }
    }
    false
}

/// True for `/folder/` at the start of a path, not inside a longer one such as a URL.
fn names_machine(line: &str, folder: &str) -> bool {
    let needle = format!("/{folder}/");
    line.match_indices(&needle).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-/*~}".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&[(path.to_owned(), text.to_owned())])
    }

    #[test]
    fn a_tidy_file_has_no_problems() {
        let text = "//! Owns nothing.\n#![deny(unsafe_code)]\n// unsafe { in a comment }\nfn f() {}\n";
        assert_eq!(found("a/src/lib.rs", text), Vec::<String>::new());
    }

    #[test]
    fn a_source_file_without_a_header_is_found() {
        assert_eq!(found("a.rs", "fn f() {}\n"), ["a.rs: does not start with //!"]);
        assert_eq!(found("a.md", "no header\n"), Vec::<String>::new());
    }

    #[test]
    fn a_long_source_file_is_found() {
        let text = "//! x\n".repeat(601);
        assert_eq!(found("a.rs", &text), ["a.rs: 601 lines, a source file has 600 at most"]);
        assert_eq!(found("a.rs", &"//! x\n".repeat(600)), Vec::<String>::new());
    }

    #[test]
    fn a_long_decision_record_is_found() {
        let text = "x\n".repeat(31);
        let expected = ["docs/adr/0009-x.md: 31 lines, a decision record has 30 at most"];
        assert_eq!(found("docs/adr/0009-x.md", &text), expected);
        assert_eq!(found("docs/long.md", &text), Vec::<String>::new());
    }

    #[test]
    fn a_skip_that_nobody_would_see_is_found() {
        let text = format!("//! x\n    {KEPT} x: no\");\n");
        assert_eq!(found("a.rs", &text), ["a.rs:2: the test harness keeps this line, write it to stderr()"]);
    }

    #[test]
    fn the_keyword_is_found_wherever_it_opens_something() {
        let keyword = KEYWORD;
        for code in ["{ f() }", "{f()}", "fn f() {}", "impl X for Y {}", "extern \"C\" {}", ""] {
            let text = format!("//! x\nlet x = {keyword} {code}\n");
            let expected = "a.rs:2: the unsafe keyword is allowed in listed files only";
            assert_eq!(found("a.rs", &text), [expected], "{code}");
        }
        assert!(!has_unsafe("is_unsafe { x }"));
        assert!(!has_unsafe("#![deny(unsafe_code)]"));
    }

    #[test]
    fn paths_of_one_machine_are_found_and_urls_are_not() {
        for folder in MACHINE {
            let bad = format!("see /{folder}/x/y\n");
            let expected = format!("a.md:1: holds a path of one machine (/{folder}/)");
            assert_eq!(found("a.md", &bad), [expected]);
            let quoted = format!("open(\"/{folder}/x\")");
            assert_eq!(found("a.sh", &quoted).len(), 1);
            let url = format!("https://example.org/{folder}/x and ../{folder}/x\n");
            assert_eq!(found("a.md", &url), Vec::<String>::new());
            assert_eq!(found("matrices/tests/golden/a.json", &bad), Vec::<String>::new());
        }
    }
}
