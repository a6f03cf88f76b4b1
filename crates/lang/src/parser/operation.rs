//! Operations on shared memory: accesses, read-modify-writes, fences, and their modes.

use super::{Parse, Parser, one_of};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use crate::source::Span;
use crate::suggest;
use crate::syntax::{Cas, Expr, Modes, Name, Place, Rmw, StatementKind};
use ir::{FenceMode, ReadMode, UpdateOp, WriteMode};

const READ: [(&str, ReadMode); 5] = [
    ("rlx", ReadMode::Rlx),
    ("acq", ReadMode::Acq),
    ("sc", ReadMode::Sc),
    ("seq_cst", ReadMode::Sc),
    ("pacq", ReadMode::Pacq),
];
const WRITE: [(&str, WriteMode); 5] = [
    ("rlx", WriteMode::Rlx),
    ("rel", WriteMode::Rel),
    ("sc", WriteMode::Sc),
    ("seq_cst", WriteMode::Sc),
    ("prel", WriteMode::Prel),
];
const FENCE: [(&str, FenceMode); 6] = [
    ("acq", FenceMode::Acq),
    ("rel", FenceMode::Rel),
    ("acq_rel", FenceMode::AcqRel),
    ("seq_cst", FenceMode::Sc),
    ("sc", FenceMode::Sc),
    ("upd", FenceMode::Upd),
];

fn lookup<M: Copy>(table: &[(&str, M)], word: &str) -> Option<M> {
    table.iter().find(|(name, _)| *name == word).map(|(_, mode)| *mode)
}

/// The read-modify-write of this name.
pub(super) fn update(name: &str) -> Option<UpdateOp> {
    let named = UpdateOp::ALL.into_iter().find(|op| op.keyword() == name);
    named.or((name == "FADD").then_some(UpdateOp::Add))
}

impl<'a> Parser<'a, '_> {
    /// `(e)`
    pub(super) fn argument(&mut self) -> Parse<Expr<'a>> {
        self.expect(Kind::OpenParen)?;
        let value = self.expression()?;
        self.expect(Kind::CloseParen)?;
        Ok(value)
    }

    pub(super) fn place(&mut self) -> Parse<Place<'a>> {
        self.indexed_name("a location")
    }

    /// `x` or `a[e]`
    pub(super) fn indexed_name(&mut self, what: &str) -> Parse<Place<'a>> {
        let name = self.name(what)?;
        let mut index = None;
        if self.eat(Kind::OpenBracket) {
            index = Some(self.expression()?);
            self.expect(Kind::CloseBracket)?;
        }
        Ok(Place { name, index, span: name.span.to(self.last_span()) })
    }

    /// `(x)`
    pub(super) fn only_place(&mut self) -> Parse<Place<'a>> {
        self.expect(Kind::OpenParen)?;
        let place = self.place()?;
        self.expect(Kind::CloseParen)?;
        Ok(place)
    }

    /// `r = …`
    pub(super) fn assignment(&mut self) -> Parse<StatementKind<'a>> {
        let dst = self.name("a local")?;
        self.expect(Kind::Assign)?;
        if self.kind() != Kind::Name {
            return Ok(StatementKind::Assign(dst, self.expression()?));
        }
        let word = self.word();
        match (self.kind_at(1), word) {
            (Kind::Dot | Kind::OpenBracket, _) => self.load(dst),
            (Kind::OpenParen, word) if word == "CAS" || update(word).is_some() => {
                self.advance();
                Ok(StatementKind::Rmw(Some(dst), self.rmw(word)?))
            }
            (Kind::OpenParen, "weak_CAS") => {
                self.advance();
                self.weak_cas(Some(dst), None)
            }
            (Kind::OpenParen, "wait") => {
                self.advance();
                self.wait(Some(dst))
            }
            (Kind::OpenParen, "BCAS") => {
                let span = self.span();
                self.fail(
                    Diagnostic::error(codes::SYNTAX, "`BCAS` has no result")
                        .with_label(span, "its result would always be the expected value")
                        .with_help("`CAS` returns the value read and does not block"),
                )
            }
            (Kind::OpenParen, "oneof") => {
                self.advance();
                self.expect(Kind::OpenParen)?;
                let mut values = vec![self.expression()?];
                while self.eat(Kind::Comma) {
                    values.push(self.expression()?);
                }
                self.close_arguments(&["`,`"])?;
                Ok(StatementKind::Choose(dst, values))
            }
            (Kind::OpenParen, _) if self.calls || self.procedures.contains(&word) => {
                self.call(Some(dst))
            }
            (Kind::OpenParen, _) => {
                let updates = UpdateOp::ALL.map(UpdateOp::keyword);
                let names = ["FADD", "CAS", "weak_CAS", "wait", "oneof"].into_iter().chain(updates);
                let names = names.chain(self.procedures.iter().copied());
                let error = Diagnostic::error(
                    codes::UNKNOWN_NAME,
                    format!("there is no operation `{word}`"),
                )
                .with_label(self.span(), "not an operation");
                let near = suggest::nearest(word, names);
                self.fail(match near {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help("operations are `FADD`, `CAS`, `exchange`, `wait`"),
                })
            }
            _ => Ok(StatementKind::Assign(dst, self.expression()?)),
        }
    }

    /// `ok, r = weak_CAS(…)`
    pub(super) fn two_results(&mut self) -> Parse<StatementKind<'a>> {
        let ok = self.name("a local")?;
        self.expect(Kind::Comma)?;
        let value = self.name("a local")?;
        self.expect(Kind::Assign)?;
        if !self.eat_keyword("weak_CAS") {
            let help = "`ok, r = weak_CAS(x, e, n);` says whether it succeeded, and what it read";
            return self.unexpected_with(&["`weak_CAS`"], Some(help.to_string()));
        }
        self.weak_cas(Some(ok), Some(value))
    }

    /// `weak_CAS(…)` after its name.
    pub(super) fn weak_cas(
        &mut self,
        ok: Option<Name<'a>>,
        value: Option<Name<'a>>,
    ) -> Parse<StatementKind<'a>> {
        let cas = self.cas(FailMode::Allowed)?;
        Ok(StatementKind::WeakCas(ok, value, cas))
    }

    fn load(&mut self, dst: Name<'a>) -> Parse<StatementKind<'a>> {
        let place = self.place()?;
        let method = self.method(&["`.load`", "`.naload`"])?;
        match method.text {
            "load" => {
                self.expect(Kind::OpenParen)?;
                let mut mode = ReadMode::Rlx;
                if self.kind() != Kind::CloseParen {
                    mode = self.read_mode()?;
                }
                self.expect(Kind::CloseParen)?;
                Ok(StatementKind::Load(dst, place, mode))
            }
            "naload" => {
                self.expect(Kind::OpenParen)?;
                self.expect(Kind::CloseParen)?;
                Ok(StatementKind::Load(dst, place, ReadMode::Na))
            }
            "store" | "nastore" => self.fail(
                Diagnostic::error(codes::SYNTAX, "a store has no result")
                    .with_label(method.span, "expected `load` or `naload`")
                    .with_help("`exchange` stores and returns the value before"),
            ),
            _ => self.unknown_method(method, &["load", "naload"]),
        }
    }

    /// `x.store(…)` or `x.nastore(…)`
    pub(super) fn store(&mut self) -> Parse<StatementKind<'a>> {
        let place = self.place()?;
        if self.kind() == Kind::Assign {
            let help = format!("write `{}.store(…);`", self.slice(place.span));
            return self.unexpected_with(&["`.store`", "`.nastore`"], Some(help));
        }
        let method = self.method(&["`.store`", "`.nastore`"])?;
        match method.text {
            "store" => {
                self.expect(Kind::OpenParen)?;
                let value = self.expression()?;
                let mut mode = WriteMode::Rlx;
                if self.eat(Kind::Comma) {
                    mode = self.write_mode()?;
                    self.expect(Kind::CloseParen)?;
                } else {
                    self.close_arguments(&["`,`"])?;
                }
                Ok(StatementKind::Store(place, value, mode))
            }
            "nastore" => {
                let value = self.argument()?;
                Ok(StatementKind::Store(place, value, WriteMode::Na))
            }
            "load" | "naload" => {
                let statement = format!("r = {}.{}();", self.slice(place.span), method.text);
                self.fail(
                    Diagnostic::error(codes::SYNTAX, "the result of a load must go somewhere")
                        .with_label(place.span.to(method.span), "a load on its own does nothing")
                        .with_help(format!("write `{statement}`")),
                )
            }
            _ => self.unknown_method(method, &["store", "nastore"]),
        }
    }

    fn method(&mut self, expected: &[&str]) -> Parse<Name<'a>> {
        if !self.eat(Kind::Dot) {
            return self.unexpected(expected);
        }
        self.name(&one_of(expected).replace("`.", "`"))
    }

    fn unknown_method<T>(&mut self, method: Name<'a>, known: &[&str]) -> Parse<T> {
        let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
        let all = ["load", "naload", "store", "nastore"];
        let mut error =
            Diagnostic::error(codes::SYNTAX, format!("there is no access `{}`", method.text))
                .with_label(method.span, format!("expected {}", one_of(&quoted)));
        if let Some(near) = suggest::nearest(method.text, all) {
            error = error.with_help(format!("did you mean `{near}`?"));
        }
        self.fail(error)
    }

    /// `FADD(…)`, `CAS(…)`, `exchange(…)`, `fetch_or(…)`, … after its name.
    pub(super) fn rmw(&mut self, name: &str) -> Parse<Rmw<'a>> {
        if name == "CAS" {
            return Ok(Rmw::Cas(self.cas(FailMode::Allowed)?));
        }
        self.expect(Kind::OpenParen)?;
        let place = self.place()?;
        self.expect(Kind::Comma)?;
        let first = self.expression()?;
        let modes = self.modes(FailMode::Refused)?;
        Ok(Rmw::Update(update(name).unwrap_or(UpdateOp::Add), place, first, modes))
    }

    pub(super) fn blocking_cas(&mut self) -> Parse<StatementKind<'a>> {
        Ok(StatementKind::BlockingCas(self.cas(FailMode::Refused)?))
    }

    /// `(x, e, n, …)`
    fn cas(&mut self, fail_mode: FailMode) -> Parse<Cas<'a>> {
        self.expect(Kind::OpenParen)?;
        let place = self.place()?;
        self.expect(Kind::Comma)?;
        let expected = self.expression()?;
        self.expect(Kind::Comma)?;
        let desired = self.expression()?;
        let modes = self.modes(fail_mode)?;
        Ok(Cas { place, expected, desired, modes })
    }

    /// The modes of a read-modify-write and the closing parenthesis.
    fn modes(&mut self, fail_mode: FailMode) -> Parse<Modes> {
        let mut modes = Modes { read: ReadMode::Rlx, write: WriteMode::Rlx, fail: ReadMode::Rlx };
        if !self.eat(Kind::Comma) {
            self.close_arguments(&["`,`"])?;
            return Ok(modes);
        }
        modes.read = self.read_mode()?;
        modes.fail = modes.read;
        if self.kind() != Kind::Comma {
            let help = "a read-modify-write has two modes, how it reads and how it writes: \
                        `acq, rel`";
            return self.unexpected_with(&["`,`"], Some(help.to_string()));
        }
        self.advance();
        modes.write = self.write_mode()?;
        match fail_mode {
            FailMode::Allowed if self.eat(Kind::Comma) => {
                modes.fail = self.read_mode()?;
                self.close_arguments(&[])?;
            }
            FailMode::Allowed => self.close_arguments(&["`,`"])?,
            FailMode::Refused if self.kind() == Kind::Comma => {
                let help = "only `CAS` has a third mode, for when it fails".to_string();
                return self.unexpected_with(&["`)`"], Some(help));
            }
            FailMode::Refused => self.close_arguments(&[])?,
        }
        Ok(modes)
    }

    /// `wait(x, a, b, mode)` after its name.
    pub(super) fn wait(&mut self, dst: Option<Name<'a>>) -> Parse<StatementKind<'a>> {
        self.expect(Kind::OpenParen)?;
        let place = self.place()?;
        let mut values = Vec::new();
        let mut mode = ReadMode::Rlx;
        if self.kind() == Kind::CloseParen {
            let help = "`wait(x, 1)` waits until `x` is 1".to_string();
            return self.unexpected_with(&["`,` and a value to wait for"], Some(help));
        }
        while self.eat(Kind::Comma) {
            let last = self.kind() == Kind::Name && self.kind_at(1) == Kind::CloseParen;
            if last && !values.is_empty() && self.is_mode() {
                mode = self.read_mode()?;
                break;
            }
            values.push(self.expression()?);
        }
        self.close_arguments(&["`,`"])?;
        Ok(StatementKind::Wait(dst, place, values, mode))
    }

    /// Is the current word a mode of any kind?
    fn is_mode(&self) -> bool {
        lookup(&READ, self.word()).is_some() || lookup(&WRITE, self.word()).is_some()
    }

    /// What follows `fence`.
    pub(super) fn fence(&mut self) -> Parse<StatementKind<'a>> {
        if !self.eat(Kind::OpenParen) {
            if self.kind() != Kind::Semicolon {
                return self.unexpected(&["`(`", "`;`"]);
            }
            return Ok(StatementKind::Fence(FenceMode::Sc));
        }
        if self.kind() != Kind::Name {
            return self.unexpected(&["a fence mode", "a location"]);
        }
        if self.kind_at(1) == Kind::CloseParen
            && let Some(mode) = lookup(&FENCE, self.word())
        {
            self.advance();
            self.advance();
            return Ok(StatementKind::Fence(mode));
        }
        let mut places = vec![self.place()?];
        while self.eat(Kind::Comma) {
            places.push(self.place()?);
        }
        self.close_arguments(&["`,`"])?;
        Ok(StatementKind::LightFence(places))
    }

    /// `)`, or an error that says what else could stand here.
    fn close_arguments(&mut self, or: &[&str]) -> Parse<()> {
        if self.eat(Kind::CloseParen) {
            return Ok(());
        }
        let mut expected = or.to_vec();
        expected.push("`)`");
        self.unexpected(&expected)
    }

    fn read_mode(&mut self) -> Parse<ReadMode> {
        self.mode(&READ, "a read", "`rlx`, `acq` or `sc`")
    }

    fn write_mode(&mut self) -> Parse<WriteMode> {
        self.mode(&WRITE, "a write", "`rlx`, `rel` or `sc`")
    }

    fn mode<M: Copy>(&mut self, table: &[(&str, M)], what: &str, which: &str) -> Parse<M> {
        if self.kind() != Kind::Name {
            return self.unexpected(&[&format!("the mode of {what}")]);
        }
        let word = self.word();
        let span = self.span();
        if let Some(mode) = lookup(table, word) {
            self.advance();
            if self.specifies && matches!(word, "sc" | "seq_cst") {
                self.sink.push(sc_in_specification(word, span));
            }
            return Ok(mode);
        }
        let label = format!("expected {which}");
        let error =
            Diagnostic::error(codes::MODE, format!("`{}` is not a mode of {what}", short(word)))
                .with_label(span, label);
        let near = match word {
            "relaxed" | "memory_order_relaxed" => Some("rlx"),
            "acquire" | "memory_order_acquire" => Some("acq"),
            "release" | "memory_order_release" => Some("rel"),
            _ => suggest::nearest(word, table.iter().map(|(name, _)| *name)),
        };
        let near = near.filter(|near| lookup(table, near).is_some());
        self.fail(match near {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        })
    }
}

/// The model of libraries has no order of all `sc` accesses: it reads `sc` as `acq` and `rel`. That lets a
/// library do more than it can, which is safe. A specification that can do more than its author
/// means would let libraries pass that do not do what it says.
fn sc_in_specification(word: &str, span: Span) -> Diagnostic {
    let message = format!("a specification cannot promise `{word}`");
    Diagnostic::error(codes::UNSUPPORTED, message)
        .with_label(span, "the model of libraries has no order of all `sc` accesses")
        .with_help(
            "say what clients may rely on with `acq`, `rel`, `acquire(l)`, `release(l)` or \
             `fence(upd)`; a library may use `sc`, which is taken for `acq` and `rel`",
        )
}

/// May a third mode follow, that of a failing CAS?
#[derive(Clone, Copy)]
enum FailMode {
    Allowed,
    Refused,
}

fn short(word: &str) -> &str {
    &word[..word.len().min(40)]
}
