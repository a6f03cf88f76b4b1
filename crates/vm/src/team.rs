//! Threads and teams: who is started with whom.
//!
//! Threads that one thread starts with nothing visible in between are a *team*, and are started by one step. What the
//! first of them does before the last is started could as well happen afterwards, so nobody can tell; and threads of a
//! team that run the same code are interchangeable.

use crate::action::{Cell, Stop};
use crate::local::Starting;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::FunctionId;

/// More threads than this are not checked.
pub(crate) const MOST_THREADS: usize = 32;

/// What a thread does when it is started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    pub(crate) function: FunctionId,
    pub(crate) arguments: Vec<Val>,
    /// Memory that is the thread's own from its start.
    pub(crate) gifts: Vec<Gift>,
}

/// Memory that a thread is given by the one that starts it, and that is nobody else's from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Gift {
    pub(crate) to: ObjectId,
    /// What it is a copy of, if it is copied back when the thread is waited for.
    pub(crate) from: Option<ObjectId>,
    pub(crate) image: Vec<(u32, u8, Word)>,
}

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The team it is started with; none for `main`.
    pub(crate) team: Option<u32>,
    /// The object that stands for it where it was started.
    pub(crate) handle: ObjectId,
    pub(crate) task: Option<Task>,
}

/// Threads that are started together.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    pub(crate) object: ObjectId,
    parent: u32,
    started: Vec<Starting>,
    /// The numbers of its threads.
    pub(crate) threads: Vec<u32>,
    /// Its threads are waited for one by one, or for their results; otherwise all are waited for at once, and ends are
    /// only counted.
    pub(crate) one_by_one: bool,
}

impl Machine {
    /// The object that stands for the n-th thread that a thread starts.
    pub(crate) fn thread_object(&mut self, parent: u32, nth: u32) -> ObjectId {
        self.hidden(Name::Thread { parent, nth })
    }

    fn hidden(&mut self, name: Name) -> ObjectId {
        self.space.intern(Object { name, size: 0, fill: Fill::Zero, constant: false })
    }

    /// The team of threads that a thread starts together, new if there is none.
    pub(crate) fn team(&mut self, parent: u32, started: &[Starting]) -> Result<u32, Stop> {
        let is_it = |team: &Team| team.parent == parent && team.started == started;
        if let Some(known) = self.teams.iter().position(is_it) {
            return Ok(known as u32);
        }
        let number = self.teams.len() as u32;
        let object = self.hidden(Name::Team(number));
        let first = self.threads.len() as u32;
        if self.threads.len() + started.len() > MOST_THREADS {
            return Stop::refuse(format!("more than {MOST_THREADS} threads"));
        }
        for starting in started {
            let Starting { handle, task } = starting.clone();
            self.threads.push(Member { team: Some(number), handle, task: Some(task) });
        }
        let threads = (first..first + started.len() as u32).collect();
        let one_by_one = started.iter().any(|one| self.individually.contains(&one.handle));
        let started = started.to_vec();
        self.teams.push(Team { object, parent, started, threads, one_by_one });
        Ok(number)
    }

    /// The teams that a thread may be in, by the object that stands for the thread.
    pub(crate) fn teams_of(&self, handle: ObjectId) -> Vec<u32> {
        let is_it = |member: &&Member| member.handle == handle;
        let mut teams: Vec<u32> =
            self.threads.iter().filter(is_it).filter_map(|member| member.team).collect();
        teams.dedup();
        teams
    }

    /// Does a cell count the ends of the threads of a team, and have all of them ended if it holds this?
    pub(crate) fn all_ended(&self, cell: Cell, held: Word) -> bool {
        let counted = self.teams.iter().find(|team| Cell::ended(team.object) == cell);
        counted.is_some_and(|team| held == Word::Bits(team.threads.len() as u128))
    }

    /// Does a cell count the threads of a team that have ended? Each of them ends once in any execution, so the count is known,
    /// whatever is known of what threads read.
    pub(crate) fn counts_ends(&self, cell: Cell) -> bool {
        self.teams.iter().any(|team| Cell::ended(team.object) == cell)
    }

    /// From now on, the threads of these teams are waited for one by one.
    pub(crate) fn separate(&mut self, teams: &[u32]) -> Stop {
        for team in teams {
            let team = &mut self.teams[*team as usize];
            team.one_by_one = true;
            self.individually.extend(team.started.iter().map(|one| one.handle));
        }
        self.surprised = true;
        Stop::Blocked
    }

    /// Forgets the teams that were started in an earlier round, but for the first.
    pub(crate) fn forget_teams(&mut self, kept: usize) {
        self.teams.truncate(kept);
        let is_kept = |member: &Member| member.team.is_none_or(|team| (team as usize) < kept);
        self.threads.retain(is_kept);
    }
}
