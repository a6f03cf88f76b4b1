//! The system as a model of `search`: a state's findings and its reduced part first, then the moves of all threads.
//!
//! The reduced part is the moves of a persistent set (`weak::persistent`). It is left out if one of them meets a bound on
//! what the memory keeps: the moves of others may drop what stands in the way.

use super::{Finding, Pending, System};
use search::{Model, Sink, Width};

impl Model for System {
    type Scratch = Vec<u8>;
    type Finding = Finding;

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn initial<K: Sink<Finding>>(&self, bytes: &mut Vec<u8>, sink: &mut K) {
        self.beginnings(&mut |came, _| match came {
            Ok(world) => {
                self.shape.write(&world, bytes);
                sink.state(bytes);
            }
            Err(found) => sink.finding(found),
        });
    }

    fn expand_reduced<K: Sink<Finding>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut K) {
        let world = self.shape.read(state);
        self.look_at(&world, &mut |found| sink.finding(found));
        if !self.reduce {
            return;
        }
        let mut pending = Vec::new();
        let mut movable = 0u32;
        for tid in self.program.tids() {
            let wants = self.pending(&world, tid, &mut |found| sink.finding(found));
            movable |= u32::from(!matches!(wants, Pending::Nothing)) << tid.0;
            pending.push(wants);
        }
        let first = self.persistent_set(&world, &pending, movable);
        if first == movable {
            return;
        }
        let mut successors = Vec::new();
        let mut exceeds = false;
        for tid in self.program.tids().filter(|tid| first >> tid.0 & 1 == 1) {
            self.fire(&world, tid, &mut |came, _| match came {
                Ok(next) => successors.push(next),
                Err(Finding::Bound | Finding::TooMuch) => exceeds = true,
                Err(found) => sink.finding(found),
            });
        }
        if exceeds {
            return; // the others may make room
        }
        for next in successors {
            self.shape.write(&next, bytes);
            sink.state(bytes);
        }
    }

    fn expand<K: Sink<Finding>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut K) {
        let world = self.shape.read(state);
        for tid in self.program.tids() {
            self.fire(&world, tid, &mut |came, _| match came {
                Ok(next) => {
                    self.shape.write(&next, bytes);
                    sink.state(bytes);
                }
                Err(found) => sink.finding(found),
            });
        }
    }

    /// Threads that wait are worth a warning; a bound that was met is to be known in the end.
    fn stops(&self, finding: &Finding) -> bool {
        match finding {
            Finding::Assertion(..) | Finding::Race(..) | Finding::Fault(..) => true,
            Finding::Final | Finding::Waiting(_) => true,
            Finding::Stuck(_) | Finding::Bound | Finding::TooMuch => false,
            Finding::Unforeseen | Finding::End(_) => false,
        }
    }
}
