//! Where in a structural tag something stands.

use std::fmt;

use crate::error::{Error, ErrorKind, Place};

/// A path such as `format.tags[2].content`: a list that grows at its end, on the stack, printed only in errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    above: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The path of a field of the whole.
    pub(super) fn root(key: &'p str) -> Self {
        Path { above: None, step: Step::Key(key) }
    }

    /// The path of a field.
    pub(super) fn key<'q>(&'q self, key: &'q str) -> Path<'q> {
        Path { above: Some(self), step: Step::Key(key) }
    }

    /// The path of an item of a list.
    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path { above: Some(self), step: Step::Index(index) }
    }

    /// This path as the place of an error.
    pub(super) fn place(&self) -> Place {
        Place::Path(self.to_string())
    }

    /// This path as a JSON Pointer. Fields have plain names.
    pub(super) fn pointer(&self) -> String {
        let steps = self.steps().into_iter().map(|step| match step {
            Step::Key(key) => format!("/{key}"),
            Step::Index(index) => format!("/{index}"),
        });
        steps.collect()
    }

    /// The steps from the root on.
    fn steps(&self) -> Vec<Step<'p>> {
        let mut steps = vec![self.step];
        let mut at = self.above;
        while let Some(path) = at {
            steps.push(path.step);
            at = path.above;
        }
        steps.reverse();
        steps
    }

    /// That what stands here is wrong.
    pub(super) fn invalid(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message).at(self.place())
    }

    /// An error of another front end, told as one of `what` that stands here.
    pub(super) fn within(&self, what: &str, error: &Error) -> Error {
        within(self.place(), what, error)
    }
}

/// An error of another front end, told as one of `what` that stands at a place.
pub(super) fn within(place: Place, what: &str, error: &Error) -> Error {
    let kind = if error.kind() == ErrorKind::Syntax { ErrorKind::Invalid } else { error.kind() };
    let told = match error.place() {
        _ if matches!(kind, ErrorKind::Limit | ErrorKind::Cancelled) => error.message().to_owned(),
        Place::Nowhere | Place::Path(_) => format!("{what}: {}", error.message()),
        Place::Pointer(pointer) => format!("{what}, at {pointer:?}: {}", error.message()),
        Place::Text { line, column, .. } => {
            format!("{what}, line {line}, column {column}: {}", error.message())
        }
    };
    let told = Error::new(kind, told).at(place);
    match error.help() {
        Some(help) => told.with_help(help),
        None => told,
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.steps().iter().enumerate() {
            match step {
                Step::Key(key) if place == 0 => write!(out, "{key}")?,
                Step::Key(key) => write!(out, ".{key}")?,
                Step::Index(index) => write!(out, "[{index}]")?,
            }
        }
        Ok(())
    }
}
