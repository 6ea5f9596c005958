//! What can be wrong with a vocabulary.
//!
//! Vocabularies come from files and from callers, so every failure names the token, the id or the file that caused
//! it. [`VocabError::kind`] is what a caller acts upon: the bindings choose the exception's class by it.

use super::{MAX_TABLE_BYTES, MAX_TOKEN_BYTES, MAX_TOKENS};

/// The family of a [`VocabError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VocabErrorKind {
    /// The vocabulary, or an argument that goes with it, is wrong.
    Invalid,
    /// A file could not be read.
    Io,
    /// A saved vocabulary is not JSON at all.
    InvalidJson,
    /// A saved vocabulary is JSON of another shape.
    Format,
    /// A saved vocabulary was written by another version.
    Version,
}

/// A vocabulary that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VocabError {
    /// More ids than a vocabulary may have.
    #[error("a vocabulary of {0} tokens exceeds the limit of {MAX_TOKENS}")]
    TooManyTokens(u64),
    /// A token that is longer than a token may be.
    #[error("token {id} has {length} bytes, which exceeds the limit of {MAX_TOKEN_BYTES}")]
    TokenTooLong {
        /// The id of that token.
        id: u32,
        /// Its length in bytes.
        length: usize,
    },
    /// All tokens together are too large.
    #[error("the tokens of the vocabulary take more than the limit of {MAX_TABLE_BYTES} bytes together")]
    TableTooLarge,
    /// The size asked for does not hold all the tokens.
    #[error("vocab_size is {vocab_size}, but the vocabulary has {tokens} tokens")]
    SizeTooSmall {
        /// The size that was asked for.
        vocab_size: usize,
        /// The number of tokens that were given.
        tokens: usize,
    },
    /// A stop token that no model with this vocabulary can produce.
    #[error("stop token {id} is outside of the vocabulary of {vocab_size} tokens")]
    StopTokenOutOfRange {
        /// The id that was given.
        id: u32,
        /// The size of the vocabulary.
        vocab_size: usize,
    },
    /// A special token that the vocabulary does not have.
    #[error("special token {id} is outside of the vocabulary of {vocab_size} tokens")]
    SpecialTokenOutOfRange {
        /// The id that was given.
        id: u32,
        /// The size of the vocabulary.
        vocab_size: usize,
    },
    /// Two different tokens have one id.
    #[error("id {id} belongs to two tokens, {first:?} and {second:?}")]
    DuplicateId {
        /// The id.
        id: u32,
        /// The token that had it first.
        first: String,
        /// The token that claims it too.
        second: String,
    },
    /// A number that is not one of [`super::VocabKind`].
    #[error("{0} is not a vocabulary type; 0 is raw, 1 is byte fallback, 2 is byte level")]
    UnknownKind(u64),
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why it could not be read.
        source: std::io::Error,
    },
    /// A file that is larger than any vocabulary's.
    #[error("{path} has more than the limit of {limit} bytes")]
    FileTooLarge {
        /// The file.
        path: String,
        /// The limit.
        limit: u64,
    },
    /// A file or text that is not what it should be.
    #[error("{what} is not valid: {reason}")]
    Malformed {
        /// What was being read.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A saved vocabulary is not JSON.
    #[error("the saved vocabulary is not JSON: {0}")]
    InvalidJson(serde_json::Error),
    /// A saved vocabulary has another shape.
    #[error("the saved vocabulary does not have the expected form: {0}")]
    Format(String),
    /// A saved vocabulary has another version.
    #[error("the saved vocabulary has version {found:?}, and this library reads {expected:?}")]
    Version {
        /// The version that was found.
        found: String,
        /// The version that is read.
        expected: &'static str,
    },
}

impl VocabError {
    /// The family of the failure.
    pub fn kind(&self) -> VocabErrorKind {
        match self {
            VocabError::Io { .. } => VocabErrorKind::Io,
            VocabError::InvalidJson(_) => VocabErrorKind::InvalidJson,
            VocabError::Format(_) => VocabErrorKind::Format,
            VocabError::Version { .. } => VocabErrorKind::Version,
            _ => VocabErrorKind::Invalid,
        }
    }

    pub(super) fn malformed(what: impl Into<String>, reason: &impl ToString) -> Self {
        VocabError::Malformed { what: what.into(), reason: reason.to_string() }
    }
}
