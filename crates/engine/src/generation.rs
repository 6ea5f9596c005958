//! A generation: all tables of a compiled grammar between two times that they were dropped.
//!
//! Everything in it is appended and never moved or changed, so it is read without locks by all matchers of the
//! grammar, and numbers stay valid as long as somebody holds it. When it has grown beyond its limit the grammar
//! starts a new one, and each matcher carries what it still needs over to it (see [`crate::carry`]).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tokenstile_grammar::ir::ExprId;
use tokenstile_grammar::machine::Machine;

use crate::carry::{Carrier, Way};
use crate::completion::Completion;
use crate::config::{Deadlines, Distinct, Lists, SetId, Sets};
use crate::content::Contents;
use crate::limits::PROCESS;
use crate::mask::{
    Failures, FarBounds, KeyMasks, LostByKey, LostByNodes, PutBy, Rows, SubtreeMasks, SubtreeTables,
    WholeMasks,
};
use crate::seldom::Seldom;
use crate::store::account::Share;
use crate::terminal::{Arena, CommonTerms, TerminalId};
use crate::vocab::{self, TokenTable};

/// The tables of a compiled grammar.
pub(crate) struct Generation {
    machine: Arc<Machine>,
    tokens: Arc<TokenTable>,
    terminals: Arena,
    sets: Sets,
    rows: Rows,
    lists: Lists,
    deadlines: Deadlines,
    distinct: Seldom<Distinct>,
    subtree_tables: SubtreeTables,
    subtree_masks: SubtreeMasks,
    key_masks: KeyMasks,
    lost_by_key: LostByKey,
    lost_by_nodes: LostByNodes,
    far_bounds: Seldom<FarBounds>,
    whole_masks: Seldom<WholeMasks>,
    failures: Failures,
    put_by: Seldom<PutBy>,
    contents: Contents,
    remembers_keys: bool,
    doubtful: OnceLock<Arc<[u32]>>,
    /// The state that each terminal starts with, by expression; 0 is unknown.
    entry_states: Box<[AtomicU32]>,
    start: OnceLock<SetId>,
    /// What it takes to complete texts, for the stop tokens of matchers with a budget.
    completions: Mutex<Vec<Arc<Completion>>>,
    /// What the token tables take that are held here, whoever else holds them.
    table_bytes: AtomicUsize,
    /// What the matchers that came from the generation before brought with them.
    carried_bytes: AtomicUsize,
    /// What the account of the process knows of.
    share: Share,
    /// What it took when it was last looked at.
    measured: AtomicUsize,
    retired: AtomicBool,
    /// What it took when it was replaced.
    retired_bytes: AtomicUsize,
    /// What matchers have carried over from it, and to where.
    leaving: Mutex<Option<Leaving>>,
}

/// Where matchers are moving to, and what they have carried there.
type Leaving = (Weak<Generation>, Weak<Mutex<Carrier>>);

/// How much a generation grows between two entries in the account of the process.
const ACCOUNT_STEP: usize = 64 << 10;

impl Generation {
    /// Empty tables. They are large in themselves, so they are not moved once they are made.
    pub(crate) fn new(machine: Arc<Machine>, tokens: Arc<TokenTable>) -> Arc<Self> {
        Self::with_common(machine, tokens, common_terms())
    }

    fn with_common(
        machine: Arc<Machine>,
        tokens: Arc<TokenTable>,
        common: Option<&'static CommonTerms>,
    ) -> Arc<Self> {
        let entry_states = machine.exprs.iter().map(|_| AtomicU32::new(0)).collect();
        Arc::new(Generation {
            terminals: Arena::new(
                Arc::clone(tokens.reach()),
                machine.tagged.iter().map(|tagged| Arc::clone(&tagged.text)),
                common,
            ),
            sets: Sets::new(!machine.counts_tokens && !machine.compares_items),
            rows: Rows::default(),
            lists: Lists::new(machine.lists.len()),
            deadlines: Deadlines::default(),
            distinct: Seldom::default(),
            remembers_keys: machine.lists.iter().any(|list| list.unique),
            doubtful: OnceLock::new(),
            subtree_tables: SubtreeTables::default(),
            subtree_masks: SubtreeMasks::default(),
            key_masks: KeyMasks::default(),
            lost_by_key: LostByKey::default(),
            lost_by_nodes: LostByNodes::default(),
            far_bounds: Seldom::default(),
            whole_masks: Seldom::default(),
            failures: Failures::default(),
            put_by: Seldom::default(),
            contents: Contents::default(),
            machine,
            tokens,
            entry_states,
            start: OnceLock::new(),
            completions: Mutex::default(),
            table_bytes: AtomicUsize::new(0),
            carried_bytes: AtomicUsize::new(0),
            share: Share::default(),
            measured: AtomicUsize::new(0),
            retired: AtomicBool::new(false),
            retired_bytes: AtomicUsize::new(0),
            leaving: Mutex::default(),
        })
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn tokens(&self) -> &TokenTable {
        &self.tokens
    }

    pub(crate) fn terminals(&self) -> &Arena {
        &self.terminals
    }

    pub(crate) fn sets(&self) -> &Sets {
        &self.sets
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(crate) fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    pub(crate) fn distinct(&self) -> &Distinct {
        &self.distinct
    }

    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    pub(crate) fn subtree_tables(&self) -> &SubtreeTables {
        &self.subtree_tables
    }

    pub(crate) fn subtree_masks(&self) -> &SubtreeMasks {
        &self.subtree_masks
    }

    pub(crate) fn key_masks(&self) -> &KeyMasks {
        &self.key_masks
    }

    pub(crate) fn lost_by_key(&self) -> &LostByKey {
        &self.lost_by_key
    }

    pub(crate) fn lost_by_nodes(&self) -> &LostByNodes {
        &self.lost_by_nodes
    }

    pub(crate) fn far_bounds(&self) -> &FarBounds {
        &self.far_bounds
    }

    pub(crate) fn whole_masks(&self) -> &WholeMasks {
        &self.whole_masks
    }

    /// How the masks before were made.
    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The masks that were interrupted, to add one.
    pub(crate) fn put_by(&self) -> &PutBy {
        &self.put_by
    }

    /// The masks that were interrupted, if any ever was.
    pub(crate) fn masks_put_by(&self) -> Option<&PutBy> {
        self.put_by.made()
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The words of a row of bits.
    pub(crate) fn words(&self) -> usize {
        self.tokens.len().div_ceil(32)
    }

    pub(crate) fn longest_token(&self) -> u32 {
        self.tokens.max_token_bytes() as u32
    }

    /// Whether there are lists that keep the keys they have had.
    pub(crate) fn remembers_keys(&self) -> bool {
        self.remembers_keys
    }

    pub(crate) fn has_token_edges(&self) -> bool {
        !self.machine.token_sets.is_empty()
    }

    /// The tokens that may hold a key which a list has had.
    pub(crate) fn doubtful(&self) -> &[u32] {
        self.doubtful.get_or_init(|| self.tokens.index().doubtful.tokens(&self.machine, &self.tokens))
    }

    /// The state that a terminal starts with.
    pub(crate) fn terminal(&self, expr: ExprId) -> TerminalId {
        let slot = &self.entry_states[expr.index()];
        match slot.load(Ordering::Acquire) {
            0 => {
                let state = self.terminals.intern_expr(&self.machine, expr);
                slot.store(state.0, Ordering::Release);
                state
            }
            state => TerminalId(state),
        }
    }

    /// The configuration before anything was read.
    pub(crate) fn start(&self) -> SetId {
        *self.start.get_or_init(|| self.compute_start())
    }

    /// What it takes to complete texts where `barred` tokens are not text; made by `make` if it is not known. It is kept
    /// unless there are many of them.
    pub(crate) fn completion(&self, barred: &[u32], make: impl FnOnce() -> Completion) -> Arc<Completion> {
        const MOST_KEPT: usize = 8;
        let known = |kept: &[Arc<Completion>]| kept.iter().find(|known| *known.barred == *barred).cloned();
        if let Some(known) = known(&self.completions.lock()) {
            return known;
        }
        // It may take long, and whoever waits for a lock cannot be interrupted.
        let fresh = Arc::new(make());
        let mut kept = self.completions.lock();
        if let Some(known) = known(&kept) {
            return known;
        }
        if kept.len() < MOST_KEPT {
            kept.push(Arc::clone(&fresh));
        }
        fresh
    }

    /// Empty tables for the same grammar and vocabulary.
    pub(crate) fn anew(&self) -> Arc<Self> {
        Self::new(Arc::clone(&self.machine), Arc::clone(&self.tokens))
    }

    /// What was noted by [`Generation::note_table`].
    #[inline]
    pub(crate) fn noted_bytes(&self) -> usize {
        self.table_bytes.load(Ordering::Relaxed)
    }

    /// Notes a token table that will be held as long as this generation is.
    pub(crate) fn note_table(&self, bytes: usize) {
        self.table_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes what a matcher brought with it.
    pub(crate) fn note_carried(&self, bytes: usize) {
        self.carried_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The memory that it takes, roughly, without the token tables, which others may hold as well.
    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = size_of::<Self>()
            + self.subtree_tables.memory_bytes()
            + self.subtree_masks.memory_bytes()
            + self.key_masks.memory_bytes()
            + self.lost_by_key.memory_bytes()
            + self.lost_by_nodes.memory_bytes()
            + self.far_bounds.made().map_or(0, FarBounds::memory_bytes)
            + self.whole_masks.made().map_or(0, WholeMasks::memory_bytes)
            + self.contents.memory_bytes()
            + self.lists.memory_bytes()
            + if self.machine.counts_tokens { self.deadlines.memory_bytes() } else { 0 }
            + if self.machine.compares_items { self.distinct.memory_bytes() } else { 0 }
            + self.entry_states.len() * 4;
        self.sets.memory_bytes() + self.rows.memory_bytes() + self.terminals.memory_bytes() + tables
    }

    /// The same as [`Generation::memory_bytes`] when it was last used, without looking at all of its tables: those of a
    /// grammar that nobody uses have long left the processor's caches.
    pub(crate) fn measured_bytes(&self) -> usize {
        self.measured.load(Ordering::Relaxed).max(size_of::<Self>())
    }

    /// Whether it has grown beyond `limit`, or the process as a whole beyond its own.
    ///
    /// What matchers still need would only be carried over again, so it has to have doubled since. Otherwise a long
    /// text under a small limit would be carried over at every step.
    pub(crate) fn is_full(&self, limit: usize) -> bool {
        let own = self.memory_bytes();
        self.measured.store(own, Ordering::Relaxed);
        let bytes = own + self.table_bytes.load(Ordering::Relaxed);
        let needed = 2 * self.carried_bytes.load(Ordering::Relaxed);
        if bytes > self.share.bytes() + ACCOUNT_STEP {
            self.share.grow_to(bytes, &PROCESS);
        }
        bytes > limit.max(needed) || (PROCESS.is_over() && bytes > MIN_BYTES_UNDER_PRESSURE.max(needed))
    }

    /// Marks it as replaced.
    pub(crate) fn retire(&self) {
        self.retired_bytes.store(self.memory_bytes(), Ordering::Relaxed);
        self.retired.store(true, Ordering::Release);
    }

    /// How far it has grown since it was replaced, in eighths of what it took then.
    pub(crate) fn overgrowth(&self) -> u32 {
        let before = self.retired_bytes.load(Ordering::Relaxed);
        let eighth = (before / 8).max(MIN_BYTES_UNDER_PRESSURE / 8);
        (self.memory_bytes().saturating_sub(before) / eighth) as u32
    }

    /// What carries matchers over to another generation: the one that others use on their way there, if there are any.
    pub(crate) fn carrier_to(&self, to: &Arc<Generation>) -> Arc<Mutex<Carrier>> {
        let mut leaving = self.leaving.lock();
        if let Some((known, carrier)) = &*leaving
            && Weak::as_ptr(known) == Arc::as_ptr(to)
            && let Some(carrier) = carrier.upgrade()
        {
            return carrier;
        }
        let carrier = Arc::new(Mutex::new(Carrier::new(Way { from: self, to })));
        *leaving = Some((Arc::downgrade(to), Arc::downgrade(&carrier)));
        carrier
    }

    /// Whether a newer one has replaced it.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }
}

/// The terms that all generations begin with: those that are met along the texts of samples.
pub(crate) fn common_terms() -> Option<&'static CommonTerms> {
    static COMMON: OnceLock<Option<CommonTerms>> = OnceLock::new();
    let make = || {
        let walked = vocab::samples().map(|(machine, text)| {
            let generation = Generation::with_common(Arc::new(machine), TokenTable::none(), None);
            generation.step_bytes(generation.start(), text);
            generation
        });
        let walked: Vec<Arc<Generation>> = walked.collect();
        CommonTerms::of(walked.iter().map(|generation| generation.terminals()))
    };
    COMMON.get_or_init(make).as_ref()
}

/// A generation that is smaller than this is left alone when the process is over its limit.
const MIN_BYTES_UNDER_PRESSURE: usize = 1 << 20;

impl Drop for Generation {
    fn drop(&mut self) {
        self.share.leave(&PROCESS);
    }
}
