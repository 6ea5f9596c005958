//! Free text with triggers: `start: (tool_a | tool_b)* tail`.
//!
//! Where each tool begins with any text up to a trigger, and the tail is any text, this is the shape in which people
//! write "text, and here and there a call". By the grammar alone the tail would match everything, triggers and all, and
//! no call would be held to its form. What is meant, and what llguidance and XGrammar do, is that a trigger is a trigger
//! wherever it appears; so this shape, and no other, becomes a tag dispatch.
//!
//! ```text
//! start: (tool)* tail
//! head[lazy]: TEXT "<call>"        // or head[suffix="<call>"]: TEXT
//! tool: head NUMBER "</call>"      // or with a token: tool: TEXT <|call|> NUMBER
//! tail: TEXT
//! TEXT: /(.|\n)*/
//! ```

use super::ast::{Body, Content, Definition, DocumentId, Marker, Node, NodeId, is_terminal};
use super::lower::{Lowerer, Mode, Scope};
use crate::error::Result;
use crate::frontends::regex;
use crate::ir::{Builder, ExprId, RuleId, RuleOptions, TagDispatch, TokenTagDispatch};
use crate::regular::{Dfa, determinize};

/// How many names are followed to see whether something is any text.
const LONGEST_CHAIN: usize = 16;

/// What a tool begins with, after any text.
enum Trigger {
    Text(Box<str>),
    Tokens(Vec<u32>),
}

/// A tool: its trigger, and what follows.
struct Tool<'s> {
    name: &'s str,
    trigger: Trigger,
    body: Body,
    rest: Vec<NodeId>,
}

impl<'s> Lowerer<'s> {
    /// The body of a rule that has the shape, or `None`.
    pub(super) fn dispatch(
        &mut self,
        definition: &Definition<'s>,
        scope: &Scope<'s>,
    ) -> Result<Option<ExprId>> {
        let Some(tools) = self.find_tools(definition, scope.document)? else { return Ok(None) };
        let are_texts = tools.iter().all(|tool| matches!(tool.trigger, Trigger::Text(_)));
        let are_tokens = tools.iter().all(|tool| matches!(tool.trigger, Trigger::Tokens(_)));
        if !are_texts && !are_tokens {
            return Ok(None);
        }
        let mut texts: Vec<(Box<str>, RuleId)> = Vec::new();
        let mut tokens: Vec<(u32, RuleId)> = Vec::new();
        for tool in tools {
            let rule = self.rest_of(&tool, scope)?;
            match tool.trigger {
                Trigger::Text(text) => texts.push((text, rule)),
                Trigger::Tokens(ids) => tokens.extend(ids.into_iter().map(|id| (id, rule))),
            }
        }
        let texts = self.join_equal(texts);
        let tokens = self.join_equal(tokens);
        Ok(Some(if are_texts {
            let (excludes, before) = (Vec::new(), Box::default());
            self.builder.tag_dispatch(TagDispatch { tags: texts, repeats: true, excludes, before })
        } else {
            let dispatch = TokenTagDispatch { tags: tokens, repeats: true, excludes: Vec::new() };
            self.builder.token_tag_dispatch(dispatch)
        }))
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

    fn find_tools(&self, definition: &Definition<'s>, document: DocumentId) -> Result<Option<Vec<Tool<'s>>>> {
        let Some(body) = plain_body(definition) else { return Ok(None) };
        let Node::Seq(items) = self.texts.node(self.only(body.root)) else { return Ok(None) };
        let &[tools, tail] = &items[..] else { return Ok(None) };
        let Node::Repeat { body: tools, min: 0, max: None } = *self.texts.node(tools) else {
            return Ok(None);
        };
        if !self.is_any_text(tail, document)? {
            return Ok(None);
        }
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
        Ok(Some(found))
    }

    fn tool(&self, id: NodeId, document: DocumentId) -> Result<Option<Tool<'s>>> {
        let Some(definition) = self.named_rule(id, document) else { return Ok(None) };
        let Some(body) = plain_body(definition) else { return Ok(None) };
        let root = self.only(body.root);
        let items = match self.texts.node(root) {
            Node::Seq(items) => items.clone(),
            _ => vec![root],
        };
        let Some((&first, rest)) = items.split_first() else { return Ok(None) };
        let name = definition.name;
        if let Some(trigger) = self.head(first, document)? {
            return Ok(Some(Tool { name, trigger, body, rest: rest.to_vec() }));
        }
        if let [second, rest @ ..] = rest
            && let Some(ids) = self.tokens(*second, document)?
            && self.is_any_text(first, document)?
        {
            return Ok(Some(Tool { name, trigger: Trigger::Tokens(ids), body, rest: rest.to_vec() }));
        }
        Ok(None)
    }

    /// The trigger of a rule that is any text up to one.
    fn head(&self, id: NodeId, document: DocumentId) -> Result<Option<Trigger>> {
        let Some(definition) = self.named_rule(id, document) else { return Ok(None) };
        let (Content::Bodies(bodies), true) = (&definition.content, definition.parameters.is_empty()) else {
            return Ok(None);
        };
        let &[body] = &bodies[..] else { return Ok(None) };
        let root = self.only(body.root);
        let attributes = &definition.attributes;
        let lazy = RuleOptions { lazy: true, ..RuleOptions::default() };
        match (&attributes.marker, self.texts.node(root)) {
            (Some(Marker { body: marker, capture: None }), _)
                if attributes.options == RuleOptions::default() =>
            {
                let text = self.trigger_text(marker.root);
                Ok(if self.is_any_text(root, document)? { text } else { None })
            }
            (None, Node::Seq(items)) if attributes.options == lazy => {
                let &[free, trigger] = &items[..] else { return Ok(None) };
                if !self.is_any_text(free, document)? {
                    return Ok(None);
                }
                match self.tokens(trigger, document)? {
                    Some(ids) => Ok(Some(Trigger::Tokens(ids))),
                    None => Ok(self.trigger_text(trigger)),
                }
            }
            _ => Ok(None),
        }
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

    /// Whether a node matches every text, by a pattern behind any number of names.
    fn is_any_text(&self, mut id: NodeId, document: DocumentId) -> Result<bool> {
        for _ in 0..LONGEST_CHAIN {
            id = self.only(id);
            match self.texts.node(id) {
                Node::Regex { pattern, flags } => return self.is_any_pattern(pattern, flags),
                Node::Name(name) => {
                    let Some(&found) = self.texts.document(document).names.get(name) else {
                        return Ok(false);
                    };
                    match plain_body(self.texts.definition(found)) {
                        Some(body) => id = body.root,
                        None => return Ok(false),
                    }
                }
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    fn is_any_pattern(&self, pattern: &str, flags: &str) -> Result<bool> {
        let mut syntax = regex::Syntax::part();
        syntax.flags.dot_all = flags.contains('s');
        let mut scratch = Builder::new(self.budget.limits());
        // What is wrong with the pattern is told when it is lowered.
        let Ok(expr) = regex::parse(pattern, &syntax, &mut scratch, self.budget) else { return Ok(false) };
        let short = pattern.len() <= 32;
        Ok(short && determinize(&scratch, expr, self.budget)? == *Dfa::any_text())
    }
}

/// The body of a definition that has nothing but one.
fn plain_body(definition: &Definition<'_>) -> Option<Body> {
    let attributes = &definition.attributes;
    let is_plain = definition.parameters.is_empty()
        && !definition.is_parametric
        && attributes.marker.is_none()
        && attributes.options == RuleOptions::default();
    match &definition.content {
        Content::Bodies(bodies) if is_plain && bodies.len() == 1 => Some(bodies[0]),
        _ => None,
    }
}
