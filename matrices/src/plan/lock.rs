//! The frozen plan: its canonical form and three hashes, to be committed before the code under test exists.

use super::canonical::{canonical, gates_sha256, plan_sha256};
use super::{Files, LockError, MOST_TEXT, Plan, shape};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the form of a lock.
pub const SCHEMA: &str = "wireproof.plan-lock/1";
/// Longest lock that is read, octets: a plan grows when its defaults are written out.
pub const MOST_LOCK: usize = 8 * MOST_TEXT;

/// A frozen plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// SHA-256 of the text that was frozen, octet by octet.
    pub file_sha256: String,
    /// SHA-256 of the gates alone.
    pub gates_sha256: String,
    /// SHA-256 of the plan.
    pub plan_sha256: String,
    /// The plan.
    pub plan: Plan,
}

/// A lock as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<P> {
    file_sha256: String,
    gates_sha256: String,
    plan: P,
    plan_sha256: String,
    schema: String,
}

impl Lock {
    /// Freezes the text of a plan whose profile and layouts, if it has any, come with the program.
    ///
    /// # Errors
    /// The text is no plan.
    pub fn freeze(text: &str) -> Result<Lock, LockError> {
        Lock::of(text, Plan::read(text)?)
    }

    /// Freezes the text of a plan; its profile and layouts may be files.
    ///
    /// # Errors
    /// The text is no plan, its profile none, or a layout none.
    pub fn freeze_with(text: &str, files: Files<'_>) -> Result<Lock, LockError> {
        Lock::of(text, Plan::read_with(text, files)?)
    }

    fn of(text: &str, plan: Plan) -> Result<Lock, LockError> {
        Ok(Lock {
            file_sha256: Digest::of(text.as_bytes()).to_string(),
            gates_sha256: plan.gates_sha256()?,
            plan_sha256: plan.sha256()?,
            plan,
        })
    }

    /// The lock as one line of canonical JSON.
    ///
    /// # Errors
    /// The plan has no canonical form; no plan that was read gives that.
    pub fn text(&self) -> Result<String, LockError> {
        let written = Written {
            file_sha256: self.file_sha256.clone(),
            gates_sha256: self.gates_sha256.clone(),
            plan: &self.plan,
            plan_sha256: self.plan_sha256.clone(),
            schema: SCHEMA.to_owned(),
        };
        Ok(canonical(&written)? + "\n")
    }

    /// Whether a text is meant to be a lock; a plan never begins with a brace.
    pub fn meant(text: &str) -> bool {
        text.trim_start().starts_with('{')
    }

    /// Reads a lock and compares its hashes with what it holds.
    ///
    /// The hash of the file cannot be compared here: the text that was frozen is not in the lock.
    ///
    /// # Errors
    /// It is no lock, a hash does not match, or its plan breaks a limit.
    pub fn read(text: &str) -> Result<Lock, LockError> {
        let form = |error: serde_json::Error| LockError::Form(error.to_string().chars().take(200).collect());
        if text.len() > MOST_LOCK {
            return Err(LockError::Form(format!("it is longer than {} KiB", MOST_LOCK / 1024)));
        }
        let written: Written<Value> = serde_json::from_str(text).map_err(form)?;
        if written.schema != SCHEMA {
            let schema: String = written.schema.chars().take(60).collect();
            return Err(LockError::Form(format!("its schema is {schema:?}, this version reads {SCHEMA}")));
        }
        let whole = canonical(&written.plan)?;
        same("plan_sha256", &written.plan_sha256, plan_sha256(&whole))?;
        let gates = canonical(written.plan.get("gate").unwrap_or(&Value::Null))?;
        same("gates_sha256", &written.gates_sha256, gates_sha256(&gates))?;
        if !is_hash(&written.file_sha256) {
            return Err(LockError::Form("its file_sha256 is no hash".to_owned()));
        }
        let plan: Plan = serde_json::from_value(written.plan).map_err(form)?;
        // What this version does not know would be dropped in silence.
        if plan.canonical()? != whole {
            return Err(LockError::Form("its plan holds keys this version does not know".to_owned()));
        }
        shape::check(&plan)?;
        let (file_sha256, gates_sha256, plan_sha256) =
            (written.file_sha256, written.gates_sha256, written.plan_sha256);
        Ok(Lock { file_sha256, gates_sha256, plan_sha256, plan })
    }
}

fn same(hash: &'static str, said: &str, found: String) -> Result<(), LockError> {
    match said == found {
        true => Ok(()),
        false => Err(LockError::Hash { hash, said: said.chars().take(64).collect(), found }),
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|octet| octet.is_ascii_digit() || (b'a'..=b'f').contains(&octet))
}
