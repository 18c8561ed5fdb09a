//! The stream filter of `--where`: an expression over what a stream is (protocol, addresses, numbers, names), never over
//! what came of it, so that no filter can choose its own verdict. Pure: text in, yes or no for a stream out.

mod apply;
mod fields;
mod parse;
mod pattern;
pub(crate) mod subject;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use apply::fitting;
pub use apply::{Filtered, filter};
pub use fields::{FIELDS, Field, Known};
pub use subject::{DeclaredStream, StreamSoFar, Subject};

pub(crate) use pattern::Pattern;
use std::fmt;
use std::ops::Range;

/// Longest expression, octets.
pub const LENGTH_MAX: usize = 4_096;
/// Deepest nesting of parentheses and `!`.
pub const DEPTH_MAX: usize = 32;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    root: Node,
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Every part holds.
    All(Vec<Node>),
    /// One of them holds.
    Any(Vec<Node>),
    /// It does not hold.
    Not(Box<Node>),
    /// A field of text is like one of these.
    Text(Field, Vec<Pattern>),
    /// A field of numbers has one within these, both ends included.
    Number(Field, Vec<(u64, u64)>),
}

impl Filter {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`FilterError`] with the place and the known fields, for what is no expression.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let root = parse::parse(text)?;
        Ok(Filter { text: text.trim().to_owned(), root })
    }

    /// An expression that was put together from parts that `text` says in words.
    pub(crate) fn of_parts(text: String, parts: Vec<Node>) -> Filter {
        Filter { text, root: Node::All(parts) }
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the subject fits; `None` when what is known of it does not decide.
    pub fn fits(&self, subject: &dyn Subject) -> Option<bool> {
        self.root.fits(subject)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Node {
    /// Three-valued: an unknown part decides nothing that the others do not.
    fn fits(&self, subject: &dyn Subject) -> Option<bool> {
        match self {
            Node::All(parts) => decided(parts, subject, false),
            Node::Any(parts) => decided(parts, subject, true),
            Node::Not(part) => part.fits(subject).map(|holds| !holds),
            Node::Text(field, patterns) => match subject.value(*field) {
                Known::Nothing => None,
                Known::Texts(texts) => Some(texts.iter().any(|t| patterns.iter().any(|p| p.fits(t)))),
                Known::Host(host) if patterns.iter().any(|p| p.fits(&host)) => Some(true),
                // With its port it may fit all the same.
                Known::Host(host) => {
                    patterns.iter().all(|p| !p.begins_like(&format!("{host}:"))).then_some(false)
                }
                Known::Numbers(_) => Some(false),
            },
            Node::Number(field, ranges) => match subject.value(*field) {
                Known::Nothing => None,
                Known::Numbers(n) => {
                    Some(n.iter().any(|n| ranges.iter().any(|(low, high)| (low..=high).contains(&n))))
                }
                Known::Texts(_) | Known::Host(_) => Some(false),
            },
        }
    }
}

/// One part that is `deciding` decides; without one, an unknown part leaves it open.
fn decided(parts: &[Node], subject: &dyn Subject, deciding: bool) -> Option<bool> {
    let mut open = false;
    for part in parts {
        match part.fits(subject) {
            Some(holds) if holds == deciding => return Some(deciding),
            Some(_) => {}
            None => open = true,
        }
    }
    if open { None } else { Some(!deciding) }
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// What is wrong and what is allowed.
    pub problem: String,
    /// Where in the text, octets.
    pub at: Range<usize>,
    text: String,
}

/// Characters of the expression shown in front of the place of an error, and all in all.
const SHOWN: (usize, usize) = (50, 90);

impl FilterError {
    fn new(text: &str, at: Range<usize>, problem: String) -> FilterError {
        FilterError { problem, at, text: text.to_owned() }
    }

    /// The expression around the place, and a line with carets under it.
    pub fn shown(&self) -> [String; 2] {
        // One character each, so that the carets stay where they belong.
        let visible = |c: char| if crate::text::is_unsafe(c) { '\u{fffd}' } else { c };
        let before = self.text.get(..self.at.start).unwrap_or_default().chars().count();
        let marked = self.text.get(self.at.clone()).unwrap_or_default().chars().count().max(1);
        let skipped = before.saturating_sub(SHOWN.0);
        let line: String = self.text.chars().map(visible).skip(skipped).take(SHOWN.1).collect();
        let column = before - skipped;
        let carets = marked.min(SHOWN.1 - column);
        [line, format!("{}{}", " ".repeat(column), "^".repeat(carets))]
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.text.get(..self.at.start).unwrap_or_default().chars().count() + 1;
        write!(f, "column {column}: {}", self.problem)
    }
}

impl std::error::Error for FilterError {}
