//! Names that look like keywords with a typing error.
//!
//! A name that is no keyword says nothing, so `propertys` would be enforced by nobody and noticed by nobody. It cannot be an
//! error, because schemas hold all sorts of names for other programs. So reports name the keyword that was meant.

use super::{Keyword, REGISTRY};
use crate::frontends::json_schema::documents::Draft;

/// Shorter keywords are too near to ordinary words.
const SHORTEST: usize = 4;
/// Keywords of at fewest so many letters may have two errors.
const LONG: usize = 7;
/// Ordinary words that other words are like.
const ORDINARY: [&str; 2] = ["then", "else"];

/// The keyword that `name`, which is none, may have been meant for.
pub(super) fn meant(name: &str, draft: Draft) -> Option<&'static str> {
    if name.len() + 1 < SHORTEST || !name.is_ascii() || name.starts_with("x-") || is_keyword_elsewhere(name) {
        return None;
    }
    // Nothing is lost by the name of a remark.
    let says = |keyword: &&Keyword| keyword.is_in(draft) && !keyword.is_remark;
    let keywords = REGISTRY.iter().filter(says).filter(|keyword| keyword.name.len() >= SHORTEST);
    let candidates = keywords.map(|keyword| keyword.name).filter(|keyword| !ORDINARY.contains(keyword));
    candidates
        .filter_map(|keyword| Some((errors_between(name, keyword)?, keyword)))
        .min_by_key(|(errors, _)| *errors)
        .map(|(_, keyword)| keyword)
}

/// Whether another draft has a keyword of this name.
fn is_keyword_elsewhere(name: &str) -> bool {
    REGISTRY.iter().any(|keyword| keyword.name == name)
}

/// The typing errors between a name and a keyword, if they are few.
fn errors_between(name: &str, keyword: &str) -> Option<usize> {
    if name.eq_ignore_ascii_case(keyword) {
        return Some(0);
    }
    let most = if keyword.len() >= LONG { 2 } else { 1 };
    let errors = distance(name.as_bytes(), keyword.as_bytes(), most)?;
    // Among short words another letter makes another word.
    (keyword.len() > SHORTEST || name.len() != keyword.len() || is_swap(name, keyword)).then_some(errors)
}

fn is_swap(name: &str, keyword: &str) -> bool {
    let (mut left, mut right) = (name.as_bytes().to_vec(), keyword.as_bytes().to_vec());
    left.sort_unstable();
    right.sort_unstable();
    left == right
}

/// The insertions, deletions, substitutions and swaps of neighbours that make one text of the other; nothing if they are
/// more than `most`.
fn distance(left: &[u8], right: &[u8], most: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for at in 1..=left.len() {
        let mut row = vec![at];
        for to in 1..=right.len() {
            let differs = usize::from(left[at - 1] != right[to - 1]);
            let mut fewest = (last[to] + 1).min(row[to - 1] + 1).min(last[to - 1] + differs);
            if at > 1 && to > 1 && left[at - 1] == right[to - 2] && left[at - 2] == right[to - 1] {
                fewest = fewest.min(before_last[to - 2] + 1);
            }
            row.push(fewest);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|errors| *errors <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_that_were_meant() {
        for (name, keyword) in [
            ("propertys", "properties"),
            ("proprties", "properties"),
            ("minlength", "minLength"),
            ("additionalProprties", "additionalProperties"),
            ("requred", "required"),
            ("tpye", "type"),
            ("typ", "type"),
            ("enums", "enum"),
            ("item", "items"),
            ("patern", "pattern"),
            ("maxItmes", "maxItems"),
            ("oneof", "oneOf"),
        ] {
            assert_eq!(meant(name, Draft::Draft202012), Some(keyword), "{name}");
        }
    }

    #[test]
    fn names_that_are_names() {
        for name in
            ["note", "when", "tape", "name", "example", "x-type", "id", "unit", "order", "título", "group"]
        {
            assert_eq!(meant(name, Draft::Draft202012), None, "{name}");
        }
        // A keyword of another draft is no typing error.
        assert_eq!(meant("dependencies", Draft::Draft202012), None);
    }
}
