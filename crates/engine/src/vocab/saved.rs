//! A vocabulary as JSON, and back.
//!
//! Two forms. The *metadata* has what a list of tokens lacks, so that an engine which has the list already passes
//! only that. The *saved* form has the tokens too: a token that is text as a string, any other as a list of bytes,
//! padding at the end left out. It carries a version, and is read by that version only.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::error::VocabError;
use super::{TokenId, Vocab, VocabKind, VocabOptions};

/// The version of the saved form: the one that every object which this project saves has.
pub const SAVED_VERSION: &str = "tokenstile-v1";

#[derive(Serialize, Deserialize)]
struct MetadataJson {
    vocab_type: u64,
    vocab_size: usize,
    add_prefix_space: bool,
    stop_token_ids: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    special_token_ids: Vec<u32>,
}

#[derive(Serialize)]
struct SavedOut<'vocab> {
    #[serde(rename = "__VERSION__")]
    version: &'static str,
    #[serde(flatten)]
    metadata: MetadataJson,
    decoded_vocab: Vec<TokenOut<'vocab>>,
}

#[derive(Deserialize)]
struct Saved {
    vocab_type: u64,
    vocab_size: usize,
    add_prefix_space: bool,
    stop_token_ids: Vec<u32>,
    #[serde(default)]
    special_token_ids: Vec<u32>,
    decoded_vocab: Vec<TokenIn>,
}

#[derive(Deserialize)]
struct SavedVersion {
    #[serde(rename = "__VERSION__")]
    version: Option<String>,
}

struct TokenOut<'vocab>(&'vocab [u8]);

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenIn {
    Text(String),
    Bytes(Vec<u8>),
}

impl Serialize for TokenOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_seq(self.0),
        }
    }
}

impl AsRef<[u8]> for TokenIn {
    fn as_ref(&self) -> &[u8] {
        match self {
            TokenIn::Text(text) => text.as_bytes(),
            TokenIn::Bytes(bytes) => bytes,
        }
    }
}

impl Vocab {
    /// What a list of tokens lacks, as JSON.
    pub fn metadata_json(&self) -> String {
        to_json(&self.metadata())
    }

    /// The whole vocabulary as JSON.
    pub fn to_saved_json(&self) -> String {
        let mut decoded_vocab: Vec<_> = self.table.texts().map(|(_, text)| TokenOut(text)).collect();
        let used = decoded_vocab.iter().rposition(|token| !token.0.is_empty()).map_or(0, |last| last + 1);
        decoded_vocab.truncate(used);
        to_json(&SavedOut { version: SAVED_VERSION, metadata: self.metadata(), decoded_vocab })
    }

    /// The vocabulary that [`Vocab::to_saved_json`] wrote.
    pub fn from_saved_json(text: &str) -> Result<Arc<Self>, VocabError> {
        let found: SavedVersion = from_json(text)?;
        let found = found.version.ok_or_else(|| VocabError::Format("it has no __VERSION__".into()))?;
        if found != SAVED_VERSION {
            return Err(VocabError::Version { found, expected: SAVED_VERSION });
        }
        let saved: Saved = from_json(text)?;
        let Saved {
            vocab_type,
            vocab_size,
            add_prefix_space,
            stop_token_ids,
            special_token_ids,
            decoded_vocab,
        } = saved;
        let metadata =
            MetadataJson { vocab_type, vocab_size, add_prefix_space, stop_token_ids, special_token_ids };
        Self::new(decoded_vocab, metadata.into_options()?)
    }

    /// The options that [`Vocab::metadata_json`] wrote.
    pub fn options_from_metadata_json(text: &str) -> Result<VocabOptions, VocabError> {
        from_json::<MetadataJson>(text)?.into_options()
    }

    fn metadata(&self) -> MetadataJson {
        MetadataJson {
            vocab_type: u64::from(self.kind.as_number()),
            vocab_size: self.len(),
            add_prefix_space: self.add_prefix_space,
            stop_token_ids: self.stop_token_ids.iter().map(|id| id.0).collect(),
            special_token_ids: self.table.special_texts().map(|(id, _)| id.0).collect(),
        }
    }
}

impl MetadataJson {
    fn into_options(self) -> Result<VocabOptions, VocabError> {
        Ok(VocabOptions {
            kind: VocabKind::from_number(self.vocab_type)?,
            vocab_size: Some(self.vocab_size),
            stop_token_ids: Some(self.stop_token_ids.into_iter().map(TokenId).collect()),
            special_token_ids: self.special_token_ids.into_iter().map(TokenId).collect(),
            add_prefix_space: self.add_prefix_space,
        })
    }
}

fn to_json(value: &impl Serialize) -> String {
    // Numbers, strings and lists in a struct: there is nothing in them that JSON cannot express.
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("{error}"))
}

fn from_json<'text, T: Deserialize<'text>>(text: &'text str) -> Result<T, VocabError> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => VocabError::Format(error.to_string()),
        _ => VocabError::InvalidJson(error),
    })
}
