//! Minimum-weight hitting sets.
//!
//! Given sets of points, choose points so that every set contains one, as cheaply as possible. The
//! problem is NP-hard and our instances are small: branch on the points of a set that is not hit yet,
//! smallest set first, and cut where disjoint unhit sets show that the best known choice cannot be
//! beaten. Supersets of other sets are dropped beforehand, for whoever hits the smaller set hits both.

use budget::{Budget, Ticker};

/// What was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The points, in ascending order.
    pub points: Vec<usize>,
    /// Is it certain that there is no cheaper choice?
    pub minimum: bool,
}

/// Chooses points of minimum weight, giving up on the minimum after looking at `patience` partial
/// choices. `None` if some set is empty.
///
/// ```
/// let choice = fencepost_check::fix::hitting::choose(&[vec![0, 1], vec![1, 2], vec![3]], &[1, 1, 1, 1], 1000);
/// assert_eq!(choice.unwrap().points, [1, 3]);
/// ```
pub fn choose(sets: &[Vec<usize>], weights: &[u64], patience: u64) -> Option<Choice> {
    choose_within(sets, weights, patience, Budget::UNLIMITED)
}

/// The same, giving up on the minimum when the budget is spent, too.
pub fn choose_within(
    sets: &[Vec<usize>],
    weights: &[u64],
    patience: u64,
    budget: Budget,
) -> Option<Choice> {
    let mut sets: Vec<Vec<usize>> = sets.to_vec();
    for set in &mut sets {
        set.sort_unstable();
        set.dedup();
        if set.is_empty() {
            return None;
        }
    }
    sets.sort_by_key(Vec::len);
    let mut kept: Vec<Vec<usize>> = Vec::new();
    for set in sets {
        if !kept.iter().any(|small| small.iter().all(|point| set.binary_search(point).is_ok())) {
            kept.push(set);
        }
    }
    let greedy = greedy(&kept, weights);
    let mut solver = Solver {
        sets: &kept,
        weights,
        best_weight: greedy.iter().map(|&point| weights[point]).sum(),
        best: greedy,
        chosen: Vec::new(),
        refused: vec![false; weights.len()],
        patience,
        ticker: budget.ticker(),
    };
    solver.branch(0);
    let mut points = solver.best;
    points.sort_unstable();
    Some(Choice { points, minimum: solver.patience > 0 })
}

/// The point that hits most for its weight, again and again.
fn greedy(sets: &[Vec<usize>], weights: &[u64]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    loop {
        let unhit: Vec<_> =
            sets.iter().filter(|set| !set.iter().any(|point| chosen.contains(point))).collect();
        if unhit.is_empty() {
            return chosen;
        }
        let mut hits = vec![0u64; weights.len()];
        for point in unhit.iter().flat_map(|set| set.iter()) {
            hits[*point] += 1;
        }
        // Largest hits / weight, compared without division.
        let best = (0..weights.len()).filter(|&point| hits[point] > 0).max_by(|&a, &b| {
            (hits[a] * weights[b].max(1)).cmp(&(hits[b] * weights[a].max(1))).then(b.cmp(&a))
        });
        match best {
            Some(best) => chosen.push(best),
            None => return chosen,
        }
    }
}

struct Solver<'s> {
    sets: &'s [Vec<usize>],
    weights: &'s [u64],
    best: Vec<usize>,
    best_weight: u64,
    chosen: Vec<usize>,
    /// Points that an earlier branch has tried: this one does without.
    refused: Vec<bool>,
    patience: u64,
    ticker: Ticker,
}

impl Solver<'_> {
    fn branch(&mut self, weight: u64) {
        if self.ticker.tick().is_some() {
            self.patience = 0;
        }
        if self.patience == 0 {
            return;
        }
        self.patience -= 1;
        let open = |set: &&Vec<usize>| !set.iter().any(|point| self.chosen.contains(point));
        let usable = |set: &Vec<usize>| set.iter().filter(|&&point| !self.refused[point]).count();
        let mut next: Option<&Vec<usize>> = None;
        // Unhit sets without a common point each cost at least their cheapest point.
        let mut bound = weight;
        let mut used = vec![false; self.weights.len()];
        for set in self.sets.iter().filter(open) {
            if next.is_none_or(|other| usable(set) < usable(other)) {
                next = Some(set);
            }
            if !set.iter().any(|&point| used[point]) {
                let cheapest =
                    set.iter().filter(|&&p| !self.refused[p]).map(|&p| self.weights[p]).min();
                let Some(cheapest) = cheapest else { return };
                bound += cheapest;
                set.iter().for_each(|&point| used[point] = true);
            }
        }
        let Some(set) = next else {
            if weight < self.best_weight {
                self.best_weight = weight;
                self.best = self.chosen.clone();
            }
            return;
        };
        if bound >= self.best_weight {
            return;
        }
        let points: Vec<usize> = set.iter().copied().filter(|&p| !self.refused[p]).collect();
        for &point in &points {
            self.chosen.push(point);
            self.branch(weight + self.weights[point]);
            self.chosen.pop();
            self.refused[point] = true;
        }
        for point in points {
            self.refused[point] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::random::Generator;

    /// Every subset, tried in turn.
    fn brute_force(sets: &[Vec<usize>], weights: &[u64]) -> u64 {
        (0u32..1 << weights.len())
            .filter(|mask| sets.iter().all(|set| set.iter().any(|point| mask >> point & 1 == 1)))
            .map(|mask| (0..weights.len()).filter(|p| mask >> p & 1 == 1).map(|p| weights[p]).sum())
            .min()
            .unwrap_or(0)
    }

    #[test]
    fn random_instances_are_solved_as_brute_force_does() {
        let mut random = Generator { state: 1 };
        for _ in 0..500 {
            let points = 1 + random.below(10);
            let weights: Vec<u64> = (0..points).map(|_| 1 + random.below(4) as u64).collect();
            let sets: Vec<Vec<usize>> = (0..random.below(12))
                .map(|_| (0..1 + random.below(4)).map(|_| random.below(points)).collect())
                .collect();
            let choice = choose(&sets, &weights, u64::MAX).expect("no set is empty");
            let weight: u64 = choice.points.iter().map(|&point| weights[point]).sum();
            assert!(choice.minimum);
            assert!(sets.iter().all(|set| set.iter().any(|point| choice.points.contains(point))));
            assert_eq!(weight, brute_force(&sets, &weights), "{sets:?} {weights:?}");
        }
    }

    #[test]
    fn an_empty_set_cannot_be_hit() {
        assert_eq!(choose(&[vec![0], vec![]], &[1], 10), None);
    }
}
