//! A grammar and a vocabulary in, exact token masks out.

pub mod oracle;
pub mod vocab;
