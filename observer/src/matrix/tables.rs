//! The tables of an arm for people and spreadsheets: what `arm.json` holds, one row a thing.

use std::io::{self, Write};
use wireproof_matrices::arm::{ArmDrain, Measured};

/// Writes a table of what was measured.
type Table = fn(&Measured, &mut dyn Write) -> io::Result<()>;

/// Name and writer of each table.
pub const TABLES: [(&str, Table); 4] =
    [("frames.csv", frames), ("episodes.csv", episodes), ("drains.csv", drains), ("wire.csv", wire)];

fn frames(m: &Measured, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "frame,start_ns,end_ns,duration_ns")?;
    for frame in &m.frames {
        let (start, end) = (frame.span.start_ns, frame.span.end_ns);
        writeln!(out, "{},{start},{end},{}", frame.id, end.saturating_sub(start))?;
    }
    Ok(())
}

fn episodes(m: &Measured, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "stream,start_ns,end_ns,missing,sender,wire,observer,upstream,ambiguous")?;
    for e in &m.episodes {
        let o = &e.owners;
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{}",
            plain(&e.stream),
            e.span.start_ns,
            e.span.end_ns,
            e.missing,
            o.sender,
            o.wire,
            o.observer,
            o.upstream,
            o.ambiguous
        )?;
    }
    Ok(())
}

fn drains(m: &Measured, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "planned_ns,real,start_ns,end_ns,device_start_ns,device_end_ns,bytes,sha256,failed")?;
    m.drains.iter().try_for_each(|drain| drain_row(drain, out))
}

fn drain_row(d: &ArmDrain, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{},{},{},{},{},{},{},{},{}",
        d.planned_ns,
        d.real,
        d.bench.start_ns,
        d.bench.end_ns,
        d.device.start_ns,
        d.device.end_ns,
        d.bytes,
        d.sha256.as_deref().unwrap_or_default(),
        plain(d.failed.as_deref().unwrap_or_default())
    )
}

fn wire(m: &Measured, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "stream,datagrams,frames,first_ns,last_ns,lost,duplicates,reordered,shape,foreign,jitter_p50_ns,jitter_p95_ns,jitter_p99_ns"
    )?;
    for s in &m.streams {
        let [p50, p95, p99] = s.jitter_ns;
        let counts =
            [s.lost, s.duplicates, s.reordered, s.shape, s.foreign, p50, p95, p99].map(|n| n.to_string());
        let (id, counts) = (plain(&s.id), counts.join(","));
        writeln!(out, "{id},{},{},{},{},{counts}", s.datagrams, s.frames, s.first_ns, s.last_ns)?;
    }
    Ok(())
}

/// A text as one cell: whatever would end it or start a formula is a space.
fn plain(text: &str) -> String {
    let kept = text.chars().map(|c| if c.is_control() || ",\"".contains(c) { ' ' } else { c });
    kept.collect::<String>().trim_start_matches(['=', '+', '@', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_matrices::arm::{Episode, Owners, Span, WireStream};

    #[test]
    fn every_table_has_as_many_cells_in_each_row_as_in_its_head() {
        let drain = ArmDrain {
            planned_ns: 1,
            bench: Span::default(),
            device: Span::default(),
            real: true,
            failed: Some("a, \"b\"\nc".to_owned()),
            bytes: 2,
            sha256: None,
        };
        let owners = Owners { wire: 1, ..Owners::default() };
        let m = Measured {
            frames: vec![wireproof_matrices::arm::FrameSpan { id: 1, span: Span { start_ns: 5, end_ns: 9 } }],
            episodes: vec![Episode { stream: "=x".to_owned(), span: Span::default(), missing: 1, owners }],
            drains: vec![drain],
            streams: vec![WireStream { id: "s".to_owned(), ..WireStream::default() }],
            ..Measured::default()
        };
        for (name, write) in TABLES {
            let mut out = Vec::new();
            write(&m, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert_eq!(cells, [cells[0]; 2], "{name}: {text}");
        }
    }
}
