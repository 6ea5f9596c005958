//! Random grammars over a small alphabet, with every kind of recursion.

use proptest::prelude::*;
use tokenstile_grammar::ir::{Escapes, TokenSet};
use tokenstile_grammar::regular::CharSet;
use tokenstile_grammar::{Builder, ExprId, Grammar, Limits, RuleId, RuleOptions};

/// The alphabet: few enough that rules collide, with code points of one, two and three bytes, and with those that JSON
/// escapes. None of them makes a short escape of a character that is not in the alphabet, as `\\b` would.
pub(crate) const LETTERS: [char; 7] = ['a', 'c', 'd', 'é', '€', '"', '\\'];

/// An expression as proptest makes and shrinks it.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Empty,
    Text(Vec<usize>),
    Class(Vec<usize>, bool),
    Seq(Vec<Tree>),
    Alt(Vec<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
    Rule(usize),
    Token(Vec<u32>, bool),
    And(Box<Tree>, Box<Tree>),
    Without(Box<Tree>, Box<Tree>),
    JsonText(Box<Tree>, Escapes),
    AtMost(Box<Tree>, u32),
}

fn leaf() -> impl Strategy<Value = Tree> {
    let letter = 0..LETTERS.len();
    prop_oneof![
        1 => Just(Tree::Empty),
        6 => prop::collection::vec(letter.clone(), 1..4).prop_map(Tree::Text),
        3 => (prop::collection::vec(letter, 1..4), prop::bool::weighted(0.2)).prop_map(|(set, negated)| Tree::Class(set, negated)),
    ]
}

fn bounds() -> impl Strategy<Value = (u32, Option<u32>)> {
    prop_oneof![
        Just((0, Some(1))),
        Just((0, None)),
        Just((1, None)),
        (0_u32..7, 0_u32..9).prop_map(|(min, more)| (min, Some(min + more))),
        (2_u32..7).prop_map(|min| (min, None)),
    ]
}

/// Combines `inner` in the ways that keep regular languages regular.
fn combine(inner: BoxedStrategy<Tree>) -> BoxedStrategy<Tree> {
    prop_oneof![
        3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Tree::Seq),
        3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Tree::Alt),
        2 => (inner, bounds()).prop_map(|(body, (min, max))| Tree::Repeat(Box::new(body), min, max)),
    ]
    .boxed()
}

fn regular() -> BoxedStrategy<Tree> {
    leaf().prop_recursive(2, 6, 3, |inner| combine(inner.boxed())).boxed()
}

/// A regular language up to a length, perhaps with such a one inside.
fn short() -> BoxedStrategy<Tree> {
    let at_most = |(body, most): (Tree, u32)| Tree::AtMost(Box::new(body), most);
    let inside = prop_oneof![2 => regular(), 1 => (regular(), 0_u32..5).prop_map(at_most)].boxed();
    (prop_oneof![inside.clone(), combine(inside)], 0_u32..8).prop_map(at_most).boxed()
}

fn body(rules: usize, tokens: bool) -> BoxedStrategy<Tree> {
    let boxed = |(left, right): (Tree, Tree)| (Box::new(left), Box::new(right));
    let token = (prop::collection::vec(0_u32..24, 1..4), prop::bool::weighted(0.15));
    let leaf = prop_oneof![
        8 => leaf(),
        6 => (0..rules).prop_map(Tree::Rule),
        u32::from(tokens) => token.prop_map(|(ids, negated)| Tree::Token(ids, negated)),
        1 => (regular(), regular()).prop_map(boxed).prop_map(|(left, right)| Tree::And(left, right)),
        1 => (regular(), regular()).prop_map(boxed).prop_map(|(left, right)| Tree::Without(left, right)),
        1 => (regular(), escapes()).prop_map(|(text, escapes)| Tree::JsonText(Box::new(text), escapes)),
        1 => short(),
        1 => (short(), escapes()).prop_map(|(text, escapes)| Tree::JsonText(Box::new(text), escapes)),
        1 => (regular(), regular()).prop_map(boxed)
            .prop_map(|(left, right)| Tree::JsonText(Box::new(Tree::Without(left, right)), Escapes::Canonical)),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| combine(inner.boxed())).boxed()
}

fn escapes() -> impl Strategy<Value = Escapes> {
    prop_oneof![Just(Escapes::Any), Just(Escapes::Canonical), Just(Escapes::Least)]
}

/// The bodies of one to five rules, with or without tokens.
pub(crate) fn bodies(tokens: bool) -> impl Strategy<Value = Vec<Tree>> {
    (1_usize..6).prop_flat_map(move |rules| prop::collection::vec(body(rules, tokens), rules))
}

/// The text of these letters.
pub(crate) fn text(letters: &[usize]) -> String {
    letters.iter().map(|&at| LETTERS[at]).collect()
}

fn build_tree(builder: &mut Builder, rules: &[RuleId], tree: &Tree) -> ExprId {
    let all = |builder: &mut Builder, items: &[Tree]| -> Vec<ExprId> {
        items.iter().map(|item| build_tree(builder, rules, item)).collect()
    };
    match tree {
        Tree::Empty => builder.empty(),
        Tree::Text(letters) => builder.bytes(text(letters)),
        Tree::Class(letters, negated) => {
            let set = CharSet::new(letters.iter().map(|&at| (LETTERS[at], LETTERS[at])));
            builder.class(if *negated { set.complement() } else { set })
        }
        Tree::Seq(items) => {
            let items = all(builder, items);
            builder.seq(items)
        }
        Tree::Alt(items) => {
            let items = all(builder, items);
            builder.alt(items)
        }
        Tree::Repeat(body, min, max) => {
            let body = build_tree(builder, rules, body);
            builder.repeat(body, *min, *max)
        }
        Tree::Rule(rule) => builder.rule(rules[*rule]),
        Tree::Token(ids, negated) => builder.token(TokenSet::new(ids.clone(), *negated)),
        Tree::And(left, right) => {
            let items = [build_tree(builder, rules, left), build_tree(builder, rules, right)];
            builder.and(items)
        }
        Tree::Without(left, right) => {
            let (left, right) = (build_tree(builder, rules, left), build_tree(builder, rules, right));
            let outside = builder.not(right);
            builder.and([left, outside])
        }
        Tree::JsonText(text, escapes) => {
            let text = build_tree(builder, rules, text);
            builder.json_text(text, *escapes)
        }
        Tree::AtMost(body, most) => {
            let body = build_tree(builder, rules, body);
            builder.at_most(body, *most)
        }
    }
}

/// The grammar of these rules, the first of which is the root.
pub(crate) fn build(bodies: &[Tree]) -> Grammar {
    let mut builder = Builder::new(&Limits::default());
    let rules: Vec<RuleId> = (0..bodies.len()).map(|at| builder.declare(format!("r{at}"))).collect();
    for (&rule, tree) in rules.iter().zip(bodies) {
        let body = build_tree(&mut builder, &rules, tree);
        builder.define(rule, body, RuleOptions::default());
    }
    builder.finish(rules[0]).expect("all rules are defined")
}
