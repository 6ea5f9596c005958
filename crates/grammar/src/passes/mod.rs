//! Passes from the intermediate form to the machine.
