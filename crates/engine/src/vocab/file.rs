//! Reading a file into memory, up to a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::VocabError;

/// The largest file that is read: several times the largest `tokenizer.json` in use.
const MAX_FILE_BYTES: u64 = 1 << 29;

/// The bytes of the file at `path`. The limit holds for what is read, not for what the file claims to be.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, VocabError> {
    let fail = |source| VocabError::Io { path: path.display().to_string(), source };
    let file = File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(VocabError::FileTooLarge { path: path.display().to_string(), limit: MAX_FILE_BYTES });
    }
    Ok(bytes)
}

/// The same, `None` where there is no such file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, VocabError> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(VocabError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
