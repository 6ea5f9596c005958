//! How far lookarounds look, where the pattern is a part of a longer text.
//!
//! What stands around a terminal is not known when the terminal is read. So a lookaround is decided only if it cannot see
//! beyond the text of the terminal: behind a lookahead at least as many code points must follow in the pattern as it may
//! look at, and before a lookbehind at least as many must have come. Then what it says depends on the terminal alone, and
//! it is what the automaton of the whole pattern says. All others are refused, also some that would be decided: lengths
//! are those of the shortest and of the longest text of a piece, whatever the others are.

use super::ast::{Ast, Node, NodeId};
use crate::error::{Error, Place, Result};
use crate::limits::Budget;

/// No bound on a length.
const ENDLESS: u32 = u32::MAX;

/// What is known of a node, in code points.
#[derive(Clone, Copy, Default)]
struct Size {
    least: u32,
    most: u32,
    /// How far lookarounds in it may look before its start, and behind its end.
    before: u32,
    behind: u32,
}

/// Fails if a lookaround may see beyond the texts that `root` matches.
pub(super) fn check(ast: &Ast, root: NodeId, pattern: &str, budget: &Budget) -> Result<()> {
    if !ast.asserts(root) {
        return Ok(());
    }
    let sizes = sizes(ast, root);
    // A node, and how many code points stand at least before and behind it.
    let mut open = vec![(root, 0_u32, 0_u32)];
    while let Some((id, before, behind)) = open.pop() {
        budget.tick()?;
        if !ast.asserts(id) {
            continue;
        }
        match ast.node(id) {
            Node::Look { body, behind: looks_back, .. } => {
                let (back, ahead) = reach(sizes[body.index()], *looks_back);
                if back > before || ahead > behind {
                    return Err(refused(ast, id, pattern));
                }
            }
            Node::Seq(items) => {
                let total: u32 =
                    items.iter().fold(0, |sum, item| sum.saturating_add(sizes[item.index()].least));
                let mut passed = 0_u32;
                for &item in items {
                    let least = sizes[item.index()].least;
                    let left = total.saturating_sub(passed).saturating_sub(least);
                    open.push((item, before.saturating_add(passed), behind.saturating_add(left)));
                    passed = passed.saturating_add(least);
                }
            }
            node => open.extend(node.children().iter().map(|&child| (child, before, behind))),
        }
    }
    Ok(())
}

fn refused(ast: &Ast, look: NodeId, pattern: &str) -> Error {
    Error::unsupported(
        "this lookaround or word boundary is not supported here: it may look beyond what the pattern matches",
    )
    .at(Place::in_text(pattern, ast.place(look)))
    .with_help("what it looks at must be a part of the pattern; or say `& ~(...)` of the terminal")
}

/// How far a lookaround with this body looks back and ahead.
fn reach(body: Size, looks_back: bool) -> (u32, u32) {
    if looks_back {
        (body.most.saturating_add(body.before), body.behind)
    } else {
        (body.before, body.most.saturating_add(body.behind))
    }
}

fn sizes(ast: &Ast, root: NodeId) -> Vec<Size> {
    let mut sizes = vec![Size::default(); root.index() + 1];
    for id in ast.reachable(root) {
        sizes[id.index()] = size(ast.node(id), &sizes);
    }
    sizes
}

fn size(node: &Node, sizes: &[Size]) -> Size {
    let of = |id: &NodeId| sizes[id.index()];
    let seen =
        |items: &[NodeId], what: fn(Size) -> u32| items.iter().map(|item| what(of(item))).max().unwrap_or(0);
    let looks = |items: &[NodeId]| (seen(items, |size| size.before), seen(items, |size| size.behind));
    match node {
        Node::Never | Node::Empty | Node::Start | Node::End => Size::default(),
        Node::Text(text) => {
            let count = text.chars().count() as u32;
            Size { least: count, most: count, ..Size::default() }
        }
        Node::Class(_) => Size { least: 1, most: 1, ..Size::default() },
        Node::Seq(items) => {
            let sum = |what: fn(Size) -> u32| {
                items.iter().fold(0, |sum: u32, item| sum.saturating_add(what(of(item))))
            };
            let (before, behind) = looks(items);
            Size { least: sum(|size| size.least), most: sum(|size| size.most), before, behind }
        }
        Node::Alt(items) => {
            let least = items.iter().map(|item| of(item).least).min().unwrap_or(0);
            let (before, behind) = looks(items);
            Size { least, most: seen(items, |size| size.most), before, behind }
        }
        Node::Repeat { body, min, max } => {
            let one = of(body);
            let most = match max {
                _ if one.most == 0 => 0,
                Some(max) => one.most.saturating_mul(*max),
                None => ENDLESS,
            };
            Size { least: one.least.saturating_mul(*min), most, ..one }
        }
        Node::Look { behind: looks_back, body, .. } => {
            let (before, behind) = reach(of(body), *looks_back);
            Size { before, behind, ..Size::default() }
        }
    }
}
