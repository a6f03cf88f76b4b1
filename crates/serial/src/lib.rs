//! Was this run atomic?

pub mod event;
pub mod execution;
pub mod graph;
mod hash;
pub mod random;
pub mod read;
pub mod trace;
pub mod witness;
pub mod write;
