//! C's atomic operations.

use super::Function;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::litmus::lexer::{Read, Token};
use crate::source::Span;
use ir::expr::Binary;
use ir::{Expr, FenceMode, Instr, Place, ReadMode, Reg, Update, UpdateOp, WriteMode};

/// A memory order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    fn named(name: &str) -> Option<Self> {
        match name.strip_prefix("memory_order_")? {
            "relaxed" => Some(Order::Relaxed),
            "acquire" => Some(Order::Acquire),
            "release" => Some(Order::Release),
            "acq_rel" => Some(Order::AcqRel),
            "seq_cst" => Some(Order::SeqCst),
            _ => None,
        }
    }

    /// How strongly an operation of this order reads, if it may have it.
    fn read(self) -> ReadMode {
        match self {
            Order::Relaxed | Order::Release => ReadMode::Rlx,
            Order::Acquire | Order::AcqRel => ReadMode::Acq,
            Order::SeqCst => ReadMode::Sc,
        }
    }

    fn write(self) -> WriteMode {
        match self {
            Order::Relaxed | Order::Acquire => WriteMode::Rlx,
            Order::Release | Order::AcqRel => WriteMode::Rel,
            Order::SeqCst => WriteMode::Sc,
        }
    }
}

/// What a compare-and-swap expects.
enum Expected {
    Local(Reg),
    Shared(Place),
}

impl<'a> Function<'_, 'a, '_> {
    /// A call; its value is 0 if it has none.
    pub(super) fn call(&mut self) -> Read<Expr> {
        let name = self.reader.advance();
        let (base, explicit) = match name.text.strip_suffix("_explicit") {
            Some(base) => (base, true),
            None => (name.text, false),
        };
        self.reader.expect("(")?;
        let update = match base {
            "atomic_exchange" => Some(UpdateOp::Set),
            "atomic_fetch_add" => Some(UpdateOp::Add),
            "atomic_fetch_sub" => Some(UpdateOp::Sub),
            "atomic_fetch_and" => Some(UpdateOp::And),
            "atomic_fetch_or" => Some(UpdateOp::Or),
            "atomic_fetch_xor" => Some(UpdateOp::Xor),
            _ => None,
        };
        if let Some(op) = update {
            let place = self.pointer()?;
            self.reader.expect(",")?;
            let operand = self.expression()?;
            let order = self.order(explicit, name)?;
            let span = self.close(name)?;
            let dst = self.threads.temporary(self.tid, span, self.reader)?;
            let update = Update::new(op, operand);
            let (read, write) = (order.read(), order.write());
            self.emit(Instr::Rmw { dst: Some(dst), place, update, read, write }, span);
            return Ok(Expr::Reg(dst));
        }
        match base {
            "atomic_load" => {
                let place = self.pointer()?;
                let order = self.order(explicit, name)?;
                self.allowed(order, &[Order::Relaxed, Order::Acquire, Order::SeqCst], "a load")?;
                let span = self.close(name)?;
                let dst = self.threads.temporary(self.tid, span, self.reader)?;
                self.emit(Instr::Load { dst, place, mode: order.read() }, span);
                Ok(Expr::Reg(dst))
            }
            "atomic_store" => {
                let place = self.pointer()?;
                self.reader.expect(",")?;
                let value = self.expression()?;
                let order = self.order(explicit, name)?;
                self.allowed(order, &[Order::Relaxed, Order::Release, Order::SeqCst], "a store")?;
                let span = self.close(name)?;
                self.emit(Instr::Store { place, value, mode: order.write() }, span);
                Ok(Expr::Const(0))
            }
            "atomic_thread_fence" if !explicit => {
                let order = self.named_order()?;
                let span = self.close(name)?;
                let instr = match order {
                    Order::Relaxed => Instr::Skip,
                    Order::Acquire => Instr::Fence(FenceMode::Acq),
                    Order::Release => Instr::Fence(FenceMode::Rel),
                    Order::AcqRel => Instr::Fence(FenceMode::AcqRel),
                    Order::SeqCst => Instr::Fence(FenceMode::Sc),
                };
                self.emit(instr, span);
                Ok(Expr::Const(0))
            }
            "atomic_compare_exchange_strong" => self.compare_exchange(name, explicit, false),
            "atomic_compare_exchange_weak" => self.compare_exchange(name, explicit, true),
            _ => self.unknown_call(name),
        }
    }

    fn unknown_call<T>(&mut self, name: Token<'a>) -> Read<T> {
        let text = name.text;
        let linux = ["READ_ONCE", "WRITE_ONCE", "smp_", "rcu_", "synchronize_", "spin_", "xchg"];
        let help = match text {
            _ if linux.iter().any(|start| text.starts_with(start)) => {
                "this is one of Linux's primitives; tests use C11's atomic operations"
            }
            _ if text.starts_with("__atomic") => "use C11's names, such as `atomic_load_explicit`",
            _ => {
                "known are atomic_load, atomic_store, atomic_exchange, atomic_fetch_…, \
                  atomic_compare_exchange_…, each with or without _explicit, and atomic_thread_fence"
            }
        };
        self.reader.unsupported(name.span, &format!("the function `{text}`"), help)
    }

    fn close(&mut self, name: Token<'a>) -> Read<Span> {
        let end = self.reader.expect(")")?;
        Ok(name.span.to(end))
    }

    /// `, memory_order_…` where there is one; an operation without is sequentially consistent.
    fn order(&mut self, explicit: bool, name: Token<'a>) -> Read<Order> {
        if explicit {
            self.reader.expect(",")?;
            return self.named_order();
        }
        if self.reader.at(",") {
            let help = format!("`{}_explicit` has a memory order", name.text);
            let error = Diagnostic::error(codes::SYNTAX, "too many arguments");
            return self.reader.fail(error.with_label(self.reader.span(), "here").with_help(help));
        }
        Ok(Order::SeqCst)
    }

    fn named_order(&mut self) -> Read<Order> {
        let name = self.reader.name("a memory order")?;
        if name.text == "memory_order_consume" {
            let help = "use `memory_order_acquire`, which is what compilers do";
            return self.reader.unsupported(name.span, "`memory_order_consume`", help);
        }
        match Order::named(name.text) {
            Some(order) => Ok(order),
            None => {
                let message = format!("`{}` is no memory order", name.text);
                let error = Diagnostic::error(codes::MODE, message);
                let label = "expected `memory_order_relaxed`, `…_acquire`, `…_release`, `…_acq_rel` or \
                             `…_seq_cst`";
                self.reader.fail(error.with_label(name.span, label))
            }
        }
    }

    fn allowed(&mut self, order: Order, orders: &[Order], what: &str) -> Read<()> {
        if orders.contains(&order) {
            return Ok(());
        }
        let error = Diagnostic::error(codes::MODE, format!("{what} cannot have this memory order"));
        self.reader.fail(error.with_label(self.reader.last_span(), "not allowed here"))
    }

    /// `atomic_compare_exchange_…(x, expected, desired)`: what it expects is read from where `expected`
    /// points to, which gets the value found there if that is another. A weak one may fail although the
    /// values are equal; it is then a load.
    fn compare_exchange(&mut self, name: Token<'a>, explicit: bool, weak: bool) -> Read<Expr> {
        let place = self.pointer()?;
        self.reader.expect(",")?;
        let at = self.reader.span();
        let expected = match self.reader.at("&") && self.reader.ahead(2).text != "[" {
            true => {
                self.reader.advance();
                let local = self.reader.name("a local")?;
                Expected::Local(self.local(local)?)
            }
            false => Expected::Shared(self.pointer()?),
        };
        let expected_span = at.to(self.reader.last_span());
        self.reader.expect(",")?;
        let desired = self.expression()?;
        let success = self.order(explicit, name)?;
        let failure = match explicit {
            true => {
                self.reader.expect(",")?;
                let failure = self.named_order()?;
                let orders = [Order::Relaxed, Order::Acquire, Order::SeqCst];
                self.allowed(failure, &orders, "a failing compare-and-swap")?;
                failure
            }
            false => success,
        };
        let span = self.close(name)?;
        let compared = self.threads.temporary(self.tid, span, self.reader)?;
        let found = self.threads.temporary(self.tid, span, self.reader)?;
        let ok = self.threads.temporary(self.tid, span, self.reader)?;
        match &expected {
            Expected::Local(local) => {
                let value = Expr::Reg(*local);
                self.emit(Instr::Assign { dst: compared, value }, expected_span)
            }
            Expected::Shared(place) => {
                let (place, mode) = (place.clone(), ReadMode::Na);
                self.emit(Instr::Load { dst: compared, place, mode }, expected_span)
            }
        };
        let choice = weak.then(|| self.threads.jump(self.tid, Expr::Const(1), vec![], span));
        let strong = self.here();
        let cas = Instr::Cas {
            dst: Some(found),
            place: place.clone(),
            expected: Expr::Reg(compared),
            desired,
            read: success.read(),
            write: success.write(),
            fail: failure.read(),
        };
        self.emit(cas, span);
        let equal = Expr::binary(Binary::Eq, Expr::Reg(found), Expr::Reg(compared));
        let value = equal.unwrap_or(Expr::Const(0)); // two registers need two cells
        let mut last = self.emit(Instr::Assign { dst: ok, value }, span);
        if let Some(choice) = choice {
            let spurious = self.here();
            self.emit(Instr::Load { dst: found, place, mode: failure.read() }, span);
            let end = self.emit(Instr::Assign { dst: ok, value: Expr::Const(0) }, span);
            let join = self.here();
            self.threads.lead(self.tid, last, join);
            self.threads.set_targets(self.tid, choice, vec![strong, spurious]);
            self.threads.lead(self.tid, choice, strong);
            last = end;
        }
        debug_assert_eq!(last + 1, self.here().index());
        let next = self.here().0 + 2;
        self.threads.jump(self.tid, Expr::Reg(ok), vec![ir::Pc(next)], span);
        let value = Expr::Reg(found);
        match expected {
            Expected::Local(dst) => self.emit(Instr::Assign { dst, value }, expected_span),
            Expected::Shared(place) => {
                self.emit(Instr::Store { place, value, mode: WriteMode::Na }, expected_span)
            }
        };
        Ok(Expr::Reg(ok))
    }
}
