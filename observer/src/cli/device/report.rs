//! What a run of the device prints at its end.

use super::super::failure::Failure;
use super::super::transmit;
use super::args::DeviceArgs;
use crate::send::socket::Sent;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use wireproof_fixture::device::Report;
use wireproof_reports::text::{clean, milliseconds};

/// Version of the JSON output.
const SCHEMA: &str = "wireproof.device/1";

/// Everything a run has to tell.
pub(super) struct Account<'a> {
    pub(super) args: &'a DeviceArgs,
    pub(super) report: &'a Report,
    pub(super) ring: Option<&'a Path>,
    pub(super) sent: &'a Sent,
}

/// The JSON output: what the report holds, and what only the process knows.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    rate_mhz: u64,
    ring: Option<String>,
    schema: &'static str,
    seed: u64,
    send_error: Option<&'a str>,
    send_errors: u64,
}

/// Writes the account.
pub(super) fn write(account: &Account<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    match account.args.format.as_str() {
        "json" => account.json(out),
        _ => account.table(out),
    }
}

impl Account<'_> {
    fn json(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let document = Document {
            report: self.report,
            rate_mhz: self.args.rate.mhz(),
            ring: self.ring.map(|ring| ring.display().to_string()),
            schema: SCHEMA,
            seed: self.args.seed,
            send_error: self.sent.error.as_deref(),
            send_errors: self.sent.failed,
        };
        // Through a value, whose keys are in alphabetical order.
        let value = serde_json::to_value(document).map_err(io::Error::from)?;
        let text = serde_json::to_string_pretty(&value).map_err(io::Error::from)?;
        Ok(writeln!(out, "{text}")?)
    }

    fn table(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let report = self.report;
        let hz = self.args.rate.mhz() as f64 / 1_000.0;
        writeln!(
            out,
            "frames        {} at {hz} Hz, {} misses, {} slow, {} periods skipped, {} paused",
            report.frames, report.misses, report.slow, report.skipped, report.paused
        )?;
        let [p50, p95, p99, max] =
            [report.frame_ns.p50, report.frame_ns.p95, report.frame_ns.p99, report.frame_ns.max]
                .map(milliseconds);
        writeln!(out, "frame time    p50 {p50} ms, p95 {p95} ms, p99 {p99} ms, max {max} ms")?;
        writeln!(out, "lateness      {}", transmit::lateness(report.late_ns))?;
        for output in &report.outputs {
            let to = output.destination.as_deref().unwrap_or("its multicast groups");
            writeln!(
                out,
                "output        {} {} to {to}: {} datagrams, {} goodbyes, {} not sent, {} of a second source",
                clean(&output.name),
                output.protocol,
                output.datagrams,
                output.goodbyes,
                output.unsent,
                output.second_source
            )?;
        }
        self.recorder(out)?;
        if report.previews > 0 {
            writeln!(out, "previews      {}", report.previews)?;
        }
        if !report.faults.is_empty() {
            let faults: Vec<String> =
                report.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            writeln!(out, "on purpose    {}, {} reboots", faults.join(", "), report.reboots)?;
        }
        transmit::errors(self.sent, out)
    }

    fn recorder(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(recorder) = &self.report.recorder else { return Ok(writeln!(out, "recorder      none")?) };
        Ok(writeln!(
            out,
            "recorder      {} framed and {} unframed records, {} left out while off; generation {}",
            recorder.framed, recorder.unframed, recorder.disabled, recorder.generation
        )?)
    }
}
