//! The words and signs of an expression, each with its place. Judges nothing but what can be no token.

use super::FilterError;
use std::ops::Range;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A bare word: a field, a number, a text without blanks.
    Word(String),
    /// A text in quotes, its backslashes kept for the pattern.
    Quoted(String),
    /// A sign.
    Sign(&'static str),
}

/// Signs, longer ones first.
const SIGNS: [&str; 16] =
    ["&&", "||", "==", "!=", "<=", ">=", "..", "<", ">", "!", "(", ")", "[", "]", "{", "}"];

/// Splits a text.
///
/// # Errors
/// A character that begins no token, or quotes that do not end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, FilterError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = token(text, at, first, rest)?;
        tokens.push((token, at..at + length));
        at += length;
    }
    Ok(tokens)
}

fn token(text: &str, at: usize, first: char, rest: &str) -> Result<(Token, usize), FilterError> {
    if matches!(first, '"' | '\'') {
        let Some(end) = closing(rest, first) else {
            let problem = "the quotes are not closed".to_owned();
            return Err(FilterError::new(text, at..at + 1, problem));
        };
        let inner = rest.get(1..end).unwrap_or_default();
        return Ok((Token::Quoted(inner.to_owned()), end + 1));
    }
    if first == ',' {
        return Ok((Token::Sign(","), 1));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    let length = word(rest);
    if length > 0 {
        return Ok((Token::Word(rest.get(..length).unwrap_or_default().to_owned()), length));
    }
    let problem = match first {
        '=' => "write == to compare".to_owned(),
        '&' => "write && for and".to_owned(),
        '|' => "write || for or".to_owned(),
        c => format!("{c:?} means nothing here; put texts with such characters in quotes"),
    };
    Err(FilterError::new(text, at..at + first.len_utf8(), problem))
}

/// Where the quotes close, octets.
fn closing(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// Octets of the bare word at the beginning; two points end it, they are a range.
fn word(rest: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || "_-.:/*?%+@".contains(c);
    let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
    let word = rest.get(..end).unwrap_or_default();
    word.find("..").unwrap_or(end)
}
