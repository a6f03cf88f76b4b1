//! Instructions in Promela.
//!
//! An instruction is a choice of *ways*: each has a guard, effects and a place to go on. A way is
//! one step of Promela, a plain statement if it can be and a `atomic` block if it has several effects.

use super::arithmetic::{Arithmetic, Condition};
use super::{BUS, SCRATCH};
use crate::ExportError;
use crate::storage::Storage;
use crate::text::Text;
use ir::expr::Binary;
use ir::{Expr, Instr, Pc, Place, Program, Reg, RegSet, Step, Tid, Value};

/// When a way is open.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Guard {
    /// Always.
    Open,
    /// When this expression is not 0.
    If(Text),
    /// When it is 0.
    Unless(Text),
}

/// One way to take a step.
struct Way {
    guard: Guard,
    effects: Vec<String>,
    next: Pc,
}

/// How a step of a thread is written.
pub(super) struct Written {
    /// The statements, a line each, without label.
    pub(super) lines: Vec<String>,
    /// The step that comes next, if no jump leads there.
    pub(super) falls_to: Option<Pc>,
    /// The steps it jumps to.
    pub(super) jumps_to: Vec<Pc>,
    /// Has it used the scratch variable?
    pub(super) uses_scratch: bool,
}

/// Writes the steps of one thread.
pub(super) struct Steps<'a> {
    pub(super) program: &'a Program,
    pub(super) tid: Tid,
    /// Names of registers.
    pub(super) registers: &'a [String],
    pub(super) storage: &'a Storage,
}

impl Steps<'_> {
    /// The step as statements.
    pub(super) fn write(&self, pc: Pc) -> Result<Written, ExportError> {
        let step = self.step(pc);
        let mut arithmetic = Arithmetic::new(self.program.domain, self.registers);
        let ways = self.ways(step, &mut arithmetic)?;
        let uses_scratch =
            ways.iter().any(|way| way.effects.iter().any(|effect| effect.contains(SCRATCH)));
        let sound = Soundness::of(&arithmetic.conditions);
        let plain = |line: String, falls_to| Written {
            lines: vec![line],
            falls_to,
            jumps_to: vec![],
            uses_scratch,
        };
        Ok(match (ways.as_slice(), &sound) {
            ([], _) => plain("false".into(), None),
            ([way], None) => plain(statement(&way.guard, None, &way.effects), Some(way.next)),
            ([way @ Way { guard: Guard::Open, .. }], Some(sound)) => {
                let Soundness { text, otherwise } = sound;
                let effects = way.effects.join("; ");
                let line = format!("atomic {{ assert({text}) /* {otherwise} */; {effects} }}");
                plain(line, Some(way.next))
            }
            (ways, sound) => Written {
                lines: self.choice(ways, sound.as_ref()),
                falls_to: None,
                jumps_to: ways.iter().map(|way| way.next).collect(),
                uses_scratch,
            },
        })
    }

    fn choice(&self, ways: &[Way], sound: Option<&Soundness>) -> Vec<String> {
        let mut lines = vec!["if".to_string()];
        if let Some(Soundness { text, otherwise }) = sound {
            lines.push(format!(
                ":: atomic {{ !({text}) -> assert(false) /* {otherwise} */ }} -> false"
            ));
        }
        for way in ways {
            let text = match (&way.guard, sound) {
                (Guard::Unless(_), None) => "else".into(),
                (guard, sound) => statement(guard, sound, &way.effects),
            };
            lines.push(format!(":: {text} -> goto {}", self.label(way.next)));
        }
        lines.push("fi".into());
        lines
    }

    fn ways(&self, step: &Step, arithmetic: &mut Arithmetic<'_>) -> Result<Vec<Way>, ExportError> {
        let next = step.next;
        let one = |guard, effects| vec![Way { guard, effects, next }];
        Ok(match &step.instr {
            Instr::Assign { dst, value } => {
                let value = arithmetic.expr(value)?.alone();
                one(Guard::Open, vec![self.assignment(*dst, &value)])
            }
            Instr::Jump { cond, targets } => {
                let way = |guard, next| Way { guard, effects: vec![], next };
                let to_all = |guard: Guard| targets.iter().map(move |&to| way(guard.clone(), to));
                match cond.as_const() {
                    Some(0) => one(Guard::Open, vec![]),
                    Some(_) => to_all(Guard::Open).collect(),
                    None => {
                        let cond = arithmetic.expr(cond)?;
                        let taken = to_all(Guard::If(cond.clone()));
                        taken.chain([way(Guard::Unless(cond), next)]).collect()
                    }
                }
            }
            Instr::Switch { value, cases } => {
                let value = arithmetic.expr(value)?;
                let way = |guard, next| Way { guard, effects: vec![], next };
                let test = |case: &Value| Text::open(format!("{} == {case}", value.operand()));
                let taken = cases.iter().map(|(case, to)| way(Guard::If(test(case)), *to));
                let any: Vec<_> = cases.iter().map(|(case, _)| test(case).operand()).collect();
                let other = match any.is_empty() {
                    true => Guard::Open,
                    false => Guard::Unless(Text::open(any.join(" || "))),
                };
                taken.chain([way(other, next)]).collect()
            }
            Instr::Assert(cond) => {
                let cond = arithmetic.expr(cond)?.alone();
                one(Guard::Open, vec![format!("assert({cond})")])
            }
            Instr::Assume(cond) => one(Guard::If(arithmetic.expr(cond)?), vec![]),
            Instr::Load { dst, place, .. } => {
                let place = self.place(place, arithmetic)?.alone();
                one(Guard::Open, vec![self.assignment(*dst, &place)])
            }
            Instr::Store { place, value, .. } => {
                let value = arithmetic.expr(value)?.alone();
                let place = self.place(place, arithmetic)?.alone();
                one(Guard::Open, vec![format!("{place} = {value}")])
            }
            Instr::Rmw { dst, place, update, .. } => {
                let operand = arithmetic.expr(&update.operand)?;
                let target = self.place(place, arithmetic)?;
                let value = arithmetic.update(update.op, &target, operand)?;
                let write = format!("{} = {}", target.operand(), value.alone());
                one(Guard::Open, self.exchange(*dst, &target, write, step.instr.inputs()))
            }
            Instr::Cas { dst, place, expected, desired, .. } => {
                let (expected, desired) = (arithmetic.expr(expected)?, arithmetic.expr(desired)?);
                let target = self.place(place, arithmetic)?;
                let name = target.operand();
                let (expected, desired) = (expected.operand(), desired.operand());
                let write = format!("{name} = ({name} == {expected} -> {desired} : {name})");
                one(Guard::Open, self.exchange(*dst, &target, write, step.instr.inputs()))
            }
            Instr::BlockingCas { place, expected, desired, .. } => {
                let (expected, desired) = (arithmetic.expr(expected)?, arithmetic.expr(desired)?);
                let target = self.place(place, arithmetic)?;
                let free = arithmetic.binary(Binary::Eq, &target, &expected)?;
                one(Guard::If(free), vec![format!("{} = {}", target.alone(), desired.alone())])
            }
            Instr::Wait { dst, place, values, .. } => {
                let values: Vec<Text> =
                    values.iter().map(|value| arithmetic.expr(value)).collect::<Result<_, _>>()?;
                let target = self.place(place, arithmetic)?;
                let equal: Vec<String> = values
                    .iter()
                    .map(|value| format!("{} == {}", target.operand(), value.operand()))
                    .collect();
                let read = dst.map(|dst| self.assignment(dst, &target.alone()));
                one(Guard::If(Text::open(equal.join(" || "))), read.into_iter().collect())
            }
            Instr::BusLock => one(Guard::Open, vec![format!("{BUS} = {}", self.tid.0 + 1)]),
            Instr::BusUnlock => one(Guard::Open, vec![format!("{BUS} = 0")]),
            Instr::Skip
            | Instr::Fence(_)
            | Instr::LightFence(_)
            | Instr::Begin
            | Instr::End
            | Instr::Mark(_) => one(Guard::Open, vec![]),
            Instr::Halt => vec![],
        })
    }

    fn step(&self, pc: Pc) -> &Step {
        self.program.step(self.tid, pc)
    }

    /// The label of a step.
    pub(super) fn label(&self, pc: Pc) -> String {
        match self.may_end(pc) {
            true => format!("end_{pc}"),
            false => format!("L{pc}"),
        }
    }

    /// May the thread rest here forever without anything being wrong?
    pub(super) fn may_end(&self, pc: Pc) -> bool {
        matches!(self.step(pc).instr, Instr::Halt | Instr::Assume(_))
    }

    fn place(&self, place: &Place, arithmetic: &mut Arithmetic<'_>) -> Result<Text, ExportError> {
        let thread = &self.program.threads[self.tid.index()];
        let index = |index: &Expr| arithmetic.index(index, place.len);
        self.storage.place(place, self.program, &thread.display_name(), index)
    }

    fn assignment(&self, dst: Reg, value: &str) -> String {
        format!("{} = {value}", self.registers[dst.index()])
    }

    /// The effects of reading `target` to `dst` and then doing `write`, whose expressions mention
    /// the registers `inputs` as they were before.
    fn exchange(
        &self,
        dst: Option<Reg>,
        target: &Text,
        write: String,
        inputs: RegSet,
    ) -> Vec<String> {
        let read = target.operand();
        match dst {
            None => vec![write],
            Some(dst) if inputs.contains(dst) => {
                vec![format!("{SCRATCH} = {read}"), write, self.assignment(dst, SCRATCH)]
            }
            Some(dst) => vec![self.assignment(dst, &read), write],
        }
    }
}

/// What must hold for the expressions of an instruction to have values.
struct Soundness {
    text: String,
    otherwise: String,
}

impl Soundness {
    fn of(conditions: &[Condition]) -> Option<Self> {
        let text = match conditions {
            [] => return None,
            [only] => only.text.clone().alone(),
            several => {
                let texts: Vec<String> = several.iter().map(|c| c.text.operand()).collect();
                texts.join(" && ")
            }
        };
        let mut wrong: Vec<&str> = conditions.iter().map(|c| c.otherwise).collect();
        wrong.sort_unstable();
        wrong.dedup();
        Some(Soundness { text, otherwise: wrong.join(" or ") })
    }
}

/// One step of Promela. `sound` is tested before anything else is evaluated.
fn statement(guard: &Guard, sound: Option<&Soundness>, effects: &[String]) -> String {
    let sound = sound.map(|sound| format!("({})", sound.text));
    let guard = match (guard, sound) {
        (Guard::Open, None) => None,
        (Guard::Open, Some(sound)) => Some(sound),
        (Guard::If(text), None) => Some(format!("({})", text.clone().alone())),
        (Guard::If(text), Some(sound)) => Some(format!("({sound} && {})", text.operand())),
        (Guard::Unless(text), None) => Some(format!("(!{})", text.operand())),
        (Guard::Unless(text), Some(sound)) => Some(format!("({sound} && !{})", text.operand())),
    };
    match (guard, effects) {
        (None, []) => "skip".into(),
        (Some(guard), []) => guard,
        (None, [effect]) => effect.clone(),
        (None, effects) => format!("atomic {{ {} }}", effects.join("; ")),
        (Some(guard), effects) => format!("atomic {{ {guard} -> {} }}", effects.join("; ")),
    }
}
