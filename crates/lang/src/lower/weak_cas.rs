//! The weak CAS: it may fail although the location holds the expected value.
//!
//! `ok, r = weak_CAS(x, e, n, acq, rel, rlx);` is the choice between a strong CAS and a load in the
//! mode of a failing CAS, after which `ok` is 0:
//!
//! ```text
//! oneof ({ r = CAS(x, e, n, acq, rel, rlx); ok = r == e; }
//!        { r = x.load(rlx); ok = 0; });
//! ```
//!
//! That is exact: C11 (7.17.7.4) says that a weak CAS "may fail spuriously, that is, act as if the
//! comparison failed", and a CAS whose comparison fails is a load. If `e` mentions the local that
//! gets the value read, its value is kept in a register of its own.

use super::thread::Lowering;
use crate::source::Span;
use crate::syntax::{Cas, Modes, Name};
use ir::expr::Binary;
use ir::{Expr, Instr};

impl<'a> Lowering<'a, '_, '_> {
    /// `None` if something is wrong, which is reported.
    pub(super) fn weak_cas(
        &mut self,
        ok: Option<Name<'a>>,
        value: Option<Name<'a>>,
        cas: &Cas<'a>,
        span: Span,
    ) -> Option<()> {
        let (ok, value) = (self.optional_local(ok), self.optional_local(value));
        let (place, expected, desired) = self.cas(cas)?;
        let (ok, value) = (ok?, value?);
        let Modes { read, write, fail } = cas.modes;
        let dst = match value.or(ok) {
            Some(dst) => dst,
            None => self.temporary("read", span)?,
        };
        let mut compared = expected.clone();
        if ok.is_some() && expected.registers().contains(dst) {
            let kept = self.temporary("expected", span)?;
            self.emit(Instr::Assign { dst: kept, value: expected.clone() }, span);
            compared = Expr::Reg(kept);
        }
        let choice = self.choice(span);
        self.add_target(choice, self.here());
        let strong = Instr::Cas {
            dst: Some(dst),
            place: place.clone(),
            expected,
            desired,
            read,
            write,
            fail,
        };
        let mut end = self.emit(strong, span);
        if let Some(ok) = ok {
            let equal = Expr::binary(Binary::Eq, compared, Expr::Reg(dst));
            let value = equal.or_else(|| self.too_deep(cas.expected.span))?;
            end = self.emit(Instr::Assign { dst: ok, value }, span);
        }
        self.add_target(choice, self.here());
        self.emit(Instr::Load { dst, place, mode: fail }, span);
        if let Some(ok) = ok {
            self.emit(Instr::Assign { dst: ok, value: Expr::Const(0) }, span);
        }
        self.join(vec![end]);
        Some(())
    }
}
