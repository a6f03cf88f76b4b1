//! What can be known of a program before it runs: live registers, possible values, future accesses,
//! opaque values, automorphisms.

pub mod access;
pub mod liveness;
pub mod symmetry;
pub mod types;
pub mod values;
