//! The tables of strings that count their characters.
//!
//! A string of at most forty characters has forty states, each with a table of its own; so has one of at least forty. But
//! which tokens are in these tables depends on three numbers only: the bounds, and how many characters of the string a token
//! has. So the tokens are counted once, in a walk with the string that has no bounds ([`Counts`]), and the table of a string
//! with bounds is picked from them. Tokens that are plain text are not even walked: how many characters they have is known
//! for the vocabulary ([`plain_rows`](crate::vocab::plain_rows)).
//!
//! A token that ends within the string fits if it does not begin more characters than may come. One that closes the string
//! fits if it has as many as must come, and no more than may; where it goes on behind that does not depend on the bounds.
//!
//! Few tokens are long. While the bound is far away the string loses a few dozen tokens to it and none that leaves it, so no
//! table is made at all: its part of a mask is that of the string without bounds, without these tokens.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::near::NearStates;
use super::shapes::{Branches, Counting, ShapeWalk, Tally};
use super::shared::TableKey;
use super::table::TerminalTable;
use super::together::Sets;
use super::tokens::Part;
use crate::generation::Generation;
use crate::terminal::{Arena, Endless, TerminalId, Turns};
use crate::vocab::shapes::{KIND_OF, KindSet, Shapes, characters_of};
use crate::vocab::trie::{NodeIndex, Trie};
use crate::vocab::{TokenId, TokenIndex, TokenTable};

/// How many characters of a string tokens have.
pub(super) struct Counts {
    /// Tokens of these kinds of characters end inside the string and have as many as they have, and are not among the others.
    plain: KindSet,
    /// The others.
    tokens: Box<[(Tally, u32)]>,
    /// The nodes at which the terminal may end, behind the string.
    ends: Box<[(Tally, NodeIndex)]>,
    /// The most characters that a token has which goes on behind the string.
    longest_end: u32,
    /// What stays in strings with an upper bound that only long tokens reach, by the bound.
    bounded: Mutex<FxHashMap<u32, Option<Arc<Part>>>>,
}

/// A string with a bound that only long tokens reach.
pub(super) struct FarBounded<'g> {
    /// The state without the bound.
    pub(super) endless: TerminalId,
    /// The tokens that stay in that,
    pub(super) stay: &'g Arc<Part>,
    /// and those that stay within the bound.
    pub(super) within: &'g Arc<Part>,
}

/// A string loses no more tokens than this to a bound that is far away.
const FEW_LOST: usize = 256;

impl Counts {
    /// Counts along all tokens; `None` if they cannot be told that close the string.
    fn new(arena: &Arena, turns: &Turns, index: &TokenIndex) -> Option<Self> {
        let counting = Counting { state: turns.endless, closing: closing_kinds(arena, turns)? };
        // What stays in the text, and does not close it.
        let known = Some(arena.endless(turns.text)).filter(|known| known.length == u32::MAX);
        let known = known.unwrap_or(Endless::NOTHING);
        let (mut ranges, mut tokens, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let in_trie = index.trie().tokens();
        ShapeWalk {
            arena,
            trie: index.trie(),
            shapes: index.shapes(),
            known,
            counting,
            on_range: &mut |range, tally| ranges.push((range, tally)),
            on_nodes: &mut |range: Range<usize>, tally| {
                tokens.extend(in_trie[range].iter().map(|&token| (tally, token)));
            },
            on_end: &mut |node, _, tally| ends.push((tally, node)),
            on_token: &mut |_| (),
            near: NearStates::default(),
            above: Branches::default(),
            tokens: None,
            sets: Sets::default(),
        }
        .walk(Shapes::ROOT, turns.endless);
        let in_shapes = index.shapes().tokens();
        for (range, tally) in ranges {
            let some = &in_shapes[range.start as usize..range.end as usize];
            tokens.extend(some.iter().map(|&token| (tally, token)));
        }
        Some(Counts {
            plain: known.kinds,
            tokens: tokens.into(),
            longest_end: ends.iter().map(|(tally, _)| tally.count).max().unwrap_or(0),
            ends: ends.into(),
            bounded: Mutex::default(),
        })
    }

    /// The tokens that stay in a string of at most so many characters, if those that it loses to the bound are few and none
    /// of them leaves the string; `stay` are those that stay without the bound.
    fn within_far_bound(&self, most: u32, stay: &Part, tokens: &TokenTable) -> Option<Arc<Part>> {
        if most < self.longest_end {
            return None;
        }
        let make = || self.lost_inside(most, tokens).map(|lost| Arc::new(stay.without(&lost)));
        self.bounded.lock().entry(most).or_insert_with(make).clone()
    }

    /// The tokens inside of a string with more characters than may come, sorted, if they are few.
    fn lost_inside(&self, most: u32, tokens: &TokenTable) -> Option<Vec<u32>> {
        let long = tokens.index().plain_rows().longer_than(most)?;
        let is_plain = |&token: &u32| characters_of(tokens.token_bytes(TokenId(token))) & !self.plain == 0;
        let others = self.tokens.iter().filter(|(tally, _)| tally.count > most).map(|&(_, token)| token);
        let mut lost: Vec<u32> =
            long.iter().copied().filter(is_plain).chain(others).take(FEW_LOST + 1).collect();
        lost.sort_unstable();
        (lost.len() <= FEW_LOST).then_some(lost)
    }

    /// The table of a string with bounds.
    fn table(&self, turns: &Turns, index: &TokenIndex, words: usize) -> TerminalTable {
        let fits = |tally: Tally| tally.count <= turns.max && (!tally.is_closed || tally.count >= turns.min);
        let pick = |all: &[(Tally, u32)]| -> Vec<u32> {
            all.iter().filter(|(tally, _)| fits(*tally)).map(|&(_, one)| one).collect()
        };
        let base = (self.plain != 0).then(|| index.plain_rows().get(self.plain, turns.max));
        let stay = Part::to_share(words, base.as_ref(), [&*pick(&self.tokens)].into_iter());
        TerminalTable::of(index.trie(), stay, pick(&self.ends))
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.tokens) + size_of_val(&*self.ends)
    }
}

/// The kinds of bytes that close a string, if all bytes of a kind do, or none, and no character begins with them.
fn closing_kinds(arena: &Arena, turns: &Turns) -> Option<KindSet> {
    let kinds_of = |closes: bool| {
        let row = arena.dense(turns.after);
        let bytes = row.iter().zip(KIND_OF).filter(|(next, _)| (**next != TerminalId::NEVER) == closes);
        bytes.fold(0, |kinds: KindSet, (_, kind)| kinds | 1 << kind)
    };
    let begins = arena.dense(turns.text).iter().zip(arena.dense(turns.after));
    let is_apart = begins.into_iter().all(|(text, after)| [text, after].contains(&&TerminalId::NEVER));
    let closing = kinds_of(true);
    (is_apart && closing & kinds_of(false) == 0).then_some(closing)
}

impl Generation {
    /// The table of a state for all tokens, if it is that of a string that counts its characters.
    pub(super) fn counted_table(&self, state: TerminalId) -> Option<Arc<TerminalTable>> {
        let arena = self.terminals();
        let turns = arena.turns(state).filter(|turns| arena.is_wide(turns.endless))?;
        let key = TableKey { state: arena.fingerprint(state), trie: 0, node: Trie::ROOT };
        let make = || Arc::new(self.make_counted_table(state, &turns));
        let table = self.tokens().index().tables.get_or_make(key, TerminalTable::memory_bytes, make);
        self.note_table(table.memory_bytes());
        Some(table)
    }

    fn make_counted_table(&self, state: TerminalId, turns: &Turns) -> TerminalTable {
        let (arena, index) = (self.terminals(), self.tokens().index());
        match self.counts(turns) {
            Some(counts) => counts.table(turns, index, self.words()),
            None => TerminalTable::build(arena, state, self.tokens(), index.trie(), Trie::ROOT),
        }
    }

    fn counts(&self, turns: &Turns) -> Option<&Counts> {
        let (arena, index) = (self.terminals(), self.tokens().index());
        self.table_for(index.trie(), Trie::ROOT, turns.endless).counts(|| {
            let counts = Counts::new(arena, turns, index);
            self.note_table(counts.as_ref().map_or(0, Counts::memory_bytes));
            counts
        })
    }

    /// How a state is a string without bounds and what it loses, if its bound is so far away that only long tokens reach it
    /// and none of these leaves the string.
    pub(super) fn far_bounded(&self, state: TerminalId) -> Option<FarBounded<'_>> {
        let arena = self.terminals();
        let turns = arena.turns(state).filter(|turns| turns.min == 0 && arena.is_wide(turns.endless))?;
        let stay = &self.table_for(self.tokens().index().trie(), Trie::ROOT, turns.endless).stay;
        let within = self.far_bounds().get_or_make(state, || {
            let counts = self.counts(&turns);
            Arc::new(counts.and_then(|counts| counts.within_far_bound(turns.max, stay, self.tokens())))
        });
        let within = within.as_ref().as_ref()?;
        Some(FarBounded { endless: turns.endless, stay, within })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokenstile_grammar::frontends::ebnf;
    use tokenstile_grammar::frontends::json_schema::{self, Options};
    use tokenstile_grammar::{Budget, CancelFlag, Limits, passes};

    use super::*;
    use crate::config::SymbolKind;
    use crate::vocab::{TokenTable, Vocab, VocabOptions};

    /// All strings of up to three of these.
    fn tokens() -> Vec<Vec<u8>> {
        const PIECES: [&[u8]; 12] = [
            b"a",
            b"B1",
            "\u{e9}".as_bytes(),
            "\u{2028}".as_bytes(),
            b"\xE2\x80",
            b"\"",
            b"\\n",
            br"\u00e9",
            br"\ud83d\ude00",
            b"\\",
            b"}",
            b" ",
        ];
        let mut all: Vec<Vec<u8>> = vec![Vec::new()];
        let mut longest = all.clone();
        for _ in 0..3 {
            longest = longest.iter().flat_map(|text| PIECES.map(|piece| [text, piece].concat())).collect();
            all.extend_from_slice(&longest);
        }
        all
    }

    /// A string after its first byte, and in JSON where there is a schema.
    fn states(text: &str, table: &Arc<TokenTable>) -> (Arc<Generation>, Vec<TerminalId>) {
        let budget = Budget::new(Limits::default(), CancelFlag::default());
        let grammar = if text.starts_with('{') {
            json_schema::parse(text, &Options::default(), &budget).unwrap().grammar
        } else {
            let text = format!(r#"root ::= "\"" {text} "\"" [ }}]* "!""#);
            ebnf::parse(&text, "root", budget.limits(), &budget).unwrap()
        };
        let machine = passes::compile(&grammar, &budget).unwrap();
        let generation = Generation::new(Arc::new(machine), Arc::clone(table));
        let config = generation.step(generation.start(), b'"');
        let state = |kind: SymbolKind| match kind {
            SymbolKind::Terminal(state) => Some(generation.terminals().saturate(state)),
            _ => None,
        };
        let items = generation.sets().items(config);
        let states = items.iter().filter_map(|(symbol, _)| state(symbol.kind())).collect();
        (generation, states)
    }

    #[test]
    fn far_bounds_lose_the_tokens_that_a_walk_loses() {
        const LONG: [&[u8]; 9] = [
            b"abcdefghijkl",
            b"aaaaaaaaaa\\n",
            b"bbbbbbbbbbb",
            b"ccccccccc\\",
            b"\\\\\\n\\\"abcdef",
            b"abcdefghi\"",
            b"abcdefgh\"}",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes(),
            b"abcdefghij \\u00e9",
        ];
        let texts = LONG.iter().map(|text| text.to_vec());
        let vocab = Vocab::new(tokens().into_iter().chain(texts), VocabOptions::default()).unwrap();
        let (table, trie) = (vocab.table(), vocab.table().index().trie());
        let mut count = 0;
        for most in 6..15 {
            let schema = format!(r#"{{"type": "string", "maxLength": {most}}}"#);
            let (generation, states) = states(&schema, table);
            for state in states {
                let walked = TerminalTable::build(generation.terminals(), state, table, trie, Trie::ROOT);
                // The longest text before a quote that is followed by something has eight characters.
                let Some(FarBounded { endless, within, .. }) = generation.far_bounded(state) else {
                    assert!(most < 8, "{most}");
                    continue;
                };
                let all = TerminalTable::build(generation.terminals(), endless, table, trie, Trie::ROOT);
                let ends = |kept: &TerminalTable| kept.ends().iter().copied().collect::<BTreeSet<_>>();
                assert_eq!(ends(&all), ends(&walked), "{most}");
                for token in 0..table.len() as u32 {
                    assert_eq!(within.contains(token), walked.stay.contains(token), "{most} {token}");
                }
                count += 1;
            }
        }
        assert_eq!(count, 7);
    }

    #[test]
    fn tables_are_those_of_a_walk() {
        let vocab = Vocab::new(tokens(), VocabOptions::default()).unwrap();
        let (table, trie) = (vocab.table(), vocab.table().index().trie());
        let held = |kept: &TerminalTable| {
            (0..table.len() as u32).filter(|&token| kept.stay.contains(token)).collect::<Vec<_>>()
        };
        let ends = |kept: &TerminalTable| kept.ends().iter().copied().collect::<BTreeSet<_>>();
        for text in [
            r#"[^"]{0,2}"#,
            r#"[^"]{3}"#,
            r#"[^"]{2,}"#,
            r"[a-f0-9A-Z \u2028]{1,4}",
            r#"{"type": "string", "maxLength": 2}"#,
            r#"{"type": "string", "minLength": 1, "maxLength": 3}"#,
            r#"{"type": "string", "pattern": "^.{2,}$"}"#,
        ] {
            let (generation, states) = states(text, table);
            let counted: Vec<_> =
                states.iter().filter_map(|&state| Some((state, generation.counted_table(state)?))).collect();
            assert!(!counted.is_empty(), "{text}");
            for (state, counted) in counted {
                let walked = TerminalTable::build(generation.terminals(), state, table, trie, Trie::ROOT);
                assert_eq!(held(&counted), held(&walked), "{text}");
                assert_eq!(ends(&counted), ends(&walked), "{text}");
            }
        }
    }
}
