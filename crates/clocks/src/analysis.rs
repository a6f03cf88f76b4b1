//! The analysis of one run: accesses in the order in which they happened, findings out.
//!
//! The algorithm is that of appendices A and B of the PLDI 2025 paper (see the crate documentation), in
//! three parts that know nothing of each other's kind: [`Thread`], [`Location`] and [`Fences`]. An
//! [`Analysis`] has all of a run, by number, and is told of one event after the other. A runtime whose
//! threads work side by side has the same parts under locks of their own.
//!
//! Deviations from the text, each of them tested:
//! * The text lets a relaxed write forget its own number when it publishes the release view, and
//!   coherence is lost (`pub[x ↦ ts]` is right). Here the number of a location's last write is no part
//!   of its `view`: whoever accesses the location learns it from the location itself.
//! * One stamp carries both timestamps, see [`Stamp`](crate::knowledge::Stamp); value clocks are read off the
//!   [`History`](crate::history::History).
//! * Sequentially consistent *accesses*, which the model lacks: their total order S is taken to be the
//!   order of the run. A seq_cst write tells the fence location its own number, and a seq_cst access
//!   counts what the fence location knows of its own location as known. So programs that only use
//!   seq_cst accesses or fences are never blamed. A program that mixes them with weaker ones may be
//!   blamed in one run and not in another.
//! * A load that may be stale and could have read the *same value* from an older write does not
//!   synchronise with the newest: the run is then one of weak memory as well, value for value, and the
//!   races it shows are real. This is how the race in the critical section of a broken Dekker lock is
//!   found, which no run under sequential consistency has.
//! * Locks, thread creation and the like are edges in both orders ([`Object`]).

use crate::access::{Done, Doubt, Intent, Stale};
use crate::history::Limit;
use crate::location::{Location, Settings};
use crate::order::Order;
use crate::thread::{Fences, Population, Synchroniser, Thread};
use crate::vector::Vector;
use crate::{Loc, Object, Site, Tid};

/// What is known of the threads' clocks and the locations'.
#[derive(Clone, Debug)]
pub struct Analysis {
    population: Population,
    threads: Vec<Option<Thread>>,
    fences: Fences,
    locations: Vec<Location>,
    location_numbers: Numbers,
    objects: Vec<Synchroniser>,
    object_numbers: Numbers,
    settings: Settings,
}

/// Gives out numbers, those that were given back first.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    count: u32,
    free: Vec<u32>,
}

impl Numbers {
    /// From this number on.
    pub fn from(first: u32) -> Numbers {
        Numbers { count: first, free: Vec::new() }
    }

    /// A number that nobody has.
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }

    /// Nobody has this number any more.
    pub fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl Default for Analysis {
    fn default() -> Self {
        Analysis::new(8)
    }
}

impl Analysis {
    /// An analysis that remembers the last `limit` writes of each location.
    pub fn new(limit: usize) -> Self {
        Analysis {
            population: Population::default(),
            threads: Vec::new(),
            fences: Fences::default(),
            locations: vec![Location::default()],
            location_numbers: Numbers::from(1),
            objects: Vec::new(),
            object_numbers: Numbers::default(),
            settings: Settings { limit: Limit::new(limit), predict: true },
        }
    }

    /// The same, but every load synchronises with the write it read from in this very run.
    pub fn without_prediction(mut self) -> Self {
        self.settings.predict = false;
        self
    }

    // Threads

    /// A new thread, started by `parent`.
    pub fn start(&mut self, parent: Option<Tid>) -> Tid {
        let parent = parent.and_then(|parent| self.threads[parent as usize].as_mut());
        let thread = self.population.start(parent);
        let tid = thread.tid();
        self.threads.resize(self.threads.len().max(tid as usize + 1), None);
        self.threads[tid as usize] = Some(thread);
        tid
    }

    /// `tid` has waited for the end of `child`, whose number may now be used again.
    pub fn join(&mut self, tid: Tid, child: Tid) {
        if let Some(ended) = self.threads[child as usize].take() {
            self.thread(tid).join(&ended);
            self.population.end(ended);
        }
    }

    /// `tid` has ended and nobody waits for it; its number may be used again.
    pub fn retire(&mut self, tid: Tid) {
        if let Some(ended) = self.threads[tid as usize].take() {
            self.population.end(ended);
        }
    }

    /// Is there a thread with this number?
    pub fn has_thread(&self, tid: Tid) -> bool {
        self.threads.get(tid as usize).is_some_and(Option::is_some)
    }

    /// Is there a number for one more thread?
    pub fn has_room(&self) -> bool {
        self.population.has_room()
    }

    /// Is there an object with this number?
    pub fn has_object(&self, object: Object) -> bool {
        (object as usize) < self.objects.len()
    }

    fn thread(&mut self, tid: Tid) -> &mut Thread {
        self.threads[tid as usize].as_mut().expect("the thread has not ended")
    }

    fn the_thread(&self, tid: Tid) -> &Thread {
        self.threads[tid as usize].as_ref().expect("the thread has not ended")
    }

    /// The thread's vector clock.
    pub fn vector(&self, tid: Tid) -> &Vector {
        self.the_thread(tid).vector()
    }

    /// The last load of the thread, if any, that might not have synchronised.
    pub fn doubt(&self, tid: Tid) -> Option<Doubt> {
        self.the_thread(tid).doubt()
    }

    // Locations

    /// A new atomic location with this value.
    pub fn location(&mut self, value: u64) -> Loc {
        let loc = self.location_numbers.take();
        let index = loc as usize;
        self.locations.resize(self.locations.len().max(index + 1), Location::default());
        self.locations[index] = Location::new(value);
        loc
    }

    /// The location came to hold `value` by means nobody saw. All that was known of it is forgotten.
    pub fn reset(&mut self, loc: Loc, value: u64) {
        self.locations[loc as usize].reset(value);
    }

    /// The location is no more; its number may be used again.
    pub fn remove(&mut self, loc: Loc) {
        self.locations[loc as usize].clear();
        self.location_numbers.give_back(loc);
    }

    /// What may be wrong with what `tid` is about to do.
    pub fn arrive(&self, tid: Tid, loc: Loc, order: Order, intent: Intent) -> Option<Stale> {
        let fences = (order == Order::SeqCst).then_some(&self.fences);
        self.locations[loc as usize].arrive(self.the_thread(tid), fences, intent, |_| true)
    }

    /// Is this a load that could as well not have happened?
    pub fn repeats(&self, tid: Tid, loc: Loc, order: Order) -> bool {
        self.locations[loc as usize].repeats(self.the_thread(tid), order)
    }

    /// `tid` accessed an atomic location.
    pub fn perform(&mut self, tid: Tid, loc: Loc, order: Order, done: Done, site: Site) {
        let fences = (order == Order::SeqCst).then_some(&mut self.fences);
        let thread = self.threads[tid as usize].as_mut().expect("the thread has not ended");
        let location = &mut self.locations[loc as usize];
        location.perform(thread, fences, order, done, site, self.settings);
    }

    /// `tid` passed a fence.
    pub fn fence(&mut self, tid: Tid, order: Order) {
        let fences = (order == Order::SeqCst).then_some(&mut self.fences);
        let thread = self.threads[tid as usize].as_mut().expect("the thread has not ended");
        thread.fence(order, fences);
    }

    /// `tid` updated what seq_cst fences update, and passed no fence.
    pub fn exchange(&mut self, tid: Tid) {
        let thread = self.threads[tid as usize].as_mut().expect("the thread has not ended");
        thread.exchange(&mut self.fences);
    }

    /// Another thread's atomic access to the location that races with a plain one by `tid`: by whom,
    /// does it write, and where.
    pub fn atomic_race(&self, tid: Tid, loc: Loc, is_write: bool) -> Option<(Tid, bool, Site)> {
        self.locations[loc as usize].race(self.the_thread(tid), is_write)
    }

    // What synchronises without being an atomic location

    /// A new object.
    pub fn object(&mut self) -> Object {
        let object = self.object_numbers.take();
        let index = object as usize;
        self.objects.resize(self.objects.len().max(index + 1), Synchroniser::default());
        object
    }

    /// The object is no more; its number may be used again.
    pub fn remove_object(&mut self, object: Object) {
        self.objects[object as usize] = Synchroniser::default();
        self.object_numbers.give_back(object);
    }

    /// Who acquires the object learns what was published at the location, too.
    pub fn publish(&mut self, loc: Loc, object: Object) {
        self.locations[loc as usize].publish_to(&mut self.objects[object as usize]);
    }

    /// What `tid` did so far comes before whatever a thread does after it acquires the object.
    pub fn release(&mut self, tid: Tid, object: Object) {
        let thread = self.threads[tid as usize].as_mut().expect("the thread has not ended");
        thread.release(&mut self.objects[object as usize]);
    }

    /// What `tid` does from now on comes after whatever was released to the object.
    pub fn acquire(&mut self, tid: Tid, object: Object) {
        let thread = self.threads[tid as usize].as_mut().expect("the thread has not ended");
        thread.acquire(&mut self.objects[object as usize]);
    }
}
