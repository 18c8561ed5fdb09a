//! The device under test as a matrix sees it: its status, its factors, its clock, over HTTP or by programs.
//!
//! The token is read from the environment once, goes out as a header, and is in no text, record or error. A device that is
//! not of our own kind is read by the plan's profile.

#[cfg(test)]
mod asked_tests;
mod mapped;

use super::argv::{self, NotRun};
use crate::live::drain::{Answer, Ask, BadUrl, DrainUrl, FetchError, ask};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wireproof_matrices::plan::profile::{Auth, ClockMap, Source};
use wireproof_matrices::plan::{Action, Check, Plan, Profile, Toggle, Word};
use wireproof_matrices::runner::io::{ClockSample, Failure, Status};
use wireproof_recorder::offset::{DRIFT_PPM, Exchange, estimate};

/// Most octets kept of an answer.
const KEPT: usize = argv::KEPT;
/// Exchanges of a clock sample.
const EXCHANGES: usize = 12;
/// Exchanges that have to succeed.
const ENOUGH: usize = 9;
/// Longest value shown of what was read.
const SHOWN: usize = 80;

/// The device of a plan.
#[derive(Clone, Debug)]
pub struct Device {
    base: DrainUrl,
    plan: Arc<Plan>,
}

/// Why a device cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
pub enum NoDevice {
    /// The address is no URL.
    #[error("target.base_url: {0}")]
    Url(#[from] BadUrl),
    /// The token is not there.
    #[error("target.auth names the environment variable {0}, which is not set: set it to the device's token")]
    Token(String),
}

/// What a status says beyond [`Status`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// For the runner.
    pub status: Status,
    /// Processor time used so far, ns.
    pub cpu_ns: Option<u64>,
}

impl Device {
    /// Reads address and token.
    ///
    /// # Errors
    /// [`NoDevice`]
    pub fn of(plan: Arc<Plan>) -> Result<Device, NoDevice> {
        let mut base: DrainUrl = plan.target.base_url.parse()?;
        if let Some(name) = &plan.target.auth {
            let token = std::env::var(name).map_err(|_| NoDevice::Token(name.clone()))?;
            base = match plan.profile().map(|profile| &profile.auth) {
                None | Some(Auth::Bearer) => base.with_bearer(token.trim())?,
                Some(Auth::Header { name }) => base.with_header(name, token.trim())?,
                Some(Auth::None) => base,
            };
        }
        Ok(Device { base, plan })
    }

    /// A path of the device.
    pub fn url(&self, path: &str) -> DrainUrl {
        self.base.below(path)
    }

    /// Reads its status; `now_ns` is the clock of the bench by which the start of a device is told that knows only how
    /// long it has been up.
    ///
    /// # Errors
    /// It does not answer, or not with JSON.
    pub async fn status(&self, now_ns: &dyn Fn() -> i64) -> Result<Told, Failure> {
        let target = &self.plan.target;
        let Some(profile) = self.plan.profile() else {
            return Ok(told(&self.document(&target.status).await?, &target.require));
        };
        let mut documents = BTreeMap::new();
        for path in profile.status.documents() {
            documents.insert(path.to_owned(), self.document(path).await?);
        }
        Ok(mapped::told(&documents, profile, &target.require, now_ns()))
    }

    /// A document, whole.
    async fn document(&self, path: &str) -> Result<Value, Failure> {
        let answer = self.get(path, &|| 0).await?;
        self.json(&answer, path)
    }

    fn json(&self, answer: &Answer, path: &str) -> Result<Value, Failure> {
        match answer.cut {
            true => Err(self.too_long(path)),
            false => json(&answer.body, path),
        }
    }

    fn too_long(&self, path: &str) -> Failure {
        let most = self.kept();
        Failure::Refused(format!(
            "{path} answers with more than {most} octets: name a smaller document, or raise answer_limit in a profile"
        ))
    }

    /// Most octets kept of an answer.
    fn kept(&self) -> usize {
        let limit = self.plan.profile().and_then(|profile| usize::try_from(profile.answer_bytes).ok());
        limit.unwrap_or(KEPT)
    }

    /// Sets a factor, once.
    ///
    /// # Errors
    /// It does not answer, or refuses.
    pub async fn set(&self, factor: &str, level: &str, limit: Duration) -> Result<(), Failure> {
        let toggle = self.toggle(factor)?;
        let put = Put { level: Some(level), lease_ns: toggle.lease_ns };
        self.act(&toggle.set, put, limit).await.map(drop)
    }

    /// Reads what a factor stands at, by its verify path.
    ///
    /// # Errors
    /// It does not answer, or there is nothing where the pointer points.
    pub async fn level(&self, factor: &str, limit: Duration) -> Result<(Option<String>, Word), Failure> {
        let check = &self.toggle(factor)?.verify;
        let said = self.act(&check.read, Put::default(), limit).await?;
        let value = value(&said, check)?;
        let level = check.equals.iter().find(|(_, expected)| shows(&value, expected, &check.pointer));
        Ok((level.map(|(level, _)| level.clone()), value))
    }

    /// Reads the counter of a factor's effect.
    ///
    /// # Errors
    /// It does not answer, or there is no number.
    pub async fn counter(&self, factor: &str) -> Result<u64, Failure> {
        let effect = self.toggle(factor)?.effect.as_ref();
        self.counter_at(effect.map(|effect| effect.counter.as_str()).unwrap_or_default()).await
    }

    /// A counter by its name in the profile, or by its JSON pointer in the status.
    async fn counter_at(&self, pointer: &str) -> Result<u64, Failure> {
        let counters = self.plan.profile().map(|profile| &profile.status.counters);
        let (path, pointer) =
            match counters.and_then(|counters| counters.get(pointer.trim_start_matches('/'))) {
                Some(Source { path, pointer, .. }) => (path.as_str(), pointer.as_str()),
                None => (self.plan.target.status.as_str(), pointer),
            };
        let json = self.document(path).await?;
        let found = json.pointer(pointer).and_then(|value| mapped::number(value, None));
        found.ok_or_else(|| Failure::Refused(format!("{path} has no number at {pointer}")))
    }

    /// Lays the device's clock against the bench's `clock` by short requests.
    ///
    /// # Errors
    /// Too few answers, none with the device's times, or a clock that was set meanwhile.
    pub async fn clock(&self, clock: &dyn Fn() -> i64) -> Result<ClockSample, Failure> {
        let (mut exchanges, mut last) = (Vec::new(), None);
        for _ in 0..EXCHANGES {
            match self.get(self.clock_path(), clock).await {
                Ok(answer) => exchanges.extend(self.exchange(&answer)),
                Err(failure) => last = Some(failure),
            }
        }
        if exchanges.len() < ENOUGH {
            let few = || Failure::Refused("the answers of the device carry no times of its clock".to_owned());
            return Err(last.unwrap_or_else(few));
        }
        let offset = estimate(&exchanges, DRIFT_PPM).map_err(|e| Failure::Refused(e.to_string()))?;
        Ok(ClockSample { offset_ns: offset.offset_ns, error_ns: offset.uncertainty_ns })
    }

    /// Where the clock is asked for.
    fn clock_path(&self) -> &str {
        match self.plan.profile().map(|profile| &profile.clock) {
            Some(ClockMap::Value { source }) => &source.path,
            _ => &self.plan.target.status,
        }
    }

    /// What an answer shows of the device's clock.
    fn exchange(&self, answer: &Answer) -> Option<Exchange> {
        let Some(Profile { clock, .. }) = self.plan.profile() else { return answer.exchange };
        let document = || self.json(answer, self.clock_path()).ok();
        mapped::exchange(clock, answer.span_ns, &|name| answer.number(name), &document)
    }

    fn toggle(&self, factor: &str) -> Result<&Toggle, Failure> {
        let found = self.plan.toggle.iter().find(|toggle| toggle.factor == factor);
        found.ok_or_else(|| Failure::Refused(format!("the plan has no toggle for {factor}")))
    }

    async fn get(&self, path: &str, clock: &dyn Fn() -> i64) -> Result<Answer, Failure> {
        let url = self.url(path);
        let what = Ask { url: &url, method: "GET", body: None, limit: self.kept() };
        checked(ask(&what, clock).await, "GET", path)
    }

    /// Does an action and returns what came back.
    async fn act(&self, action: &Action, put: Put<'_>, limit: Duration) -> Result<Vec<u8>, Failure> {
        let fill = |text: &str| filled(text, action, put);
        if let Some(method) = &action.http {
            let path = fill(action.path.as_deref().unwrap_or("/"));
            let url = self.url(&path);
            let body = action.body.as_deref().map(fill);
            let what = Ask { url: &url, method, body: body.as_deref(), limit: self.kept() };
            let answer =
                tokio::time::timeout(limit, ask(&what, &|| 0)).await.map_err(|_| Failure::TimedOut)?;
            let answer = checked(answer, method, &path)?;
            // What a switch answers is not read; what shows its level is, and whole.
            return match answer.cut && put.level.is_none() {
                true => Err(self.too_long(&path)),
                false => Ok(answer.body),
            };
        }
        let mut argv: Vec<String> = action.argv.iter().flatten().map(|part| fill(part)).collect();
        if action.shell {
            argv = vec!["sh".to_owned(), "-c".to_owned(), argv.join(" ")];
        }
        program(argv, limit).await
    }
}

/// Runs a program beside the runtime; given up when the asking is.
async fn program(argv: Vec<String>, limit: Duration) -> Result<Vec<u8>, Failure> {
    let give_up = Arc::new(AtomicBool::new(false));
    let _guard = GiveUp(Arc::clone(&give_up));
    let ran = tokio::task::spawn_blocking(move || argv::run(&argv, limit, &give_up)).await;
    match ran {
        Ok(Ok(ran)) => Ok(ran.output),
        Ok(Err(NotRun::TimedOut(_))) => Err(Failure::TimedOut),
        Ok(Err(NotRun::GivenUp(_))) | Err(_) => Err(Failure::Aborted),
        Ok(Err(error)) => Err(Failure::Refused(error.to_string())),
    }
}

/// Set when it is dropped.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// An answer of 200 to 299, or why not; 503 is worth another try.
fn checked(answer: Result<Answer, FetchError>, method: &str, path: &str) -> Result<Answer, Failure> {
    let answer = answer.map_err(|error| Failure::Unreachable(error.to_string()))?;
    if answer.is_success() {
        return Ok(answer);
    }
    let text = format!("{method} {path} was answered with status {}", answer.status);
    Err(if answer.status == 503 { Failure::Unreachable(text) } else { Failure::Refused(text) })
}

fn json(body: &[u8], path: &str) -> Result<Value, Failure> {
    serde_json::from_slice(body)
        .map_err(|e| Failure::Refused(format!("{path} did not answer with JSON: {e}")))
}

/// What is put into the texts of an action.
#[derive(Clone, Copy, Debug, Default)]
struct Put<'a> {
    level: Option<&'a str>,
    lease_ns: Option<u64>,
}

/// A text of an action with level and lease in their places.
fn filled(text: &str, action: &Action, put: Put<'_>) -> String {
    let Put { level, lease_ns } = put;
    let text = match lease_ns {
        Some(ns) => text
            .replace("{lease_ms}", &(ns / 1_000_000).to_string())
            .replace("{lease_s}", &ns.div_ceil(1_000_000_000).to_string()),
        None => text.to_owned(),
    };
    let Some(level) = level else { return text };
    let word = action.words.get(level).map_or(level, String::as_str);
    text.replace("{level}", word)
}

/// What a check reads: at its pointer, or the whole answer trimmed.
fn value(said: &[u8], check: &Check) -> Result<Word, Failure> {
    if check.pointer.is_empty() {
        let text = String::from_utf8_lossy(said);
        return Ok(Word::Text(text.trim().chars().take(SHOWN).collect()));
    }
    let json = json(said, "the device")?;
    let found = json.pointer(&check.pointer).and_then(word);
    found.ok_or_else(|| Failure::Refused(format!("the answer has no plain value at {}", check.pointer)))
}

fn word(value: &Value) -> Option<Word> {
    match value {
        Value::Bool(truth) => Some(Word::Truth(*truth)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(Word::Integer(whole)),
            None => Some(Word::Text(number.to_string())),
        },
        Value::String(text) => Some(Word::Text(text.clone())),
        _ => None,
    }
}

/// A value shows a level. A whole answer is text, whatever the plan compares it with.
fn shows(value: &Word, expected: &Word, pointer: &str) -> bool {
    let text = |word: &Word| match word {
        Word::Truth(truth) => truth.to_string(),
        Word::Integer(number) => number.to_string(),
        Word::Text(text) => text.clone(),
    };
    value == expected || pointer.is_empty() && text(value) == text(expected)
}

/// What the runner wants to know of a status. Names of boot and generation differ between devices; the first that is
/// there counts.
fn told(json: &Value, require: &BTreeMap<String, Word>) -> Told {
    let at = |name: &str| if name.starts_with('/') { json.pointer(name) } else { json.get(name) };
    let values = require.keys().filter_map(|key| Some((key.clone(), word(at(key)?)?)));
    let boot = ["boot_id", "boot", "/ring/boot_id", "/engine/boot_id", "/engine/boot"];
    let generation = ["ring_generation", "generation", "/ring/generation"];
    let number = |names: &[&str]| names.iter().find_map(|name| at(name)?.as_u64());
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Told {
        status: Status {
            values: values.collect(),
            build: at("build").and_then(text).unwrap_or_default(),
            boot: boot.iter().find_map(|name| text(at(name)?)).unwrap_or_default(),
            generation: number(&generation).unwrap_or(0),
            throttled: number(&["throttled"]),
            fps_mhz: None,
        },
        cpu_ns: number(&["cpu_ns", "process_cpu_ns", "/engine/cpu_ns"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(words: &[(&str, &str)]) -> Action {
        let words = words.iter().map(|(level, word)| ((*level).to_owned(), (*word).to_owned())).collect();
        Action { http: None, path: None, body: None, argv: None, shell: false, words }
    }

    #[test]
    fn a_level_is_put_in_as_its_word() {
        let action = action(&[("on", "1")]);
        let level = |level| Put { level: Some(level), lease_ns: None };
        assert_eq!(filled("?enabled={level}", &action, level("on")), "?enabled=1");
        assert_eq!(filled("?enabled={level}", &action, level("off")), "?enabled=off");
        assert_eq!(filled("{level}", &action, Put::default()), "{level}");
        let leased = Put { lease_ns: Some(600_000_000_000), ..level("on") };
        assert_eq!(
            filled("?enabled={level}&lease_ms={lease_ms}", &action, leased),
            "?enabled=1&lease_ms=600000"
        );
        assert_eq!(filled("lease_s={lease_s}", &action, leased), "lease_s=600");
    }

    #[test]
    fn a_value_is_compared_as_what_it_is_and_a_whole_answer_as_text() {
        let check = |pointer: &str| Check {
            read: action(&[]),
            pointer: pointer.to_owned(),
            equals: BTreeMap::from([("on".to_owned(), Word::Truth(true))]),
        };
        let read = |said: &str, pointer: &str| value(said.as_bytes(), &check(pointer));
        assert_eq!(read("{\"a\":{\"b\":true}}", "/a/b"), Ok(Word::Truth(true)));
        assert_eq!(read(" true\n", ""), Ok(Word::Text("true".to_owned())));
        assert!(read("{\"a\":[]}", "/a").is_err() && read("nonsense", "/a").is_err());
        let truth = Word::Truth(true);
        assert!(shows(&Word::Text("true".to_owned()), &truth, ""));
        assert!(!shows(&Word::Text("true".to_owned()), &truth, "/a"));
        assert!(!shows(&Word::Integer(1), &truth, "/a"));
    }

    #[test]
    fn a_status_gives_what_is_required_and_who_answers() {
        let json =
            serde_json::json!({"build": "ad2", "devices": 3, "boot_id": "b-1", "ring": {"generation": 7}});
        let require = ["build", "devices", "absent"].map(|key| (key.to_owned(), Word::Integer(0)));
        let told = told(&json, &require.into());
        let values =
            [("build".to_owned(), Word::Text("ad2".to_owned())), ("devices".to_owned(), Word::Integer(3))];
        assert_eq!(told.status.values, values.into());
        assert_eq!((told.status.boot.as_str(), told.status.generation, told.cpu_ns), ("b-1", 7, None));
    }
}
