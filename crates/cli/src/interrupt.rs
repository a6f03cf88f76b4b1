//! Ctrl-C, SIGTERM and SIGHUP: the first ends a check as a limit does, the second ends everything.
//!
//! A check that is told to stop still says how far it has come, and writes its table and its reports.
//! So the first signal only sets a flag, which every [`Budget`] made here watches. Commands that make
//! no budget are ended by the first signal as usual.

use budget::Budget;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a shell reports of a program that was ended by Ctrl-C.
const ENDED: i32 = 128 + 2;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Ends all work as a signal does.
pub(crate) fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// A budget for work that begins now; a signal ends it early.
pub(crate) fn budget(time: Option<Duration>, memory: Option<u64>) -> Budget {
    Budget::new(time, memory).interrupted_by(flag())
}

/// Is set by the first signal.
pub(crate) fn flag() -> &'static AtomicBool {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // Without a handler, signals end the program at once, as they always did.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(ENDED);
            }
        });
    });
    &INTERRUPTED
}
