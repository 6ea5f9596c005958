//! Patterns without assertions as plain expressions.
//!
//! Counts stay counts, so `a{1000000}` is one expression, and the result prints as EBNF.

use super::ast::{Ast, Node, NodeId};
use crate::error::Result;
use crate::ir::{Builder, ExprId};
use crate::limits::Budget;

/// The expression of a node that has no assertion in it.
pub(super) fn lower(ast: &Ast, root: NodeId, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
    let mut lowered: Vec<Option<ExprId>> = vec![None; root.index() + 1];
    for id in ast.reachable(root) {
        budget.tick()?;
        let expr = lower_node(ast.node(id), &lowered, builder);
        lowered[id.index()] = Some(expr);
        builder.check()?;
    }
    Ok(lowered[root.index()].expect("the root is reachable"))
}

fn lower_node(node: &Node, lowered: &[Option<ExprId>], builder: &mut Builder) -> ExprId {
    let of = |id: &NodeId| lowered[id.index()].expect("children come first");
    match node {
        Node::Never => builder.never(),
        Node::Empty => builder.empty(),
        Node::Text(text) => builder.bytes(text.as_bytes()),
        Node::Class(set) => builder.class(set.clone()),
        Node::Seq(items) => builder.seq(items.iter().map(of)),
        Node::Alt(items) => builder.alt(items.iter().map(of)),
        Node::Repeat { body, min, max } => builder.repeat(of(body), *min, *max),
        Node::Start | Node::End | Node::Look { .. } => {
            unreachable!("the caller has seen that nothing asserts")
        }
    }
}
