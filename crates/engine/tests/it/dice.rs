//! Random numbers from a seed.

/// A small generator of random numbers, so that a failure can be run again from its seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// A generator; equal seeds give equal numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// A number below `bound`, or 0 where that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % (bound.max(1) as u64)) as usize
    }
}
