//! Sets of bytes, or of letters that stand for characters: a bit for each.

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const NONE: Self = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: Self = ByteSet([u64::MAX; 4]);

    /// Whether `byte` is in the set.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte) / 64] >> (byte % 64) & 1 == 1
    }

    /// Adds the bytes of another set.
    pub fn add_all(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }

    /// Adds a byte.
    pub fn add(&mut self, byte: u8) {
        self.0[usize::from(byte) / 64] |= 1 << (byte % 64);
    }

    /// Adds the bytes of `low..=high`.
    pub fn add_range(&mut self, low: u8, high: u8) {
        for (at, word) in (0..).zip(&mut self.0) {
            let (first, last) = (at * 64, at * 64 + 63);
            if u16::from(low) <= last && u16::from(high) >= first {
                let from = u16::from(low).max(first) - first;
                let until = u16::from(high).min(last) - first;
                *word |= u64::MAX << from & u64::MAX >> (63 - until);
            }
        }
    }

    /// Whether every byte of `other` is in it.
    pub fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(word, other)| other & !word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_its_bytes() {
        for (low, high) in [(0, 0), (0, 255), (5, 9), (63, 64), (60, 200), (128, 191), (255, 255), (9, 5)] {
            let mut set = ByteSet::NONE;
            set.add_range(low, high);
            for byte in 0..=255 {
                assert_eq!(set.contains(byte), (low..=high).contains(&byte), "{byte} in {low}..={high}");
            }
        }
    }

    #[test]
    fn a_set_has_all_of_a_smaller_one() {
        let [mut few, mut many] = [ByteSet::NONE; 2];
        few.add_range(70, 80);
        many.add_range(60, 80);
        assert!(many.contains_all(&few) && !few.contains_all(&many) && ByteSet::ALL.contains_all(&many));
    }
}
