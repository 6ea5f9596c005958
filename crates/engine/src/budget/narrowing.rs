//! Which tokens of a mask can be afforded.
//!
//! Tokens are followed along their trie, and subtrees in which nothing can become too dear are left out. Inside of a
//! string hardly any are: nearly all tokens fit there, and lead back to where they began. So where all text of certain
//! characters leads to places that can be afforded, or to none that can, or where its length alone tells, the tokens made of
//! these characters are decided at one stroke (see [`super::plain`]), and only the others are followed.
//!
//! Keys that remember their texts would have a state for each text. What it costs to complete them does not depend on the
//! text while they are read, so it is forgotten up to there. Nor does it depend on it behind the key, where its list needs no
//! key that is unlike those before it, until the next member begins. Tokens that go on to there are followed again from
//! where they began, with the text.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tokenstile_grammar::ir::TokenSet;
use tokenstile_grammar::machine::ListId;

use super::TokenBudget;
use super::kept::Limits;
use super::plain::{Configs, PlainText, Usual};
use crate::config::SetId;
use crate::generation::Generation;
use crate::interrupt;
use crate::mask::{Row, clear_bit, has_bit, set_bit};
use crate::vocab::TokenId;
use crate::vocab::plain_rows::count_characters;
use crate::vocab::shapes::{KindSet, characters_of, meets};
use crate::vocab::trie::{NodeIndex, Trie};

/// A mask with at most so many tokens is narrowed token by token. Where assertions are checked this and the next are small,
/// so that tests with few tokens come to all ways of narrowing.
const FEW: u32 = if cfg!(debug_assertions) { 6 } else { 256 };

/// A mask with at most so many tokens is followed without looking at where text leads.
const LITTLE: u32 = if cfg!(debug_assertions) { 12 } else { 2_048 };

/// A subtree with fewer tokens than this is followed token by token.
const WORTH_A_STROKE: usize = if cfg!(debug_assertions) { 2 } else { 64 };

/// How much is spent on where text leads, in all: one for a configuration that counts, several for others.
const MOST_SPENT: usize = 2_048;

/// Where text passes by more other places than this, in nodes of the trie, each of its tokens is followed.
const MOST_UNUSUAL: usize = 4_096;

/// Where so many ways are open at once, text does not lead back to where it began.
const MOST_OPEN: usize = 8;

/// Of nodes that are as high as this is not known how long the tokens below them are.
const MOST_HEIGHT: usize = 255;

/// How many judgements are at hand, at a place that follows from the configuration.
const AT_HAND: usize = 256;

/// A mask that is being narrowed.
pub(super) struct Narrowing<'b> {
    budget: &'b TokenBudget,
    generation: &'b Generation,
    /// The configuration whose mask it is.
    start: SetId,
    /// What may be needed after a token; none if nothing can be afforded.
    limit: Option<u32>,
    /// The limits for which all verdicts until now hold.
    limits: Limits,
    judgements: FxHashMap<SetId, Judgement>,
    at_hand: [(SetId, Judgement); AT_HAND],
    /// Whether a key of others is being read, at hand in the same way.
    keys_at_hand: [(SetId, bool); AT_HAND],
    strokes: Strokes<'b>,
    /// The sets of tokens that the grammar names at the start.
    named: SmallVec<[&'b TokenSet; 4]>,
    /// What such tokens lead to, by which of the sets they are in.
    after_named: FxHashMap<u64, SetId>,
}

/// What is known of a configuration.
#[derive(Clone, Copy)]
struct Judgement {
    /// Its greatest cost.
    most: u32,
    /// The greatest after any token.
    after_token: u32,
    /// Whether it can be afforded, if anybody asked.
    is_enough: Option<bool>,
}

/// Whether text can be afforded, by the number of its characters; the last for all that are longer.
type Stroke = Rc<[bool]>;

/// Text that is decided at one stroke.
struct Strokes<'b> {
    text: PlainText<'b>,
    /// The tokens of that text, once it has been looked for.
    tokens: Option<Arc<Row>>,
    /// What is decided, if anything, by where text begins, and whether keys have forgotten their texts there.
    known: FxHashMap<(SetId, bool), Option<Stroke>>,
    /// How much may still be spent on where text leads.
    left: usize,
}

/// A node of the trie that tokens go on from.
#[derive(Clone, Copy)]
struct Place {
    node: NodeIndex,
    config: SetId,
    /// The bytes before it.
    depth: u32,
    /// The bytes that the last character still lacks.
    lacks: u8,
    /// Whether keys have forgotten their texts.
    forgets: bool,
}

impl<'b> Narrowing<'b> {
    pub(super) fn new(
        budget: &'b TokenBudget,
        generation: &'b Generation,
        start: SetId,
        limit: Option<u32>,
    ) -> Self {
        let text = PlainText::none(generation);
        let strokes = Strokes { text, tokens: None, known: FxHashMap::default(), left: MOST_SPENT };
        let nothing = (SetId::DEAD, Judgement { most: 0, after_token: 0, is_enough: None });
        Narrowing {
            budget,
            generation,
            start,
            limit,
            limits: Limits::ANY,
            judgements: FxHashMap::default(),
            at_hand: [nothing; AT_HAND],
            keys_at_hand: [(SetId::DEAD, false); AT_HAND],
            strokes,
            named: generation.named_tokens(start).collect(),
            after_named: FxHashMap::default(),
        }
    }

    /// Takes out of `row` the tokens that cannot be afforded. For which limits these are the same.
    pub(super) fn run(mut self, row: &mut [u32]) -> Limits {
        let is_few = row.iter().map(|word| word.count_ones()).sum::<u32>() <= FEW;
        if is_few || !self.named.is_empty() {
            self.narrow_each(row);
        } else {
            self.narrow_along_trie(row);
        }
        self.limits
    }

    fn narrow_along_trie(&mut self, row: &mut [u32]) {
        let generation = self.generation;
        // In white space and numbers little is text.
        let has_text = row.iter().map(|word| word.count_ones()).sum::<u32>() > LITTLE;
        if has_text {
            let text = PlainText::around(generation, self.start);
            self.strokes.tokens = Some(generation.tokens().index().plain_rows().get(text.kinds(), u32::MAX));
            self.strokes.text = text;
        }
        let config = generation.without_texts(self.start);
        let forgets = config != self.start;
        let start = Place { node: Trie::ROOT, config, depth: 0, lacks: 0, forgets };
        let is_done = has_text && self.decide_mostly(start, row);
        let others = if is_done { vec![start] } else { self.follow(vec![start], row) };
        self.follow_others(others, row);
    }

    /// Decides the tokens of the text at one stroke where most text leads to one place and some leads elsewhere, as where a
    /// key begins that may be any, or one of certain ones: as though all of it led there, and then those tokens again that
    /// pass by other places. Whether that could be done; if not, the row is as it was.
    fn decide_mostly(&mut self, start: Place, row: &mut [u32]) -> bool {
        if self.stroke(start).is_some() {
            return false;
        }
        let Some(usual) = self.strokes.text.usual(start.config, &mut self.strokes.left) else { return false };
        let is_enough = self.is_enough(usual.config);
        let before = row.to_vec();
        if let Some(text) = self.strokes.tokens.as_ref().filter(|_| !is_enough) {
            row.iter_mut().zip(text.words()).for_each(|(word, text)| *word &= !text);
        }
        let is_done = self.decide_unusual(start, &usual, &before, row);
        if !is_done {
            row.copy_from_slice(&before);
        }
        is_done
    }

    /// Decides the tokens of the text again that pass by other places than the usual one, as they were `before`; false if these
    /// are too many.
    fn decide_unusual(&mut self, start: Place, usual: &Usual, before: &[u32], row: &mut [u32]) -> bool {
        let (generation, trie) = (self.generation, self.generation.tokens().index().trie());
        let (kinds, shapes) = (self.strokes.text.kinds(), generation.tokens().index().shapes());
        let mut left = MOST_UNUSUAL;
        let mut stack = vec![start];
        while let Some(place) = stack.pop() {
            interrupt::poll(1);
            // From the usual place only some characters lead elsewhere.
            let is_usual = generation.without_texts(place.config) == usual.config;
            for child in trie.children(place.node) {
                let byte = trie.byte(child);
                let comes_there =
                    is_usual || usual.has_usual_leads && place.node == Trie::ROOT && byte >= 0x80;
                let stays = shapes.characters_at(child) & usual.unusual == 0;
                if comes_there && stays || !meets(kinds, byte, byte) {
                    continue;
                }
                let Some(next) = self.step(trie, place, child) else { continue };
                if left == 0 {
                    return false;
                }
                left -= 1;
                let tokens = trie.tokens_of(child);
                if !tokens.is_empty() && generation.without_texts(next.config) != usual.config {
                    let decide = if self.is_enough(next.config) { set_bit } else { clear_bit };
                    let tokens = tokens.iter().filter(|&&token| has_bit(before, token));
                    tokens.for_each(|&token| decide(row, token));
                }
                if !trie.is_leaf(child) {
                    stack.push(next);
                }
            }
        }
        true
    }

    /// Looks again at a token that is left.
    pub(super) fn decide(&mut self, token: u32, row: &mut [u32]) {
        if has_bit(row, token) {
            let config = self.after(TokenId(token));
            if !self.is_enough(config) {
                clear_bit(row, token);
            }
        }
    }

    /// The same token by token: where there are few, and where the grammar may name some.
    fn narrow_each(&mut self, row: &mut [u32]) {
        for word in 0..row.len() {
            let mut bits = row[word];
            while bits != 0 {
                let token = word as u32 * 32 + bits.trailing_zeros();
                bits &= bits - 1;
                let config = self.after(TokenId(token));
                if !self.is_enough(config) {
                    clear_bit(row, token);
                }
            }
        }
    }

    /// The configuration after a token.
    fn after(&mut self, token: TokenId) -> SetId {
        let (generation, start) = (self.generation, self.start);
        let bytes = generation.tokens().token_bytes(token);
        if self.named.is_empty() || self.named.len() > u64::BITS as usize {
            return generation.step_token(start, token, bytes);
        }
        let may = |set: &TokenSet| generation.takes_token(set, token);
        let key = self.named.iter().fold(0, |key, set| key << 1 | u64::from(may(set)));
        let after_named = self.after_named.entry(key);
        let named = *after_named.or_insert_with(|| generation.step_token_edges(start, token, may));
        let by_bytes = if bytes.is_empty() { SetId::DEAD } else { generation.step_bytes(start, bytes) };
        generation.sets().union(by_bytes, named)
    }

    /// Follows all tokens below some places that may become too dear. Where those of the text were decided at one stroke, the
    /// places at which to follow the others.
    fn follow(&mut self, mut stack: Vec<Place>, row: &mut [u32]) -> Vec<Place> {
        let trie = self.generation.tokens().index().trie();
        let mut others = Vec::new();
        while let Some(place) = stack.pop() {
            interrupt::poll(1);
            if self.decide_text(trie, place, row) {
                others.push(place);
                continue;
            }
            for child in trie.children(place.node) {
                stack.extend(self.enter(trie, place, child, row));
            }
        }
        others
    }

    /// Follows the tokens below some places that are not of the text alone.
    fn follow_others(&mut self, places: Vec<Place>, row: &mut [u32]) {
        let index = self.generation.tokens().index();
        let (trie, kinds) = (index.trie(), self.strokes.text.kinds());
        let mut stack: Vec<(Place, bool)> =
            places.into_iter().map(|place| (place, self.is_text(trie, place, kinds))).collect();
        while let Some((place, is_text)) = stack.pop() {
            interrupt::poll(1);
            for child in trie.children(place.node) {
                if is_text && index.shapes().characters_at(child) & !kinds == 0 {
                    continue;
                }
                let Some(next) = self.enter(trie, place, child, row) else { continue };
                // The last byte of a character says what it is: an end of a line and a dash may have all others in common.
                let byte = trie.byte(child);
                let is_text = is_text
                    && meets(kinds, byte, byte)
                    && (byte < 0x80 || next.lacks > 0 || self.is_text(trie, next, kinds));
                stack.push((next, is_text));
            }
        }
    }

    /// Decides the tokens of a node right below that of `place`. The place there, if tokens go on that may become too dear.
    fn enter(&mut self, trie: &Trie, place: Place, child: NodeIndex, row: &mut [u32]) -> Option<Place> {
        let next = self.step(trie, place, child)?;
        if self.is_within(trie, child, next.config) {
            return None;
        }
        let tokens = trie.tokens_of(child);
        if !tokens.is_empty() && !self.is_enough(next.config) {
            tokens.iter().for_each(|&token| clear_bit(row, token));
        }
        (!trie.is_leaf(child)).then_some(next)
    }

    /// Decides the tokens of the text below a place, if that can be done at one stroke.
    fn decide_text(&mut self, trie: &Trie, place: Place, row: &mut [u32]) -> bool {
        let range = trie.token_range(place.node);
        if place.lacks > 0 || range.len() < WORTH_A_STROKE || self.strokes.tokens.is_none() {
            return false;
        }
        let (Some(stroke), Some(text)) = (self.stroke(place), &self.strokes.tokens) else { return false };
        match *stroke {
            [true] => {}
            [false] if place.node == Trie::ROOT => {
                row.iter_mut().zip(text.words()).for_each(|(word, text)| *word &= !text);
            }
            _ => {
                let rows = self.generation.tokens().index().plain_rows();
                let before = count_characters(self.bytes_before(trie, place.node, place.depth));
                let last = stroke.len() - 1;
                let is_dear = |token: u32| last == 0 || !stroke[(rows.characters(token) - before).min(last)];
                let all = trie.tokens()[range].iter().copied();
                all.filter(|&token| text.has(token) && is_dear(token))
                    .for_each(|token| clear_bit(row, token));
            }
        }
        true
    }

    /// Whether whole characters of some kinds lead to a place.
    fn is_text(&self, trie: &Trie, place: Place, kinds: KindSet) -> bool {
        characters_of(self.bytes_before(trie, place.node, place.depth)) & !kinds == 0
    }

    /// The bytes that lead to a node.
    fn bytes_before(&self, trie: &Trie, node: NodeIndex, depth: u32) -> &'b [u8] {
        let token = TokenId(trie.tokens()[trie.token_range(node).start]);
        &self.generation.tokens().token_bytes(token)[..depth as usize]
    }

    /// Whether what text leads to from a place can be afforded, if that can be told at one stroke.
    fn stroke(&mut self, place: Place) -> Option<Stroke> {
        let key = (place.config, place.forgets);
        if let Some(known) = self.strokes.known.get(&key) {
            return known.clone();
        }
        let stroke = self.find_stroke(place);
        self.strokes.known.insert(key, stroke.clone());
        stroke
    }

    /// Follows text from a place character by character, as far as a token reaches, until nothing new comes. It can be told if
    /// all that text leads to has one verdict, or if all text of a length leads to the same. Not where keys remember it, or
    /// where it ends one that has forgotten its text.
    fn find_stroke(&mut self, place: Place) -> Option<Stroke> {
        let generation = self.generation;
        if self.is_in_other_key(place.config) != place.forgets {
            return None;
        }
        let first = self.is_enough(place.config);
        let (mut is_uniform, mut is_line, mut by_length) = (true, true, vec![first]);
        let mut seen: FxHashSet<SetId> = FxHashSet::from_iter([place.config]);
        let mut level = Configs::from_slice(&[place.config]);
        for _ in 0..generation.longest_token() {
            let (mut next, mut unseen) = (Configs::new(), Configs::new());
            for config in level {
                let after = self.strokes.text.after(config, &mut self.strokes.left)?;
                next.extend(after);
            }
            next.sort_unstable();
            next.dedup();
            unseen.extend(next.iter().copied().filter(|&config| seen.insert(config)));
            is_line &= next.len() <= 1;
            for &config in &unseen {
                is_uniform &= self.is_enough(config) == first;
                if self.is_in_other_key(config) != place.forgets {
                    return None;
                }
            }
            // Also where all of them were seen before.
            if !(is_uniform || is_line) {
                return None;
            }
            if next.is_empty() || (is_uniform && unseen.is_empty()) {
                break;
            }
            if unseen.len() > MOST_OPEN {
                return None;
            }
            if is_line {
                by_length.push(self.is_enough(next[0]));
            }
            level = if is_line { next } else { unseen };
        }
        Some(if is_uniform { [first].into() } else { by_length.into() })
    }

    /// The place at `child`, a node right below that of `place`, if tokens go on there.
    fn step(&mut self, trie: &Trie, place: Place, child: NodeIndex) -> Option<Place> {
        let (generation, byte) = (self.generation, trie.byte(child));
        let depth = place.depth + 1;
        let mut config = if place.forgets || !generation.remembers_keys() {
            generation.step_with_alike(place.config, byte)
        } else {
            generation.step(place.config, byte)
        };
        if config == SetId::DEAD {
            return None;
        }
        let mut forgets = place.forgets;
        if forgets && !self.may_forget(place.config, config) {
            config = generation.step_bytes(self.start, self.bytes_before(trie, child, depth));
            forgets = false;
        }
        if !forgets && self.is_in_other_key(config) {
            // A key begins within the token: from here on it is as good without its text.
            config = generation.without_texts(config);
            forgets = true;
        }
        let lacks = lacking(byte, place.lacks);
        (config != SetId::DEAD).then_some(Place { node: child, config, depth, lacks, forgets })
    }

    /// Whether what it costs to complete `config` does not depend on keys that were forgotten, where it did not `before` the
    /// last byte.
    fn may_forget(&mut self, before: SetId, config: SetId) -> bool {
        if self.is_in_other_key(config) {
            return self.is_in_other_key(before);
        }
        // Where its list needs a key that is unlike those before it matters what this one was.
        let needs_keys = &self.budget.completion.nodes.needs_keys;
        let may_need = |list: ListId| needs_keys[list.0 as usize];
        let mattered = needs_keys.contains(&true) && self.generation.needs_keys_after(before, may_need);
        !mattered && !self.generation.is_before_value(config)
    }

    /// Whether a key is being read that may remember its text.
    fn is_in_other_key(&mut self, config: SetId) -> bool {
        if !self.generation.remembers_keys() {
            return false;
        }
        let at_hand = &mut self.keys_at_hand[config.0 as usize % AT_HAND];
        if at_hand.0 != config {
            *at_hand = (config, self.generation.is_in_other_key(config));
        }
        at_hand.1
    }

    fn judgement(&mut self, config: SetId) -> Judgement {
        let (known, judgement) = self.at_hand[config.0 as usize % AT_HAND];
        if known == config {
            return judgement;
        }
        let (budget, generation) = (self.budget, self.generation);
        let judge = || {
            let (cost, aside) = (budget.cost(generation, config), TokenBudget::set_aside(generation));
            Judgement { most: cost.most + aside, after_token: cost.after_token + aside, is_enough: None }
        };
        let judgement = *self.judgements.entry(config).or_insert_with(judge);
        self.at_hand[config.0 as usize % AT_HAND] = (config, judgement);
        judgement
    }

    /// Whether a configuration can be afforded.
    fn is_enough(&mut self, config: SetId) -> bool {
        let judgement = self.judgement(config);
        judgement.is_enough.unwrap_or_else(|| {
            let (budget, generation) = (self.budget, self.generation);
            let is_enough = self.limit.is_some_and(|limit| {
                if generation.machine().compares_items {
                    return budget.is_enough(generation, config, limit);
                }
                let needed = budget.needed_for_parts(generation, config, limit);
                if needed <= limit {
                    self.limits.stays(needed);
                } else {
                    self.limits.goes(needed);
                }
                needed <= limit
            });
            let judgement = Judgement { is_enough: Some(is_enough), ..judgement };
            self.judgements.insert(config, judgement);
            self.at_hand[config.0 as usize % AT_HAND] = (config, judgement);
            is_enough
        })
    }

    /// Whether all tokens at `node` and below it can be afforded.
    fn is_within(&mut self, trie: &Trie, node: NodeIndex, config: SetId) -> bool {
        match trie.heights()[node as usize] {
            0 => self.is_enough(config),
            height => {
                let Judgement { most, after_token, .. } = self.judgement(config);
                let growth = self.budget.completion.nodes.growth(height.into());
                let is_known = usize::from(height) < MOST_HEIGHT;
                let after = if is_known { after_token.min(most + growth) } else { after_token };
                let most_after = most.max(after);
                let is_within = self.limit.is_some_and(|limit| most_after <= limit);
                if is_within {
                    self.limits.stays(most_after);
                }
                is_within
            }
        }
    }
}

/// How many bytes a character lacks after `byte`, where it lacked so many before it.
fn lacking(byte: u8, before: u8) -> u8 {
    match byte {
        0x00..=0x7F => 0,
        0x80..=0xBF => before.saturating_sub(1),
        0xC0..=0xDF => 1,
        0xE0..=0xEF => 2,
        0xF0.. => 3,
    }
}
