//! For tests that `cargo test` runs and `fencepost check-tests` proves.
//!
//! Tests need nothing of this crate to be checked: `std` is understood as it is. What `std` lacks is a way to say "any of
//! these": [`any_bool`] and [`any_below`] give one value at random where a test is run, and every value, one execution
//! for each, where it is checked. [`thread`] is `std::thread`, for tests that swap it for another tool's:
//!
//! ```toml
//! [dev-dependencies]
//! fencepost = { package = "fencepost-testing", version = "0.1" }
//! ```
//!
//! ```
//! # extern crate fencepost_testing as fencepost;
//! use fencepost::thread;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! static SUM: AtomicUsize = AtomicUsize::new(0);
//!
//! # #[allow(dead_code)]
//! // #[test]
//! fn every_number_is_added() {
//!     let number = fencepost::any_below(10);
//!     let other = thread::spawn(move || SUM.fetch_add(number, Ordering::Relaxed));
//!     other.join().unwrap();
//!     assert_eq!(SUM.load(Ordering::Relaxed), number);
//! }
//! # every_number_is_added();
//! ```
//!
//! Fencepost knows the functions by their paths (`vm::library::rust`), and never executes what is in them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::num::NonZero;

/// `std::thread`, under a name that a test can take from this crate or from another.
///
/// Nothing is replaced: where a test is checked, `std`'s own threads are what Fencepost understands.
pub mod thread {
    pub use std::thread::*;
}

/// True or false: either where a test is run, both where it is checked.
#[inline(never)]
pub fn any_bool() -> bool {
    random() & 1 == 1
}

/// A number below `limit`: one of them where a test is run, all of them where it is checked.
///
/// # Panics
///
/// If `limit` is 0, as there is no such number.
#[inline(never)]
pub fn any_below(limit: usize) -> usize {
    let limit = NonZero::new(limit).expect("there is no number below 0");
    (random() % limit.get() as u64) as usize
}

/// Is the test checked, and not run? Where it is checked, fewer rounds are as good as many.
#[inline(never)]
pub fn is_checked() -> bool {
    false
}

/// Every `RandomState` has keys of its own.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a choice that is always the same, or out of its range. Forty answers are equal once in 10^11 runs.
    #[test]
    fn choices_differ_and_stay_in_their_range() {
        let bools: Vec<bool> = (0..40).map(|_| any_bool()).collect();
        assert!(bools.contains(&true) && bools.contains(&false), "{bools:?}");
        let numbers: Vec<usize> = (0..40).map(|_| any_below(3)).collect();
        assert!(numbers.iter().all(|&number| number < 3), "{numbers:?}");
        assert!(numbers.iter().any(|&number| number != numbers[0]), "{numbers:?}");
        assert_eq!(any_below(1), 0);
    }

    #[test]
    #[should_panic(expected = "there is no number below 0")]
    fn nothing_is_below_zero() {
        any_below(0);
    }

    #[test]
    fn threads_are_those_of_std() {
        let seven: std::thread::JoinHandle<u8> = thread::spawn(|| 7);
        assert_eq!(seven.join().expect("it ends"), 7);
        assert!(!is_checked());
    }
}
