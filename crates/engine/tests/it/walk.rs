//! Walks: the engine, in several configurations at once, beside the oracle.
//!
//! At every step the whole mask of every matcher is compared with the oracle's, and so are completion and what is
//! forced; every step is taken, taken back and taken again, forks are left behind and looked at later, and tokens that
//! the mask forbids are offered and must be refused without a trace. A disagreement is an `Err` that says where.

use std::sync::Arc;

use tokenstile_engine::oracle::{Oracle, OracleState};
use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::machine::Machine;
use tokenstile_grammar::{Budget, Grammar};

use crate::dice::Dice;
use crate::vocabulary::Vocabulary;

/// What a walk found wrong.
pub(crate) type Check<T = ()> = Result<T, String>;

/// One grammar compiled in every configuration, and its oracle.
pub(crate) struct Twins {
    pub(crate) oracle: Oracle,
    pub(crate) compiled: Vec<(&'static str, Arc<CompiledGrammar>)>,
    pub(crate) vocabulary: Vocabulary,
}

/// The configurations: as it comes, and with the smallest caches.
pub(crate) fn configurations() -> [(&'static str, EngineLimits); 2] {
    [("default", EngineLimits::default()), ("smallest caches", EngineLimits { cache_bytes: 1 })]
}

impl Twins {
    /// Compiles `grammar` for `vocabulary`. Engine and oracle must agree on whether there is anything to generate.
    pub(crate) fn new(
        grammar: &Grammar,
        vocabulary: Vocabulary,
    ) -> Check<Result<Self, tokenstile_grammar::Error>> {
        let oracle = Oracle::new(grammar);
        let mut compiled = Vec::new();
        for (name, limits) in configurations() {
            let vocab = Arc::clone(&vocabulary.vocab);
            match (CompiledGrammar::new(grammar.clone(), vocab, limits, &Budget::default()), &oracle) {
                (Ok(grammar), Ok(_)) => compiled.push((name, grammar)),
                (Err(error), Err(_)) => return Ok(Err(error)),
                (Ok(_), Err(error)) => return Err(format!("only the oracle refuses the grammar: {error}")),
                (Err(error), Ok(_)) => return Err(format!("only the engine refuses the grammar: {error}")),
            }
        }
        Ok(oracle.map(|oracle| Twins { oracle, compiled, vocabulary }))
    }

    /// Adds a machine of the same grammar that was made in another way, in every configuration.
    pub(crate) fn add_machine(&mut self, machine: &Machine) -> Result<(), tokenstile_grammar::Error> {
        for (name, limits) in configurations() {
            let name = if name == "default" { "no passes" } else { "no passes, smallest caches" };
            let no_grammar = |_: &Budget| Err(tokenstile_grammar::Error::unsupported("nobody asks for it"));
            let vocab = Arc::clone(&self.vocabulary.vocab);
            let compiled = CompiledGrammar::of_machine(machine.clone(), no_grammar, vocab, limits)?;
            self.compiled.push((name, compiled));
        }
        Ok(())
    }
}

/// A walk under way.
pub(crate) struct Walk<'a> {
    twins: &'a Twins,
    state: OracleState<'a>,
    matchers: Vec<(&'static str, Matcher)>,
    /// The tokens taken, for messages.
    path: Vec<u32>,
    /// The oracle's mask after each of them, the first before any.
    masks: Vec<Vec<bool>>,
    /// The text that must come now, by the oracle. It is asked once a step, for it tries every byte.
    forced: Vec<u8>,
}

impl<'a> Walk<'a> {
    /// A walk at the start, checked.
    pub(crate) fn new(twins: &'a Twins) -> Check<Self> {
        let matcher = |(name, grammar): &(&'static str, Arc<CompiledGrammar>)| {
            (*name, Matcher::new(Arc::clone(grammar), MatcherOptions::default()))
        };
        let matchers = twins.compiled.iter().map(matcher).collect();
        let state = twins.oracle.start();
        let forced = state.jump_forward();
        let mut walk = Walk { twins, state, matchers, path: Vec::new(), masks: Vec::new(), forced };
        walk.masks.push(walk.oracle_mask());
        walk.check()?;
        Ok(walk)
    }

    /// The tokens that may come next, by the oracle, the stop token among them where the text is complete.
    pub(crate) fn mask(&self) -> &[bool] {
        self.masks.last().expect("there is one from the start")
    }

    /// Whether the text so far is a sentence.
    pub(crate) fn is_complete(&self) -> bool {
        self.state.is_complete()
    }

    /// The tokens that may come next, without the stop token.
    pub(crate) fn choices(&self) -> Vec<u32> {
        let stop = self.twins.vocabulary.stop;
        (0..).zip(self.mask()).filter(|&(id, &allowed)| allowed && id != stop).map(|(id, _)| id).collect()
    }

    /// Takes `token` if the oracle allows it, and says whether it does. Every matcher must agree, and end in the same
    /// state whether it goes there at once or by a detour.
    pub(crate) fn step(&mut self, token: u32, dice: &mut Dice) -> Check<bool> {
        let allowed = self.mask()[token as usize];
        self.offer_forbidden(dice)?;
        let forks: Vec<Matcher> = self.matchers.iter().map(|(_, matcher)| matcher.fork()).collect();
        for at in 0..self.matchers.len() {
            let (name, matcher) = &mut self.matchers[at];
            let name = *name;
            if matcher.validate_tokens(&[token]) != usize::from(allowed) {
                return Err(self.wrong(name, &format!("validate_tokens([{token}]) is not {allowed}")));
            }
            if matcher.accept_token(token) != allowed {
                return Err(self.wrong(name, &format!("accept_token({token}) is not {allowed}")));
            }
        }
        if !allowed {
            self.check()?;
            return Ok(false);
        }
        self.state.advance_token(&self.twins.vocabulary.tokens[token as usize], token);
        self.path.push(token);
        self.masks.push(self.oracle_mask());
        // What is left of a text that must come still must.
        match self.forced.strip_prefix(&*self.twins.vocabulary.tokens[token as usize]) {
            Some(rest) if !rest.is_empty() => self.forced = rest.to_vec(),
            _ => self.forced = self.state.jump_forward(),
        }
        self.check()?;
        self.step_back_and_forth(token)?;
        self.check_forks(forks, token)?;
        Ok(true)
    }

    /// Goes back to the start in one rollback and compares, then takes the same way again.
    pub(crate) fn replay(&mut self) -> Check {
        for at in 0..self.matchers.len() {
            let (name, matcher) = &mut self.matchers[at];
            let name = *name;
            if matcher.rollback(self.path.len()).is_err() {
                return Err(self.wrong(name, "rollback to the start fails"));
            }
            let valid = self.matchers[at].1.validate_tokens(&self.path);
            if valid != self.path.len() {
                return Err(self.wrong(name, &format!("only {valid} tokens of the way are valid")));
            }
            for step in 0..=self.path.len() {
                self.check_mask(at, &self.masks[step], "on the way again")?;
                let next = self.path.get(step).copied();
                if next.is_some_and(|token| !self.matchers[at].1.accept_token(token)) {
                    return Err(self.wrong(name, &format!("step {step} is refused on the way again")));
                }
            }
            if self.matchers[at].1.rollback(self.path.len() + 1).is_ok() {
                return Err(self.wrong(name, "a rollback beyond the start succeeds"));
            }
        }
        self.check()
    }

    /// Ends the text with the stop token, which must work exactly if it is complete; and takes that back.
    pub(crate) fn stop(&mut self) -> Check {
        let (stop, complete) = (self.twins.vocabulary.stop, self.is_complete());
        for at in 0..self.matchers.len() {
            let (name, matcher) = &mut self.matchers[at];
            let name = *name;
            let stopped = matcher.accept_token(stop);
            if !self.mask()[stop as usize] && stopped {
                return Err(self.wrong(name, "the stop token is accepted"));
            }
            let matcher = &mut self.matchers[at].1;
            if complete && !(stopped && matcher.is_terminated() && matcher.rollback(1).is_ok()) {
                return Err(self.wrong(name, "the stop token does not end the text"));
            }
            if stopped && !complete && matcher.rollback(1).is_err() {
                return Err(self.wrong(name, "the stop token is not one step"));
            }
        }
        self.check()
    }

    fn oracle_mask(&self) -> Vec<bool> {
        let vocabulary = &self.twins.vocabulary;
        let mut mask = self.twins.oracle.mask(&self.state, &vocabulary.tokens);
        // No grammar here names the stop token, and a set of all tokens but some does not mean it.
        mask[vocabulary.stop as usize] = self.state.is_complete();
        mask
    }

    fn check(&mut self) -> Check {
        let complete = self.state.is_complete();
        for at in 0..self.matchers.len() {
            self.check_mask(at, self.mask(), "now")?;
            let (name, matcher) = &mut self.matchers[at];
            let name = *name;
            if matcher.is_completed() != complete {
                return Err(self.wrong(name, &format!("is_completed is not {complete}")));
            }
            let jump = matcher.jump_forward();
            if jump != self.forced {
                let forced = &self.forced;
                return Err(self.wrong(name, &format!("jump_forward is {jump:x?} and not {forced:x?}")));
            }
        }
        Ok(())
    }

    fn step_back_and_forth(&mut self, token: u32) -> Check {
        let before = self.masks.len() - 2;
        for at in 0..self.matchers.len() {
            let (name, matcher) = &mut self.matchers[at];
            let name = *name;
            if matcher.rollback(1).is_err() {
                return Err(self.wrong(name, "rollback of one token fails"));
            }
            self.check_mask(at, &self.masks[before], "after a rollback")?;
            if !self.matchers[at].1.accept_token(token) {
                return Err(self.wrong(name, &format!("{token} is refused after a rollback")));
            }
        }
        self.check()
    }

    /// Forks made before a step stand where they stood, and can take it themselves.
    fn check_forks(&mut self, forks: Vec<Matcher>, token: u32) -> Check {
        let before = self.masks.len() - 2;
        for (at, mut fork) in forks.into_iter().enumerate() {
            let name = self.matchers[at].0;
            if let Some(wrong) = mask_difference(&mut fork, &self.masks[before]) {
                return Err(self.wrong(name, &format!("the fork {wrong}")));
            }
            if !fork.accept_token(token) {
                return Err(self.wrong(name, &format!("the fork refuses {token}")));
            }
            if let Some(wrong) = mask_difference(&mut fork, self.mask()) {
                return Err(self.wrong(name, &format!("the fork after {token} {wrong}")));
            }
        }
        Ok(())
    }

    /// Offers a few tokens that the mask forbids, and an id that does not exist.
    fn offer_forbidden(&mut self, dice: &mut Dice) -> Check {
        let mut forbidden: Vec<u32> =
            (0..).zip(self.mask()).filter(|&(_, &allowed)| !allowed).map(|(id, _)| id).collect();
        forbidden.push(self.mask().len() as u32);
        for _ in 0..3 {
            let token = forbidden[dice.below(forbidden.len())];
            for at in 0..self.matchers.len() {
                let (name, matcher) = &mut self.matchers[at];
                let name = *name;
                if matcher.accept_token(token) {
                    return Err(self.wrong(name, &format!("{token} is accepted against the mask")));
                }
                self.check_mask(at, self.mask(), "after a refusal")?;
            }
        }
        Ok(())
    }

    fn check_mask(&self, at: usize, expected: &[bool], when: &str) -> Check {
        let (name, matcher) = &self.matchers[at];
        match mask_difference(&mut matcher.fork(), expected) {
            None => Ok(()),
            Some(wrong) => Err(self.wrong(name, &format!("{when}: {wrong}"))),
        }
    }

    fn wrong(&self, configuration: &str, what: &str) -> String {
        let vocabulary = &self.twins.vocabulary;
        let path: Vec<String> = self
            .path
            .iter()
            .map(|&id| format!("{id}:{}", vocabulary.tokens[id as usize].escape_ascii()))
            .collect();
        format!("[{}, {configuration}] after {path:?}: {what}", vocabulary.name)
    }
}

/// What is wrong with the mask of a matcher, if anything.
fn mask_difference(matcher: &mut Matcher, expected: &[bool]) -> Option<String> {
    let mut words = vec![0xDEAD_BEEF; expected.len().div_ceil(32)];
    matcher.fill_mask(&mut words);
    let bit = |id: usize| words[id / 32] >> (id % 32) & 1 == 1;
    let differing: Vec<usize> = (0..expected.len()).filter(|&id| bit(id) != expected[id]).collect();
    let behind = (expected.len()..words.len() * 32).any(bit);
    match differing.first() {
        Some(&id) => Some(format!("{} bits differ, the first is {id}, set: {}", differing.len(), bit(id))),
        None => behind.then(|| "a bit behind the vocabulary is set".to_owned()),
    }
}
