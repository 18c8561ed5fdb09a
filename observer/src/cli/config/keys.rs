//! The keys of a configuration file in one table. Each is an option of `analyze` or `observe` by its own name; what it
//! means is what that option's help says, and what it may be is what that option takes.

use clap::{Arg, Command};

/// A key.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Key {
    /// Its name; the option has hyphens instead of underscores.
    pub(in crate::cli) name: &'static str,
    /// The variable that stands in for the option.
    pub(in crate::cli) variable: &'static str,
    /// What holds without it; empty when nothing does.
    pub(in crate::cli) default: &'static str,
    /// A value as TOML, for the template.
    pub(in crate::cli) example: &'static str,
    /// Its value is a path, meant from the folder of the file that holds it.
    pub(in crate::cli) path: bool,
}

macro_rules! keys {
    ($($name:literal $variable:literal $default:literal $example:literal $path:literal;)*) => {
        /// All keys, those of `analyze` and `observe` first, then those of `observe` alone.
        pub(in crate::cli) const KEYS: &[Key] = &[$(Key {
            name: $name,
            variable: $variable,
            default: $default,
            example: $example,
            path: $path,
        }),*];
    };
}

keys! {
    "format" "WIREPROOF_FORMAT" "table" "\"table\"" false;
    "color" "WIREPROOF_COLOR" "auto" "\"auto\"" false;
    "strict" "WIREPROOF_STRICT" "false" "false" false;
    "rig" "WIREPROOF_RIG" "" "\"rig.toml\"" true;
    "layout" "WIREPROOF_LAYOUT" "" "[\"my-protocol.toml\"]" true;
    "where" "WIREPROOF_WHERE" "" "\"protocol == sacn && universe in 1..12\"" false;
    "join" "WIREPROOF_JOIN" "" "\"1-12,40\"" false;
    "join_on" "WIREPROOF_JOIN_ON" "" "\"eth1\"" false;
    "duration" "WIREPROOF_DURATION" "" "\"10min\"" false;
    "rcvbuf" "WIREPROOF_RCVBUF" "" "\"8MiB\"" false;
    "rate" "WIREPROOF_RATE" "" "10000" false;
    "drain" "WIREPROOF_DRAIN" "" "\"http://10.0.0.5:8080/v1/ring/raw\"" false;
    "drain_every" "WIREPROOF_DRAIN_EVERY" "5s" "\"5s\"" false;
    "drain_dir" "WIREPROOF_DRAIN_DIR" "drains" "\"drains\"" true;
    "rotate" "WIREPROOF_ROTATE" "" "\"1GiB\"" false;
    "keep" "WIREPROOF_KEEP" "0" "0" false;
    "web" "WIREPROOF_WEB" "" "\"127.0.0.1:9090\"" false;
    "web_token" "WIREPROOF_WEB_TOKEN" "" "\"token.txt\"" true;
    "prom" "WIREPROOF_PROM" "" "\"127.0.0.1:9091\"" false;
    "prom_textfile" "WIREPROOF_PROM_TEXTFILE" "" "\"wireproof.prom\"" true;
    "exec" "WIREPROOF_EXEC" "" "\"notify-send wireproof\"" false;
    "webhook" "WIREPROOF_WEBHOOK" "" "\"http://10.0.0.9:8080/alerts\"" false;
    "alert_on" "WIREPROOF_ALERT_ON" "violation,verdict" "[\"violation\", \"verdict\"]" false;
    "alert_every" "WIREPROOF_ALERT_EVERY" "60s" "\"60s\"" false;
    "alert_max" "WIREPROOF_ALERT_MAX" "10" "10" false;
    "alert_timeout" "WIREPROOF_ALERT_TIMEOUT" "10s" "\"10s\"" false;
}

/// What a key can do to others than the reader of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Reach {
    /// It changes what is judged and shown.
    Report,
    /// It sends, listens or writes files.
    Host,
    /// It starts a program.
    Program,
}

/// Verbs that take settings from files and variables.
pub(in crate::cli) const VERBS: [&str; 2] = ["analyze", "observe"];

impl Key {
    /// The option as it is typed.
    pub(in crate::cli) fn option(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }

    /// The option's definition; `observe` has all of them.
    pub(in crate::cli) fn argument<'a>(&self, tool: &'a Command) -> Option<&'a Arg> {
        let observe = tool.find_subcommand("observe")?;
        observe.get_arguments().find(|argument| argument.get_id() == self.name)
    }

    /// What the key can do: who else than the user may set it hangs on that.
    pub(in crate::cli) fn reach(&self) -> Reach {
        match self.name {
            "exec" => Reach::Program,
            "drain" | "drain_dir" | "web" | "web_token" | "prom" | "prom_textfile" | "webhook" => Reach::Host,
            _ => Reach::Report,
        }
    }

    /// What the option's help says, without its default.
    pub(in crate::cli) fn meaning(&self, tool: &Command) -> String {
        let help = self.argument(tool).and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default();
        help.split(" [default: ").next().unwrap_or_default().to_owned()
    }
}

/// The key of this name.
pub(in crate::cli) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The key whose name takes the fewest changes to get to, and fewer than half of its letters.
pub(in crate::cli) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.replace('-', "_").to_ascii_lowercase();
    let near = KEYS.iter().map(|key| (distance(&name, key.name), key.name)).min()?;
    (2 * near.0 <= near.1.len()).then_some(near.1)
}

/// Characters to insert, take out or replace (Levenshtein), of the first 64.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            let here = (corner + usize::from(x != *y)).min(above + 1).min(left + 1);
            row[j] = left;
            (corner, left) = (above, here);
        }
        row[b.len()] = left;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn every_key_is_an_option_with_the_default_of_the_table() {
        let tool = command();
        for key in KEYS {
            let argument = key.argument(&tool).unwrap_or_else(|| panic!("{}", key.name));
            assert_eq!(argument.get_long(), Some(&key.option()[2..]), "{}", key.name);
            let defaults: Vec<&str> =
                argument.get_default_values().iter().filter_map(|v| v.to_str()).collect();
            let help = argument.get_help().unwrap().to_string();
            let told = help.split(" [default: ").nth(1).and_then(|rest| rest.split(']').next());
            let default = if defaults.is_empty() { told.unwrap_or_default() } else { &defaults.join(",") };
            let default = if default == "all" { "0" } else { default };
            // What is off without the option says no default.
            assert!(default == key.default || (default.is_empty() && key.default == "false"), "{}", key.name);
            assert!(key.variable == format!("WIREPROOF_{}", key.name.to_uppercase()), "{}", key.name);
            assert!(!key.meaning(&tool).is_empty(), "{}", key.name);
        }
    }

    #[test]
    fn the_nearest_key_is_found() {
        for (name, is) in [("colour", "color"), ("drain-every", "drain_every"), ("Formt", "format")] {
            let near = nearest(name);
            assert_eq!(near, Some(is), "{name}");
        }
        assert_eq!((nearest("zebrastripes"), nearest("")), (None, None));
        assert_eq!((distance("", "abc"), distance("kitten", "sitting"), distance("abc", "abc")), (3, 3, 0));
    }
}
