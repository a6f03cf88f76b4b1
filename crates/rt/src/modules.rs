//! Which parts of the process are instrumented: the program and the libraries whose constructors call
//! `__tsan_init`.
//!
//! What the others do is not seen, and neither is what orders it. So memory that is given back by them is not
//! held against anyone: libstdc++ counts the users of an exception, say, in its own code.

use crate::sync;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where instrumented modules begin; 0 where there is none.
static BASES: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];

/// What glibc says of an address, without a lock; from 2.35 on.
#[repr(C)]
#[derive(Default)]
struct FoundObject {
    flags: u64,
    map_start: usize,
    map_end: usize,
    others: [usize; 12],
}

type FindObject = unsafe extern "C" fn(usize, *mut FoundObject) -> libc::c_int;

/// Where the module with this address begins, if the C library can say.
fn base(pc: usize) -> Option<usize> {
    static FIND: AtomicUsize = AtomicUsize::new(0);
    let mut find = FIND.load(Ordering::Relaxed);
    if find == 0 {
        find = sync::find(c"_dl_find_object").unwrap_or(usize::MAX);
        FIND.store(find, Ordering::Relaxed);
    }
    if find == usize::MAX {
        return None;
    }
    let mut found = FoundObject::default();
    // SAFETY: the function has this type, and writes less than there is room for.
    let failed = unsafe { std::mem::transmute::<usize, FindObject>(find)(pc, &raw mut found) };
    (failed == 0).then_some(found.map_start)
}

/// The module with this address is instrumented.
pub fn add(pc: usize) {
    let Some(base) = base(pc) else { return };
    for slot in &BASES {
        match slot.compare_exchange(0, base, Ordering::Relaxed, Ordering::Relaxed) {
            Err(other) if other != base => {}
            _ => return,
        }
    }
}

/// Is the code at this address instrumented? If nobody can tell, it is.
pub fn is_instrumented(pc: usize) -> bool {
    let Some(base) = base(pc) else { return true };
    let known = BASES.iter().map(|slot| slot.load(Ordering::Relaxed));
    known.take_while(|&other| other != 0).any(|other| other == base)
}
