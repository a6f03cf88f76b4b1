//! The tables that a monitor keeps for each variable, and when their entries are dropped.
//!
//! A mention of a unit that the graph has collected draws no edge any more: keeping it or not makes no
//! difference to any answer. A run may have a million variables and few live units, so tables are swept
//! when most of what they hold may be worthless. A sweep costs as much as it looks at, and is not repeated
//! before as much has been added: a constant share of the time.

use super::Mention;
use crate::event::{Thread, Var};
use crate::hash::Map;

/// Tables with no more variables than this are not swept.
pub(super) const FEW_VARS: usize = 4_096;

/// One thread's table.
pub(super) struct Table<T> {
    entries: Map<u32, T>,
    /// How many the last sweep has left.
    kept: usize,
    few: usize,
}

impl<T: Copy> Table<T> {
    pub(super) fn new(few: usize) -> Self {
        Table { entries: Map::default(), kept: 0, few }
    }

    pub(super) fn get(&self, x: Var) -> Option<T> {
        self.entries.get(&x.0).copied()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = T> {
        self.entries.values().copied()
    }

    /// Returns the entry before. Of the others those that do not matter may be forgotten.
    pub(super) fn insert(&mut self, x: Var, entry: T, matters: impl Fn(T) -> bool) -> Option<T> {
        let before = self.entries.insert(x.0, entry);
        if self.entries.len() > 2 * self.kept + self.few {
            self.entries.retain(|_, entry| matters(*entry));
            self.kept = self.entries.len();
            self.entries.shrink_to(2 * self.kept);
        }
        before
    }
}

/// Who can still conflict with an access to a variable.
#[derive(Default)]
pub(super) struct VarState {
    pub(super) last_commit: Option<Mention>,
    /// Per thread, the last read since then.
    pub(super) readers: Vec<(Thread, Mention)>,
}

impl VarState {
    pub(super) fn mentions(&self) -> impl Iterator<Item = Mention> {
        self.last_commit.into_iter().chain(self.readers.iter().map(|&(_, mention)| mention))
    }
}

/// The states of all variables. Most of very many have none.
pub(super) struct Vars {
    states: Vec<Option<Box<VarState>>>,
    held: usize,
    /// How many the last sweep has left.
    kept: usize,
    few: usize,
}

impl Vars {
    pub(super) fn new(few: usize) -> Self {
        Vars { states: Vec::new(), held: 0, kept: 0, few }
    }

    pub(super) fn last_commit(&self, x: Var) -> Option<Mention> {
        self.states.get(x.0 as usize)?.as_ref()?.last_commit
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &VarState> {
        self.states.iter().flatten().map(|state| &**state)
    }

    /// The state of a variable, to change. Others that mention no live unit may be forgotten.
    pub(super) fn state(&mut self, x: Var, lives: impl Fn(Mention) -> bool) -> &mut VarState {
        let at = x.0 as usize;
        if self.states.len() <= at {
            self.states.resize_with(at + 1, || None);
        }
        if self.states[at].is_none() {
            if self.held > 2 * self.kept + self.states.len() / 8 + self.few {
                self.sweep(lives);
            }
            self.held += 1;
        }
        self.states[at].get_or_insert_default()
    }

    fn sweep(&mut self, lives: impl Fn(Mention) -> bool) {
        for slot in &mut self.states {
            if slot.as_ref().is_some_and(|state| !state.mentions().any(&lives)) {
                *slot = None;
                self.held -= 1;
            }
        }
        self.kept = self.held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch tables that grow with the number of variables ever accessed.
    #[test]
    fn what_is_over_is_forgotten() {
        let mut vars = Vars::new(FEW_VARS);
        let mut table = Table::new(FEW_VARS);
        for x in 0..200_000 {
            vars.state(Var(x), |_| false);
            table.insert(Var(x), u64::from(x), |entry| entry % 100 == 0);
        }
        assert!(vars.iter().count() <= 200_000 / 8 + FEW_VARS + 1, "{}", vars.iter().count());
        assert!(table.values().count() <= 2 * 2_000 + FEW_VARS, "{}", table.values().count());
        assert!((0..200_000).step_by(100).all(|x| table.get(Var(x)) == Some(u64::from(x))));
    }
}
