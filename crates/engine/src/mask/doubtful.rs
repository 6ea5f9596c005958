//! Tokens about which a walk may be wrong.
//!
//! A walk does not know what was read of a key once it is over, nor, in a top, which keys a list has had before. So
//! where no key may come twice it may allow tokens that hold one which has come. Such a token either holds a key with both
//! of its quotes, or closes one key and opens another of the same list. What stands around the quotes then is known, and
//! leaves a few dozen tokens of a vocabulary, most of which fit nowhere. Those that do fit are simply read.

use tokenstile_grammar::machine::{List, Machine};
use tokenstile_grammar::passes::ByteSet;

use super::tokens::Mask;
use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::vocab::{TokenId, TokenTable};

/// The tokens of a vocabulary that may hold a key which a list has had.
pub(crate) struct Doubtful {
    /// Those that begin with the opening quote of a key, and not otherwise.
    at_start: Box<[u32]>,
    /// Those that open a key further on.
    inside: Box<[u32]>,
}

impl Doubtful {
    pub(crate) fn new(machine: &Machine, tokens: &TokenTable) -> Self {
        let (mut before, mut after) = (ByteSet::NONE, ByteSet::NONE);
        for list in machine.lists.iter().filter(|list: &&List| list.unique) {
            before.add_all(list.before_keys);
            after.add_all(list.after_keys);
        }
        let (mut at_start, mut inside) = (Vec::new(), Vec::new());
        for &token in tokens.index().quoted(tokens) {
            let bytes = tokens.token_bytes(TokenId(token));
            if opens_inside(bytes, &before, &after) {
                inside.push(token);
            } else if bytes[0] == b'"' && closes_after(bytes, 0, &after) {
                at_start.push(token);
            }
        }
        Doubtful { at_start: at_start.into(), inside: inside.into() }
    }
}

/// Whether a quote behind `from` may be one that closes a key.
fn closes_after(bytes: &[u8], from: usize, after: &ByteSet) -> bool {
    (from + 1..bytes.len()).any(|at| may_close(bytes, at, after))
}

fn may_close(bytes: &[u8], at: usize, after: &ByteSet) -> bool {
    bytes[at] == b'"' && bytes.get(at + 1).is_none_or(|&next| after.contains(next))
}

/// Whether a quote that is not the first byte may open a key, and either that key is closed again, or one before it.
fn opens_inside(bytes: &[u8], before: &ByteSet, after: &ByteSet) -> bool {
    (1..bytes.len())
        .filter(|&at| bytes[at] == b'"' && before.contains(bytes[at - 1]))
        .any(|open| closes_after(bytes, open, after) || (0..open).any(|at| may_close(bytes, at, after)))
}

impl Generation {
    /// The tokens of a mask of `config` that do not fit after all.
    pub(super) fn unfit_tokens(&self, config: SetId, mask: &Mask) -> Vec<u32> {
        if !self.remembers_keys() {
            return Vec::new();
        }
        let Doubtful { at_start, inside } = self.doubtful();
        let opens_key = self.sets().items(config).iter().any(|(symbol, _)| match symbol.kind() {
            SymbolKind::Terminal(state) => self.terminals().opens_key(state),
            _ => false,
        });
        let at_start = if opens_key { &**at_start } else { &[] };
        let is_unfit = |token: &u32| {
            let bytes = self.tokens().token_bytes(TokenId(*token));
            mask.contains(*token) && self.step_token(config, TokenId(*token), bytes) == SetId::DEAD
        };
        inside.iter().chain(at_start).copied().filter(is_unfit).collect()
    }
}
