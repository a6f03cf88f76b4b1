// Locks of the standard library, contended: all of it is ordered. broken: one counter is not.
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

const THREADS: usize = 4;
static ONCE: Once = Once::new();
static mut BY_ONCE: usize = 0;
static mut UNPROTECTED: usize = 0;
static LATER: OnceLock<Vec<usize>> = OnceLock::new();
static LAZY: LazyLock<Vec<usize>> = LazyLock::new(|| vec![3, 4]);

fn locks() {
    let shared = Arc::new((Mutex::new(0), RwLock::new(vec![0; 8])));
    let ready = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (shared, ready) = (Arc::clone(&shared), Arc::clone(&ready));
            thread::spawn(move || {
                for round in 0..300 {
                    *shared.0.lock().unwrap() += 1;
                    if round % 5 == number {
                        shared.1.write().unwrap()[round % 8] += 1;
                    } else {
                        assert!(shared.1.read().unwrap()[round % 8] <= 300 * THREADS);
                    }
                }
                let mut arrived = ready.0.lock().unwrap();
                arrived.push(number);
                ready.1.notify_all();
                while arrived.len() < THREADS {
                    arrived = match number % 2 {
                        0 => ready.1.wait(arrived).unwrap(),
                        _ => ready.1.wait_timeout(arrived, Duration::from_secs(60)).unwrap().0,
                    };
                }
                arrived.len()
            })
        })
        .collect();
    let sum: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{} {sum}", *shared.0.lock().unwrap());
}

fn once(number: usize) {
    ONCE.call_once(|| unsafe { BY_ONCE = 7 });
    assert_eq!(unsafe { BY_ONCE }, 7);
    assert_eq!(LATER.get_or_init(|| vec![1, 2]).len(), LAZY.len());
    if cfg!(broken) {
        unsafe { UNPROTECTED += number };
    }
}

fn scopes() {
    let (mut list, mut marks, barrier) = (vec![0], [0; THREADS], Barrier::new(THREADS));
    let marks_at = marks.as_mut_ptr() as usize;
    thread::scope(|scope| {
        scope.spawn(|| list.push(1));
        for number in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                once(number);
                let marks = marks_at as *mut usize;
                unsafe { *marks.add(number) = number };
                barrier.wait();
                assert_eq!(unsafe { *marks.add((number + 1) % THREADS) }, (number + 1) % THREADS);
            });
        }
    });
    println!("{} {}", list.len(), marks.iter().sum::<usize>());
}

fn messages() {
    let (sender, receiver) = mpsc::channel();
    let (bounded, results) = mpsc::sync_channel(2);
    thread::spawn(move || (0..100).for_each(|number| sender.send(Box::new(number)).unwrap()));
    thread::spawn(move || receiver.into_iter().for_each(|number: Box<i32>| bounded.send(number).unwrap()));
    println!("{}", results.iter().map(|number| *number).sum::<i32>());
}

fn parking() {
    static READY: AtomicBool = AtomicBool::new(false);
    let mut data = Box::new(0);
    let place = &raw mut *data as usize;
    let waiter = thread::spawn(move || {
        while !READY.load(Relaxed) {
            thread::park();
        }
        thread::park_timeout(Duration::from_micros(1));
        unsafe { *(place as *const i32) }
    });
    *data = 5;
    READY.store(true, Release);
    waiter.thread().unpark();
    println!("{}", waiter.join().unwrap());
}

fn main() {
    locks();
    scopes();
    messages();
    parking();
}
