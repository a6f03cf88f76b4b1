// An enum that is copied while another thread writes it.
// fencepost: races violated
use std::cell::UnsafeCell;
use std::thread;

/// Memory that anybody may write.
struct Bare<T>(UnsafeCell<T>);

unsafe impl<T> Sync for Bare<T> {}

impl<T> Bare<T> {
    const fn new(value: T) -> Self {
        Bare(UnsafeCell::new(value))
    }

    fn get(&self) -> *mut T {
        self.0.get()
    }
}

#[derive(Clone, Copy)]
enum E {
    A(u32),
    B(u64),
}
static D: Bare<E> = Bare::new(E::A(1));
fn main() {
    let a = thread::spawn(|| unsafe { *D.get() = E::B(2) });
    let b = thread::spawn(|| {
        let e = unsafe { *D.get() };
        if let E::A(x) = e {
            assert_eq!(x, 1)
        }
    });
    a.join().unwrap();
    b.join().unwrap();
}
