//! A copy of a bundle without addresses and host names, for those who may see the numbers and not the network.
//!
//! The copy is a bundle of its own: plan, tables and journal are masked, hashed and chained again, so it can be checked in
//! itself. Its plan hash is another one, and no longer shows that the plan was published beforehand. Files that are not
//! text are left out, unless they hold nothing but the device's frames.

use super::disk;
use super::error::BundleError;
use super::journal_file::JournalFile;
use super::layout::{CANONICAL, JOURNAL};
use super::read::Bundle;
use super::writer::write_manifest;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{Entry, Record, Stored};
use wireproof_matrices::plan::canonical::{canonical, plan_sha256};
use wireproof_reports::Mask;

/// Files that are no text and hold no address.
const KEPT: [&str; 2] = ["ring.raw", "hdr.hlog"];
/// Fields whose words are names of kinds and states, never of hosts.
const KINDS: [&str; 6] = ["t", "step", "state", "severity", "schema", "protocol"];

/// Writes the copy of a bundle to a new folder; returns what was left out, by path.
///
/// # Errors
/// [`BundleError::Exists`] for a folder that is there, [`BundleError::Damaged`], or the file system's.
pub fn anonymized(bundle: &Bundle, to: &Path) -> Result<Vec<String>, BundleError> {
    let refuse = |why: String| BundleError::Refused { path: CANONICAL.to_owned(), why };
    let mut mask = Mask::new();
    host_of(&bundle.plan()?.target.base_url).into_iter().for_each(|host| drop(mask.name(&host)));
    let plan =
        masked_json(&mut mask, &bundle.read(CANONICAL)?).ok_or_else(|| refuse("not JSON".to_owned()))?;
    let digest: Digest = plan_sha256(&plan).parse().map_err(|_| refuse("no hash".to_owned()))?;
    fs::create_dir(to).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => BundleError::Exists(to.to_owned()),
        _ => BundleError::io(to)(error),
    })?;
    let mut copy = Copy { mask, plan, digest, files: BTreeMap::new(), left_out: Vec::new() };
    for path in bundle.files().keys() {
        copy.file(bundle, to, path)?;
    }
    copy.journal(bundle, to)?;
    Ok(copy.left_out)
}

struct Copy {
    mask: Mask,
    plan: String,
    digest: Digest,
    files: BTreeMap<String, Stored>,
    left_out: Vec<String>,
}

impl Copy {
    fn file(&mut self, bundle: &Bundle, to: &Path, path: &str) -> Result<(), BundleError> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let octets = match path {
            CANONICAL => Some(self.plan.clone().into_bytes()),
            _ if KEPT.contains(&name) => Some(bundle.read(path)?),
            _ if name.ends_with(".json") => {
                masked_json(&mut self.mask, &bundle.read(path)?).map(String::into_bytes)
            }
            _ if is_text(name) => self.text(&bundle.read(path)?),
            _ => None,
        };
        let Some(octets) = octets else {
            self.left_out.push(path.to_owned());
            return Ok(());
        };
        let stored = disk::write_whole(to, path, |out| out.write_all(&octets))?;
        self.files.insert(path.to_owned(), stored);
        Ok(())
    }

    /// A masked text; `None` for octets that are none.
    fn text(&mut self, octets: &[u8]) -> Option<Vec<u8>> {
        std::str::from_utf8(octets).ok().map(|text| self.mask.text(text).into_bytes())
    }

    fn journal(&mut self, bundle: &Bundle, to: &Path) -> Result<(), BundleError> {
        let mut journal = JournalFile::create(to, self.digest)?;
        for entry in bundle.journal() {
            if let Some(record) = self.record(entry)? {
                journal.append(entry.at_ns, &record)?;
            }
        }
        if matches!(bundle.journal().last(), Some(Entry { record: Record::Sealed { .. }, .. })) {
            write_manifest(to, self.files.clone())?;
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

fn masked_json(mask: &mut Mask, octets: &[u8]) -> Option<String> {
    let value = masked(mask, serde_json::from_slice(octets).ok()?);
    canonical(&value).or_else(|_| serde_json::to_string(&value)).ok()
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

/// The name in `http://name:port/path`; `None` for an address, which is found anyway.
fn host_of(base_url: &str) -> Option<String> {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let host = rest.split('/').next()?.rsplit('@').next()?;
    let host = if host.starts_with('[') { return None } else { host.split(':').next()? };
    let numbers = host.chars().all(|c| c.is_ascii_digit() || c == '.');
    (!host.is_empty() && !numbers && host != "localhost").then(|| host.to_owned())
}
