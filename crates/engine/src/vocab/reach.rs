//! How far a token reaches.
//!
//! A mask can look no further than its longest token. And it counts no further: of a byte that every turn of a repeat has,
//! such as the quote of an item, no token has many. So bounds on how often something may come need not be told from none
//! until they are very near (see `terminal::saturate`).

/// The longest token, and how often tokens have each byte.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// The bytes of the longest token.
    pub(crate) longest: u32,
    most: [u32; 256],
}

impl Reach {
    /// How far some tokens reach.
    pub(super) fn of<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let (mut longest, mut most, mut counts) = (0, [0; 256], [0; 256]);
        for token in tokens {
            longest = longest.max(token.len() as u32);
            for &byte in token {
                let count: &mut u32 = &mut counts[usize::from(byte)];
                *count += 1;
                let most = &mut most[usize::from(byte)];
                *most = (*most).max(*count);
            }
            token.iter().for_each(|&byte| counts[usize::from(byte)] = 0);
        }
        Reach { longest, most }
    }

    /// Any tokens of at most so many bytes.
    pub(crate) const fn of_any(longest: u32) -> Self {
        Reach { longest, most: [longest; 256] }
    }

    /// How often a token has `byte`, at most.
    pub(crate) fn most(&self, byte: u8) -> u32 {
        self.most[usize::from(byte)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_bytes_of_each_token_by_itself() {
        let reach = Reach::of([&b"\"a\",\""[..], b"aaaa", b"", b"\"\""].into_iter());
        assert_eq!(reach.longest, 5);
        assert_eq!([b'"', b'a', b',', b'x'].map(|byte| reach.most(byte)), [3, 4, 1, 0]);
    }
}
