//! The mask of a configuration.
//!
//! It is put together from what is known of each of its terminals on top of its stack: the next configuration has others, but
//! most of them again. What becomes of the tokens in one state is computed for the top of the stack under it, and kept for it
//! together with what could not be decided there: the places where tokens ran into a hole. For each stack with that top,
//! these are then followed into the rest of it. If there are many of them, the top was too shallow, and a deeper one is tried.
//!
//! A walk over the end of a key does not know what the key was. So where no key may come twice what is found may hold a few
//! tokens too many, which are taken out for each configuration.

use std::sync::{Arc, OnceLock};

use super::allowance::Spent;
use super::counted::FarBounded;
use super::put_by::UnderWay;
use super::shared::{Lost, PartKey, TableKey};
use super::table::{Narrowed, TerminalTable, excluded_nodes, tokens_under};
use super::tokens::{Mask, Part, Parts};
use super::walker::{Nesting, Pending, Walker};
use crate::config::{LOST_HOLE, SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::{Spaced, TerminalId};
use crate::vocab::TokenId;
use crate::vocab::trie::{NodeIndex, Trie};

/// In a configuration with more items than this, nothing that leaves a terminal is walked in place: the next one has nearly
/// all of them again.
const MANY_ITEMS: usize = 6;

/// A mask, as it is kept for a configuration.
pub(crate) struct KeptMask {
    pub(crate) mask: Mask,
    /// Whether the vocabulary's stop tokens would be nothing but text, once somebody asked.
    has_plain_stops: OnceLock<bool>,
}

impl KeptMask {
    fn new(mask: Mask) -> Self {
        KeptMask { mask, has_plain_stops: OnceLock::new() }
    }

    /// Whether `stops`, the vocabulary's stop tokens with their texts, would be nothing but text that goes on behind them:
    /// they stay inside all terminals of `config`, which has this mask.
    pub(crate) fn has_plain_stops<'t>(
        &self,
        generation: &Generation,
        config: SetId,
        stops: &[u32],
        text: impl Fn(u32) -> &'t [u8],
    ) -> bool {
        *self.has_plain_stops.get_or_init(|| {
            let stays = |&token: &u32| !generation.may_leave(config, text(token));
            stops.iter().all(stays) && !self.mask.is_within(stops)
        })
    }

    /// Whether it is known that the vocabulary's stop tokens would be nothing but text.
    pub(crate) fn has_known_plain_stops(&self) -> bool {
        self.has_plain_stops.get() == Some(&true)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.mask.memory_bytes()
    }
}

/// A part of masks, and what is left to follow for each stack of which it is the top.
pub(crate) struct KeptPart {
    pub(super) parts: Parts,
    pub(super) pending: Box<[Pending]>,
    /// How much there is to follow; as much as can be if it cannot be followed at all.
    pub(super) weight: usize,
}

impl KeptPart {
    fn memory_bytes(&self) -> usize {
        let is_own = |part: &&Arc<Part>| Arc::strong_count(part) == 1;
        size_of::<Self>()
            + self.parts.iter().filter(is_own).map(|part| part.memory_bytes()).sum::<usize>()
            + self.pending.iter().map(Pending::memory_bytes).sum::<usize>()
    }
}

/// A part without `lost`, which are sorted.
fn without(part: &Arc<Part>, lost: &[u32]) -> Arc<Part> {
    if part.has_any(lost) { Arc::new(part.without(lost)) } else { Arc::clone(part) }
}

/// How much there is to follow, where that is possible.
fn weight(pending: &[Pending]) -> Option<usize> {
    let is_lost = |pending: &Pending| pending.hole() == LOST_HOLE;
    (!pending.iter().any(is_lost)).then(|| pending.iter().map(Pending::weight).sum())
}

impl Generation {
    /// The mask of `config`, without the rules for stop tokens.
    #[inline]
    pub(crate) fn mask(&self, config: SetId) -> &Mask {
        &self.kept_mask(config).mask
    }

    /// The same, with what is kept besides.
    #[inline]
    pub(crate) fn kept_mask(&self, config: SetId) -> &KeptMask {
        self.sets().known_mask(config).unwrap_or_else(|| self.find_mask(config))
    }

    #[cold]
    fn find_mask(&self, config: SetId) -> &KeptMask {
        if let Some(forgetful) = self.forgetful(config) {
            return self.take_unfit(config, self.kept_mask(forgetful));
        }
        let under_way = UnderWay::new(self, config);
        let mask = if under_way.is_to_be_read() { Err(Spent) } else { self.walk_for_mask(config) };
        let mask = mask.unwrap_or_else(|Spent| self.read_all_tokens(config));
        let kept = self.keep_fitting(config, mask);
        under_way.finish();
        kept
    }

    /// The mask of a configuration that is found along its terminals.
    fn walk_for_mask(&self, config: SetId) -> Result<Mask, Spent> {
        let nodes = self.tokens().index().trie().end(Trie::ROOT) as usize;
        let allowance = self.failures().allowance(nodes, self.sets());
        // Nobody waits as long for any mask as for the first.
        let is_first = config == self.start();
        let nesting = if is_first { Nesting::in_place(&allowance) } else { Nesting::outermost(&allowance) };
        let found = self.walk_items(config, Walker::new(self, nesting)).finish_mask();
        self.failures().note(found.is_ok());
        found
    }

    /// The mask of a configuration that is found by reading all tokens.
    #[cold]
    fn read_all_tokens(&self, config: SetId) -> Mask {
        let mut alive = Vec::new();
        for &(symbol, _) in self.sets().items(config) {
            if let SymbolKind::Token(set) = symbol.kind() {
                self.add_token_set(set, &mut alive);
            }
        }
        self.mask_by_configs(config, alive)
    }

    /// The mask of a configuration that is `kept` for another, without what does not fit there after all.
    fn take_unfit<'g>(&'g self, config: SetId, kept: &'g KeptMask) -> &'g KeptMask {
        let unfit = self.unfit_tokens(config, &kept.mask);
        if !unfit.is_empty() {
            let mask = kept.mask.without(&unfit);
            return self.sets().keep_mask(config, KeptMask::new(mask));
        }
        self.sets().remember_mask(config, kept);
        kept
    }

    /// Keeps a mask for a whole configuration, without what does not fit there after all.
    fn keep_fitting(&self, config: SetId, mut mask: Mask) -> &KeptMask {
        let unfit = self.unfit_tokens(config, &mask);
        if !unfit.is_empty() {
            mask = mask.without(&unfit);
        }
        self.sets().keep_mask(config, KeptMask::new(mask))
    }

    /// A walk from the terminals and tokens of a configuration.
    fn walk_items<'g, 'w>(&'g self, config: SetId, mut walker: Walker<'g, 'w>) -> Walker<'g, 'w> {
        let trie = self.tokens().index().trie();
        let items = self.sets().items(config);
        // Where a member of a list begins no other configuration has the same stacks; elsewhere many have the same tops.
        let may_leave = items.len() <= MANY_ITEMS && self.is_before_value(config);
        for &(symbol, rest) in items {
            match symbol.kind() {
                SymbolKind::Terminal(state) => {
                    let state = self.terminals().saturate(state);
                    let is_cheap = self.terminals().is_cheap(state);
                    let is_done = (is_cheap && walker.walk_cheap(trie, state, rest, may_leave))
                        || self.take_far_bounded(state, rest, &mut walker);
                    if !is_done {
                        walker.walk_large(trie, Trie::ROOT, state, rest);
                    }
                }
                SymbolKind::Token(set) => self.add_token_set(set, walker.alive()),
                SymbolKind::Frame(..) => {}
            }
        }
        walker
    }

    /// Takes the tokens of a string whose bound is far away from what is known of the string without the bound. Each of its
    /// characters makes a new state, and what follows it is the same behind all of them.
    fn take_far_bounded<'g>(&'g self, state: TerminalId, rest: SetId, walker: &mut Walker<'g, '_>) -> bool {
        if !self.terminals().counts(state) {
            return false;
        }
        let Some(FarBounded { endless, stay, within }) = self.far_bounded(state) else { return false };
        let nesting = walker.nesting().inner_of_first();
        let kept = self.whole_masks().get_or_try_make((endless, rest), || {
            let mut walker = Walker::new(self, nesting);
            walker.walk_large(self.tokens().index().trie(), Trie::ROOT, endless, rest);
            let (parts, pending) = walker.finish()?;
            let kept = Arc::new(KeptPart { parts, pending, weight: 0 });
            self.note_table(kept.memory_bytes());
            Ok::<_, Spent>(kept)
        });
        // Where the allowance is spent, nothing is left to do.
        let Ok(kept) = kept else { return true };
        let stays = |part: &Arc<Part>| Arc::ptr_eq(part, stay);
        let is_apart = kept.parts.iter().any(stays);
        if is_apart {
            walker.take(kept.parts.iter().map(|part| if stays(part) { within } else { part }));
        }
        is_apart
    }

    pub(super) fn add_token_set(&self, set: u32, alive: &mut Vec<u32>) {
        let set = &self.machine().token_sets[set as usize];
        let count = self.tokens().len() as u32;
        if set.negated {
            alive.extend((0..count).filter(|&token| self.takes_token(set, TokenId(token))));
        } else {
            alive.extend(set.ids.iter().copied().filter(|&token| token < count));
        }
    }

    /// The token table of a saturated state.
    pub(super) fn table(&self, state: TerminalId) -> &Arc<TerminalTable> {
        let common = self.tokens().index().common_table(state);
        common.unwrap_or_else(|| self.terminals().table_slot(state)).get_or_init(|| {
            if let Some(plain) = self.terminals().plain(state) {
                return self.key_table(self.tokens().index().trie(), Trie::ROOT, state, plain);
            }
            let trie = self.tokens().index().trie();
            let bounded = || self.bounded_table(trie, Trie::ROOT, state);
            let freed = || self.freed_table(trie, Trie::ROOT, state);
            if let Some(table) = self.counted_table(state).or_else(bounded).or_else(freed) {
                return table;
            }
            let all = || TerminalTable::build(self.terminals(), state, self.tokens(), trie, Trie::ROOT);
            let build = || self.spaced_table(state).unwrap_or_else(all);
            let key = TableKey { state: self.terminals().fingerprint(state), trie: 0, node: Trie::ROOT };
            let table = self
                .tokens()
                .index()
                .tables
                .get_or_make(key, TerminalTable::memory_bytes, || Arc::new(build()));
            self.note_table(table.memory_bytes());
            table
        })
    }

    /// The table of a key that may still be an excluded one.
    fn key_table(
        &self,
        trie: &Arc<Trie>,
        node: NodeIndex,
        key: TerminalId,
        plain: TerminalId,
    ) -> Arc<TerminalTable> {
        let all = self.table_for(trie, node, plain);
        let narrowed = all.without_excluded(self.terminals(), key, plain, trie, node);
        self.narrowed_table(all, narrowed).unwrap_or_else(|| {
            let table = TerminalTable::build(self.terminals(), key, self.tokens(), trie, node);
            self.note_table(table.memory_bytes());
            Arc::new(table)
        })
    }

    /// The table of a state with bounds that most tokens do not reach, made from that of the state without them.
    fn bounded_table(
        &self,
        trie: &Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
    ) -> Option<Arc<TerminalTable>> {
        let relaxed = self.terminals().relax(state);
        let is_of_use = relaxed != state
            && self.terminals().counted(state).is_none()
            && self.terminals().relax(relaxed) == relaxed
            && self.terminals().is_wide(relaxed)
            && !self.terminals().loses_too_much(state, relaxed);
        if !is_of_use {
            return None;
        }
        let all = self.table_for(trie, node, relaxed);
        self.narrowed_table(
            all,
            all.within_bounds(self.terminals(), state, relaxed, self.tokens().index(), trie, node),
        )
    }

    /// The table of a state that nearly every byte sets free, made from that of the free state.
    fn freed_table(
        &self,
        trie: &Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
    ) -> Option<Arc<TerminalTable>> {
        let free = self.terminals().freed(state)?;
        let all = self.table_for(trie, node, free);
        self.narrowed_table(all, all.before_freedom(self.terminals(), state, free, trie, node))
    }

    fn narrowed_table(&self, all: &Arc<TerminalTable>, narrowed: Narrowed) -> Option<Arc<TerminalTable>> {
        match narrowed {
            Narrowed::Same => Some(Arc::clone(all)),
            Narrowed::Fewer(table) => {
                self.note_table(table.memory_bytes());
                Some(Arc::new(table))
            }
            Narrowed::Unknown => None,
        }
    }

    /// The table of a state for the tokens under a node.
    pub(super) fn table_for<'g>(
        &'g self,
        trie: &'g Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
    ) -> &'g Arc<TerminalTable> {
        if self.is_all(trie, node) { self.table(state) } else { self.table_under(trie, node, state) }
    }

    /// Whether all tokens are under a node.
    fn is_all(&self, trie: &Trie, node: NodeIndex) -> bool {
        node == Trie::ROOT && trie.number() == self.tokens().index().trie().number()
    }

    fn table_under<'g>(
        &'g self,
        trie: &'g Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
    ) -> &'g Arc<TerminalTable> {
        self.subtree_tables().get_or_make((trie.number(), node, state), || {
            if let Some(plain) = self.terminals().plain(state) {
                return self.key_table(trie, node, state, plain);
            }
            let narrowed = self.bounded_table(trie, node, state);
            if let Some(table) = narrowed.or_else(|| self.freed_table(trie, node, state)) {
                return table;
            }
            let build = || TerminalTable::build(self.terminals(), state, self.tokens(), trie, node);
            let key = TableKey { state: self.terminals().fingerprint(state), trie: trie.number() + 1, node };
            let table = self
                .tokens()
                .index()
                .tables
                .get_or_make(key, TerminalTable::memory_bytes, || Arc::new(build()));
            self.note_table(table.memory_bytes());
            table
        })
    }

    /// What becomes of the tokens under a node that go on in a state on top of a stack that was cut off.
    pub(super) fn mask_under<'g>(
        &'g self,
        trie: &'g Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
        rest: SetId,
        nesting: Nesting<'_>,
    ) -> Result<&'g KeptPart, Spent> {
        if let Some(plain) = self.terminals().plain(state) {
            return self.key_mask_under(trie, node, (state, plain), rest, nesting);
        }
        let kept = self.subtree_masks().get_or_try_make((trie.number(), node, state, rest), || {
            let compute = || self.compute_mask_under(trie, node, state, rest, nesting);
            let Some(rest) = self.content(rest) else { return compute() };
            let key = PartKey { state: self.terminals().fingerprint(state), rest, trie: trie.number(), node };
            self.tokens().index().parts.get_or_try_make(key, KeptPart::memory_bytes, compute)
        })?;
        Ok(kept)
    }

    fn compute_mask_under(
        &self,
        trie: &Arc<Trie>,
        node: NodeIndex,
        state: TerminalId,
        rest: SetId,
        nesting: Nesting<'_>,
    ) -> Result<Arc<KeptPart>, Spent> {
        let mut walker = Walker::new(self, nesting);
        match if self.is_all(trie, node) { self.thinly_spaced(state) } else { None } {
            Some(Spaced { spaces, then }) => {
                walker.apply_spaced(walker.table(trie, node, spaces), then, trie, rest);
            }
            None if self.terminals().is_cheap(state) => walker.walk(trie, node, state, rest),
            None => walker.apply(state, walker.table(trie, node, state), trie, rest),
        }
        let (parts, pending) = walker.finish()?;
        let weight = weight(&pending).unwrap_or(usize::MAX);
        let kept = Arc::new(KeptPart { parts, pending, weight });
        self.note_table(kept.memory_bytes());
        Ok(kept)
    }

    /// The same for a key that may still be an excluded one: what becomes of the tokens in the plain string, without those
    /// that close it at an excluded text.
    fn key_mask_under<'g>(
        &'g self,
        trie: &'g Arc<Trie>,
        node: NodeIndex,
        (state, plain): (TerminalId, TerminalId),
        rest: SetId,
        nesting: Nesting<'_>,
    ) -> Result<&'g KeptPart, Spent> {
        let lost = self.lost_by_key().get_or_make((trie.number(), node, state), || {
            let nodes = excluded_nodes(self.terminals(), trie, node, state, plain);
            let lost = self.lost_by_nodes().get_or_make((trie.number(), nodes.as_slice().into()), || {
                let node = if let [node] = *nodes { Some(node) } else { None };
                let make = || Arc::new(Lost { tokens: tokens_under(trie, &nodes).into(), node });
                // Most keys lose the same: what goes on behind a closing quote.
                let lost = node.map_or_else(make, |node| {
                    self.tokens().index().lost.get_or_make((trie.number(), node), Lost::memory_bytes, make)
                });
                self.note_table(lost.memory_bytes());
                lost
            });
            Arc::clone(lost)
        });
        if lost.tokens.is_empty() {
            return self.mask_under(trie, node, plain, rest, nesting);
        }
        let kept = self.key_masks().get_or_try_make((trie.number(), node, plain, rest, lost.id()), || {
            let compute =
                || self.compute_key_mask_under(trie, node, (state, plain), rest, nesting, &lost.tokens);
            let Some((lost, rest)) = lost.node.zip(self.content(rest)) else { return compute() };
            let key = PartKey { state: self.terminals().fingerprint(plain), rest, trie: trie.number(), node };
            self.tokens().index().key_parts.get_or_try_make((key, lost), KeptPart::memory_bytes, compute)
        })?;
        Ok(kept)
    }

    fn compute_key_mask_under(
        &self,
        trie: &Arc<Trie>,
        node: NodeIndex,
        (state, plain): (TerminalId, TerminalId),
        rest: SetId,
        nesting: Nesting<'_>,
        lost: &[u32],
    ) -> Result<Arc<KeptPart>, Spent> {
        let all = self.mask_under(trie, node, plain, rest, nesting)?;
        // A token that is lost at one node may go on at another.
        let pending = if trie.has_repeats() { None } else { Pending::all_without(&all.pending, lost) };
        let Some(pending) = pending else {
            return self.compute_mask_under(trie, node, state, rest, nesting);
        };
        let weight = weight(&pending).unwrap_or(usize::MAX);
        let parts = all.parts.iter().map(|part| without(part, lost)).collect();
        let kept = Arc::new(KeptPart { parts, pending, weight });
        self.note_table(kept.memory_bytes());
        Ok(kept)
    }
}
