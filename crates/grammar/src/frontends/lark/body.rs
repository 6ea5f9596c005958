//! Bodies: alternatives, conjunctions, sequences, quantifiers and what they are made of.
//!
//! Groups nest on a list of frames, so no depth of parentheses reaches the native stack.
//!
//! Binding, from the tightest: `~e` before the element; one quantifier after it; the sequence; `a & b`; `a | b`. A `~`
//! behind an element and before a number is Lark's count, `e ~ 2..3`.

use std::borrow::Cow;

use super::ast::{Body, Node, NodeId};
use super::lexer::TokenKind;
use super::parameters::Condition;
use super::parser::Parser;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::TokenSet;

/// The longest range of token ids that is written out.
const LONGEST_TOKEN_RANGE: u32 = 1_000_000;

/// How deep templates may be the arguments of templates; reading them recurses.
const DEEPEST_TEMPLATE: usize = 32;

/// An open group, or the whole body at the bottom of the stack.
struct Frame {
    opened_at: usize,
    /// The mark that closes it; none for the whole body.
    closer: Option<&'static str>,
    alternatives: Vec<NodeId>,
    conjuncts: Vec<NodeId>,
    items: Vec<NodeId>,
    /// How many `~` stand before the item that comes next.
    complements: usize,
    condition: Option<Condition>,
}

impl Frame {
    fn new(opened_at: usize, closer: Option<&'static str>) -> Self {
        Frame {
            opened_at,
            closer,
            alternatives: Vec::new(),
            conjuncts: Vec::new(),
            items: Vec::new(),
            complements: 0,
            condition: None,
        }
    }
}

impl<'s> Parser<'_, 's> {
    /// Reads the body of a definition, up to what cannot belong to it.
    pub(super) fn body(&mut self) -> Result<Body> {
        let first = self.texts.next_node();
        let root = self.alternatives()?;
        Ok(Body { first, root })
    }

    /// Reads alternatives up to the end of the body.
    fn alternatives(&mut self) -> Result<NodeId> {
        let mut stack: Vec<Frame> = Vec::new();
        let mut frame = Frame::new(self.at(), None);
        while !self.at_end_of_body() {
            match *self.peek() {
                TokenKind::Mark(open @ ("(" | "[")) => {
                    let at = self.bump()?.at;
                    let closer = if open == "(" { ")" } else { "]" };
                    self.check_depth(stack.len() + 1, at)?;
                    stack.push(std::mem::replace(&mut frame, Frame::new(at, Some(closer))));
                }
                TokenKind::Mark(closer @ (")" | "]")) if frame.closer == Some(closer) => {
                    let at = frame.opened_at;
                    let mut group = self.finish_alternatives(&mut frame)?;
                    self.bump()?;
                    if closer == "]" {
                        group = self.texts.add(Node::Repeat { body: group, min: 0, max: Some(1) }, at);
                    }
                    frame = stack.pop().unwrap_or_else(|| Frame::new(at, None));
                    self.finish_item(&mut frame, group, at)?;
                }
                TokenKind::Mark("|") => {
                    self.finish_conjuncts(&mut frame)?;
                    self.bump()?;
                }
                TokenKind::Mark("&") => {
                    self.finish_sequence(&mut frame, true)?;
                    self.bump()?;
                }
                TokenKind::Mark("~") => {
                    frame.complements += 1;
                    self.bump()?;
                }
                TokenKind::Mark("->") => {
                    self.bump()?;
                    self.name("the name of an alias")?;
                    if !self.is_end_of_alternative(frame.closer) {
                        return Err(self.expected("the end of the alternative after its alias"));
                    }
                }
                TokenKind::Directive("if") => {
                    self.bump()?;
                    frame.condition = Some(self.condition()?);
                }
                TokenKind::Mark("}") if stack.is_empty() => break,
                _ => {
                    let at = self.at();
                    let atom = self.atom()?;
                    self.finish_item(&mut frame, atom, at)?;
                }
            }
        }
        if let Some(closer) = frame.closer {
            let message = format!("the group that begins here is never closed with `{closer}`");
            return Err(Error::syntax(self.source, frame.opened_at, message));
        }
        self.finish_alternatives(&mut frame)
    }

    fn is_end_of_alternative(&self, closer: Option<&str>) -> bool {
        match self.peek() {
            TokenKind::Mark("|" | "}") | TokenKind::Directive("if") => true,
            TokenKind::Mark(mark) if Some(*mark) == closer => true,
            _ => self.at_end_of_body(),
        }
    }

    fn check_depth(&self, depth: usize, at: usize) -> Result<()> {
        self.budget.check_depth(depth).map_err(|error| error.at(Place::in_text(self.source, at)))
    }

    /// Puts an item, under its `~` and its quantifier, at the end of the sequence.
    fn finish_item(&mut self, frame: &mut Frame, mut item: NodeId, at: usize) -> Result<()> {
        if frame.complements % 2 == 1 {
            item = self.texts.add(Node::Not(item), at);
        }
        frame.complements = 0;
        if let Some((min, max)) = self.quantifier()? {
            item = self.texts.add(Node::Repeat { body: item, min, max }, at);
            if self.is_quantifier()? {
                return Err(Error::syntax(self.source, self.at(), "a quantifier cannot follow another one")
                    .with_help("put parentheses around what is to be repeated"));
            }
        }
        frame.items.push(item);
        Ok(())
    }

    fn finish_sequence(&mut self, frame: &mut Frame, needs_items: bool) -> Result<()> {
        if frame.complements > 0 {
            return Err(self.expected("something to complement after `~`"));
        }
        if needs_items && frame.items.is_empty() {
            return Err(self.expected("an element").with_help("the empty string is written `\"\"`"));
        }
        let items = std::mem::take(&mut frame.items);
        let sequence = match items[..] {
            [item] => item,
            _ => self.texts.add(Node::Seq(items), frame.opened_at),
        };
        frame.conjuncts.push(sequence);
        Ok(())
    }

    fn finish_conjuncts(&mut self, frame: &mut Frame) -> Result<()> {
        self.finish_sequence(frame, !frame.conjuncts.is_empty())?;
        let conjuncts = std::mem::take(&mut frame.conjuncts);
        let mut alternative = match conjuncts[..] {
            [item] => item,
            _ => self.texts.add(Node::And(conjuncts), frame.opened_at),
        };
        if let Some(condition) = frame.condition.take() {
            alternative = self.texts.add(Node::If { body: alternative, condition }, frame.opened_at);
        }
        frame.alternatives.push(alternative);
        Ok(())
    }

    fn finish_alternatives(&mut self, frame: &mut Frame) -> Result<NodeId> {
        self.finish_conjuncts(frame)?;
        let alternatives = std::mem::take(&mut frame.alternatives);
        // The root of a body is always its last node.
        Ok(self.texts.add(Node::Alt(alternatives), frame.opened_at))
    }

    fn is_quantifier(&self) -> Result<bool> {
        Ok(match self.peek() {
            TokenKind::Mark("?" | "!") if self.at_end_of_body() => false,
            TokenKind::Mark("?" | "*" | "+" | "{") => true,
            TokenKind::Mark("~") => matches!(self.peek_second()?, TokenKind::Number(_)),
            _ => false,
        })
    }

    /// Reads the quantifier that comes next, if one does.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        if !self.is_quantifier()? {
            return Ok(None);
        }
        let mark = self.bump()?;
        let (least, most) = match mark.kind {
            TokenKind::Mark("?") => (0, Some(1)),
            TokenKind::Mark("*") => (0, None),
            TokenKind::Mark("+") => (1, None),
            TokenKind::Mark("~") => {
                let least = self.count()?;
                (least, Some(if self.take("..")? { self.count()? } else { least }))
            }
            _ => self.bounds()?,
        };
        if most.is_some_and(|most| most < least) {
            let message = format!("the least count, {least}, is greater than the greatest");
            return Err(Error::syntax(self.source, mark.at, message));
        }
        Ok(Some((least, most)))
    }

    /// Reads `n}`, `n,m}`, `n,}` or `,m}`.
    fn bounds(&mut self) -> Result<(u32, Option<u32>)> {
        let least = if self.is_mark(",") { 0 } else { self.count()? };
        let mut most = Some(least);
        if self.take(",")? {
            most = if self.is_mark("}") { None } else { Some(self.count()?) };
        }
        self.expect("}")?;
        Ok((least, most))
    }

    fn count(&mut self) -> Result<u32> {
        let at = self.at();
        let TokenKind::Number(text) = *self.peek() else {
            return Err(self.expected("a count"));
        };
        self.bump()?;
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(count) => Ok(count),
            Err(_) if digits => {
                let message = format!("a count of {text} is beyond the greatest one, {}", u32::MAX);
                Err(Error::new(ErrorKind::Limit, message).at(Place::in_text(self.source, at)))
            }
            Err(_) => Err(Error::syntax(self.source, at, "a count is a whole number")),
        }
    }

    pub(super) fn atom(&mut self) -> Result<NodeId> {
        match *self.peek() {
            TokenKind::Directive("json") => {
                let text = self.lexer.json_object(self.at())?;
                let at = self.bump()?.at;
                return Ok(self.texts.add(Node::Json(text), at));
            }
            TokenKind::Directive("regex") => {
                let text = self.lexer.json_object(self.at())?;
                let at = self.bump()?.at;
                let chunks = self.chunks(text, at)?;
                return Ok(self.texts.add(Node::Substring(chunks), at));
            }
            TokenKind::Directive("lark") => {
                let at = self.at();
                let document = self.nested()?;
                return Ok(self.texts.add(Node::Nested(document), at));
            }
            TokenKind::Mark(_) => return Err(self.expected("an element")),
            _ => {}
        }
        let token = self.bump()?;
        let at = token.at;
        let node = match token.kind {
            TokenKind::Literal { text, ignore_case } => self.literal(text, ignore_case, at)?,
            TokenKind::Regex { pattern, flags } => Node::Regex { pattern, flags },
            TokenKind::Name(name) => self.reference(name, at)?,
            TokenKind::TokenIds(list) => Node::Tokens(self.token_ids(list, at)?),
            TokenKind::TokenText(text) => Node::TokenText(text),
            TokenKind::Named(name) if !name.is_empty() => Node::Named(name),
            other => {
                let message = format!("expected an element but found {}", other.describe());
                return Err(Error::syntax(self.source, at, message));
            }
        };
        Ok(self.texts.add(node, at))
    }

    /// A string, or a range that begins with it.
    fn literal(&mut self, text: Cow<'s, str>, ignore_case: bool, at: usize) -> Result<Node<'s>> {
        if !self.take("..")? {
            return Ok(Node::Text { text, ignore_case });
        }
        let end_at = self.at();
        let TokenKind::Literal { text: end, ignore_case: end_ignores } = self.bump()?.kind else {
            return Err(Error::syntax(
                self.source,
                end_at,
                "a range ends with a string, as in `\"a\"..\"z\"`",
            ));
        };
        let single = |text: &str| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        match (single(&text), single(&end)) {
            (Some(low), Some(high)) if low <= high && !ignore_case && !end_ignores => {
                Ok(Node::Range(low, high))
            }
            (Some(low), Some(high)) if low > high => {
                let message = "this range is reversed: its first character comes after its last";
                Err(Error::syntax(self.source, at, message))
            }
            _ => {
                Err(Error::syntax(self.source, at, "the ends of a range are single characters, without `i`"))
            }
        }
    }

    /// What a name that was read stands for: itself, a template with arguments, a parametric rule.
    fn reference(&mut self, name: &'s str, at: usize) -> Result<Node<'s>> {
        if self.take("::")? {
            return Ok(Node::Step { name, step: self.step()? });
        }
        let is_call = self.is_mark("{")
            && self.at() == at + name.len()
            && !matches!(self.peek_second()?, TokenKind::Number(_) | TokenKind::Mark(","));
        if !is_call {
            return Ok(Node::Name(name));
        }
        self.bump()?;
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.argument()?);
            if !self.take(",")? {
                break;
            }
        }
        self.expect("}")?;
        Ok(Node::Call { name, arguments })
    }

    /// An argument of a template: an element, maybe another template, with its quantifier.
    fn argument(&mut self) -> Result<NodeId> {
        let at = self.at();
        if self.is_mark("(") || self.is_mark("[") {
            return Err(self
                .unsupported(at, "a group as the argument of a template is not supported")
                .with_help("make a rule of it and pass its name"));
        }
        self.template_depth += 1;
        if self.template_depth > DEEPEST_TEMPLATE {
            return Err(Error::syntax(self.source, at, "templates do not nest this deep"));
        }
        let mut argument = self.atom()?;
        self.template_depth -= 1;
        if let Some((min, max)) = self.quantifier()? {
            argument = self.texts.add(Node::Repeat { body: argument, min, max }, at);
        }
        Ok(argument)
    }

    fn token_ids(&self, list: &str, at: usize) -> Result<TokenSet> {
        let wrong = || {
            Error::syntax(self.source, at, "between `<[` and `]>` stand token ids, such as `<[12, 20-30]>`")
        };
        if list.trim() == "*" {
            return Ok(TokenSet::new(Vec::new(), true));
        }
        let (negated, list) = match list.trim_start().strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, list),
        };
        let mut ids = Vec::new();
        for part in list.split(',') {
            self.budget.tick()?;
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let id = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            let (low, high) = (id(low)?, id(high)?);
            if low > high || high - low > LONGEST_TOKEN_RANGE {
                let message =
                    format!("a range of tokens goes upwards, and has at most {LONGEST_TOKEN_RANGE}");
                return Err(Error::syntax(self.source, at, message));
            }
            ids.extend(low..=high);
        }
        Ok(TokenSet::new(ids, negated))
    }

    /// The chunks of `%regex {"substring_...": ...}`.
    fn chunks(&self, text: &str, at: usize) -> Result<Vec<String>> {
        let wrong = |message: String| Error::syntax(self.source, at, message);
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|error| wrong(format!("this is not JSON: {error}")))?;
        let mut entries = object.into_iter();
        let (Some((name, value)), None) = (entries.next(), entries.next()) else {
            return Err(wrong("`%regex` takes an object with one entry".to_owned()));
        };
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => Ok(text),
            _ => Err(wrong(format!("`{name}` needs a text here"))),
        };
        match name.as_str() {
            "substring_chunks" => match value {
                serde_json::Value::Array(items) => items.into_iter().map(text).collect(),
                _ => Err(wrong("`substring_chunks` takes a list of texts".to_owned())),
            },
            "substring_chars" => Ok(text(value)?.chars().map(String::from).collect()),
            "substring_words" => Ok(words(&text(value)?)),
            _ => Err(wrong(format!("`%regex` has no `{name}`"))
                .with_help("there are substring_chunks, substring_words and substring_chars")),
        }
    }
}

/// A text cut into words and what stands between them: runs of letters and digits, and runs of everything else.
fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut chunks: Vec<String> = Vec::new();
    let mut last = None;
    for c in text.chars() {
        if last == Some(is_word(c)) {
            chunks.last_mut().expect("there was a character before").push(c);
        } else {
            chunks.push(c.to_string());
        }
        last = Some(is_word(c));
    }
    chunks
}
