//! Alerts on the command line: who is told of what, and what became of it.

use super::failure::Failure;
use super::{quantity, say};
use crate::alert::{Alerter, Choice, Command, Plan};
use crate::live::drain::DrainUrl;
use clap::Args;
use std::time::Duration;
use wireproof_reports::{Filter, Summary};

/// Who is told of what happens while the run goes on.
#[derive(Debug, Args)]
pub(super) struct AlertArgs {
    /// Start this command for an alert, without a shell: JSON on its standard input, WIREPROOF_* variables beside
    #[arg(long, value_name = "CMD")]
    pub(super) exec: Option<String>,
    /// Post an alert as JSON to this http:// URL
    #[arg(long, value_name = "URL")]
    pub(super) webhook: Option<String>,
    /// What is worth an alert: codes, a severity and all worse ones, verdict
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "violation,verdict", value_parser = word)]
    pub(super) alert_on: Vec<String>,
    /// Least time between two alerts of one code; the next one says how many were held back
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = quantity::time)]
    pub(super) alert_every: Duration,
    /// Most alerts a minute, of all codes together
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) alert_max: u32,
    /// Longest that one alert may take; a command is killed then, with all that it started
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = quantity::time)]
    pub(super) alert_timeout: Duration,
}

/// A command. The text is not repeated in an error, it may hold a secret.
pub(super) fn command(text: &str) -> Result<Command, String> {
    text.parse::<Command>().map_err(|error| format!("{error}: write such as 'notify-send wireproof'"))
}

/// A URL, likewise.
pub(super) fn url(text: &str) -> Result<DrainUrl, String> {
    text.parse::<DrainUrl>().map_err(|error| error.to_string())
}

fn word(text: &str) -> Result<String, String> {
    text.parse::<Choice>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn parsed<T>(
    option: &str,
    text: Option<&str>,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    text.map(parse).transpose().map_err(|error| Failure::usage(option, &error))
}

/// Who is to be told of the run, and of what; nothing when nobody is.
pub(super) fn plan(
    args: &AlertArgs,
    filter: Option<&Filter>,
    anonymize: bool,
) -> Result<Option<Plan>, Failure> {
    if args.exec.is_none() && args.webhook.is_none() {
        return Ok(None);
    }
    let on = Choice::of(args.alert_on.iter().map(String::as_str));
    Ok(Some(Plan {
        exec: parsed("--exec", args.exec.as_deref(), command)?,
        webhook: parsed("--webhook", args.webhook.as_deref(), url)?,
        on: on.map_err(|error| Failure::usage("--alert-on", &error.to_string()))?,
        every: args.alert_every,
        most: args.alert_max,
        timeout: args.alert_timeout,
        anonymize,
        filter: filter.cloned(),
    }))
}

/// Starts what tells of the run.
pub(super) fn start(plan: Option<Plan>) -> Result<Option<Alerter>, Failure> {
    let started = plan.map(Alerter::start).transpose();
    started.map_err(|error| Failure::io(&format!("alerts cannot be sent ({error})"), "free some memory"))
}

/// Tells the verdict, ends, and writes down what became of all alerts.
pub(super) fn finish(alerter: Option<Alerter>, summary: &mut Summary, quiet: bool) {
    let Some(alerter) = alerter else { return };
    let told = alerter.finish(summary);
    if !quiet && told.failed + told.dropped > 0 {
        let why = told.failures.first().map(|why| format!("; {why}")).unwrap_or_default();
        say(&format!("alerts: {}{why}", told.words()));
    }
    summary.alerts = Some(told);
}
