//! Numbers of one to sixteen bytes, and what an atomic access does to them.

use clocks::access::Done;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A number that can be accessed atomically.
pub trait Word: Copy + PartialEq {
    /// How many bytes.
    const SIZE: u8;
    /// # Safety
    /// `at` must be valid and aligned; so below.
    unsafe fn load(at: *mut Self) -> Self;
    /// Stores `new`. Whoever does the next atomic access passes a full barrier before it, see [`crate::atomic::access`].
    unsafe fn store(at: *mut Self, new: Self);
    /// Stores `new` if `old` is there. Code that is not instrumented may have changed it.
    unsafe fn replace(at: *mut Self, old: Self, new: Self) -> bool;
    /// As the analysis sees it.
    fn bits(self) -> u64;
}

macro_rules! word {
    ($type:ty, $atomic:ty) => {
        impl Word for $type {
            const SIZE: u8 = size_of::<$type>() as u8;
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.load(Ordering::SeqCst)
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, new: Self) {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.store(new, Ordering::Release)
            }
            #[inline(always)]
            unsafe fn replace(at: *mut Self, old: Self, new: Self) -> bool {
                // SAFETY: the caller's promise.
                let word = unsafe { <$atomic>::from_ptr(at) };
                word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self)
            }
        }
    };
}

word!(u8, AtomicU8);
word!(u16, AtomicU16);
word!(u32, AtomicU32);
word!(u64, AtomicU64);

impl Word for u128 {
    const SIZE: u8 = 16;
    unsafe fn load(at: *mut Self) -> Self {
        // SAFETY: the caller's promise; so below.
        unsafe { exchange_16(at, 0, 0) }
    }
    unsafe fn store(at: *mut Self, new: Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut old = Self::load(at);
            while !Self::replace(at, old, new) {
                old = Self::load(at);
            }
        }
    }
    unsafe fn replace(at: *mut Self, old: Self, new: Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { exchange_16(at, old, new) == old }
    }
    fn bits(self) -> u64 {
        self as u64 ^ ((self >> 64) as u64).rotate_left(32)
    }
}

/// Stores `new` if `old` is there, and returns what was there.
unsafe fn exchange_16(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: the caller's promise. The compiler keeps rbx for itself.
    unsafe {
        std::arch::asm!(
            "xchg {new_low}, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, {new_low}",
            new_low = inout(reg) new as u64 => _,
            in("rcx") (new >> 64) as u64,
            in("rdi") at,
            inlateout("rax") low,
            inlateout("rdx") high,
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

/// Does to memory what an access is to do: what it found, and what it did.
/// # Safety
/// `at` must be valid and aligned.
pub unsafe fn apply<T: Word>(at: *mut T, effect: impl Fn(T) -> Effect<T>) -> (T, Done) {
    // SAFETY: the caller's promise.
    unsafe {
        loop {
            let found = T::load(at);
            match effect(found) {
                Effect::Keep => return (found, Done::Read),
                Effect::Store(new) => {
                    T::store(at, new);
                    return (found, Done::Store(new.bits()));
                }
                Effect::Update(new) if T::replace(at, found, new) => {
                    return (found, Done::Update(new.bits()));
                }
                Effect::Update(_) => {}
            }
        }
    }
}

/// What an access does to the value it finds.
pub enum Effect<T> {
    /// Nothing.
    Keep,
    /// A store.
    Store(T),
    /// A read-modify-write.
    Update(T),
}
