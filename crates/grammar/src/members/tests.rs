use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::*;
use crate::Budget;
use crate::ir::Escapes;
use crate::ir::members::{Count, Entry, Layout, Order, Others, Variant, Variants};

/// Numbers from a seed, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

/// A list as it is written down: members in their order.
type List = Vec<Member>;

/// The most of others that are read by `compare`. A bound may ask for two more, and one is looked ahead for.
const MOST_OTHERS: usize = 1;

fn variants(dice: &mut Dice, counters: u32, least: u32) -> Variants {
    let count = least + dice.below(3 - least);
    let counters = |dice: &mut Dice| (0..counters).filter(|_| dice.below(2) == 0).collect();
    (0..count).map(|_| Variant { value: 0, counters: counters(dice) }).collect()
}

fn random_layout(dice: &mut Dice) -> (Layout, Vec<Option<u32>>) {
    let entries = dice.below(4);
    let counters = dice.below(4);
    let others = dice.below(2);
    let order = [Order::Sequence, Order::Declared, Order::Any][dice.below(3) as usize];
    let layout = Layout {
        order,
        separator: 0,
        entries: (0..entries)
            .map(|at| {
                let least = u32::from(dice.below(6) != 0);
                Entry {
                    key: Some(format!("k{at}").into()),
                    required: dice.below(4) == 0,
                    variants: variants(dice, counters, least),
                }
            })
            .collect(),
        others: (0..others)
            .map(|_| Others { keys: Some(0), variants: variants(dice, counters, 1) })
            .collect(),
        counters: (0..counters)
            .map(|_| {
                let min = dice.below(3);
                let max = (dice.below(2) == 0).then(|| min + dice.below(3));
                Count { min: if dice.below(2) == 0 { 0 } else { min }, max }
            })
            .collect(),
        implies: (0..if entries > 0 { dice.below(3) } else { 0 })
            .map(|_| (dice.below(entries), dice.below(entries)))
            .collect(),
        unique: true,
        escapes: Escapes::Any,
        track: Box::default(),
    };
    let capacities = layout.others.iter().map(|_| (dice.below(2) == 0).then(|| dice.below(3))).collect();
    (layout, capacities)
}

/// All lists that meet the conditions, by trying everything, with a few more others than any bound asks for.
fn all_lists(layout: &Layout, capacities: &[Option<u32>], prefix: &mut List, found: &mut Vec<List>) {
    if meets(layout, prefix) {
        found.push(prefix.clone());
    }
    let others = prefix.iter().filter(|member| matches!(member.slot, Slot::Others(_))).count();
    let entries = layout.entries.len() as u32;
    let slots = (0..entries).map(Slot::Entry).chain((0..layout.others.len() as u32).map(Slot::Others));
    for slot in slots {
        let fits = match slot {
            Slot::Entry(entry) => entry_fits(layout, prefix, entry),
            Slot::Others(family) => {
                let bound = capacities[family as usize].map_or(4, |most| most as usize).min(4);
                let all = layout.order == Order::Any
                    || layout.order == Order::Declared
                    || prefix.len() >= entries as usize;
                others < bound && all
            }
        };
        let variants = match slot {
            Slot::Entry(entry) => &layout.entries[entry as usize].variants,
            Slot::Others(family) => &layout.others[family as usize].variants,
        };
        for variant in 0..if fits { variants.len() as u32 } else { 0 } {
            prefix.push(Member { slot, variant });
            all_lists(layout, capacities, prefix, found);
            prefix.pop();
        }
    }
}

fn entry_fits(layout: &Layout, prefix: &[Member], entry: u32) -> bool {
    let last = prefix.last().map(|member| member.slot);
    match layout.order {
        Order::Any => prefix.iter().all(|member| member.slot != Slot::Entry(entry)),
        Order::Declared => match last {
            None => true,
            Some(Slot::Entry(before)) => before < entry,
            Some(Slot::Others(_)) => false,
        },
        Order::Sequence => prefix.len() == entry as usize && !matches!(last, Some(Slot::Others(_))),
    }
}

fn meets(layout: &Layout, list: &[Member]) -> bool {
    let has = |entry: u32| list.iter().any(|member| member.slot == Slot::Entry(entry));
    let required = (0..).zip(&layout.entries).all(|(at, entry)| !entry.required || has(at));
    let implied = layout.implies.iter().all(|&(first, second)| !has(first) || has(second));
    let count = |counter: u32| {
        let counts = |member: &&Member| {
            let variants = match member.slot {
                Slot::Entry(entry) => &layout.entries[entry as usize].variants,
                Slot::Others(family) => &layout.others[family as usize].variants,
            };
            variants[member.variant as usize].counters.contains(&counter)
        };
        list.iter().filter(counts).count() as u32
    };
    let counted = (0..).zip(&layout.counters).all(|(at, bounds)| {
        let count = count(at);
        count >= bounds.min && bounds.max.is_none_or(|max| count <= max)
    });
    required && implied && counted
}

/// What may come after each beginning of the lists that meet the conditions.
#[derive(Default)]
struct Known {
    complete: HashSet<List>,
    next: HashMap<List, BTreeSet<Member>>,
}

impl Known {
    fn new(lists: &[List]) -> Self {
        let mut known = Known::default();
        for list in lists {
            known.complete.insert(list.clone());
            for (at, &member) in list.iter().enumerate() {
                known.next.entry(list[..at].to_vec()).or_default().insert(member);
            }
        }
        known
    }
}

/// Walks all states up to a few others, and compares what is allowed with what the lists say.
fn compare(
    layout: &Layout,
    conditions: &Conditions,
    known: &Known,
    prefix: &mut List,
    state: &State,
) -> Result<(), String> {
    let others = prefix.iter().filter(|member| matches!(member.slot, Slot::Others(_))).count();
    let complete = known.complete.contains(prefix);
    if conditions.may_end(state) != complete {
        return Err(format!("{layout:?}: may_end after {prefix:?} is not {complete}"));
    }
    let expected: Vec<Member> = known.next.get(prefix).into_iter().flatten().copied().collect();
    let mut allowed = conditions.allowed(state);
    allowed.sort_unstable();
    if allowed != expected {
        return Err(format!("{layout:?}: after {prefix:?} {allowed:?} and not {expected:?}"));
    }
    if others >= MOST_OTHERS {
        return Ok(());
    }
    for member in allowed {
        prefix.push(member);
        compare(layout, conditions, known, prefix, &conditions.take(state, member))?;
        prefix.pop();
    }
    Ok(())
}

#[test]
fn allowed_members_are_those_of_some_complete_list() {
    let mut dice = Dice(7);
    let (mut compared, mut refused, mut empty) = (0, 0, 0);
    for _ in 0..800 {
        let (layout, capacities) = random_layout(&mut dice);
        let mut lists = Vec::new();
        all_lists(&layout, &capacities, &mut Vec::new(), &mut lists);
        match Conditions::new(&layout, &capacities, &|_| true, &Budget::default()) {
            Ok(conditions) => {
                compared += 1;
                assert_eq!(conditions.is_satisfiable(), !lists.is_empty(), "{layout:?}");
                if lists.is_empty() {
                    empty += 1;
                    continue;
                }
                let start = conditions.start();
                compare(&layout, &conditions, &Known::new(&lists), &mut Vec::new(), &start).unwrap();
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{error}");
            }
        }
    }
    assert!(compared > 700 && empty > 20 && refused < 100, "{compared} {empty} {refused}");
}

#[test]
fn large_lists_are_cheap() {
    let entry = |at: u32| Entry {
        key: Some(format!("key{at}").into()),
        required: at.is_multiple_of(7) && at < 900,
        variants: smallvec::smallvec![Variant { value: 0, counters: smallvec::smallvec![0] }],
    };
    for order in [Order::Declared, Order::Any, Order::Sequence] {
        let layout = Layout {
            order,
            separator: 0,
            entries: (0..5_000).map(entry).collect(),
            others: Box::default(),
            counters: Box::new([Count { min: 900, max: Some(1_000) }]),
            implies: if order == Order::Declared { Box::default() } else { Box::new([(1, 2), (2, 3)]) },
            unique: true,
            escapes: Escapes::Any,
            track: Box::default(),
        };
        let conditions = Conditions::new(&layout, &[], &|_| true, &Budget::default()).unwrap();
        let mut state = conditions.start();
        let mut length = 0;
        while !conditions.may_end(&state) {
            let allowed = conditions.allowed(&state);
            state = conditions.take(&state, allowed[allowed.len() / 2]);
            length += 1;
            assert!(length <= 1_000);
        }
        assert!(length >= 900, "{order:?} {length}");
    }
}

#[test]
fn keys_that_begin_alike_share_their_beginning() {
    let keys = ["name", "names", "nation", "", "äb", "ä"];
    let tree = KeyTree::new(keys.iter().map(|key| Some(*key)), Escapes::Any);
    let mut found = Vec::new();
    let mut stack = vec![(0u32, String::new())];
    while let Some((at, before)) = stack.pop() {
        let node = &tree.nodes[at as usize];
        let text = before + &node.text;
        if node.ends {
            found.push((text.clone(), tree.entries[node.ranks.start as usize]));
        }
        stack.extend(node.below.iter().map(|&below| (below, text.clone())));
    }
    found.sort_by_key(|&(_, entry)| entry);
    let expected: Vec<(String, u32)> = (0..).zip(keys).map(|(at, key)| (key.to_owned(), at)).collect();
    assert_eq!(found, expected);
    assert_eq!(tree.nodes[0].below.len(), 2);
}

#[test]
fn plain_conditions_are_those_of_a_plain_layout() {
    let written =
        || -> Variants { std::iter::once(Variant { value: 1, counters: SmallVec::default() }).collect() };
    let mut dice = Dice(5);
    for round in 0..60 {
        let order = if round % 2 == 0 { Order::Any } else { Order::Declared };
        let required: Box<[bool]> = (0..dice.below(5)).map(|_| dice.below(2) == 0).collect();
        let others = dice.below(3) as usize;
        let entry = |(at, &required): (usize, &bool)| Entry {
            key: Some(format!("key {at}").into()),
            required,
            variants: written(),
        };
        let layout = Layout {
            order,
            separator: 0,
            entries: required.iter().enumerate().map(entry).collect(),
            others: (0..others).map(|_| Others { keys: Some(2), variants: written() }).collect(),
            counters: Box::default(),
            implies: Box::default(),
            unique: true,
            escapes: Escapes::Any,
            track: Box::default(),
        };
        let endless = vec![None; layout.others.len()];
        let known = Conditions::new(&layout, &endless, &|_| true, &Budget::default()).unwrap();
        let plain = Conditions::plain(order, required, others);
        assert_eq!(format!("{plain:?}"), format!("{known:?}"));
    }
}
