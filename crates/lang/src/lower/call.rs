//! Calls: methods and procedures are inlined where they are called.
//!
//! A call takes registers for parameters and locals behind those of its caller, and gives them back
//! at its end. Methods of libraries have a mark at their start and end, and call nothing: histories
//! have no nested calls. Procedures call each other as they like, except in a circle.

use super::declare::Globals;
use super::thread::{Lowering, Scope};
use super::{duplicate, unknown};
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{self, Name};
use ir::{
    Expr, FenceMode, Instr, Mark, Pc, Place, ReadMode, Reg, RegSet, Thread, Update, WriteMode,
};
use std::collections::BTreeMap;

/// The methods that a client can call, by name.
#[derive(Default)]
pub(super) struct Methods<'a, 'g> {
    pub(super) by_name: BTreeMap<&'a str, Method<'a, 'g>>,
    /// Are they procedures, which may call each other?
    pub(super) procedures: bool,
}

/// A method and what its body sees.
#[derive(Clone, Copy)]
pub(super) struct Method<'a, 'g> {
    pub(super) syntax: &'g syntax::Method<'a>,
    pub(super) globals: &'g Globals<'a>,
    /// Its number, if histories show its calls.
    pub(super) mark: Option<u32>,
}

impl<'a, 'g> Methods<'a, 'g> {
    /// The procedures of a program.
    pub(super) fn procedures(
        unit: &'g syntax::Unit<'a>,
        globals: &'g Globals<'a>,
        sink: &mut Sink,
    ) -> Self {
        let mut by_name: BTreeMap<&'a str, Method<'a, 'g>> = BTreeMap::new();
        for syntax in &unit.procedures {
            if let Some(first) = by_name.get(syntax.name.text) {
                sink.push(duplicate(syntax.name, "a procedure", first.syntax.name.span));
                continue;
            }
            by_name.insert(syntax.name.text, Method { syntax, globals, mark: None });
        }
        Methods { by_name, procedures: true }
    }
}

/// A method or procedure being inlined.
pub(super) struct Frame<'a> {
    name: Name<'a>,
    dst: Option<Reg>,
    mark: bool,
    /// The `atomic` block around the call.
    atomic: Option<usize>,
    /// The steps that end it.
    ends: Vec<usize>,
}

/// Complains about procedures that may end without the result their caller wants.
pub(super) fn results(thread: &Thread, ends: &[(Pc, Name, Span)], sink: &mut Sink) {
    let reachable: Vec<Pc> = if ends.is_empty() { vec![] } else { thread.reachable().collect() };
    for (_, name, call) in ends.iter().filter(|(pc, ..)| reachable.contains(pc)) {
        let message = format!("`{}` may end without a result", name.text);
        sink.push(
            Diagnostic::error(codes::METHOD, message)
                .with_label(*call, "this call wants one")
                .with_label(name.span, "the procedure")
                .with_help("write `return e;` where it ends"),
        );
    }
}

impl<'a> Lowering<'a, '_, '_> {
    pub(super) fn call(
        &mut self,
        dst: Option<Name<'a>>,
        name: Name<'a>,
        arguments: &[syntax::Expr<'a>],
        span: Span,
    ) {
        if let Some(error) = self.nested(name, span) {
            self.sink.push(error);
            return;
        }
        let Some(&method) = self.methods.by_name.get(name.text) else {
            let known = self.methods.by_name.keys().copied();
            let mut error = unknown(name, "a method of any library", known);
            error.code = codes::METHOD;
            error.message = format!("there is no method `{}`", name.text);
            self.sink.push(error);
            return;
        };
        let dst = match dst.map(|dst| self.local(dst)) {
            Some(None) => return,
            dst => dst.flatten(),
        };
        let parameters = &method.syntax.parameters;
        if parameters.len() != arguments.len() {
            let count =
                |n: usize| if n == 1 { "1 argument".into() } else { format!("{n} arguments") };
            let message = format!(
                "`{}` takes {}, not {}",
                name.text,
                count(parameters.len()),
                arguments.len()
            );
            self.sink.push(
                Diagnostic::error(codes::METHOD, message).with_label(span, "this call").with_label(
                    method.syntax.name.span,
                    if self.methods.procedures { "the procedure" } else { "the method" },
                ),
            );
            return;
        }
        let values: Vec<Option<Expr>> = arguments.iter().map(|e| self.expr(e)).collect();
        let Some(values) = values.into_iter().collect::<Option<Vec<Expr>>>() else { return };
        self.calls += 1;
        if let Some(number) = method.mark {
            let mark = Mark::Call { method: number, arguments: values.clone() };
            self.emit(Instr::Mark(mark), span);
        }
        let locals = self.registers_of(method.syntax);
        for (k, value) in values.into_iter().enumerate() {
            let dst = Reg::from(self.top + k);
            self.emit(Instr::Assign { dst, value }, span);
        }
        for k in parameters.len()..locals.len() {
            let dst = Reg::from(self.top + k);
            self.emit(Instr::Assign { dst, value: Expr::Const(0) }, span);
        }
        let taken = locals.len();
        self.top += taken;
        let scope = Scope { globals: method.globals, locals, replica: None };
        let around = std::mem::replace(&mut self.scope, scope);
        let labels = std::mem::take(&mut self.labels);
        let gotos = std::mem::take(&mut self.gotos);
        let loops = std::mem::take(&mut self.loops);
        let (mark, atomic) = (method.mark.is_some(), self.atomic);
        let name = method.syntax.name;
        self.frames.push(Frame { name, dst, mark, atomic, ends: Vec::new() });
        self.block(&method.syntax.body);
        if dst.is_some() && self.methods.procedures {
            self.without_result.push((self.here(), name, span));
        }
        self.finish_without(method.syntax.body.end);
        self.resolve_gotos();
        self.scope = around;
        self.labels = labels;
        self.gotos = gotos;
        self.loops = loops;
        self.top -= taken;
        let ends = self.frames.pop().map(|frame| frame.ends).unwrap_or_default();
        self.join(ends);
    }

    /// What is wrong with a call from inside a method or procedure, if anything.
    fn nested(&self, name: Name<'a>, span: Span) -> Option<Diagnostic> {
        let frame = self.frames.last()?;
        if !self.methods.procedures {
            let message = match frame.name.text == name.text {
                true => format!("the method `{}` calls itself", name.text),
                false => format!("the method `{}` calls `{}`", frame.name.text, name.text),
            };
            return Some(
                Diagnostic::error(codes::METHOD, message)
                    .with_label(span, "a method calls no methods: histories have no nested calls")
                    .with_help("write out what the other method does"),
            );
        }
        let first = self.frames.iter().position(|frame| frame.name.text == name.text)?;
        let circle = self.frames[first..].iter().map(|frame| frame.name.text).chain([name.text]);
        let circle = circle.collect::<Vec<_>>().join(" → ");
        Some(
            Diagnostic::error(codes::METHOD, format!("the procedure `{}` calls itself", name.text))
                .with_label(span, circle)
                .with_help("procedures are inlined; write a loop instead"),
        )
    }

    /// `return(e);`
    pub(super) fn finish(&mut self, value: Option<&syntax::Expr<'a>>, span: Span) {
        let value = match value {
            None => return self.finish_with(None, span),
            Some(value) => self.expr(value),
        };
        if value.is_some() {
            self.finish_with(value, span);
        }
    }

    /// The end of a method that no `return` stands at. Reached or not, it does no harm.
    fn finish_without(&mut self, end: Span) {
        let Some(frame) = self.frames.last_mut() else { return };
        let dst = frame.dst.take();
        self.finish_with(None, end);
        if let Some(frame) = self.frames.last_mut() {
            frame.dst = dst;
        }
    }

    fn finish_with(&mut self, value: Option<Expr>, span: Span) {
        let Some(frame) = self.frames.last() else {
            self.sink.push(
                Diagnostic::error(codes::METHOD, "a `return` outside of any method")
                    .with_label(span, "threads of clients end where their text ends"),
            );
            return;
        };
        let (dst, mark) = (frame.dst, frame.mark);
        if frame.atomic != self.atomic {
            self.sink.push(
                Diagnostic::error(codes::ATOMIC_BLOCK, "a jump out of an `atomic` block")
                    .with_label(span, "control must pass the block's end"),
            );
        }
        if dst.is_some() && value.is_none() {
            let message = format!("`{}` has no result here", frame.name.text);
            self.sink.push(
                Diagnostic::error(codes::METHOD, message)
                    .with_label(span, "a client uses the result of this method")
                    .with_help("write `return(e);`"),
            );
        }
        if mark {
            self.emit(Instr::Mark(Mark::Return { value: value.clone() }), span);
        }
        if let Some((dst, value)) = dst.zip(value) {
            self.emit(Instr::Assign { dst, value }, span);
        }
        let end = self.emit(Instr::Skip, span);
        if let Some(frame) = self.frames.last_mut() {
            frame.ends.push(end);
        }
    }

    /// The registers of a method's parameters and locals.
    fn registers_of(&mut self, method: &syntax::Method<'a>) -> BTreeMap<&'a str, (Reg, Span)> {
        let mut locals: BTreeMap<&'a str, (Reg, Span)> = BTreeMap::new();
        for &name in method.parameters.iter().chain(&method.locals) {
            if let Some((_, first)) = locals.get(name.text) {
                self.sink.push(duplicate(name, "a parameter or local", *first));
                continue;
            }
            let index = self.top + locals.len();
            if index >= RegSet::CAPACITY {
                let message = format!("more than {} locals in a thread", RegSet::CAPACITY);
                let label = "this one is too many; those of the caller count";
                self.sink
                    .push(Diagnostic::error(codes::LIMIT, message).with_label(name.span, label));
                locals.insert(name.text, (Reg(0), name.span));
                continue;
            }
            if index == self.registers.len() {
                self.registers.push(name.text.to_string());
            }
            locals.insert(name.text, (Reg::from(index), name.span));
        }
        locals
    }

    /// A fence. Libraries have none but `fence(upd)`, an update of a location of their own.
    pub(super) fn fence(&mut self, mode: FenceMode, span: Span) -> Option<Instr> {
        let Some(loc) = self.scope.globals.fence else { return Some(Instr::Fence(mode)) };
        if mode == FenceMode::Upd {
            let update = Update::add(Expr::Const(0));
            let (read, write) = (ReadMode::Acq, WriteMode::Rel);
            let place = Place::location(loc);
            return Some(Instr::Rmw { dst: None, place, update, read, write });
        }
        self.sink.push(
            Diagnostic::error(codes::UNSUPPORTED, "the model of libraries has no fences")
                .with_label(span, "not part of the model")
                .with_help(
                    "`fence(upd)` is `FADD(f, 0, acq, rel)` on a location of the component's own",
                ),
        );
        None
    }
}
