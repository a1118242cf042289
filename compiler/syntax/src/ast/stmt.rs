//! Statements of the syntax tree.

use super::{Arg, BinaryOp, Expr, Ident, Name, Star};
use hammock_diagnostics::Span;

/// A statement with its span and block.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Kind of the statement.
    pub kind: StmtKind,
    /// The text it covers, without the line break.
    pub span: Span,
    /// Height of the tree of statements: 1 for one without a block.
    pub(super) depth: u16,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `f(x)`
    Expr(Expr),
    /// `a = b = value`
    Assign(Box<Assign>),
    /// `target: annotation = value`
    AnnAssign(Box<AnnAssign>),
    /// `target += value`
    AugAssign(Box<AugAssign>),
    /// `with …:`
    With(Box<With>),
    /// `for … in …:`
    For(Box<For>),
    /// `while …:`
    While(Box<While>),
    /// `if …:`
    If(Box<If>),
    /// `return value`
    Return(Option<Expr>),
    /// `assert cond, msg`
    Assert(Box<Assert>),
    /// `pass`
    Pass,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `import a.b as c`
    Import(Vec<Import>),
    /// `from a.b import c as d`
    FromImport(Box<FromImport>),
    /// `def …:`
    FunctionDef(Box<FunctionDef>),
    /// `class …:`
    ClassDef(Box<ClassDef>),
}

/// `a = b = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// `a`, `b`; never empty. Each is a name, attribute, subscript, or a tuple, list or starred of them;
    /// or an integer in `100 = TypeVar("100")`, which TVM prints and which has no effect.
    pub targets: Vec<Expr>,
    /// Right of the last `=`.
    pub value: Expr,
}

/// `target: annotation = value`
#[derive(Clone, Debug, PartialEq)]
pub struct AnnAssign {
    /// A name, attribute or subscript.
    pub target: Expr,
    /// The type.
    pub annotation: Expr,
    /// Right of `=`.
    pub value: Option<Expr>,
}

/// `target += value`
#[derive(Clone, Debug, PartialEq)]
pub struct AugAssign {
    /// A name, attribute or subscript.
    pub target: Expr,
    /// The operator before `=`.
    pub op: BinaryOp,
    /// Right of it.
    pub value: Expr,
}

/// `with a as b, c:`
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// Each context with the target of its `as`; never empty.
    pub items: Vec<(Expr, Option<Expr>)>,
    /// The block.
    pub body: Vec<Stmt>,
}

/// `for target in iter:`
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// A name, or a tuple without parentheses.
    pub target: Expr,
    /// The iterable.
    pub iter: Expr,
    /// The block.
    pub body: Vec<Stmt>,
}

/// `while cond:`
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// The condition.
    pub cond: Expr,
    /// The block.
    pub body: Vec<Stmt>,
}

/// `if cond:`; an `elif` is an `If` that is alone in `orelse`.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The condition.
    pub cond: Expr,
    /// The block if it holds.
    pub then: Vec<Stmt>,
    /// The block otherwise; empty without `else`.
    pub orelse: Vec<Stmt>,
}

/// `assert cond, msg`
#[derive(Clone, Debug, PartialEq)]
pub struct Assert {
    /// The condition.
    pub cond: Expr,
    /// The message if it does not hold.
    pub msg: Option<Expr>,
}

/// `a.b as c`
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The dotted path, without spaces.
    pub path: Name,
    /// The name of `as`.
    pub alias: Option<Ident>,
    /// The text it covers.
    pub span: Span,
}

/// `from ..a.b import c as d, e`
#[derive(Clone, Debug, PartialEq)]
pub struct FromImport {
    /// Number of dots in front.
    pub level: u32,
    /// The dotted path, without spaces; empty in `from . import a`.
    pub path: Name,
    /// Imported names; `*` is a name here.
    pub names: Vec<Import>,
}

/// `def name[type_params](params) -> returns:`
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDef {
    /// The expressions after `@`, top first.
    pub decorators: Vec<Expr>,
    /// Its name.
    pub name: Ident,
    /// `[n, m: int]`
    pub type_params: Vec<TypeParam>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type after `->`.
    pub returns: Option<Expr>,
    /// The block.
    pub body: Vec<Stmt>,
}

/// `n: int` in `def f[n: int]`
#[derive(Clone, Debug, PartialEq)]
pub struct TypeParam {
    /// Its name.
    pub name: Ident,
    /// The bound after the colon.
    pub bound: Option<Expr>,
}

/// `name: annotation = default`
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// The stars in front.
    pub star: Star,
    /// Its type.
    pub annotation: Option<Expr>,
    /// The default after `=`.
    pub default: Option<Expr>,
}

/// `class name(args):`
#[derive(Clone, Debug, PartialEq)]
pub struct ClassDef {
    /// The expressions after `@`, top first.
    pub decorators: Vec<Expr>,
    /// Its name.
    pub name: Ident,
    /// Bases and keywords.
    pub args: Vec<Arg>,
    /// The block.
    pub body: Vec<Stmt>,
}
