//! The token table of a terminal's state: which tokens end inside the terminal, and where the others leave it.
//!
//! A token that ends inside, or exactly at an end of the terminal, fits whatever the stack is, because every stack
//! can be completed. A token that passes an end with bytes left has to be walked on: its bytes after that end are a
//! subtree of the trie, and such subtrees are what the table keeps.
//!
//! A table is for a subtree: that of the root where a token starts in the state, and a smaller one where the first
//! bytes of a token were taken by something else, such as the space before a word.
//!
//! The table of a key from which some texts are excluded is that of the plain string with a few subtrees taken out:
//! those that close the string at an excluded text. Only the paths along the excluded texts are walked for it.
//!
//! In the same way the table of a state with bounds is that of the relaxed state, which has none, without the long tokens
//! that would go beyond a bound. Only the paths to long tokens are walked for it. And the table of a state that nearly every
//! byte sets free is that of the free state, without some tokens along the few other ways.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;

use super::counted::Counts;
use super::near::NearStates;
use super::rows::Row;
use super::shapes::{Branches, Counting, ShapeWalk};
use super::stay::Stay;
use super::text::closed_nodes;
use super::together::Sets;
use super::tokens::Part;
use super::walk::{WalkStack, walk_terminal};
use crate::terminal::{Arena, Endless, TerminalId};
use crate::vocab::shapes::Shapes;
use crate::vocab::trie::{NodeIndex, Trie};
use crate::vocab::{TokenIndex, TokenTable};

/// With up to this many places to leave, they are kept as they are.
const FEW: usize = 32;

/// A subtree with more tokens than this is walked once for each state, and the result kept.
pub(super) const WORTH_A_TABLE: usize = 48;

/// So many nodes are looked at to make a table from that of a state without bounds; then it is made anew.
const WORTH_LOOKING: usize = 2_000;

/// What a state does with each token of a subtree.
pub(crate) struct TerminalTable {
    /// The tokens that end inside.
    pub(crate) stay: Arc<Part>,
    pub(crate) exits: Exits,
    /// The nodes at which the terminal may end, where the exits do not tell.
    ends: Box<[NodeIndex]>,
    /// The nodes at which a tag has been read, by the number of the tag; they are not among the exits.
    pub(crate) tags: Box<[(u32, NodeIndex)]>,
    /// For strings that count their characters, where this is the table of one that does not.
    counts: OnceLock<Option<Box<Counts>>>,
}

/// Where tokens leave the terminal.
pub(crate) enum Exits {
    /// The nodes of the trie at which the terminal may end.
    Few(Box<[NodeIndex]>),
    /// The children of such nodes, by their byte.
    ByByte(Box<[ByteExits]>),
}

impl Exits {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Exits::Few(ends) => ends.len(),
            Exits::ByByte(exits) => exits.len(),
        }
    }
}

/// The ways on for one byte: nodes whose way in is that byte.
pub(crate) struct ByteExits {
    pub(crate) byte: u8,
    /// Nodes with much under them, each walked by itself.
    pub(crate) large: Box<[NodeIndex]>,
    small: Box<[NodeIndex]>,
    /// The small ones as one, made when first walked.
    merged: OnceLock<Arc<Trie>>,
}

impl ByteExits {
    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.large.len() + self.small.len()
    }

    /// The trie of what follows in the small nodes, all as one.
    pub(crate) fn merged(&self, trie: &Trie) -> Option<&Arc<Trie>> {
        (!self.small.is_empty()).then(|| self.merged.get_or_init(|| Arc::new(trie.merged(&self.small))))
    }
}

impl TerminalTable {
    /// The table of `state` for the tokens under a node.
    pub(crate) fn build(
        arena: &Arena,
        state: TerminalId,
        tokens: &TokenTable,
        trie: &Trie,
        root: NodeIndex,
    ) -> Self {
        let Walked { stay, ends, mut tags } = walk(arena, state, tokens, trie, root);
        let words = tokens.len().div_ceil(32);
        let stay = stay.to_part(trie.tokens(), tokens.index().shapes().tokens(), words);
        let (exits, ends) = gather(trie, ends, || Leaving::new(trie, root, &stay.in_one_row(words)));
        tags.sort_unstable();
        TerminalTable { stay: Arc::new(stay), exits, ends, tags: tags.into(), counts: OnceLock::new() }
    }

    /// The table of a state that stays, ends or leaves as was found out elsewhere.
    pub(super) fn of(trie: &Trie, stay: Part, ends: Vec<NodeIndex>) -> Self {
        let (exits, ends) = gather(trie, ends, || Leaving::ALL);
        TerminalTable { stay: Arc::new(stay), exits, ends, tags: Box::default(), counts: OnceLock::new() }
    }

    /// What was counted for this table, once it was.
    pub(super) fn counts(&self, count: impl FnOnce() -> Option<Counts>) -> Option<&Counts> {
        self.counts.get_or_init(|| count().map(Box::new)).as_deref()
    }

    /// The table of `key`, where this is that of `plain`, which reads the same and excludes nothing, for the same trie and
    /// root.
    pub(crate) fn without_excluded(
        &self,
        arena: &Arena,
        key: TerminalId,
        plain: TerminalId,
        trie: &Trie,
        root: NodeIndex,
    ) -> Narrowed {
        self.narrowed(trie, &excluded_nodes(arena, trie, root, key, plain))
    }

    /// The table of `state`, where this is that of `relaxed`, for the same trie and root.
    pub(crate) fn within_bounds(
        &self,
        arena: &Arena,
        state: TerminalId,
        relaxed: TerminalId,
        index: &TokenIndex,
        trie: &Trie,
        root: NodeIndex,
    ) -> Narrowed {
        match lost_within_bounds(arena, index, trie, root, (state, relaxed)) {
            // Where tokens that stayed leave the terminal is not known.
            Some(lost) if lost.nodes.is_empty() || !lost.may_end => self.narrowed(trie, &lost.nodes),
            _ => Narrowed::Unknown,
        }
    }

    /// The table of `state`, where this is that of `free`, for the same trie and root.
    pub(crate) fn before_freedom(
        &self,
        arena: &Arena,
        state: TerminalId,
        free: TerminalId,
        trie: &Trie,
        root: NodeIndex,
    ) -> Narrowed {
        let lost = lost_before_freedom(arena, trie, root, (state, free));
        lost.map_or(Narrowed::Unknown, |lost| self.narrowed(trie, &lost))
    }

    fn narrowed(&self, trie: &Trie, lost: &[NodeIndex]) -> Narrowed {
        if lost.is_empty() {
            return Narrowed::Same;
        }
        // A token that is lost at one node may stay at another.
        if trie.has_repeats() {
            return Narrowed::Unknown;
        }
        Narrowed::Fewer(self.without(trie, lost, &tokens_under(trie, lost)))
    }

    /// The table without `tokens`, and without the ends under the nodes `lost`.
    fn without(&self, trie: &Trie, lost: &[NodeIndex], tokens: &[u32]) -> Self {
        let is_lost = |end: NodeIndex| {
            let before = lost.partition_point(|&node| node <= end);
            before > 0 && end < trie.end(lost[before - 1])
        };
        let ends = self.ends().iter().copied().filter(|&end| !is_lost(end)).collect();
        // Texts with tags have no bounds and exclude nothing.
        Self::of(trie, self.stay.without(tokens), ends)
    }

    /// The nodes at which the terminal may end while a token goes on.
    pub(crate) fn ends(&self) -> &[NodeIndex] {
        match &self.exits {
            Exits::Few(ends) => ends,
            Exits::ByByte(_) => &self.ends,
        }
    }

    /// The memory that the table takes; merged tries are counted as they will be.
    pub(crate) fn memory_bytes(&self) -> usize {
        const A_CHILD: usize = 24;
        let exits = match &self.exits {
            Exits::Few(ends) => size_of_val(&**ends),
            Exits::ByByte(exits) => {
                exits.iter().map(|exit| 64 + exit.large.len() * 4 + exit.small.len() * A_CHILD).sum()
            }
        };
        let ends = size_of_val(&*self.ends) + size_of_val(&*self.tags);
        size_of::<Self>() + self.stay.memory_bytes() + exits + ends
    }
}

/// What the table of a wider state is for a narrower one.
pub(crate) enum Narrowed {
    /// The same.
    Same,
    /// One with fewer tokens.
    Fewer(TerminalTable),
    /// It cannot be told from that table.
    Unknown,
}

/// The exits, and the nodes at which the terminal may end where the exits do not tell.
type Gathered = (Exits, Box<[NodeIndex]>);

/// It asks which tokens leave where there are many ends.
fn gather(trie: &Trie, ends: Vec<NodeIndex>, leaving: impl FnOnce() -> Leaving) -> Gathered {
    if ends.len() <= FEW {
        return (Exits::Few(ends.into()), Box::default());
    }
    let leaving = if ends.len() < Leaving::MANY { Leaving::ALL } else { leaving() };
    (by_byte(trie, &ends, &leaving), ends.into())
}

/// The nodes that `plain` may reach and `key`, which reads the same but for some texts, does not, without those below them:
/// sorted.
pub(super) fn excluded_nodes(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    key: TerminalId,
    plain: TerminalId,
) -> Vec<NodeIndex> {
    if let Some((before, texts)) = arena.excluded_texts(key) {
        return closed_nodes(trie, root, &before, &texts);
    }
    let lost = lost_nodes(arena, trie, root, (key, plain), usize::MAX, |_, _, _| false, |_, _, _, _| false);
    lost.map(|lost| lost.nodes).unwrap_or_default()
}

/// The nodes that `relaxed` reaches and `state`, which has bounds that most tokens do not reach, does not; `None` if that
/// is too much work to find out.
fn lost_within_bounds(
    arena: &Arena,
    index: &TokenIndex,
    trie: &Trie,
    root: NodeIndex,
    (state, relaxed): (TerminalId, TerminalId),
) -> Option<Lost> {
    let height = |node: NodeIndex| trie.height(node);
    // Most tokens are too short to tell the two apart, whatever states are on the way.
    let short = arena.agreed_bytes(state, relaxed);
    let is_short = |node: NodeIndex, depth: u32| depth.saturating_add(height(node)) <= short;
    // Nor does plain text, where any of it leads back.
    let has_kinds = trie.number() == index.trie().number() && arena.is_wide(state);
    let plain = if has_kinds { arena.easily_endless(state) } else { Endless::NOTHING };
    let is_plain = |node: NodeIndex| {
        plain.kinds != 0
            && index.shapes().characters_at(node) & !plain.kinds == 0
            && height(node) < plain.length
    };
    let is_same = |node: NodeIndex, depth: u32, at: TerminalId| {
        is_short(node, depth) || (at == state && is_plain(node))
    };
    // Along a long token the states differ for the same reason at each byte, until little of it is left.
    let agrees = |node: NodeIndex, child: NodeIndex, state: TerminalId, relaxed: TerminalId| {
        !Arena::looks_as_far(height(node), height(child)) && arena.agree_within(state, relaxed, height(child))
    };
    lost_nodes(arena, trie, root, (state, relaxed), WORTH_LOOKING, is_same, agrees)
}

/// The nodes that `free` reaches and `state` does not, without those below them: sorted. `None` if that is too much work to
/// find out, or if the two differ in anything else.
fn lost_before_freedom(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    states: (TerminalId, TerminalId),
) -> Option<Vec<NodeIndex>> {
    let mut lost = Vec::new();
    let mut stack = vec![(root, states.0, states.1)];
    let mut left = WORTH_LOOKING;
    while let Some((node, state, free)) = stack.pop() {
        for (byte, state, free) in arena.differences(state, free)? {
            let Some(child) = trie.child(node, byte) else { continue };
            left = left.checked_sub(1)?;
            if state == TerminalId::NEVER {
                lost.push(child);
                continue;
            }
            if free == TerminalId::NEVER || arena.is_nullable(state) != arena.is_nullable(free) {
                return None;
            }
            if !trie.is_leaf(child) {
                stack.push((child, state, free));
            }
        }
    }
    lost.sort_unstable();
    Some(lost)
}

/// The nodes that one state reaches and another does not.
struct Lost {
    /// Without those below them, sorted.
    nodes: Vec<NodeIndex>,
    /// Whether the terminal may end on the way to them.
    may_end: bool,
}

/// The nodes that the second of `states` reaches and the first does not. `is_same` may say of a node, how far it is below
/// `root` and the first state before it that neither it nor anything below is lost, `agrees` of a node, a child and the states there that nothing below the
/// child is. Gives up after `most` nodes.
fn lost_nodes(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    states: (TerminalId, TerminalId),
    most: usize,
    is_same: impl Fn(NodeIndex, u32, TerminalId) -> bool,
    agrees: impl Fn(NodeIndex, NodeIndex, TerminalId, TerminalId) -> bool,
) -> Option<Lost> {
    let mut lost = Lost { nodes: Vec::new(), may_end: false };
    let mut stack = vec![(root, 1, states.0, states.1)];
    let mut left = most;
    // Of a state that is met again, more than one way on will be asked.
    let mut met: FxHashSet<TerminalId> = FxHashSet::default();
    while let Some((node, depth, state, wider)) = stack.pop() {
        left = left.checked_sub(1)?;
        if !met.insert(state) {
            arena.row(state);
        }
        let mut visit = |child: NodeIndex, wider: TerminalId| {
            if wider == TerminalId::NEVER {
                return;
            }
            let state = arena.step(state, trie.byte(child));
            if state == TerminalId::NEVER {
                lost.nodes.push(child);
            } else if state != wider && !trie.is_leaf(child) && !agrees(node, child, state, wider) {
                lost.may_end |= arena.is_nullable(state);
                stack.push((child, depth + 1, state, wider));
            }
        };
        let may_differ = |child: &NodeIndex| !is_same(*child, depth, state);
        if let Some(bytes) = arena.ways_apart(state, wider) {
            for &byte in &bytes {
                if let Some(child) = trie.child(node, byte).filter(may_differ) {
                    visit(child, arena.step(wider, byte));
                }
            }
        } else {
            for child in trie.children(node).filter(may_differ) {
                visit(child, arena.next_dense(wider, trie.byte(child)));
            }
        }
    }
    lost.nodes.sort_unstable();
    Some(lost)
}

/// The tokens under some nodes: sorted.
pub(super) fn tokens_under(trie: &Trie, nodes: &[NodeIndex]) -> Vec<u32> {
    let under = nodes.iter().flat_map(|&node| &trie.tokens()[trie.token_range(node)]);
    let mut tokens: Vec<u32> = under.copied().collect();
    tokens.sort_unstable();
    tokens
}

/// What a walk with a state finds.
#[derive(Default)]
struct Walked {
    stay: Stay,
    ends: Vec<NodeIndex>,
    tags: Vec<(u32, NodeIndex)>,
}

fn walk(arena: &Arena, state: TerminalId, table: &TokenTable, trie: &Trie, root: NodeIndex) -> Walked {
    let index = table.index();
    let Walked { mut stay, mut ends, mut tags } = Walked::default();
    let mut on_end = |node: NodeIndex, state: TerminalId| match arena.tag(state) {
        None => ends.push(node),
        Some((_, tag)) => tags.push((tag, node)),
    };
    let has_shapes = trie.number() == index.trie().number() && arena.is_wide(state);
    match if has_shapes { index.shapes().of(root) } else { None } {
        None => {
            let on_tokens = &mut |_: NodeIndex, tokens: &[u32]| stay.tokens.extend_from_slice(tokens);
            walk_terminal(arena, trie, root, state, &mut WalkStack::new(), on_tokens, &mut on_end);
        }
        Some(shape) => {
            let shapes = index.shapes();
            let known = if shape == Shapes::ROOT { arena.endless(state) } else { Endless::NOTHING };
            if known.kinds != 0 {
                stay.base = Some(index.plain_rows().get(known.kinds, known.length));
            }
            let counting = Counting::NOTHING;
            let on_range = &mut |range, _| stay.in_shapes.add(range);
            let on_nodes =
                &mut |range: Range<usize>, _| stay.in_trie.add(range.start as u32..range.end as u32);
            let on_end = &mut |node, state, _| on_end(node, state);
            let mut single = Vec::new();
            ShapeWalk {
                arena,
                trie,
                shapes,
                known,
                counting,
                on_range,
                on_nodes,
                on_token: &mut |token| single.push(token),
                on_end,
                near: NearStates::default(),
                above: Branches::default(),
                tokens: Some(table).filter(|_| shape == Shapes::ROOT),
                sets: Sets::default(),
            }
            .walk(shape, state);
            stay.tokens.extend(single);
        }
    }
    Walked { stay, ends, tags }
}

/// The children of `ends` under which tokens leave, by byte.
fn by_byte(trie: &Trie, ends: &[NodeIndex], leaving: &Leaving) -> Exits {
    let mut lists: Vec<Vec<NodeIndex>> = vec![Vec::new(); 256];
    for &end in ends.iter().filter(|&&end| leaving.any_under(trie, end)) {
        for child in trie.children(end).filter(|&child| leaving.any_under(trie, child)) {
            lists[usize::from(trie.byte(child))].push(child);
        }
    }
    let mut exits = Vec::new();
    for (byte, children) in (0..=255).zip(lists).filter(|(_, children)| !children.is_empty()) {
        let (large, small): (Vec<_>, Vec<_>) =
            children.into_iter().partition(|&child| trie.token_range(child).len() > WORTH_A_TABLE);
        exits.push(ByteExits { byte, large: large.into(), small: small.into(), merged: OnceLock::new() });
    }
    Exits::ByByte(exits.into())
}

/// Which tokens of a subtree leave the terminal.
struct Leaving {
    first: usize,
    /// How many tokens leave before each place; `None` if it makes no difference.
    before: Option<Vec<u32>>,
}

impl Leaving {
    /// With fewer ends than this, it is not worth telling who leaves.
    const MANY: usize = 1_024;

    /// All of them do, or it makes no difference.
    const ALL: Leaving = Leaving { first: 0, before: None };

    /// All but those that stay.
    fn new(trie: &Trie, root: NodeIndex, stay: &Row) -> Self {
        let all = trie.token_range(root);
        let mut count = 0;
        let sums = trie.tokens()[all.clone()].iter().map(|&token| {
            count += u32::from(!stay.has(token));
            count
        });
        Leaving { first: all.start, before: Some(std::iter::once(0).chain(sums).collect()) }
    }

    fn any_under(&self, trie: &Trie, node: NodeIndex) -> bool {
        let range = trie.token_range(node);
        self.before
            .as_ref()
            .is_none_or(|before| before[range.end - self.first] > before[range.start - self.first])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokenstile_grammar::frontends::json_schema::{self, Options};
    use tokenstile_grammar::{Budget, passes};

    use super::*;
    use crate::config::SymbolKind;
    use crate::generation::Generation;
    use crate::vocab::{Vocab, VocabOptions};

    /// The tokens that end inside, and the nodes at which others may leave, as they are found byte by byte.
    fn found(arena: &Arena, state: TerminalId, trie: &Trie) -> (BTreeSet<u32>, BTreeSet<NodeIndex>) {
        let (mut stay, mut ends) = (BTreeSet::new(), BTreeSet::new());
        let on_tokens = &mut |_: NodeIndex, tokens: &[u32]| stay.extend(tokens.iter().copied());
        let on_end = &mut |node: NodeIndex, _: TerminalId| {
            ends.insert(node);
        };
        walk_terminal(arena, trie, Trie::ROOT, state, &mut WalkStack::new(), on_tokens, on_end);
        (stay, ends)
    }

    #[test]
    fn before_freedom_few_tokens_are_lost() {
        const PIECES: [&str; 9] = ["a", "x", "gh", "\"", "\"}", "\u{e9}", "\\", "\\u0061", "1"];
        let mut tokens: Vec<String> = PIECES.map(String::from).to_vec();
        for _ in 0..3 {
            tokens
                .extend(tokens.clone().iter().flat_map(|text| PIECES.map(|piece| format!("{text}{piece}"))));
        }
        tokens.sort();
        tokens.dedup();
        let vocab = Vocab::new(tokens, VocabOptions::default()).unwrap();
        let (table, trie) = (vocab.table(), vocab.table().index().trie());
        for schema in [
            r#"{"type": "string", "not": {"enum": ["a", "ax", "gh\u00e9", "\"", "ghgha", "1"]}}"#,
            r#"{"type": "string", "pattern": "^(?!a|gh\u00e9|x1)"}"#,
        ] {
            let budget = Budget::default();
            let grammar = json_schema::grammar(schema, &Options::default(), &budget).unwrap();
            let machine = passes::compile(&grammar, &budget).unwrap();
            let generation = Generation::new(Arc::new(machine), Arc::clone(table));
            let arena = generation.terminals();
            let mut is_less = false;
            for text in ["\"", "\"a", "\"g", "\"gh", "\"ghg", "\"\\u00"] {
                let config = text.bytes().fold(generation.start(), |at, byte| generation.step(at, byte));
                for (symbol, _) in generation.sets().items(config) {
                    let SymbolKind::Terminal(state) = symbol.kind() else { continue };
                    let Some(free) = arena.freed(state) else { continue };
                    let all = TerminalTable::build(arena, free, table, trie, Trie::ROOT);
                    let less = match all.before_freedom(arena, state, free, trie, Trie::ROOT) {
                        Narrowed::Same => None,
                        Narrowed::Fewer(less) => Some(less),
                        Narrowed::Unknown => continue,
                    };
                    is_less |= less.is_some();
                    let less = less.as_ref().unwrap_or(&all);
                    let (stay, ends) = found(arena, state, trie);
                    let kept = (0..table.len() as u32).filter(|&token| less.stay.contains(token));
                    assert_eq!(kept.collect::<BTreeSet<_>>(), stay, "{schema} {text}");
                    assert_eq!(less.ends().iter().copied().collect::<BTreeSet<_>>(), ends, "{schema} {text}");
                }
            }
            assert!(is_less, "{schema}");
        }
    }
}
