//! Pieces as text, for the automata that are made of them: what the printer prints must read back.
//!
//! `[0, 100): 0 +1*3 -1*6` are the multiples of 3 and not of 6 from 0 to below 100. A bound that is left out is none.
//! The sum is that of `condition`.

use std::fmt;

use super::condition::Condition;
use super::decimal::Decimal;
use super::interval::{Cut, Interval, Side};
use super::set::Piece;
use super::steps;
use crate::error::{Error, ErrorKind, Result};

impl fmt::Display for Piece {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.interval, self.condition)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.low {
            Cut::At(value, Side::Below) => write!(out, "[{value}, ")?,
            Cut::At(value, Side::Above) => write!(out, "({value}, ")?,
            _ => out.write_str("(, ")?,
        }
        match &self.high {
            Cut::At(value, Side::Above) => write!(out, "{value}]"),
            Cut::At(value, Side::Below) => write!(out, "{value})"),
            _ => out.write_str(")"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", u8::from(self.holds_off_grid()))?;
        self.terms().iter().try_for_each(|(step, coefficient)| write!(out, " {coefficient:+}*{step}"))
    }
}

impl Piece {
    /// Reads what is shown of a piece at or above zero.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (interval, condition) = text.split_once(": ").ok_or_else(|| malformed(text))?;
        let interval = parse_interval(interval)?.ok_or_else(|| malformed(text))?;
        let condition = parse_condition(condition)?.ok_or_else(|| malformed(text))?;
        Ok(Piece { interval, condition })
    }
}

fn malformed(text: &str) -> Error {
    let start: String = text.chars().take(60).collect();
    Error::new(ErrorKind::Syntax, format!("{start:?} does not describe multiples in an interval"))
        .with_help("write an interval and a sum of steps, such as `[0, 100): 0 +1*7`")
}

fn parse_interval(text: &str) -> Result<Option<Interval>> {
    let Some((low, high)) = text.split_once(", ") else { return Ok(None) };
    let low = match low.split_at_checked(1) {
        Some(("(", "")) => Cut::Start,
        Some(("[", value)) => Cut::below(Decimal::parse(value)?),
        Some(("(", value)) => Cut::above(Decimal::parse(value)?),
        _ => return Ok(None),
    };
    let high = match high.split_at_checked(high.len().saturating_sub(1)) {
        Some(("", ")")) => Cut::End,
        Some((value, "]")) => Cut::above(Decimal::parse(value)?),
        Some((value, ")")) => Cut::below(Decimal::parse(value)?),
        _ => return Ok(None),
    };
    let is_below_zero = matches!(&low, Cut::At(value, _) if value.is_negative());
    Ok(Interval::new(low, high).filter(|_| !is_below_zero))
}

fn parse_condition(text: &str) -> Result<Option<Condition>> {
    let mut words = text.split(' ');
    let everywhere = match words.next() {
        Some("0") => false,
        Some("1") => true,
        _ => return Ok(None),
    };
    let mut terms = Vec::new();
    for word in words {
        let Some((coefficient, step)) = word.split_once('*') else { return Ok(None) };
        let Ok(coefficient) = coefficient.parse() else { return Ok(None) };
        let step = steps::checked(Decimal::parse(step)?)?;
        if step.is_zero() || step.is_negative() {
            return Ok(None);
        }
        terms.push((step, coefficient));
    }
    Condition::new(everywhere, terms).map(Some)
}

/// How Python writes the double that a JSON text spells, if it is one.
pub(crate) fn float_text(text: &str) -> Option<String> {
    const PLAIN: std::ops::Range<i32> = -4..16;
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    if value == 0.0 || PLAIN.contains(&exponent) {
        return Some(format!("{value:?}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    Some(format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()))
}
