//! Instructions in C: what an instruction does, as statements, and where control goes then.

use super::orders::{fence, read, update, write};
use super::values::{Helper, Values};
use crate::ExportError;
use crate::storage::Storage;
use crate::text::Text;
use ir::{Expr, Instr, Pc, Place, Program, ReadMode, Reg, Step, Thread, UpdateOp, WriteMode};

/// How a step of a thread is written.
pub(super) struct Written {
    /// The statements, a line each, without label.
    pub(super) lines: Vec<String>,
    /// The step that comes next, if no jump leads there.
    pub(super) falls_to: Option<Pc>,
    /// The steps it jumps to.
    pub(super) jumps_to: Vec<Pc>,
}

/// Writes the steps of one thread.
pub(super) struct Steps<'a> {
    pub(super) program: &'a Program,
    pub(super) thread: &'a Thread,
    /// Names of registers.
    pub(super) registers: &'a [String],
    pub(super) storage: &'a Storage,
    pub(super) values: &'a mut Values,
}

impl Steps<'_> {
    /// The step as statements.
    pub(super) fn write(&mut self, step: &Step) -> Result<Written, ExportError> {
        let (mut falls_to, mut jumps_to) = (Some(step.next), Vec::new());
        let lines = match &step.instr {
            Instr::Jump { cond, targets } => match cond.as_const() {
                Some(0) => vec![],
                condition => {
                    let last = targets.len() - 1;
                    let choose = if last > 0 { self.values.helper(Helper::Choose) } else { "" };
                    let ways = targets.iter().enumerate().map(|(k, to)| match k < last {
                        true => format!("if ({choose}()) goto {};", label(*to)),
                        false => format!("goto {};", label(*to)),
                    });
                    let ways: Vec<String> = ways.collect();
                    jumps_to.clone_from(targets);
                    match condition {
                        Some(_) => {
                            falls_to = None;
                            ways
                        }
                        None => {
                            let cond = self.expr(cond);
                            let open = if last > 0 { "{ " } else { "" };
                            let close = if last > 0 { " }" } else { "" };
                            vec![format!("if ({cond}) {open}{}{close}", ways.join(" "))]
                        }
                    }
                }
            },
            Instr::Switch { value, cases } => {
                let value = self.expr(value);
                jumps_to.extend(cases.iter().map(|(_, to)| *to));
                let case = |(case, to): &(ir::Value, Pc)| {
                    format!(
                        "if ({value} == {}) goto {};",
                        self.values.number(*case).operand(),
                        label(*to)
                    )
                };
                cases.iter().map(case).collect()
            }
            Instr::Halt => {
                falls_to = None;
                vec!["return NULL;".into()]
            }
            instr => self.statement(instr)?.into_iter().collect(),
        };
        Ok(Written { lines, falls_to, jumps_to })
    }

    /// What an instruction does that always goes on.
    fn statement(&mut self, instr: &Instr) -> Result<Option<String>, ExportError> {
        Ok(Some(match instr {
            Instr::Assign { dst, value } => {
                let value = self.expr(value);
                self.assignment(Some(*dst), &value)
            }
            Instr::Assert(cond) => format!("assert({});", self.expr(cond)),
            Instr::Assume(cond) => {
                let cond = self.values.expr(cond, self.registers);
                format!("{}({} != 0);", self.values.helper(Helper::Assume), cond.operand())
            }
            Instr::Load { dst, place, mode } => {
                let value = self.load(place, *mode)?;
                self.assignment(Some(*dst), &value)
            }
            Instr::Store { place, value, mode } => {
                let value = self.expr(value);
                let place = self.place(place)?.alone();
                match mode {
                    WriteMode::Na => format!("{place} = {value};"),
                    _ => {
                        let order = write(*mode).ok_or_else(|| self.partial())?;
                        format!("atomic_store_explicit(&{place}, {value}, {order});")
                    }
                }
            }
            Instr::Rmw { dst, place, update: change, read, write } => {
                let order = update(*read, *write).ok_or_else(|| self.partial())?;
                self.rmw(*dst, place, change.op, &change.operand, order)?
            }
            Instr::Cas { dst, place, expected, desired, read: r, write, fail } => {
                let order = update(*r, *write).ok_or_else(|| self.partial())?;
                let failure = read(*fail).ok_or_else(|| self.partial())?;
                let (cell, expected, desired) =
                    (self.values.cell, self.expr(expected), self.expr(desired));
                let place = self.place(place)?.alone();
                let keep = match dst {
                    Some(dst) => format!(" {}", self.assignment(Some(*dst), "old")),
                    None => String::new(),
                };
                format!(
                    "{{ {cell} old = {expected}; atomic_compare_exchange_strong_explicit(&{place}, &old, \
                     {desired}, {order}, {failure});{keep} }}"
                )
            }
            Instr::BlockingCas { place, expected, desired, read, write } => {
                let order = update(*read, *write).ok_or_else(|| self.partial())?;
                let (cell, expected, desired) =
                    (self.values.cell, self.expr(expected), self.expr(desired));
                let place = self.place(place)?.alone();
                format!(
                    "for (;;) {{ {cell} old = {expected}; if \
                     (atomic_compare_exchange_strong_explicit(&{place}, &old, {desired}, {order}, \
                     memory_order_relaxed)) break; }}"
                )
            }
            Instr::Wait { dst, place, values, mode } => {
                let seen = self.load(place, *mode)?;
                let equal: Vec<String> = values
                    .iter()
                    .map(|value| {
                        let value = self.values.expr(value, self.registers);
                        format!("seen == {}", value.operand())
                    })
                    .collect();
                let keep = match dst {
                    Some(dst) => format!(" {}", self.assignment(Some(*dst), "seen")),
                    None => String::new(),
                };
                let (wide, equal) = (self.values.wide, equal.join(" || "));
                format!("{{ {wide} seen; do seen = {seen}; while (!({equal}));{keep} }}")
            }
            Instr::Fence(mode) => {
                let order = fence(*mode)
                    .ok_or_else(|| self.lacks("an update of a hidden location as a fence"))?;
                format!("atomic_thread_fence({order});")
            }
            Instr::LightFence(_) => return Err(self.lacks("a fence for some locations only")),
            Instr::BusLock | Instr::BusUnlock => {
                return Err(self.lacks("a block of instructions that locks the bus"));
            }
            Instr::Begin | Instr::End => return Err(self.lacks("a transaction")),
            // Methods of libraries are inlined: there is nothing left to do.
            Instr::Skip | Instr::Mark(_) => return Ok(None),
            Instr::Jump { .. } | Instr::Switch { .. } | Instr::Halt => {
                unreachable!("written by `write`")
            }
        }))
    }

    fn rmw(
        &mut self,
        dst: Option<Reg>,
        place: &Place,
        op: UpdateOp,
        operand: &Expr,
        order: &str,
    ) -> Result<String, ExportError> {
        if self.values.wraps_elsewhere(op) {
            return Err(ExportError::WrapsElsewhere {
                thread: self.thread.display_name(),
                operator: op.keyword(),
                domain: self.program.domain,
            });
        }
        let operand = self.expr(operand);
        let place = self.place(place)?.alone();
        let call = |operand: &str| match op {
            UpdateOp::Set => format!("atomic_exchange_explicit(&{place}, {operand}, {order})"),
            UpdateOp::Nand | UpdateOp::Max | UpdateOp::Min => {
                // Builtins of compilers, which take no `_Atomic` objects.
                let (cell, name) = (self.values.cell, op.keyword());
                format!("__atomic_{name}(({cell} *)&{place}, ({cell}){operand}, {order})")
            }
            _ => format!("atomic_{}_explicit(&{place}, {operand}, {order})", op.keyword()),
        };
        let Some(tested) = self.values.must_be_tested(op) else {
            let operand = match op {
                UpdateOp::Nand | UpdateOp::Max | UpdateOp::Min => format!("({operand})"),
                _ => operand,
            };
            let call = call(&operand);
            return Ok(self.assignment(dst, &call));
        };
        let call = call("operand");
        let result = self.values.binary(tested, &Text::word("old"), &Text::word("operand"));
        let keep = match dst {
            Some(_) => format!(" {}", self.assignment(dst, "old")),
            None => String::new(),
        };
        let (wide, result) = (self.values.wide, result.alone());
        Ok(format!("{{ {wide} operand = {operand}; {wide} old = {call}; {result};{keep} }}"))
    }

    fn load(&mut self, place: &Place, mode: ReadMode) -> Result<String, ExportError> {
        let place = self.place(place)?.alone();
        if mode == ReadMode::Na {
            return Ok(place);
        }
        let order = read(mode).ok_or_else(|| self.partial())?;
        Ok(format!("atomic_load_explicit(&{place}, {order})"))
    }

    fn expr(&mut self, expr: &Expr) -> String {
        self.values.expr(expr, self.registers).alone()
    }

    fn place(&mut self, place: &Place) -> Result<Text, ExportError> {
        let Steps { program, thread, registers, storage, values } = self;
        let index = |index: &Expr| Ok(values.index(index, place.len, registers));
        storage.place(place, program, &thread.display_name(), index)
    }

    fn assignment(&self, dst: Option<Reg>, value: &str) -> String {
        match dst {
            Some(dst) => format!("{} = {value};", self.registers[dst.index()]),
            None => format!("{value};"),
        }
    }

    fn lacks(&self, what: &'static str) -> ExportError {
        ExportError::NotInC { thread: self.thread.display_name(), what }
    }

    fn partial(&self) -> ExportError {
        self.lacks("an access that synchronises one space only (`pacq`, `prel`)")
    }
}

/// The label of a step.
pub(super) fn label(pc: Pc) -> String {
    format!("L{pc}")
}
