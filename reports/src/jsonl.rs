//! JSON Lines: the summary, then one object a stream, an output and a finding, each with its `type`.

use crate::json::write_line;
use crate::render::RenderError;
use crate::summary::{Datagrams, Observer, Source, Summary};
use crate::verdict::Verdict;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Head<'a> {
    r#type: &'static str,
    schema: &'a str,
    verdict: Verdict,
    source: &'a Source,
    span_ns: u64,
    datagrams: &'a Datagrams,
    observer: &'a Observer,
    reason: &'a str,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    limits: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    drains: &'a [crate::summary::Drain],
    #[serde(skip_serializing_if = "Option::is_none")]
    device_clock: Option<&'a crate::summary::DeviceClock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reconciled: Option<&'a crate::reconcile::Reconciled>,
    totals: &'a crate::summary::Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<&'a crate::summary::Axis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a crate::Filtered>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    waivers: &'a [crate::Waived],
    #[serde(skip_serializing_if = "Option::is_none")]
    alerts: Option<&'a crate::Alerts>,
}

#[derive(Serialize)]
struct Entry<'a, T> {
    r#type: &'static str,
    index: usize,
    #[serde(flatten)]
    value: &'a T,
}

/// Writes one object a line; `index` is what `stream` and `output` of other lines refer to.
pub(crate) fn write(summary: &Summary, out: &mut dyn Write) -> Result<(), RenderError> {
    write_line(&head(summary), out)?;
    entries("stream", &summary.streams, out)?;
    entries("output", &summary.outputs, out)?;
    entries("finding", &summary.findings, out)
}

fn head(summary: &Summary) -> Head<'_> {
    Head {
        r#type: "summary",
        schema: &summary.schema,
        verdict: summary.verdict,
        source: &summary.source,
        span_ns: summary.span_ns,
        datagrams: &summary.datagrams,
        observer: &summary.observer,
        reason: &summary.reason,
        first_ns: summary.first_ns,
        last_ns: summary.last_ns,
        limits: &summary.limits,
        drains: &summary.drains,
        device_clock: summary.device_clock.as_ref(),
        reconciled: summary.reconciled.as_ref(),
        totals: &summary.totals,
        timeline: summary.timeline.as_ref(),
        filter: summary.filter.as_ref(),
        waivers: &summary.waivers,
        alerts: summary.alerts.as_ref(),
    }
}

fn entries<T: Serialize>(kind: &'static str, values: &[T], out: &mut dyn Write) -> Result<(), RenderError> {
    values
        .iter()
        .enumerate()
        .try_for_each(|(index, value)| write_line(&Entry { r#type: kind, index, value }, out))
}
