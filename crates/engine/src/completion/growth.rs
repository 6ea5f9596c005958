//! How much one token can add to the cost of a text.
//!
//! A token reads so many bytes. It may end terminals and pop frames, which makes the text cheaper, and it may enter rules,
//! which makes it dearer by what is then left of them. How much that can be is found for each node and each number of bytes
//! from none up: a terminal passes on to what comes behind it with as many bytes less as it has at least, and a call goes
//! into its rule with all of them. A terminal that begins within a token begins with one of its first bytes, and behind those
//! tokens are shorter: few go on for long behind a bracket, whatever the longest token is. Numbers are too great rather than too small: the price is that masks are looked at a
//! little earlier than needed.

use tokenstile_grammar::machine::{Edge, Label, List, ListId, Machine, MachineRuleId, MemberValue, NodeId};
use tokenstile_grammar::members::MostNeeded;

use super::NodeCosts;
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::{NO_END, Shortest, TerminalId};

/// Tokens with more bytes than this are taken for several.
const MOST_BYTES: usize = 128;

/// What the edges of a machine and the members of its lists take, at least and at most.
struct Sizes<'g> {
    generation: &'g Generation,
    costs: &'g NodeCosts,
    /// By node: what it costs; nothing where tokens must have been spent, as there is another way beside.
    own: Vec<u32>,
    /// The least bytes from a node to the end of its rule.
    least: Vec<u32>,
    lists: Vec<ListSizes>,
}

/// The same for a list.
struct ListSizes {
    /// What may be left of it after a member.
    rest: u32,
    /// The most that may be left of a member's terminals and values.
    member: u32,
    /// The rules of the members, with the least bytes before each.
    values: Vec<(NodeId, u32)>,
}

/// How much tokens can add to what is left of a text.
#[derive(Default)]
pub(super) struct Growth {
    /// By the length of a token in bytes, up to the last: how much it can add to the greatest cost.
    pub(super) by_bytes: Box<[u32]>,
    /// By node: what may be left of its rule after any token that begins there.
    pub(super) nodes: Box<[u32]>,
    /// By list: what may be left of one member after any token, beside all those that are needed.
    pub(super) members: Box<[u32]>,
}

/// How much tokens can add, by their length and by where they begin.
pub(super) fn growth(generation: &Generation, costs: &NodeCosts, shortest: &mut Shortest) -> Growth {
    let machine = generation.machine();
    let bytes = (generation.longest_token() as usize).min(MOST_BYTES);
    let own = |(&cost, &is_shut): (&u32, &bool)| if is_shut { 0 } else { cost };
    let own = costs.nodes.iter().zip(&costs.shut).map(own).collect();
    let least = least_bytes(generation, shortest);
    let mut sizes = Sizes { generation, costs, own, least, lists: Vec::new() };
    for list in 0..machine.lists.len() as u32 {
        let list = sizes.list(ListId(list), shortest);
        sizes.lists.push(list);
    }
    let edges = sizes.edges(shortest);
    let mut by_bytes: Vec<Vec<u32>> = vec![sizes.own.clone()];
    while by_bytes.len() <= bytes {
        by_bytes.push(sizes.with_one_more(&by_bytes, &edges));
    }
    let greatest = |costs: &Vec<u32>| costs.iter().copied().max().unwrap_or(0);
    let growths = by_bytes.iter().map(greatest).collect();
    // A longer token than was reckoned with adds as often more.
    let is_longer = generation.longest_token() as usize > MOST_BYTES;
    let furthest = by_bytes.pop().unwrap_or_default();
    let nodes: Box<[u32]> =
        if is_longer { vec![NO_END; machine.nodes.len()].into() } else { furthest.into() };
    let member = |list: &ListSizes| {
        let values = list.values.iter().map(|&(node, _)| nodes[node.0 as usize]);
        values.fold(list.member, u32::max)
    };
    let members = sizes.lists.iter().map(member).collect();
    Growth { by_bytes: growths, nodes, members }
}

/// What is known of an edge that is a terminal: its least bytes, and the most that may be left of it.
type TerminalSize = (u32, u32);

/// The same, and how many bytes of a token there are at most from where the terminal begins.
type EdgeSize = (u32, u32, usize);

impl Sizes<'_> {
    /// The sizes of the terminals of all edges, by node.
    fn edges(&self, shortest: &mut Shortest) -> Vec<Vec<EdgeSize>> {
        let terminals = self.generation.terminals();
        let reaches = self.generation.tokens().index().trie().reaches();
        let reach = |state: TerminalId| {
            let row = terminals.row(state).iter();
            let bytes = row.flat_map(|&(low, high, _)| &reaches[usize::from(low)..=usize::from(high)]);
            match bytes.max() {
                // What is longer was not counted.
                Some(&u8::MAX) => usize::MAX,
                reach => reach.map_or(0, |&reach| reach.into()),
            }
        };
        let mut size = |edge: &Edge| match edge.label {
            Label::Terminal(expr) => {
                let state = self.generation.terminal(expr);
                let (least, worst) =
                    (shortest.least_bytes(terminals, state), shortest.worst_bytes(terminals, state));
                (least, worst, reach(state))
            }
            // At most a tag and what follows it.
            Label::Tagged(text) => {
                let worst = shortest.worst_bytes(terminals, terminals.tagged_start(text));
                let behind = self.behind_tags(text, |rule| self.costs.rules[rule.0 as usize]);
                (0, worst.saturating_add(behind), usize::MAX)
            }
            _ => (0, 0, usize::MAX),
        };
        self.generation
            .machine()
            .nodes
            .iter()
            .map(|node| node.edges.iter().map(&mut size).collect())
            .collect()
    }

    /// The most that any of the rules after the tags of a text costs, and the text again.
    fn behind_tags(&self, text: u32, cost: impl Fn(MachineRuleId) -> u32) -> u32 {
        let tagged = &self.generation.machine().tagged[text as usize];
        let again = tagged.again.map_or(0, |again| self.costs.rules[again.0 as usize]);
        let dearest = tagged.rules.iter().copied().flatten().map(cost).max().unwrap_or(0);
        dearest.saturating_add(again).min(NO_END)
    }

    /// What a token of so many bytes may leave to read once it has passed a tag, by text.
    fn after_tags(&self, known: &[Vec<u32>]) -> Vec<u32> {
        let machine = self.generation.machine();
        let cost = |text: usize| {
            let tagged = &machine.tagged[text];
            let again = tagged.again.map_or(0, |again| self.costs.rules[again.0 as usize]);
            let behind = |(tag, rule): (&str, Option<MachineRuleId>)| {
                let left = known.len().checked_sub(tag.len())?;
                Some(known[left][machine.rule(rule?).start.0 as usize])
            };
            let tags = tagged.text.tags().iter().map(|tag| &**tag);
            let dearest = tags.zip(tagged.rules.iter().copied()).filter_map(behind).max();
            // What follows may end too, and the text go on.
            let further =
                tagged.again.map_or(0, |again| known[known.len() - 1][machine.rule(again).start.0 as usize]);
            dearest.map_or(0, |dearest| dearest.saturating_add(again).max(further)).min(NO_END)
        };
        (0..machine.tagged.len()).map(cost).collect()
    }

    /// What each node may cost after a byte more than the last of `known`.
    fn with_one_more(&self, known: &[Vec<u32>], edges: &[Vec<EdgeSize>]) -> Vec<u32> {
        let machine = self.generation.machine();
        let mut costs = known[known.len() - 1].clone();
        let after_tags = self.after_tags(known);
        loop {
            let mut is_stable = true;
            for id in (0..machine.nodes.len()).rev() {
                interrupt::poll(1);
                let cost = self.after_bytes(id, known, &costs, &edges[id], &after_tags);
                if cost > costs[id] {
                    costs[id] = cost;
                    is_stable = false;
                }
            }
            if is_stable {
                return costs;
            }
        }
    }

    fn after_bytes(
        &self,
        id: usize,
        known: &[Vec<u32>],
        now: &[u32],
        sizes: &[EdgeSize],
        after_tags: &[u32],
    ) -> u32 {
        let machine = self.generation.machine();
        let node = &machine.nodes[id];
        let bytes = known.len();
        let own = |node: NodeId| self.own[node.0 as usize];
        // What a node may cost if at least so many of some bytes were read before it.
        let behind = |node: NodeId, least: u32, bytes: usize| {
            let read = (least as usize).max(1);
            bytes.checked_sub(read).map_or(0, |left| known[left][node.0 as usize])
        };
        let entered = |node: NodeId| now[node.0 as usize];
        let mut cost = 0;
        for (edge, &(least, worst, reach)) in node.edges.iter().zip(sizes) {
            let (inside, least) = match edge.label {
                Label::Terminal(_) => (worst, least),
                Label::Call(rule) => {
                    let start = machine.rule(rule).start;
                    (entered(start), self.least[start.0 as usize])
                }
                Label::Token(_) => (0, 0),
                Label::Tagged(text) => (worst.max(after_tags[text as usize]), 0),
            };
            cost = cost.max(inside.saturating_add(own(edge.target))).max(behind(
                edge.target,
                least,
                bytes.min(reach),
            ));
        }
        cost = node.jumps.iter().map(|&jump| entered(jump)).fold(cost, u32::max);
        if let Some(counter) = &node.counter {
            let rule = self.costs.rules[counter.rule.0 as usize];
            let others = rule.saturating_mul(counter.min.saturating_sub(1)).saturating_add(own(counter.next));
            let inside = entered(machine.rule(counter.rule).start).saturating_add(others);
            cost = cost.max(inside).max(entered(counter.next));
        }
        if let Some(list) = &node.list {
            let sizes = &self.lists[list.list.0 as usize];
            let value = |&(node, least): &(NodeId, u32)| match least {
                0 => entered(node),
                _ => behind(node, least, bytes),
            };
            let inside = sizes.values.iter().map(value).max().unwrap_or(0).max(sizes.member);
            let all = inside.saturating_add(sizes.rest).saturating_add(own(list.next));
            cost = cost.max(all).max(entered(list.next));
        }
        cost.min(NO_END)
    }

    fn list(&self, id: ListId, shortest: &mut Shortest) -> ListSizes {
        let (generation, terminals) = (self.generation, self.generation.terminals());
        let machine = generation.machine();
        let list = machine.list(id);
        let keys = Keys::new(generation, list, shortest);
        let mut dearest = 0;
        let (mut values, mut by_entry) = (Vec::new(), vec![0; list.entries.len()]);
        let mut add = |value: &MemberValue, (least, worst): TerminalSize, shortest: &mut Shortest| {
            let head = value.head.map(|head| generation.terminal(head));
            let head_size = head.map_or((0, 0), |head| {
                (shortest.least_bytes(terminals, head), shortest.worst_bytes(terminals, head))
            });
            let rule = value.rule.map_or(0, |rule| self.costs.rules[rule.0 as usize]);
            if let Some(rule) = value.rule {
                values.push((machine.rule(rule).start, least + head_size.0));
            }
            let cost = worst.saturating_add(head_size.1).saturating_add(rule).min(NO_END);
            dearest = dearest.max(cost);
            cost
        };
        for (entry, variants) in list.entries.iter().enumerate() {
            let key = keys.entry(entry);
            let all = variants.iter().map(|value| add(value, key, shortest));
            by_entry[entry] = all.max().unwrap_or(0);
        }
        for others in &list.others {
            let key = others.keys.map_or((0, 0), |expr| keys.other(expr, shortest));
            others.variants.iter().for_each(|value| _ = add(value, key, shortest));
        }
        let separators = list.track.iter().flatten().chain([&list.separator]);
        let separators = separators.map(|&expr| shortest.worst_bytes(terminals, generation.terminal(expr)));
        let separator = separators.max().unwrap_or(0);
        let MostNeeded { entries, more } = list.conditions.most_needed();
        let needed = by_entry.iter().zip(entries).filter(|(_, is_needed)| *is_needed).map(|(&cost, _)| cost);
        let sum = needed.fold(0_u32, |sum, cost| sum.saturating_add(cost).saturating_add(separator));
        let rest = sum.saturating_add(dearest.saturating_add(separator).saturating_mul(more));
        // The keys of others that are needed get longer with each that the list has had, and there is no end of those.
        let rest = if needs_keys(list) { NO_END } else { rest };
        ListSizes { rest: rest.min(NO_END), member: dearest.saturating_add(separator).min(NO_END), values }
    }
}

/// Whether a list may need keys of others that are unlike those before them.
pub(super) fn needs_keys(list: &List) -> bool {
    let has_keys = list.others.iter().any(|others| others.keys.is_some());
    list.unique && has_keys && list.conditions.most_needed().more > 0
}

/// How many more characters may have to come until a key is none of the excluded ones: with any text allowed there are
/// more texts of so many characters than there can be keys.
const AWAY: u32 = 8;

/// The sizes of the keys of a list, with their quotes.
struct Keys<'g> {
    generation: &'g Generation,
    list: &'g List,
    quote: u32,
    /// By node of the key tree, from the root.
    nodes: Vec<TerminalSize>,
}

impl<'g> Keys<'g> {
    fn new(generation: &'g Generation, list: &'g List, shortest: &mut Shortest) -> Self {
        let terminals = generation.terminals();
        let quote = shortest.worst_bytes(terminals, generation.terminal(list.quote));
        let mut nodes = vec![(1, quote); list.keys.nodes.len()];
        // Parents come first.
        for (at, node) in list.keys.nodes.iter().enumerate() {
            for &below in &node.below {
                let text = generation.terminal(list.key_texts[below as usize]);
                let least = nodes[at].0 + shortest.least_bytes(terminals, text);
                let worst = nodes[at].1.saturating_add(shortest.worst_bytes(terminals, text));
                nodes[below as usize] = (least, worst.min(NO_END));
            }
        }
        Keys { generation, list, quote, nodes }
    }

    /// The key of an entry, without the closing quote, which is in the head of the value.
    fn entry(&self, entry: usize) -> TerminalSize {
        let Some(rank) = self.list.keys.ranks[entry] else { return (0, 0) };
        let ends_here = |node: &tokenstile_grammar::members::KeyNode| node.ends && node.ranks.start == rank;
        let node = self.list.keys.nodes.iter().position(ends_here);
        node.map_or((0, NO_END), |node| self.nodes[node])
    }

    /// The key of one of the others.
    fn other(&self, texts: tokenstile_grammar::ir::ExprId, shortest: &mut Shortest) -> TerminalSize {
        let terminals = self.generation.terminals();
        let texts = self.generation.terminal(texts);
        let excludes = !self.list.names.is_empty() || self.list.unique;
        if excludes && !terminals.is_any_text(texts) {
            // How far one must go to come away from the excluded texts depends on the language.
            return (2, NO_END);
        }
        let escape = shortest.worst_bytes(terminals, terminals.json_text_of(texts, self.list.escapes));
        (2, escape.saturating_add(self.quote.saturating_mul(2)).saturating_add(AWAY).min(NO_END))
    }
}

/// The least bytes from each node to the end of its rule.
fn least_bytes(generation: &Generation, shortest: &mut Shortest) -> Vec<u32> {
    let machine: &Machine = generation.machine();
    let terminals = generation.terminals();
    let mut least = vec![NO_END; machine.nodes.len()];
    loop {
        let mut is_stable = true;
        for (id, node) in machine.nodes.iter().enumerate().rev() {
            interrupt::poll(1);
            let at = |node: NodeId| least[node.0 as usize];
            let mut best = if node.accepting && node.next().is_none() { 0 } else { NO_END };
            for edge in &node.edges {
                let own = match edge.label {
                    Label::Terminal(expr) => shortest.least_bytes(terminals, generation.terminal(expr)),
                    Label::Call(rule) => at(machine.rule(rule).start),
                    Label::Token(_) | Label::Tagged(_) => 0,
                };
                best = best.min(own.saturating_add(at(edge.target)));
            }
            best = node.jumps.iter().map(|&jump| at(jump)).fold(best, u32::min);
            if let Some(counter) = &node.counter {
                let items = at(machine.rule(counter.rule).start).saturating_mul(counter.min);
                best = best.min(items.saturating_add(at(counter.next)));
            }
            if let Some(list) = &node.list {
                best = best.min(at(list.next));
            }
            if best.min(NO_END) < least[id] {
                least[id] = best;
                is_stable = false;
            }
        }
        if is_stable {
            return least;
        }
    }
}
