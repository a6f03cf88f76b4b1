//! Access modes: how strongly an access or a fence synchronises.

/// The mode of a read, or of the read part of a read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReadMode {
    /// Non-atomic: a plain load of a `na` location.
    Na,
    /// Relaxed.
    Rlx,
    /// Acquire for the variables of the access's own space only (library abstraction).
    Pacq,
    /// Acquire.
    Acq,
    /// Sequentially consistent: acquire, and a member of the order that all `sc` events share.
    Sc,
}

/// The mode of a write, or of the write part of a read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WriteMode {
    /// Non-atomic: a plain store to a `na` location.
    Na,
    /// Relaxed.
    Rlx,
    /// Release for the variables of the access's own space only (library abstraction).
    Prel,
    /// Release.
    Rel,
    /// Sequentially consistent: release, and a member of the order that all `sc` events share.
    Sc,
}

/// The mode of a fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FenceMode {
    /// Acquire.
    Acq,
    /// Release.
    Rel,
    /// Acquire and release.
    AcqRel,
    /// Acquire, release, and a member of the order that all `sc` events share (RC11, C++20).
    Sc,
    /// What RC20 takes an SC fence for: `fence(acq); FADD(f, 0, acq, rel); fence(rel)` on one hidden
    /// location `f`. No program is written with it; [`crate::Program::rc20`] makes it.
    ScUpd,
    /// The `FADD` on the hidden location alone.
    Upd,
}

impl ReadMode {
    /// Does a read in this mode synchronise with what it reads from?
    #[inline(always)]
    pub fn acquires(self) -> bool {
        self >= ReadMode::Acq
    }

    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            ReadMode::Na => "na",
            ReadMode::Rlx => "rlx",
            ReadMode::Pacq => "pacq",
            ReadMode::Acq => "acq",
            ReadMode::Sc => "sc",
        }
    }
}

impl WriteMode {
    /// Does a write in this mode publish all that its thread knows?
    #[inline(always)]
    pub fn releases(self) -> bool {
        self >= WriteMode::Rel
    }

    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            WriteMode::Na => "na",
            WriteMode::Rlx => "rlx",
            WriteMode::Prel => "prel",
            WriteMode::Rel => "rel",
            WriteMode::Sc => "sc",
        }
    }
}

/// Is a read-modify-write with these modes an `sc` event? C++ gives it one mode for both parts; of two
/// that differ, the weaker counts, so that what is proved with it holds of the stronger.
#[inline(always)]
pub fn is_sc_update(read: ReadMode, write: WriteMode) -> bool {
    read == ReadMode::Sc && write == WriteMode::Sc
}

impl FenceMode {
    /// Does it make earlier relaxed reads acquire?
    pub fn acquires(self) -> bool {
        matches!(self, FenceMode::Acq | FenceMode::AcqRel | FenceMode::Sc | FenceMode::ScUpd)
    }

    /// Does it make later relaxed writes release?
    pub fn releases(self) -> bool {
        matches!(self, FenceMode::Rel | FenceMode::AcqRel | FenceMode::Sc | FenceMode::ScUpd)
    }

    /// Does it update the hidden location?
    pub fn updates(self) -> bool {
        matches!(self, FenceMode::ScUpd | FenceMode::Upd)
    }

    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            FenceMode::Acq => "acq",
            FenceMode::Rel => "rel",
            FenceMode::AcqRel => "acq_rel",
            FenceMode::Sc | FenceMode::ScUpd => "seq_cst",
            FenceMode::Upd => "upd",
        }
    }
}
