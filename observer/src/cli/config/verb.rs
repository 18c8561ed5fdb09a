//! `wireproof config`: what can be set, whether a file says it rightly, and what holds here and now.

use super::keys::{KEYS, Key};
use super::layers::{LOCAL, Layer, Layers, check, layer, user_file};
use crate::cli::failure::Failure;
use crate::cli::{command, output, say};
use clap::{Args, Subcommand};
use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wireproof_reports::text::clean;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof config template > wireproof.toml
  wireproof config check
  wireproof config show

An option on the command line wins over its variable (WIREPROOF_RIG for --rig), that over ./wireproof.toml, and that over
config.toml in wireproof/ below XDG_CONFIG_HOME or ~/.config. analyze and observe read them.")]
pub(in crate::cli) struct ConfigArgs {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Print a file with every key, what it means and its default
    #[command(after_help = "\
Examples:
  wireproof config template > wireproof.toml
  wireproof config template -o ~/.config/wireproof/config.toml")]
    Template(TemplateArgs),
    /// Check a file; the ones that would be read without a name
    #[command(after_help = "\
Examples:
  wireproof config check
  wireproof config check ci/wireproof.toml")]
    Check(CheckArgs),
    /// Show the value of every key and where it comes from
    #[command(after_help = "\
Examples:
  wireproof config show
  WIREPROOF_STRICT=true wireproof config show")]
    Show,
}

#[derive(Debug, Args)]
struct TemplateArgs {
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the verb.
pub(in crate::cli) fn run(args: &ConfigArgs) -> Result<u8, Failure> {
    match &args.verb {
        ConfigVerb::Template(args) => {
            output::write(args.output.as_deref(), |out| Ok(out.write_all(template().as_bytes())?))?;
        }
        ConfigVerb::Check(args) => return check_files(args.file.as_deref()),
        ConfigVerb::Show => {
            let text = show(&Layers::read()?)?;
            output::write(None, |out| Ok(out.write_all(text.as_bytes())?))?;
        }
    }
    Ok(0)
}

/// Every key as a comment, so that the file says nothing until somebody takes a sign away.
fn template() -> String {
    let tool = command();
    let mut text = String::from(
        "# Settings of wireproof analyze and observe. The command line and WIREPROOF_* variables win over this file.\n\
         # Paths are meant from the folder of this file. Take the # away in front of a key to set it.\n\
         # ./wireproof.toml starts no program: exec is taken from the user's config.toml only; and what sends, listens or\n\
         # writes is taken from a ./wireproof.toml of the user alone.\n",
    );
    for key in KEYS {
        let default = if key.default.is_empty() { "none" } else { key.default };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n# {}.\n# {}, {}; default: {default}\n#{} = {}\n",
            key.meaning(&tool),
            key.option(),
            key.variable,
            key.name,
            key.example
        );
    }
    text
}

fn check_files(file: Option<&Path>) -> Result<u8, Failure> {
    let told = |path: &Path, layer: &Layer| say(&format!("{}: right, {} keys", path.display(), layer.len()));
    if let Some(path) = file {
        let Some(layer) = layer(path)? else {
            let what = format!("{} is not there", path.display());
            return Err(Failure::io(&what, "`wireproof config template` writes one"));
        };
        told(path, &layer);
        return Ok(0);
    }
    let layers = Layers::read()?;
    layers.0.iter().for_each(|(path, layer)| told(path, layer));
    if layers.0.is_empty() {
        let user = user_file().map(|path| format!(" and no {}", path.display())).unwrap_or_default();
        say(&format!("no {LOCAL} here{user}: the defaults hold"));
    }
    Ok(0)
}

/// Key, value and where it comes from, a line each.
fn show(layers: &Layers) -> Result<String, Failure> {
    let rows: Vec<[String; 3]> = KEYS.iter().map(|key| effective(key, layers)).collect::<Result<_, _>>()?;
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (key, value) = (width(0), width(1));
    Ok(rows.iter().map(|[k, v, from]| format!("{k:key$}  {v:value$}  {from}\n")).collect())
}

fn effective(key: &Key, layers: &Layers) -> Result<[String; 3], Failure> {
    let row = |value: &str, from: String| Ok([key.name.to_owned(), clean(value).into_owned(), from]);
    if let Some(value) = env::var_os(key.variable) {
        let value = value.to_string_lossy().into_owned();
        let refused = |what: String| Failure::usage(key.variable, &what);
        check(key, std::slice::from_ref(&value)).map_err(refused)?;
        return row(&masked(key, &value), key.variable.to_owned());
    }
    match layers.value(key) {
        Some((path, values)) => row(&masked(key, &values.join(",")), path.display().to_string()),
        None if key.default.is_empty() => row("-", "default".to_owned()),
        None => row(key.default, "default".to_owned()),
    }
}

/// A URL without what may be a secret in it, and of a command the program.
fn masked(key: &Key, value: &str) -> String {
    if key.name == "exec" {
        let command = crate::cli::alerts::command(value);
        return command
            .map_or_else(|_| "not shown, it is no command".to_owned(), |command| command.to_string());
    }
    if !matches!(key.name, "webhook" | "drain") {
        return value.to_owned();
    }
    match value.parse::<crate::live::drain::DrainUrl>() {
        Ok(url) if key.name == "webhook" => crate::alert::shown(&url),
        Ok(url) => url.to_string(),
        Err(_) => "not shown, it is no URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::layers::parse;

    #[test]
    fn the_template_has_every_key_and_is_a_file_with_and_without_its_signs() {
        let text = template();
        assert_eq!(parse(Path::new(LOCAL), &text).unwrap().len(), 0);
        let signs =
            |line: &str| line.strip_prefix('#').filter(|l| !l.starts_with(' ')).unwrap_or(line).to_owned();
        let bare: String = text.lines().map(|line| signs(line) + "\n").collect();
        let layer = parse(Path::new(LOCAL), &bare).unwrap();
        assert_eq!(layer.len(), KEYS.len());
        for key in KEYS {
            assert!(text.contains(&format!("\n#{} = ", key.name)), "{}", key.name);
            assert!(
                text.contains(&format!("# {}, {}; default: ", key.option(), key.variable)),
                "{}",
                key.name
            );
        }
        assert!(text.lines().all(|line| line.len() <= 200), "{text}");
    }

    #[test]
    fn what_holds_is_shown_with_its_origin_and_no_secret() {
        let text = "webhook = \"http://user:pass@10.0.0.9:8080/hook/s3cret?t=1\"\nkeep = 3\n\
                    exec = \"curl -H 'Bearer s3cret' http://h/\"\n";
        let layers = Layers(vec![(PathBuf::from(LOCAL), parse(Path::new(LOCAL), text).unwrap())]);
        let shown = show(&layers).unwrap();
        assert_eq!(shown.lines().count(), KEYS.len());
        let line = |key: &str| shown.lines().find(|l| l.starts_with(&format!("{key} "))).unwrap().to_owned();
        assert!(line("keep").ends_with("wireproof.toml") && line("keep").contains(" 3 "), "{shown}");
        assert!(line("alert_max").contains(" 10 ") && line("alert_max").ends_with("default"), "{shown}");
        assert!(line("webhook").contains("http://10.0.0.9:8080/"), "{shown}");
        assert!(line("exec").contains(" curl … "), "{shown}");
        for secret in ["user", "pass", "s3cret", "t=1"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
