//! Masks for every node of a tree of draft tokens, as speculative decoding wants them.
//!
//! The tree comes as two arrays: the first child and the next sibling of each node. Node 0 is the root: its token is
//! the last one that the matcher has accepted already, so only the mask after it is wanted. The walk is depth first with
//! a stack of its own, so a chain of any length is fine. That the arrays form a tree, and no ring, is seen before anything is
//! visited.

use std::time::{Duration, Instant};

use crate::matcher::Matcher;

/// A tree of draft tokens. A negative link is no link.
#[derive(Clone, Copy, Debug)]
pub struct DraftTree<'a> {
    /// The first child of each node.
    pub first_child: &'a [i64],
    /// The next sibling of each node.
    pub next_sibling: &'a [i64],
    /// The token of each node.
    pub tokens: &'a [i64],
}

/// Why a tree cannot be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftTreeError {
    /// A link that points outside the tree.
    #[error("node {node} has a link to {link}, and the tree has no such node")]
    Outside {
        /// The node.
        node: usize,
        /// Its link.
        link: i64,
    },
    /// The root has a sibling.
    #[error("node 0 is the root, and has the sibling {0}: only its children can be drafts")]
    RootSibling(i64),
    /// Two ways lead to one node.
    #[error("node {0} is reached twice: the links do not form a tree")]
    Twice(usize),
}

/// What the walk found at a node.
#[derive(Debug)]
pub enum Visit<'a> {
    /// The token fits and the matcher stands after it: the mask can be filled.
    Open(&'a mut Matcher),
    /// The token does not fit, or it ended the output: nothing can follow.
    Closed,
}

enum Step {
    Enter(usize),
    Leave,
}

/// Walks `tree`, calls `visit` for each node that is reached, and leaves `matcher` as it was.
///
/// Returns whether the walk was finished within `time_limit`.
pub fn traverse(
    matcher: &mut Matcher,
    tree: DraftTree<'_>,
    time_limit: Option<Duration>,
    mut visit: impl FnMut(usize, Visit<'_>),
) -> Result<bool, DraftTreeError> {
    let started = Instant::now();
    check(tree)?;
    let mut steps = Vec::new();
    let mut depth = 0;
    if !tree.tokens.is_empty() {
        steps.push(Step::Enter(0));
    }
    let result = loop {
        let node = match steps.pop() {
            None => break Ok(true),
            Some(Step::Leave) => {
                depth -= 1;
                take_back(matcher, 1);
                continue;
            }
            Some(Step::Enter(node)) => node,
        };
        if node != 0 && time_limit.is_some_and(|limit| started.elapsed() > limit) {
            break Ok(false);
        }
        match enter(matcher, tree, node, &mut steps, &mut visit) {
            Ok(is_deeper) => depth += usize::from(is_deeper),
            Err(error) => break Err(error),
        }
    };
    take_back(matcher, depth);
    result
}

/// Fails unless each node is the child or the sibling of one other at most, and the root of none.
fn check(tree: DraftTree<'_>) -> Result<(), DraftTreeError> {
    if let Some(&sibling) = tree.next_sibling.first().filter(|&&sibling| sibling >= 0) {
        return Err(DraftTreeError::RootSibling(sibling));
    }
    let mut seen = vec![false; tree.tokens.len()];
    if let Some(root) = seen.first_mut() {
        *root = true;
    }
    for node in 0..tree.tokens.len() {
        for links in [tree.first_child, tree.next_sibling] {
            if let Some(target) = link(links, node)?
                && std::mem::replace(&mut seen[target], true)
            {
                return Err(DraftTreeError::Twice(target));
            }
        }
    }
    Ok(())
}

/// Visits `node` and pushes what comes after it; returns whether the matcher took a step.
fn enter(
    matcher: &mut Matcher,
    tree: DraftTree<'_>,
    node: usize,
    steps: &mut Vec<Step>,
    visit: &mut impl FnMut(usize, Visit<'_>),
) -> Result<bool, DraftTreeError> {
    let is_root = node == 0;
    if let Some(sibling) = link(tree.next_sibling, node)? {
        steps.push(Step::Enter(sibling));
    }
    let fits = is_root || u32::try_from(tree.tokens[node]).is_ok_and(|token| matcher.accept_token(token));
    let took_step = fits && !is_root;
    if took_step {
        steps.push(Step::Leave);
    }
    if !fits || matcher.is_stopped() {
        visit(node, Visit::Closed);
        return Ok(took_step);
    }
    visit(node, Visit::Open(matcher));
    match link(tree.first_child, node) {
        Ok(Some(child)) => steps.push(Step::Enter(child)),
        Ok(None) => {}
        Err(error) => {
            take_back(matcher, usize::from(took_step));
            return Err(error);
        }
    }
    Ok(took_step)
}

/// The node that `links[node]` leads to, if any.
fn link(links: &[i64], node: usize) -> Result<Option<usize>, DraftTreeError> {
    let link = links[node];
    if link < 0 {
        return Ok(None);
    }
    let target = usize::try_from(link).ok().filter(|&target| target < links.len());
    target.map(Some).ok_or(DraftTreeError::Outside { node, link })
}

/// Takes back steps that this walk has made.
fn take_back(matcher: &mut Matcher, steps: usize) {
    let taken = matcher.rollback(steps);
    debug_assert!(taken.is_ok(), "the walk took these steps itself");
}
