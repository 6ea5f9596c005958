//! The intermediate form: what every front end emits and the passes read.
//!
//! A [`Grammar`] is a list of rules over hash-consed expressions. Two equal expressions have one [`ExprId`], so
//! equality is a comparison of numbers and shared text costs once. The form is small on purpose: a front end lowers
//! its own sugar, and a new construct is a new front-end lowering long before it is a new [`Expr`].
//!
//! Invariants:
//!
//! 1. Ids point backwards: the children of an expression were interned before it, so a pass over `0..len` sees
//!    children first and needs no recursion.
//! 2. [`Expr::Seq`] and [`Expr::Alt`] are flat, have at least two children, and hold no [`Expr::Never`];
//!    a sequence holds no [`Expr::Empty`]. The builder sees to it.
//! 3. [`Expr::And`], [`Expr::Not`], [`Expr::JsonText`] and [`Expr::AtMost`] have regular operands; a pass checks it.

mod builder;
mod combine;
mod escapes;
mod expr;
mod exprs;
mod fragment;
mod grammar;
pub mod members;
mod printer;

pub use builder::Builder;
pub(crate) use builder::SharedExprs;
pub(crate) use combine::{Names, copy_expr, copy_into};
pub use combine::{concat, exclude, intersect, repeat, then_until, union};
pub use escapes::Escapes;
pub use expr::{Automaton, Expr, ExprId, Items, Literal, RuleId, TagDispatch, TokenSet, TokenTagDispatch};
pub use exprs::Exprs;
pub(crate) use fragment::Fragment;
pub use grammar::{Grammar, Rule, RuleOptions};
pub(crate) use printer::quoted;
