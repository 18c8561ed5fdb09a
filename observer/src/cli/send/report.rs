//! What a run of the sender prints at its end, and the truth about its faults.

use super::super::failure::Failure;
use super::super::transmit::{self, Late};
use super::args::SendArgs;
use super::choice::Choice;
use super::fitting;
use crate::send::faults::{Deed, Kind, Truth};
use crate::send::identity::Notation;
use crate::send::pace::Rate;
use crate::send::show::Shown;
use crate::send::socket::{Outlet, Segmentation};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wireproof_reports::text::{clean, milliseconds};

/// Versions of the JSON outputs.
const SCHEMA: &str = "wireproof.send/1";
const TRUTH_SCHEMA: &str = "wireproof.truth/1";

/// Everything a run has to tell.
pub(super) struct Account<'a> {
    pub(super) args: &'a SendArgs,
    pub(super) choice: &'a Choice,
    pub(super) shown: &'a Shown,
    pub(super) outlet: &'a Outlet,
    pub(super) truth: &'a Truth,
    pub(super) cpu_ns: u64,
}

/// The JSON output; keys in alphabetical order.
#[derive(Debug, Serialize)]
struct Document<'a> {
    cid: Option<String>,
    complete: bool,
    cpu_ns_per_frame: u64,
    datagrams: u64,
    destination: Option<String>,
    discoveries: u64,
    faults: BTreeMap<&'static str, u64>,
    frame_octets: usize,
    frames: u64,
    goodbyes: u64,
    gso: bool,
    gso_datagrams: u64,
    late_ns: Late,
    octets: u64,
    protocol: &'static str,
    rate_mhz: u64,
    refused: u64,
    schema: &'static str,
    seed: u64,
    send_error: Option<&'a str>,
    send_errors: u64,
    skipped_periods: u64,
    stalled_periods: u64,
}

/// The truth as JSON; keys in alphabetical order.
#[derive(Debug, Serialize)]
struct TruthDocument<'a> {
    counts: BTreeMap<&'static str, u64>,
    datagrams: u64,
    deeds: &'a [Deed],
    deeds_left_out: u64,
    frames: u64,
    protocol: &'static str,
    schema: &'static str,
    seed: u64,
    stalled_periods: u64,
}

/// A rate in hertz, without zeros at its end.
pub(super) fn hertz(rate: Rate) -> String {
    let text = format!("{}.{:03}", rate.mhz() / 1000, rate.mhz() % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes the account.
pub(super) fn write(account: &Account<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    match account.args.format.as_str() {
        "json" => line(&account.document(), out),
        _ => account.table(out),
    }
}

/// Writes what was done on purpose.
pub(super) fn truth(account: &Account<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let document = TruthDocument {
        counts: counts(account.truth),
        datagrams: account.outlet.sent().datagrams,
        deeds: &account.truth.deeds,
        deeds_left_out: account.truth.more,
        frames: account.shown.frames,
        protocol: account.choice.protocol.name(),
        schema: TRUTH_SCHEMA,
        seed: account.args.seed,
        stalled_periods: account.shown.stalled,
    };
    line(&document, out)
}

fn line(document: &impl Serialize, out: &mut dyn Write) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
    Ok(writeln!(out, "{text}")?)
}

fn counts(truth: &Truth) -> BTreeMap<&'static str, u64> {
    Kind::ALL.into_iter().map(|kind| (kind.name(), truth.count(kind))).collect()
}

impl Account<'_> {
    fn cpu_ns_per_frame(&self) -> u64 {
        self.cpu_ns / self.shown.frames.max(1)
    }

    fn cid(&self) -> Option<String> {
        fitting::has_cid(self.choice.protocol).then(|| Notation(self.choice.setup.cid).to_string())
    }

    fn document(&self) -> Document<'_> {
        let (shown, sent) = (self.shown, self.outlet.sent());
        Document {
            cid: self.cid(),
            complete: !shown.cut_short,
            cpu_ns_per_frame: self.cpu_ns_per_frame(),
            datagrams: sent.datagrams,
            destination: self.choice.setup.destination.map(|to| to.to_string()),
            discoveries: shown.discoveries,
            faults: counts(self.truth),
            frame_octets: self.choice.plan.frame_octets,
            frames: shown.frames,
            goodbyes: shown.goodbyes,
            gso: *self.outlet.segmentation() == Segmentation::Used,
            gso_datagrams: sent.segmented,
            late_ns: shown.lateness.into(),
            octets: sent.octets,
            protocol: self.choice.protocol.name(),
            rate_mhz: self.choice.plan.rate.mhz(),
            refused: sent.refused,
            schema: SCHEMA,
            seed: self.args.seed,
            send_error: sent.error.as_deref(),
            send_errors: sent.failed,
            skipped_periods: shown.skipped,
            stalled_periods: shown.stalled,
        }
    }

    fn table(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let (shown, sent) = (self.shown, self.outlet.sent());
        let to = self.choice.setup.destination.map_or("its multicast groups".to_owned(), |to| to.to_string());
        writeln!(out, "sent          {} to {to}", self.choice.protocol.name())?;
        if let Some(cid) = self.cid() {
            writeln!(out, "source        {}, CID {cid}", clean(&self.choice.setup.name))?;
        }
        let octets = self.choice.plan.frame_octets;
        let hz = hertz(self.choice.plan.rate);
        writeln!(
            out,
            "frames        {} of {octets} octets at {hz} Hz, {} periods skipped",
            shown.frames, shown.skipped
        )?;
        writeln!(out, "datagrams     {}, {} octets", sent.datagrams, sent.octets)?;
        if shown.goodbyes + shown.discoveries > 0 {
            writeln!(out, "beside data   {} goodbyes, {} announcements", shown.goodbyes, shown.discoveries)?;
        }
        writeln!(out, "pacing error  {}", transmit::lateness(shown.lateness))?;
        writeln!(out, "CPU           {} ms a frame", milliseconds(self.cpu_ns_per_frame()))?;
        writeln!(out, "GSO           {}", self.segmentation())?;
        self.faults(out)?;
        transmit::errors(sent, out)
    }

    fn segmentation(&self) -> String {
        match self.outlet.segmentation() {
            Segmentation::Off => "not used".to_owned(),
            Segmentation::Untried => "not used: no frame had equal datagrams in a row".to_owned(),
            Segmentation::Used => format!("used for {} datagrams", self.outlet.sent().segmented),
            Segmentation::Refused(why) => format!("refused by the kernel ({why})"),
        }
    }

    fn faults(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.args.fault.is_none() {
            return Ok(());
        }
        let all = counts(self.truth);
        let text: Vec<String> = all.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let periods = self.shown.stalled;
        Ok(writeln!(
            out,
            "on purpose    {} (seed {}), {periods} periods stood still",
            text.join(", "),
            self.args.seed
        )?)
    }
}
