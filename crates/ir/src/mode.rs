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
    /// Sequentially consistent. RC20 has no such accesses; the monitors count it as acquire.
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
    /// Sequentially consistent. RC20 has no such accesses; the monitors count it as release.
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
    /// `fence(acq); FADD(f, 0, acq, rel); fence(rel)` on one hidden location `f`.
    Sc,
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

impl FenceMode {
    /// Does it make earlier relaxed reads acquire?
    pub fn acquires(self) -> bool {
        matches!(self, FenceMode::Acq | FenceMode::AcqRel | FenceMode::Sc)
    }

    /// Does it make later relaxed writes release?
    pub fn releases(self) -> bool {
        matches!(self, FenceMode::Rel | FenceMode::AcqRel | FenceMode::Sc)
    }

    /// Does it update the hidden location that orders SC fences?
    pub fn updates(self) -> bool {
        matches!(self, FenceMode::Sc | FenceMode::Upd)
    }

    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            FenceMode::Acq => "acq",
            FenceMode::Rel => "rel",
            FenceMode::AcqRel => "acq_rel",
            FenceMode::Sc => "seq_cst",
            FenceMode::Upd => "upd",
        }
    }
}
