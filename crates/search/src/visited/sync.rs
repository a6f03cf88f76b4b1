//! Atomics and locks: the standard library's, or those of [loom](https://docs.rs/loom) when it tries
//! all interleavings of the visited set (`--cfg loom`, see `CONTRIBUTING.md`).

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
#[cfg(loom)]
pub use loom::sync::{Mutex, RwLock, RwLockReadGuard};
#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
#[cfg(not(loom))]
pub(super) use std::sync::{Mutex, RwLock, RwLockReadGuard};
