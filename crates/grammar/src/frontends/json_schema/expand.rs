//! From formulas to sets: what a formula admits, one level deep.
//!
//! A schema is the conjunction of its keywords. A keyword narrows the set, or, where it applies other schemas to the
//! same value (`allOf`, `$ref`, `if`), has those expanded in turn and joins the results by algebra. Schemas of
//! properties and items are only named. So an expansion goes as deep as references and applicators nest without a
//! container in between; that depth is checked, and a circle of them is an error that names it.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::documents::{Documents, Draft, Json, Located, SchemaId, Step};
use super::keywords;
use super::report::{Finding, Outcome};
use super::values::arrays::ArrayShape;
use super::values::formula::{ConstantId, Formula, FormulaId, Formulas};
use super::values::keys::Keys;
use super::values::numbers::{Decimal, NumberSet};
use super::values::objects::{ObjectShape, Witness};
use super::values::texts::{Languages, TextSet};
use super::values::{self, Algebra, ValueSet};
use super::{OnUnsupported, Options, formats};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::regex::{self, Syntax};
use crate::ir::{Builder, ExprId};
use crate::limits::Budget;

/// Applicators and references may nest so deep without a container in between.
const MAX_DEPTH: usize = 256;

/// Emptiness is looked for so deep into containers; what lies deeper counts as inhabited.
const EMPTINESS_DEPTH: usize = 6;

/// So many combinations of schemas are expanded in one conversion.
const MAX_JOINT: usize = 5_000;

/// So many formulas of a conversion are looked into; after that they count as inhabited.
const EMPTINESS_FUEL: usize = 20_000;

/// So many schemas are expected: most have no more.
const EXPECTED: usize = 28;

/// What became of a condition that some member must bear out.
enum Settled {
    /// A member that is there in any case does.
    Borne,
    /// No member can.
    Impossible,
    /// Only the member of this key can, with this value.
    Key(Rc<str>, FormulaId),
    /// Nobody knows yet.
    Open(Witness),
}

/// One schema object, as its keywords see it.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'d> {
    /// Where it is.
    pub at: Located,
    /// Its keywords and their values.
    pub json: &'d Json,
    /// The draft that it is written in.
    pub draft: Draft,
}

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
    /// Whether it matters which keys and items were evaluated.
    pub tracks_evaluated: bool,
    /// Every value, to begin with.
    everything: ValueSet,
    constants: Vec<&'b Json>,
    expanded: FxHashMap<FormulaId, Rc<ValueSet>>,
    open: FxHashSet<FormulaId>,
    empty: FxHashMap<FormulaId, bool>,
    reported: FxHashSet<(Located, &'static str)>,
    /// The schema that something was last noted of, and its pointer.
    noted: Option<(SchemaId, Arc<str>)>,
    patterns: HashMap<Box<str>, ExprId>,
    formats: Vec<(&'static str, ExprId)>,
    conflict: Option<(Located, &'static str)>,
    /// Whether the last error was a formula that needs itself.
    circled: bool,
    /// How many more formulas are looked into for whether they are empty.
    fuel: usize,
    /// How many combinations of schemas were expanded.
    joint: usize,
}

impl<'b> Expander<'b> {
    /// Nothing expanded yet.
    pub fn new(documents: Documents<'b>, options: &'b Options, builder: Builder, budget: &'b Budget) -> Self {
        let tracks_evaluated = options.strict_mode || documents.mentions_unevaluated();
        Expander {
            documents,
            algebra: Algebra { formulas: Formulas::new(), languages: Languages::new(builder, budget) },
            options,
            findings: Vec::with_capacity(EXPECTED),
            tracks_evaluated,
            everything: ValueSet::any(),
            constants: Vec::new(),
            expanded: FxHashMap::with_capacity_and_hasher(EXPECTED, FxBuildHasher),
            open: FxHashSet::default(),
            empty: FxHashMap::default(),
            reported: FxHashSet::with_capacity_and_hasher(2 * EXPECTED, FxBuildHasher),
            noted: None,
            patterns: HashMap::new(),
            formats: Vec::new(),
            conflict: None,
            circled: false,
            fuel: EMPTINESS_FUEL,
            joint: 0,
        }
    }

    /// Every value. Its empty parts are shared by all that begin with it.
    pub fn everything(&self) -> ValueSet {
        self.everything.clone()
    }

    /// The formula of the schema at a place.
    pub fn formula_of(&mut self, at: Located) -> FormulaId {
        match self.documents.json(at.schema) {
            Json::Bool(true) => FormulaId::ANY,
            Json::Bool(false) => FormulaId::NEVER,
            Json::Object(members) if members.is_empty() => FormulaId::ANY,
            _ => self.algebra.formulas.intern(Formula::Schema(at)),
        }
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
    pub fn constant(&mut self, value: &'b Json) -> FormulaId {
        let id = ConstantId(self.constants.len() as u32);
        self.constants.push(value);
        self.algebra.formulas.intern(Formula::Constant(id))
    }

    /// What a formula admits.
    pub fn expand(&mut self, id: FormulaId) -> Result<Rc<ValueSet>> {
        if let Some(set) = self.expanded.get(&id) {
            return Ok(Rc::clone(set));
        }
        self.algebra.languages.budget.tick()?;
        if self.open.contains(&id) {
            self.circled = true;
            return Err(self.circle(id));
        }
        self.open.insert(id);
        if matches!(self.algebra.formulas.get(id), Formula::And(_) | Formula::Or(_) | Formula::Not(_)) {
            self.joint += 1;
            if self.joint > MAX_JOINT {
                let message = format!("the schemas combine with each other in more than {MAX_JOINT} ways");
                return Err(Error::new(ErrorKind::Limit, message).with_help(
                    "schemas that refer to each other under allOf and not multiply; write them apart",
                ));
            }
        }
        if self.open.len() > MAX_DEPTH {
            return Err(Error::limit("the nesting of references and applicators", MAX_DEPTH, "max_depth"));
        }
        let set = self.compute(id);
        self.open.remove(&id);
        let set = Rc::new(set?);
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
                let mut set = (*self.expand(items[0])?).clone();
                for &item in &items[1..] {
                    let other = self.expand(item)?;
                    set = set.intersect(&other, &mut self.algebra)?;
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
                let mut set = inner.complement(&mut self.algebra)?;
                self.prune(&mut set)?;
                Ok(set)
            }
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
    pub fn constant_set(&mut self, value: &'b Json) -> Result<ValueSet> {
        let mut set = ValueSet::never();
        match value {
            Json::Null => set.null = true,
            Json::Bool(true) => set.truth = true,
            Json::Bool(false) => set.falsity = true,
            Json::Number(text) => set.numbers = NumberSet::exactly(&Decimal::parse(text)?),
            Json::String(text) => {
                set.texts = TextSet::Finite(Rc::new(std::iter::once(text.clone()).collect()));
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

    /// Drops the shapes that cannot have a value because a part that they need has none.
    pub fn prune(&mut self, set: &mut ValueSet) -> Result<()> {
        self.prune_to(set, EMPTINESS_DEPTH)
    }

    fn prune_to(&mut self, set: &mut ValueSet, depth: usize) -> Result<()> {
        let mut objects = Vec::with_capacity(set.objects.len());
        for shape in std::mem::take(&mut set.objects) {
            objects.extend(self.settled_object(shape, depth)?);
        }
        set.objects = objects;
        let mut failure = None;
        set.arrays.retain(|shape| self.is_inhabited_array(shape, depth, &mut failure));
        failure.map_or(Ok(()), Err)
    }

    fn is_inhabited_array(&mut self, shape: &ArrayShape, depth: usize, failure: &mut Option<Error>) -> bool {
        let needed = shape.prefix.iter().copied().take(shape.min as usize);
        values::lively_array(shape) && self.all_inhabited(needed, depth, failure)
    }

    /// The shape with its witnesses settled as far as they can be, or nothing if it can have no value.
    fn settled_object(&mut self, mut shape: ObjectShape, depth: usize) -> Result<Option<ObjectShape>> {
        if self.lacks_members(&shape, depth)? {
            return Ok(None);
        }
        let witnesses = std::mem::take(&mut shape.witnesses);
        for witness in witnesses {
            match self.settled_witness(&shape, witness, depth)? {
                Settled::Borne => {}
                Settled::Impossible => return Ok(None),
                Settled::Key(name, value) => {
                    shape.narrow_named(&name, value, &mut self.algebra);
                    shape.require(&name);
                }
                Settled::Open(witness) => shape.witnesses.push(witness),
            }
        }
        Ok(Some(shape))
    }

    /// Whether a shape has no value for a key that must be there, or too few keys.
    fn lacks_members(&mut self, shape: &ObjectShape, depth: usize) -> Result<bool> {
        for name in shape.required.iter() {
            let value = shape.value_of(name, &mut self.algebra)?;
            if self.is_empty_to(value, depth)? {
                return Ok(true);
            }
        }
        Ok(shape.min as usize > shape.required.len() && self.lacks_keys(shape)?)
    }

    /// Whether a shape that allows only named keys allows too few of them.
    fn lacks_keys(&mut self, shape: &ObjectShape) -> Result<bool> {
        let closing = shape.families.iter().find_map(|(keys, value)| match keys {
            Keys::Unlisted(list) if *value == FormulaId::NEVER && list.patterns.is_empty() => Some(list),
            _ => None,
        });
        let Some(list) = closing else { return Ok(false) };
        let mut allowed = 0;
        for name in &list.names {
            allowed += u32::from(shape.value_of(name, &mut self.algebra)? != FormulaId::NEVER);
        }
        Ok(allowed < shape.min)
    }

    fn settled_witness(&mut self, shape: &ObjectShape, witness: Witness, depth: usize) -> Result<Settled> {
        let mut open = Vec::new();
        for (keys, value) in witness.0 {
            let Some(name) = keys.as_name() else {
                open.push((keys, value));
                continue;
            };
            let there = shape.value_of(name, &mut self.algebra)?;
            let both = self.algebra.formulas.and(there, value);
            if self.is_empty_to(both, depth)? {
                continue;
            }
            let outside = self.algebra.formulas.not(value);
            let spared = self.algebra.formulas.and(there, outside);
            if shape.required.contains(name) && self.is_empty_to(spared, depth)? {
                return Ok(Settled::Borne);
            }
            open.push((keys, value));
        }
        Ok(match open.as_slice() {
            [] => Settled::Impossible,
            [(keys, value)] if keys.as_name().is_some() => {
                Settled::Key(keys.as_name().cloned().unwrap_or_default(), *value)
            }
            _ => Settled::Open(Witness(open)),
        })
    }

    /// What is left of a shape of objects when another is taken out of it.
    pub fn without_object(&mut self, shape: &ObjectShape, other: &ObjectShape) -> Result<Vec<ObjectShape>> {
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
            let both = shape.intersect(&way, &mut self.algebra);
            left.extend(self.settled_object(both, EMPTINESS_DEPTH)?);
        }
        Ok(left)
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

    fn all_inhabited(
        &mut self,
        formulas: impl Iterator<Item = FormulaId>,
        depth: usize,
        failure: &mut Option<Error>,
    ) -> bool {
        for formula in formulas {
            match self.is_empty_to(formula, depth) {
                Ok(true) => return false,
                Ok(false) => {}
                Err(error) => *failure = failure.take().or(Some(error)),
            }
        }
        true
    }

    /// Whether a formula is known to admit nothing. Only what algebra has put together is looked at: the schemas that
    /// somebody wrote are taken to mean something, and the grammar is trimmed later in any case.
    pub fn is_hollow(&mut self, id: FormulaId) -> Result<bool> {
        let joint =
            matches!(self.algebra.formulas.get(id), Formula::And(_) | Formula::Not(_) | Formula::Never);
        Ok(joint && self.is_empty_to(id, EMPTINESS_DEPTH)?)
    }

    fn is_empty_to(&mut self, id: FormulaId, depth: usize) -> Result<bool> {
        if id == FormulaId::NEVER {
            return Ok(true);
        }
        if let Some(&empty) = self.empty.get(&id) {
            return Ok(empty);
        }
        if depth == 0 || self.open.contains(&id) {
            return Ok(false);
        }
        if self.fuel == 0 {
            return Ok(false);
        }
        self.fuel -= 1;
        // A formula that is being expanded further up cannot be looked into: it counts as inhabited, for now.
        let set = match self.expand(id) {
            Err(_) if std::mem::take(&mut self.circled) => return Ok(false),
            // Too large to look into is not too large to emit: who needs it will see.
            Err(error) if error.kind() == ErrorKind::Limit => {
                self.algebra.languages.budget.check()?;
                self.empty.insert(id, false);
                return Ok(false);
            }
            result => result?,
        };
        self.empty.insert(id, false);
        let empty = self.is_set_empty(&set, depth - 1)?;
        self.empty.insert(id, empty);
        Ok(empty)
    }

    fn is_set_empty(&mut self, set: &ValueSet, depth: usize) -> Result<bool> {
        if set.null || set.falsity || set.truth || !set.numbers.is_empty() {
            return Ok(false);
        }
        if !set.texts.is_empty(&mut self.algebra.languages)? {
            return Ok(false);
        }
        if set.arrays.is_empty() && set.objects.is_empty() {
            return Ok(true);
        }
        // As much is looked at as pruning would look at: what is found is remembered.
        let mut is_empty = true;
        for shape in &set.objects {
            is_empty &= match shape.witnesses.as_slice() {
                [] => self.lacks_members(shape, depth)?,
                _ => self.settled_object(shape.clone(), depth)?.is_none(),
            };
        }
        let mut failure = None;
        for shape in &set.arrays {
            is_empty &= !self.is_inhabited_array(shape, depth, &mut failure);
        }
        failure.map_or(Ok(is_empty), Err)
    }

    /// Notes what became of a keyword, once.
    pub fn note(
        &mut self,
        at: Located,
        keyword: &'static str,
        outcome: Outcome,
        note: impl Into<Cow<'static, str>>,
    ) {
        if self.reported.insert((at, keyword)) {
            // The keywords of a schema follow each other, mostly.
            let pointer = match &self.noted {
                Some((schema, pointer)) if *schema == at.schema => Arc::clone(pointer),
                _ => self.documents.shared_pointer(at.schema),
            };
            self.noted = Some((at.schema, Arc::clone(&pointer)));
            self.findings.push(Finding { pointer, keyword: keyword.into(), outcome, note: note.into() });
        }
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
        if let Some(&expr) = self.patterns.get(pattern) {
            return Ok(expr);
        }
        let languages = &mut self.algebra.languages;
        let (expr, source) =
            regex::parse_named(pattern, &Syntax::search(), &mut languages.builder, languages.budget)
                .map_err(|error| {
                    let message = format!("the regex {pattern:?}: {}", error.message());
                    Error::new(error.kind(), message)
                })?;
        languages.name(expr, source);
        self.patterns.insert(pattern.into(), expr);
        Ok(expr)
    }

    /// The language of a format, where the format is known.
    pub fn format(&mut self, name: &str) -> Option<Result<ExprId>> {
        let format = formats::find(name)?;
        if let Some(&(_, expr)) = self.formats.iter().find(|(known, _)| *known == format.name) {
            return Some(Ok(expr));
        }
        let languages = &mut self.algebra.languages;
        let expr = formats::language(name, &mut languages.builder, languages.budget)?;
        if let Ok(expr) = expr {
            self.formats.push((format.name, expr));
        }
        Some(expr)
    }

    /// Whether a set is known to have no value.
    pub fn is_nothing(&mut self, set: &ValueSet) -> Result<bool> {
        self.is_set_empty(set, EMPTINESS_DEPTH)
    }

    /// Whether the branches that hold together must be told apart from each of them alone.
    pub fn combines_branches(&self) -> bool {
        self.documents.mentions_unevaluated()
    }

    /// Remembers the keyword that first left no value.
    pub fn note_conflict(&mut self, at: Located, keyword: &'static str) {
        self.conflict.get_or_insert((at, keyword));
    }

    /// The error of a schema that no value satisfies.
    pub fn no_value(&self) -> Error {
        let error = match self.conflict {
            Some((at, keyword)) => {
                let pointer = self.documents.pointer(at.schema);
                let message =
                    format!("no value satisfies the schema: {keyword:?} contradicts what stands beside it");
                Error::new(ErrorKind::Invalid, message).at(Place::Pointer(format!("{pointer}/{keyword}")))
            }
            None => Error::new(ErrorKind::Invalid, "no value satisfies the schema"),
        };
        error.at(Place::Pointer(String::new()))
    }
}
