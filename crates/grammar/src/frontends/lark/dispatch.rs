//! Free text with triggers: `start: (tool_a | tool_b)* tail`.
//!
//! Where each tool begins with any text up to a trigger, and the tail is any text, this is the shape in which people
//! write "text, and here and there a call". By the grammar alone the tail would match everything, triggers and all, and
//! no call would be held to its form. What is meant, and what llguidance and XGrammar do, is that a trigger is a trigger
//! wherever it appears; so this shape, and no other, becomes a tag dispatch.
//!
//! ```text
//! start: (tool)* tail
//! head[lazy]: TEXT "<call>"        // or head[suffix="<call>"]: TEXT, or head[lazy]: /(.|\n)*<call>/
//! tool: head NUMBER "</call>"      // or with a token: tool: TEXT <|call|> NUMBER
//! tail: TEXT
//! TEXT: /(.|\n)*/
//! ```
//!
//! Where a tool, its head or the tail has attributes, such as a capture, there must be a rule that has them. Then the same
//! language is written out: tools whose text holds no trigger but the one at its end, and a tail that holds none.

use super::ast::{Body, Content, Definition, DocumentId, Marker, Node, NodeId, is_terminal};
use super::lower::{Lowerer, Mode, Scope};
use crate::error::{Error, ErrorKind, Result};
use crate::frontends::regex;
use crate::ir::{
    Automaton, Builder, Expr, ExprId, RuleId, RuleOptions, TagDispatch, TokenSet, TokenTagDispatch,
};
use crate::limits::Budget;
use crate::regular::{Dfa, FreeText, determinize};

/// How many names are followed to see whether something is any text.
const LONGEST_CHAIN: usize = 16;

/// What a tool begins with, after any text.
enum Trigger {
    Text(Box<str>),
    Tokens(Vec<u32>),
}

/// Any text, with the rules around it that have attributes, the innermost last.
type AnyText<'s> = Vec<(&'s str, RuleOptions)>;

/// Any text up to a trigger.
struct Head<'s> {
    trigger: Trigger,
    text: AnyText<'s>,
    /// The attributes of the rule of both, if it is one of its own.
    options: RuleOptions,
    name: &'s str,
    /// The captures of the text and of the trigger apart.
    captures: [Option<String>; 2],
    /// Whether captures around it leave the trigger out.
    hides: bool,
}

/// A tool: any text up to its trigger, and what follows.
struct Tool<'s> {
    name: &'s str,
    options: RuleOptions,
    head: Head<'s>,
    body: Body,
    rest: Vec<NodeId>,
}

/// All of it.
struct Tools<'s> {
    tools: Vec<Tool<'s>>,
    tail: AnyText<'s>,
}

impl Tools<'_> {
    fn are_plain(&self) -> bool {
        let is_plain = |tool: &Tool<'_>| {
            let Head { text, options, captures, hides, .. } = &tool.head;
            text.is_empty()
                && !hides
                && [&tool.options, options].iter().all(|it| **it == RuleOptions::default())
                && captures.iter().all(Option::is_none)
        };
        self.tail.is_empty() && self.tools.iter().all(is_plain)
    }
}

impl<'s> Lowerer<'s> {
    /// The body of a rule that has the shape, or `None`.
    pub(super) fn dispatch(
        &mut self,
        definition: &Definition<'s>,
        scope: &Scope<'s>,
    ) -> Result<Option<ExprId>> {
        let Some(found) = self.find_tools(definition, scope.document)? else { return Ok(None) };
        let mut texts: Vec<(Box<str>, RuleId)> = Vec::new();
        let mut tokens: Vec<(u32, RuleId)> = Vec::new();
        let is_plain = found.are_plain();
        if !is_plain && let Some(message) = overlap(&found.tools, self.budget)? {
            return Err(self.error(ErrorKind::Unsupported, scope.document, definition.at, message));
        }
        let mut rests = Vec::with_capacity(found.tools.len());
        for tool in &found.tools {
            rests.push(self.rest_of(tool, scope)?);
        }
        if !is_plain {
            return self.written_out(found, &rests).map(Some);
        }
        for (tool, rule) in found.tools.into_iter().zip(rests) {
            match tool.head.trigger {
                Trigger::Text(text) => texts.push((text, rule)),
                Trigger::Tokens(ids) => tokens.extend(ids.into_iter().map(|id| (id, rule))),
            }
        }
        let (are_texts, texts, tokens) = (tokens.is_empty(), self.join_equal(texts), self.join_equal(tokens));
        Ok(Some(if are_texts {
            let (excludes, before) = (Vec::new(), Box::default());
            self.builder.tag_dispatch(TagDispatch {
                tags: texts,
                repeats: true,
                excludes,
                before,
                markers: true,
            })
        } else {
            let dispatch = TokenTagDispatch { tags: tokens, repeats: true, excludes: Vec::new() };
            self.builder.token_tag_dispatch(dispatch)
        }))
    }

    /// The tools and the tail as rules with their attributes.
    fn written_out(&mut self, found: Tools<'s>, rests: &[RuleId]) -> Result<ExprId> {
        let (free, befores) = self.texts_before(&found.tools)?;
        let mut tools = Vec::with_capacity(rests.len());
        for ((tool, &rest), before) in found.tools.into_iter().zip(rests).zip(befores) {
            let Head { trigger, text, options, name, captures: [text_capture, trigger_capture], hides } =
                tool.head;
            let before = self.with_options(text, before);
            let before = self.captured(name, before, text_capture);
            let trigger = match trigger {
                Trigger::Text(text) => self.ended_by(name, &text, trigger_capture, hides),
                Trigger::Tokens(ids) => {
                    let token = self.builder.token(TokenSet::new(ids, false));
                    self.captured(name, token, trigger_capture)
                }
            };
            let head = self.builder.seq([before, trigger]);
            let head = self.with_options(vec![(name, options)], head);
            let rest = self.builder.rule(rest);
            let whole = self.builder.seq([head, rest]);
            tools.push(self.with_options(vec![(tool.name, tool.options)], whole));
        }
        let any = self.builder.alt(tools);
        let calls = self.builder.repeat(any, 0, None);
        let tail = self.with_options(found.tail, free);
        Ok(self.builder.seq([calls, tail]))
    }

    /// Text in which no trigger is, and for each tool the text before its trigger: in it none begins that would be there
    /// before that one is. The two differ only where triggers overlap.
    fn texts_before(&mut self, tools: &[Tool<'s>]) -> Result<(ExprId, Vec<ExprId>)> {
        let mut strings: Vec<&str> = Vec::new();
        let mut ids: Vec<u32> = Vec::new();
        for tool in tools {
            match &tool.head.trigger {
                Trigger::Text(text) => strings.push(text),
                Trigger::Tokens(more) => ids.extend(more),
            }
        }
        if strings.is_empty() {
            let other = self.builder.token(TokenSet::new(ids, true));
            let free = self.builder.repeat(other, 0, None);
            return Ok((free, vec![free; tools.len()]));
        }
        self.free_texts(&strings)
    }

    /// Text in which none of `strings` is, and for each of them the text before it, if they are looked for.
    pub(super) fn free_texts(&mut self, strings: &[&str]) -> Result<(ExprId, Vec<ExprId>)> {
        let search = FreeText::new(strings, self.budget)?;
        let free = self.builder.automaton(Automaton::free_text(strings, "", self.budget)?);
        let mut befores = Vec::with_capacity(strings.len());
        let mut states = 0;
        for trigger in strings {
            self.budget.tick()?;
            if search.spoiled_by(trigger, self.budget)?.is_empty() {
                befores.push(free);
                continue;
            }
            states += strings.iter().map(|text| text.len()).sum::<usize>();
            let most = self.budget.limits().max_states;
            if states > most {
                return Err(Error::limit("the text before triggers that overlap", most, "max_states"));
            }
            befores.push(self.builder.automaton(Automaton::free_text(strings, trigger, self.budget)?));
        }
        Ok((free, befores))
    }

    /// An expression as the rules that have these options.
    fn with_options(&mut self, rules: AnyText<'s>, body: ExprId) -> ExprId {
        let mut body = body;
        for (name, options) in rules.into_iter().rev() {
            if options != RuleOptions::default() {
                let rule = self.builder.declare(self.names.fresh(name));
                self.builder.define(rule, body, options);
                body = self.builder.rule(rule);
            }
        }
        body
    }

    /// One rule for each trigger: where several tools share one, any of them.
    fn join_equal<T: PartialEq>(&mut self, tags: Vec<(T, RuleId)>) -> Vec<(T, RuleId)> {
        let mut joined: Vec<(T, Vec<RuleId>)> = Vec::new();
        for (tag, rule) in tags {
            match joined.iter_mut().find(|(other, _)| *other == tag) {
                Some((_, rules)) => rules.push(rule),
                None => joined.push((tag, vec![rule])),
            }
        }
        joined.into_iter().map(|(tag, rules)| (tag, self.any_of(&rules))).collect()
    }

    fn any_of(&mut self, rules: &[RuleId]) -> RuleId {
        if let &[rule] = rules {
            return rule;
        }
        let calls: Vec<ExprId> = rules.iter().map(|&rule| self.builder.rule(rule)).collect();
        let body = self.builder.alt(calls);
        let rule = self.builder.declare(self.names.fresh("tools"));
        self.builder.define(rule, body, RuleOptions::default());
        rule
    }

    /// A rule for what follows the trigger of a tool.
    fn rest_of(&mut self, tool: &Tool<'s>, scope: &Scope<'s>) -> Result<RuleId> {
        let mut items = self.lower(tool.body.first, &tool.rest, scope, Mode::Rule)?;
        items.splice(0..0, self.ignored(scope.document)?);
        let body = self.builder.seq(items);
        let rule = self.builder.declare(self.names.fresh(tool.name));
        self.builder.define(rule, body, RuleOptions::default());
        Ok(rule)
    }

    fn find_tools(&self, definition: &Definition<'s>, document: DocumentId) -> Result<Option<Tools<'s>>> {
        let Some((body, _)) = body_of(definition) else { return Ok(None) };
        let Node::Seq(items) = self.texts.node(self.only(body.root)) else { return Ok(None) };
        let &[tools, tail] = &items[..] else { return Ok(None) };
        let Node::Repeat { body: tools, min: 0, max: None } = *self.texts.node(tools) else {
            return Ok(None);
        };
        let Some(tail) = self.any_text(tail, document)? else { return Ok(None) };
        let tools = self.only(tools);
        let alternatives = match self.texts.node(tools) {
            Node::Alt(items) => items.clone(),
            _ => vec![tools],
        };
        let mut found = Vec::new();
        for alternative in alternatives {
            match self.tool(alternative, document)? {
                Some(tool) => found.push(tool),
                None => return Ok(None),
            }
        }
        let texts = found.iter().filter(|tool| matches!(tool.head.trigger, Trigger::Text(_))).count();
        Ok((texts == 0 || texts == found.len()).then_some(Tools { tools: found, tail }))
    }

    fn tool(&self, id: NodeId, document: DocumentId) -> Result<Option<Tool<'s>>> {
        let Some(definition) = self.named_rule(id, document) else { return Ok(None) };
        let Some((body, options)) = body_of(definition) else { return Ok(None) };
        let root = self.only(body.root);
        let items = match self.texts.node(root) {
            Node::Seq(items) => items.clone(),
            _ => vec![root],
        };
        let Some((&first, rest)) = items.split_first() else { return Ok(None) };
        let (name, options) = (definition.name, options.clone());
        if let Some(head) = self.head(first, document)? {
            return Ok(Some(Tool { name, options, head, body, rest: rest.to_vec() }));
        }
        if let [second, rest @ ..] = rest
            && let Some(ids) = self.tokens(*second, document)?
            && let Some(text) = self.any_text(first, document)?
        {
            let head = Head::new(name, Trigger::Tokens(ids), text);
            return Ok(Some(Tool { name, options, head, body, rest: rest.to_vec() }));
        }
        Ok(None)
    }

    /// Any text up to a trigger, as a rule of its own.
    fn head(&self, id: NodeId, document: DocumentId) -> Result<Option<Head<'s>>> {
        let Some(definition) = self.named_rule(id, document) else { return Ok(None) };
        let (Content::Bodies(bodies), true) = (&definition.content, definition.parameters.is_empty()) else {
            return Ok(None);
        };
        let &[body] = &bodies[..] else { return Ok(None) };
        let root = self.only(body.root);
        let attributes = &definition.attributes;
        let mut options = RuleOptions { lazy: false, ..attributes.options.clone() };
        let mut hides = false;
        let (text, trigger, captures) = match (&attributes.marker, self.texts.node(root)) {
            (Some(Marker { body: marker, capture, is_stop }), _) => {
                let captures = [options.capture.take(), capture.clone()];
                hides = *is_stop && self.is_enclosed(definition.name, document);
                (root, self.trigger_text(marker.root), captures)
            }
            (None, Node::Seq(items)) if attributes.options.lazy => {
                let &[free, trigger] = &items[..] else { return Ok(None) };
                let tokens = self.tokens(trigger, document)?.map(Trigger::Tokens);
                (free, tokens.or_else(|| self.trigger_text(trigger)), [None, None])
            }
            (None, Node::Regex { pattern, flags }) if attributes.options.lazy => {
                let Some(trigger) = self.trigger_of_pattern(pattern, flags)? else { return Ok(None) };
                let head = Head::new(definition.name, Trigger::Text(trigger), AnyText::new());
                return Ok(Some(Head { options, ..head }));
            }
            _ => return Ok(None),
        };
        let (Some(trigger), Some(text)) = (trigger, self.any_text(text, document)?) else { return Ok(None) };
        Ok(Some(Head { options, captures, hides, ..Head::new(definition.name, trigger, text) }))
    }

    fn trigger_text(&self, id: NodeId) -> Option<Trigger> {
        match self.texts.node(self.only(id)) {
            Node::Text { text, ignore_case: false } if !text.is_empty() => {
                Some(Trigger::Text(text.as_ref().into()))
            }
            _ => None,
        }
    }

    fn tokens(&self, id: NodeId, document: DocumentId) -> Result<Option<Vec<u32>>> {
        let id = self.only(id);
        match self.texts.node(id) {
            Node::Tokens(set) if !set.negated => Ok(Some(set.ids.to_vec())),
            Node::TokenText(text) => self.token_ids(text, self.texts.place(id), document).map(Some),
            _ => Ok(None),
        }
    }

    /// The rule that a node names, if it is one without parameters.
    fn named_rule(&self, id: NodeId, document: DocumentId) -> Option<&Definition<'s>> {
        let Node::Name(name) = self.texts.node(self.only(id)) else { return None };
        let &found = self.texts.document(document).names.get(name).filter(|_| !is_terminal(name))?;
        Some(self.texts.definition(found)).filter(|found| found.parameters.is_empty() && !found.is_parametric)
    }

    /// The node inside of groups and alternatives that have but one member.
    fn only(&self, mut id: NodeId) -> NodeId {
        while let Node::Alt(items) | Node::Seq(items) = self.texts.node(id)
            && let &[item] = &items[..]
        {
            id = item;
        }
        id
    }

    /// What matches every text, by a pattern behind any number of names: the names that have attributes.
    fn any_text(&self, mut id: NodeId, document: DocumentId) -> Result<Option<AnyText<'s>>> {
        let mut rules = Vec::new();
        for _ in 0..LONGEST_CHAIN {
            id = self.only(id);
            match self.texts.node(id) {
                Node::Regex { pattern, flags } => {
                    return Ok(self.is_any_pattern(pattern, flags)?.then_some(rules));
                }
                Node::Name(name) => {
                    let Some(&found) = self.texts.document(document).names.get(name) else { return Ok(None) };
                    let definition = self.texts.definition(found);
                    let Some((body, options)) = body_of(definition) else { return Ok(None) };
                    if *options != RuleOptions::default() {
                        rules.push((definition.name, options.clone()));
                    }
                    id = body.root;
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn is_any_pattern(&self, pattern: &str, flags: &str) -> Result<bool> {
        let (scratch, Some(expr)) = self.scratch(pattern, flags) else { return Ok(false) };
        let short = pattern.len() <= 32;
        Ok(short && determinize(&scratch, expr, self.budget)? == *Dfa::any_text())
    }

    /// The trigger at the end of a pattern that is any text up to it.
    fn trigger_of_pattern(&self, pattern: &str, flags: &str) -> Result<Option<Box<str>>> {
        let (scratch, Some(expr)) = self.scratch(pattern, flags) else { return Ok(None) };
        let Expr::Seq(items) = scratch.expr(expr) else { return Ok(None) };
        let Some((&last, free)) = items.split_last() else { return Ok(None) };
        let Expr::Bytes(trigger) = scratch.expr(last) else { return Ok(None) };
        let (Ok(trigger), free) = (std::str::from_utf8(trigger).map(Box::from), free.to_vec()) else {
            return Ok(None);
        };
        // A repeat of one class or of alternatives of classes is small, whatever follows it.
        let &[free] = &free[..] else { return Ok(None) };
        let is_free = determinize(&scratch, free, self.budget)? == *Dfa::any_text();
        Ok(is_free.then_some(trigger))
    }

    /// A pattern by itself. What is wrong with it is told when it is lowered.
    fn scratch(&self, pattern: &str, flags: &str) -> (Builder, Option<ExprId>) {
        let mut syntax = regex::Syntax::part();
        syntax.flags.dot_all = flags.contains('s');
        let mut scratch = Builder::new(self.budget.limits());
        let expr = regex::parse(pattern, &syntax, &mut scratch, self.budget).ok();
        (scratch, expr.filter(|_| !flags.contains('i')))
    }
}

impl<'s> Head<'s> {
    /// One without attributes.
    fn new(name: &'s str, trigger: Trigger, text: AnyText<'s>) -> Self {
        Head { trigger, text, options: RuleOptions::default(), name, captures: [None, None], hides: false }
    }
}

/// What to say where one trigger lies in another: which of them counts, only a dispatch can tell.
fn overlap(tools: &[Tool<'_>], budget: &Budget) -> Result<Option<String>> {
    let text = |tool: &Tool<'_>| match &tool.head.trigger {
        Trigger::Text(text) => Some(text.clone()),
        Trigger::Tokens(_) => None,
    };
    let texts: Vec<Box<str>> = tools.iter().filter_map(text).collect();
    let search = FreeText::new(&texts, budget)?;
    let inside = |text: &str| {
        let (mut from_second, mut but_last) = (text.chars(), text.chars());
        from_second.next();
        but_last.next_back();
        let found = search.held_by(from_second.as_str()).or_else(|| search.held_by(but_last.as_str()));
        found.map(str::to_owned)
    };
    Ok(texts.iter().find_map(|other| {
        let one = inside(other)?;
        Some(format!(
            "the trigger {one:?} lies in the trigger {other:?}: then neither the tools, nor the text before a trigger, \
             nor the tail can have attributes"
        ))
    }))
}

/// The one body of a definition that is taken as it is, and what else it says.
fn body_of<'d>(definition: &'d Definition<'_>) -> Option<(Body, &'d RuleOptions)> {
    let attributes = &definition.attributes;
    let is_taken_so = definition.parameters.is_empty()
        && !definition.is_parametric
        && attributes.marker.is_none()
        && !attributes.options.lazy;
    match &definition.content {
        Content::Bodies(bodies) if is_taken_so && bodies.len() == 1 => Some((bodies[0], &attributes.options)),
        _ => None,
    }
}
