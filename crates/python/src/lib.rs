//! Python bindings: conversions only, no algorithm. The one place that maps errors and touches foreign memory.
//!
//! Reading order: [`mod@errors`], [`arguments`], [`detached`], [`mod@fork`] and [`limits`]; [`grammar`], [`compiler`], [`compiled`], [`matcher`], [`capture`] and
//! [`batch`], one file for each class; [`draft_rows`], the steps of a serving engine; [`json_schema`], the arguments of
//! schemas; [`spelling`], which of the texts of a value are written; [`report`], what became of keywords; [`mod@lark`], the arguments of Lark; [`structural_tag`], structural
//! tags in all their forms;
//! [`buffer`], which opens arrays of other libraries; [`kernel`], which applies masks to logits; [`allocator`].

mod acceptor;
#[cfg(not(feature = "system-allocator"))]
mod allocator;
mod arguments;
mod batch;
mod batch_masks;
mod batch_work;
mod body;
mod buffer;
mod capture;
mod compiled;
mod compiler;
mod detached;
mod draft_rows;
mod draft_tree;
mod errors;
mod fork;
mod grammar;
mod json_schema;
mod kernel;
mod lark;
mod limits;
mod matcher;
mod permits;
mod report;
mod schemas;
mod serialize;
mod spelling;
mod structural_tag;
mod tokenizer_info;

use pyo3::prelude::*;

#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// The compiled part of tokenstile. Import from `tokenstile` instead.
#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult, fork, serialize};

    #[pymodule_export]
    use super::batch::BatchGrammarMatcher;
    #[pymodule_export]
    use super::capture::Capture;
    #[pymodule_export]
    use super::compiled::{CompiledGrammar, restore_compiled_grammar};
    #[pymodule_export]
    use super::compiler::{GrammarCompiler, get_cache_limit_bytes, set_cache_limit_bytes};
    #[pymodule_export]
    use super::draft_rows::{batch_accept_tokens, batch_fill_drafts};
    #[pymodule_export]
    use super::grammar::{Grammar, apply_passes, machine_text, restore_grammar};
    #[pymodule_export]
    use super::json_schema::check_schema;
    #[pymodule_export]
    use super::kernel::apply_token_bitmask_inplace_cpu;
    #[pymodule_export]
    use super::limits::CancelToken;
    #[pymodule_export]
    use super::matcher::GrammarMatcher;
    #[pymodule_export]
    use super::spelling::{get_default_spelling, set_default_spelling};
    #[pymodule_export]
    use super::tokenizer_info::TokenizerInfo;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        fork::register(module)?;
        module.add("SERIALIZATION_VERSION", serialize::VERSION)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
