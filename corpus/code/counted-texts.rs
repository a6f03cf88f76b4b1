// Texts and slices in an `Arc`, numbers that saturate, roots.
// fencepost: races holds, assertions holds
// fencepost --cfg broken: assertions violated
use std::sync::Arc;
use std::thread;

fn main() {
    let text: Arc<str> = Arc::from("text");
    let numbers: Arc<[u32]> = Arc::from(vec![1, 2, 3]);
    let of_other = (text.clone(), numbers.clone());
    let other = thread::spawn(move || of_other.0.len() as u32 + of_other.1[2]);
    let mut count = Arc::new(1);
    let old = count.clone();
    *Arc::make_mut(&mut count) = 2;
    assert_eq!((*old, *count), (1, 2));
    assert_eq!(&*text, "text");
    assert_eq!(other.join().unwrap(), 7);

    let root = 2.25f64.sqrt();
    assert_eq!((root, root as i32, 1e20 as i32, -1e20 as i32), (1.5, 1, i32::MAX, i32::MIN));
    assert_eq!((f64::NAN as i32, -1.0 as u8, 300.5f32 as u8, 7.9f32 as u8), (0, 0, 255, 7));
    let (most, least) = (i32::MAX, i32::MIN);
    assert_eq!((most.saturating_add(1), least.saturating_sub(1)), (most, least));
    assert_eq!((most.saturating_add(-1), 5i8.saturating_sub(3)), (most - 1, 2));
    assert!(!cfg!(broken) || 100i8.saturating_add(100) != 127);
}
