//! Sets of JSON values: a union over the six types, each with conditions of its own, closed under intersection,
//! union and complement.
//!
//! | file | what |
//! |---|---|
//! | [`formula`] | sets by name: what the items and properties of a shape are |
//! | [`numbers`] | sets of numbers: intervals and multiples |
//! | [`texts`] | sets of strings: regular languages with lengths |
//! | [`arrays`], [`objects`] | shapes: conjunctions of conditions, of which a set is a union |
//! | [`keys`] | sets of keys |
//! | [`tally`] | what is in any of many sets, and what is in just one |
//!
//! A set says nothing about the spelling of its values, nor about the order of keys, except that shapes remember the
//! order in which keys were declared.

pub mod arrays;
pub mod formula;
pub mod keys;
pub mod languages;
pub mod numbers;
pub mod objects;
pub mod tally;
pub mod texts;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::BitOr;
use std::rc::Rc;

use arrays::ArrayShape;
use formula::Formulas;
use languages::Languages;
use numbers::NumberSet;
use objects::ObjectShape;
use rustc_hash::FxHasher;
use texts::TextSet;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;

/// A set may be a union of at most this many shapes of one type.
pub const MAX_SHAPES: usize = 1_000;

/// What the pairs of shapes may cost that are put together in one conversion: a hostile schema is refused within a second.
const MAX_COST: usize = 10_000_000;

/// What a pair costs beside its parts.
const COST_OF_A_PAIR: usize = 100;

/// What it costs to see whether a shape is within another, beside a part of its parts.
const COST_OF_A_COMPARISON: usize = 4;

/// A union of more shapes than this is looked through for shapes that others hold.
const FEW_SHAPES: usize = 2;

/// What the operations on sets need: formulas, languages, the account.
#[derive(Debug)]
pub struct Algebra<'b> {
    /// The formulas.
    pub formulas: Formulas,
    /// The expressions of texts.
    pub languages: Languages<'b>,
    /// What the pairs of shapes that were put together have cost.
    pub cost: usize,
    /// Whether shapes are closed in the end: then it matters which keys they ask for.
    pub closes: bool,
    /// Whether the keys that a shape names come in their order, before all others.
    pub orders: bool,
}

impl Algebra<'_> {
    /// Counts a pair of shapes of so many parts that is put together.
    pub fn count_pair(&mut self, parts: usize) -> Result<()> {
        self.count(COST_OF_A_PAIR.saturating_add(parts))
    }

    /// Fails from now on once more pairs are put together than cost `left`.
    pub fn leave(&mut self, left: usize) {
        self.cost = MAX_COST.saturating_sub(left);
    }

    fn count(&mut self, cost: usize) -> Result<()> {
        self.languages.budget.tick()?;
        self.cost = self.cost.saturating_add(cost);
        if self.cost <= MAX_COST {
            return Ok(());
        }
        let message = "the parts of the schema are put together in too many pairs";
        Err(Error::new(ErrorKind::Limit, message).with_help(OVERLAPS))
    }
}

/// A set of JSON values.
#[expect(clippy::struct_excessive_bools, reason = "null, false and true are the sets of their types")]
#[derive(Clone, Debug, PartialEq)]
pub struct ValueSet {
    /// Whether `null` is in it.
    pub null: bool,
    /// Whether `false` is in it.
    pub falsity: bool,
    /// Whether `true` is in it.
    pub truth: bool,
    /// Its numbers.
    pub numbers: NumberSet,
    /// Whether its numbers are spelled without a point and an exponent: draft 4 says that `1.0` is no integer.
    pub digits_only: bool,
    /// Its strings.
    pub texts: TextSet,
    /// Its arrays.
    pub arrays: Vec<ArrayShape>,
    /// Its objects.
    pub objects: Vec<ObjectShape>,
}

impl ValueSet {
    /// Every value.
    pub fn any() -> Self {
        ValueSet {
            null: true,
            falsity: true,
            truth: true,
            numbers: NumberSet::all(),
            digits_only: false,
            texts: TextSet::any(),
            arrays: vec![ArrayShape::any()],
            objects: vec![ObjectShape::any()],
        }
    }

    /// No value.
    pub fn never() -> Self {
        ValueSet {
            null: false,
            falsity: false,
            truth: false,
            numbers: NumberSet::none(),
            digits_only: false,
            texts: TextSet::never(),
            arrays: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// These strings.
    pub fn of_texts(texts: BTreeSet<Box<str>>) -> Self {
        ValueSet { texts: TextSet::Finite(Rc::new(texts)), ..ValueSet::never() }
    }

    /// Whether it is known to have no value, without looking into shapes and languages.
    pub fn is_never(&self) -> bool {
        !(self.null || self.falsity || self.truth)
            && self.numbers.is_empty()
            && self.texts.is_never()
            && self.arrays.is_empty()
            && self.objects.is_empty()
    }

    /// The one string that it has, where it has nothing else.
    pub fn only_text(&self) -> Option<&Rc<BTreeSet<Box<str>>>> {
        let TextSet::Finite(texts) = &self.texts else { return None };
        let has_others = self.null || self.falsity || self.truth || !self.numbers.is_empty();
        let has_containers = !self.arrays.is_empty() || !self.objects.is_empty();
        (texts.len() == 1 && !has_others && !has_containers).then_some(texts)
    }

    /// Whether they have no value in common, where that is seen without looking into languages and shapes.
    pub fn is_plainly_apart_from(&self, other: &Self, budget: &Budget) -> Result<Option<bool>> {
        let has_word = self.null && other.null || self.falsity && other.falsity || self.truth && other.truth;
        if has_word || !self.numbers.intersect(&other.numbers, budget)?.is_empty() {
            return Ok(Some(false));
        }
        let is_told = match (&self.texts, &other.texts) {
            (TextSet::Finite(texts), TextSet::Finite(others)) => {
                let (few, many) = if texts.len() < others.len() { (texts, others) } else { (others, texts) };
                if few.iter().any(|text| many.contains(text)) {
                    return Ok(Some(false));
                }
                true
            }
            (texts, others) => texts.is_never() || others.is_never(),
        };
        let have_arrays = !self.arrays.is_empty() && !other.arrays.is_empty();
        let have_objects = !self.objects.is_empty() && !other.objects.is_empty();
        Ok((is_told && !have_arrays && !have_objects).then_some(true))
    }

    /// Its values other than objects.
    #[must_use]
    pub fn without_objects(&self) -> Self {
        ValueSet {
            numbers: self.numbers.clone(),
            texts: self.texts.clone(),
            arrays: self.arrays.clone(),
            objects: Vec::new(),
            ..*self
        }
    }

    /// What both have.
    pub fn intersect(&self, other: &Self, algebra: &mut Algebra<'_>) -> Result<Self> {
        Ok(ValueSet {
            null: self.null && other.null,
            falsity: self.falsity && other.falsity,
            truth: self.truth && other.truth,
            numbers: self.numbers.intersect(&other.numbers, algebra.languages.budget)?,
            digits_only: self.digits_only || other.digits_only,
            texts: self.texts.intersect(&other.texts, &mut algebra.languages)?,
            arrays: products(&self.arrays, &other.arrays, algebra)?,
            objects: products(&self.objects, &other.objects, algebra)?,
        })
    }

    /// What either has.
    pub fn unite(&self, other: &Self, algebra: &mut Algebra<'_>) -> Result<Self> {
        Ok(ValueSet {
            null: self.null || other.null,
            falsity: self.falsity || other.falsity,
            truth: self.truth || other.truth,
            numbers: self.numbers.unite(&other.numbers, algebra.languages.budget)?,
            digits_only: self.is_digits_only_with(other, algebra)?,
            texts: self.texts.unite(&other.texts, &mut algebra.languages)?,
            arrays: joined(&self.arrays, &other.arrays, ArrayShape::is_any, ArrayShape::is_annotated)?,
            objects: joined(&self.objects, &other.objects, ObjectShape::is_any, |shape| {
                shape.is_annotated() || algebra.closes && shape.asks_for_keys()
            })?,
        })
    }

    /// Whether the numbers of either are spelled in digits. Where one set asks for that and the other does not, the numbers of
    /// the one may not be spelled otherwise, unless the other has them all.
    fn is_digits_only_with(&self, other: &Self, algebra: &mut Algebra<'_>) -> Result<bool> {
        let (strict, free) = match (self.digits_only, other.digits_only) {
            (true, false) => (self, other),
            (false, true) => (other, self),
            (both, _) => return Ok(both),
        };
        let common = strict.numbers.intersect(&free.numbers, algebra.languages.budget)?;
        Ok(common != strict.numbers)
    }

    /// All other values.
    pub fn complement(&self, algebra: &mut Algebra<'_>) -> Result<Self> {
        let mut arrays = vec![ArrayShape::any()];
        for shape in &self.arrays {
            let ways = shape.complement(algebra)?;
            arrays = products(&arrays, &ways, algebra)?;
        }
        let mut objects = vec![ObjectShape::any()];
        for shape in &self.objects {
            let ways = shape.complement(algebra)?;
            objects = products(&objects, &ways, algebra)?;
        }
        Ok(ValueSet {
            null: !self.null,
            falsity: !self.falsity,
            truth: !self.truth,
            numbers: self.numbers.complement(algebra.languages.budget)?,
            // Whole numbers that are spelled otherwise are missing here, so that the complement of this does not have them.
            digits_only: self.digits_only,
            texts: self.texts.complement(&mut algebra.languages)?,
            arrays,
            objects,
        })
    }
}

/// Whether nothing in a shape contradicts itself at first sight.
pub fn lively_array(shape: &ArrayShape) -> bool {
    use formula::FormulaId;
    let blocked = shape.prefix.iter().position(|&item| item == FormulaId::NEVER);
    let reach = blocked.or((shape.rest == FormulaId::NEVER).then_some(shape.prefix.len()));
    let max = reach.map(|reach| reach as u32).into_iter().chain(shape.max).min();
    max.is_none_or(|max| max >= shape.min) && !(shape.unique && shape.repeats)
}

fn lively_object(shape: &ObjectShape) -> bool {
    use formula::FormulaId;
    let forbidden = |name: &std::rc::Rc<str>| shape.named.get(name) == Some(&FormulaId::NEVER);
    shape.max.is_none_or(|max| max >= shape.min && max as usize >= shape.required.len())
        && !shape.required.iter().any(forbidden)
        && !shape
            .witnesses
            .iter()
            .any(|witness| witness.0.iter().all(|(_, value)| *value == FormulaId::NEVER))
}

fn look_of(part: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    part.hash(&mut hasher);
    hasher.finish()
}

fn bit_of(part: impl Hash) -> u64 {
    1 << (look_of(part) >> (u64::BITS - 6))
}

/// A conjunction of conditions, of which a set of values is a union.
trait Shape: Clone + PartialEq {
    /// What both admit.
    fn intersect(&self, other: &Self, algebra: &mut Algebra<'_>) -> Self;

    /// Whether nothing in it contradicts itself at first sight.
    fn is_lively(&self) -> bool;

    /// How many conditions it has.
    fn parts(&self) -> usize;

    /// A number that equal shapes share, and others hardly ever. To compare shapes takes longer.
    fn look(&self) -> u64;

    /// A bit for each thing that it asks for, some of them the same. What is within another asks for all that the other does.
    fn asks(&self) -> u64;

    /// Whether `other` plainly has all that it has, and writes it in the same order. With `names_matter` the two must name the
    /// same keys.
    fn is_within(&self, other: &Self, names_matter: bool) -> bool;
}

impl Shape for ArrayShape {
    fn intersect(&self, other: &Self, algebra: &mut Algebra<'_>) -> Self {
        ArrayShape::intersect(self, other, algebra)
    }

    fn is_lively(&self) -> bool {
        lively_array(self)
    }

    fn parts(&self) -> usize {
        ArrayShape::parts(self)
    }

    fn look(&self) -> u64 {
        look_of((&self.prefix, self.rest, self.min, self.max, self.contains.len()))
    }

    fn asks(&self) -> u64 {
        self.contains.iter().map(|count| bit_of(count.value)).fold(0, u64::bitor)
    }

    fn is_within(&self, other: &Self, _: bool) -> bool {
        ArrayShape::is_within(self, other)
    }
}

impl Shape for ObjectShape {
    fn intersect(&self, other: &Self, algebra: &mut Algebra<'_>) -> Self {
        ObjectShape::intersect(self, other, algebra)
    }

    fn is_lively(&self) -> bool {
        lively_object(self)
    }

    fn parts(&self) -> usize {
        ObjectShape::parts(self)
    }

    fn look(&self) -> u64 {
        // Sums, because the order of names is no part of a shape.
        let sum = |looks: &mut dyn Iterator<Item = u64>| looks.fold(0, u64::wrapping_add);
        let named = sum(&mut self.named.iter().map(look_of));
        let required = sum(&mut self.required.iter().map(look_of));
        let families = sum(&mut self.families.iter().map(|(_, value)| look_of(value)));
        let witnesses =
            sum(&mut self.witnesses.iter().flat_map(|witness| &witness.0).map(|(_, value)| look_of(value)));
        look_of((named, required, families, witnesses, self.min, self.max))
    }

    fn asks(&self) -> u64 {
        let required = self.required.iter().map(bit_of);
        let families = self.families.iter().map(|(_, value)| bit_of(value));
        let implies = self.implies.iter().map(bit_of);
        let witnesses = self.witnesses.iter().flat_map(|witness| &witness.0).map(|(_, value)| bit_of(value));
        required.chain(families).chain(implies).chain(witnesses).fold(0, u64::bitor)
    }

    fn is_within(&self, other: &Self, names_matter: bool) -> bool {
        ObjectShape::is_within(self, other) && (!names_matter || self.names_as(other))
    }
}

/// The intersections of all pairs that are not obviously empty.
fn products<S: Shape>(left: &[S], right: &[S], algebra: &mut Algebra<'_>) -> Result<Vec<S>> {
    let mut all: Vec<S> = Vec::new();
    let mut looks: Vec<u64> = Vec::new();
    for a in left {
        for b in right {
            algebra.count_pair(a.parts() + b.parts())?;
            let both = a.intersect(b, algebra);
            if !both.is_lively() {
                continue;
            }
            if !all.is_empty() {
                looks.extend(all[looks.len()..].iter().map(S::look));
                let look = both.look();
                if looks.iter().zip(&all).any(|(&other, shape)| other == look && *shape == both) {
                    continue;
                }
            }
            all.push(both);
            if all.len() > MAX_SHAPES {
                absorb(&mut all, algebra)?;
                looks.clear();
                check_count(all.len())?;
            }
        }
    }
    if all.len() > FEW_SHAPES {
        absorb(&mut all, algebra)?;
    }
    Ok(all)
}

/// Drops the shapes of a union that other shapes of it hold.
///
/// The ways to break one alternative often break others as well, so where several are taken out, most of the conjunctions of
/// such ways are within one of them.
fn absorb<S: Shape>(shapes: &mut Vec<S>, algebra: &mut Algebra<'_>) -> Result<()> {
    let names_matter = algebra.closes || algebra.orders;
    let mut kept: Vec<(u64, S)> = Vec::with_capacity(shapes.len());
    for shape in shapes.drain(..) {
        let asks = shape.asks();
        let compared = Cell::new(kept.len());
        let is_within = |(one_asks, one): (u64, &S), (other_asks, other): (u64, &S)| {
            // Mostly one of them asks for something else.
            other_asks & !one_asks == 0 && {
                compared.set(compared.get() + COST_OF_A_COMPARISON + one.parts() / 4);
                one.is_within(other, names_matter)
            }
        };
        if !kept.iter().any(|(known_asks, known)| is_within((asks, &shape), (*known_asks, known))) {
            kept.retain(|(known_asks, known)| !is_within((*known_asks, known), (asks, &shape)));
            kept.push((asks, shape));
        }
        algebra.count(compared.get())?;
    }
    shapes.extend(kept.into_iter().map(|(_, shape)| shape));
    Ok(())
}

/// A union of shapes of objects that may have grown: without those that others hold, if there are many.
pub fn absorb_objects(shapes: &mut Vec<ObjectShape>, algebra: &mut Algebra<'_>) -> Result<()> {
    if shapes.len() > FEW_SHAPES { absorb(shapes, algebra) } else { Ok(()) }
}

/// All shapes of both; the one that has everything stands for all, unless it matters which of them evaluated what.
fn joined<T: Clone + PartialEq>(
    left: &[T],
    right: &[T],
    is_any: fn(&T) -> bool,
    is_annotated: impl Fn(&T) -> bool,
) -> Result<Vec<T>> {
    if let Some(any) = left.iter().chain(right).find(|shape| is_any(shape))
        && !left.iter().chain(right).any(is_annotated)
    {
        return Ok(vec![any.clone()]);
    }
    let mut all = left.to_vec();
    for shape in right {
        if !all.contains(shape) {
            all.push(shape.clone());
        }
    }
    check_count(all.len())?;
    Ok(all)
}

/// Fails where a set is a union of too many shapes.
pub fn check_count(count: usize) -> Result<()> {
    if count <= MAX_SHAPES {
        return Ok(());
    }
    let message = format!(
        "a value of the schema has more than {MAX_SHAPES} alternatives that are arrays or objects, once all are \
         multiplied out"
    );
    Err(Error::new(ErrorKind::Limit, message).with_help(OVERLAPS))
}

const OVERLAPS: &str =
    "overlapping alternatives under oneOf, not and if are the usual reason: make them disjoint, or fewer";
