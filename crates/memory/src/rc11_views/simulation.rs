//! A simulation between states: a state whose threads know less can do all that one whose threads know more can do.
//!
//! The knowledge of a thread restricts what it may read and where it may write. The events that happen before its next
//! step are what its releases and markers make other threads know, and wait for. Take two states whose
//! threads are in the same local states and where the same markers have reached the same threads. If
//! all that is known, or happens before something, or is carried, in the first is known, happens before
//! it, or is carried in the second, then the first can do whatever the second can, with the same
//! labels, and the states that follow are related in the same way:
//!
//! * A read or write that the second can do, the first can do at the same write: what it knows is
//!   less, and the markers that an acquire read waits for are fewer.
//! * Afterwards, what was joined to the thread's knowledge, or is carried, is less again.
//! * A marker propagates when those that it carries have, which are fewer.
//! * If the second has a race, so has the first: it is aware of less.
//!
//! The first may have older writes that the second has dropped because everybody knows newer ones
//! there. So writes are compared from the last backwards, and positions by their distance from it.
//! Normal forms stand for the states that they were made from, and 0 for "nothing that matters", which
//! is less than anything that does.
//!
//! This is a simulation (up to normal forms, which stand for states with the same future), so the
//! histories from the second are among those from the first. That is what tests compare.

use super::Machine;
use super::pack::Reader;

impl Machine {
    /// Is everything in `a` that a thread knows, or that happens before something, or that is
    /// carried, also in `b`? Both are packed and have the same core.
    pub fn is_less(&self, a: &[u8], b: &[u8]) -> bool {
        let core = Machine::core_length(a);
        debug_assert_eq!(a[..core], b[..core], "states with different cores are not compared");
        let (mut a, mut b) = (Reader { bytes: &a[core..] }, Reader { bytes: &b[core..] });
        let lengths = (a.take(self.locations), b.take(self.locations));
        let order = Order { lengths, width: self.width() };
        let (more, less) = lengths;
        if more.iter().zip(less).any(|(more, less)| more < less) {
            return false;
        }
        for _ in 0..self.threads {
            let known = (a.take(self.locations), b.take(self.locations));
            if !order.positions(known.0, known.1) || !order.next(&mut a, &mut b) {
                return false;
            }
            let markers = a.byte();
            b.byte();
            if !(0..markers).all(|_| order.next(&mut a, &mut b)) {
                return false;
            }
        }
        for (&more, &less) in more.iter().zip(less) {
            for _ in less..more {
                a.byte();
                a.number();
                a.frontier(order.width);
            }
            for _ in 0..less {
                let (taken, value) = ((a.byte(), b.byte()), (a.number(), b.number()));
                if taken.0 != taken.1 || value.0 != value.1 || !order.next(&mut a, &mut b) {
                    return false;
                }
            }
        }
        self.all_bits == 0 || self.is_less_aware(&mut a, &mut b, lengths)
    }

    fn is_less_aware(&self, a: &mut Reader, b: &mut Reader, lengths: (&[u8], &[u8])) -> bool {
        let mut less = || a.awareness() & !b.awareness() == 0;
        if !(0..self.threads).all(|_| less()) {
            return false;
        }
        lengths.0.iter().zip(lengths.1).all(|(&more, &less)| {
            (less..more).for_each(|_| _ = a.awareness());
            (0..less).all(|_| a.awareness() & !b.awareness() == 0)
        })
    }
}

struct Order<'b> {
    /// How many writes each location has, in the two states.
    lengths: (&'b [u8], &'b [u8]),
    width: usize,
}

impl Order<'_> {
    /// Compares the next frontiers of both.
    #[inline(always)]
    fn next(&self, a: &mut Reader, b: &mut Reader) -> bool {
        let locations = self.lengths.0.len();
        match (a.frontier(self.width), b.frontier(self.width)) {
            (None, _) => true,
            (Some(a), Some(b)) => {
                self.positions(&a[..locations], &b[..locations])
                    && a[locations..].iter().zip(&b[locations..]).all(|(a, b)| a <= b)
            }
            (Some(a), None) => {
                let nothing = a[locations..].iter().all(|&count| count == 0);
                nothing && self.positions(&a[..locations], &[0; 200][..locations])
            }
        }
    }

    #[inline(always)]
    fn positions(&self, a: &[u8], b: &[u8]) -> bool {
        let lengths = self.lengths.0.iter().zip(self.lengths.1);
        a.iter().zip(b).zip(lengths).all(|((&a, &b), (&more, &less))| a <= b + (more - less))
    }
}
