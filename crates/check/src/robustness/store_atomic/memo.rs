//! Local steps, remembered.
//!
//! A thread comes to the same place with the same registers in very many states, and where its local steps lead
//! from there depends on nothing else, but for whether it delays stores ([`mod@super::local_runs`]). So a worker of the search
//! remembers where they led the last time. The table has one entry for each hash and is never searched: a run that
//! hashes to the place of another replaces it.
//!
//! Runs that are not remembered: those with a choice that leads to several places, and those that meet a run-time error,
//! which has to be reported each time.

use ir::{Pc, Tid, Value};

/// How many runs are remembered. A program's threads have some hundred local states at accesses; more
/// would cost more to clear than they save.
const ENTRIES: usize = 1 << 10;

/// Where local steps led.
pub(super) struct Memo {
    /// Registers of the thread that has most.
    registers: usize,
    /// For each entry: who and where (0: nobody), where it led; then the registers before and after.
    entries: Vec<Value>,
}

/// Where the run of a thread begins.
#[derive(Clone, Copy)]
pub(super) struct From<'r> {
    pub tid: Tid,
    /// Does it delay stores?
    pub attacking: bool,
    pub pc: Pc,
    pub regs: &'r [Value],
}

impl From<'_> {
    /// Who and where, as a number that is not 0.
    #[inline(always)]
    fn who(self) -> Value {
        Value::from(self.pc.0) << 32
            | Value::from(self.tid.0) << 2
            | Value::from(self.attacking) << 1
            | 1
    }
}

/// Where a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum To<'r> {
    /// Nowhere: the thread cannot go on from there with stores delayed.
    Nowhere,
    /// At this place, with these registers.
    Rest(u32, &'r [Value]),
}

/// Stands for [`To::Nowhere`]; no place has this number.
const NOWHERE: Value = -1;

impl Memo {
    pub(super) fn new(registers: usize) -> Self {
        Memo { registers, entries: vec![0; ENTRIES * (2 + 2 * registers)] }
    }

    /// The first word of the entry of this run.
    #[inline(always)]
    fn entry(&self, from: From<'_>) -> usize {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut hash = (from.who() as u64).wrapping_mul(ODD);
        for &value in from.regs {
            hash = (hash.rotate_left(23) ^ value as u64).wrapping_mul(ODD);
        }
        (hash >> 40) as usize % ENTRIES * (2 + 2 * self.registers)
    }

    /// Where this run led, if that is remembered.
    #[inline(always)]
    pub(super) fn recall(&self, from: From<'_>) -> Option<To<'_>> {
        let entry = &self.entries[self.entry(from)..][..2 + 2 * self.registers];
        let (before, after) = entry[2..].split_at(self.registers);
        let count = from.regs.len();
        if entry[0] != from.who() || before[..count] != *from.regs {
            return None;
        }
        Some(match entry[1] {
            NOWHERE => To::Nowhere,
            pc => To::Rest(pc as u32, &after[..count]),
        })
    }

    /// Remembers where this run led.
    pub(super) fn note(&mut self, from: From<'_>, to: To<'_>) {
        let at = self.entry(from);
        let entry = &mut self.entries[at..][..2 + 2 * self.registers];
        entry[0] = from.who();
        let (before, after) = entry[2..].split_at_mut(self.registers);
        before[..from.regs.len()].copy_from_slice(from.regs);
        entry[1] = match to {
            To::Nowhere => NOWHERE,
            To::Rest(pc, regs) => {
                after[..regs.len()].copy_from_slice(regs);
                Value::from(pc)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a run that is taken for another: of another thread, from another place, with other registers, or with
    /// stores delayed.
    #[test]
    fn runs_are_told_apart() {
        let mut memo = Memo::new(2);
        let regs = [3, -1];
        let run = From { tid: Tid(1), attacking: false, pc: Pc(4), regs: &regs };
        assert_eq!(memo.recall(run), None);
        memo.note(run, To::Rest(7, &[0, 5]));
        assert_eq!(memo.recall(run), Some(To::Rest(7, &[0, 5])));
        // Whatever entry they hash to, these were never noted.
        assert_eq!(memo.recall(From { tid: Tid(0), ..run }), None);
        assert_eq!(memo.recall(From { attacking: true, ..run }), None);
        assert_eq!(memo.recall(From { pc: Pc(5), ..run }), None);
        for k in -2000..2000 {
            for regs in [[k, -1], [3, k]] {
                let known = memo.recall(From { regs: &regs, ..run }).is_some();
                assert_eq!(known, regs == [3, -1], "{regs:?}");
            }
        }
        memo.note(run, To::Nowhere);
        assert_eq!(memo.recall(run), Some(To::Nowhere));
    }

    /// Catches an entry that keeps a part of the one it replaces.
    #[test]
    fn entries_are_replaced_as_a_whole() {
        let mut memo = Memo::new(1);
        let mut last = std::collections::HashMap::new();
        for value in 0..10 * ENTRIES as Value {
            let regs = [value];
            let run = From { tid: Tid(0), attacking: false, pc: Pc(0), regs: &regs };
            memo.note(run, To::Rest(value as u32 % 100, &[value + 1]));
            last.insert(memo.entry(run), value);
        }
        for &value in last.values() {
            let regs = [value];
            let run = From { tid: Tid(0), attacking: false, pc: Pc(0), regs: &regs };
            assert_eq!(memo.recall(run), Some(To::Rest(value as u32 % 100, &[value + 1])));
        }
    }
}
