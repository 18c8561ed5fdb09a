//! Cutting whole streams out of a capture: those that fit a filter, every record of them and no other, so that the piece
//! tells of them what the capture tells.

use super::focus::Stream;
use super::{Blind, SliceError, Whole, cut::Kept, drops, run};
use crate::capture::{self, Dissector, Item, PcapngWriter, Record};
use crate::outfile;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::Options;
use wireproof_protocols::{Datagram, Faults, Timestamp};
use wireproof_reports::Filter;
use wireproof_reports::filter::filter as keep_fitting;

/// What was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredReport {
    /// Streams that fit.
    pub streams: u64,
    /// Streams that do not.
    pub left_out: u64,
    /// Records written.
    pub records: u64,
    /// Fragments among them: whose they are is told by the last one only, so that all are kept.
    pub fragments: u64,
    /// Stamp of the first record kept.
    pub from: Timestamp,
    /// Stamp of the last record kept.
    pub to: Timestamp,
}

/// Writes every record of the streams that fit. What a stream is was told by the whole capture: outputs have the names that
/// `analyze` gives them there.
///
/// # Errors
/// See [`SliceError`]; no output file is left behind.
pub fn slice_where(
    input: &Path,
    filter: &Filter,
    options: &Options,
    out: &Path,
) -> Result<FilteredReport, SliceError> {
    let Whole { mut account, blinds, ended } = run(input, options)?;
    // Streams that fell silent did so while others went on, or nothing came any more.
    let ended = ended.or(account.last_ns.map(Timestamp));
    let declared = options.rig.as_ref().map_or(&[][..], |rig| &rig.outputs);
    let told = keep_fitting(&mut account, filter, declared);
    if account.streams.is_empty() {
        return Err(SliceError::NoStream {
            input: input.display().to_string(),
            expression: filter.text().to_owned(),
            count: told.streams_left_out,
        });
    }
    let mut wanted = Wanted { streams: HashMap::new(), layouts: options.layouts };
    for stream in account.streams.iter().map(Stream::of) {
        wanted.streams.entry(stream.key()).or_default().push(stream);
    }
    let comment = format!("wireproof: cut with --where {}", filter.text());
    let written = outfile::write(out, |file| write(input, &wanted, &comment, (&blinds, ended), file));
    let (kept, fragments) = written.map_err(|error| match error {
        SliceError::Write { source, .. } => SliceError::Write { out: out.display().to_string(), source },
        other => other,
    })?;
    Ok(FilteredReport {
        streams: told.streams,
        left_out: told.streams_left_out,
        records: kept.records,
        fragments,
        from: kept.from,
        to: kept.to,
    })
}

/// The streams that fit, by sender and number.
struct Wanted {
    streams: HashMap<(IpAddr, u32), Vec<Stream>>,
    layouts: Layouts,
}

impl Wanted {
    fn has(&self, d: &Datagram<'_>, faults: &mut Faults) -> bool {
        let Some(decoder) = self.layouts.claim(d) else { return false };
        faults.clear();
        let Ok(pdu) = decoder.decode(d, faults) else { return false };
        let streams = self.streams.get(&(d.source.ip(), pdu.stream.unwrap_or_default()));
        streams.is_some_and(|streams| streams.iter().any(|stream| stream.is_own(d, &pdu)))
    }
}

fn write(
    input: &Path,
    wanted: &Wanted,
    comment: &str,
    (blinds, ended): (&[Blind], Option<Timestamp>),
    out: &mut dyn io::Write,
) -> Result<(Kept, u64), SliceError> {
    let mut writer = PcapngWriter::new(out)?;
    let (mut kept, mut failed): (Kept, Option<io::Error>) = (Kept::default(), None);
    let (mut dissector, mut faults, mut fragments) = (Dissector::new(), Faults::new(), 0);
    capture::read_records_path(input, &mut |record: &Record<'_>| {
        let seen = dissector.fragments().0;
        let whole = match dissector.dissect(record) {
            Item::Datagram(_, d) => Some(wanted.has(&d, &mut faults)),
            _ => None,
        };
        let is_fragment = whole.is_none() && dissector.fragments().0 > seen;
        if failed.is_none() && whole.unwrap_or(is_fragment) {
            fragments += u64::from(is_fragment);
            let note = (kept.records == 0).then(|| match record.comment {
                Some(before) => format!("{comment}\n{before}"),
                None => comment.to_owned(),
            });
            kept.add(record.at);
            failed = writer.record(record, note.as_deref()).err();
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    drops(blinds.iter().filter(|b| kept.overlaps(b)), None, &mut writer)?;
    if let Some(at) = ended.filter(|_| kept.records > 0) {
        writer.ended(0, (None, at), kept.records)?;
    }
    Ok((kept, fragments))
}
