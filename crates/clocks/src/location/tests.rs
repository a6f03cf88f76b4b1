//! Locations by themselves: what is no news, and that shorter ways lead to the same place.

use super::*;
use crate::thread::Population;

/// Catches a thread that takes what it published itself for news: then no load is a re-read, and no fence is as
/// good as passed.
#[test]
fn what_a_thread_published_itself_is_no_news() {
    let settings = Settings { limit: Limit::new(8), predict: true };
    let (mut thread, mut fences) = (Population::default().start(None), Fences::new());
    let mut location = Location::new(0);
    let mut learned = Vec::new();
    for value in 1..6 {
        thread.fence(Order::Release, None);
        let stored = Done::Store(value);
        location.perform(&mut thread, None, Order::Relaxed, stored, 1, settings);
        thread.fence(Order::SeqCst, Some(&mut fences));
        location.perform(&mut thread, None, Order::Relaxed, Done::Read, 2, settings);
        learned.push(thread.learned);
    }
    assert!(learned[1..].iter().all(|&time| time == learned[1]), "{learned:?}");
}

/// What threads, locations and fences know, to be compared.
#[derive(Clone, Debug, Default)]
struct World {
    threads: Vec<Thread>,
    locations: Vec<Location>,
    fences: Fences,
}

/// Catches a store that goes the shorter way although it should not, or does less there: two worlds in which
/// the same happens, with and without that way, are the same after every step.
#[test]
fn a_store_again_is_a_store() {
    let settings = Settings { limit: Limit::new(4), predict: true };
    let mut short = 0;
    for seed in 0..200u64 {
        let mut state = seed;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        let mut population = Population::default();
        let mut main = population.start(None);
        let mut worlds = [World::default(), World::default()];
        // With seven threads, some are not near.
        for _ in 0..2 + seed % 6 {
            let thread = population.start(Some(&mut main));
            worlds.iter_mut().for_each(|world| world.threads.push(thread.clone()));
        }
        for world in &mut worlds {
            world.locations = vec![Location::new(0); 3];
        }
        let (mut who, mut at, mut order) = (0, 0, Order::Relaxed);
        for step in 0..300 {
            // Most steps are like the one before.
            match below(12) {
                0 => who = below(worlds[0].threads.len() as u64) as usize,
                1 => at = below(3) as usize,
                2 => order = [Order::Relaxed, Order::Release][below(2) as usize],
                _ => {}
            }
            let (what, value, site) = (below(16), below(9), below(5) as Site);
            for (index, world) in worlds.iter_mut().enumerate() {
                let World { threads, locations, fences } = world;
                let (thread, location) = (&mut threads[who], &mut locations[at]);
                let (order, done) = match what {
                    0 => (Order::Relaxed, Done::Read),
                    1 => (Order::Acquire, Done::Read),
                    2 => (Order::AcqRel, Done::Update(value)),
                    3 => (Order::SeqCst, Done::Store(value)),
                    4 => (Order::Relaxed, Done::Update(value)),
                    5 => {
                        thread.fence(Order::Release, None);
                        continue;
                    }
                    6 => {
                        thread.fence(Order::SeqCst, Some(fences));
                        continue;
                    }
                    7 => {
                        thread.begin_epoch();
                        continue;
                    }
                    _ if index == 1
                        && location.store_again(thread, order, value, site, settings) =>
                    {
                        short += 1;
                        continue;
                    }
                    _ => (order, Done::Store(value)),
                };
                let fences = (order == Order::SeqCst).then_some(fences);
                location.perform(thread, fences, order, done, site, settings);
            }
            let [long, short] = worlds.each_ref().map(|world| format!("{world:?}"));
            assert_eq!(long, short, "seed {seed}, step {step}");
        }
    }
    assert!(short > 5_000, "{short}");
}
