//! Variables of expressions, their types, and the axes that bind them.

use super::{PrimExpr, PrimKind};
use crate::{DType, Name};
use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The type of a scalar variable or expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrimType {
    /// A number, a vector of numbers, or an opaque handle (`DType::HANDLE`), or nothing (`DType::VOID`).
    Scalar(DType),
    /// A pointer to elements in a memory scope; the element type may be unknown.
    Pointer(Option<DType>, Name),
}

impl PrimType {
    /// The dtype: `handle` for pointers.
    pub fn dtype(&self) -> DType {
        match self {
            PrimType::Scalar(t) => *t,
            PrimType::Pointer(..) => DType::HANDLE,
        }
    }
}

impl From<DType> for PrimType {
    fn from(t: DType) -> Self {
        PrimType::Scalar(t)
    }
}

/// A scalar variable, compared by identity: equal only to itself and its clones.
#[derive(Clone)]
pub struct Var(Arc<VarNode>);

struct VarNode {
    id: u64,
    name: Name,
    ty: PrimType,
    /// True if it holds data, whose arithmetic wraps; false for sizes, loop variables and axes.
    data: bool,
}

impl Var {
    /// A new variable: a size, loop variable or axis, on which arithmetic does not wrap.
    pub fn new(name: impl Into<Name>, ty: impl Into<PrimType>) -> Self {
        Var::of_kind(name.into(), ty.into(), false)
    }

    /// A new variable that holds data, on which arithmetic wraps: a scalar argument.
    pub fn data(name: impl Into<Name>, ty: impl Into<PrimType>) -> Self {
        Var::of_kind(name.into(), ty.into(), true)
    }

    /// A new variable to bind to a value: of its type, and data if the value is.
    pub fn of_value(name: impl Into<Name>, value: &PrimExpr) -> Self {
        Var::of_kind(name.into(), value.ty().clone(), value.is_data())
    }

    /// A new variable of the same name with another type; data if this one is.
    pub fn with_ty(&self, ty: impl Into<PrimType>) -> Self {
        Var::of_kind(self.0.name.clone(), ty.into(), self.0.data)
    }

    fn of_kind(name: Name, ty: PrimType, data: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Var(Arc::new(VarNode { id, name, ty, data }))
    }

    /// A new int64 variable: a symbolic dimension.
    pub fn int64(name: impl Into<Name>) -> Self {
        Var::new(name, DType::INT64)
    }

    /// A new variable of the same name and type; data if this one is.
    pub fn fresh(&self) -> Self {
        self.with_ty(self.0.ty.clone())
    }

    /// True if it holds data: see [`PrimExpr::is_data`].
    pub fn is_data(&self) -> bool {
        self.0.data
    }

    /// Its name in the text; the printer makes names unique.
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// Its type.
    pub fn ty(&self) -> &PrimType {
        &self.0.ty
    }

    /// Its dtype: `handle` for pointers.
    pub fn dtype(&self) -> DType {
        self.0.ty.dtype()
    }

    /// The variable as an expression.
    pub fn expr(&self) -> PrimExpr {
        PrimExpr::new(PrimKind::Var(self.clone()), self.0.ty.clone())
    }
}

impl PartialEq for Var {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Var {}

impl Hash for Var {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.0.name, self.0.id)
    }
}

/// A loop, block or thread axis.
#[derive(Clone, Debug)]
pub struct IterVar {
    /// The variable.
    pub var: Var,
    /// First value and number of values; `None` where only the name matters (thread axes in attributes).
    pub dom: Option<(PrimExpr, PrimExpr)>,
    /// Kind of axis.
    pub kind: IterKind,
    /// The thread axis's name, `threadIdx.x`; empty otherwise.
    pub thread: Name,
}

/// Kind of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IterKind {
    /// Iterations write different elements: `T.axis.spatial`.
    Spatial,
    /// Iterations combine into one element: `T.axis.reduce`.
    Reduce,
    /// Iterations depend on the ones before: `T.axis.scan`.
    Scan,
    /// No guarantees: `T.axis.opaque`.
    Opaque,
    /// A GPU thread or block index.
    ThreadIndex,
}

impl IterKind {
    /// Its name: `spatial`.
    pub fn name(self) -> &'static str {
        match self {
            IterKind::Spatial => "spatial",
            IterKind::Reduce => "reduce",
            IterKind::Scan => "scan",
            IterKind::Opaque => "opaque",
            IterKind::ThreadIndex => "thread",
        }
    }
}
