//! Spellings by hand.

use super::*;

fn check(text: &str, accepted: &[&str], refused: &[&str]) {
    let language = language(&set(text));
    for spelling in accepted {
        assert!(language.matches(spelling.as_bytes()), "{text:?} refuses {spelling}");
    }
    for spelling in refused {
        assert!(!language.matches(spelling.as_bytes()), "{text:?} accepts {spelling}");
    }
}

const NO_NUMBERS: &[&str] = &["", "-", "01", "1.", ".5", "+1", "1e", "00", "-01", "1e+", "1.e5", "0x1", " 1"];

#[test]
fn all_numbers() {
    check("", &["0", "-0", "1.50", "123e-456", "0.001E+5", "-9e0009", "0e1"], NO_NUMBERS);
}

#[test]
fn integers() {
    check(
        "int",
        &["0", "-0", "7", "-12", "1.0", "-3.000", "1e3", "1E+22", "12e2", "1.2345678901234567e+39"],
        NO_NUMBERS,
    );
    check("int", &[], &["1.5", "1.5e0", "0.5", "1e-1", "1.25e1", "1.00001e2"]);
    check("int >=1", &["1", "10", "2e3"], &["0", "-1", "0.0", "-0", "0e5"]);
}

#[test]
fn bounds() {
    check("int >=-5 <=12", &["-5", "12.0", "0", "-0", "-5.0"], &["-6", "13", "5.5", "120"]);
    check(">=0", &["0", "0.5", "5e-7", "123e45", "-0", "-0.0"], &["-1", "-0.1", "-1e-9"]);
    check(">0", &["0.001", "1e-300", "0.0001e4", "7"], &["0", "0.0", "-0", "0e5", "0.000e1"]);
    check(">=1 <2", &["1", "1.0", "1.999", "1e0"], &["2", "2.0", "0.999", "1e1", "1.5e1"]);
    check(">1 <1.001", &["1.0001", "1.00099", "1.000000001"], &["1", "1.0", "1.001", "1.00", "1.0010"]);
    check(">=0 <=1", &["0.5", "1.00", "1e-05", "1.5e-07", "1e0"], &["1.01", "2", "1.1e0", "1e1"]);
    check(
        "<=1e22",
        &["1e+22", "10000000000000000000000", "-1e30"],
        &["1.1e+22", "10000000000000000000001", "1e+23"],
    );
    check("=1e22", &["1e22", "1E+0022", "10000000000000000000000.0"], &["1e21", "1e23"]);
    check("=0.00001", &["0.00001", "1e-05", "0.000010", "1.0e-5"], &["0.0001", "1e-04"]);
}

#[test]
fn multiples() {
    check("%0.01", &["0.01", "12.34", "12.3400", "5", "1e+22", "-0.5"], &["0.001", "12.345"]);
    check(
        "%5",
        &["0", "5", "10.0", "-15", "1e22", "1.2345678901234565e+16"],
        &["6", "5.5", "1.2345678901234566e+16"],
    );
    check("%2.5", &["2.5", "5", "7.50", "0"], &["2", "2.55", "6"]);
    check("%7 >=-21 <=100", &["-21", "98", "7.0", "0"], &["-28", "105", "8"]);
    check("%100 >=150", &["200", "1000", "1200.0"], &["100", "150", "0", "210"]);
    check("int !%3", &["1", "2", "-4", "10.0"], &["0", "3", "-0", "12", "1.5"]);
    check("!int", &["0.5", "1.25", "1e-07", "12.50"], &["1", "1.0", "0", "12.00"]);
    check("%0.00005", &["5e-05", "0.00005", "0.0001", "1"], &["1e-05", "6e-05", "5e-06"]);
    check("%1e-6", &["1e-06", "1.5e-05", "0.000001"], &["1e-07", "1.55e-06"]);
}

#[test]
fn the_minus_of_zero() {
    let spelling = Forms { integers_as_floats: true, negative_zero: false, canonical: false };
    let accepts =
        |text: &str, spelled: &str| try_language(&set(text), spelling).unwrap().matches(spelled.as_bytes());
    assert!(
        !accepts("int >=0", "-0")
            && !accepts("=0", "-0")
            && accepts("int >=-1", "-0")
            && accepts("int >=0", "0")
    );
}

#[test]
fn whole_numbers_of_draft_4() {
    let spelling = Forms { integers_as_floats: false, negative_zero: true, canonical: false };
    for text in ["int", "int >=0 <=9", "int %7", "=5 int", "int %10"] {
        let language = try_language(&set(text), spelling).unwrap();
        for spelled in ["0.0", "5.0", "7.0", "1e1", "0e0", "7e0"] {
            assert!(!language.matches(spelled.as_bytes()), "{text} accepts {spelled}");
        }
    }
}

#[test]
fn expressions_read_well() {
    assert_eq!(
        printed(&set(""), Forms::default()),
        r#""-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([Ee] [+\-]? [0-9]+)?"#
    );
    let plain = Forms { integers_as_floats: false, negative_zero: false, canonical: false };
    assert_eq!(printed(&set("int"), plain), r#""-"? ("0" | [1-9] [0-9]*)"#);
    assert_eq!(printed(&set("int >=0 <=100"), plain), r#""0" | [1-9] [0-9]? | "100""#);
    assert_eq!(printed(&set("int >=20 <=599"), plain), "[2-9] [0-9] | [1-5] [0-9]{2}");
    assert_eq!(printed(&set("int >=-3 <=3"), plain), r#""-"? [0-3]"#);
}

#[test]
fn automata_read_back() {
    for text in ["%7", "%2.5 >0.3", "int !%3 <=1000", "!int >=1 <2000", "%3 !%6 >=-1e30"] {
        let set = set(text);
        let grammar = format!("root ::= {}\n", printed(&set, Forms::default()));
        assert!(grammar.contains("Decimals("), "{grammar}");
        let limits = Limits::default();
        let parsed = crate::frontends::ebnf::parse(&grammar, "root", &limits, &Budget::default()).unwrap();
        assert_eq!(parsed.to_string(), grammar);
        let body = parsed.rule(parsed.root()).body;
        assert_eq!(determinize(&parsed, body, &Budget::default()).unwrap(), language(&set), "{text}");
    }
}

#[test]
fn descriptions_may_be_wrong() {
    for text in [
        "",
        "[0, 1]",
        "[0, 1]: 2",
        "[0 1]: 0",
        "[1, 0]: 0 +1*7",
        "[-5, 5]: 1",
        "[0, ): 0 +1*0",
        "[0, ): 0 1*-7",
        "[x, ): 0",
        "é: 0",
        "[0, é: 1",
    ] {
        assert!(super::super::decimals(text, true, &Budget::default()).is_err(), "{text}");
    }
    let overflow = format!("[0, ): 1 +{0}*2 +{0}*4", i64::MAX);
    assert!(super::super::decimals(&overflow, true, &Budget::default()).is_ok());
}
