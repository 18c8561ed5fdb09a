//! Settings: command line over environment over `./wireproof.toml` over the user's file over defaults.

mod keys;
mod layers;
mod verb;

pub(super) use layers::{Layers, agree, with_variables};
pub(super) use verb::{ConfigArgs, run};

use super::args::{Color, ReportArgs};
use super::failure::Failure;
use super::{filter, layouts};
use crate::rig_file;
use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use wireproof_protocols::verify::Options;
use wireproof_reports::{Filter, Format, Style, Terms};

/// Verbs that take settings from files and variables.
pub(super) const VERBS: [&str; 2] = keys::VERBS;

/// What a verb runs with.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) format: Format,
    pub(super) color: Color,
    pub(super) strict: bool,
    pub(super) rig: Option<PathBuf>,
    pub(super) layout: Vec<PathBuf>,
    pub(super) filter: Option<Filter>,
}

impl Settings {
    /// What the options say; variables and files were laid under them before they were parsed.
    pub(super) fn of(args: &ReportArgs) -> Result<Settings, Failure> {
        Ok(Settings {
            format: args.format.unwrap_or(Format::Table),
            color: args.color.unwrap_or(Color::Auto),
            strict: args.strict.unwrap_or(false),
            rig: args.rig.clone(),
            layout: args.layout.clone(),
            filter: filter::parse(args.filter.as_deref())?,
        })
    }

    /// The terms of a run: its rig and waivers, the filter.
    pub(super) fn terms(&self, no_drop_counter: bool) -> Result<Terms, Failure> {
        let layouts = layouts::load(&self.layout)?;
        let file = self.rig.as_deref().map(|path| rig_file::load_whole(path, layouts)).transpose()?;
        let (rig, waivers) = file.map(|file| (file.rig, file.waivers)).unzip();
        let options = Options { rig, strict: self.strict, layouts, no_drop_counter };
        Ok(Terms { filter: self.filter.clone(), waivers: waivers.unwrap_or_default(), options })
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
