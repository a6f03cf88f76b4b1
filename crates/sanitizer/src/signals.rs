//! Signals that are meant for the program that is run.
//!
//! `fencepost run` in a terminal, or under a supervisor, is told to end; it is the program that should. So the
//! signal is passed on, and when the program has ended, what was found is reported. The second signal ends
//! the program whatever it does.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static LAST: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Did the last one come from the terminal, which sends it to the program as well?
static FROM_TERMINAL: AtomicI32 = AtomicI32::new(0);

const PASSED_ON: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// As long as it lives, signals are noted and do nothing.
pub(crate) struct Watch {
    before: Vec<(i32, libc::sigaction)>,
    told: u32,
}

/// What is to be done about a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// Send it to the program.
    PassOn(i32),
    /// The program has it already.
    Wait,
    /// End the program.
    Kill,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        COUNT.store(0, Ordering::SeqCst);
        LAST.store(0, Ordering::SeqCst);
        let note = |signal: i32| {
            // SAFETY: the handler touches nothing but atomic numbers; a signal that is ignored stays so.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut before);
                if before.sa_sigaction == libc::SIG_IGN {
                    return None;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = noted as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                Some((signal, before))
            }
        };
        Watch { before: PASSED_ON.into_iter().filter_map(note).collect(), told: 0 }
    }

    /// The signal that came last, if there was one.
    pub(crate) fn last(&self) -> Option<i32> {
        Some(LAST.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// What to do, if a signal came since this was last asked; does the program have a terminal with us?
    pub(crate) fn asked(&mut self, shares_terminal: bool) -> Option<Asked> {
        let count = COUNT.load(Ordering::SeqCst);
        if count == self.told {
            return None;
        }
        let first = self.told == 0;
        self.told = count;
        let has_it = shares_terminal && FROM_TERMINAL.load(Ordering::SeqCst) != 0;
        Some(match self.last()? {
            _ if !first => Asked::Kill,
            _ if has_it => Asked::Wait,
            signal => Asked::PassOn(signal),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: puts back what was there.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}

extern "C" fn noted(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes a valid pointer.
    let from_terminal = unsafe { (*info).si_code } == libc::SI_KERNEL;
    FROM_TERMINAL.store(i32::from(from_terminal), Ordering::SeqCst);
    LAST.store(signal, Ordering::SeqCst);
    COUNT.fetch_add(1, Ordering::SeqCst);
}
