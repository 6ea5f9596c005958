//! Which tokens end a text, and which are special, where the caller did not say so.
//!
//! The best source is the model's folder: `generation_config.json` lists ids, `tokenizer_config.json` (or the older
//! `special_tokens_map.json`) names one token. Without a folder there remain the texts that such tokens have in
//! well-known models; a `tokenizer.json` says which tokens are special, and only those are believed.
//!
//! Special tokens are marked in `tokenizer.json`; `added_tokens_decoder` of `tokenizer_config.json` marks some again and in
//! some folders others, and both configuration files name those that have a part of their own (`bos_token`, `pad_token`,
//! `additional_special_tokens`). All of them are what transformers calls `all_special_ids`.

use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::VocabError;
use super::table::TokenTable;
use super::{TokenId, file};

/// The texts that a token which ends a text has in well-known models.
pub const STOP_TOKEN_TEXTS: [&str; 8] = [
    "</s>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<eos>",
    "<|eos|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
];

/// More such texts, which are believed of tokens that a file marks as special, and of no others.
const SPECIAL_STOP_TEXTS: [&str; 8] = [
    "<|im_end|>",
    "<|eom_id|>",
    "<|return|>",
    "<|call|>",
    "<|END_OF_TURN_TOKEN|>",
    "<turn|>",
    "<|end|>",
    "[EOS]",
];

/// Whether a special token with this text ends a text.
pub(super) fn is_stop_text(text: &str) -> bool {
    STOP_TOKEN_TEXTS.contains(&text) || SPECIAL_STOP_TEXTS.contains(&text)
}

/// The tokens that have one of [`STOP_TOKEN_TEXTS`], ascending.
pub(super) fn find_by_text(table: &TokenTable) -> Vec<TokenId> {
    let is_stop = |bytes: &[u8]| STOP_TOKEN_TEXTS.iter().any(|text| text.as_bytes() == bytes);
    table.texts().filter(|(_, text)| is_stop(text)).map(|(id, _)| id).collect()
}

/// The part of `generation_config.json` that matters here.
#[derive(Deserialize)]
struct GenerationConfig {
    eos_token_id: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(u32),
    Many(Vec<u32>),
}

/// The part of `tokenizer_config.json` and `special_tokens_map.json` that matters here.
#[derive(Deserialize)]
struct TokenizerConfig {
    eos_token: Option<TokenName>,
    bos_token: Option<TokenName>,
    unk_token: Option<TokenName>,
    sep_token: Option<TokenName>,
    pad_token: Option<TokenName>,
    cls_token: Option<TokenName>,
    mask_token: Option<TokenName>,
    additional_special_tokens: Option<Vec<TokenName>>,
    added_tokens_decoder: Option<FxHashMap<String, MarkedToken>>,
}

/// A token of `added_tokens_decoder`, which is by its id.
#[derive(Deserialize)]
struct MarkedToken {
    #[serde(default)]
    special: bool,
}

impl TokenName {
    fn text(&self) -> &str {
        let (TokenName::Name(text) | TokenName::Described { content: text }) = self;
        text
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenName {
    Name(String),
    Described { content: String },
}

/// The tokens that the configuration files in `folder` say end a text; empty where they say nothing.
///
/// `id_of` finds a token by its name.
pub(super) fn find_in_folder(
    folder: &Path,
    id_of: impl Fn(&str) -> Option<TokenId>,
) -> Result<Vec<TokenId>, VocabError> {
    let mut found = Vec::new();
    if let Some(config) = read_config::<GenerationConfig>(&folder.join("generation_config.json"))? {
        match config.eos_token_id {
            Some(OneOrMany::One(id)) => found.push(TokenId(id)),
            Some(OneOrMany::Many(ids)) => found.extend(ids.into_iter().map(TokenId)),
            None => {}
        }
    }
    for name in ["tokenizer_config.json", "special_tokens_map.json"] {
        let config = read_config::<TokenizerConfig>(&folder.join(name))?;
        if let Some(token) = config.and_then(|config| config.eos_token) {
            found.extend(id_of(token.text()));
            break;
        }
    }
    Ok(found)
}

/// The tokens that the configuration files in `folder` mark as special.
///
/// `id_of` finds a token by its name.
pub(super) fn find_special_in_folder(
    folder: &Path,
    id_of: impl Fn(&str) -> Option<TokenId>,
) -> Result<Vec<TokenId>, VocabError> {
    let mut found = Vec::new();
    for name in ["tokenizer_config.json", "special_tokens_map.json"] {
        let Some(config) = read_config::<TokenizerConfig>(&folder.join(name))? else { continue };
        let TokenizerConfig {
            eos_token,
            bos_token,
            unk_token,
            sep_token,
            pad_token,
            cls_token,
            mask_token,
            ..
        } = config;
        let own = [eos_token, bos_token, unk_token, sep_token, pad_token, cls_token, mask_token];
        let named = own.into_iter().flatten().chain(config.additional_special_tokens.into_iter().flatten());
        found.extend(named.filter_map(|token| id_of(token.text())));
        let marked = config.added_tokens_decoder.into_iter().flatten().filter(|(_, token)| token.special);
        found.extend(marked.filter_map(|(id, _)| id.parse().ok().map(TokenId)));
    }
    Ok(found)
}

fn read_config<Config: DeserializeOwned>(path: &Path) -> Result<Option<Config>, VocabError> {
    let Some(bytes) = file::read_if_there(path)? else { return Ok(None) };
    let config = serde_json::from_slice(&bytes);
    config.map(Some).map_err(|error| VocabError::malformed(path.display().to_string(), &error))
}
