//! What the analysis of counters makes of programs: classes, clocks, constants, loop_counters.
//!
//! Programs are written with the types of `model` itself; `check`'s tests compare the searches that
//! rely on it.

extern crate fencepost_analysis as analysis;

use analysis::counters::{self, Found};
use analysis::loop_counter;
use analysis::values::PossibleValues;
use ir::expr::Binary;
use ir::{
    Domain, Expr, Instr, Loc, Location, LocationKind, Origin, Pc, Place, Program, ReadMode, Reg,
    Step, Thread, Update, Value, WriteMode,
};

const NOW: Loc = Loc(0);
const SEEN: Loc = Loc(1);
const EPOCH: Reg = Reg(0);
const TALLY: Reg = Reg(1);

fn binary(op: Binary, reg: Reg, value: Value) -> Expr {
    Expr::binary(op, Expr::Reg(reg), Expr::Const(value)).expect("a small expression")
}

/// A loop: while the loop_counter is below `limit`, count, and let time go on.
fn ticking(limit: Value, largest: Value) -> Program {
    let instrs = vec![
        // 0: if the loop_counter is used up, end
        Instr::Jump { cond: binary(Binary::Ge, TALLY, limit), targets: vec![Pc(6)] },
        Instr::Assign { dst: TALLY, value: binary(Binary::Add, TALLY, 1) },
        Instr::Load { dst: EPOCH, place: Place::location(NOW), mode: ReadMode::Acq },
        Instr::Store {
            place: Place::location(NOW),
            value: binary(Binary::Add, EPOCH, 1),
            mode: WriteMode::Rel,
        },
        Instr::Store {
            place: Place::location(SEEN),
            value: Expr::Reg(EPOCH),
            mode: WriteMode::Rel,
        },
        Instr::Jump { cond: Expr::Const(1), targets: vec![Pc(0)] },
        Instr::Store { place: Place::location(SEEN), value: Expr::Const(0), mode: WriteMode::Rel },
        Instr::Halt,
    ];
    let last = instrs.len() - 1;
    let code = instrs.into_iter().enumerate().map(|(pc, instr)| Step {
        instr,
        next: Pc::from((pc + 1).min(last)),
        origin: Origin::default(),
    });
    let location = |name: &str, initial| Location {
        name: name.into(),
        element: None,
        kind: LocationKind::Atomic,
        initial,
    };
    let thread = Thread {
        name: "t".into(),
        replica: None,
        registers: vec!["epoch".into(), "loop_counter".into()],
        entry: Pc(0),
        code: code.collect(),
    };
    let locations = vec![location("now", 1), location("seen", 0)];
    Program::new(Domain::modulo(largest), locations, vec![thread.clone(), thread])
}

fn find(program: &Program) -> Found {
    counters::find(program, &PossibleValues::of(program))
}

#[test]
fn epochs_have_a_clock_and_a_constant() {
    let found = find(&ticking(3, 20));
    let [class] = &found.classes[..] else { panic!("{found:?}") };
    assert_eq!(class.locations, [NOW, SEEN]);
    assert_eq!(class.clock, Some(NOW));
    assert_eq!(class.constants, [0]);
    assert_eq!(class.base, 1);
    assert_eq!(found.loop_counters.len(), 2, "one for each thread");
}

/// Two threads let time go on three times each: it is at most 7.
#[test]
fn tallies_bound_what_nothing_else_does() {
    assert!(!find(&ticking(3, 7)).classes.is_empty());
    assert!(find(&ticking(3, 6)).classes.is_empty(), "7 does not fit");
}

#[test]
fn a_tally_that_comes_from_memory_is_none() {
    let mut program = ticking(3, 20);
    program.threads[0].code[1].instr = Instr::Rmw {
        dst: Some(TALLY),
        place: Place::location(SEEN),
        update: Update::add(Expr::Const(1)),
        read: ReadMode::Rlx,
        write: WriteMode::Rlx,
    };
    let loop_counters = loop_counter::find(&program, &PossibleValues::of(&program));
    assert_eq!(loop_counters.len(), 1, "the other thread's");
}

#[test]
fn without_tallies_control_goes_either_way() {
    let program = ticking(3, 20);
    let loose = loop_counter::without(&program, &find(&program).loop_counters);
    let test = &loose.threads[0].code[0];
    assert_eq!(test.successors().collect::<Vec<_>>(), [Pc(6), Pc(1)]);
    assert_eq!(loose.threads[0].code[1].instr, Instr::Skip);
}
