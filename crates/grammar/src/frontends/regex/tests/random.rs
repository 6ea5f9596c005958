//! Random patterns against a matcher that tries everything.

use std::collections::BTreeSet;
use std::fmt;

use proptest::prelude::*;

use super::super::{Anchoring, Flags, Syntax};
use super::try_automaton;
use crate::error::ErrorKind;

/// A pattern, and by its `Display` also its text.
#[derive(Clone, Debug)]
enum Re {
    Text(char),
    Class(Vec<char>, bool),
    Dot,
    Start,
    End,
    Word(bool),
    Seq(Vec<Re>),
    Alt(Vec<Re>),
    Repeat(Box<Re>, usize, Option<usize>),
    Look { behind: bool, negated: bool, body: Box<Re> },
}

fn escaped(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '-' => "\\-".to_owned(),
        c => c.to_string(),
    }
}

impl fmt::Display for Re {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Re::Text(c) => write!(out, "{}", escaped(*c)),
            Re::Class(set, negated) => {
                let members: String = set.iter().map(|&c| escaped(c)).collect();
                write!(out, "[{}{members}]", if *negated { "^" } else { "" })
            }
            Re::Dot => write!(out, "."),
            Re::Start => write!(out, "^"),
            Re::End => write!(out, "$"),
            Re::Word(negated) => write!(out, "{}", if *negated { "\\B" } else { "\\b" }),
            Re::Seq(items) => items.iter().try_for_each(|item| match item {
                Re::Alt(_) => write!(out, "(?:{item})"),
                item => write!(out, "{item}"),
            }),
            Re::Alt(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(at, item)| write!(out, "{}{item}", if at > 0 { "|" } else { "" })),
            Re::Repeat(body, min, None) => write!(out, "(?:{body}){{{min},}}"),
            Re::Repeat(body, min, Some(max)) => write!(out, "(?:{body}){{{min},{max}}}"),
            Re::Look { behind, negated, body } => {
                let sign = if *negated { "!" } else { "=" };
                write!(out, "(?{}{sign}{body})", if *behind { "<" } else { "" })
            }
        }
    }
}

/// A text with the flags that it is matched under.
struct Subject<'t> {
    text: &'t [char],
    flags: Flags,
}

impl Subject<'_> {
    fn equal(&self, one: char, other: char) -> bool {
        one == other || self.flags.ignore_case && one.eq_ignore_ascii_case(&other)
    }

    fn is_word(&self, at: Option<usize>) -> bool {
        at.and_then(|at| self.text.get(at)).is_some_and(char::is_ascii_alphanumeric)
    }

    /// Where a match that starts at `from` can end.
    fn ends(&self, re: &Re, from: usize) -> BTreeSet<usize> {
        let next = self.text.get(from).copied();
        let read = |fits: bool| if fits { BTreeSet::from([from + 1]) } else { BTreeSet::new() };
        let assert = |holds: bool| if holds { BTreeSet::from([from]) } else { BTreeSet::new() };
        match re {
            Re::Text(c) => read(next.is_some_and(|next| self.equal(*c, next))),
            Re::Class(set, negated) => {
                read(next.is_some_and(|next| set.iter().any(|&c| self.equal(c, next)) != *negated))
            }
            Re::Dot => read(next.is_some_and(|next| self.flags.dot_all || next != '\n')),
            Re::Start => assert(from == 0 || self.flags.multi_line && self.text[from - 1] == '\n'),
            Re::End => assert(next.is_none() || self.flags.multi_line && next == Some('\n')),
            Re::Word(negated) => {
                assert((self.is_word(from.checked_sub(1)) != self.is_word(Some(from))) != *negated)
            }
            Re::Seq(items) => items.iter().fold(BTreeSet::from([from]), |places, item| {
                places.into_iter().flat_map(|at| self.ends(item, at)).collect()
            }),
            Re::Alt(items) => items.iter().flat_map(|item| self.ends(item, from)).collect(),
            Re::Repeat(body, min, max) => self.repeat(body, *min, *max, from),
            Re::Look { behind: false, negated, body } => assert(self.ends(body, from).is_empty() == *negated),
            Re::Look { behind: true, negated, body } => {
                assert((0..=from).any(|start| self.ends(body, start).contains(&from)) != *negated)
            }
        }
    }

    fn repeat(&self, body: &Re, min: usize, max: Option<usize>, from: usize) -> BTreeSet<usize> {
        let mut places = BTreeSet::from([from]);
        let mut all = BTreeSet::new();
        for round in 0..=max.unwrap_or(min + self.text.len() + 1) {
            if round >= min {
                all.extend(&places);
            }
            places = places.into_iter().flat_map(|at| self.ends(body, at)).collect();
        }
        all
    }

    fn matches(&self, re: &Re, anchoring: Anchoring) -> bool {
        match anchoring {
            Anchoring::Whole | Anchoring::Part => self.ends(re, 0).contains(&self.text.len()),
            Anchoring::Search => (0..=self.text.len()).any(|from| !self.ends(re, from).is_empty()),
        }
    }
}

/// Whether a lookahead stands inside a lookbehind, which may be refused.
fn looks_ahead_behind(re: &Re, inside: bool) -> bool {
    match re {
        Re::Seq(items) | Re::Alt(items) => items.iter().any(|item| looks_ahead_behind(item, inside)),
        Re::Repeat(body, _, _) => looks_ahead_behind(body, inside),
        Re::Look { behind: false, .. } if inside => true,
        Re::Look { behind, body, .. } => looks_ahead_behind(body, inside || *behind),
        _ => false,
    }
}

fn pattern(letters: &'static [char], with_assertions: bool) -> impl Strategy<Value = Re> {
    let plain = prop_oneof![
        6 => prop::sample::select(letters).prop_map(Re::Text),
        2 => (prop::sample::subsequence(letters, 1..=2), any::<bool>()).prop_map(|(set, not)| Re::Class(set, not)),
        1 => Just(Re::Dot),
    ];
    let leaf = if with_assertions {
        prop_oneof![
            6 => plain,
            1 => Just(Re::Start),
            1 => Just(Re::End),
            1 => any::<bool>().prop_map(Re::Word),
        ]
        .boxed()
    } else {
        plain.boxed()
    };
    leaf.prop_recursive(4, 14, 3, move |inner| {
        let shapes = prop_oneof![
            4 => prop::collection::vec(inner.clone(), 0..4).prop_map(Re::Seq),
            2 => prop::collection::vec(inner.clone(), 1..3).prop_map(Re::Alt),
            2 => (inner.clone(), 0..3_usize, prop::option::of(0..3_usize))
                .prop_map(|(body, min, more)| Re::Repeat(Box::new(body), min, more.map(|more| min + more))),
        ];
        if !with_assertions {
            return shapes.boxed();
        }
        let look = (inner, any::<bool>(), any::<bool>()).prop_map(|(body, behind, negated)| Re::Look {
            behind,
            negated,
            body: Box::new(body),
        });
        prop_oneof![2 => shapes, 1 => look].boxed()
    })
}

/// All texts over the letters up to a length.
fn texts(letters: &[char], longest: usize) -> Vec<Vec<char>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..longest {
        let until = all.len();
        for at in from..until {
            for &letter in letters {
                let mut longer: Vec<char> = all[at].clone();
                longer.push(letter);
                all.push(longer);
            }
        }
        from = until;
    }
    all
}

fn flags() -> impl Strategy<Value = Flags> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(ignore_case, dot_all, multi_line)| Flags {
        ignore_case,
        dot_all,
        multi_line,
        ..Flags::default()
    })
}

fn anchoring() -> impl Strategy<Value = Anchoring> {
    prop_oneof![Just(Anchoring::Whole), Just(Anchoring::Search)]
}

fn check(re: &Re, syntax: Syntax, letters: &[char]) -> Result<(), TestCaseError> {
    let pattern = re.to_string();
    let dfa = match try_automaton(&pattern, syntax) {
        Ok(dfa) => dfa,
        Err(error) => {
            let refused = error.kind() == ErrorKind::Unsupported && looks_ahead_behind(re, false);
            prop_assert!(refused, "{}: {}", pattern, error);
            return Ok(());
        }
    };
    for text in texts(letters, 5) {
        let subject = Subject { text: &text, flags: syntax.flags };
        let string: String = text.iter().collect();
        let expected = subject.matches(re, syntax.anchoring);
        prop_assert_eq!(dfa.matches(string.as_bytes()), expected, "{} on {:?}", pattern, string);
    }
    Ok(())
}

const PLAIN: &[char] = &['a', 'b', '-'];
const LINES: &[char] = &['a', 'A', '\n'];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_patterns(re in pattern(PLAIN, false), flags in flags(), anchoring in anchoring()) {
        check(&re, Syntax { flags, anchoring }, PLAIN)?;
    }

    #[test]
    fn patterns_with_assertions(re in pattern(PLAIN, true), flags in flags(), anchoring in anchoring()) {
        check(&re, Syntax { flags, anchoring }, PLAIN)?;
    }

    #[test]
    fn patterns_with_lines_and_case(re in pattern(LINES, true), flags in flags(), anchoring in anchoring()) {
        check(&re, Syntax { flags, anchoring }, LINES)?;
    }
}
