//! Facts about programs, found from their text before any search.
//!
//! Each module finds one kind of fact and says at its top what it promises: live registers, possible values, future
//! accesses, opaque values, counters, loop counters, upper bounds, automorphisms, steps on cycles. Memories and reductions
//! rest on these promises; none of the modules knows a memory or a search.

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
