//! What can be known of a program before it runs: live registers, possible values, future accesses,
//! opaque values, counters, loop_counters, upper bounds, automorphisms, cycles of control flow.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod access;
pub mod bounds;
pub mod counters;
pub mod cycles;
pub mod last_load;
pub mod liveness;
pub mod loop_counter;
pub mod opaque_values;
pub mod symmetry;
pub mod values;
