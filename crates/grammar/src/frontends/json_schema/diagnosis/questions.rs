//! Questions: is a place of the schema empty, with some of it relaxed?

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::super::documents::{Document, Documents, Draft, Json, Located, ScopeId};
use super::super::expand::{Expander, NO_VALUE};
use super::super::{Options, Patterns, Purpose, Style, emit};
use super::parts::{self, Part};
use super::place::Way;
use super::{Case, Relaxed};
use crate::error::{ErrorKind, Result};
use crate::ir::Builder;
use crate::limits::Budget;
use crate::passes::trim::matches_nothing;

/// So many questions are asked of one schema.
const MAX_QUESTIONS: usize = 300;

/// So long all of them may take together.
const MAX_TIME: Duration = Duration::from_millis(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// It is refused, or too large, or there is no time left.
    Unknown,
}

pub(super) struct Questions<'j> {
    case: Case<'j>,
    /// How the schema is read. How values are written is of no concern here.
    options: Options,
    lenient: Options,
    asked: usize,
    began: Instant,
}

impl<'j> Questions<'j> {
    pub(super) fn new(case: Case<'j>) -> Self {
        let options = Options {
            any_whitespace: true,
            indent: None,
            separators: None,
            max_whitespace: None,
            registry: Vec::new(),
            style: Style::Json,
            excludes: Vec::new(),
            patterns: Patterns::default(),
            ..case.options.clone()
        };
        let lenient = Options { strict_mode: false, ..options.clone() };
        Questions { case, options, lenient, asked: 0, began: Instant::now() }
    }

    /// Whether there is no time left, or enough was asked.
    pub(super) fn are_over(&self) -> bool {
        self.asked >= MAX_QUESTIONS || self.began.elapsed() >= MAX_TIME || self.case.budget.check().is_err()
    }

    /// Whether a place has no value if all else is relaxed that is so.
    pub(super) fn is_empty(&mut self, way: &Way, relaxed: &Relaxed) -> Answer {
        let strict = self.options.strict_mode;
        self.ask(way, relaxed, strict)
    }

    /// Whether a place has no value without strict mode, if that is on.
    pub(super) fn is_empty_if_lenient(&mut self, way: &Way) -> Option<Answer> {
        self.options.strict_mode.then(|| self.ask(way, &Relaxed::default(), false))
    }

    fn ask(&mut self, way: &Way, relaxed: &Relaxed, strict: bool) -> Answer {
        if self.are_over() {
            return Answer::Unknown;
        }
        self.asked += 1;
        let budget = self.case.budget.within(MAX_TIME.saturating_sub(self.began.elapsed()));
        let options = if strict { &self.options } else { &self.lenient };
        match is_empty(self.case, options, way, relaxed, &budget) {
            Ok(Some(true)) => Answer::Yes,
            Ok(Some(false)) => Answer::No,
            Err(error) if error.kind() == ErrorKind::Invalid && error.message().starts_with(NO_VALUE) => {
                Answer::Yes
            }
            Ok(None) | Err(_) => Answer::Unknown,
        }
    }

    /// The way to what a JSON Pointer leads to in the schema.
    pub(super) fn way_of(&self, pointer: &str) -> Option<Way> {
        let root: &Document<'j> = self.case.root;
        Way::of_pointer(pointer, root.root())
    }

    /// What stands at a place, and the dynamic scope there.
    pub(super) fn schema_at(&self, way: &Way) -> Option<(&'j Json<'j>, ScopeId)> {
        self.at(way, |documents, at| (documents.json(at.schema), at.scope))
    }

    /// The keywords at a place.
    pub(super) fn parts_at(&self, way: &Way) -> Option<Vec<Part<'j>>> {
        self.at(way, |documents, at| parts::parts_of(documents.json(at.schema), documents.draft(at.schema)))
    }

    /// The JSON Pointer of a place.
    pub(super) fn pointer_of(&self, way: &Way) -> Option<String> {
        self.at(way, |documents, at| documents.pointer(at.schema))
    }

    fn at<T>(&self, way: &Way, look: impl FnOnce(&Documents<'j>, Located) -> T) -> Option<T> {
        let Case { root, registry, budget, .. } = self.case;
        let mut documents = Documents::new(root, registry, Draft::default(), budget).ok()?;
        let at = way.follow(&mut documents)?;
        Some(look(&documents, at))
    }
}

/// Whether a place has no value, if the way leads anywhere. That can also be the error.
fn is_empty(
    case: Case<'_>,
    options: &Options,
    way: &Way,
    relaxed: &Relaxed,
    budget: &Budget,
) -> Result<Option<bool>> {
    let mut documents = Documents::new(case.root, case.registry, Draft::default(), budget)?;
    // Schemas that say the same do not mean the same if one of them is relaxed.
    documents.tell_all_apart();
    let Some(at) = way.follow(&mut documents) else { return Ok(None) };
    let mut expander = Expander::new(documents, options, Builder::new(budget.limits()), budget);
    expander.purpose = Purpose::Grammar;
    expander.relaxed = Some(Rc::new(relaxed.clone()));
    let formula = expander.formula_of(at);
    let (grammar, _) = emit::emit(expander, formula)?;
    matches_nothing(&grammar, budget).map(Some)
}
