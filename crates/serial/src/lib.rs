//! Was this run atomic?

pub mod event;
pub mod execution;
pub mod graph;
pub mod random;
pub mod read;
pub mod trace;
pub mod witness;
pub mod write;
