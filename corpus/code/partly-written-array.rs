// One byte of four was written, and all of them are looked at.
// fencepost: assertions violated
use std::mem::MaybeUninit;
use std::thread;

fn main() {
    let a = thread::spawn(|| {
        let mut x = MaybeUninit::<[u8; 4]>::uninit();
        unsafe {
            (x.as_mut_ptr() as *mut u8).write(1);
            let v = u32::from_ne_bytes(x.assume_init());
            if v == 1 {
                panic!()
            }
        }
    });
    let b = thread::spawn(|| {});
    a.join().unwrap();
    b.join().unwrap();
}
