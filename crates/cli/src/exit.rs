//! Exit codes: what a command found, as one number for shells and build servers.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Everything asked holds.
    Holds,
    /// Something is violated.
    Violated,
    /// The input or the arguments are not usable.
    BadInput,
    /// A limit was reached before there was an answer.
    Undecided,
    /// Fencepost itself went wrong.
    Internal,
    /// Nobody reads what is printed.
    Unheard,
}

impl Exit {
    /// The exit code of two jobs together. What went wrong in Fencepost itself outranks everything,
    /// because no answer is to be trusted. Then comes bad input, because something was not checked at
    /// all; a violation is certain, whatever else is undecided.
    pub fn and(self, other: Exit) -> Exit {
        let rank = |exit: Exit| match exit {
            Exit::Holds => 0,
            Exit::Undecided => 1,
            Exit::Violated => 2,
            Exit::BadInput => 3,
            Exit::Internal => 4,
            Exit::Unheard => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Holds => 0,
            Exit::Violated => 1,
            Exit::BadInput => 2,
            Exit::Undecided => 3,
            Exit::Internal => 4,
            // As a shell reports a program that was ended by SIGPIPE.
            Exit::Unheard => 128 + 13,
        })
    }
}
