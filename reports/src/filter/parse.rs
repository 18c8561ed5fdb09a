//! The parser of expressions: recursive descent over tokens, bounded in length and depth, every error with its place.
//!
//! ```text
//! or   := and ( "||" and )*            values of a field of text:    ==  !=  in
//! and  := unary ( "&&" unary )*        values of a field of numbers: ==  !=  <  <=  >  >=  in
//! unary:= "!" unary | "(" or ")" | field test
//! test := operator value | "in" item | "in" "[" item ( "," item )* "]"      item := value | number ".." number
//! ```

use super::fields::{Entry, Field, named, names};
use super::pattern::Pattern;
use super::token::{Token, tokens};
use super::{DEPTH_MAX, FilterError, LENGTH_MAX, Node};
use std::ops::Range;
use wireproof_protocols::Protocol;

const PROTOCOLS: [Protocol; 5] =
    [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet, Protocol::BigPacket, Protocol::Kinet];

/// Parses an expression.
pub(super) fn parse(text: &str) -> Result<Node, FilterError> {
    if text.len() > LENGTH_MAX {
        let problem = format!("{} octets are more than the {LENGTH_MAX} an expression may have", text.len());
        return Err(FilterError::new("", 0..0, problem));
    }
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
    let node = parser.any(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.wrong("expected && or || here, or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    /// Place of the token that is looked at, or of the end.
    fn place(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        self.tokens.get(self.at).map_or(end..end, |(_, place)| place.clone())
    }

    fn wrong(&self, problem: &str) -> FilterError {
        FilterError::new(self.text, self.place(), problem.to_owned())
    }

    /// Takes the sign, or the word that stands for it.
    fn takes(&mut self, sign: &str, word: &str) -> bool {
        let is = match self.peek() {
            Some(Token::Sign(found)) => *found == sign,
            Some(Token::Word(found)) => !word.is_empty() && found.eq_ignore_ascii_case(word),
            _ => false,
        };
        self.at += usize::from(is);
        is
    }

    fn any(&mut self, depth: usize) -> Result<Node, FilterError> {
        let mut parts = vec![self.all(depth)?];
        while self.takes("||", "or") {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Node::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Node, FilterError> {
        let mut parts = vec![self.unary(depth)?];
        while self.takes("&&", "and") {
            parts.push(self.unary(depth)?);
        }
        Ok(one_or(parts, Node::All))
    }

    fn unary(&mut self, depth: usize) -> Result<Node, FilterError> {
        if depth >= DEPTH_MAX {
            return Err(self.wrong(&format!("nested deeper than {DEPTH_MAX}")));
        }
        if self.takes("!", "not") {
            return Ok(Node::Not(Box::new(self.unary(depth + 1)?)));
        }
        if self.takes("(", "") {
            let node = self.any(depth + 1)?;
            return if self.takes(")", "") { Ok(node) } else { Err(self.wrong("expected ) here")) };
        }
        self.test()
    }

    fn test(&mut self) -> Result<Node, FilterError> {
        let field = match self.peek() {
            Some(Token::Word(name)) => named(name).ok_or_else(|| {
                self.wrong(&format!("{name:?} is no field of a stream; known are {}", names()))
            })?,
            _ => return Err(self.wrong(&format!("expected a field here: {}", names()))),
        };
        self.at += 1;
        if self.takes("in", "in") {
            return self.set(field);
        }
        let operator = match self.peek() {
            Some(Token::Sign(sign)) if ["==", "!=", "<", "<=", ">", ">="].contains(sign) => *sign,
            _ => {
                let allowed = if field.numbers { "==, !=, <, <=, >, >= or in" } else { "==, != or in" };
                return Err(self.wrong(&format!("expected {allowed} after {}", field.name)));
            }
        };
        if !field.numbers && !["==", "!="].contains(&operator) {
            return Err(self.wrong(&format!("{} is text; allowed are ==, != and in", field.name)));
        }
        self.at += 1;
        if field.numbers { self.compare(field, operator) } else { self.text(field, operator) }
    }

    fn text(&mut self, field: &Entry, operator: &str) -> Result<Node, FilterError> {
        let node = Node::Text(field.field, vec![self.pattern(field)?]);
        Ok(if operator == "!=" { Node::Not(Box::new(node)) } else { node })
    }

    fn compare(&mut self, field: &Entry, operator: &str) -> Result<Node, FilterError> {
        let place = self.place();
        let n = self.number(field)?;
        let nothing =
            |what: &str| FilterError::new(self.text, place.clone(), format!("no number is {what} {n}"));
        let range = match operator {
            "<" => (0, n.checked_sub(1).ok_or_else(|| nothing("below"))?),
            "<=" => (0, n),
            ">" => (n.checked_add(1).ok_or_else(|| nothing("above"))?, u64::MAX),
            ">=" => (n, u64::MAX),
            _ => (n, n),
        };
        let node = Node::Number(field.field, vec![range]);
        Ok(if operator == "!=" { Node::Not(Box::new(node)) } else { node })
    }

    fn set(&mut self, field: &Entry) -> Result<Node, FilterError> {
        let pairs = [("[", "]"), ("(", ")"), ("{", "}")];
        let close = pairs.into_iter().find(|(open, _)| self.takes(open, "")).map(|(_, close)| close);
        let (mut patterns, mut ranges) = (Vec::new(), Vec::new());
        loop {
            if field.numbers {
                ranges.push(self.range(field)?)
            } else {
                patterns.push(self.pattern(field)?)
            }
            let Some(close) = close else { break };
            if self.takes(close, "") {
                break;
            }
            if !self.takes(",", "") {
                return Err(self.wrong(&format!("expected , or {close} here")));
            }
        }
        let (numbers, field) = (field.numbers, field.field);
        Ok(if numbers { Node::Number(field, ranges) } else { Node::Text(field, patterns) })
    }

    fn range(&mut self, field: &Entry) -> Result<(u64, u64), FilterError> {
        let from = self.place();
        let low = self.number(field)?;
        if !self.takes("..", "") {
            return Ok((low, low));
        }
        let to = self.place();
        let high = self.number(field)?;
        if low > high {
            let problem = format!("the range runs backwards; write {high}..{low}");
            return Err(FilterError::new(self.text, from.start..to.end, problem));
        }
        Ok((low, high))
    }

    fn number(&mut self, field: &Entry) -> Result<u64, FilterError> {
        let parsed = match self.peek() {
            Some(Token::Word(word) | Token::Quoted(word)) => match word.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => word.parse().ok().filter(|_| word.bytes().all(|b| b.is_ascii_digit())),
            },
            _ => None,
        };
        let Some(number) = parsed else {
            return Err(self.wrong(&format!("{} is a number; write one such as 7 or 0x1c", field.name)));
        };
        self.at += 1;
        Ok(number)
    }

    fn pattern(&mut self, field: &Entry) -> Result<Pattern, FilterError> {
        let text = match self.peek() {
            Some(Token::Word(text) | Token::Quoted(text)) => text.clone(),
            _ => return Err(self.wrong(&format!("expected a value of {} here", field.name))),
        };
        let pattern = Pattern::of(&text);
        let known = |p: &Protocol| pattern.fits(p.name());
        // Nobody knows here which layouts a run has.
        let declared = pattern.begins_like("layout:");
        if field.field == Field::Protocol && !declared && !PROTOCOLS.iter().any(known) {
            let known = PROTOCOLS.map(Protocol::name).join(", ");
            return Err(self.wrong(&format!("{text:?} is no protocol; known are {known}, layout:NAME")));
        }
        if matches!(field.field, Field::Source | Field::Destination) && text.contains('/') {
            let problem =
                format!("{text:?} is a network, and {} an address; write such as 10.0.0.*", field.name);
            return Err(self.wrong(&problem));
        }
        self.at += 1;
        Ok(pattern)
    }
}

fn one_or(mut parts: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            many(parts)
        }
    }
}
