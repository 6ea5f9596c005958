//! Objects.
//!
//! A shape speaks of keys by name, by pattern, and of all others. Here the keys are sorted out: those with a name
//! become the entries of a list, and the others fall into regions by the patterns that they match, each with its value.

use std::rc::Rc;

use super::super::Purpose;
use super::super::values::formula::FormulaId;
use super::super::values::keys::{self, NameSet, Region};
use super::super::values::objects::{ObjectShape, Witness};
use super::Emitter;
use super::choices::{Choice, Condition};
use super::layout::Depth;
use super::styles::Tags;
use crate::error::{Error, Result};
use crate::ir::ExprId;
use crate::ir::members::{Count, Entry, Layout as List, Others, Part, Variant, Variants};
use crate::members::Conditions;

/// The parts of a list, as they come together.
#[derive(Default)]
pub(super) struct Parts(pub(super) Vec<ExprId>);

impl Parts {
    pub(super) fn add(&mut self, expr: ExprId) -> Part {
        self.0.push(expr);
        self.0.len() as Part - 1
    }
}

/// How the members of an object are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// As keys and values.
    Json,
    /// As tags.
    Tags(&'static Tags),
}

/// The key of a member that is written as a tag.
pub(super) enum Key<'n> {
    /// A name that the schema gives.
    Named(&'n str),
    /// Those of a language that are none of the names.
    Unlisted {
        /// The keys.
        language: ExprId,
        /// The names.
        names: &'n [&'n str],
    },
}

impl Emitter<'_> {
    pub(super) fn object(&mut self, shape: &ObjectShape, depth: Depth) -> Result<ExprId> {
        let around = {
            let layout = &self.layout;
            layout.around(&mut self.expander.algebra.languages.builder, depth)
        };
        let below = self.layout.below(depth);
        let colon = self.layout.colon(&mut self.expander.algebra.languages.builder, below);
        let text = Json { colon, after: around.after, depth: below };
        let (mut layout, parts) = self.members_in(shape, around.separator, Writing::Json(text))?;
        if around.tight_if_empty {
            layout.counters[0].min = layout.counters[0].min.max(1);
        }
        let may_be_empty = shape.min == 0 && shape.required.is_empty() && shape.witnesses.is_empty();
        self.bracketed(("{", "}"), around, layout, parts, may_be_empty)
    }

    /// The members of an object as a list of tags.
    pub(super) fn members_as_tags(
        &mut self,
        shape: &ObjectShape,
        separator: ExprId,
        tags: &'static Tags,
    ) -> Result<(List, Parts)> {
        self.members_in(shape, separator, Writing::Tags(tags))
    }

    fn members_in(
        &mut self,
        shape: &ObjectShape,
        separator: ExprId,
        writing: Writing,
    ) -> Result<(List, Parts)> {
        let regions = self.regions(shape)?;
        let (order, names) = self.order(shape, &regions)?;
        let mut list = Draft {
            parts: Parts::default(),
            writing,
            names: names.iter().cloned().collect(),
            named: None,
            keys: None,
        };
        let separator = list.parts.add(separator);
        let mut entries = Vec::with_capacity(names.len());
        for name in &names {
            entries.push(self.entry(shape, name, &mut list)?);
        }
        list.named = None;
        let mut others = Vec::new();
        for region in regions.iter() {
            others.extend(self.others(shape, region, &mut list)?);
        }
        let place = |name: &Rc<str>| names.get_index_of(name).map(|at| at as u32);
        let implies = shape.implies.iter().filter_map(|(a, b)| Some((place(a)?, place(b)?))).collect();
        let mut counters = vec![Count { min: shape.min, max: shape.max }];
        counters.extend(shape.witnesses.iter().map(|_| Count { min: 1, max: None }));
        let layout = List {
            order,
            separator,
            entries: entries.into(),
            others: others.into(),
            counters: counters.into(),
            implies,
            unique: true,
            escapes: self.expander.options.spelling.key_escapes(),
            track: Box::default(),
        };
        Ok((layout, list.parts))
    }

    /// Fails where it cannot be decided which members may come, or would take too long, which only compiling would find out.
    pub(super) fn check_decided(&mut self, layout: &List, parts: &Parts) -> Result<()> {
        let finds_out = self.expander.purpose == Purpose::Machine;
        if finds_out || layout.implies.is_empty() && layout.counters.len() < 2 {
            return Ok(());
        }
        let never = self.builder().never();
        let is_live = |part: Part| parts.0.get(part as usize).is_some_and(|&expr| expr != never);
        let endless = vec![None; layout.others.len()];
        Conditions::new(layout, &endless, &is_live, self.expander.algebra.languages.budget).map(drop)
    }

    /// A list between brackets.
    pub(super) fn bracketed(
        &mut self,
        (open, close): (&str, &str),
        around: super::layout::Around,
        layout: List,
        parts: Parts,
        may_be_empty: bool,
    ) -> Result<ExprId> {
        let layout = tidy(layout);
        self.check_decided(&layout, &parts)?;
        let builder = self.builder();
        let members = builder.members(layout, parts.0);
        let (open, close) = (builder.bytes(open), builder.bytes(close));
        let full = builder.seq([open, around.open, members, around.close, close]);
        if around.tight_if_empty && may_be_empty {
            let empty = builder.seq([open, close]);
            return Ok(builder.alt([empty, full]));
        }
        Ok(full)
    }

    pub(super) fn regions(&mut self, shape: &ObjectShape) -> Result<Rc<[Region]>> {
        if shape.has_just_its_required_keys() {
            return Ok(Rc::new([]));
        }
        let mut patterns = Vec::new();
        let all = shape.families.iter().map(|(keys, _)| keys);
        for keys in all.chain(shape.witnesses.iter().flat_map(Witness::keys)) {
            keys.mentions(&mut |_| (), &mut |pattern| {
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                }
            });
        }
        keys::regions(&patterns, &mut self.expander.algebra.languages)
    }

    fn entry(&mut self, shape: &ObjectShape, name: &Rc<str>, list: &mut Draft) -> Result<Entry> {
        let algebra = &mut self.expander.algebra;
        let value = shape.value_of(name, algebra)?;
        let excluded = self.expander.options.excludes.iter().any(|text| name.contains(text.as_str()));
        let value = if excluded { FormulaId::NEVER } else { value };
        let algebra = &mut self.expander.algebra;
        let mut witnesses = Vec::new();
        for (counter, witness) in (1..).zip(&shape.witnesses) {
            let value = witness.value_of(name, algebra)?;
            witnesses.push(Condition { value, counter, is_bounded: false });
        }
        list.named = Some(Rc::clone(name));
        let variants = self.variants(value, witnesses, list)?;
        let key = matches!(list.writing, Writing::Json(_)).then(|| (**name).into());
        Ok(Entry { key, required: shape.required.contains(name), variants })
    }

    fn others(&mut self, shape: &ObjectShape, region: &Region, list: &mut Draft) -> Result<Option<Others>> {
        let families = shape.families.iter().filter(|(keys, _)| keys.has_region(region));
        let said: Vec<FormulaId> = families.map(|(_, family)| *family).collect();
        if said.is_empty() && !shape.openness.says_others && self.leaves_out_unlisted(list.writing) {
            return Ok(None);
        }
        let value = self.expander.algebra.formulas.and_all(said);
        if value == FormulaId::NEVER {
            return Ok(None);
        }
        let algebra = &mut self.expander.algebra;
        let witnesses = (1..).zip(&shape.witnesses);
        let condition = |(counter, witness): (u32, &Witness)| {
            let value = witness.value_in(region, algebra);
            Condition { value, counter, is_bounded: false }
        };
        let witnesses = witnesses.map(condition).collect();
        let language = region.language(&mut self.expander.algebra.languages)?;
        let language = self.without_excluded(language);
        list.keys = Some(language);
        let variants = self.variants(value, witnesses, list)?;
        let json = matches!(list.writing, Writing::Json(_));
        let keys = if json { Some(list.parts.add(language)) } else { None };
        Ok((!variants.is_empty()).then_some(Others { keys, variants }))
    }

    /// Whether keys that nobody speaks of are left out: strict mode allows that, and some tags cannot be written with them.
    fn leaves_out_unlisted(&self, writing: Writing) -> bool {
        self.expander.options.strict_mode && matches!(writing, Writing::Tags(tags) if tags.closes_with_key())
    }

    /// The keys of a language that hold none of the excluded strings.
    fn without_excluded(&mut self, keys: ExprId) -> ExprId {
        let Some(free) = self.free else { return keys };
        let any = self.expander.algebra.languages.of_length(0, None);
        if keys == any { free } else { self.builder().and([keys, free]) }
    }

    /// The ways to write a value, by the witnesses that it bears out.
    fn variants(
        &mut self,
        value: FormulaId,
        witnesses: Vec<Condition>,
        list: &mut Draft,
    ) -> Result<Variants> {
        let Some(choices) = self.choices(value, witnesses)? else {
            let message = "too many conditions on the members of an object meet in one key";
            return Err(Error::unsupported(message));
        };
        let mut variants = Variants::new();
        for Choice { value, counters } in choices {
            let part = self.member(value, list)?;
            variants.push(Variant { value: list.parts.add(part), counters });
        }
        Ok(variants)
    }

    /// A member with a value of a formula: what comes after its key in JSON, the whole of it where it is a tag.
    fn member(&mut self, formula: FormulaId, list: &Draft) -> Result<ExprId> {
        match (list.writing, &list.named, list.keys) {
            (Writing::Json(json), ..) => {
                let expr = self.value(formula, json.depth)?;
                Ok(self.builder().seq([json.colon, expr, json.after]))
            }
            (Writing::Tags(tags), Some(name), _) => self.member_as_tag(&Key::Named(name), formula, tags),
            (Writing::Tags(tags), None, Some(language)) => {
                let names: Vec<&str> = list.names.iter().map(|name| &**name).collect();
                self.member_as_tag(&Key::Unlisted { language, names: &names }, formula, tags)
            }
            (Writing::Tags(_), None, None) => Ok(self.builder().never()),
        }
    }
}

/// What stands around the values of an object in JSON.
#[derive(Clone, Copy)]
struct Json {
    colon: ExprId,
    after: ExprId,
    depth: Depth,
}

/// How the members of a list are written.
#[derive(Clone, Copy)]
enum Writing {
    Json(Json),
    Tags(&'static Tags),
}

/// A list of keys and values that is being put together.
struct Draft {
    parts: Parts,
    writing: Writing,
    /// All names of the list.
    names: Vec<Rc<str>>,
    /// The name of the member that is being written, if it has one.
    named: Option<Rc<str>>,
    /// The keys of the members that are being written, if they have no names.
    keys: Option<ExprId>,
}

/// The same list without counters that can never be missed.
fn tidy(mut layout: List) -> List {
    let idle = |count: &Count| count.min == 0 && count.max.is_none();
    if layout.counters.first().is_some_and(idle) && layout.counters.len() == 1 {
        layout.counters = Box::default();
        let variants = layout.entries.iter_mut().flat_map(|entry| entry.variants.iter_mut());
        let others = layout.others.iter_mut().flat_map(|others| others.variants.iter_mut());
        variants.chain(others).for_each(|variant| variant.counters.clear());
    }
    layout
}

/// All keys that somebody names, the declared ones first and in order.
pub(in super::super) fn names(shape: &ObjectShape) -> NameSet {
    let mut names: NameSet = shape.named.keys().map(Rc::clone).collect();
    let mut add = |name: &Rc<str>| {
        if !names.contains(name) {
            names.insert(Rc::clone(name));
        }
    };
    shape.required.iter().for_each(&mut add);
    for (first, second) in &shape.implies {
        add(first);
        add(second);
    }
    let all = shape.families.iter().map(|(keys, _)| keys);
    for keys in all.chain(shape.witnesses.iter().flat_map(Witness::keys)) {
        keys.mentions(&mut add, &mut |_| ());
    }
    names
}
