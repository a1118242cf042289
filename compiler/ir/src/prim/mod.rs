//! Scalar expressions: symbolic dimensions in Relax, everything in TIR.
//!
//! Expressions contain buffers (in loads) and attributes (in calls), which contain expressions, so all three are declared
//! here.
//!
//! An expression is an immutable shared tree. Constructors here build exactly the node asked for and fold nothing;
//! simplification is `arith`'s work. Operands of an arithmetic node have one dtype, checked by the verifier.
//!
//! A kernel's integers wrap to the width of their dtype at run time. Sizes do not: sizes in shapes are computed
//! exactly, and a size that int64 cannot represent is an error that shows the expression. So no compile-time step may
//! rely on wrapping: signed constants are folded only if their dtype can represent the result, and `arith` treats
//! indices and sizes as unbounded integers. Native code computes buffer indices in 64 bits, whatever their dtype: one
//! that would have wrapped to 32 bits is out of bounds, or is the element that unbounded integers denote.
//!
//! *Data* is what a kernel computes from buffer elements and scalar arguments ([`PrimExpr::is_data`]). Its integers
//! may have any value and do wrap, so `x + 1 > x` is no tautology: `arith` decomposes a sum, difference or product of
//! data only if intervals prove that it fits its dtype.

mod attrs;
mod buffer;
mod build;
pub mod check;
pub mod flat;
pub mod intrinsics;
pub mod math;
mod var;
mod visit;

pub use attrs::{AttrValue, Attrs, DeviceMesh, HOST_KINDS, VDevice};
pub use buffer::{Buffer, BufferNode, DEFAULT_ALIGN, DEFAULT_LAYOUT, Region};
pub use build::{BinaryFn, binary, compare};
pub use var::{IterKind, IterVar, PrimType, Var};
pub use visit::Substitution;

use crate::{DType, Name};
use std::{fmt, sync::Arc};

/// A shared scalar (or vector) expression.
#[derive(Clone)]
pub struct PrimExpr(Arc<Node>);

struct Node {
    kind: PrimKind,
    ty: PrimType,
    /// Number of nodes as a tree: shared ones count at each occurrence.
    size: u32,
    /// True if it is computed from data.
    data: bool,
}

/// Kind of an expression.
#[derive(Clone, Debug)]
pub enum PrimKind {
    /// A variable.
    Var(Var),
    /// An integer or bool constant; unsigned 64-bit values are stored by their bits.
    Int(i64),
    /// A float constant of any float dtype.
    Float(f64),
    /// A string, as calls of external functions take it.
    Str(Name),
    /// Arithmetic, comparison and logic of two operands.
    Binary(BinaryOp, PrimExpr, PrimExpr),
    /// Logical not.
    Not(PrimExpr),
    /// Select: both values are evaluated. (`T.if_then_else`, which evaluates one, is a call.)
    Select(PrimExpr, PrimExpr, PrimExpr),
    /// Conversion to this expression's type.
    Cast(PrimExpr),
    /// An element (or, with vector indices, a vector) of a buffer, under an optional mask.
    Load(Buffer, Vec<PrimExpr>, Option<PrimExpr>),
    /// The vector `base + stride * [0, 1, …]`.
    Ramp(PrimExpr, PrimExpr),
    /// A vector of equal lanes.
    Broadcast(PrimExpr),
    /// Lanes chosen from the concatenation of vectors.
    Shuffle(Vec<PrimExpr>, Vec<PrimExpr>),
    /// `value` bound to a variable in `body`.
    Let(Var, PrimExpr, PrimExpr),
    /// An intrinsic or function call.
    Call(PrimCall),
    /// A reduction over axes, as compute definitions have it.
    Reduce(Box<Reduce>),
}

/// A call in an expression.
#[derive(Clone, Debug)]
pub struct PrimCall {
    /// Callee.
    pub callee: PrimCallee,
    /// Arguments in order.
    pub args: Vec<PrimExpr>,
    /// Attributes of generic calls.
    pub attrs: Attrs,
}

impl PrimCall {
    /// Returns true if it only computes a value from its arguments.
    pub fn is_pure(&self) -> bool {
        match &self.callee {
            PrimCallee::Intrin(name) => intrinsics::effect(name) == intrinsics::Effect::Pure,
            PrimCallee::Global(_) => false,
        }
    }

    /// Returns true if its value is data for any arguments: it comes from a function, another thread or memory.
    fn gives_data(&self) -> bool {
        use intrinsics::Effect;
        match &self.callee {
            PrimCallee::Intrin(name) => {
                intrinsics::lookup(name).is_some_and(|i| !matches!(i.effect, Effect::Pure | Effect::Address))
            }
            PrimCallee::Global(_) => true,
        }
    }

    /// Approximate cost per lane, in additions.
    pub fn cost(&self) -> u32 {
        match &self.callee {
            PrimCallee::Intrin(name) => intrinsics::cost(name),
            PrimCallee::Global(_) => intrinsics::MATH_COST,
        }
    }

    /// Returns true if it calls a function, of the module or one that `call_…` names; other intrinsics only compute a
    /// value.
    pub fn runs_function(&self) -> bool {
        match &self.callee {
            PrimCallee::Intrin(name) => intrinsics::effect(name) == intrinsics::Effect::Runs,
            PrimCallee::Global(_) => true,
        }
    }
}

/// Callee of a scalar call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrimCallee {
    /// An intrinsic, by its name without prefix: `exp`, `if_then_else`, `call_extern`, `ptx.ldmatrix`.
    Intrin(Name),
    /// A function of the module.
    Global(Name),
}

/// `T.reduce`.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// Combiner and identity.
    pub combiner: Arc<Reducer>,
    /// Values to reduce.
    pub source: Vec<PrimExpr>,
    /// Initial values; empty for the identity.
    pub init: Vec<PrimExpr>,
    /// Axes.
    pub axes: Vec<IterVar>,
    /// Condition under which an element is included.
    pub condition: PrimExpr,
    /// Index of the result that this expression denotes.
    pub index: usize,
}

/// A commutative combiner with its identity.
#[derive(Clone, Debug)]
pub struct Reducer {
    /// Variables of the left operand.
    pub lhs: Vec<Var>,
    /// Variables of the right operand.
    pub rhs: Vec<Var>,
    /// The combined values.
    pub result: Vec<PrimExpr>,
    /// The identity element.
    pub identity: Vec<PrimExpr>,
}

/// A map from indices to indices.
#[derive(Clone, Debug)]
pub struct IndexMap {
    /// The indices mapped from.
    pub params: Vec<Var>,
    /// The indices mapped to.
    pub results: Vec<PrimExpr>,
    /// The inverse map, if given.
    pub inverse: Option<Arc<IndexMap>>,
}

/// Two-operand operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Multiplication.
    Mul,
    /// Division; of integers, truncating (`T.Div`).
    Div,
    /// Remainder with the dividend's sign (`T.truncmod`).
    Mod,
    /// Floor division (`//`).
    FloorDiv,
    /// Remainder with the divisor's sign (`%`).
    FloorMod,
    /// The smaller; of floats, NaN if one is NaN.
    Min,
    /// The larger; of floats, NaN if one is NaN.
    Max,
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
    /// Logical and; may evaluate both.
    And,
    /// Logical or; may evaluate both.
    Or,
}

impl BinaryOp {
    /// Returns true if the result is bool.
    pub fn is_predicate(self) -> bool {
        self.is_comparison() || matches!(self, BinaryOp::And | BinaryOp::Or)
    }

    /// Its name: `floordiv`.
    pub fn name(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "add",
            Sub => "sub",
            Mul => "mul",
            Div => "div",
            Mod => "truncmod",
            FloorDiv => "floordiv",
            FloorMod => "floormod",
            Min => "min",
            Max => "max",
            Eq => "eq",
            Ne => "ne",
            Lt => "lt",
            Le => "le",
            Gt => "gt",
            Ge => "ge",
            And => "and",
            Or => "or",
        }
    }

    /// Returns true if it is a comparison.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}

impl PrimExpr {
    /// A node of any kind; prefer a named constructor.
    pub fn new(kind: PrimKind, ty: impl Into<PrimType>) -> Self {
        let data = match &kind {
            PrimKind::Load(..) => true,
            PrimKind::Var(var) => var.is_data(),
            PrimKind::Call(call) => call.gives_data(),
            // Constants that do not fit wrap when the kernel runs.
            PrimKind::Binary(op, a, b) => overflows(*op, a, b),
            _ => false,
        };
        let mut e = PrimExpr(Arc::new(Node { kind, ty: ty.into(), size: 1, data }));
        let (mut size, mut data) = (1u32, data);
        e.each_child(&mut |child| {
            size = size.saturating_add(child.size());
            data |= child.is_data();
        });
        if let Some(node) = Arc::get_mut(&mut e.0) {
            (node.size, node.data) = (size, data);
        }
        e
    }

    /// True if it is computed from data: elements of buffers, scalar arguments, results of functions, variables that
    /// are bound to such, and constants that overflow. Arithmetic on data wraps to the width of its dtype; arithmetic
    /// on sizes, loop variables and axes does not.
    pub fn is_data(&self) -> bool {
        self.0.data
    }

    /// Number of nodes of the expression as a tree: the cost of printing it and of any walk without memoization. It may
    /// be far larger than the number of nodes in memory.
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// Kind of the expression.
    pub fn kind(&self) -> &PrimKind {
        &self.0.kind
    }

    /// Its type.
    pub fn ty(&self) -> &PrimType {
        &self.0.ty
    }

    /// Its dtype: `handle` for pointers.
    pub fn dtype(&self) -> DType {
        self.0.ty.dtype()
    }

    /// Returns true if both are the same node.
    pub fn same_node(&self, other: &PrimExpr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The node's address: a key for memo tables while the expression is alive.
    pub fn node_id(&self) -> usize {
        Arc::as_ptr(&self.0) as *const () as usize
    }

    /// The value of an integer or bool constant.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind() {
            PrimKind::Int(v) => Some(*v),
            _ => None,
        }
    }

    /// The value of a float constant.
    pub fn as_float(&self) -> Option<f64> {
        match self.kind() {
            PrimKind::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// The text of a string constant.
    pub fn as_str(&self) -> Option<&str> {
        match self.kind() {
            PrimKind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The variable, when it is one.
    pub fn as_var(&self) -> Option<&Var> {
        match self.kind() {
            PrimKind::Var(v) => Some(v),
            _ => None,
        }
    }

    /// The call, if it calls the intrinsic of that name.
    pub fn as_intrin(&self, name: &str) -> Option<&PrimCall> {
        match self.kind() {
            PrimKind::Call(c) => match &c.callee {
                PrimCallee::Intrin(n) if n == name => Some(c),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns true if a sum, difference or product of integer constants does not fit into its dtype.
fn overflows(op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> bool {
    let (Some(x), Some(y)) = (a.as_int(), b.as_int()) else { return false };
    let value = match op {
        BinaryOp::Add => x.checked_add(y),
        BinaryOp::Sub => x.checked_sub(y),
        BinaryOp::Mul => x.checked_mul(y),
        _ => return false,
    };
    value.is_none_or(|value| !crate::arith::Interval::of_dtype(a.dtype()).contains(value))
}

impl fmt::Debug for PrimExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            PrimKind::Int(v) => write!(f, "{v}:{}", self.dtype()),
            PrimKind::Float(v) => write!(f, "{v}:{}", self.dtype()),
            PrimKind::Var(v) => write!(f, "{v:?}"),
            kind => kind.fmt(f),
        }
    }
}
