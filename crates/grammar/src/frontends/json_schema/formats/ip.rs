//! Addresses of IPv4 and IPv6.
//!
//! An IPv6 address is eight groups of four hexadecimal digits, the last two of which may be written as IPv4, and `::`
//! stands once for groups of zeros. How many groups may follow it depends on how many came before, so the expression is
//! one level for each group that was read, each level inside of the one before: it is as long as an address, and hardly
//! anything of it is possible at the same time.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

const IPV4: &str =
    "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}";

/// How many groups an address has.
const GROUPS: u32 = 8;
/// How many groups an IPv4 address stands for.
const GROUPS_OF_IPV4: u32 = 2;

pub(super) fn ipv4(texts: &mut Texts<'_>) -> Result<ExprId> {
    texts.pattern(IPV4)
}

pub(super) fn ipv6(texts: &mut Texts<'_>) -> Result<ExprId> {
    ipv6_shortened_to(texts, GROUPS - 1)
}

/// IPv6 addresses that have at most `most` groups beside their `::`.
pub(super) fn ipv6_shortened_to(texts: &mut Texts<'_>, most: u32) -> Result<ExprId> {
    let ipv4 = ipv4(texts)?;
    let group = texts.pattern("[0-9A-Fa-f]{1,4}")?;
    let colon = texts.literal(":");
    let group_colon = texts.seq([group, colon]);
    // What may follow `::` when `left` more groups may be written.
    let after_gap = |texts: &mut Texts<'_>, left: u32| {
        let mut ways = vec![texts.literal("")];
        if let Some(more) = left.checked_sub(1) {
            let groups = texts.up_to(group_colon, more);
            ways.push(texts.seq([groups, group]));
        }
        if let Some(more) = left.checked_sub(GROUPS_OF_IPV4) {
            let groups = texts.up_to(group_colon, more);
            ways.push(texts.seq([groups, ipv4]));
        }
        texts.alt(ways)
    };
    // What may follow after `read` groups, from the last to the first.
    let mut rest = texts.literal("");
    for read in (1..GROUPS).rev() {
        let mut ways = vec![texts.seq([group, rest])];
        if read + GROUPS_OF_IPV4 == GROUPS {
            ways.push(ipv4);
        }
        if let Some(left) = most.checked_sub(read) {
            let after = after_gap(texts, left);
            ways.push(texts.seq([colon, after]));
        }
        let next = texts.alt(ways);
        rest = texts.seq([colon, next]);
    }
    let whole = texts.seq([group, rest]);
    let gap = texts.literal("::");
    let after = after_gap(texts, most);
    let gap_first = texts.seq([gap, after]);
    Ok(texts.alt([whole, gap_first]))
}
