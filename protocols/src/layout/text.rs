//! Values of a layout's text, each taken by type; every fault is kept with its line and field, none ends the reading.

use super::{FAULTS_MAX, NAME_MAX};
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a layout's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayoutFault {
    /// Line, from 1.
    pub line: usize,
    /// Table and key, such as `field length, size`.
    pub field: String,
    /// What is wrong and what is allowed.
    pub reason: String,
}

impl fmt::Display for LayoutFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names come from the text and may hold line breaks.
        let said = format!("line {}: {}: {}", self.line, self.field, self.reason);
        said.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

/// The text and what was found wrong so far.
pub(super) struct Text<'a> {
    document: &'a str,
    faults: Vec<LayoutFault>,
}

/// One table of the text.
#[derive(Clone)]
pub(super) struct Table<'a> {
    /// Name in faults.
    name: String,
    /// Octet it begins at.
    at: usize,
    entries: &'a DeTable<'a>,
}

type Entry<'a> = &'a Spanned<DeValue<'a>>;

impl<'a> Table<'a> {
    /// The root of a document.
    pub(super) fn root(root: &'a Spanned<DeTable<'a>>) -> Self {
        Table { name: "layout".to_owned(), at: 0, entries: root.get_ref() }
    }

    /// The same table under another name in faults.
    pub(super) fn named(self, name: String) -> Self {
        Table { name, ..self }
    }

    fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// True when the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The key holds a table.
    pub(super) fn holds_table(&self, key: &str) -> bool {
        self.get(key).is_some_and(|entry| entry.get_ref().is_table())
    }
}

/// A key or value of the text, short enough to repeat.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(NAME_MAX + 8).collect()
}

impl<'a> Text<'a> {
    pub(super) fn new(document: &'a str) -> Self {
        Text { document, faults: Vec::new() }
    }

    /// Everything wrong, in the order of the lines.
    pub(super) fn into_faults(mut self) -> Vec<LayoutFault> {
        self.faults.sort();
        self.faults.dedup();
        self.faults.truncate(FAULTS_MAX);
        self.faults
    }

    /// True when nothing was found wrong.
    pub(super) fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Line of an octet, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.document.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|octet| **octet == b'\n').count()
    }

    /// Line a table begins on.
    pub(super) fn line_of(&self, table: &Table<'_>) -> usize {
        self.line(table.at)
    }

    /// Notes a fault at a line. What is wrong at a key is said once: a value that was refused makes others seem missing.
    pub(super) fn fault(&mut self, line: usize, field: impl Into<String>, reason: impl Into<String>) {
        let field = field.into();
        // A table begins above its keys, and another one of the same name below them.
        let unread =
            |fault: &LayoutFault| ["is ", "holds ", "has "].iter().any(|how| fault.reason.starts_with(how));
        let key = field.contains(", ");
        let said = |fault: &LayoutFault| key && fault.field == field && fault.line >= line && unread(fault);
        if self.faults.len() < 4 * FAULTS_MAX && !self.faults.iter().any(said) {
            self.faults.push(LayoutFault { line, field, reason: reason.into() });
        }
    }

    /// Notes a fault at a key, or at the table when the key is not there.
    pub(super) fn refuse(&mut self, table: &Table<'_>, key: &str, reason: impl Into<String>) {
        let span = table.get(key).map_or(table.at..table.at, Spanned::span);
        self.at(table, &span, key, reason.into());
    }

    fn at(&mut self, table: &Table<'_>, span: &Range<usize>, key: &str, reason: String) {
        let gap = if key.is_empty() { "" } else { ", " };
        self.fault(self.line(span.start), format!("{}{gap}{}", table.name, shown(key)), reason);
    }

    /// Notes every key but these.
    pub(super) fn only(&mut self, table: &Table<'_>, known: &[&str]) {
        for (key, _) in table.entries.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let reason = format!("unknown key, allowed are {}", known.join(", "));
            self.at(table, &key.span(), key.get_ref(), reason);
        }
    }

    fn wrong(&mut self, table: &Table<'_>, key: &str, entry: Entry<'_>, wanted: &str) {
        let found = value_shown(entry.get_ref());
        self.at(table, &entry.span(), key, format!("is {found}: write {wanted}"));
    }

    /// A text.
    pub(super) fn text(&mut self, table: &Table<'a>, key: &str) -> Option<&'a str> {
        let entry = table.get(key)?;
        let text = entry.get_ref().as_str();
        if text.is_none() {
            self.wrong(table, key, entry, "a text in quotes");
        }
        text
    }

    /// A whole number from `least` to `most`.
    pub(super) fn number(&mut self, table: &Table<'a>, key: &str, least: u64, most: u64) -> Option<u64> {
        let entry = table.get(key)?;
        let number = entry.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.wrong(table, key, entry, &format!("a whole number, {least} to {most}"));
        }
        number
    }

    /// A whole number that may be negative, as far from zero as `most`.
    pub(super) fn signed(&mut self, table: &Table<'a>, key: &str, most: i64) -> Option<i64> {
        let entry = table.get(key)?;
        let number = entry.get_ref().as_integer();
        let number = number.and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
        let number = number.filter(|number| (-most..=most).contains(number));
        if number.is_none() {
            self.wrong(table, key, entry, &format!("a whole number, -{most} to {most}"));
        }
        number
    }

    /// A truth value.
    pub(super) fn truth(&mut self, table: &Table<'a>, key: &str) -> Option<bool> {
        let entry = table.get(key)?;
        let truth = entry.get_ref().as_bool();
        if truth.is_none() {
            self.wrong(table, key, entry, "true or false");
        }
        truth
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, table: &Table<'a>, key: &str, words: &[(&str, T)]) -> Option<T> {
        let entry = table.get(key)?;
        let text = entry.get_ref().as_str();
        let found = text.and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let all = words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>();
            self.wrong(table, key, entry, &all.join(" or "));
        }
        found.map(|(_, value)| *value)
    }

    /// A list of words, each one of a few.
    pub(super) fn choices<T: Copy>(
        &mut self,
        table: &Table<'a>,
        key: &str,
        words: &[(&str, T)],
    ) -> Option<Vec<T>> {
        let all = words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        self.list(table, key, words.len(), &format!("a list of {all}"), |value| {
            let text = value.as_str()?;
            words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
        })
    }

    /// A list of whole numbers from `least` to `most`, at most `length` of them.
    pub(super) fn numbers(
        &mut self,
        table: &Table<'a>,
        key: &str,
        length: usize,
        (least, most): (u64, u64),
    ) -> Option<Vec<u64>> {
        let wanted = format!("a list of at most {length} whole numbers, {least} to {most}");
        self.list(table, key, length, &wanted, |value| {
            let number = value.as_integer()?;
            let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
            (least..=most).contains(&number).then_some(number)
        })
    }

    fn list<T>(
        &mut self,
        table: &Table<'a>,
        key: &str,
        length: usize,
        wanted: &str,
        read: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let entry = table.get(key)?;
        let Some(list) = entry.get_ref().as_array() else {
            self.wrong(table, key, entry, wanted);
            return None;
        };
        let odd = list.iter().find(|value| read(value.get_ref()).is_none());
        let problem = match odd {
            _ if list.len() > length => format!("has {} values", list.len()),
            Some(value) => format!("holds {}", value_shown(value.get_ref())),
            None => return list.iter().map(|value| read(value.get_ref())).collect(),
        };
        self.at(table, &odd.map_or(entry.span(), Spanned::span), key, format!("{problem}: write {wanted}"));
        None
    }

    /// Octets as pairs of hexadecimal digits, at most `most` of them; blanks between pairs are allowed.
    pub(super) fn octets(&mut self, table: &Table<'a>, key: &str, most: usize) -> Option<Vec<u8>> {
        let entry = table.get(key)?;
        let octets =
            entry.get_ref().as_str().and_then(unhex).filter(|octets| (1..=most).contains(&octets.len()));
        if octets.is_none() {
            let wanted = format!("1 to {most} octets as hexadecimal digits in quotes, such as \"42 50\"");
            self.wrong(table, key, entry, &wanted);
        }
        octets
    }

    /// A table within this one.
    pub(super) fn table(&mut self, table: &Table<'a>, key: &str) -> Option<Table<'a>> {
        let entry = table.get(key)?;
        match entry.get_ref().as_table() {
            Some(entries) => Some(Table { name: key.to_owned(), at: entry.span().start, entries }),
            None => {
                self.wrong(table, key, entry, &format!("a table: [{key}]"));
                None
            }
        }
    }

    /// Tables of the same name, `[[key]]`, at most `most` of them.
    pub(super) fn tables(&mut self, table: &Table<'a>, key: &str, most: usize) -> Vec<Table<'a>> {
        let Some(entry) = table.get(key) else { return Vec::new() };
        if let Some(list) = entry.get_ref().as_array().filter(|list| list.len() > most) {
            self.refuse(table, key, format!("stands {} times: write at most {most} of them", list.len()));
            return Vec::new();
        }
        let list = entry.get_ref().as_array();
        let one = |value: &'a Spanned<DeValue<'a>>| {
            let entries = value.get_ref().as_table()?;
            Some(Table { name: key.to_owned(), at: value.span().start, entries })
        };
        let tables = list.and_then(|list| list.iter().map(one).collect::<Option<Vec<_>>>());
        if tables.is_none() {
            self.wrong(table, key, entry, &format!("tables [[{key}]], at most {most} of them"));
        }
        tables.unwrap_or_default()
    }
}

/// A value as a line of a fault has it.
fn value_shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(number) => shown(number.as_str()),
        DeValue::String(text) => format!("the text {:?}", shown(text)),
        other => format!("of type {}", other.type_str()),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> =
        text.chars().filter(|c| *c != ' ').map(|c| c.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}
