//! What must hold along a walk.

use std::sync::Arc;

use tokenstile_engine::Matcher;
use tokenstile_engine::vocab::Vocab;

use crate::account::Allowance;
use crate::dice::Numbers;

/// What a mask and the rest may take, in a release build.
const MASK: Allowance = Allowance::new("a mask", 0.25, 256);
const ACCEPT: Allowance = Allowance::new("accepting a token", 0.1, 64);

/// The mask of a matcher, in a row with words of which each was written before.
pub fn mask(matcher: &mut Matcher) -> Vec<u32> {
    let mut row = vec![0xDEAD_BEEF; matcher.vocab_size().div_ceil(32)];
    let excludes = MASK.check(|| matcher.fill_mask(&mut row));
    let count: u32 = row.iter().map(|word| word.count_ones()).sum();
    assert_eq!(excludes, count as usize != matcher.vocab_size(), "whether anything is excluded");
    row
}

fn has(row: &[u32], token: u32) -> bool {
    row[token as usize / 32] >> (token % 32) & 1 == 1
}

/// Whether a token is accepted; the matcher is as before.
fn takes(matcher: &mut Matcher, token: u32) -> bool {
    let accepted = ACCEPT.check(|| matcher.accept_token(token));
    if accepted {
        matcher.rollback(1).expect("it was one step");
    }
    accepted
}

/// Walks matchers of one language: they have the same masks, the bits are those of the tokens that are accepted, no mask is
/// empty, and going back gives the masks back.
pub fn side_by_side(matchers: &mut [Matcher], vocab: &Vocab, numbers: &mut Numbers, steps: usize) {
    let mut rows = Vec::new();
    for _ in 0..steps {
        let row = mask(&mut matchers[0]);
        for other in &mut matchers[1..] {
            assert_eq!(mask(other), row, "the printed grammar has another mask");
        }
        let fits: Vec<u32> =
            (0..vocab.len() as u32).filter(|&token| takes(&mut matchers[0], token)).collect();
        let allowed: Vec<u32> = (0..vocab.len() as u32).filter(|&token| has(&row, token)).collect();
        assert_eq!(allowed, fits, "the mask, and what is accepted");
        assert!(!fits.is_empty(), "a dead end");
        rows.push(row);
        let token = fits[numbers.below(fits.len())];
        for matcher in matchers.iter_mut() {
            assert!(matcher.accept_token(token));
        }
        if matchers[0].is_terminated() {
            break;
        }
    }
    while let Some(row) = rows.pop() {
        matchers[0].rollback(1).expect("it was a step");
        assert_eq!(mask(&mut matchers[0]), row, "rolling back changed the mask");
    }
}

/// Walks over a large vocabulary, of which each mask is compared with some tokens.
pub fn sampled(matcher: &mut Matcher, vocab: &Arc<Vocab>, numbers: &mut Numbers, steps: usize) {
    const TRIED: usize = 48;
    for _ in 0..steps {
        let row = mask(matcher);
        let allowed: Vec<u32> = (0..vocab.len() as u32).filter(|&token| has(&row, token)).collect();
        assert!(!allowed.is_empty(), "a dead end");
        for _ in 0..TRIED {
            let (fits, any) = (allowed[numbers.below(allowed.len())], numbers.below(vocab.len()) as u32);
            assert!(takes(matcher, fits), "the mask allows {fits}, which is refused");
            assert_eq!(takes(matcher, any), has(&row, any), "the mask is wrong about {any}");
        }
        match numbers.below(16) {
            0 => *matcher = matcher.fork(),
            1 => drop(MASK.check(|| matcher.clone().jump_forward())),
            2 if matcher.history_len() > 3 => matcher.rollback(2).expect("there are steps"),
            _ => {}
        }
        let row = mask(matcher);
        let allowed: Vec<u32> = (0..vocab.len() as u32).filter(|&token| has(&row, token)).collect();
        assert!(ACCEPT.check(|| matcher.accept_token(allowed[numbers.below(allowed.len())])));
        if matcher.is_terminated() {
            return;
        }
    }
}
