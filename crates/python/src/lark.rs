//! The arguments of the Lark front end: named grammars, and the tokens of a vocabulary by their text.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tokenstile_engine::vocab::Vocab;
use tokenstile_grammar::frontends::json_schema::{Embedded, Spelling};
use tokenstile_grammar::frontends::lark;
use tokenstile_grammar::{Budget, Grammar as Ir, Result};

use crate::errors;
use crate::grammar::Grammar;

/// A grammar that a Lark text may name. Two are the same if their texts are.
#[derive(Clone, Debug)]
pub(crate) struct NamedGrammar {
    name: Arc<str>,
    /// The Lark text, or what a parsed grammar prints.
    text: Arc<str>,
    parsed: Option<Arc<Ir>>,
}

impl NamedGrammar {
    /// The memory of its texts, and of the grammar where it is parsed.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.name.len()
            + self.text.len()
            + self.parsed.as_ref().map_or(0, |ir| ir.memory_bytes())
    }
}

impl PartialEq for NamedGrammar {
    fn eq(&self, other: &Self) -> bool {
        let kind = self.parsed.is_some() == other.parsed.is_some();
        kind && self.name == other.name && self.text == other.text
    }
}

impl Eq for NamedGrammar {}

impl Hash for NamedGrammar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.text, self.parsed.is_some()).hash(state);
    }
}

/// Reads the argument `named_grammars`.
pub(crate) fn named_grammars(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<NamedGrammar>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(Vec::new()) };
    let py = argument.py();
    let wrong = |what: &str, object: &Bound<'_, PyAny>| {
        errors::argument(py, format!("{what}, not {}", errors::type_name(object)))
    };
    let entries = argument.cast::<PyDict>().map_err(|_| wrong("named_grammars must be a dict", argument))?;
    let mut named = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let key = name.cast::<PyString>().map_err(|_| wrong("the name of a grammar must be a str", &name))?;
        let name = key.to_str()?.into();
        if let Ok(grammar) = value.cast::<Grammar>() {
            let (text, parsed) = (Arc::clone(grammar.get().text()), Arc::clone(grammar.get().ir()));
            named.push(NamedGrammar { name, text, parsed: Some(parsed) });
        } else if let Ok(text) = value.cast::<PyString>() {
            named.push(NamedGrammar { name, text: text.to_str()?.into(), parsed: None });
        } else {
            return Err(wrong("a named grammar must be a Grammar or a str", &value));
        }
    }
    Ok(named)
}

/// The grammar of a Lark text.
pub(crate) fn parse(
    text: &str,
    named: &[NamedGrammar],
    spelling: Spelling,
    vocab: Option<&Vocab>,
    budget: &Budget,
) -> Result<Ir> {
    with_surroundings(named, spelling, vocab, |surroundings| {
        lark::parse(text, surroundings, budget.limits(), budget)
    })
}

/// The schemas in a Lark text.
pub(crate) fn schemas(
    text: &str,
    named: &[NamedGrammar],
    spelling: Spelling,
    vocab: Option<&Vocab>,
    budget: &Budget,
) -> Result<Vec<Embedded>> {
    with_surroundings(named, spelling, vocab, |surroundings| {
        lark::schemas(text, surroundings, budget.limits(), budget)
    })
}

fn with_surroundings<T>(
    named: &[NamedGrammar],
    spelling: Spelling,
    vocab: Option<&Vocab>,
    read: impl FnOnce(&lark::Surroundings<'_>) -> T,
) -> T {
    let find = |text: &str| {
        let tokens = vocab.into_iter().flat_map(|vocab| vocab.table().texts());
        tokens.filter(|(_, own)| *own == text.as_bytes()).map(|(id, _)| id.0).collect()
    };
    let named: Vec<(&str, lark::Named<'_>)> = named
        .iter()
        .map(|grammar| match &grammar.parsed {
            Some(parsed) => (&*grammar.name, lark::Named::Grammar(parsed)),
            None => (&*grammar.name, lark::Named::Lark(&grammar.text)),
        })
        .collect();
    let token_ids: Option<&lark::TokenResolver<'_>> = if vocab.is_some() { Some(&find) } else { None };
    read(&lark::Surroundings { named: &named, token_ids, spelling })
}
