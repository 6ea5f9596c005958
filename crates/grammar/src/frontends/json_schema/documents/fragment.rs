//! Fragments of references: percent signs, and the tokens of JSON Pointers.

use std::borrow::Cow;

/// Resolves `%xx`; a percent sign before anything but two hexadecimal digits is itself. `None` if what comes out is no
/// UTF-8.
pub(super) fn decode(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let bytes = fragment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if let (b'%', Some(byte)) = (bytes[at], hex_pair(bytes, at + 1)) {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex_pair(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    Some((digit(at)? * 16 + digit(at + 1)?) as u8)
}

/// A token of a JSON Pointer with `~0` and `~1` resolved; `None` where a tilde stands before anything else.
pub(super) fn unescape(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let mut parts = token.split('~');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push(match part.as_bytes().first() {
            Some(b'0') => '~',
            Some(b'1') => '/',
            _ => return None,
        });
        plain.push_str(&part[1..]);
    }
    Some(Cow::Owned(plain))
}

/// Writes a token of a JSON Pointer, after its slash.
pub(super) fn push_token(token: &str, pointer: &mut String) {
    pointer.push('/');
    if !token.bytes().any(|byte| byte == b'~' || byte == b'/') {
        pointer.push_str(token);
        return;
    }
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// The array index that a token is: digits without leading noughts.
pub(super) fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit());
    let leading = token.len() > 1 && token.starts_with('0');
    if plain && !leading { token.parse().ok() } else { None }
}
