//! A table of a plan's text and its fields, each taken by type; errors name line, table and field.

use super::super::{PlanError, Word};
use crate::units::{UnitError, duration_ns, ratio_ppm, size_bytes};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest text of a value that an error repeats, characters.
const SHOWN: usize = 40;

/// The error of a text that is no TOML.
pub(in crate::plan) fn not_toml(text: &str, table: &str, error: &toml::de::Error) -> PlanError {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let line = 1 + before.iter().filter(|octet| **octet == b'\n').count();
    let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    PlanError {
        line: Some(line),
        table: table.to_owned(),
        field: String::new(),
        reason: format!("is no TOML: {reason}"),
    }
}

/// One table.
pub(in crate::plan) struct Table<'a> {
    document: &'a str,
    name: String,
    at: usize,
    entries: &'a DeTable<'a>,
}

type Entry<'a> = &'a Spanned<DeValue<'a>>;

impl<'a> Table<'a> {
    /// The root of a document of this name.
    pub(in crate::plan) fn root(document: &'a str, name: &str, root: &'a Spanned<DeTable<'a>>) -> Self {
        Table { document, name: name.to_owned(), at: 0, entries: root.get_ref() }
    }

    /// Adds what tells this table from its like, such as the name of a gate.
    pub(in crate::plan) fn named(mut self, name: &str) -> Self {
        self.name = format!("{} {}", self.name, name.chars().take(SHOWN).collect::<String>());
        self
    }

    /// Refuses every key but these.
    pub(in crate::plan) fn only(&self, known: &[&str]) -> Result<(), PlanError> {
        match self.entries.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some((key, _)) => {
                let known = known.join(", ");
                Err(self.error(&key.span(), key.get_ref(), format!("unknown key, allowed are {known}")))
            }
        }
    }

    /// An error at a field, or at the table when the field is not there.
    pub(in crate::plan) fn refuse(&self, key: &str, reason: impl Into<String>) -> PlanError {
        let span = self.get(key).map_or(self.at..self.at, Spanned::span);
        self.error(&span, key, reason.into())
    }

    fn error(&self, span: &Range<usize>, field: &str, reason: String) -> PlanError {
        let before = self.document.as_bytes().get(..span.start).unwrap_or_default();
        let line = 1 + before.iter().filter(|octet| **octet == b'\n').count();
        let field = field.chars().take(SHOWN).collect();
        PlanError { line: Some(line), table: self.name.clone(), field, reason }
    }

    fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// True when the field is there.
    pub(in crate::plan) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Keys in sorted order.
    pub(in crate::plan) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.entries.keys().map(|key| key.get_ref().as_ref())
    }

    /// What must be there.
    pub(in crate::plan) fn need<T>(&self, key: &str, value: Option<T>) -> Result<T, PlanError> {
        value.ok_or_else(|| self.refuse(key, "is missing"))
    }

    fn wrong(&self, key: &str, entry: Entry<'_>, wanted: &str) -> PlanError {
        let found = match entry.get_ref() {
            DeValue::Float(_) => "a float (a plan has none)".to_owned(),
            DeValue::Integer(number) => number.to_string().chars().take(SHOWN).collect(),
            DeValue::String(text) => format!("the text {:?}", text.chars().take(SHOWN).collect::<String>()),
            other => format!("of type {}", other.type_str()),
        };
        self.error(&entry.span(), key, format!("is {found}: write {wanted}"))
    }

    /// A text.
    pub(in crate::plan) fn text(&self, key: &str) -> Result<Option<String>, PlanError> {
        match self.get(key) {
            None => Ok(None),
            Some(entry) => match entry.get_ref().as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(self.wrong(key, entry, "a text in quotes")),
            },
        }
    }

    /// A whole number from `least` to `most`.
    pub(in crate::plan) fn number(&self, key: &str, least: u64, most: u64) -> Result<Option<u64>, PlanError> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        let number = entry.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(key, entry, &format!("a whole number, {least} to {most}"))),
        }
    }

    /// A whole number of at most 32 bits.
    pub(in crate::plan) fn small(&self, key: &str, least: u32, most: u32) -> Result<Option<u32>, PlanError> {
        let number = self.number(key, least.into(), most.into())?;
        Ok(number.map(|number| u32::try_from(number).unwrap_or(most)))
    }

    /// A truth value.
    pub(in crate::plan) fn truth(&self, key: &str) -> Result<Option<bool>, PlanError> {
        match self.get(key) {
            None => Ok(None),
            Some(entry) => match entry.get_ref().as_bool() {
                Some(truth) => Ok(Some(truth)),
                None => Err(self.wrong(key, entry, "true or false")),
            },
        }
    }

    /// A duration, ns.
    pub(in crate::plan) fn duration(&self, key: &str) -> Result<Option<u64>, PlanError> {
        self.quantity(key, "a duration such as \"15s\" or \"0.50ms\"", duration_ns)
    }

    /// A ratio, parts per million.
    pub(in crate::plan) fn ratio(&self, key: &str) -> Result<Option<u64>, PlanError> {
        self.quantity(key, "a ratio such as \"0.1%\" or \"0.05\"", ratio_ppm)
    }

    /// A size, octets.
    pub(in crate::plan) fn size(&self, key: &str) -> Result<Option<u64>, PlanError> {
        self.quantity(key, "a size such as \"2GiB\"", size_bytes)
    }

    fn quantity(
        &self,
        key: &str,
        wanted: &str,
        read: fn(&str) -> Result<u64, UnitError>,
    ) -> Result<Option<u64>, PlanError> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        let text = entry.get_ref().as_str().ok_or_else(|| self.wrong(key, entry, wanted))?;
        read(text).map(Some).map_err(|error| self.error(&entry.span(), key, error.to_string()))
    }

    /// One of a few words.
    pub(in crate::plan) fn choice<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, PlanError> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        let found = entry.get_ref().as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        let all = || words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(" or ");
        found.map(|(_, value)| Some(*value)).ok_or_else(|| self.wrong(key, entry, &all()))
    }

    /// A list of texts.
    pub(in crate::plan) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, PlanError> {
        self.list(key, "a list of texts", |value| value.as_str().map(str::to_owned))
    }

    /// A list of whole numbers.
    pub(in crate::plan) fn numbers(&self, key: &str) -> Result<Option<Vec<u32>>, PlanError> {
        self.list(key, "a list of whole numbers", |value| {
            let number = value.as_integer()?;
            u32::from_str_radix(number.as_str(), number.radix()).ok()
        })
    }

    /// A list of durations, ns.
    pub(in crate::plan) fn durations(&self, key: &str) -> Result<Option<Vec<u64>>, PlanError> {
        self.list(key, "a list of durations such as [\"1s\", \"4s\"]", |value| {
            value.as_str().and_then(|text| duration_ns(text).ok())
        })
    }

    fn list<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<Vec<T>>, PlanError> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        let Some(list) = entry.get_ref().as_array() else { return Err(self.wrong(key, entry, wanted)) };
        let read = |value: &Spanned<DeValue<'_>>| {
            read(value.get_ref()).ok_or_else(|| {
                let error = format!("holds {}: write {wanted}", value.get_ref().type_str());
                self.error(&value.span(), key, error)
            })
        };
        list.iter().map(read).collect::<Result<Vec<T>, PlanError>>().map(Some)
    }

    /// A table within this one.
    pub(in crate::plan) fn table(&self, key: &str) -> Result<Option<Table<'a>>, PlanError> {
        match self.get(key) {
            None => Ok(None),
            Some(entry) => match entry.get_ref().as_table() {
                Some(entries) => Ok(Some(self.inner(key, entry.span().start, entries))),
                None => Err(self.wrong(key, entry, &format!("a table: [{key}] or {{ … }}"))),
            },
        }
    }

    /// A table that must be there.
    pub(in crate::plan) fn needed_table(&self, key: &str) -> Result<Table<'a>, PlanError> {
        let table = self.table(key)?;
        self.need(key, table)
    }

    /// Tables of the same name, `[[key]]`.
    pub(in crate::plan) fn tables(&self, key: &str) -> Result<Vec<Table<'a>>, PlanError> {
        let Some(entry) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || self.wrong(key, entry, &format!("tables: [[{key}]]"));
        let list = entry.get_ref().as_array().ok_or_else(wrong)?;
        let one = |value: &'a Spanned<DeValue<'a>>| {
            let entries = value.get_ref().as_table().ok_or_else(wrong)?;
            Ok(self.inner(key, value.span().start, entries))
        };
        list.iter().map(one).collect()
    }

    fn inner(&self, key: &str, at: usize, entries: &'a DeTable<'a>) -> Table<'a> {
        let name = if self.name == "plan" { key.to_owned() } else { format!("{}.{key}", self.name) };
        Table { document: self.document, name, at, entries }
    }

    /// A truth value, an integer or a text.
    pub(in crate::plan) fn word(&self, key: &str) -> Result<Word, PlanError> {
        let Some(entry) = self.get(key) else { return Err(self.refuse(key, "is missing")) };
        let word = match entry.get_ref() {
            DeValue::Boolean(truth) => Some(Word::Truth(*truth)),
            DeValue::String(text) => Some(Word::Text(text.to_string())),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(Word::Integer)
            }
            _ => None,
        };
        word.ok_or_else(|| self.wrong(key, entry, "true, false, a whole number or a text"))
    }

    /// Every field as a word; nothing without the table.
    pub(in crate::plan) fn words(&self, key: &str) -> Result<BTreeMap<String, Word>, PlanError> {
        let Some(table) = self.table(key)? else { return Ok(BTreeMap::new()) };
        table.keys().map(|key| Ok((key.to_owned(), table.word(key)?))).collect()
    }

    /// Every field as a text; nothing without the table.
    pub(in crate::plan) fn text_map(&self, key: &str) -> Result<BTreeMap<String, String>, PlanError> {
        let Some(table) = self.table(key)? else { return Ok(BTreeMap::new()) };
        table.keys().map(|key| Ok((key.to_owned(), table.need(key, table.text(key)?)?))).collect()
    }
}
