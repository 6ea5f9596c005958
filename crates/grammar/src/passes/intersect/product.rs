//! The product of a context-free language and an automaton.
//!
//! First it is explored: which parts are met in which states, and in which they leave. That is a least fixpoint, by
//! telling each end to those who wait for it. Then the rules are made from the ends that matter, from the top down.

use std::sync::Arc;

use hashbrown::HashMap;

use super::free_state::{free_state, is_text};
use super::leaves::{Leaf, Leaves};
use super::lists::{Lists, Phase, Words};
use super::ways::{Way, Ways};
use crate::error::{Error, Result};
use crate::ir::{Builder, Expr, ExprId, Grammar, Names, RuleId, RuleOptions};
use crate::limits::Budget;
use crate::regular::{Dfa, StateId, determinize};

/// A part of the context-free side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Expr(ExprId),
    /// A sequence from one of its items on.
    Tail(ExprId, u32),
    /// A repeat with counts of its own.
    Repeat(ExprId, u32, Option<u32>),
    /// A list from one of its places on.
    Place(u32),
    /// The same behind a member: its key, and its value.
    Keyed(u32, ExprId, u32),
    Valued(ExprId, u32),
    /// A key.
    Key(u32),
}

/// What a part is made of.
enum Shape {
    /// One automaton.
    Regular(Leaf),
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
pub(super) type Meeting = (Part, StateId);

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
    pub(super) grammar: &'g Grammar,
    regular: &'g [bool],
    /// The operand that is not regular.
    side: ExprId,
    /// The others together.
    pub(super) dfa: Arc<Dfa>,
    /// The state from which every text is fine, if there is one and parts stay as they are in it.
    pub(super) free: Option<StateId>,
    /// Whether all that the grammar matches is text, so that parts begin and end between characters.
    pub(super) is_text: bool,
    /// The lists that the automaton does not move, and of which it is not known that they have a text.
    still: Vec<u32>,
    pub(super) budget: &'g Budget,
    pub(super) leaves: Leaves<'g>,
    pub(super) lists: Lists<'g>,
    pub(super) ways: Ways,
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
        words: &'g HashMap<ExprId, Words>,
        round: usize,
        budget: &'g Budget,
    ) -> Result<Self> {
        let (automata, sides): (Vec<ExprId>, Vec<ExprId>) =
            super::operands(grammar, conjunction).0.into_iter().partition(|operand| regular[operand.index()]);
        let &[side] = &sides[..] else {
            return Err(Error::unsupported(
                "only one side of a conjunction may recurse or hold tokens or members; the others must be regular",
            )
            .with_help(
                "of two grammars that recurse it cannot even be decided whether they have a text in common; JSON Schemas are \
                 put together by their values, where both are grammars of schemas",
            ));
        };
        let mut dfa = Dfa::any_text().clone();
        for operand in automata {
            dfa = dfa.intersection(&determinize(grammar, operand, budget)?, budget)?;
        }
        let dfa = Arc::new(dfa);
        let is_text = is_text(grammar);
        let free = if is_text { free_state(&dfa) } else { None };
        Ok(Product {
            grammar,
            regular,
            side,
            leaves: Leaves::new(grammar, Arc::clone(&dfa), round, budget),
            lists: Lists::new(grammar, words, budget),
            ways: Ways::new(Arc::clone(&dfa)),
            dfa,
            free,
            is_text,
            still: Vec::new(),
            budget,
            numbers: HashMap::new(),
            meetings: Vec::new(),
            ends: Vec::new(),
            news: Vec::new(),
        })
    }

    fn shape(&mut self, part: Part) -> Result<Shape> {
        let expr = match part {
            Part::Expr(id) if self.regular[id.index()] => return Ok(Shape::Regular(Leaf::Expr(id))),
            Part::Expr(id) => match self.grammar.expr(id) {
                // Regular too, but in a form that only the leaves know.
                Expr::JsonText { .. } => return Ok(Shape::Regular(Leaf::Expr(id))),
                Expr::Members { .. } => {
                    let list = self.lists.number(id, &mut self.leaves)?;
                    return Ok(Shape::Any(vec![Part::Place(self.lists.start(list))]));
                }
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
            Part::Place(place) => return self.shape_of_place(place),
            Part::Keyed(key, value, next) => {
                let (first, second) = (Part::Key(key), Part::Valued(value, next));
                return Ok(Shape::Pair { first, second, or_empty: false });
            }
            Part::Valued(value, next) => {
                let (first, second) = (Part::Expr(value), Part::Place(next));
                return Ok(Shape::Pair { first, second, or_empty: false });
            }
            Part::Key(key) => return Ok(Shape::Regular(Leaf::Key(key))),
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
            _ => refused("what is not regular"),
        }
    }

    /// A list at a place: it may end, or go on with a member.
    fn shape_of_place(&mut self, place: u32) -> Result<Shape> {
        let or_empty = self.lists.may_end(place);
        let &super::lists::Place { list, phase, .. } = self.lists.place(place);
        let steps = self.lists.steps(place)?;
        if phase == Phase::After {
            return Ok(match (steps.is_empty(), or_empty) {
                (true, true) => Shape::Empty,
                (true, false) => Shape::Never,
                (false, _) => {
                    let first = Part::Expr(self.lists.separator(list));
                    Shape::Pair { first, second: Part::Place(self.lists.separated(place)), or_empty }
                }
            });
        }
        let mut parts: Vec<Part> = steps
            .into_iter()
            .map(|step| match step.key {
                Some(key) => Part::Keyed(key, step.value, step.next),
                None => Part::Valued(step.value, step.next),
            })
            .collect();
        if or_empty {
            parts.push(Part::Repeat(self.side, 0, Some(0)));
        }
        Ok(Shape::Any(parts))
    }

    /// Whether a part that is met in the state from which every text is fine stays as it is.
    fn stays(&self, (part, state): Meeting) -> bool {
        self.free == Some(state) && matches!(part, Part::Expr(_) | Part::Tail(..) | Part::Repeat(..))
    }

    /// The meetings that there are.
    pub(super) fn meetings(&self) -> &[Meeting] {
        &self.meetings
    }

    /// All states in which the parts leave the automaton.
    pub(super) fn explore(&mut self) -> Result<()> {
        if self.dfa.is_empty() {
            return Ok(());
        }
        self.meet((Part::Expr(self.side), Dfa::START))?;
        loop {
            while let Some((number, state)) = self.news.pop() {
                self.budget.tick()?;
                for at in 0..self.ends[number as usize].listeners.len() {
                    let listener = self.ends[number as usize].listeners[at];
                    self.tell(listener, state)?;
                }
            }
            if !self.look_at_still()? {
                return Ok(());
            }
        }
    }

    /// Finds out of lists that the automaton does not move whether they have a text by now; tells whether one has.
    fn look_at_still(&mut self) -> Result<bool> {
        let mut found = false;
        for number in std::mem::take(&mut self.still) {
            let (part, state) = self.meetings[number as usize];
            let Part::Expr(id) = part else { continue };
            if self.has_still_text(id, state)? {
                self.leave(number, state);
                found = true;
            } else {
                self.still.push(number);
            }
        }
        Ok(found)
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
            if self.stays(meeting) {
                self.leave(number, state);
                continue;
            }
            if self.is_still_list(meeting)
                && let Part::Expr(id) = part
            {
                self.still.push(number);
                open.extend(self.parts_of_still(id).into_iter().map(|part| (part, state)));
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
        let whole = builder.declare(names.fresh("both"));
        let mut rules =
            Rules { numbers: HashMap::new(), keys: HashMap::new(), open: Vec::new(), builder, names };
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

    pub(super) fn ends_of(&self, meeting: Meeting) -> Vec<StateId> {
        self.numbers.get(&meeting).map_or_else(Vec::new, |&at| self.ends[at as usize].states.clone())
    }

    pub(super) fn leaves_at(&self, meeting: Meeting, end: StateId) -> bool {
        self.numbers
            .get(&meeting)
            .is_some_and(|&at| self.ends[at as usize].states.binary_search(&end).is_ok())
    }

    /// What a part reads between two states, as an expression.
    pub(super) fn between(
        &mut self,
        meeting: Meeting,
        end: StateId,
        rules: &mut Rules<'_>,
    ) -> Result<ExprId> {
        let (part, state) = meeting;
        if self.stays(meeting) {
            return Ok(self.unchanged(part, rules.builder));
        }
        match self.shape(part)? {
            Shape::Regular(id) => {
                let way = self.ways.between(state, end, self.budget)?;
                self.leaves.on_way(id, (state, end), way, rules.builder)
            }
            Shape::Empty => Ok(rules.builder.empty()),
            _ => {
                let way = self.ways.between(state, end, self.budget)?;
                Ok(rules.call(meeting, end, way, self.name_of(part)))
            }
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
            Part::Place(_) | Part::Keyed(..) | Part::Valued(..) | Part::Key(_) => builder.never(),
        }
    }

    /// The list that a part is, if the engine carries the keys that it had.
    fn tracked_list(&mut self, part: Part) -> Result<Option<u32>> {
        let Part::Expr(id) = part else { return Ok(None) };
        if !matches!(self.grammar.expr(id), Expr::Members { .. }) {
            return Ok(None);
        }
        let list = self.lists.number(id, &mut self.leaves)?;
        Ok(self.lists.list(list).is_tracked.then_some(list))
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
        if self.is_still_list(meeting)
            && let Part::Expr(id) = part
        {
            return Ok((self.still_list(id, state, rules)?, RuleOptions::default()));
        }
        if let Some(list) = self.tracked_list(part)? {
            let body = self.tracked(list, state, end, rules)?;
            return Ok((body, RuleOptions::default()));
        }
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
pub(super) struct Rules<'b> {
    numbers: HashMap<(Part, Way), RuleId>,
    /// The keys of families of lists on their ways.
    pub(super) keys: HashMap<(u32, u32, Way), ExprId>,
    /// Those that have no body yet.
    open: Vec<(Meeting, StateId, RuleId)>,
    pub(super) builder: &'b mut Builder,
    names: &'b mut Names,
}

impl Rules<'_> {
    fn call(&mut self, meeting: Meeting, end: StateId, way: Way, name: &str) -> ExprId {
        if let Some(&rule) = self.numbers.get(&(meeting.0, way)) {
            return self.builder.rule(rule);
        }
        let rule = self.builder.declare(self.names.fresh(name));
        self.numbers.insert((meeting.0, way), rule);
        self.open.push((meeting, end, rule));
        self.builder.rule(rule)
    }
}
