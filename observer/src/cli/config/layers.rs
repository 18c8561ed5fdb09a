//! Configuration files: which there are, what they say, checked by the options that their keys stand for, and laid under
//! the command line as defaults, so that nothing is parsed in two ways.

use super::keys::{KEYS, Key, Reach, VERBS, key, nearest};
use crate::cli::alerts;
use crate::cli::args::Cli;
use crate::cli::failure::Failure;
use crate::cli::layouts;
use crate::cli::say;
use crate::infile;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, io};
use toml::{Spanned, Value};
use wireproof_reports::Filter;

/// Name of the file in the folder that a run is started in.
pub(in crate::cli) const LOCAL: &str = "wireproof.toml";
/// Longest file that is read, octets.
const LONGEST: u64 = 64 << 10;

/// What one file says: values by key, in the order in which an option takes them.
pub(in crate::cli) type Layer = BTreeMap<&'static str, Vec<String>>;

/// The files that exist, the stronger first.
#[derive(Debug, Default)]
pub(in crate::cli) struct Layers(pub(in crate::cli) Vec<(PathBuf, Layer)>);

impl Layers {
    /// Reads `./wireproof.toml` and the user's file.
    pub(in crate::cli) fn read() -> Result<Layers, Failure> {
        let user = user_file().filter(|path| is_readable(path));
        let files = std::iter::once(PathBuf::from(LOCAL)).chain(user);
        let layers = files.map(|path| Ok(layer(&path)?.map(|layer| (path, layer))));
        let layers = layers.filter_map(Result::transpose).collect::<Result<Vec<_>, Failure>>()?;
        if let Some((path, layer)) = layers.iter().find(|(path, _)| path == Path::new(LOCAL)) {
            of_this_folder(layer, strangers(path))?;
        }
        Ok(Layers(layers))
    }

    /// The file of the folder that a run is started in, when it says something.
    pub(in crate::cli) fn local(&self) -> Option<&Path> {
        let named = |(path, layer): &&(PathBuf, Layer)| path == Path::new(LOCAL) && !layer.is_empty();
        self.0.iter().find(named).map(|(path, _)| path.as_path())
    }

    /// Values of a key and the file that they are from.
    pub(in crate::cli) fn value(&self, key: &Key) -> Option<(&Path, &[String])> {
        self.0.iter().find_map(|(path, layer)| Some((path.as_path(), layer.get(key.name)?.as_slice())))
    }

    /// The tool with what the files say as defaults of its options.
    pub(in crate::cli) fn under(&self, mut tool: Command) -> Command {
        for key in KEYS {
            let Some((_, values)) = self.value(key) else { continue };
            // A definition of the command line lives as long as the process, and so does what it holds.
            let values: Vec<&'static str> =
                values.iter().map(|value| &*Box::leak(value.clone().into_boxed_str())).collect();
            tool = on_option(tool, key, |argument| argument.default_values(values.clone()));
        }
        tool
    }
}

/// The tool with variables that stand in for options.
pub(in crate::cli) fn with_variables(tool: Command) -> Command {
    KEYS.iter()
        .fold(tool, |tool, key| on_option(tool, key, |argument| argument.env(key.variable).hide_env(true)))
}

/// Options that say nothing without another one.
const NEEDS: [(&str, &str); 5] = [
    ("join_on", "join"),
    ("drain_every", "drain"),
    ("drain_dir", "drain"),
    ("rotate", "write"),
    ("keep", "rotate"),
];

/// What the definition of the command line cannot say: what was typed needs others, which may come from a file; and
/// what a file says gives way to what was typed.
pub(in crate::cli) fn agree(matches: &ArgMatches) -> Result<(), Failure> {
    let Some(("observe", given)) = matches.subcommand() else { return Ok(()) };
    let typed = |name: &str| given.value_source(name) == Some(ValueSource::CommandLine);
    let long = |name: &str| format!("--{}", name.replace('_', "-"));
    for (name, other) in NEEDS {
        if typed(name) && given.value_source(other).is_none() {
            return Err(Failure::usage(&format!("{} needs {}", long(name), long(other)), "give both"));
        }
    }
    if typed("join") && typed("interface") {
        return Err(Failure::usage(
            "--join cannot be used with --interface",
            "sockets join, interfaces do not",
        ));
    }
    Ok(())
}

fn on_option(mut tool: Command, key: &Key, change: impl Fn(clap::Arg) -> clap::Arg) -> Command {
    for verb in VERBS {
        let has = |verb: &Command| verb.get_arguments().any(|argument| argument.get_id() == key.name);
        if tool.find_subcommand(verb).is_some_and(has) {
            tool = tool.mut_subcommand(verb, |verb| verb.mut_arg(key.name, &change));
        }
    }
    tool
}

/// Refuses what the file of a folder may not set: it comes with the folder, as out of a repository, and whoever wrote it
/// need not be who starts a run there. It starts no program; and one of a stranger does not send, listen or write.
fn of_this_folder(layer: &Layer, stranger: Option<String>) -> Result<(), Failure> {
    for key in KEYS.iter().filter(|key| layer.contains_key(key.name)) {
        let why = match (key.reach(), &stranger) {
            (Reach::Program, _) => {
                "whoever wrote this folder would choose a program to run as you".to_owned()
            }
            (Reach::Host, Some(stranger)) => format!("the file is {stranger}, not yours"),
            _ => continue,
        };
        let what = format!("./{LOCAL}: {} is not taken from there ({why})", key.name);
        let instead = format!("give {}, {} or the user's config.toml", key.option(), key.variable);
        return Err(Failure::usage(&what, &instead));
    }
    Ok(())
}

/// Whose a file is that neither the user, who called sudo, nor root owns; or that everybody may write.
#[cfg(unix)]
fn strangers(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let about = std::fs::metadata(path).ok()?;
    let caller = env::var("SUDO_UID").ok().and_then(|uid| uid.parse::<u32>().ok());
    let own = [Some(rustix::process::geteuid().as_raw()), caller, Some(0)];
    match (own.contains(&Some(about.uid())), about.mode() & 0o002) {
        (false, _) => Some(format!("user {}'s", about.uid())),
        (true, 0) => None,
        (true, _) => Some("writable by everybody".to_owned()),
    }
}

#[cfg(not(unix))]
fn strangers(_path: &Path) -> Option<String> {
    None
}

/// `config.toml` in the folder of the user's settings.
pub(in crate::cli) fn user_file() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("wireproof").join("config.toml"))
}

/// False, and said, when the file is another user's, as `HOME` may be under sudo or su.
fn is_readable(path: &Path) -> bool {
    match infile::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            say(&format!("{} cannot be read ({error}): it is left out", path.display()));
            false
        }
        _ => true,
    }
}

/// What a file says; `None` when there is none.
pub(in crate::cli) fn layer(path: &Path) -> Result<Option<Layer>, Failure> {
    let unreadable = |why: &str| {
        let what = format!("{} cannot be read ({why})", path.display());
        Failure::io(&what, "make it readable or move it away")
    };
    match infile::text(path, LONGEST) {
        Ok(text) => parse(path, &text).map(Some),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(unreadable(&error.to_string())),
    }
}

/// What a text says, as the file of this path.
pub(in crate::cli) fn parse(path: &Path, text: &str) -> Result<Layer, Failure> {
    let refused = |at: usize, problem: &str| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        Failure::usage(&format!("{}, line {line}", path.display()), &problem)
    };
    let raw: BTreeMap<Spanned<String>, Spanned<Value>> = toml::from_str(text)
        .map_err(|error| refused(error.span().map_or(0, |span| span.start), error.message()))?;
    let mut layer = Layer::new();
    for (name, value) in raw {
        let Some(key) = key(name.get_ref()) else {
            let problem = format!("{}, `wireproof config template` lists all", no_key(name.get_ref()));
            return Err(refused(name.span().start, &problem));
        };
        let at = name.span().start;
        let values = values(value.get_ref()).map_err(|what| refused(at, &format!("{}: {what}", key.name)))?;
        check(key, &values).map_err(|what| refused(at, &format!("{}: {what}", key.name)))?;
        layer.insert(key.name, placed(key, values, path));
    }
    Ok(layer)
}

/// Why a name is no key: an option that no file may give, or a slip of the pen.
fn no_key(name: &str) -> String {
    let long = name.replace('_', "-");
    let tool = Cli::command();
    let is_option = VERBS
        .iter()
        .filter_map(|verb| tool.find_subcommand(verb))
        .any(|verb| verb.get_arguments().any(|argument| argument.get_long() == Some(long.as_str())));
    match (is_option, nearest(name)) {
        (true, _) => format!("{name} is no key; --{long} belongs to one run, on its command line"),
        (false, Some(near)) => format!("{name} is no key; the nearest is {near}"),
        (false, None) => format!("{name} is no key"),
    }
}

/// A path in a file is meant from where the file is; a layout that comes with the program is no path.
fn placed(key: &Key, values: Vec<String>, file: &Path) -> Vec<String> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let place = |value: String| match key.name == "layout" && layouts::is_shipped(Path::new(&value)) {
        true => value,
        false => folder.join(value).to_string_lossy().into_owned(),
    };
    if key.path { values.into_iter().map(place).collect() } else { values }
}

/// A value of TOML as what would be typed.
fn values(value: &Value) -> Result<Vec<String>, &'static str> {
    let one = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(n) => Ok(n.to_string()),
        Value::Boolean(is) => Ok(is.to_string()),
        Value::Float(n) => Ok(n.to_string()),
        _ => Err("give a text, a number, true or false"),
    };
    match value {
        Value::Array(list) if list.is_empty() => Err("an empty list says nothing; leave the key out"),
        Value::Array(list) => list.iter().map(one).collect(),
        value => one(value).map(|value| vec![value]),
    }
}

/// Asks the option itself whether it takes the values.
pub(in crate::cli) fn check(key: &Key, values: &[String]) -> Result<(), String> {
    // What is parsed behind the command line, so that no error repeats a secret.
    match (key.name, values) {
        ("where", [text]) => return Filter::parse(text).map(drop).map_err(|error| error.to_string()),
        ("exec", [text]) => return alerts::command(text).map(drop),
        ("webhook" | "drain", [text]) => return alerts::url(text).map(drop),
        _ => {}
    }
    let tool = Cli::command();
    let Some(observe) = tool.find_subcommand("observe") else { return Ok(()) };
    let typed = values.iter().map(|value| format!("{}={value}", key.option()));
    let outcome = observe.clone().try_get_matches_from(std::iter::once("observe".to_owned()).chain(typed));
    match outcome {
        // What it needs beside it may stand on the command line.
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => Ok(()),
        Err(error) => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
            Err(first.strip_prefix("error: ").unwrap_or(&first).to_owned())
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(Path::new("wireproof.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_names_file_line_key_and_what_is_near_or_allowed() {
        for (text, said) in [
            ("format = \"json\"\ncolour = \"never\"\n", "line 2: colour is no key; the nearest is color"),
            ("write = \"x.pcapng\"\n", "write is no key; --write belongs to one run, on its command line"),
            ("zebrastripes = 1\n", "zebrastripes is no key, `wireproof config template` lists all"),
            ("format = \"xml\"\n", "line 1: format: invalid value 'xml'"),
            ("\nrcvbuf = \"much\"\n", "line 2: rcvbuf: invalid value 'much'"),
            ("where = 'port = 1'\n", "line 1: where: column 6: write == to compare"),
            ("alert_on = []\n", "line 1: alert_on: an empty list"),
            ("webhook = \"https://u:s3cret@h/\"\n", "line 1: webhook: https:// is not supported"),
            ("exec = \"sh 'x\"\n", "line 1: exec: its quotes are not closed"),
            ("rate = { a = 1 }\n", "line 1: rate: give a text"),
            ("format = [\"json\", \"csv\"]\n", "line 1: format: the argument"),
            ("strict\n", "line 1: "),
        ] {
            let error = refusal(text);
            assert!(error.starts_with("wireproof.toml, line "), "{error}");
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn the_file_of_a_folder_starts_no_program_and_a_strangers_reaches_nothing() {
        let said = |text: &str, stranger: Option<&str>| {
            let layer = parse(Path::new(LOCAL), text).unwrap();
            of_this_folder(&layer, stranger.map(str::to_owned)).map_err(|error| error.to_string())
        };
        let stranger = Some("user 7's");
        let harmless = "strict = true\nrig = \"rig.toml\"\nalert_max = 3\n";
        assert_eq!((said(harmless, stranger), said("web = \"127.0.0.1:1\"", None)), (Ok(()), Ok(())));
        for owner in [None, stranger] {
            let error = said("exec = \"touch s3cret\"", owner).unwrap_err();
            assert!(error.contains("exec is not taken from there") && error.contains("--exec"), "{error}");
            assert!(!error.contains("s3cret") && !error.contains('\n'), "{error}");
        }
        for key in KEYS.iter().filter(|key| key.reach() == Reach::Host) {
            let error = said(&format!("{} = {}", key.name, key.example), stranger).unwrap_err();
            assert!(error.contains("is user 7's") && error.contains(key.variable), "{error}");
        }
    }

    #[test]
    fn paths_are_meant_from_the_folder_of_the_file_and_options_that_need_others_are_taken() {
        let text =
            "rig = \"rig.toml\"\ndrain_every = \"2s\"\nkeep = 3\nalert_on = [\"SEQ-LOST\", \"verdict\"]\n";
        let layer = parse(Path::new("/etc/w/config.toml"), text).unwrap();
        assert_eq!(layer["rig"], ["/etc/w/rig.toml"]);
        let text = "layout = [\"my.toml\", \"bigpacket\", \"./artdmx\"]\n";
        let layouts = parse(Path::new("/etc/w/config.toml"), text).unwrap();
        assert_eq!(layouts["layout"], ["/etc/w/my.toml", "bigpacket", "/etc/w/./artdmx"]);
        assert_eq!((layer["drain_every"][0].as_str(), layer["keep"][0].as_str()), ("2s", "3"));
        assert_eq!(layer["alert_on"], ["SEQ-LOST", "verdict"]);
    }
}
