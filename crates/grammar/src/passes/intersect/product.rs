//! The product of a context-free language and an automaton.
//!
//! First it is explored: which parts are met in which states, and in which they leave. That is a least fixpoint, by
//! telling each end to those who wait for it. Then the rules are made from the ends that matter, from the top down.

use std::sync::Arc;

use hashbrown::HashMap;

use super::free_state::{free_state, is_text};
use super::leaves::Leaves;
use crate::error::{Error, Result};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar, Names, RuleId, RuleOptions};
use crate::limits::Budget;
use crate::regular::{Dfa, StateId, determinize};

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
    Pair {
        first: Part,
        second: Part,
        or_empty: bool,
    },
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
pub(super) struct Product<'g> {
    grammar: &'g Grammar,
    regular: &'g [bool],
    /// The operand that is not regular.
    side: ExprId,
    /// The others together.
    dfa: Arc<Dfa>,
    /// The state from which every text is fine, if there is one and parts stay as they are in it.
    free: Option<StateId>,
    budget: &'g Budget,
    leaves: Leaves<'g>,
    numbers: HashMap<Meeting, u32>,
    meetings: Vec<Meeting>,
    ends: Vec<Ends>,
    /// Ends that listeners were not told of yet.
    news: Vec<(u32, StateId)>,
}

impl<'g> Product<'g> {
    pub(super) fn new(
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
        let dfa = Arc::new(dfa);
        let free = if is_text(grammar) { free_state(&dfa) } else { None };
        Ok(Product {
            grammar,
            regular,
            side,
            leaves: Leaves::new(grammar, Arc::clone(&dfa), budget),
            dfa,
            free,
            budget,
            numbers: HashMap::new(),
            meetings: Vec::new(),
            ends: Vec::new(),
            news: Vec::new(),
        })
    }

    fn shape(&self, part: Part) -> Result<Shape> {
        let expr = match part {
            Part::Expr(id) if self.regular[id.index()] => return Ok(Shape::Regular(id)),
            Part::Expr(id) => match self.grammar.expr(id) {
                // Regular too, but in a form that only the leaves know.
                Expr::JsonText { .. } => return Ok(Shape::Regular(id)),
                expr => expr,
            },
            Part::Tail(id, from) => {
                let items = self.grammar.expr(id).children();
                let (first, second) = (Part::Expr(items[from as usize]), Part::Tail(id, from + 1));
                let is_last = from as usize + 1 == items.len();
                return Ok(if is_last {
                    Shape::Any(vec![first])
                } else {
                    Shape::Pair { first, second, or_empty: false }
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
            Expr::Tagged { .. } => refused("free text with so many tags"),
            Expr::Members { .. } => {
                refused("a list of members in any order or with counts, as JSON objects may be,")
            }
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
                    for end in self.leaves.ends(id, state)? {
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

    /// The rule of the whole conjunction.
    pub(super) fn build(mut self, builder: &mut Builder, names: &mut Names) -> Result<RuleId> {
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
                let dfa = self.leaves.between(id, state, end)?;
                let source =
                    format!("part {} from {state} to {end} of {}", id.index(), self.side.index()).into();
                Ok(rules.builder.automaton(Automaton { source, dfa: Arc::new(dfa).into() }))
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

    fn body(
        &mut self,
        meeting: Meeting,
        end: StateId,
        rules: &mut Rules<'_>,
    ) -> Result<(ExprId, RuleOptions)> {
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
        if let Some(&rule) = self.numbers.get(&(meeting, end)) {
            return self.builder.rule(rule);
        }
        let rule = self.builder.declare(self.names.fresh(name));
        self.numbers.insert((meeting, end), rule);
        self.open.push((meeting, end, rule));
        self.builder.rule(rule)
    }
}
