//! The timeline as a Chrome trace (JSON object format of the Trace Event Format): one event a line, so that tools can
//! cut and count lines; times in µs with three decimals from the first event on, because a double of µs loses
//! nanoseconds past 104 days. `otherData.base_ns` holds what has to be added.

use super::lanes::{Lanes, Visit};
use super::perfetto::lane_name;
use super::sink::Sink;
use super::timeline::{Event, Label, Name, Shape, Timeline, Track, Written};
use crate::layout::NO_FRAME;
use std::io::{self, Write};

/// Writes the trace; events have to be sorted ([`Timeline::sort`]).
///
/// # Errors
/// What the writer says.
pub fn write(timeline: &Timeline, out: &mut dyn Write) -> io::Result<Written> {
    let base = timeline.range().map_or(0, |(start, _)| start);
    let mut sink = Sink::new(out);
    head(sink.octets(), timeline, base);
    let names = timeline.names().iter().map(|name| quoted(name)).collect();
    let mut json = Json { sink, names, base, written: Written::default(), first: true };
    for (index, group) in timeline.groups.iter().enumerate() {
        json.meta("process_name", index + 1, 0, "name", &quoted(&group.name));
        json.meta("process_sort_index", index + 1, 0, "sort_index", (index + 1).to_string().as_bytes());
    }
    for track in &timeline.tracks {
        json.track(track);
    }
    json.sink.octets().extend_from_slice(b"\n]}\n");
    json.sink.finish()?;
    Ok(json.written)
}

fn head(out: &mut Vec<u8>, timeline: &Timeline, base: u64) {
    out.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"base_ns\":\"");
    number(out, base);
    out.push(b'"');
    for (key, text) in &timeline.about {
        out.push(b',');
        out.extend_from_slice(&quoted(key));
        out.push(b':');
        out.extend_from_slice(&quoted(text));
    }
    out.extend_from_slice(b"},\"traceEvents\":[\n");
}

/// Events under way.
struct Json<'a> {
    sink: Sink<'a>,
    /// Names as JSON strings.
    names: Vec<Vec<u8>>,
    base: u64,
    written: Written,
    first: bool,
}

impl Json<'_> {
    /// Begins the line of an event.
    #[inline]
    fn line(&mut self) -> &mut Vec<u8> {
        let out = self.sink.octets();
        if self.first {
            self.first = false;
        } else {
            out.extend_from_slice(b",\n");
        }
        out
    }

    fn meta(&mut self, what: &str, pid: usize, tid: u64, key: &str, value: &[u8]) {
        let out = self.line();
        out.extend_from_slice(
            format!("{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"{key}\":")
                .as_bytes(),
        );
        out.extend_from_slice(value);
        out.extend_from_slice(b"}}");
    }

    fn track(&mut self, track: &Track) {
        let mut rows = Rows { json: self, track, lanes: Vec::new() };
        match track.shape {
            Shape::Spans => Lanes::default().run(&track.events, &mut rows),
            Shape::Instants => {
                track.events.iter().for_each(|event| rows.instant(event, event.label, event.value))
            }
            Shape::Counter => track.events.iter().for_each(|event| rows.sample(event)),
        }
    }
}

/// Beginnings of lines that a lane keeps; a name whose place is taken is put together again.
const KEPT: usize = 64;

/// The beginnings of a lane's lines.
struct Lane {
    span: Vec<u8>,
    instant: Vec<u8>,
    /// Whole beginnings of spans up to the stamp, by the last bits of the name's key.
    kept: Vec<(Name, Vec<u8>)>,
}

impl Lane {
    /// The line of a span up to its stamp.
    #[inline]
    fn beginning(&mut self, name: Name, names: &[Vec<u8>]) -> &[u8] {
        let place = name.index() % KEPT;
        if self.kept.get(place).is_none_or(|(kept, octets)| *kept != name || octets.is_empty()) {
            self.keep(place, name, names);
        }
        self.kept.get(place).map_or(&[], |(_, octets)| octets)
    }

    #[cold]
    fn keep(&mut self, place: usize, name: Name, names: &[Vec<u8>]) {
        self.kept.resize(KEPT, (Name::NONE, Vec::new()));
        if let Some((kept, octets)) = self.kept.get_mut(place) {
            *kept = name;
            octets.clone_from(&self.span);
            octets.extend_from_slice(names.get(name.index()).map_or(&[], Vec::as_slice));
            octets.extend_from_slice(b",\"ts\":");
        }
    }
}

/// The lanes of one track.
struct Rows<'t, 'a> {
    json: &'t mut Json<'a>,
    track: &'t Track,
    lanes: Vec<Lane>,
}

impl Rows<'_, '_> {
    /// Makes sure that the lane has its beginnings and its name.
    #[inline]
    fn describe(&mut self, lane: usize) {
        if lane == self.lanes.len() {
            self.open(lane);
        }
    }

    #[cold]
    fn open(&mut self, lane: usize) {
        self.json.written.lanes += 1;
        let (pid, tid) = (self.track.group + 1, self.json.written.lanes);
        let name = quoted(&lane_name(&self.track.name, lane));
        self.json.meta("thread_name", pid, tid, "name", &name);
        self.json.meta("thread_sort_index", pid, tid, "sort_index", tid.to_string().as_bytes());
        let category = self.json.names.get(self.track.category.index()).cloned().unwrap_or_default();
        let begin = |phase: &str| {
            let mut octets = format!("{{\"ph\":{phase},\"pid\":{pid},\"tid\":{tid},\"cat\":").into_bytes();
            octets.extend_from_slice(&category);
            octets.extend_from_slice(b",\"name\":");
            octets
        };
        let (span, instant) = (begin("\"X\""), begin("\"i\",\"s\":\"t\""));
        self.lanes.push(Lane { span, instant, kept: Vec::new() });
    }

    fn instant(&mut self, event: &Event, label: Label, value: u64) {
        self.json.written.instants += 1;
        self.describe(0);
        self.json.line();
        let (out, names) = (self.json.sink.octets(), &self.json.names);
        out.extend_from_slice(self.lanes.first().map_or(&[], |lane| &lane.instant));
        out.extend_from_slice(names.get(event.name.index()).map_or(&[], Vec::as_slice));
        out.extend_from_slice(b",\"ts\":");
        micros(out, event.start_ns - self.json.base);
        arguments(out, event, label, value, names);
    }

    fn sample(&mut self, event: &Event) {
        self.json.written.samples += 1;
        let (pid, name) = (self.track.group + 1, quoted(&self.track.name));
        let base = self.json.base;
        let out = self.json.line();
        out.extend_from_slice(format!("{{\"ph\":\"C\",\"pid\":{pid},\"name\":").as_bytes());
        out.extend_from_slice(&name);
        out.extend_from_slice(b",\"ts\":");
        micros(out, event.start_ns - base);
        out.extend_from_slice(b",\"args\":{\"value\":");
        number(out, event.value);
        out.extend_from_slice(b"}}");
    }
}

impl Visit for Rows<'_, '_> {
    #[inline]
    fn begin(&mut self, lane: usize, event: &Event) {
        self.json.written.spans += 1;
        self.describe(lane);
        self.json.line();
        let (out, names) = (self.json.sink.octets(), &self.json.names);
        out.reserve(256);
        let lane = self.lanes.get_mut(lane);
        out.extend_from_slice(lane.map_or(&[], |lane| lane.beginning(event.name, names)));
        micros(out, event.start_ns - self.json.base);
        out.extend_from_slice(b",\"dur\":");
        micros(out, event.end_ns - event.start_ns);
        arguments(out, event, event.label, event.value, names);
    }

    fn end(&mut self, _: usize, _: u64) {}

    fn beyond(&mut self, event: &Event) {
        self.json.written.beyond_lanes += 1;
        self.instant(event, Label::DurationNs, event.end_ns - event.start_ns);
    }
}

/// The arguments, and the end of the line.
#[inline]
fn arguments(out: &mut Vec<u8>, event: &Event, label: Label, value: u64, names: &[Vec<u8>]) {
    let framed = event.frame != NO_FRAME;
    if framed {
        out.extend_from_slice(b",\"args\":{\"frame\":");
        number(out, event.frame.into());
    }
    if label != Label::None {
        out.extend_from_slice(if framed { b",\"" } else { b",\"args\":{\"" });
        out.extend_from_slice(label.name().as_bytes());
        out.extend_from_slice(b"\":");
        number(out, value);
    }
    let open = framed || label != Label::None;
    if event.note != Name::NONE {
        out.extend_from_slice(if open { b",\"note\":" } else { b",\"args\":{\"note\":" });
        out.extend_from_slice(names.get(event.note.index()).map_or(b"\"\"", Vec::as_slice));
    }
    out.extend_from_slice(if open || event.note != Name::NONE { b"}}" } else { b"}" });
}

#[inline]
fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Nanoseconds as µs with three decimals.
#[inline]
fn micros(out: &mut Vec<u8>, ns: u64) {
    number(out, ns / 1000);
    let rest = (ns % 1000) as u16;
    let digit = |value: u16| b'0' + value as u8;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10 % 10), digit(rest % 10)]);
}

/// A text as a JSON string (RFC 8259, section 7).
fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
            c if (c as u32) < 0x20 => out.extend_from_slice(format!("\\u{:04x}", c as u32).as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_micros_with_three_decimals() {
        let text = |ns| {
            let mut out = Vec::new();
            micros(&mut out, ns);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            [text(0), text(7), text(1_020), text(u64::MAX)],
            ["0.000", "0.007", "1.020", "18446744073709551.615"]
        );
    }

    #[test]
    fn any_text_is_a_json_string() {
        for text in ["", "wire_send", "a\"b\\c", "\u{0}\n\u{1f}", "Bühne \u{1F3AD}"] {
            assert_eq!(serde_json::from_slice::<String>(&quoted(text)).unwrap(), text);
        }
    }
}
