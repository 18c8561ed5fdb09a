//! A run as one self-contained HTML page: no script, no font, nothing from elsewhere. Writes what it is given; every
//! text passes the escape, since names come from the wire.

use crate::summary::{Finding, Stream, Summary};
use crate::text::{clean, milliseconds, rfc3339};
use std::io::{self, Write};

/// A table in front of the run's own: a heading, column names, rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// One sentence below the heading; may be empty.
    pub text: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// The look of every page.
pub(crate) const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;\
color:#1b1b1b;background:#fff}table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-size:14px}\
th,td{border-bottom:1px solid #ccc;padding:.25rem .7rem;text-align:left;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums}.scroll{overflow-x:auto}h1 small{font-weight:400}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}th,td{border-color:#444}}";

/// Text fit for HTML: markup escaped, what a terminal or reader would obey replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Writes the page: title, the verdict, the sections given, then streams, findings and limits.
///
/// # Errors
/// What `out` says.
pub fn write(title: &str, s: &Summary, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    let title = escape(title);
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width\">")?;
    writeln!(out, "<title>{title}</title>\n<style>{STYLE}</style>")?;
    writeln!(out, "<h1>{title}</h1>")?;
    writeln!(out, "<p>What was observed: <strong>{}</strong>, {}</p>", s.verdict.word(), escape(&s.reason))?;
    sections.iter().try_for_each(|section| table(section, out))?;
    table(&streams(s), out)?;
    table(&findings(s), out)?;
    table(&downloads(s), out)?;
    writeln!(out, "<h2>What this capture can and cannot show</h2>\n<ul>")?;
    let told = crate::drains::sentences(s);
    told.iter().chain(&s.limits).try_for_each(|limit| writeln!(out, "<li>{}", escape(limit)))?;
    writeln!(out, "</ul>\n</html>")
}

fn table(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", escape(&section.heading))?;
    if !section.text.is_empty() {
        writeln!(out, "<p>{}</p>", escape(&section.text))?;
    }
    if section.rows.is_empty() {
        return writeln!(out, "<p>None.</p>");
    }
    writeln!(out, "<div class=\"scroll\"><table>")?;
    let head: String = section.columns.iter().map(|name| format!("<th>{}", escape(name))).collect();
    writeln!(out, "<tr>{head}")?;
    for row in &section.rows {
        let cells: String = row.iter().map(|cell| data(cell)).collect();
        writeln!(out, "<tr>{cells}")?;
    }
    writeln!(out, "</table></div>")
}

/// A cell; figures stand to the right.
fn data(cell: &str) -> String {
    let figure = cell.starts_with(|c: char| c.is_ascii_digit())
        && cell.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',');
    format!("<td{}>{}", if figure { " class=\"n\"" } else { "" }, escape(cell))
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}

fn streams(s: &Summary) -> Section {
    let row = |(index, s): (usize, &Stream)| {
        let o = s.owners;
        let to = s.destination.clone().unwrap_or_default();
        let mut row = vec![index.to_string(), format!("{}/{}", s.protocol, s.kind), s.stream_id.to_string()];
        row.extend([
            format!("{} \u{2192} {to}", s.source),
            s.datagrams.to_string(),
            s.sequence.lost.to_string(),
        ]);
        row.extend([o.sender, o.wire, o.observer, o.unknown, s.sequence.duplicates].map(|n| n.to_string()));
        row.push(milliseconds(s.interval_ns.p99));
        row
    };
    let columns = [
        "",
        "stream",
        "id",
        "way",
        "datagrams",
        "lost",
        "by sender",
        "by wire",
        "by observer",
        "unknown",
        "duplicates",
        "interval p99 ms",
    ];
    Section {
        heading: "Streams".to_owned(),
        text: String::new(),
        columns: names(&columns),
        rows: s.streams.iter().enumerate().map(row).collect(),
    }
}

fn findings(s: &Summary) -> Section {
    let digits = s.stamp_digits();
    let row = |f: &&Finding| {
        let stream = f.stream.map_or_else(String::new, |at| at.to_string());
        vec![
            f.id.clone(),
            f.severity.clone(),
            f.code.clone(),
            stream,
            f.count.to_string(),
            rfc3339(f.first_ns, digits),
            f.text.clone(),
        ]
    };
    Section {
        heading: "Findings".to_owned(),
        text: String::new(),
        columns: names(&["", "severity", "code", "stream", "count", "first", "what"]),
        rows: s.worst_first().iter().map(row).collect(),
    }
}

fn downloads(s: &Summary) -> Section {
    let row = |d: &crate::Drain| {
        let took = d.ended_ns.saturating_sub(d.started_ns);
        let ring = match &d.ring {
            Some(crate::DrainedRing::Ok { frames, .. }) => format!("verified, {frames} frames"),
            Some(crate::DrainedRing::Refused { code }) => format!("refused: {code}"),
            None => d.error.clone().unwrap_or_default(),
        };
        let took = milliseconds(u64::try_from(took).unwrap_or(0));
        vec![d.number.to_string(), d.bytes.to_string(), took, ring, d.file.clone()]
    };
    Section {
        heading: "Downloads of the device's record".to_owned(),
        text: String::new(),
        columns: names(&["", "octets", "ms", "ring", "file"]),
        rows: s.drains.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::summary;

    #[test]
    fn the_page_is_whole_and_no_text_of_the_wire_gets_out_of_its_cell() {
        let mut s = summary();
        s.streams[0].source = "<script>alert('1')</script>".to_owned();
        s.findings[0].text = "a < b & \"c\" \u{1b}[31m\u{202e}".to_owned();
        let section = Section {
            heading: "<b>".to_owned(),
            text: "x & y".to_owned(),
            columns: vec!["<i>".to_owned()],
            rows: vec![vec!["\"><img src=x onerror=1>".to_owned()]],
        };
        let mut out = Vec::new();
        write("a <title>", &s, &[section], &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        for forbidden in ["<script", "<img", "<b>", "<i>", "a <title>", "\u{1b}", "\u{202e}", "http"] {
            assert!(!page.contains(forbidden), "{forbidden:?}");
        }
        assert!(
            page.contains("&lt;script&gt;alert(&#39;1&#39;)")
                && page.contains("a &lt; b &amp; &quot;c&quot;")
        );
    }
}
