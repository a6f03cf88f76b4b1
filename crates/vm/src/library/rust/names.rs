//! Which functions of Rust's standard library are known, by the paths that their symbols stand for.
//!
//! Generic functions of the library are compiled into the user's module, with small functions that they call inlined, so
//! most of the library arrives as code and is executed. What does not arrive is not generic: how threads are made, how
//! they wait, how a panic is printed. A path says which of these a symbol is, whichever mangling the compiler used; type
//! arguments are left out of it, and modules in between may differ from version to version.

use super::channels::Flavor;
use llvm::{Callee, FunctionId, InstrKind, Module};

/// What a function of the library does, for those that are not executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// Starts `main` (`lang_start`).
    Main,
    /// Starts a thread of the operating system.
    Spawn,
    /// Waits for one.
    Join,
    /// Waits for a thread without a result.
    JoinUnit,
    /// Lets go of a thread that is not waited for.
    Detach,
    /// The handle of a thread that is about to be started.
    NewThread,
    /// The handle of the thread that asks.
    Current,
    /// The number of the thread that asks, or that is about to be started.
    CurrentId,
    NewId,
    /// The number of a thread, by its handle.
    ThreadId,
    Park,
    Unpark,
    /// The size of a stack.
    StackSize,
    /// What memory an `Arc` or `Rc` of a value needs.
    LayoutWithCounts,
    /// What runs when threads start: nothing.
    SpawnHooks,
    /// A scope has one more thread.
    EnterScope,
    LockMutex,
    LockRead,
    LockWrite,
    WaitCondition,
    WaitConditionTimeout,
    CallOnce,
    WaitOnce,
    WaitBarrier,
    /// Reserves a place for a message.
    StartSend(Flavor),
    /// Looks for the next message.
    StartReceive(Flavor),
    /// All senders of a channel are gone, or all receivers.
    DropSenders(Flavor),
    DropReceivers(Flavor),
    /// Makes a channel with room for some messages, or without any.
    LimitedChannel,
    /// Asks whether a thread has ended.
    IsFinished,
    /// Says how a thread is to be started.
    Configure,
    /// A panic, or another end of the program that nobody wants.
    Panic,
    Exit,
    /// Registers the destructor of a thread-local variable.
    ThreadLocalDestructor,
    /// Is the thread not panicking?
    NotPanicking,
    /// The time, or a part of it.
    Time,
    /// How many processors there are.
    Processors,
    /// The keys of a `HashMap`.
    HashKeys,
    /// Talks, or wakes up somebody who notices by himself.
    Nothing,
    /// What tests ask of `fencepost-testing`: one of two, one of many, and who executes them.
    AnyBool,
    AnyBelow,
    IsChecked,
}

/// What is special about a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Ordinary,
    /// It is not executed even if the module has its code.
    Known(Known),
    /// A function of `core::sync::atomic`: on behalf of its caller.
    Atomics,
    /// It tries a lock's fast path before it asks the library to wait.
    FastPath,
    /// It makes memory for the library's own use: the result of a thread, the data of a scope.
    Spawns,
    /// It runs a scope.
    Scope,
}

/// The path that a symbol stands for, without type arguments; none if the symbol is not Rust's.
pub(crate) fn path(symbol: &str) -> Option<String> {
    demangled(symbol).map(|name| without_types(&name))
}

/// What a symbol stands for, with type arguments where the mangling has them.
pub(crate) fn demangled(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    Some(format!("{name:#}"))
}

/// `<a::B<C>>::d::<E>` as `a::B::d`; `<a::B<C> as e::F>::g` as `a::B as e::F::g`.
fn without_types(name: &str) -> String {
    let (mut plain, mut depth) = (String::new(), 0u32);
    let name = name.replace("->", "  ");
    let (name, own) = match name.strip_prefix('<') {
        Some(rest) => (rest.to_string(), true),
        None => (name, false),
    };
    // The bracket around the type of an `impl` is left out, and what is in it is kept.
    let mut open = own;
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' if depth == 0 && open => open = false,
            '>' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            letter => plain.push(letter),
        }
    }
    while plain.contains("::::") {
        plain = plain.replace("::::", "::");
    }
    plain.trim_end_matches("::").to_string()
}

/// The functions of `core` and its like that end the program, by the last part of their paths.
fn is_panic(segments: &[&str]) -> bool {
    let Some(last) = segments.last() else { return false };
    let library = matches!(segments[0], "core" | "alloc" | "std");
    let ends = [
        "unwrap_failed",
        "expect_failed",
        "assert_failed",
        "assert_failed_inner",
        "assert_matches_failed",
        "slice_index_fail",
        "slice_error_fail",
        "handle_alloc_error",
        "capacity_overflow",
        "begin_panic",
        "resume_unwind",
        "const_panic",
    ];
    library
        && (segments.starts_with(&["core", "panicking"])
            || ends.contains(last)
            || last.starts_with("panic_")
            || last.ends_with("_panic")
            || last.ends_with("_fail")
            || last.ends_with("_failed")
            || segments.ends_with(&["raw_vec", "handle_error"])
            || segments.ends_with(&["process", "abort"])
            || segments.ends_with(&["intrinsics", "abort"]))
}

/// What is known about a function of the library, by its path.
pub(crate) fn known(path: &str) -> Option<Known> {
    let segments: Vec<&str> = path.split("::").collect();
    let has = |part: &str| segments.contains(&part);
    let ends = |tail: &[&str]| segments.ends_with(tail);
    if matches!(segments[0], "core" | "alloc" | "std") && is_panic(&segments) {
        return Some(Known::Panic);
    }
    const WITH_COUNTS: [&str; 3] = [
        "arcinner_layout_for_value_layout",
        "rc_inner_layout_for_value_layout",
        "rcbox_layout_for_value_layout",
    ];
    if segments[0] == "alloc" && segments.last().is_some_and(|last| WITH_COUNTS.contains(last)) {
        return Some(Known::LayoutWithCounts);
    }
    match path {
        "fencepost_testing::any_bool" => return Some(Known::AnyBool),
        "fencepost_testing::any_below" => return Some(Known::AnyBelow),
        "fencepost_testing::is_checked" => return Some(Known::IsChecked),
        _ => {}
    }
    if segments[0] != "std" {
        return None;
    }
    let flavor = || match () {
        () if has("list") => Some(Flavor::List),
        () if has("array") => Some(Flavor::Array),
        () => None,
    };
    let drops = segments.ends_with(&["Drop", "drop"]);
    Some(match () {
        () if ends(&["rt", "lang_start"]) => Known::Main,
        () if has("sys") && has("thread") && ends(&["Thread", "new"]) => Known::Spawn,
        () if has("sys") && has("thread") && ends(&["Thread", "join"]) => Known::Join,
        () if has("sys") && has("thread") && drops && path.contains("Thread as") => Known::Detach,
        () if ends(&["Thread", "new"]) => Known::NewThread,
        () if ends(&["ThreadId", "new"]) => Known::NewId,
        () if ends(&["Thread", "id"]) => Known::ThreadId,
        () if ends(&["current", "id"]) => Known::CurrentId,
        () if has("thread") && (ends(&["current"]) || ends(&["current_or_unnamed"])) => {
            Known::Current
        }
        () if has("thread") && (ends(&["park"]) || ends(&["park_timeout"])) => Known::Park,
        () if has("thread") && ends(&["unpark"]) => Known::Unpark,
        () if has("thread") && ends(&["is_finished"]) => Known::IsFinished,
        () if ends(&["Builder", "name"]) || ends(&["Builder", "stack_size"]) => Known::Configure,
        () if has("spawnhook") => Known::SpawnHooks,
        () if ends(&["ScopeData", "increment_num_running_threads"]) => Known::EnterScope,
        () if ends(&["ScopeData", "decrement_num_running_threads"]) => Known::Nothing,
        () if ends(&["Mutex", "lock_contended"]) => Known::LockMutex,
        () if ends(&["RwLock", "read_contended"]) => Known::LockRead,
        () if ends(&["RwLock", "write_contended"]) => Known::LockWrite,
        () if has("sys") && ends(&["Condvar", "wait"]) => Known::WaitCondition,
        () if has("sys") && ends(&["Condvar", "wait_timeout"]) => Known::WaitConditionTimeout,
        () if ends(&["Condvar", "notify_one"]) || ends(&["Condvar", "notify_all"]) => {
            Known::Nothing
        }
        () if ends(&["Mutex", "wake"]) || ends(&["RwLock", "wake_writer_or_readers"]) => {
            Known::Nothing
        }
        () if ends(&["futex", "futex_wake"]) || ends(&["futex", "futex_wake_all"]) => {
            Known::Nothing
        }
        () if has("sys") && ends(&["Once", "call"]) => Known::CallOnce,
        () if has("sys") && ends(&["Once", "wait"]) => Known::WaitOnce,
        () if ends(&["Barrier", "wait"]) => Known::WaitBarrier,
        () if has("mpmc") && ends(&["Channel", "start_send"]) => Known::StartSend(flavor()?),
        () if has("mpmc") && ends(&["Channel", "start_recv"]) => Known::StartReceive(flavor()?),
        () if has("mpmc") && ends(&["Channel", "disconnect_senders"]) => {
            Known::DropSenders(flavor()?)
        }
        () if has("mpmc") && ends(&["Channel", "disconnect_receivers"]) => {
            Known::DropReceivers(flavor()?)
        }
        () if ends(&["mpmc", "sync_channel"]) => Known::LimitedChannel,
        // Who waits notices by himself, and does not count how often he has looked.
        () if has("mpmc") && (has("SyncWaker") || has("Backoff")) && !ends(&["new"]) => {
            Known::Nothing
        }
        () if has("mpmc") && drops && path.contains("SyncWaker as") => Known::Nothing,
        () if ends(&["process", "exit"]) => Known::Exit,
        () if ends(&["Instant", "now"]) || ends(&["SystemTime", "now"]) => Known::Time,
        () if ends(&["Instant", "elapsed"]) || ends(&["Instant", "duration_since"]) => Known::Time,
        () if ends(&["Instant", "checked_add"])
            || path.starts_with("std::time::Instant as core::ops") =>
        {
            Known::Time
        }
        () if ends(&["hashmap_random_keys"]) => Known::HashKeys,
        () if has("thread_local") && ends(&["register"]) => Known::ThreadLocalDestructor,
        () if has("panic_count") && ends(&["is_zero_slow_path"]) => Known::NotPanicking,
        () if has("thread") && ends(&["available_parallelism"]) => Known::Processors,
        () if has("thread") && (ends(&["yield_now"]) || ends(&["sleep"])) => Known::Nothing,
        () if ends(&["stdio", "_print"]) || ends(&["stdio", "_eprint"]) => Known::Nothing,
        () => return None,
    })
}

/// What is special about a function of a module.
pub(crate) fn classify(module: &Module, function: FunctionId) -> Class {
    let declared = module.function(function);
    let Some(name) = demangled(&declared.name) else { return Class::Ordinary };
    let path = without_types(&name);
    if let Some(known) = known(&path) {
        return Class::Known(known);
    }
    if path.starts_with("core::sync::atomic::") {
        return Class::Atomics;
    }
    if path.starts_with("std::thread::") {
        let spawns = ["spawn_unchecked", "spawn_unchecked_"];
        let last_but_closures = path.split("::").filter(|part| !part.starts_with('{'));
        let spawns = last_but_closures.last().is_some_and(|last| spawns.contains(&last));
        if spawns && path.contains("{closure") && declared.params.is_empty() {
            return Class::Known(Known::StackSize);
        }
        if spawns && !path.contains("{closure") {
            return Class::Spawns;
        }
        if path.ends_with("JoinInner::join") && name.contains("JoinInner<()>") {
            return Class::Known(Known::JoinUnit);
        }
        if path.ends_with("scoped::scope") {
            return Class::Scope;
        }
    }
    match tries_first(module, function) {
        true => Class::FastPath,
        false => Class::Ordinary,
    }
}

/// The functions that a function calls by their names.
pub(super) fn callees(
    module: &Module,
    function: FunctionId,
) -> impl Iterator<Item = FunctionId> + '_ {
    let instrs = module.function(function).blocks.iter().flat_map(|block| &block.instrs);
    instrs.filter_map(|instr| match &instr.kind {
        InstrKind::Call(call) | InstrKind::Invoke { call, .. } => match call.callee {
            Callee::Function(callee) => Some(callee),
            _ => None,
        },
        _ => None,
    })
}

/// Does a function call the slow path of a lock?
fn tries_first(module: &Module, function: FunctionId) -> bool {
    callees(module, function).any(|callee| {
        let name = &module.function(callee).name;
        // Most names need no demangling to see that they are others.
        name.contains("_contended")
            && path(name).and_then(|path| known(&path)).is_some_and(|known| {
                matches!(known, Known::LockMutex | Known::LockRead | Known::LockWrite)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_no_type_arguments() {
        assert_eq!(
            without_types("<std::thread::JoinInner<()>>::join"),
            "std::thread::JoinInner::join"
        );
        assert_eq!(
            without_types(
                "std::thread::lifecycle::spawn_unchecked::<a::main::{closure#0}, u32>::{closure#0}"
            ),
            "std::thread::lifecycle::spawn_unchecked::{closure#0}"
        );
        assert_eq!(
            without_types("<alloc::sync::Arc<a::B<fn() -> u8>> as core::ops::drop::Drop>::drop"),
            "alloc::sync::Arc as core::ops::drop::Drop::drop"
        );
        assert_eq!(
            without_types("std::thread::JoinHandle<T>::join"),
            "std::thread::JoinHandle::join"
        );
    }

    /// Catches functions that are taken for others: asking about a panic is none.
    #[test]
    fn functions_are_known_by_their_paths() {
        assert_eq!(known("core::panicking::panic_fmt"), Some(Known::Panic));
        assert_eq!(known("core::option::unwrap_failed"), Some(Known::Panic));
        assert_eq!(known("std::thread::panicking"), None);
        assert_eq!(known("std::panicking::catch_unwind::do_call"), None);
        assert_eq!(known("std::sys::thread::unix::Thread::new"), Some(Known::Spawn));
        assert_eq!(known("std::sys::pal::unix::thread::Thread::new"), Some(Known::Spawn));
        assert_eq!(known("std::thread::thread::Thread::new"), Some(Known::NewThread));
        assert_eq!(
            known("std::sys::thread::unix::Thread as core::ops::drop::Drop::drop"),
            Some(Known::Detach)
        );
        let channel = "std::sync::mpmc::array::Channel::start_send";
        assert_eq!(known(channel), Some(Known::StartSend(Flavor::Array)));
        assert_eq!(known("std::sync::mpmc::list::Channel::write"), None);
        assert_eq!(known("std::sync::mpmc::sync_channel"), Some(Known::LimitedChannel));
        assert_eq!(known("mine::Thread::new"), None);
        assert_eq!(known("mine::unwrap_failed"), None);
    }

    #[test]
    fn both_manglings_are_read() {
        let legacy = "_ZN4core9panicking9panic_fmt17h0123456789abcdefE";
        assert_eq!(path(legacy).as_deref(), Some("core::panicking::panic_fmt"));
        assert_eq!(
            path("_RNvNtCs1234_4core9panicking9panic_fmt").as_deref(),
            Some("core::panicking::panic_fmt")
        );
        assert_eq!(path("main"), None);
    }
}
