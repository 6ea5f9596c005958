//! Random sets and random spellings, both ways: what is accepted is in the set, and what is in the set is accepted in
//! its usual spellings.
//!
//! The reference works on machine integers in units of 10^-12, apart from the code under test.

use proptest::prelude::*;

use super::*;

const PLACES: i32 = 12;

/// Steps in the units of the reference, with their texts.
const STEPS: &[(&str, i128)] = &[
    ("1", 1_000_000_000_000),
    ("2", 2_000_000_000_000),
    ("3", 3_000_000_000_000),
    ("0.1", 100_000_000_000),
    ("0.01", 10_000_000_000),
    ("0.25", 250_000_000_000),
    ("10", 10_000_000_000_000),
    ("7", 7_000_000_000_000),
    ("2.5", 2_500_000_000_000),
    ("100", 100_000_000_000_000),
    ("12", 12_000_000_000_000),
    ("1e-6", 1_000_000),
    ("0.00005", 50_000_000),
    ("20", 20_000_000_000_000),
];

/// Bounds; the texts are exact in the units of the reference.
const BOUNDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "5",
    "0.5",
    "-0.5",
    "10",
    "100",
    "-100",
    "99",
    "0.1",
    "0.25",
    "1.5",
    "9.99",
    "12.375",
    "-3.2",
    "255",
    "65535",
    "1000",
    "1e-6",
    "-0.0001",
    "1e16",
    "12345678901234567",
    "-9223372036854775808",
    "9223372036854775807",
    "3e19",
    "1e20",
    "0.000012",
];

#[derive(Clone, Debug)]
pub(super) enum Formula {
    /// Multiples of the step with this number.
    Step(usize),
    AtLeast(usize),
    MoreThan(usize),
    AtMost(usize),
    LessThan(usize),
    Exactly(usize),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Not(Box<Formula>),
}

pub(super) fn formula() -> impl Strategy<Value = Formula> {
    let bound = || 0..BOUNDS.len();
    let leaf = prop_oneof![
        3 => (0..STEPS.len()).prop_map(Formula::Step),
        2 => Just(Formula::Step(0)),
        3 => bound().prop_map(Formula::AtLeast),
        2 => bound().prop_map(Formula::MoreThan),
        3 => bound().prop_map(Formula::AtMost),
        2 => bound().prop_map(Formula::LessThan),
        1 => bound().prop_map(Formula::Exactly),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(|(x, y)| (Box::new(x), Box::new(y)));
        prop_oneof![
            4 => two.clone().prop_map(|(x, y)| Formula::And(x, y)),
            2 => two.prop_map(|(x, y)| Formula::Or(x, y)),
            1 => inner.prop_map(|x| Formula::Not(Box::new(x))),
        ]
    })
}

impl Formula {
    pub(super) fn set(&self, budget: &Budget) -> Result<NumberSet> {
        let bound = |at: &usize| decimal(BOUNDS[*at]);
        Ok(match self {
            Formula::Step(at) => NumberSet::multiple_of(&decimal(STEPS[*at].0))?,
            Formula::AtLeast(at) => NumberSet::at_least(bound(at)),
            Formula::MoreThan(at) => NumberSet::more_than(bound(at)),
            Formula::AtMost(at) => NumberSet::at_most(bound(at)),
            Formula::LessThan(at) => NumberSet::less_than(bound(at)),
            Formula::Exactly(at) => NumberSet::exactly(&bound(at)),
            Formula::And(x, y) => x.set(budget)?.intersect(&y.set(budget)?, budget)?,
            Formula::Or(x, y) => x.set(budget)?.unite(&y.set(budget)?, budget)?,
            Formula::Not(x) => x.set(budget)?.complement(budget)?,
        })
    }

    /// Whether the number that `text` spells is in the set.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.holds_units(units(text).unwrap())
    }

    fn holds_units(&self, value: i128) -> bool {
        let bound = |at: &usize| units(BOUNDS[*at]).unwrap();
        match self {
            Formula::Step(at) => value % STEPS[*at].1 == 0,
            Formula::AtLeast(at) => value >= bound(at),
            Formula::MoreThan(at) => value > bound(at),
            Formula::AtMost(at) => value <= bound(at),
            Formula::LessThan(at) => value < bound(at),
            Formula::Exactly(at) => value == bound(at),
            Formula::And(x, y) => x.holds_units(value) && y.holds_units(value),
            Formula::Or(x, y) => x.holds_units(value) || y.holds_units(value),
            Formula::Not(x) => !x.holds_units(value),
        }
    }
}

/// The value of a spelling in units, where it is a whole number of them that fits.
fn units(text: &str) -> Option<i128> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let shift = exponent.parse::<i32>().ok()? + PLACES - i32::try_from(fraction.len()).ok()?;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 { digits.checked_mul(power) } else { (digits % power == 0).then(|| digits / power) }
}

/// Spellings whose value is exact in units.
pub(super) fn texts() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec!["", "-"]);
    let whole = prop_oneof![
        2 => Just("0".to_owned()),
        3 => (1..13_u32).prop_map(|n| n.to_string()),
        3 => (1..300_u32).prop_map(|n| n.to_string()),
        1 => (0..100_000_u64).prop_map(|n| n.to_string()),
        1 => (0..u64::MAX).prop_map(|n| n.to_string()),
    ];
    let fraction = prop_oneof![
        4 => Just(String::new()),
        2 => Just(".0".to_owned()),
        3 => "\\.[0-9]{1,2}0{0,2}",
        1 => "\\.[0-9]{1,5}",
        1 => "\\.0{3,5}[0-9]",
    ];
    let exponent = prop_oneof![
        6 => Just(String::new()),
        1 => "[eE][+]?0?[0-4]",
        1 => "[eE]-0?[0-7]",
        1 => "[eE][+]?0?1[5-8]",
    ];
    let free = (sign, whole, fraction, exponent).prop_map(|(s, w, f, e)| format!("{s}{w}{f}{e}"));
    let near = (0..BOUNDS.len(), -3..4_i128, prop::sample::select(vec![1, 1_000_000, 1_000_000_000_000]))
        .prop_map(|(at, steps, unit)| plain(units(BOUNDS[at]).unwrap() + steps * unit));
    prop_oneof![3 => free, 1 => near].prop_filter("not exact in units", |text| units(text).is_some())
}

/// The plain spelling of a number of units.
fn plain(units: i128) -> String {
    let scale = 10_i128.pow(PLACES.unsigned_abs());
    let (whole, fraction) = (units.abs() / scale, units.abs() % scale);
    let fraction = format!("{fraction:012}");
    let fraction = fraction.trim_end_matches('0');
    let sign = if units < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// What Python's `repr` writes for a float.
fn python(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        return format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    format!("{value:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_accepted_is_in_the_set(formula in formula(), texts in prop::collection::vec(texts(), 60)) {
        let Ok(set) = formula.set(&Budget::default()) else { return Ok(()) };
        let language = language(&set);
        for text in texts {
            if language.matches(text.as_bytes()) {
                prop_assert!(formula.holds(&text), "{} is accepted", text);
            }
        }
    }

    #[test]
    fn what_is_in_the_set_is_accepted(formula in formula(), texts in prop::collection::vec(texts(), 60)) {
        let Ok(set) = formula.set(&Budget::default()) else { return Ok(()) };
        let language = language(&set);
        for text in texts.iter().filter(|text| formula.holds(text)) {
            let shortest = plain(units(text).unwrap());
            let longer = format!("{shortest}{}", if shortest.contains('.') { "00" } else { ".0" });
            let mut spellings = vec![shortest, longer];
            if !text.contains(['e', 'E']) {
                spellings.push(text.clone());
            }
            let float = python(text.parse::<f64>().unwrap());
            if units(&float).is_some_and(|units| formula.holds_units(units)) {
                spellings.push(float);
            }
            for spelling in spellings {
                prop_assert!(language.matches(spelling.as_bytes()), "{} of {} is refused", spelling, text);
            }
        }
    }

    #[test]
    fn draft_4_has_digits_only(formula in formula(), texts in prop::collection::vec(texts(), 60)) {
        let Ok(set) = formula.set(&Budget::default()) else { return Ok(()) };
        let set = set.intersect(&NumberSet::integers(), &Budget::default()).unwrap();
        let language = try_language(&set, Forms { integers_as_floats: false, negative_zero: true, canonical: false }).unwrap();
        for text in texts {
            let is_plain = !text.contains(['.', 'e', 'E']);
            prop_assert_eq!(language.matches(text.as_bytes()), is_plain && formula.holds(&text), "{}", text);
        }
    }
}
