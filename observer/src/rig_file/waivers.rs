//! `[[waiver]]` of a rig file: what is waived, for which streams, how much of it, why and until when.

use super::{Refusal, address, parse_ranges, protocol, refuse};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;
use toml::value::Datetime;
use wireproof_protocols::Protocol;
use wireproof_protocols::layout::Layouts;
use wireproof_reports::filter::Filter;
use wireproof_reports::waiver::{self, Day, REASON_MAX, Scope, ScopeKeys, WAIVERS_MAX, Waiver};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWaiver {
    code: Spanned<String>,
    r#where: Option<Spanned<String>>,
    output: Option<Spanned<String>>,
    protocol: Option<Spanned<String>>,
    source: Option<Spanned<String>>,
    destination: Option<Spanned<String>>,
    sender: Option<Spanned<String>>,
    streams: Option<Spanned<String>>,
    #[serde(default)]
    capture: bool,
    max: Option<u64>,
    max_per_hour: Option<u64>,
    reason: Spanned<String>,
    expires: Spanned<Expires>,
}

/// A date, bare or in quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Expires {
    Date(Datetime),
    Text(String),
}

/// Names of outputs that the rig declares, and the layouts of the run.
pub(super) type Known<'a> = (&'a [&'a str], Layouts);

/// The waivers, each checked.
pub(super) fn waivers(raw: Vec<RawWaiver>, known: Known<'_>) -> Result<Vec<Waiver>, Refusal> {
    match raw.get(WAIVERS_MAX) {
        Some(first) => refuse(first.code.span(), format!("a rig has at most {WAIVERS_MAX} waivers")),
        None => raw.into_iter().map(|raw| waiver(raw, known)).collect(),
    }
}

fn waiver(raw: RawWaiver, known: Known<'_>) -> Result<Waiver, Refusal> {
    let at = raw.code.span();
    let here = |problem| Refusal { at: at.clone(), problem };
    let code = waiver::code(raw.code.get_ref()).map_err(here)?;
    let most = waiver::most(code, raw.max, raw.max_per_hour).map_err(here)?;
    let reason = reason(&raw.reason)?;
    let expires = expires(&raw.expires)?;
    let scope = scope(raw, &at, known)?;
    Ok(Waiver { code, scope, most, reason, expires })
}

fn reason(raw: &Spanned<String>) -> Result<String, Refusal> {
    let reason = raw.get_ref().trim();
    if reason.is_empty() {
        return refuse(raw.span(), "a waiver needs a reason: say why, and who decided it".to_owned());
    }
    if reason.len() > REASON_MAX {
        return refuse(raw.span(), format!("a reason has at most {REASON_MAX} octets"));
    }
    Ok(reason.to_owned())
}

fn expires(raw: &Spanned<Expires>) -> Result<Day, Refusal> {
    let text = match raw.get_ref() {
        Expires::Date(date) => date.to_string(),
        Expires::Text(text) => text.clone(),
    };
    Day::parse(&text).ok_or_else(|| Refusal {
        at: raw.span(),
        problem: "give the last day as a date of 1970 to 2199 such as 2026-12-31, without a time".to_owned(),
    })
}

/// Either the whole capture, an expression, or the keys of an output.
fn scope(raw: RawWaiver, at: &Range<usize>, known: Known<'_>) -> Result<Scope, Refusal> {
    let (capture, expression) = (raw.capture, raw.r#where.clone());
    let keys = keys(raw, known)?.filter();
    let chosen = [capture, expression.is_some(), keys.is_some()].into_iter().filter(|is| *is).count();
    if chosen != 1 {
        let problem = "say which streams in one way: by keys of an output (output, protocol, source, destination, \
                       sender, streams), by where = \"protocol == sacn\", or capture = true for what belongs to no stream";
        return refuse(at.clone(), problem.to_owned());
    }
    if let Some(text) = expression {
        let filter = Filter::parse(text.get_ref());
        let refused = |error| Refusal { at: text.span(), problem: format!("where, {error}") };
        return filter.map(Scope::Streams).map_err(refused);
    }
    Ok(keys.map_or(Scope::Capture, Scope::Streams))
}

fn keys(raw: RawWaiver, (outputs, layouts): Known<'_>) -> Result<ScopeKeys, Refusal> {
    if let Some(name) = raw.output.as_ref().filter(|name| !outputs.contains(&name.get_ref().as_str())) {
        return refuse(
            name.span(),
            format!(
                "no [[output]] is called {:?}; where = \"output == …\" takes learned names",
                name.get_ref()
            ),
        );
    }
    let of = raw.protocol.as_ref().map(|raw| protocol(raw, layouts)).transpose()?;
    if let Some(sender) = &raw.sender {
        super::sender(sender, of.unwrap_or(Protocol::Sacn))?;
    }
    Ok(ScopeKeys {
        output: raw.output.map(Spanned::into_inner),
        protocol: of,
        source: raw.source.as_ref().map(address).transpose()?,
        destination: raw.destination.as_ref().map(address).transpose()?,
        sender: raw.sender.map(Spanned::into_inner),
        streams: raw.streams.as_ref().map(streams).transpose()?,
    })
}

/// The numbers as ranges, and as an expression would have them.
fn streams(raw: &Spanned<String>) -> Result<(Vec<(u64, u64)>, String), Refusal> {
    let refused = |problem: String| Refusal { at: raw.span(), problem };
    let numbers = parse_ranges(raw.get_ref()).map_err(|error| refused(error.to_string()))?;
    let written = super::format_ranges(&numbers).replace('-', "..").replace(',', ", ");
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers.into_iter().map(u64::from) {
        match ranges.last_mut() {
            Some((_, high)) if *high + 1 == number => *high = number,
            _ => ranges.push((number, number)),
        }
    }
    Ok((ranges, written))
}
