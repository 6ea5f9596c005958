//! Whether a grammar has a text, asked without a tokenizer.
//!
//! The grammar is compiled for a vocabulary without tokens, once, and a new matcher reads each text.

use std::rc::Rc;
use std::sync::{Arc, LazyLock, OnceLock};

use pyo3::prelude::*;
use tokenstile_engine::interrupt::Interrupt;
use tokenstile_engine::vocab::{Vocab, VocabOptions};
use tokenstile_engine::{CompiledGrammar as Compiled, Matcher, MatcherOptions};
use tokenstile_grammar::ir::Expr;
use tokenstile_grammar::{Grammar as Ir, Limits};

use crate::detached::Stops;
use crate::errors::{self, Source};
use crate::limits::{CompileLimits, interruptible};

static NO_TOKENS: LazyLock<Option<Arc<Vocab>>> =
    LazyLock::new(|| Vocab::new(std::iter::empty::<&[u8]>(), VocabOptions::default()).ok());

/// The compiled form of a grammar, once somebody has asked about a text.
#[derive(Default)]
pub(crate) struct Acceptor {
    compiled: OnceLock<Arc<Compiled>>,
}

impl Acceptor {
    /// Whether `text` as a whole is one of the texts of `grammar`.
    pub(crate) fn accepts(&self, py: Python<'_>, grammar: &Ir, text: &[u8]) -> PyResult<bool> {
        let compiled = self.compiled(py, grammar)?;
        Stops::default().run(py, |watch| {
            let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            matcher.interruptible(Rc::clone(watch) as Rc<dyn Interrupt>, |matcher| {
                matcher.accept_bytes(text) && matcher.is_completed()
            })
        })
    }

    fn compiled(&self, py: Python<'_>, grammar: &Ir) -> PyResult<Arc<Compiled>> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(Arc::clone(compiled));
        }
        let vocab = NO_TOKENS
            .as_ref()
            .ok_or_else(|| errors::argument(py, "there is no vocabulary without tokens"))?;
        if grammar.exprs().any(|(_, expr)| matches!(expr, Expr::Token(_) | Expr::TokenTagDispatch(_))) {
            let message = "the grammar names tokens, and a text has none: compile it for a tokenizer and ask a GrammarMatcher";
            return Err(errors::argument(py, message));
        }
        let built = interruptible(py, Limits::default(), |budget| {
            let limits = CompileLimits::default().engine;
            Compiled::new(grammar.clone(), Arc::clone(vocab), limits, budget)
        })?;
        let built = built.map_err(|error| errors::grammar(py, &error, Source::Grammar))?;
        Ok(Arc::clone(self.compiled.get_or_init(|| built)))
    }
}
