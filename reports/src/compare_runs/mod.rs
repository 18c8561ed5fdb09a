//! Two observed runs side by side (`wireproof.compare-runs/1`): before and after a firmware, one switch and another.
//!
//! Neither is a baseline, and no figure is compared with an unlike one: streams are matched by what they say they are, and
//! where shape, rate or time stamps differ the row says so instead.

mod figures;
mod matching;
mod sheet;

pub(crate) use figures::{MOST_EXACT, NEEDED, RATE_PERCENT};

use crate::baseline::pretty;
use crate::csv::cell;
use crate::number::thousandths;
use crate::summary::{Stream, Summary};
use crate::{Format, RenderError, Style, Verdict};
use serde::{Deserialize, Serialize};
use std::io::Write;
use wireproof_matrices::number::Number;

/// Name and version of the record.
pub const SCHEMA: &str = "wireproof.compare-runs/1";
/// Most streams of a run that are compared: no summary of this tool has more.
pub const MOST_STREAMS: usize = wireproof_protocols::verify::STREAMS_MAX;

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// [`SCHEMA`].
    pub schema: String,
    /// What it amounts to: `worse` when any row is or a stream is gone.
    pub outcome: Said,
    /// Figures by what is said of them.
    pub counted: Counted,
    /// The first run.
    pub before: RunSide,
    /// The second.
    pub after: RunSide,
    /// Streams in the order of the first run, then those that are only in the second.
    pub streams: Vec<Pair>,
}

/// What is said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// More loss, longer intervals.
    Worse,
    /// Less of it.
    Better,
    /// No difference shows.
    Same,
    /// There may be a difference; the runs cannot tell.
    Unclear,
    /// Shown and not compared.
    NotCompared,
}

impl Said {
    /// The word in text.
    pub fn word(self) -> &'static str {
        match self {
            Said::Worse => "worse",
            Said::Better => "better",
            Said::Same => "same",
            Said::Unclear => "unclear",
            Said::NotCompared => "not compared",
        }
    }
}

/// How many figures, and streams of one run only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Figures that are worse.
    pub worse: u64,
    /// Figures that are better.
    pub better: u64,
    /// Figures without a difference.
    pub same: u64,
    /// Figures that may differ.
    pub unclear: u64,
    /// Figures that were not compared.
    pub not_compared: u64,
    /// Streams of the first run that the second has not.
    pub gone: u64,
    /// Streams of the second run that the first has not.
    pub new: u64,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSide {
    /// File or interface.
    pub name: String,
    /// Who stamped its packets and how finely.
    pub timestamps: String,
    /// From the first to the last packet, ns.
    pub span_ns: u64,
    /// Capture time of its first packet, ns since 1970.
    pub first_ns: Option<i64>,
    /// What it amounts to on its own.
    pub verdict: Verdict,
    /// Datagrams of lighting protocols.
    pub lighting: u64,
    /// Datagrams that its observer lost.
    pub observer_lost: u64,
    /// Packets that its capture says it dropped.
    pub capture_dropped: u64,
}

/// How a stream was found in the other run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The same CID.
    Sender,
    /// The same source name.
    Name,
    /// The same source address.
    Address,
    /// The only one with its protocol and id in both.
    Id,
}

/// A stream of both runs, or of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Protocol.
    pub protocol: String,
    /// Packet kind without protocol.
    pub kind: String,
    /// Universe, Port-Address, DDP ID or device id.
    pub stream_id: u32,
    /// Art-Net Physical.
    pub part: u8,
    /// How the two were matched; null for a stream of one run only.
    pub matched_by: Option<By>,
    /// The stream in the first run.
    pub before: Option<Seen>,
    /// The stream in the second.
    pub after: Option<Seen>,
    /// Why nothing of it is compared.
    pub unlike: Vec<String>,
    /// What a reader has to know beside the figures.
    pub notes: Vec<String>,
    /// How often something happened.
    pub shares: Vec<ShareRow>,
    /// Times.
    pub times: Vec<TimeRow>,
}

/// A stream of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Index into the streams of its summary.
    pub index: u64,
    /// Source address and port.
    pub source: String,
    /// CID.
    pub sender: Option<String>,
    /// Source name.
    pub name: Option<String>,
    /// Datagrams.
    pub datagrams: u64,
    /// Datagrams a second, what was lost included; kept in thousandths.
    #[serde(rename = "sent_hz", with = "thousandths")]
    pub sent_mhz: u64,
}

/// How often something happened in both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareRow {
    /// `lost`, `duplicates`, `late` or `torn_frames`.
    pub figure: String,
    /// In the first run.
    pub before: Share,
    /// In the second.
    pub after: Share,
    /// What is said of it.
    pub said: Said,
    /// Why it is unclear or not compared, or by what part of it.
    pub why: Option<String>,
}

/// Events of trials, with the exact interval of their rate (Clopper-Pearson, 95 %), parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Events.
    pub events: u64,
    /// How often it could have happened.
    pub of: u64,
    /// Rate.
    pub rate_ppb: u64,
    /// Interval of the rate, as if every event came alone.
    pub interval_ppb: [u64; 2],
    /// Bursts, for what comes in bursts.
    pub bursts: Option<u64>,
    /// Interval of the rate of bursts.
    pub bursts_interval_ppb: Option<[u64; 2]>,
}

/// A time in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeRow {
    /// `interval_p50`, `_p95`, `_p99`, `_p999` or `_max`; `frame_interval_p50` and so on from frame to frame.
    pub figure: String,
    /// In the first run, ns.
    pub before_ns: u64,
    /// In the second, ns.
    pub after_ns: u64,
    /// After over before, three decimals; null over nothing.
    pub ratio: Option<Number>,
    /// What is said of it.
    pub said: Said,
    /// Why it is not compared.
    pub why: Option<String>,
}

impl Runs {
    /// The formats of two runs, in the order of the help text.
    pub const FORMATS: [Format; 5] =
        [Format::Table, Format::Json, Format::Csv, Format::Markdown, Format::Html];

    /// Lays two runs side by side.
    ///
    /// # Errors
    /// A run with more than [`MOST_STREAMS`] streams, which no observer made.
    pub fn of(before: &Summary, after: &Summary) -> Result<Runs, String> {
        let most = before.streams.len().max(after.streams.len());
        if most > MOST_STREAMS {
            return Err(format!("{most} streams are more than a summary has"));
        }
        let spoiled: Vec<String> = [before, after].into_iter().filter_map(figures::spoiled).collect();
        let matched = matching::pairs(&before.streams, &after.streams);
        let pair = |found: &matching::Found| figures::pair(before, after, found, &spoiled);
        let streams: Vec<Pair> = matched.iter().filter_map(pair).collect();
        let counted = count(&streams);
        Ok(Runs {
            schema: SCHEMA.to_owned(),
            outcome: outcome(&counted),
            counted,
            before: side(before),
            after: side(after),
            streams,
        })
    }

    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that two runs have not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        if let Some(written) = sheet::of(self).render(format, style, out) {
            return written;
        }
        match format {
            Format::Json => pretty(self, out),
            Format::Csv => self.csv(out),
            _ => Err(format.missing("a comparison of runs")),
        }
    }

    /// One line: what it amounts to, and of how much.
    pub fn line(&self) -> String {
        let c = &self.counted;
        format!(
            "figures: {} worse, {} better, {} the same, {} unclear, {} not compared; streams: {} gone, {} new",
            c.worse, c.better, c.same, c.unclear, c.not_compared, c.gone, c.new
        )
    }

    fn csv(&self, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(HEADER)?;
        for pair in &self.streams {
            let stream =
                [cell(&pair.protocol), cell(&pair.kind), pair.stream_id.to_string(), pair.part.to_string()];
            let shares = pair.shares.iter().map(|row| {
                let share =
                    |s: &Share| [s.events, s.of, s.interval_ppb[0], s.interval_ppb[1]].map(|n| n.to_string());
                (&row.figure, share(&row.before), share(&row.after), row.said, &row.why)
            });
            let time = |ns: u64| [ns.to_string(), String::new(), String::new(), String::new()];
            let times = pair.times.iter();
            let times =
                times.map(|row| (&row.figure, time(row.before_ns), time(row.after_ns), row.said, &row.why));
            for (figure, before, after, said, why) in shares.chain(times) {
                let last = [cell(said.word()), why.as_deref().map(cell).unwrap_or_default()];
                let cells = stream.iter().chain([figure]).chain(&before).chain(&after).chain(&last);
                writer.write_record(cells)?;
            }
        }
        Ok(writer.flush()?)
    }
}

const HEADER: [&str; 15] = [
    "protocol",
    "kind",
    "stream_id",
    "part",
    "figure",
    "before",
    "before_of",
    "before_low_ppb",
    "before_high_ppb",
    "after",
    "after_of",
    "after_low_ppb",
    "after_high_ppb",
    "said",
    "why",
];

fn count(streams: &[Pair]) -> Counted {
    let mut counted = Counted::default();
    for pair in streams {
        counted.gone += u64::from(pair.after.is_none());
        counted.new += u64::from(pair.before.is_none());
        let said = pair.shares.iter().map(|row| row.said).chain(pair.times.iter().map(|row| row.said));
        for said in said {
            *match said {
                Said::Worse => &mut counted.worse,
                Said::Better => &mut counted.better,
                Said::Same => &mut counted.same,
                Said::Unclear => &mut counted.unclear,
                Said::NotCompared => &mut counted.not_compared,
            } += 1;
        }
    }
    counted
}

fn outcome(c: &Counted) -> Said {
    match () {
        () if c.worse > 0 || c.gone > 0 => Said::Worse,
        () if c.better > 0 => Said::Better,
        () if c.unclear > 0 => Said::Unclear,
        () if c.same > 0 => Said::Same,
        () => Said::NotCompared,
    }
}

fn side(s: &Summary) -> RunSide {
    RunSide {
        name: s.source.name.clone(),
        timestamps: s.source.timestamps.clone(),
        span_ns: s.span_ns,
        first_ns: s.first_ns,
        verdict: s.verdict,
        lighting: s.datagrams.lighting,
        observer_lost: s.observer.lost,
        capture_dropped: s.source.capture_dropped,
    }
}

/// The address of a stream's source without its port.
fn address(stream: &Stream) -> &str {
    stream.source.rsplit_once(':').map_or(stream.source.as_str(), |(address, _)| address)
}

#[cfg(test)]
mod tests;
