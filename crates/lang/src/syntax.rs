//! The syntax tree of a text, before names are resolved.
//!
//! Blocks nest as deep as the parser allows ([`crate::parser::MAX_NESTING`]). Expressions are kept
//! in postfix order, flat, so that none is too deep or too long to walk.

use crate::source::Span;
use ir::expr::{Binary, Unary};
use ir::{FenceMode, LocationKind, Quantifier, ReadMode, UpdateOp, WriteMode};

/// Numbers of the text, and what is computed of them before the program's arithmetic is known.
pub(crate) type Exact = i128;

/// A whole text.
#[derive(Debug, Default)]
pub(crate) struct Unit<'a> {
    pub(crate) values: Vec<Values<'a>>,
    pub(crate) constants: Vec<Constant<'a>>,
    pub(crate) locations: Vec<Declaration<'a>>,
    pub(crate) tracks: Vec<Hint<'a>>,
    pub(crate) procedures: Vec<Method<'a>>,
    pub(crate) threads: Vec<Thread<'a>>,
    pub(crate) conditions: Vec<Condition<'a>>,
}

/// `exists (left.r == 0 && x == 1);`
#[derive(Debug)]
pub(crate) struct Condition<'a> {
    pub(crate) quantifier: Quantifier,
    pub(crate) formula: Expr<'a>,
    /// All but the semicolon.
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: Span,
}

/// `max_value 7;` or `values -8..=7;`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) min: Exact,
    pub(crate) max: Exact,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Constant<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) value: Expr<'a>,
}

/// `x`, `x = 1`, `a[4] = 1` or `a[2] = {1, 2}`
#[derive(Debug)]
pub(crate) struct Declaration<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) kind: LocationKind,
    pub(crate) length: Option<Expr<'a>>,
    pub(crate) initial: Initial<'a>,
}

#[derive(Debug)]
pub(crate) enum Initial<'a> {
    Zero,
    /// One value for the location, or for all elements.
    All(Expr<'a>),
    /// One value for each element.
    Each(Vec<Expr<'a>>, Span),
}

/// `track x: all;` or `track x: 0, 1;`
#[derive(Debug)]
pub(crate) struct Hint<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) values: Option<Vec<(Exact, Span)>>,
}

#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) count: Option<Expr<'a>>,
    pub(crate) locals: Vec<Name<'a>>,
    pub(crate) body: Block<'a>,
}

#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) statements: Vec<Statement<'a>>,
    /// The closing brace.
    pub(crate) end: Span,
}

#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) labels: Vec<Name<'a>>,
    /// What stands for it in reports: all of a simple statement but its semicolon, the head of one
    /// with blocks.
    pub(crate) span: Span,
    pub(crate) kind: StatementKind<'a>,
}

#[derive(Debug)]
pub(crate) enum StatementKind<'a> {
    Skip,
    Goto(Name<'a>),
    IfGoto(Expr<'a>, Name<'a>),
    /// `if … else if … else …`: at least one arm.
    If(Vec<Arm<'a>>, Option<Block<'a>>),
    While(Expr<'a>, Block<'a>),
    /// `do { … } while (…);`
    DoWhile(Block<'a>, Expr<'a>),
    For(Box<For<'a>>),
    Break,
    Continue,
    OneOf(Vec<Block<'a>>),
    Assert(Expr<'a>),
    Assume(Expr<'a>),
    Verify(Expr<'a>),
    Assign(Name<'a>, Expr<'a>),
    Choose(Name<'a>, Vec<Expr<'a>>),
    Load(Name<'a>, Place<'a>, ReadMode),
    Store(Place<'a>, Expr<'a>, WriteMode),
    Rmw(Option<Name<'a>>, Rmw<'a>),
    /// `ok = weak_CAS(…);` or `ok, r = weak_CAS(…);`
    WeakCas(Option<Name<'a>>, Option<Name<'a>>, Cas<'a>),
    BlockingCas(Cas<'a>),
    Wait(Option<Name<'a>>, Place<'a>, Vec<Expr<'a>>, ReadMode),
    Fence(FenceMode),
    LightFence(Vec<Place<'a>>),
    Lock(Place<'a>),
    Unlock(Place<'a>),
    Atomic(Block<'a>),
    AtomicBegin,
    AtomicEnd,
    BusLock,
    BusUnlock,
    /// `spawn t;` or `spawn t[1];`
    Spawn(Place<'a>),
    Join(Place<'a>),
    /// A call of a library method or a procedure.
    Call(Option<Name<'a>>, Name<'a>, Vec<Expr<'a>>),
    /// `return;`, `return();`, `return(e);` or, in a procedure, `return e;`
    Return(Option<Expr<'a>>),
    /// `pacquire(l)`, a lock that synchronises its own space only.
    PartialLock(Place<'a>),
    /// `prelease(l)`
    PartialUnlock(Place<'a>),
}

/// Libraries, specifications and clients, for `refine`.
#[derive(Debug, Default)]
pub(crate) struct Project<'a> {
    /// What all of them see: constants and the values.
    pub(crate) shared: Unit<'a>,
    pub(crate) components: Vec<Component<'a>>,
    pub(crate) clients: Vec<Client<'a>>,
}

/// Is it an implementation or a specification?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ComponentKind {
    Library,
    Spec,
}

#[derive(Debug)]
pub(crate) struct Component<'a> {
    pub(crate) kind: ComponentKind,
    pub(crate) name: Name<'a>,
    /// The specification's name, where it is not the library's own.
    pub(crate) implements: Option<Name<'a>>,
    pub(crate) variables: Vec<Variables<'a>>,
    pub(crate) methods: Vec<Method<'a>>,
}

/// Variables and the space they are declared in; `None` for the component's own.
#[derive(Debug)]
pub(crate) struct Variables<'a> {
    pub(crate) space: Option<Name<'a>>,
    pub(crate) locations: Vec<Declaration<'a>>,
}

/// A method of a library, or a procedure.
#[derive(Debug)]
pub(crate) struct Method<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) parameters: Vec<Name<'a>>,
    pub(crate) locals: Vec<Name<'a>>,
    pub(crate) body: Block<'a>,
}

#[derive(Debug)]
pub(crate) struct Client<'a> {
    pub(crate) span: Span,
    pub(crate) variables: Vec<Variables<'a>>,
    /// Its threads.
    pub(crate) unit: Unit<'a>,
    pub(crate) policies: Vec<Policy<'a>>,
}

/// `policy free(2);`
#[derive(Debug)]
pub(crate) struct Policy<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) count: Option<Expr<'a>>,
    /// The methods after `write`.
    pub(crate) writers: Vec<Name<'a>>,
}

/// `for (init; condition; step) { … }`
#[derive(Debug)]
pub(crate) struct For<'a> {
    pub(crate) init: Option<Statement<'a>>,
    pub(crate) condition: Option<Expr<'a>>,
    pub(crate) step: Option<Statement<'a>>,
    pub(crate) body: Block<'a>,
}

impl<'a> Block<'a> {
    /// Shows `f` every statement, those inside of others too.
    pub(crate) fn for_each(&self, f: &mut impl FnMut(&Statement<'a>)) {
        for statement in &self.statements {
            f(statement);
            match &statement.kind {
                StatementKind::If(arms, otherwise) => {
                    let blocks = arms.iter().map(|arm| &arm.block).chain(otherwise);
                    blocks.for_each(|block| block.for_each(f));
                }
                StatementKind::OneOf(blocks) => blocks.iter().for_each(|block| block.for_each(f)),
                StatementKind::While(_, block)
                | StatementKind::DoWhile(block, _)
                | StatementKind::Atomic(block) => block.for_each(f),
                StatementKind::For(all) => all.body.for_each(f),
                _ => {}
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Arm<'a> {
    /// `if (…)`
    pub(crate) head: Span,
    pub(crate) condition: Expr<'a>,
    pub(crate) block: Block<'a>,
}

#[derive(Debug)]
pub(crate) enum Rmw<'a> {
    Update(UpdateOp, Place<'a>, Expr<'a>, Modes),
    Cas(Cas<'a>),
}

#[derive(Debug)]
pub(crate) struct Cas<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) expected: Expr<'a>,
    pub(crate) desired: Expr<'a>,
    pub(crate) modes: Modes,
}

/// The modes of a read-modify-write; `fail` is that of a failing CAS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) read: ReadMode,
    pub(crate) write: WriteMode,
    pub(crate) fail: ReadMode,
}

/// `x` or `a[e]`
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) index: Option<Expr<'a>>,
    pub(crate) span: Span,
}

/// An expression in postfix order.
#[derive(Debug)]
pub(crate) struct Expr<'a> {
    pub(crate) terms: Vec<Term<'a>>,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Term<'a> {
    pub(crate) kind: TermKind<'a>,
    /// For an operator, the whole subexpression.
    pub(crate) span: Span,
}

impl Term<'_> {
    pub(crate) fn is_minus(&self) -> bool {
        matches!(self.kind, TermKind::Unary(Unary::Neg))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum TermKind<'a> {
    Number(Exact),
    Name(&'a str),
    /// Only in conditions.
    Final(Final<'a>),
    Unary(Unary),
    Binary(Binary),
}

/// What a final condition is about: `a[2]`, `t.r`, `t[1].r` or `0:r`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Final<'a> {
    Element { array: Name<'a>, index: Exact },
    Local { thread: Name<'a>, replica: Option<Exact>, local: Name<'a> },
    OfNumber { thread: Exact, local: Name<'a> },
}
