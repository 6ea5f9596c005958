//! Choices that the input makes: bytes one after the other, and zeros once there are none left.

/// The bytes that choices are made of.
#[derive(Clone, Copy, Debug)]
pub struct Dice<'input>(pub &'input [u8]);

impl Dice<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `bound`, of one byte or as many as it needs.
    pub fn below(&mut self, bound: usize) -> usize {
        let (mut number, mut most) = (0, 1);
        while most < bound {
            number = number << 8 | usize::from(self.byte());
            most <<= 8;
        }
        number % bound.max(1)
    }

    /// One of some values.
    pub fn one_of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

/// Numbers that look random, for what is tried beside what the input says.
#[derive(Clone, Copy, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below `bound`: xorshift, which is as good as it has to be here.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}
