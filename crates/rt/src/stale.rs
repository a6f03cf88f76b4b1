//! Accesses that may be stale: what would become of the stale value, and is it worth telling?

use crate::atomic::Plan;
use crate::findings::{self, Access, Finding, Operation};
use crate::registry::{self, Guard};
use crate::spin::{Fate, Frame, Kind, Question, Trial};
use crate::thread::Thread;
use crate::word::Word;
use clocks::Order;
use clocks::access::{Intent, Stale};
use clocks::trace::Event;

/// An access that may be stale: is it one that only makes the thread try again?
#[allow(clippy::too_many_arguments)]
#[cold]
#[inline(never)]
pub fn suspect<T: Word>(
    thread: &mut Thread,
    state: Option<Guard>,
    at: *mut T,
    frame: &Frame,
    plan: &Plan<T>,
    site: u32,
    stale: Stale,
    found: T,
) {
    let pair = (site, stale.missed.map_or(0, |missed| missed.site));
    let state = state.unwrap_or_else(registry::lock);
    if state.recorder.is_none() && state.told.contains(&pair) {
        thread.tell(pair);
        return;
    }
    // Following the code takes long and concerns nobody else, unless everything is recorded in one order.
    let mut state = Some(state).filter(|state| state.recorder.is_some());
    let judged = judge(at, frame, plan, &stale, found);
    if let Some(state) = &mut state {
        state.record(&Event::Judged { spins: judged.spins.clone() });
    }
    if stale.is_harmless(&judged.spins) {
        return;
    }
    let mut state = state.unwrap_or_else(registry::lock);
    let is_news = state.told.insert(pair) || state.recorder.is_some();
    drop(state);
    if is_news {
        report(thread, at as usize, T::SIZE, plan.operation, plan.order, site, &stale, &judged);
    }
}

/// What becomes of stale values.
#[derive(Default)]
pub struct Judged {
    /// With these the thread would only have tried again.
    spins: Vec<u64>,
    /// Does anything depend on the others, as far as that is known?
    used: Option<bool>,
    /// May a compare-and-swap fail for no reason, as weak ones do, with nothing else coming of it?
    may_fail: bool,
}

/// What becomes of the stale values of an access that found the newest one.
#[cold]
fn judge<T: Word>(at: *mut T, frame: &Frame, plan: &Plan<T>, stale: &Stale, found: T) -> Judged {
    let stack = frame as *const Frame as u64 + size_of::<Frame>() as u64;
    let question = |value: u64| {
        let (result, wrote) = match plan.expected {
            Some(expected) => (0, Some((expected as u64, value, T::SIZE))),
            None => (value, None),
        };
        Question { address: at as u64, value, result, wrote }
    };
    let trial = Trial::new(frame, stack, &crate::entry_at);
    let comes_back = |value: u64| trial.comes_back(question(value));
    let kind = Kind { size: T::SIZE, order: plan.order };
    let fate = |value: u64, newest: u64| trial.fate(question(value), question(newest), kind);
    let reads =
        !matches!(plan.operation, Operation::Store | Operation::Exchange | Operation::Fetch);
    let follows = registry::options().recognise_loops && reads && T::SIZE <= 8 && frame.pc != 0;
    let mut judged = Judged { may_fail: follows, ..Judged::default() };
    let (mut unused, mut used) = (follows, false);
    for &value in stale.values.iter().filter(|_| follows) {
        let harmless = comes_back(value)
            || match plan.intent {
                // Nothing depends on it but a compare-and-swap that fails.
                Intent::Load => {
                    let fate = fate(value, found.bits());
                    unused &= fate == Fate::Unused;
                    used |= fate == Fate::Used;
                    fate == Fate::CaughtUp
                }
                // It may as well fail when it finds the newest value.
                Intent::WeakCas(_) => fate(value, found.bits()) != Fate::Used,
                // Perhaps it is weak, and the compiler did not say so.
                Intent::StrongCas(expected) => {
                    let others = [expected ^ 1, expected ^ 2, !expected];
                    judged.may_fail &= others.into_iter().all(|other| {
                        let other = other & (u64::MAX >> (64 - 8 * u32::from(T::SIZE)));
                        fate(value, other) != Fate::Used
                    });
                    false
                }
                _ => false,
            };
        if harmless {
            judged.spins.push(value);
        }
    }
    if plan.intent == Intent::Load && follows {
        judged.used = used.then_some(true).or(unused.then_some(false));
    }
    judged.may_fail &= matches!(plan.intent, Intent::StrongCas(_)) && !stale.overtakes;
    judged
}

/// Tells of an access that may be stale, unless it is harmless.
#[allow(clippy::too_many_arguments)]
#[cold]
pub fn report(
    thread: &Thread,
    address: usize,
    size: u8,
    operation: Operation,
    order: Order,
    site: u32,
    stale: &Stale,
    judged: &Judged,
) {
    let Judged { spins, used, may_fail } = judged;
    if thread.ignored > 0 || !registry::options().robustness || stale.is_harmless(spins) {
        return;
    }
    let kind = operation.kind(stale.overtakes);
    let other = stale.missed.map(|missed| Access {
        thread: missed.thread,
        operation: if missed.is_update { Operation::Fetch } else { Operation::Store },
        order: Some(missed.order),
        site: missed.site,
        epoch: None,
    });
    let harmful = stale.values.iter().copied().filter(|value| !spins.contains(value));
    findings::report(&Finding {
        kind,
        address,
        size: usize::from(size),
        access: Access::by(thread, operation, Some(order), site),
        locks: thread.locks.clone(),
        other,
        value: stale.missed.map(|missed| missed.value),
        stale: harmful.collect(),
        used: *used,
        may_fail: *may_fail,
        doubt: None,
    });
}
