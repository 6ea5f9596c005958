//! Nodes: each expression and each rule as a tiny automaton.
//!
//! A position inside a node is one number, whose meaning is the node's own: how many parts of a sequence are done,
//! how often a repeat went round, the state of an automaton. From a position a node can read a byte, read a token,
//! or call another node; and a position may be an end. That is all that the chart needs to know.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tokenstile_grammar::ir::members::Layout;
use tokenstile_grammar::ir::{Escapes, RuleOptions, TokenSet};
use tokenstile_grammar::passes::lists;
use tokenstile_grammar::regular::{CharSet, Dfa, Nfa, determinize};
use tokenstile_grammar::{Budget, Error, ErrorKind, Expr, ExprId, Grammar, Result, RuleId};

use super::at_most::AtMost;
use super::captures::Capture;
use super::json_text::JsonText;
use super::list::ListNode;
use super::tagged::TaggedNode;

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A position inside a node.
pub(super) type At = u64;

/// The position where every node starts.
pub(super) const START: At = 0;

/// The end of a [`Node::Class`]; its other positions are the bytes of a code point so far.
const CLASS_END: At = At::MAX;

/// What is captured of the spans of a rule.
#[derive(Debug)]
pub(super) struct Capturing {
    /// The name of all but the hidden bytes at the end.
    name: Option<Arc<str>>,
    hidden_bytes: usize,
    /// The name of those.
    stop: Option<Arc<str>>,
    /// Whether captures around the rule leave them out.
    hides_stop: bool,
}

impl Capturing {
    fn new(options: &RuleOptions) -> Option<Box<Self>> {
        let name = |name: &Option<String>| name.as_deref().map(Arc::from);
        let (hidden_bytes, stop) = (options.hidden_bytes as usize, name(&options.stop_capture));
        let (name, hides_stop) = (name(&options.capture), options.hides_stop);
        options.captures().then(|| Box::new(Capturing { name, hidden_bytes, stop, hides_stop }))
    }

    /// What captures around a span leave out.
    pub(super) fn hidden(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let seam = self.seam(start, end);
        (self.hides_stop && seam < end).then_some((seam, end))
    }

    fn seam(&self, start: usize, end: usize) -> usize {
        end.saturating_sub(self.hidden_bytes).max(start)
    }

    /// The captures of a span.
    pub(super) fn of(&self, start: usize, end: usize) -> impl Iterator<Item = Capture> {
        let seam = self.seam(start, end);
        let capture = |name: &Option<Arc<str>>, start, end| {
            name.as_ref().map(|name| Capture { name: Arc::clone(name), start, end, hidden: Box::default() })
        };
        [capture(&self.stop, seam, end), capture(&self.name, start, seam)].into_iter().flatten()
    }
}

#[derive(Debug)]
enum Node {
    /// Nothing at all.
    Never,
    /// These bytes; the position counts those that were read.
    Bytes(Box<[u8]>),
    /// One code point; the position is the bytes read so far, one after the other in a number.
    Class(CharSet),
    /// A regular language; the position is the state.
    Dfa(Arc<Dfa>),
    /// The texts of a regular language up to a length; the position is the state and the code points so far.
    AtMost(AtMost),
    /// The spellings of a regular language in JSON; the position is its own.
    JsonText(JsonText),
    /// A token; the position is 1 at the end.
    Token(TokenSet),
    /// The parts one after the other; the position counts those that are done.
    Seq(Box<[NodeId]>),
    /// Any one of these; the position is 1 at the end.
    Alt(Box<[NodeId]>),
    /// A counted repeat; the position counts the rounds, and stands still at `min` where there is no `max`.
    Repeat { body: NodeId, min: u32, max: Option<u32> },
    /// A list of members; the position is a number of its own.
    Members(Box<ListNode>),
    /// Free text with tags; the position is its own.
    Tagged(TaggedNode),
    /// A rule with this body, and what is captured of its spans; the position is 1 at the end.
    Rule { body: NodeId, capture: Option<Box<Capturing>> },
}

/// All nodes of a grammar, and which of them generate something, and which of them the empty string.
#[derive(Debug)]
pub(super) struct Nodes {
    all: Vec<Node>,
    productive: Vec<bool>,
    nullable: Vec<bool>,
    expr_count: u32,
    hide_stops: bool,
}

impl Nodes {
    /// The nodes of a grammar without tags or options that bound a rule. Expressions come first, then rules.
    pub(super) fn new(grammar: &Grammar, budget: &Budget) -> Result<Self> {
        let expr_count = grammar.exprs().len() as u32;
        let callable = callable(grammar);
        let mut all = Vec::with_capacity(grammar.exprs().len() + grammar.rules().len());
        let mut keys = Keys::new(grammar);
        for (id, expr) in grammar.exprs() {
            budget.tick()?;
            all.push(match expr {
                _ if !callable[id.index()] => Node::Never,
                Expr::Members { layout, parts } => {
                    Node::Members(Box::new(keys.list_node(grammar, layout, parts, budget)?))
                }
                _ => expr_node(grammar, id, expr, budget)?,
            });
        }
        for (_, rule) in grammar.rules() {
            let capture = Capturing::new(&rule.options);
            all.push(Node::Rule { body: child(grammar, rule.body), capture });
        }
        all.append(&mut keys.nodes);
        let hide_stops = grammar.rules().any(|(_, rule)| rule.options.hides_stop);
        let mut nodes = Nodes { all, productive: Vec::new(), nullable: Vec::new(), expr_count, hide_stops };
        nodes.productive = nodes.find_productive(budget)?;
        nodes.nullable = nodes.least_fixpoint(|_, node, known| nullable_given(node, known), budget)?;
        nodes.check_lists()?;
        Ok(nodes)
    }

    /// The node of a rule.
    pub(super) fn of_rule(&self, rule: RuleId) -> NodeId {
        NodeId(self.expr_count + rule.index() as u32)
    }

    /// Whether the node generates anything.
    pub(super) fn is_productive(&self, node: NodeId) -> bool {
        self.productive[node.index()]
    }

    /// Whether the node generates the empty string.
    pub(super) fn is_nullable(&self, node: NodeId) -> bool {
        self.nullable[node.index()]
    }

    /// Whether the node counts its calls, so that a call that matched nothing must not move it.
    pub(super) fn is_repeat(&self, node: NodeId) -> bool {
        matches!(self.all[node.index()], Node::Repeat { .. })
    }

    /// What is captured of the spans of this node.
    pub(super) fn capture(&self, node: NodeId) -> Option<&Capturing> {
        match &self.all[node.index()] {
            Node::Rule { capture, .. } => capture.as_deref(),
            _ => None,
        }
    }

    /// Whether any rule hides its stop.
    pub(super) fn hide_stops(&self) -> bool {
        self.hide_stops
    }

    /// Whether the node reads bytes in some positions and calls others in some.
    pub(super) fn reads_and_calls(&self, node: NodeId) -> bool {
        matches!(self.all[node.index()], Node::Members(_) | Node::Tagged(_))
    }

    /// Whether `at` is an end of the node.
    pub(super) fn is_end(&self, node: NodeId, at: At) -> bool {
        match &self.all[node.index()] {
            Node::Never => false,
            Node::Bytes(bytes) => at as usize == bytes.len(),
            Node::Class(_) => at == CLASS_END,
            Node::Dfa(dfa) => dfa.is_accepting(at as u32),
            Node::AtMost(texts) => texts.is_end(at),
            Node::JsonText(text) => text.is_end(at),
            Node::Seq(items) => at as usize == items.len(),
            Node::Members(list) => list.is_end(at),
            Node::Tagged(text) => text.is_end(at),
            // A round that may be empty can be made up for free, so then no count is too low.
            &Node::Repeat { body, min, .. } => at >= At::from(min) || self.is_nullable(body),
            Node::Token(_) | Node::Alt(_) | Node::Rule { .. } => at == 1,
        }
    }

    /// The position after `byte`.
    pub(super) fn after_byte(&self, node: NodeId, at: At, byte: u8) -> Option<At> {
        match &self.all[node.index()] {
            Node::Bytes(bytes) => (bytes.get(at as usize) == Some(&byte)).then_some(at + 1),
            Node::Class(set) if at != CLASS_END => class_after(set, at, byte),
            Node::Members(list) => list.after_byte(at, byte),
            Node::Tagged(text) => text.after_byte(at, byte),
            Node::Dfa(dfa) => dfa.next(at as u32, byte).map(At::from),
            Node::AtMost(texts) => texts.after_byte(at, byte),
            Node::JsonText(text) => text.after_byte(at, byte),
            _ => None,
        }
    }

    /// Whether any byte may follow.
    pub(super) fn reads(&self, node: NodeId, at: At) -> bool {
        match &self.all[node.index()] {
            Node::Bytes(bytes) => (at as usize) < bytes.len(),
            Node::Class(_) => at != CLASS_END,
            Node::Dfa(dfa) => !dfa.edges(at as u32).is_empty(),
            Node::Never
            | Node::Token(_)
            | Node::Seq(_)
            | Node::Alt(_)
            | Node::Repeat { .. }
            | Node::Rule { .. } => false,
            Node::AtMost(_) | Node::JsonText(_) | Node::Members(_) | Node::Tagged(_) => {
                (0..=u8::MAX).any(|byte| self.after_byte(node, at, byte).is_some())
            }
        }
    }

    /// The position after `token` as a whole.
    pub(super) fn after_token(&self, node: NodeId, at: At, bytes: &[u8], token: u32) -> Option<At> {
        match &self.all[node.index()] {
            // All tokens but some are all that have bytes: padding and holes are not meant.
            Node::Token(set) if set.negated && bytes.is_empty() => None,
            Node::Token(set) if at == START && set.contains(token) => Some(1),
            _ => None,
        }
    }

    /// Whether a whole token may follow here, in whose place nothing else may be.
    pub(super) fn awaits_token(&self, node: NodeId, at: At) -> bool {
        at == START && matches!(&self.all[node.index()], Node::Token(set) if !set.spelled)
    }

    /// Whether the node stands for tokens that are spent.
    pub(super) fn is_spent(&self, node: NodeId) -> bool {
        matches!(&self.all[node.index()], Node::Token(set) if set.is_spent())
    }

    /// Whether a token may be read as a whole.
    pub(super) fn takes_token(&self, node: NodeId, at: At) -> bool {
        at == START && matches!(&self.all[node.index()], Node::Token(_))
    }

    /// The productive nodes that can be called from `at`, each with the position after it has ended.
    pub(super) fn calls(&self, node: NodeId, at: At) -> Vec<(NodeId, At)> {
        let (callees, after): (&[NodeId], At) = match &self.all[node.index()] {
            Node::Seq(items) => (items.get(at as usize).map_or(&[], std::slice::from_ref), at + 1),
            Node::Alt(items) if at == START => (items, 1),
            Node::Rule { body, .. } if at == START => (std::slice::from_ref(body), 1),
            Node::Repeat { body, min, max: None } => {
                (std::slice::from_ref(body), (at + 1).min(At::from(*min)))
            }
            Node::Repeat { body, max: Some(max), .. } if at < At::from(*max) => {
                (std::slice::from_ref(body), at + 1)
            }
            Node::Members(list) => return list.calls(at),
            Node::Tagged(text) => return text.calls(at),
            _ => (&[], START),
        };
        let productive = callees.iter().filter(|&&callee| self.is_productive(callee));
        productive.map(|&callee| (callee, after)).collect()
    }

    /// The calls whose end leads to `at`: the callee and the position before it. The converse of [`Nodes::calls`].
    pub(super) fn calls_into(&self, node: NodeId, at: At) -> Vec<(NodeId, At)> {
        let positions = match &self.all[node.index()] {
            // Without a maximum the position may have stood still.
            Node::Repeat { max: None, .. } => at.saturating_sub(1)..at + 1,
            Node::Seq(_) | Node::Alt(_) | Node::Rule { .. } | Node::Repeat { .. } if at > START => at - 1..at,
            Node::Members(list) => list.positions(),
            Node::Tagged(text) => return text.calls_into(at),
            _ => return Vec::new(),
        };
        let calls = positions
            .flat_map(|from| self.calls(node, from).into_iter().map(move |(callee, to)| (callee, from, to)));
        calls.filter(|&(_, _, to)| to == at).map(|(callee, from, _)| (callee, from)).collect()
    }

    /// Which nodes generate something. Lists are settled when nothing else is left to find, again and again until
    /// none is added, and then once more, so that their conditions know all that can be.
    fn find_productive(&mut self, budget: &Budget) -> Result<Vec<bool>> {
        let lists: Vec<usize> =
            (0..self.all.len()).filter(|&at| matches!(self.all[at], Node::Members(_))).collect();
        let mut known_lists = vec![false; self.all.len()];
        loop {
            let given = |at: usize, node: &Node, known: &[bool]| match node {
                Node::Members(_) => known_lists[at],
                _ => generates_given(node, known),
            };
            let productive = self.least_fixpoint(given, budget)?;
            let mut is_changed = false;
            for &at in &lists {
                let Node::Members(list) = &mut self.all[at] else { continue };
                let satisfiable = list.settle(&productive, budget)?;
                is_changed |= satisfiable && !std::mem::replace(&mut known_lists[at], true);
            }
            if !is_changed {
                for node in &mut self.all {
                    if let Node::Tagged(text) = node {
                        text.settle(&productive, budget)?;
                    }
                }
                return Ok(productive);
            }
        }
    }

    /// Fails where a list has no separator, or one or a member that may be empty.
    fn check_lists(&self) -> Result<()> {
        for node in &self.all {
            let Node::Members(list) = node else { continue };
            if !list.separates(&self.productive) {
                let message = "the separator of a list of members matches nothing";
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            if list.may_be_empty(&self.nullable) {
                return Err(Error::unsupported(
                    "the separator of a list, a member without a key, or the value of others, may be empty",
                ));
            }
        }
        Ok(())
    }

    /// The least set of nodes that holds each node which `given` says follows from those in it.
    fn least_fixpoint(
        &self,
        given: impl Fn(usize, &Node, &[bool]) -> bool,
        budget: &Budget,
    ) -> Result<Vec<bool>> {
        let mut parents: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
        for (at, node) in self.all.iter().enumerate() {
            for &child in children(node) {
                parents.entry(child).or_default().push(at);
            }
        }
        let mut known = vec![false; self.all.len()];
        let mut agenda: Vec<usize> = (0..self.all.len()).collect();
        while let Some(at) = agenda.pop() {
            budget.tick()?;
            if !known[at] && given(at, &self.all[at], &known) {
                known[at] = true;
                agenda.extend(parents.get(&NodeId(at as u32)).into_iter().flatten());
            }
        }
        Ok(known)
    }
}

/// Whether the node generates anything, if those in `known` do.
fn generates_given(node: &Node, known: &[bool]) -> bool {
    match node {
        // Of lists the caller knows.
        Node::Never | Node::Members(_) => false,
        Node::Bytes(_) | Node::Tagged(_) => true,
        Node::Class(set) => !set.ranges().is_empty(),
        Node::Dfa(dfa) => !dfa.is_empty(),
        Node::AtMost(texts) => !texts.is_empty(),
        Node::JsonText(text) => !text.is_empty(),
        // The text goes on behind spent tokens as well.
        Node::Token(set) => set.negated || !set.ids.is_empty() || set.is_spent(),
        Node::Seq(items) => items.iter().all(|item| known[item.index()]),
        Node::Alt(items) => items.iter().any(|item| known[item.index()]),
        Node::Repeat { body, min, .. } => *min == 0 || known[body.index()],
        Node::Rule { body, .. } => known[body.index()],
    }
}

/// Whether the node generates the empty string, if those in `known` do.
fn nullable_given(node: &Node, known: &[bool]) -> bool {
    match node {
        Node::Never | Node::Class(_) | Node::Token(_) => false,
        Node::Bytes(bytes) => bytes.is_empty(),
        Node::Dfa(dfa) => !dfa.is_empty() && dfa.is_accepting(Dfa::START),
        Node::Members(list) => list.is_end(START),
        // Free text may be empty.
        Node::Tagged(_) => true,
        Node::AtMost(texts) => !texts.is_empty() && texts.is_end(START),
        Node::JsonText(text) => text.is_nullable(),
        Node::Seq(_) | Node::Alt(_) | Node::Repeat { .. } | Node::Rule { .. } => generates_given(node, known),
    }
}

fn children(node: &Node) -> &[NodeId] {
    match node {
        Node::Seq(items) | Node::Alt(items) => items,
        Node::Repeat { body, .. } | Node::Rule { body, .. } => std::slice::from_ref(body),
        // Lists are looked at apart from the rest, and free text always generates something.
        Node::Never
        | Node::Bytes(_)
        | Node::Class(_)
        | Node::Dfa(_)
        | Node::AtMost(_)
        | Node::JsonText(_)
        | Node::Token(_)
        | Node::Tagged(_)
        | Node::Members(_) => &[],
    }
}

/// The node that a mention of `expr` stands for: a rule's own node where it is the name of a rule.
fn child(grammar: &Grammar, expr: ExprId) -> NodeId {
    match grammar.expr(expr) {
        Expr::Rule(rule) => NodeId((grammar.exprs().len() + rule.index()) as u32),
        _ => NodeId(expr.index() as u32),
    }
}

/// Which expressions a node may call, as against those that only stand in a conjunction, a complement, a bound or a JSON text and
/// are part of its automaton.
fn callable(grammar: &Grammar) -> Vec<bool> {
    let mut callable = vec![false; grammar.exprs().len()];
    let mut mark = |items: &[ExprId]| items.iter().for_each(|item| callable[item.index()] = true);
    for (_, expr) in grammar.exprs() {
        match expr {
            Expr::Seq(items) | Expr::Alt(items) => mark(items),
            Expr::Tagged { parts, .. } => mark(parts),
            Expr::Repeat { body, .. } => mark(&[*body]),
            // The keys of others are texts, not what is written.
            Expr::Members { layout, parts } => {
                let track =
                    layout.track.iter().flat_map(|node| node.separators.iter().map(|&(part, _)| part));
                let values = layout.variants().map(|variant| variant.value).chain([layout.separator]);
                values
                    .chain(track)
                    .filter_map(|part| parts.get(part as usize))
                    .for_each(|&part| mark(&[part]));
            }
            _ => {}
        }
    }
    grammar.rules().for_each(|(_, rule)| mark(&[rule.body]));
    callable
}

fn expr_node(grammar: &Grammar, id: ExprId, expr: &Expr, budget: &Budget) -> Result<Node> {
    let all = |items: &[ExprId]| items.iter().map(|&item| child(grammar, item)).collect();
    Ok(match expr {
        Expr::Empty => Node::Bytes(Box::new([])),
        Expr::Bytes(bytes) => Node::Bytes(bytes.as_slice().into()),
        // Without a vocabulary there are no special tokens.
        Expr::Marker(text) => Node::Bytes(text.as_bytes().into()),
        Expr::Class(set) => Node::Class(set.clone()),
        Expr::Seq(items) => Node::Seq(all(items)),
        Expr::Alt(items) => Node::Alt(all(items)),
        &Expr::Repeat { body, min, max } => Node::Repeat { body: child(grammar, body), min, max },
        Expr::And(_) | Expr::Not(_) => Node::Dfa(Arc::new(determinize(grammar, id, budget)?)),
        Expr::Automaton(automaton) => Node::Dfa(Arc::clone(automaton.dfa.get())),
        Expr::JsonText { text, escapes } => Node::JsonText(JsonText::new(grammar, *text, *escapes, budget)?),
        &Expr::AtMost { body, most } => Node::AtMost(AtMost::new(grammar, body, most, budget)?),
        Expr::Token(set) => Node::Token(set.clone()),
        Expr::Tagged { text, parts, repeats } => Node::Tagged(TaggedNode::new(text, all(parts), *repeats)),
        // Mentions of a rule go to the rule's own node, lists are made elsewhere, and the tags were lowered: nobody
        // calls these.
        Expr::Never
        | Expr::Rule(_)
        | Expr::Members { .. }
        | Expr::TagDispatch(_)
        | Expr::TokenTagDispatch(_) => Node::Never,
    })
}

/// The language of one text.
pub(super) fn text_alone(text: &str, budget: &Budget) -> Result<Dfa> {
    let mut nfa = Nfa::new(budget);
    let (start, end) = (nfa.add_state()?, nfa.add_state()?);
    nfa.add_literal(start, text.as_bytes(), end)?;
    nfa.determinize(start, end)
}

/// The nodes of the keys of lists, which come after those of the rules.
struct Keys {
    first: u32,
    nodes: Vec<Node>,
}

impl Keys {
    fn new(grammar: &Grammar) -> Self {
        Keys { first: (grammar.exprs().len() + grammar.rules().len()) as u32, nodes: Vec::new() }
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.first + self.nodes.len() as u32 - 1)
    }

    fn list_node(
        &mut self,
        grammar: &Grammar,
        layout: &Arc<Layout>,
        parts: &[ExprId],
        budget: &Budget,
    ) -> Result<ListNode> {
        layout.check(parts.len())?;
        let mut key = |key: &str| self.key(key, layout.escapes, budget);
        let keys = layout.entries.iter().map(|entry| entry.key.as_deref().map(&mut key).transpose());
        let keys = keys.collect::<Result<_>>()?;
        let other_keys = layout.others.iter().map(|others| {
            let language = others.keys.map(|keys| lists::language(grammar, parts[keys as usize], budget));
            Ok(language.transpose()?.map(Arc::unwrap_or_clone))
        });
        let other_keys = other_keys.collect::<Result<_>>()?;
        let parts = parts.iter().map(|&part| child(grammar, part)).collect();
        Ok(ListNode::new(Arc::clone(layout), parts, keys, other_keys))
    }

    fn key(&mut self, key: &str, escapes: Escapes, budget: &Budget) -> Result<NodeId> {
        let quote = self.add(Node::Bytes((*b"\"").into()));
        let text = self.add(Node::JsonText(JsonText::of(text_alone(key, budget)?, escapes)));
        Ok(self.add(Node::Seq([quote, text, quote].into())))
    }
}

/// The position after `byte` in a class of which the bytes in `read` were read.
fn class_after(set: &CharSet, read: At, byte: u8) -> Option<At> {
    let bytes: Vec<u8> = read.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).chain([byte]).collect();
    let (least, length) = match bytes[0] {
        0..=0x7F => (0, 1),
        0xC0..=0xDF => (0x80, 2),
        0xE0..=0xEF => (0x800, 3),
        0xF0..=0xF7 => (0x1_0000, 4),
        _ => return None,
    };
    if bytes[1..].iter().any(|byte| byte & 0xC0 != 0x80) {
        return None;
    }
    let lead = u32::from(bytes[0]) & if length == 1 { 0x7F } else { 0x7F >> length };
    let value = bytes[1..].iter().fold(lead, |value, &byte| value << 6 | u32::from(byte & 0x3F));
    let open_bits = 6 * (length - bytes.len());
    let low = (value << open_bits).max(least);
    let high = (value << open_bits) | ((1 << open_bits) - 1);
    // Longer than need be, or a surrogate: no encoding of a code point starts so.
    if low > high || (low >= 0xD800 && high <= 0xDFFF) {
        return None;
    }
    let overlaps = |&(first, last): &(char, char)| u32::from(first) <= high && low <= u32::from(last);
    let next = if open_bits == 0 { CLASS_END } else { read << 8 | At::from(byte) };
    set.ranges().iter().any(overlaps).then_some(next)
}
