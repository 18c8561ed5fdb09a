//! The faults of one datagram: a bounded list that never allocates after it was made.

use crate::{Rule, Severity};
use std::fmt;

/// A value in a fault, printed the way the field is usually written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing to show.
    None,
    /// A decimal number.
    Dec(u64),
    /// A hexadecimal number with this many digits.
    Hex(u64, u8),
    /// At least this.
    AtLeast(u64),
    /// At most this.
    AtMost(u64),
    /// Between these, both included.
    Range(u64, u64),
    /// A fixed word.
    Word(&'static str),
    /// Octets of a field, at most 16 kept.
    Octets([u8; 16], u8),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => Ok(()),
            Value::Dec(v) => write!(f, "{v}"),
            Value::Hex(v, digits) => write!(f, "0x{v:0width$x}", width = *digits as usize),
            Value::AtLeast(v) => write!(f, "at least {v}"),
            Value::AtMost(v) => write!(f, "at most {v}"),
            Value::Range(low, high) => write!(f, "{low}..{high}"),
            Value::Word(w) => f.write_str(w),
            Value::Octets(octets, n) => {
                octets.iter().take(*n as usize).try_for_each(|o| write!(f, "{o:02x}"))
            }
        }
    }
}

/// One broken rule in one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: &'static Rule,
    /// Severity of this very case.
    pub severity: Severity,
    /// Octet offset from the start of the UDP payload.
    pub offset: u16,
    /// What the rule asks for.
    pub expected: Value,
    /// What is there.
    pub got: Value,
    /// One short sentence that explains the case (the likely mistake, the product known for it); may be empty.
    pub hint: &'static str,
}

/// Most faults kept for one datagram; more are counted only.
pub const FAULTS_MAX: usize = 32;

/// The faults of one datagram. Reused from datagram to datagram: `clear` first.
#[derive(Debug)]
pub struct Faults {
    list: Vec<Fault>,
    dropped: u32,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { list: Vec::with_capacity(FAULTS_MAX), dropped: 0 }
    }
}

impl Faults {
    /// An empty set with room for [`FAULTS_MAX`] faults.
    pub fn new() -> Self {
        Faults::default()
    }

    /// Forgets all faults, keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
        self.dropped = 0;
    }

    /// Adds a fault with the rule's own severity and no hint.
    #[cold]
    pub fn add(&mut self, rule: &'static Rule, offset: usize, expected: Value, got: Value) {
        self.push(Fault { rule, severity: rule.severity, offset: clamp(offset), expected, got, hint: "" });
    }

    /// Adds a fault with its own severity and a hint.
    #[cold]
    pub fn add_with(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        offset: usize,
        expected: Value,
        got: Value,
        hint: &'static str,
    ) {
        self.push(Fault { rule, severity, offset: clamp(offset), expected, got, hint });
    }

    fn push(&mut self, fault: Fault) {
        if self.list.len() < FAULTS_MAX {
            self.list.push(fault);
        } else {
            self.dropped += 1;
        }
    }

    /// The faults in the order they were found.
    #[inline]
    pub fn as_slice(&self) -> &[Fault] {
        &self.list
    }

    /// Faults found beyond [`FAULTS_MAX`].
    pub fn dropped(&self) -> u32 {
        self.dropped
    }

    /// True when nothing was found.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True when no shape rule was broken with severity warning or worse, and nothing at all with violation.
    pub fn well_formed(&self) -> bool {
        self.list.iter().all(|f| match f.severity {
            Severity::Violation => false,
            Severity::Warning => f.rule.layer != crate::Layer::Shape,
            Severity::Info => true,
        })
    }
}

fn clamp(offset: usize) -> u16 {
    u16::try_from(offset).unwrap_or(u16::MAX)
}
