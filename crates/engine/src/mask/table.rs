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

use std::sync::{Arc, OnceLock};

use super::plain::plain_kinds;
use super::tokens::{Part, Row};
use super::walk::{WalkStack, walk_terminal};
use crate::terminal::{Arena, TerminalId};
use crate::vocab::TokenTable;
use crate::vocab::slices::{Kinds, Slice};
use crate::vocab::trie::{NodeIndex, Trie};

/// With up to this many places to leave, they are kept as they are.
const FEW: usize = 32;

/// A subtree with more tokens than this is walked once for each state, and the result kept.
pub(super) const WORTH_A_TABLE: usize = 48;

/// What a state does with each token of a subtree.
pub(crate) struct TerminalTable {
    /// The tokens that end inside.
    pub(crate) stay: Part,
    pub(crate) exits: Exits,
    /// The nodes at which the terminal may end, where the exits do not tell.
    ends: Box<[NodeIndex]>,
    /// The slice whose trie the exits are in, if it is not the trie that the table was made for.
    slice: Option<Arc<Slice>>,
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
    /// The trie of what follows in the small nodes, all as one.
    pub(crate) fn merged(&self, trie: &Trie) -> Option<&Arc<Trie>> {
        (!self.small.is_empty()).then(|| self.merged.get_or_init(|| Arc::new(trie.merged(&self.small))))
    }
}

impl TerminalTable {
    /// The table of `state` for all tokens.
    pub(crate) fn build(arena: &Arena, state: TerminalId, tokens: &TokenTable) -> Self {
        let index = tokens.index();
        let slice = match plain_kinds(arena, state) {
            (Kinds(0), _) => None,
            (kinds, most) => index.slice(kinds, most, tokens),
        };
        let trie = slice.as_ref().map_or(index.trie(), |slice| &slice.rest);
        let (stay, exits, ends) = walk(arena, state, trie, Trie::ROOT);
        let words = tokens.len().div_ceil(32);
        let bases: Vec<&Arc<Row>> = slice.iter().map(|slice| &slice.mask).collect();
        TerminalTable { stay: Part::new_base(words, &bases, stay), exits, ends, slice }
    }

    /// The table of `state` for the tokens under `root`.
    pub(crate) fn build_under(
        arena: &Arena,
        state: TerminalId,
        tokens: &TokenTable,
        trie: &Trie,
        root: NodeIndex,
    ) -> Self {
        let (stay, exits, ends) = walk(arena, state, trie, root);
        let words = tokens.len().div_ceil(32);
        TerminalTable { stay: Part::new(words, &[], stay), exits, ends, slice: None }
    }

    /// The table of `key`, where this is that of `plain`, which reads the same and excludes nothing, for the same trie and
    /// root. `None` if it is the same.
    ///
    /// Where the slice's characters are bounded, its tokens may close in on an excluded text too, so all tokens of `trie` are
    /// looked at, and not only those that the exits are among.
    pub(crate) fn without_excluded(
        &self,
        arena: &Arena,
        key: TerminalId,
        plain: TerminalId,
        trie: &Arc<Trie>,
        root: NodeIndex,
    ) -> Option<Self> {
        let tokens = lost_tokens(arena, trie, root, key, plain);
        if tokens.is_empty() {
            return None;
        }
        let exit_trie = self.exit_trie(trie);
        let lost = lost_nodes(arena, exit_trie, root, key, plain);
        let is_lost = |end: NodeIndex| {
            let before = lost.partition_point(|&node| node <= end);
            before > 0 && end < exit_trie.end(lost[before - 1])
        };
        let ends = self.ends().iter().copied().filter(|&end| !is_lost(end)).collect();
        let (exits, ends) = gather(exit_trie, root, ends, &[]);
        Some(TerminalTable { stay: self.stay.without(&tokens), exits, ends, slice: self.slice.clone() })
    }

    /// Whether any token leaves the terminal.
    pub(crate) fn has_exits(&self) -> bool {
        self.exits.len() > 0
    }

    /// The nodes at which the terminal may end while a token goes on.
    pub(crate) fn ends(&self) -> &[NodeIndex] {
        match &self.exits {
            Exits::Few(ends) => ends,
            Exits::ByByte(_) => &self.ends,
        }
    }

    /// The trie that the exits are in, where `trie` is the one that the table was made for.
    pub(crate) fn exit_trie<'t>(&'t self, trie: &'t Arc<Trie>) -> &'t Arc<Trie> {
        self.slice.as_ref().map_or(trie, |slice| &slice.rest)
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
        size_of::<Self>() + self.stay.memory_bytes() + exits + size_of_val(&*self.ends)
    }
}

/// The exits, and the nodes at which the terminal may end where the exits do not tell.
type Gathered = (Exits, Box<[NodeIndex]>);

fn gather(trie: &Trie, root: NodeIndex, ends: Vec<NodeIndex>, staying_nodes: &[NodeIndex]) -> Gathered {
    if ends.len() <= FEW {
        return (Exits::Few(ends.into()), Box::default());
    }
    (by_byte(trie, root, &ends, staying_nodes), ends.into())
}

/// The tokens under `root` that `plain` takes, at least in part, and `key` does not: sorted.
pub(super) fn lost_tokens(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    key: TerminalId,
    plain: TerminalId,
) -> Box<[u32]> {
    let lost = lost_nodes(arena, trie, root, key, plain);
    let mut tokens: Vec<u32> =
        lost.iter().flat_map(|&node| &trie.tokens()[trie.token_range(node)]).copied().collect();
    tokens.sort_unstable();
    tokens.into()
}

/// The nodes that `plain` reaches and `key` does not, without those below them, sorted.
fn lost_nodes(
    arena: &Arena,
    trie: &Trie,
    root: NodeIndex,
    key: TerminalId,
    plain: TerminalId,
) -> Vec<NodeIndex> {
    let mut lost = Vec::new();
    let mut stack = vec![(root, key, plain)];
    while let Some((node, key, plain)) = stack.pop() {
        let mut visit = |child: NodeIndex| {
            let byte = trie.byte(child);
            let (key, plain) = (arena.step(key, byte), arena.step(plain, byte));
            if key != plain && key == TerminalId::NEVER {
                lost.push(child);
            } else if key != plain {
                stack.push((child, key, plain));
            }
        };
        match arena.ways_apart(key, plain) {
            Some(bytes) => bytes.iter().filter_map(|&byte| trie.child(node, byte)).for_each(&mut visit),
            None => trie.children(node).for_each(&mut visit),
        }
    }
    lost.sort_unstable();
    lost
}

fn walk(
    arena: &Arena,
    state: TerminalId,
    trie: &Trie,
    root: NodeIndex,
) -> (Vec<u32>, Exits, Box<[NodeIndex]>) {
    let mut stay = Vec::new();
    let mut staying_nodes = Vec::new();
    let mut ends = Vec::new();
    let mut on_tokens = |node: NodeIndex, tokens: &[u32]| {
        stay.extend_from_slice(tokens);
        staying_nodes.push(node);
    };
    walk_terminal(arena, trie, root, state, &mut WalkStack::new(), &mut on_tokens, &mut |node| {
        ends.push(node);
    });
    let (exits, ends) = gather(trie, root, ends, &staying_nodes);
    (stay, exits, ends)
}

/// The children of `ends` under which there are tokens that do not stay anyway, by byte.
fn by_byte(trie: &Trie, root: NodeIndex, ends: &[NodeIndex], staying_nodes: &[NodeIndex]) -> Exits {
    let leaving = Leaving::new(trie, root, staying_nodes);
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
    /// How many tokens leave before each place; `None` if so few stay that it makes no difference.
    before: Option<Vec<u32>>,
}

impl Leaving {
    /// With fewer staying nodes than this, it is not worth telling who leaves.
    const MANY: usize = 512;

    fn new(trie: &Trie, root: NodeIndex, staying_nodes: &[NodeIndex]) -> Self {
        let all = trie.token_range(root);
        if staying_nodes.len() < Self::MANY {
            return Leaving { first: all.start, before: None };
        }
        let mut before = vec![1u32; all.len() + 1];
        for &node in staying_nodes {
            let first = trie.token_range(node).start - all.start;
            before[first..first + trie.tokens_of(node).len()].fill(0);
        }
        // From marks to sums.
        let mut count = 0;
        for place in &mut before {
            count += std::mem::replace(place, count);
        }
        Leaving { first: all.start, before: Some(before) }
    }

    fn any_under(&self, trie: &Trie, node: NodeIndex) -> bool {
        let range = trie.token_range(node);
        self.before
            .as_ref()
            .is_none_or(|before| before[range.end - self.first] > before[range.start - self.first])
    }
}
