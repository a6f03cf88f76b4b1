//! Theorem 12's monitor against the definition: insert the read earlier, and see whether the execution is
//! still one of sequential consistency.

extern crate fencepost_serial as serial;

mod oracle;

use oracle::{Ask, Ev, Kind, by_graph, cases, events, parse, show};
use serial::random::{Random, Shape, Style};
use serial::trace::robust::{Early, early_read};

/// Every write followed by its commit.
fn at_once(trace: &[Ev]) -> Vec<Ev> {
    trace
        .iter()
        .flat_map(|&ev| {
            let commit = (ev.kind == Kind::Wr).then_some(Ev { kind: Kind::Wc, ..ev });
            std::iter::once(ev).chain(commit)
        })
        .collect()
}

/// The run up to the read at `at`, with the read inserted at `place` of the trace instead: what its
/// thread issued in between is issued there too, and commits where it did. None if the thread cannot
/// wait with it.
fn inserted(trace: &[Ev], at: usize, place: usize) -> Option<Vec<Ev>> {
    let thread = trace[at].thread;
    let mut early = Vec::new();
    for index in place..at {
        let ev = trace[index];
        if ev.thread != thread {
            continue;
        }
        // What it read was its own, and still would be.
        let newest =
            trace[place..index].iter().rev().find(|w| w.kind == Kind::Wr && w.var == ev.var);
        let served = ev.kind == Kind::Rd && newest.is_some_and(|own| own.thread == thread);
        if ev.kind != Kind::Wr && !served {
            return None;
        }
        early.push(ev);
    }
    if early.iter().any(|own| own.kind == Kind::Wr && own.var == trace[at].var) {
        return None;
    }
    let mut execution = at_once(&trace[..place]);
    execution.extend(&early);
    execution.push(trace[at]);
    for &ev in &trace[place..at] {
        match (ev.thread == thread, ev.kind) {
            (true, Kind::Wr) => execution.push(Ev { kind: Kind::Wc, ..ev }),
            (true, _) => {}
            (false, Kind::Wr) => execution.extend([ev, Ev { kind: Kind::Wc, ..ev }]),
            (false, _) => execution.push(ev),
        }
    }
    Some(execution)
}

fn by_insertion(trace: &[Ev]) -> bool {
    (0..trace.len()).any(|at| {
        trace[at].kind == Kind::Rd
            && (0..at).any(|place| {
                inserted(trace, at, place).is_some_and(|run| !by_graph(&run, Ask::Equivalent))
            })
    })
}

#[test]
fn early_reads_agree_with_insertions() {
    let (mut robust, mut not) = (0, 0);
    for seed in 0..cases() {
        let mut random = Random::new(seed ^ 0x12);
        let shape = Shape {
            threads: 2 + random.below(3),
            vars: 1 + random.below(3),
            events: 4 + random.below(14),
            transaction: 1 + random.below(4),
            commits: false,
            style: Style::Free,
            seed,
        };
        let recording: Vec<_> =
            shape.events().into_iter().filter(|event| !event.action.is_bracket()).collect();
        let evs = events(&recording);
        let (found, expected) = (early_read(&recording), by_insertion(&evs));
        assert_eq!(found.is_some(), expected, "seed {seed}: {}, {found:?}", show(&recording));
        robust += u64::from(!expected);
        not += u64::from(expected);
    }
    assert!(robust > cases() / 10 && not > cases() / 100, "{robust} {not}");
}

/// Store buffering: the textbook's run that is not sequentially consistent, seen in one that is.
#[test]
fn store_buffering() {
    let run = parse("0:wr0 1:wr1 1:rd0 0:rd1");
    assert_eq!(early_read(&run), None, "nothing orders the second write before the first");
    let run = parse("0:wr0 0:rd1 1:wr1 1:rd0");
    assert_eq!(early_read(&run), Some(Early { read: 3, write: 0, overtaken: 2 }));
    let fenced = parse("0:wr0 0:rd1 1:wr1 1:f 1:rd0");
    assert_eq!(early_read(&fenced), None);
}
