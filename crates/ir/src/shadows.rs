//! Locations with plain and atomic accesses, in terms of locations that have one kind each.
//!
//! C allows plain and atomic accesses to the same memory, and they race unless ordered. A program here has atomic locations
//! and non-atomic ones. So such memory becomes an atomic location, to which plain accesses are relaxed, and *shadows*,
//! non-atomic locations that race exactly when the memory does: `w`, which plain writes write and everything else reads;
//! and, where a plain read could meet an atomic write, one per writing thread, which its atomic writes write and plain reads
//! read. An access *touches* its shadows before or after it:
//!
//! * A load touches after it, so that what it synchronises with comes before.
//! * A load in a loop that waits touches before it. The loop may have read any number of times since the thread came to it,
//!   and a plain write that comes without order in that time races with one of these reads, however the loop is left.
//! * A write touches before it, so that the touch is published with it.
//! * An update that publishes nothing (relaxed, or acquire) touches after it: only later steps of its thread can order others
//!   behind it, and what it synchronises with comes before. An update that publishes touches before it, as a write does.
//! * A compare-and-exchange that fails writes nothing. If it publishes nothing, it touches what plain reads read after it, if it has
//!   succeeded. If it publishes, it touches before.
//!
//! **Deviation.** An access that both publishes and acquires would have to touch in the moment in which it happens. Because it touches
//! before, a race is reported that is none in two cases: a plain access is ordered before such an update or exchange only by what
//! that reads itself; or a plain read meets a publishing exchange that fails. No race is missed.

use crate::expr::Expr;
use crate::ids::{Loc, Reg};
use crate::mode::{ReadMode, WriteMode};
use crate::program::{Instr, Place};
use std::collections::{BTreeMap, BTreeSet};

/// What an access is to shadows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A plain read.
    PlainRead,
    /// A plain write.
    PlainWrite,
    /// An atomic load.
    Load,
    /// An atomic load, as often as it takes.
    Wait,
    /// An atomic store.
    Write,
    /// An update that always writes.
    Update {
        /// Is it a release?
        publishes: bool,
    },
    /// A compare-and-exchange.
    Compare {
        /// May it succeed?
        succeeds: bool,
        /// Is it a release if it does?
        publishes: bool,
    },
}

/// How memory is accessed, by which threads.
#[derive(Clone, Default, Debug)]
pub struct Uses {
    plain_reads: BTreeSet<usize>,
    plain_writes: BTreeSet<usize>,
    atomic_writes: BTreeSet<usize>,
    atomic: bool,
}

impl Uses {
    /// A thread makes such an access.
    pub fn add(&mut self, access: Access, thread: usize) {
        match access {
            Access::PlainRead => {
                self.plain_reads.insert(thread);
            }
            Access::PlainWrite => {
                self.plain_writes.insert(thread);
            }
            Access::Load | Access::Wait | Access::Compare { succeeds: false, .. } => {
                self.atomic = true;
            }
            Access::Write | Access::Update { .. } | Access::Compare { succeeds: true, .. } => {
                self.atomic = true;
                self.atomic_writes.insert(thread);
            }
        }
    }

    /// Is any of the accesses atomic?
    pub fn is_atomic(&self) -> bool {
        self.atomic
    }

    /// Are there accesses of both kinds?
    pub fn is_mixed(&self) -> bool {
        self.atomic && !(self.plain_reads.is_empty() && self.plain_writes.is_empty())
    }
}

/// The shadows of a location; of an array, those of its first element.
#[derive(Clone, Default, Debug)]
pub struct Shadows {
    /// Written by plain writes, read by all others.
    written: Option<Loc>,
    /// Written by atomic writes of a thread, read by plain reads.
    updated: BTreeMap<usize, Loc>,
}

/// An access to a shadow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    /// It is read.
    Read(Loc),
    /// It is written.
    Write(Loc),
}

impl Touch {
    /// The shadow.
    pub fn loc(self) -> Loc {
        match self {
            Touch::Read(loc) | Touch::Write(loc) => loc,
        }
    }

    /// The step that accesses this place; what is read goes to a register that nobody looks at.
    pub fn step(self, place: Place, unused: Reg) -> Instr {
        match self {
            Touch::Read(_) => Instr::Load { dst: unused, place, mode: ReadMode::Na },
            Touch::Write(_) => Instr::Store { place, value: Expr::Const(0), mode: WriteMode::Na },
        }
    }
}

impl Shadows {
    /// The shadows that memory needs which is used like this; none if its accesses are of one kind. `new` makes a non-atomic
    /// location, or as many as the array has elements.
    pub fn of(uses: &Uses, mut new: impl FnMut() -> Loc) -> Self {
        let mut shadows = Shadows::default();
        if !uses.is_mixed() {
            return shadows;
        }
        if !uses.plain_writes.is_empty() {
            shadows.written = Some(new());
        }
        for writer in &uses.atomic_writes {
            if uses.plain_reads.iter().any(|reader| reader != writer) {
                shadows.updated.insert(*writer, new());
            }
        }
        shadows
    }

    /// What a thread touches before such an access.
    pub fn before(&self, access: Access, thread: usize) -> Vec<Touch> {
        let mut touches = Vec::new();
        match access {
            Access::PlainRead => {
                touches.extend(self.written.map(Touch::Read));
                let others = self.updated.iter().filter(|(writer, _)| **writer != thread);
                touches.extend(others.map(|(_, loc)| Touch::Read(*loc)));
            }
            Access::PlainWrite => touches.extend(self.written.map(Touch::Write)),
            Access::Load | Access::Update { publishes: false } => {}
            Access::Wait => touches.extend(self.written.map(Touch::Read)),
            Access::Write | Access::Update { publishes: true } | Access::Compare { .. } => {
                touches.extend(self.written.map(Touch::Read));
                let touches_later = matches!(
                    access,
                    Access::Compare { succeeds: false, .. }
                        | Access::Compare { publishes: false, .. }
                );
                if !touches_later {
                    touches.extend(self.updated.get(&thread).copied().map(Touch::Write));
                }
            }
        }
        touches
    }

    /// What a thread touches after such an access.
    pub fn after(&self, access: Access, thread: usize) -> Vec<Touch> {
        let updates = access == Access::Update { publishes: false };
        let read = self.written.filter(|_| updates || access == Access::Load).map(Touch::Read);
        let updated = self.updated.get(&thread).copied().filter(|_| updates).map(Touch::Write);
        read.into_iter().chain(updated).collect()
    }

    /// What a thread touches after such an access that has succeeded.
    pub fn after_success(&self, access: Access, thread: usize) -> Option<Touch> {
        let late = access == Access::Compare { succeeds: true, publishes: false };
        self.updated.get(&thread).copied().filter(|_| late).map(Touch::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadows(accesses: &[(Access, usize)]) -> Shadows {
        let mut uses = Uses::default();
        for (access, thread) in accesses {
            uses.add(*access, *thread);
        }
        let mut next = 0;
        Shadows::of(&uses, || {
            next += 1;
            Loc(next)
        })
    }

    /// One kind of accesses needs no shadows; the pairs that may race have one in common, those that may not have none.
    #[test]
    fn accesses_have_a_shadow_in_common_if_they_may_race() {
        let compare = |publishes| Access::Compare { succeeds: true, publishes };
        let all = [
            Access::PlainRead,
            Access::PlainWrite,
            Access::Load,
            Access::Wait,
            Access::Write,
            Access::Update { publishes: true },
            Access::Update { publishes: false },
            compare(true),
            compare(false),
            Access::Compare { succeeds: false, publishes: true },
        ];
        let is_plain = |access| matches!(access, Access::PlainRead | Access::PlainWrite);
        let writes = |access| {
            matches!(access, Access::PlainWrite | Access::Write | Access::Update { .. })
                || matches!(access, Access::Compare { succeeds: true, .. })
        };
        for a in all {
            for b in all {
                let shadows = shadows(&[(a, 0), (b, 1)]);
                let touches = |access, thread| {
                    let mut touches = shadows.before(access, thread);
                    touches.extend(shadows.after(access, thread));
                    touches.extend(shadows.after_success(access, thread));
                    touches
                };
                let conflict = touches(a, 0).iter().any(|one| {
                    let writes = |touch: &Touch| matches!(touch, Touch::Write(_));
                    touches(b, 1)
                        .iter()
                        .any(|two| one.loc() == two.loc() && (writes(one) || writes(two)))
                });
                let mixed = is_plain(a) != is_plain(b);
                let races = mixed && (writes(a) || writes(b));
                assert_eq!(conflict, races, "{a:?} and {b:?}");
            }
        }
    }
}
