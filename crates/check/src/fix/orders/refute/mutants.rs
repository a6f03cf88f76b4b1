//! Tests of what refutes assignments, by mutants of it.
//!
//! The search for the cheapest assignment rests on two kinds of facts: sets of points of which every correct assignment has
//! one, and executions that refute an assignment without a search. If a fact claims too much, a cheaper assignment is missed
//! although the answer claims to be a minimum. Only trying all assignments one by one can tell, which `assignments` does (the
//! oracle of `tests/orders_oracle.rs`, too). If a fact claims too little, the answer is the same and takes more searches. Both
//! are tested by mutants that stand between [`Asked`] and the optimiser and change the facts.

use super::*;
use crate as check;
use crate::fix::orders::search::Choices;
use crate::fix::orders::{Allowed, Costs, Effort};
use crate::fix::{Failure, repair};
use assignments::{assignments, cost, least, program, sites_of};
use ir::random::Generator;

#[path = "../../../../tests/assignments/mod.rs"]
mod assignments;

/// What is made wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    /// Nothing.
    None,
    /// Of several sets that are found at once, all but one are dropped.
    DropsSets,
    /// Nothing that was found is kept for the next question.
    Forgets,
    /// All sets are dropped.
    DropsAllSets,
    /// A point is missing in each set that has several.
    DropsPoints,
    /// What is kept refutes all assignments without any of a set of points; of these, one is missing.
    RefutesTooMuch,
}

/// Says what goes wrong, as far as the mutant lets it.
struct Mutated<'a> {
    asked: Asked<'a>,
    mutant: Mutant,
    random: Generator,
}

impl Mutated<'_> {
    /// Drops a point of a set that has several.
    fn drop_point(&mut self, set: &mut Vec<usize>) {
        if set.len() > 1 {
            set.remove(self.random.below(set.len()));
        }
    }
}

impl Violations for Mutated<'_> {
    type Undecided = NoAssignment;

    fn remaining(&mut self, chosen: &[usize]) -> Remaining<NoAssignment> {
        let known = self.asked.stored.len();
        let mut answer = self.asked.remaining(chosen);
        let Remaining::Wrong(sets) = &mut answer else { return answer };
        match self.mutant {
            Mutant::None => {}
            Mutant::DropsSets => {
                let kept = self.random.below(sets.len());
                *sets = vec![sets.swap_remove(kept)];
            }
            Mutant::Forgets => self.asked.stored.clear(),
            Mutant::DropsAllSets => sets.clear(),
            Mutant::DropsPoints => sets.iter_mut().for_each(|set| self.drop_point(set)),
            Mutant::RefutesTooMuch => {
                let strengths = self.asked.strengths(chosen);
                for new in known..self.asked.stored.len() {
                    let prevents = self.asked.preventing(&self.asked.stored[new], &strengths);
                    if let Some(mut set) = prevents.into_iter().next() {
                        self.drop_point(&mut set);
                        self.asked.stored[new].shape = Shape::Attack(set);
                    }
                }
            }
        }
        answer
    }
}

/// What all assignments, tried one by one, say of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Judged {
    /// None costs less, and it is correct.
    Right,
    /// Another costs less, and it was called a minimum all the same.
    TooDear,
    /// It costs less than any that is correct.
    TooCheap,
    /// There is one, and none was found.
    Missing,
}

/// What comes out with a mutant on random programs.
#[derive(Default, Debug)]
struct Total {
    judged: Vec<Judged>,
    /// How often the optimiser asked.
    questions: u32,
    searches: u32,
}

impl Total {
    fn count(&self, judged: Judged) -> usize {
        self.judged.iter().filter(|other| **other == judged).count()
    }
}

/// Models, whether there may be new fences, and what may be changed.
const ASKED: [(&[Model], bool, Allowed); 4] = [
    (&[Model::Rc11], false, Allowed::Both),
    (&[Model::Rc11], true, Allowed::Stronger),
    (&[Model::Ra], true, Allowed::Stronger),
    (&[Model::Tso], true, Allowed::Stronger),
];

fn run<const N: usize>(mutants: [Mutant; N]) -> [Total; N] {
    let mut totals = [(); N].map(|()| Total::default());
    for seed in 0..80 {
        let program = program(seed);
        if program.has_updating_fences() {
            continue;
        }
        for (models, fences, allowed) in ASKED {
            let sites = sites_of(&program, fences);
            let Some(all) = assignments(&sites, allowed, 2_000) else { continue };
            let Some(least) = least(&program, &sites, &all, models) else { continue };
            let question = Question::default();
            let costs = Costs::GENERIC;
            let goal = Goal { models, question: &question, costs: &costs, effort: Effort::FULL };
            let floor = allowed.floor(&sites);
            let choices = Choices::of(&program, &sites, allowed, &costs);
            for (mutant, total) in mutants.into_iter().zip(&mut totals) {
                let observe = |_: &Task, _: &Progress| {};
                let asked = Asked::new(Subject {
                    program: &program,
                    sites: &sites,
                    floor: &floor,
                    points: &choices.points,
                    goal: &goal,
                    observe: &observe,
                });
                let mut mutated = Mutated { asked, mutant, random: Generator { state: seed } };
                let judged = match repair(&mut mutated, choices.weighed()) {
                    Ok(found) => {
                        assert!(found.minimum, "it does not know better");
                        total.questions += found.rounds;
                        let strengths = mutated.asked.strengths(&found.points);
                        match cost(&sites, &strengths).cmp(&least) {
                            std::cmp::Ordering::Less => Judged::TooCheap,
                            std::cmp::Ordering::Equal => Judged::Right,
                            std::cmp::Ordering::Greater => Judged::TooDear,
                        }
                    }
                    Err(Failure::Hopeless | Failure::Undecided(NoAssignment::Hopeless(_))) => {
                        Judged::Missing
                    }
                    Err(Failure::Undecided(why)) => panic!("seed {seed} {models:?}: {why}"),
                };
                total.searches += mutated.asked.searches;
                total.judged.push(judged);
            }
        }
    }
    totals
}

/// What is kept, and more than one set at a time, spare questions and searches. Catches answers that rest on them.
#[test]
fn what_is_dropped_costs_questions_and_no_answer() {
    let [all, fewer_sets, forgetful] = run([Mutant::None, Mutant::DropsSets, Mutant::Forgets]);
    for total in [&all, &fewer_sets, &forgetful] {
        assert!(total.judged.len() > 100, "{}", total.judged.len());
        assert_eq!(total.count(Judged::Right), total.judged.len());
    }
    let questions = [all.questions, fewer_sets.questions];
    let searches = [all.searches, forgetful.searches];
    println!("{} answers, {questions:?} questions, {searches:?} searches", all.judged.len());
    assert!(questions[0] < questions[1], "{questions:?}");
    assert!(searches[0] < searches[1], "{searches:?}");
}

/// The oracle notices sets that say too much, what refutes too much, and sets that are dropped for good.
#[test]
fn the_oracle_notices_what_is_wrong() {
    let mutants = [Mutant::DropsPoints, Mutant::RefutesTooMuch, Mutant::DropsAllSets];
    let [too_strong, refutes, none] = run(mutants);
    let dear = [&too_strong, &refutes].map(|total| total.count(Judged::TooDear));
    println!("of {}: {dear:?} too dear", none.judged.len());
    for total in [&too_strong, &refutes] {
        assert!(total.count(Judged::TooDear) > 10);
        assert_eq!(total.count(Judged::TooCheap), 0, "what was found was searched");
    }
    assert!(none.count(Judged::Missing) > 50, "{}", none.count(Judged::Missing));
}
