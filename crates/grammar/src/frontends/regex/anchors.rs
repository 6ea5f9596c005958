//! Anchors at the ends of a pattern, where they cost nothing.
//!
//! A pattern that is searched for stands between two stretches of any text, and one that must match the whole string
//! does not. At the ends of what results, `^` and `$` and their like hold or fail by themselves and vanish, so that
//! nearly every pattern comes out without assertions. Those that remain are left to `lookaround`, which is exact for
//! all of them; so it does no harm that this pass only looks so deep.

use super::ast::{Ast, Node, NodeId};
use super::syntax::Anchoring;

/// How deep into nested groups the pass looks.
const DEEPEST: usize = 64;

/// The pattern as one that matches whole strings, without the anchors that are decided.
pub(super) fn settle(ast: &mut Ast, root: NodeId, anchoring: Anchoring) -> NodeId {
    let whole = match anchoring {
        Anchoring::Whole | Anchoring::Part => root,
        Anchoring::Search => between_anything(ast, root),
    };
    settle_node(ast, whole, Place { at_start: true, at_end: true }, DEEPEST)
}

/// What is known of where a node stands.
#[derive(Clone, Copy)]
struct Place {
    at_start: bool,
    at_end: bool,
}

fn settle_node(ast: &mut Ast, id: NodeId, place: Place, depth: usize) -> NodeId {
    if !ast.asserts(id) || depth == 0 || !(place.at_start || place.at_end) {
        return id;
    }
    match ast.node(id).clone() {
        Node::Start if place.at_start => ast.empty(),
        Node::End if place.at_end => ast.empty(),
        Node::Look { behind, negated, body } if ast.single(body).is_some() => {
            let nothing_there = if behind { place.at_start } else { place.at_end };
            match (nothing_there, negated) {
                (false, _) => id,
                (true, true) => ast.empty(),
                (true, false) => ast.never(),
            }
        }
        Node::Alt(items) => {
            let items = items.iter().map(|&item| settle_node(ast, item, place, depth - 1)).collect();
            ast.alt(items)
        }
        Node::Seq(items) => settle_seq(ast, items.into_vec(), place, depth),
        Node::Repeat { body, min, max: max @ Some(1) } => {
            let body = settle_node(ast, body, place, depth - 1);
            ast.repeat(body, min, max)
        }
        _ => id,
    }
}

/// From both ends inwards, as far as nothing has been read.
fn settle_seq(ast: &mut Ast, mut items: Vec<NodeId>, place: Place, depth: usize) -> NodeId {
    if place.at_start {
        for item in &mut items {
            *item = settle_node(ast, *item, Place { at_start: true, at_end: false }, depth - 1);
            if !reads_nothing(ast, *item) {
                break;
            }
        }
    }
    if place.at_end {
        for item in items.iter_mut().rev() {
            *item = settle_node(ast, *item, Place { at_start: false, at_end: true }, depth - 1);
            if !reads_nothing(ast, *item) {
                break;
            }
        }
    }
    ast.seq(items)
}

fn reads_nothing(ast: &Ast, id: NodeId) -> bool {
    matches!(ast.node(id), Node::Empty | Node::Start | Node::End | Node::Look { .. })
}

/// The pattern with any text on the sides where it is not anchored.
fn between_anything(ast: &mut Ast, root: NodeId) -> NodeId {
    let branches = match ast.node(root) {
        Node::Alt(items) => items.to_vec(),
        _ => vec![root],
    };
    let mut sorted: [Vec<NodeId>; 4] = Default::default();
    for branch in branches {
        let starts = is_anchored(ast, branch, true, DEEPEST);
        let ends = is_anchored(ast, branch, false, DEEPEST);
        sorted[usize::from(starts) * 2 + usize::from(ends)].push(branch);
    }
    let anything = ast.anything();
    let mut whole = Vec::new();
    for (at, branches) in sorted.into_iter().enumerate() {
        let mut items = vec![ast.alt(branches)];
        if at & 2 == 0 {
            items.insert(0, anything);
        }
        if at & 1 == 0 {
            items.push(anything);
        }
        whole.push(ast.seq(items));
    }
    ast.alt(whole)
}

/// Whether a match can only start at the start of the string, or end at its end. May miss some.
fn is_anchored(ast: &Ast, id: NodeId, at_start: bool, depth: usize) -> bool {
    if !ast.asserts(id) || depth == 0 {
        return false;
    }
    match ast.node(id) {
        Node::Start => at_start,
        Node::End => !at_start,
        Node::Alt(items) => items.iter().all(|&item| is_anchored(ast, item, at_start, depth - 1)),
        Node::Seq(items) => {
            let check = |&item: &NodeId| {
                let found = is_anchored(ast, item, at_start, depth - 1);
                if found || !reads_nothing(ast, item) { Some(found) } else { None }
            };
            let decided =
                if at_start { items.iter().find_map(check) } else { items.iter().rev().find_map(check) };
            decided.unwrap_or(false)
        }
        Node::Repeat { body, min: 1.., .. } => is_anchored(ast, *body, at_start, depth - 1),
        _ => false,
    }
}
