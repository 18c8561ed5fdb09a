//! Questions to a summary, and what a live run and its capture file must agree in.

use super::Truth;
use super::process::Finished;
use serde_json::Value;

/// Owners of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    pub(crate) wire: u64,
    pub(crate) observer: u64,
    pub(crate) unknown: u64,
}

impl Finished {
    /// A stream by its name, such as `sacn/1`.
    pub(crate) fn stream(&self, name: &str) -> &Value {
        let all = self.summary["streams"].as_array().into_iter().flatten();
        let found: Vec<&Value> = all.filter(|s| named(s) == name).collect();
        assert_eq!(found.len(), 1, "streams named {name}\n{self}");
        found[0]
    }

    /// A number in a stream, such as `/sequence/lost`.
    pub(crate) fn number(&self, stream: &str, place: &str) -> u64 {
        self.stream(stream)
            .pointer(place)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("{place}\n{self}"))
    }

    /// The sum of a number over all streams.
    pub(crate) fn sum(&self, place: &str) -> u64 {
        let all = self.summary["streams"].as_array().into_iter().flatten();
        all.map(|s| s.pointer(place).and_then(Value::as_u64).unwrap_or_else(|| panic!("{place}\n{self}")))
            .sum()
    }

    /// Owners of all losses.
    pub(crate) fn owners(&self) -> Owners {
        Owners {
            wire: self.sum("/owners/wire"),
            observer: self.sum("/owners/observer"),
            unknown: self.sum("/owners/unknown"),
        }
    }

    /// Datagrams the observer lost.
    pub(crate) fn observer_lost(&self) -> u64 {
        self.summary["observer"]["lost"].as_u64().unwrap_or_else(|| panic!("no observer\n{self}"))
    }

    /// Findings with this code.
    pub(crate) fn found(&self, code: &str) -> Vec<&Value> {
        let all = self.summary["findings"].as_array().into_iter().flatten();
        all.filter(|f| f["code"] == code).collect()
    }

    /// Codes of the findings of a severity, each once.
    pub(crate) fn codes(&self, severity: &str) -> Vec<&str> {
        let all = self.summary["findings"].as_array().into_iter().flatten();
        let mut codes: Vec<&str> =
            all.filter(|f| f["severity"] == severity).filter_map(|f| f["code"].as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Every stream has what was sent and lost what was left out, and the frames that lack something are the frames
    /// that something was left out of.
    #[track_caller]
    pub(crate) fn agrees_with(&self, truth: &Truth) {
        assert_eq!(self.summary["streams"].as_array().map(Vec::len), Some(truth.streams().len()), "{self}");
        for name in &truth.streams() {
            let missing = truth.missing(name);
            let per_frame = truth.per_frame(name);
            assert_eq!(self.number(name, "/datagrams"), truth.sent(name), "{name}\n{self}");
            assert_eq!(self.number(name, "/bytes"), truth.octets(name), "{name}\n{self}");
            assert_eq!(
                self.number(name, "/sequence/lost"),
                missing.len() as u64,
                "{name} {missing:?}\n{self}"
            );
            assert_eq!(self.number(name, "/sequence/lost_min"), missing.len() as u64, "{name}\n{self}");
            // Where nothing marks the end of a frame, frames of a sender that was held up run into each other.
            if per_frame > 1 || truth.was_in_time() {
                self.frames_agree(name, truth);
            }
        }
    }

    #[track_caller]
    fn frames_agree(&self, name: &str, truth: &Truth) {
        let (missing, per_frame) = (truth.missing(name), truth.per_frame(name));
        let mut holes: Vec<u64> = missing.iter().map(|n| n / per_frame).collect();
        holes.dedup();
        let holes = holes.len() as u64;
        let is_last = |n: &&u64| *n % per_frame == per_frame - 1;
        let endless = if per_frame > 1 { missing.iter().filter(is_last).count() as u64 } else { 0 };
        let [seen, complete, torn, unterminated] = ["seen", "complete", "torn", "unterminated"]
            .map(|key| self.number(name, &format!("/frames/{key}")));
        if per_frame == 1 {
            // Universes of one frame are grouped by time: around a hole or a late sender one or two frames can be
            // taken for an edge of the run or for part of a neighbour.
            assert!((truth.frames() - 2..=truth.frames()).contains(&seen), "{name}\n{self}");
            assert_eq!(complete + torn + unterminated, seen, "{name}\n{self}");
            assert!(torn <= holes && unterminated == 0, "{name} {missing:?}\n{self}");
            return;
        }
        assert_eq!(seen, truth.frames(), "{name}\n{self}");
        assert_eq!(complete, truth.frames() - holes, "{name} {missing:?}\n{self}");
        // A frame that lacks its end and more is torn; which of the two it is called is not asked here.
        assert_eq!(torn + unterminated, holes, "{name} {missing:?}\n{self}");
        assert!(unterminated <= endless, "{name} {missing:?}\n{self}");
    }

    /// The capture file says the same in everything that it can show.
    #[track_caller]
    pub(crate) fn equals(&self, file: &Finished) {
        let (a, b) = (comparable(&self.summary), comparable(&file.summary));
        for (key, live) in a.as_object().unwrap() {
            let (Some(live), Some(file_has)) = (live.as_array(), b[key].as_array()) else {
                assert_eq!(*live, b[key], "{key}\nlive: {self}\nfile: {file}");
                continue;
            };
            for (x, y) in live.iter().zip(file_has) {
                assert_eq!(x, y, "{key}\nlive: {self}\nfile: {file}");
            }
            assert_eq!(live.len(), file_has.len(), "{key}\nlive: {self}\nfile: {file}");
        }
    }
}

fn named(stream: &Value) -> String {
    format!("{}/{}", stream["protocol"].as_str().unwrap_or_default(), stream["stream_id"])
}

/// What live run and capture file can both see. Ids and totals of findings count findings that only one of them has, and
/// a checksum that the sending interface was to fill in is known as such only live.
fn comparable(summary: &Value) -> Value {
    let mut all = summary.clone();
    let map = all.as_object_mut().unwrap();
    for key in ["source", "observer", "reason", "verdict", "drains"] {
        map.remove(key);
    }
    map["datagrams"].as_object_mut().unwrap().remove("bad_checksum");
    map["totals"].as_object_mut().unwrap().remove("findings");
    let findings = map["findings"].as_array_mut().unwrap();
    findings.retain(|f| !["OBS-", "CAP-"].iter().any(|head| f["code"].as_str().unwrap().starts_with(head)));
    for f in findings {
        f.as_object_mut().unwrap().remove("id");
    }
    all
}

/// Link types of the interfaces that a pcapng file describes.
pub(crate) fn link_types(file: &[u8]) -> Vec<u16> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        if word(at) == 1 {
            found.push(word(at + 8) as u16);
        }
        at += word(at + 4) as usize;
    }
    found
}
