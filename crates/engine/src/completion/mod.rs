//! What it takes to complete a text, in tokens.
//!
//! A matcher with a budget must know, wherever it stands, that what is left of the budget is enough. The *cost* of a
//! configuration is a number of tokens that is: there is a row of so many tokens that completes the text. It need not be
//! the least number. What it must be, so that a text which goes by costs never comes to a dead end, is *kept*: where it is
//! not nought, there is a token after which it is at least one less.
//!
//! Costs add up along a stack. A terminal costs the fewest tokens that spell the way from its state to its end
//! ([`crate::terminal::Shortest`]), a token edge costs one, a rule the cheapest way through its nodes ([`nodes`]), a list
//! a way that is chosen for it ([`PartCosts`](crate::config::PartCosts)), and a set of stacks the cheapest of them. No
//! token is reckoned with that spells the end of one terminal and the start of the next: so the cost of two parts is the
//! sum of their costs, whatever they are, the cost of a union is the lesser one, and each of these is kept because its
//! parts are.
//!
//! Where that sum is too much, tokens that join parts are looked for along one certain completion ([`joined`]).
//!
//! The *greatest cost* is that of the dearest stack of a configuration. With [`NodeCosts::growth`] it says how dear a
//! configuration can be after one more token. Where the budget allows that much there is nothing to look at. Most often less
//! is enough: what a token may leave of the stack that there is, whatever it ends and begins of it ([`Cost::after_token`]).

mod differing;
mod growth;
mod joined;
mod longest;
mod nodes;

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokenstile_grammar::machine::MachineRuleId;

use differing::Differing;
use joined::Joined;
pub(crate) use longest::most_tokens;
pub(crate) use nodes::NodeCosts;

use crate::budget::Kept;
use crate::config::{Item, PartCosts, PlaceCosts, SetId, Symbol, SymbolKind};
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::{NO_END, Shortest, Speller, TerminalId};
use crate::vocab::TokenId;
use crate::vocab::trie::Trie;

/// The cost of a configuration and its greatest cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) least: u32,
    pub(crate) most: u32,
    /// No less than the greatest cost of what any token leads to; [`NO_END`] if that is not known.
    pub(crate) after_token: u32,
}

impl Cost {
    const NOTHING: Self = Cost { least: 0, most: 0, after_token: 0 };

    /// The cost of either.
    fn or(self, other: Self) -> Self {
        Cost {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            after_token: self.after_token.max(other.after_token),
        }
    }

    /// The cost of something and then this, where what a token leaves of it is no more than `after_token`.
    fn behind(self, cost: u32, after_token: u32) -> Self {
        Cost {
            least: (self.least + cost).min(NO_END),
            most: (self.most + cost).min(NO_END),
            after_token: after_token.saturating_add(self.most).max(self.after_token).min(NO_END),
        }
    }
}

/// The costs of the configurations of one generation, for matchers with the same stop tokens.
pub(crate) struct Completion {
    pub(crate) nodes: Arc<NodeCosts>,
    /// The tokens that are not text.
    pub(crate) barred: Box<[u32]>,
    trie: Arc<Trie>,
    known: Mutex<Known>,
    /// How masks were narrowed last.
    kept: Mutex<FxHashMap<SetId, Kept>>,
    /// Made when the sums are not enough for somebody.
    joined: OnceLock<Box<Joined>>,
}

struct Known {
    shortest: Shortest,
    places: PlaceCosts,
    sets: FxHashMap<SetId, Cost>,
    /// What was last added to the account of the generation.
    accounted: usize,
}

/// How much the costs grow between two entries in the account of their generation.
const ACCOUNT_STEP: usize = 16 << 10;

impl Completion {
    pub(crate) fn new(trie: Arc<Trie>, barred: Box<[u32]>, nodes: Arc<NodeCosts>) -> Self {
        let shortest = Shortest::new(&Speller { trie: &trie, barred: &barred });
        let known =
            Known { shortest, places: PlaceCosts::default(), sets: FxHashMap::default(), accounted: 0 };
        Completion {
            nodes,
            barred,
            trie,
            known: Mutex::new(known),
            kept: Mutex::default(),
            joined: OnceLock::new(),
        }
    }

    fn speller(&self) -> Speller<'_> {
        Speller { trie: &self.trie, barred: &self.barred }
    }

    /// The cost of a configuration of `generation`, the one that these costs are of.
    pub(crate) fn cost(&self, generation: &Generation, config: SetId) -> Cost {
        let config = generation.timeless(config);
        let mut known = self.known.lock();
        if let Some(&cost) = known.sets.get(&config) {
            return cost;
        }
        let cost = self.compute_cost(generation, &mut known, config);
        let bytes = known.shortest.memory_bytes() + (known.sets.len() + known.places.len()) * 32;
        if bytes > known.accounted + ACCOUNT_STEP {
            generation.note_table(bytes - known.accounted);
            known.accounted = bytes;
        }
        cost
    }

    /// The cost of a configuration if it is known, nobody is just finding one out, and rules count no tokens.
    pub(crate) fn known_cost(&self, generation: &Generation, config: SetId) -> Option<Cost> {
        if generation.machine().counts_tokens {
            return None;
        }
        self.known.try_lock()?.sets.get(&config).copied()
    }

    /// The cost of a configuration where tokens may join its parts; [`NO_END`] if that is not known.
    pub(crate) fn joined_cost(&self, generation: &Generation, config: SetId) -> u32 {
        let speller = self.speller();
        let joined = self.joined.get_or_init(|| Box::new(Joined::new(generation)));
        let (cost, bytes) = joined.cost(generation, &speller, generation.timeless(config));
        if bytes > 0 {
            generation.note_table(bytes);
        }
        cost
    }

    /// How the mask of a configuration was narrowed last, if that was kept.
    pub(crate) fn with_kept<T>(&self, config: SetId, look: impl FnOnce(&Kept) -> T) -> Option<T> {
        self.kept.lock().get(&config).map(look)
    }

    /// Keeps how the mask of a configuration was narrowed.
    pub(crate) fn keep(&self, generation: &Generation, config: SetId, kept: Kept) {
        let bytes = kept.memory_bytes();
        let before = self.kept.lock().insert(config, kept).map_or(0, |before| before.memory_bytes());
        generation.note_table(bytes.saturating_sub(before));
    }

    /// The arrays that must have items that differ: what their parts cost is less than what they take.
    pub(crate) fn differing(&self) -> &Differing {
        &self.nodes.differing
    }

    /// What brings the nearest end of `config` one token nearer, where each byte is a token; `barred` tokens do not count.
    /// None if the way goes through a key that must not be one of those before it.
    fn way_on(&self, generation: &Generation, config: SetId, barred: &[u32]) -> Option<Way> {
        let mut known = self.known.lock();
        self.compute_cost(generation, &mut known, config);
        let items = generation.sets().items(config).iter().copied();
        self.best_way(generation, &mut known, items, barred).map(|(_, way)| way)
    }

    /// The bytes of the way on from `config` as far as no terminal may have ended, where each byte is a token, and the
    /// configuration after them.
    fn way_within(&self, generation: &Generation, config: SetId) -> (Vec<u8>, SetId) {
        let mut bytes = Vec::new();
        // Items that must differ are compared with each byte.
        let tops = if generation.machine().compares_items { None } else { generation.tops(config) };
        let Some(mut tops) = tops else { return (bytes, config) };
        let mut known = self.known.lock();
        self.compute_cost(generation, &mut known, config);
        let mut cost = NO_END;
        loop {
            let items = tops.iter().map(|&(state, rest)| (Symbol::terminal(state), rest));
            match self.best_way(generation, &mut known, items, &[]) {
                Some((nearer, Way::Byte(byte))) if nearer < cost => {
                    let Some(after) = generation.tops_after(&tops, byte) else { break };
                    bytes.push(byte);
                    (tops, cost) = (after, nearer);
                }
                _ => break,
            }
        }
        let end = if bytes.is_empty() { config } else { generation.config_of_tops(&tops) };
        (bytes, end)
    }

    /// The same as [`Self::way_on`] for the items of a configuration, of which those are known that lie under them; with what
    /// it costs to complete the text.
    fn best_way(
        &self,
        generation: &Generation,
        known: &mut Known,
        items: impl Iterator<Item = Item>,
        barred: &[u32],
    ) -> Option<(u32, Way)> {
        let Known { shortest, sets, .. } = known;
        let mut best: Option<(u32, Way, bool)> = None;
        for (symbol, rest) in items {
            let mut parts =
                Parts { shortest: &mut *shortest, speller: self.speller(), rules: &self.nodes.rules };
            let own = match symbol.kind() {
                SymbolKind::Terminal(state) => parts.terminal(generation, state),
                SymbolKind::Token(set) => self.nodes.token_sets[set as usize],
                SymbolKind::Frame(..) => continue,
            };
            let cost = own.saturating_add(sets[&rest].least);
            if own == 0 || cost >= NO_END || best.is_some_and(|best| best.0 < cost) {
                continue;
            }
            let on = match symbol.kind() {
                SymbolKind::Terminal(state) => {
                    shortest.next_byte(generation.terminals(), state).map(Way::Byte)
                }
                SymbolKind::Token(set) => first_token(generation, set, barred).map(Way::Token),
                SymbolKind::Frame(..) => None,
            };
            let Some(on) = on else { continue };
            let way = (cost, on, generation.is_other_key(rest));
            best = Some(best.map_or(way, |best| best.min(way)));
        }
        best.filter(|best| !best.2).map(|best| (best.0, best.1))
    }

    fn compute_cost(&self, generation: &Generation, known: &mut Known, config: SetId) -> Cost {
        let sets = generation.sets();
        let mut stack = vec![config];
        while let Some(&set) = stack.last() {
            interrupt::poll(1);
            let waiting = stack.len();
            if !known.sets.contains_key(&set) {
                stack.extend(sets.parts(set).filter(|part| !known.sets.contains_key(part)));
                if stack.len() == waiting {
                    let cost = match sets.halves(set) {
                        Some([low, high]) => known.sets[&low].or(known.sets[&high]),
                        None => self.cost_of_items(generation, known, set),
                    };
                    known.sets.insert(set, cost);
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        known.sets[&config]
    }

    /// The cost of a set, those of the stacks under its symbols being known.
    fn cost_of_items(&self, generation: &Generation, known: &mut Known, set: SetId) -> Cost {
        let unknown = Cost { least: NO_END, most: 0, after_token: 0 };
        let mut cost = if generation.sets().ends(set) { Cost::NOTHING } else { unknown };
        for &(symbol, rest) in generation.sets().items(set) {
            if self.is_shut(generation, symbol) {
                continue;
            }
            let Known { shortest, places, sets, .. } = known;
            let mut parts = Parts { shortest, speller: self.speller(), rules: &self.nodes.rules };
            let own = match symbol.kind() {
                SymbolKind::Terminal(state) => parts.terminal(generation, state),
                SymbolKind::Token(set) => self.nodes.token_sets[set as usize],
                SymbolKind::Frame(node, count) => {
                    self.nodes.frame(generation, node, count, &mut parts, places)
                }
            };
            let after = if self.nodes.has_growth() {
                self.after_token(generation, symbol, own, &mut parts, places)
            } else {
                NO_END
            };
            // A key of others is a part of what its list may need.
            let is_of_key = matches!(symbol.kind(), SymbolKind::Terminal(_)) && generation.is_other_key(rest);
            cost = cost.or(sets[&rest].behind(own, if is_of_key { 0 } else { after }));
        }
        cost
    }

    /// Whether a stack waits for tokens to be spent: as long as it does another is there beside it.
    fn is_shut(&self, generation: &Generation, symbol: Symbol) -> bool {
        match symbol.kind() {
            SymbolKind::Token(set) => generation.machine().token_sets[set as usize].is_spent(),
            SymbolKind::Frame(node, _) => self.nodes.shut[node.0 as usize],
            SymbolKind::Terminal(_) => false,
        }
    }

    /// What may be left of a symbol after any token, itself being so much before it.
    fn after_token(
        &self,
        generation: &Generation,
        symbol: Symbol,
        own: u32,
        parts: &mut Parts<'_>,
        places: &mut PlaceCosts,
    ) -> u32 {
        match symbol.kind() {
            SymbolKind::Terminal(state) if generation.terminals().tagged_text(state).is_some() => NO_END,
            SymbolKind::Terminal(state) => parts.shortest.worst_after(generation.terminals(), state),
            SymbolKind::Token(_) => own,
            SymbolKind::Frame(node, count) => {
                self.nodes.frame_after_token(generation, node, count, parts, places)
            }
        }
    }

    /// The fewest tokens that spell `bytes`; as many as there are bytes if none do.
    pub(crate) fn spell(&self, bytes: &[u8]) -> u32 {
        let speller = self.speller();
        let mut fewest = vec![NO_END; bytes.len() + 1];
        fewest[bytes.len()] = 0;
        for start in (0..bytes.len()).rev() {
            let mut node = Trie::ROOT;
            for (end, &byte) in (start + 1..).zip(&bytes[start..]) {
                let Some(child) = speller.trie.child(node, byte) else { break };
                node = child;
                if speller.ends(node) {
                    fewest[start] = fewest[start].min(fewest[end] + 1);
                }
            }
        }
        if fewest[0] >= NO_END { bytes.len() as u32 } else { fewest[0] }
    }
}

/// One step of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Byte(u8),
    /// A token that the grammar names.
    Token(u32),
}

/// The first token of a set that takes it.
fn first_token(generation: &Generation, set: u32, barred: &[u32]) -> Option<u32> {
    let (set, tokens) = (&generation.machine().token_sets[set as usize], generation.tokens());
    if !set.negated {
        return set.ids.iter().copied().find(|token| !barred.contains(token));
    }
    let is_taken = |&token: &u32| generation.takes_token(set, TokenId(token)) && !barred.contains(&token);
    (0..tokens.len() as u32).find(is_taken)
}

/// What the parts of rules and lists cost.
struct Parts<'k> {
    shortest: &'k mut Shortest,
    speller: Speller<'k>,
    rules: &'k [u32],
}

impl PartCosts for Parts<'_> {
    fn terminal(&mut self, generation: &Generation, state: TerminalId) -> u32 {
        let terminals = generation.terminals();
        let tokens = self.shortest.tokens(terminals, &self.speller, state);
        if terminals.tagged_text(state).is_none() {
            return tokens;
        }
        // The way may end with a tag, and then what follows the tag is still to come.
        let Some(end) = self.shortest.end(terminals, state) else { return NO_END };
        let Some((text, tag)) = terminals.tag(end) else { return tokens };
        let tagged = &generation.machine().tagged[text as usize];
        let rule = tagged.rules[tag as usize].map_or(NO_END, |rule| self.rules[rule.0 as usize]);
        let again = tagged.again.map_or(0, |again| self.rules[again.0 as usize]);
        (tokens + rule + again).min(NO_END)
    }

    fn rule(&mut self, rule: MachineRuleId) -> u32 {
        self.rules[rule.0 as usize]
    }

    fn word(&mut self, generation: &Generation, state: TerminalId) -> Option<Vec<u8>> {
        self.shortest.word(generation.terminals(), state)
    }
}
