//! The stale values that the monitors keep, compared with what the axioms allow, after every step of SC
//! runs.
//!
//! Robustness needs a thread that must come after a location's last write *and* may take a stale one, so
//! programs that are not robust tell little about the sets of stale values. Here the sets themselves are
//! compared: a stale value is in reach of a thread's next access if and only if some graph in which the
//! access takes a write of that value is consistent.

use super::row_layout::Track;
use super::views::Compared;
use super::{Rc20, Robustness, State};
use crate::{Attempt, Effect, Memory};
use analysis::values::PossibleValues;
use graph::{Execution, Next, axioms};
use ir::random::{self, Allow, Config, Generator};
use ir::thread::{Action, next_action};
use ir::{
    Domain, Expr, FenceMode, Instr, Loc, Location, LocationKind, Notes, Origin, Pc, Place, Program,
    ReadMode, Reg, Step, Thread, Tid, Update, Value, WriteMode,
};

/// An SC run, with monitors of all locations and with its graph.
struct Run<'p> {
    program: &'p Program,
    monitors: Rc20,
    state: State,
    execution: Execution,
}

impl<'p> Run<'p> {
    fn start(program: &'p Program) -> Self {
        let possible = PossibleValues::of(program);
        let all: Vec<Loc> = (0..program.locations.len()).map(Loc::from).collect();
        let monitors = Rc20::new(program, &possible, Robustness::Plain, Track::All, &all);
        let monitors = monitors.expect("few values");
        let (state, execution) = (monitors.initial(), Execution::initial(program));
        Run { program, monitors, state, execution }
    }

    fn action(&self, tid: Tid) -> Option<Action> {
        let thread = &self.execution.threads[tid.index()];
        let instr = &self.program.step(tid, thread.pc).instr;
        next_action(instr, &thread.registers, self.program.domain, &mut Notes::default()).ok()
    }

    /// Takes a step of `tid`, if it can.
    fn step(&mut self, tid: Tid) -> Option<()> {
        let instr = &self.program.step(tid, self.execution.threads[tid.index()].pc).instr;
        let action = self.action(tid)?;
        match self.execution.next(self.program, tid) {
            Next::Nothing => return None,
            Next::Silent | Next::Local(_) => {
                self.execution.take_local_step(self.program, tid, None)?;
                if instr.is_local() {
                    self.monitors.local_step(&mut self.state, tid, instr);
                    return Some(());
                }
            }
            Next::Access(access) => {
                let latest = self.execution.graph.latest(access.loc);
                self.execution.take_access(self.program, tid, latest)?;
            }
        }
        let notes = &mut Notes::default();
        let attempt = Attempt { tid, instr, action: &action };
        let effect = self.monitors.step(&mut self.state, attempt, (), notes);
        assert!(!matches!(effect, Ok(Effect::Blocked)));
        Some(())
    }

    /// The stale values that the next access of `tid` may take: by the monitors, and by the axioms. The
    /// second half of each says whether it would write.
    fn stale(&self, tid: Tid) -> Option<[Vec<(Value, bool)>; 2]> {
        let Next::Access(access) = self.execution.next(self.program, tid) else { return None };
        let graph = &self.execution.graph;
        let writes = graph.writes_to(access.loc);
        let mut allowed = Vec::new();
        for write in &writes[..writes.len() - 1] {
            let value = graph.event(*write).label.value_written()?;
            let Some(label) = access.label(value) else { continue };
            let extended = self.execution.access(self.program, tid, *write)?.graph;
            if axioms::is_consistent(&extended) {
                allowed.push((value, label.writes()));
            }
        }
        let mut in_reach = Vec::new();
        for value in self.program.domain.min..=self.program.domain.max {
            let Some(label) = access.label(value) else { continue };
            let (views, rows) = match label.writes() {
                true => (&self.monitors.overwriting, &self.state.overwriting),
                false => (&self.monitors.reading, &self.state.reading),
            };
            let compared = Compared::Value(value);
            if views.may_take(rows, tid, access.loc, compared, label.is_sc()) {
                in_reach.push((value, label.writes()));
            }
        }
        for set in [&mut in_reach, &mut allowed] {
            set.sort_unstable();
            set.dedup();
        }
        Some([in_reach, allowed])
    }
}

/// The minimal programs: an SC run, then an access that takes a stale value, and whether it may. Each
/// catches the loss of one line of the rules.
#[rustfmt::skip]
const MINIMAL: &[(&str, &str, &str, bool)] = &[
    ("SB", "0 Wx.rlx; 0 Fsc; 0 Ry.rlx; 1 Wy.rlx; 1 Fsc", "1 Rx.rlx", false),
    ("rf(kP)", "0 Wx.rlx; 1 Rx.rlx; 1 Fsc; 1 Ry.rlx; 2 Wy.rlx; 2 Fsc", "2 Rx.rlx", false),
    ("WF", "0 Wx.rlx; 0 Fsc; 0 Ry.rlx; 2 Wy.rlx; 1 Ry.rlx; 1 Fsc", "1 Rx.rlx", false),
    ("WF≠MF", "2 Wy.rlx; 0 Wx.rlx; 0 Fsc; 0 Ry.rlx; 1 Ry.rlx; 1 Fsc", "1 Rx.rlx", true),
    ("f≠v", "0 Wx.rlx; 0 Wy.rlx; 1 Ry.rlx; 1 Fsc", "1 Rx.rlx", true),
    ("f=k", "0 Wx.rlx; 0 Fsc; 0 Ry.rlx; 1 Wy.rlx; 1 Fsc; 1 Rz.rlx; 2 Wz.rlx; 2 Fsc", "2 Rx.rlx", false),
    ("k.hb", "0 Wx.rlx; 0 Fsc; 0 Wy.rlx; 1 Ry.rlx; 1 Wz.rel; 2 Rz.acq; 2 Fsc", "2 Rx.rlx", false),
    ("f.hb", "0 Wx.rlx; 0 Fsc; 0 Wu.rel; 1 Ru.acq; 1 Ry.rlx; 2 Wy.rlx; 2 Fsc", "2 Rx.rlx", false),
    ("psc-ar", "2 Wz.rlx; 2 Fsc; 2 Wx.rlx; 3 Rx.rlx; 3 Wy.rlx; 1 Ry.rlx; 1 Fsc", "1 Rz.rlx", true),
    ("p≠P", "0 Wx.rlx; 1 Rx.rlx; 1 Fsc; 1 Wy.rlx; 2 Wy.sc", "2 Rx.sc", true),
    ("P.acc", "0 Wx.rlx; 1 Rx.rlx; 1 Fsc; 1 Wy.rlx; 2 Wy.sc; 2 Wz.sc; 3 Wz.rlx; 3 Fsc", "3 Rx.rlx", false),
    ("WFp", "0 Wx.rlx; 0 Fsc; 0 Ry.rlx; 2 Wy.rlx; 1 Ry.rlx; 1 Fsc; 1 Rz.rlx; 3 Wz.sc", "3 Rx.sc", false),
    ("MF≠MA", "0 Wx.sc; 0 Ry.sc; 2 Wy.rlx; 1 Ry.rlx; 1 Fsc", "1 Rx.rlx", true),
    ("X∌WF", "0 Wx.sc; 0 Fsc; 0 Ry.sc; 1 Wy.rlx; 3 Ry.sc", "3 Rx.sc", true),
    ("z", "0 Wx.sc; 0 Wy.rel; 1 Ry.rlx; 1 Facq; 1 Ry.sc; 3 Wy.sc", "3 Rx.sc", false),
    ("MA", "2 Wx.sc; 2 Wy.sc; 0 Wy.sc", "0 Rx.sc", false),
    ("h", "2 Wx.sc; 2 Wy.sc; 0 Wy.sc; 0 Wz.rel; 1 Rz.acq", "1 Rx.sc", false),
    ("l", "2 Wx.rlx; 2 Fsc; 2 Wy.rlx; 0 Wy.sc; 1 Ry.sc", "1 Rx.sc", false),
    ("k", "2 Wx.sc; 2 Wy.sc; 0 Wy.rlx; 0 Fsc", "0 Rx.rlx", false),
    ("f", "2 Wx.rlx; 2 Fsc; 2 Wz.rel; 1 Rz.acq; 1 Ry.rlx; 3 Wy.sc", "3 Rx.sc", false),
    ("hold", "0 Wy.sc; 0 Wx.rel; 1 Rx.acq; 1 Rx.sc; 3 Wx.sc", "3 Ry.sc", true),
    // Acquire and release views, and release sequences.
    ("h.a", "0 Ru.rlx; 2 Wx.sc; 2 Wy.sc; 0 Wy.sc; 0 Facqrel; 0 Wz.rlx; 1 Rz.acq", "1 Rx.sc", false),
    ("l.a", "0 Ru.rlx; 2 Wx.rlx; 2 Fsc; 2 Wy.rlx; 0 Wy.sc; 0 Facqrel; 0 Wy.rlx; 1 Ry.acq; 1 Ry.sc", "1 Rx.sc", false),
    ("k.r", "0 Wx.rlx; 0 Fsc; 0 Wu.rlx; 1 Ru.rlx; 1 Frel; 1 Wz.rlx; 2 Rz.acq; 2 Fsc", "2 Rx.rlx", false),
    ("k.U", "0 Wx.rlx; 0 Fsc; 0 Wu.rlx; 1 Ru.rlx; 1 Wz.rel; 3 Uz.rlx; 2 Rz.acq; 2 Fsc", "2 Rx.rlx", false),
    ("f.a", "0 Wx.rlx; 0 Fsc; 0 Ry.rlx; 1 Wy.rlx; 1 Fsc; 1 Facq", "1 Rx.rlx", false),
];

const NAMES: &str = "xyzu";

/// The thread and instruction of `0 Wx.rlx`, `1 Rx.acq`, `3 Ux.rlx` or `2 Fsc`.
fn parsed(step: &str) -> (usize, Instr) {
    let (tid, rest) = step.split_once(' ').expect("a thread");
    let tid = tid.parse().expect("a thread");
    let place = |name: &str| Place::location(Loc::from(NAMES.find(name).expect("a location")));
    let instr = match (rest.split_once('.'), &rest[..1]) {
        (Some((access, mode)), "W") => {
            let mode = match mode {
                "sc" => WriteMode::Sc,
                "rel" => WriteMode::Rel,
                _ => WriteMode::Rlx,
            };
            Instr::Store { place: place(&access[1..]), value: Expr::Const(1), mode }
        }
        (Some((access, _)), "U") => {
            let (dst, update) = (None, Update::add(Expr::Const(0)));
            let (read, write) = (ReadMode::Rlx, WriteMode::Rlx);
            Instr::Rmw { dst, place: place(&access[1..]), update, read, write }
        }
        (Some((access, mode)), _) => {
            let mode = match mode {
                "sc" => ReadMode::Sc,
                "acq" => ReadMode::Acq,
                _ => ReadMode::Rlx,
            };
            Instr::Load { dst: Reg(0), place: place(&access[1..]), mode }
        }
        (None, _) => Instr::Fence(match rest {
            "Fsc" => FenceMode::Sc,
            "Facq" => FenceMode::Acq,
            "Frel" => FenceMode::Rel,
            _ => FenceMode::AcqRel,
        }),
    };
    (tid, instr)
}

/// The program in which every thread does its steps of the run, in this order.
fn program(steps: &[(usize, Instr)]) -> Program {
    let thread = |t: usize| {
        let own = steps.iter().filter(|(tid, _)| *tid == t).map(|(_, instr)| instr.clone());
        let code: Vec<Instr> = own.chain([Instr::Halt]).collect();
        let last = code.len() - 1;
        let step = |(pc, instr): (usize, Instr)| Step {
            instr,
            next: Pc::from((pc + 1).min(last)),
            origin: Origin(0),
        };
        Thread {
            name: format!("t{t}"),
            replica: None,
            registers: vec!["r".into()],
            code: code.into_iter().enumerate().map(step).collect(),
            entry: Pc(0),
        }
    };
    let location = |name: char| Location {
        name: name.to_string(),
        element: None,
        initial: 0,
        kind: LocationKind::Atomic,
    };
    let threads = (0..4).map(thread).collect();
    Program::new(Domain::modulo(2), NAMES.chars().map(location).collect(), threads)
}

#[test]
fn minimal_programs() {
    for (name, run, probe, may) in MINIMAL {
        let mut steps: Vec<_> = run.split("; ").map(parsed).collect();
        let probe = parsed(probe);
        steps.push(probe.clone());
        let program = program(&steps);
        let mut run = Run::start(&program);
        for (tid, _) in &steps[..steps.len() - 1] {
            run.step(Tid::from(*tid)).expect("a run");
        }
        let [in_reach, allowed] = run.stale(Tid::from(probe.0)).expect("at the probe");
        assert_eq!(allowed == [(0, false)], *may, "{name}: the axioms");
        assert_eq!(in_reach, allowed, "{name}: the monitors");
    }
}

/// Compares the sets after every step of a random run.
fn compare(program: &Program, random: &mut Generator) -> Result<usize, String> {
    let mut run = Run::start(program);
    let mut compared = 0;
    loop {
        for tid in program.tids() {
            let Some([in_reach, allowed]) = run.stale(tid) else { continue };
            if in_reach != allowed {
                return Err(format!("{tid:?}: monitors {in_reach:?}, axioms {allowed:?}"));
            }
            compared += 1;
        }
        let mut order: Vec<Tid> = program.tids().collect();
        order.rotate_left(random.below(program.threads.len()));
        if !order.into_iter().any(|tid| run.step(tid).is_some()) {
            return Ok(compared);
        }
    }
}

/// Catches a wrong row, colour or order of operations that verdicts of small programs do not show.
#[test]
fn random_runs() {
    let asked = std::env::var("FENCEPOST_STALE_SETS").ok().and_then(|count| count.parse().ok());
    let few = Allow { fences: true, sc_fences: true, ..Allow::NOTHING };
    let updates = Allow { fadd: true, exchange: true, cas: true, wait: true, bcas: true, ..few };
    let base = Config { threads: 3..=4, instructions: 3..=7, locations: 3, ..Config::default() };
    let configs = [
        Config { allow: few, ..base.clone() },
        Config { allow: updates, ..base.clone() },
        Config { allow: Allow { fences: true, ..Allow::NOTHING }, ..base.clone() },
        Config { allow: few, max_value: 2, locations: 2, ..base },
    ];
    let mut compared = 0;
    for seed in 0..asked.unwrap_or(8000) {
        let config = &configs[seed as usize % configs.len()];
        let program = random::with_sc_events(random::program(seed, config), seed);
        let mut random = Generator { state: seed };
        compared += compare(&program, &mut random).unwrap_or_else(|error| {
            panic!("seed {seed}: {error}\n{}", ir::print::program(&program));
        });
    }
    assert!(compared > 10_000, "{compared} sets show little");
}
