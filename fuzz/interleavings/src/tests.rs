//! What must hold in every interleaving.

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

use crate::config::sets::{SetId, Sets};
use crate::interner::Interner;
use crate::mask::KeptMask;
use crate::seldom::Seldom;
use crate::store::account::{Account, Share};
use crate::store::memo::Memo;

/// Runs `test` in all interleavings in which a thread is interrupted at most three times where it does not wait: what is
/// found at all is nearly always found with two, and without a bound it takes hours.
fn in_all_interleavings(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

#[test]
fn equal_values_get_one_number() {
    in_all_interleavings(|| {
        let interner = Arc::new(Interner::<u32>::new());
        let intern =
            |interner: &Interner<u32>, value: u32| interner.intern(&value, |&known| known == value, || value);
        let other = thread::spawn({
            let interner = Arc::clone(&interner);
            move || [intern(&interner, 7), intern(&interner, 8)]
        });
        let mine = [intern(&interner, 8), intern(&interner, 7)];
        let others = other.join().unwrap();
        assert_eq!(mine[0].0, others[1].0);
        assert_eq!(mine[1].0, others[0].0);
        assert_ne!(mine[0].0, mine[1].0);
        // Each was made by one of the two.
        assert!(mine[0].1 != others[1].1 && mine[1].1 != others[0].1);
        assert_eq!((*interner.get(mine[0].0), *interner.get(mine[1].0), interner.len()), (8, 7, 2));
    });
}

/// One thread links a set that it has just made, where so many steps were known before, and another reads it.
fn link_and_read(known: u8) {
    in_all_interleavings(move || {
        let sets = Arc::new(Sets::new(false));
        let from = sets.one(5);
        (0..known).for_each(|byte| sets.remember_step(from, byte, SetId::BOTTOM));
        let writer = thread::spawn({
            let sets = Arc::clone(&sets);
            move || sets.remember_step(from, b'a', sets.one(6))
        });
        if let Some(after) = sets.known_step(from, b'a') {
            assert_eq!(sets.symbol(after), 6);
        }
        writer.join().unwrap();
        assert_eq!(sets.known_step(from, b'a').map(|after| sets.symbol(after)), Some(6));
        assert_eq!(sets.known_step(from, b'b'), None);
    });
}

#[test]
fn a_set_that_is_the_first_to_be_linked_can_be_read() {
    link_and_read(0);
}

#[test]
fn a_set_that_is_linked_among_few_can_be_read() {
    link_and_read(2);
}

#[test]
fn a_set_that_is_linked_among_many_can_be_read() {
    link_and_read(4);
}

#[test]
fn what_is_left_after_popping_can_be_read() {
    in_all_interleavings(|| {
        let sets = Arc::new(Sets::new(false));
        let from = sets.one(5);
        let writer = thread::spawn({
            let sets = Arc::clone(&sets);
            move || sets.remember_after(from, sets.one(6))
        });
        if let Some(after) = sets.known_after(from) {
            assert_eq!(sets.symbol(after), 6);
        }
        writer.join().unwrap();
        assert_eq!(sets.known_after(from).map(|after| sets.symbol(after)), Some(6));
    });
}

/// A set keeps a few steps in one place, and moves to another when there are more.
#[test]
fn no_step_is_lost_when_there_are_more_than_a_few() {
    in_all_interleavings(|| {
        let sets = Arc::new(Sets::new(false));
        let from = SetId::BOTTOM;
        for byte in [0, 1] {
            sets.remember_step(from, byte, SetId(u32::from(byte)));
        }
        let remember = move |sets: &Sets, bytes: [u8; 2]| {
            for byte in bytes {
                sets.remember_step(from, byte, SetId(u32::from(byte)));
                assert_eq!(sets.known_step(from, byte), Some(SetId(u32::from(byte))));
            }
        };
        let other = thread::spawn({
            let sets = Arc::clone(&sets);
            move || remember(&sets, [2, 3])
        });
        remember(&sets, [3, 4]);
        assert_eq!(sets.known_step(from, 0), Some(SetId(0)));
        other.join().unwrap();
        for byte in 0..5 {
            assert_eq!(sets.known_step(from, byte), Some(SetId(u32::from(byte))));
        }
        assert_eq!(sets.known_step(from, 5), None);
    });
}

#[test]
fn a_mask_that_is_kept_can_be_read() {
    in_all_interleavings(|| {
        let sets = Arc::new(Sets::new(false));
        sets.remember_step(SetId::BOTTOM, 0, SetId::DEAD);
        let keep = |sets: &Sets| sets.keep_mask(SetId::BOTTOM, KeptMask::new(9)).content();
        let writer = thread::spawn({
            let sets = Arc::clone(&sets);
            move || assert_eq!(keep(&sets), 9)
        });
        assert!(sets.known_mask(SetId::BOTTOM).is_none_or(|mask| mask.content() == 9));
        assert_eq!(keep(&sets), 9);
        writer.join().unwrap();
        assert_eq!(sets.known_mask(SetId::BOTTOM).map(KeptMask::content), Some(9));
        // Both were kept, because somebody may hold either.
        assert_eq!(sets.mask_count(), 2);
    });
}

#[test]
fn a_table_that_is_seldom_needed_is_made_once() {
    #[derive(Default)]
    struct Table(u32);
    in_all_interleavings(|| {
        let table = Arc::new(Seldom::<Table>::default());
        let address = |table: &Seldom<Table>| std::ptr::from_ref::<Table>(table) as usize;
        let other = thread::spawn({
            let table = Arc::clone(&table);
            move || address(&table)
        });
        assert!(table.made().is_none_or(|made| made.0 == 0));
        let mine = address(&table);
        assert_eq!(mine, other.join().unwrap());
        assert!(table.made().is_some());
    });
}

#[test]
fn a_memo_gives_the_value_of_the_key() {
    in_all_interleavings(|| {
        let memo = Arc::new(Memo::<u32, u32>::default());
        let get = |memo: &Memo<u32, u32>, key: u32| **memo.get_or_make(key, || Arc::new(key + 100));
        let other = thread::spawn({
            let memo = Arc::clone(&memo);
            move || [get(&memo, 1), get(&memo, 2)]
        });
        assert_eq!([get(&memo, 2), get(&memo, 1)], [102, 101]);
        assert_eq!(other.join().unwrap(), [101, 102]);
        // Whoever asks later makes nothing.
        assert_eq!(**memo.get_or_make(1, || unreachable!("it is known")), 101);
    });
}

#[test]
fn an_account_is_never_below_zero_nor_above_what_is_held() {
    in_all_interleavings(|| {
        let account = Arc::new(Account { used: AtomicUsize::new(0), limit: AtomicUsize::new(100) });
        let share = Arc::new(Share::default());
        let grow = |account: &Account, share: &Share, sizes: [usize; 2]| {
            for bytes in sizes {
                share.grow_to(bytes, account);
                assert!(!account.is_over(), "{} of 100", account.used());
            }
        };
        let other = thread::spawn({
            let (account, share) = (Arc::clone(&account), Arc::clone(&share));
            move || grow(&account, &share, [30, 60])
        });
        grow(&account, &share, [50, 40]);
        other.join().unwrap();
        assert_eq!((account.used(), share.bytes()), (60, 60));
        let mut share = Arc::try_unwrap(share).unwrap_or_else(|_| unreachable!("the other thread has ended"));
        share.leave(&account);
        assert_eq!(account.used(), 0);
    });
}
