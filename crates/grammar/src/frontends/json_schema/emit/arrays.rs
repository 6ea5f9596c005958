//! Arrays.
//!
//! An array with nothing but a prefix, a rest and bounds is a sequence and a counted repeat. Where the conditions reach
//! from one item to another it is a list of members: `contains` counts items, and in an array without repeats every
//! item is there once. What cannot be listed, numbers, arrays and objects, the engine compares.

use smallvec::smallvec;

use super::super::values::ValueSet;
use super::super::values::arrays::ArrayShape;
use super::super::values::formula::FormulaId;
use super::super::values::texts::{TextSet, least};
use super::Emitter;
use super::choices::{Choice, Condition};
use super::endless::Room;
use super::layout::{Around, Depth};
use super::objects::Parts;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::members::{Count, Entry, Layout as List, Order, Others, Variant, Variants};
use crate::ir::{Escapes, ExprId, RuleOptions};

/// So many items of different schemas may be listed one by one where no two are equal.
const MAX_TUPLE: usize = 64;

/// A set of so many integers is written out where each may be there once.
const MAX_LISTED: usize = 2_000;

impl Emitter<'_> {
    pub(super) fn array(&mut self, shape: &ArrayShape, depth: Depth) -> Result<ExprId> {
        let shape = settled(shape);
        let around = self.layout.around(&mut self.expander.algebra.languages.builder, depth);
        let below = self.layout.below(depth);
        if shape.repeats {
            return Err(Error::unsupported(
                "an array must have two equal items here (the complement of uniqueItems)",
            ));
        }
        let single = shape.max.is_some_and(|max| max <= 1);
        if shape.unique && !single {
            return self.without_repeats(&shape, around, below);
        }
        self.items(&shape, around, below)
    }

    /// An array whose items may be equal.
    fn items(&mut self, shape: &ArrayShape, around: Around, depth: Depth) -> Result<ExprId> {
        if shape.contains.is_empty() {
            self.plain(shape, around, depth)
        } else {
            self.counted(shape, around, depth)
        }
    }

    /// An array without repeats. Strings and words make a list, whose masks cost least; everything else is compared, however it
    /// is written.
    fn without_repeats(&mut self, shape: &ArrayShape, around: Around, depth: Depth) -> Result<ExprId> {
        let mut is_list = true;
        for &item in shape.prefix.iter().chain([&shape.rest]) {
            let set = self.set_of(item)?;
            is_list &= set.numbers.is_empty() && set.arrays.is_empty() && set.objects.is_empty();
        }
        if !is_list && let Some(compared) = self.compared(shape, around, depth)? {
            return Ok(compared);
        }
        match self.unique(shape, around) {
            Err(error) if is_list && error.kind() == ErrorKind::Unsupported => {
                self.compared(shape, around, depth)?.ok_or(error)
            }
            result => result,
        }
    }

    /// An array without repeats whose items are compared as they are read. None if it might come to a place where all items
    /// that could come have been there.
    fn compared(&mut self, shape: &ArrayShape, around: Around, depth: Depth) -> Result<Option<ExprId>> {
        let max = match self.room_to_differ(shape)? {
            Room::Endless => shape.max,
            Room::AtMost(most) if most >= shape.min => least(shape.max, Some(most)),
            Room::AtMost(_) | Room::Unknown => return Ok(None),
        };
        let body = self.items(&ArrayShape { max, ..shape.clone() }, around, depth)?;
        let name = format!("distinct_{}", self.builder().rule_count());
        let rule = self.builder().declare(name);
        let options =
            RuleOptions { distinct_items: true, distinct_at: self.array_at(), ..RuleOptions::default() };
        self.builder().define(rule, body, options);
        Ok(Some(self.builder().rule(rule)))
    }

    /// The JSON Pointer of the schema whose arrays are being written, if it is one.
    fn array_at(&self) -> Option<String> {
        let schema = self.schema_with(self.array_of?, Some("uniqueItems"))?;
        Some(self.expander.documents.pointer(schema))
    }

    /// A sequence: the prefix, as far as it is there, and the rest.
    fn plain(&mut self, shape: &ArrayShape, around: Around, depth: Depth) -> Result<ExprId> {
        // From the last part to the first. A sequence is put together where it is optional, and not for each of its items.
        let mut parts = vec![self.rest(shape, around, depth)?];
        for (place, &item) in shape.prefix.iter().enumerate().rev() {
            let value = self.value(item, depth)?;
            let is_needed = (place as u32) < shape.min || (place == 0 && around.tight_if_empty);
            let builder = self.builder();
            let separator = if place == 0 { builder.empty() } else { around.separator };
            parts.extend([around.after, value, separator]);
            if !is_needed {
                let through = builder.seq(parts.drain(..).rev());
                parts.push(builder.optional(through));
            }
        }
        let builder = self.builder();
        let tail = builder.seq(parts.into_iter().rev());
        let (open, close) = (builder.bytes("["), builder.bytes("]"));
        let full = builder.seq([open, around.open, tail, around.close, close]);
        if around.tight_if_empty && shape.min == 0 {
            let empty = builder.seq([open, close]);
            let nothing = shape.max == Some(0);
            return Ok(if nothing { empty } else { builder.alt([empty, full]) });
        }
        Ok(full)
    }

    /// The items after the prefix.
    fn rest(&mut self, shape: &ArrayShape, around: Around, depth: Depth) -> Result<ExprId> {
        let prefix = shape.prefix.len() as u32;
        let min = shape.min.saturating_sub(prefix);
        let max = shape.max.map(|max| max - prefix);
        if max == Some(0) {
            return Ok(if min == 0 { self.builder().empty() } else { self.builder().never() });
        }
        let value = self.value(shape.rest, depth)?;
        let builder = self.builder();
        let following = builder.seq([around.separator, value, around.after]);
        if prefix > 0 {
            return Ok(builder.repeat(following, min, max));
        }
        let more = builder.repeat(following, min.saturating_sub(1), max.map(|max| max - 1));
        let all = builder.seq([value, around.after, more]);
        Ok(if min > 0 || around.tight_if_empty { all } else { builder.optional(all) })
    }

    /// An array of which some items are counted: every item is of one variant for each set of counts that it is in.
    fn counted(&mut self, shape: &ArrayShape, around: Around, depth: Depth) -> Result<ExprId> {
        let mut parts = Parts::default();
        let separator = parts.add(around.separator);
        let places = shape.contains.iter().map(|count| count.from as usize).max().unwrap_or(0);
        let places = places.max(shape.prefix.len()).min(shape.max.unwrap_or(u32::MAX) as usize);
        let mut entries = Vec::with_capacity(places);
        for place in 0..places {
            let variants = self.counted_item(shape, place, around, depth, &mut parts)?;
            entries.push(Entry { key: None, required: (place as u32) < shape.min, variants });
        }
        let variants = self.counted_item(shape, places.max(shape.prefix.len()), around, depth, &mut parts)?;
        let others = if variants.is_empty() { Vec::new() } else { vec![Others { keys: None, variants }] };
        let mut counters = vec![Count { min: shape.min, max: shape.max }];
        if around.tight_if_empty {
            counters[0].min = counters[0].min.max(1);
        }
        counters.extend(shape.contains.iter().map(|count| Count { min: count.min, max: count.max }));
        let layout = List {
            order: Order::Sequence,
            separator,
            entries: entries.into(),
            others: others.into(),
            counters: counters.into(),
            implies: Box::default(),
            unique: false,
            escapes: Escapes::default(),
            track: Box::default(),
        };
        let may_be_empty = shape.min == 0 && shape.contains.iter().all(|count| count.min == 0);
        self.bracketed(("[", "]"), around, layout, parts, may_be_empty)
    }

    fn counted_item(
        &mut self,
        shape: &ArrayShape,
        place: usize,
        around: Around,
        depth: Depth,
        parts: &mut Parts,
    ) -> Result<Variants> {
        let item = shape.item(place);
        let counted = (1..).zip(&shape.contains).filter(|(_, count)| count.from as usize <= place);
        let conditions = counted.map(|(counter, count)| {
            let is_bounded = count.max.is_some();
            Condition { value: count.value, counter, is_bounded }
        });
        let Some(choices) = self.choices(item, conditions)? else {
            return Err(Error::unsupported("too many conditions of `contains` meet in one array"));
        };
        let mut variants = Variants::new();
        for Choice { value, counters } in choices {
            let value = self.value(value, depth)?;
            let part = self.builder().seq([value, around.after]);
            variants.push(Variant { value: parts.add(part), counters });
        }
        Ok(variants)
    }

    /// An array without repeats, as a list: of values that can be listed, and of strings.
    fn unique(&mut self, shape: &ArrayShape, around: Around) -> Result<ExprId> {
        if !shape.contains.is_empty() {
            return Err(Error::unsupported("uniqueItems beside `contains`"));
        }
        if shape.rest == FormulaId::NEVER {
            return self.distinct_tuples(shape, around);
        }
        if shape.prefix.iter().any(|&item| item != shape.rest) {
            return Err(Error::unsupported("uniqueItems beside items of different schemas"));
        }
        let set = self.set_of(shape.rest)?;
        let mut parts = Parts::default();
        let builder = self.builder();
        let empty = builder.empty();
        let separator = builder.seq([around.after, around.separator]);
        let (separator, nothing) = (parts.add(separator), parts.add(empty));
        let once = |key: Option<Box<str>>, value| Entry {
            key,
            required: false,
            variants: smallvec![Variant { value, counters: smallvec![0] }],
        };
        let mut entries = Vec::new();
        for text in listed_scalars(&set)? {
            let literal = self.builder().bytes(text);
            entries.push(once(None, parts.add(literal)));
        }
        let mut others = Vec::new();
        let spelling = self.expander.options.spelling;
        let escapes = match &set.texts {
            TextSet::Finite(texts) => {
                entries.extend(texts.iter().map(|text| once(Some(text.clone()), nothing)));
                spelling.key_escapes()
            }
            TextSet::Language { .. } => {
                let keys = self.written(&set.texts)?;
                let variants = smallvec![Variant { value: nothing, counters: smallvec![0] }];
                others.push(Others { keys: Some(parts.add(keys)), variants });
                spelling.text_escapes()
            }
        };
        let layout = List {
            order: Order::Any,
            separator,
            entries: entries.into(),
            others: others.into(),
            counters: Box::new([Count { min: shape.min.max(1), max: shape.max }]),
            implies: Box::default(),
            unique: true,
            escapes,
            track: Box::default(),
        };
        let builder = self.builder();
        let list = builder.members(layout, parts.0);
        let (open, close) = (builder.bytes("["), builder.bytes("]"));
        let full = builder.seq([open, around.open, list, around.after, around.close, close]);
        if shape.min > 0 {
            return Ok(full);
        }
        let inside = if around.tight_if_empty { empty } else { around.open };
        let bare = builder.seq([open, inside, close]);
        Ok(builder.alt([bare, full]))
    }
}

/// Arrays of a few items whose values can be listed, written out.
struct Tuples<'s> {
    shape: &'s ArrayShape,
    around: Around,
    /// The values of each place, as compact JSON, and how they are written.
    values: Vec<Vec<(String, ExprId)>>,
    left: usize,
}

impl Emitter<'_> {
    /// An array that ends with its prefix and has no value twice.
    fn distinct_tuples(&mut self, shape: &ArrayShape, around: Around) -> Result<ExprId> {
        if shape.prefix.len() > MAX_TUPLE {
            return Err(Error::unsupported(format!("uniqueItems of more than {MAX_TUPLE} items one by one")));
        }
        let mut values = Vec::with_capacity(shape.prefix.len());
        for &item in &shape.prefix {
            let set = self.set_of(item)?;
            let TextSet::Finite(texts) = &set.texts else {
                return Err(Error::unsupported("uniqueItems beside strings of different schemas"));
            };
            let escapes = self.expander.options.spelling.key_escapes();
            let mut listed = Vec::new();
            for text in listed_scalars(&set)? {
                let literal = self.builder().bytes(&text);
                listed.push((text, literal));
            }
            for text in texts.iter() {
                let builder = self.builder();
                let (quote, body) = (builder.bytes("\""), builder.bytes(&**text));
                let body = builder.json_text(body, escapes);
                listed.push((format!("\"{text}"), builder.seq([quote, body, quote])));
            }
            values.push(listed);
        }
        let mut tuples = Tuples { shape, around, values, left: MAX_LISTED };
        let items = self.tuple_from(&mut tuples, &mut Vec::new())?;
        let builder = self.builder();
        let (open, close) = (builder.bytes("["), builder.bytes("]"));
        let full = builder.seq([open, around.open, items, around.close, close]);
        if shape.min > 0 {
            return Ok(full);
        }
        let empty = builder.empty();
        let bare = builder.seq([open, if around.tight_if_empty { empty } else { around.open }, close]);
        Ok(builder.alt([bare, full]))
    }

    /// The items from the place after those that were used.
    fn tuple_from(&mut self, tuples: &mut Tuples<'_>, used: &mut Vec<String>) -> Result<ExprId> {
        let place = used.len();
        let mut alternatives = Vec::new();
        for (text, literal) in tuples.values[place].clone() {
            if used.contains(&text) {
                continue;
            }
            tuples.left = tuples.left.checked_sub(1).ok_or_else(|| {
                Error::unsupported(format!("uniqueItems of more than {MAX_LISTED} beginnings of arrays"))
            })?;
            used.push(text);
            let more = place + 1 < tuples.values.len();
            let mut tail = if more { self.tuple_from(tuples, used)? } else { self.builder().empty() };
            used.pop();
            let builder = self.builder();
            if more && place as u32 + 1 >= tuples.shape.min {
                tail = builder.optional(tail);
            }
            let separator = if place == 0 { builder.empty() } else { tuples.around.separator };
            alternatives.push(builder.seq([separator, literal, tuples.around.after, tail]));
        }
        Ok(self.builder().alt(alternatives))
    }
}

/// The shape with the bounds that its items imply.
fn settled(shape: &ArrayShape) -> ArrayShape {
    let mut shape = shape.clone();
    let blocked = shape.prefix.iter().position(|&item| item == FormulaId::NEVER);
    if let Some(place) = blocked {
        shape.prefix.truncate(place);
        shape.rest = FormulaId::NEVER;
    }
    if shape.rest == FormulaId::NEVER {
        shape.max = Some(shape.max.unwrap_or(u32::MAX).min(shape.prefix.len() as u32));
    }
    if let Some(max) = shape.max
        && (max as usize) < shape.prefix.len()
    {
        shape.prefix.truncate(max as usize);
    }
    shape
}

/// The values of a set other than strings, written out.
fn listed_scalars(set: &ValueSet) -> Result<Vec<String>> {
    if !set.arrays.is_empty() || !set.objects.is_empty() {
        return Err(Error::unsupported(
            "uniqueItems of arrays or objects that may run out, or be too many to tell",
        )
        .with_help("let the items have a part of which there is no end, such as a string"));
    }
    let mut listed = Vec::new();
    for (there, text) in [(set.null, "null"), (set.truth, "true"), (set.falsity, "false")] {
        if there {
            listed.push(text.to_owned());
        }
    }
    if !set.numbers.is_empty() {
        let Some(numbers) = set.numbers.listed(MAX_LISTED) else {
            return Err(Error::unsupported(format!(
                "uniqueItems of numbers that may run out, and are more than {MAX_LISTED} or hard to count"
            )));
        };
        listed.extend(numbers.iter().map(ToString::to_string));
    }
    Ok(listed)
}
