//! Parametric rules: what a call makes of the parameter, and when an alternative is there.
//!
//! A parameter is a number of 64 bits. `rule::set_bit(3)` calls a rule with one of its bits set, and `%if
//! bit_clear(3)` leaves an alternative out where it is set already; so `"each at most once"` and counters are written
//! down. Each value that a rule is called with is a rule of its own in the grammar, made when it is met.

use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::{Error, Result};

/// Some bits of the parameter, from the lowest to one behind the highest; `_` is all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    low: u32,
    high: u32,
}

impl Bits {
    const ALL: Bits = Bits { low: 0, high: 64 };

    /// As many ones as there are bits.
    fn ones(self) -> u64 {
        u64::MAX >> (64 - (self.high - self.low))
    }

    fn get(self, value: u64) -> u64 {
        (value >> self.low) & self.ones()
    }

    fn set(self, value: u64, part: u64) -> u64 {
        (value & !(self.ones() << self.low)) | ((part & self.ones()) << self.low)
    }
}

/// What a call makes of the parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// This number.
    Value(u64),
    /// The parameter of the caller.
    Same,
    SetBit(u32),
    ClearBit(u32),
    And(u64),
    Or(u64),
    /// One more in some bits; they stand still at all ones.
    Increment(Bits),
    /// One less in some bits; they stand still at nought.
    Decrement(Bits),
}

impl Step {
    /// The parameter of the call, or `None` where it needs one of the caller, who has none.
    pub(super) fn apply(&self, parameter: Option<u64>) -> Option<u64> {
        if let Step::Value(value) = self {
            return Some(*value);
        }
        let value = parameter?;
        Some(match self {
            Step::Value(_) | Step::Same => value,
            Step::SetBit(bit) => value | 1 << bit,
            Step::ClearBit(bit) => value & !(1 << bit),
            Step::And(mask) => value & mask,
            Step::Or(mask) => value | mask,
            Step::Increment(bits) => {
                let part = bits.get(value);
                bits.set(value, if part == bits.ones() { part } else { part + 1 })
            }
            Step::Decrement(bits) => bits.set(value, bits.get(value).saturating_sub(1)),
        })
    }
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    const NAMES: [(&'static str, Comparison); 6] = [
        ("eq", Comparison::Equal),
        ("ne", Comparison::Unequal),
        ("lt", Comparison::Less),
        ("le", Comparison::AtMost),
        ("gt", Comparison::Greater),
        ("ge", Comparison::AtLeast),
    ];

    fn find(name: &str) -> Option<Comparison> {
        Self::NAMES.iter().find(|(other, _)| *other == name).map(|&(_, found)| found)
    }

    fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less => left < right,
            Comparison::AtMost => left <= right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
        }
    }
}

/// When an alternative is there: in postfix order, so that nothing recurses when it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition(Vec<Test>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Constant(bool),
    Compare {
        bits: Bits,
        comparison: Comparison,
        with: u64,
    },
    CountOnes {
        bits: Bits,
        comparison: Comparison,
        with: u64,
    },
    /// Of the last so many results.
    All(usize),
    Any(usize),
    Not,
}

impl Condition {
    pub(super) fn holds(&self, parameter: u64) -> bool {
        let mut results: Vec<bool> = Vec::new();
        for test in &self.0 {
            let result = match *test {
                Test::Constant(value) => value,
                Test::Compare { bits, comparison, with } => comparison.holds(bits.get(parameter), with),
                Test::CountOnes { bits, comparison, with } => {
                    comparison.holds(u64::from(bits.get(parameter).count_ones()), with)
                }
                Test::All(count) => results.split_off(results.len() - count).into_iter().all(|it| it),
                Test::Any(count) => results.split_off(results.len() - count).into_iter().any(|it| it),
                Test::Not => !results.pop().unwrap_or(false),
            };
            results.push(result);
        }
        results.pop().unwrap_or(true)
    }
}

/// How deep conditions may nest.
const DEEPEST_CONDITION: usize = 32;

impl Parser<'_, '_> {
    /// What stands behind `::` in a call.
    pub(super) fn step(&mut self) -> Result<Step> {
        let at = self.at();
        if let TokenKind::Number(_) = self.peek() {
            return self.whole_number().map(Step::Value);
        }
        let name = self.name("what the parameter becomes")?;
        if name == "_" {
            return Ok(Step::Same);
        }
        self.expect("(")?;
        let step = match name {
            "set_bit" => Step::SetBit(self.bit()?),
            "clear_bit" => Step::ClearBit(self.bit()?),
            "bit_and" => Step::And(self.whole_number()?),
            "bit_or" => Step::Or(self.whole_number()?),
            "incr" => Step::Increment(self.bits()?),
            "decr" => Step::Decrement(self.bits()?),
            _ => {
                return Err(Error::syntax(self.source, at, format!("there is no `{name}` of a parameter"))
                    .with_help(
                        "there are a number, `_`, set_bit, clear_bit, bit_and, bit_or, incr and decr",
                    ));
            }
        };
        self.expect(")")?;
        Ok(step)
    }

    /// What stands behind `%if`.
    pub(super) fn condition(&mut self) -> Result<Condition> {
        let mut tests = Vec::new();
        self.tests(&mut tests, 0)?;
        Ok(Condition(tests))
    }

    fn tests(&mut self, tests: &mut Vec<Test>, depth: usize) -> Result<()> {
        let at = self.at();
        let name = self.name("a condition")?;
        if depth > DEEPEST_CONDITION {
            return Err(Error::syntax(self.source, at, "conditions do not nest this deep"));
        }
        if name == "true" {
            tests.push(Test::Constant(true));
            return Ok(());
        }
        self.expect("(")?;
        match name {
            "and" | "or" => {
                let mut count = 1;
                self.tests(tests, depth + 1)?;
                while self.take(",")? {
                    self.tests(tests, depth + 1)?;
                    count += 1;
                }
                tests.push(if name == "and" { Test::All(count) } else { Test::Any(count) });
            }
            "not" => {
                self.tests(tests, depth + 1)?;
                tests.push(Test::Not);
            }
            _ => tests.push(self.test(name, at)?),
        }
        self.expect(")")
    }

    fn test(&mut self, name: &str, at: usize) -> Result<Test> {
        let equal = |bits: Bits, with| Test::Compare { bits, comparison: Comparison::Equal, with };
        if let Some(comparison) = name.strip_prefix("bit_count_").and_then(Comparison::find) {
            let (bits, with) = (self.bits()?, self.second()?);
            return Ok(Test::CountOnes { bits, comparison, with });
        }
        if let Some(comparison) = Comparison::find(name) {
            let (bits, with) = (self.bits()?, self.second()?);
            return Ok(Test::Compare { bits, comparison, with });
        }
        Ok(match name {
            "bit_set" | "bit_clear" => {
                let low = self.bit()?;
                equal(Bits { low, high: low + 1 }, u64::from(name == "bit_set"))
            }
            "is_ones" => {
                let bits = self.bits()?;
                equal(bits, bits.ones())
            }
            "is_zeros" => equal(self.bits()?, 0),
            _ => {
                return Err(Error::syntax(self.source, at, format!("there is no condition `{name}`"))
                    .with_help(
                        "there are true, bit_set, bit_clear, is_ones, is_zeros, eq, ne, lt, le, gt, ge, \
                     bit_count_eq and the like, and, or, not",
                    ));
            }
        })
    }

    fn second(&mut self) -> Result<u64> {
        self.expect(",")?;
        self.whole_number()
    }

    fn whole_number(&mut self) -> Result<u64> {
        let at = self.at();
        let TokenKind::Number(text) = *self.peek() else {
            return Err(self.expected("a number"));
        };
        self.bump()?;
        let value = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        value.map_err(|_| Error::syntax(self.source, at, "a parameter is a number of 64 bits"))
    }

    fn bit(&mut self) -> Result<u32> {
        let at = self.at();
        match self.whole_number()? {
            bit @ 0..64 => Ok(bit as u32),
            _ => Err(Error::syntax(self.source, at, "the bits of a parameter are 0 to 63")),
        }
    }

    /// `_` or `[low:high]`.
    fn bits(&mut self) -> Result<Bits> {
        if !self.take("[")? {
            let at = self.at();
            return match self.name("`_` or bits such as `[0:8]`")? {
                "_" => Ok(Bits::ALL),
                _ => Err(Error::syntax(self.source, at, "expected `_` or bits such as `[0:8]`")),
            };
        }
        let at = self.at();
        let low = self.whole_number()?;
        self.expect(":")?;
        let high = self.whole_number()?;
        self.expect("]")?;
        if low < high && high <= 64 {
            Ok(Bits { low: low as u32, high: high as u32 })
        } else {
            Err(Error::syntax(self.source, at, "bits go from a lower to a higher one, `[0:64]` at most"))
        }
    }
}
