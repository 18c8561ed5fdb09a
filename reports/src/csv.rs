//! CSV after RFC 4180: a header with units, then one row a stream.

use crate::render::RenderError;
use crate::summary::{Stream, Summary};
use crate::text::{clean, thousandths};
use std::io::Write;

const HEADER: [&str; 39] = [
    "index",
    "protocol",
    "kind",
    "source",
    "destination",
    "sender",
    "name",
    "stream_id",
    "part",
    "output",
    "datagrams",
    "payload_bytes",
    "sessions",
    "rate_hz",
    "first_ns",
    "last_ns",
    "sequence_model",
    "lost_min",
    "lost",
    "edge",
    "gaps",
    "duplicates",
    "late",
    "old",
    "restarts",
    "ambiguous",
    "frames_seen",
    "frames_complete",
    "frames_torn",
    "frames_unterminated",
    "interval_min_ns",
    "interval_p50_ns",
    "interval_p99_ns",
    "interval_max_ns",
    "owner_sender",
    "owner_wire",
    "owner_unknown",
    "ended",
    "owner_observer",
];

/// Writes the streams; line ends are CR LF.
pub(crate) fn write(summary: &Summary, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    // A column more, so that nobody takes some streams for all of them, or losses that do not count for those that do.
    let filter = summary.filter.as_ref().map(|f| cell(&f.expression));
    let waives = !summary.waivers.is_empty();
    let more = [filter.is_some().then_some("filter"), waives.then_some("waived")];
    writer.write_record(HEADER.iter().copied().chain(more.into_iter().flatten()))?;
    for (index, stream) in summary.streams.iter().enumerate() {
        let more = [filter.clone(), waives.then(|| waived(index, summary))];
        writer.write_record(row(index, stream).into_iter().chain(more.into_iter().flatten()))?;
    }
    Ok(writer.flush()?)
}

/// What of a stream is waived, and by which waiver: `w1 SEQ-LOST x3; w2 SEQ-LATE x1`.
fn waived(index: usize, summary: &Summary) -> String {
    let own = summary.findings.iter().filter(|f| f.stream == Some(index));
    let each = own.filter_map(|f| Some(format!("{} {} x{}", summary.waiver_of(f)?.id, f.code, f.count)));
    cell(&each.collect::<Vec<_>>().join("; "))
}

fn row(index: usize, s: &Stream) -> Vec<String> {
    let mut row = identity(index, s);
    row.extend([
        s.datagrams.to_string(),
        s.bytes.to_string(),
        s.sessions.to_string(),
        thousandths(s.rate_mhz),
        s.first_ns.to_string(),
        s.last_ns.to_string(),
        cell(&s.sequence.model),
    ]);
    row.extend(counters(s).map(|n| n.to_string()));
    row.insert(25, s.sequence.ambiguous.to_string());
    row.push(s.ended.clone());
    row.push(s.owners.observer.to_string());
    row
}

fn identity(index: usize, s: &Stream) -> Vec<String> {
    vec![
        index.to_string(),
        s.protocol.clone(),
        s.kind.clone(),
        s.source.clone(),
        s.destination.clone().unwrap_or_default(),
        cell(s.sender.as_deref().unwrap_or_default()),
        cell(s.name.as_deref().unwrap_or_default()),
        s.stream_id.to_string(),
        s.part.to_string(),
        s.output.map(|o| o.to_string()).unwrap_or_default(),
    ]
}

fn counters(s: &Stream) -> [u64; 19] {
    let (q, f, i, o) = (&s.sequence, &s.frames, &s.interval_ns, &s.owners);
    [
        q.lost_min,
        q.lost,
        q.edge,
        q.gaps,
        q.duplicates,
        q.late,
        q.old,
        q.restarts,
        f.seen,
        f.complete,
        f.torn,
        f.unterminated,
        i.min,
        i.p50,
        i.p99,
        i.max,
        o.sender,
        o.wire,
        o.unknown,
    ]
}

/// A text cell that no spreadsheet takes for a formula.
pub(crate) fn cell(text: &str) -> String {
    let text = clean(text);
    match text.trim_start().chars().next() {
        Some('=' | '+' | '-' | '@') => format!("'{text}"),
        _ => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample;

    fn rendered() -> String {
        let mut out = Vec::new();
        write(&sample::summary(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_row_has_a_cell_under_every_header() {
        let text = rendered();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), sample::summary().streams.len());
        let get = |name: &str| rows[0].get(header.iter().position(|h| h == name).unwrap()).unwrap();
        assert_eq!(get("lost"), "16");
        assert_eq!(get("ambiguous"), "true");
        assert_eq!(get("restarts"), "1");
        assert_eq!(get("frames_seen"), "100");
        assert_eq!(get("interval_max_ns"), "41584000");
        assert_eq!(get("rate_hz"), "29.549");
        assert_eq!(get("ended"), "silent");
    }

    #[test]
    fn what_is_waived_stands_behind_the_columns_that_every_file_has() {
        let mut summary = sample::summary();
        let rendered = |summary: &Summary| {
            let mut out = Vec::new();
            write(summary, &mut out).unwrap();
            let mut reader = csv::Reader::from_reader(out.as_slice());
            let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
            let rows: Vec<Vec<String>> =
                reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect();
            (header, rows)
        };
        assert_eq!(rendered(&summary).0, HEADER, "a rig without waivers changes nothing");
        let at = summary.findings.iter().position(|f| f.stream == Some(0)).unwrap();
        summary.findings[at].waiver = Some(0);
        let (code, count) = (summary.findings[at].code.clone(), summary.findings[at].count);
        summary.waivers = vec![crate::Waived {
            id: "w1".to_owned(),
            code: code.clone(),
            streams: "protocol == sacn".to_owned(),
            max: Some(5),
            max_per_hour: None,
            allowed: 5,
            reason: "known".to_owned(),
            expires: "2030-01-01".to_owned(),
            state: crate::WaiverState::Used,
            used: count,
            findings: vec![summary.findings[at].id.clone()],
        }];
        summary.filter = None;
        let (header, rows) = rendered(&summary);
        assert_eq!(header[..HEADER.len()], HEADER);
        assert_eq!(header[HEADER.len()..], ["waived"]);
        assert_eq!(rows[0].last().unwrap(), &format!("w1 {code} x{count}"));
        assert!(rows[1..].iter().all(|row| row.last().unwrap().is_empty()), "{rows:?}");
    }

    #[test]
    fn lines_end_with_cr_lf() {
        let text = rendered();
        assert!(text.ends_with("\r\n"));
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    }

    #[test]
    fn a_name_that_is_a_formula_is_disarmed() {
        assert_eq!(cell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(cell("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(cell(" +1"), "' +1");
        assert_eq!(cell("-2"), "'-2");
        assert_eq!(cell("\t=1"), "\\u{9}=1");
        assert_eq!(cell("desk"), "desk");
    }
}
