//! The laws of the algebra, structurally where the form is unique and by membership everywhere.

use proptest::prelude::*;

use super::random::{Formula, formula, texts};
use super::*;

fn equal(one: &NumberSet, other: &NumberSet, values: &[String]) -> bool {
    values.iter().all(|text| one.contains(&decimal(text)) == other.contains(&decimal(text)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn laws(one in formula(), two in formula(), values in prop::collection::vec(texts(), 30)) {
        let budget = Budget::default();
        let (Ok(one), Ok(two)) = (one.set(&budget), two.set(&budget)) else { return Ok(()) };
        let not = |set: &NumberSet| set.complement(&budget).unwrap();
        let (Ok(and), Ok(or)) = (one.intersect(&two, &budget), one.unite(&two, &budget)) else { return Ok(()) };
        prop_assert!(equal(&not(&not(&one)), &one, &values));
        prop_assert!(one.intersect(&not(&one), &budget).unwrap().is_empty());
        prop_assert!(one.unite(&not(&one), &budget).unwrap().is_all());
        prop_assert!(equal(&not(&and), &not(&one).unite(&not(&two), &budget).unwrap(), &values));
        prop_assert!(equal(&not(&or), &not(&one).intersect(&not(&two), &budget).unwrap(), &values));
        prop_assert!(equal(&one.unite(&and, &budget).unwrap(), &one, &values));
        prop_assert!(equal(&one.intersect(&or, &budget).unwrap(), &one, &values));
    }

    #[test]
    fn membership(formula in formula(), values in prop::collection::vec(texts(), 30)) {
        let Ok(set) = formula.set(&Budget::default()) else { return Ok(()) };
        for text in values {
            let value = decimal(&text);
            prop_assert_eq!(set.contains(&value), formula.holds(&text), "{}", text);
            prop_assert!(!(set.is_empty() && formula.holds(&text)));
        }
    }
}

#[test]
fn usual_sets_have_one_form() {
    for (one, other) in [
        ("int >0", "int >=1"),
        ("int >0.5 <=9.5", "int >=1 <=9"),
        ("%2 %3", "%6"),
        ("%0.1 int", "int"),
        ("int >4 <6", "=5"),
        ("!int int", "=1 =2"),
        ("int >0.2 <0.8", "=1 =2"),
        (">5 <5", ">=5 <5"),
        ("!!int", "int"),
        ("!!%0.25 >=-1", "%0.25 >=-1"),
        ("!int >0.2 <0.8", ">0.2 <0.8"),
        ("!>=3", "<3"),
        ("!%4 %2 %4", ">1 <1"),
        ("%3 !%6 %6", ">1 <1"),
        ("%6 !%4 >=1 <=23 !=6 !=18", ">1 <1"),
    ] {
        assert_eq!(set(one), set(other), "{one} and {other}");
    }
}

#[test]
fn complement_twice_has_the_same_form() {
    let budget = Budget::default();
    for text in [
        "int",
        ">=0",
        "int >=0",
        "int >3 <=90",
        "%0.01 >=0.5",
        "=5",
        "!=5",
        "!int >=0.1",
        "int !%3",
        "%5 <=-7",
    ] {
        let set = set(text);
        assert_eq!(set.complement(&budget).unwrap().complement(&budget).unwrap(), set, "{text}");
    }
}

#[test]
fn neighbours_join() {
    let budget = Budget::default();
    let unite = |one: &str, other: &str| set(one).unite(&set(other), &budget).unwrap();
    assert_eq!(unite("int >=1 <=5", "int >=6 <=9"), set("int >=1 <=9"));
    assert_eq!(unite("=3", "int >=4"), set("int >=3"));
    assert_eq!(unite(">0 <5", "=5"), set(">0 <=5"));
    assert_eq!(unite("<5", ">=5"), NumberSet::all());
    assert_eq!(unite("<=5", ">6").complement(&budget).unwrap(), set(">5 <=6"));
}

#[test]
fn many_points_are_quick() {
    let budget = Budget::default();
    let points = NumberSet::any_of((0..100_000).map(|at| Decimal::from(at * 7 % 100_003)));
    let started = std::time::Instant::now();
    let rest = points.complement(&budget).unwrap().intersect(&set("int >=0 <=1000"), &budget).unwrap();
    assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
    for value in 0..=1000 {
        let value = Decimal::from(value);
        assert_ne!(points.contains(&value), rest.contains(&value));
    }
}

#[test]
fn too_many_pieces_are_refused() {
    let budget = Budget::new(Limits { max_states: 50, ..Limits::default() }, crate::CancelFlag::default());
    let points = NumberSet::any_of((0..60).map(Decimal::from));
    assert_eq!(points.complement(&budget).unwrap_err().kind(), crate::ErrorKind::Limit);
}

#[test]
fn only_positive_steps() {
    for step in ["0", "-1", "-0.5"] {
        assert!(NumberSet::multiple_of(&decimal(step)).is_err());
    }
}

#[test]
fn a_formula_can_fail() {
    // The reference is not the code under test: a wrong set would be seen.
    assert!(Formula::Step(7).holds("14.0") && !Formula::Step(7).holds("15"));
}
