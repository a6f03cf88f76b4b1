//! All interleavings, and all that the memory model allows, of a few insertions: by [loom].
//!
//! What this would catch: a slot published before its state is written, two workers that both take a
//! state for new, a state that is lost while the table grows, a read of a state that races with its
//! writing.

use super::Visited;
use crate::Width;
use loom::sync::Arc;
use loom::thread;

/// Inserts `states` as `worker`; says which were new.
fn insert(set: &Visited, worker: usize, states: &[[u8; 1]]) -> Vec<bool> {
    let mut new = Vec::new();
    for state in states {
        let crowded = {
            let entered = set.enter(worker);
            new.push(entered.insert(state).if_new().is_some());
            entered.is_crowded()
        };
        if crowded {
            set.grow();
        }
    }
    new
}

/// Every state is new for exactly one of two workers, and can be read by both.
fn race(before: &[[u8; 1]], one: &'static [[u8; 1]], other: &'static [[u8; 1]]) {
    let before = before.to_vec();
    loom::model(move || {
        let set = Arc::new(Visited::new(Width::Fixed(1), 3));
        insert(&set, 2, &before);
        let theirs = {
            let set = Arc::clone(&set);
            thread::spawn(move || insert(&set, 1, other))
        };
        let mine = insert(&set, 0, one);
        let theirs = theirs.join().expect("no panic");
        for (state, new) in one.iter().zip(&mine) {
            let also = other.iter().position(|theirs| theirs == state).map(|k| theirs[k]);
            let old = before.contains(state);
            let news = u8::from(*new) + u8::from(also.unwrap_or(false));
            assert_eq!(news, u8::from(!old), "{state:?} is new {news} times");
        }
        // All of them are found, whatever happened meanwhile.
        let all = [&before[..], one, other].concat();
        assert!(insert(&set, 2, &all).iter().all(|new| !new));
    });
}

#[test]
fn the_same_state() {
    race(&[], &[[1]], &[[1]]);
}

#[test]
fn two_states_in_two_orders() {
    race(&[], &[[1], [2]], &[[2], [1]]);
}

/// The table is crowded when the race begins, so one of them lets it grow while the other inserts.
#[test]
fn while_the_table_grows() {
    race(&[[10], [11], [12], [13], [14], [15], [16]], &[[1]], &[[1]]);
}
