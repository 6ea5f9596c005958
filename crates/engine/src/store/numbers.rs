//! Numbers by numbers, for as many as there may be: a table that grows page by page.
//!
//! A hash table is copied as a whole when it is full, which takes tens of milliseconds where it has millions of entries.

/// The numbers of a page.
const PAGE: usize = 1024;

/// A number for each of some numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Each number plus one; 0 is unknown.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl Numbers {
    /// The number of `key`, if it has one.
    pub(crate) fn get(&self, key: u32) -> Option<u32> {
        let page = self.pages.get(key as usize / PAGE)?.as_ref()?;
        page[key as usize % PAGE].checked_sub(1)
    }

    /// Gives `key` a number, which is less than `u32::MAX`.
    pub(crate) fn set(&mut self, key: u32, number: u32) {
        let at = key as usize / PAGE;
        if at >= self.pages.len() {
            self.pages.resize_with(at + 1, || None);
        }
        self.pages[at].get_or_insert_with(|| Box::new([0; PAGE]))[key as usize % PAGE] = number + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_set() {
        let mut numbers = Numbers::default();
        for key in [0, 7, 1023, 1024, 5_000_000] {
            assert_eq!(numbers.get(key), None);
            numbers.set(key, key / 2);
            assert_eq!(numbers.get(key), Some(key / 2));
        }
        assert_eq!((numbers.get(8), numbers.get(u32::MAX)), (None, None));
    }
}
