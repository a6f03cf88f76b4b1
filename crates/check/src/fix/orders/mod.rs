//! The weakest memory orders, and the fewest fences, with which a program is correct.
//!
//! A *site* is an atomic access of the source, a fence, or a place in front of an access where a fence could
//! stand. An assignment gives each site a [`Strength`]. Strengthening a site removes executions and changes no
//! interleaving, so the assignments under which a program is robust and free of races are closed upwards. So
//! are those under which it is safe. Wanted is an assignment of minimum cost among them, of those that are [`Allowed`]: above
//! what is written, below it, or any ([`assign`]); or, for each site of the program as written, the
//! weakest strength with which it is still correct if all others are kept ([`each`]).
//!
//! # How a minimum is found with few searches
//!
//! [`super::repair`] chooses the cheapest points that deal with all violations seen so far, and asks what is
//! still wrong. Points are the parts of a strength: an access acquires, it is `sc`, …. A search of the program
//! with the chosen points ends in an execution graph that goes wrong, accepted by the judge. That graph is an
//! execution of the program with *any* strengths that do not forbid it, because orders and fences do not change
//! what threads compute ([`graph::rerun`](mod@graph::rerun)). So:
//!
//! 1. Points are added to the chosen ones greedily, as long as the graph stays consistent (and keeps its race).
//!    The points that are left over then are a set of which every correct assignment has one: an assignment
//!    without any of them is below one that allows the graph, and allows it, too.
//! 2. Every choice is the cheapest that has a point of each of these sets, and every correct assignment has
//!    one, too, so the first correct choice is the cheapest of all.
//! 3. Graphs are kept. A choice that one of them refutes is not searched.
//!
//! If a graph is lost on the way (the search refutes a choice by other means than a graph that can be judged
//! again), the set is all points that were not chosen: since correct assignments are closed upwards, a correct
//! one is not below the one that was refuted.
//!
//! **RC20 and RA are different.** Their SC fences update a hidden location, so they are accesses that interleavings order,
//! and a fence more can make a robust program one that is not: `x.store(1) ∥ r = y.load() ∥ y.store(1); s = x.load()` is
//! robust against RA, and with a fence behind the first store and one in front of the first load it is not. Correct
//! assignments with the same SC fences are closed upwards. A graph is kept only if no interleaving explains it with no fence
//! at all either; it then refutes all that 1 says. Otherwise the set is all points that were not chosen: a correct
//! assignment below the refuted one has fewer SC fences, so it is cheaper (every point weighs something), and one of the sets
//! before has refuted it, if each choice so far was a cheapest one.
//!
//! # What is minimised over
//!
//! Where a CAS fails, it is at most as strong as where it succeeds, as C11 demands. Fences are put in front of
//! statements that access memory, and behind stores from which control goes elsewhere than to the next of these: round a
//! loop, to a branch, or from a procedure to its callers. No fence stands between a choice and a step that waits for one of several
//! values ([`OneOf`]), where it would change what the thread does. The cost of a strength is the sum of the costs of its parts ([`Costs`]).
//!
//! # Several models
//!
//! An assignment is searched on each model in turn, and a set of points that one of them needs is a set for all. Machines
//! with store buffers read orders as the usual compilation of C11 does (`machines` has their sets).

mod cost;
mod machines;
mod refute;
mod search;

pub use cost::{Costs, Loops};
pub use search::{Assignment, Effort, Found, Goal, Need, Needs, NoAssignment, assign, each};

use crate::question::Model;
use ir::{FenceMode, Instr, OneOf, Origin, Pc, Program, ReadMode, Step, Tid, WriteMode};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

/// How strong an access or a fence is: a set of parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Strength(u8);

impl Strength {
    /// Relaxed; for a fence, that there is none.
    pub const NONE: Strength = Strength(0);
    /// It acquires.
    pub const ACQUIRE: Strength = Strength(1);
    /// It releases.
    pub const RELEASE: Strength = Strength(2);
    /// It is a member of the order of all `sc` events.
    pub const SC: Strength = Strength(4);
    /// It acquires also where it fails.
    pub const FAIL_ACQUIRE: Strength = Strength(8);
    /// It is an `sc` read where it fails.
    pub const FAIL_SC: Strength = Strength(16);

    /// The strength with the parts of both.
    pub fn with(self, other: Strength) -> Strength {
        Strength(self.0 | other.0)
    }

    /// The strength without these parts.
    pub fn without(self, other: Strength) -> Strength {
        Strength(self.0 & !other.0)
    }

    /// Does it have all parts of `other`?
    pub fn has(self, other: Strength) -> bool {
        self.0 & other.0 == other.0
    }

    /// The order of a read, a CAS that succeeds among them.
    pub fn read(self) -> ReadMode {
        match (self.has(Strength::SC), self.has(Strength::ACQUIRE)) {
            (true, _) => ReadMode::Sc,
            (_, true) => ReadMode::Acq,
            _ => ReadMode::Rlx,
        }
    }

    /// The order of a write.
    pub fn write(self) -> WriteMode {
        match (self.has(Strength::SC), self.has(Strength::RELEASE)) {
            (true, _) => WriteMode::Sc,
            (_, true) => WriteMode::Rel,
            _ => WriteMode::Rlx,
        }
    }

    /// The order of a CAS that fails.
    pub fn fail(self) -> ReadMode {
        match (self.has(Strength::FAIL_SC), self.has(Strength::FAIL_ACQUIRE)) {
            (true, _) => ReadMode::Sc,
            (_, true) => ReadMode::Acq,
            _ => ReadMode::Rlx,
        }
    }

    /// The mode of a fence, if there is one.
    pub fn fence(self) -> Option<FenceMode> {
        let parts = [Strength::SC, Strength::ACQUIRE, Strength::RELEASE].map(|part| self.has(part));
        match parts {
            [true, ..] => Some(FenceMode::Sc),
            [_, true, true] => Some(FenceMode::AcqRel),
            [_, true, _] => Some(FenceMode::Acq),
            [_, _, true] => Some(FenceMode::Rel),
            _ => None,
        }
    }
}

/// What is at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A load, or a wait.
    Read,
    /// A store.
    Write,
    /// A read-modify-write, or a CAS that waits until it succeeds.
    Update,
    /// A CAS.
    CompareExchange,
    /// A fence, or a place for one.
    Fence,
}

impl Kind {
    /// The parts that its strength may have, each behind those that it requires.
    pub fn parts(self) -> &'static [Strength] {
        const FENCE: &[Strength] = &[Strength::ACQUIRE, Strength::RELEASE, Strength::SC];
        match self {
            Kind::Read => &[Strength::ACQUIRE, Strength::SC],
            Kind::Write => &[Strength::RELEASE, Strength::SC],
            Kind::Update | Kind::Fence => FENCE,
            Kind::CompareExchange => &[
                Strength::ACQUIRE,
                Strength::RELEASE,
                Strength::SC,
                Strength::FAIL_ACQUIRE,
                Strength::FAIL_SC,
            ],
        }
    }

    /// What a part requires.
    pub fn required(self, part: Strength) -> Strength {
        let both = Strength::ACQUIRE.with(Strength::RELEASE);
        match (self, part) {
            (Kind::Read, Strength::SC) => Strength::ACQUIRE,
            (Kind::Write, Strength::SC) => Strength::RELEASE,
            (_, Strength::SC) => both,
            (_, Strength::FAIL_ACQUIRE) => Strength::ACQUIRE,
            (_, Strength::FAIL_SC) => both.with(Strength::SC).with(Strength::FAIL_ACQUIRE),
            _ => Strength::NONE,
        }
    }

    /// The parts of its strength that a model reads. For RA every access acquires or releases, whatever is written, and of fences
    /// it knows those that are SC; machines with store buffers know full fences, those behind `sc` stores among them, and
    /// all but TSO lightweight ones. What RC20 reads as something weaker counts as read.
    pub fn read_by(self, model: Model) -> Strength {
        let full = Strength::SC;
        match (model, self) {
            (Model::Rc11 | Model::Rc20, _) => {
                self.parts().iter().fold(Strength::NONE, |all, part| all.with(*part))
            }
            (Model::Ra | Model::Tso, Kind::Fence) | (Model::Tso, Kind::Write) => full,
            (Model::Pso | Model::Pgas, Kind::Fence | Kind::Write) => full.with(Strength::RELEASE),
            _ => Strength::NONE,
        }
    }

    /// The strength without a part, and without what requires it.
    pub fn weakened(self, strength: Strength, part: Strength) -> Strength {
        let requires = |other: &&Strength| self.required(**other).has(part);
        let dropped =
            self.parts().iter().filter(requires).fold(part, |all, other| all.with(*other));
        strength.without(dropped)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Read => "load",
            Kind::Write => "store",
            Kind::Update => "read-modify-write",
            Kind::CompareExchange => "compare-exchange",
            Kind::Fence => "fence",
        })
    }
}

/// A place in the source whose order can be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// What is there.
    pub kind: Kind,
    /// The statement; for a fence that is not there yet, the one behind it, or the one in front if it is `behind`.
    pub origin: Origin,
    /// Where that is in each thread; for a fence that is not there yet, where control comes to it.
    pub places: Vec<(Tid, Pc)>,
    /// For a fence that is not there yet, all steps of the statement behind it, in order.
    pub inside: Vec<(Tid, Pc)>,
    /// How strong it is in the source.
    pub written: Strength,
    /// What it keeps of that in any case.
    pub least: Strength,
    /// Is it a fence that is not there yet?
    pub new: bool,
    /// Would it stand behind the statement, and not in front?
    pub behind: bool,
}

impl Site {
    /// The parts of what is written that one of the models reads.
    pub fn read_by(&self, models: &[Model]) -> Strength {
        let read =
            models.iter().fold(Strength::NONE, |all, &model| all.with(self.kind.read_by(model)));
        self.written.without(self.written.without(read))
    }

    /// Lets the site keep what none of the models reads: they cannot tell whether it is needed. A fence that they do not need is
    /// none, if they read it at all.
    pub fn keep_unread(&mut self, models: &[Model]) {
        let read = self.read_by(models);
        self.least = match self.kind {
            Kind::Fence if read != Strength::NONE => Strength::NONE,
            _ => self.written.without(read),
        };
    }
}

/// How strengths may differ from those that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// What is written may become stronger, and nothing weaker.
    Stronger,
    /// What is written may become weaker, fences may go, and nothing becomes stronger.
    Weaker,
    /// Anything may become anything.
    Both,
}

impl Allowed {
    /// For each site, the strength that it has in any case.
    pub fn floor(self, sites: &[Site]) -> Vec<Strength> {
        let least = |site: &Site| match self {
            Allowed::Stronger => site.written,
            Allowed::Weaker | Allowed::Both => site.least,
        };
        sites.iter().map(least).collect()
    }

    /// The strength that a site may have at most.
    pub fn most(self, site: &Site) -> Strength {
        let all = || site.kind.parts().iter().fold(Strength::NONE, |all, part| all.with(*part));
        match self {
            Allowed::Weaker => site.written,
            Allowed::Stronger | Allowed::Both => all(),
        }
    }
}

/// Where sites stand in a text.
pub struct Places<A, B, C> {
    /// Where the access or fence of a kind stands: steps with the same place are one site, so that one change of the text changes
    /// them all; steps without one are no site.
    pub operation: A,
    /// Where a new fence would stand in front of a statement that accesses memory, atomically or not, and where that statement
    /// ends, with all that is in it.
    pub before: B,
    /// Where a new fence would stand behind a store that is a statement.
    pub behind: C,
}

/// The sites of a program.
#[derive(Clone, Debug)]
pub struct Sites {
    /// What can be changed, in the order of the program's steps.
    pub changeable: Vec<Site>,
    /// What has no order of its own: it is a variable, or one that is not chosen from, such as that of a CAS which is stronger
    /// where it fails.
    pub uneven: Vec<Site>,
}

/// The sites of a program.
pub fn sites<K, A, B, C>(program: &Program, places: &Places<A, B, C>) -> Sites
where
    K: Ord + Hash + Clone,
    A: Fn(Origin, Kind) -> Option<K>,
    B: Fn(Origin) -> Option<(K, K)>,
    C: Fn(Origin) -> Option<K>,
{
    let mut sites: Vec<Site> = Vec::new();
    let mut known: HashMap<(K, Role), usize> = HashMap::new();
    let mut add = |sites: &mut Vec<Site>, key: (K, Role), kind: Kind, origin: Origin| {
        let (new, behind) = (key.1 >= Role::NewFence, key.1 == Role::FenceBehind);
        *known.entry(key).or_insert_with(|| {
            let (places, inside) = (Vec::new(), Vec::new());
            let (written, least) = (Strength::NONE, Strength::NONE);
            sites.push(Site { kind, origin, places, inside, written, least, new, behind });
            sites.len() - 1
        })
    };
    let one_of = OneOf::of(program);
    let goes_elsewhere = goes_elsewhere(program);
    for (tid, pc, step) in program.steps() {
        if let Some((kind, written)) = atomic(&step.instr)
            && let Some(key) = (places.operation)(step.origin, kind)
        {
            let role = if kind == Kind::Fence { Role::Fence } else { Role::Access };
            let at = add(&mut sites, (key, role), kind, step.origin);
            let site = &mut sites[at];
            site.places.push((tid, pc));
            // A CAS that may fail for no reason is a CAS and a load of one statement.
            let part = match (site.kind, kind) {
                (Kind::CompareExchange, Kind::Read) => failing(written),
                (Kind::Read, Kind::CompareExchange) => {
                    site.written = failing(site.written);
                    written
                }
                _ => written,
            };
            site.kind = site.kind.with(kind);
            site.written = site.written.with(part);
        }
        // Who waits for one of several values must not have chosen before.
        let start = one_of.choice(tid, pc).unwrap_or(pc);
        let origin = program.step(tid, start).origin;
        if step.instr.place().is_some()
            && let Some((key, _)) = (places.before)(origin)
        {
            let at = add(&mut sites, (key, Role::NewFence), Kind::Fence, origin);
            if !sites[at].places.contains(&(tid, start)) {
                sites[at].places.push((tid, start));
            }
        }
        if matches!(step.instr, Instr::Store { .. })
            && goes_elsewhere.contains(&step.origin)
            && let Some(key) = (places.behind)(step.origin)
        {
            let at = add(&mut sites, (key, Role::FenceBehind), Kind::Fence, step.origin);
            sites[at].places.push((tid, pc));
        }
    }
    enter_from_outside(program, &mut sites, &places.before);
    let stay = fences_behind_choices(program);
    let (changeable, uneven) = sites.into_iter().partition(|site| {
        let stays = site.places.iter().any(|place| stay.contains(place));
        site.new || is_written_as_it_is(program, site) && !stays
    });
    Sites { changeable, uneven }
}

/// Finds out which steps belong to the statements that new fences stand in front of, and at which of them control enters a
/// statement from outside. These are the places of the fence: control that stays inside does not come past it, and the first step of a
/// statement need not be an access. A weak CAS, for example, begins with a choice.
fn enter_from_outside<K: Ord>(
    program: &Program,
    sites: &mut [Site],
    before: impl Fn(Origin) -> Option<(K, K)>,
) {
    let steps = program.steps().filter_map(|(tid, pc, step)| {
        let (start, _) = before(step.origin)?;
        Some((start, (tid, pc)))
    });
    let mut statements: Vec<(K, (Tid, Pc))> = steps.collect();
    statements.sort();
    let mut come_from: Vec<Vec<Vec<Pc>>> =
        program.threads.iter().map(|thread| vec![Vec::new(); thread.code.len()]).collect();
    for (tid, pc, step) in program.steps() {
        step.successors().for_each(|to| come_from[tid.index()][to.index()].push(pc));
    }
    for site in sites.iter_mut().filter(|site| site.new && !site.behind) {
        let Some((start, end)) = before(site.origin) else { continue };
        let first = statements.partition_point(|(at, _)| *at < start);
        let inside = statements[first..].iter().take_while(|(at, _)| *at == start || *at < end);
        site.inside = inside.map(|(_, place)| *place).collect();
        site.inside.sort_unstable();
        let is_entered = |&(tid, pc): &(Tid, Pc)| {
            let is_outside = |from: &Pc| site.inside.binary_search(&(tid, *from)).is_err();
            program.threads[tid.index()].entry == pc
                || come_from[tid.index()][pc.index()].iter().any(is_outside)
        };
        let entered: Vec<(Tid, Pc)> = site.inside.iter().copied().filter(is_entered).collect();
        if !entered.is_empty() {
            site.places = entered;
        }
    }
}

/// For each step of each thread, in how many ways control comes to it.
fn entered(program: &Program) -> Vec<Vec<usize>> {
    let count = |thread: &ir::Thread| {
        let mut entered = vec![0; thread.code.len()];
        entered[thread.entry.index()] += 1;
        for to in thread.code.iter().flat_map(Step::successors) {
            entered[to.index()] += 1;
        }
        entered
    };
    program.threads.iter().map(count).collect()
}

/// What comes behind a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    /// This statement accesses memory next.
    Access(Origin),
    /// The thread accesses nothing any more.
    Nothing,
    /// Control goes round a loop, or to a branch, before it comes to the next access.
    Turn,
}

/// The stores from which control goes elsewhere than to one next access: to a turn, or, from a procedure that is called at several
/// places, to several. Otherwise a fence in front of that access is as good as one behind the store.
fn goes_elsewhere(program: &Program) -> HashSet<Origin> {
    let entered = entered(program);
    let mut known: HashMap<Origin, Behind> = HashMap::new();
    let mut found = HashSet::new();
    for (tid, _, step) in program.steps() {
        if matches!(step.instr, Instr::Store { .. }) {
            let behind = behind(program, &entered[tid.index()], tid, step.next);
            let other = *known.entry(step.origin).or_insert(behind);
            if behind == Behind::Turn || behind != other {
                found.insert(step.origin);
            }
        }
    }
    found
}

fn behind(program: &Program, entered: &[usize], tid: Tid, next: Pc) -> Behind {
    let mut at = next;
    for _ in 0..entered.len() {
        let step = program.step(tid, at);
        if step.instr == Instr::Halt {
            return Behind::Nothing;
        }
        if entered[at.index()] > 1 {
            return Behind::Turn;
        }
        if step.instr.place().is_some() {
            return Behind::Access(step.origin);
        }
        let mut successors = step.successors();
        match (successors.next(), successors.next()) {
            (Some(one), None) => at = one,
            _ => return Behind::Turn,
        }
    }
    Behind::Turn
}

/// The fences between a choice and a step that waits. They stay: without them the thread would wait for whichever value is
/// there ([`OneOf`]), and would not have chosen.
fn fences_behind_choices(program: &Program) -> HashSet<(Tid, Pc)> {
    let mut found = HashSet::new();
    for (tid, _, step) in program.steps() {
        let Instr::Jump { targets, .. } = &step.instr else { continue };
        for &target in targets.iter().filter(|_| targets.len() > 1) {
            let (mut at, mut passed) = (target, HashSet::new());
            loop {
                let step = program.step(tid, at);
                match step.instr {
                    Instr::Fence(_) | Instr::Skip if passed.insert((tid, at)) => at = step.next,
                    Instr::Wait { .. } | Instr::BlockingCas { .. } => break found.extend(passed),
                    _ => break,
                }
            }
        }
    }
    found
}

/// Is the strength of a site that of each of its steps?
fn is_written_as_it_is(program: &Program, site: &Site) -> bool {
    let closed = site
        .kind
        .parts()
        .iter()
        .all(|part| !site.written.has(*part) || site.written.has(site.kind.required(*part)));
    closed
        && site.places.iter().all(|&(tid, pc)| {
            atomic(&program.step(tid, pc).instr).is_some_and(|(kind, own)| {
                match (site.kind, kind) {
                    (Kind::CompareExchange, Kind::Read) => {
                        failing(own) == failing_part(site.written)
                    }
                    (Kind::CompareExchange, Kind::Update) => own == succeeding_part(site.written),
                    _ => own == site.written,
                }
            })
        })
}

/// What a strength says of a CAS that fails.
fn failing_part(strength: Strength) -> Strength {
    strength.without(succeeding_part(strength))
}

/// What a strength says of a CAS that succeeds.
fn succeeding_part(strength: Strength) -> Strength {
    strength.without(Strength::FAIL_ACQUIRE.with(Strength::FAIL_SC))
}

/// What is changed at a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Role {
    /// The order of an access.
    Access,
    /// The order of a fence.
    Fence,
    /// A fence that is not there yet.
    NewFence,
    /// The same, behind a statement.
    FenceBehind,
}

impl Kind {
    /// What a statement is that has steps of both kinds.
    fn with(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::CompareExchange, _) | (_, Kind::CompareExchange) => Kind::CompareExchange,
            (Kind::Read, Kind::Write) | (Kind::Write, Kind::Read) => Kind::Update,
            (Kind::Update, _) | (_, Kind::Update) => Kind::Update,
            _ => self,
        }
    }
}

/// The strength of a load, as that of a CAS that fails.
fn failing(strength: Strength) -> Strength {
    let parts = [(Strength::ACQUIRE, Strength::FAIL_ACQUIRE), (Strength::SC, Strength::FAIL_SC)];
    let parts = parts.into_iter().filter(|(part, _)| strength.has(*part));
    parts.fold(Strength::NONE, |all, (_, part)| all.with(part))
}

/// The kind and the strength of an atomic access or a fence. Partial modes, which only libraries have, are left
/// alone.
pub fn atomic(instr: &Instr) -> Option<(Kind, Strength)> {
    if instr.has_partial_modes() {
        return None;
    }
    let read = |mode: ReadMode| match mode {
        ReadMode::Na | ReadMode::Pacq => None,
        ReadMode::Rlx => Some(Strength::NONE),
        ReadMode::Acq => Some(Strength::ACQUIRE),
        ReadMode::Sc => Some(Strength::ACQUIRE.with(Strength::SC)),
    };
    let write = |mode: WriteMode| match mode {
        WriteMode::Na | WriteMode::Prel => None,
        WriteMode::Rlx => Some(Strength::NONE),
        WriteMode::Rel => Some(Strength::RELEASE),
        WriteMode::Sc => Some(Strength::RELEASE.with(Strength::SC)),
    };
    // A read-modify-write is `sc` if both its parts are.
    let update = |reads: ReadMode, writes: WriteMode| {
        let both = read(reads)?.with(write(writes)?);
        let sc = ir::mode::is_sc_update(reads, writes);
        Some(if sc { both } else { both.without(Strength::SC) })
    };
    match instr {
        Instr::Load { mode, .. } | Instr::Wait { mode, .. } => Some((Kind::Read, read(*mode)?)),
        Instr::Store { mode, .. } => Some((Kind::Write, write(*mode)?)),
        Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
            Some((Kind::Update, update(*read, *write)?))
        }
        Instr::Cas { read: reads, write, fail, .. } => {
            let strength = update(*reads, *write)?.with(failing(read(*fail)?));
            Some((Kind::CompareExchange, strength))
        }
        Instr::Fence(mode) => {
            let strength = match mode {
                FenceMode::Acq => Strength::ACQUIRE,
                FenceMode::Rel => Strength::RELEASE,
                FenceMode::AcqRel => Strength::ACQUIRE.with(Strength::RELEASE),
                FenceMode::Sc => Strength::ACQUIRE.with(Strength::RELEASE).with(Strength::SC),
                FenceMode::ScUpd | FenceMode::Upd => return None,
            };
            Some((Kind::Fence, strength))
        }
        _ => None,
    }
}

/// The program with these strengths at its sites. Its steps stay where they are; a fence that goes is a skip, and
/// new ones come behind the code.
pub fn apply(program: &Program, sites: &[Site], strengths: &[Strength]) -> Program {
    let mut program = program.clone();
    for (site, &strength) in sites.iter().zip(strengths) {
        if site.new {
            if let Some(mode) = strength.fence() {
                site.places.iter().for_each(|&place| put_fence(&mut program, site, place, mode));
            }
            continue;
        }
        for &(tid, pc) in &site.places {
            let instr = &mut program.threads[tid.index()].code[pc.index()].instr;
            match instr {
                Instr::Load { mode, .. } | Instr::Wait { mode, .. } => {
                    let fails = site.kind == Kind::CompareExchange;
                    *mode = if fails { strength.fail() } else { strength.read() };
                }
                Instr::Store { mode, .. } => *mode = strength.write(),
                Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
                    (*read, *write) = (strength.read(), strength.write());
                }
                Instr::Cas { read, write, fail, .. } => {
                    (*read, *write, *fail) = (strength.read(), strength.write(), strength.fail());
                }
                Instr::Fence(_) => *instr = strength.fence().map_or(Instr::Skip, Instr::Fence),
                _ => {}
            }
        }
    }
    program
}

/// Puts a fence in front of a step, where control comes to it from outside of its statement, or behind it.
fn put_fence(program: &mut Program, site: &Site, (tid, pc): (Tid, Pc), mode: FenceMode) {
    let thread = &mut program.threads[tid.index()];
    let at = Pc::from(thread.code.len());
    if site.behind {
        let Step { next, origin, .. } = thread.code[pc.index()];
        thread.code[pc.index()].next = at;
        thread.code.push(Step { instr: Instr::Fence(mode), next, origin });
        return;
    }
    let redirect = |to: &mut Pc| {
        if *to == pc {
            *to = at;
        }
    };
    for (from, step) in thread.code.iter_mut().enumerate() {
        if site.inside.binary_search(&(tid, Pc::from(from))).is_ok() {
            continue;
        }
        redirect(&mut step.next);
        step.targets_mut().for_each(redirect);
    }
    redirect(&mut thread.entry);
    let origin = thread.code[pc.index()].origin;
    thread.code.push(Step { instr: Instr::Fence(mode), next: pc, origin });
}
