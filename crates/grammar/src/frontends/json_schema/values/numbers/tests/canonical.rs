//! Canonical forms: those that programs write, and no others.

use super::*;

const CANONICAL: Forms = Forms { integers_as_floats: true, negative_zero: true, canonical: true };

/// Checks the texts that a set has and does not have in canonical forms, and that it has no others than in any form.
fn check(text: &str, accepted: &[&str], rejected: &[&str]) {
    let set = set(text);
    let (canonical, any) = (try_language(&set, CANONICAL).unwrap(), language(&set));
    for number in accepted {
        assert!(canonical.matches(number.as_bytes()), "{text}: {number} is refused");
        assert!(any.matches(number.as_bytes()), "{text}: {number} is no form at all");
    }
    for number in rejected {
        assert!(!canonical.matches(number.as_bytes()), "{text}: {number} is taken");
    }
    let others = canonical.difference(&any, &Budget::default()).unwrap();
    assert!(others.is_empty(), "{text}: {:?} are no forms at all", others.shortest());
}

#[test]
fn whole_numbers_are_digits() {
    let most = "9".repeat(309);
    let (longer, negative) = (format!("1{most}"), format!("-{most}"));
    let wrong = ["-0", "1.0", "1e3", "01", "", "-", "+1", &longer];
    check("int", &["0", "-1", "10", &most, &negative], &wrong);
    check("int >=0", &["0", "7", &most], &["-1", "-0", "1.0"]);
    check("int >=-3 <=12", &["-3", "0", "12"], &["-4", "13", "-0", "3.0"]);
    check("int %7", &["0", "-7", "14"], &["8", "-0", "7.0"]);
    check("int %100", &["0", "-100", "1200"], &["10", "00"]);
}

#[test]
fn bounds_may_ask_for_more_digits() {
    let (digits, more) = (format!("1{}", "0".repeat(400)), format!("1{}", "0".repeat(401)));
    check(&format!("int >={digits}"), &[&digits], &["1", &more]);
    check(&format!("int >=0 <={digits}"), &["5", &digits], &[&more]);
    check(&format!("int %{digits}"), &["0", &digits], &[&more]);
}

#[test]
fn other_numbers_are_as_programs_write_doubles() {
    let accepted = [
        "0",
        "-0.0",
        "0.0",
        "10.0",
        "1.5",
        "-2.25",
        "1e-07",
        "1e-7",
        "1e-05",
        "1.5e-10",
        "1e+16",
        "1e+21",
        "1.5e+300",
        "5e-324",
        "1.7976931348623157e+308",
        "-1.7976931348623157e+308",
        "0.0000012345678901234567",
        "9999999999999998.0",
        "123456789012345680000",
        "1e-100",
        "2.2250738585072014e-308",
    ];
    let most = "9".repeat(309);
    let rejected = [
        "3E999",
        "1e5",
        "1E+16",
        "1e16",
        "1e+15",
        "1e-4",
        "1e-5",
        "1.e+16",
        "1.8e+308",
        "1e+309",
        "1e-325",
        "2e-324",
        "01",
        "1.",
        ".5",
        "0.00000000000000000000001",
        "1234567890123456789012.5",
        "10e+16",
        "0e+16",
        "1e+016",
        &format!("1{most}"),
    ];
    check("", &accepted, &rejected);
    check("", &[&most], &[]);
    check(">=0", &["0", "-0.0", "1.5", "1e+16"], &["-1", "-0.1", "-0.00"]);
    check(">0", &["0.5", "5e-324", "0.0000000000000000000001"], &["0", "0.0", "-0.0", "0.00000"]);
    check(">=1 <=2.5", &["1", "1.0", "2.5", "2.50", "1.25"], &["0.99", "2.51", "3", "1e+16"]);
    check("<1e-6 >0", &["5e-07", "5e-7", "0.0000005", "1e-300"], &["0.000001", "1e-06", "1e-6"]);
}

#[test]
fn multiples_of_what_is_not_whole() {
    check("%0.01", &["0.1", "0.10", "-0.0", "3", "12.34", "1e+16"], &["0.001", "1e-05"]);
    check("%0.25", &["0.25", "0.250", "-0.75", "100", "100.0"], &["0.1"]);
    check("%2.5", &["2.5", "5", "5.0", "10"], &["1", "7"]);
    check("%0.5 >=0 <=2", &["0.5", "1", "1.0", "1.50"], &["2.5", "0.25"]);
    let long = format!("0.5{}", "0".repeat(22));
    check("%0.5", &["0.5"], &[&long]);
}

#[test]
fn listed_numbers_have_all_their_digits() {
    let big = format!("1{}", "0".repeat(320));
    check(&format!("={big}"), &[&big], &["1e+320", "1.0"]);
    check("=1.5", &["1.5"], &["1.50", "15e-1"]);
    check("=1e-7", &["1e-07", "1e-7", "0.0000001"], &["1e-8", "1.0e-07"]);
    check("=1e22", &["10000000000000000000000"], &["1e+22", "1e22"]);
}

#[test]
fn what_cannot_be_written_is_nothing() {
    for text in [">=1e309", ">0 <1e-400"] {
        assert!(try_language(&set(text), CANONICAL).unwrap().is_empty(), "{text}");
    }
    for text in ["", "int", ">=1e309", "%0.5", "int >=1", ">=0 <=1"] {
        assert!(set(text).gives_up(), "{text}");
    }
    for text in ["int >=0 <=10", "=1e400", "int >=0 <=10 %3"] {
        assert!(!set(text).gives_up(), "{text}");
    }
}
