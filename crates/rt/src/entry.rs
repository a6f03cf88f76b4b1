//! The symbols that compilers and programs call.
//!
//! Entry points that need to know where they were called from are a few instructions that pass the
//! return address on. Those of atomic accesses also save the registers that survive a call, which is
//! what [`crate::spin`] starts from.

use crate::atomic::{self, Effect, Plan, Word};
use crate::below;
use crate::findings::{self, Operation};
use crate::heap;
use crate::memory;
use crate::options::Options;
use crate::place;
use crate::plain;
use crate::rust_std::{self, Words};
use crate::schedule;
use crate::spin::{Entry, Frame};
use crate::state::{self, Role};
use crate::sync;
use crate::system;
use crate::thread;
use clocks::Order;
use clocks::access::Intent;
use clocks::trace::Event;
use libc::{c_char, c_int, c_long, c_uint, c_void, pthread_t, timespec};
use std::arch::global_asm;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

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
        eprintln!("fencepost: {complaint}");
    }
    memory::reserve();
    let record = options.record.clone();
    let guarded = options.raw.is_none();
    state::create(options);
    if let Some(path) = record {
        match findings::Recorder::new(&path) {
            Ok(recorder) => state::lock().recorder = Some(recorder),
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
    if let Some(thread) = thread::current() {
        thread.busy = true;
    }
    schedule::stop();
    findings::finish();
    let options = state::options();
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
    if let Some(thread) = thread::current() {
        thread.busy = false;
    }
}

/// Findings are kept until the end; a crash must not take them along.
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
    if let Some(thread) = thread::current() {
        thread.busy = true;
    }
    findings::finish();
    // SAFETY: the default action is back in place.
    unsafe { libc::raise(signal) };
}

extern "C" fn before_fork() {
    if let Some(thread) = thread::current() {
        thread.busy = true;
    }
    let state = state::lock();
    place::close(&state, thread::current().map_or(std::ptr::null(), |thread| &raw const *thread));
    std::mem::forget(state);
}

extern "C" fn after_fork() {
    place::open();
    // SAFETY: taken in `before_fork`.
    unsafe { state::unlock() };
    if let Some(thread) = thread::current() {
        thread.busy = false;
    }
}

extern "C" fn in_child() {
    after_fork();
    schedule::stop();
    if let Some(thread) = thread::current() {
        thread.busy = true;
        findings::forked();
        let mut state = state::lock();
        // The recording goes on in the parent, and so do the other threads.
        state.recorder = None;
        state.running = vec![&raw mut *thread];
        drop(state);
        thread.busy = false;
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    begin(&std::env::var("FENCEPOST_OPTIONS").unwrap_or_default());
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
    if let Some(thread) = thread::current() {
        let stack: usize;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack)) };
        thread.call(caller, stack);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {
    if let Some(thread) = thread::current() {
        thread.return_();
    }
}

// Plain accesses: name, size, and whether it may cross eight bytes

macro_rules! plain {
    ($($name:ident $inner:ident $write:literal $size:literal;)*) => {$(
        global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ": mov rsi, [rsp]"),
            "jmp {inner}",
            inner = sym $inner,
        );
        extern "C" fn $inner(address: usize, pc: usize) {
            if $size > 8 || address & 7 > 8 - $size.min(8) {
                plain::range::<$write>(address, $size, pc);
            } else {
                plain::access::<$write>(address, $size, pc);
            }
        }
        unsafe extern "C" { fn $name(); }
    )*
        fn plain_entries() -> Vec<u64> {
            vec![$($name as *const () as u64),*]
        }
    };
}

plain! {
    __tsan_read1 read1 false 1usize;
    __tsan_read2 read2 false 2usize;
    __tsan_read4 read4 false 4usize;
    __tsan_read8 read8 false 8usize;
    __tsan_read16 read16 false 16usize;
    __tsan_write1 write1 true 1usize;
    __tsan_write2 write2 true 2usize;
    __tsan_write4 write4 true 4usize;
    __tsan_write8 write8 true 8usize;
    __tsan_write16 write16 true 16usize;
    __tsan_unaligned_read2 unaligned_read2 false 2usize;
    __tsan_unaligned_read4 unaligned_read4 false 4usize;
    __tsan_unaligned_read8 unaligned_read8 false 8usize;
    __tsan_unaligned_read16 unaligned_read16 false 16usize;
    __tsan_unaligned_write2 unaligned_write2 true 2usize;
    __tsan_unaligned_write4 unaligned_write4 true 4usize;
    __tsan_unaligned_write8 unaligned_write8 true 8usize;
    __tsan_unaligned_write16 unaligned_write16 true 16usize;
    __tsan_volatile_read1 volatile_read1 false 1usize;
    __tsan_volatile_read2 volatile_read2 false 2usize;
    __tsan_volatile_read4 volatile_read4 false 4usize;
    __tsan_volatile_read8 volatile_read8 false 8usize;
    __tsan_volatile_read16 volatile_read16 false 16usize;
    __tsan_volatile_write1 volatile_write1 true 1usize;
    __tsan_volatile_write2 volatile_write2 true 2usize;
    __tsan_volatile_write4 volatile_write4 true 4usize;
    __tsan_volatile_write8 volatile_write8 true 8usize;
    __tsan_volatile_write16 volatile_write16 true 16usize;
    __tsan_unaligned_volatile_read2 unaligned_volatile_read2 false 2usize;
    __tsan_unaligned_volatile_read4 unaligned_volatile_read4 false 4usize;
    __tsan_unaligned_volatile_read8 unaligned_volatile_read8 false 8usize;
    __tsan_unaligned_volatile_read16 unaligned_volatile_read16 false 16usize;
    __tsan_unaligned_volatile_write2 unaligned_volatile_write2 true 2usize;
    __tsan_unaligned_volatile_write4 unaligned_volatile_write4 true 4usize;
    __tsan_unaligned_volatile_write8 unaligned_volatile_write8 true 8usize;
    __tsan_unaligned_volatile_write16 unaligned_volatile_write16 true 16usize;
    __tsan_read_write1 read_write1 true 1usize;
    __tsan_read_write2 read_write2 true 2usize;
    __tsan_read_write4 read_write4 true 4usize;
    __tsan_read_write8 read_write8 true 8usize;
    __tsan_read_write16 read_write16 true 16usize;
    __tsan_unaligned_read_write2 unaligned_read_write2 true 2usize;
    __tsan_unaligned_read_write4 unaligned_read_write4 true 4usize;
    __tsan_unaligned_read_write8 unaligned_read_write8 true 8usize;
    __tsan_unaligned_read_write16 unaligned_read_write16 true 16usize;
    __tsan_vptr_read vptr_read false 8usize;
}

macro_rules! with_caller {
    ($name:ident $register:literal $inner:ident) => {
        global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ": mov ", $register, ", [rsp]"),
            "jmp {inner}",
            inner = sym $inner,
        );
    };
}

with_caller!(__tsan_read_range "rdx" read_range);
with_caller!(__tsan_write_range "rdx" write_range);
with_caller!(__tsan_vptr_update "rdx" vptr_update);
with_caller!(__tsan_memcpy "rcx" copied);
with_caller!(__tsan_memmove "rcx" copied);
with_caller!(__tsan_memset "rcx" filled);

extern "C" fn read_range(address: usize, size: usize, pc: usize) {
    plain::range::<false>(address, size, pc);
}

extern "C" fn write_range(address: usize, size: usize, pc: usize) {
    plain::range::<true>(address, size, pc);
}

/// A virtual table pointer that does not change is set again by destructors, harmlessly.
unsafe extern "C" fn vptr_update(address: *mut usize, new: usize, pc: usize) {
    // SAFETY: the program is about to write it.
    if unsafe { address.read_volatile() } != new {
        plain::access::<true>(address as usize, 8, pc);
    }
}

unsafe extern "C" fn copied(to: *mut u8, from: *const u8, size: usize, pc: usize) -> *mut u8 {
    plain::range::<false>(from as usize, size, pc);
    plain::range::<true>(to as usize, size, pc);
    // SAFETY: what the program asked for.
    unsafe { libc::memmove(to.cast(), from.cast(), size).cast() }
}

unsafe extern "C" fn filled(to: *mut u8, value: c_int, size: usize, pc: usize) -> *mut u8 {
    plain::range::<true>(to as usize, size, pc);
    // SAFETY: what the program asked for.
    unsafe { libc::memset(to.cast(), value, size).cast() }
}

// Calls that GCC does not instrument. A program linked with `--wrap=memcpy` calls these instead; code
// that is not instrumented, such as that of the Rust standard library, never does.
with_caller!(__wrap_memcpy "rcx" copied_quickly);
with_caller!(__wrap_memmove "rcx" copied_quickly);
with_caller!(__wrap_memset "rcx" filled_quickly);

unsafe extern "C" fn copied_quickly(
    to: *mut u8,
    from: *const u8,
    size: usize,
    pc: usize,
) -> *mut u8 {
    type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8;
    watched(|| {
        plain::range::<false>(from as usize, size, pc);
        plain::range::<true>(to as usize, size, pc);
    });
    // SAFETY: what the program asked for.
    let real = below!(c"memmove", Copy);
    unsafe { real(to, from, size) }
}

unsafe extern "C" fn filled_quickly(to: *mut u8, value: c_int, size: usize, pc: usize) -> *mut u8 {
    type Fill = unsafe extern "C" fn(*mut u8, c_int, usize) -> *mut u8;
    watched(|| plain::range::<true>(to as usize, size, pc));
    // SAFETY: what the program asked for.
    let real = below!(c"memset", Fill);
    unsafe { real(to, value, size) }
}

fn watched(check: impl FnOnce()) {
    if heap::READY.load(Ordering::Relaxed) && thread::current().is_some_and(|thread| !thread.busy) {
        check();
    }
}

// Atomic accesses

/// An entry point that saves registers and passes a pointer to them in `$register`.
macro_rules! saving {
    ($name:ident $register:literal $inner:path) => {
        global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ":"),
            ".cfi_startproc",
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
            inner = sym $inner,
        );
        unsafe extern "C" { fn $name(); }
    };
}

fn order(number: c_int) -> Order {
    Order::from_number(number as u32)
}

/// The order of the read of a failed compare-and-swap.
fn failed(number: c_int) -> Order {
    match order(number) {
        Order::Release => Order::Relaxed,
        Order::AcqRel => Order::Acquire,
        order => order,
    }
}

#[inline(always)]
fn load<T: Word>(at: *mut T, mode: c_int, frame: &Frame) -> T {
    let order = order(mode);
    let plan = Plan {
        intent: Intent::Load,
        order,
        failure: order,
        operation: Operation::Load,
        expected: None,
        returns_value: true,
    };
    atomic::access(at, frame, &plan, |_| Effect::Keep)
}

#[inline(always)]
fn store<T: Word>(at: *mut T, value: T, mode: c_int, frame: &Frame) {
    let order = order(mode);
    let plan = Plan {
        intent: Intent::Write,
        order,
        failure: order,
        operation: Operation::Store,
        expected: None,
        returns_value: false,
    };
    atomic::access(at, frame, &plan, |_| Effect::Store(value));
}

#[inline(always)]
fn update<T: Word>(
    at: *mut T,
    mode: c_int,
    frame: &Frame,
    operation: Operation,
    change: impl Fn(T) -> T,
) -> T {
    let order = order(mode);
    let plan = Plan {
        intent: Intent::Write,
        order,
        failure: order,
        operation,
        expected: None,
        returns_value: true,
    };
    atomic::access(at, frame, &plan, |old| Effect::Update(change(old)))
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn cas<T: Word>(
    at: *mut T,
    expected: T,
    desired: T,
    success: c_int,
    failure: c_int,
    frame: &Frame,
    place: Option<*mut T>,
    weak: bool,
) -> T {
    let value = expected.bits();
    let plan = Plan {
        intent: if weak { Intent::WeakCas(value) } else { Intent::StrongCas(value) },
        order: order(success),
        failure: failed(failure),
        operation: Operation::Cas,
        expected: place,
        returns_value: place.is_none(),
    };
    let effect = |old| if old == expected { Effect::Update(desired) } else { Effect::Keep };
    atomic::access(at, frame, &plan, effect)
}

macro_rules! atomics {
    ($type:ty, $module:ident: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident
     $or:ident $xor:ident $nand:ident $strong:ident $weak:ident $val:ident) => {
        mod $module {
            use super::*;
            type T = $type;
            extern "C" fn load(at: *mut T, mode: c_int, frame: &Frame) -> T {
                super::load(at, mode, frame)
            }
            extern "C" fn store(at: *mut T, value: T, mode: c_int, frame: &Frame) {
                super::store(at, value, mode, frame);
            }
            extern "C" fn exchange(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Exchange, |_| value)
            }
            extern "C" fn add(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Fetch, |old| old.wrapping_add(value))
            }
            extern "C" fn sub(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Fetch, |old| old.wrapping_sub(value))
            }
            extern "C" fn and(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Fetch, |old| old & value)
            }
            extern "C" fn or(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Fetch, |old| old | value)
            }
            extern "C" fn xor(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Fetch, |old| old ^ value)
            }
            extern "C" fn nand(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                update(at, mode, frame, Operation::Fetch, |old| !(old & value))
            }
            unsafe extern "C" fn strong(
                at: *mut T, expected: *mut T, desired: T, s: c_int, f: c_int, frame: &Frame,
            ) -> c_int {
                compare(at, expected, desired, s, f, frame, false)
            }
            unsafe extern "C" fn weak(
                at: *mut T, expected: *mut T, desired: T, s: c_int, f: c_int, frame: &Frame,
            ) -> c_int {
                compare(at, expected, desired, s, f, frame, true)
            }
            fn compare(
                at: *mut T, place: *mut T, desired: T, s: c_int, f: c_int, frame: &Frame, weak: bool,
            ) -> c_int {
                // SAFETY: the program keeps the expected value there.
                let expected = unsafe { *place };
                let found = cas(at, expected, desired, s, f, frame, Some(place), weak);
                if found != expected {
                    // SAFETY: as above.
                    unsafe { *place = found };
                }
                c_int::from(found == expected)
            }
            extern "C" fn val(
                at: *mut T, expected: T, desired: T, s: c_int, f: c_int, frame: &Frame,
            ) -> T {
                cas(at, expected, desired, s, f, frame, None, false)
            }
            saving!($load "rdx" load);
            saving!($store "rcx" store);
            saving!($exchange "rcx" exchange);
            saving!($add "rcx" add);
            saving!($sub "rcx" sub);
            saving!($and "rcx" and);
            saving!($or "rcx" or);
            saving!($xor "rcx" xor);
            saving!($nand "rcx" nand);
            saving!($strong "r9" strong);
            saving!($weak "r9" weak);
            saving!($val "r9" val);
            pub fn entries() -> Vec<(u64, Entry)> {
                let size = size_of::<T>() as u8;
                vec![
                    ($load as *const () as u64, Entry::Load(size)),
                    ($strong as *const () as u64, Entry::Cas),
                    ($weak as *const () as u64, Entry::Cas),
                    ($val as *const () as u64, Entry::Cas),
                ]
            }
        }
    };
}

atomics!(u8, atomic8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
    __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and
    __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
    __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
    __tsan_atomic8_compare_exchange_val);
atomics!(u16, atomic16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
    __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and
    __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand
    __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
    __tsan_atomic16_compare_exchange_val);
atomics!(u32, atomic32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
    __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and
    __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand
    __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
    __tsan_atomic32_compare_exchange_val);
atomics!(u64, atomic64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
    __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and
    __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand
    __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
    __tsan_atomic64_compare_exchange_val);

/// Sixteen bytes take two registers, and there is none left for a frame: loops over them are not
/// recognised, and reports name the caller's caller.
mod atomic128 {
    use super::*;
    type T = u128;
    #[unsafe(no_mangle)]
    extern "C" fn __tsan_atomic128_load(at: *mut T, mode: c_int) -> T {
        load(at, mode, &Frame::default())
    }
    #[unsafe(no_mangle)]
    extern "C" fn __tsan_atomic128_store(at: *mut T, value: T, mode: c_int) {
        store(at, value, mode, &Frame::default());
    }
    macro_rules! updates {
        ($($name:ident $operation:ident |$old:ident, $value:ident| $new:expr;)*) => {$(
            #[unsafe(no_mangle)]
            extern "C" fn $name(at: *mut T, $value: T, mode: c_int) -> T {
                update(at, mode, &Frame::default(), Operation::$operation, |$old| $new)
            }
        )*};
    }
    updates! {
        __tsan_atomic128_exchange Exchange |_old, value| value;
        __tsan_atomic128_fetch_add Fetch |old, value| old.wrapping_add(value);
        __tsan_atomic128_fetch_sub Fetch |old, value| old.wrapping_sub(value);
        __tsan_atomic128_fetch_and Fetch |old, value| old & value;
        __tsan_atomic128_fetch_or Fetch |old, value| old | value;
        __tsan_atomic128_fetch_xor Fetch |old, value| old ^ value;
        __tsan_atomic128_fetch_nand Fetch |old, value| !(old & value);
    }
    #[unsafe(no_mangle)]
    extern "C" fn __tsan_atomic128_compare_exchange_val(
        at: *mut T,
        expected: T,
        desired: T,
        s: c_int,
        f: c_int,
    ) -> T {
        cas(at, expected, desired, s, f, &Frame::default(), None, false)
    }
    unsafe fn compare(
        at: *mut T,
        place: *mut T,
        desired: T,
        s: c_int,
        f: c_int,
        weak: bool,
    ) -> c_int {
        // SAFETY: the program keeps the expected value there.
        unsafe {
            let expected = *place;
            let found = cas(at, expected, desired, s, f, &Frame::default(), Some(place), weak);
            if found != expected {
                *place = found;
            }
            c_int::from(found == expected)
        }
    }
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_compare_exchange_strong(
        at: *mut T,
        place: *mut T,
        desired: T,
        s: c_int,
        f: c_int,
    ) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { compare(at, place, desired, s, f, false) }
    }
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_compare_exchange_weak(
        at: *mut T,
        place: *mut T,
        desired: T,
        s: c_int,
        f: c_int,
    ) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { compare(at, place, desired, s, f, true) }
    }
}

with_caller!(__tsan_atomic_thread_fence "rsi" thread_fence);

extern "C" fn thread_fence(mode: c_int, pc: usize) {
    atomic::fence(order(mode), pc);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: c_int) {}

/// What [`crate::spin`] needs to know of the entry points.
pub fn entry_at(address: u64) -> Option<Entry> {
    static ENTRIES: OnceLock<Vec<(u64, Entry)>> = OnceLock::new();
    let entries = ENTRIES.get_or_init(|| {
        let mut all =
            [atomic8::entries(), atomic16::entries(), atomic32::entries(), atomic64::entries()]
                .concat();
        all.extend(plain_entries().into_iter().map(|at| (at, Entry::Nothing)));
        let others = [
            __tsan_func_entry as *const () as u64,
            __tsan_func_exit as *const () as u64,
            sched_yield as *const () as u64,
            usleep as *const () as u64,
            nanosleep as *const () as u64,
        ];
        all.extend(others.map(|at| (at, Entry::Nothing)));
        all.sort_unstable_by_key(|&(at, _)| at);
        all
    });
    let index = entries.binary_search_by_key(&address, |&(at, _)| at).ok()?;
    Some(entries[index].1)
}

// What fencepost.h declares

macro_rules! waits {
    ($($type:ty: $wait:ident $wait_inner:ident $bcas:ident $bcas_inner:ident;)*) => {$(
        with_caller!($wait "rcx" $wait_inner);
        with_caller!($bcas "r8" $bcas_inner);
        extern "C" fn $wait_inner(at: *mut $type, value: $type, mode: c_int, pc: usize) {
            atomic::wait(at, value, None, order(mode), pc);
        }
        extern "C" fn $bcas_inner(at: *mut $type, value: $type, new: $type, mode: c_int, pc: usize) {
            atomic::wait(at, value, Some(new), order(mode), pc);
        }
    )*};
}

waits! {
    u8: __fencepost_wait1 wait1 __fencepost_bcas1 bcas1;
    u16: __fencepost_wait2 wait2 __fencepost_bcas2 bcas2;
    u32: __fencepost_wait4 wait4 __fencepost_bcas4 bcas4;
    u64: __fencepost_wait8 wait8 __fencepost_bcas8 bcas8;
}

#[unsafe(no_mangle)]
extern "C" fn __fencepost_ignore(change: c_int) {
    if let Some(thread) = thread::current() {
        thread.ignored = thread.ignored.saturating_add_signed(change);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __fencepost_transaction(begins: c_int) {
    let Some(thread) = thread::current() else { return };
    if thread.busy || state::options().record.is_none() {
        return;
    }
    schedule::point(thread, __fencepost_transaction as *const () as usize);
    thread.busy = true;
    state::lock().record(&Event::Transaction { tid: thread.tid, begins: begins != 0 });
    thread.busy = false;
}

// Threads

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

// A frame of its own, so that the end of a thread by `pthread_exit` or cancellation passes through.
global_asm!(
    ".type fencepost_thread, @function",
    "fencepost_thread:",
    ".cfi_startproc",
    "sub rsp, 24",
    ".cfi_adjust_cfa_offset 24",
    "mov rsi, rsp",
    "call {begins}",
    "mov rdi, [rsp + 8]",
    "call [rsp]",
    "add rsp, 24",
    ".cfi_adjust_cfa_offset -24",
    "ret",
    ".cfi_endproc",
    begins = sym sync::thread_begins,
);

unsafe extern "C" {
    fn fencepost_thread(task: *mut c_void) -> *mut c_void;
}

fn thread_entry() -> Start {
    // SAFETY: it has this type.
    unsafe { std::mem::transmute(fencepost_thread as *const ()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    handle: *mut pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    let real = below!(c"pthread_create", Create);
    let mut detached = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if !attributes.is_null() {
            pthread_attr_getdetachstate(attributes, &raw mut detached);
        }
        sync::create(start, argument, thread_entry(), detached != 0, |start, argument| {
            let result = real(handle, attributes, start, argument);
            (result, if result == 0 { *handle } else { 0 })
        })
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        out: *mut c_int,
    ) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(handle: pthread_t, value: *mut *mut c_void) -> c_int {
    let real = below!(c"pthread_join", unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    sync::join(handle, || unsafe { real(handle, value) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(handle: pthread_t) -> c_int {
    let real = below!(c"pthread_detach", unsafe extern "C" fn(pthread_t) -> c_int);
    sync::detach(handle);
    // SAFETY: the caller's promise.
    unsafe { real(handle) }
}

/// C11 threads return a number instead of a pointer, in the same register.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    handle: *mut pthread_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { pthread_create(handle, std::ptr::null(), start, argument) } {
        0 => 0,
        libc::ENOMEM | libc::EAGAIN => 3,
        _ => 2,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_join(handle: pthread_t, result: *mut c_int) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    let failed = unsafe { pthread_join(handle, &raw mut value) } != 0;
    if !result.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *result = value as isize as c_int };
    }
    if failed { 2 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_detach(handle: pthread_t) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { pthread_detach(handle) } == 0 { 0 } else { 2 }
}

// Locks

macro_rules! takes {
    ($($name:ident $c:literal $try_:literal $role:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
            let (real, attempt) = (below!($c, Lock), below!($try_, Lock));
            // SAFETY: the caller's promise.
            sync::take(lock as usize, $role, || unsafe { real(lock) }, || unsafe { attempt(lock) }, true)
        }
    )*};
}

macro_rules! tries {
    ($($name:ident $c:literal $role:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            schedule_point(lock as usize);
            // SAFETY: the caller's promise.
            let result = unsafe { real(lock) };
            if result == 0 {
                sync::acquire(lock as usize, $role);
            }
            result
        }
    )*};
}

macro_rules! gives {
    ($($name:ident $c:literal $role:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            // SAFETY: the caller's promise.
            sync::give(lock as usize, $role, || unsafe { real(lock) })
        }
    )*};
}

macro_rules! timed {
    ($($name:ident $c:literal $try_:literal $role:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void, until: *const timespec) -> c_int {
            type Timed = unsafe extern "C" fn(*mut c_void, *const timespec) -> c_int;
            let real = below!($c, Timed);
            let attempt = below!($try_, unsafe extern "C" fn(*mut c_void) -> c_int);
            // SAFETY: the caller's promise.
            let (block, attempt) = (|| unsafe { real(lock, until) }, || unsafe { attempt(lock) });
            sync::take(lock as usize, $role, block, attempt, false)
        }
    )*};
}

macro_rules! destroys {
    ($($name:ident $c:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(object: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            sync::destroy(object as usize);
            // SAFETY: the caller's promise.
            unsafe { real(object) }
        }
    )*};
}

fn schedule_point(pc: usize) {
    if let Some(thread) = thread::current()
        && !thread.busy
    {
        schedule::point(thread, pc);
    }
}

takes! {
    pthread_mutex_lock c"pthread_mutex_lock" c"pthread_mutex_trylock" Role::Lock;
    pthread_spin_lock c"pthread_spin_lock" c"pthread_spin_trylock" Role::Lock;
    mtx_lock c"mtx_lock" c"pthread_mutex_trylock" Role::Lock;
}

tries! {
    pthread_mutex_trylock c"pthread_mutex_trylock" Role::Lock;
    pthread_spin_trylock c"pthread_spin_trylock" Role::Lock;
    mtx_trylock c"mtx_trylock" Role::Lock;
    pthread_rwlock_tryrdlock c"pthread_rwlock_tryrdlock" Role::Lock;
}

gives! {
    pthread_mutex_unlock c"pthread_mutex_unlock" Role::Lock;
    pthread_spin_unlock c"pthread_spin_unlock" Role::Lock;
    mtx_unlock c"mtx_unlock" Role::Lock;
}

timed! {
    pthread_mutex_timedlock c"pthread_mutex_timedlock" c"pthread_mutex_trylock" Role::Lock;
    mtx_timedlock c"mtx_timedlock" c"pthread_mutex_trylock" Role::Lock;
}

destroys! {
    pthread_mutex_destroy c"pthread_mutex_destroy";
    pthread_spin_destroy c"pthread_spin_destroy";
    pthread_rwlock_destroy c"pthread_rwlock_destroy";
    pthread_barrier_destroy c"pthread_barrier_destroy";
    sem_destroy c"sem_destroy";
}

// Readers come after writers, not after each other; a writer comes after both.

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int {
    type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
    let real = below!(c"pthread_rwlock_rdlock", Lock);
    let attempt = below!(c"pthread_rwlock_tryrdlock", Lock);
    // SAFETY: the caller's promise.
    sync::take(
        lock as usize,
        Role::Lock,
        || unsafe { real(lock) },
        || unsafe { attempt(lock) },
        true,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int {
    type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
    let real = below!(c"pthread_rwlock_wrlock", Lock);
    let attempt = below!(c"pthread_rwlock_trywrlock", Lock);
    // SAFETY: the caller's promise.
    let (block, attempt) = (|| unsafe { real(lock) }, || unsafe { attempt(lock) });
    written(lock, sync::take(lock as usize, Role::Lock, block, attempt, true))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int {
    let real = below!(c"pthread_rwlock_trywrlock", unsafe extern "C" fn(*mut c_void) -> c_int);
    schedule_point(lock as usize);
    // SAFETY: the caller's promise.
    let result = unsafe { real(lock) };
    if result == 0 {
        sync::acquire(lock as usize, Role::Lock);
    }
    written(lock, result)
}

fn written(lock: *mut c_void, result: c_int) -> c_int {
    if result == 0 {
        sync::acquire(lock as usize, Role::Readers);
        if let Some(thread) = thread::current() {
            thread.write_locked.push(lock as usize);
        }
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int {
    let real = below!(c"pthread_rwlock_unlock", unsafe extern "C" fn(*mut c_void) -> c_int);
    let held = thread::current().and_then(|thread| {
        let index = thread.write_locked.iter().rposition(|&held| held == lock as usize)?;
        Some(thread.write_locked.swap_remove(index))
    });
    let role = if held.is_some() { Role::Lock } else { Role::Readers };
    // SAFETY: the caller's promise.
    sync::give(lock as usize, role, || unsafe { real(lock) })
}

// Conditions

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
) -> c_int {
    type Wait = unsafe extern "C" fn(*mut c_void, *mut libc::pthread_mutex_t) -> c_int;
    let real = below!(c"pthread_cond_wait", Wait);
    // SAFETY: the caller's promise.
    unsafe { sync::wait(condition as usize, mutex, true, || real(condition, mutex)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    type Wait =
        unsafe extern "C" fn(*mut c_void, *mut libc::pthread_mutex_t, *const timespec) -> c_int;
    let real = below!(c"pthread_cond_timedwait", Wait);
    // SAFETY: the caller's promise.
    unsafe { sync::wait(condition as usize, mutex, false, || real(condition, mutex, until)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
    clock: c_int,
    until: *const timespec,
) -> c_int {
    type Wait = unsafe extern "C" fn(
        *mut c_void,
        *mut libc::pthread_mutex_t,
        c_int,
        *const timespec,
    ) -> c_int;
    let real = below!(c"pthread_cond_clockwait", Wait);
    // SAFETY: the caller's promise.
    unsafe { sync::wait(condition as usize, mutex, false, || real(condition, mutex, clock, until)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_wait(condition: *mut c_void, mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: C11 conditions and mutexes are POSIX ones in this C library.
    if unsafe { pthread_cond_wait(condition, mutex) } == 0 { 0 } else { 2 }
}

macro_rules! signals {
    ($($name:ident $c:literal $all:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(condition: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            schedule_point(condition as usize);
            // SAFETY: the caller's promise.
            let result = unsafe { real(condition) };
            schedule::wake(condition as usize, $all);
            result
        }
    )*};
}

signals! {
    pthread_cond_signal c"pthread_cond_signal" false;
    pthread_cond_broadcast c"pthread_cond_broadcast" true;
    cnd_signal c"cnd_signal" false;
    cnd_broadcast c"cnd_broadcast" true;
}

// Semaphores

fn attempt_semaphore(semaphore: *mut c_void) -> c_int {
    let attempt = below!(c"sem_trywait", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    if unsafe { attempt(semaphore) } == 0 { 0 } else { libc::EBUSY }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_wait(semaphore: *mut c_void) -> c_int {
    let real = below!(c"sem_wait", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    let block = || unsafe { real(semaphore) };
    sync::take(semaphore as usize, Role::Lock, block, || attempt_semaphore(semaphore), true)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(semaphore: *mut c_void, until: *const timespec) -> c_int {
    let real =
        below!(c"sem_timedwait", unsafe extern "C" fn(*mut c_void, *const timespec) -> c_int);
    // SAFETY: the caller's promise.
    let block = || unsafe { real(semaphore, until) };
    let attempt = || attempt_semaphore(semaphore);
    match sync::take(semaphore as usize, Role::Lock, block, attempt, false) {
        libc::ETIMEDOUT => {
            // SAFETY: this thread's error number.
            unsafe { *libc::__errno_location() = libc::ETIMEDOUT };
            -1
        }
        result => result,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_trywait(semaphore: *mut c_void) -> c_int {
    let real = below!(c"sem_trywait", unsafe extern "C" fn(*mut c_void) -> c_int);
    schedule_point(semaphore as usize);
    // SAFETY: the caller's promise.
    let result = unsafe { real(semaphore) };
    if result == 0 {
        sync::acquire(semaphore as usize, Role::Lock);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_post(semaphore: *mut c_void) -> c_int {
    let real = below!(c"sem_post", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    sync::give(semaphore as usize, Role::Lock, || unsafe { real(semaphore) })
}

// Barriers

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(
    barrier: *mut c_void,
    attributes: *const c_void,
    count: c_uint,
) -> c_int {
    type Init = unsafe extern "C" fn(*mut c_void, *const c_void, c_uint) -> c_int;
    sync::barrier_made(barrier as usize, count);
    // SAFETY: the caller's promise.
    let real = below!(c"pthread_barrier_init", Init);
    unsafe { real(barrier, attributes, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    let real = below!(c"pthread_barrier_wait", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    sync::barrier_wait(barrier as usize, || unsafe { real(barrier) })
}

// Once

/// 0: not yet, 1: running, 2: done; as the C library has it, whatever values it uses, only zero is
/// "not yet", so its own state is left alone and ours is the object's clock.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_once(control: *mut c_int, routine: extern "C" fn()) -> c_int {
    type Once = unsafe extern "C" fn(*mut c_int, extern "C" fn()) -> c_int;
    let real = below!(c"pthread_once", Once);
    ONCE.with(|once| once.set(Some((control as usize, routine))));
    // SAFETY: the caller's promise; the routine that runs is the one just noted.
    let result = unsafe { real(control, run_once) };
    sync::acquire(control as usize, Role::Lock);
    result
}

thread_local! {
    static ONCE: std::cell::Cell<Option<(usize, extern "C" fn())>> = const { std::cell::Cell::new(None) };
}

extern "C" fn run_once() {
    if let Some((control, routine)) = ONCE.with(std::cell::Cell::take) {
        routine();
        sync::release(control, Role::Lock);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn call_once(control: *mut c_int, routine: extern "C" fn()) {
    // SAFETY: the caller's promise.
    unsafe { pthread_once(control, routine) };
}

/// Static variables of functions in C++. The first byte is 1 when they are there.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_acquire(guard: *mut u64) -> c_int {
    use std::sync::atomic::AtomicU32;
    // SAFETY: guards have eight bytes; ours is the first, theirs to test.
    let state = unsafe { AtomicU32::from_ptr(guard.cast()) };
    loop {
        match state.compare_exchange(0, 1 << 16, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return 1,
            Err(1) => {
                sync::acquire(guard as usize, Role::Lock);
                return 0;
            }
            // SAFETY: lets others run.
            Err(_) if !schedule::active() => unsafe {
                system::call(libc::SYS_sched_yield, [0; 6]);
            },
            Err(_) => {
                schedule::block(guard as usize, true);
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_release(guard: *mut u64) {
    sync::release(guard as usize, Role::Lock);
    // SAFETY: as above.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(guard.cast()) }.store(1, Ordering::SeqCst);
    schedule::wake(guard as usize, true);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_abort(guard: *mut u64) {
    // SAFETY: as above.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(guard.cast()) }.store(0, Ordering::SeqCst);
    schedule::wake(guard as usize, true);
}

// Sleep

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    // SAFETY: a system call without arguments.
    sync::pause(|| unsafe { system::call(libc::SYS_sched_yield, [0; 6]) as c_int })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(micros: c_uint) -> c_int {
    let real = below!(c"usleep", unsafe extern "C" fn(c_uint) -> c_int);
    // SAFETY: the caller's promise.
    sync::pause(|| unsafe { real(micros) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    let real = below!(c"nanosleep", unsafe extern "C" fn(*const timespec, *mut timespec) -> c_int);
    // SAFETY: the caller's promise.
    sync::pause(|| unsafe { real(time, left) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    // SAFETY: the caller's promise.
    let system = || unsafe { system::call(number, arguments) };
    let result = match number {
        libc::SYS_futex => {
            rust_std::futex(arguments, system).unwrap_or_else(|error| -error as isize)
        }
        _ => system(),
    };
    system::returned(result) as c_long
}

// The standard library of Rust: `fencepost rustc` makes `__fencepost_real_…` the function of that name and
// sends calls to it here. All their arguments and results are passed as C passes numbers.

type Real = extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;

macro_rules! rust_std {
    ($($name:ident $text:literal ($a:ident, $b:ident) $before:expr, $after:expr;)*) => {$(
        global_asm!(
            concat!(".weak ", $text),
            concat!(".pushsection .data.rel.ro.", $text, ",\"aw\""),
            concat!(".local table_of", $text),
            concat!("table_of", $text, ": .quad ", $text),
            ".popsection",
        );
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name($a: usize, $b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            let real: Real;
            // SAFETY: reads the word above. Only who links the real function calls this one.
            unsafe {
                std::arch::asm!(concat!("mov {}, [rip + table_of", $text, "]"), out(reg) real);
            }
            let () = $before;
            let result = real($a, $b, c, d, e, f);
            let () = $after;
            result
        }
    )*};
}

rust_std! {
    __fencepost_std_mutex_lock "__fencepost_real_mutex_lock" (lock, b)
        rust_std::announce(Words::futex(lock)), rust_std::take(Words::futex(lock));
    __fencepost_std_rwlock_read "__fencepost_real_rwlock_read" (lock, b)
        rust_std::announce(rwlock(lock)), rust_std::take(rwlock(lock));
    __fencepost_std_rwlock_write "__fencepost_real_rwlock_write" (lock, b)
        rust_std::announce(rwlock(lock)), rust_std::take(rwlock(lock));
    __fencepost_std_condvar_wait "__fencepost_real_condvar_wait" (condvar, mutex)
        give_up(mutex), rust_std::take(Words::futex(mutex));
    __fencepost_std_condvar_wait_timeout "__fencepost_real_condvar_wait_timeout" (condvar, mutex)
        give_up(mutex), rust_std::take(Words::futex(mutex));
    __fencepost_std_once_call "__fencepost_real_once_call" (once, b)
        begin_once(once), end_once(once);
    __fencepost_std_once_wait "__fencepost_real_once_wait" (once, b)
        rust_std::announce(Words::futex(once)), rust_std::take(Words::futex(once));
    __fencepost_std_once_wait_force "__fencepost_real_once_wait_force" (once, b)
        rust_std::announce(Words::futex(once)), rust_std::take(Words::futex(once));
    __fencepost_std_barrier_wait "__fencepost_real_barrier_wait" (barrier, b)
        give_up(barrier), rust_std::take(Words::futex(barrier));
    __fencepost_std_scope_end "__fencepost_real_scope_end" (scope, b)
        end_scope(scope), ();
    __fencepost_std_park "__fencepost_real_park" (a, b) (), rust_std::woken();
    __fencepost_std_park_timeout "__fencepost_real_park_timeout" (a, b) (), rust_std::woken();
    __fencepost_std_thread_park "__fencepost_real_thread_park" (a, b) (), rust_std::woken();
    __fencepost_std_thread_park_timeout "__fencepost_real_thread_park_timeout" (a, b) (), rust_std::woken();
}

fn rwlock(lock: usize) -> Words {
    Words { address: lock, count: 2, size: 4 }
}

fn give_up(address: usize) {
    rust_std::announce(Words::futex(address));
    rust_std::give(Words::futex(address));
}

fn begin_once(once: usize) {
    rust_std::announce(Words::futex(once));
    rust_std::begin(once);
}

fn end_once(once: usize) {
    rust_std::end(once);
    rust_std::take(Words::futex(once));
}

/// A thread of a scope ends: a counter, a flag and a handle, in whatever order.
fn end_scope(scope: usize) {
    let words = Words { address: scope, count: 3, size: 8 };
    rust_std::announce(words);
    rust_std::give(words);
}

// Memory

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    unsafe { heap::malloc(size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    unsafe { heap::calloc(count, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    unsafe { heap::realloc(block, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut u8) {
    unsafe { heap::free(block) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut u8 {
    unsafe { heap::memalign(alignment, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut u8 {
    unsafe { heap::memalign(alignment, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut u8, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let block = heap::memalign(alignment, size);
        if block.is_null() {
            return libc::ENOMEM;
        }
        *out = block;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    heap::gone(address as usize, bytes);
    heap::fresh(address as usize, bytes);
    // SAFETY: the caller's promise.
    unsafe {
        system::returned(system::call(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]))
            as c_int
    }
}
