//! The analyses: what is asked of a program on a memory.

pub mod product;
pub mod reduce;
pub mod replay;
