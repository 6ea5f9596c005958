//! Unions that are put off: a set that stands for all stacks of several others, without looking at them.
//!
//! Below the top of an ambiguous text there is a set of stacks for each rule and each place at which it may have begun, as in
//! Earley's algorithm; a stack that comes to light goes on in any of many of these. Such a subset of sets is kept as a binary
//! trie of their numbers (Okasaki and Gill's big-endian Patricia trie), hash-consed as all sets are: a subset has one form, two
//! subsets share the parts in which they agree, and a union looks only at those in which they do not. The items of a subset
//! are the unions of the items of both halves. They are found when somebody asks, and once for each half, however many
//! subsets share it.
//!
//! So two subsets that are different may be the same set of stacks. That costs masks that could be shared, never an answer.

use super::sets::{Item, Items, SetId, Sets};
use super::unions::{simple_union, zip_sorted};
use crate::store::sync::OnceLock;

/// A set that stands for two others.
pub(super) struct PutOff {
    /// The highest bit in which the numbers of the sets that they stand for differ; it is clear in those of the first.
    bit: u32,
    /// The bits above it, which all of these numbers have.
    prefix: u32,
    both: [SetId; 2],
    items: OnceLock<Box<[Item]>>,
}

impl PutOff {
    /// The two sets.
    pub(super) fn sets(&self) -> [SetId; 2] {
        self.both
    }

    /// Whether a number has the bits that all numbers of the set have.
    fn holds(&self, number: u32) -> bool {
        number & above(self.bit) == self.prefix
    }
}

/// The bits above this one.
fn above(bit: u32) -> u32 {
    !(bit | (bit - 1))
}

impl Sets {
    /// The stacks that are in either set, put off. Each step goes down a bit, so this may recurse.
    pub(super) fn put_together(&self, a: SetId, b: SetId) -> SetId {
        if let Some(simple) = simple_union(a, b) {
            return simple;
        }
        let (left, right) = (self.put_off(a), self.put_off(b));
        match (left, right) {
            (Some(whole), Some(other)) if whole.bit == other.bit && whole.prefix == other.prefix => {
                if let Some(known) = self.known_union(a, b) {
                    return known;
                }
                let ([low, high], [other_low, other_high]) = (whole.both, other.both);
                let both = [self.put_together(low, other_low), self.put_together(high, other_high)];
                let union = self.branch(whole.bit, whole.prefix, both);
                self.remember_union(a, b, union);
                union
            }
            (Some(whole), _) if whole.holds(self.number(b)) && right.is_none_or(|it| it.bit < whole.bit) => {
                self.put_into(whole, b)
            }
            (_, Some(whole)) if whole.holds(self.number(a)) && left.is_none_or(|it| it.bit < whole.bit) => {
                self.put_into(whole, a)
            }
            _ => {
                let (one, other) = (self.number(a), self.number(b));
                let bit = 1 << (one ^ other).ilog2();
                let both = if one & bit == 0 { [a, b] } else { [b, a] };
                self.branch(bit, one & above(bit), both)
            }
        }
    }

    /// The two sets that a set stands for, if it is put off.
    pub(crate) fn halves(&self, set: SetId) -> Option<[SetId; 2]> {
        self.put_off(set).map(PutOff::sets)
    }

    /// The sets that a set is made of: those that it stands for, or what lies under its items.
    pub(crate) fn parts(&self, set: SetId) -> impl Iterator<Item = SetId> {
        let halves = self.halves(set);
        let items = if halves.is_none() { self.items(set) } else { &[] };
        halves.into_iter().flatten().chain(items.iter().map(|item| item.1))
    }

    fn put_into(&self, whole: &PutOff, set: SetId) -> SetId {
        let [low, high] = whole.both;
        let both = if self.number(set) & whole.bit == 0 {
            [self.put_together(low, set), high]
        } else {
            [low, self.put_together(high, set)]
        };
        self.branch(whole.bit, whole.prefix, both)
    }

    fn branch(&self, bit: u32, prefix: u32, both: [SetId; 2]) -> SetId {
        self.intern_put_off(PutOff { bit, prefix, both, items: OnceLock::new() })
    }

    /// The number of a set by which it is looked up; of one that is put off any that begins as all of them do.
    fn number(&self, set: SetId) -> u32 {
        self.put_off(set).map_or(set.0, |put_off| put_off.prefix)
    }

    /// The items of a set that is put off. What is under the same symbol in both is put off in turn, and the sets that a set
    /// stands for are at most as many levels down as numbers have bits, so this may recurse.
    #[cold]
    pub(super) fn items_of<'s>(&'s self, put_off: &'s PutOff) -> &'s [Item] {
        put_off.items.get_or_init(|| {
            let [low, high] = put_off.both.map(|set| self.items(set));
            let united = |(symbol, low, high)| (symbol, self.put_together(low, high));
            let items: Items = zip_sorted(low, high).map(united).collect();
            self.note_bytes(size_of_val(&*items));
            items.as_slice().into()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use tokenstile_grammar::frontends::ebnf;
    use tokenstile_grammar::machine::NodeId;
    use tokenstile_grammar::{Budget, passes};

    use super::*;
    use crate::carry::{Carrier, Way, Work};
    use crate::config::Symbol;
    use crate::generation::Generation;
    use crate::vocab::{Vocab, VocabOptions};

    /// All stacks of a set, each from its top on.
    fn stacks(sets: &Sets, set: SetId) -> BTreeSet<Vec<Symbol>> {
        let mut all = BTreeSet::new();
        if sets.ends(set) {
            all.insert(Vec::new());
        }
        for &(symbol, rest) in sets.items(set) {
            all.extend(stacks(sets, rest).into_iter().map(|below| [&[symbol], &*below].concat()));
        }
        all
    }

    #[test]
    fn a_subset_has_one_form_and_all_its_stacks() {
        let sets = Sets::new(true);
        let frame = |node: u32| Symbol::frame(NodeId(node % 5), node % 3);
        let mut bases = vec![SetId::BOTTOM];
        for node in 0..40 {
            bases.push(sets.push(frame(node), bases[(node * 7 % 11) as usize % bases.len()]));
        }
        let mut seed = 3_u64;
        for _ in 0..200 {
            let mut draw = |below: usize| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as usize % below
            };
            let subset: Vec<SetId> = (0..=draw(12)).map(|_| bases[draw(bases.len())]).collect();
            let cut = draw(subset.len());
            let together =
                |part: &[SetId]| part.iter().fold(SetId::DEAD, |all, &set| sets.put_together(all, set));
            let in_order = together(&subset);
            assert_eq!(in_order, sets.put_together(together(&subset[cut..]), together(&subset[..cut])));
            assert_eq!(in_order, sets.put_together(in_order, together(&subset[cut..])));
            let expected = subset.iter().flat_map(|&set| stacks(&sets, set)).collect();
            assert_eq!(stacks(&sets, in_order), expected, "{subset:?}");
        }
    }

    const GRAMMARS: [(&str, &str); 4] = [
        (
            "root ::= (a{2,9}) a{2,9}\na ::= [a-c0-9 ] [a-c0-9 ] a a{2,9} | [a-c]{2,9} [a-c]",
            "ab a1ba cbbacab1bab b",
        ),
        (
            "root ::= c*\na ::= \"x\"+ b+\nb ::= [0-9]? c+ c?\nc ::= [a-c ] (b b [a-c] [a-c ]?)? c{2,9} b+ | [a-c_]",
            "a b1c_abbc a1abc",
        ),
        ("root ::= e\ne ::= e \"+\" e | e e | \"(\" e \")\" | [a-c]{1,2}", "a+b(bb+ca)c+a"),
        (
            "root ::= (e{1,3} [a-c]?)*\ne ::= [ab] c? d+\nc ::= [^x] ([^x] c+)? [ 1]\nd ::= e* [a-c] \"b\"?",
            "ab1 b11acb ab",
        ),
    ];

    fn generation(text: &str) -> Arc<Generation> {
        let budget = Budget::default();
        let grammar = ebnf::parse(text, "root", budget.limits(), &budget).unwrap();
        let mut tokens: Vec<String> =
            ["a", "b", "c", "x", " ", "1", "_", "(", ")", "+"].map(String::from).into();
        let pairs = tokens.iter().flat_map(|one| tokens.iter().map(move |other| format!("{one}{other}")));
        tokens.extend(pairs.collect::<Vec<_>>());
        let vocab = Vocab::new(tokens, VocabOptions::default()).unwrap();
        Generation::new(Arc::new(passes::compile(&grammar, &budget).unwrap()), Arc::clone(vocab.table()))
    }

    #[test]
    fn masks_are_the_same_where_all_unions_are_put_off() {
        for (grammar, text) in GRAMMARS {
            let (eager, other) = (generation(grammar), generation(grammar));
            other.sets().put_all_off();
            let moved = other.anew();
            let way = Way { from: &other, to: &moved };
            let mut carrier = Carrier::new(way);
            let (mut config, mut twin) = (eager.start(), other.start());
            for byte in text.bytes() {
                (config, twin) = (eager.step(config, byte), other.step(twin, byte));
                assert_eq!(eager.sets().ends(config), other.sets().ends(twin), "{text}");
                let copy = carrier.carry(way, twin, &mut Work::all()).unwrap();
                assert_eq!(moved.sets().most_pairs(), 0);
                for token in 0..eager.tokens().len() as u32 {
                    let allowed = eager.mask(config).contains(token);
                    assert_eq!(allowed, other.mask(twin).contains(token), "{token} in {text} at {byte}");
                    assert_eq!(
                        allowed,
                        moved.mask(copy).contains(token),
                        "{token} in {text} at {byte}, moved"
                    );
                }
            }
            assert_ne!(config, SetId::DEAD, "{text}");
        }
    }
}
