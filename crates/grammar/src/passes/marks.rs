//! A set of small numbers that is emptied at no cost, for walks that are made again and again.

/// Numbers below some bound, each in the set or not.
pub(super) struct Marks {
    /// The round in which each number was last put in.
    rounds: Vec<u32>,
    round: u32,
}

impl Marks {
    /// No number in it, with room for those below `count`.
    pub(super) fn new(count: usize) -> Self {
        Marks { rounds: vec![0; count], round: 1 }
    }

    /// Takes all numbers out, and makes room for those below `count`.
    pub(super) fn clear(&mut self, count: usize) {
        if self.rounds.len() < count {
            self.rounds.resize(count, 0);
        }
        if self.round == u32::MAX {
            self.rounds.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    /// Puts a number in. Whether it was not there.
    pub(super) fn insert(&mut self, at: usize) -> bool {
        std::mem::replace(&mut self.rounds[at], self.round) != self.round
    }

    /// Whether a number is in it.
    pub(super) fn contains(&self, at: usize) -> bool {
        self.rounds[at] == self.round
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn is_empty_after_it_was_cleared() {
        let mut marks = Marks::new(2);
        assert!(marks.insert(1) && !marks.insert(1) && marks.contains(1) && !marks.contains(0));
        marks.clear(4);
        assert!(!marks.contains(1) && marks.insert(3));
        marks.round = u32::MAX;
        marks.clear(4);
        assert!(!marks.contains(3) && marks.insert(3));
    }
}
