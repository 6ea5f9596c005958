//! The alphabet of one pattern: code points that it cannot tell apart are one symbol.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::limits::Budget;
use crate::regular::CharSet;

/// The number of a symbol.
pub(super) type Symbol = u32;

/// A set of symbols.
#[derive(Clone, Debug, Default)]
pub(super) struct SymbolSet(Vec<u64>);

impl SymbolSet {
    pub(super) fn contains(&self, symbol: Symbol) -> bool {
        self.0.get(symbol as usize / 64).is_some_and(|word| word >> (symbol % 64) & 1 == 1)
    }

    fn insert(&mut self, symbol: Symbol) {
        let word = symbol as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (symbol % 64);
    }
}

/// The coarsest partition of all code points that the sets of a pattern allow.
#[derive(Debug)]
pub(super) struct Symbols {
    /// The first code point of each interval, sorted.
    starts: Vec<u32>,
    /// The symbol of each interval. Surrogates are in none that is ever looked up.
    symbol_of: Vec<Symbol>,
    members: Vec<Vec<(char, char)>>,
}

impl Symbols {
    pub(super) fn new(sets: &[CharSet], budget: &Budget) -> Result<Self> {
        let mut starts: Vec<u32> = vec![0, 0xd800, 0xe000];
        for &(low, high) in sets.iter().flat_map(CharSet::ranges) {
            starts.extend([u32::from(low), u32::from(high) + 1]);
        }
        starts.retain(|&start| start <= u32::from(char::MAX));
        starts.sort_unstable();
        starts.dedup();
        let mut symbols = Symbols { symbol_of: vec![0; starts.len()], starts, members: Vec::new() };
        let mut count = 1;
        for set in sets {
            let mut renamed: FxHashMap<Symbol, Symbol> = FxHashMap::default();
            for at in symbols.intervals(set) {
                budget.tick()?;
                let symbol = &mut symbols.symbol_of[at];
                *symbol = *renamed.entry(*symbol).or_insert_with(|| {
                    count += 1;
                    count - 1
                });
            }
        }
        symbols.number();
        Ok(symbols)
    }

    /// Numbers the symbols that are left in the order of their first code points, and lists their members.
    fn number(&mut self) {
        let mut numbers: FxHashMap<Symbol, Symbol> = FxHashMap::default();
        for at in 0..self.starts.len() {
            let end = self.starts.get(at + 1).map_or(u32::from(char::MAX), |next| next - 1);
            let (Some(low), Some(high)) = (char::from_u32(self.starts[at]), char::from_u32(end)) else {
                continue;
            };
            let fresh = numbers.len() as Symbol;
            let symbol = *numbers.entry(self.symbol_of[at]).or_insert(fresh);
            if symbol == fresh {
                self.members.push(Vec::new());
            }
            self.members[symbol as usize].push((low, high));
            self.symbol_of[at] = symbol;
        }
    }

    fn interval(&self, code: u32) -> usize {
        self.starts.partition_point(|&start| start <= code) - 1
    }

    /// The intervals that a set covers, those of surrogates aside.
    fn intervals(&self, set: &CharSet) -> Vec<usize> {
        let of_range =
            |&(low, high): &(char, char)| self.interval(u32::from(low))..=self.interval(u32::from(high));
        let is_text = |at: &usize| char::from_u32(self.starts[*at]).is_some();
        set.ranges().iter().flat_map(of_range).filter(is_text).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The symbol of a code point.
    pub(super) fn symbol(&self, c: char) -> Symbol {
        self.symbol_of[self.interval(u32::from(c))]
    }

    /// The symbols of one of the sets that the alphabet was made for.
    pub(super) fn set(&self, set: &CharSet) -> SymbolSet {
        let mut found = SymbolSet::default();
        self.intervals(set).into_iter().for_each(|at| found.insert(self.symbol_of[at]));
        found
    }

    /// The code points of a symbol.
    pub(super) fn members(&self, symbol: Symbol) -> &[(char, char)] {
        &self.members[symbol as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_as_coarse_as_they_can_be() {
        let sets = [
            CharSet::new([('a', 'z')]),
            CharSet::new([('m', 'p'), ('\u{d000}', '\u{f000}')]),
            CharSet::any(),
            CharSet::new([('m', 'm')]),
        ];
        let symbols = Symbols::new(&sets, &Budget::default()).unwrap();
        // Beside: a-l and q-z; m; n-p; the part around the surrogates; the rest.
        assert_eq!(symbols.len(), 5);
        assert_eq!(symbols.symbol('b'), symbols.symbol('q'));
        assert_eq!(symbols.symbol('\u{d700}'), symbols.symbol('\u{e000}'));
        assert_eq!(symbols.symbol('A'), symbols.symbol('\u{10ffff}'));
        for set in &sets {
            let members = symbols.set(set);
            for c in ['A', 'b', 'm', 'n', 'q', '{', '\u{d000}', '\u{d7ff}', '\u{e000}', '\u{f001}'] {
                assert_eq!(members.contains(symbols.symbol(c)), set.contains(c), "{c:?}");
            }
        }
        let all: Vec<(char, char)> = (0..5).flat_map(|symbol| symbols.members(symbol).to_vec()).collect();
        assert_eq!(CharSet::new(all), CharSet::any());
    }
}
