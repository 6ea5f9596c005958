//! Durations, by the grammar in appendix A of RFC 3339: units are in order and none is skipped, so `P1Y2D` is not one.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

const DAYS: &str = "[0-9]+(?:D|M(?:[0-9]+D)?|Y(?:[0-9]+M(?:[0-9]+D)?)?)";
const TIME: &str = "T[0-9]+(?:S|M(?:[0-9]+S)?|H(?:[0-9]+M(?:[0-9]+S)?)?)";

pub(super) fn duration(texts: &mut Texts<'_>) -> Result<ExprId> {
    texts.pattern(&format!("P(?:{DAYS}(?:{TIME})?|{TIME}|[0-9]+W)"))
}
