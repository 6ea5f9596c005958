//! Mail addresses: RFC 5321, and RFC 6531 for other languages.
//!
//! RFC 5321 bounds the local part by 64 bytes and the whole by 254. In ASCII both are bounded texts, one within the other.
//!
//! Other languages count in bytes as well. So their characters are bounded by the most bytes that one of them takes, and
//! domains by 189, which is what is left of the whole in any case.

use super::hostname::{self, Openings, Shape};
use super::texts::Texts;
use super::{idn_hostname, ip};
use crate::error::Result;
use crate::ir::ExprId;

/// Characters of an atom, as the inside of a class.
const ATOM: &str = "A-Za-z0-9!#$%&'*+/=?\\^_`{|}~\\-";
/// Characters between quotes that need no backslash.
const QUOTED: &str = " !#-\\[\\]-~";
const NOT_ASCII: &str = "\u{80}-\u{10ffff}";

const LONGEST_LOCAL_PART: u32 = 64;
const LONGEST_ADDRESS: u32 = 254;
/// Domains of ASCII that leave room for the longest local part and the `@`.
const DOMAIN: Shape = Shape { first: 41, others: 20 };
/// Three labels of 61 characters do, too.
const LABELS_OF_DOMAIN: u32 = 3;
/// By RFC 5321, `::` in an address stands for two groups at least.
const GROUPS_BESIDE_GAP: u32 = 6;

pub(super) fn email(texts: &mut Texts<'_>) -> Result<ExprId> {
    let local = texts.automaton(&local_part(""))?;
    let local = texts.at_most(local, LONGEST_LOCAL_PART);
    let domain = hostname::domains(texts, &Openings::NoPunycode)?;
    let address = address(texts, local, domain)?;
    Ok(texts.at_most(address, LONGEST_ADDRESS))
}

pub(super) fn idn_email(texts: &mut Texts<'_>) -> Result<ExprId> {
    let short = "[\\x00-\\x7f]{1,64}|[\\x00-\\u07ff]{1,32}|[\\x00-\\uffff]{1,21}|[\\x00-\\u{10ffff}]{1,16}";
    let local = texts.both(&local_part(NOT_ASCII), short)?;
    let ascii = hostname::names_of_shape(texts, &DOMAIN, &Openings::NoTag)?;
    let others = idn_hostname::names_of_short_labels(texts, LABELS_OF_DOMAIN)?;
    let domain = texts.alt([ascii, others]);
    address(texts, local, domain)
}

/// Atoms with dots between them, or a quoted string.
fn local_part(others: &str) -> String {
    let atom = format!("[{ATOM}{others}]+");
    format!("{atom}(?:\\.{atom})*|\"(?:[{QUOTED}{others}]|\\\\[ -~])*\"")
}

fn address(texts: &mut Texts<'_>, local: ExprId, domain: ExprId) -> Result<ExprId> {
    let at = texts.literal("@");
    let [open, close] = ["[", "]"].map(|bracket| texts.literal(bracket));
    let ipv4 = ip::ipv4(texts)?;
    let tag = texts.literal("IPv6:");
    let ipv6 = ip::ipv6_shortened_to(texts, GROUPS_BESIDE_GAP)?;
    let ipv6 = texts.seq([tag, ipv6]);
    let number = texts.alt([ipv4, ipv6]);
    let literal = texts.seq([open, number, close]);
    let host = texts.alt([domain, literal]);
    Ok(texts.seq([local, at, host]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_domain_leaves_room() {
        assert!(DOMAIN.longest() + 1 + LONGEST_LOCAL_PART <= LONGEST_ADDRESS);
    }
}
