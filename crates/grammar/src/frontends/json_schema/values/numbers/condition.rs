//! Boolean combinations of "is a multiple of".
//!
//! A condition is kept as its indicator function, written as a sum over grids: `c0 + c1 [x in g1] + c2 [x in g2] + ...`
//! with whole coefficients. The product of two indicators of grids is the indicator of their common grid, so "and" is the
//! product of two sums, "not" is one minus, and "or" follows.
//!
//! The indicators of different grids are linearly independent: take the widest grid that has a coefficient; at its step
//! no other one is 1, so the sum there is that coefficient. So a condition has exactly one such form. Equal conditions
//! are equal structures, and the empty one is the empty sum: the laws of the algebra hold without a simplifier. A list of
//! alternatives such as "multiple of 2 and not of 6" would need one.

use std::collections::BTreeMap;

use super::decimal::Decimal;
use super::steps;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;

/// A set of numbers that is made of grids, periodic and symmetric about zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Condition {
    /// Whether numbers outside of every grid are in it: the constant of the sum, 0 or 1.
    everywhere: bool,
    /// The steps of the grids, in order, with their coefficients, none of which is 0.
    terms: Box<[(Decimal, i64)]>,
}

impl Condition {
    /// The most grids that a condition may have.
    const MAX_TERMS: usize = 64;

    /// No number.
    pub(super) fn nothing() -> Self {
        Condition { everywhere: false, terms: Box::default() }
    }

    /// Every number.
    pub(super) fn anything() -> Self {
        Condition { everywhere: true, terms: Box::default() }
    }

    /// The sum with these terms, whose steps are positive.
    pub(super) fn new(everywhere: bool, terms: impl IntoIterator<Item = (Decimal, i64)>) -> Result<Self> {
        let mut sum = Sum::default();
        terms.into_iter().try_for_each(|(step, coefficient)| sum.add(&step, 1, coefficient))?;
        sum.finish(everywhere)
    }

    /// The multiples of a positive step.
    pub(super) fn multiples(step: Decimal) -> Self {
        Condition { everywhere: false, terms: Box::new([(step, 1)]) }
    }

    pub(super) fn is_nothing(&self) -> bool {
        !self.everywhere && self.terms.is_empty()
    }

    pub(super) fn is_anything(&self) -> bool {
        self.everywhere && self.terms.is_empty()
    }

    /// The step, where the condition is to be a multiple of that and nothing else.
    pub(super) fn single_step(&self) -> Option<&Decimal> {
        match &*self.terms {
            [(step, 1)] if !self.everywhere => Some(step),
            _ => None,
        }
    }

    /// Whether numbers outside of every grid are in it.
    pub(super) fn holds_off_grid(&self) -> bool {
        self.everywhere
    }

    /// The grids with their coefficients.
    pub(super) fn terms(&self) -> &[(Decimal, i64)] {
        &self.terms
    }

    /// The steps of the grids.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Decimal> {
        self.terms.iter().map(|(step, _)| step)
    }

    /// Whether only whole numbers are in it.
    pub(super) fn is_whole(&self) -> bool {
        !self.everywhere && self.steps().all(Decimal::is_integer)
    }

    /// Whether a number is in it, given the answer for each grid in the order of [`Condition::steps`].
    pub(super) fn decide(&self, in_grid: impl IntoIterator<Item = bool>) -> bool {
        let terms = self.terms.iter().zip(in_grid);
        let inside =
            terms.filter(|(_, inside)| *inside).map(|((_, coefficient), _)| i128::from(*coefficient));
        i128::from(self.everywhere) + inside.sum::<i128>() != 0
    }

    pub(super) fn contains(&self, value: &Decimal) -> bool {
        self.decide(self.steps().map(|step| steps::is_multiple(value, step)))
    }

    pub(super) fn complement(&self) -> Self {
        let terms = self.terms.iter().map(|(step, coefficient)| (step.clone(), -coefficient)).collect();
        Condition { everywhere: !self.everywhere, terms }
    }

    pub(super) fn intersect(&self, other: &Self, budget: &Budget) -> Result<Self> {
        if self == other || other.is_anything() || self.is_nothing() {
            return Ok(self.clone());
        }
        if self.is_anything() || other.is_nothing() {
            return Ok(other.clone());
        }
        let mut sum = Sum::default();
        for (step, coefficient) in &self.terms {
            sum.add(step, i64::from(other.everywhere), *coefficient)?;
            for (other_step, other_coefficient) in &other.terms {
                budget.tick()?;
                let common = steps::common_multiple(step, other_step)?;
                sum.add(&common, *coefficient, *other_coefficient)?;
            }
        }
        for (step, coefficient) in &other.terms {
            sum.add(step, i64::from(self.everywhere), *coefficient)?;
        }
        sum.finish(self.everywhere && other.everywhere)
    }

    pub(super) fn unite(&self, other: &Self, budget: &Budget) -> Result<Self> {
        Ok(self.complement().intersect(&other.complement(), budget)?.complement())
    }

    /// The numbers of the set times `10^places`.
    pub(super) fn shifted(&self, places: i32) -> Self {
        let terms =
            self.terms.iter().map(|(step, coefficient)| (step.shifted(places), *coefficient)).collect();
        Condition { everywhere: self.everywhere, terms }
    }

    /// The condition with other steps; steps that become equal are added up.
    pub(super) fn with_steps(&self, mut change: impl FnMut(&Decimal) -> Result<Decimal>) -> Result<Self> {
        let changed = self.terms.iter().map(|(step, coefficient)| Ok((change(step)?, *coefficient)));
        Self::new(self.everywhere, changed.collect::<Result<Vec<_>>>()?)
    }

    /// The step of a grid that holds the whole set, where there is one: no number of the set lies between its multiples.
    pub(super) fn grain(&self) -> Result<Option<Decimal>> {
        if self.everywhere {
            return Ok(None);
        }
        let mut steps = self.steps();
        let Some(first) = steps.next() else { return Ok(None) };
        steps.try_fold(first.clone(), |grain, step| steps::common_divisor(&grain, step)).map(Some)
    }
}

/// A sum over grids while it is being added up.
#[derive(Default)]
struct Sum(BTreeMap<Decimal, i64>);

impl Sum {
    fn add(&mut self, step: &Decimal, one: i64, other: i64) -> Result<()> {
        let product = one.checked_mul(other).ok_or_else(too_many_grids)?;
        if product != 0 {
            let entry = self.0.entry(step.clone()).or_insert(0);
            *entry = entry.checked_add(product).ok_or_else(too_many_grids)?;
        }
        Ok(())
    }

    fn finish(self, everywhere: bool) -> Result<Condition> {
        let terms: Box<[_]> = self.0.into_iter().filter(|&(_, coefficient)| coefficient != 0).collect();
        if terms.len() > Condition::MAX_TERMS {
            return Err(too_many_grids());
        }
        Ok(Condition { everywhere, terms })
    }
}

fn too_many_grids() -> Error {
    let message = format!("a combination of more than {} conditions on multiples", Condition::MAX_TERMS);
    Error::new(ErrorKind::Limit, message).with_help("use fewer different values of multipleOf together")
}
