//! The tokens that may make items equal.
//!
//! A token can do that in three ways. It may go on like a rival of the item under way: these tokens are found by reading the
//! rivals along the trie. It may end an item and begin the next: such tokens have a comma behind what can be the end of a
//! value, and they are known for a vocabulary. Or it may hold the beginning of an array and two items of it: also known.
//! Everything else leaves each item free, and fits if the grammar says so.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::Entry;
use super::ahead::Within;
use super::ledger::{Ledger, Outcome, Standing, WORDS};
use super::pieces::Pieces;
use crate::config::{Item, SetId, SymbolKind};
use crate::generation::Generation;
use crate::interrupt;
use crate::vocab::trie::{NodeIndex, Trie};
use crate::vocab::{TokenId, TokenTable};

/// The tokens of a vocabulary that reach from one item into the next.
pub(crate) struct Crossing {
    /// Those that may end an item and begin the next, with how many brackets they close before that.
    between: Box<[(u32, usize)]>,
    /// Those that may begin an array and two items of it.
    within: Box<[u32]>,
    /// All that have a comma: behind one an item has to come.
    commas: Box<[u32]>,
    /// Of each node of the trie, whether all bytes from it on are of a kind.
    kinds: Box<[Kinds]>,
}

/// The kinds that all of some bytes are of, a bit for each.
type Kinds = u8;

const DIGITS: Kinds = 1;
/// ASCII characters that stand for themselves in a string.
const PLAIN: Kinds = 2;

/// The kinds of a byte.
fn kinds_of(byte: u8) -> Kinds {
    let is_plain = matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    (u8::from(is_plain) * PLAIN) | (u8::from(byte.is_ascii_digit()) * DIGITS)
}

/// Of each node of a trie, the kinds that its byte and all bytes below it are of.
fn kinds_below(trie: &Trie) -> Box<[Kinds]> {
    let mut kinds = vec![0; trie.end(Trie::ROOT) as usize];
    // What is below a node has a greater number.
    for node in (1..trie.end(Trie::ROOT)).rev() {
        let below = trie.children(node).map(|child| kinds[child as usize]);
        kinds[node as usize] = below.fold(kinds_of(trie.byte(node)), |all, child| all & child);
    }
    kinds.into()
}

impl Crossing {
    pub(crate) fn new(tokens: &TokenTable) -> Arc<Self> {
        let (mut between, mut within, mut commas) = (Vec::new(), Vec::new(), Vec::new());
        let pieces = Pieces::default();
        for token in 0..tokens.len() as u32 {
            let bytes = tokens.token_bytes(TokenId(token));
            if !bytes.contains(&b',') {
                continue;
            }
            commas.push(token);
            between.extend(closes_before_next(bytes).map(|closes| (token, closes)));
            let begins = (0..bytes.len()).filter(|&at| bytes[at] == b'[');
            if begins.into_iter().any(|at| pieces.is_telling(Ledger::NEW, &bytes[at..])) {
                within.push(token);
            }
        }
        let kinds = kinds_below(tokens.index().trie());
        Arc::new(Crossing { between: between.into(), within: within.into(), commas: commas.into(), kinds })
    }
}

/// How many brackets a token closes before the last comma that may stand between two items, if there is such a comma: behind
/// what can be the end of a value, or at the start, since a number ends where something else begins; and before what can be
/// the beginning of one.
fn closes_before_next(bytes: &[u8]) -> Option<usize> {
    let is_crossing = |&at: &usize| {
        bytes[at] == b','
            && may_end_value(bytes[..at].trim_ascii_end())
            && may_begin_value(bytes[at + 1..].trim_ascii_start())
    };
    let comma = (0..bytes.len()).rev().find(is_crossing)?;
    Some(bytes[..comma].iter().filter(|byte| matches!(byte, b']' | b'}')).count())
}

/// Whether a value may end behind these bytes, of which something may have come before.
fn may_end_value(bytes: &[u8]) -> bool {
    let letters = bytes.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (before, word) = bytes.split_at(bytes.len() - letters);
    let ends_so = |known: &&[u8]| known.ends_with(word) && (before.is_empty() || known.len() == word.len());
    match bytes.last() {
        None | Some(b']' | b'}' | b'"' | b'0'..=b'9') => true,
        Some(_) => letters > 0 && WORDS.iter().any(ends_so),
    }
}

/// Whether a value may begin with these bytes.
fn may_begin_value(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(b'"' | b'[' | b'{' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
}

impl Pieces {
    /// Whether `bytes` make two items equal, or end in an item that has rivals.
    fn is_telling(&self, ledger: Ledger, bytes: &[u8]) -> bool {
        let mut at = ledger;
        for &byte in bytes {
            match self.read(at, byte) {
                Outcome::Goes(next) => at = self.ledger(next),
                Outcome::Equal => return true,
                Outcome::Misfit => return false,
            }
        }
        at.standing() == Standing::Rivalled
    }
}

/// A token that may make items equal.
struct Suspect {
    token: u32,
    /// Where it leads the stacks, without what they carry.
    place: SetId,
    /// What an array carries then that it was found for; none if two items are equal.
    after: Option<Entry>,
}

/// Where a token leads the stacks, without what they carry, and what they carry then.
type Reached = (SetId, SmallVec<[Option<Entry>; 4]>);

impl Generation {
    /// The tokens among those that `fit` otherwise that make items of a configuration equal, or leave no way to differ.
    ///
    /// Most tokens that may do so come to the same place: they differ in their spaces. What was found of one holds for all
    /// that lead the stacks, without what they carry, and what they carry to the same.
    pub(crate) fn levelling_tokens(&self, config: SetId, fits: impl Fn(u32) -> bool) -> Vec<u32> {
        if !self.machine().compares_items {
            return Vec::new();
        }
        let crossing = self.tokens().index().crossing(self.tokens());
        let bytes = |token: u32| self.tokens().token_bytes(TokenId(token));
        let is_dead = |token: u32| self.step_token(config, TokenId(token), bytes(token)) == SetId::DEAD;
        let mut found: Vec<u32> =
            crossing.within.iter().copied().filter(|&token| fits(token) && is_dead(token)).collect();
        let entries = self.entries(config);
        let Some(plain) = self.forgetful(config) else { return found };
        let mut known: FxHashMap<Reached, bool> = FxHashMap::default();
        for Suspect { token, place, after } in self.suspects(&entries, plain, crossing) {
            if !fits(token) {
                continue;
            }
            let after: SmallVec<[Option<Entry>; 4]> = match *entries {
                [_] => smallvec![after],
                _ => entries.iter().map(|&entry| self.distinct().after_all(entry, bytes(token))).collect(),
            };
            let ledgers = after.iter().flatten().map(|&entry| self.distinct().ledger(entry));
            if after.iter().all(Option::is_some) && self.is_endless_ahead(place, ledgers) {
                continue;
            }
            let is_dead = *known.entry((place, after)).or_insert_with(|| is_dead(token));
            if is_dead && !found.contains(&token) {
                found.push(token);
            }
        }
        found
    }

    /// Lets `look` at each token behind which some array may not be settled, once or more often.
    pub(crate) fn unsettling_tokens(&self, config: SetId, mut look: impl FnMut(u32)) {
        let crossing = self.tokens().index().crossing(self.tokens());
        let entries = self.entries(config);
        let is_in_text = |entry: &Entry| self.distinct().ledger(*entry).is_in_text();
        // What has to come before a comma that stands between items.
        let first = match &*entries {
            [] => b'[',
            all if all.iter().all(is_in_text) => b'"',
            _ => b',',
        };
        let may_end_item = |bytes: &[u8]| {
            let comma = bytes.iter().rposition(|&byte| byte == b',');
            comma.is_some_and(|comma| bytes[..=comma].contains(&first))
        };
        let bytes = |token: u32| self.tokens().token_bytes(TokenId(token));
        crossing.commas.iter().copied().filter(|&token| may_end_item(bytes(token))).for_each(&mut look);
        let Some(plain) = self.forgetful(config) else { return };
        self.suspects(&entries, plain, crossing).iter().for_each(|suspect| look(suspect.token));
    }

    /// The tokens that may make items of such arrays equal, each once; only those that lead somewhere.
    fn suspects(&self, entries: &[Entry], plain: SetId, crossing: &Crossing) -> Vec<Suspect> {
        let pieces = &self.distinct().pieces;
        let mut found: Vec<Suspect> = Vec::new();
        for &entry in entries.iter().filter(|&&entry| entry != Entry::NEW) {
            let ledger = self.distinct().ledger(entry);
            let depth = pieces.depth(ledger);
            for &(token, closes) in &crossing.between {
                let bytes = self.tokens().token_bytes(TokenId(token));
                if closes < depth || !pieces.is_telling(ledger, bytes) {
                    continue;
                }
                let place = self.step_plain(plain, bytes);
                if place != SetId::DEAD {
                    found.push(Suspect { token, place, after: self.distinct().after_all(entry, bytes) });
                }
            }
            if ledger.standing() != Standing::Free {
                self.add_along_rivals(entry, plain, &crossing.kinds, &mut found);
            }
        }
        found.sort_unstable_by_key(|suspect| suspect.token);
        found.dedup_by_key(|suspect| suspect.token);
        found
    }

    /// Where bytes lead stacks that carry nothing.
    fn step_plain(&self, plain: SetId, bytes: &[u8]) -> SetId {
        bytes
            .iter()
            .try_fold(plain, |at, &byte| Some(self.step(at, byte)).filter(|&next| next != SetId::DEAD))
            .unwrap_or(SetId::DEAD)
    }

    /// Adds the tokens that go on like a rival, or are past one that the item is equal to. Most tokens are not looked at: the
    /// stacks cannot read them.
    fn add_along_rivals(&self, entry: Entry, plain: SetId, kinds: &[Kinds], found: &mut Vec<Suspect>) {
        let trie: &Trie = self.tokens().index().trie();
        let pieces = &self.distinct().pieces;
        // Without an entry two items are equal already.
        let mut stack: Vec<(NodeIndex, SetId, Option<Entry>)> = vec![(Trie::ROOT, plain, Some(entry))];
        while let Some((node, place, at)) = stack.pop() {
            interrupt::poll(1);
            let ledger = at.map(|at| self.distinct().ledger(at));
            let rival_bytes = ledger.and_then(|ledger| pieces.rival_bytes(ledger));
            let is_free =
                |byte: u8| rival_bytes.as_ref().is_some_and(|bytes| bytes.binary_search(&byte).is_err());
            // Within an endless text or number items cannot become equal, and may always differ.
            let harmless = ledger.map_or(0, |ledger| self.harmless_kinds(place, ledger));
            let is_harmless = |child: NodeIndex| kinds[child as usize] & harmless != 0;
            let is_looked_at = |child: &NodeIndex| !is_free(trie.byte(*child)) && !is_harmless(*child);
            for child in trie.children(node).filter(is_looked_at) {
                let byte = trie.byte(child);
                // Most bytes cannot be read, which is known at once.
                let next = self.step(place, byte);
                if next == SetId::DEAD {
                    continue;
                }
                let after = match ledger.map(|ledger| pieces.read(ledger, byte)) {
                    Some(Outcome::Misfit) => continue,
                    None | Some(Outcome::Equal) => None,
                    Some(Outcome::Goes(next)) => Some(Entry::of(next)),
                };
                let standing = after.map(|after| self.distinct().ledger(after).standing());
                if standing == Some(Standing::Free) {
                    continue;
                }
                if matches!(standing, None | Some(Standing::Rivalled)) {
                    let here = trie.tokens_of(child).iter();
                    found.extend(here.map(|&token| Suspect { token, place: next, after }));
                }
                stack.push((child, next, after));
            }
        }
    }

    /// The kinds of bytes that change nothing at a place but what is read of a text or number.
    fn harmless_kinds(&self, place: SetId, ledger: Ledger) -> Kinds {
        let (low, high, kind) = match self.distinct().pieces.within(ledger) {
            Some(Within::Text) => (b' ', b'~', PLAIN),
            Some(Within::Number) => (b'0', b'9', DIGITS),
            _ => return 0,
        };
        let stays = |&(symbol, _): &Item| {
            let SymbolKind::Terminal(state) = symbol.kind() else { return false };
            // All bytes of the kind lead back.
            let mut next = low;
            for &(from, to, target) in &**self.terminals().row(state) {
                if to < next || from > high {
                    continue;
                }
                let is_between = (next..from).all(|byte| kinds_of(byte) & kind == 0);
                let leads_back = target == state || (from..=to).all(|byte| kinds_of(byte) & kind == 0);
                if !is_between || !leads_back {
                    return false;
                }
                if to >= high {
                    return true;
                }
                next = to + 1;
            }
            (next..=high).all(|byte| kinds_of(byte) & kind == 0)
        };
        let items = self.sets().items(place);
        if !items.is_empty() && items.iter().all(stays) { kind } else { 0 }
    }
}
