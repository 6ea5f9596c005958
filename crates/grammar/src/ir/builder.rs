//! The builder: interns expressions and declares rules.
//!
//! Its constructors keep the invariants of the intermediate form, and do the simplifications that cost nothing and
//! are always right: flattening, joining of neighbouring bytes, dropping of what is empty.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::escapes::Escapes;
use super::expr::{Automaton, Expr, ExprId, Items, Literal, RuleId, TagDispatch, TokenSet, TokenTagDispatch};
use super::exprs::Exprs;
use super::grammar::{Grammar, Rule, RuleOptions};
use super::members::Layout;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::passes::Ready;
use crate::regular::{CharSet, TagText};
use crate::repeats::drop_repeats;

/// How many expressions there is room for at first; most grammars have about so many.
const EXPECTED: usize = 112;
/// How many there is room for behind those that are shared.
const EXPECTED_OWN: usize = 48;

/// Expressions that are looked up before they are made have hashes of their own kind.
#[derive(Clone, Copy)]
enum Kind {
    Bytes,
    Seq,
    Alt,
    Other,
}

fn hash_slice<T: Hash>(kind: Kind, items: &[T]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(kind as u32);
    items.hash(&mut hasher);
    hasher.finish()
}

fn hash_of(expr: &Expr) -> u64 {
    match expr {
        Expr::Bytes(bytes) => hash_slice(Kind::Bytes, bytes),
        Expr::Seq(items) => hash_slice(Kind::Seq, items),
        Expr::Alt(items) => hash_slice(Kind::Alt, items),
        other => hash_slice(Kind::Other, std::slice::from_ref(other)),
    }
}

/// A sequence that is being put together.
#[derive(Default)]
struct Row {
    items: SmallVec<[ExprId; 16]>,
    /// The bytes that were read last: the first of them.
    first: Option<ExprId>,
    /// All of them, if there is more than one.
    text: SmallVec<[u8; 64]>,
}

impl Row {
    fn read(&mut self, builder: &Builder, id: ExprId, bytes: &[u8]) {
        let Some(first) = self.first else {
            self.first = Some(id);
            return;
        };
        if let Expr::Bytes(before) = builder.expr(first)
            && self.text.is_empty()
        {
            self.text.extend_from_slice(before);
        }
        self.text.extend_from_slice(bytes);
    }
}

/// Expressions with their hashes.
pub(super) type ExprIndex = HashTable<(u64, ExprId)>;

/// Expressions that many builders begin with.
#[derive(Debug)]
pub(crate) struct SharedExprs {
    exprs: Arc<[Expr]>,
    index: ExprIndex,
}

/// Builds one [`Grammar`].
#[derive(Debug)]
pub struct Builder {
    exprs: Exprs,
    /// The expressions with their hashes.
    index: ExprIndex,
    rules: Vec<(String, Option<ExprId>, RuleOptions)>,
    /// The rule whose machine is known.
    ready: Option<(RuleId, Arc<Ready>)>,
    max_rules: usize,
    max_exprs: usize,
}

impl Builder {
    /// An empty builder that will fail beyond `limits`.
    pub fn new(limits: &Limits) -> Self {
        Builder {
            exprs: Exprs::with_capacity(EXPECTED),
            index: ExprIndex::with_capacity(EXPECTED),
            rules: Vec::new(),
            ready: None,
            max_rules: limits.max_rules,
            max_exprs: limits.max_exprs,
        }
    }

    /// What stands in for a builder that is lent away. Thousands of schemas go into one grammar, each with the builder lent
    /// to it, so this allocates nothing.
    pub(crate) fn lent() -> Self {
        Builder {
            exprs: Exprs::default(),
            index: ExprIndex::new(),
            rules: Vec::new(),
            ready: None,
            max_rules: 0,
            max_exprs: 0,
        }
    }

    /// A builder that holds these expressions, each of them once and children first, with the same ids.
    pub(crate) fn of_exprs(exprs: &Exprs, limits: &Limits) -> Self {
        let mut builder = Builder::new(limits);
        for expr in exprs.iter() {
            builder.add(hash_of(expr), expr.clone());
        }
        builder
    }

    /// A builder that holds the expressions that others hold too, with the same ids, and has room for its own.
    pub(crate) fn beginning_with(shared: &SharedExprs, limits: &Limits) -> Self {
        Builder {
            exprs: Exprs::beginning_with(&shared.exprs, EXPECTED_OWN),
            index: shared.index.clone(),
            max_rules: limits.max_rules,
            max_exprs: limits.max_exprs,
            ..Builder::lent()
        }
    }

    /// The expressions alone, for others to begin with.
    pub(crate) fn into_shared(self) -> SharedExprs {
        SharedExprs { exprs: self.exprs.into_shared(), index: self.index }
    }

    /// A builder that holds `grammar` already, with the same ids.
    pub fn extend(grammar: Grammar, limits: &Limits) -> Self {
        let rules =
            grammar.rules.into_iter().map(|rule| (rule.name, Some(rule.body), rule.options)).collect();
        Builder {
            max_rules: limits.max_rules,
            max_exprs: limits.max_exprs,
            exprs: grammar.exprs,
            index: grammar.index,
            ready: grammar.ready,
            rules,
        }
    }

    /// The expression `id`.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    fn intern(&mut self, expr: Expr) -> ExprId {
        let hash = hash_of(&expr);
        match self.find(hash, |other| *other == expr) {
            Some(known) => known,
            None => self.add(hash, expr),
        }
    }

    fn find(&self, hash: u64, is_same: impl Fn(&Expr) -> bool) -> Option<ExprId> {
        let is_same = |&(other, at): &(u64, ExprId)| other == hash && is_same(&self.exprs[at.index()]);
        self.index.find(hash, is_same).map(|&(_, at)| at)
    }

    fn add(&mut self, hash: u64, expr: Expr) -> ExprId {
        let at = ExprId(self.exprs.len() as u32);
        self.exprs.push(expr);
        self.index.insert_unique(hash, (hash, at), |&(hash, _)| hash);
        at
    }

    /// The empty language.
    pub fn never(&mut self) -> ExprId {
        self.intern(Expr::Never)
    }

    /// The empty string.
    pub fn empty(&mut self) -> ExprId {
        self.intern(Expr::Empty)
    }

    /// These bytes; none of them is the empty string.
    pub fn bytes(&mut self, bytes: impl AsRef<[u8]>) -> ExprId {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            return self.empty();
        }
        let hash = hash_slice(Kind::Bytes, bytes);
        let known = self.find(hash, |expr| matches!(expr, Expr::Bytes(other) if **other == *bytes));
        known.unwrap_or_else(|| self.add(hash, Expr::Bytes(Literal::from_slice(bytes))))
    }

    /// This text, in which special tokens may stand for theirs.
    pub fn marker(&mut self, text: &str) -> ExprId {
        if text.is_empty() { self.empty() } else { self.intern(Expr::Marker(text.into())) }
    }

    /// One code point of `set`. A set of one is its bytes, so that literals join.
    pub fn class(&mut self, set: CharSet) -> ExprId {
        match set.ranges() {
            [] => self.never(),
            [(low, high)] if low == high => {
                let mut buffer = [0; 4];
                let text = low.encode_utf8(&mut buffer);
                self.bytes(text.as_bytes())
            }
            _ => self.intern(Expr::Class(set)),
        }
    }

    /// `items` one after the other.
    pub fn seq(&mut self, items: impl IntoIterator<Item = ExprId>) -> ExprId {
        let mut row = Row::default();
        for item in items {
            let count = match self.expr(item) {
                Expr::Seq(children) => children.len(),
                _ => 1,
            };
            for at in 0..count {
                let child = match self.expr(item) {
                    Expr::Seq(children) => children[at],
                    _ => item,
                };
                match self.expr(child) {
                    Expr::Never => return child,
                    Expr::Empty => {}
                    Expr::Bytes(bytes) => row.read(self, child, bytes),
                    _ => {
                        self.flush(&mut row);
                        row.items.push(child);
                    }
                }
            }
        }
        self.flush(&mut row);
        match *row.items {
            [] => self.empty(),
            [only] => only,
            ref items => {
                let hash = hash_slice(Kind::Seq, items);
                let known = self.find(hash, |expr| matches!(expr, Expr::Seq(other) if **other == *items));
                known.unwrap_or_else(|| self.add(hash, Expr::Seq(Items::from_slice(items))))
            }
        }
    }

    fn flush(&mut self, row: &mut Row) {
        if let Some(first) = row.first.take() {
            let bytes = if row.text.is_empty() { first } else { self.bytes(&row.text) };
            row.items.push(bytes);
            row.text.clear();
        }
    }

    /// Any one of `items`.
    pub fn alt(&mut self, items: impl IntoIterator<Item = ExprId>) -> ExprId {
        let mut flat: SmallVec<[ExprId; 16]> = SmallVec::new();
        for item in items {
            match self.expr(item) {
                Expr::Never => {}
                Expr::Alt(children) => flat.extend_from_slice(children),
                _ => flat.push(item),
            }
        }
        drop_repeats(&mut flat);
        match *flat {
            [] => self.never(),
            [only] => only,
            ref items => {
                let hash = hash_slice(Kind::Alt, items);
                let known = self.find(hash, |expr| matches!(expr, Expr::Alt(other) if **other == *items));
                known.unwrap_or_else(|| self.add(hash, Expr::Alt(Items::from_slice(items))))
            }
        }
    }

    /// `body`, `min` to `max` times.
    pub fn repeat(&mut self, body: ExprId, min: u32, max: Option<u32>) -> ExprId {
        if max.is_some_and(|max| max < min) {
            return self.never();
        }
        match (self.expr(body), min, max) {
            (_, _, Some(0)) | (Expr::Never, 0, _) => self.empty(),
            (Expr::Never | Expr::Empty, _, _) | (_, 1, Some(1)) => body,
            // (e*)* is e*, (e+)* too: an endless repeat of an endless repeat that starts at nought or one.
            (&Expr::Repeat { body, min: low @ (0 | 1), max: None }, 0 | 1, _) => {
                let min = low * min;
                self.intern(Expr::Repeat { body, min, max: None })
            }
            _ => self.intern(Expr::Repeat { body, min, max }),
        }
    }

    /// `body` or nothing.
    pub fn optional(&mut self, body: ExprId) -> ExprId {
        self.repeat(body, 0, Some(1))
    }

    /// In all of `items` at once; each must be regular.
    pub fn and(&mut self, items: impl IntoIterator<Item = ExprId>) -> ExprId {
        let mut items: SmallVec<[ExprId; 16]> = items.into_iter().collect();
        drop_repeats(&mut items);
        if let Some(&never) = items.iter().find(|&&id| *self.expr(id) == Expr::Never) {
            return never;
        }
        if items.len() == 1 { items[0] } else { self.intern(Expr::And(Items::from_slice(&items))) }
    }

    /// Any UTF-8 string outside of `item`, which must be regular.
    pub fn not(&mut self, item: ExprId) -> ExprId {
        match self.expr(item) {
            Expr::Not(inner) => *inner,
            _ => self.intern(Expr::Not(item)),
        }
    }

    /// An automaton that was built ahead of time.
    pub fn automaton(&mut self, automaton: Automaton) -> ExprId {
        if automaton.is_empty() { self.never() } else { self.intern(Expr::Automaton(automaton)) }
    }

    /// The JSON spellings of the texts of `text`, which must be regular.
    pub fn json_text(&mut self, text: ExprId, escapes: Escapes) -> ExprId {
        let only = match self.expr(text) {
            Expr::Never | Expr::Empty => return text,
            Expr::Bytes(bytes) => {
                match std::str::from_utf8(bytes).ok().and_then(|text| escapes.only_spelling(text)) {
                    Some(Cow::Borrowed(_)) => return text,
                    Some(Cow::Owned(only)) => Some(only),
                    None => None,
                }
            }
            _ => None,
        };
        match only {
            Some(only) => self.bytes(only),
            None => self.intern(Expr::JsonText { text, escapes }),
        }
    }

    /// The texts of `body`, which must be regular, with at most `most` code points.
    pub fn at_most(&mut self, body: ExprId, most: u32) -> ExprId {
        match *self.expr(body) {
            Expr::Never | Expr::Empty => body,
            Expr::AtMost { body, most: less } => self.intern(Expr::AtMost { body, most: most.min(less) }),
            _ => self.intern(Expr::AtMost { body, most }),
        }
    }

    /// A list of members; `parts` are the expressions that `layout` names. Variants and others that can match nothing
    /// are left out, and so are parts that are not used.
    pub fn members(&mut self, layout: Layout, parts: impl Into<Box<[ExprId]>>) -> ExprId {
        let parts = parts.into();
        let is_never = |part: u32| parts.get(part as usize).is_some_and(|&id| *self.expr(id) == Expr::Never);
        let (layout, parts) = layout.prune(&parts, is_never);
        self.intern(Expr::Members { layout: Arc::new(layout), parts })
    }

    /// A list of members with the layout of one that a builder has made, and as many parts.
    pub(super) fn members_like(&mut self, layout: &Arc<Layout>, parts: Box<[ExprId]>) -> ExprId {
        if parts.iter().any(|&part| *self.expr(part) == Expr::Never) {
            return self.members((**layout).clone(), parts);
        }
        self.intern(Expr::Members { layout: Arc::clone(layout), parts })
    }

    /// The language of a rule.
    pub fn rule(&mut self, rule: RuleId) -> ExprId {
        self.intern(Expr::Rule(rule))
    }

    /// One token of `set`.
    pub fn token(&mut self, set: TokenSet) -> ExprId {
        self.intern(Expr::Token(set))
    }

    /// Free text with tags.
    pub fn tag_dispatch(&mut self, dispatch: TagDispatch) -> ExprId {
        self.intern(Expr::TagDispatch(Arc::new(dispatch)))
    }

    /// Free text with tags, and what follows each of them.
    pub fn tagged(&mut self, text: &Arc<TagText>, parts: Box<[ExprId]>, repeats: bool) -> ExprId {
        self.intern(Expr::Tagged { text: Arc::clone(text), parts, repeats })
    }

    /// Free tokens with tags.
    pub fn token_tag_dispatch(&mut self, dispatch: TokenTagDispatch) -> ExprId {
        self.intern(Expr::TokenTagDispatch(Arc::new(dispatch)))
    }

    /// Declares a rule whose body follows; the caller sees to it that names are unique.
    pub fn declare(&mut self, name: impl Into<String>) -> RuleId {
        self.rules.push((name.into(), None, RuleOptions::default()));
        RuleId(self.rules.len() as u32 - 1)
    }

    /// Gives all rules from `first` on the names that `name` makes of theirs.
    pub(crate) fn rename(&mut self, first: usize, mut name: impl FnMut(&str) -> String) {
        for (old, _, _) in &mut self.rules[first..] {
            *old = name(old);
        }
    }

    /// Gives a declared rule its body and options.
    pub fn define(&mut self, rule: RuleId, body: ExprId, options: RuleOptions) {
        let slot = &mut self.rules[rule.index()];
        // What gets another body is not what was made ready.
        if slot.1.is_some() {
            self.ready.take_if(|(ready, _)| *ready == rule);
        }
        slot.1 = Some(body);
        slot.2 = options;
    }

    /// The body of a rule, where it is defined already.
    pub fn rule_body(&self, rule: RuleId) -> Option<ExprId> {
        self.rules[rule.index()].1
    }

    /// The options of a rule.
    pub fn rule_options(&self, rule: RuleId) -> &RuleOptions {
        &self.rules[rule.index()].2
    }

    /// The expressions alone, for what has no rules.
    pub(crate) fn into_exprs(self) -> Exprs {
        self.exprs
    }

    /// Says that the machine of a rule is known. Only one rule can be so; that of another that was is lowered as all are.
    pub(crate) fn set_ready(&mut self, rule: RuleId, ready: Arc<Ready>) {
        self.ready = Some((rule, ready));
    }

    /// How many expressions there are.
    pub(crate) fn expr_count(&self) -> usize {
        self.exprs.len()
    }

    /// How many rules were declared.
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Fails when the grammar has grown beyond the limits; a front end calls it as it goes.
    pub fn check(&self) -> Result<()> {
        if self.rules.len() > self.max_rules {
            return Err(Error::limit("the number of rules", self.max_rules, "max_rules"));
        }
        if self.exprs.len() > self.max_exprs {
            return Err(Error::limit("the number of expressions", self.max_exprs, "max_exprs"));
        }
        Ok(())
    }

    /// The grammar, starting from `root`. Fails on a rule that was declared and never defined.
    pub fn finish(self, root: RuleId) -> Result<Grammar> {
        self.check()?;
        let define = |(name, body, options): (String, Option<ExprId>, RuleOptions)| match body {
            Some(body) => Ok(Rule { name, body, options }),
            None => Err(Error::new(ErrorKind::Invalid, format!("rule {name:?} is used but never defined"))),
        };
        let rules = self.rules.into_iter().map(define).collect::<Result<Vec<_>>>()?;
        Ok(Grammar { exprs: self.exprs, index: self.index, rules, root, ready: self.ready })
    }
}
