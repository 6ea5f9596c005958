//! Expressions.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::builder::Builder;
use super::escapes::Escapes;
use super::grammar::RuleOptions;
use super::members::Layout;
use crate::error::Result;
use crate::limits::Budget;
use crate::regular::{CharSet, Dfa, FreeText, LazyDfa, TagText, determinize};

/// The number of an expression in its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub(crate) u32);

/// The number of a rule in its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u32);

impl ExprId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl RuleId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The bytes of a literal. Most are short, and lie in the expression itself.
pub type Literal = SmallVec<[u8; 16]>;

/// The parts of an expression. The same goes for them: most expressions are made without allocating anything.
pub type Items = SmallVec<[ExprId; 4]>;

/// An expression: a language of byte strings, apart from the token forms, which match one token as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// The empty language.
    Never,
    /// The empty string alone.
    Empty,
    /// These bytes.
    Bytes(Literal),
    /// This text, not empty. Where it holds the whole text of a special token, that token may stand for it: which those
    /// are, only a vocabulary can tell.
    Marker(Box<str>),
    /// One code point of the set, in UTF-8.
    Class(CharSet),
    /// One after the other.
    Seq(Items),
    /// Any one of these.
    Alt(Items),
    /// `min` to `max` times, without an upper bound where `max` is `None`.
    Repeat {
        /// What is repeated.
        body: ExprId,
        /// The least count.
        min: u32,
        /// The greatest count.
        max: Option<u32>,
    },
    /// In all of these regular languages at once.
    And(Items),
    /// Any UTF-8 string that is not in this regular language.
    Not(ExprId),
    /// An automaton that was built ahead of time.
    Automaton(Automaton),
    /// The JSON spellings of the texts of this regular language: what may stand between the quotes of a JSON string.
    JsonText {
        /// The texts.
        text: ExprId,
        /// The escapes that the spellings may have.
        escapes: Escapes,
    },
    /// The texts of this regular language that have at most so many code points.
    AtMost {
        /// The language.
        body: ExprId,
        /// The greatest length.
        most: u32,
    },
    /// A list of members with conditions between them.
    Members {
        /// The conditions.
        layout: Arc<Layout>,
        /// The expressions that the layout names by number.
        parts: Box<[ExprId]>,
    },
    /// The language of a rule.
    Rule(RuleId),
    /// One token of the set, whatever its bytes.
    Token(TokenSet),
    /// Free text in which a tag switches to a rule.
    TagDispatch(Arc<TagDispatch>),
    /// The same with an expression for each tag: what a pass makes of it.
    Tagged {
        /// The text and its tags.
        text: Arc<TagText>,
        /// What follows each tag, by its number.
        parts: Box<[ExprId]>,
        /// Whether free text goes on after that.
        repeats: bool,
    },
    /// Free tokens among which a token switches to a rule.
    TokenTagDispatch(Arc<TokenTagDispatch>),
}

impl Expr {
    /// The expressions that it is made of.
    pub fn children(&self) -> &[ExprId] {
        match self {
            Expr::Seq(items) | Expr::Alt(items) | Expr::And(items) => items,
            Expr::Members { parts, .. } | Expr::Tagged { parts, .. } => parts,
            Expr::Repeat { body, .. }
            | Expr::Not(body)
            | Expr::JsonText { text: body, .. }
            | Expr::AtMost { body, .. } => std::slice::from_ref(body),
            _ => &[],
        }
    }

    /// The memory that it takes, with what it holds.
    pub fn memory_bytes(&self) -> usize {
        const A_TAG: usize = 32;
        let held = match self {
            Expr::Bytes(bytes) if bytes.spilled() => bytes.len(),
            Expr::Marker(text) => text.len(),
            Expr::Class(set) => size_of_val(set.ranges()),
            Expr::Automaton(automaton) => automaton.memory_bytes(),
            Expr::Token(set) => size_of_val(&*set.ids),
            Expr::TagDispatch(dispatch) => {
                let texts = dispatch.tags.iter().map(|(tag, _)| tag).chain(&dispatch.excludes);
                texts.map(|text| text.len() + A_TAG).sum()
            }
            Expr::TokenTagDispatch(dispatch) => (dispatch.tags.len() + dispatch.excludes.len()) * A_TAG,
            Expr::Members { layout, parts } => layout.memory_bytes() + size_of_val(&**parts),
            Expr::Tagged { text, parts, .. } => text.memory_bytes() + size_of_val(&**parts),
            Expr::Seq(items) | Expr::Alt(items) | Expr::And(items) if items.spilled() => {
                size_of_val(&**items)
            }
            _ => 0,
        };
        size_of::<Self>() + held
    }

    /// Whether it names a rule itself, not through its children.
    pub fn names_rules(&self) -> bool {
        matches!(self, Expr::Rule(_) | Expr::TagDispatch(_) | Expr::TokenTagDispatch(_))
    }

    /// The rules that it names itself, not through its children.
    pub fn rules(&self) -> SmallVec<[RuleId; 1]> {
        match self {
            Expr::Rule(rule) => SmallVec::from_buf([*rule]),
            Expr::TagDispatch(dispatch) => dispatch.tags.iter().map(|(_, rule)| *rule).collect(),
            Expr::TokenTagDispatch(dispatch) => dispatch.tags.iter().map(|(_, rule)| *rule).collect(),
            _ => SmallVec::new(),
        }
    }
}

/// An automaton over bytes with the EBNF text that denotes it, such as `Regex("a(?=b)b")`.
///
/// The text is what the printer prints, and two automata with the same text are the same.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The EBNF text that denotes the language.
    pub source: Arc<str>,
    /// The language.
    pub dfa: LazyDfa,
}

impl Automaton {
    /// Text that holds none of `strings`, which are not empty, and in which none begins that ends within `before`.
    pub fn free_text<T: AsRef<str>>(strings: &[T], before: &str, budget: &Budget) -> Result<Self> {
        let free = FreeText::new(strings, budget)?;
        let spoiled = free.spoiled_by(before, budget)?;
        let source = free.source(if spoiled.is_empty() { "" } else { before }).into();
        let put_off = match strings {
            [string] if spoiled.is_empty() => LazyDfa::without(string.as_ref()),
            _ => None,
        };
        let dfa = match put_off {
            Some(dfa) => dfa,
            None => Arc::new(free.dfa(&spoiled, budget)?).into(),
        };
        Ok(Automaton { source, dfa })
    }

    /// The automaton of a regular expression, which `make` builds.
    pub(crate) fn of_expr(
        make: impl FnOnce(&mut Builder) -> Result<ExprId>,
        budget: &Budget,
    ) -> Result<Self> {
        let mut builder = Builder::new(budget.limits());
        let root = builder.declare("root");
        let body = make(&mut builder)?;
        builder.define(root, body, RuleOptions::default());
        let grammar = builder.finish(root)?;
        let dfa = Arc::new(determinize(&grammar, grammar.rule(root).body, budget)?);
        let text = grammar.to_string();
        let source = format!("({})", text.trim_start_matches("root ::= ").trim_end()).into();
        Ok(Automaton { source, dfa: dfa.into() })
    }

    /// Whether the empty string is in the language.
    pub fn is_nullable(&self) -> bool {
        self.dfa.put_off().is_some() || self.dfa.is_accepting(Dfa::START)
    }

    /// Whether the language is empty.
    pub fn is_empty(&self) -> bool {
        self.dfa.put_off().is_none() && self.dfa.is_empty()
    }

    /// How many states there are, roughly where they are not made yet.
    pub fn states(&self) -> usize {
        self.dfa.put_off().map_or_else(|| self.dfa.len(), |string| string.len() + Dfa::any_text().len())
    }

    fn memory_bytes(&self) -> usize {
        const A_STATE: usize = 256;
        let dfa = match self.dfa.put_off() {
            Some(_) => self.states() * A_STATE,
            None => self.dfa.memory_bytes(),
        };
        self.source.len() + dfa
    }
}

impl PartialEq for Automaton {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Automaton {}

impl Hash for Automaton {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

/// A set of token ids: those listed, or all but those listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenSet {
    /// The ids, sorted, each once.
    pub ids: Box<[u32]>,
    /// Whether the set is everything but `ids`.
    pub negated: bool,
    /// Whether wherever one of these tokens may be read, its text may be as well, and leads to the same place.
    pub spelled: bool,
}

impl TokenSet {
    /// A set from ids in any order.
    pub fn new(mut ids: Vec<u32>, negated: bool) -> Self {
        ids.sort_unstable();
        ids.dedup();
        TokenSet { ids: ids.into(), negated, spelled: false }
    }

    /// No token at all: the end of a rule's text where a rule around it has had its `max_tokens`, and nowhere else.
    pub fn spent() -> Self {
        TokenSet::new(Vec::new(), false)
    }

    /// Whether the set is [`TokenSet::spent`].
    pub fn is_spent(&self) -> bool {
        self.ids.is_empty() && !self.negated
    }

    /// Special tokens beside their text.
    pub fn beside_text(ids: &[u32]) -> Self {
        TokenSet { spelled: true, ..TokenSet::new(ids.to_vec(), false) }
    }

    /// Whether `token` is in the set.
    pub fn contains(&self, token: u32) -> bool {
        self.ids.binary_search(&token).is_ok() != self.negated
    }
}

/// Free text until one of the tags appears, then the tag's rule, and then free text again if `repeats`.
///
/// The text holds no tag before the one that switches, and never one of `excludes`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagDispatch {
    /// The tags and the rules that they switch to.
    pub tags: Vec<(Box<str>, RuleId)>,
    /// Whether free text goes on after a rule has ended.
    pub repeats: bool,
    /// Strings that the free text must not hold.
    pub excludes: Vec<Box<str>>,
    /// What follows: no tag and no excluded string may begin in the last free text and end within it.
    pub before: Box<str>,
    /// Whether the tags are markers: see [`Expr::Marker`].
    pub markers: bool,
}

/// The same as [`TagDispatch`] on the level of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenTagDispatch {
    /// The tokens and the rules that they switch to.
    pub tags: Vec<(u32, RuleId)>,
    /// Whether free tokens go on after a rule has ended.
    pub repeats: bool,
    /// Tokens that may not appear.
    pub excludes: Vec<u32>,
}
