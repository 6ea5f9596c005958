//! The mask of a configuration, found by reading all tokens.
//!
//! The trie is walked depth first, and each node on the way has the configuration after its bytes: a step from that of the node
//! above. That needs no table, and what it costs does not depend on how many stacks a configuration has, but each mask is work
//! anew. So it is for configurations where the walk along terminals ([`walker`](super::walker)) has spent its
//! [`Allowance`](super::allowance::Allowance).
//!
//! Most tokens that fit stay in a terminal, whatever is below it, which its state alone tells. So these are taken first, for all
//! tokens under a node at once, and steps are made only on the way to what is left.
//!
//! Steps are remembered, because most tokens come to configurations that others have come to. Where they do not, there would be
//! as many to remember as the trie has nodes. So beyond a bound the walk goes on in tables of its own, which are dropped when
//! they have grown as much again: nothing but the path from the root has to be carried over.
//!
//! A walk that is [interrupted](crate::interrupt) is put by, and goes on from there when its mask is asked for again. So each
//! visit of a node may be made twice.

use std::ops::Range;
use std::sync::Arc;

use super::tokens::Mask;
use super::walk::{WalkStack, walk_terminal};
use crate::carry::{Carrier, Way, Work};
use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::TerminalId;
use crate::vocab::trie::{NodeIndex, Trie};

/// How many bytes a walk may add to tables.
#[derive(Clone, Copy)]
struct Room {
    /// To those of its grammar.
    kept: usize,
    /// To each of its own.
    own: usize,
}

impl Room {
    const USUAL: Self = Room { kept: 8 << 20, own: 24 << 20 };
}

/// What a visit of a node takes, in the units of interrupts.
const UNITS_A_NODE: usize = 4;

/// Where fewer than one of so many tokens is not yet known to fit, it is looked for further down.
const WORTH_A_WALK: usize = 8;

/// A node on the path from the root.
#[derive(Clone, Copy)]
struct Place {
    node: NodeIndex,
    /// The end of its subtree.
    end: NodeIndex,
    config: SetId,
    /// Whether the tokens that stay in a terminal read here are taken.
    is_taken: bool,
}

/// A walk over all tokens of a configuration.
struct ConfigWalk<'g> {
    generation: &'g Generation,
    config: SetId,
    at: WalkState,
    room: Room,
    stack: WalkStack,
}

/// How far a walk has come.
#[derive(Default)]
pub(crate) struct WalkState {
    /// The tables in use in place of those of the grammar.
    own: Option<Arc<Generation>>,
    /// The size at which these tables are full.
    full: usize,
    path: Vec<Place>,
    /// The tokens that are known to fit, by their places in the trie.
    fitting: Places,
    /// The node to go on with.
    node: NodeIndex,
}

impl Drop for ConfigWalk<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.generation.put_by().keep_walk(self.config, std::mem::take(&mut self.at));
        }
    }
}

impl Generation {
    /// What all that steps need takes.
    fn bytes_of_steps(&self) -> usize {
        self.sets().memory_bytes() + self.terminals().memory_bytes()
    }

    /// The tokens that can be read from `config` byte by byte, and those that are `alive` already.
    pub(super) fn mask_by_configs(&self, config: SetId, alive: Vec<u32>) -> Mask {
        self.mask_in_room(config, alive, Room::USUAL)
    }

    fn mask_in_room(&self, config: SetId, mut alive: Vec<u32>, room: Room) -> Mask {
        let trie = self.tokens().index().trie();
        let start = Place { node: Trie::ROOT, end: trie.end(Trie::ROOT), config, is_taken: false };
        let at =
            self.masks_put_by().and_then(|put_by| put_by.take_walk(config)).unwrap_or_else(|| WalkState {
                own: None,
                full: self.bytes_of_steps().saturating_add(room.kept),
                path: vec![start],
                fitting: Places::none_of(trie.tokens().len()),
                node: Trie::ROOT,
            });
        let mut walk = ConfigWalk { generation: self, config, at, room, stack: WalkStack::new() };
        walk.run(trie);
        alive.extend(walk.at.fitting.iter().map(|place| trie.tokens()[place]));
        Mask::new(self.words(), &[], alive)
    }
}

impl ConfigWalk<'_> {
    fn run(&mut self, trie: &Trie) {
        if self.at.node == Trie::ROOT {
            self.take_staying(trie, Trie::ROOT, None);
            self.at.node = Trie::ROOT + 1;
        }
        while self.at.node < trie.end(Trie::ROOT) {
            interrupt::poll(UNITS_A_NODE);
            self.at.node = self.visit(trie, self.at.node);
            self.make_room();
        }
    }

    /// Reads the byte of a node, all nodes above which fit. The node to go on with.
    fn visit(&mut self, trie: &Trie, node: NodeIndex) -> NodeIndex {
        if self.at.fitting.has_all(trie.token_range(node)) {
            return trie.end(node);
        }
        while self.at.path.last().is_some_and(|place| place.end <= node || place.node >= node) {
            self.at.path.pop();
        }
        let tables = self.at.own.as_deref().unwrap_or(self.generation);
        let Some(&before) = self.at.path.last() else { return trie.end(Trie::ROOT) };
        let config = tables.step_in_token(before.config, trie.byte(node));
        if config == SetId::DEAD {
            return trie.end(node);
        }
        let own = trie.token_range_of(node);
        if !own.is_empty() && tables.can_differ(config) {
            self.at.fitting.add(own);
        }
        if !trie.is_leaf(node) {
            let tokens = trie.token_range(node);
            let most = tokens.len() - tokens.len() / WORTH_A_WALK;
            let is_taken = self.at.fitting.count(tokens) <= most;
            self.at.path.push(Place { node, end: trie.end(node), config, is_taken });
            if is_taken {
                self.take_staying(trie, node, Some(before).filter(|before| before.is_taken));
            }
        }
        node + 1
    }

    /// Takes the tokens under a node, the last on the path, that stay in a terminal which is read there. Those of the terminals
    /// that were read at the place before are taken.
    fn take_staying(&mut self, trie: &Trie, node: NodeIndex, before: Option<Place>) {
        let tables = self.at.own.as_deref().unwrap_or(self.generation);
        let (sets, terminals) = (tables.sets(), tables.terminals());
        let Some(&Place { config, .. }) = self.at.path.last() else { return };
        let byte = trie.byte(node);
        let went_on = |state: TerminalId| {
            before.is_some_and(|before| {
                sets.items(before.config).iter().any(|item| match item.0.kind() {
                    SymbolKind::Terminal(earlier) => terminals.step(earlier, byte) == state,
                    _ => false,
                })
            })
        };
        for (symbol, _) in sets.items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            let state = terminals.saturate(state);
            // What is left of a key that may be an excluded one has a state for each byte.
            if went_on(state) || terminals.plain(state).is_some() {
                continue;
            }
            let fitting = &mut self.at.fitting;
            let mut on_tokens = |node: NodeIndex, _: &[u32]| fitting.add(trie.token_range_of(node));
            walk_terminal(terminals, trie, node, state, &mut self.stack, &mut on_tokens, &mut |_, _| {});
        }
    }

    /// Goes on in other tables if those in use are full.
    fn make_room(&mut self) {
        let tables = self.at.own.as_deref().unwrap_or(self.generation);
        if tables.bytes_of_steps() <= self.at.full {
            return;
        }
        let fresh = self.generation.anew();
        let way = Way { from: tables, to: &fresh };
        let mut carrier = Carrier::new(way);
        let mut carry = |place: &Place| carrier.carry(way, place.config, &mut Work::all());
        let configs: Vec<Option<SetId>> = self.at.path.iter().map(&mut carry).collect();
        let places = self.at.path.iter_mut().zip(configs);
        places.for_each(|(place, config)| place.config = config.unwrap_or(SetId::DEAD));
        self.at.full = fresh.bytes_of_steps().saturating_add(self.room.own);
        self.at.own = Some(fresh);
    }
}

/// Some of the places of a list.
#[derive(Default)]
struct Places(Vec<u64>);

impl Places {
    fn none_of(count: usize) -> Self {
        Places(vec![0; count.div_ceil(64)])
    }

    /// The words that a range is in, with the bits of each.
    fn words(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
        let Range { start, end } = range;
        (start / 64..end.div_ceil(64)).map(move |word| {
            let low = if word == start / 64 { u64::MAX << (start % 64) } else { u64::MAX };
            let high = if word == end / 64 { (1 << (end % 64)) - 1 } else { u64::MAX };
            (word, low & high)
        })
    }

    fn add(&mut self, range: Range<usize>) {
        Self::words(range).for_each(|(word, bits)| self.0[word] |= bits);
    }

    fn has_all(&self, range: Range<usize>) -> bool {
        Self::words(range).all(|(word, bits)| self.0[word] & bits == bits)
    }

    fn count(&self, range: Range<usize>) -> usize {
        Self::words(range).map(|(word, bits)| (self.0[word] & bits).count_ones() as usize).sum()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().zip(0..).flat_map(|(&word, at)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use tokenstile_grammar::frontends::ebnf;
    use tokenstile_grammar::frontends::json_schema::{self, Options};
    use tokenstile_grammar::{Budget, passes};

    use super::*;
    use crate::vocab::{TokenId, Vocab, VocabOptions};

    const PIECES: [&str; 11] = ["a", "b", "x", " ", "1", "\"", "{", ":", ",", "]", "\u{e9}"];

    fn vocab() -> Arc<Vocab> {
        let mut tokens: Vec<String> = PIECES.map(String::from).to_vec();
        for _ in 0..2 {
            let longer = tokens
                .iter()
                .flat_map(|text| PIECES.map(|piece| format!("{text}{piece}")))
                .collect::<Vec<_>>();
            tokens.extend(longer);
        }
        tokens.extend(["\u{e9}".repeat(9), "a ".repeat(20), "[".to_owned(), "}".to_owned()]);
        tokens.sort();
        tokens.dedup();
        Vocab::new(tokens, VocabOptions::default()).unwrap()
    }

    fn generation(grammar: &tokenstile_grammar::Grammar, vocab: &Vocab) -> Arc<Generation> {
        let machine = passes::compile(grammar, &Budget::default()).unwrap();
        Generation::new(Arc::new(machine), Arc::clone(vocab.table()))
    }

    fn tokens_of(mask: &Mask, generation: &Generation) -> Vec<u32> {
        (0..generation.tokens().len() as u32).filter(|&token| mask.contains(token)).collect()
    }

    /// Follows a text, and compares the masks on the way with each token read by itself, where tables have room and where
    /// each step needs new ones.
    fn check(generation: &Generation, text: &str) {
        let mut config = generation.start();
        for byte in text.bytes() {
            let by_bytes = |&token: &u32| {
                generation.step_bytes(config, generation.tokens().token_bytes(TokenId(token))) != SetId::DEAD
            };
            let expected: Vec<u32> = (0..generation.tokens().len() as u32).filter(by_bytes).collect();
            for room in [Room::USUAL, Room { kept: 0, own: 0 }, Room { kept: 0, own: 4_000 }] {
                let mask = generation.mask_in_room(config, Vec::new(), room);
                let unfit = generation.unfit_tokens(config, &mask);
                let found = tokens_of(&mask.without(&unfit), generation);
                assert_eq!(found, expected, "before {:?} in {text}", char::from(byte));
            }
            config = generation.step(config, byte);
            assert_ne!(config, SetId::DEAD, "{text}");
        }
    }

    #[test]
    fn is_what_tokens_are_read_one_by_one() {
        let vocab = vocab();
        for (grammar, text) in [
            (
                "root ::= a*\na ::= [a-z0-9 ]+ b?\nb ::= [a-z ]* a? c\nc ::= [a-z0-9 ]* a? b? \"x\"?",
                "ab1 x a",
            ),
            ("root ::= \"{\" root{2,3} \",\"? | [ab]+ | \"\\u00e9\"{2,20}", "{ab{\u{e9}\u{e9}{aa"),
            (
                "root ::= TagDispatch((\"{a\", tag), loop_after_dispatch=true)\ntag ::= [ab]* \"]\"",
                "x{{aab]{ab",
            ),
            ("root ::= (\"a\" | root \" \" root | Token(3, 5))*", "aa a a"),
        ] {
            let budget = Budget::default();
            let grammar = ebnf::parse(grammar, "root", budget.limits(), &budget).unwrap();
            check(&generation(&grammar, &vocab), text);
        }
    }

    #[test]
    fn keys_that_come_once_and_items_that_differ_are_compared() {
        let vocab = vocab();
        for (schema, text) in [
            (
                r#"{"type": "object", "properties": {"a": {"type": "integer"}, "ab": {"type": "string"}},
                    "additionalProperties": {"type": "integer"}}"#,
                r#"{"a":1,"ab":"x","b":1"#,
            ),
            (r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}}"#, r#"["a","ab","aa"#),
        ] {
            let budget = Budget::default();
            let grammar = json_schema::grammar(schema, &Options::default(), &budget).unwrap();
            check(&generation(&grammar, &vocab), text);
        }
    }
}
