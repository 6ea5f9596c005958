//! Where a text of certain characters leads.
//!
//! From inside of a string, text without quotes and backslashes leads back to where it began, or to as many places as there
//! may be characters. They are few, so they are all looked at. A byte is read for each range of bytes that the terminals of a
//! configuration do not tell apart, and not for each byte.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::mask::{SEQUENCES, plain_kinds};
use crate::vocab::slices::Kinds;

/// How many configurations are looked at before it is given up.
const MOST_CONFIGS: usize = 320;

type Configs = SmallVec<[SetId; 4]>;

/// Text of some kinds of characters.
pub(super) struct PlainText<'g> {
    generation: &'g Generation,
    kinds: Kinds,
    /// Whether a byte is a character of these kinds.
    ascii: [bool; 128],
}

impl<'g> PlainText<'g> {
    /// The text that may come in most places around `config`: that of its widest terminal, or else that of JSON strings.
    pub(super) fn around(generation: &'g Generation, config: SetId) -> Self {
        let terminals = generation.terminals();
        let kinds = |kind: SymbolKind| match kind {
            SymbolKind::Terminal(state) => {
                let state = terminals.saturate(state);
                plain_kinds(terminals, terminals.plain(state).unwrap_or(state)).0
            }
            _ => Kinds(0),
        };
        let items = generation.sets().items(config).iter().take(8);
        let widest = items.map(|(symbol, _)| kinds(symbol.kind())).max_by_key(|kinds| kinds.0.count_ones());
        let kinds = widest.filter(|kinds| kinds.0 != 0).unwrap_or(Kinds::JSON_TEXT);
        let ascii = std::array::from_fn(|byte| kinds.meets(byte as u8, byte as u8));
        PlainText { generation, kinds, ascii }
    }

    pub(super) fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// All configurations that whole characters of the text lead to from `config`, itself first. None if they are many.
    pub(super) fn reached(&self, config: SetId) -> Option<Vec<SetId>> {
        let mut reached = vec![config];
        let mut seen = FxHashSet::from_iter([config, SetId::DEAD]);
        let mut at = 0;
        while let Some(&config) = reached.get(at) {
            reached.extend(self.after_character(config).into_iter().filter(|&next| seen.insert(next)));
            if reached.len() > MOST_CONFIGS {
                return None;
            }
            at += 1;
        }
        Some(reached)
    }

    fn after_character(&self, config: SetId) -> Configs {
        let mut after = Configs::new();
        for (low, high) in self.ranges(config, (0, 0x7F)) {
            if let Some(byte) = (low..=high).find(|&byte| self.ascii[usize::from(byte)]) {
                add(&mut after, self.generation.step(config, byte));
            }
        }
        if self.kinds.0 & Kinds::OTHER_TEXT.0 != 0 {
            for sequence in SEQUENCES {
                self.after_sequence(config, sequence).into_iter().for_each(|next| add(&mut after, next));
            }
        }
        after
    }

    /// The configurations after any bytes of some ranges.
    fn after_sequence(&self, config: SetId, sequence: &[(u8, u8)]) -> Configs {
        let mut configs = Configs::from_slice(&[config]);
        for &range in sequence {
            let mut after = Configs::new();
            for &config in &configs {
                for (low, _) in self.ranges(config, range) {
                    add(&mut after, self.generation.step(config, low));
                }
            }
            configs = after;
        }
        configs
    }

    /// A range of bytes, cut where the terminals of `config` begin to do something else.
    fn ranges(&self, config: SetId, (low, high): (u8, u8)) -> impl Iterator<Item = (u8, u8)> {
        let mut begins: SmallVec<[u8; 16]> = SmallVec::from_slice(&[low]);
        for (symbol, _) in self.generation.sets().items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            for &(from, to, _) in self.generation.terminals().row(state) {
                begins.push(from);
                begins.extend(to.checked_add(1));
            }
        }
        begins.retain(|begin| (low..=high).contains(begin));
        begins.sort_unstable();
        begins.dedup();
        let ends: SmallVec<[u8; 16]> = begins[1..].iter().map(|begin| begin - 1).chain([high]).collect();
        begins.into_iter().zip(ends)
    }
}

fn add(configs: &mut Configs, config: SetId) {
    if config != SetId::DEAD && !configs.contains(&config) {
        configs.push(config);
    }
}
