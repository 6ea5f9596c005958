//! Vocabularies from `.tiktoken` files.
//!
//! Such a file has a line for each token: its bytes in base64, a space, its id. Special tokens are not in the file;
//! the program that uses it has a table of them, and so has the caller here.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::error::VocabError;
use super::tokenizer_json::FileOptions;
use super::{MAX_TOKENS, TokenId, Vocab, VocabKind, VocabOptions, file};

/// The vocabulary of the file at `path` with the special tokens given.
pub fn from_file(
    path: &Path,
    special: &[(String, u32)],
    options: FileOptions,
) -> Result<Arc<Vocab>, VocabError> {
    from_bytes(&file::read(path)?, &path.display().to_string(), special, options)
}

/// The vocabulary of the text of a file; `name` is what errors call it.
pub fn from_bytes(
    text: &[u8],
    name: &str,
    special: &[(String, u32)],
    mut options: FileOptions,
) -> Result<Arc<Vocab>, VocabError> {
    let size = options.vocab_size.unwrap_or(usize::MAX);
    let ids = special.iter().map(|&(_, id)| TokenId(id)).filter(|id| id.index() < size);
    options.special_token_ids.get_or_insert_with(|| ids.collect());
    let mut tokens: Vec<(Vec<u8>, u32)> = Vec::new();
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if !line.is_empty() {
            let token = parse_line(line);
            tokens.push(
                token.map_err(|reason| {
                    VocabError::malformed(name, &format!("line {}: {reason}", number + 1))
                })?,
            );
        }
    }
    tokens.extend(special.iter().map(|(text, id)| (text.clone().into_bytes(), *id)));
    from_tokens(tokens, options)
}

/// The vocabulary of tokens that are given as bytes with their ids.
pub fn from_tokens(tokens: Vec<(Vec<u8>, u32)>, options: FileOptions) -> Result<Arc<Vocab>, VocabError> {
    let largest = tokens.iter().map(|&(_, id)| id as usize + 1).max().unwrap_or(0);
    let size = options.vocab_size.unwrap_or(largest);
    if size > MAX_TOKENS {
        return Err(VocabError::TooManyTokens(size as u64));
    }
    let mut placed: Vec<Option<Vec<u8>>> = vec![None; size];
    for (token, id) in tokens {
        let Some(place) = placed.get_mut(id as usize) else { continue };
        if let Some(first) = place.replace(token) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (first, second) = (text(&first), place.as_deref().map(text).unwrap_or_default());
            return Err(VocabError::DuplicateId { id, first, second });
        }
    }
    let FileOptions { stop_token_ids, special_token_ids, .. } = options;
    let options = VocabOptions {
        kind: VocabKind::Raw,
        vocab_size: Some(size),
        stop_token_ids,
        special_token_ids: special_token_ids.unwrap_or_default(),
        add_prefix_space: false,
    };
    Vocab::new(placed.iter().map(|token| token.as_deref().unwrap_or_default()), options)
}

fn parse_line(line: &[u8]) -> Result<(Vec<u8>, u32), String> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let (Some(token), Some(id), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err("expected a token in base64 and its id".into());
    };
    let bytes = BASE64_STANDARD.decode(token).map_err(|error| error.to_string())?;
    let id = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok()).ok_or("the id is not a number")?;
    Ok((bytes, id))
}
