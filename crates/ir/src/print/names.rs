//! Names that the language accepts, each given once.

use std::collections::HashSet;

/// The names in use.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Without those that `fence(…)` takes for a mode.
    pub(super) fn without_modes() -> Self {
        let modes = ["acq", "rel", "acq_rel", "seq_cst", "sc", "upd"];
        Names { taken: modes.into_iter().map(String::from).collect() }
    }

    /// The name itself, or a similar one if it is taken or no identifier.
    pub(super) fn claim(&mut self, name: &str) -> String {
        let mut valid: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if valid.is_empty() || valid.starts_with(|c: char| c.is_ascii_digit()) {
            valid.insert(0, '_');
        }
        if matches!(valid.as_str(), "true" | "false") {
            valid.push('_');
        }
        let mut unique = valid.clone();
        let mut number = 2;
        while self.taken.contains(&unique) {
            unique = format!("{valid}_{number}");
            number += 1;
        }
        self.taken.insert(unique.clone());
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_different() {
        let mut names = Names::default();
        let claimed = ["x", "x", "x_2", "", "7", "a b", "true"].map(|name| names.claim(name));
        assert_eq!(claimed, ["x", "x_2", "x_2_2", "_", "_7", "a_b", "true_"]);
    }
}
