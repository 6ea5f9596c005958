//! Reading: a byte, a token, the end of a terminal.

use smallvec::SmallVec;
use tokenstile_grammar::ir::TokenSet;
use tokenstile_grammar::machine::MachineRuleId;

use super::close::Closer;
use super::sets::SetId;
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::TerminalId;
use crate::vocab::TokenId;

impl Generation {
    /// The configuration before anything was read.
    pub(crate) fn compute_start(&self) -> SetId {
        let mut closer = Closer::new(self);
        closer.start();
        closer.finish()
    }

    /// The configuration before anything was read of a rule by itself.
    pub(crate) fn start_of_rule(&self, rule: MachineRuleId) -> SetId {
        let mut closer = Closer::new(self);
        closer.start_rule(rule);
        closer.finish()
    }

    /// The configuration after `byte`; [`SetId::DEAD`] where it does not fit.
    #[inline]
    pub(crate) fn step(&self, config: SetId, byte: u8) -> SetId {
        match self.sets().known_step(config, byte) {
            Some(next) => next,
            None => self.compute_step(config, byte),
        }
    }

    /// The same, where it is worth knowing it for all bytes at once that the terminals do not tell from `byte`. Not for keys
    /// that remember their texts, which tell all bytes apart.
    #[inline]
    pub(crate) fn step_with_alike(&self, config: SetId, byte: u8) -> SetId {
        match self.sets().known_step(config, byte) {
            Some(next) => next,
            None => self.compute_step_with_alike(config, byte),
        }
    }

    /// The configuration after `byte` where all bytes may be asked for, and items that must differ are compared.
    #[inline]
    pub(crate) fn step_in_token(&self, config: SetId, byte: u8) -> SetId {
        let config = self.before_byte(config, byte);
        if self.remembers_keys() { self.step(config, byte) } else { self.step_with_alike(config, byte) }
    }

    #[cold]
    fn compute_step_with_alike(&self, config: SetId, byte: u8) -> SetId {
        let next = self.compute_step(config, byte);
        let (mut low, mut high) = (0, u8::MAX);
        for (symbol, _) in self.sets().items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            for &(from, to, _) in self.terminals().row(state) {
                if to < byte {
                    low = low.max(to + 1);
                } else if byte < from {
                    high = high.min(from - 1);
                } else {
                    (low, high) = (low.max(from), high.min(to));
                }
            }
        }
        (low..=high).for_each(|alike| self.sets().remember_step(config, alike, next));
        next
    }

    #[cold]
    fn compute_step(&self, config: SetId, byte: u8) -> SetId {
        let sets = self.sets();
        interrupt::poll(1 + sets.items(config).len());
        let mut closer = Closer::new(self);
        for &(symbol, rest) in sets.items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            let next = self.terminals().step(state, byte);
            if next == TerminalId::NEVER {
                continue;
            }
            if !self.terminals().is_finished(next) {
                closer.add(Symbol::terminal(next), rest);
            }
            match self.terminals().finished_text(next) {
                Some(key) => closer.pop(self.finish_key(rest, key)),
                None if self.terminals().is_nullable(next) => closer.pop(self.below(next, rest)),
                None => {}
            }
        }
        let next = closer.finish();
        sets.remember_step(config, byte, next);
        next
    }

    /// Whether any terminal may have ended once `bytes` are read, a token at most. If none has, the text is not complete
    /// then; and this is much cheaper to know than the configuration.
    pub(crate) fn may_leave(&self, config: SetId, bytes: &[u8]) -> bool {
        let terminals = self.terminals();
        self.sets().items(config).iter().any(|(symbol, _)| match symbol.kind() {
            SymbolKind::Terminal(state) => {
                // A key that is not excluded ends where a plain string does, whose states are known.
                let state = terminals.saturate(state);
                let start = terminals.plain(state).unwrap_or(state);
                let next = |at: &mut TerminalId, &byte: &u8| {
                    *at = terminals.step(*at, byte);
                    Some(*at).filter(|&at| at != TerminalId::NEVER)
                };
                bytes.iter().scan(start, next).any(|at| terminals.is_nullable(at))
            }
            _ => true,
        })
    }

    /// The configuration after `bytes`, of which all items that must differ can.
    pub(crate) fn step_bytes(&self, config: SetId, bytes: &[u8]) -> SetId {
        let at = self.step_bytes_comparing(config, bytes);
        if self.can_differ(at) { at } else { SetId::DEAD }
    }

    /// The configuration after `bytes`, also where it is not known that all items that must differ can.
    pub(crate) fn step_bytes_comparing(&self, config: SetId, bytes: &[u8]) -> SetId {
        let mut at = config;
        for &byte in bytes {
            interrupt::poll(1);
            at = self.step(self.before_byte(at, byte), byte);
            if at == SetId::DEAD {
                break;
            }
        }
        at
    }

    /// The same where all steps are known, for grammars that compare no items.
    pub(crate) fn known_step_bytes(&self, config: SetId, bytes: &[u8]) -> Option<SetId> {
        let mut at = config;
        for &byte in bytes {
            at = self.sets().known_step(at, byte)?;
            if at == SetId::DEAD {
                break;
            }
        }
        Some(at)
    }

    /// A range of bytes, cut where the terminals of `config` begin to do something else.
    pub(crate) fn alike_ranges(
        &self,
        config: SetId,
        (low, high): (u8, u8),
    ) -> impl Iterator<Item = (u8, u8)> + use<> {
        let mut begins: SmallVec<[u8; 16]> = SmallVec::from_slice(&[low]);
        for (symbol, _) in self.sets().items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            for &(from, to, _) in self.terminals().row(state) {
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

    /// The sets of tokens of which one may be read as a whole.
    pub(crate) fn named_tokens(&self, config: SetId) -> impl Iterator<Item = &TokenSet> {
        let set = |symbol: Symbol| match symbol.kind() {
            SymbolKind::Token(set) => Some(&self.machine().token_sets[set as usize]),
            _ => None,
        };
        let items = self.sets().items(config).iter();
        items.filter_map(move |item| set(item.0)).filter(|set| !set.is_spent())
    }

    /// The configuration after `token` was read as a whole, by those of the grammar's token sets for which `may` says
    /// so.
    pub(crate) fn step_token_edges(
        &self,
        config: SetId,
        token: TokenId,
        may: impl Fn(&TokenSet) -> bool,
    ) -> SetId {
        let mut closer = None;
        for &(symbol, rest) in self.sets().items(config) {
            let SymbolKind::Token(set) = symbol.kind() else { continue };
            let set = &self.machine().token_sets[set as usize];
            if set.contains(token.0) && may(set) {
                closer.get_or_insert_with(|| Closer::new(self)).pop(rest);
            }
        }
        closer.map_or(SetId::DEAD, Closer::finish)
    }

    /// Whether a set of tokens takes a token. All tokens but some are all that have a text: padding and holes are not
    /// meant.
    pub(crate) fn takes_token(&self, set: &TokenSet, token: TokenId) -> bool {
        set.contains(token.0) && (!set.negated || !self.tokens().token_text(token).is_empty())
    }

    /// The configuration after `token`, by its bytes or as a whole.
    pub(crate) fn step_token(&self, config: SetId, token: TokenId, bytes: &[u8]) -> SetId {
        let by_bytes = if bytes.is_empty() { SetId::DEAD } else { self.step_bytes(config, bytes) };
        self.with_token_edges(config, token, by_bytes)
    }

    /// The stacks after `token`, where `by_bytes` are those that have read its bytes.
    pub(crate) fn with_token_edges(&self, config: SetId, token: TokenId, by_bytes: SetId) -> SetId {
        if !self.has_token_edges() {
            return by_bytes;
        }
        self.sets().union(by_bytes, self.step_token_edges(config, token, |set| self.takes_token(set, token)))
    }

    /// The configuration after the terminal on top of `rest` has ended.
    pub(crate) fn after(&self, rest: SetId) -> SetId {
        if let Some(after) = self.sets().known_after(rest) {
            return after;
        }
        let mut closer = Closer::new(self);
        closer.pop(rest);
        let after = closer.finish();
        self.sets().remember_after(rest, after);
        after
    }
}
