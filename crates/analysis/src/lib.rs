//! What can be known of a program before it runs: live registers, possible values, future accesses,
//! opaque values, counters, tallies, upper bounds, automorphisms.

pub mod access;
pub mod bounds;
pub mod counters;
pub mod liveness;
pub mod loaded;
pub mod symmetry;
pub mod tally;
pub mod types;
pub mod values;
