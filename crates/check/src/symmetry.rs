//! Automorphisms (to come).

/// Symmetry of a program.
pub struct Symmetry;

impl Symmetry {
    /// None.
    pub fn none() -> Self {
        Symmetry
    }
}
