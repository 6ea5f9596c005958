//! Conjunctions of a context-free language with regular ones become rules.
//!
//! `e & r`, where `e` recurses and `r` is regular, is context-free again. An automaton for `r` runs beside the
//! derivation: for each part of `e` and each state in which the automaton may meet it there is a set of states in which
//! the part may leave it, and for each such pair a rule. `e & r` is then any way from the start of the automaton to one
//! of its ends. Only pairs that are met are made, and all of them can be completed, so no dead ends come in here.
//!
//! Two things keep that small. A part that is regular is not taken apart: for each pair it is one automaton. And once
//! the automaton is in the state from which every text is fine, it has nothing to say any more, and the part stays as it
//! is. So `e & ~"x"` costs a few rules around the beginning, and not a copy of the grammar.
//!
//! At most one operand may be context-free, no conjunction may hold itself, and tokens and lists of members are refused,
//! for an automaton that reads bytes does not see what they have read.

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::analysis::{rule_references, strong_components};
use super::booleans::in_rule;
use super::linear;
use super::rewrite::Rewriter;
use crate::error::{Error, Result};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar, Names, RuleId, RuleOptions};
use crate::limits::Budget;
use crate::regular::{Dfa, DfaBuilder, StateId, determinize};

/// `grammar` with conjunctions of regular languages only.
pub fn lower(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    if !grammar.exprs().any(|(_, expr)| matches!(expr, Expr::And(_))) || mixed(&grammar, budget)?.is_empty() {
        return Ok(grammar);
    }
    // What recurses at one end only is regular after all.
    let mut grammar = linear::unroll(grammar, budget)?;
    while let Some(innermost) = find_innermost(&grammar, &mixed(&grammar, budget)?)? {
        grammar = lower_one(grammar, innermost, budget)?;
    }
    Ok(grammar)
}

/// `grammar` with a rule in place of one conjunction.
fn lower_one(grammar: Grammar, conjunction: ExprId, budget: &Budget) -> Result<Grammar> {
    let root = grammar.root();
    let mut names = Names::default();
    grammar.rules().for_each(|(_, rule)| drop(names.fresh(&rule.name)));
    let regular = regular_exprs(&grammar, budget)?;
    let mut builder = Builder::extend(grammar.clone(), budget.limits());
    let product = Product::new(&grammar, &regular, conjunction, budget)
        .and_then(|product| product.build(&mut builder, &mut names));
    let both = product.map_err(|error| in_rule(&error, &owner_of(&grammar, conjunction)))?;
    let grown = builder.finish(root)?;
    let mut copy = Rewriter::new(&grown, budget, |_| true);
    let both = copy.rules[both.index()];
    for (id, rule) in grown.rules() {
        let body = copy.copy(rule.body, budget, &mut |builder, id, _| {
            Ok((id == conjunction).then(|| builder.rule(both)))
        })?;
        copy.define(id, body);
    }
    copy.finish()
}

/// The name of a rule that holds the expression, for messages.
fn owner_of(grammar: &Grammar, wanted: ExprId) -> String {
    let holds = |body: ExprId| {
        let (mut seen, mut open) = (HashSet::new(), vec![body]);
        while let Some(id) = open.pop() {
            if id == wanted {
                return true;
            }
            if seen.insert(id) {
                open.extend(grammar.expr(id).children());
            }
        }
        false
    };
    let owner = grammar.rules().find(|(_, rule)| holds(rule.body));
    owner.map_or_else(String::new, |(_, rule)| rule.name.clone())
}

/// Which expressions are regular text without options, rules followed.
fn regular_exprs(grammar: &Grammar, budget: &Budget) -> Result<Vec<bool>> {
    let references = rule_references(grammar);
    let graph: Vec<Vec<u32>> =
        references.iter().map(|rules| rules.iter().map(|rule| rule.index() as u32).collect()).collect();
    let mut rules = vec![false; graph.len()];
    let mut known: Vec<Option<bool>> = vec![None; grammar.exprs().len()];
    for component in strong_components(&graph) {
        for rule in component {
            // The rules of a circle stay irregular: they are not known when they are met.
            let id = RuleId(rule);
            let regular = classify(grammar, grammar.rule(id).body, &rules, &mut known, budget)?;
            let recurses = graph[rule as usize].contains(&rule);
            rules[rule as usize] =
                regular && !recurses && grammar.rule(id).options == RuleOptions::default();
        }
    }
    Ok(known.into_iter().map(|known| known.unwrap_or(false)).collect())
}

fn classify(
    grammar: &Grammar,
    root: ExprId,
    rules: &[bool],
    known: &mut [Option<bool>],
    budget: &Budget,
) -> Result<bool> {
    let mut open = vec![(root, false)];
    while let Some((id, children_done)) = open.pop() {
        budget.tick()?;
        if known[id.index()].is_some() {
            continue;
        }
        let expr = grammar.expr(id);
        if !children_done {
            open.push((id, true));
            open.extend(expr.children().iter().map(|&child| (child, false)));
            continue;
        }
        let children = expr.children().iter().all(|child| known[child.index()] == Some(true));
        known[id.index()] = Some(match expr {
            Expr::Rule(rule) => rules[rule.index()],
            Expr::Token(_)
            | Expr::TagDispatch(_)
            | Expr::TokenTagDispatch(_)
            | Expr::Members { .. }
            | Expr::JsonText(_) => false,
            _ => children,
        });
    }
    Ok(known[root.index()] == Some(true))
}

/// The conjunctions with an operand that is not regular.
fn mixed(grammar: &Grammar, budget: &Budget) -> Result<Vec<ExprId>> {
    let regular = regular_exprs(grammar, budget)?;
    let is_mixed = |(id, expr): (ExprId, &Expr)| match expr {
        Expr::And(items) if items.iter().any(|item| !regular[item.index()]) => Some(id),
        _ => None,
    };
    // Expressions that no rule holds any more are no one's concern.
    let held = held_exprs(grammar);
    Ok(grammar.exprs().filter_map(is_mixed).filter(|id| held[id.index()]).collect())
}

fn held_exprs(grammar: &Grammar) -> Vec<bool> {
    let mut held = vec![false; grammar.exprs().len()];
    grammar.rules().for_each(|(_, rule)| held[rule.body.index()] = true);
    for at in (0..held.len()).rev() {
        if held[at] {
            for child in grammar.expr(ExprId(at as u32)).children() {
                held[child.index()] = true;
            }
        }
    }
    held
}

/// A conjunction whose operands hold no other one, if there is any.
fn find_innermost(grammar: &Grammar, conjunctions: &[ExprId]) -> Result<Option<ExprId>> {
    let numbers: HashMap<ExprId, u32> = conjunctions.iter().copied().zip(0..).collect();
    let below = |conjunction: ExprId| {
        let mut seen: HashSet<ExprId> = HashSet::new();
        let mut open = grammar.expr(conjunction).children().to_vec();
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(&number) = numbers.get(&id) {
                found.push(number);
                continue;
            }
            let expr = grammar.expr(id);
            open.extend(expr.children());
            open.extend(expr.rules().iter().map(|&rule| grammar.rule(rule).body));
        }
        found
    };
    let graph: Vec<Vec<u32>> = conjunctions.iter().map(|&id| below(id)).collect();
    // The first part is one that leads nowhere else.
    let Some(component) = strong_components(&graph).into_iter().next() else { return Ok(None) };
    let first = component[0];
    let conjunction = conjunctions[first as usize];
    if component.len() > 1 || graph[first as usize].contains(&first) {
        let owner = owner_of(grammar, conjunction);
        let message = "a conjunction whose operand recurses to the conjunction itself is not context-free";
        return Err(Error::unsupported(format!("in rule {owner:?}: {message}")));
    }
    Ok(Some(conjunction))
}

/// A part of the context-free side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Expr(ExprId),
    /// A sequence from one of its items on.
    Tail(ExprId, u32),
    /// A repeat with counts of its own.
    Repeat(ExprId, u32, Option<u32>),
}

/// What a part is made of.
enum Shape {
    /// One automaton.
    Regular(ExprId),
    /// Any one of these.
    Any(Vec<Part>),
    /// One after the other, and the empty string too if so.
    Pair { first: Part, second: Part, or_empty: bool },
    Empty,
    Never,
}

/// A part, and the state in which it is met.
type Meeting = (Part, StateId);

/// What is to be told of a state in which a part leaves the automaton.
#[derive(Clone, Copy)]
enum Listener {
    /// Who leaves it there too.
    Same(u32),
    /// What is met there next, and who leaves it where that does.
    Then(Part, u32),
}

#[derive(Default)]
struct Ends {
    states: Vec<StateId>,
    listeners: Vec<Listener>,
}

/// The product of one conjunction.
struct Product<'g> {
    grammar: &'g Grammar,
    regular: &'g [bool],
    /// The operand that is not regular.
    side: ExprId,
    /// The others together.
    dfa: Dfa,
    /// The state from which every text is fine, if there is one and parts stay as they are in it.
    free: Option<StateId>,
    budget: &'g Budget,
    leaves: HashMap<ExprId, Rc<Dfa>>,
    numbers: HashMap<Meeting, u32>,
    meetings: Vec<Meeting>,
    ends: Vec<Ends>,
    /// Ends that listeners were not told of yet.
    news: Vec<(u32, StateId)>,
}

impl<'g> Product<'g> {
    fn new(
        grammar: &'g Grammar,
        regular: &'g [bool],
        conjunction: ExprId,
        budget: &'g Budget,
    ) -> Result<Self> {
        let operands = grammar.expr(conjunction).children();
        let (automata, sides): (Vec<ExprId>, Vec<ExprId>) =
            operands.iter().partition(|operand| regular[operand.index()]);
        let &[side] = &sides[..] else {
            return Err(Error::unsupported(
                "only one side of a conjunction may recurse or hold tokens or members; the others must be regular",
            ));
        };
        let mut dfa = Dfa::any_text().clone();
        for operand in automata {
            dfa = dfa.intersection(&determinize(grammar, operand, budget)?, budget)?;
        }
        let free = if is_text(grammar) { free_state(&dfa) } else { None };
        Ok(Product {
            grammar,
            regular,
            side,
            dfa,
            free,
            budget,
            leaves: HashMap::new(),
            numbers: HashMap::new(),
            meetings: Vec::new(),
            ends: Vec::new(),
            news: Vec::new(),
        })
    }

    fn shape(&self, part: Part) -> Result<Shape> {
        let expr = match part {
            Part::Expr(id) if self.regular[id.index()] => return Ok(Shape::Regular(id)),
            Part::Expr(id) => self.grammar.expr(id),
            Part::Tail(id, from) => {
                let items = self.grammar.expr(id).children();
                let (first, second) = (Part::Expr(items[from as usize]), Part::Tail(id, from + 1));
                return Ok(match from as usize + 1 == items.len() {
                    true => Shape::Any(vec![first]),
                    false => Shape::Pair { first, second, or_empty: false },
                });
            }
            Part::Repeat(_, 0, Some(0)) => return Ok(Shape::Empty),
            Part::Repeat(body, least, most) => {
                let second = Part::Repeat(body, least.saturating_sub(1), most.map(|most| most - 1));
                return Ok(Shape::Pair { first: Part::Expr(body), second, or_empty: least == 0 });
            }
        };
        let refused = |what: &str| {
            Err(Error::unsupported(format!("{what} cannot stand in a conjunction with a regular language")))
        };
        match expr {
            Expr::Seq(_) => match part {
                Part::Expr(id) => Ok(Shape::Any(vec![Part::Tail(id, 0)])),
                _ => Ok(Shape::Never),
            },
            Expr::Alt(items) => Ok(Shape::Any(items.iter().map(|&item| Part::Expr(item)).collect())),
            &Expr::Repeat { body, min, max } => Ok(Shape::Any(vec![Part::Repeat(body, min, max)])),
            Expr::Rule(rule) => Ok(Shape::Any(vec![Part::Expr(self.grammar.rule(*rule).body)])),
            Expr::Token(_) | Expr::TagDispatch(_) | Expr::TokenTagDispatch(_) => refused("a token"),
            Expr::Members { .. } => refused("a list of members, as JSON objects are,"),
            Expr::JsonText(_) => refused("a string in the form of JSON"),
            _ => refused("what is not regular"),
        }
    }

    /// All states in which the parts leave the automaton.
    fn explore(&mut self) -> Result<()> {
        if self.dfa.is_empty() {
            return Ok(());
        }
        self.meet((Part::Expr(self.side), Dfa::START))?;
        while let Some((number, state)) = self.news.pop() {
            self.budget.tick()?;
            for at in 0..self.ends[number as usize].listeners.len() {
                let listener = self.ends[number as usize].listeners[at];
                self.tell(listener, state)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, listener: Listener, state: StateId) -> Result<()> {
        match listener {
            Listener::Same(parent) => self.leave(parent, state),
            Listener::Then(part, parent) => {
                let number = self.meet((part, state))?;
                self.listen(number, Listener::Same(parent))?;
            }
        }
        Ok(())
    }

    fn listen(&mut self, number: u32, listener: Listener) -> Result<()> {
        let ends = &mut self.ends[number as usize];
        ends.listeners.push(listener);
        for state in ends.states.clone() {
            self.tell(listener, state)?;
        }
        Ok(())
    }

    fn leave(&mut self, number: u32, state: StateId) {
        let ends = &mut self.ends[number as usize];
        if let Err(place) = ends.states.binary_search(&state) {
            ends.states.insert(place, state);
            self.news.push((number, state));
        }
    }

    /// The number of a meeting. A new one starts to find out where it ends.
    fn meet(&mut self, meeting: Meeting) -> Result<u32> {
        if let Some(&number) = self.numbers.get(&meeting) {
            return Ok(number);
        }
        let mut first = None;
        let mut open = vec![meeting];
        // What must be met at once is a list and not recursion: alternatives nest.
        let mut links: Vec<(Meeting, Meeting, Option<Part>)> = Vec::new();
        while let Some(meeting) = open.pop() {
            self.budget.check_nodes(self.meetings.len())?;
            if self.numbers.contains_key(&meeting) {
                continue;
            }
            let number = self.meetings.len() as u32;
            first.get_or_insert(number);
            self.numbers.insert(meeting, number);
            self.meetings.push(meeting);
            self.ends.push(Ends::default());
            let (part, state) = meeting;
            if self.free == Some(state) {
                self.leave(number, state);
                continue;
            }
            match self.shape(part)? {
                Shape::Never => {}
                Shape::Empty => self.leave(number, state),
                Shape::Regular(id) => {
                    for end in self.leaf_ends(id, state)? {
                        self.leave(number, end);
                    }
                }
                Shape::Any(parts) => {
                    for part in parts {
                        open.push((part, state));
                        links.push(((part, state), meeting, None));
                    }
                }
                Shape::Pair { first, second, or_empty } => {
                    if or_empty {
                        self.leave(number, state);
                    }
                    open.push((first, state));
                    links.push(((first, state), meeting, Some(second)));
                }
            }
        }
        for (below, above, then) in links {
            let (below, above) = (self.numbers[&below], self.numbers[&above]);
            let listener = match then {
                None => Listener::Same(above),
                Some(part) => Listener::Then(part, above),
            };
            self.ends[below as usize].listeners.push(listener);
            for state in self.ends[below as usize].states.clone() {
                self.news.push((below, state));
            }
        }
        Ok(first.unwrap_or_default())
    }

    fn leaf(&mut self, id: ExprId) -> Result<Rc<Dfa>> {
        if let Some(dfa) = self.leaves.get(&id) {
            return Ok(Rc::clone(dfa));
        }
        let dfa = Rc::new(determinize(self.grammar, id, self.budget)?);
        self.leaves.insert(id, Rc::clone(&dfa));
        Ok(dfa)
    }

    /// The pairs of states that a regular part and the automaton can be in together, from `state` on.
    fn leaf_pairs(&mut self, id: ExprId, state: StateId) -> Result<(Rc<Dfa>, Vec<(StateId, StateId)>)> {
        let leaf = self.leaf(id)?;
        if leaf.is_empty() {
            return Ok((leaf, Vec::new()));
        }
        let mut seen: HashSet<(StateId, StateId)> = HashSet::from([(Dfa::START, state)]);
        let mut pairs = vec![(Dfa::START, state)];
        let mut at = 0;
        while at < pairs.len() {
            self.budget.check_states(pairs.len())?;
            let (one, other) = pairs[at];
            for (_, _, targets) in common_edges(leaf.edges(one), self.dfa.edges(other)) {
                if seen.insert(targets) {
                    pairs.push(targets);
                }
            }
            at += 1;
        }
        Ok((leaf, pairs))
    }

    fn leaf_ends(&mut self, id: ExprId, state: StateId) -> Result<Vec<StateId>> {
        let (leaf, pairs) = self.leaf_pairs(id, state)?;
        let mut ends: Vec<StateId> =
            pairs.into_iter().filter(|pair| leaf.is_accepting(pair.0)).map(|pair| pair.1).collect();
        ends.sort_unstable();
        ends.dedup();
        Ok(ends)
    }

    /// What a regular part reads between two states.
    fn leaf_between(&mut self, id: ExprId, from: StateId, to: StateId) -> Result<Dfa> {
        let (leaf, pairs) = self.leaf_pairs(id, from)?;
        let numbers: HashMap<(StateId, StateId), StateId> = pairs.iter().copied().zip(0..).collect();
        let mut builder = DfaBuilder::new();
        for &(one, other) in &pairs {
            builder.add_state(leaf.is_accepting(one) && other == to);
        }
        for (&(one, other), at) in pairs.iter().zip(0..) {
            for (low, high, targets) in common_edges(leaf.edges(one), self.dfa.edges(other)) {
                builder.add_edge(at, low, high, numbers[&targets]);
            }
        }
        builder.finish(self.budget)
    }

    /// The rule of the whole conjunction.
    fn build(mut self, builder: &mut Builder, names: &mut Names) -> Result<RuleId> {
        self.explore()?;
        let whole = builder.declare(names.fresh("both"));
        let mut rules = Rules { numbers: HashMap::new(), open: Vec::new(), builder, names };
        let start = (Part::Expr(self.side), Dfa::START);
        let ends = self.ends_of(start);
        let mut ways = Vec::new();
        for end in ends {
            if self.dfa.is_accepting(end) {
                ways.push(self.between(start, end, &mut rules)?);
            }
        }
        let body = rules.builder.alt(ways);
        rules.builder.define(whole, body, RuleOptions::default());
        while let Some((meeting, end, rule)) = rules.open.pop() {
            self.budget.tick()?;
            rules.builder.check()?;
            let (body, options) = self.body(meeting, end, &mut rules)?;
            rules.builder.define(rule, body, options);
        }
        Ok(whole)
    }

    fn ends_of(&self, meeting: Meeting) -> Vec<StateId> {
        self.numbers.get(&meeting).map_or_else(Vec::new, |&at| self.ends[at as usize].states.clone())
    }

    fn leaves_at(&self, meeting: Meeting, end: StateId) -> bool {
        self.numbers
            .get(&meeting)
            .is_some_and(|&at| self.ends[at as usize].states.binary_search(&end).is_ok())
    }

    /// What a part reads between two states, as an expression.
    fn between(&mut self, meeting: Meeting, end: StateId, rules: &mut Rules<'_>) -> Result<ExprId> {
        let (part, state) = meeting;
        if self.free == Some(state) {
            return Ok(self.unchanged(part, rules.builder));
        }
        match self.shape(part)? {
            Shape::Regular(id) => {
                let dfa = self.leaf_between(id, state, end)?;
                let source = format!("part {} from {state} to {end} of {}", id.index(), self.side.index()).into();
                Ok(rules.builder.automaton(Automaton { source, dfa: Arc::new(dfa) }))
            }
            Shape::Empty => Ok(rules.builder.empty()),
            _ => Ok(rules.call(meeting, end, self.name_of(part))),
        }
    }

    /// A part that the automaton has nothing to say about.
    fn unchanged(&self, part: Part, builder: &mut Builder) -> ExprId {
        match part {
            Part::Expr(id) => id,
            Part::Tail(id, from) => {
                let items = self.grammar.expr(id).children()[from as usize..].to_vec();
                builder.seq(items)
            }
            Part::Repeat(body, least, most) => builder.repeat(body, least, most),
        }
    }

    fn name_of(&self, part: Part) -> &'g str {
        match part {
            Part::Expr(id) => match self.grammar.expr(id) {
                Expr::Rule(rule) => &self.grammar.rule(*rule).name,
                _ => "part",
            },
            _ => "part",
        }
    }

    fn body(&mut self, meeting: Meeting, end: StateId, rules: &mut Rules<'_>) -> Result<(ExprId, RuleOptions)> {
        let (part, state) = meeting;
        let mut ways = Vec::new();
        match self.shape(part)? {
            Shape::Any(parts) => {
                for part in parts {
                    if self.leaves_at((part, state), end) {
                        ways.push(self.between((part, state), end, rules)?);
                    }
                }
            }
            Shape::Pair { first, second, or_empty } => {
                if or_empty && state == end {
                    ways.push(rules.builder.empty());
                }
                for middle in self.ends_of((first, state)) {
                    self.budget.tick()?;
                    if self.leaves_at((second, middle), end) {
                        let one = self.between((first, state), middle, rules)?;
                        let other = self.between((second, middle), end, rules)?;
                        ways.push(rules.builder.seq([one, other]));
                    }
                }
            }
            _ => {}
        }
        let options = match part {
            Part::Expr(id) => match self.grammar.expr(id) {
                Expr::Rule(rule) => self.grammar.rule(*rule).options.clone(),
                _ => RuleOptions::default(),
            },
            _ => RuleOptions::default(),
        };
        Ok((rules.builder.alt(ways), options))
    }
}

/// The rules that are made for a product.
struct Rules<'b> {
    numbers: HashMap<(Meeting, StateId), RuleId>,
    /// Those that have no body yet.
    open: Vec<(Meeting, StateId, RuleId)>,
    builder: &'b mut Builder,
    names: &'b mut Names,
}

impl Rules<'_> {
    fn call(&mut self, meeting: Meeting, end: StateId, name: &str) -> ExprId {
        let rule = match self.numbers.get(&(meeting, end)) {
            Some(&rule) => rule,
            None => {
                let rule = self.builder.declare(self.names.fresh(name));
                self.numbers.insert((meeting, end), rule);
                self.open.push((meeting, end, rule));
                rule
            }
        };
        self.builder.rule(rule)
    }
}

/// The byte ranges on which both sides go on, and where to.
fn common_edges(
    left: &[(u8, u8, StateId)],
    right: &[(u8, u8, StateId)],
) -> Vec<(u8, u8, (StateId, StateId))> {
    let mut common = Vec::new();
    let (mut one, mut other) = (0, 0);
    while one < left.len() && other < right.len() {
        let ((low, high, to), (other_low, other_high, other_to)) = (left[one], right[other]);
        let (from, until) = (low.max(other_low), high.min(other_high));
        if from <= until {
            common.push((from, until, (to, other_to)));
        }
        if high <= other_high {
            one += 1;
        } else {
            other += 1;
        }
    }
    common
}

/// Whether all that the grammar matches is text, code point by code point, so that no part of it ends inside of one.
fn is_text(grammar: &Grammar) -> bool {
    grammar.exprs().all(|(_, expr)| match expr {
        Expr::Bytes(bytes) => std::str::from_utf8(bytes).is_ok(),
        Expr::Automaton(automaton) => {
            automaton.dfa.difference(Dfa::any_text(), &Budget::default()).is_ok_and(|rest| rest.is_empty())
        }
        _ => true,
    })
}

/// The state of `dfa` from which it accepts any text.
fn free_state(dfa: &Dfa) -> Option<StateId> {
    let any = Dfa::any_text();
    'states: for state in 0..dfa.len() as StateId {
        let mut images: Vec<Option<StateId>> = vec![None; any.len()];
        images[Dfa::START as usize] = Some(state);
        let mut open = vec![Dfa::START];
        while let Some(at) = open.pop() {
            let image = images[at as usize].unwrap_or(state);
            if dfa.is_accepting(image) != any.is_accepting(at) {
                continue 'states;
            }
            let (here, there) = (any.edges(at), dfa.edges(image));
            if here.len() != there.len() {
                continue 'states;
            }
            for (&(low, high, to), &(other_low, other_high, other_to)) in here.iter().zip(there) {
                if (low, high) != (other_low, other_high) {
                    continue 'states;
                }
                match images[to as usize] {
                    None => {
                        images[to as usize] = Some(other_to);
                        open.push(to);
                    }
                    Some(known) if known != other_to => continue 'states,
                    Some(_) => {}
                }
            }
        }
        return Some(state);
    }
    None
}
