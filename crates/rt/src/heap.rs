//! Memory that comes and goes. What is known of it must go with it, or the next owner of the same
//! addresses would be blamed for what the last one did. And giving it back is an access like any other: a
//! write to the whole block, which races with whatever it is not ordered with.

use crate::memory;
use crate::plain;
use crate::pools;
use crate::registry;
use crate::thread::{self, Giver};
use clocks::Site;
use clocks::trace::Event;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut u8;
    fn __libc_calloc(count: usize, size: usize) -> *mut u8;
    fn __libc_realloc(old: *mut u8, size: usize) -> *mut u8;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut u8;
    fn __libc_free(old: *mut u8);
    fn malloc_usable_size(block: *mut u8) -> usize;
}

/// The runtime's own allocator: [`pools`] for small blocks, below them the C library's, past what is intercepted.
pub struct Below;

// SAFETY: blocks are given back to where they come from.
unsafe impl GlobalAlloc for Below {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = pools::take(layout) {
            return block.as_ptr();
        }
        // SAFETY: the C library's functions, which return null where there is no memory.
        unsafe {
            match layout.align() {
                0..=16 => __libc_malloc(layout.size()),
                alignment => __libc_memalign(alignment, layout.size()),
            }
        }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block comes from `alloc`, so from one of these two.
        unsafe {
            match pools::owns(block) {
                true => pools::give_back(block, layout),
                false => __libc_free(block),
            }
        }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`; a block that is there has room for its size.
        unsafe {
            if layout.align() <= 16 && layout.size() > pools::LARGEST {
                return __libc_calloc(1, layout.size());
            }
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the block comes from `alloc`; where it is moved by hand, both have room for what is copied.
        unsafe {
            if layout.align() <= 16 && !pools::owns(block) {
                return __libc_realloc(block, size);
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Has the runtime begun?
pub static READY: AtomicBool = AtomicBool::new(false);

/// The bytes have a new owner: nobody accessed them yet.
pub fn fresh(address: usize, bytes: usize) {
    if !READY.load(Ordering::Relaxed) || bytes == 0 {
        return;
    }
    let Some(mut thread) = thread::current() else { return memory::clear(address, bytes) };
    if thread.busy {
        return memory::clear(address, bytes);
    }
    thread.busy = true;
    memory::clear(address, bytes);
    if registry::recording() {
        let mut state = registry::lock();
        if let Some(recorder) = &mut state.recorder {
            recorder.record(&Event::Clear { address: address as u64, bytes: bytes as u64 });
        }
    }
    thread.busy = false;
}

/// The bytes are given back, by the caller of `free` or its like: there are no atomic locations in them any
/// more.
pub fn gone(address: usize, bytes: usize, giver: Giver) {
    if !READY.load(Ordering::Relaxed) || bytes == 0 {
        return;
    }
    let Some(mut thread) = thread::current() else { return };
    let has_locations = plain::give_back(&mut thread, address, bytes, giver);
    if has_locations && !thread.busy {
        thread.busy = true;
        gone_quietly(address, address + bytes);
        thread.busy = false;
    }
}

/// Calls the C library's allocator, which has locks of its own: a signal handler that comes meanwhile is not
/// analysed, because that could allocate.
#[inline]
fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
    match thread::current() {
        Some(mut thread) if !thread.busy => {
            thread.busy = true;
            let result = f();
            thread.busy = false;
            result
        }
        _ => f(),
    }
}

/// A block of the C library has a new owner: all of it, because all of it is marked when it is given back.
#[inline]
fn handed_out(block: *mut u8, size: usize, caller: usize) -> *mut u8 {
    if !block.is_null() && READY.load(Ordering::Relaxed) {
        // SAFETY: a block of the C library.
        let usable = unsafe { malloc_usable_size(block) };
        fresh(block as usize, usable);
        if let Some(mut thread) = thread::current()
            && !thread.busy
        {
            thread.busy = true;
            let site = thread.site(caller);
            memory::note_block(block as usize, usable.saturating_sub(size), site);
            thread.busy = false;
        }
    }
    block
}

/// A block of the heap.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Where it begins.
    pub address: usize,
    /// How many bytes were asked for.
    pub size: usize,
    /// Where.
    pub site: Site,
}

/// The block that an address is in, if it is known.
pub fn block_of(address: usize) -> Option<Block> {
    if !READY.load(Ordering::Relaxed) {
        return None;
    }
    if crate::modules::is_in_one(address) {
        // A variable, which is not looked for among blocks: that takes as long as a thousand accesses.
        return None;
    }
    let (start, site, slack) = memory::block_around(address)?;
    // SAFETY: a block that was allocated and not given back.
    let usable = unsafe { malloc_usable_size(start as *mut u8) };
    (address < start + usable).then(|| Block { address: start, size: usable - slack, site })
}

/// `malloc`
pub unsafe fn malloc(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: asks the C library for memory.
    let block = undisturbed(|| unsafe { __libc_malloc(size) });
    handed_out(block, size, caller)
}

/// `calloc`
pub unsafe fn calloc(count: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: asks the C library for memory.
    let block = undisturbed(|| unsafe { __libc_calloc(count, size) });
    handed_out(block, count.saturating_mul(size), caller)
}

/// `aligned_alloc` and its like.
pub unsafe fn memalign(alignment: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: asks the C library for memory.
    let block = undisturbed(|| unsafe { __libc_memalign(alignment, size) });
    handed_out(block, size, caller)
}

/// `free`, perhaps on behalf of `operator delete`.
pub unsafe fn free(block: *mut u8, caller: Giver) {
    if block.is_null() {
        return;
    }
    if READY.load(Ordering::Relaxed) {
        let deleter = thread::current().and_then(|mut thread| thread.giver.take());
        // SAFETY: the program gives back a block that it got from the C library.
        gone(block as usize, unsafe { malloc_usable_size(block) }, deleter.unwrap_or(caller));
        memory::forget_block(block as usize);
    }
    // SAFETY: the same block, for the first time, on the program's promise.
    undisturbed(|| unsafe { __libc_free(block) })
}

/// `realloc`
pub unsafe fn realloc(block: *mut u8, size: usize, caller: Giver) -> *mut u8 {
    if block.is_null() {
        // SAFETY: asks for memory.
        return unsafe { malloc(size, caller.pc) };
    }
    if READY.load(Ordering::Relaxed) {
        // SAFETY: the program's block comes from the C library.
        gone(block as usize, unsafe { malloc_usable_size(block) }, caller);
        memory::forget_block(block as usize);
    }
    // SAFETY: the same block, on the program's promise.
    let new = undisturbed(|| unsafe { __libc_realloc(block, size) });
    handed_out(new, size, caller.pc)
}

/// `mmap`: what was there before is no more, whoever mapped it; the C library maps and unmaps memory of its
/// own as well, which nobody sees.
pub fn mapped(address: usize, bytes: usize) {
    fresh(address, bytes);
    if READY.load(Ordering::Relaxed)
        && let Some(mut thread) = thread::current()
        && !thread.busy
    {
        thread.busy = true;
        gone_quietly(address, address + bytes);
        thread.busy = false;
    }
}

/// The same for the stack of a thread that ends, in which few cells have atomic locations.
pub fn gone_quietly(from: usize, to: usize) {
    let mut at = from & !7;
    while at < to {
        if memory::atomics(at).load(Ordering::Relaxed) != 0 {
            registry::lock().remove_locations(at, |_, _| true);
        }
        at += 8;
    }
}
