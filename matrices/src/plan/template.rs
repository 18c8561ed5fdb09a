//! Plans to begin with, for the simulated device and, by a profile, for others; they are the files below `plans/`.

use std::net::IpAddr;

/// A plan to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! templates {
    ($($name:literal),*) => {
        /// All of them.
        pub const TEMPLATES: &[Template] =
            &[$(Template { name: $name, text: include_str!(concat!("../../plans/", $name, ".toml")) }),*];
    };
}

templates!(
    "profiler",
    "drain",
    "preview",
    "sham",
    "calibrate",
    "ladder",
    "field-12-arms",
    "field-20-arms",
    "field",
    "wled"
);

impl Template {
    /// The template of this name.
    pub fn find(name: &str) -> Option<&'static Template> {
        TEMPLATES.iter().find(|template| template.name == name)
    }

    /// True when it names a profile of its device, so that another one can be named.
    pub fn takes_profile(&self) -> bool {
        self.text.lines().any(|line| line.split('=').next().is_some_and(|key| key.trim() == "profile"))
    }

    /// Its text with other values of the keys `name`, `seed`, `base_url` and `profile`, written as TOML values. Where the
    /// address of `base_url` is a number, streams that come from the device come from there.
    pub fn with(&self, values: &[(&str, String)]) -> String {
        let url = values.iter().find(|(name, _)| *name == "base_url").and_then(|(_, value)| address(value));
        let device = self.text.lines().find(|line| line.starts_with("base_url")).and_then(address);
        let sources = device
            .zip(url)
            .map(|(old, new)| (format!("source = \"{old}\""), format!("source = \"{new}\"\n")));
        let line = |line: &str| {
            if let Some((_, new)) = sources.as_ref().filter(|(old, _)| line == old) {
                return new.clone();
            }
            let key = line.split('=').next().unwrap_or_default().trim();
            let value = values.iter().find(|(name, _)| *name == key && line.contains('='));
            match (value, line.find('=')) {
                (Some((_, value)), Some(at)) if first(self.text, line) => {
                    format!("{}= {value}\n", &line[..at])
                }
                _ => format!("{line}\n"),
            }
        };
        self.text.lines().map(line).collect()
    }
}

/// The address in the URL of a text, if it is a number.
fn address(text: &str) -> Option<IpAddr> {
    let host = text.split_once("://")?.1;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split([':', '/', '"']).next()?,
    };
    host.parse().ok()
}

/// Whether a line is the first of its text with its key: factors have names too.
fn first(text: &str, line: &str) -> bool {
    let key = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
    text.lines().find(|other| key(other) == key(line)).is_some_and(|other| std::ptr::eq(other, line))
}
