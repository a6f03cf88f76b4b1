//! Loops, and the statements that leave them.
//!
//! `continue` goes to the place where a loop decides whether to go on: the condition of `while` and
//! `do … while`, the step of `for`. `break` goes behind the loop. Both are skips whose successor is
//! known once the loop is laid out.

use super::thread::Lowering;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::{Block, Expr, For};
use ir::{Instr, Pc};

/// A loop being laid out.
pub(super) struct Loop {
    breaks: Vec<usize>,
    continues: Vec<usize>,
    /// The `atomic` block around it.
    atomic: Option<usize>,
}

impl<'a> Lowering<'a, '_, '_> {
    pub(super) fn while_loop(&mut self, condition: &Expr<'a>, body: &Block<'a>, span: Span) {
        let head = self.decision(Some(condition), span);
        let inside = self.body(body);
        self.go_on(&inside, Pc::from(head));
        self.close(head, inside, span);
    }

    pub(super) fn do_loop(&mut self, body: &Block<'a>, condition: &Expr<'a>, span: Span) {
        let start = self.here();
        let inside = self.body(body);
        self.go_on(&inside, self.here());
        let head = self.decision(Some(condition), span);
        let back = self.emit(Instr::Skip, span);
        self.lead(back, start);
        self.lead(head, self.here());
        self.join(inside.breaks);
    }

    pub(super) fn for_loop(&mut self, all: &For<'a>, span: Span) {
        all.init.iter().for_each(|init| self.statement(init));
        let head = self.decision(all.condition.as_ref(), span);
        let inside = self.body(&all.body);
        self.go_on(&inside, self.here());
        all.step.iter().for_each(|step| self.statement(step));
        self.close(head, inside, span);
    }

    /// Goes to the next step if the loop goes on; where else is yet to be said.
    fn decision(&mut self, condition: Option<&Expr<'a>>, span: Span) -> usize {
        let cond = condition.and_then(|condition| self.condition(condition));
        self.branch(cond.unwrap_or(ir::Expr::Const(1)), span)
    }

    fn body(&mut self, body: &Block<'a>) -> Loop {
        self.loops.push(Loop { breaks: vec![], continues: vec![], atomic: self.atomic });
        self.block(body);
        self.loops.pop().expect("what was pushed")
    }

    fn go_on(&mut self, inside: &Loop, to: Pc) {
        inside.continues.iter().for_each(|at| self.lead(*at, to));
    }

    /// Back to the decision; that and every `break` lead behind the loop.
    fn close(&mut self, head: usize, inside: Loop, span: Span) {
        let back = self.emit(Instr::Skip, span);
        self.lead(back, Pc::from(head));
        self.lead(head, self.here());
        self.join(inside.breaks);
    }

    pub(super) fn leave_loop(&mut self, statement: &'static str, span: Span) {
        let at = self.emit(Instr::Skip, span);
        let Some(inner) = self.loops.last_mut() else {
            let message = format!("a `{statement}` outside of any loop");
            self.sink.push(
                Diagnostic::error(codes::SYNTAX, message)
                    .with_label(span, "loops are `while`, `do` and `for`"),
            );
            return;
        };
        match statement {
            "break" => inner.breaks.push(at),
            _ => inner.continues.push(at),
        }
        if inner.atomic != self.atomic {
            self.sink.push(
                Diagnostic::error(codes::ATOMIC_BLOCK, "a jump out of an `atomic` block")
                    .with_label(span, "control must pass the block's end"),
            );
        }
    }
}
