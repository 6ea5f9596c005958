//! JSON text to values.

use super::super::{Document, Draft, Json};
use super::parse;
use crate::error::Place;
use crate::limits::Budget;

fn printed(text: &str) -> String {
    parse(text).root().to_string()
}

fn refused(text: &str) -> (usize, usize, String) {
    let error = Document::parse(text, &Budget::default()).expect_err(text);
    let Place::Text { line, column, .. } = error.place() else { panic!("{error:?}") };
    (*line, *column, error.message().to_owned())
}

#[test]
fn numbers_keep_their_text() {
    let text = "[0,-0,1.0,1.50e+10,-12E-3,123456789012345678901234567890]";
    assert_eq!(printed(text), text);
}

#[test]
fn keys_keep_their_order_and_the_last_value_wins() {
    assert_eq!(printed(r#"{"b":1,"a":2,"b":3,"c":4,"a":5}"#), r#"{"b":3,"a":5,"c":4}"#);
}

#[test]
fn large_objects_behave_as_small_ones() {
    let entries = |range: std::ops::Range<usize>| range.map(|n| format!("\"k{}\":{n}", n % 50));
    let text: Vec<String> = entries(0..120).collect();
    let text = format!("{{{}}}", text.join(","));
    let document = parse(&text);
    let object = document.root().as_object().unwrap();
    assert_eq!(object.len(), 50);
    for (place, key) in object.keys().enumerate() {
        assert_eq!(key, format!("k{place}"));
        let last = if place < 20 { place + 100 } else { place + 50 };
        assert_eq!(object.get(key).and_then(Json::as_number), Some(&*last.to_string()));
    }
    assert_eq!(object.get("k50"), None);
    assert_eq!(object.get(""), None);
}

#[test]
fn objects_are_equal_in_any_order() {
    assert_eq!(parse(r#"{"a":[1],"b":null}"#).root(), parse(r#" {"b" : null, "a": [ 1 ]} "#).root());
    assert_ne!(parse(r#"{"a":1}"#).root(), parse(r#"{"a":1,"b":2}"#).root());
}

#[test]
fn escapes_are_resolved() {
    let document = parse(r#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00é""#);
    assert_eq!(document.root().as_str(), Some("\"\\/\u{8}\u{c}\n\r\tAé😀é"));
    assert_eq!(printed(r#""\u0001\u001f\"""#), r#""\u0001\u001f\"""#);
    assert_eq!(parse(r#"{"\u0024ref": 1}"#).root().as_object().unwrap().keys().next(), Some("$ref"));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let cases = [
        ("", (1, 1, "expected a value")),
        ("[1,]", (1, 4, "expected a value")),
        ("[1 2]", (1, 4, "expected `,` or `]`")),
        ("{\"a\":1,}", (1, 8, "expected a key, in double quotes")),
        ("{\"a\" 1}", (1, 6, "expected `:`")),
        ("{\"a\":1\n\"b\":2}", (2, 1, "expected `,` or `}`")),
        ("{a:1}", (1, 2, "expected a key, in double quotes")),
        ("{\n \"é\": nul}", (2, 7, "expected a value")),
        ("[NaN]", (1, 2, "JSON has no NaN and no Infinity")),
        ("Infinity", (1, 1, "JSON has no NaN and no Infinity")),
        ("-Infinity", (1, 2, "JSON has no NaN and no Infinity")),
        ("01", (1, 2, "nothing may follow the value")),
        ("1.", (1, 3, "expected a digit")),
        (".5", (1, 1, "expected a value")),
        ("+1", (1, 1, "expected a value")),
        ("1e", (1, 3, "expected a digit")),
        ("-", (1, 2, "expected a digit")),
        ("\"abc", (1, 5, "the string has no end")),
        ("\"a\nb\"", (1, 3, "a control character in a string must be escaped")),
        ("\"\\x41\"", (1, 2, "JSON has no such escape")),
        ("\"\\u12g4\"", (1, 2, "expected four hexadecimal digits after `\\u`")),
        ("\"\\u1\"", (1, 2, "expected four hexadecimal digits after `\\u`")),
        ("\"\\u+123\"", (1, 2, "expected four hexadecimal digits after `\\u`")),
        ("\"\\u12é\"", (1, 2, "expected four hexadecimal digits after `\\u`")),
        ("\"\\ud800\"", (1, 2, "a lone surrogate: no text can hold it")),
        ("\"\\ud800\\u0041\"", (1, 2, "a lone surrogate: no text can hold it")),
        ("\"\\udc00\"", (1, 2, "a lone surrogate: no text can hold it")),
        ("{} {}", (1, 4, "nothing may follow the value")),
        ("[", (1, 2, "expected a value")),
        ("{", (1, 2, "expected a key, in double quotes")),
        ("// a comment\n1", (1, 1, "expected a value")),
    ];
    for (text, (line, column, message)) in cases {
        let (found_line, found_column, found) = refused(text);
        assert_eq!(found, message, "{text:?}");
        assert_eq!(found_line, line, "{text:?}");
        assert_eq!(found_column, column, "{text:?}");
    }
}

#[test]
fn agrees_with_serde_json() {
    let texts = [
        r#"{"a":{"b":[true,false,null,{"c":[]}]},"d":{},"e":"x\ty"}"#,
        r#"[[],[[]],[{}],{"":""}]"#,
        "  [ 1 , 2.5 , \"\" ]  ",
    ];
    for text in texts {
        let expected: serde_json::Value = serde_json::from_str(text).unwrap();
        let printed: serde_json::Value = serde_json::from_str(&printed(text)).unwrap();
        assert_eq!(printed, expected);
    }
}

#[test]
fn drafts_by_address() {
    let cases = [
        ("http://json-schema.org/draft-04/schema#", Some(Draft::Draft4)),
        ("https://json-schema.org/draft-04/schema", Some(Draft::Draft4)),
        ("http://json-schema.org/draft-06/schema#", Some(Draft::Draft6)),
        ("http://json-schema.org/draft-07/schema", Some(Draft::Draft7)),
        ("https://json-schema.org/draft/2019-09/schema", Some(Draft::Draft201909)),
        ("https://json-schema.org/draft/2020-12/schema#", Some(Draft::Draft202012)),
        ("http://json-schema.org/draft-03/schema#", None),
        ("https://example.com/draft-07/schema#", None),
        ("json-schema.org/draft-07/schema#", None),
    ];
    for (uri, draft) in cases {
        assert_eq!(Draft::from_uri(uri), draft, "{uri}");
    }
}
