//! What a text says, before any of it is given a meaning.
//!
//! A template is read once and used with many arguments, and a parametric rule with many values; so there is a tree
//! here, unlike in the EBNF front end. Nodes stand in one list, children before their parents, and those of one body
//! stand together: going over a body is a loop over numbers, and nothing recurses.

use std::borrow::Cow;

use super::parameters::{Condition, Step};
use crate::ir::{RuleOptions, TokenSet};

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(pub(super) u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a definition, of whatever document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DefinitionId(pub(super) u32);

/// The number of a document: the text itself, a `%lark { ... }` in it, a named grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DocumentId(pub(super) u32);

#[derive(Clone, Debug)]
pub(super) enum Node<'s> {
    /// A string; in any case where `ignore_case` says so.
    Text { text: Cow<'s, str>, ignore_case: bool },
    /// One code point from the first to the last.
    Range(char, char),
    /// A pattern and the letters of its flags.
    Regex { pattern: &'s str, flags: &'s str },
    /// A rule, a terminal, or a parameter of the template that this stands in.
    Name(&'s str),
    /// A template with arguments.
    Call { name: &'s str, arguments: Vec<NodeId> },
    /// A parametric rule and what becomes of the parameter.
    Step { name: &'s str, step: Step },
    /// One after the other; the empty string where there are none.
    Seq(Vec<NodeId>),
    /// Any one of these.
    Alt(Vec<NodeId>),
    /// All of these at once.
    And(Vec<NodeId>),
    /// Any text but this.
    Not(NodeId),
    /// So many times.
    Repeat { body: NodeId, min: u32, max: Option<u32> },
    /// This, where the parameter fulfils the condition.
    If { body: NodeId, condition: Condition },
    /// One token of a set.
    Tokens(TokenSet),
    /// One token by its text.
    TokenText(&'s str),
    /// The values of a JSON Schema.
    Json(&'s str),
    /// A run of neighbouring chunks.
    Substring(Vec<String>),
    /// A grammar of its own.
    Nested(DocumentId),
    /// A grammar by its name.
    Named(&'s str),
}

impl Node<'_> {
    pub(super) fn children(&self) -> &[NodeId] {
        match self {
            Node::Seq(items) | Node::Alt(items) | Node::And(items) => items,
            Node::Call { arguments, .. } => arguments,
            Node::Not(body) | Node::Repeat { body, .. } | Node::If { body, .. } => std::slice::from_ref(body),
            _ => &[],
        }
    }
}

/// The nodes of one body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    /// The first of them; they go up to the root.
    pub(super) first: NodeId,
    pub(super) root: NodeId,
}

/// What ends a rule and is not part of its capture: `suffix=...` or `stop=...`.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    pub(super) body: Body,
    /// The name under which the marker itself is captured.
    pub(super) capture: Option<String>,
    /// Whether it is a `stop`, which captures around the rule leave out too.
    pub(super) is_stop: bool,
}

/// What stands between `[` and `]` behind the name of a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    pub(super) options: RuleOptions,
    pub(super) marker: Option<Marker>,
    /// Where they stand.
    pub(super) at: usize,
}

impl Attributes {
    /// Whether the rule is read as one terminal: nothing is ignored inside of it.
    pub(super) fn make_terminal(&self) -> bool {
        self.options.lazy || self.marker.is_some()
    }
}

/// A rule, a template or a terminal.
#[derive(Clone, Debug)]
pub(super) struct Definition<'s> {
    pub(super) name: &'s str,
    pub(super) at: usize,
    pub(super) document: DocumentId,
    pub(super) content: Content,
    /// The parameters of a template.
    pub(super) parameters: Vec<&'s str>,
    /// Whether it was written `name::_`.
    pub(super) is_parametric: bool,
    pub(super) attributes: Attributes,
}

/// What a definition stands for.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Alternatives that were written; several of them where `%extend` added some.
    Bodies(Vec<Body>),
    /// A terminal of the library, by its pattern.
    Library(&'static str),
    /// A terminal that was declared and not defined.
    Declared,
}

/// Whether a name is that of a terminal: its first letter is a capital.
pub(super) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|c: char| c.is_ascii_uppercase())
}

/// One grammar: its own names, and what it ignores.
#[derive(Clone, Debug)]
pub(super) struct Document<'s> {
    /// The text that it stands in, for errors.
    pub(super) source: &'s str,
    /// The name of the grammar, if it is one of the named ones.
    pub(super) name: Option<&'s str>,
    pub(super) names: hashbrown::HashMap<&'s str, DefinitionId>,
    pub(super) ignored: Vec<Body>,
    pub(super) allow_initial_skip: bool,
    pub(super) ignore_once: bool,
    /// Where it begins.
    pub(super) at: usize,
}

/// All that was read.
#[derive(Debug, Default)]
pub(super) struct Texts<'s> {
    nodes: Vec<(Node<'s>, usize)>,
    pub(super) documents: Vec<Document<'s>>,
    pub(super) definitions: Vec<Definition<'s>>,
}

impl<'s> Texts<'s> {
    pub(super) fn add(&mut self, node: Node<'s>, at: usize) -> NodeId {
        self.nodes.push((node, at));
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// The number that the next node will have.
    pub(super) fn next_node(&self) -> NodeId {
        NodeId(self.nodes.len() as u32)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'s> {
        &self.nodes[id.index()].0
    }

    /// Where a node stands in the text of its document.
    pub(super) fn place(&self, id: NodeId) -> usize {
        self.nodes[id.index()].1
    }

    pub(super) fn document(&self, id: DocumentId) -> &Document<'s> {
        &self.documents[id.0 as usize]
    }

    pub(super) fn definition(&self, id: DefinitionId) -> &Definition<'s> {
        &self.definitions[id.0 as usize]
    }
}
