//! Which of the texts of a value are written.

use crate::ir::Escapes;

/// Which of the texts of a value are written.
///
/// A schema is a set of values, and JSON has many texts for one value. In either spelling every value of the schema has a
/// text, a few aside that [`Report`](super::Report) names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spelling {
    /// Those that programs write: Python's `json.dumps` and `repr`, JavaScript's `JSON.stringify`, and pretty printers.
    Canonical,
    /// All that JSON has.
    #[default]
    Any,
}

impl Spelling {
    /// Both by name.
    const NAMES: [(&'static str, Spelling); 2] = [("canonical", Spelling::Canonical), ("any", Spelling::Any)];

    /// The spelling of a name.
    pub fn find(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, spelling)| spelling)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The escapes of keys and of strings that the schema lists.
    pub(super) fn key_escapes(self) -> Escapes {
        match self {
            Spelling::Canonical => Escapes::Least,
            Spelling::Any => Escapes::Any,
        }
    }

    /// The escapes of other strings.
    pub(super) fn text_escapes(self) -> Escapes {
        match self {
            Spelling::Canonical => Escapes::Canonical,
            Spelling::Any => Escapes::Any,
        }
    }
}
