//! JSON values as a schema needs them.
//!
//! Three things differ from the usual tree. A number is its source text, since bounds and multiples must be exact and
//! no machine type is. The keys of an object keep their order, which is the order in which the engine will ask for
//! them. And a large object finds a key through a sorted index, not a hash table: keys come from strangers, and no key
//! can make a sort slow.
//!
//! Texts are parts of the source wherever they have no escapes: a schema is read once, and most of it are keys and remarks.
//!
//! A tree is as deep as the reader allowed ([`MAX_DEPTH`] at most), which bounds what recurses over it: dropping,
//! comparing, printing.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The deepest nesting that a tree may have, whatever the limits say.
pub const MAX_DEPTH: usize = 2_000;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'text> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(&'text str),
    /// A string, with its escapes resolved.
    String(Cow<'text, str>),
    /// An array.
    Array(Box<[Json<'text>]>),
    /// An object.
    Object(Object<'text>),
}

impl<'text> Json<'text> {
    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The source text of a number.
    pub fn as_number(&self) -> Option<&str> {
        match self {
            Json::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<&[Json<'text>]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object that it is.
    pub fn as_object(&self) -> Option<&Object<'text>> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The value of `key`, where this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json<'text>> {
        self.as_object()?.get(key)
    }

    /// Whether it can be a schema: an object or a boolean.
    pub fn is_schema(&self) -> bool {
        matches!(self, Json::Object(_) | Json::Bool(_))
    }

    /// The name of its type with an article, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

/// A key and its value.
pub(super) type Entry<'text> = (Cow<'text, str>, Json<'text>);

/// The entries of an object, in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Object<'text> {
    entries: Box<[Entry<'text>]>,
    /// The entries sorted by key, for an object of more than [`Object::SCANNED`] entries; else empty.
    sorted: Box<[u32]>,
}

impl<'text> Object<'text> {
    /// How many entries are looked through one by one: about as fast as a search, and nothing to build.
    const SCANNED: usize = 12;

    /// An object of `entries`. Of those with the same key the first gives the place and the last the value.
    pub fn new(mut entries: Vec<Entry<'text>>) -> Self {
        if entries.len() <= Self::SCANNED {
            join_few(&mut entries);
            return Object { entries: entries.into(), sorted: Box::default() };
        }
        let mut sorted = sort(&entries);
        if sorted.windows(2).any(|pair| entries[pair[0] as usize].0 == entries[pair[1] as usize].0) {
            entries = join_sorted(entries, &sorted);
            sorted = sort(&entries);
        }
        Object { entries: entries.into(), sorted: sorted.into() }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Json<'text>> {
        self.entry(key).map(|(_, value)| value)
    }

    /// The key as the object holds it, and its value.
    pub fn entry(&self, key: &str) -> Option<(&str, &Json<'text>)> {
        let found = if self.sorted.is_empty() {
            self.entries.iter().find(|(name, _)| **name == *key)
        } else {
            let at = self.sorted.binary_search_by(|&at| (*self.entries[at as usize].0).cmp(key)).ok()?;
            Some(&self.entries[self.sorted[at] as usize])
        };
        found.map(|(name, value)| (&**name, value))
    }

    /// The entry at a place.
    pub fn entry_at(&self, place: usize) -> Option<(&str, &Json<'text>)> {
        self.entries.get(place).map(|(key, value)| (&**key, value))
    }

    /// Whether it has `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json<'text>)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Two objects are equal if they have the same keys with the same values, in any order.
impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl Eq for Object<'_> {}

fn join_few(entries: &mut Vec<Entry<'_>>) {
    let mut at = 1;
    while at < entries.len() {
        match entries[..at].iter().position(|(key, _)| *key == entries[at].0) {
            Some(first) => entries[first].1 = entries.remove(at).1,
            None => at += 1,
        }
    }
}

/// The places of the entries, sorted by key and then by place.
fn sort(entries: &[Entry<'_>]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..entries.len() as u32).collect();
    places.sort_by(|&left, &right| entries[left as usize].0.cmp(&entries[right as usize].0));
    places
}

fn join_sorted<'text>(entries: Vec<Entry<'text>>, sorted: &[u32]) -> Vec<Entry<'text>> {
    let mut slots: Vec<Option<Entry<'_>>> = entries.into_iter().map(Some).collect();
    let mut first = sorted[0] as usize;
    for &place in &sorted[1..] {
        let place = place as usize;
        let same = slots[first].as_ref().map(|(key, _)| key) == slots[place].as_ref().map(|(key, _)| key);
        if !same {
            first = place;
        } else if let (Some((_, later)), Some(kept)) = (slots[place].take(), slots[first].as_mut()) {
            kept.1 = later;
        }
    }
    slots.into_iter().flatten().collect()
}

/// Compact JSON.
impl fmt::Display for Json<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(text) => out.write_str(text),
            Json::String(text) => write_string(text, out),
            Json::Array(items) => write_list(out, ('[', ']'), items, fmt::Display::fmt),
            Json::Object(object) => write_list(out, ('{', '}'), &object.entries, |(key, value), out| {
                write_string(key, out)?;
                out.write_char(':')?;
                value.fmt(out)
            }),
        }
    }
}

fn write_list<T>(
    out: &mut fmt::Formatter<'_>,
    (open, close): (char, char),
    items: &[T],
    mut write: impl FnMut(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    out.write_char(open)?;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.write_char(',')?;
        }
        write(item, out)?;
    }
    out.write_char(close)
}

fn write_string(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            byte => write!(out, "\\u{byte:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}
