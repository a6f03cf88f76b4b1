//! What can be known of a program before it runs: live registers, possible values, future accesses.

pub mod access;
pub mod liveness;
pub mod values;
