//! Sets that are large on purpose end soon, with an answer or with a limit.

use std::time::{Duration, Instant};

use super::*;
use crate::ErrorKind;

/// The size of the expression in characters, within a time that leaves room for slow machines.
fn size(text: &str) -> usize {
    let set = set(text);
    let started = Instant::now();
    let size = printed(&set, Forms::default()).len();
    assert!(started.elapsed() < Duration::from_millis(500), "{text} took {:?}", started.elapsed());
    size
}

#[test]
fn large_ends_are_linear() {
    let digits = "8317".repeat(100);
    let longer = "8317".repeat(200);
    let (short, long) =
        (size(&format!("int >=-{digits} <={digits}")), size(&format!("int >=-{longer} <={longer}")));
    assert!(long < 3 * short, "{short} and {long}");
    assert!(size("<=1e308 >=-1e308") < 2_000);
    assert!(size("int <=1e308") < 20_000);
    assert!(size(">=1e-300 <=1e-299") < 3_000);
    assert!(size(">1e-300 <1.0000000001e-300") < 3_000);
    assert!(size("%1e-308") < 50_000);
    assert!(size("%1e-308 >=0 <1") < 60_000);
    assert!(size("%1e300") < 50_000);
    assert!(size(">=0.1 <=0.10000000000000000000000000000000000000001") < 1_000);
}

#[test]
fn ends_at_the_limit_of_digits() {
    let nines = "9".repeat(Decimal::MAX_DIGITS - 1);
    let zeros = "0".repeat(Decimal::MAX_DIGITS - 2);
    assert!(size(&format!(">=0.{nines} <={nines}.5")) < 100 * Decimal::MAX_DIGITS);
    assert!(size(&format!(">0.{zeros}1 <1{zeros}.5")) < 100 * Decimal::MAX_DIGITS);
    assert!(size("%1e-2999 >=0 <=1") < 500_000);
    assert!(size("%1e2999") < 500_000);
}

#[test]
fn common_sets_are_small() {
    for (text, most) in [
        ("", 70),
        ("int", 400),
        (">=0", 80),
        ("int >=0 <=100", 60),
        ("int >=1 <=65535", 160),
        (">=0 <=1", 160),
        ("%0.01", 160),
    ] {
        assert!(size(text) <= most, "{text:?} has {}", size(text));
    }
}

#[test]
fn small_steps_have_small_automata() {
    for (text, most) in [("int %2", 30), ("int %5", 30), ("int %25", 40), ("int %1e9", 100), ("int %3", 40)] {
        let set = set(text);
        let spelling = Forms { integers_as_floats: false, negative_zero: true, canonical: false };
        let states = try_language(&set, spelling).unwrap().len();
        assert!(states <= most, "{text} has {states} states");
    }
}

#[test]
fn large_prime_steps_are_refused_unless_bounded() {
    let error = try_language(&set("%1000003"), Forms::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let language = language(&set("%1000003 >=0 <=100000000"));
    assert!(language.matches(b"1000003") && language.matches(b"99000297.0") && !language.matches(b"1000004"));
    let error = try_language(&set("int %0.123456789"), Forms::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn many_coprime_steps_are_refused() {
    let budget = Budget::default();
    let mut all = NumberSet::none();
    let mut failed = None;
    for step in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
        let multiples = NumberSet::multiple_of(&Decimal::from(step)).unwrap();
        match all.unite(&multiples, &budget) {
            Ok(united) => all = united,
            Err(error) => failed = Some(error.kind()),
        }
    }
    assert_eq!(failed, Some(ErrorKind::Limit));
}

#[test]
fn empty_without_knowing_it() {
    // Shorter than the period, longer than the search, and without a member.
    let hidden = set("%6 !%6 >=1");
    assert!(hidden.is_empty());
    let nothing = set("int >=1 <=400 %401");
    assert!(nothing.is_empty() && language(&nothing).is_empty());
}
