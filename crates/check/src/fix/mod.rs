//! Repairs of minimum weight, found from violations.
//!
//! The optimiser knows no memory model. Its caller names the *points* that can be changed and the cost of
//! each, and answers one question: *with these points changed, what is still wrong?* Each
//! violation comes as the set of points any of which would have prevented it. The optimiser chooses a
//! cheapest set that hits all violations seen so far ([`hitting`]), asks again, and stops when nothing
//! is wrong any more. Since every choice is the cheapest that deals with a *part* of the violations, the
//! first one that deals with all of them is the cheapest of all (an *implicit hitting set*).
//!
//! At the end each point is left out in turn and the question asked once more: a repair is irreducible
//! because that was checked, not because it should follow.

pub mod fences;
pub mod hitting;
pub mod orders;

use budget::Budget;
use hitting::Points;

/// What is still wrong with some points changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remaining<U> {
    /// Nothing.
    Fine,
    /// These violations; each is given by the points that would prevent it.
    Wrong(Vec<Vec<usize>>),
    /// Unknown, because of this.
    Undecided(U),
}

/// Knows what is wrong.
pub trait Violations {
    /// Why it may not know.
    type Undecided;

    /// What is still wrong when these points are changed?
    fn remaining(&mut self, chosen: &[usize]) -> Remaining<Self::Undecided>;

    /// What looking for a cheapest repair may use up.
    fn budget(&self) -> Budget {
        Budget::UNLIMITED
    }

    /// How many partial choices may be looked at for the cheapest, each time.
    fn patience(&self) -> u64 {
        PATIENCE
    }
}

/// A repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// The points to change, in ascending order.
    pub points: Vec<usize>,
    /// Is it certain that there is no cheaper repair?
    pub minimum: bool,
    /// How often the optimiser asked what is still wrong.
    pub rounds: u32,
}

/// Why there is no repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure<U> {
    /// A violation that no point prevents.
    Hopeless,
    /// A question that had no answer.
    Undecided(U),
}

/// How many partial choices the hitting-set solver may look at in each round.
const PATIENCE: u64 = 2_000_000;

/// A cheapest repair.
pub fn repair<V: Violations>(
    violations: &mut V,
    of: Points<'_>,
) -> Result<Repair, Failure<V::Undecided>> {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    let mut minimum = true;
    let mut rounds = 0;
    loop {
        rounds += 1;
        match violations.remaining(&chosen) {
            Remaining::Undecided(why) => return Err(Failure::Undecided(why)),
            Remaining::Fine => break,
            Remaining::Wrong(more) => {
                // A violation that a chosen point claims to prevent would never go away.
                let news = more.into_iter().filter(|set| !set.iter().any(|p| chosen.contains(p)));
                let before = sets.len();
                sets.extend(news);
                if sets.len() == before {
                    return Err(Failure::Hopeless);
                }
            }
        }
        let choice = hitting::choose_within(&sets, of, violations.patience(), violations.budget())
            .ok_or(Failure::Hopeless)?;
        // A set may say no more than that what was chosen is wrong, and that all that is cheaper was.
        minimum &= choice.minimum;
        chosen = choice.points;
    }
    // Irreducible unless a limit stopped the solver; the check costs little either way.
    let mut k = 0;
    while k < chosen.len() {
        let left_out = chosen[k];
        let mut fewer = chosen.clone();
        // Without a point, those that require it cannot stay.
        fewer.retain(|&point| {
            let requires = of.requires.get(point).is_some_and(|all| all.contains(&left_out));
            point != left_out && !requires
        });
        rounds += 1;
        match violations.remaining(&fewer) {
            Remaining::Fine => chosen = fewer,
            Remaining::Wrong(_) => k += 1,
            Remaining::Undecided(why) => return Err(Failure::Undecided(why)),
        }
    }
    Ok(Repair { points: chosen, minimum, rounds })
}
