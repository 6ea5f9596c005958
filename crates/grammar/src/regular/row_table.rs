//! Rows of ways on, numbered: equal rows of one colour have one number.
//!
//! Two states are equivalent if they have the same colour and lead to the same classes by the same bytes. So a class is a
//! row, and this is the table of them.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// The bytes from the first to the second lead to something that has a number.
pub(super) type Way = (u8, u8, u32);

/// Adds a way, joined to the last one if it goes on from there.
pub(super) fn add_way(ways: &mut Vec<Way>, (low, high, to): Way) {
    match ways.last_mut() {
        Some(last) if last.2 == to && last.1.checked_add(1) == Some(low) => last.1 = high,
        _ => ways.push((low, high, to)),
    }
}

/// Rows by number and by what they are.
#[derive(Default)]
pub(super) struct RowTable {
    heads: Vec<Head>,
    ways: Vec<Way>,
    table: HashTable<u32>,
}

#[derive(Clone, Copy)]
struct Head {
    colour: u32,
    first: u32,
    end: u32,
}

impl RowTable {
    /// No rows yet, with room for so many.
    pub(super) fn with_capacity(rows: usize) -> Self {
        RowTable {
            heads: Vec::with_capacity(rows),
            ways: Vec::with_capacity(rows),
            table: HashTable::with_capacity(rows),
        }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.ways.clear();
        self.table.clear();
    }

    /// The colour of a row.
    pub(super) fn colour(&self, row: u32) -> u32 {
        self.heads[row as usize].colour
    }

    /// The ways of a row.
    pub(super) fn ways(&self, row: u32) -> &[Way] {
        ways_of(&self.ways, self.heads[row as usize])
    }

    /// The number of a row, which may be new.
    pub(super) fn intern(&mut self, colour: u32, row: &[Way]) -> u32 {
        let is_same = |&number: &u32| colour == self.colour(number) && *row == *self.ways(number);
        match self.table.find(hash_of(colour, row), is_same) {
            Some(&number) => number,
            None => self.add(colour, row),
        }
    }

    /// Adds a row that is not there.
    pub(super) fn add(&mut self, colour: u32, row: &[Way]) -> u32 {
        let number = self.heads.len() as u32;
        let first = self.ways.len() as u32;
        self.ways.extend_from_slice(row);
        self.heads.push(Head { colour, first, end: self.ways.len() as u32 });
        let (heads, ways) = (&self.heads, &self.ways);
        let hash_again = |&number: &u32| {
            let head = heads[number as usize];
            hash_of(head.colour, ways_of(ways, head))
        };
        self.table.insert_unique(hash_of(colour, row), number, hash_again);
        number
    }
}

fn ways_of(ways: &[Way], Head { first, end, .. }: Head) -> &[Way] {
    &ways[first as usize..end as usize]
}

fn hash_of(colour: u32, row: &[Way]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(colour);
    for &(low, high, to) in row {
        hasher.write_u64(u64::from(low) << 40 | u64::from(high) << 32 | u64::from(to));
    }
    hasher.finish()
}
