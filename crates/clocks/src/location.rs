//! What an atomic location knows, and what an access to it may do wrong, shows and tells.
//!
//! Per location: `written`, `accessed` (`W_SC`, `M_SC`) and `view` (`W`), as columns of its `Rows`; the
//! last writes; and per thread, what its accesses showed it, and when it came last, which `accessed` learns of with the next write. A violation: the thread's `current` is behind
//! its `sc` at the location that it is about to access. It need not happen in this run: the clocks of a
//! thread are not moved by what others do later, so one run stands for many.
//!
//! [`Location::arrive`] and [`Location::perform`] touch the location, the thread that accesses it and, for
//! seq_cst accesses, [`Fences`]; nothing else. Whoever calls them for one location at a time, in the order
//! in which its accesses happened, and for one thread at a time, in program order, gets what one analysis of
//! all accesses in *any* order with these two properties says: steps that share neither thread nor location
//! commute. That is why a runtime needs a lock per location only.
//!
//! Most accesses teach nobody anything. Three of them are recognised: a load that is *repeated*
//! ([`Location::repeats`]) need not be told at all; a load of what the thread saw last, or a write by who
//! wrote last, when the thread has learned nothing from others in between, changes nothing but the
//! thread's own row.

use crate::access::{Done, Doubt, Intent, Missed, Stale};
use crate::history::{History, Limit, Write, join_into};
use crate::knowledge::{Doubtful, Seen, Stamp};
use crate::order::Order;
use crate::thread::{Fences, Row, Rows, Synchroniser, Thread};
use crate::visitors::{Guests, Visitor, Visitors};
use crate::{Site, Tid};

/// What is the same for all locations.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many writes each location remembers.
    pub limit: Limit,
    /// Does a load that might have read an older write with the same value not synchronise?
    pub predict: bool,
}

/// An atomic location.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Location {
    stamp: Stamp,
    /// What the newest write wrote.
    value: u64,
    /// Who wrote last.
    last: Last,
    /// Writes up to this one are as good as initial: everybody knows them.
    base: Stamp,
    guests: Guests,
    rows: Rows,
    history: History,
    /// What seq_cst writes showed to the order S.
    order: Option<Box<Seen>>,
    visitors: Visitors,
}

/// The last write. After it, the rows are those of its thread, which had last learned something then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Last {
    learned: u64,
    tid: Tid,
    order: Order,
    is_update: bool,
    /// Did nobody else access the location since?
    untouched: bool,
}

impl Last {
    /// A write by this thread, before anybody else comes.
    #[inline(always)]
    fn by(thread: &Thread, order: Order, is_update: bool) -> Last {
        Last { learned: thread.learned, tid: thread.tid, order, is_update, untouched: true }
    }
}

/// What a write does.
#[derive(Clone, Copy)]
struct Change {
    value: u64,
    order: Order,
    site: Site,
    is_update: bool,
}

impl Location {
    /// A location that holds this value.
    pub fn new(value: u64) -> Location {
        let mut location = Location::default();
        location.reset(value);
        location
    }

    /// A location that holds this value and whose writes are numbered from here on.
    pub fn numbered_from(stamp: Stamp, value: u64) -> Location {
        let mut location = Location { stamp, ..Location::default() };
        if location.is_worn_out() {
            location.stamp = Stamp::INITIAL;
        }
        location.reset(value);
        location
    }

    /// What was published here comes before what is done by whoever acquires the object.
    pub fn publish_to(&mut self, object: &mut Synchroniser) {
        object.include(&mut self.rows);
    }

    /// It came to hold `value` by means nobody saw. All that was known of it is forgotten.
    pub fn reset(&mut self, value: u64) {
        self.forget();
        (self.base, self.value) = (self.stamp, value);
        self.history.begin(self.stamp.position(), value);
    }

    /// It is no more.
    pub fn clear(&mut self) {
        *self = Location::default();
    }

    fn forget(&mut self) {
        self.last = Last::default();
        self.rows = Rows::default();
        self.history = History::default();
        (self.guests, self.visitors) = (Guests::default(), Visitors::default());
        self.order = None;
    }

    /// The value it is believed to hold.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Changes with every write.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Did anyone write it since it is known, or since its last reset?
    pub fn was_written(&self) -> bool {
        self.stamp > self.base
    }

    /// Has it run out of numbers for its writes?
    #[inline]
    pub fn is_worn_out(&self) -> bool {
        self.stamp.position() == Stamp::LAST
    }

    /// What may be wrong with what the thread is about to do. `fences` is for seq_cst accesses. Who does not care
    /// about missing the write made at some place says so, and is told nothing of it.
    #[inline]
    pub fn arrive(
        &self,
        thread: &Thread,
        fences: Option<&Fences>,
        intent: Intent,
        cares: impl FnOnce(Site) -> bool,
    ) -> Option<Stale> {
        if self.is_newest_known(thread) || thread.knows_what_it_must() {
            return None;
        }
        let missed =
            |required: Stamp| self.history.at(required.position()).map_or(0, |write| write.site);
        let (known, required) = self.window(thread, fences, |required| cares(missed(required)))?;
        let behind = intent != Intent::Write || known.stores() < required.stores();
        if behind { self.stale(known, required, intent) } else { None }
    }

    /// Does the thread know of the newest write, because it knows who made it up to then? Nothing that it does to the
    /// location can be stale then.
    #[inline]
    pub fn is_newest_known(&self, thread: &Thread) -> bool {
        thread.current.threads.get(self.last.tid as usize) >= self.rows.written(self.last.tid)
    }

    /// The last write that the thread knows of and the last that it must have come after, if the first is older.
    ///
    /// Both are the newest among what visitors saw, up to what the thread knows of each of them and up to what it must
    /// have come after. Where it knows of all that it must of a visitor, what that one adds to the second is not newer
    /// than what it adds to the first, so it need not be asked for the second; and the first need not be known any
    /// better than to be as new as the second, or at all by who does not care about missing the second.
    fn window(
        &self,
        thread: &Thread,
        fences: Option<&Fences>,
        cares: impl FnOnce(Stamp) -> bool,
    ) -> Option<(Stamp, Stamp)> {
        let mut required = self.base;
        for Visitor { seen, .. } in self.visitors.iter(&self.guests) {
            let must = thread.sc.get(seen.whose as usize);
            if must > thread.current.threads.get(seen.whose as usize) {
                required = required.max(seen.up_to(must, Doubtful::Least));
            }
        }
        let mut known = self.base;
        if known >= required || !cares(required) {
            return None;
        }
        if let Some(seen) = &self.order {
            let included = if fences.is_some() { u64::MAX } else { thread.current.order };
            known = known.max(seen.up_to(included, Doubtful::Most));
        }
        for Visitor { seen, .. } in self.visitors.iter(&self.guests) {
            if known >= required {
                return None;
            }
            let mut included = thread.current.threads.get(seen.whose as usize);
            if let Some(fences) = fences {
                included = included.max(fences.rows.view(seen.whose));
            }
            known = known.max(seen.up_to(included, Doubtful::Most));
        }
        (known < required).then_some((known, required))
    }

    #[cold]
    fn stale(&self, known: Stamp, required: Stamp, intent: Intent) -> Option<Stale> {
        let (known, required) = (known.position(), required.position());
        let missed = self.history.at(required).map(|write| Missed {
            site: write.site,
            thread: write.thread,
            value: write.value,
            order: write.order,
            is_update: write.is_update,
        });
        let forgotten = !self.history.reaches(known);
        let mut stale = Stale { missed, values: Vec::new(), overtakes: false, forgotten };
        for (write, next) in self.history.between(known, required) {
            let readable = match intent {
                Intent::Load | Intent::WeakCas(_) => true,
                Intent::Wait(value) => write.value == value,
                Intent::StrongCas(value) => write.value != value,
                Intent::Write | Intent::BlockingCas(_) => false,
            };
            if readable && !stale.values.contains(&write.value) {
                stale.values.insert(0, write.value);
            }
            let replaced = match intent {
                Intent::WeakCas(value) | Intent::StrongCas(value) | Intent::BlockingCas(value) => {
                    write.value == value
                }
                Intent::Write => true,
                Intent::Load | Intent::Wait(_) => false,
            };
            stale.overtakes |= replaced && !next.is_update;
        }
        let certain = !stale.values.is_empty() || stale.overtakes;
        let possible = match intent {
            Intent::Wait(_) | Intent::BlockingCas(_) => certain,
            _ => certain || forgotten,
        };
        possible.then_some(stale)
    }

    /// Would a load show the thread nothing, and tell others nothing? Then there is nothing to ask, and it is
    /// done. That is so as long as the location's [`stamp`](Location::stamp) and the thread's
    /// [`time`](Thread::time) stay what they are.
    #[inline]
    pub fn repeats(&self, thread: &Thread, order: Order) -> bool {
        self.visitors.of(&self.guests, thread.tid).is_some_and(|visitor| {
            visitor.time == thread.time
                && visitor.seen.is_newest(self.stamp)
                && (visitor.seen.acquired || !order.acquires())
        })
    }

    /// The thread accessed the location. `fences` is for seq_cst accesses. A load that follows
    /// [`repeats`](Location::repeats); says whether one that acquires does, too.
    #[inline]
    pub fn perform(
        &mut self,
        thread: &mut Thread,
        fences: Option<&mut Fences>,
        order: Order,
        done: Done,
        site: Site,
        settings: Settings,
    ) -> bool {
        if done == Done::Read && self.reread(thread, order, site) {
            return self
                .visitors
                .of(&self.guests, thread.tid)
                .is_some_and(|visitor| visitor.seen.acquired);
        }
        let me = self.visitors.number(&mut self.guests, thread.tid);
        match done {
            Done::Read => self.read(thread, fences.as_deref(), order, site, me, settings),
            Done::Store(value) | Done::Update(value) => {
                let is_update = matches!(done, Done::Update(_));
                let change = Change { value, order, site, is_update };
                self.write(thread, fences, change, me, settings);
            }
        }
        let visitor = self.visitors.at(me);
        visitor.time = thread.time;
        visitor.seen.acquired
    }

    /// Performs a load of what the thread saw last, if it learned nothing from others in between. All that
    /// changes is its own row. Nothing can be wrong with it.
    #[inline(always)]
    pub fn reread(&mut self, thread: &Thread, order: Order, site: Site) -> bool {
        let me = self.visitors.number(&mut self.guests, thread.tid);
        let visitor = self.visitors.at(me);
        if !visitor.seen.is_newest(self.stamp)
            || visitor.time < thread.learned
            || order.acquires() && !visitor.seen.acquired
        {
            return false;
        }
        visitor.touched.read = thread.vector.get(thread.index());
        visitor.touched.read_at = site;
        // The thread's row says so where somebody else writes next; until then, it is this thread's own business.
        visitor.time = thread.time;
        if self.last.untouched && self.last.tid != thread.tid {
            self.last.untouched = false;
        }
        true
    }

    fn read(
        &mut self,
        thread: &mut Thread,
        fences: Option<&Fences>,
        order: Order,
        site: Site,
        me: usize,
        settings: Settings,
    ) {
        if self.last.untouched && self.last.tid != thread.tid {
            self.last.untouched = false;
        }
        let visitor = self.visitors.at(me);
        let epoch = thread.vector.get(thread.index());
        let up_to_date = visitor.seen.is_newest(self.stamp);
        let doubtful = settings.predict && order.acquires() && !up_to_date;
        let doubt = match doubtful && !self.is_newest_known(thread) {
            true => self.unsynchronised(thread, fences, site),
            false => None,
        };
        if !up_to_date {
            thread.step();
        }
        let mut learned = false;
        self.rows.each(thread, |thread, index, row| {
            let sc = thread.sc.raise(index, row.written, &mut learned);
            thread.acquire.threads.raise(index, row.view, &mut learned);
            if order.acquires() {
                thread.current.threads.raise(index, row.view, &mut learned);
                if doubt.is_none() {
                    thread.vector.raise(index, row.published, &mut learned);
                }
            } else {
                thread.vector_acquire.raise(index, row.published, &mut learned);
            }
            if row.accessed < sc {
                row.accessed = sc;
            }
        });
        self.learn_order(thread, order, &mut learned);
        let visitor = self.visitors.at(me);
        visitor.seen.acquired = order.acquires() && doubt.is_none();
        if let Some((published, doubt)) = doubt {
            join_into(&published, &mut thread.vector);
            thread.doubt = Some(doubt);
            learned = true;
        }
        if learned && up_to_date {
            // Who writes next comes after what was learned just now.
            self.rows.row(thread.index()).accessed = thread.step();
        }
        thread.learn(learned);
        visitor.seen.show(thread.time, self.stamp, settings.limit);
        (visitor.touched.read, visitor.touched.read_at) = (epoch, site);
    }

    #[inline]
    fn learn_order(&self, thread: &mut Thread, order: Order, learned: &mut bool) {
        if self.rows.order > thread.acquire.order {
            *learned = true;
            thread.acquire.order = self.rows.order;
        }
        if order.acquires() && self.rows.order > thread.current.order {
            *learned = true;
            thread.current.order = self.rows.order;
        }
    }

    fn write(
        &mut self,
        thread: &mut Thread,
        fences: Option<&mut Fences>,
        change: Change,
        me: usize,
        settings: Settings,
    ) {
        let Change { order, is_update, .. } = change;
        self.stamp = self.stamp.next(is_update);
        thread.step();
        let last = Last::by(thread, order, is_update);
        if self.last == last || is_update && self.last == (Last { is_update: false, ..last }) {
            self.rewrite(thread, order, is_update);
        } else {
            self.meet(thread, order, is_update);
        }
        self.last = Last { learned: thread.learned, ..last };
        if let Some(fences) = fences {
            fences.writes += 1;
            let seen = self.order.get_or_insert_with(|| Box::new(Seen::new(0)));
            seen.show(fences.writes, self.stamp, settings.limit);
        }
        self.written(thread, change, me, settings);
    }

    /// Performs a store by the thread that made the last write, in the same way, if nobody else came since and it has
    /// learned nothing in between. What it changes is the thread's own row, and what is remembered of writes.
    /// This is `write` where all but one of its branches are known, small enough to be a part of whoever calls it.
    #[inline(always)]
    pub fn store_again(
        &mut self,
        thread: &mut Thread,
        order: Order,
        value: u64,
        site: Site,
        settings: Settings,
    ) -> bool {
        if self.last != Last::by(thread, order, false) {
            return false;
        }
        let Some(me) = self.guests.place(thread.tid) else { return false };
        self.stamp = self.stamp.next(false);
        thread.step();
        self.rewrite(thread, order, false);
        let change = Change { value, order, site, is_update: false };
        self.written(thread, change, me, settings);
        self.visitors.at(me).time = thread.time;
        true
    }

    /// What is remembered of a write once the rows are what it made them.
    #[inline(always)]
    fn written(&mut self, thread: &mut Thread, change: Change, me: usize, settings: Settings) {
        let Change { value, order, site, is_update } = change;
        self.history.rises(value > self.value);
        self.value = value;
        let visitor = self.visitors.at(me);
        visitor.seen.acquired = order.acquires() || !is_update;
        visitor.seen.show(thread.time, self.stamp, settings.limit);
        let epoch = thread.vector.get(thread.index());
        (visitor.touched.written, visitor.touched.written_at) = (epoch, site);
        let write = Write { value, site, thread: thread.tid, order, is_update, published: &[] };
        self.rows.publish(self.history.add(settings.limit, &write, self.rows.width()));
        if order.releases() {
            thread.next_epoch();
        }
    }

    /// The rows after a write by a thread that wrote last and has learned nothing since: but for its own,
    /// they are what they were.
    #[inline(always)]
    fn rewrite(&mut self, thread: &Thread, order: Order, is_update: bool) {
        let index = thread.index();
        let (view, published) = if order.releases() {
            (thread.time, thread.vector.get(index))
        } else {
            (thread.release.threads.get(index), thread.vector_release.get(index))
        };
        let row = self.rows.row(index);
        (row.written, row.accessed) = (thread.time, thread.time);
        if !is_update || view > row.view {
            row.view = view;
        }
        if !is_update || published > row.published {
            row.published = published;
        }
    }

    /// The rows after any write, and what the thread learns from it.
    fn meet(&mut self, thread: &mut Thread, order: Order, is_update: bool) {
        let mut learned = false;
        if is_update {
            self.learn_order(thread, order, &mut learned);
        }
        for visitor in self.visitors.iter(&self.guests) {
            // What it read again since is not in its row yet.
            if visitor.seen.whose != thread.tid {
                let row = self.rows.row(usize::from(visitor.seen.whose));
                row.accessed = row.accessed.max(visitor.time);
            }
        }
        self.rows.each(thread, |thread, index, row| {
            let before = *row;
            let sc = thread.sc.raise(index, row.accessed, &mut learned);
            if is_update {
                thread.acquire.threads.raise(index, row.view, &mut learned);
                if order.acquires() {
                    thread.current.threads.raise(index, row.view, &mut learned);
                    thread.vector.raise(index, row.published, &mut learned);
                } else {
                    thread.vector_acquire.raise(index, row.published, &mut learned);
                }
            }
            let (mut view, mut published) = if order.releases() {
                (thread.current.threads.get(index), thread.vector.get(index))
            } else {
                (thread.release.threads.get(index), thread.vector_release.get(index))
            };
            if is_update {
                view = view.max(before.view);
                published = published.max(before.published);
            }
            let after = Row { written: sc, accessed: sc, view, published };
            if after != before {
                *row = after;
            }
        });
        let told = if order.releases() { thread.current.order } else { thread.release.order };
        let told = if is_update { told.max(self.rows.order) } else { told };
        if self.rows.order != told {
            self.rows.order = told;
        }
        thread.learn(learned);
    }

    /// What an older write with the newest value published, if the thread may read it instead.
    fn unsynchronised(
        &self,
        thread: &Thread,
        fences: Option<&Fences>,
        site: Site,
    ) -> Option<(Box<[u64]>, Doubt)> {
        if self.history.is_rising() || thread.knows_what_it_must() {
            return None;
        }
        let (known, required) = self.window(thread, fences, |_| true)?;
        let older = self
            .history
            .between(known.position(), required.position())
            .map(|(write, _)| write)
            .find(|write| write.value == self.value)?;
        let doubt = Doubt { site, older: (older.site != 0).then_some(older.site) };
        Some((older.published.into(), doubt))
    }

    /// Another thread's access to the location that races with a plain one by this thread: by whom, does
    /// it write, and where.
    pub fn race(&self, thread: &Thread, is_write: bool) -> Option<(Tid, bool, Site)> {
        let others =
            self.visitors.iter(&self.guests).filter(|visitor| visitor.seen.whose != thread.tid);
        others.into_iter().find_map(|Visitor { seen, touched, .. }| {
            let known = thread.vector.get(seen.whose as usize);
            if touched.written > known {
                Some((seen.whose, true, touched.written_at))
            } else if is_write && touched.read > known {
                Some((seen.whose, false, touched.read_at))
            } else {
                None
            }
        })
    }
}

#[cfg(test)]
mod tests;
