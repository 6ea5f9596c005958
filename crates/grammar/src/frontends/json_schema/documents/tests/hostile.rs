//! What strangers may send: deep, large, circular.

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::super::{Document, Documents, Draft, MAX_DEPTH};
use super::parse;
use crate::error::ErrorKind;
use crate::limits::{Budget, CancelFlag, Limits};

fn budget(limits: Limits) -> Budget {
    Budget::new(limits, CancelFlag::default())
}

#[test]
fn depth_is_limited() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let strict = budget(Limits { max_depth: 50, ..Limits::default() });
        assert!(Document::parse(&nested(50), &strict).is_ok());
        assert_eq!(Document::parse(&nested(51), &strict).unwrap_err().kind(), ErrorKind::Limit);
        let lax = budget(Limits { max_depth: usize::MAX, ..Limits::default() });
        let deepest = nested(MAX_DEPTH);
        assert_eq!(Document::parse(&deepest, &lax).unwrap().root().to_string(), deepest);
        assert!(Document::parse(&nested(MAX_DEPTH + 1), &lax).is_err());
        assert!(Document::parse(&open.repeat(5_000_000), &lax).is_err());
    }
}

#[test]
fn the_size_of_the_text_is_limited() {
    let strict = budget(Limits { max_source_bytes: 10, ..Limits::default() });
    assert_eq!(Document::parse("[1,2,3,4,5]", &strict).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn circles_are_followed_step_by_step() {
    let budget = Budget::default();
    let schema = parse(
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
    );
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let first = documents.resolve(documents.root(), "#/$defs/a").unwrap();
    let second = documents.resolve(first, "#/$defs/b").unwrap();
    assert_eq!(documents.resolve(second, "#/$defs/a").unwrap(), first);
}

/// A schema in which each of many definitions is referred to, by `reference` to what `named` names.
fn definitions(count: usize, named: &str, reference: &str) -> String {
    let mut text = String::from(r#"{"$id": "http://x/root", "anyOf": ["#);
    for n in 0..count {
        let comma = if n == 0 { "" } else { "," };
        write!(text, r#"{comma}{{"$ref": "{reference}{n}"}}"#).unwrap();
    }
    text.push_str(r#"], "$defs": {"#);
    for n in 0..count {
        let comma = if n == 0 { "" } else { "," };
        write!(text, r#"{comma}"d{n}": {{{named}{n}"}}"#).unwrap();
    }
    text.push_str("}}");
    text
}

fn resolve_all(schema: &Document<'_>, budget: &Budget) -> Duration {
    let started = Instant::now();
    let mut documents = Documents::new(schema, &[], Draft::default(), budget).unwrap();
    let branches = documents.child(documents.root(), "anyOf").unwrap();
    let count = documents.json(branches).as_array().unwrap().len();
    for n in 0..count {
        let branch = documents.child(branches, n).unwrap();
        let reference = documents.json(branch).get("$ref").and_then(|text| text.as_str()).unwrap();
        let target = documents.resolve(branch, reference).unwrap();
        assert_eq!(documents.pointer(target), format!("/$defs/d{n}"));
    }
    started.elapsed()
}

#[test]
fn time_is_linear_in_the_number_of_definitions() {
    let kinds =
        [(r#""title": ""#, "#/$defs/d"), (r#""$anchor": "a"#, "#a"), (r#""$id": "http://x/"#, "http://x/")];
    for (named, reference) in kinds {
        let budget = Budget::default();
        let text = definitions(100_000, named, reference);
        let schema = parse(&text);
        // What is quadratic takes minutes here.
        let elapsed = resolve_all(&schema, &budget);
        assert!(elapsed < Duration::from_secs(120), "{reference}: {elapsed:?}");
    }
}

#[test]
fn many_equal_addresses_are_compared_in_linear_time() {
    let mut text = String::from("{\"type\": \"null\"}");
    for level in 0..400 {
        let payload = "true,".repeat(100);
        text = format!(r#"{{"enum": [{payload}1], "not": {text}, "$id": "http://x/{}"}}"#, level / 2);
    }
    let budget = Budget::default();
    let schema = parse(&text);
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let started = Instant::now();
    assert!(documents.resolve(documents.root(), "http://x/0").is_err());
    assert!(started.elapsed() < Duration::from_secs(120));
}

#[test]
fn scopes_without_number_are_a_limit() {
    // Each of many holes is filled by one of two resources: as many scopes as there are subsets.
    let mut text = String::from(r##"{"$id": "http://x/root", "not": {"$dynamicRef": "#a0"}, "$defs": {"##);
    for n in 0..40 {
        for side in ["l", "r"] {
            write!(text, r#""{side}{n}": {{"$id": "{side}{n}", "$dynamicAnchor": "a{n}"}},"#).unwrap();
        }
    }
    text.push_str(r#""last": true}}"#);
    let schema = parse(&text);
    let strict = budget(Limits { max_states: 1_000, ..Limits::default() });
    let mut documents = Documents::new(&schema, &[], Draft::default(), &strict).unwrap();
    let mut reached = vec![documents.start().unwrap()];
    let outcome = (0..40).try_for_each(|n| {
        let mut next = Vec::new();
        for &at in &reached {
            for side in ["l", "r"] {
                next.push(documents.follow(at, &format!("{side}{n}"))?);
            }
        }
        reached = next;
        Ok(())
    });
    let error: crate::Error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn a_long_reference_makes_a_short_message() {
    let reference = "é".repeat(1_000_000);
    for reference in [format!("#{reference}"), format!("#/{reference}"), reference] {
        let schema = format!(r#"{{"$ref": "{reference}"}}"#);
        let error = super::target(&schema, "").unwrap_err();
        assert!(error.to_string().len() < 3_000);
    }
}
