//! What memory orders and fences are worth on machines with store buffers.
//!
//! On TSO, PSO and PGAS a violation is an *attack*: one thread delays a store and passes over later steps until an access
//! of its own closes a cycle with what the others do meanwhile. Only what stands between these two accesses can break the attack,
//! and only in the attacker: everyone else's buffers are empty wherever they come to a fence, and so are the attacker's before
//! the store. So of the strengths that are not there yet, these may help:
//!
//! * a full fence that the attacker comes past;
//! * `seq_cst` for the delayed store or a store that is passed over, for such a store has a full fence behind it (that is what a
//!   locked exchange does, too);
//! * on PSO and PGAS, a lightweight fence, which keeps stores in order: a release store or a release fence, if a store comes
//!   behind it that the attack has.
//!
//! An assignment without any of these points leaves the attack as it is, whatever else differs. That makes them a set of which
//! every correct assignment has a point, and an attack refutes other assignments without another search.

use super::refute::Subject;
use super::search::{Found, NoAssignment};
use super::{Kind, Site, Strength};
use crate::answer::{Cost, Faulty, Why};
use crate::explore::Task;
use crate::question::Property;
use crate::robustness::store_atomic::model::{AttackFinding, AttackSearch};
use crate::robustness::store_atomic::{
    Computation, Machine, choose, compile, computation, witness,
};
use ir::{Pc, Tid};
use search::Stop;

/// After a violation, a search goes on until it has seen this many states: the more violations one search shows, the fewer
/// searches there are.
const ENOUGH: u64 = 20_000;

/// Attacks that succeed on a machine in the program with these strengths, each with the points any of which may prevent it.
pub(super) fn attacks(
    of: &Subject<'_>,
    strengths: &[Strength],
    machine: Machine,
    cost: &mut Cost,
) -> Result<Vec<(Found, Vec<usize>)>, NoAssignment> {
    let question = of.goal.question;
    let changed = super::apply(of.program, of.sites, strengths);
    let compiled = compile(&changed, machine);
    let method = choose(&compiled, machine, question.method).map_err(NoAssignment::Refused)?;
    let singular = method == crate::question::Method::Singularity;
    let mut search =
        AttackSearch::telling_apart(&compiled.program, machine, singular, question.limits.budget);
    if !question.reductions.partial_order {
        search = search.without_reduction();
    }
    if search.candidates.hopeful == 0 {
        return Ok(Vec::new());
    }
    let options = question.options(Stop::AfterStates(ENOUGH));
    let task = Task::default();
    let report = search::explore(&search, &options, &|progress| (of.observe)(&task, progress));
    cost.add(&report.progress);
    let mut all: Vec<(Found, Vec<usize>)> = Vec::new();
    let mut faulty = None;
    for found in &report.findings {
        match found.finding {
            AttackFinding::Fault { tid, pc, fault } => {
                faulty = Some(Faulty { tid, pc: compiled.source(tid, pc), fault });
            }
            AttackFinding::Cycle { .. } => {
                let accepted = computation(&search, &compiled, machine, &found.path, found.finding);
                let Some(computation) = accepted else {
                    return Err(NoAssignment::Undecided(machine.into(), Why::Rejected));
                };
                let points = preventing(of, strengths, machine, &computation);
                // Of two attacks, the one that less prevents says more.
                if all.iter().any(|(_, other)| other.iter().all(|point| points.contains(point))) {
                    continue;
                }
                let found = Found {
                    property: Property::Robustness,
                    witness: witness(computation),
                    model: machine.into(),
                    program: changed.clone(),
                };
                all.push((found, points));
            }
        }
    }
    match (all.is_empty(), report.limit, faulty) {
        (true, Some(limit), _) => Err(NoAssignment::Undecided(machine.into(), Why::Limit(limit))),
        (true, None, Some(faulty)) => Err(NoAssignment::Faulty(machine.into(), faulty)),
        _ => Ok(all),
    }
}

/// The points that are not there and may prevent an attack.
fn preventing(
    of: &Subject<'_>,
    strengths: &[Strength],
    machine: Machine,
    attack: &Computation,
) -> Vec<usize> {
    let tid = attack.attacker;
    let steps = of.program.threads[tid.index()].code.len();
    // New fences come behind the code.
    let path: Vec<Pc> = std::iter::once(attack.start)
        .chain(attack.between.iter().copied())
        .filter(|pc| pc.index() < steps)
        .collect();
    let is_store = |pc: Pc| of.program.step(tid, pc).instr.may_write();
    let last_store = (1..path.len()).rev().find(|&k| is_store(path[k]));
    let passes = Path { tid, path: &path };
    let helps = |&point: &usize| {
        let (site, part) = of.points[point];
        let site_of = &of.sites[site];
        if strengths[site].has(part) {
            return false;
        }
        let full = part == Strength::SC;
        let light = part == Strength::RELEASE && machine != Machine::Tso;
        if !full && !light {
            return false;
        }
        // A light fence is something only if a store comes behind it.
        let until = match full {
            true => path.len(),
            false => last_store.map_or(0, |k| k + 1),
        };
        match (site_of.kind, full) {
            (Kind::Fence, _) => passes.fence(site_of, until),
            // The fence of an `sc` store is behind it, that of a release store in front.
            (Kind::Write, true) => {
                (0..path.len().saturating_sub(1)).any(|k| passes.is_at(site_of, k))
            }
            (Kind::Write, false) => (1..until).any(|k| passes.is_at(site_of, k)),
            _ => false,
        }
    };
    (0..of.points.len()).filter(helps).collect()
}

/// The steps of an attacker, from the store that it delays to its last access.
struct Path<'a> {
    tid: Tid,
    path: &'a [Pc],
}

impl Path<'_> {
    /// Is the step with this number one of the site?
    fn is_at(&self, site: &Site, k: usize) -> bool {
        site.places.contains(&(self.tid, self.path[k]))
    }

    /// Is the step with this number one of the statement behind the site?
    fn is_inside(&self, site: &Site, k: usize) -> bool {
        site.inside.binary_search(&(self.tid, self.path[k])).is_ok()
    }

    /// Is a fence of the site passed on the way to one of the first `until` steps?
    fn fence(&self, site: &Site, until: usize) -> bool {
        (1..until).any(|k| match (site.new, site.behind) {
            (false, _) => self.is_at(site, k),
            (true, true) => self.is_at(site, k - 1),
            (true, false) => self.is_inside(site, k) && !self.is_inside(site, k - 1),
        })
    }
}
