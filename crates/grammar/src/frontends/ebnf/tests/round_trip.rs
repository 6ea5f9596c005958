//! What is printed parses back to the same expressions and prints the same again.

use proptest::prelude::*;

use super::read;
use crate::ir::{
    Builder, Escapes, Expr, ExprId, Grammar, RuleId, RuleOptions, TagDispatch, TokenSet, TokenTagDispatch,
    members,
};
use crate::limits::Limits;
use crate::regular::CharSet;

/// Parses the print, compares all rules, prints again.
fn check(grammar: &Grammar) {
    let printed = grammar.to_string();
    let again = read(&printed).unwrap_or_else(|error| panic!("{printed}\n{error}"));
    assert_eq!(again.to_string(), printed, "the print is not a fixed point");
    assert_eq!(again.rules().len(), grammar.rules().len(), "{printed}");
    // The root is first in the print, the others follow in order.
    let others = grammar.rules().map(|(id, _)| id).filter(|&id| id != grammar.root());
    let order: Vec<RuleId> = std::iter::once(grammar.root()).chain(others).collect();
    for ((_, new), &old) in again.rules().zip(&order) {
        assert_eq!(new.options, grammar.rule(old).options);
        assert_same(grammar, grammar.rule(old).body, &again, new.body, &order, &printed);
    }
}

/// Compares two trees of expressions; `order` has the old rules in their new order.
fn assert_same(left: &Grammar, a: ExprId, right: &Grammar, b: ExprId, order: &[RuleId], printed: &str) {
    let mut open = vec![(a, b)];
    while let Some((a, b)) = open.pop() {
        let (a, b) = (left.expr(a), right.expr(b));
        let same = match (a, b) {
            (Expr::Rule(a), Expr::Rule(b)) => *a == order[b.index()],
            (Expr::TagDispatch(a), Expr::TagDispatch(b)) => {
                let tags = b.tags.iter().map(|(tag, rule)| (tag.clone(), order[rule.index()])).collect();
                **a == TagDispatch { tags, ..(**b).clone() }
            }
            (Expr::TokenTagDispatch(a), Expr::TokenTagDispatch(b)) => {
                let tags = b.tags.iter().map(|&(token, rule)| (token, order[rule.index()])).collect();
                **a == TokenTagDispatch { tags, ..(**b).clone() }
            }
            (Expr::Members { layout: a, .. }, Expr::Members { layout: b, .. }) => a == b,
            (Expr::Repeat { min: a, max: c, .. }, Expr::Repeat { min: b, max: d, .. }) => (a, c) == (b, d),
            // Their children are compared in their turn.
            (Expr::Seq(_), Expr::Seq(_))
            | (Expr::Alt(_), Expr::Alt(_))
            | (Expr::And(_), Expr::And(_))
            | (Expr::Not(_), Expr::Not(_)) => true,
            (Expr::JsonText { escapes: a, .. }, Expr::JsonText { escapes: b, .. }) => a == b,
            (Expr::AtMost { most: a, .. }, Expr::AtMost { most: b, .. }) => a == b,
            _ => a == b,
        };
        assert!(same && a.children().len() == b.children().len(), "{a:?} became {b:?} in\n{printed}");
        open.extend(a.children().iter().copied().zip(b.children().iter().copied()));
    }
}

/// How to build an expression; rules are numbers that wrap around.
#[derive(Clone, Debug)]
enum Plan {
    Never,
    Bytes(Vec<u8>),
    Text(String),
    Class(Vec<(char, char)>, bool),
    Rule(u32),
    Token(Vec<u32>, bool),
    Tags(Vec<(String, u32)>, bool, Vec<String>),
    TokenTags(Vec<(u32, u32)>, bool),
    Seq(Vec<Plan>),
    Alt(Vec<Plan>),
    And(Vec<Plan>),
    Not(Box<Plan>),
    JsonText(Box<Plan>, Escapes),
    AtMost(Box<Plan>, u32),
    Repeat(Box<Plan>, u32, Option<u32>),
}

fn build(plan: &Plan, builder: &mut Builder, rules: &[RuleId]) -> ExprId {
    let rule = |number: u32| rules[number as usize % rules.len()];
    let all = |plans: &[Plan], builder: &mut Builder| {
        plans.iter().map(|plan| build(plan, builder, rules)).collect::<Vec<_>>()
    };
    match plan {
        Plan::Never => builder.never(),
        Plan::Bytes(bytes) => builder.bytes(bytes),
        Plan::Text(text) => builder.bytes(text.as_bytes()),
        Plan::Class(ranges, negated) => {
            let set = CharSet::new(ranges.iter().copied());
            builder.class(if *negated { set.complement() } else { set })
        }
        Plan::Rule(number) => builder.rule(rule(*number)),
        Plan::Token(ids, negated) => builder.token(TokenSet::new(ids.clone(), *negated)),
        Plan::Tags(tags, repeats, excludes) => {
            let tags = tags.iter().map(|(tag, number)| (tag.as_str().into(), rule(*number))).collect();
            let before = excludes.first().map(|text| text.as_str().into()).unwrap_or_default();
            let excludes = excludes.iter().map(|text| format!("!{text}").into()).collect();
            builder.tag_dispatch(TagDispatch { tags, repeats: *repeats, excludes, before, markers: *repeats })
        }
        Plan::TokenTags(tags, repeats) => {
            let tags = tags.iter().map(|&(token, number)| (token, rule(number))).collect();
            builder.token_tag_dispatch(TokenTagDispatch {
                tags,
                repeats: *repeats,
                excludes: vec![1_000, 999],
            })
        }
        Plan::Seq(plans) => {
            let items = all(plans, builder);
            builder.seq(items)
        }
        Plan::Alt(plans) => {
            let items = all(plans, builder);
            builder.alt(items)
        }
        Plan::And(plans) => {
            let items = all(plans, builder);
            builder.and(items)
        }
        Plan::Not(plan) => {
            let item = build(plan, builder, rules);
            builder.not(item)
        }
        Plan::JsonText(plan, escapes) => {
            let text = build(plan, builder, rules);
            builder.json_text(text, *escapes)
        }
        Plan::AtMost(plan, most) => {
            let body = build(plan, builder, rules);
            builder.at_most(body, *most)
        }
        Plan::Repeat(plan, min, max) => {
            let body = build(plan, builder, rules);
            builder.repeat(body, *min, max.map(|max| min + max))
        }
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![
        Just(Plan::Never),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Plan::Bytes),
        any::<String>().prop_map(Plan::Text),
        "[a-c\"\\\\\\]\\[^\\-\n]{0,5}".prop_map(Plan::Text),
        (prop::collection::vec((any::<char>(), any::<char>()), 1..4), any::<bool>())
            .prop_map(|(ranges, negated)| Plan::Class(ranges, negated)),
        (prop::collection::vec(("[ -~]", 0..3_u32), 1..6), any::<bool>()).prop_map(|(items, negated)| {
            let ends = items.iter().map(|(text, more)| {
                let low = text.chars().next().unwrap_or('a');
                (low, char::from_u32(u32::from(low) + more).unwrap_or(low))
            });
            Plan::Class(ends.collect(), negated)
        }),
        any::<u32>().prop_map(Plan::Rule),
        (prop::collection::vec(any::<u32>(), 1..4), any::<bool>())
            .prop_map(|(ids, negated)| Plan::Token(ids, negated)),
        (
            prop::collection::vec(("[a-z<\"\\\\é\n]{1,4}", any::<u32>()), 0..3),
            any::<bool>(),
            prop::collection::vec("[a-z]{1,2}", 0..3)
        )
            .prop_map(|(tags, repeats, excludes)| Plan::Tags(tags, repeats, excludes)),
        (prop::collection::vec((0..900_u32, any::<u32>()), 0..3), any::<bool>())
            .prop_map(|(tags, repeats)| Plan::TokenTags(tags, repeats)),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Plan::Seq),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Plan::Alt),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Plan::And),
            inner.clone().prop_map(|plan| Plan::Not(Box::new(plan))),
            (inner.clone(), 0..3_usize).prop_map(|(plan, at)| {
                let escapes = [Escapes::Any, Escapes::Canonical, Escapes::Least][at];
                Plan::JsonText(Box::new(plan), escapes)
            }),
            (inner.clone(), any::<u32>()).prop_map(|(plan, most)| Plan::AtMost(Box::new(plan), most)),
            (inner, 0..4_u32, prop::option::of(0..3_u32)).prop_map(|(plan, min, max)| Plan::Repeat(
                Box::new(plan),
                min,
                max
            )),
        ]
    })
}

fn options() -> impl Strategy<Value = RuleOptions> {
    let count = || prop::option::of(0..2_000_000_000_u32);
    let temperature = prop::option::of((0.0..1.0e30_f32).prop_map(|value| value));
    let text = || prop::option::of(".{1,5}");
    (count(), count(), text(), any::<bool>(), temperature, any::<bool>(), text()).prop_map(
        |(max_tokens, max_chars, capture, lazy, temperature, distinct_items, place)| RuleOptions {
            hidden_bytes: max_chars.unwrap_or(0) % 3 + u32::from(lazy),
            stop_capture: capture.clone().filter(|_| lazy),
            hides_stop: lazy && distinct_items,
            max_tokens,
            max_chars,
            capture,
            lazy,
            temperature,
            distinct_items,
            distinct_at: place.filter(|_| distinct_items),
        },
    )
}

/// Names that the text form knows, and names that it does not.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,2}",
        ".{0,3}",
        prop::sample::select(vec![
            "root", "root_1", "Regex", "Bytes", "JsonText", "AtMost", "true", "..", "-1", "1", "", "part"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn random_grammars(rules in prop::collection::vec((names(), plans(), options()), 1..5), root: prop::sample::Index) {
        let mut builder = Builder::new(&Limits::default());
        let ids: Vec<RuleId> = rules.iter().map(|(name, _, _)| builder.declare(name)).collect();
        for (id, (_, plan, options)) in ids.iter().zip(&rules) {
            let body = build(plan, &mut builder, &ids);
            builder.define(*id, body, options.clone());
        }
        check(&builder.finish(ids[root.index(ids.len())]).unwrap());
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = read(&text);
    }

    #[test]
    fn no_likely_text_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "root ::= ", "\na[capture] ::= ", "\na ::=", "\"b\"", "\"", "\\", "[a-z]", "[^", "]", "(", ")", "(=", "|", "&",
        "~", "*", "+", "?", "{2}", "{2,", "}", "a", "root", ".", "<[1]>", "<x>", "!", "Regex(", "JsonText(", "AtMost(", ", 3)", "Members(", "separator=", "TagDispatch(",
        "Token(1)", ",", "=", "true", "#", "\n", " ", "é", "-1", "Substring(\"a\")", "FreeText(\"a\", before=\"b\")",
    ]), 0..14)) {
        if let Ok(grammar) = read(&format!("root ::= \"a\"\n{}", parts.concat())) {
            check(&grammar);
        }
        if let Ok(grammar) = read(&parts.concat()) {
            check(&grammar);
        }
    }
}

#[test]
fn every_construct_prints_in_its_own_form() {
    for source in [
        "root ::= \"a\\n\\\"\\\\é\\u0001\" [^] [] | \"\"",
        "root ::= \"a\\n\\\"\\\\é\\u0001\" [^\\]a-c] | \"\"",
        "root ::= (\"a\" | \"b\")* \"ab\"{2, 3} ([a-z]+){2} [cd]{3,} \"e\"?",
        "root ::= \"a\" \"b\"* & ~\"c\" & (~[ab])* | ~(\"d\" [ef])",
        "root ::= ((\"a\" | \"b\") & \"c\") \"d\"",
        "root ::= \"\\\"\" JsonText([^]* & ~(\"a\" | \"b\")){2} JsonText(\"c\" | \"d\")",
        "root ::= JsonText([a-z]*, \"least\") JsonText(\"é\" | \"d\", \"canonical\")",
        "root ::= Members((\"a\", true, \":1\"), order=\"any\", separator=\",\", escapes=\"least\")",
        "root ::= Members(order=\"sequence\", separator=\",\")",
        "root ::= Members((\"a\\\"\", true, b, (\":1\", 0, 1)), (\"\", false), (false, b), order=\"any\", separator=\", \", \
         others=((b, \":\", (\"\", 1)), (false, b),), counters=((1,), (0, 4),), implies=((0, 1), (2, 1),), unique=true)\nb ::= \"c\"",
        "root ::= Bytes(\"\\u00ff\\u0000a\")",
        "root ::= AtMost([^]* | AtMost(\"a\", 3){2} \"b\", 70000)",
        "root ::= Format(\"date-time\") JsonText(Format(\"uuid\"))",
        "root ::= Substring(\"a\", \"b\") FreeText(\"x\", before=\"y\") FreeText()",
        "root ::= TagDispatch((\"<a>\", b), loop_after_dispatch=false, excludes=(\"x\", \"y\"))\nb ::= Token(1, 2)",
        "root ::= TagDispatch((\"<a>\", b), loop_after_dispatch=true, excludes=(), before=\"a>\")\nb ::= \"x\"",
        "root ::= TokenTagDispatch((1, b), loop_after_dispatch=true, excludes=())\nb ::= ExcludeToken(3) AnyToken()",
        "root[max_tokens=1, max_chars=2, capture=\"x\", lazy, temperature=0.5] ::= \"a\"",
    ] {
        let grammar = read(source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        check(&grammar);
        if !source.contains("[]") {
            assert_eq!(grammar.to_string().trim_end(), source);
        }
    }
}

#[test]
fn parts_of_a_list_get_rules_of_their_own() {
    let mut builder = Builder::new(&Limits::default());
    let root = builder.declare("root");
    let digits = builder.class(CharSet::new([('0', '9')]));
    let comma = builder.bytes(",");
    let comma = builder.optional(comma);
    let layout = members::Layout {
        order: members::Order::Sequence,
        separator: 1,
        entries: Box::default(),
        others: Box::new([members::Others {
            keys: None,
            variants: smallvec::smallvec![members::Variant { value: 0, counters: smallvec::smallvec![] }],
        }]),
        counters: Box::default(),
        implies: Box::default(),
        unique: false,
        escapes: Escapes::Any,
        track: Box::default(),
    };
    let list = builder.members(layout, [digits, comma]);
    builder.define(root, list, RuleOptions::default());
    let printed = builder.finish(root).unwrap().to_string();
    let expected = "root ::= Members(order=\"sequence\", separator=part_1, others=((false, part),))\n\
                    part ::= [0-9]\npart_1 ::= \",\"?\n";
    assert_eq!(printed, expected);
    assert_eq!(read(&printed).unwrap().to_string(), printed);
}

#[test]
fn an_assertion_in_a_regex_prints_as_its_macro() {
    let grammar = read("root ::= Regex(\"(?=a)[ab]\\\\b\")").unwrap();
    check(&grammar);
    assert!(grammar.to_string().contains("Regex("), "{grammar}");
}

#[test]
fn deep_expressions_get_rules_of_their_own() {
    let mut builder = Builder::new(&Limits::default());
    let root = builder.declare("root");
    let mut body = builder.bytes("x");
    for _ in 0..10_000 {
        let letter = builder.bytes("a");
        let sequence = builder.seq([letter, body]);
        let other = builder.class(CharSet::any());
        body = builder.alt([sequence, other]);
    }
    builder.define(root, body, RuleOptions::default());
    let printed = builder.finish(root).unwrap().to_string();
    let again = read(&printed).unwrap();
    assert!(again.rules().len() > 40);
    assert_eq!(again.to_string(), printed);
}

#[test]
fn shared_expressions_do_not_multiply() {
    let mut builder = Builder::new(&Limits::default());
    let root = builder.declare("root");
    let mut body = builder.bytes("x");
    for _ in 0..64 {
        let (left, right) = (builder.bytes("l"), builder.bytes("r"));
        let left = builder.seq([left, body]);
        let right = builder.seq([right, body]);
        body = builder.alt([left, right]);
    }
    builder.define(root, body, RuleOptions::default());
    let printed = builder.finish(root).unwrap().to_string();
    assert!(printed.len() < 100_000, "{}", printed.len());
    assert_eq!(read(&printed).unwrap().to_string(), printed);
}
