//! Panics: a mistake in Fencepost must not cost the results for other files.
//!
//! Work on one input runs inside [`work`]. A panic in it, on whichever thread, becomes a
//! [`Diagnostic`] that says what went wrong and where, and asks for a report; the caller shows it as
//! it shows an input that cannot be checked, and goes on with the next. The exit code says that there
//! was an internal error. With `RUST_BACKTRACE=1` the way to the panic goes to standard error at once.

use lang::Diagnostic;
use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Mutex;

/// What the first panic since the last look said, and where it was.
static PANICKED: Mutex<Option<String>> = Mutex::new(None);

/// Has panics noted instead of printed, from now on.
pub(crate) fn install() {
    panic::set_hook(Box::new(|info| {
        let text = describe(info);
        if let Ok(mut panicked) = PANICKED.lock() {
            // Panics after the first are mostly its consequences.
            panicked.get_or_insert(text);
        }
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let said = words(info.payload());
    let place = info.location().map(|place| format!(", at {place}")).unwrap_or_default();
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        eprintln!("{said}{place}\n{backtrace}");
    }
    format!("{said}{place}")
}

/// Does some work; if it panics, says what went wrong. What the work was changing when it panicked
/// must not be used afterwards.
pub(crate) fn work<T>(work: impl FnOnce() -> T) -> Result<T, Diagnostic> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let noted = PANICKED.lock().ok().and_then(|mut panicked| panicked.take());
        // Without the hook, the payload still has the words.
        report::internal(&noted.unwrap_or_else(|| words(&*payload).to_string()))
    })
}

/// What a panic said.
fn words(payload: &(dyn Any + Send)) -> &str {
    let borrowed = payload.downcast_ref::<&str>().copied();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    borrowed.or_else(owned).unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test for all, because a hook is the whole process's.
    #[test]
    fn panics_become_internal_errors() {
        install();
        assert_eq!(work(|| 7).map_err(|error| error.message), Ok(7));
        let error = work(|| -> u8 { panic!("the number {}", 8) }).expect_err("it panics");
        assert_eq!(error.code, report::codes::INTERNAL);
        assert!(
            error.message.starts_with("internal error: the number 8, at "),
            "{}",
            error.message
        );
        assert!(error.message.contains("guard.rs"), "no place: {}", error.message);
        assert!(error.help.is_some_and(|help| help.contains("please report it")));
        // A worker's words are not lost, although the thread that waits for it panics with others.
        let error = work(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| panic!("in a worker"));
            });
        });
        let error = error.expect_err("it panics");
        assert!(error.message.starts_with("internal error: in a worker"), "{}", error.message);
        // An earlier panic is not told again.
        let error = work(|| panic!("another")).expect_err("it panics");
        assert!(error.message.starts_with("internal error: another"), "{}", error.message);
        let _ = panic::take_hook();
    }
}
