//! What the targets of coverage-guided fuzzing have in common.
//!
//! A target takes bytes, makes what a stranger would send of them, and gives it to the library. A finding is a panic, a
//! report of AddressSanitizer, a property that does not hold, or a call that takes more time or memory than it may. What
//! must hold is in the modules:
//!
//! 1. [`account`]: the processor time of each call, and by how much it makes the process grow.
//! 2. [`dice`]: choices that the input makes.
//! 3. [`front_end`]: a text is refused with an error, or it is a grammar that prints, reads back and has the same masks.
//! 4. [`vocabulary`]: a small vocabulary with all bytes, and a real one.
//! 5. [`walk`]: a mask has the bits of the tokens that are accepted, refused tokens change nothing, and so on.
//! 6. [`recursive`]: small recursive grammars.

pub mod account;
pub mod dice;
pub mod front_end;
pub mod recursive;
pub mod vocabulary;
pub mod walk;
