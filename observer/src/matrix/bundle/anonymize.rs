//! A copy of a bundle without addresses and host names, for those who may see the numbers and not the network.
//!
//! The copy is a bundle of its own: plan, tables and journal are masked, hashed and chained again, and its verdict is made
//! again from what is in it, so that it can be checked in itself. Its plan hash is another one, and no longer shows that
//! the plan was published beforehand. Files that are not text are left out, unless they hold nothing but the device's
//! frames. What was left out stands in [`MASKED`].

use super::disk;
use super::error::BundleError;
use super::journal_file::JournalFile;
use super::layout::{CANONICAL, JOURNAL, PLAN, PROFILE};
use super::read::Bundle;
use super::writer::write_manifest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{Entry, Record, Stored};
use wireproof_matrices::plan::canonical::{canonical, plan_sha256};
use wireproof_matrices::plan::{Lock, Plan};
use wireproof_recorder::{Policy, parse};
use wireproof_reports::Mask;

/// Says that a bundle is a masked copy, and what was left out of it.
pub const MASKED: &str = "masked.json";
const SCHEMA: &str = "wireproof.masked/1";
/// The collected ring: names of stages and outputs, and numbers.
const RING: &str = "ring.raw";
/// Histograms, packed as base64.
const HLOG: &str = "hdr.hlog";
/// Fields whose words are names of kinds and states, never of hosts.
const KINDS: [&str; 6] = ["t", "step", "state", "severity", "schema", "protocol"];

/// The file [`MASKED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Masked {
    schema: String,
    /// Paths of the files of the original that are not here.
    pub left_out: Vec<String>,
}

/// Reports by name: what comes of a bundle's own files.
pub type Reports = Vec<(&'static str, Vec<u8>)>;

/// Writes the copy of a bundle to a new folder; returns what was left out, by path. `judge` makes the reports again from
/// the copy; where it cannot, they are left out too. A bundle that holds none gets none.
///
/// # Errors
/// [`BundleError::Exists`] for a folder that is there, [`BundleError::Damaged`], or the file system's.
pub fn anonymized(
    bundle: &Bundle,
    to: &Path,
    reports: &[&'static str],
    judge: &dyn Fn(&Path) -> Result<Reports, BundleError>,
) -> Result<Vec<String>, BundleError> {
    let refuse = |why: String| BundleError::Refused { path: CANONICAL.to_owned(), why };
    let given = bundle.plan()?;
    let mut mask = Mask::new();
    hosts(&given).into_iter().for_each(|host| drop(mask.name(&host)));
    let plan =
        masked_json(&mut mask, &bundle.read(CANONICAL)?).ok_or_else(|| refuse("not JSON".to_owned()))?;
    let digest: Digest = plan_sha256(&plan).parse().map_err(|_| refuse("no hash".to_owned()))?;
    let lock = lock(&plan).map_err(refuse)?;
    fs::create_dir(to).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => BundleError::Exists(to.to_owned()),
        _ => BundleError::io(to)(error),
    })?;
    let (files, left_out) = (BTreeMap::new(), Vec::new());
    let mut copy = Copy { bundle, to, reports, mask, plan, lock, digest, files, left_out };
    for path in bundle.files().keys().filter(|path| !reports.contains(&path.as_str())) {
        copy.file(path)?;
    }
    copy.journal(judge)?;
    Ok(copy.left_out)
}

/// The masked plan as a lock: what was typed beside the plan, such as comments, is not in it.
fn lock(plan: &str) -> Result<String, String> {
    let plan_sha256 = plan_sha256(plan);
    let typed: Plan = serde_json::from_str(plan).map_err(|e| e.to_string())?;
    let gates_sha256 = typed.gates_sha256().map_err(|e| e.to_string())?;
    let file_sha256 = Digest::of(plan.as_bytes()).to_string();
    Lock { file_sha256, gates_sha256, plan_sha256, plan: typed }.text().map_err(|e| e.to_string())
}

struct Copy<'a> {
    bundle: &'a Bundle,
    to: &'a Path,
    reports: &'a [&'static str],
    mask: Mask,
    plan: String,
    lock: String,
    digest: Digest,
    files: BTreeMap<String, Stored>,
    left_out: Vec<String>,
}

impl Copy<'_> {
    fn file(&mut self, path: &str) -> Result<(), BundleError> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let octets = match path {
            CANONICAL => Some(self.plan.clone().into_bytes()),
            PLAN => Some(self.lock.clone().into_bytes()),
            // The lock holds it, typed.
            PROFILE => None,
            _ if name == RING => self.plain(path, |octets| parse(octets, Policy::Conservative).is_ok())?,
            _ if name == HLOG => self.plain(path, |octets| octets.starts_with(b"#[Histogram"))?,
            _ if name.ends_with(".json") => {
                masked_json(&mut self.mask, &self.bundle.read(path)?).map(String::into_bytes)
            }
            _ if is_text(name) => self.text(&self.bundle.read(path)?),
            _ => None,
        };
        match octets {
            Some(octets) => self.put(path, &octets),
            None => {
                self.left_out.push(path.to_owned());
                Ok(())
            }
        }
    }

    fn put(&mut self, path: &str, octets: &[u8]) -> Result<(), BundleError> {
        let stored = disk::write_whole(self.to, path, |out| out.write_all(octets))?;
        self.files.insert(path.to_owned(), stored);
        Ok(())
    }

    /// A file that stays as it is: what it should be, without a word in it that is masked elsewhere.
    fn plain(&self, path: &str, is: impl Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>, BundleError> {
        let octets = self.bundle.read(path)?;
        Ok(Some(octets).filter(|octets| is(octets) && !self.mask.is_told_by(octets)))
    }

    /// A masked text; `None` for octets that are none.
    fn text(&mut self, octets: &[u8]) -> Option<Vec<u8>> {
        std::str::from_utf8(octets).ok().map(|text| self.mask.text(text).into_bytes())
    }

    /// Everything but reports and seal, then the reports, then the seal.
    fn journal(&mut self, judge: &dyn Fn(&Path) -> Result<Reports, BundleError>) -> Result<(), BundleError> {
        let mut journal = JournalFile::create(self.to, self.digest)?;
        let reports = self.reports;
        let is_last = |entry: &Entry| match &entry.record {
            Record::File { path, .. } => reports.contains(&path.as_str()),
            Record::Sealed { .. } => true,
            _ => false,
        };
        let (last, first): (Vec<&Entry>, Vec<&Entry>) =
            self.bundle.journal().iter().partition(|entry| is_last(entry));
        for entry in &first {
            if let Some(record) = self.record(entry)? {
                journal.append(entry.at_ns, &record)?;
            }
        }
        let at_ns = last.first().or(first.last()).map_or(0, |entry| entry.at_ns);
        let had = |name: &str| self.bundle.files().contains_key(name);
        let made: Reports = match reports.iter().any(|name| had(name)) {
            true => judge(self.to).unwrap_or_default(),
            false => Vec::new(),
        };
        let made: Reports = made.into_iter().filter(|(name, _)| had(name)).collect();
        let missing = reports.iter().filter(|name| had(name) && made.iter().all(|(made, _)| made != *name));
        self.left_out.extend(missing.map(|name| (*name).to_owned()));
        let masked = Masked { schema: SCHEMA.to_owned(), left_out: self.left_out.clone() };
        let masked = (MASKED, serde_json::to_vec(&masked).unwrap_or_default());
        for (name, octets) in made.into_iter().chain([masked]) {
            self.put(name, &octets)?;
            let stored = self.files.get(name).copied();
            if let Some(Stored { sha256, octets }) = stored {
                journal.append(at_ns, &Record::File { path: name.to_owned(), sha256, octets })?;
            }
        }
        if let Some(Entry { at_ns, record: record @ Record::Sealed { .. }, .. }) =
            self.bundle.journal().last()
        {
            journal.append(*at_ns, record)?;
            write_manifest(self.to, self.files.clone())?;
        }
        Ok(())
    }

    /// The masked record; `None` for one of a file that was left out.
    fn record(&mut self, entry: &Entry) -> Result<Option<Record>, BundleError> {
        Ok(match &entry.record {
            Record::File { path, .. } => self.files.get(path).map(|stored| Record::File {
                path: path.clone(),
                sha256: stored.sha256,
                octets: stored.octets,
            }),
            Record::ArmEnd { arm, state, reasons, files } => {
                let kept = files.keys().filter_map(|path| Some((path.clone(), *self.files.get(path)?)));
                let (arm, files) = (arm.clone(), kept.collect());
                let reasons = reasons.iter().map(|reason| self.mask.text(reason)).collect();
                Some(Record::ArmEnd { arm, state: *state, reasons, files })
            }
            other => Some(self.words(other).map_err(|e| BundleError::Refused {
                path: JOURNAL.to_owned(),
                why: format!("record {} cannot be masked: {e}", entry.n),
            })?),
        })
    }

    fn words(&mut self, record: &Record) -> Result<Record, serde_json::Error> {
        let value = masked(&mut self.mask, serde_json::to_value(record)?);
        Ok(match serde_json::from_value(value)? {
            Record::Plan { version, name, base_url, tool, soak, .. } => {
                let pre_registered = false;
                Record::Plan { plan: self.digest, version, name, base_url, pre_registered, tool, soak }
            }
            other => other,
        })
    }
}

fn is_text(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    ["toml", "jsonl", "csv", "md", "txt", "sha256", "svg", "html"].contains(&ending)
}

/// Masked JSON in its canonical form, with the end of line that it had; `None` for what is none.
fn masked_json(mask: &mut Mask, octets: &[u8]) -> Option<String> {
    let value = masked(mask, serde_json::from_slice(octets).ok()?);
    let mut text = canonical(&value).or_else(|_| serde_json::to_string(&value)).ok()?;
    text.extend(octets.ends_with(b"\n").then_some('\n'));
    Some(text)
}

/// Every word of a value masked; names of fields stay.
fn masked(mask: &mut Mask, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask.text(&text)),
        Value::Array(items) => items.into_iter().map(|item| masked(mask, item)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, item)| match KINDS.contains(&key.as_str()) {
                true => (key, item),
                false => {
                    let item = masked(mask, item);
                    (key, item)
                }
            })
            .collect(),
        plain => plain,
    }
}

/// Names of hosts that a plan speaks of: the device's, those in URLs, and what programs of toggles are sent to
/// (`user@host`).
fn hosts(plan: &Plan) -> Vec<String> {
    let mut hosts: Vec<String> = host_of(&plan.target.base_url).into_iter().collect();
    for action in plan.toggle.iter().flat_map(|toggle| [&toggle.set, &toggle.verify.read]) {
        let words = action.argv.iter().flatten().flat_map(|part| part.split_whitespace());
        for word in words.chain(action.path.as_deref()) {
            let user = word.split_once('@').map(|(_, host)| host);
            let named = word.contains("://").then(|| host_of(word)).flatten();
            hosts.extend(named.or_else(|| host_of(user?)));
        }
        // `ssh host`: the first word behind the program that is no option.
        let mut argv = action.argv.iter().flatten();
        let is_ssh = argv.next().is_some_and(|program| ["ssh", "scp", "sftp"].contains(&base(program)));
        let host = argv.find(|part| !part.starts_with('-')).filter(|_| is_ssh);
        hosts.extend(host.and_then(|part| host_of(part)));
    }
    hosts
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The name in `http://name:port/path`; `None` for an address, which is found anyway.
fn host_of(base_url: &str) -> Option<String> {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let host = rest.split('/').next()?.rsplit('@').next()?;
    let host = if host.starts_with('[') { return None } else { host.split(':').next()? };
    let numbers = host.chars().all(|c| c.is_ascii_digit() || c == '.');
    (!host.is_empty() && !numbers && host != "localhost").then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_matrices::plan::{Action, Check, Toggle};

    fn action(argv: &[&str], path: Option<&str>) -> Action {
        let argv = Some(argv.iter().map(|part| (*part).to_owned()).collect()).filter(|_| !argv.is_empty());
        let path = path.map(str::to_owned);
        Action { http: None, path, body: None, argv, shell: false, words: BTreeMap::new() }
    }

    #[test]
    fn hosts_are_found_in_the_address_of_the_device_and_in_programs_of_toggles() {
        let mut plan = crate::matrix::measured::example_plan();
        plan.target.base_url = "http://pole-lab.example:8080/x".to_owned();
        plan.toggle.push(Toggle {
            factor: "preview".to_owned(),
            set: action(&["/usr/bin/ssh", "-q", "pi-lab", "preview", "{level}"], None),
            verify: Check {
                read: action(&["curl", "http://eye.example/p", "anna@desk.example:/tmp"], None),
                pointer: String::new(),
                equals: BTreeMap::new(),
            },
            effect: None,
            restore: "original".to_owned(),
            timeout_ns: 0,
            retries: 0,
            lease_ns: None,
        });
        assert_eq!(hosts(&plan), ["pole-lab.example", "pi-lab", "eye.example", "desk.example"]);
        plan.target.base_url = "http://[fd00::1]:80".to_owned();
        plan.toggle = Vec::new();
        assert_eq!(hosts(&plan), Vec::<String>::new(), "addresses are found anyway");
    }
}
