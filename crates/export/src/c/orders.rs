//! Memory orders in C.

use ir::mode::is_sc_update;
use ir::{FenceMode, ReadMode, WriteMode};

/// The order of a read; `None` if C has none such.
pub(crate) fn read(mode: ReadMode) -> Option<&'static str> {
    match mode {
        ReadMode::Rlx => Some("memory_order_relaxed"),
        ReadMode::Acq => Some("memory_order_acquire"),
        ReadMode::Sc => Some("memory_order_seq_cst"),
        ReadMode::Na | ReadMode::Pacq => None,
    }
}

/// The order of a write; `None` if C has none such.
pub(crate) fn write(mode: WriteMode) -> Option<&'static str> {
    match mode {
        WriteMode::Rlx => Some("memory_order_relaxed"),
        WriteMode::Rel => Some("memory_order_release"),
        WriteMode::Sc => Some("memory_order_seq_cst"),
        WriteMode::Na | WriteMode::Prel => None,
    }
}

/// The order of a read-modify-write; `None` if C has none such. C has one order for both parts, and only
/// if both are `sc` is it an `sc` event ([`is_sc_update`]).
pub(crate) fn update(reads: ReadMode, writes: WriteMode) -> Option<&'static str> {
    read(reads)?;
    write(writes)?;
    Some(match (reads.acquires(), writes.releases()) {
        _ if is_sc_update(reads, writes) => "memory_order_seq_cst",
        (true, true) => "memory_order_acq_rel",
        (true, false) => "memory_order_acquire",
        (false, true) => "memory_order_release",
        (false, false) => "memory_order_relaxed",
    })
}

/// The order of a fence; `None` if C has none such.
pub(crate) fn fence(mode: FenceMode) -> Option<&'static str> {
    match mode {
        FenceMode::Acq => Some("memory_order_acquire"),
        FenceMode::Rel => Some("memory_order_release"),
        FenceMode::AcqRel => Some("memory_order_acq_rel"),
        FenceMode::Sc => Some("memory_order_seq_cst"),
        FenceMode::ScUpd | FenceMode::Upd => None,
    }
}
