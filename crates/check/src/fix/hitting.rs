//! Minimum-weight hitting sets.
//!
//! Given sets of points, choose points so that every set contains one, as cheaply as possible. A point may
//! require others, which are then chosen, too: an access cannot be `seq_cst` without being `acquire`. The
//! problem is NP-hard and our instances are small: branch on the points of a set that is not hit yet,
//! smallest set first, and cut where disjoint unhit sets show that the best known choice cannot be
//! beaten. Supersets of other sets are dropped beforehand: a choice that hits the smaller set hits both.

use budget::{Budget, Ticker};

/// What was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The points, in ascending order.
    pub points: Vec<usize>,
    /// Is it certain that there is no cheaper choice?
    pub minimum: bool,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// What each point costs.
    pub weights: &'a [u64],
    /// The points that each point requires, those that these require among them. Points beyond its end
    /// require none.
    pub requires: &'a [Vec<usize>],
}

impl Points<'_> {
    /// The points that are chosen with `point`.
    fn with(&self, point: usize) -> impl Iterator<Item = usize> {
        let required = self.requires.get(point).map_or(&[][..], Vec::as_slice);
        required.iter().copied().chain([point])
    }
}

/// Chooses points of minimum weight, giving up on the minimum after looking at `patience` partial
/// choices. `None` if some set is empty.
///
/// ```
/// let choice = fencepost_check::fix::hitting::choose(&[vec![0, 1], vec![1, 2], vec![3]], &[1, 1, 1, 1], 1000);
/// assert_eq!(choice.unwrap().points, [1, 3]);
/// ```
pub fn choose(sets: &[Vec<usize>], weights: &[u64], patience: u64) -> Option<Choice> {
    choose_within(sets, Points { weights, requires: &[] }, patience, Budget::UNLIMITED)
}

/// The same, giving up on the minimum when the budget is spent, too.
pub fn choose_within(
    sets: &[Vec<usize>],
    of: Points<'_>,
    patience: u64,
    budget: Budget,
) -> Option<Choice> {
    let weights = of.weights;
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
    let greedy = greedy(&kept, of);
    let mut solver = Solver {
        sets: &kept,
        of,
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

/// The point that hits most for its weight, and what it requires, again and again.
fn greedy(sets: &[Vec<usize>], of: Points<'_>) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    loop {
        let weights: Vec<u64> = (0..of.weights.len())
            .map(|point| {
                let new = of.with(point).filter(|with| !chosen.contains(with));
                new.map(|with| of.weights[with]).sum()
            })
            .collect();
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
            Some(best) => {
                let new: Vec<usize> = of.with(best).filter(|with| !chosen.contains(with)).collect();
                chosen.extend(new);
            }
            None => return chosen,
        }
    }
}

struct Solver<'s> {
    sets: &'s [Vec<usize>],
    of: Points<'s>,
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
        let mut used = vec![false; self.of.weights.len()];
        for set in self.sets.iter().filter(open) {
            if next.is_none_or(|other| usable(set) < usable(other)) {
                next = Some(set);
            }
            if !set.iter().any(|&point| used[point]) {
                let cheapest =
                    set.iter().filter(|&&p| !self.refused[p]).map(|&p| self.of.weights[p]).min();
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
            let new: Vec<usize> =
                self.of.with(point).filter(|with| !self.chosen.contains(with)).collect();
            // A choice with a point that an earlier branch has tried was looked at there.
            if !new.iter().any(|&with| self.refused[with]) {
                let before = self.chosen.len();
                let more: u64 = new.iter().map(|&with| self.of.weights[with]).sum();
                self.chosen.extend(new);
                self.branch(weight + more);
                self.chosen.truncate(before);
            }
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

    /// Every subset that has what its points require, tried in turn.
    fn brute_force(sets: &[Vec<usize>], weights: &[u64], requires: &[Vec<usize>]) -> u64 {
        let closed = |mask: &u32| {
            let has = |point: usize| mask >> point & 1 == 1;
            (0..weights.len()).all(|point| !has(point) || requires[point].iter().all(|&p| has(p)))
        };
        (0u32..1 << weights.len())
            .filter(closed)
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
            // A point requires some of those before it, and what these require.
            let mut requires: Vec<Vec<usize>> = Vec::new();
            for point in 0..points {
                let direct = (0..point).filter(|_| random.one_in(4));
                let direct: Vec<usize> = direct.collect();
                let mut all: Vec<usize> =
                    direct.iter().flat_map(|&p| requires[p].iter().copied().chain([p])).collect();
                all.sort_unstable();
                all.dedup();
                requires.push(all);
            }
            let of = Points { weights: &weights, requires: &requires };
            let choice =
                choose_within(&sets, of, u64::MAX, Budget::UNLIMITED).expect("no set is empty");
            assert!(
                choice.points.iter().all(|&p| {
                    requires[p].iter().all(|required| choice.points.contains(required))
                })
            );
            let weight: u64 = choice.points.iter().map(|&point| weights[point]).sum();
            assert!(choice.minimum);
            assert!(sets.iter().all(|set| set.iter().any(|point| choice.points.contains(point))));
            let least = brute_force(&sets, &weights, &requires);
            assert_eq!(weight, least, "{sets:?} {weights:?} {requires:?}");
        }
    }

    #[test]
    fn an_empty_set_cannot_be_hit() {
        assert_eq!(choose(&[vec![0], vec![]], &[1], 10), None);
    }
}
