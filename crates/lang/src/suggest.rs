//! "Did you mean": the known name that is closest to an unknown one.

/// The candidate nearest to `wrong`, if one is near enough to be worth mentioning.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long names are not typing errors, and distances cost the product of the lengths.
    const LONGEST: usize = 40;
    const MOST: usize = 1000;
    if wrong.len() > LONGEST {
        return None;
    }
    let allowed = (wrong.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|name| name.len().abs_diff(wrong.len()) <= allowed && *name != wrong)
        .take(MOST)
        .map(|name| (distance(wrong, name), name))
        .filter(|(distance, name)| *distance <= allowed && *distance < name.len().max(2))
        .min_by_key(|(distance, name)| (*distance, alphabet(wrong, name)))
        .map(|(_, name)| name)
}

/// How far apart in the alphabet the first letters are: among `a`, `x` and `y`, `z` is most like `y`.
fn alphabet(a: &str, b: &str) -> u8 {
    let first = |name: &str| name.bytes().next().unwrap_or(0);
    first(a).abs_diff(first(b))
}

/// How many letters must be inserted, removed, changed or swapped with their neighbour; a change of
/// case is free.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<u8> = a.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    let b: Vec<u8> = b.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found_and_far_ones_are_not() {
        let names = ["counter", "flag", "x"];
        assert_eq!(nearest("conuter", names), Some("counter"));
        assert_eq!(nearest("flags", names), Some("flag"));
        assert_eq!(nearest("y", names), Some("x"));
        assert_eq!(nearest("z", ["a", "x", "y"]), Some("y"));
        assert_eq!(nearest("banana", names), None);
        assert_eq!(nearest("cas", ["CAS"]), Some("CAS"));
    }
}
