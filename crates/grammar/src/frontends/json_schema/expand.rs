//! From formulas to sets: what a formula admits, one level deep.
//!
//! A schema is the conjunction of its keywords. A keyword narrows the set, or, where it applies other schemas to the
//! same value (`allOf`, `$ref`, `if`), has those expanded in turn and joins the results by algebra. Schemas of
//! properties and items are only named. So an expansion goes as deep as references and applicators nest without a
//! container in between; that depth is checked, and a circle of them is an error that names it.

mod certainty;
mod emptiness;
mod operands;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use emptiness::{EMPTINESS_DEPTH, EMPTINESS_FUEL};

use super::diagnosis::Relaxed;
pub(super) use operands::Operand;

use super::documents::{Documents, Draft, Json, Located, Object, Repeat, ResourceId, SchemaId, Step};
use super::keywords;
use super::report::{Finding, Outcome, Report};
use super::values::arrays::ArrayShape;
use super::values::formula::{ConstantId, Formula, FormulaId, Formulas};
use super::values::keys::Keys;
use super::values::languages::Languages;
use super::values::numbers::float_text;
use super::values::numbers::{Decimal, NumberSet};
use super::values::objects::ObjectShape;
use super::values::texts::TextSet;
use super::values::{Algebra, ValueSet};
use super::{OnUnsupported, Options, Purpose, Spelling, formats};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::regex::{self, Syntax};
use crate::ir::{Builder, ExprId};
use crate::limits::Budget;

/// Applicators and references may nest so deep without a container in between.
const MAX_DEPTH: usize = 256;

/// So many combinations of schemas are expanded in one conversion.
const MAX_JOINT: usize = 5_000;

/// So many references to references are followed at once. A circle of them is found where it is expanded.
const MAX_REFERENCES: usize = MAX_DEPTH;

/// What a report says where numbers are met that canonical spelling does not write.
const GIVEN_UP: &str = "canonical: a whole number has at most 309 digits; where not all are whole, a number has at most 21 \
    digits before the point and 22 behind it, or a digit before and 16 behind it and the exponent of a double";

/// How errors begin that say that a schema has no value.
pub(super) const NO_VALUE: &str = "no value satisfies the schema";

/// How errors begin that say that a schema has values, of which none can be written.
pub(super) const UNWRITTEN: &str = "no value can be written";

/// So many schemas are expected: most have no more.
const EXPECTED: usize = 28;

/// One schema object, as its keywords see it.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'d> {
    /// Where it is.
    pub at: Located,
    /// Its keywords and their values.
    pub json: &'d Json<'d>,
    /// The draft that it is written in.
    pub draft: Draft,
}

/// A type, the resource that it is named in, and the formula of the first schema that names it.
type TypedSchema<'b> = ((&'b str, ResourceId), FormulaId);

/// Expands the formulas of one conversion.
#[derive(Debug)]
pub struct Expander<'b> {
    /// The schemas.
    pub documents: Documents<'b>,
    /// Formulas and languages.
    pub algebra: Algebra<'b>,
    /// How to read the schema.
    pub options: &'b Options,
    /// What was found on the way.
    pub findings: Vec<Finding>,
    /// The schemas that were met again at another place, and are found there too.
    pub repeats: FxHashMap<SchemaId, Repeat>,
    /// Whether anybody asks for that, and for what only compiling would refuse.
    pub purpose: Purpose,
    /// Whether it matters which keys and items were evaluated.
    pub tracks_evaluated: bool,
    /// What is left out, where this is a question and not a conversion.
    pub relaxed: Option<Rc<Relaxed>>,
    /// Every value, to begin with.
    everything: ValueSet,
    constants: Vec<&'b Json<'b>>,
    /// The schemas that only name a type, by the type and the resource that they are in; where those are one.
    typed: Option<Vec<TypedSchema<'b>>>,
    expanded: FxHashMap<FormulaId, Rc<ValueSet>>,
    /// The formulas that admit more than they should, because a keyword was left out on request.
    loose: FxHashSet<FormulaId>,
    /// How often a keyword was left out, or something was looked at of which one is.
    left_out: usize,
    open: FxHashSet<FormulaId>,
    empty: FxHashMap<FormulaId, bool>,
    reported: FxHashSet<(Located, &'static str)>,
    /// The schema that something was last noted of, and its pointer.
    noted: Option<(SchemaId, Arc<str>)>,
    /// The languages of patterns, or why there is none: it may be asked for again.
    patterns: HashMap<Box<str>, Result<ExprId>>,
    formats: Vec<(&'static str, TextSet)>,
    /// What is to be said if no value can be written: the first strings of which there are none, though more are meant.
    pub unwritten: Option<Error>,
    /// The last such, until it has its place in the report.
    pub emptied: Option<Error>,
    /// Whether numbers were met that canonical spelling does not write.
    pub gives_up: bool,
    /// The whole numbers that a schema lists with a point or an exponent, and how Python writes them then.
    pub listed_floats: BTreeMap<Decimal, Box<str>>,
    conflict: Option<(Located, &'static str)>,
    /// Whether the last error was a formula that needs itself.
    circled: bool,
    /// How many more formulas are looked into for whether they are empty.
    fuel: usize,
    /// How many combinations of schemas were expanded.
    joint: usize,
    /// The schemas that are combined, each with how it is closed and ordered; none where there is one schema.
    pub(super) operands: Vec<Operand>,
}

impl<'b> Expander<'b> {
    /// Nothing expanded yet.
    pub fn new(documents: Documents<'b>, options: &'b Options, builder: Builder, budget: &'b Budget) -> Self {
        let tracks_evaluated = options.strict_mode || documents.mentions_unevaluated();
        Expander {
            documents,
            algebra: Algebra {
                formulas: Formulas::new(),
                languages: Languages::new(builder, budget),
                cost: 0,
                closes: options.strict_mode,
                orders: !options.any_order,
            },
            options,
            findings: Vec::new(),
            repeats: FxHashMap::default(),
            purpose: Purpose::Report,
            tracks_evaluated,
            relaxed: None,
            everything: ValueSet::any(),
            constants: Vec::new(),
            typed: None,
            expanded: FxHashMap::with_capacity_and_hasher(EXPECTED, FxBuildHasher),
            loose: FxHashSet::default(),
            left_out: 0,
            open: FxHashSet::default(),
            empty: FxHashMap::default(),
            reported: FxHashSet::default(),
            noted: None,
            patterns: HashMap::new(),
            formats: Vec::new(),
            unwritten: None,
            emptied: None,
            gives_up: false,
            listed_floats: BTreeMap::new(),
            conflict: None,
            circled: false,
            fuel: EMPTINESS_FUEL,
            joint: 0,
            operands: Vec::new(),
        }
    }

    /// Every value. Its empty parts are shared by all that begin with it.
    pub fn everything(&self) -> ValueSet {
        self.everything.clone()
    }

    /// The formula of the schema at a place. One that only refers to another has the formula of that one.
    pub fn formula_of(&mut self, at: Located) -> FormulaId {
        let mut at = at;
        for _ in 0..MAX_REFERENCES {
            match self.documents.json(at.schema) {
                Json::Bool(true) => return FormulaId::ANY,
                Json::Bool(false) => return FormulaId::NEVER,
                Json::Object(members) if members.is_empty() => return FormulaId::ANY,
                Json::Object(members) => {
                    if let Some(formula) = self.typed(at, members) {
                        return formula;
                    }
                    at = self.alike(at);
                    let Some(target) = self.only_target(at, members) else { break };
                    self.note(at, keywords::REFERENCE, Outcome::Exact, "");
                    at = target;
                }
                _ => break,
            }
        }
        self.algebra.formulas.intern(Formula::Schema(at))
    }

    /// From now on schemas that only name the same type are one. The place of such a schema then tells nothing.
    pub fn share_types(&mut self) {
        self.typed = Some(Vec::new());
    }

    /// The formula of a schema that names a type and says nothing else, where such are one: that of the first one that did.
    fn typed(&mut self, at: Located, members: &'b Object<'b>) -> Option<FormulaId> {
        let known = self.typed.as_mut()?;
        let key = (keywords::only_type(members)?, self.documents.resource_id(at.schema));
        if let Some((_, formula)) = known.iter().find(|(other, _)| *other == key) {
            return Some(*formula);
        }
        let formula = self.algebra.formulas.intern(Formula::Schema(at));
        known.push((key, formula));
        Some(formula)
    }

    /// What a schema refers to, where it says nothing else. A reference that leads nowhere is an error where its schema is
    /// expanded.
    fn only_target(&mut self, at: Located, members: &Object<'_>) -> Option<Located> {
        let reference = keywords::only_reference(members, self.documents.draft(at.schema))?;
        self.documents.follow(at, reference).ok()
    }

    /// The schema that stands for all that mean the same.
    fn alike(&mut self, again: Located) -> Located {
        let Some((first, content)) = self.documents.first_alike(again, keywords::says) else { return again };
        if self.purpose == Purpose::Report {
            self.repeats.insert(again.schema, Repeat { content, again: again.schema, first: first.schema });
        }
        first
    }

    /// The formula of the schema that is the value of a keyword.
    pub fn child(&mut self, schema: &Schema<'_>, keyword: &str) -> Result<FormulaId> {
        self.descend(schema, &[Step::Key(keyword)])
    }

    /// The formula of a schema in the list or the object that is the value of a keyword.
    pub fn child_at<'s>(
        &mut self,
        schema: &Schema<'_>,
        keyword: &'s str,
        step: impl Into<Step<'s>>,
    ) -> Result<FormulaId> {
        self.descend(schema, &[Step::Key(keyword), step.into()])
    }

    fn descend(&mut self, schema: &Schema<'_>, steps: &[Step<'_>]) -> Result<FormulaId> {
        let Some(child) = self.documents.descend(schema.at.schema, steps) else {
            return Err(Error::new(ErrorKind::Invalid, "there is no schema"));
        };
        let json = self.documents.json(child);
        if self.is_relaxed(json) {
            return Ok(FormulaId::ANY);
        }
        if !json.is_schema() {
            let message = format!("a schema is an object or a boolean, not {}", json.type_name());
            return Err(
                Error::new(ErrorKind::Invalid, message).at(Place::Pointer(self.documents.pointer(child)))
            );
        }
        let at = self.documents.locate(child, schema.at.scope)?;
        Ok(self.formula_of(at))
    }

    /// The formula of one JSON value.
    pub fn constant(&mut self, value: &'b Json<'b>) -> FormulaId {
        let id = ConstantId(self.constants.len() as u32);
        self.constants.push(value);
        self.algebra.formulas.intern(Formula::Constant(id))
    }

    /// What a formula admits.
    pub fn expand(&mut self, id: FormulaId) -> Result<Rc<ValueSet>> {
        if let Some(set) = self.expanded.get(&id) {
            self.left_out += usize::from(self.loose.contains(&id));
            return Ok(Rc::clone(set));
        }
        self.algebra.languages.budget.tick()?;
        if self.open.contains(&id) {
            self.circled = true;
            return Err(self.circle(id));
        }
        if matches!(self.algebra.formulas.get(id), Formula::And(_) | Formula::Or(_) | Formula::Not(_)) {
            self.joint += 1;
            if self.joint > MAX_JOINT {
                let message = format!("the schemas combine with each other in more than {MAX_JOINT} ways");
                return Err(Error::new(ErrorKind::Limit, message).with_help(
                    "schemas that refer to each other under allOf and not multiply; write them apart",
                ));
            }
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!(
                "references and keywords such as allOf are nested more than {MAX_DEPTH} deep at one value"
            );
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("put into one schema what is said of one value, or refer to it directly"));
        }
        self.open.insert(id);
        let left_out = self.left_out;
        let set = self.compute(id);
        self.open.remove(&id);
        let set = Rc::new(set?);
        if self.left_out > left_out {
            self.loose.insert(id);
        }
        if let Some(text) = set.only_text() {
            self.algebra.formulas.note_text(id, text);
        }
        self.expanded.insert(id, Rc::clone(&set));
        Ok(set)
    }

    fn circle(&self, id: FormulaId) -> Error {
        let error = Error::new(ErrorKind::Invalid, "the schema applies itself to the same value without end");
        match self.algebra.formulas.get(id) {
            Formula::Schema(at) => error.at(Place::Pointer(self.documents.pointer(at.schema))),
            _ => error,
        }
        .with_help("a reference back to itself needs a property or an item in between")
    }

    fn compute(&mut self, id: FormulaId) -> Result<ValueSet> {
        match self.algebra.formulas.get(id).clone() {
            Formula::Any => Ok(ValueSet::any()),
            Formula::Never => Ok(ValueSet::never()),
            Formula::Schema(at) => self.schema_set(at),
            Formula::Constant(id) => {
                let value = self.constants[id.0 as usize];
                self.constant_set(value)
            }
            Formula::And(items) => {
                let (first, rest) = self.known_part(&items);
                let mut set = (*self.expand(first)?).clone();
                for &item in rest {
                    let other = self.expand(item)?;
                    set = set.intersect(&other, &mut self.algebra)?;
                }
                if !self.operands.is_empty() {
                    self.check_numbers(&items, &set)?;
                }
                self.prune(&mut set)?;
                Ok(set)
            }
            Formula::Or(items) => {
                let mut set = ValueSet::never();
                for &item in &items {
                    let other = self.expand(item)?;
                    set = set.unite(&other, &mut self.algebra)?;
                }
                Ok(set)
            }
            Formula::Not(item) => {
                let inner = self.expand(item)?;
                if self.is_loose(item) {
                    return Err(Error::unsupported("the complement of what is enforced only in part"));
                }
                let mut set = inner.complement(&mut self.algebra)?;
                self.prune(&mut set)?;
                Ok(set)
            }
            Formula::Operand(item, operand) => self.operand_set(item, operand),
        }
    }

    /// A formula that is expanded already and stands for the first items of a conjunction, and the items that are left. Where
    /// `if` follows `if`, each conjunction is one before it and one item more.
    fn known_part<'i>(&self, items: &'i [FormulaId]) -> (FormulaId, &'i [FormulaId]) {
        let (before, last) = items.split_at(items.len() - 1);
        let known = (before.len() > 1).then(|| self.algebra.formulas.known_conjunction(before)).flatten();
        match known.filter(|known| self.expanded.contains_key(known)) {
            Some(known) => (known, last),
            None => (items[0], &items[1..]),
        }
    }

    fn schema_set(&mut self, at: Located) -> Result<ValueSet> {
        let json = self.documents.json(at.schema);
        match json {
            Json::Bool(true) => Ok(ValueSet::any()),
            Json::Bool(false) => Ok(ValueSet::never()),
            Json::Object(_) => {
                let schema = Schema { at, json, draft: self.documents.draft(at.schema) };
                keywords::conjunction(self, &schema)
            }
            _ => Err(Error::new(ErrorKind::Invalid, "a schema is an object or a boolean")
                .at(Place::Pointer(self.documents.pointer(at.schema)))),
        }
    }

    /// The set of one JSON value, its parts as formulas.
    pub fn constant_set(&mut self, value: &'b Json<'b>) -> Result<ValueSet> {
        let mut set = ValueSet::never();
        match value {
            Json::Null => set.null = true,
            Json::Bool(true) => set.truth = true,
            Json::Bool(false) => set.falsity = true,
            Json::Number(text) => set.numbers = NumberSet::exactly(&self.listed_number(text)?),
            Json::String(text) => {
                set.texts = TextSet::Finite(Rc::new(std::iter::once((&**text).into()).collect()));
            }
            Json::Array(items) => {
                let prefix: Vec<FormulaId> = items.iter().map(|item| self.constant(item)).collect();
                let count = prefix.len() as u32;
                let mut shape = ArrayShape::any();
                (shape.prefix, shape.rest, shape.min, shape.max) =
                    (prefix, FormulaId::NEVER, count, Some(count));
                shape.says_rest = true;
                set.arrays = vec![shape];
            }
            Json::Object(members) => {
                let mut shape = ObjectShape::any();
                for (name, value) in members.iter() {
                    let name: Rc<str> = Rc::from(name);
                    let value = self.constant(value);
                    shape.narrow_named(&name, value, &mut self.algebra);
                    shape.require(&name);
                }
                shape.max = Some(members.len() as u32);
                shape.openness.says_others = true;
                set.objects = vec![shape];
            }
        }
        Ok(set)
    }

    /// The number that a schema lists so.
    pub fn listed_number(&mut self, text: &str) -> Result<Decimal> {
        let value = Decimal::parse(text)?;
        let is_float = text.contains(['.', 'e', 'E']) && value.is_integer();
        if is_float
            && self.options.spelling == Spelling::Canonical
            && let Some(written) = float_text(text)
        {
            self.listed_floats.insert(value.clone(), written.into());
        }
        Ok(value)
    }

    /// What is left of a shape of objects when another is taken out of it.
    pub fn without_object(&mut self, shape: &ObjectShape, other: &ObjectShape) -> Result<Vec<ObjectShape>> {
        if self.are_told_apart(shape, other)? {
            return Ok(vec![shape.clone()]);
        }
        self.algebra.count_pair(shape.parts() + other.parts())?;
        let both = shape.intersect(other, &mut self.algebra);
        let mut common = ValueSet { objects: vec![both], ..ValueSet::never() };
        self.prune(&mut common)?;
        if self.is_nothing(&common)? {
            return Ok(vec![shape.clone()]);
        }
        let mut left = Vec::new();
        for way in other.complement(&mut self.algebra)? {
            if self.is_implied(shape, &way)? {
                return Ok(vec![shape.clone()]);
            }
            self.algebra.count_pair(shape.parts())?;
            let both = shape.intersect(&way, &mut self.algebra);
            left.extend(self.settled_object(both, EMPTINESS_DEPTH)?);
        }
        Ok(left)
    }

    /// Whether a key that one of two shapes asks for has no value that both allow. That is how alternatives are mostly told
    /// apart, and it is seen without putting both together.
    fn are_told_apart(&mut self, one: &ObjectShape, other: &ObjectShape) -> Result<bool> {
        for name in one.required.iter().chain(other.required.iter()) {
            let value = one.value_of(name, &mut self.algebra)?;
            let other_value = other.value_of(name, &mut self.algebra)?;
            let is_apart = if let Some(known) = self.are_plainly_apart(value, other_value)? {
                known
            } else {
                let both = self.algebra.formulas.and(value, other_value);
                self.is_empty_to(both, EMPTINESS_DEPTH)?
            };
            if is_apart {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether two formulas have nothing in common, where that is plain. There may be many pairs of them, too many to give each
    /// conjunction a formula.
    fn are_plainly_apart(&mut self, one: FormulaId, other: FormulaId) -> Result<Option<bool>> {
        // A look at each by itself, once: what can be expanded is expanded then.
        for formula in [one, other] {
            if self.is_empty_to(formula, EMPTINESS_DEPTH)? {
                return Ok(Some(true));
            }
        }
        match (self.expanded.get(&one), self.expanded.get(&other)) {
            (Some(one), Some(other)) => one.is_plainly_apart_from(other, self.algebra.languages.budget),
            _ => Ok(None),
        }
    }

    /// Whether every object of a shape is without a key that `way` is without; other ways are not looked at.
    fn is_implied(&mut self, shape: &ObjectShape, way: &ObjectShape) -> Result<bool> {
        let forbids_one = way.named.len() == 1 && way.required.is_empty() && way.witnesses.is_empty();
        let Some((name, &FormulaId::NEVER)) = way.named.first().filter(|_| forbids_one) else {
            return Ok(false);
        };
        let value = shape.value_of(name, &mut self.algebra)?;
        self.is_empty_to(value, EMPTINESS_DEPTH)
    }

    /// Whether anybody is to read what is noted.
    pub fn is_reporting(&self) -> bool {
        self.purpose == Purpose::Report
    }

    /// Notes something about a name of a schema that is no keyword.
    pub fn note_name(&mut self, at: Located, name: &str, note: String) {
        let (pointer, keyword) = (self.documents.shared_pointer(at.schema), Cow::Owned(name.to_owned()));
        let finding = Finding { pointer, keyword, outcome: Outcome::Annotation, note: note.into() };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Notes what became of a keyword, once.
    pub fn note(
        &mut self,
        at: Located,
        keyword: &'static str,
        outcome: Outcome,
        note: impl Into<Cow<'static, str>>,
    ) {
        if self.purpose == Purpose::Report && self.reported.insert((at, keyword)) {
            // The keywords of a schema follow each other, mostly.
            let pointer = match &self.noted {
                Some((schema, pointer)) if *schema == at.schema => Arc::clone(pointer),
                _ => self.documents.shared_pointer(at.schema),
            };
            self.noted = Some((at.schema, Arc::clone(&pointer)));
            self.findings.push(Finding { pointer, keyword: keyword.into(), outcome, note: note.into() });
        }
    }

    /// Takes note that a part of the schema has values, and that none of them can be written.
    pub fn cannot_write(&mut self, error: Error) {
        self.unwritten.get_or_insert_with(|| error.clone());
        self.emptied = Some(error);
    }

    /// Writes into the report where no value can be written.
    pub fn note_emptied(&mut self, error: &Error) {
        if self.purpose == Purpose::Report
            && let Place::Pointer(pointer) = error.place()
        {
            let (pointer, note) = (Arc::from(&**pointer), error.message().to_owned().into());
            let finding = Finding { pointer, keyword: "spelling".into(), outcome: Outcome::Narrowed, note };
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }

    /// What became of the keywords that were met.
    pub fn into_report(mut self) -> Report {
        let mut repeats: Vec<Repeat> = self.repeats.into_values().collect();
        repeats.sort_unstable();
        let mut pointer = |schema: SchemaId| self.documents.shared_pointer(schema);
        let repeats = repeats.iter().map(|repeat| (pointer(repeat.first), pointer(repeat.again)));
        let repeats = repeats.collect();
        let spelling = self.options.spelling;
        let (outcome, note) = match (spelling, self.gives_up) {
            (Spelling::Canonical, true) => (Outcome::Narrowed, GIVEN_UP.into()),
            _ => (Outcome::Exact, spelling.name().into()),
        };
        let spelling = Finding { pointer: "".into(), keyword: "spelling".into(), outcome, note };
        Report::new(self.findings, repeats, spelling)
    }

    /// Whether an expanded formula admits more than it should, because a keyword was left out on request.
    pub fn is_loose(&self, id: FormulaId) -> bool {
        self.loose.contains(&id)
    }

    /// Takes note that a keyword is left out of a set. Nobody knows what it would have evaluated, nor whether it would have
    /// listed keys or items, so that the set stays open.
    pub fn leave_out(&mut self, set: &mut ValueSet) {
        self.left_out += 1;
        for shape in &mut set.objects {
            shape.evaluated.push(Keys::all());
            shape.openness.says_others = true;
        }
        for shape in &mut set.arrays {
            shape.evaluated.all = true;
            shape.says_rest = true;
        }
    }

    /// Whether the value of a keyword, or a schema, is left out of a question.
    pub fn is_relaxed(&self, json: &Json<'_>) -> bool {
        self.relaxed.as_ref().is_some_and(|relaxed| relaxed.has(json))
    }

    /// Whether what cannot be exact is left out with a warning.
    pub fn widens(&self) -> bool {
        self.options.on_unsupported == OnUnsupported::Warn
    }

    /// Narrows a set to what a formula admits.
    pub fn narrow(&mut self, set: &mut ValueSet, formula: FormulaId) -> Result<()> {
        if formula == FormulaId::ANY {
            return Ok(());
        }
        let other = self.expand(formula)?;
        if *set == self.everything {
            *set = (*other).clone();
            return Ok(());
        }
        self.narrow_to(set, &other)
    }

    /// Narrows a set to what it has in common with another.
    pub fn narrow_to(&mut self, set: &mut ValueSet, other: &ValueSet) -> Result<()> {
        *set = set.intersect(other, &mut self.algebra)?;
        self.prune(set)
    }

    /// Narrows the strings of a set.
    pub fn narrow_texts(&mut self, set: &mut ValueSet, texts: &TextSet) -> Result<()> {
        if !set.texts.is_never() {
            set.texts = set.texts.intersect(texts, &mut self.algebra.languages)?;
        }
        Ok(())
    }

    /// What two formulas have in common, with what both have evaluated.
    pub fn both(&mut self, left: FormulaId, right: FormulaId) -> Result<ValueSet> {
        let mut set = (*self.expand(left)?).clone();
        self.narrow(&mut set, right)?;
        Ok(set)
    }

    /// The language of the strings in which a pattern matches some part.
    pub fn pattern(&mut self, pattern: &str) -> Result<ExprId> {
        if let Some(known) = self.patterns.get(pattern) {
            return known.clone();
        }
        let languages = &mut self.algebra.languages;
        let found = regex::parse_named(pattern, &Syntax::search(), &mut languages.builder, languages.budget)
            .map_err(|error| Error::new(error.kind(), format!("the regex {pattern:?}: {}", error.message())));
        if found.is_err() {
            // Who wanted to stop, or has no time left, is told so; what is remembered is said again.
            languages.budget.check()?;
        }
        let found = found.map(|(expr, source)| {
            languages.name(expr, source);
            expr
        });
        self.patterns.insert(pattern.into(), found.clone());
        found
    }

    /// The texts of a format, where the format is known.
    pub fn format(&mut self, name: &str) -> Option<Result<TextSet>> {
        let format = formats::find(name)?;
        if let Some((_, texts)) = self.formats.iter().find(|(known, _)| *known == format.name) {
            return Some(Ok(texts.clone()));
        }
        let languages = &mut self.algebra.languages;
        let expr = formats::language(name, &mut languages.builder, languages.budget)?;
        Some(expr.and_then(|expr| {
            if self.options.spelling == Spelling::Canonical
                && let Some(brief) = formats::brief(name, &mut languages.builder, languages.budget)
            {
                languages.known.brief.insert(expr, brief?);
            }
            let texts = TextSet::of_format(expr, format.wider, languages);
            self.formats.push((format.name, texts.clone()));
            Ok(texts)
        }))
    }

    /// Whether the branches that hold together must be told apart from each of them alone.
    pub fn combines_branches(&self) -> bool {
        self.documents.mentions_unevaluated()
    }

    /// Remembers the keyword that first left no value.
    pub fn note_conflict(&mut self, at: Located, keyword: &'static str) {
        self.conflict.get_or_insert((at, keyword));
    }

    /// The error of a schema that no value satisfies, whose set this is.
    pub fn no_value(&mut self, set: &ValueSet) -> Result<Error> {
        let error = |why: &str| Error::new(ErrorKind::Invalid, format!("{NO_VALUE}{why}"));
        let root = Place::Pointer(String::new());
        if let Some((at, keyword)) = self.conflict {
            let members = self.documents.json(at.schema).as_object();
            let is_alone = members.is_some_and(|members| {
                members.iter().all(|(name, _)| name == keyword || !keywords::says(name))
            });
            let why = if is_alone { "admits none" } else { "contradicts what stands beside it" };
            let pointer = self.documents.pointer(at.schema);
            let place = Place::Pointer(format!("{pointer}/{keyword}"));
            return Ok(error(&format!(": {keyword:?} {why}")).at(place));
        }
        for shape in &set.objects {
            for name in shape.required.iter() {
                let value = shape.value_of(name, &mut self.algebra)?;
                if self.is_empty_to(value, EMPTINESS_DEPTH)? {
                    let why = format!(": the key {name:?} is required, and no value of it is allowed");
                    return Ok(error(&why).at(root));
                }
            }
        }
        Ok(error("").at(root))
    }
}
