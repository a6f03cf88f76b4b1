//! Names for the things a program is made of. Each is a type of its own, so that a register can
//! never be mistaken for a location.

use std::fmt;

/// What registers and locations hold. [`crate::Domain`] says which values a program uses.
pub type Value = i64;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table this is an index of.
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> Self {
                $name(u32::try_from(index).expect("tables are far smaller than 2^32"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

index!(
    /// A thread, by its position in [`crate::Program::threads`].
    Tid
);
index!(
    /// A memory location, by its position in [`crate::Program::locations`].
    Loc
);
index!(
    /// A register of one thread, by its position in [`crate::Thread::registers`].
    Reg
);
index!(
    /// A program counter: a position in [`crate::Thread::code`].
    Pc
);
index!(
    /// Where an instruction came from; the front-end that made the program keeps the table of spans.
    Origin
);

/// A space of variables: a library has one of its own, see RC11 with propagation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Space(pub u8);

/// A set of registers of one thread. Threads have at most [`RegSet::CAPACITY`] registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RegSet(pub u64);

impl RegSet {
    /// How many registers a thread can have.
    pub const CAPACITY: usize = 64;
    /// The set without members.
    pub const EMPTY: RegSet = RegSet(0);

    /// The set with one member.
    #[inline(always)]
    pub fn one(reg: Reg) -> Self {
        RegSet(1 << reg.0)
    }

    /// Is `reg` a member?
    #[inline(always)]
    pub fn contains(self, reg: Reg) -> bool {
        self.0 >> reg.0 & 1 == 1
    }

    /// Members of either set.
    #[inline(always)]
    pub fn union(self, other: RegSet) -> Self {
        RegSet(self.0 | other.0)
    }

    /// Members of both sets.
    #[inline(always)]
    pub fn intersect(self, other: RegSet) -> Self {
        RegSet(self.0 & other.0)
    }

    /// Members of `self` that are not in `other`.
    #[inline(always)]
    pub fn minus(self, other: RegSet) -> Self {
        RegSet(self.0 & !other.0)
    }

    /// Has it no members?
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let reg = Reg(rest.trailing_zeros());
                rest &= rest - 1;
                reg
            })
        })
    }
}

impl FromIterator<Reg> for RegSet {
    fn from_iter<I: IntoIterator<Item = Reg>>(regs: I) -> Self {
        regs.into_iter().fold(RegSet::EMPTY, |set, reg| set.union(RegSet::one(reg)))
    }
}
