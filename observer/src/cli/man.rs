//! Manual pages: one for the tool, one for each verb and each verb below it, from the definition of the command line.
//!
//! It writes nothing: pages come out as names and texts. What a verb's exit codes mean stands in `STATUS`; the whole
//! contract is `docs/exit-codes.md`.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::io;

/// Where the examples of a help text begin.
const EXAMPLES: &str = "Examples:\n";

/// Exit codes of a verb, by the beginning of its full name; the longest that fits stands for a verb.
const STATUS: &[(&str, &[u8])] = &[
    ("", &[0, 1, 2, 3, 4, 5, 6, 7]),
    ("demo", &[0, 1, 2, 3, 4, 5, 6]),
    ("analyze", &[0, 1, 2, 3, 4, 6, 7]),
    ("observe", &[0, 1, 2, 3, 4, 5, 6, 7]),
    ("learn", &[0, 2, 3, 6]),
    ("explain", &[0, 2]),
    ("slice", &[0, 2, 6]),
    ("extcap", &[0, 2, 6]),
    ("doctor", &[0, 2, 6]),
    ("send", &[0, 2, 5, 6]),
    ("replay", &[0, 2, 5, 6]),
    ("bench", &[0, 1, 2, 6]),
    ("device", &[0, 2, 5, 6]),
    ("layouts", &[0, 2, 6]),
    ("ring", &[0, 2, 6, 7]),
    ("matrix", &[0, 1, 2, 3, 4, 5, 6, 7]),
    ("matrix init", &[0, 2, 6]),
    ("matrix check", &[0, 2, 6, 7]),
    ("matrix freeze", &[0, 2, 6, 7]),
    ("matrix order", &[0, 2, 6, 7]),
    ("matrix calibrate", &[0, 2, 6, 7]),
    ("matrix restore", &[0, 2, 4, 6, 7]),
    ("matrix verify", &[0, 2, 6, 7]),
    ("baseline", &[0, 2, 6, 7]),
    ("report", &[0, 2, 6, 7]),
    ("schema", &[0, 2]),
    ("selftest", &[0, 1, 2, 4, 6]),
    ("config", &[0, 2, 6]),
    ("completions", &[0, 2]),
    ("man", &[0, 2, 6]),
];

/// Pages worth reading beside a verb's own.
const RELATED: &[(&str, &[&str])] = &[
    ("demo", &["device", "selftest", "observe"]),
    ("analyze", &["observe", "explain", "slice", "learn", "compare"]),
    ("observe", &["analyze", "doctor", "explain", "matrix"]),
    ("extcap", &["observe", "explain"]),
    ("doctor", &["observe"]),
    ("learn", &["analyze", "observe"]),
    ("explain", &["analyze", "slice"]),
    ("slice", &["analyze", "explain"]),
    ("send", &["replay", "device", "observe"]),
    ("replay", &["send", "analyze"]),
    ("device", &["ring", "matrix", "demo"]),
    ("bench", &["send"]),
    ("layouts", &["analyze", "observe", "send"]),
    ("ring", &["observe", "analyze", "matrix"]),
    ("matrix", &["baseline", "compare", "device"]),
    ("baseline", &["compare", "matrix"]),
    ("compare", &["baseline", "report", "analyze"]),
    ("report", &["analyze", "compare"]),
    ("schema", &["report", "analyze", "compare"]),
    ("selftest", &["demo", "doctor"]),
    ("config", &["analyze", "observe"]),
    ("completions", &["man"]),
    ("man", &["completions"]),
];

/// Name and text of every page, the tool's own first.
pub(super) fn pages(tool: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut tool = tool.disable_help_subcommand(true);
    // Gives the verbs their full names.
    tool.build();
    let mut pages = Vec::new();
    gather(&tool, &mut pages)?;
    Ok(pages)
}

fn gather(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    pages.push((name(command).to_owned(), page(command)?));
    shown(command).try_for_each(|verb| gather(verb, pages))
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

/// `wireproof-matrix-run`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// `matrix run`; empty for the tool.
fn verb(command: &Command) -> String {
    let full = command.get_bin_name().unwrap_or_else(|| command.get_name());
    full.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let version = concat!("wireproof ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).manual("Wireproof Manual").source(version);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let verb = verb(command);
    let mut rest = Roff::new();
    examples(&mut rest, &help);
    notes(&mut rest, &help);
    status(&mut rest, &verb);
    see_also(&mut rest, command, &verb);
    rest.to_writer(&mut text)?;
    Ok(ascii(&String::from_utf8_lossy(&text)))
}

/// The page with every character beyond ASCII by its number, so that no formatter has to guess the encoding.
fn ascii(text: &str) -> Vec<u8> {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            c if c.is_ascii() => plain.push(c),
            c => plain.push_str(&format!("\\[u{:04X}]", u32::from(c))),
        }
    }
    plain.into_bytes()
}

fn section(roff: &mut Roff, title: &str) {
    roff.control("SH", [title]);
}

fn examples(roff: &mut Roff, help: &str) {
    let Some(lines) = help.split(EXAMPLES).nth(1).and_then(|all| all.split("\n\n").next()) else { return };
    section(roff, "EXAMPLES");
    roff.control("nf", []);
    lines.lines().for_each(|line| {
        roff.text([roman(line.trim())]);
    });
    roff.control("fi", []);
}

/// What a help text says beside its examples, a paragraph each.
fn notes(roff: &mut Roff, help: &str) {
    let mut paragraphs = help.split("\n\n").filter(|text| !text.starts_with(EXAMPLES)).peekable();
    if paragraphs.peek().is_none_or(|text| text.trim().is_empty()) {
        return;
    }
    section(roff, "NOTES");
    for paragraph in paragraphs {
        roff.control("PP", []);
        roff.text([roman(paragraph.split_whitespace().collect::<Vec<_>>().join(" "))]);
    }
}

fn status(roff: &mut Roff, verb: &str) {
    section(roff, "EXIT STATUS");
    for code in codes(verb) {
        roff.control("TP", []);
        roff.text([bold(code.to_string())]);
        roff.text([roman(meaning(*code))]);
    }
}

/// The exit codes of a verb such as `matrix run`.
fn codes(verb: &str) -> &'static [u8] {
    let fits = |name: &str| name.is_empty() || verb == name || verb.starts_with(&format!("{name} "));
    let longest = STATUS.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
    longest.map(|(_, codes)| *codes).unwrap_or_default()
}

fn meaning(code: u8) -> &'static str {
    match code {
        0 => "PASS, or done what was asked.",
        1 => "FAIL: a violation or a proven loss, a gate or a case that failed.",
        2 => "Usage: an option, a plan or a file of settings is refused.",
        3 => "INCONCLUSIVE: what was seen does not decide it.",
        4 => "INVALID: the observer or the bench spoiled the measurement.",
        5 => "PARTIAL: a run of fixed length was cut short.",
        6 => "Input or output: a file, an interface, a port, a right or room on the disk is missing.",
        _ => "Integrity: a hash, a manifest, a schema or a ring cannot be believed.",
    }
}

fn see_also(roff: &mut Roff, command: &Command, verb: &str) {
    section(roff, "SEE ALSO");
    let mut first = verb.split_whitespace();
    let top = first.next().unwrap_or_default();
    let related = RELATED.iter().filter(|(name, _)| *name == top).flat_map(|(_, names)| names.iter());
    let mut names: Vec<String> = if verb.is_empty() {
        shown(command).map(|verb| name(verb).to_owned()).collect()
    } else {
        vec!["wireproof".to_owned()]
    };
    names.extend(first.next().map(|_| format!("wireproof-{top}")));
    names.extend(related.map(|name| format!("wireproof-{name}")));
    let last = names.len().saturating_sub(1);
    let comma = |n| if n == last { "(1)" } else { "(1), " };
    let words: Vec<Inline> =
        names.iter().enumerate().flat_map(|(n, name)| [bold(name.as_str()), roman(comma(n))]).collect();
    roff.text(words);
}
