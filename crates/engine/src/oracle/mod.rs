//! Oracle.
