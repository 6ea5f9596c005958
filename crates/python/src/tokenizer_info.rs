//! `TokenizerInfo`: a vocabulary, as Python sees it.
//!
//! The class of the same name in `tokenstile/tokenizer_info.py` wraps this one and does what needs no speed: it reads
//! tokenizer objects of other libraries and fills in defaults. Here are only conversions.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};
use tokenstile_engine::vocab::detect;
use tokenstile_engine::vocab::tokenizer_json::{self, FileOptions};
use tokenstile_engine::vocab::{
    MAX_TOKENS, TokenId, Vocab, VocabError, VocabErrorKind, VocabKind, VocabOptions, saved::SAVED_VERSION,
    tiktoken,
};

use crate::arguments;
use crate::detached::detached;
use crate::errors;

/// A vocabulary with what goes with it.
#[pyclass(frozen, name = "TokenizerInfo", module = "tokenstile._core")]
pub(crate) struct TokenizerInfo {
    /// The vocabulary.
    pub(crate) vocab: Arc<Vocab>,
}

/// The name of a token: text or bytes, borrowed from the Python object.
enum Name {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl AsRef<[u8]> for Name {
    fn as_ref(&self) -> &[u8] {
        match self {
            Name::Text(text) => text.as_bytes(),
            Name::Bytes(bytes) => bytes,
        }
    }
}

#[pymethods]
impl TokenizerInfo {
    /// The version that saved vocabularies carry.
    #[classattr]
    const SAVED_VERSION: &'static str = SAVED_VERSION;

    /// The most ids that a vocabulary can have.
    #[classattr]
    const MAX_TOKENS: usize = MAX_TOKENS;

    #[new]
    #[pyo3(signature = (encoded_vocab, vocab_type, vocab_size, stop_token_ids, add_prefix_space, added_token_ids=None, special_token_ids=None))]
    fn new(
        encoded_vocab: &Bound<'_, PyAny>,
        vocab_type: u64,
        vocab_size: Option<usize>,
        stop_token_ids: Option<Vec<u32>>,
        add_prefix_space: bool,
        added_token_ids: Option<HashSet<u32>>,
        special_token_ids: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let py = encoded_vocab.py();
        let kind = VocabKind::from_number(vocab_type).map_err(|error| to_python(py, error))?;
        let options = VocabOptions {
            kind,
            vocab_size,
            stop_token_ids: to_ids(stop_token_ids),
            special_token_ids: to_ids(special_token_ids).unwrap_or_default(),
            add_prefix_space,
        };
        let names = names_of(encoded_vocab)?;
        let added = added_token_ids.unwrap_or_default();
        Self::wrap(py, Vocab::from_encoded_and_added(names, |id| added.contains(&id.0), options))
    }

    #[staticmethod]
    fn from_vocab_and_metadata(
        encoded_vocab: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::metadata)] metadata: &str,
    ) -> PyResult<Self> {
        let py = encoded_vocab.py();
        let options = Vocab::options_from_metadata_json(metadata).map_err(|error| to_python(py, error))?;
        Self::wrap(py, Vocab::from_encoded(names_of(encoded_vocab)?, options))
    }

    #[staticmethod]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        vocab_size: Option<usize>,
        stop_token_ids: Option<Vec<u32>>,
        special_token_ids: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let options = file_options(vocab_size, stop_token_ids, special_token_ids);
        Self::wrap(py, detached(py, move || tokenizer_json::from_file(&path, options))?)
    }

    #[staticmethod]
    fn from_tokenizer_json(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::text)] text: &str,
        vocab_size: Option<usize>,
        stop_token_ids: Option<Vec<u32>>,
        special_token_ids: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let options = file_options(vocab_size, stop_token_ids, special_token_ids);
        Self::wrap(py, detached(py, || tokenizer_json::from_text(text, options))?)
    }

    #[staticmethod]
    fn from_tiktoken_file(
        py: Python<'_>,
        path: PathBuf,
        special_tokens: Vec<(String, u32)>,
        vocab_size: Option<usize>,
        stop_token_ids: Option<Vec<u32>>,
        special_token_ids: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let options = file_options(vocab_size, stop_token_ids, special_token_ids);
        Self::wrap(py, detached(py, move || tiktoken::from_file(&path, &special_tokens, options))?)
    }

    #[staticmethod]
    fn deserialize_json(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::text)] text: &str,
    ) -> PyResult<Self> {
        Self::wrap(py, detached(py, || Vocab::from_saved_json(text))?)
    }

    /// The kind's number and the prefix space that the steps of a `tokenizer.json` tell.
    #[staticmethod]
    fn detect_metadata(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::text)] text: &str,
    ) -> PyResult<(u8, bool)> {
        let found = tokenizer_json::metadata_from_text(text).map_err(|error| to_python(py, error))?;
        Ok((found.kind.as_number(), found.add_prefix_space))
    }

    /// The kind's number that names show, where they show one.
    #[staticmethod]
    fn detect_vocab_type(names: &Bound<'_, PyAny>) -> PyResult<Option<u8>> {
        let names = names_of(names)?;
        // A name that is not text is spelled in no alphabet; it counts, as a name of neither spelling.
        let texts = names.iter().map(|name| std::str::from_utf8(name.as_ref()).unwrap_or("\u{fffd}"));
        Ok(detect::kind_of_names(texts).map(VocabKind::as_number))
    }

    fn serialize_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.vocab.to_saved_json())
    }

    fn dump_metadata(&self) -> String {
        self.vocab.metadata_json()
    }

    #[getter]
    fn vocab_type(&self) -> u8 {
        self.vocab.kind().as_number()
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.vocab.len()
    }

    #[getter]
    fn add_prefix_space(&self) -> bool {
        self.vocab.add_prefix_space()
    }

    #[getter]
    fn decoded_vocab<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.vocab.table().texts().map(|(_, text)| PyBytes::new(py, text)))
    }

    /// The text of one token; `None` for an id outside of the vocabulary.
    fn token_bytes<'py>(&self, py: Python<'py>, token_id: u32) -> Option<Bound<'py, PyBytes>> {
        let id = TokenId(token_id);
        (id.index() < self.vocab.len()).then(|| PyBytes::new(py, self.vocab.token_text(id)))
    }

    #[getter]
    fn stop_token_ids(&self) -> Vec<u32> {
        self.vocab.stop_token_ids().iter().map(|id| id.0).collect()
    }

    #[getter]
    fn special_token_ids(&self) -> Vec<u32> {
        self.vocab.special_token_ids().iter().map(|id| id.0).collect()
    }

    #[getter]
    fn max_token_bytes(&self) -> usize {
        self.vocab.max_token_bytes()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.vocab.fingerprint().to_string()
    }

    /// Whether both use one table of bytes, which equal contents do.
    fn shares_table_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.vocab.table(), other.vocab.table())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.vocab == other.vocab
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.vocab.hash(&mut hasher);
        hasher.finish()
    }
}

impl TokenizerInfo {
    fn wrap(py: Python<'_>, vocab: Result<Arc<Vocab>, VocabError>) -> PyResult<Self> {
        vocab.map(|vocab| TokenizerInfo { vocab }).map_err(|error| to_python(py, error))
    }
}

fn file_options(
    vocab_size: Option<usize>,
    stop_token_ids: Option<Vec<u32>>,
    special_token_ids: Option<Vec<u32>>,
) -> FileOptions {
    let (stop_token_ids, special_token_ids) = (to_ids(stop_token_ids), to_ids(special_token_ids));
    FileOptions { vocab_size, stop_token_ids, special_token_ids }
}

fn to_ids(numbers: Option<Vec<u32>>) -> Option<Vec<TokenId>> {
    numbers.map(|numbers| numbers.into_iter().map(TokenId).collect())
}

fn names_of(names: &Bound<'_, PyAny>) -> PyResult<Vec<Name>> {
    let mut found = Vec::with_capacity(names.len().unwrap_or(0));
    for name in names.try_iter()? {
        let name = name?;
        found.push(if let Ok(text) = name.cast::<PyString>() {
            Name::Text(text.clone().try_into()?)
        } else if let Ok(bytes) = name.cast::<PyBytes>() {
            Name::Bytes(bytes.clone().into())
        } else {
            let message = format!("token {} is {}, not str or bytes", found.len(), errors::type_name(&name));
            return Err(errors::argument(name.py(), message));
        });
    }
    Ok(found)
}

fn to_python(py: Python<'_>, error: VocabError) -> PyErr {
    let message = error.to_string();
    let class = match error.kind() {
        VocabErrorKind::InvalidJson => "InvalidJSONError",
        VocabErrorKind::Format => "DeserializeFormatError",
        VocabErrorKind::Version => "DeserializeVersionError",
        VocabErrorKind::Invalid | VocabErrorKind::Io => "TokenizerError",
    };
    match error {
        // Python has classes of its own for files that are not there or not to be read.
        VocabError::Io { source, .. } => std::io::Error::new(source.kind(), message).into(),
        _ => errors::raise(py, class, message),
    }
}
