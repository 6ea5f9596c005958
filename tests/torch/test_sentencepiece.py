"""A real SentencePiece model behind a tokenizer of transformers: the bytes of its tokens are those of the texts."""

import pytest

import tokenstile as xgr

sentencepiece = pytest.importorskip("sentencepiece")
backend = pytest.importorskip("transformers.tokenization_utils_sentencepiece")

END = "</s>"
TEXTS = [
    "Hello wörld",
    "日本語 text",
    "🙂 emoji\n\tx",
    "é, é and \x01",
    '{"name": "Ann", "age": 42}',
    "  two  spaces ",
]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentencepiece")
    words = "the quick brown fox jumps over a lazy dog while Ann and Bob write JSON objects with names and numbers"
    sentences = folder / "sentences.txt"
    sentences.write_text("\n".join(f"{words} {number}" for number in range(300)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(sentences),
        model_prefix=str(folder / "tokenizer"),
        model_type="bpe",
        vocab_size=400,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    return folder / "tokenizer.model"


def test_bytes_of_tokens_are_those_of_texts(model_file):
    tokenizer = backend.SentencePieceBackend(vocab_file=str(model_file), eos_token=END)
    info = xgr.TokenizerInfo.from_huggingface(tokenizer)
    model = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
    assert info.vocab_type == xgr.VocabType.BYTE_FALLBACK
    assert info.vocab_size == model.vocab_size() == 400
    assert info.add_prefix_space
    for text in TEXTS:
        read = b"".join(info.decoded_vocab[token] for token in model.encode(text))
        assert read.removeprefix(b" ") == text.encode(), text


def test_masks_follow_the_model(model_file):
    tokenizer = backend.SentencePieceBackend(vocab_file=str(model_file), eos_token=END)
    info = xgr.TokenizerInfo.from_huggingface(tokenizer)
    model = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
    grammar = 'root ::= " "? "{" [^"]* "\\"name\\": \\"" [^"]* "\\"" [^"]* "\\"age\\": " [0-9]+ "}"'
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar(grammar))
    bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)
    for token in model.encode(TEXTS[4]):
        matcher.fill_next_token_bitmask(bitmask)
        assert xgr.testing.bitmask_to_bool_mask(bitmask, info.vocab_size)[0][token]
        assert matcher.accept_token(token)
    assert matcher.is_completed()
