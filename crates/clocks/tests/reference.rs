//! The analysis against its definition, on long random runs: the clocks of the paper's appendices A and
//! B, written down as maps that are copied and joined entry by entry, with every write remembered and no
//! number ever used twice. Where `oracle.rs` compares verdicts of small programs, this compares every
//! answer along runs of thousands of steps: threads that come and go, locations that are removed and
//! made again, locks, fences and all orders mixed. It catches a clock that loses or invents an entry when
//! it is shared, joined by its provenance only, or given to a new thread.
//!
//! `FENCEPOST_REFERENCE_RUNS` sets how many runs are made; a failure prints the seed and the step.

extern crate fencepost_clocks as clocks;

use clocks::access::{Done, Intent};
use clocks::sets::Sets;
use clocks::shadow::{Cell, Epoch, Me};
use clocks::{Analysis, Loc, Object, Order, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// For every location: how many writes, and how many stores that are no read-modify-writes.
type Clock = BTreeMap<usize, (usize, usize)>;
/// For every thread: up to which epoch.
type Vector = BTreeMap<usize, u64>;

fn join<K: Ord + Copy, V: Copy + Default>(
    mine: &mut BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
    max: impl Fn(V, V) -> V,
) {
    for (&key, &theirs) in theirs {
        let mine = mine.entry(key).or_default();
        *mine = max(*mine, theirs);
    }
}

fn join_clock(mine: &mut Clock, theirs: &Clock) {
    join(mine, theirs, |a: (usize, usize), b| (a.0.max(b.0), a.1.max(b.1)));
}

fn join_vector(mine: &mut Vector, theirs: &Vector) {
    join(mine, theirs, |a, b| a.max(b));
}

#[derive(Clone, Default)]
struct Thread {
    sc: Clock,
    current: Clock,
    acquire: Clock,
    release: Clock,
    vector: Vector,
    vector_acquire: Vector,
    vector_release: Vector,
}

#[derive(Clone, Default)]
struct Location {
    written: Clock,
    accessed: Clock,
    view: Clock,
    published: Vector,
    /// Values and whether they were written by read-modify-writes, the initial one first.
    writes: Vec<(u64, bool)>,
}

#[derive(Clone, Default)]
struct Synchroniser {
    sc: Clock,
    view: Clock,
    vector: Vector,
}

/// The reference. Location 0 is that of the fences.
#[derive(Default)]
struct Reference {
    threads: Vec<Thread>,
    locations: Vec<Location>,
    objects: Vec<Synchroniser>,
    /// Per plain location: thread, epoch, is it a write?
    plain: Vec<BTreeSet<(usize, u64, bool)>>,
}

impl Reference {
    fn location(&mut self, value: u64) -> usize {
        self.locations.push(Location { writes: vec![(value, false)], ..Location::default() });
        self.locations.len() - 1
    }

    fn next_epoch(&mut self, t: usize) {
        *self.threads[t].vector.entry(t).or_default() += 1;
    }

    fn start(&mut self, parent: Option<usize>) -> usize {
        let mut child = Thread::default();
        if let Some(parent) = parent {
            let parent = &self.threads[parent];
            child.sc = parent.sc.clone();
            child.current = parent.current.clone();
            child.acquire = parent.current.clone();
            child.vector = parent.vector.clone();
        }
        self.threads.push(child);
        let t = self.threads.len() - 1;
        self.next_epoch(t);
        if let Some(parent) = parent {
            self.next_epoch(parent);
        }
        t
    }

    fn join(&mut self, t: usize, child: usize) {
        let ended = self.threads[child].clone();
        let thread = &mut self.threads[t];
        join_clock(&mut thread.sc, &ended.sc);
        join_clock(&mut thread.current, &ended.current);
        join_clock(&mut thread.acquire, &ended.current);
        join_vector(&mut thread.vector, &ended.vector);
    }

    /// Which values may be read stale, the newest first, and may the access overtake a write?
    fn arrive(&self, t: usize, x: usize, order: Order, intent: Intent) -> Option<(Vec<u64>, bool)> {
        let entry = |clock: &Clock| clock.get(&x).copied().unwrap_or_default();
        let (required, mut known) = (entry(&self.threads[t].sc), entry(&self.threads[t].current));
        if order == Order::SeqCst {
            let fence = entry(&self.locations[0].view);
            known = (known.0.max(fence.0), known.1.max(fence.1));
        }
        let (mut values, mut overtakes) = (Vec::new(), false);
        for n in known.0..required.0 {
            let (value, next_is_update) =
                (self.locations[x].writes[n].0, self.locations[x].writes[n + 1].1);
            let readable = match intent {
                Intent::Load | Intent::WeakCas(_) => true,
                Intent::Wait(wanted) => value == wanted,
                Intent::StrongCas(wanted) => value != wanted,
                Intent::Write | Intent::BlockingCas(_) => false,
            };
            let replaceable = match intent {
                Intent::Load | Intent::Wait(_) => false,
                Intent::Write => true,
                Intent::WeakCas(wanted)
                | Intent::StrongCas(wanted)
                | Intent::BlockingCas(wanted) => value == wanted,
            };
            if readable {
                values.retain(|&other| other != value);
                values.push(value);
            }
            overtakes |= replaceable && !next_is_update;
        }
        if let Intent::Write = intent {
            assert_eq!(overtakes, known.1 < required.1, "what the paper's RMW clocks say");
        }
        values.reverse();
        values.sort_unstable();
        (overtakes || !values.is_empty()).then_some((values, overtakes))
    }

    fn perform(&mut self, t: usize, x: usize, order: Order, done: Done) {
        let (value, reads, is_update) = match done {
            Done::Read => (None, true, false),
            Done::Store(value) => (Some(value), false, false),
            Done::Update(value) => (Some(value), true, true),
        };
        let location = &mut self.locations[x];
        let thread = &mut self.threads[t];
        if let Some(value) = value {
            location.writes.push((value, is_update));
        }
        let stores = location.writes[1..].iter().filter(|(_, is_update)| !is_update).count();
        let stamp = (location.writes.len() - 1, stores);

        if value.is_some() {
            join_clock(&mut thread.sc, &location.accessed);
            thread.sc.insert(x, stamp);
            location.accessed = thread.sc.clone();
            location.written = thread.sc.clone();
        } else {
            join_clock(&mut thread.sc, &location.written);
            join_clock(&mut location.accessed, &thread.sc);
        }

        thread.current.insert(x, stamp);
        thread.acquire.insert(x, stamp);
        if reads {
            join_clock(&mut thread.acquire, &location.view);
            join_vector(&mut thread.vector_acquire, &location.published);
            if order.acquires() {
                join_clock(&mut thread.current, &location.view);
                join_vector(&mut thread.vector, &location.published);
            }
        }
        let (view, vector) = match order.releases() {
            true => (thread.current.clone(), thread.vector.clone()),
            false => (thread.release.clone(), thread.vector_release.clone()),
        };
        match done {
            Done::Read => {}
            Done::Store(_) => (location.view, location.published) = (view, vector),
            Done::Update(_) => {
                join_clock(&mut location.view, &view);
                join_vector(&mut location.published, &vector);
            }
        }
        if value.is_some() {
            location.view.insert(x, stamp);
            if order.releases() {
                self.next_epoch(t);
            }
            if order == Order::SeqCst {
                self.locations[0].view.insert(x, stamp);
            }
        }
    }

    fn fence(&mut self, t: usize, order: Order) {
        if order.acquires() {
            let thread = &mut self.threads[t];
            thread.current = thread.acquire.clone();
            let news = thread.vector_acquire.clone();
            join_vector(&mut thread.vector, &news);
        }
        if order == Order::SeqCst {
            self.perform(t, 0, Order::AcqRel, Done::Update(0));
        }
        if order.releases() {
            let thread = &mut self.threads[t];
            thread.release = thread.current.clone();
            thread.vector_release = thread.vector.clone();
            self.next_epoch(t);
        }
    }

    fn release(&mut self, t: usize, object: usize) {
        let (thread, object) = (&self.threads[t], &mut self.objects[object]);
        join_clock(&mut object.sc, &thread.sc);
        join_clock(&mut object.view, &thread.current);
        join_vector(&mut object.vector, &thread.vector);
        self.next_epoch(t);
    }

    fn acquire(&mut self, t: usize, object: usize) {
        let (thread, object) = (&mut self.threads[t], &self.objects[object]);
        join_clock(&mut thread.sc, &object.sc);
        join_clock(&mut thread.current, &object.view);
        join_clock(&mut thread.acquire, &object.view);
        join_vector(&mut thread.vector, &object.vector);
    }

    fn plain(&mut self, t: usize, n: usize, is_write: bool) -> bool {
        let vector = &self.threads[t].vector;
        let races = self.plain[n].iter().any(|&(other, epoch, wrote)| {
            (is_write || wrote) && other != t && epoch > vector.get(&other).copied().unwrap_or(0)
        });
        let epoch = vector[&t];
        self.plain[n].insert((t, epoch, is_write));
        races
    }
}

/// A thread in both worlds.
#[derive(Clone, Copy)]
struct Pair {
    real: Tid,
    reference: usize,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What kinds of steps a run consists of.
struct Family {
    orders: &'static [Order],
    fences: &'static [Order],
    locations: usize,
    threads: usize,
    /// In how many of a hundred steps a thread starts or ends.
    turnover: usize,
}

const ALL: &[Order] =
    &[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
const WEAK: &[Order] = &[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel];
const RELAXED: &[Order] = &[Order::Relaxed];
const FENCES: &[Order] = &[Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
const FULL: &[Order] = &[Order::SeqCst];

const FAMILIES: &[Family] = &[
    Family { orders: WEAK, fences: FENCES, locations: 3, threads: 3, turnover: 0 },
    Family { orders: RELAXED, fences: FULL, locations: 2, threads: 3, turnover: 0 },
    Family { orders: RELAXED, fences: FENCES, locations: 4, threads: 4, turnover: 2 },
    Family { orders: ALL, fences: FENCES, locations: 3, threads: 4, turnover: 2 },
    Family { orders: WEAK, fences: FENCES, locations: 40, threads: 5, turnover: 10 },
    Family { orders: ALL, fences: FENCES, locations: 2, threads: 12, turnover: 4 },
];

fn run(seed: u64, family: &Family, steps: usize) -> Result<Counts, String> {
    let mut random = Random(seed);
    let mut real = Analysis::new(usize::MAX).without_prediction();
    let mut reference = Reference::default();
    reference.location(0);
    let mut counts = Counts::default();
    let mut threads = vec![Pair { real: real.start(None), reference: reference.start(None) }];
    let mut locations: Vec<(Loc, usize)> =
        (0..family.locations).map(|_| (real.location(0), reference.location(0))).collect();
    let objects: Vec<(Object, usize)> = (0..2).map(|n| (real.object(), n)).collect();
    reference.objects = vec![Synchroniser::default(); 2];
    reference.plain = vec![BTreeSet::new(); 3];
    let (cells, sets) = (vec![Cell::default(); 3], Sets::default());
    for step in 0..steps {
        let pair = random.pick(&threads);
        let (t, u) = (pair.real, pair.reference);
        if threads.len() < family.threads
            && (family.turnover == 0 || random.below(100) < family.turnover)
        {
            threads.push(Pair { real: real.start(Some(t)), reference: reference.start(Some(u)) });
            continue;
        }
        if threads.len() > 1 && random.below(200) < family.turnover {
            let child = threads.swap_remove(random.below(threads.len()));
            if threads.iter().any(|thread| thread.real == t) && random.below(3) > 0 {
                real.join(t, child.real);
                reference.join(u, child.reference);
            } else {
                real.retire(child.real);
            }
            continue;
        }
        match random.below(16) {
            0 | 1 => {
                let order = random.pick(family.fences);
                real.fence(t, order);
                reference.fence(u, order);
            }
            2 if random.below(4) == 0 => {
                let (object, of_reference) = random.pick(&objects);
                if random.below(2) == 0 {
                    real.release(t, object);
                    reference.release(u, of_reference);
                } else {
                    real.acquire(t, object);
                    reference.acquire(u, of_reference);
                }
            }
            3 if random.below(10) == 0 => {
                let n = random.below(locations.len());
                real.remove(locations[n].0);
                locations[n] = (real.location(0), reference.location(0));
            }
            4 => {
                let (n, is_write) = (random.below(cells.len()), random.below(3) == 0);
                let clock = real.vector(t);
                let me = Me { epoch: Epoch::new(t, clock.get(t as usize)), clock };
                let found = match is_write {
                    true => cells[n].write(&me, 0xff, &sets),
                    false => cells[n].read(&me, 0xff, &sets),
                };
                let expected = reference.plain(u, n, is_write);
                if found.is_some() != expected {
                    return Err(format!("step {step}: {found:?}, but a race: {expected}"));
                }
                counts.races += usize::from(expected);
                if expected {
                    // What is compared next is not the same race once more.
                    cells[n].clear(&sets);
                    reference.plain[n].clear();
                }
            }
            _ => {
                let ((loc, x), order) = (random.pick(&locations), random.pick(family.orders));
                let (value, wanted) = (random.below(3) as u64, random.below(3) as u64);
                let newest = reference.locations[x].writes.last().map_or(0, |write| write.0);
                let swapped = if newest == wanted { Done::Update(value) } else { Done::Read };
                let (intent, done) = match random.below(9) {
                    0..3 => (Intent::Load, Done::Read),
                    3..5 => (Intent::Write, Done::Store(value)),
                    5 => (Intent::Write, Done::Update(value)),
                    6 => (Intent::StrongCas(wanted), swapped),
                    7 => (Intent::WeakCas(wanted), swapped),
                    _ if newest == wanted => (Intent::Wait(wanted), Done::Read),
                    _ => (Intent::BlockingCas(newest), Done::Update(value)),
                };
                let found = real.arrive(t, loc, order, intent).map(|stale| {
                    let mut values = stale.values;
                    values.sort_unstable();
                    (values, stale.overtakes)
                });
                let expected = reference.arrive(u, x, order, intent);
                if found != expected {
                    return Err(format!(
                        "step {step}: thread {t}, location {loc}, {order:?} {intent:?}: {found:?}, expected {expected:?}"
                    ));
                }
                counts.stale += usize::from(expected.is_some());
                counts.accesses += 1;
                if intent == Intent::Load && real.repeats(t, loc, order) {
                    counts.repeated += 1;
                } else {
                    real.perform(t, loc, order, done, 1);
                }
                reference.perform(u, x, order, done);
            }
        }
    }
    Ok(counts)
}

#[derive(Default)]
struct Counts {
    accesses: usize,
    stale: usize,
    races: usize,
    repeated: usize,
}

#[test]
fn every_answer_is_that_of_the_definition() {
    let asked = std::env::var("FENCEPOST_REFERENCE_RUNS").ok();
    let runs = asked.and_then(|count| count.parse().ok()).unwrap_or(200);
    for (number, family) in FAMILIES.iter().enumerate() {
        let mut sum = Counts::default();
        for seed in 0..runs {
            match run(seed, family, 1000) {
                Ok(counts) => {
                    sum.accesses += counts.accesses;
                    sum.stale += counts.stale;
                    sum.races += counts.races;
                    sum.repeated += counts.repeated;
                }
                Err(error) => panic!("family {number}, seed {seed}, {error}"),
            }
        }
        let Counts { accesses, stale, races, repeated } = sum;
        assert!(repeated > 0, "some loads are repeated");
        println!("family {number}: {accesses} accesses, {stale} may be stale, {races} races");
        assert!(stale * 200 > accesses && stale * 10 < accesses * 9, "both answers are common");
        assert!(races > 0, "some runs have races");
    }
}

/// Coherence: a thread that read a write knows of it, whatever it passes afterwards. By hand: `b` reads
/// write 1 of x, and its second load is after its first in program order, so no consistent execution lets
/// it read the initial value. The clock of x has nothing but what `a` knew at its fence, and so has less to
/// offer than the fences of `a` and `c` together; whoever takes the latter instead must not lose write 1.
#[test]
fn a_fence_does_not_take_away_what_was_read() {
    for order in [Order::Relaxed, Order::Acquire] {
        let mut analysis = Analysis::default();
        let [a, b, c] = [(); 3].map(|()| analysis.start(None));
        let x = analysis.location(0);
        analysis.fence(a, Order::SeqCst);
        analysis.perform(a, x, Order::Relaxed, Done::Store(1), 1);
        analysis.fence(c, Order::SeqCst);
        analysis.perform(b, x, order, Done::Read, 2);
        analysis.fence(b, Order::SeqCst);
        assert_eq!(analysis.arrive(b, x, order, Intent::Load), None, "{order:?}");
    }
}
