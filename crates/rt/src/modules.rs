//! Which parts of the process are instrumented: the program, which has this runtime in it, and libraries that
//! ask for its entry points.
//!
//! What the others do is not seen, and neither is what orders it. So memory that is given back by them is not
//! held against anyone: libstdc++ counts the users of an exception, say, in its own code.

use crate::sync;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What glibc says of an address, without a lock; from 2.35 on.
#[repr(C)]
struct Found {
    flags: u64,
    map_start: usize,
    map_end: usize,
    module: *const LinkMap,
    others: [usize; 12],
}

/// The beginning of what the dynamic linker keeps of a module.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const [usize; 2],
}

type Find = unsafe extern "C" fn(usize, *mut Found) -> libc::c_int;

/// The module with this address, if the C library can say.
fn module(pc: usize) -> Option<Found> {
    static FIND: AtomicUsize = AtomicUsize::new(0);
    let mut find = FIND.load(Ordering::Relaxed);
    if find == 0 {
        find = sync::find(c"_dl_find_object").unwrap_or(usize::MAX);
        FIND.store(find, Ordering::Relaxed);
    }
    if find == usize::MAX {
        return None;
    }
    let mut found =
        Found { flags: 0, map_start: 0, map_end: 0, module: std::ptr::null(), others: [0; 12] };
    // SAFETY: the function has this type, and writes less than there is room for.
    let failed = unsafe { std::mem::transmute::<usize, Find>(find)(pc, &raw mut found) };
    (failed == 0).then_some(found)
}

/// Is the address in the program or a library?
pub fn is_in_one(address: usize) -> bool {
    module(address).is_some_and(|found| (found.map_start..found.map_end).contains(&address))
}

/// Is the code at this address instrumented? If nobody can tell, it is.
pub fn is_instrumented(pc: usize) -> bool {
    let Some(theirs) = module(pc) else { return true };
    let ours = module(is_instrumented as *const () as usize);
    if ours.is_none_or(|ours| ours.map_start == theirs.map_start) || theirs.module.is_null() {
        return true;
    }
    // SAFETY: the module is loaded, as code of it is running.
    unsafe { asks_for_entry_points(&*theirs.module) }
}

/// Is there an entry point of the runtime among the names that the module needs?
///
/// # Safety
/// The module must be loaded.
unsafe fn asks_for_entry_points(module: &LinkMap) -> bool {
    const STRINGS: usize = 5;
    const SYMBOLS: usize = 6;
    const GNU_HASH: usize = 0x6fff_fef5;
    const SYMBOL_SIZE: usize = 24;
    let (mut strings, mut symbols, mut hash) = (0, 0, 0);
    let mut entry = module.dynamic;
    // SAFETY: the dynamic section, which ends with a zero. What it points to was relocated, but in modules
    // that nobody may write, such as the kernel's.
    unsafe {
        while !entry.is_null() && (*entry)[0] != 0 {
            let [tag, value] = *entry;
            let value = if value < module.base { value.wrapping_add(module.base) } else { value };
            match tag {
                STRINGS => strings = value,
                SYMBOLS => symbols = value,
                GNU_HASH => hash = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings == 0 || symbols == 0 || hash == 0 {
            return false;
        }
        // Names that are needed are not hashed, and come first.
        let needed = *((hash + 4) as *const u32) as usize;
        (1..needed).any(|index| {
            let name = *((symbols + index * SYMBOL_SIZE) as *const u32) as usize;
            let name = CStr::from_ptr((strings + name) as *const c_char);
            name.to_bytes().starts_with(b"__tsan_")
        })
    }
}
