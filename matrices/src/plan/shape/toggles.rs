//! What every toggle must keep to: one way to act, a read that changes nothing, bounded texts.

use super::super::{Action, Toggle};
use super::{Checked, MOST_ENTRIES, MOST_LEVELS, duration, path, refuse, within, word};

/// Ways to ask a device over HTTP to change.
const METHODS: [&str; 5] = ["POST", "PUT", "PATCH", "DELETE", "GET"];

pub(super) fn check(toggle: &Toggle) -> Checked {
    let table = format!("toggle {}", toggle.factor.chars().take(40).collect::<String>());
    action(&format!("{table}.set"), &toggle.set, &METHODS)?;
    action(&format!("{table}.verify"), &toggle.verify.read, &["GET"])?;
    let pointer = &toggle.verify.pointer;
    word(&table, "pointer", pointer)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return refuse(table, "pointer", "is no JSON pointer: write it like \"/enabled\"");
    }
    let levels = toggle.verify.equals.len().max(toggle.set.words.len());
    if levels > MOST_LEVELS {
        return refuse(table, "verify", format!("names more than {MOST_LEVELS} levels"));
    }
    if let Some(effect) = &toggle.effect {
        word(&table, "effect", &effect.counter)?;
        within(&table, "at_least_per_s", effect.at_least_per_s.into(), 1, 1_000_000)?;
        duration(&table, "effect", effect.within_ns, 1)?;
    }
    if let Some(lease_ns) = toggle.lease_ns {
        duration(&table, "lease", lease_ns, 1_000_000)?;
    }
    within(&table, "retries", toggle.retries.into(), 0, 10)?;
    duration(&table, "timeout", toggle.timeout_ns, 1)
}

/// An HTTP request or a program, never both.
fn action(table: &str, action: &Action, methods: &[&str]) -> Checked {
    match (&action.http, &action.argv) {
        (Some(method), None) if methods.contains(&method.as_str()) && !action.shell => {}
        (None, Some(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => {
            if action.path.is_some() || action.body.is_some() || (action.shell && argv.len() > 1) {
                return refuse(table, "argv", "has path, body or, with shell, more than one line beside it");
            }
        }
        _ => {
            return refuse(
                table,
                "",
                format!("needs http, one of {}, or argv = [\"program\", …]", methods.join(", ")),
            );
        }
    }
    match &action.path {
        Some(text) => path(table, "path", text)?,
        None if action.http.is_some() => return refuse(table, "path", "is missing"),
        None => {}
    }
    word(table, "body", action.body.as_deref().unwrap_or_default())?;
    action.words.values().try_for_each(|text| word(table, "words", text))?;
    let argv = action.argv.as_deref().unwrap_or_default();
    if argv.len() > MOST_ENTRIES {
        return refuse(table, "argv", format!("has more than {MOST_ENTRIES} arguments"));
    }
    argv.iter().try_for_each(|argument| word(table, "argv", argument))?;
    match argv.iter().any(|argument| argument.contains('\0')) {
        true => refuse(table, "argv", "holds a zero octet"),
        false => Ok(()),
    }
}
