//! The journal of a run: lines that are chained by SHA-256 from the hash of the plan, so that nothing in front of the
//! last line can be changed without being seen.
//!
//! A line is `<sha256> <canonical json>\n`; its hash is that of the hash before, a line feed and the JSON.
//! Whoever can write the whole journal can forge it whole: only a hash that was published beforehand proves order.
//! Reading and appending are functions of octets; the file is somebody else's.

mod record;

pub use record::{ArmEnd, DeviceId, JOURNAL_VERSION, Record, Step, Stored};

use crate::digest::Digest;
use crate::plan::canonical::canonical;
use serde_json::{Map, Value};

/// Longest journal that is read, octets.
pub const MAX_OCTETS: usize = 64 << 20;
/// Longest line that is read or written, octets.
pub const MAX_LINE: usize = 1 << 20;

/// A record with its number and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number, from 1.
    pub n: u64,
    /// UTC by the bench's clock, ns since 1970.
    pub at_ns: i64,
    /// What happened.
    pub record: Record,
}

/// A journal that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct JournalError {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The hash is not that of the line before and this one.
    #[error("the chain is broken, this line or one before it was changed")]
    Broken,
    /// Not `<sha256> <json>`.
    #[error("not a line of a journal")]
    Form,
    /// The JSON is not in canonical form.
    #[error("the JSON is not canonical")]
    NotCanonical,
    /// A whole line behind which something else than a line feed stands.
    #[error("the end of the line was changed")]
    End,
    /// Over [`MAX_OCTETS`] or [`MAX_LINE`].
    #[error("longer than a journal or a line may be")]
    TooLong,
    /// The number is not the one that follows.
    #[error("record {0} stands where record {1} belongs")]
    Number(u64, u64),
    /// A kind that this version does not know.
    #[error("record kind '{0}' is unknown to journal version {version}, read it with the program that wrote it", version = JOURNAL_VERSION)]
    Kind(String),
    /// Another version.
    #[error("journal version {0}, this program reads version {version}", version = JOURNAL_VERSION)]
    Version(u32),
    /// A known kind whose fields are wrong.
    #[error("{0}")]
    Fields(String),
    /// The first record is no plan, or one stands further down.
    #[error("the plan is the first record and no other")]
    PlanPlace,
    /// The plan record names another plan than the chain starts from.
    #[error("the journal belongs to plan {0}")]
    OtherPlan(Digest),
    /// A record behind `sealed`.
    #[error("a record stands behind the seal")]
    Sealed,
}

impl Problem {
    fn at(self, line: u64) -> JournalError {
        JournalError { line, problem: self }
    }
}

/// The end of a chain: what the next line is hashed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    last: Digest,
    n: u64,
}

impl Chain {
    /// Before the first record.
    pub fn new(plan: Digest) -> Chain {
        Chain { last: plan, n: 0 }
    }

    /// Records so far.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// True before the first record.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Hash of the last line.
    pub fn last(&self) -> Digest {
        self.last
    }

    /// The line of a record, and the chain behind it; the chain itself does not move before the line is written.
    ///
    /// # Errors
    /// [`Problem::TooLong`] over [`MAX_LINE`].
    pub fn line(&self, at_ns: i64, record: &Record) -> Result<(String, Chain), JournalError> {
        let n = self.n + 1;
        let fields = |e: serde_json::Error| Problem::Fields(e.to_string()).at(n);
        let mut value = serde_json::to_value(record).map_err(fields)?;
        if let Value::Object(map) = &mut value {
            map.insert("n".to_owned(), n.into());
            map.insert("at_ns".to_owned(), at_ns.into());
        }
        self.link(&value)
    }

    /// The line of any JSON.
    fn link(&self, value: &Value) -> Result<(String, Chain), JournalError> {
        let n = self.n + 1;
        let json = canonical(value).map_err(|_| Problem::NotCanonical.at(n))?;
        let next = Chain { last: hash(&self.last, &json), n };
        let line = format!("{} {json}\n", next.last);
        if line.len() > MAX_LINE { Err(Problem::TooLong.at(n)) } else { Ok((line, next)) }
    }
}

fn hash(before: &Digest, json: &str) -> Digest {
    Digest::of_parts(&[before.to_string().as_bytes(), b"\n", json.as_bytes()])
}

/// A journal that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Its records.
    pub entries: Vec<Entry>,
    /// Where the next record goes.
    pub chain: Chain,
    /// Octets of whole lines; what is behind them is a torn line.
    pub whole_octets: u64,
    /// Octets of a torn last line, which do not count.
    pub torn_octets: u64,
}

impl Journal {
    /// Reads octets that nobody vouches for. A torn last line is left out; anything else that is wrong is refused.
    ///
    /// # Errors
    /// The first line that cannot be trusted.
    pub fn read(octets: &[u8], plan: Digest) -> Result<Journal, JournalError> {
        let links = links(octets, plan)?;
        let entries: Vec<Entry> =
            links.json.iter().zip(1..).map(|(json, n)| entry(json, n)).collect::<Result<_, _>>()?;
        places(&entries, plan)?;
        let torn_octets = octets.len() as u64 - links.whole_octets;
        Ok(Journal { entries, chain: links.chain, whole_octets: links.whole_octets, torn_octets })
    }

    /// True when the last record is the seal.
    pub fn sealed(&self) -> bool {
        matches!(self.entries.last(), Some(Entry { record: Record::Sealed { .. }, .. }))
    }
}

/// Whole lines whose hashes are right.
struct Links<'a> {
    json: Vec<&'a str>,
    chain: Chain,
    whole_octets: u64,
}

fn links(octets: &[u8], plan: Digest) -> Result<Links<'_>, JournalError> {
    if octets.len() > MAX_OCTETS {
        return Err(Problem::TooLong.at(1));
    }
    let mut links = Links { json: Vec::new(), chain: Chain::new(plan), whole_octets: 0 };
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let n = links.chain.n + 1;
        let Some(body) = line.strip_suffix(b"\n") else {
            return torn(line, &links.chain).map(|()| links);
        };
        let (json, chain) = follow(body, &links.chain).map_err(|problem| problem.at(n))?;
        links.json.push(json);
        links.chain = chain;
        links.whole_octets += line.len() as u64;
    }
    Ok(links)
}

/// A write that was cut ends within its line. A whole line with another end than its line feed was changed.
fn torn(tail: &[u8], chain: &Chain) -> Result<(), JournalError> {
    match tail.split_last() {
        Some((_, body)) if follow(body, chain).is_ok() => Err(Problem::End.at(chain.n + 1)),
        _ => Ok(()),
    }
}

fn follow<'a>(body: &'a [u8], chain: &Chain) -> Result<(&'a str, Chain), Problem> {
    if body.len() >= MAX_LINE {
        return Err(Problem::TooLong);
    }
    let text = std::str::from_utf8(body).map_err(|_| Problem::Form)?;
    let (digest, json) = text.split_once(' ').ok_or(Problem::Form)?;
    let digest: Digest = digest.parse().map_err(|_| Problem::Form)?;
    if hash(&chain.last, json) != digest {
        return Err(Problem::Broken);
    }
    Ok((json, Chain { last: digest, n: chain.n + 1 }))
}

fn entry(json: &str, n: u64) -> Result<Entry, JournalError> {
    let problem = |problem: Problem| problem.at(n);
    let value: Value = serde_json::from_str(json).map_err(|_| problem(Problem::Form))?;
    if canonical(&value).ok().as_deref() != Some(json) {
        return Err(problem(Problem::NotCanonical));
    }
    let Value::Object(mut map) = value else { return Err(problem(Problem::Form)) };
    let number = take(&mut map, "n", Value::as_u64).map_err(problem)?;
    let at_ns = take(&mut map, "at_ns", Value::as_i64).map_err(problem)?;
    if number != n {
        return Err(problem(Problem::Number(number, n)));
    }
    Ok(Entry { n, at_ns, record: typed(map).map_err(problem)? })
}

fn take<T>(map: &mut Map<String, Value>, key: &str, read: fn(&Value) -> Option<T>) -> Result<T, Problem> {
    let value = map.remove(key);
    value.as_ref().and_then(read).ok_or_else(|| Problem::Fields(format!("'{key}' is missing or no integer")))
}

fn typed(map: Map<String, Value>) -> Result<Record, Problem> {
    let kind = map.get("t").and_then(Value::as_str).unwrap_or_default();
    if !record::KINDS.contains(&kind) {
        return Err(Problem::Kind(kind.chars().take(40).collect()));
    }
    match map.get("version").and_then(Value::as_u64) {
        Some(version) if kind == "plan" && version != u64::from(JOURNAL_VERSION) => {
            Err(Problem::Version(u32::try_from(version).unwrap_or(u32::MAX)))
        }
        _ => serde_json::from_value(Value::Object(map)).map_err(|e| Problem::Fields(e.to_string())),
    }
}

/// The plan first and nowhere else, nothing behind the seal.
fn places(entries: &[Entry], expected: Digest) -> Result<(), JournalError> {
    let mut sealed = false;
    for entry in entries {
        match &entry.record {
            _ if sealed => return Err(Problem::Sealed.at(entry.n)),
            Record::Plan { plan, .. } if entry.n == 1 && *plan != expected => {
                return Err(Problem::OtherPlan(*plan).at(1));
            }
            Record::Plan { .. } if entry.n == 1 => {}
            Record::Plan { .. } => return Err(Problem::PlanPlace.at(entry.n)),
            _ if entry.n == 1 => return Err(Problem::PlanPlace.at(1)),
            Record::Sealed { .. } => sealed = true,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
