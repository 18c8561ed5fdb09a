//! JSON as it stands, its keys in their order: what a reader is shown must not be sorted anew.

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Truth(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Keys(Vec<(String, Node)>),
}

impl Node {
    /// The value as one short text; `None` of a list or of keys with anything in them.
    pub(super) fn word(&self) -> Option<String> {
        match self {
            Node::Null => Some("\u{2014}".to_owned()),
            Node::Truth(truth) => Some(if *truth { "yes" } else { "no" }.to_owned()),
            Node::Number(number) => Some(number.to_string()),
            Node::Text(text) => Some(text.clone()),
            Node::List(list) if list.is_empty() => Some("none".to_owned()),
            Node::Keys(keys) if keys.is_empty() => Some("none".to_owned()),
            Node::List(_) | Node::Keys(_) => None,
        }
    }

    /// The value as text, compact JSON where it is more than a word.
    pub(super) fn text(&self) -> String {
        self.word().or_else(|| serde_json::to_string(self).ok()).unwrap_or_default()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Null => serializer.serialize_unit(),
            Node::Truth(truth) => serializer.serialize_bool(*truth),
            Node::Number(number) => number.serialize(serializer),
            Node::Text(text) => serializer.serialize_str(text),
            Node::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|one| seq.serialize_element(one))?;
                seq.end()
            }
            Node::Keys(keys) => {
                let mut map = serializer.serialize_map(Some(keys.len()))?;
                keys.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

/// Takes whatever comes.
struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Number::from_f64(number).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(Node::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<Node, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = keys.next_entry()? {
            all.push(one);
        }
        Ok(Node::Keys(all))
    }
}
