//! Whole vocabularies: sizes, holes, duplicates, files, saving.

use super::tokenizer_json::FileOptions;
use super::*;

fn ids(numbers: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
    numbers.into_iter().map(TokenId).collect()
}

fn sized(vocab_size: usize) -> VocabOptions {
    VocabOptions { vocab_size: Some(vocab_size), ..VocabOptions::default() }
}

fn stopping_at(numbers: &[u32]) -> VocabOptions {
    VocabOptions { stop_token_ids: Some(ids(numbers.iter().copied())), ..VocabOptions::default() }
}

#[test]
fn padding_and_empty_tokens_are_special_and_nothing_else_is() {
    let vocab = Vocab::new(["a", "", "<s>", "</s>"], sized(7)).unwrap();
    assert_eq!(vocab.len(), 7);
    assert_eq!(vocab.special_token_ids(), ids([1, 4, 5, 6]));
    assert_eq!(vocab.stop_token_ids(), ids([3]));
    assert_eq!(vocab.token_bytes(TokenId(2)), b"<s>");
    assert_eq!(vocab.token_bytes(TokenId(6)), b"");
}

#[test]
fn duplicate_byte_strings_keep_their_ids() {
    let vocab = Vocab::new(["a", "b", "a", "a"], VocabOptions::default()).unwrap();
    assert_eq!(vocab.len(), 4);
    for id in [0, 2, 3] {
        assert_eq!(vocab.token_bytes(TokenId(id)), b"a");
    }
}

#[test]
fn stop_tokens_are_checked_and_not_repeated() {
    let vocab = Vocab::new(["a", "b", "c"], stopping_at(&[2, 0, 2])).unwrap();
    assert_eq!(vocab.stop_token_ids(), ids([2, 0]));
    assert!(Vocab::new(["a", "</s>"], stopping_at(&[])).unwrap().stop_token_ids().is_empty());
    let error = Vocab::new(["a"], stopping_at(&[1])).unwrap_err();
    assert_eq!(error.to_string(), "stop token 1 is outside of the vocabulary of 1 tokens");
}

#[test]
fn stop_tokens_are_found_by_their_decoded_text() {
    let options = VocabOptions { kind: VocabKind::ByteFallback, ..VocabOptions::default() };
    let names = ["</s>", "▁</s>", "<eos>", "<|eot_id|>", "x"];
    assert_eq!(Vocab::from_encoded(names, options).unwrap().stop_token_ids(), ids([0, 2, 3]));
}

#[test]
fn limits_are_errors() {
    let fails = |result: Result<Arc<Vocab>, VocabError>| result.unwrap_err().to_string();
    assert_eq!(fails(Vocab::new(["a", "b"], sized(1))), "vocab_size is 1, but the vocabulary has 2 tokens");
    assert!(fails(Vocab::new(["a"], sized(MAX_TOKENS + 1))).contains("exceeds the limit of 4194304"));
    let long = vec![b'x'; MAX_TOKEN_BYTES + 1];
    assert!(fails(Vocab::new([b"a".as_slice(), &long], sized(2))).starts_with("token 1 has 65537 bytes"));
    assert_eq!(Vocab::new([&long[1..]], sized(1)).unwrap().max_token_bytes(), MAX_TOKEN_BYTES);
    let too_many = std::iter::repeat_n("", MAX_TOKENS + 1);
    assert!(fails(Vocab::new(too_many, VocabOptions::default())).contains("4194305 tokens"));
}

#[test]
fn long_tokens_and_large_vocabularies() {
    let options = VocabOptions { kind: VocabKind::ByteLevel, ..VocabOptions::default() };
    let long = Vocab::from_encoded(["Ġ".repeat(512), "é".repeat(1024)], options).unwrap();
    assert_eq!(long.token_bytes(TokenId(0)), vec![b' '; 512]);
    assert_eq!(long.token_bytes(TokenId(1)), vec![0xE9; 1024]);
    assert_eq!(long.max_token_bytes(), 1024);

    let large = Vocab::new((0..1 << 18).map(|id: u32| id.to_string()), sized(1 << 18)).unwrap();
    assert_eq!(large.len(), 262_144);
    assert_eq!(large.token_bytes(TokenId(262_143)), b"262143");
}

#[test]
fn added_tokens_are_told_by_their_ids() {
    let options = VocabOptions { kind: VocabKind::ByteLevel, ..VocabOptions::default() };
    let vocab = Vocab::from_encoded_and_added(["é", "é", "Ġ"], |id| id == TokenId(1), options).unwrap();
    assert_eq!(vocab.token_bytes(TokenId(0)), [0xE9], "an ordinary token is spelled in the alphabet");
    assert_eq!(vocab.token_bytes(TokenId(1)), "é".as_bytes());
    assert_eq!(vocab.token_bytes(TokenId(2)), b" ");
}

#[test]
fn an_empty_vocabulary_is_one() {
    let vocab = Vocab::new::<&[u8]>([], VocabOptions::default()).unwrap();
    assert!(vocab.is_empty());
    assert_eq!(vocab.max_token_bytes(), 0);
}

#[test]
fn equal_bytes_share_a_table_whatever_goes_with_them() {
    let byte_level = VocabOptions { kind: VocabKind::ByteLevel, ..VocabOptions::default() };
    let first = Vocab::from_encoded(["Ġone", "two"], byte_level).unwrap();
    let second = Vocab::new([" one", "two"], stopping_at(&[1])).unwrap();
    assert!(Arc::ptr_eq(first.table(), second.table()));
    assert_eq!(first.fingerprint(), second.fingerprint());
    assert_ne!(first, second);
    assert_eq!(second, Vocab::new([" one", "two"], stopping_at(&[1])).unwrap());
    assert_ne!(first.fingerprint(), Vocab::new([" one", "two"], sized(3)).unwrap().fingerprint());
}

#[test]
fn a_saved_vocabulary_is_the_same() {
    let options = VocabOptions {
        kind: VocabKind::ByteFallback,
        vocab_size: Some(9),
        stop_token_ids: Some(ids([4, 1])),
        special_token_ids: ids([]),
        add_prefix_space: true,
    };
    let vocab = Vocab::from_encoded(["▁a", "</s>", "", "<0xFF>", "\"\u{1}中"], options).unwrap();
    let saved = vocab.to_saved_json();
    assert_eq!(Vocab::from_saved_json(&saved).unwrap(), vocab);
    assert!(saved.contains(r#"[" a","</s>","",[255],"\"\u0001中"]"#), "{saved}");
    let metadata = vocab.metadata_json();
    assert_eq!(metadata, r#"{"vocab_type":1,"vocab_size":9,"add_prefix_space":true,"stop_token_ids":[4,1]}"#);
    let options = Vocab::options_from_metadata_json(&metadata).unwrap();
    let names: [&[u8]; 5] = [b" a", b"</s>", b"", b"<0xFF>", "\"\u{1}中".as_bytes()];
    assert_eq!(Vocab::from_encoded(names, options).unwrap(), vocab);
}

#[test]
fn special_tokens_are_saved_compared_and_bounded() {
    let make = |special: &[u32]| {
        let special_token_ids = special.iter().copied().map(TokenId).collect();
        Vocab::new(["a", "<|x|>", "</s>"], VocabOptions { special_token_ids, ..sized(5) })
    };
    let vocab = make(&[2, 1, 1, 4]).unwrap();
    assert_eq!(vocab.special_token_ids(), ids([1, 2, 3, 4]));
    assert_eq!((vocab.token_bytes(TokenId(1)), vocab.token_text(TokenId(1))), (&b""[..], &b"<|x|>"[..]));
    assert_eq!(vocab.stop_token_ids(), ids([2]), "found by its text");
    assert_eq!(vocab.max_token_bytes(), 5);
    assert_eq!(Vocab::from_saved_json(&vocab.to_saved_json()).unwrap(), vocab);
    let options = Vocab::options_from_metadata_json(&vocab.metadata_json()).unwrap();
    assert_eq!(Vocab::from_encoded(["a", "<|x|>", "</s>"], options).unwrap(), vocab);
    for other in [&[][..], &[1], &[0, 1, 2]] {
        let other = make(other).unwrap();
        assert_ne!(other, vocab);
        assert_ne!(other.fingerprint(), vocab.fingerprint());
    }
    let error = make(&[5]).unwrap_err().to_string();
    assert_eq!(error, "special token 5 is outside of the vocabulary of 5 tokens");
}

#[test]
fn bad_saved_vocabularies_are_told_apart() {
    let saved = Vocab::new(["a"], VocabOptions::default()).unwrap().to_saved_json();
    let kind = |text: &str| Vocab::from_saved_json(text).unwrap_err().kind();
    assert_eq!(kind("{"), VocabErrorKind::InvalidJson);
    assert_eq!(kind("[1]"), VocabErrorKind::Format);
    assert_eq!(kind("{}"), VocabErrorKind::Format);
    assert_eq!(kind(&saved.replace(saved::SAVED_VERSION, "v0")), VocabErrorKind::Version);
    assert_eq!(kind(&saved.replace("decoded_vocab", "other")), VocabErrorKind::Format);
    assert_eq!(kind(&saved.replace("[\"a\"]", "[[256]]")), VocabErrorKind::Format);
    assert_eq!(
        kind(&saved.replace("\"vocab_size\":1", "\"vocab_size\":99999999999")),
        VocabErrorKind::Invalid
    );
    assert_eq!(kind(&"[".repeat(100_000)), VocabErrorKind::Format, "the version is looked for in an object");
}

const SMALL_FILE: &str = r#"{
    "added_tokens": [{"id": 7, "content": "<|endoftext|>", "special": true},
                     {"id": 1, "content": "für", "special": false},
                     {"id": 2, "content": "Ċ", "special": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "Ċ": 2, "\u0120b": 4}, "merges": ["a b", ["c", "d"]]}
}"#;

#[test]
fn tokenizer_json_with_holes_escapes_and_added_tokens() {
    let vocab = tokenizer_json::from_text(SMALL_FILE, FileOptions::default()).unwrap();
    assert_eq!(vocab.kind(), VocabKind::ByteLevel);
    assert_eq!(vocab.len(), 8);
    let bytes: Vec<&[u8]> = vocab.table().texts().map(|(_, text)| text).collect();
    let expected: [&[u8]; 8] = [b"a", "für".as_bytes(), b"\n", b"", b" b", b"", b"", b"<|endoftext|>"];
    assert_eq!(bytes, expected);
    assert_eq!(vocab.stop_token_ids(), ids([7]));
    assert_eq!(vocab.special_token_ids(), ids([3, 5, 6, 7]));
    let given = |special| FileOptions { special_token_ids: Some(special), ..FileOptions::default() };
    let none = tokenizer_json::from_text(SMALL_FILE, given(ids([]))).unwrap();
    assert_eq!(none.special_token_ids(), ids([3, 5, 6]));
    let another = tokenizer_json::from_text(SMALL_FILE, given(ids([1]))).unwrap();
    assert_eq!(another.special_token_ids(), ids([1, 3, 5, 6]));
}

#[test]
fn tokenizer_json_fits_the_logits() {
    let sized = |size| FileOptions { vocab_size: Some(size), ..FileOptions::default() };
    assert_eq!(tokenizer_json::from_text(SMALL_FILE, sized(16)).unwrap().len(), 16);
    let small = tokenizer_json::from_text(SMALL_FILE, sized(5)).unwrap();
    assert_eq!(small.len(), 5);
    assert!(small.stop_token_ids().is_empty(), "the model cannot produce that one");
}

#[test]
fn unigram_lists_have_their_ids_by_place() {
    let text = r#"{"pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "always"}, "decoder": {"type": "Metaspace"},
        "added_tokens": null, "model": {"type": "Unigram", "vocab": [["<unk>", 0], ["▁a", -1.5], ["b", -2e3]]}}"#;
    let vocab = tokenizer_json::from_text(text, FileOptions::default()).unwrap();
    assert_eq!(vocab.kind(), VocabKind::ByteFallback);
    assert!(vocab.add_prefix_space());
    assert_eq!(vocab.token_bytes(TokenId(1)), b" a");
}

#[test]
fn bad_tokenizer_files_are_refused() {
    let fails = |text: &str| tokenizer_json::from_text(text, FileOptions::default()).unwrap_err().to_string();
    assert!(fails("{").starts_with("tokenizer.json is not valid: EOF"));
    assert!(fails("{}").contains("missing field `model`"));
    assert!(fails(r#"{"model": {"vocab": {"a": -1}}}"#).contains("invalid value"));
    assert!(fails(r#"{"model": {"vocab": {"a": 18446744073709551615}}}"#).contains("exceeds the limit"));
    assert!(fails(r#"{"model": {"vocab": 3}}"#).contains("a map from names to ids"));
    assert_eq!(
        fails(r#"{"model": {"vocab": {"a": 3, "b": 3}}}"#),
        r#"id 3 belongs to two tokens, "a" and "b""#
    );
    let deep =
        format!(r#"{{"decoder": {}1{}, "model": {{"vocab": {{}}}}}}"#, "[".repeat(9999), "]".repeat(9999));
    assert!(fails(&deep).contains("recursion limit"));
}

#[test]
fn stop_tokens_come_from_the_folder() {
    let folder = std::env::temp_dir().join(format!("tokenstile-stop-tokens-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("tokenizer.json");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let stops =
        |options| tokenizer_json::from_file(&path, options).map(|vocab| vocab.stop_token_ids().to_vec());

    write("tokenizer.json", SMALL_FILE);
    assert_eq!(stops(FileOptions::default()).unwrap(), ids([7]), "by text");
    write("special_tokens_map.json", r#"{"eos_token": "a"}"#);
    assert_eq!(stops(FileOptions::default()).unwrap(), ids([0]));
    write("tokenizer_config.json", r#"{"eos_token": {"content": "für", "special": true}}"#);
    assert_eq!(stops(FileOptions::default()).unwrap(), ids([1]));
    write("generation_config.json", r#"{"eos_token_id": [4, 99, 1]}"#);
    assert_eq!(stops(FileOptions::default()).unwrap(), ids([4, 1]));
    write("generation_config.json", r#"{"eos_token_id": 7}"#);
    assert_eq!(stops(FileOptions::default()).unwrap(), ids([7, 1]));
    let given = FileOptions { stop_token_ids: Some(ids([0])), ..FileOptions::default() };
    assert_eq!(stops(given).unwrap(), ids([0]));
    write("generation_config.json", "oops");
    assert!(
        stops(FileOptions::default())
            .unwrap_err()
            .to_string()
            .contains("generation_config.json is not valid")
    );

    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(stops(FileOptions::default()).unwrap_err().kind(), VocabErrorKind::Io);
}

#[test]
fn special_tokens_come_from_the_folder_too() {
    let folder = std::env::temp_dir().join(format!("tokenstile-special-tokens-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("tokenizer.json");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let special = || {
        let vocab = tokenizer_json::from_file(&path, FileOptions::default()).unwrap();
        vocab.table().special_texts().map(|(id, _)| id.0).collect::<Vec<_>>()
    };
    write("tokenizer.json", SMALL_FILE);
    assert_eq!(special(), [7]);
    write("tokenizer_config.json", r#"{"pad_token": {"content": "a"}, "unk_token": null}"#);
    assert_eq!(special(), [0, 7]);
    write("special_tokens_map.json", r#"{"additional_special_tokens": ["für", {"content": "no such"}]}"#);
    assert_eq!(special(), [0, 1, 7]);
    write(
        "tokenizer_config.json",
        r#"{"added_tokens_decoder": {"2": {"content": "Ċ", "special": true}, "4": {"special": false}, "99": {"special": true}}}"#,
    );
    assert_eq!(special(), [1, 2, 7]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tiktoken_files() {
    let special = [("<|endoftext|>".to_owned(), 5)];
    let read = |text: &str, options| tiktoken::from_bytes(text.as_bytes(), "x.tiktoken", &special, options);
    let vocab = read("YQ== 0\r\n/w== 2\n\nIGI= 1\n", FileOptions::default()).unwrap();
    let bytes: Vec<&[u8]> = vocab.table().texts().map(|(_, text)| text).collect();
    let expected: [&[u8]; 6] = [b"a", b" b", b"\xFF", b"", b"", b"<|endoftext|>"];
    assert_eq!(bytes, expected);
    assert_eq!(vocab.stop_token_ids(), ids([5]));
    assert_eq!(vocab.special_token_ids(), ids([3, 4, 5]));
    let cut = read("YQ== 0", FileOptions { vocab_size: Some(3), ..FileOptions::default() }).unwrap();
    assert_eq!(cut.len(), 3);

    let fails = |text: &str| read(text, FileOptions::default()).unwrap_err().to_string();
    assert!(fails("YQ== 0\nYQ=").starts_with("x.tiktoken is not valid: line 2: expected a token"));
    assert!(fails("Y?== 0").contains("line 1"));
    assert!(fails("YQ== x").contains("not a number"));
    assert!(fails("YQ== 4294967295").contains("exceeds the limit"));
    assert_eq!(fails("YQ== 0\nYg== 0"), r#"id 0 belongs to two tokens, "a" and "b""#);
}
