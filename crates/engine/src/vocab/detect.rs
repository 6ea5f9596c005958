//! What spelling a vocabulary has: what its tokenizer says, and what its names show.
//!
//! A tokenizer's description is a pipeline of normalizer, pre-tokenizer, model and decoder, and some of those steps
//! betray how names are spelled. Descriptions are at times wrong: converters drop or replace a decoder. The names
//! themselves cannot be wrong, so where they are clear they win.

use serde_json::Value;

use super::kind::{SPACE_MARK, VocabKind, byte_of, byte_piece, is_byte_level};

/// How many of the 256 bytes a vocabulary must spell before its names count as evidence.
const ENOUGH_BYTES: usize = 128;

/// The kind that the names of a vocabulary show; `None` where they show neither spelling clearly.
///
/// Byte fallback shows in the byte pieces. Byte level shows in single characters of its alphabet, together with
/// nearly all names being spelled in it: nearly, because of added tokens.
pub fn kind_of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<VocabKind> {
    let (mut pieces, mut singles) = ([false; 256], [false; 256]);
    let (mut total, mut spelled) = (0_usize, 0_usize);
    for name in names {
        total += 1;
        if let Some(byte) = byte_piece(name.as_bytes()) {
            pieces[usize::from(byte)] = true;
        }
        if is_byte_level(name) {
            spelled += 1;
        }
        if let Some(byte) = only_char(name).and_then(byte_of) {
            singles[usize::from(byte)] = true;
        }
    }
    let count = |seen: &[bool; 256]| seen.iter().filter(|&&seen| seen).count();
    if count(&pieces) >= ENOUGH_BYTES {
        return Some(VocabKind::ByteFallback);
    }
    let nearly_all = spelled * 100 >= total * 99;
    (count(&singles) >= ENOUGH_BYTES && nearly_all).then_some(VocabKind::ByteLevel)
}

fn only_char(name: &str) -> Option<char> {
    let mut characters = name.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// What the steps of a tokenizer say about its vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// How names are spelled.
    pub kind: VocabKind,
    /// Whether a space is put before a text.
    pub add_prefix_space: bool,
}

/// Reads the steps of a `tokenizer.json`; `null` stands for a step that is not there.
///
/// A vocabulary that marks spaces (`Metaspace`, or a replacement of the mark) is of the byte-fallback kind even where
/// it has no byte pieces: the mark has to become a space.
pub fn metadata_of_steps(normalizer: &Value, pre_tokenizer: &Value, decoder: &Value) -> Metadata {
    let normalizers = flatten(normalizer, "normalizers");
    let pre_tokenizers = flatten(pre_tokenizer, "pretokenizers");
    let decoders = flatten(decoder, "decoders");
    let has = |steps: &[&Value], name: &str| steps.iter().any(|step| type_of(step) == name);

    let kind = if has(&decoders, "ByteFallback") {
        VocabKind::ByteFallback
    } else if has(&decoders, "ByteLevel")
        || has(&pre_tokenizers, "ByteLevel")
        || has(&normalizers, "ByteLevel")
    {
        VocabKind::ByteLevel
    } else if has(&decoders, "Metaspace") || decoders.iter().any(|step| unmarks_spaces(step)) {
        VocabKind::ByteFallback
    } else {
        VocabKind::Raw
    };
    let add_prefix_space = normalizers.iter().any(|step| prepends_mark(step))
        || pre_tokenizers.iter().any(|step| marks_the_start(step))
        || pre_tokenizers.iter().any(|step| prefixes_space(step));
    Metadata { kind, add_prefix_space }
}

/// The steps of a pipeline, those of nested sequences included, in no particular order.
fn flatten<'a>(step: &'a Value, sequence_field: &str) -> Vec<&'a Value> {
    let mut steps = Vec::new();
    let mut pending = vec![step];
    while let Some(step) = pending.pop() {
        match step.get(sequence_field).and_then(Value::as_array) {
            Some(inner) => pending.extend(inner),
            None => steps.push(step),
        }
    }
    steps
}

fn type_of(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// A decoder that replaces the mark by a space.
fn unmarks_spaces(step: &Value) -> bool {
    type_of(step) == "Replace"
        && step.pointer("/pattern/String").and_then(Value::as_str).and_then(only_char) == Some(SPACE_MARK)
        && step.get("content").and_then(Value::as_str) == Some(" ")
}

/// A normalizer that puts the mark before the text.
fn prepends_mark(step: &Value) -> bool {
    type_of(step) == "Prepend"
        && step.get("prepend").and_then(Value::as_str).and_then(only_char) == Some(SPACE_MARK)
}

/// A pre-tokenizer that puts the mark before the text. Older files have a flag in place of the scheme.
fn marks_the_start(step: &Value) -> bool {
    type_of(step) == "Metaspace"
        && match step.get("prepend_scheme").and_then(Value::as_str) {
            Some(scheme) => scheme != "never",
            None => step.get("add_prefix_space").and_then(Value::as_bool).unwrap_or(true),
        }
}

/// A byte-level pre-tokenizer that puts a space before the text.
fn prefixes_space(step: &Value) -> bool {
    type_of(step) == "ByteLevel" && step.get("add_prefix_space").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn steps(normalizer: &Value, pre_tokenizer: &Value, decoder: &Value) -> (VocabKind, bool) {
        let found = metadata_of_steps(normalizer, pre_tokenizer, decoder);
        (found.kind, found.add_prefix_space)
    }

    #[test]
    fn steps_tell_the_kind() {
        let none = Value::Null;
        let byte_level = json!({"type": "ByteLevel", "add_prefix_space": true});
        let sequence = json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]});
        let replace_only = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
        assert_eq!(steps(&none, &none, &none), (VocabKind::Raw, false));
        assert_eq!(
            steps(&none, &none, &byte_level),
            (VocabKind::ByteLevel, false),
            "the decoder's flag means nothing"
        );
        assert_eq!(steps(&none, &byte_level, &none), (VocabKind::ByteLevel, true));
        assert_eq!(steps(&none, &none, &sequence), (VocabKind::ByteFallback, false));
        assert_eq!(steps(&none, &none, &replace_only), (VocabKind::ByteFallback, false));
        assert_eq!(steps(&none, &none, &json!({"type": "Metaspace"})), (VocabKind::ByteFallback, false));
        assert_eq!(steps(&none, &none, &json!({"type": "WordPiece"})), (VocabKind::Raw, false));
        assert_eq!(steps(&json!(3), &json!([]), &json!({"decoders": 1})), (VocabKind::Raw, false));
    }

    #[test]
    fn steps_tell_the_prefix_space() {
        let none = Value::Null;
        let prepend = json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}]});
        let other = json!({"type": "Prepend", "prepend": "x"});
        assert!(steps(&prepend, &none, &none).1);
        assert!(!steps(&other, &none, &none).1);
        for (metaspace, expected) in [
            (json!({"type": "Metaspace", "prepend_scheme": "always"}), true),
            (json!({"type": "Metaspace", "prepend_scheme": "first"}), true),
            (json!({"type": "Metaspace", "prepend_scheme": "never"}), false),
            (json!({"type": "Metaspace", "add_prefix_space": true}), true),
            (json!({"type": "Metaspace", "add_prefix_space": false}), false),
            (json!({"type": "Metaspace"}), true),
        ] {
            assert_eq!(steps(&none, &metaspace, &none).1, expected, "{metaspace}");
        }
    }

    #[test]
    fn names_tell_the_kind() {
        let pieces: Vec<String> = (0..128).map(|byte| format!("<0x{byte:02X}>")).collect();
        assert_eq!(kind_of_names(pieces.iter().map(String::as_str)), Some(VocabKind::ByteFallback));
        assert_eq!(kind_of_names(pieces.iter().skip(1).map(String::as_str)), None);

        let singles: Vec<String> = (0..0x200).filter_map(char::from_u32).map(String::from).collect();
        let alphabet: Vec<&str> =
            singles.iter().map(String::as_str).filter(|name| is_byte_level(name)).collect();
        assert_eq!(alphabet.len(), 256);
        assert_eq!(kind_of_names(alphabet.iter().copied()), Some(VocabKind::ByteLevel));
        assert_eq!(kind_of_names(alphabet.iter().copied().chain(["a b", "中"])), Some(VocabKind::ByteLevel));
        assert_eq!(kind_of_names(alphabet.iter().copied().chain(["a b", "中", "▁"])), None);
        assert_eq!(kind_of_names(alphabet.iter().copied().take(127)), None);
        assert_eq!(kind_of_names([]), None);
    }
}
