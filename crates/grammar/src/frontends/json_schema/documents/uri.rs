//! References resolved against a base, as RFC 3986 says (section 5.2).
//!
//! Addresses of schemas are names here: nothing is ever fetched. They are therefore read leniently, by their
//! delimiters alone. Real schemas have spaces and braces in an `$id`, which the parsers on the registry refuse.

use std::borrow::Cow;

/// The base of a document that says nothing about its address. Relative addresses given by the caller are resolved
/// against it too, and so meet the relative references of such a document.
pub(super) const DEFAULT_BASE: &str = "schema:///";

/// An address in its parts, without a fragment.
#[derive(Clone, Copy)]
struct Parts<'uri> {
    scheme: Option<&'uri str>,
    authority: Option<&'uri str>,
    path: &'uri str,
    query: Option<&'uri str>,
}

/// Parts an address from its fragment.
pub(super) fn split_fragment(uri: &str) -> (&str, Option<&str>) {
    match uri.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (uri, None),
    }
}

/// `reference` seen from `base`, neither of which has a fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() && base == DEFAULT_BASE {
        // Most schemas say nothing about their address.
        return DEFAULT_BASE.to_owned();
    }
    let base = split(base);
    let reference = split(reference);
    let target = if reference.scheme.is_some() {
        return join(reference, &without_dots(reference.path));
    } else if reference.authority.is_some() {
        Parts { scheme: base.scheme, ..reference }
    } else {
        let query = if reference.path.is_empty() { reference.query.or(base.query) } else { reference.query };
        Parts { query, ..base }
    };
    let path = if reference.authority.is_some() || reference.path.starts_with('/') {
        Cow::Borrowed(reference.path)
    } else if reference.path.is_empty() {
        Cow::Borrowed(base.path)
    } else {
        Cow::Owned(merge(base, reference.path))
    };
    join(target, &without_dots(&path))
}

/// An address as the user should see it.
pub(super) fn shown(uri: &str) -> &str {
    uri.strip_prefix(DEFAULT_BASE).unwrap_or(uri)
}

fn split(uri: &str) -> Parts<'_> {
    let (scheme, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, uri),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let Some(rest) = rest.strip_prefix("//") else {
        return Parts { scheme, authority: None, path: rest, query };
    };
    let end = rest.find('/').unwrap_or(rest.len());
    Parts { scheme, authority: Some(&rest[..end]), path: &rest[end..], query }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Writes an address; scheme and authority, in which case means nothing, in small letters.
fn join(parts: Parts<'_>, path: &str) -> String {
    let mut uri = String::new();
    if let Some(scheme) = parts.scheme {
        uri.push_str(&scheme.to_ascii_lowercase());
        uri.push(':');
    }
    if let Some(authority) = parts.authority {
        uri.push_str("//");
        uri.push_str(&authority.to_ascii_lowercase());
    }
    uri.push_str(path);
    if let Some(query) = parts.query {
        uri.push('?');
        uri.push_str(query);
    }
    uri
}

/// `path` in place of what follows the last slash of the base.
fn merge(base: Parts<'_>, path: &str) -> String {
    if base.authority.is_some() && base.path.is_empty() {
        return format!("/{path}");
    }
    let folder = base.path.rfind('/').map_or("", |slash| &base.path[..=slash]);
    format!("{folder}{path}")
}

/// `path` without its `.` and `..`.
fn without_dots(path: &str) -> Cow<'_, str> {
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Cow::Borrowed(path);
    }
    let (root, relative) = path.strip_prefix('/').map_or(("", path), |relative| ("/", relative));
    let mut kept: Vec<&str> = Vec::new();
    for segment in relative.split('/') {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    // A path that ends in a dot segment is a folder.
    let is_folder = path.ends_with("/.") || path.ends_with("/..") || matches!(path, "." | "..");
    if is_folder && !kept.is_empty() {
        kept.push("");
    }
    Cow::Owned(format!("{root}{}", kept.join("/")))
}
