//! Calls: methods are inlined where they are called, with a mark at their start and end.
//!
//! A thread is in at most one method at a time, so all methods share the registers behind the
//! thread's own locals.

use super::declare::Globals;
use super::thread::{Lowering, Scope};
use super::{duplicate, unknown};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::{self, Name};
use ir::{Expr, FenceMode, Instr, Mark, Place, ReadMode, Reg, RegSet, Update, WriteMode};
use std::collections::BTreeMap;

/// The methods that a client can call, by name.
#[derive(Default)]
pub(super) struct Methods<'a, 'g> {
    pub(super) by_name: BTreeMap<&'a str, Method<'a, 'g>>,
}

/// A method and what its body sees.
#[derive(Clone, Copy)]
pub(super) struct Method<'a, 'g> {
    pub(super) syntax: &'g syntax::Method<'a>,
    pub(super) globals: &'g Globals<'a>,
    /// Its number, if histories show its calls.
    pub(super) mark: Option<u32>,
}

/// A method being inlined.
pub(super) struct Frame<'a> {
    name: Name<'a>,
    dst: Option<Reg>,
    mark: bool,
    /// The steps that end it.
    ends: Vec<usize>,
}

impl<'a> Lowering<'a, '_, '_> {
    pub(super) fn call(
        &mut self,
        dst: Option<Name<'a>>,
        name: Name<'a>,
        arguments: &[syntax::Expr<'a>],
        span: Span,
    ) {
        if let Some(frame) = &self.frame {
            let message = if frame.name.text == name.text {
                format!("the method `{}` calls itself", name.text)
            } else {
                format!("the method `{}` calls `{}`", frame.name.text, name.text)
            };
            self.sink.push(
                Diagnostic::error(codes::METHOD, message)
                    .with_label(span, "a method calls no methods: histories have no nested calls")
                    .with_help("write out what the other method does"),
            );
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
                Diagnostic::error(codes::METHOD, message)
                    .with_label(span, "this call")
                    .with_label(method.syntax.name.span, "the method"),
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
            let dst = Reg::from(self.locals + k);
            self.emit(Instr::Assign { dst, value }, span);
        }
        for k in parameters.len()..locals.len() {
            let dst = Reg::from(self.locals + k);
            self.emit(Instr::Assign { dst, value: Expr::Const(0) }, span);
        }
        let scope = Scope { globals: method.globals, locals, replica: None };
        let around = std::mem::replace(&mut self.scope, scope);
        let labels = std::mem::take(&mut self.labels);
        let gotos = std::mem::take(&mut self.gotos);
        let mark = method.mark.is_some();
        self.frame = Some(Frame { name: method.syntax.name, dst, mark, ends: Vec::new() });
        self.block(&method.syntax.body);
        self.finish_without(method.syntax.body.end);
        self.resolve_gotos();
        self.scope = around;
        self.labels = labels;
        self.gotos = gotos;
        let ends = self.frame.take().map(|frame| frame.ends).unwrap_or_default();
        self.join(ends);
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
        let Some(frame) = &mut self.frame else { return };
        let dst = frame.dst.take();
        self.finish_with(None, end);
        if let Some(frame) = &mut self.frame {
            frame.dst = dst;
        }
    }

    fn finish_with(&mut self, value: Option<Expr>, span: Span) {
        let Some(frame) = &self.frame else {
            self.sink.push(
                Diagnostic::error(codes::METHOD, "a `return` outside of any method")
                    .with_label(span, "threads of clients end where their text ends"),
            );
            return;
        };
        let (dst, mark) = (frame.dst, frame.mark);
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
        if let Some(frame) = &mut self.frame {
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
            let index = self.locals + locals.len();
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
            let update = Update::Add(Expr::Const(0));
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
