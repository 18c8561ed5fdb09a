//! `[[toggle]]`: how a factor is set, read back, seen to work and restored.

use super::super::{Action, Check, Effect, Factor, Motion, PlanError, Toggle};
use super::{SECOND, Table};
use std::collections::BTreeMap;

/// Keys of an action.
const ACTION: [&str; 6] = ["http", "path", "body", "argv", "shell", "words"];
/// Ways to ask a device over HTTP to change.
const SETS: [(&str, &str); 5] =
    [("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE"), ("GET", "GET")];

/// The plan's own switches, and those of the profile for factors that have none.
pub(super) fn with(own: Vec<Toggle>, factors: &[Factor], theirs: Vec<Toggle>) -> Vec<Toggle> {
    let lacking = |name: &str| {
        let set = own.iter().any(|toggle| toggle.factor == name);
        !set && factors.iter().any(|factor| factor.name == name)
    };
    let added: Vec<Toggle> = theirs.into_iter().filter(|toggle| lacking(&toggle.factor)).collect();
    own.into_iter().chain(added).collect()
}

pub(in crate::plan) fn read(root: &Table<'_>, fps: u32) -> Result<Vec<Toggle>, PlanError> {
    root.tables("toggle")?.into_iter().map(|table| toggle(table, fps)).collect()
}

fn toggle(table: Table<'_>, fps: u32) -> Result<Toggle, PlanError> {
    let factor = table.need("factor", table.text("factor")?)?;
    let table = table.named(&factor);
    table.only(&["factor", "set", "verify", "effect", "restore", "timeout", "retries", "lease"])?;
    let set = table.needed_table("set")?;
    set.only(&ACTION)?;
    let verify = table.table("verify")?;
    let verify = verify.ok_or_else(|| {
        table.refuse("verify", "is missing: a set whose effect nobody reads back is no set")
    })?;
    Ok(Toggle {
        factor,
        set: action(&set, &SETS)?,
        verify: check(&verify)?,
        effect: table.table("effect")?.map(|table| effect(&table, fps)).transpose()?,
        restore: table.text("restore")?.unwrap_or_else(|| "original".to_owned()),
        timeout_ns: table.duration("timeout")?.unwrap_or(3 * SECOND),
        retries: table.small("retries", 0, 10)?.unwrap_or(1),
        lease_ns: table.duration("lease")?,
    })
}

/// An HTTP request or a program, never both.
fn action(table: &Table<'_>, methods: &[(&str, &'static str)]) -> Result<Action, PlanError> {
    let argv = program(table)?;
    let http = table.choice("http", methods)?.map(str::to_owned);
    let shell = table.truth("shell")?.unwrap_or(false);
    match (&http, &argv) {
        (Some(_), Some(_)) => return Err(table.refuse("argv", "stands beside http: give one of them")),
        (None, None) => {
            return Err(table.refuse("", "needs http = \"…\" with a path, or argv = [\"program\", …]"));
        }
        (Some(_), None) if shell => return Err(table.refuse("shell", "is for argv only")),
        (Some(_), None) => drop(table.need("path", table.text("path")?)?),
        (None, Some(_)) => {
            if let Some(key) = ["path", "body"].into_iter().find(|key| table.has(key)) {
                return Err(table.refuse(key, "is for http only"));
            }
        }
    }
    Ok(Action {
        http,
        path: table.text("path")?,
        body: table.text("body")?,
        argv,
        shell,
        words: table.text_map("words")?,
    })
}

/// A program and its arguments; with `shell = true` one line for `sh -c`, which may stand alone.
fn program(table: &Table<'_>) -> Result<Option<Vec<String>>, PlanError> {
    let shell = table.truth("shell")?.unwrap_or(false);
    if let Some(line) = table.text("argv").ok().flatten() {
        return match shell {
            true => Ok(Some(vec![line])),
            false => {
                Err(table
                    .refuse("argv", "is a text: write a list of program and arguments, or add shell = true"))
            }
        };
    }
    let argv = table.texts("argv")?;
    match &argv {
        Some(list) if list.first().is_none_or(String::is_empty) => {
            Err(table.refuse("argv", "is empty: name a program"))
        }
        Some(list) if shell && list.len() > 1 => {
            Err(table.refuse("argv", "is one line when shell = true: it is given to sh -c"))
        }
        _ => Ok(argv),
    }
}

fn check(table: &Table<'_>) -> Result<Check, PlanError> {
    let mut known: Vec<&str> = ACTION.to_vec();
    known.extend(["pointer", "equals"]);
    table.only(&known)?;
    let pointer = table.text("pointer")?.unwrap_or_default();
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(table.refuse("pointer", "is no JSON pointer: write it like \"/enabled\""));
    }
    table.needed_table("equals")?;
    // A read never changes anything, so only GET may stand here.
    Ok(Check { read: action(table, &[("GET", "GET")])?, pointer, equals: table.words("equals")? })
}

/// `{ counter = { level = "advances" }, within = "1s" }`; the key of the counter is its name or JSON pointer.
fn effect(table: &Table<'_>, fps: u32) -> Result<Effect, PlanError> {
    let mut counters = table.keys().filter(|key| !["within", "at_least_per_s"].contains(key));
    let (Some(key), None) = (counters.next(), counters.next()) else {
        return Err(table.refuse(
            "",
            "needs exactly one counter, like ring_ordinal = { on = \"advances\", off = \"still\" }",
        ));
    };
    let levels = table.needed_table(key)?;
    let motions = [("advances", Motion::Advances), ("still", Motion::Still)];
    let motion = |level: &str| Ok((level.to_owned(), levels.need(level, levels.choice(level, &motions)?)?));
    Ok(Effect {
        counter: if key.starts_with('/') { key.to_owned() } else { format!("/{key}") },
        expect: levels.keys().map(motion).collect::<Result<BTreeMap<_, _>, _>>()?,
        within_ns: table.duration("within")?.unwrap_or(SECOND),
        at_least_per_s: table.small("at_least_per_s", 1, 1_000_000)?.unwrap_or((fps / 2).max(1)),
    })
}
