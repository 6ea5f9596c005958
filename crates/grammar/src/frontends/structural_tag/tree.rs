//! Many tags as one expression.
//!
//! Thousands of tags begin alike (`<function=`), and an alternative for each would have to be looked at for every byte
//! of what they have in common. So the begins are a tree: what several have in common is written once.

use crate::ir::{Builder, ExprId};

/// A text and what follows it.
pub(super) type Branch<'t> = (&'t str, ExprId);

/// Any one of `branches`; those with the same text are alternatives.
pub(super) fn tree(builder: &mut Builder, mut branches: Vec<Branch<'_>>) -> ExprId {
    branches.sort_by_key(|&(text, _)| text);
    let mut levels = vec![Level::over(&branches, 0)];
    loop {
        let Some(level) = levels.last_mut() else { return builder.never() };
        let Some(group) = level.next_group() else {
            let body = builder.alt(std::mem::take(&mut level.alternatives));
            let common = builder.marker(level.common);
            let done = builder.seq([common, body]);
            levels.pop();
            match levels.last_mut() {
                Some(parent) => parent.alternatives.push(done),
                None => return done,
            }
            continue;
        };
        if let [(text, body)] = *group {
            let tail = builder.marker(&text[level.skip..]);
            let branch = builder.seq([tail, body]);
            level.alternatives.push(branch);
        } else if group.first().is_some_and(|(text, _)| text.len() == level.skip) {
            level.alternatives.extend(group.iter().map(|&(_, body)| body));
        } else {
            let skip = level.skip;
            levels.push(Level::over(group, skip));
        }
    }
}

/// Branches that have their first bytes in common, sorted, some of them done.
struct Level<'b> {
    branches: &'b [Branch<'b>],
    /// How long what they have in common is, all levels together.
    skip: usize,
    /// What they have in common beyond the level above.
    common: &'b str,
    at: usize,
    alternatives: Vec<ExprId>,
}

impl<'b> Level<'b> {
    fn over(branches: &'b [Branch<'b>], skip: usize) -> Self {
        let (Some((first, _)), Some((last, _))) = (branches.first(), branches.last()) else {
            return Level { branches, skip, common: "", at: 0, alternatives: Vec::new() };
        };
        let (first, last) = (&first[skip..], &last[skip..]);
        let same = first.chars().zip(last.chars()).take_while(|(a, b)| a == b);
        let common: usize = same.map(|(a, _)| a.len_utf8()).sum();
        Level { branches, skip: skip + common, common: &first[..common], at: 0, alternatives: Vec::new() }
    }

    /// The next branches that go on with the same character, or all that end here.
    fn next_group(&mut self) -> Option<&'b [Branch<'b>]> {
        let rest = &self.branches[self.at..];
        let head = rest.first()?.0[self.skip..].chars().next();
        let same = rest.partition_point(|(text, _)| text[self.skip..].chars().next() == head);
        self.at += same;
        Some(&rest[..same])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Budget, Limits};
    use crate::regular::determinize;

    #[test]
    fn has_all_branches_and_no_other() {
        let mut builder = Builder::new(&Limits::default());
        let texts = ["", "<f=a>", "<f=ab>", "<f=é>", "<f=è>", "<g", "<f=a>", "<f="];
        let tails: Vec<ExprId> = (0..texts.len()).map(|at| builder.bytes(format!("{at}"))).collect();
        let branches = texts.iter().copied().zip(tails).collect();
        let expr = tree(&mut builder, branches);
        let dfa = determinize(&builder, expr, &Budget::default()).unwrap();
        for (at, text) in texts.iter().enumerate() {
            assert!(dfa.matches(format!("{text}{at}").as_bytes()), "{text}");
        }
        assert_eq!(dfa.count_words(), Some(texts.len() as u64));
    }

    #[test]
    fn of_nothing_is_nothing() {
        let mut builder = Builder::new(&Limits::default());
        assert_eq!(tree(&mut builder, Vec::new()), builder.never());
    }
}
