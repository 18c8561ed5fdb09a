//! The rig file: TOML to and from [`Rig`], with errors that name file, line, field and what is allowed.

mod ranges;
mod waivers;
mod write;

pub use ranges::{RangeError, STREAMS_MAX, format_ranges, parse_ranges};
pub use write::to_toml;

use crate::infile;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use thiserror::Error;
use toml::Spanned;
use waivers::RawWaiver;
use wireproof_protocols::layout::{Layouts, Role};
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_protocols::{Cid, Decoder, Protocol, Severity, registry};
use wireproof_reports::Waiver;

/// The largest rig file read, octets.
const FILE_MAX: u64 = 8 << 20;
/// Tolerance of a rate without its own, thousandths of the rate.
pub(crate) const TOLERANCE: u64 = 50;
const PROTOCOLS: [Protocol; 5] =
    [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet, Protocol::BigPacket, Protocol::Kinet];

/// Why a rig file was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RigError {
    /// It cannot be read.
    #[error("{file} cannot be read ({source}): give the path of a rig file, `wireproof learn` writes one")]
    Read {
        /// File as given.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is not what a rig file holds.
    #[error("{file}, line {line}, {field}: {problem}")]
    Content {
        /// File as given.
        file: String,
        /// 1-based.
        line: usize,
        /// The key on that line.
        field: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRig {
    #[serde(default)]
    output: Vec<RawOutput>,
    #[serde(default)]
    severity: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    waiver: Vec<RawWaiver>,
}

/// Everything a rig file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigFile {
    /// What the outputs look like, and severities.
    pub rig: Rig,
    /// What is known and waived.
    pub waivers: Vec<Waiver>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOutput {
    name: Spanned<String>,
    protocol: Spanned<String>,
    source: Option<Spanned<String>>,
    destination: Option<Spanned<String>>,
    sender: Option<Spanned<String>>,
    streams: Spanned<String>,
    datagrams_per_frame: Option<Spanned<u32>>,
    octets_per_frame: Option<Spanned<u64>>,
    rate_hz: Option<Spanned<f64>>,
    rate_tolerance_percent: Option<Spanned<f64>>,
    sync: Option<Spanned<u16>>,
    #[serde(default)]
    on_change: bool,
}

/// A refusal and where it stands in the text.
struct Refusal {
    at: Range<usize>,
    problem: String,
}

/// Reads the rig of a rig file.
///
/// # Errors
/// As [`load_whole`].
pub fn load(path: &Path) -> Result<Rig, RigError> {
    load_with(path, Layouts::default())
}

/// As [`load`]; outputs may be of these layouts, too.
///
/// # Errors
/// As [`load_whole`].
pub fn load_with(path: &Path, layouts: Layouts) -> Result<Rig, RigError> {
    load_whole(path, layouts).map(|file| file.rig)
}

/// Reads a rig file.
///
/// # Errors
/// [`RigError::Read`] for the file, [`RigError::Content`] for what it holds.
pub fn load_whole(path: &Path, layouts: Layouts) -> Result<RigFile, RigError> {
    let file = path.display().to_string();
    let text =
        infile::text(path, FILE_MAX).map_err(|source| RigError::Read { file: file.clone(), source })?;
    parse_whole(&file, &text, layouts)
}

/// Parses the rig of a rig file's text; `file` names it in errors.
///
/// # Errors
/// [`RigError::Content`].
pub fn parse(file: &str, text: &str) -> Result<Rig, RigError> {
    parse_whole(file, text, Layouts::default()).map(|file| file.rig)
}

/// Parses the text of a rig file; `file` names it in errors.
///
/// # Errors
/// [`RigError::Content`].
pub fn parse_whole(file: &str, text: &str, layouts: Layouts) -> Result<RigFile, RigError> {
    let raw: RawRig = toml::from_str(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        content(file, text, Refusal { at, problem: one_line(error.message()) })
    })?;
    rig(raw, layouts).map_err(|refusal| content(file, text, refusal))
}

fn content(file: &str, text: &str, refusal: Refusal) -> RigError {
    let before = text.get(..refusal.at.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let field = source.split(['=', '#']).next().unwrap_or_default().trim();
    let field = if field.is_empty() { "the file".to_owned() } else { one_line(field) };
    RigError::Content { file: file.to_owned(), line, field, problem: refusal.problem }
}

/// A library's message without line breaks.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rig(raw: RawRig, layouts: Layouts) -> Result<RigFile, Refusal> {
    if raw.output.is_empty() && raw.severity.is_empty() && raw.waiver.is_empty() {
        let problem =
            "there is no [[output]], no [severity] and no [[waiver]] in it, `wireproof learn` writes one"
                .to_owned();
        return Err(Refusal { at: 0..0, problem });
    }
    let mut rig = Rig::default();
    for output in raw.output {
        let at = output.name.span();
        let output = self::output(output, layouts)?;
        if rig.outputs.iter().any(|o| o.name == output.name) {
            return refuse(
                at,
                format!("{:?} is the name of an earlier output; give each its own", output.name),
            );
        }
        rig.outputs.push(output);
    }
    for (code, severity) in raw.severity {
        rig.severities.push(self::severity(&code, &severity)?);
    }
    let names: Vec<&str> = rig.outputs.iter().map(|o| o.name.as_str()).collect();
    let waivers = waivers::waivers(raw.waiver, (&names, layouts))?;
    Ok(RigFile { rig, waivers })
}

fn output(raw: RawOutput, layouts: Layouts) -> Result<RigOutput, Refusal> {
    let protocol = protocol(&raw.protocol, layouts)?;
    if raw.name.get_ref().is_empty() {
        return refuse(raw.name.span(), "an output needs a name".to_owned());
    }
    Ok(RigOutput {
        protocol,
        source: raw.source.as_ref().map(address).transpose()?,
        destination: raw.destination.as_ref().map(address).transpose()?,
        sender: raw.sender.as_ref().map(|s| sender(s, protocol)).transpose()?,
        streams: streams(&raw.streams, protocol)?,
        datagrams_per_frame: raw.datagrams_per_frame.as_ref().map(positive).transpose()?,
        octets_per_frame: raw.octets_per_frame.as_ref().map(positive).transpose()?,
        rate_mhz: rate(raw.rate_hz.as_ref(), raw.rate_tolerance_percent.as_ref())?,
        sync: raw.sync.as_ref().map(|s| sync(s, protocol)).transpose()?,
        on_change: raw.on_change,
        name: raw.name.into_inner(),
    })
}

fn refuse<T>(at: Range<usize>, problem: String) -> Result<T, Refusal> {
    Err(Refusal { at, problem })
}

fn protocol(raw: &Spanned<String>, layouts: Layouts) -> Result<Protocol, Refusal> {
    let declared = || layouts.decoders().iter().map(Decoder::protocol);
    let found = PROTOCOLS.into_iter().chain(declared()).find(|p| p.name() == raw.get_ref());
    found.ok_or_else(|| {
        let allowed: Vec<_> = PROTOCOLS.into_iter().chain(declared()).map(Protocol::name).collect();
        let give = if raw.get_ref().starts_with("layout:") { " (give its layout with --layout)" } else { "" };
        let problem = format!("{:?} is no protocol{give}; allowed are {}", raw.get_ref(), allowed.join(", "));
        Refusal { at: raw.span(), problem }
    })
}

fn address(raw: &Spanned<String>) -> Result<std::net::IpAddr, Refusal> {
    raw.get_ref().parse().map_err(|_| Refusal {
        at: raw.span(),
        problem: format!(
            "{:?} is no IP address; allowed is one such as 10.0.0.5, without a port",
            raw.get_ref()
        ),
    })
}

fn sender(raw: &Spanned<String>, protocol: Protocol) -> Result<Cid, Refusal> {
    let declared = protocol.layout().is_some_and(|t| t.layout.field(Role::SenderId).is_some());
    if protocol != Protocol::Sacn && !declared {
        return refuse(raw.span(), format!("{} has no CID; leave the key out", protocol.name()));
    }
    parse_cid(raw.get_ref()).ok_or_else(|| Refusal {
        at: raw.span(),
        problem: format!("{:?} is no CID; allowed is 01234567-89ab-cdef-0123-456789abcdef", raw.get_ref()),
    })
}

/// A CID in UUID notation.
pub(crate) fn parse_cid(text: &str) -> Option<Cid> {
    let hyphens = text.bytes().enumerate().all(|(i, b)| (b == b'-') == matches!(i, 8 | 13 | 18 | 23));
    if text.len() != 36 || !hyphens {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let well_formed = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u128::from_str_radix(&digits, 16).ok().filter(|_| well_formed).map(u128::to_be_bytes)
}

/// The ids a protocol has.
fn stream_ids(protocol: Protocol) -> std::ops::RangeInclusive<u32> {
    match protocol {
        Protocol::Sacn => 1..=63_999,
        Protocol::ArtNet => 0..=32_767,
        Protocol::Ddp => 0..=255,
        Protocol::BigPacket | Protocol::Kinet | Protocol::Layout(_) => 0..=u32::MAX,
    }
}

fn streams(raw: &Spanned<String>, protocol: Protocol) -> Result<Vec<u32>, Refusal> {
    let streams = parse_ranges(raw.get_ref())
        .map_err(|error| Refusal { at: raw.span(), problem: error.to_string() })?;
    let allowed = stream_ids(protocol);
    match streams.iter().find(|id| !allowed.contains(id)) {
        Some(id) => refuse(
            raw.span(),
            format!(
                "{id} is no {} stream; allowed are {} to {}",
                protocol.name(),
                allowed.start(),
                allowed.end()
            ),
        ),
        None => Ok(streams),
    }
}

fn positive<T: Copy + Default + PartialEq>(raw: &Spanned<T>) -> Result<T, Refusal> {
    if *raw.get_ref() == T::default() {
        return refuse(raw.span(), "0 is not allowed; leave the key out where the number varies".to_owned());
    }
    Ok(*raw.get_ref())
}

fn rate(hz: Option<&Spanned<f64>>, percent: Option<&Spanned<f64>>) -> Result<Option<(u64, u64)>, Refusal> {
    let (hz, percent) = match (hz, percent) {
        (Some(hz), percent) => (hz, percent),
        (None, Some(percent)) => {
            return refuse(percent.span(), "a tolerance needs a rate_hz beside it".to_owned());
        }
        (None, None) => return Ok(None),
    };
    let rate = within(hz, 0.001, 1_000_000.0, 1000.0)?;
    let tolerance = percent.map_or(Ok(TOLERANCE), |p| within(p, 0.0, 100.0, 10.0))?;
    Ok(Some((rate, tolerance)))
}

/// The value times `factor`, rounded; refused outside `low..=high` (and when it is not a number).
fn within(raw: &Spanned<f64>, low: f64, high: f64, factor: f64) -> Result<u64, Refusal> {
    let value = *raw.get_ref();
    if !(low..=high).contains(&value) {
        return refuse(raw.span(), format!("{value} is out of range; allowed are {low} to {high}"));
    }
    Ok((value * factor).round() as u64)
}

fn sync(raw: &Spanned<u16>, protocol: Protocol) -> Result<u16, Refusal> {
    if protocol != Protocol::Sacn {
        return refuse(raw.span(), format!("{} has no sync universe; leave the key out", protocol.name()));
    }
    match *raw.get_ref() {
        id @ 1..=63_999 => Ok(id),
        id => refuse(raw.span(), format!("{id} is no universe; allowed are 1 to 63999")),
    }
}

fn severity(code: &Spanned<String>, word: &Spanned<String>) -> Result<(String, Severity), Refusal> {
    let rule = registry::rule(code.get_ref()).ok_or_else(|| Refusal {
        at: code.span(),
        problem: "no rule has this code; `wireproof explain` lists them".to_owned(),
    })?;
    let severities = [Severity::Info, Severity::Warning, Severity::Violation];
    let severity = severities.into_iter().find(|s| s.name() == word.get_ref()).ok_or_else(|| Refusal {
        at: word.span(),
        problem: format!("{:?} is no severity; allowed are info, warning, violation", word.get_ref()),
    })?;
    Ok((rule.code.to_owned(), severity))
}

#[cfg(test)]
mod tests;
