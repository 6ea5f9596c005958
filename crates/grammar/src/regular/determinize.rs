//! Expressions of the intermediate form as automata.
//!
//! Only what stands below a conjunction or a complement comes here, so counted repeats are simply unrolled, within
//! the limit on states. A survey first finds what is not regular; the conjunctions, complements and bounds of the length
//! inside are then made one after the other, innermost first, and stand as ready automata in what is around them. All of
//! that is over letters where it is text, and over bytes where it may be something else ([`Symbols`]). Nothing recurses:
//! expressions may nest as deep as a chain of rules is long.

use rustc_hash::{FxHashMap, FxHashSet};

use super::charset::CharSet;
use super::dfa::Dfa;
use super::letters::Alphabet;
use super::nfa::{Nfa, NfaStateId};
use super::tag_text::TagText;
use crate::error::{Error, Result};
use crate::ir::{Builder, Expr, ExprId, Grammar, RuleId, RuleOptions};
use crate::limits::Budget;

/// Where expressions and rules are looked up.
pub trait ExprSource {
    /// The expression `id`.
    fn expr(&self, id: ExprId) -> &Expr;

    /// The body of a rule, or `None` where it has none yet.
    fn rule_body(&self, rule: RuleId) -> Option<ExprId>;

    /// What a rule says beside its body.
    fn rule_options(&self, rule: RuleId) -> &RuleOptions;
}

impl ExprSource for Builder {
    fn expr(&self, id: ExprId) -> &Expr {
        Builder::expr(self, id)
    }

    fn rule_body(&self, rule: RuleId) -> Option<ExprId> {
        Builder::rule_body(self, rule)
    }

    fn rule_options(&self, rule: RuleId) -> &RuleOptions {
        Builder::rule_options(self, rule)
    }
}

impl ExprSource for Grammar {
    fn expr(&self, id: ExprId) -> &Expr {
        Grammar::expr(self, id)
    }

    fn rule_body(&self, rule: RuleId) -> Option<ExprId> {
        Some(self.rule(rule).body)
    }

    fn rule_options(&self, rule: RuleId) -> &RuleOptions {
        &self.rule(rule).options
    }
}

/// The minimal automaton of a regular expression.
///
/// Rules are followed. Fails with [`crate::ErrorKind::Unsupported`] on what is not regular or not text: a recursive
/// rule, tokens, tag dispatch, and rules with limits or captures of their own.
pub fn determinize(source: &impl ExprSource, root: ExprId, budget: &Budget) -> Result<Dfa> {
    let mut survey = Survey::new(source, "a conjunction or a complement", budget);
    survey.visit(root)?;
    let symbols = survey.alphabet()?.map_or(Symbols::Bytes, Symbols::Letters);
    let mut work = Work { source, symbols, ready: FxHashMap::default(), budget };
    for id in survey.found {
        let dfa = work.combine(id)?;
        work.ready.insert(id, dfa);
    }
    let dfa = work.automaton_of(root)?;
    work.symbols.spelled(dfa, budget)
}

/// What the edges of automata are labelled with while they are put together.
enum Symbols {
    /// The bytes of what may not be text.
    Bytes,
    /// The letters of text.
    Letters(Alphabet),
}

impl Symbols {
    fn any_text(&self) -> &Dfa {
        match self {
            Symbols::Bytes => Dfa::any_text(),
            Symbols::Letters(alphabet) => alphabet.any_text(),
        }
    }

    fn at_most(&self, dfa: &Dfa, most: u32, budget: &Budget) -> Result<Dfa> {
        match self {
            Symbols::Bytes => dfa.at_most(most, budget),
            Symbols::Letters(_) => dfa.at_most_symbols(most, budget),
        }
    }

    fn add_literal(&self, nfa: &mut Nfa<'_>, from: NfaStateId, bytes: &[u8], to: NfaStateId) -> Result<()> {
        match (self, std::str::from_utf8(bytes)) {
            (Symbols::Letters(alphabet), Ok(text)) => {
                let letters: Vec<u8> = text.chars().map(|c| alphabet.letter(c)).collect();
                nfa.add_literal(from, &letters, to)
            }
            _ => nfa.add_literal(from, bytes, to),
        }
    }

    /// An automaton over these as one over bytes.
    fn spelled(&self, dfa: Dfa, budget: &Budget) -> Result<Dfa> {
        match self {
            Symbols::Bytes => Ok(dfa),
            Symbols::Letters(alphabet) => alphabet.spelled(&dfa, budget),
        }
    }
}

/// What is still to be done for an expression.
enum Visit {
    Enter(ExprId),
    Leave(ExprId),
}

/// A look at expressions that checks that all of them are regular text, each once.
#[derive(Debug)]
pub(crate) struct Survey<'s, S> {
    source: &'s S,
    /// What they stand inside of, for messages.
    inside: &'static str,
    open: FxHashSet<ExprId>,
    done: FxHashSet<ExprId>,
    /// The conjunctions, complements and bounds of length, innermost first.
    found: Vec<ExprId>,
    budget: &'s Budget,
}

impl<'s, S: ExprSource> Survey<'s, S> {
    /// Nothing is looked at yet.
    pub(crate) fn new(source: &'s S, inside: &'static str, budget: &'s Budget) -> Self {
        let (open, done) = (FxHashSet::default(), FxHashSet::default());
        Survey { source, inside, open, done, found: Vec::new(), budget }
    }

    /// Fails unless `root` is regular text.
    pub(crate) fn visit(&mut self, root: ExprId) -> Result<()> {
        let mut stack = vec![Visit::Enter(root)];
        while let Some(visit) = stack.pop() {
            self.budget.tick()?;
            match visit {
                Visit::Enter(id) if self.done.contains(&id) => {}
                Visit::Enter(id) => {
                    if !self.open.insert(id) {
                        return Err(Error::unsupported("a recursive rule is not a regular language")
                            .with_help(format!("{} needs operands without recursion", self.inside)));
                    }
                    stack.push(Visit::Leave(id));
                    let expr = self.source.expr(id);
                    stack.extend(expr.children().iter().map(|&child| Visit::Enter(child)));
                    stack.extend(self.leaf_body(expr)?.map(Visit::Enter));
                }
                Visit::Leave(id) => {
                    self.open.remove(&id);
                    self.done.insert(id);
                    if matches!(self.source.expr(id), Expr::And(_) | Expr::Not(_) | Expr::AtMost { .. }) {
                        self.found.push(id);
                    }
                }
            }
        }
        Ok(())
    }

    /// The letters of what was looked at, if it is all text, and has more than ASCII in it: bytes are letters there.
    fn alphabet(&self) -> Result<Option<Alphabet>> {
        let mut sets: Vec<&[(char, char)]> = Vec::new();
        let mut chars: FxHashSet<char> = FxHashSet::default();
        for &id in &self.done {
            match self.source.expr(id) {
                Expr::Bytes(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => chars.extend(text.chars()),
                    Err(_) => return Ok(None),
                },
                Expr::Marker(text) => chars.extend(text.chars()),
                Expr::Class(set) => sets.push(set.ranges()),
                Expr::Automaton(_) | Expr::Tagged { .. } => return Ok(None),
                _ => {}
            }
        }
        let is_wide = |set: &&[(char, char)]| set.iter().any(|range| !range.1.is_ascii());
        let is_ascii = chars.iter().all(char::is_ascii) && !sets.iter().any(is_wide);
        if is_ascii && !self.found.iter().any(|&id| matches!(self.source.expr(id), Expr::Not(_))) {
            return Ok(None);
        }
        let single: Vec<(char, char)> = chars.into_iter().map(|c| (c, c)).collect();
        Alphabet::new(sets.into_iter().chain(single.chunks(1)), self.budget)
    }

    /// The body of a rule reference, after a check that the expression is text.
    fn leaf_body(&self, expr: &Expr) -> Result<Option<ExprId>> {
        let misplaced =
            |what: &str| Error::unsupported(format!("{what} cannot stand inside {}", self.inside));
        match expr {
            Expr::Token(_) => Err(misplaced("a token")),
            Expr::TagDispatch(_) | Expr::TokenTagDispatch(_) => Err(misplaced("a tag dispatch")),
            Expr::JsonText { .. } | Expr::Members { .. } => Err(misplaced("the form of JSON")
                .with_help("put the conjunction or the complement inside of JsonText")),
            Expr::Rule(rule) => {
                let options = self.source.rule_options(*rule);
                let limited = options.needs_frame() || options.max_chars.is_some() || options.lazy;
                if limited || options.captures() {
                    return Err(misplaced("a rule with a limit, `lazy` or a capture"));
                }
                let body = self.source.rule_body(*rule);
                body.map(Some)
                    .ok_or_else(|| Error::unsupported("a rule that is not defined yet is not regular"))
            }
            _ => Ok(None),
        }
    }
}

/// Automata in the making.
struct Work<'s, 'b, S> {
    source: &'s S,
    symbols: Symbols,
    /// Those of conjunctions, complements and bounds.
    ready: FxHashMap<ExprId, Dfa>,
    budget: &'b Budget,
}

impl<S: ExprSource> Work<'_, '_, S> {
    /// The automaton of a conjunction, complement or bound whose insides are ready.
    fn combine(&self, id: ExprId) -> Result<Dfa> {
        match self.source.expr(id) {
            Expr::Not(item) => self.symbols.any_text().difference(&self.automaton_of(*item)?, self.budget),
            Expr::And(items) => {
                let all = items.iter().map(|&item| self.automaton_of(item)).collect::<Result<Vec<_>>>()?;
                self.intersection(all)
            }
            Expr::AtMost { body, most } => {
                self.symbols.at_most(&self.automaton_of(*body)?, *most, self.budget)
            }
            _ => unreachable!("the survey lists no others"),
        }
    }

    /// The words of all of these. Small automata come first, because the largest is multiplied by what is left of them.
    fn intersection(&self, mut all: Vec<Dfa>) -> Result<Dfa> {
        all.sort_by_key(Dfa::len);
        let both = |one: Dfa, other: Dfa| one.intersection(&other, self.budget);
        // A conjunction of nothing leaves all text.
        all.into_iter()
            .map(Ok)
            .reduce(|one, other| both(one?, other?))
            .unwrap_or_else(|| Ok(self.symbols.any_text().clone()))
    }

    fn automaton_of(&self, id: ExprId) -> Result<Dfa> {
        if let Some(dfa) = self.ready.get(&id) {
            return Ok(dfa.clone());
        }
        if let Expr::Automaton(automaton) = self.source.expr(id) {
            return Ok(Dfa::clone(&automaton.dfa));
        }
        let mut nfa = Nfa::new(self.budget);
        let (start, end) = (nfa.add_state()?, nfa.add_state()?);
        let (placed, classes) = (FxHashSet::default(), FxHashMap::default());
        let mut layout = Layout { work: self, nfa, tasks: Vec::new(), placed, classes };
        layout.place(id, start, end);
        while let Some((id, from, to)) = layout.tasks.pop() {
            self.budget.tick()?;
            layout.lay(id, from, to)?;
        }
        layout.nfa.determinize(start, end)
    }
}

/// An expression and the states that it is to connect.
type Task = (ExprId, NfaStateId, NfaStateId);

/// Lays expressions out as states, by a list of tasks instead of recursion.
struct Layout<'w, 's, 'b, S> {
    work: &'w Work<'s, 'b, S>,
    nfa: Nfa<'b>,
    tasks: Vec<Task>,
    /// Tasks that were given already; doing one twice adds nothing, and shared rules would do it without end.
    placed: FxHashSet<Task>,
    /// The letters of classes that were met.
    classes: FxHashMap<ExprId, Vec<(u8, u8)>>,
}

impl<S: ExprSource> Layout<'_, '_, '_, S> {
    fn place(&mut self, id: ExprId, from: NfaStateId, to: NfaStateId) {
        if self.placed.insert((id, from, to)) {
            self.tasks.push((id, from, to));
        }
    }

    fn lay(&mut self, id: ExprId, from: NfaStateId, to: NfaStateId) -> Result<()> {
        let Work { source, symbols, ready, .. } = self.work;
        match source.expr(id) {
            Expr::Never => {}
            Expr::Empty => self.nfa.add_empty(from, to),
            Expr::Bytes(bytes) => symbols.add_literal(&mut self.nfa, from, bytes, to)?,
            Expr::Marker(text) => symbols.add_literal(&mut self.nfa, from, text.as_bytes(), to)?,
            Expr::Class(set) => self.lay_class(id, set, from, to)?,
            Expr::Automaton(automaton) => self.nfa.add_dfa(from, &automaton.dfa, to)?,
            Expr::Seq(items) => self.lay_seq(items, from, to)?,
            Expr::Alt(items) => items.iter().for_each(|&item| self.place(item, from, to)),
            &Expr::Repeat { body, min, max } => self.lay_repeat(body, min, max, from, to)?,
            Expr::And(_) | Expr::Not(_) | Expr::AtMost { .. } => self.nfa.add_dfa(from, &ready[&id], to)?,
            Expr::Rule(rule) => {
                if let Some(body) = source.rule_body(*rule) {
                    self.place(body, from, to);
                }
            }
            Expr::Tagged { text, parts, repeats } => self.lay_tagged(text, parts, *repeats, from, to)?,
            Expr::JsonText { .. }
            | Expr::Members { .. }
            | Expr::Token(_)
            | Expr::TagDispatch(_)
            | Expr::TokenTagDispatch(_) => {
                unreachable!("the survey refuses what is not text")
            }
        }
        Ok(())
    }

    fn lay_class(&mut self, id: ExprId, set: &CharSet, from: NfaStateId, to: NfaStateId) -> Result<()> {
        let Symbols::Letters(alphabet) = &self.work.symbols else { return self.nfa.add_class(from, set, to) };
        let letters = self.classes.entry(id).or_insert_with(|| alphabet.letters(set));
        letters.iter().for_each(|&(low, high)| self.nfa.add_range(from, low, high, to));
        Ok(())
    }

    fn lay_seq(&mut self, items: &[ExprId], from: NfaStateId, to: NfaStateId) -> Result<()> {
        let Some((&last, before)) = items.split_last() else {
            self.nfa.add_empty(from, to);
            return Ok(());
        };
        let mut at = from;
        for &item in before {
            let next = self.nfa.add_state()?;
            self.place(item, at, next);
            at = next;
        }
        self.place(last, at, to);
        Ok(())
    }

    /// A state for each of those of the text, and from those in which a tag was read what follows it.
    fn lay_tagged(
        &mut self,
        text: &TagText,
        parts: &[ExprId],
        repeats: bool,
        from: NfaStateId,
        to: NfaStateId,
    ) -> Result<()> {
        let states = (0..text.len()).map(|_| self.nfa.add_state()).collect::<Result<Vec<_>>>()?;
        self.nfa.add_empty(from, states[Dfa::START as usize]);
        let back = if repeats { states[Dfa::START as usize] } else { to };
        for (state, &at) in (0..).zip(&states) {
            self.work.budget.tick()?;
            for (low, high, target) in text.edges(state) {
                self.nfa.add_range(at, low, high, states[target as usize]);
            }
            if text.is_end(state) {
                self.nfa.add_empty(at, to);
            }
            if let Some(tag) = text.tag(state) {
                self.place(parts[tag as usize], at, back);
            }
        }
        Ok(())
    }

    fn lay_repeat(
        &mut self,
        body: ExprId,
        min: u32,
        max: Option<u32>,
        from: NfaStateId,
        to: NfaStateId,
    ) -> Result<()> {
        let mut at = from;
        for _ in 0..min {
            at = self.lay_once(body, at)?;
        }
        match max {
            None => {
                let around = self.nfa.add_state()?;
                self.nfa.add_empty(at, around);
                self.place(body, around, around);
                at = around;
            }
            Some(max) => {
                for _ in min..max {
                    self.nfa.add_empty(at, to);
                    at = self.lay_once(body, at)?;
                }
            }
        }
        self.nfa.add_empty(at, to);
        Ok(())
    }

    fn lay_once(&mut self, body: ExprId, from: NfaStateId) -> Result<NfaStateId> {
        self.work.budget.tick()?;
        let next = self.nfa.add_state()?;
        self.place(body, from, next);
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;

    /// An expression of `steps` random steps, each over those before.
    fn random(builder: &mut Builder, seed: &mut u64, steps: usize) -> ExprId {
        let mut draw = |below: usize| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) as usize % below
        };
        let sets = [
            CharSet::any(),
            CharSet::new([('a', 'b')]),
            CharSet::new([('b', 'é'), ('\u{d000}', '\u{1ffff}')]),
            CharSet::new([('\u{7f}', '\u{d7ff}'), ('\u{e001}', '\u{e001}')]),
        ];
        let mut made = vec![builder.bytes("ab"), builder.bytes("é漢"), builder.empty()];
        made.extend(sets.map(|set| builder.class(set)));
        for _ in 0..steps {
            let [one, other] = [made[draw(made.len())], made[draw(made.len())]];
            let (min, more) = (draw(3) as u32, draw(3) as u32);
            made.push(match draw(7) {
                0 => builder.seq([one, other]),
                1 => builder.alt([one, other]),
                2 => builder.and([one, other]),
                3 => builder.not(one),
                4 => builder.at_most(one, more),
                5 => builder.repeat(one, min, Some(min + more)),
                _ => builder.repeat(one, min, None),
            });
        }
        made.pop().unwrap_or_else(|| builder.never())
    }

    #[test]
    fn letters_and_bytes_come_to_the_same() {
        let budget = Budget::default();
        let mut seed = 7;
        let mut wide = 0;
        for round in 0..400 {
            let mut builder = Builder::new(budget.limits());
            let root = random(&mut builder, &mut seed, 3 + round % 6);
            let mut survey = Survey::new(&builder, "a test", &budget);
            survey.visit(root).unwrap();
            let Some(alphabet) = survey.alphabet().unwrap() else { continue };
            wide += 1;
            let mut automata = [Symbols::Bytes, Symbols::Letters(alphabet)].map(|symbols| {
                let mut work =
                    Work { source: &builder, symbols, ready: FxHashMap::default(), budget: &budget };
                for &id in &survey.found {
                    let dfa = work.combine(id).unwrap();
                    work.ready.insert(id, dfa);
                }
                work.symbols.spelled(work.automaton_of(root).unwrap(), &budget).unwrap()
            });
            let [bytes, letters] = &mut automata;
            assert_eq!(bytes, letters, "round {round}");
        }
        assert!(wide > 200, "{wide} of them are over letters");
    }
}
