//! The special tokens of a vocabulary by their texts, for markers.

use std::ops::Range;

/// Special tokens by their texts.
#[derive(Clone, Debug, Default)]
pub struct Special {
    /// The texts, sorted, each once and none empty, with the ids of all tokens that have it.
    texts: Vec<(Box<str>, Vec<u32>)>,
}

impl Special {
    /// No special tokens.
    pub fn none() -> Self {
        Special::default()
    }

    /// Those with these texts. What is no text has no name.
    pub fn new<'t>(tokens: impl IntoIterator<Item = (&'t [u8], u32)>) -> Self {
        let text = |(bytes, id): (&'t [u8], u32)| Some((std::str::from_utf8(bytes).ok()?, id));
        let mut tokens: Vec<(&str, u32)> =
            tokens.into_iter().filter_map(text).filter(|(text, _)| !text.is_empty()).collect();
        tokens.sort_unstable();
        let mut texts: Vec<(Box<str>, Vec<u32>)> = Vec::new();
        for (text, id) in tokens {
            match texts.last_mut().filter(|(last, _)| **last == *text) {
                Some((_, ids)) => ids.push(id),
                None => texts.push((text.into(), vec![id])),
            }
        }
        Special { texts }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The first place of `text`, from `at` on, where it goes on with the text of a special token or ends within one.
    pub(super) fn first_start(&self, text: &str, at: usize) -> Option<usize> {
        let places = text[at..].char_indices().map(|(offset, _)| at + offset);
        let mut places = places.filter(|_| !self.is_empty());
        places.find(|&at| {
            let here = &text[at..];
            self.within(here).next().is_some() || !self.beyond_range(here).is_empty()
        })
    }

    /// The special tokens whose text `text` begins with: how long it is, and their ids.
    pub(super) fn within<'s>(&'s self, text: &'s str) -> impl Iterator<Item = (usize, &'s [u32])> {
        let mut range = 0..self.texts.len();
        text.char_indices()
            .map_while(move |(at, c)| {
                let end = at + c.len_utf8();
                range = self.narrowed(range.clone(), &text[..end]);
                if range.is_empty() {
                    return None;
                }
                // The text itself sorts before all that go on from it.
                let (first, ids) = &self.texts[range.start];
                Some(if first.len() == end { Some((end, &**ids)) } else { None })
            })
            .flatten()
    }

    /// The special tokens whose text begins with `text` and is longer.
    pub(super) fn beyond(&self, text: &str) -> impl Iterator<Item = (&str, &[u32])> {
        self.texts[self.beyond_range(text)].iter().map(|(whole, ids)| (&**whole, &**ids))
    }

    fn beyond_range(&self, text: &str) -> Range<usize> {
        let mut range = self.narrowed(0..self.texts.len(), text);
        if self.texts.get(range.start).is_some_and(|(first, _)| **first == *text) && !range.is_empty() {
            range.start += 1;
        }
        range
    }

    /// The texts of a range that begin with `beginning`.
    fn narrowed(&self, range: Range<usize>, beginning: &str) -> Range<usize> {
        let texts = &self.texts[range.clone()];
        let first = texts.partition_point(|(text, _)| **text < *beginning);
        let count = texts[first..].partition_point(|(text, _)| text.starts_with(beginning));
        range.start + first..range.start + first + count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn special() -> Special {
        let texts = ["<|a|>", "<|ab|>", "<|a|>", "x", "<|a|><|b|>", "", "é"];
        Special::new(texts.iter().map(|text| text.as_bytes()).zip(0..))
    }

    #[test]
    fn finds_what_a_text_begins_with() {
        let special = special();
        let within = |text| special.within(text).map(|(at, ids)| (at, ids.to_vec())).collect::<Vec<_>>();
        assert_eq!(within("<|a|>!"), [(5, vec![0, 2])]);
        assert_eq!(within("<|a|><|b|>"), [(5, vec![0, 2]), (10, vec![4])]);
        assert_eq!(within("é"), [(2, vec![6])]);
        assert_eq!(within("<|a|"), []);
        assert_eq!(within(""), []);
        let beyond = |text| special.beyond(text).map(|(whole, _)| whole.to_owned()).collect::<Vec<_>>();
        assert_eq!(beyond("<|a"), ["<|ab|>", "<|a|>", "<|a|><|b|>"]);
        assert_eq!(beyond("<|a|>"), ["<|a|><|b|>"]);
        assert_eq!(beyond("b"), [""; 0]);
    }

    #[test]
    fn finds_where_one_may_begin() {
        let special = special();
        assert_eq!(special.first_start("abc<|ab|>", 0), Some(3));
        assert_eq!(special.first_start("abc<|", 0), Some(3));
        assert_eq!(special.first_start("<|b|>", 0), None);
        assert_eq!(special.first_start("<|b|>x", 0), Some(5));
        assert_eq!(special.first_start("xéx", 1), Some(1));
        assert_eq!(Special::none().first_start("x", 0), None);
    }

    #[test]
    fn bytes_that_are_no_text_have_no_name() {
        assert!(Special::new([(&b"\xFF"[..], 0)]).is_empty());
    }
}
