//! `wireproof doctor`: what this host can observe, and the exact command that repairs each shortfall. It reads files
//! and asks `df`; it opens no socket and transmits nothing.

mod buffers;
mod check;
mod facts;
mod host;
mod network;
mod ports;
mod read;

pub(super) use buffers::WANTED;
pub(super) use buffers::{LEAST_HOLD_MS, USUAL_BACKLOG};
pub(super) use host::LITTLE_SPACE;

use super::args::DoctorArgs;
use super::failure::{self, Failure};
use super::output;
use check::{Check, State};
use facts::Facts;
use serde::Serialize;
use std::io::Write;
use wireproof_reports::text::clean;

/// Version of the JSON output.
const SCHEMA: &str = "wireproof.doctor/1";

/// The JSON output; keys in alphabetical order.
#[derive(Debug, Serialize)]
struct Document<'a> {
    checks: &'a [Check],
    schema: &'static str,
    worst: State,
}

/// Runs the verb: a line for each check, or one JSON document.
pub(super) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let checks = judge(&read::facts(args.interface.as_deref()));
    let worst = checks.iter().map(|check| check.state).max().unwrap_or(State::Ok);
    output::write(args.output.as_deref(), |out| match args.format.as_str() {
        "json" => json(&Document { checks: &checks, schema: SCHEMA, worst }, out),
        _ => table(&checks, out),
    })?;
    Ok(if worst == State::Fail { failure::IO } else { 0 })
}

/// Every check, in the order of the output.
fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = vec![host::platform(facts), host::capture_right(facts), buffers::buffer_right(facts)];
    checks.extend([buffers::receive_buffer(facts), buffers::default_buffer(facts), buffers::backlog(facts)]);
    checks.push(network::memberships(facts));
    checks.extend(network::ports(facts));
    checks.push(network::ipv6(facts));
    checks.extend(network::interfaces(facts));
    checks.extend([host::timestamps(facts), host::clock_source(facts), host::clock_sync(facts)]);
    checks.extend([host::processors(facts), host::disk(facts)]);
    checks
}

fn table(checks: &[Check], out: &mut dyn Write) -> Result<(), Failure> {
    for check in checks {
        let repair = check.repair.as_ref().map(|line| format!("; run `{line}`")).unwrap_or_default();
        let line = format!("{:<4}  {:<20}  {}{repair}", check.state.word(), check.name, check.text);
        writeln!(out, "{}", clean(&line))?;
    }
    Ok(())
}

fn json(document: &Document<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
    Ok(writeln!(out, "{text}")?)
}

#[cfg(test)]
mod tests;
