//! Dates and times of RFC 3339.
//!
//! Days are those of the Gregorian calendar, also in years before it: whether a year is a leap year is seen from its
//! last two digits, or from its first two where those are `00`.
//!
//! A leap second is the sixtieth of 23:59 in UTC. With an offset the hands of the clock stand elsewhere, and whether
//! they stand right depends on hour, minute and offset together. That is one alternative for each pair of a local time
//! and an offset. There would be 2,880 of them; those with offsets of whole hours are listed, which are nearly all that
//! people use. East of Greenwich it is then the next day already, which matters to a date before the time: a leap second
//! comes at the end of June or of December.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

const DAY_OF_ANY_YEAR: &str = "[0-9]{4}-(?:\
    (?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|\
    (?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|\
    02-(?:0[1-9]|1[0-9]|2[0-8]))";
const LEAP_DAY: &str = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29";
const TIME: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?\
    (?:[Zz]|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
const FRACTION: &str = "(?:\\.[0-9]+)?";

pub(super) fn date(texts: &mut Texts<'_>) -> Result<ExprId> {
    texts.pattern(&format!("{DAY_OF_ANY_YEAR}|{LEAP_DAY}"))
}

pub(super) fn time(texts: &mut Texts<'_>) -> Result<ExprId> {
    let times = [texts.pattern(TIME)?, leap_second_on_the_day(texts)?, leap_second_on_the_next_day(texts)?];
    Ok(texts.alt(times))
}

pub(super) fn date_time(texts: &mut Texts<'_>) -> Result<ExprId> {
    let any_day = date(texts)?;
    let t = texts.pattern("[Tt]")?;
    let time = texts.pattern(TIME)?;
    let plain = texts.seq([any_day, t, time]);
    let last_day = texts.pattern("[0-9]{4}-(?:06-30|12-31)[Tt]")?;
    let leap = leap_second_on_the_day(texts)?;
    let on_the_day = texts.seq([last_day, leap]);
    let first_day = texts.pattern("[0-9]{4}-(?:07-01|01-01)[Tt]")?;
    let leap = leap_second_on_the_next_day(texts)?;
    let on_the_next_day = texts.seq([first_day, leap]);
    Ok(texts.alt([plain, on_the_day, on_the_next_day]))
}

/// The leap second where the local day is that of UTC: at Greenwich and west of it.
fn leap_second_on_the_day(texts: &mut Texts<'_>) -> Result<ExprId> {
    let fraction = texts.pattern(FRACTION)?;
    let mut ways = vec![texts.pattern(&format!("23:59:60{FRACTION}(?:[Zz]|\\+00:00)"))?];
    ways.extend((0..24).map(|hour| leap_second(texts, hour, fraction, '-', 23 - hour)));
    Ok(texts.alt(ways))
}

/// The leap second where the local day is the one after that of UTC: east of Greenwich.
fn leap_second_on_the_next_day(texts: &mut Texts<'_>) -> Result<ExprId> {
    let fraction = texts.pattern(FRACTION)?;
    let ways: Vec<ExprId> = (0..23).map(|hour| leap_second(texts, hour, fraction, '+', hour + 1)).collect();
    Ok(texts.alt(ways))
}

fn leap_second(texts: &mut Texts<'_>, hour: u32, fraction: ExprId, sign: char, offset: u32) -> ExprId {
    let clock = texts.literal(&format!("{hour:02}:59:60"));
    let offset = texts.literal(&format!("{sign}{offset:02}:00"));
    texts.seq([clock, fraction, offset])
}
