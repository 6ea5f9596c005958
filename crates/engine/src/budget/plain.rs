//! Where a text of certain characters leads.
//!
//! From inside of a string, text without quotes and backslashes leads back to where it began, or to as many places as there
//! may be characters. Within the length of a token these are few, so they are looked at. A byte is read for each range of bytes that the terminals of a
//! configuration do not tell apart, and not for each byte. Where a terminal only counts characters, one of them is read.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::{SEQUENCES, TerminalId};
use crate::vocab::shapes::{ASCII, JSON_TEXT, KindSet, OTHER, SPACES, characters_of, meets};

/// Where one character leads to so many places, whole or begun, text does not lead back to where it began.
const MOST_AFTER: usize = 64;

/// Some configurations.
pub(super) type Configs = SmallVec<[SetId; 4]>;

/// Text of some kinds of characters.
pub(super) struct PlainText<'g> {
    generation: &'g Generation,
    kinds: KindSet,
    /// Whether a byte is a character of these kinds.
    ascii: [bool; 128],
    /// Whether a state that counts takes all characters of these kinds and what comes after it none; by the state without
    /// its bound, and by what comes after it.
    counts: FxHashMap<(TerminalId, TerminalId), bool>,
    /// What a character leads to, by where it is read; none where that is too much.
    known: FxHashMap<SetId, Option<Configs>>,
}

/// Where most text leads.
pub(super) struct Usual {
    pub(super) config: SetId,
    /// The kinds of the characters that lead elsewhere from there.
    pub(super) unusual: KindSet,
    /// Whether all characters of several bytes lead there from where the text begins.
    pub(super) has_usual_leads: bool,
}

/// A terminal that takes fewer kinds than this is not what most tokens are made of: white space, or a number.
const WIDE: u32 = 16;

/// What a configuration counts for whose characters are not alike.
const SEVERAL: usize = 16;

impl<'g> PlainText<'g> {
    /// No text at all.
    pub(super) fn none(generation: &'g Generation) -> Self {
        PlainText {
            generation,
            kinds: 0,
            ascii: [false; 128],
            counts: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// The text that may come in most places around `config`: that of its widest terminal, or else that of JSON strings.
    pub(super) fn around(generation: &'g Generation, config: SetId) -> Self {
        let items = generation.sets().items(config).iter().take(8);
        let widest = items
            .map(|(symbol, _)| kinds_of(generation, symbol.kind()))
            .max_by_key(|kinds| kinds.count_ones());
        let kinds = widest.filter(|kinds| kinds.count_ones() >= WIDE).unwrap_or(JSON_TEXT);
        let ascii = std::array::from_fn(|byte| meets(kinds, byte as u8, byte as u8));
        PlainText { kinds, ascii, ..Self::none(generation) }
    }

    pub(super) fn kinds(&self) -> KindSet {
        self.kinds
    }

    /// Where most text leads from `start`, and goes on to lead. None if there is no such place, or if it costs more than is
    /// `left` to find.
    pub(super) fn usual(&mut self, start: SetId, left: &mut usize) -> Option<Usual> {
        let generation = self.generation;
        let mut best: Option<Usual> = None;
        for config in self.after(start, left)? {
            let config = generation.without_texts(config);
            *left = left.checked_sub(SEVERAL)?;
            let unusual = self.unusual(config);
            let is_best = best.as_ref().is_none_or(|best| unusual.count_ones() < best.unusual.count_ones());
            if unusual.count_ones() * 2 < self.kinds.count_ones() && is_best {
                best = Some(Usual { config, unusual, has_usual_leads: self.has_leads_to(start, config) });
            }
        }
        best
    }

    /// The kinds of the characters that lead elsewhere than back.
    fn unusual(&self, config: SetId) -> KindSet {
        let generation = self.generation;
        let leads_back =
            |byte: u8| generation.without_texts(generation.step_with_alike(config, byte)) == config;
        let bytes = (0..0x80_u8).filter(|&byte| self.ascii[usize::from(byte)] && !leads_back(byte));
        let ascii = bytes.fold(0, |kinds, byte| kinds | characters_of(&[byte]));
        if self.has_leads_to(config, config) { ascii } else { ascii | OTHER }
    }

    /// Whether all characters of several bytes lead from one configuration to another.
    fn has_leads_to(&self, from: SetId, to: SetId) -> bool {
        let leads = |&after: &SetId| self.generation.without_texts(after) == to;
        self.after_leads(from).is_some_and(|after| after.iter().all(leads))
    }

    /// The configurations that a character of the text leads to. None if that costs more than is `left`, from which it is
    /// taken, or if these are too many.
    pub(super) fn after(&mut self, config: SetId, left: &mut usize) -> Option<Configs> {
        if let Some(known) = self.known.get(&config) {
            return known.clone();
        }
        let counted = self.after_counted(config);
        *left = left.checked_sub(if counted.is_some() { 1 } else { SEVERAL })?;
        let after = counted.or_else(|| self.after_character(config));
        self.known.insert(config, after.clone());
        after
    }

    /// What any character leads to where they are only counted.
    fn after_counted(&mut self, config: SetId) -> Option<Configs> {
        let (generation, kinds) = (self.generation, self.kinds);
        let [(symbol, _)] = *generation.sets().items(config) else { return None };
        let SymbolKind::Terminal(state) = symbol.kind() else { return None };
        let terminals = generation.terminals();
        let counted = terminals.counted(state)?;
        let is_alike = *self.counts.entry((counted.endless, counted.after)).or_insert_with(|| {
            let follows =
                || terminals.row(counted.after).iter().any(|&(low, high, _)| meets(kinds, low, high));
            let endless = terminals.endless(counted.endless);
            kinds & !endless.kinds == 0 && endless.length == u32::MAX && !follows()
        });
        let byte = self.ascii.iter().position(|&is_text| is_text).filter(|_| is_alike)?;
        let mut after = Configs::new();
        add(&mut after, generation.step(config, byte as u8))?;
        Some(after)
    }

    /// What any character leads to, unless that is too much.
    fn after_character(&self, config: SetId) -> Option<Configs> {
        let mut after = Configs::new();
        for (low, high) in self.generation.alike_ranges(config, (0, 0x7F)) {
            if let Some(byte) = (low..=high).find(|&byte| self.ascii[usize::from(byte)]) {
                add(&mut after, self.generation.step_with_alike(config, byte))?;
            }
        }
        for next in self.after_leads(config)? {
            add(&mut after, next)?;
        }
        Some(after)
    }

    /// What any character of several bytes leads to, unless that is too much.
    fn after_leads(&self, config: SetId) -> Option<Configs> {
        let mut after = Configs::new();
        for sequence in SEQUENCES.iter().filter(|_| self.kinds & OTHER != 0) {
            for next in self.after_sequence(config, sequence)? {
                add(&mut after, next)?;
            }
        }
        Some(after)
    }

    /// The configurations after any bytes of some ranges, unless these are too many.
    fn after_sequence(&self, config: SetId, sequence: &[(u8, u8)]) -> Option<Configs> {
        let mut configs = Configs::from_slice(&[config]);
        for &range in sequence {
            let mut after = Configs::new();
            for &config in &configs {
                for (low, _) in self.generation.alike_ranges(config, range) {
                    add(&mut after, self.generation.step_with_alike(config, low))?;
                }
            }
            configs = after;
        }
        Some(configs)
    }
}

/// The kinds of characters that a terminal takes, however many of them.
fn kinds_of(generation: &Generation, kind: SymbolKind) -> KindSet {
    let SymbolKind::Terminal(state) = kind else { return 0 };
    let terminals = generation.terminals();
    let state = terminals.saturate(state);
    terminals.endless(terminals.plain(state).unwrap_or(state)).kinds & (ASCII | OTHER | SPACES)
}

/// What no text but free text takes all of: a string of JSON has no line break, and no quote but at its end.
const FREE: [u8; 6] = *b"a {\"\\\n";

impl Generation {
    /// What free text leads to that goes on by a letter or a space; nothing if none is being read.
    pub(super) fn after_free_text(&self, config: SetId) -> impl Iterator<Item = SetId> + '_ {
        let takes = |state: TerminalId, byte: u8| {
            self.terminals()
                .row(state)
                .iter()
                .any(|&(low, high, next)| (low..=high).contains(&byte) && next != TerminalId::NEVER)
        };
        let is_free = self.sets().items(config).iter().any(|&(symbol, _)| match symbol.kind() {
            SymbolKind::Terminal(state) => FREE.iter().all(|&byte| takes(state, byte)),
            _ => false,
        });
        let steps = FREE[..2].iter().filter(move |_| is_free).map(move |&byte| self.step(config, byte));
        steps.filter(|&next| next != SetId::DEAD)
    }
}

/// Adds a configuration that is not dead; `None` if there are too many.
fn add(configs: &mut Configs, config: SetId) -> Option<()> {
    if config != SetId::DEAD && !configs.contains(&config) {
        configs.push(config);
    }
    (configs.len() <= MOST_AFTER).then_some(())
}
