//! Why a plan or a lock was refused.

use super::canonical::CanonicalError;
use thiserror::Error;

/// A place in a plan and what is wrong there, as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct PlanError {
    /// Line of the text, from 1, where it is known.
    pub line: Option<usize>,
    /// Table, such as `gate p95`; `plan` for the root.
    pub table: String,
    /// Key; empty for the table as a whole.
    pub field: String,
    /// What is wrong and what is allowed.
    pub reason: String,
}

impl PlanError {
    /// An error of the typed plan, which knows no lines.
    pub(super) fn at(table: impl Into<String>, field: &str, reason: impl Into<String>) -> Self {
        PlanError { line: None, table: table.into(), field: field.to_owned(), reason: reason.into() }
    }
}

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        let gap = if self.field.is_empty() { "" } else { " " };
        let said = format!("[{}]{gap}{}: {}", self.table, self.field, self.reason);
        // Names come from the text and may hold line breaks.
        said.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

/// Why a lock cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LockError {
    /// It is not what `freeze` writes.
    #[error("this is no lock ({0}): write one with `wireproof matrix freeze PLAN -o LOCK`")]
    Form(String),
    /// A hash does not match what it covers.
    #[error("{hash} says {said}, the lock holds {found}: it was changed after it was frozen")]
    Hash {
        /// Which hash.
        hash: &'static str,
        /// What the lock says.
        said: String,
        /// What was computed.
        found: String,
    },
    /// The plan in it is no plan.
    #[error("the plan in the lock: {0}")]
    Plan(#[from] PlanError),
    /// Its plan has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}
