//! Order that is made elsewhere than in locks: by atomics of two sizes at one address, through a pipe and a pair of sockets; and memory that is
//! mapped where other memory was. With `racing`, one datum is read before it was announced.
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::thread;

static WHOLE: AtomicU64 = AtomicU64::new(0);
static mut DATA: [u64; 3] = [0; 3];

fn half(index: usize) -> &'static AtomicU32 {
    unsafe { AtomicU32::from_ptr(WHOLE.as_ptr().cast::<u32>().add(index)) }
}

fn add(index: usize) {
    let data = &raw mut DATA;
    unsafe { *data.cast::<u64>().add(index) += 1 };
}

fn writer(mut pipe: PipeWriter, mut socket: UnixStream) {
    (0..3).for_each(add);
    half(0).store(1, Release);
    pipe.write_all(&[1]).unwrap();
    socket.write_all(&[1]).unwrap();
}

fn reader(mut pipe: PipeReader, mut socket: UnixStream) {
    if cfg!(racing) {
        add(2);
    }
    while WHOLE.load(Acquire) & 1 == 0 {}
    add(0);
    pipe.read_exact(&mut [0]).unwrap();
    add(1);
    socket.read_exact(&mut [0]).unwrap();
    add(2);
}

unsafe extern "C" {
    fn mmap(at: *mut u8, bytes: usize, access: i32, how: i32, file: i32, from: i64) -> *mut u8;
}

const BYTES: usize = 4096;
const READ_WRITE: i32 = 3;
const PRIVATE_ANONYMOUS: i32 = 0x22;
const FIXED: i32 = 0x10;
static MEMORY: AtomicUsize = AtomicUsize::new(0);

fn mapped_again() {
    let map = |at, how| unsafe { mmap(at, BYTES, READ_WRITE, PRIVATE_ANONYMOUS | how, -1, 0) };
    let memory = map(std::ptr::null_mut(), 0) as usize;
    let fill = move || unsafe { (0..BYTES / 8).for_each(|k| *(memory as *mut u64).add(k) += 1) };
    let first = thread::spawn(move || {
        fill();
        MEMORY.store(memory, Relaxed);
    });
    let second = thread::spawn(move || {
        while MEMORY.load(Relaxed) == 0 {}
        assert_eq!(map(memory as *mut u8, FIXED) as usize, memory);
        fill();
    });
    first.join().unwrap();
    second.join().unwrap();
}

fn main() {
    let ((from, to), (near, far)) = (pipe().unwrap(), UnixStream::pair().unwrap());
    let first = thread::spawn(move || writer(to, near));
    let second = thread::spawn(move || reader(from, far));
    first.join().unwrap();
    second.join().unwrap();
    mapped_again();
    println!("done");
}
