//! Settings: command line over environment over `./wireproof.toml` over the user's file over defaults.

use super::args::{Color, ReportArgs};
use super::failure::Failure;
use super::say;
use crate::infile;
use clap::ValueEnum;
use serde::Deserialize;
use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use toml::Spanned;
use wireproof_reports::{Format, Style};

/// What a verb runs with.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) format: Format,
    pub(super) color: Color,
    pub(super) strict: bool,
    pub(super) rig: Option<PathBuf>,
}

/// One configuration file; keys are the names of the options.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    format: Option<Spanned<String>>,
    color: Option<Spanned<String>>,
    strict: Option<bool>,
    rig: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Layer {
    format: Option<Format>,
    color: Option<Color>,
    strict: Option<bool>,
    rig: Option<PathBuf>,
}

impl Settings {
    /// Settles every option; clap has already put the environment below the command line.
    pub(super) fn resolve(args: &ReportArgs) -> Result<Settings, Failure> {
        let local = layer(Path::new("wireproof.toml"))?;
        let user = user_file().filter(|path| is_readable(path));
        let user = user.map(|path| layer(&path)).transpose()?.unwrap_or_default();
        Ok(Settings {
            format: args.format.or(local.format).or(user.format).unwrap_or(Format::Table),
            color: args.color.or(local.color).or(user.color).unwrap_or(Color::Auto),
            strict: args.strict.or(local.strict).or(user.strict).unwrap_or(false),
            rig: args.rig.clone().or(local.rig).or(user.rig),
        })
    }

    /// Whether text for standard output is coloured.
    pub(super) fn colored(&self) -> bool {
        self.colored_on(io::stdout().is_terminal())
    }

    /// Whether text is coloured where it goes to a terminal, or not.
    pub(super) fn colored_on(&self, is_terminal: bool) -> bool {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("NO_COLOR") => false,
            Color::Auto if env::var_os("CLICOLOR_FORCE").is_some_and(|v| !v.is_empty() && v != "0") => true,
            Color::Auto if env::var_os("TERM").is_some_and(|v| v == "dumb") => false,
            Color::Auto => is_terminal,
        }
    }
}

/// Columns of the table: those of `COLUMNS`, else what every terminal has, else the default of a report.
pub(super) fn width() -> usize {
    let told = env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let usual = if io::stdout().is_terminal() { 80 } else { Style::default().width };
    told.filter(|columns| *columns > 0).unwrap_or(usual).clamp(60, 400)
}

fn user_file() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("wireproof").join("config.toml"))
}

/// The largest file of settings, octets.
const FILE_MAX: u64 = 64 << 10;

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

fn layer(path: &Path) -> Result<Layer, Failure> {
    let text = match infile::text(path, FILE_MAX) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Layer::default());
        }
        Err(error) => {
            let what = format!("{} cannot be read ({error})", path.display());
            return Err(Failure::io(&what, "make it readable or move it away"));
        }
    };
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Layer, Failure> {
    let refused = |at: usize, problem: &str| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        Failure::usage(&format!("{}, line {line}", path.display()), &problem)
    };
    let raw: Raw = toml::from_str(text)
        .map_err(|error| refused(error.span().map_or(0, |span| span.start), error.message()))?;
    let format = raw.format.map(|name| {
        let allowed = Format::ALL.map(Format::name).join(", ");
        Format::from_name(name.get_ref())
            .ok_or_else(|| refused(name.span().start, &format!("format is one of {allowed}")))
    });
    let color = raw.color.map(|name| {
        Color::from_str(name.get_ref(), false)
            .map_err(|_| refused(name.span().start, "color is one of auto, always, never"))
    });
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(Layer {
        format: format.transpose()?,
        color: color.transpose()?,
        strict: raw.strict,
        // A path in a file is meant from where the file is.
        rig: raw.rig.map(|rig| folder.join(rig)),
    })
}
