//! From formulas to sets: what a formula admits, one level deep.
//!
//! A schema is the conjunction of its keywords. A keyword narrows the set, or, where it applies other schemas to the
//! same value (`allOf`, `$ref`, `if`), has those expanded in turn and joins the results by algebra. Schemas of
//! properties and items are only named. So an expansion goes as deep as references and applicators nest without a
//! container in between; that depth is checked, and a circle of them is an error that names it.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::documents::{Documents, Draft, Json, Located};
use super::keywords;
use super::report::{Finding, Outcome};
use super::values::formula::{ConstantId, Formula, FormulaId, Formulas};
use super::values::numbers::{Decimal, NumberSet};
use super::values::objects::ObjectShape;
use super::values::texts::{Languages, TextSet};
use super::values::{Algebra, ValueSet};
use super::{OnUnsupported, Options};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::Builder;
use crate::limits::Budget;

/// Applicators and references may nest so deep without a container in between.
const MAX_DEPTH: usize = 256;

/// Emptiness is looked for so deep into containers; what lies deeper counts as inhabited.
const EMPTINESS_DEPTH: usize = 6;

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
    pub documents: Rc<Documents>,
    /// Formulas and languages.
    pub algebra: Algebra<'b>,
    /// How to read the schema.
    pub options: &'b Options,
    /// What was found on the way.
    pub findings: Vec<Finding>,
    /// Whether it matters which keys and items were evaluated.
    pub tracks_evaluated: bool,
    constants: Vec<Json>,
    expanded: FxHashMap<FormulaId, Rc<ValueSet>>,
    open: FxHashSet<FormulaId>,
    empty: FxHashMap<FormulaId, bool>,
    reported: FxHashSet<(Located, &'static str)>,
}

impl<'b> Expander<'b> {
    /// Nothing expanded yet.
    pub fn new(documents: Documents, options: &'b Options, budget: &'b Budget) -> Self {
        let tracks_evaluated = options.strict_mode || documents.mentions_unevaluated();
        Expander {
            documents: Rc::new(documents),
            algebra: Algebra {
                formulas: Formulas::new(),
                languages: Languages::new(Builder::new(budget.limits()), budget),
            },
            options,
            findings: Vec::new(),
            tracks_evaluated,
            constants: Vec::new(),
            expanded: FxHashMap::default(),
            open: FxHashSet::default(),
            empty: FxHashMap::default(),
            reported: FxHashSet::default(),
        }
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

    /// The formula of the schema below another one.
    pub fn child(&mut self, schema: &Schema<'_>, path: &[&str]) -> Result<FormulaId> {
        let documents = Rc::clone(&self.documents);
        let at = documents.child(schema.at, path)?;
        match documents.json(at.schema) {
            Json::Bool(_) | Json::Object(_) => Ok(self.formula_of(at)),
            _ => Err(Error::new(ErrorKind::Invalid, "a schema is an object or a boolean")
                .at(Place::Pointer(documents.pointer(at.schema)))),
        }
    }

    /// The formula of one JSON value.
    pub fn constant(&mut self, value: &Json) -> FormulaId {
        let id = ConstantId(self.constants.len() as u32);
        self.constants.push(value.clone());
        self.algebra.formulas.intern(Formula::Constant(id))
    }

    /// What a formula admits.
    pub fn expand(&mut self, id: FormulaId) -> Result<Rc<ValueSet>> {
        if let Some(set) = self.expanded.get(&id) {
            return Ok(Rc::clone(set));
        }
        self.algebra.languages.budget.tick()?;
        if !self.open.insert(id) {
            return Err(self.circle(id));
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
                let value = self.constants[id.0 as usize].clone();
                self.constant_set(&value)
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
        let documents = Rc::clone(&self.documents);
        let json = documents.json(at.schema);
        match json {
            Json::Bool(true) => Ok(ValueSet::any()),
            Json::Bool(false) => Ok(ValueSet::never()),
            Json::Object(_) => {
                let schema = Schema { at, json, draft: documents.draft(at.schema) };
                keywords::conjunction(self, &schema)
            }
            _ => Err(Error::new(ErrorKind::Invalid, "a schema is an object or a boolean")
                .at(Place::Pointer(documents.pointer(at.schema)))),
        }
    }

    /// The set of one JSON value, its parts as formulas.
    pub fn constant_set(&mut self, value: &Json) -> Result<ValueSet> {
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
                let mut shape = super::values::arrays::ArrayShape::any();
                (shape.prefix, shape.rest, shape.min, shape.max) = (prefix, FormulaId::NEVER, count, Some(count));
                (shape.says_rest, shape.evaluated.all) = (true, true);
                set.arrays = vec![shape];
            }
            Json::Object(members) => {
                let mut shape = ObjectShape::any();
                for (name, value) in members.iter() {
                    let name = Rc::from(&**name);
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
        let mut failure = None;
        set.objects.retain(|shape| {
            let needed = shape.required.iter().filter_map(|name| shape.named.get(name).copied());
            let needed = needed.chain(shape.witnesses.iter().map(|witness| witness.value));
            self.all_inhabited(needed, depth, &mut failure)
        });
        set.arrays.retain(|shape| {
            let needed = shape.prefix.iter().copied().take(shape.min as usize);
            self.all_inhabited(needed, depth, &mut failure)
        });
        failure.map_or(Ok(()), Err)
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

    /// Whether a formula is known to admit nothing. False may also mean that nobody knows.
    pub fn is_empty(&mut self, id: FormulaId) -> Result<bool> {
        self.is_empty_to(id, EMPTINESS_DEPTH)
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
        let joint = matches!(self.algebra.formulas.get(id), Formula::And(_) | Formula::Not(_));
        let plain = self.expanded.contains_key(&id) || joint;
        if !plain && self.algebra.formulas.len() > 20_000 {
            return Ok(false);
        }
        self.empty.insert(id, false);
        let set = self.expand(id)?;
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
        let mut rest = ValueSet { arrays: set.arrays.clone(), objects: set.objects.clone(), ..ValueSet::never() };
        self.prune_to(&mut rest, depth)?;
        Ok(rest.arrays.is_empty() && rest.objects.is_empty())
    }

    /// Notes what became of a keyword, once.
    pub fn note(&mut self, at: Located, keyword: &'static str, outcome: Outcome, note: impl Into<String>) {
        if self.reported.insert((at, keyword)) {
            let pointer = self.documents.pointer(at.schema);
            self.findings.push(Finding { pointer, keyword: keyword.to_owned(), outcome, note: note.into() });
        }
    }

    /// Whether what cannot be exact is left out with a warning.
    pub fn widens(&self) -> bool {
        self.options.on_unsupported == OnUnsupported::Warn
    }
}
