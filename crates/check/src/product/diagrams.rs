//! The diagram of each reduction, tested at every state.
//!
//! That two searches end with the same verdict shows little: a wrong reduction is right about most
//! programs. So here the claim itself is tested, at each state that a plain search comes to:
//!
//! * *normal form*: the representatives of a state's successors are the representatives of its
//!   representative's successors, and the same is found; with counters, at least those;
//! * *private steps and late choices*: the states in which all threads rest, and what is found, are
//!   the same as when every step is taken by itself;
//! * *symmetry of locations*: what is found at some location is found at one that is watched;
//! * *partial order*: what a thread outside the chosen set does commutes with what a thread inside
//!   does, now and after up to two steps of threads outside;
//! * *subsumption*: of two states with the same core, the one that remembers more goes where the other
//!   goes, remembers more there, and finds what the other finds.
//!
//! Programs are the corpus and those of `tests/aimed`, aimed at the premises. Each reduction has to be
//! active in as many as a tenth of the programs that are not about names, and names that stand for elements of arrays
//! in a tenth of those that are; `FENCEPOST_DIAGRAM_PROGRAMS` asks for more programs.

#[path = "../../tests/aimed/mod.rs"]
pub(crate) mod aimed;
mod worlds;

use self::worlds::{Key, Place, elements, exact, is_stopped, key, names_elements, normal_form};
use self::worlds::{STATES, place, worlds};
use super::system::threads;
use super::{Finding, Move, Noted, Pending, Product, RunStep, Scratch, World, beginnings, moves};
use crate::explore::Explorer;
use crate::plan::{Plan, plans};
use crate::question::{Model, Question};
use crate::{Extent, Reductions};
use analysis::symmetry::Symmetries;
use ir::random::{Strengthen, with_sc_orders};
use ir::{Instr, Loc, Pc, Program, Tid};
use memory::Monitor;
use memory::rc20::row_layout::{self, Track};
use memory::rc20::{Rc20, Robustness};
use memory::sc::Sc;
use search::{Limits, Model as _};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one program made a reduction do.
#[derive(Default)]
struct Active(HashSet<&'static str>);

impl Active {
    fn note(&mut self, what: &'static str, active: bool) {
        if active {
            self.0.insert(what);
        }
    }
}

/// What is wrong with a diagram, for a person to read.
type Broken = String;

/// The diagram of the normal form. `exact` says that nothing may be made up.
fn check_normal_form<M: Monitor>(
    reduced: &Product<M>,
    plain: &Product<M>,
    active: &mut Active,
) -> Result<(), Broken> {
    let simulates = reduced.lowers_counters();
    let (mut scratch, mut plain_scratch) = (reduced.scratch(), plain.scratch());
    if beginnings(reduced, &mut scratch).0.is_empty() {
        return Err("normal form: the program does not begin".into());
    }
    let elements = elements(reduced);
    // Monitors have room for numbers within a window only, and in a program without its loop_counters, which
    // has more runs than the one that was asked about, numbers may come close to where they wrap.
    let in_range = |world: &World<M::State>| {
        let values = plain.memory.values(&world.memory);
        reduced.counters.iter().all(|counters| {
            let mut at = counters.locations.iter().map(|loc| values[loc.index()]);
            let least = plain.program.domain.max - 3;
            at.all(|value| match counters.range() {
                Some(range) => counters.is_constant(value) || range.contains(&value),
                None => value < least,
            })
        })
    };
    for world in worlds(plain, in_range) {
        let Some(packed) = normal_form(reduced, &mut scratch, &world) else { continue };
        let mut representative = world.clone();
        reduced.unpack(&packed, &mut Vec::new(), &mut representative);
        let exchanged = !reduced.rotations.is_empty() && representative.pcs != world.pcs;
        active.note("symmetry", exchanged);
        active.note("names", exchanged && names_elements(reduced));
        active.note("counters", !scratch.lowerings.is_empty());
        let (from_world, found) = moves(plain, &mut plain_scratch, &world);
        let (from_representative, found_there) = moves(reduced, &mut scratch, &representative);
        let unclear =
            |noted: &Noted<M::Violation>| matches!(noted.finding, Finding::Unclear { .. });
        if found_there.iter().any(unclear) {
            active.note("unclear", true);
            return Ok(()); // the search says so and is not believed
        }
        let mut left = BTreeSet::new();
        for next in from_world {
            // A thread that a guard has stopped does less than one that a smaller number lets pass.
            if in_range(&next.world) && !(simulates && is_stopped(plain, &next.world)) {
                let packed = normal_form(reduced, &mut scratch, &next.world);
                left.extend(packed.map(|packed| key(reduced, &elements, packed)));
            }
        }
        let right: BTreeSet<Key> = from_representative
            .into_iter()
            .map(|next| key(reduced, &elements, next.packed))
            .collect();
        let places = |noted: Vec<Noted<M::Violation>>| -> BTreeSet<Place> {
            noted.iter().filter_map(|n| place::<M>(&reduced.symmetries, &n.finding)).collect()
        };
        let (found, found_there) = (places(found), places(found_there));
        let as_it_should = match simulates {
            true => left.is_subset(&right) && found.is_subset(&found_there),
            false => left == right && found == found_there,
        };
        if !as_it_should {
            return Err(format!(
                "normal form: of {world:?}, where {found:?}\nis {representative:?}, where {found_there:?}\nmissing: {:#?}\nmade up: {:#?}",
                left.difference(&right).collect::<Vec<_>>(),
                right.difference(&left).collect::<Vec<_>>(),
            ));
        }
    }
    Ok(())
}

/// Private steps and late choices: the states in which all threads rest.
fn check_resting<M: Monitor>(
    moving: &Product<M>,
    stepping: &Product<M>,
    active: &mut Active,
) -> Result<(), Broken> {
    // Behind a choice a thread rests only where it has made an access since.
    let behind_choices: Vec<Vec<bool>> = moving
        .program
        .threads
        .iter()
        .enumerate()
        .map(|(t, thread)| {
            let mut behind = vec![false; thread.code.len()];
            let choices = (0..thread.code.len()).filter(|pc| moving.choice_points[t][*pc]);
            let mut open: Vec<usize> = choices.collect();
            while let Some(pc) = open.pop() {
                for next in thread.code[pc].successors().map(Pc::index) {
                    if !std::mem::replace(&mut behind[next], true) && moving.private[t][next] {
                        open.push(next);
                    }
                }
            }
            behind
        })
        .collect();
    let rests = |world: &World<M::State>| {
        world.pcs.iter().enumerate().all(|(t, pc)| {
            !behind_choices[t][pc.index()]
                && (moving.choice_points[t][pc.index()] || !moving.private[t][pc.index()])
        })
    };
    let explore = |product: &Product<M>, scratch: &mut Scratch<M::State>| {
        let (mut resting, mut found) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = HashSet::new();
        let (begun, noted) = beginnings(product, scratch);
        found.extend(noted.iter().filter_map(|n| exact::<M>(&n.finding)));
        let mut open: Vec<_> = begun.into_iter().map(|next| next.world).collect();
        while let Some(world) = open.pop() {
            let mut packed = Vec::new();
            product.pack(&world, &mut packed);
            if !seen.insert(packed.clone()) {
                continue;
            }
            if seen.len() > 20 * STATES {
                return None;
            }
            if rests(&world) {
                resting.insert(packed);
            }
            let (next, noted) = moves(product, scratch, &world);
            found.extend(noted.iter().filter_map(|n| exact::<M>(&n.finding)));
            open.extend(next.into_iter().map(|next| next.world));
        }
        Some((seen.len(), resting, found))
    };
    let left = explore(moving, &mut moving.scratch());
    let right = explore(stepping, &mut stepping.scratch());
    let (Some((moved, resting, found)), Some((stepped, expected, expected_found))) = (left, right)
    else {
        return Ok(());
    };
    active.note("local", moved < stepped);
    active.note("choice", moving.choice_points.iter().flatten().any(|choice| *choice));
    match resting == expected && found == expected_found {
        true => Ok(()),
        false => Err(format!(
            "private steps: {} resting states and {found:?}, step by step {} and {expected_found:?}",
            resting.len(),
            expected.len()
        )),
    }
}

/// What each of `of` can do from `world`, packed, and what is found there.
fn does<M: Monitor>(
    product: &Product<M>,
    scratch: &mut Scratch<M::State>,
    world: &World<M::State>,
    tid: Tid,
) -> Vec<(Vec<u64>, World<M::State>)> {
    let (next, _) = moves(product, scratch, world);
    let of_tid = |steps: &[RunStep]| steps.first().is_some_and(|s| s.tid == tid);
    let mut all: Vec<_> = next
        .into_iter()
        .filter(|next| of_tid(&next.steps))
        .map(|next| {
            let mut packed = Vec::new();
            product.pack(&next.world, &mut packed);
            (packed, next.world)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

/// Partial order: threads outside the chosen set commute with those inside.
fn check_persistent<M: Monitor>(product: &Product<M>, active: &mut Active) -> Result<(), Broken> {
    let mut scratch = product.scratch();
    for world in worlds(product, |_| true).into_iter().take(STATES / 3) {
        scratch.world.clone_from(&world);
        let mut movable: super::system::ThreadSet = 0;
        for tid in product.program.tids() {
            let pending = product.pending(&world, tid, |_| {});
            if !matches!(pending, Pending::Done) {
                movable |= 1 << tid.0;
            }
            scratch.pending[tid.index()] = pending;
        }
        if movable.count_ones() < 2 {
            continue;
        }
        let chosen = product.persistent_set(&scratch, movable);
        if chosen == movable {
            continue;
        }
        active.note("por", true);
        let mut after = vec![world.clone()];
        for steps in 0..3 {
            let mut further = Vec::new();
            for here in &after {
                for outside in threads(movable & !chosen) {
                    let outside_first = does(product, &mut scratch, here, outside);
                    for inside in threads(chosen) {
                        let inside_first = does(product, &mut scratch, here, inside);
                        let mut one = BTreeSet::new();
                        for (_, world) in &inside_first {
                            let next = does(product, &mut scratch, world, outside);
                            one.extend(next.into_iter().map(|(packed, _)| packed));
                        }
                        let mut other = BTreeSet::new();
                        for (_, world) in &outside_first {
                            let next = does(product, &mut scratch, world, inside);
                            other.extend(next.into_iter().map(|(packed, _)| packed));
                        }
                        if one != other {
                            return Err(format!(
                                "partial order: {inside:?} does not commute with {outside:?}, {steps} steps after {world:?}"
                            ));
                        }
                    }
                    further.extend(outside_first.into_iter().map(|(_, world)| world));
                }
            }
            further.truncate(4);
            after = further;
        }
    }
    Ok(())
}

/// Where something is found. What is stale and what depends on it are one: a memory that remembers more
/// may object to the use of a register before it looks at the access, and not to the access itself.
fn places<M: Monitor>(found: &[Noted<M::Violation>]) -> BTreeSet<Place> {
    let place = |noted: &Noted<M::Violation>| {
        let (kind, tid, pc) = exact::<M>(&noted.finding)?;
        let kind = if kind == "Dependency" { "Stale".into() } else { kind };
        Some((kind, tid, pc))
    };
    found.iter().filter_map(place).collect()
}

/// Subsumption: monitors that remember more.
fn check_subsumption<M: Monitor>(product: &Product<M>, active: &mut Active) -> Result<(), Broken> {
    let mut scratch = product.scratch();
    let core = product.layout.core_bytes;
    let mut by_core: HashMap<Vec<u8>, Vec<_>> = HashMap::new();
    for world in worlds(product, |_| true) {
        let packed = normal_form(product, &mut scratch, &world).expect("nothing is lowered");
        by_core.entry(packed[..core].to_vec()).or_default().push((packed, world));
    }
    let covers = |large: &[u8], small: &[u8]| {
        large[..core] == small[..core]
            && large[core..].iter().zip(&small[core..]).all(|(l, s)| s & !l == 0)
    };
    for group in by_core.values() {
        for (small, from) in group {
            for (large, other) in group {
                if small == large || !covers(large, small) {
                    continue;
                }
                active.note("subsume", true);
                let (next, found) = moves(product, &mut scratch, from);
                let (next_there, found_there) = moves(product, &mut scratch, other);
                let found_there = places::<M>(&found_there);
                let goes = |next: &Move<M>| {
                    next_there.iter().any(|there| covers(&there.packed, &next.packed))
                };
                let missing: Vec<_> =
                    places::<M>(&found).difference(&found_there).cloned().collect();
                if !missing.is_empty() || !next.iter().all(goes) {
                    return Err(format!(
                        "subsumption: {other:?} does less than {from:?}; not found: {missing:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The diagrams of `program` with one memory, for the plan that `explorer` carries out. Says whether the
/// memory objects to anything, if that is known.
fn check_memory<M: Monitor + Clone>(
    explorer: &Explorer<'_>,
    memory: M,
    focus: &[Loc],
    active: &mut Active,
    strict_subsumption: bool,
) -> Result<Option<bool>, Broken> {
    let (program, possible) = (&explorer.program, &explorer.possible);
    let trivial = || Symmetries::trivial(program);
    let none = Reductions::NONE;
    let stepping = Product::new(program, possible, trivial(), memory.clone(), none, &[]);
    let local = Reductions { local_steps: true, late_choices: true, ..none };
    let mut plain = Product::new(program, possible, trivial(), memory.clone(), local, &[]);
    plain.may_not_fit = true; // a window leaves no room for numbers outside
    let reduced = explorer.product(memory.clone(), focus);
    let mut objects = None;
    if !explorer.has_windows() || reduced.lowers(&explorer.counters) {
        let options = search::Options {
            stop: search::Stop::AtEnd,
            limits: Limits { states: Some(20 * STATES as u64), ..Limits::default() },
            ..search::Options::default()
        };
        let report = search::explore(&reduced, &options, &|_| {});
        let unclear = |found: &search::Found<Finding<M::Violation>>| {
            matches!(found.finding, Finding::Unclear { .. })
        };
        // A number that leaves the domain may do so only because it was made small; replay tells.
        let fault = |found: &search::Found<Finding<M::Violation>>| {
            matches!(found.finding, Finding::Fault { .. })
        };
        let leaves = !reduced.wrapped().is_empty() || report.findings.iter().any(fault);
        let is_astray = leaves && reduced.lowers_counters();
        let believed = !is_astray && !report.findings.iter().any(unclear);
        active.note("unclear", !believed);
        if believed && report.exhausted {
            let mut found = report.findings.iter();
            objects = Some(found.any(|f| matches!(f.finding, Finding::Violation { .. })));
        }
        if believed {
            check_normal_form(&reduced, &plain, active)?;
        }
    }
    if explorer.counters.is_empty() {
        check_resting(&plain, &stepping, active)?;
        check_persistent(&plain, active)?;
        if strict_subsumption {
            check_subsumption(&plain, active)?;
        }
    }
    Ok(objects)
}

/// Do only interleavings and machines with store buffers know it?
fn is_for_machines(instr: &Instr) -> bool {
    matches!(instr, Instr::BusLock | Instr::BusUnlock | Instr::LightFence(_))
}

/// One number for each plan of [`check_program`].
const PLANS: [u64; 3] = [0, 5, 6];

/// The diagrams of `program` with every memory that knows all of it, for one plan of those there are; says what was active.
fn check_program(program: &Program, which: u64) -> Result<Active, Broken> {
    let mut active = Active::default();
    let models = match program.steps().any(|(_, _, step)| is_for_machines(&step.instr)) {
        true => &[Model::Sc][..],
        false => &[Model::Rc11, Model::Sc],
    };
    for &model in models {
        let question = Question {
            model,
            extent: Extent::All,
            limits: Limits { states: Some(20_000), ..Limits::default() },
            ..Question::default()
        };
        let observe = &|_: &crate::Task, _: &search::Progress| {};
        let mut plans = plans(program, &question);
        let (bold, last) = (plans[0].clone(), plans.pop().expect("there is always one"));
        let plain = Plan { counters: Vec::new(), ..last.clone() };
        let plan = match which % 8 {
            0..=4 => bold,
            5 => last,
            _ => plain,
        };
        active.note("loop_counters", plan.more_runs);
        active.note("windows", plan.counters.iter().any(|c| c.window.is_some()));
        let explorer = Explorer::new(&plan, &question, observe);
        if explorer.unclear {
            continue;
        }
        let program = &explorer.program;
        if model == Model::Sc {
            let memory = Sc::new(program, &explorer.possible);
            check_memory(&explorer, memory, &[], &mut active, true)?;
            continue;
        }
        let rc20 = |focus: &[Loc], robustness| {
            Rc20::new(program, &explorer.possible, robustness, Track::Critical, focus)
        };
        // There is nothing to watch where nobody goes.
        let accessed: BTreeSet<Loc> = program
            .steps()
            .flat_map(|(_, _, step)| step.instr.place().into_iter().flat_map(|it| it.locations()))
            .collect();
        let all: Vec<Loc> = accessed.into_iter().collect();
        // Where a location may hold more values than a monitor has room for, there is no search either.
        let Some(observational) = rc20(&all, Robustness::Observational) else { continue };
        let (mut objects, mut objects_to_first) = (false, false);
        for loc in &all {
            let memory = rc20(&[*loc], Robustness::Plain).expect("fewer values than all have");
            if memory.watches(*loc) {
                let here = check_memory(&explorer, memory, &[*loc], &mut active, true)?;
                objects |= here == Some(true);
                // What is not known may be the case.
                let is_first = explorer.symmetries.is_first_of_orbit(*loc);
                objects_to_first |= here != Some(false) && is_first;
            }
        }
        if objects && !objects_to_first {
            return Err("symmetry: only locations that are not watched are violated".into());
        }
        // A tainted load leaves its tag empty, so cores may differ in what no longer matters.
        let has_tags = !row_layout::tags(program, Track::Critical, &all).is_empty();
        check_memory(&explorer, observational, &all, &mut active, !has_tags)?;
    }
    Ok(active)
}

/// Diagrams hold on programs that are aimed at them, and every reduction is active in a tenth.
#[test]
fn aimed_programs() {
    let counts = Mutex::new(HashMap::new());
    let seeds = aimed::each_seed("FENCEPOST_DIAGRAM_PROGRAMS", |seed| {
        let (program, text) = aimed::parsed(seed);
        // Models other than RC11 are RC11 on a program with other words.
        let program = match seed % 4 {
            0 => with_sc_orders(program, Strengthen::Synchronising),
            1 => with_sc_orders(program, Strengthen::All),
            2 => program,
            _ => program.rc20(),
        };
        match check_program(&program, seed) {
            Ok(active) => {
                let mut counts = counts.lock().expect("nobody panics while counting");
                if aimed::is_about_names(seed) && active.0.contains("names") {
                    *counts.entry("names about names").or_insert(0) += 1;
                }
                if text.starts_with(aimed::UNFOLDED) {
                    *counts.entry("automata").or_insert(0) += 1;
                    let symmetric = u64::from(active.0.contains("symmetry"));
                    *counts.entry("symmetry of automata").or_insert(0) += symmetric;
                }
                for what in active.0 {
                    *counts.entry(what).or_insert(0) += 1;
                }
            }
            Err(broken) => panic!("seed {seed}: {broken}\n{text}"),
        }
    });
    let count = seeds.end - seeds.start;
    let counts = counts.into_inner().expect("all are done");
    println!("{counts:?} of {count} programs");
    let about = seeds.filter(|seed| aimed::is_about_names(*seed)).count() as u64;
    let others = count - about;
    for reduction in
        ["symmetry", "counters", "windows", "loop_counters", "local", "choice", "por", "subsume"]
    {
        let active = counts.get(reduction).copied().unwrap_or(0);
        assert!(10 * active >= others, "{reduction} was active in {active} of {count} programs");
    }
    let active = counts.get("names about names").copied().unwrap_or(0);
    assert!(10 * active >= about, "names were exchanged in {active} of {about} programs");
    let automata = counts.get("automata").copied().unwrap_or(0);
    let active = counts.get("symmetry of automata").copied().unwrap_or(0);
    assert!(20 * automata >= count, "{automata} of {count} programs are automata");
    assert!(10 * active >= automata, "{active} of {automata} automata have symmetry");
}

/// Diagrams hold on the corpus, as far as they are looked at.
#[test]
fn corpus_programs() {
    fn find(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the corpus is there") {
            let path = entry.expect("a readable corpus").path();
            match path.extension() {
                _ if path.is_dir() && !path.ends_with("refine") => find(&path, found),
                Some(extension) if extension == "fp" => found.push(path),
                _ => {}
            }
        }
    }
    let mut files = Vec::new();
    find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut files);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Relaxed) as usize) {
                    let text = std::fs::read_to_string(file).expect("a readable corpus");
                    let source = lang::parse(&file.display().to_string(), &text);
                    let program = source.expect("a good program").program;
                    // Where premises are at stake every plan counts, and elsewhere some plan, the same in every copy of
                    // the corpus.
                    let some = [file.file_name().map_or(0, |name| name.len() as u64)];
                    let is_premise = file.parent().is_some_and(|at| at.ends_with("premises"));
                    let plans = if is_premise { &PLANS[..] } else { &some };
                    for program in [program.rc20(), program] {
                        for which in plans {
                            if let Err(broken) = check_program(&program, *which) {
                                panic!("{}: {broken}", file.display());
                            }
                        }
                        if !program.has_sc_events() {
                            break;
                        }
                    }
                }
            });
        }
    });
    assert!(files.len() > 100);
}
