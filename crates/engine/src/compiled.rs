//! A compiled grammar: the machine, the vocabulary, and the tables that its matchers fill and share.
//!
//! Compiling is the passes and nothing more; every table is made when a matcher first needs it. A machine that a front end made
//! without a grammar has one all the same, which is made when somebody asks for it: to print it, or to save it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use tokenstile_grammar::ir::Rule;
use tokenstile_grammar::machine::Machine;
use tokenstile_grammar::{Budget, Error, ErrorKind, Grammar, Result, passes};

use crate::budget::BudgetError;
use crate::completion::{Completion, NodeCosts};
use crate::generation::Generation;
use crate::limits::EngineLimits;
use crate::terminal::Speller;
use crate::vocab::Vocab;

/// Costs, and the tokens that are not text for them.
type KnownCosts = (Box<[u32]>, Arc<NodeCosts>);

/// Makes the grammar of a machine.
type MakeGrammar = Box<dyn Fn(&Budget) -> Result<Grammar> + Send + Sync>;

/// A grammar for a vocabulary, shared by any number of matchers on any number of threads.
pub struct CompiledGrammar {
    grammar: OnceLock<Grammar>,
    /// How to make the grammar, where it is not known from the start.
    make_grammar: Option<MakeGrammar>,
    machine: Arc<Machine>,
    vocab: Arc<Vocab>,
    limits: EngineLimits,
    current: RwLock<Arc<Generation>>,
    generations: AtomicU64,
    /// The memory of the machine, and of the grammar once there is one.
    machine_bytes: OnceLock<usize>,
    grammar_bytes: OnceLock<usize>,
    captures: bool,
    /// What it takes to complete the rules, by the tokens that are not text.
    node_costs: Mutex<Vec<KnownCosts>>,
}

/// Numbers about a compiled grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rules of the machine.
    pub rules: usize,
    /// Nodes of the machine.
    pub nodes: usize,
    /// Sets of stacks that were met.
    pub sets: usize,
    /// States of terminals that were met.
    pub terminal_states: usize,
    /// Masks that are kept.
    pub masks: usize,
    /// How often the tables were dropped because they were full.
    pub evictions: u64,
    /// The memory of the tables.
    pub cache_bytes: usize,
}

impl CompiledGrammar {
    /// Compiles `grammar` for `vocab`.
    pub fn new(
        grammar: Grammar,
        vocab: Arc<Vocab>,
        limits: EngineLimits,
        budget: &Budget,
    ) -> Result<Arc<Self>> {
        let machine = passes::compile_for(&grammar, vocab.table().special(), budget)?;
        let captures = grammar.rules().any(|(_, rule)| rule.options.captures());
        let parts = Parts { grammar: OnceLock::from(grammar), make_grammar: None, machine, captures };
        parts.put_together(vocab, limits)
    }

    /// The compiled grammar of a machine that captures nothing. `make_grammar` makes a grammar of the same language, for who
    /// asks for it.
    pub fn of_machine(
        machine: Machine,
        make_grammar: impl Fn(&Budget) -> Result<Grammar> + Send + Sync + 'static,
        vocab: Arc<Vocab>,
        limits: EngineLimits,
    ) -> Result<Arc<Self>> {
        let make_grammar: Option<MakeGrammar> = Some(Box::new(make_grammar));
        let parts = Parts { grammar: OnceLock::new(), make_grammar, machine, captures: false };
        parts.put_together(vocab, limits)
    }

    /// The grammar that it was compiled from, or one of the same language where it was made without.
    pub fn grammar(&self, budget: &Budget) -> Result<&Grammar> {
        if let (None, Some(make)) = (self.grammar.get(), &self.make_grammar) {
            let made = make(budget)?;
            return Ok(self.grammar.get_or_init(|| made));
        }
        self.grammar.get().ok_or_else(|| Error::new(ErrorKind::Invalid, "the machine has no grammar"))
    }

    /// The error with the place of the array that it speaks of, where that comes from a schema.
    pub(crate) fn place_budget_error(&self, error: BudgetError) -> BudgetError {
        let BudgetError::Repeats { rule, .. } = &error else { return error };
        let named = |(_, one): (_, &Rule)| one.name == *rule && one.options.distinct_items;
        let grammar = self.grammar.get();
        let found = grammar.and_then(|grammar| grammar.rules().find(|&one| named(one)));
        let pointer = found.and_then(|(_, rule)| rule.options.distinct_at.clone());
        BudgetError::Repeats { rule: rule.clone(), pointer }
    }

    /// The vocabulary that it was compiled for.
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.vocab
    }

    /// Whether a rule captures what it matches.
    pub fn captures(&self) -> bool {
        self.captures
    }

    /// The memory that it takes, with its tables but without what is shared with other grammars.
    pub fn memory_bytes(&self) -> usize {
        self.fixed_bytes() + self.current.read().memory_bytes()
    }

    /// The same as [`CompiledGrammar::memory_bytes`], as it was when it was last used: that takes no time to tell.
    pub fn measured_bytes(&self) -> usize {
        self.fixed_bytes() + self.current.read().measured_bytes()
    }

    fn fixed_bytes(&self) -> usize {
        let machine = self.machine_bytes.get_or_init(|| self.machine.memory_bytes());
        let grammar = |grammar: &Grammar| *self.grammar_bytes.get_or_init(|| grammar.memory_bytes());
        size_of::<Self>() + machine + self.grammar.get().map_or(0, grammar)
    }

    /// Numbers about it.
    pub fn stats(&self) -> Stats {
        let current = self.current.read();
        Stats {
            rules: self.machine.rules.len(),
            nodes: self.machine.nodes.len(),
            sets: current.sets().len(),
            terminal_states: current.terminals().len(),
            masks: current.sets().mask_count(),
            evictions: self.generations.load(Ordering::Relaxed),
            cache_bytes: current.memory_bytes(),
        }
    }

    /// The tables now in use.
    pub(crate) fn current(&self) -> Arc<Generation> {
        Arc::clone(&self.current.read())
    }

    /// What it takes to complete texts in a generation of this grammar, where some tokens are not text.
    pub(crate) fn completion(&self, generation: &Generation, barred: &[u32]) -> Arc<Completion> {
        generation.completion(barred, || {
            let trie = Arc::clone(generation.tokens().index().trie());
            let nodes = self.node_costs(generation, Speller { trie: &trie, barred });
            Completion::new(trie, barred.into(), nodes)
        })
    }

    fn node_costs(&self, generation: &Generation, speller: Speller<'_>) -> Arc<NodeCosts> {
        const MOST_KEPT: usize = 8;
        let barred: Box<[u32]> = speller.barred.into();
        let known = |kept: &[KnownCosts]| {
            kept.iter().find(|known| known.0 == barred).map(|known| Arc::clone(&known.1))
        };
        if let Some(known) = known(&self.node_costs.lock()) {
            return known;
        }
        // It may take long, and whoever waits for a lock cannot be interrupted.
        let made = Arc::new(NodeCosts::new(generation, speller));
        let mut kept = self.node_costs.lock();
        if let Some(known) = known(&kept) {
            return known;
        }
        if kept.len() < MOST_KEPT {
            kept.push((barred, Arc::clone(&made)));
        }
        made
    }

    /// Whether there are to be new tables in place of `used`.
    #[inline]
    pub(crate) fn is_used_up(&self, used: &Generation) -> bool {
        used.is_retired() || used.is_full(self.limits.cache_bytes)
    }

    /// The tables to go on with after `used`: itself, or new ones if it was full.
    pub(crate) fn after_use(&self, used: &Arc<Generation>) -> Option<Arc<Generation>> {
        if !self.is_used_up(used) {
            return None;
        }
        let mut current = self.current.write();
        if Arc::ptr_eq(&current, used) {
            *current = Generation::new(Arc::clone(&self.machine), Arc::clone(self.vocab.table()));
            used.retire();
            self.generations.fetch_add(1, Ordering::Relaxed);
        }
        Some(Arc::clone(&current))
    }
}

/// What a compiled grammar is made of.
struct Parts {
    grammar: OnceLock<Grammar>,
    make_grammar: Option<MakeGrammar>,
    machine: Machine,
    captures: bool,
}

impl Parts {
    fn put_together(self, vocab: Arc<Vocab>, limits: EngineLimits) -> Result<Arc<CompiledGrammar>> {
        check_tokens(&self.machine, &vocab)?;
        let machine = Arc::new(self.machine);
        let generation = Generation::new(Arc::clone(&machine), Arc::clone(vocab.table()));
        Ok(Arc::new(CompiledGrammar {
            grammar: self.grammar,
            make_grammar: self.make_grammar,
            machine,
            vocab,
            limits,
            current: RwLock::new(generation),
            generations: AtomicU64::new(0),
            machine_bytes: OnceLock::new(),
            grammar_bytes: OnceLock::new(),
            captures: self.captures,
            node_costs: Mutex::default(),
        }))
    }
}

/// Fails if the grammar names a token that the vocabulary does not have.
fn check_tokens(machine: &Machine, vocab: &Vocab) -> Result<()> {
    for set in &machine.token_sets {
        if let Some(&token) = set.ids.last().filter(|&&token| token as usize >= vocab.len()) {
            let message = format!("token {token} is not in the vocabulary, whose size is {}", vocab.len());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if set.negated && set.ids.len() == vocab.len() {
            let message = "a negated token set excludes the whole vocabulary";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
    }
    Ok(())
}

impl fmt::Debug for CompiledGrammar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CompiledGrammar").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
