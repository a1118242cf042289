//! Expressions of the syntax tree.

use std::sync::Arc;

use super::{Ident, Name};
use hammock_diagnostics::Span;

/// An expression with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Kind of the expression.
    pub kind: ExprKind,
    /// The text it covers, including enclosing parentheses.
    pub span: Span,
    /// Height of the tree: 1 for a leaf.
    pub(super) depth: u16,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `x`
    Name(Name),
    /// `7`, `0x1F`: a literal has no sign.
    Int(u64),
    /// An integer literal above 2^64 - 1, its text without underscores.
    BigInt(Arc<str>),
    /// `1e-05`
    Float(f64),
    /// Adjacent string literals, decoded.
    Str(Arc<str>),
    /// `b"…"`
    Bytes(Arc<[u8]>),
    /// `True`, `False`
    Bool(bool),
    /// `None`
    None,
    /// `...`
    Ellipsis,
    /// `(a, b)`, `a, b`, `()`
    Tuple(Vec<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a: b}`
    Dict(Vec<(Expr, Expr)>),
    /// `{a, b}`
    Set(Vec<Expr>),
    /// `value.name`
    Attribute(Box<Attribute>),
    /// `func(args)`
    Call(Box<Call>),
    /// `value[indices]`
    Subscript(Box<Subscript>),
    /// `-x`, `not x`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b - c`, `a ** b`
    Binary(Box<Binary>),
    /// `a < b <= c`
    Compare(Box<Compare>),
    /// `a and b and c`
    BoolChain(BoolOp, Vec<Expr>),
    /// `lambda a, b: body`
    Lambda(Box<Lambda>),
    /// `then if cond else orelse`
    If(Box<IfExpr>),
    /// `*x`, in targets, tuples and lists
    Starred(Box<Expr>),
    /// `[element for target in iter if condition]`
    Comprehension(Box<Comprehension>),
    /// A rejected expression, with a diagnostic.
    Error,
}

/// `value.name`
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Left of the dot.
    pub value: Expr,
    /// Right of the dot.
    pub name: Ident,
}

/// `func(args)`
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Callee.
    pub func: Expr,
    /// Arguments in source order.
    pub args: Vec<Arg>,
}

/// An argument of a call or of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The name of `name=value`.
    pub name: Option<Ident>,
    /// The stars in front.
    pub star: Star,
    /// The value.
    pub value: Expr,
}

impl Arg {
    /// The span of the whole argument, from its name on, without stars.
    pub fn span(&self) -> Span {
        self.name.as_ref().map_or(Span::NONE, |name| name.span).join(self.value.span)
    }
}

/// Stars before an argument or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Star {
    /// None: `x`
    #[default]
    None,
    /// `*x`
    One,
    /// `**x`
    Two,
}

/// `value[indices]`
#[derive(Clone, Debug, PartialEq)]
pub struct Subscript {
    /// The indexed value.
    pub value: Expr,
    /// `x[a, 0:4]` has two indices, `x[()]` one that is an empty tuple.
    pub indices: Vec<Index>,
}

/// One index of a subscript.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `x[i]`
    Expr(Expr),
    /// `x[start:end:step]`
    Slice(Box<Slice>),
}

impl Index {
    /// The text it covers.
    pub fn span(&self) -> Span {
        match self {
            Index::Expr(expr) => expr.span,
            Index::Slice(slice) => slice.span,
        }
    }
}

/// `start:end:step`; each part is optional.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Before the first colon.
    pub start: Option<Expr>,
    /// After the first colon.
    pub end: Option<Expr>,
    /// After the second colon.
    pub step: Option<Expr>,
    /// The text it covers.
    pub span: Span,
}

/// A chain of left-associative binary operators of equal precedence: `a - b + c` is `(a - b) + c`.
///
/// `a ** b` groups to the right and has exactly one member in `rest`.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// The leftmost operand.
    pub first: Expr,
    /// Each operator with the operand to its right; never empty.
    pub rest: Vec<(BinaryOp, Expr)>,
}

/// `first < a <= b`: each operator compares two adjacent operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Compare {
    /// The leftmost operand.
    pub first: Expr,
    /// Each operator with the operand to its right; never empty.
    pub rest: Vec<(CompareOp, Expr)>,
}

/// `lambda params: body`
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    /// The names it binds, in order.
    pub params: Vec<Ident>,
    /// Result.
    pub body: Expr,
}

/// `then if cond else orelse`
#[derive(Clone, Debug, PartialEq)]
pub struct IfExpr {
    /// The condition.
    pub cond: Expr,
    /// The value if it holds.
    pub then: Expr,
    /// The value otherwise.
    pub orelse: Expr,
}

/// `[element for target in iter if condition]` and similar expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// Kind of container.
    pub kind: ComprehensionKind,
    /// The element; the key of a dict.
    pub element: Expr,
    /// The value of a dict.
    pub value: Option<Expr>,
    /// `for … in … if …`, outermost first; never empty.
    pub clauses: Vec<ForClause>,
}

/// Kind of container that a comprehension builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComprehensionKind {
    /// `[… for …]`
    List,
    /// `{… for …}`
    Set,
    /// `{…: … for …}`
    Dict,
    /// `(… for …)`
    Generator,
}

/// `for target in iter if a if b`
#[derive(Clone, Debug, PartialEq)]
pub struct ForClause {
    /// Target of the assignment.
    pub target: Expr,
    /// The iterable.
    pub iter: Expr,
    /// Conditions, which must all hold.
    pub conditions: Vec<Expr>,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Pos,
    /// `~`
    Invert,
    /// `not`
    Not,
}

/// Arithmetic and bitwise operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `@`
    MatMul,
    /// `**`
    Pow,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// `is`
    Is,
    /// `is not`
    IsNot,
}

/// Short-circuit operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoolOp {
    /// `and`
    And,
    /// `or`
    Or,
}

impl UnaryOp {
    /// The operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Pos => "+",
            UnaryOp::Invert => "~",
            UnaryOp::Not => "not",
        }
    }
}

impl BinaryOp {
    /// The operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::MatMul => "@",
            BinaryOp::Pow => "**",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
        }
    }
}

impl CompareOp {
    /// The operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::In => "in",
            CompareOp::NotIn => "not in",
            CompareOp::Is => "is",
            CompareOp::IsNot => "is not",
        }
    }
}

impl BoolOp {
    /// The operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            BoolOp::And => "and",
            BoolOp::Or => "or",
        }
    }
}
