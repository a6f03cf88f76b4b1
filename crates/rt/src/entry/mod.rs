//! The symbols that compilers and programs call.
//!
//! Entry points that need to know where they were called from are a few instructions that pass the
//! return address on. Those of atomic accesses also save the registers that survive a call, which is
//! what [`crate::spin`] starts from. This module has the beginning and end of a program and calls of its
//! functions; the others are about what their names say.

use crate::findings;
use crate::heap;
use crate::locked_location;
use crate::memory;
use crate::options::Options;
use crate::pools;
use crate::registry;
use crate::schedule;
use crate::spin::Entry;
use crate::sync;
use crate::system;
use crate::thread;
use clocks::analysis::Numbers;
use libc::{c_char, c_int};
use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// An entry point that passes the return address on in `$register`.
macro_rules! with_caller {
    ($name:ident $register:literal $inner:path) => {
        global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ": mov ", $register, ", [rsp]"),
            "jmp {inner}",
            inner = sym $inner,
        );
    };
}

/// The entry point `$symbol` saves registers and passes a pointer to them in `$register`. If there is a quick way, it is
/// tried first, with the return address in `$pc`: it says in `$done` whether it was enough, and what it returns
/// besides is what the entry point returns.
macro_rules! saving {
    ($name:ident = $symbol:expr, $register:literal $inner:path) => {
        saving!(@ $name = $symbol, $register $inner, [] []);
    };
    ($name:ident = $symbol:expr, $register:literal $inner:path,
     try $pc:literal $quick:path => $done:literal) => {
        saving!(@ $name = $symbol, $register $inner, [
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "push rdx",
            ".cfi_adjust_cfa_offset 8",
            concat!("mov ", $pc, ", [rsp + 24]"),
            "call {quick}",
            concat!("test ", $done, ", ", $done),
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            "je 2f",
            "ret",
            "2:",
        ] [quick = sym $quick,]);
    };
    (@ $name:ident = $symbol:expr, $register:literal $inner:path,
     [$($first:expr,)*] [$($quick:tt)*]) => {
        global_asm!(
            concat!(".globl ", $symbol),
            concat!(".type ", $symbol, ", @function"),
            concat!($symbol, ":"),
            ".cfi_startproc",
            $($first,)*
            "push r15",
            ".cfi_adjust_cfa_offset 8",
            "push r14",
            ".cfi_adjust_cfa_offset 8",
            "push r13",
            ".cfi_adjust_cfa_offset 8",
            "push r12",
            ".cfi_adjust_cfa_offset 8",
            "push rbx",
            ".cfi_adjust_cfa_offset 8",
            "push rbp",
            ".cfi_adjust_cfa_offset 8",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            concat!("mov ", $register, ", rsp"),
            "call {inner}",
            "add rsp, 56",
            ".cfi_adjust_cfa_offset -56",
            "ret",
            ".cfi_endproc",
            $($quick)*
            inner = sym $inner,
        );
        unsafe extern "C" {
            #[link_name = $symbol]
            fn $name();
        }
    };
}

#[allow(non_snake_case, reason = "names that others chose")]
mod annotations;
mod atomics;
mod blocks;
mod channels;
mod locks;
#[allow(non_snake_case, reason = "names that others chose")]
mod openmp;
mod plain;
mod rust;
mod threads;

#[global_allocator]
static ALLOCATOR: heap::Below = heap::Below;

// Beginning and end

/// Runs before the program's own constructors.
#[used]
#[unsafe(link_section = ".preinit_array")]
static BEGIN: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin_early;

/// Runs after what the program registered with `atexit`.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// The C library does not know the environment yet, but its address is passed on.
extern "C" fn begin_early(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    let mut text = String::new();
    let mut entry = environment;
    // SAFETY: an array of strings that ends with a null pointer.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            let variable = std::ffi::CStr::from_ptr(*entry).to_string_lossy();
            if let Some(value) = variable.strip_prefix("FENCEPOST_OPTIONS=") {
                text = value.to_string();
            }
            entry = entry.add(1);
        }
    }
    begin(&text);
}

fn begin(text: &str) {
    if heap::READY.load(Ordering::SeqCst) {
        return;
    }
    let (options, complaints) = Options::parse(text);
    for complaint in complaints {
        findings::complain(&complaint);
    }
    memory::reserve();
    pools::reserve();
    locked_location::begin();
    let record = options.record.clone();
    let guarded = options.raw.is_none();
    registry::create(options);
    if let Some(path) = record {
        match findings::Recorder::new(&path) {
            Ok(recorder) => registry::lock().recorder = Some(recorder),
            Err(error) => findings::die(&format!("cannot record to {path}: {error}")),
        }
    }
    sync::begin();
    heap::READY.store(true, Ordering::SeqCst);
    findings::hello();
    // SAFETY: registers handlers.
    unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child));
        if guarded {
            guard_against_crashes();
        }
    }
}

extern "C" fn end() {
    finish(true);
}

fn finish(flush: bool) {
    if let Some(mut thread) = thread::current() {
        thread.busy = true;
    }
    schedule::stop();
    findings::finish();
    let options = registry::options();
    let found = findings::COUNT.load(Ordering::Relaxed) > 0;
    if found && options.exitcode != 0 && options.raw.is_none() {
        // SAFETY: ends the process as the user asked.
        unsafe {
            if flush {
                libc::fflush(std::ptr::null_mut());
            }
            system::call(libc::SYS_exit_group, [options.exitcode as usize, 0, 0, 0, 0, 0]);
        }
    }
    if let Some(mut thread) = thread::current() {
        thread.busy = false;
    }
}

/// A program that crashes waits until its findings are printed, as one does that ends.
unsafe fn guard_against_crashes() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT] {
        // SAFETY: replaces default actions only.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut old);
            if old.sa_sigaction == libc::SIG_DFL {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = crashed as *const () as usize;
                new.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
                libc::sigaction(signal, &raw const new, std::ptr::null_mut());
            }
        }
    }
}

extern "C" fn crashed(signal: c_int) {
    if let Some(mut thread) = thread::current() {
        thread.busy = true;
    }
    findings::finish();
    // SAFETY: the default action is back in place.
    unsafe { libc::raise(signal) };
}

/// Whatever a thread may hold while another forks. The child would wait for it forever.
struct Held(UnsafeCell<Vec<Box<dyn Anything>>>);

trait Anything {}
impl<T> Anything for T {}

// SAFETY: used by the thread that forks only, which holds the lock of the state.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(Vec::new()));

extern "C" fn before_fork() {
    if let Some(mut thread) = thread::current() {
        thread.busy = true;
    }
    let state = registry::lock();
    locked_location::close(
        &state,
        thread::current().map_or(std::ptr::null(), |thread| &raw const *thread),
    );
    std::mem::forget(state);
    let guards: Vec<Box<dyn Anything>> = vec![
        Box::new(findings::hold()),
        Box::new(crate::channels::hold()),
        Box::new(registry::hold_tolerated()),
        Box::new(registry::hold_creations()),
        Box::new(registry::tree().hold()),
        Box::new(registry::sets().hold()),
    ];
    // SAFETY: the lock of the state is held.
    unsafe { *HELD.0.get() = guards };
}

fn forked() {
    // SAFETY: the lock of the state is held, since `before_fork`.
    unsafe { (*HELD.0.get()).clear() };
    locked_location::open();
    // SAFETY: as above.
    unsafe { registry::unlock() };
}

extern "C" fn after_fork() {
    forked();
    if let Some(mut thread) = thread::current() {
        thread.busy = false;
    }
}

/// The child has one thread and memory that nobody else accesses: it starts afresh.
extern "C" fn in_child() {
    memory::forget();
    locked_location::begin();
    forked();
    schedule::stop();
    findings::forked();
    let mut state = registry::lock();
    state.location_numbers = Numbers::from(1);
    // The recording goes on in the parent, and so do the other threads.
    state.recorder = None;
    state.running.clear();
    if let Some(mut thread) = thread::current() {
        state.running.push(&raw mut *thread);
        drop(state);
        thread.busy = false;
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    begin(&std::env::var("FENCEPOST_OPTIONS").unwrap_or_default());
    // Tables that are made once are made before there are threads: a child forked while one of them makes a
    // table would wait for it for ever.
    crate::assembly::prepare();
    entry_at(0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    finish(false);
    // SAFETY: ends the process.
    unsafe { system::call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    std::process::abort()
}

// Calls

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(caller: usize) {
    if let Some(mut thread) = thread::current() {
        let stack: usize;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack)) };
        thread.call(caller, stack);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {
    if let Some(mut thread) = thread::current() {
        thread.return_();
    }
}

/// What [`crate::spin`] needs to know of the entry points.
pub fn entry_at(address: u64) -> Option<Entry> {
    static ENTRIES: OnceLock<Vec<(u64, Entry)>> = OnceLock::new();
    let entries = ENTRIES.get_or_init(|| {
        let mut all = atomics::entries();
        all.extend(plain::entries());
        let others = [
            __tsan_func_entry as *const () as u64,
            __tsan_func_exit as *const () as u64,
            threads::sched_yield as *const () as u64,
            threads::usleep as *const () as u64,
            threads::nanosleep as *const () as u64,
        ];
        all.extend(others.map(|at| (at, Entry::Nothing)));
        all.sort_unstable_by_key(|&(at, _)| at);
        all
    });
    let index = entries.binary_search_by_key(&address, |&(at, _)| at).ok()?;
    Some(entries[index].1)
}
