//! What another controller's documents say, in the words of a plan: pure, by its profile.

use super::{Told, word};
use serde_json::Value;
use std::collections::BTreeMap;
use wireproof_matrices::plan::profile::{ClockMap, Source, Unit, up_since};
use wireproof_matrices::plan::{Profile, Word};
use wireproof_matrices::runner::io::Status;
use wireproof_recorder::offset::Exchange;

/// Longest word that is kept of a status, characters.
const KEPT: usize = 200;

/// The documents of a device by path.
pub(super) type Documents = BTreeMap<String, Value>;

/// What the runner wants to know of a status, by the profile; `now_ns` is the bench's.
pub(super) fn told(
    documents: &Documents,
    profile: &Profile,
    require: &BTreeMap<String, Word>,
    now_ns: i64,
) -> Told {
    let map = &profile.status;
    let at = |source: &Option<Source>| source.as_ref().and_then(|source| found(documents, source));
    let text = |source: &Option<Source>| at(source).and_then(word).map(|word| shown(&word));
    let scaled = |source: &Option<Source>| number(at(source)?, source.as_ref()?.unit);
    let since = || {
        let unit_ns = map.uptime.as_ref()?.unit.map_or(1, Unit::scale);
        Some(up_since(now_ns, scaled(&map.uptime)?, unit_ns))
    };
    let values = require.keys().filter_map(|key| Some((key.clone(), value(documents, profile, key)?)));
    Told {
        status: Status {
            values: values.collect(),
            build: text(&map.build).unwrap_or_default(),
            boot: text(&map.boot).or_else(since).unwrap_or_default(),
            generation: scaled(&map.generation).unwrap_or(0),
            throttled: scaled(&map.throttled),
            fps_mhz: scaled(&map.fps),
        },
        cpu_ns: scaled(&map.cpu),
    }
}

/// What `require` names: a value of the profile, the build, or a JSON pointer into the status document.
fn value(documents: &Documents, profile: &Profile, key: &str) -> Option<Word> {
    let map = &profile.status;
    let source = map.values.get(key).or(map.build.as_ref().filter(|_| key == "build"));
    let Some(source) = source else {
        return documents.get(&map.path)?.pointer(key).and_then(word);
    };
    let read = word(found(documents, source)?)?;
    Some(source.map.get(&shown(&read)).cloned().unwrap_or(read))
}

fn found<'a>(documents: &'a Documents, source: &Source) -> Option<&'a Value> {
    documents.get(&source.path)?.pointer(&source.pointer)
}

fn shown(word: &Word) -> String {
    match word {
        Word::Truth(truth) => truth.to_string(),
        Word::Integer(number) => number.to_string(),
        Word::Text(text) => text.chars().take(KEPT).collect(),
    }
}

/// A number in ns, or in frames in a thousand seconds; texts of digits are numbers too. `None` below zero and above 64
/// bits.
pub(super) fn number(value: &Value, unit: Option<Unit>) -> Option<u64> {
    let scale = unit.map_or(1, Unit::scale);
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text.trim()).ok());
    let value = parsed.as_ref().unwrap_or(value);
    if let Some(whole) = value.as_u64() {
        return whole.checked_mul(scale);
    }
    let scaled = value.as_f64()? * scale as f64;
    // Beyond 2^63 a double has lost the digits that matter.
    (0.0..9.2e18).contains(&scaled).then(|| scaled.round() as u64)
}

/// What one question shows of the device's clock; `None` when its answer carries no time of it.
pub(super) fn exchange(
    clock: &ClockMap,
    (asked_ns, answered_ns): (i64, i64),
    header: &dyn Fn(&str) -> Option<i64>,
    document: &dyn Fn() -> Option<Value>,
) -> Option<Exchange> {
    let (received, sent, unit) = match clock {
        ClockMap::None => return None,
        ClockMap::Headers { received, sent, unit } => (header(received)?, header(sent)?, unit.scale()),
        ClockMap::Value { source } => {
            let unit = source.unit.map_or(1, Unit::scale);
            let ns = number(document()?.pointer(&source.pointer)?, source.unit)?;
            let ns = i64::try_from(ns).ok()?;
            return Some(coarse(Exchange { asked_ns, received_ns: ns, sent_ns: ns, answered_ns }, unit));
        }
    };
    let scaled = |count: i64| count.checked_mul(i64::try_from(unit).ok()?);
    let exchange = Exchange { asked_ns, received_ns: scaled(received)?, sent_ns: scaled(sent)?, answered_ns };
    Some(coarse(exchange, unit))
}

/// A clock that is read in large steps was up to a step further on than it says: as if it had been asked so much earlier.
fn coarse(exchange: Exchange, unit_ns: u64) -> Exchange {
    let step = i64::try_from(unit_ns).unwrap_or(i64::MAX).saturating_sub(1);
    Exchange { asked_ns: exchange.asked_ns.saturating_sub(step), ..exchange }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wireproof_matrices::plan::profile::Builtin;
    use wireproof_recorder::offset::estimate;

    fn profile(name: &str) -> Profile {
        Profile::read(Builtin::find(name).unwrap().text, 60).unwrap()
    }

    /// An answer of WLED's `/json/si`, written by us from its documentation.
    fn wled() -> Documents {
        let state =
            json!({ "on": true, "bri": 128, "lor": 0, "ps": -1, "udpn": { "send": false, "recv": true } });
        let info = json!({
            "ver": "0.15.0", "vid": 2_412_100, "live": false, "uptime": 4_711, "arch": "esp32",
            "leds": { "count": 300, "fps": 42, "pwr": 0 },
        });
        BTreeMap::from([("/json/si".to_owned(), json!({ "state": state, "info": info }))])
    }

    #[test]
    fn a_wled_tells_its_version_its_rate_and_when_it_was_started() {
        let require = ["build", "leds", "live", "preset", "absent", "/info/arch"]
            .map(|key| (key.to_owned(), Word::Integer(0)));
        let now_ns = 1_700_000_000_000_000_000;
        let told = told(&wled(), &profile("wled"), &require.into(), now_ns);
        let values = [
            ("/info/arch".to_owned(), Word::Text("esp32".to_owned())),
            ("build".to_owned(), Word::Text("0.15.0".to_owned())),
            ("leds".to_owned(), Word::Integer(300)),
            ("live".to_owned(), Word::Truth(false)),
            ("preset".to_owned(), Word::Integer(-1)),
        ];
        assert_eq!(told.status.values, values.into());
        assert_eq!(told.status.build, "0.15.0");
        assert_eq!(told.status.boot, "up-since:1699995289:3");
        assert_eq!((told.status.fps_mhz, told.status.generation), (Some(42_000), 0));
        assert_eq!((told.cpu_ns, told.status.throttled), (None, None));
    }

    #[test]
    fn a_field_device_tells_everything_in_its_own_words_and_units() {
        let status = json!({
            "engine": { "build": "ad2", "boot": 7, "uptime_s": 9, "cpu_ms": 1_500.25, "render_fps": 59.94,
                        "poles": 3, "active_poles": 2, "monotonic_us": 5 },
            "recorder": { "generation": 12, "enabled": true, "position": 99 },
            "host": { "throttled": 5 },
        });
        let documents = BTreeMap::from([("/v1/status".to_owned(), status)]);
        let require = ["devices", "profiler"].map(|key| (key.to_owned(), Word::Integer(0)));
        let told = told(&documents, &profile("field"), &require.into(), 0);
        let values =
            [("devices".to_owned(), Word::Integer(3)), ("profiler".to_owned(), Word::Text("on".to_owned()))];
        assert_eq!(told.status.values, values.into());
        assert_eq!((told.status.boot.as_str(), told.status.generation), ("7", 12), "a word beats a time");
        assert_eq!((told.status.throttled, told.status.fps_mhz), (Some(5), Some(59_940)));
        assert_eq!(told.cpu_ns, Some(1_500_250_000));
    }

    #[test]
    fn what_is_not_there_or_no_number_is_not_told() {
        let empty =
            BTreeMap::from([("/json/si".to_owned(), json!({ "info": { "uptime": "soon", "ver": [] } }))]);
        let told = told(&empty, &profile("wled"), &BTreeMap::new(), 0);
        assert_eq!(told, Told::default());
        for (value, unit, ns) in [
            (json!("12"), Some(Unit::Ms), Some(12_000_000)),
            (json!(" 0.5 "), Some(Unit::S), Some(500_000_000)),
            (json!(-1), Some(Unit::S), None),
            (json!(u64::MAX), Some(Unit::S), None),
            (json!(1e300), None, None),
            (json!("NaN"), None, None),
            (json!(true), None, None),
        ] {
            assert_eq!(number(&value, unit), ns, "{value}");
        }
    }

    #[test]
    fn a_clock_in_coarse_steps_never_contradicts_itself() {
        let clock = &profile("field").clock;
        // Device 1 s ahead, read in whole us, answers within 300 ns.
        let exchanges: Vec<Exchange> = (0..40_i64)
            .map(|n| {
                let asked = n * 1_370;
                let us = (1_000_000_000 + asked + 150) / 1_000;
                let document = || Some(json!({ "engine": { "monotonic_us": us } }));
                exchange(clock, (asked, asked + 300), &|_| None, &document).unwrap()
            })
            .collect();
        let offset = estimate(&exchanges, 1_000).unwrap();
        let off = (offset.offset_ns - 1_000_000_000).unsigned_abs();
        assert!(off <= offset.uncertainty_ns && offset.uncertainty_ns <= 1_300, "{offset:?}");
        assert_eq!(exchange(clock, (0, 1), &|_| None, &|| Some(json!({}))), None);
        assert_eq!(exchange(&ClockMap::None, (0, 1), &|_| Some(1), &|| None), None);
    }

    #[test]
    fn headers_are_read_by_their_names() {
        let (received, sent) = ("x-in".to_owned(), "x-out".to_owned());
        let clock = ClockMap::Headers { received, sent, unit: Unit::Us };
        let header =
            |name: &str| [("x-in", 5), ("x-out", 7)].iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let found = exchange(&clock, (10_000, 20_000), &header, &|| None).unwrap();
        assert_eq!((found.received_ns, found.sent_ns, found.asked_ns), (5_000, 7_000, 9_001));
    }
}
