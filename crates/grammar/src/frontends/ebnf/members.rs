//! The macro `Members`: a list with conditions between its members.
//!
//! ```text
//! Members(("name", true, colon_text), ("age", false, colon_number, (colon_text, 0)),
//!         order="any", separator=",", counters=((0, 1),), implies=((1, 0),),
//!         others=((any_text, colon_value),), unique=true)
//! ```
//!
//! Each tuple is an entry: its key, which is left out where there is none; whether it is required; and the ways to write
//! what follows the key, if any. A way is the name of a rule or a string, or a tuple of that and the counters that it
//! counts for, from 0. A counter is `(min, max)` or `(min,)`. `implies` has pairs of entries, from 0. Others begin with
//! the rule of their keys, or with `false` where they have none. `order` is `"sequence"`, `"declared"` or `"any"`.
//! `escapes` are those that the keys may have: `"any"`, `"canonical"` or `"least"`.

use smallvec::SmallVec;

use super::macros::{Argument, Call, Value};
use crate::error::{Place, Result};
use crate::ir::members::{Count, Entry, Layout, Order, Others, Part, Variant};
use crate::ir::{Escapes, ExprId};

/// What is said where escapes have another name.
pub(super) const ESCAPES_HELP: &str = "`escapes` are \"any\", \"canonical\" or \"least\"";

impl<'s> Call<'_, 's> {
    pub(super) fn members(&mut self) -> Result<ExprId> {
        let mut parts = Parts::default();
        let order = self.order()?;
        let Some(separator) = self.take_named("separator") else {
            return self.refuse(self.at, "`Members` needs a `separator`");
        };
        let separator = self.part(separator, &mut parts)?;
        let mut entries = Vec::with_capacity(self.positional.len());
        for argument in std::mem::take(&mut self.positional) {
            entries.push(self.entry(argument, &mut parts)?);
        }
        let mut others = Vec::new();
        for argument in self.list("others")? {
            others.push(self.others(argument, &mut parts)?);
        }
        let mut counters = Vec::new();
        for argument in self.list("counters")? {
            counters.push(self.counter(argument)?);
        }
        let mut implies = Vec::new();
        for argument in self.list("implies")? {
            implies.push(self.implication(argument)?);
        }
        let unique = self.flag("unique", false)?;
        let escapes = self.escapes()?;
        let layout = Layout {
            order,
            separator,
            entries: entries.into(),
            others: others.into(),
            counters: counters.into(),
            implies: implies.into(),
            unique,
            escapes,
            track: Box::default(),
        };
        layout
            .check(parts.exprs.len())
            .map_err(|error| error.at(Place::in_text(self.parser.source, self.at)))?;
        Ok(self.parser.builder.members(layout, parts.exprs))
    }

    fn order(&mut self) -> Result<Order> {
        let Some(argument) = self.take_named("order") else { return Ok(Order::Declared) };
        let at = argument.at;
        match &*self.text(argument, "`order`")? {
            "sequence" => Ok(Order::Sequence),
            "declared" => Ok(Order::Declared),
            "any" => Ok(Order::Any),
            _ => self.refuse(at, "`order` is \"sequence\", \"declared\" or \"any\""),
        }
    }

    fn escapes(&mut self) -> Result<Escapes> {
        let Some(argument) = self.take_named("escapes") else { return Ok(Escapes::Any) };
        let at = argument.at;
        let name = self.text(argument, "`escapes`")?;
        match Escapes::find(&name) {
            Some(escapes) => Ok(escapes),
            None => self.refuse(at, ESCAPES_HELP),
        }
    }

    /// The items of a tuple that is given by name, none if it is not.
    fn list(&mut self, name: &str) -> Result<Vec<Argument<'s>>> {
        match self.take_named(name) {
            None => Ok(Vec::new()),
            Some(Argument { value: Value::Tuple(items), .. }) => Ok(items),
            Some(other) => self.refuse(other.at, format!("`{name}` is a tuple of tuples")),
        }
    }

    fn tuple(&self, argument: Argument<'s>, what: &str) -> Result<std::vec::IntoIter<Argument<'s>>> {
        match argument.value {
            Value::Tuple(items) => Ok(items.into_iter()),
            _ => self.refuse(argument.at, format!("{what} is a tuple")),
        }
    }

    /// An expression: a string, or the name of a rule.
    fn part(&mut self, argument: Argument<'s>, parts: &mut Parts) -> Result<Part> {
        let expr = match argument.value {
            Value::Text(text) => self.parser.builder.bytes(&*text),
            Value::Name(name) => {
                let rule = self.parser.rule_id(name, argument.at)?;
                self.parser.builder.rule(rule)
            }
            _ => return self.refuse(argument.at, "a part of `Members` is a string or the name of a rule"),
        };
        Ok(parts.number(expr))
    }

    fn entry(&mut self, argument: Argument<'s>, parts: &mut Parts) -> Result<Entry> {
        let at = argument.at;
        let mut items = self.tuple(argument, "an entry")?.peekable();
        let key = match items.next_if(|item| matches!(item.value, Value::Text(_))) {
            Some(Argument { value: Value::Text(key), .. }) => Some(key.into()),
            _ => None,
        };
        let Some(Argument { value: Value::Boolean(required), .. }) = items.next() else {
            return self
                .refuse(at, "an entry is its key, whether it is required, and what may follow the key");
        };
        let variants = items.map(|item| self.variant(item, parts)).collect::<Result<_>>()?;
        Ok(Entry { key, required, variants })
    }

    fn others(&mut self, argument: Argument<'s>, parts: &mut Parts) -> Result<Others> {
        let at = argument.at;
        let mut items = self.tuple(argument, "a family of others")?;
        let keys = match items.next() {
            None => return self.refuse(at, "others need the rule of their keys, or `false`"),
            Some(Argument { value: Value::Boolean(false), .. }) => None,
            Some(keys) => Some(self.part(keys, parts)?),
        };
        let variants = items.map(|item| self.variant(item, parts)).collect::<Result<_>>()?;
        Ok(Others { keys, variants })
    }

    fn variant(&mut self, argument: Argument<'s>, parts: &mut Parts) -> Result<Variant> {
        if !matches!(argument.value, Value::Tuple(_)) {
            return Ok(Variant { value: self.part(argument, parts)?, counters: SmallVec::new() });
        }
        let at = argument.at;
        let mut items = self.tuple(argument, "a way to write a value")?;
        let Some(value) = items.next() else {
            return self.refuse(at, "a way to write a value begins with a string or the name of a rule");
        };
        let value = self.part(value, parts)?;
        let mut counters = items.map(|item| self.number(&item)).collect::<Result<SmallVec<[u32; 4]>>>()?;
        counters.sort_unstable();
        counters.dedup();
        Ok(Variant { value, counters })
    }

    fn number(&self, argument: &Argument<'s>) -> Result<u32> {
        let number =
            if let Value::Integer(number) = argument.value { u32::try_from(number).ok() } else { None };
        match number {
            Some(number) => Ok(number),
            None => self.refuse(argument.at, format!("a number from 0 to {} is expected", u32::MAX)),
        }
    }

    fn numbers(&self, argument: Argument<'s>, what: &str) -> Result<Vec<u32>> {
        self.tuple(argument, what)?.map(|item| self.number(&item)).collect()
    }

    fn counter(&mut self, argument: Argument<'s>) -> Result<Count> {
        let at = argument.at;
        match *self.numbers(argument, "a counter")? {
            [min] => Ok(Count { min, max: None }),
            [min, max] => Ok(Count { min, max: Some(max) }),
            _ => self.refuse(at, "a counter is `(min, max)` or `(min,)`"),
        }
    }

    fn implication(&mut self, argument: Argument<'s>) -> Result<(u32, u32)> {
        let at = argument.at;
        match *self.numbers(argument, "an implication")? {
            [first, second] => Ok((first, second)),
            _ => self.refuse(at, "an implication is a pair of entries"),
        }
    }
}

/// The parts of a list, each once.
#[derive(Default)]
struct Parts {
    exprs: Vec<ExprId>,
    numbers: hashbrown::HashMap<ExprId, Part>,
}

impl Parts {
    fn number(&mut self, expr: ExprId) -> Part {
        *self.numbers.entry(expr).or_insert_with(|| {
            self.exprs.push(expr);
            self.exprs.len() as u32 - 1
        })
    }
}
