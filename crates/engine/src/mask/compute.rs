//! The mask of a configuration.
//!
//! It is computed for the top of the configuration, cut off a few frames down. If a token runs into what was cut off,
//! the top was too shallow: that is remembered, and a deeper one is tried. So nested structures of any depth share
//! their masks as soon as their tops agree.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hashbrown::HashMap;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::fan::Fan;
use super::mask::Mask;
use super::shared::TableKey;
use super::table::{Exits, TerminalTable, WORTH_A_TABLE};
use super::walk::{WalkStack, walk_terminal};
use crate::config::{MaskSlot, SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::TerminalId;
use crate::vocab::trie::{NodeIndex, Trie};

/// The deepest top that is tried before the whole configuration.
const MAX_DEPTH: u32 = 64;

impl Generation {
    /// The mask of `config`, without the rules for stop tokens.
    #[inline]
    pub(crate) fn mask(&self, config: SetId) -> &Mask {
        match self.sets().mask(config) {
            MaskSlot::Known(mask) => mask,
            _ => self.find_mask(config),
        }
    }

    #[cold]
    fn find_mask(&self, config: SetId) -> &Mask {
        let mut depth = self.states(config).map(|state| self.terminals().depth(state).load(Relaxed)).max().unwrap_or(1);
        let mask = loop {
            let top = if depth > MAX_DEPTH { config } else { self.truncate(config, depth) };
            match self.sets().mask(top) {
                MaskSlot::Known(mask) => break mask,
                MaskSlot::TooShallow => {}
                MaskSlot::Unknown => match self.compute_mask(top) {
                    Some(mask) => break self.keep_mask(top, mask),
                    None => self.sets().remember_too_shallow(top),
                },
            }
            depth *= 2;
        };
        self.states(config).for_each(|state| self.terminals().depth(state).store(depth, Relaxed));
        self.sets().remember_mask(config, mask);
        mask
    }

    /// The saturated states of the terminals that are being read.
    fn states(&self, config: SetId) -> impl Iterator<Item = TerminalId> + '_ {
        self.sets().items(config).iter().filter_map(|(symbol, _)| match symbol.kind() {
            SymbolKind::Terminal(state) => Some(self.terminals().saturate(state)),
            _ => None,
        })
    }

    /// The mask of `config`, or `None` if more of the stack is needed.
    fn compute_mask(&self, config: SetId) -> Option<Mask> {
        let mut walker = Walker::new(self);
        for &(symbol, rest) in self.sets().items(config) {
            match symbol.kind() {
                SymbolKind::Terminal(state) => {
                    let table = self.table(self.terminals().saturate(state));
                    walker.apply(table, self.tokens().index().trie(), rest)?;
                }
                SymbolKind::Token(set) => self.add_token_set(set, &mut walker.alive),
                SymbolKind::Frame(..) => {}
            }
        }
        walker.run()?;
        let Walker { mut alive, tables, .. } = walker;
        let mut bases: Vec<&Arc<[u32]>> = tables.iter().filter_map(|table| table.stay.base()).collect();
        bases.sort_by_key(|base| base.as_ptr());
        bases.dedup_by_key(|base| base.as_ptr());
        tables.iter().for_each(|table| alive.extend_from_slice(table.stay.extra()));
        Some(Mask::new(self.words(), &bases, alive))
    }

    fn add_token_set(&self, set: u32, alive: &mut Vec<u32>) {
        let set = &self.machine().token_sets[set as usize];
        let count = self.tokens().len() as u32;
        if set.negated {
            alive.extend((0..count).filter(|&token| set.contains(token)));
        } else {
            alive.extend(set.ids.iter().copied().filter(|&token| token < count));
        }
    }

    /// The token table of a saturated state.
    fn table(&self, state: TerminalId) -> &TerminalTable {
        self.terminals().table_slot(state).get_or_init(|| {
            let build = || TerminalTable::build(self.terminals(), state, self.tokens());
            let table = if self.terminals().is_cheap(state) {
                Arc::new(build())
            } else {
                let key = TableKey { state: self.terminals().fingerprint(state), trie: 0, node: Trie::ROOT };
                self.tokens().index().tables.get_or_make(key, build)
            };
            self.note_table(table.memory_bytes());
            table
        })
    }

    /// The table of a state for the tokens under a node.
    fn table_under<'g>(&'g self, trie: &'g Trie, node: NodeIndex, state: TerminalId) -> &'g TerminalTable {
        self.subtree_tables().get_or_make((trie.number(), node, state), || {
            let build = || TerminalTable::build_under(self.terminals(), state, self.tokens(), trie, node);
            let key = TableKey { state: self.terminals().fingerprint(state), trie: trie.number() + 1, node };
            let table = self.tokens().index().tables.get_or_make(key, build);
            self.note_table(table.memory_bytes());
            table
        })
    }
}

/// Walks what leaves terminals.
///
/// Tokens go on at nodes of a trie, in the configuration after the terminal on top of some stack has ended. Nodes are
/// gathered by stack, so that each stack's configuration is looked up once however many tokens pass it.
struct Walker<'g> {
    generation: &'g Generation,
    alive: Vec<u32>,
    /// The tables whose tokens are alive as well.
    tables: Vec<&'g TerminalTable>,
    groups: HashMap<SetId, Group<'g>>,
    /// The stacks whose groups have nodes to walk.
    waiting: Vec<SetId>,
    stack: WalkStack,
}

/// The nodes that go on in one configuration.
#[derive(Default)]
struct Group<'g> {
    nodes: Vec<(&'g Trie, NodeIndex)>,
    /// Those that were noted, so that an ambiguous grammar walks each once.
    seen: FxHashSet<(u64, NodeIndex)>,
}

impl<'g> Walker<'g> {
    fn new(generation: &'g Generation) -> Self {
        Walker {
            generation,
            alive: Vec::new(),
            tables: Vec::new(),
            groups: HashMap::new(),
            waiting: Vec::new(),
            stack: WalkStack::new(),
        }
    }

    /// Takes the tokens that stay in the state of `table`, a table for `trie`, and goes on with those that leave it
    /// on top of `rest`.
    fn apply(&mut self, table: &'g TerminalTable, trie: &'g Trie, rest: SetId) -> Option<()> {
        self.tables.push(table);
        let trie = table.exit_trie(trie);
        match &table.exits {
            Exits::Few(ends) => self.add(trie, ends, rest),
            Exits::ByByte(exits) => {
                let fan = self.fan(rest)?;
                for exit in exits {
                    for (next, below) in fan.get(self.generation.terminals(), exit.byte) {
                        for &node in &exit.large {
                            self.enter(trie, node, next, below)?;
                        }
                        if let Some(merged) = exit.merged(trie) {
                            self.enter(merged, Trie::ROOT, next, below)?;
                        }
                    }
                }
            }
        }
        Some(())
    }

    fn add(&mut self, trie: &'g Trie, nodes: &[NodeIndex], rest: SetId) {
        if nodes.is_empty() {
            return;
        }
        let group = self.groups.entry(rest).or_default();
        let waits = !group.nodes.is_empty();
        let new = nodes.iter().filter(|&&node| group.seen.insert((trie.number(), node)));
        group.nodes.extend(new.map(|&node| (trie, node)));
        if !waits && !group.nodes.is_empty() {
            self.waiting.push(rest);
        }
    }

    /// What may be read once the terminal on top of `rest` has ended; `None` if that is not known.
    fn fan(&self, rest: SetId) -> Option<&'g Fan> {
        let generation = self.generation;
        let after = generation.after(rest);
        if generation.sets().is_unknown(after) {
            return None;
        }
        Some(generation.sets().fan(after, || Fan::new(generation, after)))
    }

    /// At `node`, in `state`: what ends there and what goes on.
    fn enter(&mut self, trie: &'g Trie, node: NodeIndex, state: TerminalId, below: SetId) -> Option<()> {
        self.alive.extend_from_slice(trie.tokens_of(node));
        if trie.is_leaf(node) {
            return Some(());
        }
        if self.generation.terminals().is_nullable(state) {
            self.add(trie, &[node], below);
        }
        self.walk(trie, node, state, below)
    }

    fn walk(&mut self, trie: &'g Trie, node: NodeIndex, state: TerminalId, below: SetId) -> Option<()> {
        let terminals = self.generation.terminals();
        if trie.token_range(node).len() > WORTH_A_TABLE && !terminals.is_cheap(state) {
            return self.apply(self.generation.table_under(trie, node, state), trie, below);
        }
        let mut ends: SmallVec<[NodeIndex; 16]> = SmallVec::new();
        let alive = &mut self.alive;
        let mut on_tokens = |_: NodeIndex, tokens: &[u32]| alive.extend_from_slice(tokens);
        walk_terminal(terminals, trie, node, state, &mut self.stack, &mut on_tokens, &mut |end| ends.push(end));
        self.add(trie, &ends, below);
        Some(())
    }

    fn run(&mut self) -> Option<()> {
        while let Some(rest) = self.waiting.pop() {
            let nodes = self.groups.get_mut(&rest).map(|group| std::mem::take(&mut group.nodes)).unwrap_or_default();
            let fan = self.fan(rest)?;
            for &(trie, node) in &nodes {
                if trie.token_range(node).len() > WORTH_A_TABLE {
                    for &(state, below) in &fan.states {
                        self.walk(trie, node, state, below)?;
                    }
                    continue;
                }
                for child in trie.children(node) {
                    for (next, below) in fan.get(self.generation.terminals(), trie.byte(child)) {
                        self.enter(trie, child, next, below)?;
                    }
                }
            }
        }
        Some(())
    }
}
