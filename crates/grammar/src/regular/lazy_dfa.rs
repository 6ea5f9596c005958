//! An automaton that is made when it is first looked at.
//!
//! Nearly all automata are made where they are met. But a request may have thousands of tags, each with free text up to an
//! end of its own, and visit one of them. What the passes ask of such a text (that it may be empty, that it is wide) is
//! known without its automaton; so that is made by whoever reads the text.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::dfa::Dfa;
use super::free_text::{FreeText, Spoiled};
use crate::limits::{Budget, CancelFlag, Limits};

/// Texts without a string that is longer than this are made where they are met.
const LONGEST: usize = 1_000;

/// An automaton, made or not.
#[derive(Clone, Debug)]
pub struct LazyDfa(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    made: OnceLock<Arc<Dfa>>,
    /// What the text does not hold, if the automaton is that of such a text.
    without: Box<str>,
}

impl LazyDfa {
    /// The text that does not hold `string`, if that is short enough to be put off.
    pub fn without(string: &str) -> Option<Self> {
        let slot = || Slot { made: OnceLock::new(), without: string.into() };
        (!string.is_empty() && string.len() <= LONGEST).then(|| LazyDfa(Arc::new(slot())))
    }

    /// What the text does not hold, if nobody has asked for the automaton yet. Such a text may be empty, and may have any
    /// character.
    pub fn put_off(&self) -> Option<&str> {
        self.0.made.get().is_none().then_some(&*self.0.without)
    }

    /// The automaton.
    pub fn get(&self) -> &Arc<Dfa> {
        self.0.made.get_or_init(|| {
            // A string of so few bytes is within any limit worth the name.
            let limits = Limits {
                max_states: usize::MAX,
                max_compile_time: std::time::Duration::MAX,
                ..Limits::default()
            };
            let budget = Budget::new(limits, CancelFlag::default());
            let dfa = FreeText::new(&[&self.0.without], &budget)
                .and_then(|free| free.dfa(&Spoiled::default(), &budget));
            Arc::new(dfa.expect("a short string is within the limits"))
        })
    }
}

impl From<Arc<Dfa>> for LazyDfa {
    fn from(dfa: Arc<Dfa>) -> Self {
        LazyDfa(Arc::new(Slot { made: OnceLock::from(dfa), without: Box::default() }))
    }
}

impl Deref for LazyDfa {
    type Target = Dfa;

    fn deref(&self) -> &Dfa {
        self.get()
    }
}
