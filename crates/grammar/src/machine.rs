//! The machine: what the engine runs.
//!
//! Each rule that is left after the passes is a small automaton. Its nodes are joined by edges that consume
//! something (a terminal, a call of another rule, a token) and by jumps that consume nothing. A terminal is a regular
//! byte language; the engine determinises it lazily. There is no lexer: a terminal is only a part of the automaton
//! whose inside does not depend on the context.
//!
//! Invariants:
//!
//! 1. An edge consumes at least one byte or token. Where its terminal or rule can match the empty string, a jump
//!    stands beside it.
//! 2. No rule can call itself again before something was consumed: left recursion, direct, mutual or hidden, has
//!    been turned into loops. [`MachineRule::rank`] orders the rules so that a call in first position always goes
//!    from a lower rank to a higher one.
//! 3. Every node can reach the end of its rule, and every rule matches something.
//! 4. A counter node repeats one rule: its frame carries how often it has been matched.
//! 5. A list node reads members with conditions between them: its frame carries what has been read.
//! 6. A rule whose tokens are counted calls another that has its body, and then ends: between the two there is a frame.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ir::{Escapes, Expr, ExprId, Exprs, TokenSet};
use crate::members::{Conditions, KeyTree};
use crate::regular::ByteSet;
use crate::regular::TagText;

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The number of a rule of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineRuleId(pub u32);

/// What an edge consumes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// A non-empty string of a regular language: an expression of [`Machine::exprs`] without rules, conjunctions
    /// and complements.
    Terminal(ExprId),
    /// A non-empty string of a rule.
    Call(MachineRuleId),
    /// One token of a set, by its number in [`Machine::token_sets`].
    Token(u32),
    /// A non-empty text with tags, by its number in [`Machine::tagged`]. It is read as a terminal is; but where a tag
    /// has been read, what follows the tag comes before the target of the edge.
    Tagged(u32),
}

/// Free text with tags, and what follows each of them.
#[derive(Clone, Debug)]
pub struct Tagged {
    /// The text and its tags.
    pub text: Arc<TagText>,
    /// The rule that follows each tag, by its number. `None` is a tag after which nothing can come.
    pub rules: Box<[Option<MachineRuleId>]>,
    /// The rule that follows what follows a tag: the same text again.
    pub again: Option<MachineRuleId>,
}

impl Tagged {
    /// The rules that it calls, none of them before something was read.
    pub fn calls(&self) -> impl Iterator<Item = MachineRuleId> {
        self.rules.iter().copied().flatten().chain(self.again)
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.text.memory_bytes() + size_of_val(&*self.rules)
    }

    /// Replaces every rule that is named here.
    pub fn retarget(&mut self, map: impl Fn(MachineRuleId) -> MachineRuleId) {
        self.rules.iter_mut().flatten().chain(&mut self.again).for_each(|rule| *rule = map(*rule));
    }
}

/// An edge that consumes something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// What it consumes.
    pub label: Label,
    /// Where it leads.
    pub target: NodeId,
}

/// A repeat with bounds: `rule` matched `min` to `max` times, then on to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counter {
    /// What is repeated.
    pub rule: MachineRuleId,
    /// The least count.
    pub min: u32,
    /// The greatest count; `u32::MAX` is no bound.
    pub max: u32,
    /// Where to go on.
    pub next: NodeId,
}

impl Counter {
    /// The count of no upper bound.
    pub const UNBOUNDED: u32 = u32::MAX;
}

/// The number of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(pub u32);

/// A list that is read at a node, then on to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListUse {
    /// What is read.
    pub list: ListId,
    /// Where to go on.
    pub next: NodeId,
    /// Whether the list must have a member, whatever its conditions say.
    pub nonempty: bool,
}

/// One way to write a member, after its key if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberValue {
    /// For an entry with a key: the closing quote and as much of the value as is one terminal with it.
    pub head: Option<ExprId>,
    /// What follows. `None` is nothing.
    pub rule: Option<MachineRuleId>,
}

/// The ways to write a member, by variant: nearly always one.
pub type MemberValues = SmallVec<[MemberValue; 1]>;

/// The others of a list.
#[derive(Clone, Debug)]
pub struct ListOthers {
    /// The texts of their keys, as an expression of text like those in JSON texts; `None` has no key.
    pub keys: Option<ExprId>,
    /// The ways to write their values, by variant.
    pub variants: MemberValues,
}

/// A list of members.
#[derive(Clone, Debug)]
pub struct List {
    /// What may come when.
    pub conditions: Arc<Conditions>,
    /// Whether the empty list is one.
    pub nullable: bool,
    /// The keys of the entries.
    pub keys: KeyTree,
    /// The terminals of the texts of the key tree's nodes, by node.
    pub key_texts: Box<[ExprId]>,
    /// The terminal of one quote.
    pub quote: ExprId,
    /// The terminal between two members.
    pub separator: ExprId,
    /// The ways to write the values of the entries, by entry and variant.
    pub entries: Box<[MemberValues]>,
    /// The others.
    pub others: Box<[ListOthers]>,
    /// The keys that others may not have: those of the entries. None if no others have keys.
    pub names: Box<[Box<str>]>,
    /// Whether no two of the others may have the same key.
    pub unique: bool,
    /// The escapes that keys may have.
    pub escapes: Escapes,
    /// The bytes that may stand before a key that is not the first member.
    pub before_keys: ByteSet,
    /// The bytes that may stand after a key of others.
    pub after_keys: ByteSet,
    /// Whether a key of others that is not whole can always be completed, whatever the list has had.
    pub always_free: bool,
    /// The terminals that may separate two members, by the nodes of the list's track; none if it has no track.
    pub track: Box<[Box<[ExprId]>]>,
}

impl List {
    fn values(&self) -> impl Iterator<Item = &MemberValue> {
        self.entries.iter().flatten().chain(self.others.iter().flat_map(|others| &others.variants))
    }

    /// The rules that it calls.
    pub fn calls(&self) -> impl Iterator<Item = MachineRuleId> {
        self.values().filter_map(|value| value.rule)
    }

    /// The rules that it calls before anything is read.
    pub fn left_calls(&self) -> impl Iterator<Item = MachineRuleId> {
        let others = self.others.iter().filter(|others| others.keys.is_none());
        let values = self.entries.iter().flatten().chain(others.flat_map(|others| &others.variants));
        values.filter(|value| value.head.is_none()).filter_map(|value| value.rule)
    }

    /// Replaces every rule that is named here.
    pub fn retarget(&mut self, map: impl Fn(MachineRuleId) -> MachineRuleId) {
        let others = self.others.iter_mut().flat_map(|others| &mut others.variants);
        let values = self.entries.iter_mut().flatten().chain(others);
        values.filter_map(|value| value.rule.as_mut()).for_each(|rule| *rule = map(*rule));
    }

    fn memory_bytes(&self) -> usize {
        const A_KEY: usize = 120;
        let values = self.values().count() * size_of::<MemberValue>()
            + self.names.iter().map(|name| name.len() + 16).sum::<usize>();
        self.conditions.memory_bytes() + self.keys.nodes.len() * A_KEY + values
    }
}

/// A position in a rule.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The ways on that consume something.
    pub edges: SmallVec<[Edge; 2]>,
    /// The ways on that consume nothing.
    pub jumps: SmallVec<[NodeId; 4]>,
    /// Set for a counter node, which then has neither edges nor jumps.
    pub counter: Option<Counter>,
    /// Set for a list node, which then has neither edges nor jumps.
    pub list: Option<ListUse>,
    /// Whether the rule may end here. For a counter node: once its least count is reached. For a list node: once its
    /// conditions are met.
    pub accepting: bool,
    /// Whether what can be read from here to the end of the rule is a star: nothing, or any number of things each of
    /// which ends here again. A stack with two such frames on top of each other means the same with one.
    pub star: bool,
    /// The temperature of the rule that the node belongs to.
    pub temperature: Option<f32>,
    /// Set for the end of a rule that may take so many tokens: its frame stays on the stack while the rule is read, and
    /// carries when that began.
    pub max_tokens: Option<u32>,
    /// Set for the end of a rule that is an array without equal items: its frame stays on the stack as well, and carries
    /// what the items were.
    pub distinct_items: bool,
}

impl Node {
    /// The rules that are called from here, where `lists` and `tagged` are those of the machine.
    pub fn calls<'m>(
        &'m self,
        lists: &'m [List],
        tagged: &'m [Tagged],
    ) -> impl Iterator<Item = MachineRuleId> + 'm {
        let members = self.list.iter().flat_map(|at| lists[at.list.0 as usize].calls());
        let texts = self.texts().flat_map(|text| tagged[text as usize].calls());
        members.chain(texts).chain(self.own_calls())
    }

    /// The texts with tags that are read from here, by number.
    pub fn texts(&self) -> impl Iterator<Item = u32> {
        self.edges.iter().filter_map(|edge| match edge.label {
            Label::Tagged(text) => Some(text),
            _ => None,
        })
    }

    /// The rules that are called from here before anything is read.
    pub fn left_calls<'m>(&'m self, lists: &'m [List]) -> impl Iterator<Item = MachineRuleId> + 'm {
        let members = self.list.iter().flat_map(|at| lists[at.list.0 as usize].left_calls());
        members.chain(self.own_calls())
    }

    /// Where the way on leads that reads nothing of a counter or a list.
    pub fn skip(&self, lists: &[List]) -> Option<NodeId> {
        let counter = self.counter.filter(|counter| counter.min == 0).map(|counter| counter.next);
        let is_skipped = |at: &ListUse| !at.nonempty && lists[at.list.0 as usize].nullable;
        counter.or(self.list.filter(is_skipped).map(|at| at.next))
    }

    /// Where a counter or a list leads on to.
    pub fn next(&self) -> Option<NodeId> {
        self.counter.map(|counter| counter.next).or(self.list.map(|at| at.next))
    }

    /// Whether nothing can be read from here.
    pub fn is_end(&self) -> bool {
        self.edges.is_empty() && self.jumps.is_empty() && self.next().is_none()
    }

    fn own_calls(&self) -> impl Iterator<Item = MachineRuleId> {
        let counted = self.counter.iter().map(|counter| counter.rule);
        counted.chain(self.edges.iter().filter_map(|edge| match edge.label {
            Label::Call(rule) => Some(rule),
            _ => None,
        }))
    }

    /// The nodes that one step leads to, whether it consumes something or not.
    pub fn successors(&self) -> impl Iterator<Item = NodeId> {
        self.jumps.iter().copied().chain(self.edges.iter().map(|edge| edge.target)).chain(self.next())
    }

    /// Replaces every node, every rule and the list that are named here.
    pub(crate) fn renumber(
        &mut self,
        node_id: impl Fn(NodeId) -> NodeId,
        rule_id: impl Fn(MachineRuleId) -> MachineRuleId,
        list_id: impl Fn(ListId) -> ListId,
    ) {
        self.retarget(node_id);
        for edge in &mut self.edges {
            if let Label::Call(rule) = &mut edge.label {
                *rule = rule_id(*rule);
            }
        }
        if let Some(counter) = &mut self.counter {
            counter.rule = rule_id(counter.rule);
        }
        if let Some(list) = &mut self.list {
            list.list = list_id(list.list);
        }
    }

    /// Replaces every node that is named here.
    pub fn retarget(&mut self, map: impl Fn(NodeId) -> NodeId) {
        self.jumps.iter_mut().for_each(|jump| *jump = map(*jump));
        self.edges.iter_mut().for_each(|edge| edge.target = map(edge.target));
        if let Some(counter) = &mut self.counter {
            counter.next = map(counter.next);
        }
        if let Some(list) = &mut self.list {
            list.next = map(list.next);
        }
    }
}

/// A rule of the machine.
#[derive(Clone, Debug)]
pub struct MachineRule {
    /// The name of the rule in the grammar that it came from.
    pub name: String,
    /// Where it starts.
    pub start: NodeId,
    /// Its place in the order of calls in first position.
    pub rank: u32,
}

/// A grammar, ready to run.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says that a part of the engine is needed")]
pub struct Machine {
    /// The expressions of the terminals.
    pub exprs: Exprs,
    /// The sets of the token edges.
    pub token_sets: Vec<TokenSet>,
    /// The lists.
    pub lists: Vec<List>,
    /// The texts of the edges with tags.
    pub tagged: Vec<Tagged>,
    /// The nodes of all rules.
    pub nodes: Vec<Node>,
    /// The rules.
    pub rules: Vec<MachineRule>,
    /// The rule to start from.
    pub root: MachineRuleId,
    /// Whether the empty string is in the language.
    pub accepts_empty: bool,
    /// Whether any rule gives a temperature.
    pub has_temperatures: bool,
    /// Whether the tokens of any rule are counted.
    pub counts_tokens: bool,
    /// Whether the items of any rule are compared.
    pub compares_items: bool,
    /// The nodes that other machines have too, if there are any.
    pub block: Option<Block>,
}

/// Nodes that are the same in many machines, and lead to no others: those of a [rule that is ready](crate::passes::Ready).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Tells it from all other blocks of the process.
    pub number: u32,
    /// Its first node. The others are the last nodes of the machine, in their order.
    pub start: NodeId,
    /// Where those begin.
    pub others: NodeId,
}

impl Block {
    /// The place of a node in the block, which is the same in all machines; none if it is not in it.
    pub fn place_of(&self, node: NodeId) -> Option<u32> {
        if node == self.start { Some(0) } else { node.0.checked_sub(self.others.0).map(|place| place + 1) }
    }
}

impl Machine {
    /// The node `id`.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The list `id`.
    pub fn list(&self, id: ListId) -> &List {
        &self.lists[id.0 as usize]
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let lists = self.lists.iter().map(List::memory_bytes).sum::<usize>();
        let node = |node: &Node| size_of::<Node>() + size_of_val(&*node.edges) + size_of_val(&*node.jumps);
        let rule = |rule: &MachineRule| size_of::<MachineRule>() + rule.name.len();
        let sets = self.token_sets.iter().map(|set| size_of_val(&*set.ids)).sum::<usize>();
        let exprs = self.exprs.memory_bytes();
        self.nodes.iter().map(node).sum::<usize>()
            + self.rules.iter().map(rule).sum::<usize>()
            + exprs
            + sets
            + lists
            + self.tagged.iter().map(Tagged::memory_bytes).sum::<usize>()
    }

    /// The rule `id`.
    pub fn rule(&self, id: MachineRuleId) -> &MachineRule {
        &self.rules[id.0 as usize]
    }

    /// The expression `id` of a terminal.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }
}
