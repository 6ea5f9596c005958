//! The parser: tokens to expressions in the builder.
//!
//! There is no syntax tree: the grammar of bodies is small enough that expressions are interned as they are read,
//! which is also what keeps memory in check. Groups nest on a stack of [`Frame`]s on the heap, so no depth of
//! parentheses reaches the native stack; the limit on depth is there for those who read the result.

use hashbrown::HashMap;

use super::lexer::{Lexer, Token, TokenKind};
use super::members::ESCAPES_HELP;
use super::{TokenResolver, macros, suggest};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::{Builder, Escapes, Expr, ExprId, Grammar, RuleId, RuleOptions, TokenSet};
use crate::limits::{Budget, Limits};
use crate::regular::CharSet;

/// Parses one text.
pub(super) struct Parser<'s> {
    pub(super) source: &'s str,
    pub(super) budget: &'s Budget,
    pub(super) builder: Builder,
    lexer: Lexer<'s>,
    /// The token that comes next.
    next: Token<'s>,
    rules: HashMap<&'s str, RuleId>,
    resolver: Option<&'s TokenResolver<'s>>,
    /// Whether the parser is inside `(= ... )`.
    in_lookahead: bool,
}

/// What opens a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opener {
    /// A parenthesis, or nothing, for the whole body.
    Group,
    /// The macro for what is spelled in JSON.
    JsonText,
    /// The macro for texts of a bounded length.
    AtMost,
}

impl Opener {
    /// The macros whose first argument is an expression.
    const MACROS: [(&'static str, Opener); 2] = [("JsonText", Opener::JsonText), ("AtMost", Opener::AtMost)];

    fn find(name: &str) -> Option<Opener> {
        Self::MACROS.iter().find(|(other, _)| *other == name).map(|&(_, found)| found)
    }
}

/// Whether `name` is a macro that the parser reads itself.
pub(super) fn is_macro(name: &str) -> bool {
    Opener::find(name).is_some()
}

/// An open group, or the whole body at the bottom of the stack.
struct Frame {
    opened_at: usize,
    opener: Opener,
    /// What a macro with two arguments is, once they were read.
    finished: Option<ExprId>,
    alternatives: Vec<ExprId>,
    conjuncts: Vec<ExprId>,
    items: Vec<ExprId>,
    /// How many `~` stand before the item that comes next.
    complements: usize,
}

impl Frame {
    fn new(opened_at: usize) -> Self {
        Frame {
            opened_at,
            opener: Opener::Group,
            finished: None,
            alternatives: Vec::new(),
            conjuncts: Vec::new(),
            items: Vec::new(),
            complements: 0,
        }
    }
}

impl<'s> Parser<'s> {
    pub(super) fn new(
        source: &'s str,
        resolver: Option<&'s TokenResolver<'s>>,
        limits: &Limits,
        budget: &'s Budget,
    ) -> Result<Self> {
        budget.check_source(source)?;
        let mut lexer = Lexer::new(source, budget);
        let mut builder = Builder::new(limits);
        let rules = declare_rules(source, &mut builder, budget)?;
        let next = lexer.next()?;
        Ok(Parser { source, budget, builder, lexer, next, rules, resolver, in_lookahead: false })
    }

    /// Reads all rules.
    pub(super) fn parse(mut self, root_rule: &str) -> Result<Grammar> {
        loop {
            let token = self.bump()?;
            match token.kind {
                TokenKind::End => break,
                TokenKind::RuleHead(name, options) => self.rule(name, *options)?,
                TokenKind::Close => return Err(Error::syntax(self.source, token.at, "no `(` is open here")),
                other => {
                    let message = format!("expected a rule, `name ::= ...`, but found {}", other.describe());
                    return Err(Error::syntax(self.source, token.at, message));
                }
            }
        }
        let Some(&root) = self.rules.get(root_rule) else {
            return Err(self.missing_root(root_rule));
        };
        self.builder.finish(root)
    }

    fn missing_root(&self, root_rule: &str) -> Error {
        let error = Error::new(ErrorKind::Invalid, format!("there is no rule `{root_rule}` to start from"))
            .at(Place::in_text(self.source, 0));
        match self.nearest_rule(root_rule) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help("name the rule to start from, or call one of the rules so"),
        }
    }

    fn nearest_rule(&self, name: &str) -> Option<&'s str> {
        suggest::nearest(name, self.rules.keys().copied())
    }

    pub(super) fn peek(&self) -> &TokenKind<'s> {
        &self.next.kind
    }

    /// Where the next token begins.
    pub(super) fn at(&self) -> usize {
        self.next.at
    }

    pub(super) fn bump(&mut self) -> Result<Token<'s>> {
        let following = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, following))
    }

    /// An error at the next token, which is not what was expected.
    pub(super) fn expected(&self, what: &str) -> Error {
        Error::syntax(self.source, self.at(), format!("expected {what} but found {}", self.peek().describe()))
    }

    /// An error about the grammar's meaning, not its form.
    fn invalid(&self, at: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message).at(Place::in_text(self.source, at))
    }

    fn rule(&mut self, name: &'s str, options: RuleOptions) -> Result<()> {
        let body = self.body()?;
        if matches!(self.peek(), TokenKind::OpenLookahead) {
            self.lookahead()?;
        }
        self.builder.define(self.rules[name], body, options);
        self.builder.check()
    }

    /// Reads alternatives up to what cannot belong to them: the next rule, the end, a lookahead, a stray `)`.
    fn body(&mut self) -> Result<ExprId> {
        let mut stack = Vec::new();
        let mut frame = Frame::new(self.at());
        loop {
            match self.peek() {
                TokenKind::Open => {
                    let open = self.bump()?.at;
                    if matches!(self.peek(), TokenKind::Close) {
                        self.bump()?;
                        let empty = self.builder.empty();
                        self.finish_item(&mut frame, empty, open)?;
                    } else {
                        self.check_depth(stack.len() + 1, open)?;
                        stack.push(std::mem::replace(&mut frame, Frame::new(open)));
                    }
                }
                &TokenKind::Name(name) if Opener::find(name).is_some() && !self.rules.contains_key(name) => {
                    let text = self.open_macro(name)?;
                    self.check_depth(stack.len() + 1, text.opened_at)?;
                    stack.push(std::mem::replace(&mut frame, text));
                }
                TokenKind::Comma if frame.opener != Opener::Group => {
                    frame.finished = Some(self.second_argument(&mut frame)?);
                }
                TokenKind::Close if !stack.is_empty() => {
                    let group = self.finish_group(&mut frame)?;
                    self.bump()?;
                    let opened_at = frame.opened_at;
                    frame = stack.pop().unwrap_or_else(|| Frame::new(opened_at));
                    self.finish_item(&mut frame, group, opened_at)?;
                }
                TokenKind::Pipe => {
                    if self.in_lookahead {
                        return Err(self.not_in_lookahead("alternatives", self.at()));
                    }
                    self.finish_conjuncts(&mut frame)?;
                    self.bump()?;
                }
                TokenKind::And => {
                    if self.in_lookahead {
                        return Err(self.not_in_lookahead("`&`", self.at()));
                    }
                    self.finish_sequence(&mut frame)?;
                    self.bump()?;
                }
                TokenKind::Not => {
                    frame.complements += 1;
                    self.bump()?;
                }
                TokenKind::Close | TokenKind::OpenLookahead | TokenKind::RuleHead(..) | TokenKind::End => {
                    break;
                }
                _ => {
                    let at = self.at();
                    let atom = self.atom()?;
                    self.finish_item(&mut frame, atom, at)?;
                }
            }
        }
        if !stack.is_empty() {
            return Err(match self.peek() {
                TokenKind::OpenLookahead => self.expected("`)`").with_help(LOOKAHEAD_HELP),
                _ => Error::syntax(self.source, frame.opened_at, "this `(` is never closed"),
            });
        }
        self.finish_alternatives(&mut frame)
    }

    fn check_depth(&self, depth: usize, at: usize) -> Result<()> {
        self.budget.check_depth(depth).map_err(|error| error.at(Place::in_text(self.source, at)))
    }

    /// Reads the name of a macro and `(`.
    fn open_macro(&mut self, name: &str) -> Result<Frame> {
        let at = self.bump()?.at;
        if self.in_lookahead {
            return Err(self.not_in_lookahead(&format!("`{name}`"), at));
        }
        if !matches!(self.peek(), TokenKind::Open) {
            return Err(self.expected(&format!("`(` after the macro `{name}`")));
        }
        self.bump()?;
        Ok(Frame { opener: Opener::find(name).unwrap_or(Opener::Group), ..Frame::new(at) })
    }

    /// Reads the second argument of a macro, up to the closing parenthesis.
    fn second_argument(&mut self, frame: &mut Frame) -> Result<ExprId> {
        let body = self.finish_alternatives(frame)?;
        self.bump()?;
        let at = self.at();
        let finished = match (frame.opener, self.peek()) {
            (Opener::AtMost, &TokenKind::Integer(most @ 0..)) => {
                let most = self.count(most, at)?;
                self.builder.at_most(body, most)
            }
            (Opener::JsonText, TokenKind::Literal(name)) => match Escapes::find(name) {
                Some(escapes) => self.builder.json_text(body, escapes),
                None => return Err(self.invalid(at, ESCAPES_HELP)),
            },
            (Opener::JsonText, _) => return Err(self.expected("the name of the escapes")),
            _ => return Err(self.expected("the greatest length")),
        };
        self.bump()?;
        if !matches!(self.peek(), TokenKind::Close) {
            return Err(self.expected("`)`"));
        }
        Ok(finished)
    }

    /// What a group is, at its closing parenthesis.
    fn finish_group(&mut self, frame: &mut Frame) -> Result<ExprId> {
        match (frame.opener, frame.finished) {
            (_, Some(finished)) => Ok(finished),
            (Opener::AtMost, None) => Err(self.expected("`,` and the greatest length")),
            (Opener::JsonText, None) => {
                let text = self.finish_alternatives(frame)?;
                Ok(self.builder.json_text(text, Escapes::Any))
            }
            (Opener::Group, None) => self.finish_alternatives(frame),
        }
    }

    /// Puts an item and its quantifier at the end of the frame's sequence, under the `~` that wait for it.
    fn finish_item(&mut self, frame: &mut Frame, item: ExprId, at: usize) -> Result<()> {
        if self.in_lookahead && *self.builder.expr(item) == Expr::Empty {
            return Err(self.not_in_lookahead("the empty string", at));
        }
        if self.in_lookahead && frame.complements > 0 {
            return Err(self.not_in_lookahead("`~`", at));
        }
        let mut item = self.quantified(item)?;
        if frame.complements % 2 == 1 {
            item = self.builder.not(item);
        }
        frame.complements = 0;
        frame.items.push(item);
        Ok(())
    }

    fn finish_sequence(&mut self, frame: &mut Frame) -> Result<()> {
        if frame.complements > 0 {
            return Err(self.expected("something to complement after `~`"));
        }
        let may_be_empty = frame.conjuncts.is_empty() && !self.in_lookahead;
        let is_alternative = matches!(self.peek(), TokenKind::Pipe) || !frame.alternatives.is_empty();
        if frame.items.is_empty() && !(may_be_empty && is_alternative) {
            let error = self.expected("an element");
            return Err(match self.peek() {
                TokenKind::OpenLookahead => error.with_help(LOOKAHEAD_HELP),
                _ if self.in_lookahead => error,
                _ => error.with_help("the empty string is written `\"\"`"),
            });
        }
        let sequence = self.builder.seq(frame.items.drain(..));
        frame.conjuncts.push(sequence);
        Ok(())
    }

    fn finish_conjuncts(&mut self, frame: &mut Frame) -> Result<()> {
        self.finish_sequence(frame)?;
        let conjunction = match frame.conjuncts[..] {
            [only] => only,
            _ => self.builder.and(frame.conjuncts.iter().copied()),
        };
        frame.conjuncts.clear();
        frame.alternatives.push(conjunction);
        Ok(())
    }

    fn finish_alternatives(&mut self, frame: &mut Frame) -> Result<ExprId> {
        self.finish_conjuncts(frame)?;
        Ok(self.builder.alt(frame.alternatives.drain(..)))
    }

    /// `item` under the quantifier that follows it, if one does.
    fn quantified(&mut self, item: ExprId) -> Result<ExprId> {
        let (min, max) = match self.peek() {
            TokenKind::Optional => (0, Some(1)),
            TokenKind::Star => (0, None),
            TokenKind::Plus => (1, None),
            TokenKind::OpenBrace => self.bounds()?,
            _ => return Ok(item),
        };
        // The closing mark: of the braces, or the quantifier itself.
        self.bump()?;
        match self.peek() {
            TokenKind::Optional | TokenKind::Star | TokenKind::Plus | TokenKind::OpenBrace => {
                Err(Error::syntax(self.source, self.at(), "a quantifier cannot follow another one")
                    .with_help("put parentheses around what is to be repeated"))
            }
            _ => Ok(self.builder.repeat(item, min, max)),
        }
    }

    /// Reads `{n`, `{n,`, `{n, m` or `{n, -1`, up to the closing brace.
    fn bounds(&mut self) -> Result<(u32, Option<u32>)> {
        self.bump()?;
        let min_at = self.at();
        let TokenKind::Integer(min @ 0..) = *self.peek() else {
            return Err(self.expected("the least count"));
        };
        self.bump()?;
        let mut max = Some(min);
        if matches!(self.peek(), TokenKind::Comma) {
            self.bump()?;
            max = match *self.peek() {
                TokenKind::Integer(max @ 0..) => Some(max),
                TokenKind::Integer(-1) | TokenKind::CloseBrace => None,
                _ => return Err(self.expected("the greatest count")),
            };
            if max.is_some_and(|max| max < min) {
                let message = format!("the least count, {min}, is greater than the greatest");
                return Err(Error::syntax(self.source, min_at, message));
            }
            if !matches!(self.peek(), TokenKind::CloseBrace) {
                self.bump()?;
            }
        }
        if !matches!(self.peek(), TokenKind::CloseBrace) {
            return Err(self.expected("`}`"));
        }
        Ok((self.count(min, min_at)?, max.map(|max| self.count(max, min_at)).transpose()?))
    }

    fn count(&self, count: i64, at: usize) -> Result<u32> {
        u32::try_from(count).map_err(|_| {
            Error::new(
                ErrorKind::Limit,
                format!("a count of {count} is beyond the greatest one, {}", u32::MAX),
            )
            .at(Place::in_text(self.source, at))
        })
    }

    fn atom(&mut self) -> Result<ExprId> {
        if !matches!(
            self.peek(),
            TokenKind::Literal(_)
                | TokenKind::Class(_)
                | TokenKind::Dot
                | TokenKind::Name(_)
                | TokenKind::TokenIds(..)
                | TokenKind::TokenText(..)
        ) {
            return Err(self.expected("an element"));
        }
        let Token { kind, at } = self.bump()?;
        match kind {
            TokenKind::Literal(text) => Ok(self.builder.bytes(text.as_bytes())),
            TokenKind::Class(set) => Ok(self.builder.class(set)),
            TokenKind::Name(name) => self.name(name, at),
            TokenKind::TokenIds(ids, negated) => Ok(self.builder.token(TokenSet::new(ids, negated))),
            TokenKind::TokenText(text, negated) => self.token_text(text, negated, at),
            _ => Ok(self.builder.class(CharSet::any())),
        }
    }

    fn token_text(&mut self, text: &str, negated: bool, at: usize) -> Result<ExprId> {
        let id = self.find_token(text, at)?;
        Ok(self.builder.token(TokenSet::new(vec![id], negated)))
    }

    /// The token of a text that stands at `at`.
    pub(super) fn find_token(&self, text: &str, at: usize) -> Result<u32> {
        self.budget.tick()?;
        let Some(resolver) = self.resolver else {
            return Err(self
                .invalid(at, format!("the token `{text}` can be found by its text only with a tokenizer"))
                .with_help(
                    "pass `tokenizer_info`, pass the grammar as text to a compiler, which has one, or write the id: \
                     `Token(123)`",
                ));
        };
        resolver(text).ok_or_else(|| self.invalid(at, format!("the vocabulary has no token `{text}`")))
    }

    /// A name is a rule's if there is one of that name, else it may be a macro's.
    fn name(&mut self, name: &'s str, at: usize) -> Result<ExprId> {
        let Some(called) = macros::Macro::find(name).filter(|_| !self.rules.contains_key(name)) else {
            let rule = self.rule_id(name, at)?;
            return Ok(self.builder.rule(rule));
        };
        if self.in_lookahead && !called.fits_lookahead() {
            return Err(self.not_in_lookahead(&format!("`{name}`"), at));
        }
        macros::call(self, called, at)
    }

    /// The rule of that name, which stands at `at`.
    pub(super) fn rule_id(&self, name: &str, at: usize) -> Result<RuleId> {
        if let Some(&rule) = self.rules.get(name) {
            return Ok(rule);
        }
        let error = self.invalid(at, format!("the rule `{name}` is not defined"));
        let stem = name.trim_end_matches('.');
        Err(match self.nearest_rule(name) {
            _ if stem != name && self.rules.contains_key(stem) => {
                error.with_help(format!("put a blank between `{stem}` and `.`, which may be part of a name"))
            }
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        })
    }

    /// Reads `(= ... )`. It is checked as XGrammar checks it, and means nothing.
    fn lookahead(&mut self) -> Result<()> {
        self.bump()?;
        self.in_lookahead = true;
        self.body()?;
        self.in_lookahead = false;
        if !matches!(self.peek(), TokenKind::Close) {
            return Err(self.expected("`)` at the end of the lookahead"));
        }
        self.bump()?;
        match self.peek() {
            TokenKind::RuleHead(..) | TokenKind::End => Ok(()),
            _ => Err(self.expected("the next rule").with_help(LOOKAHEAD_HELP)),
        }
    }

    fn not_in_lookahead(&self, what: &str, at: usize) -> Error {
        Error::syntax(self.source, at, format!("a lookahead cannot hold {what}"))
    }
}

const LOOKAHEAD_HELP: &str = "a lookahead `(= ...)` can only stand at the very end of a rule";

/// Finds the rules of the text and declares them in order, so that bodies can refer to later ones.
fn declare_rules<'s>(
    source: &'s str,
    builder: &mut Builder,
    budget: &'s Budget,
) -> Result<HashMap<&'s str, RuleId>> {
    let mut rules = HashMap::new();
    let mut lexer = Lexer::new(source, budget);
    loop {
        let token = lexer.next()?;
        let name = match token.kind {
            TokenKind::End => return Ok(rules),
            TokenKind::RuleHead(name, _) => name,
            _ => continue,
        };
        let place = || Place::in_text(source, token.at);
        if macros::Macro::find(name).is_some_and(macros::Macro::is_reserved) {
            let message = format!("`{name}` is a macro and cannot be the name of a rule");
            return Err(Error::new(ErrorKind::Invalid, message).at(place()));
        }
        if rules.contains_key(name) {
            let message = format!("the rule `{name}` is defined twice");
            return Err(Error::new(ErrorKind::Invalid, message).at(place()));
        }
        rules.insert(name, builder.declare(name));
        builder.check()?;
    }
}
