//! Vocabularies from a `tokenizer.json`, the file format of the `tokenizers` library.
//!
//! Such a file describes a whole tokenizer; most of it (merges, post-processing) says nothing about the bytes of
//! tokens and is skipped while parsing. What is read:
//!
//! - `model.vocab`: a map from names to ids, or a list of `[name, score]` in the order of ids;
//! - `added_tokens`: their ids are in the same space, and where both have an id, the added token has it; those that are
//!   marked as special are no text;
//! - the steps of the pipeline, for the spelling (see [`super::detect`]).
//!
//! Names are borrowed from the file's text wherever they have no escapes, so a vocabulary of 128,000 tokens costs
//! one pass over the text, and one copy of the bytes into their table.
//!
//! Tokens of `WordPiece` and `WordLevel` models are taken as their names say: such decoders put spaces between tokens
//! by rules that depend on their neighbours, which no table of bytes can express.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::detect::{self, Metadata};
use super::error::VocabError;
use super::table::TokenTableBuilder;
use super::{MAX_TOKENS, TokenId, Vocab, VocabKind, VocabOptions, file, stop_tokens};

/// What a caller can say about a file's vocabulary; what is not said is found out.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// The number of logits. Tokens with larger ids are left out; the model cannot produce them.
    pub vocab_size: Option<usize>,
    /// The tokens that end a text.
    pub stop_token_ids: Option<Vec<TokenId>>,
    /// The tokens that are no text: see [`VocabOptions::special_token_ids`].
    pub special_token_ids: Option<Vec<TokenId>>,
}

/// The vocabulary of the `tokenizer.json` at `path`. Stop tokens, and more special ones, come from the configuration files beside it.
pub fn from_file(path: &Path, mut options: FileOptions) -> Result<Arc<Vocab>, VocabError> {
    let bytes = file::read(path)?;
    let name = path.display().to_string();
    let text = std::str::from_utf8(&bytes).map_err(|error| VocabError::malformed(&*name, &error))?;
    let tokenizer = TokenizerFile::parse(text).map_err(|error| VocabError::malformed(&*name, &error))?;
    let entries = tokenizer.place(options.vocab_size)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    if options.special_token_ids.is_none() {
        let named = stop_tokens::find_special_in_folder(folder, |name| tokenizer.id_of(name))?;
        let special = tokenizer.special_tokens(entries.len());
        options.special_token_ids =
            Some(special.chain(named).filter(|id| id.index() < entries.len()).collect());
    }
    if options.stop_token_ids.is_none() {
        let mut stops = stop_tokens::find_in_folder(folder, |name| tokenizer.id_of(name))?;
        stops.retain(|id| id.index() < entries.len());
        options.stop_token_ids = (!stops.is_empty()).then_some(stops);
    }
    tokenizer.build(&entries, options)
}

/// The vocabulary of the text of a `tokenizer.json`.
pub fn from_text(text: &str, options: FileOptions) -> Result<Arc<Vocab>, VocabError> {
    let tokenizer =
        TokenizerFile::parse(text).map_err(|error| VocabError::malformed("tokenizer.json", &error))?;
    let entries = tokenizer.place(options.vocab_size)?;
    tokenizer.build(&entries, options)
}

/// What the steps of a `tokenizer.json` say; its vocabulary is not looked at, and need not be there.
pub fn metadata_from_text(text: &str) -> Result<Metadata, VocabError> {
    #[derive(Deserialize)]
    struct Steps {
        #[serde(default)]
        normalizer: Value,
        #[serde(default)]
        pre_tokenizer: Value,
        #[serde(default)]
        decoder: Value,
    }
    let steps: Steps =
        serde_json::from_str(text).map_err(|error| VocabError::malformed("tokenizer.json", &error))?;
    Ok(detect::metadata_of_steps(&steps.normalizer, &steps.pre_tokenizer, &steps.decoder))
}

/// What is read of the file.
#[derive(Deserialize)]
struct TokenizerFile<'text> {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default, borrow)]
    added_tokens: Option<Vec<AddedToken<'text>>>,
    #[serde(borrow)]
    model: Model<'text>,
}

#[derive(Deserialize)]
struct AddedToken<'text> {
    id: u64,
    #[serde(borrow)]
    content: Name<'text>,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Model<'text> {
    #[serde(default)]
    byte_fallback: bool,
    #[serde(borrow)]
    vocab: Names<'text>,
}

/// A name; unlike `Cow`, it borrows wherever it can.
struct Name<'text>(Cow<'text, str>);

/// The names of the model's tokens with their ids.
struct Names<'text>(Vec<(Name<'text>, u64)>);

/// The token of an id.
#[derive(Clone, Copy)]
enum Entry<'tokenizer> {
    Hole,
    Ordinary(&'tokenizer str),
    Added(&'tokenizer str),
}

impl<'text> TokenizerFile<'text> {
    fn parse(text: &'text str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    fn ordinary(&self) -> impl Iterator<Item = (&str, u64)> {
        self.model.vocab.0.iter().map(|(name, id)| (&*name.0, *id))
    }

    fn added(&self) -> impl Iterator<Item = (&str, u64)> {
        self.added_tokens.iter().flatten().map(|token| (&*token.content.0, token.id))
    }

    fn id_of(&self, name: &str) -> Option<TokenId> {
        let (_, id) = self.added().chain(self.ordinary()).find(|&(other, _)| other == name)?;
        u32::try_from(id).ok().map(TokenId)
    }

    /// The tokens by id.
    fn place(&self, vocab_size: Option<usize>) -> Result<Vec<Entry<'_>>, VocabError> {
        let all = || self.ordinary().chain(self.added());
        let size = match vocab_size {
            Some(size) => size as u64,
            None => all().map(|(_, id)| id.saturating_add(1)).max().unwrap_or(0),
        };
        if size > MAX_TOKENS as u64 {
            return Err(VocabError::TooManyTokens(size));
        }
        let mut entries = vec![Entry::Hole; size as usize];
        for (name, id) in self.ordinary().filter(|&(_, id)| id < size) {
            let entry = &mut entries[id as usize];
            if let Entry::Ordinary(first) = *entry {
                return Err(duplicate_id(id, first, name));
            }
            *entry = Entry::Ordinary(name);
        }
        for (name, id) in self.added().filter(|&(_, id)| id < size) {
            let entry = &mut entries[id as usize];
            match *entry {
                Entry::Added(first) if first != name => return Err(duplicate_id(id, first, name)),
                // Listed again, as the specials of many vocabularies are: it is an ordinary token's name.
                Entry::Ordinary(same) if same == name => {}
                _ => *entry = Entry::Added(name),
            }
        }
        Ok(entries)
    }

    fn metadata(&self) -> Metadata {
        let mut found = detect::metadata_of_steps(&self.normalizer, &self.pre_tokenizer, &self.decoder);
        if self.model.byte_fallback {
            found.kind = VocabKind::ByteFallback;
        }
        let names = self.ordinary().chain(self.added()).map(|(name, _)| name);
        found.kind = detect::kind_of_names(names).unwrap_or(found.kind);
        found
    }

    /// The tokens that the file marks as special.
    fn special_tokens(&self, count: usize) -> impl Iterator<Item = TokenId> {
        let added = self.added_tokens.iter().flatten();
        let special = added.filter(move |token| token.special && token.id < count as u64);
        special.map(|token| TokenId(token.id as u32))
    }

    /// The special tokens whose text says that they end a text; `None` if the file marks no token as special.
    fn special_stop_tokens(&self, count: usize) -> Option<Vec<TokenId>> {
        let added = self.added_tokens.iter().flatten();
        let special: Vec<_> = added.filter(|token| token.special && token.id < count as u64).collect();
        let stops = special.iter().filter(|token| stop_tokens::is_stop_text(&token.content.0));
        (!special.is_empty()).then(|| stops.map(|token| TokenId(token.id as u32)).collect())
    }

    fn build(&self, entries: &[Entry<'_>], options: FileOptions) -> Result<Arc<Vocab>, VocabError> {
        let Metadata { kind, add_prefix_space } = self.metadata();
        let mut builder = TokenTableBuilder::default();
        for entry in entries {
            match *entry {
                Entry::Hole => builder.push(b"")?,
                Entry::Ordinary(name) => builder.push(&kind.decode(name.as_bytes()))?,
                Entry::Added(name) => builder.push(&kind.decode_added(name.as_bytes()))?,
            }
        }
        let FileOptions { vocab_size, stop_token_ids, special_token_ids } = options;
        let stop_token_ids = stop_token_ids.or_else(|| self.special_stop_tokens(entries.len()));
        let special_token_ids =
            special_token_ids.unwrap_or_else(|| self.special_tokens(entries.len()).collect());
        let options = VocabOptions { kind, vocab_size, stop_token_ids, special_token_ids, add_prefix_space };
        Vocab::from_builder(builder, options)
    }
}

fn duplicate_id(id: u64, first: &str, second: &str) -> VocabError {
    VocabError::DuplicateId { id: id as u32, first: first.into(), second: second.into() }
}

impl<'de: 'text, 'text> Deserialize<'de> for Name<'text> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the name of a token")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

impl<'de: 'text, 'text> Deserialize<'de> for Names<'text> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a map from names to ids, or a list of names with scores")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names<'de>, A::Error> {
                let mut names = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    names.push(entry);
                }
                Ok(Names(names))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names<'de>, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = list.next_element()? {
                    names.push((name, names.len() as u64));
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}
