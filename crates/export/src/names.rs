//! Identifiers for C, and for Promela, of which Spin makes a C program.
//!
//! Spin turns every name into a C identifier in a file full of its own macros and of the headers'
//! (`linux` is the number 1 there), and a C program shares its names with the C library, so a list of
//! words to avoid would never be complete. Instead every name gets a prefix that says what it stands
//! for and that nothing else begins with.

use std::collections::HashSet;

/// Longer names are cut: Spin's buffers are not unlimited.
const LONGEST: usize = 48;

/// The identifiers in use.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// An identifier made of `prefix` and `name` that was not given before.
    pub(crate) fn claim(&mut self, prefix: &str, name: &str) -> String {
        let valid = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        let base: String = prefix.chars().chain(valid.take(LONGEST)).collect();
        let mut unique = base.clone();
        let mut number = 2;
        while !self.taken.insert(unique.clone()) {
            unique = format!("{base}_{number}");
            number += 1;
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches keywords, macros, clashes after cleaning, and names that C would cut.
    #[test]
    fn identifiers_are_valid_and_different() {
        let mut names = Names::default();
        let claimed = ["x", "x", "x_2", "", "do", "a b", "ü"].map(|name| names.claim("loc_", name));
        assert_eq!(
            claimed,
            ["loc_x", "loc_x_2", "loc_x_2_2", "loc_", "loc_do", "loc_a_b", "loc__"]
        );
        let long = "y".repeat(5000);
        assert_eq!(names.claim("loc_", &long).len(), 4 + LONGEST);
        assert_eq!(names.claim("loc_", &long).len(), 4 + LONGEST + 2);
    }
}
