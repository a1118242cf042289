//! Relax types.

use crate::{DType, DeviceMesh, Name, PrimExpr, VDevice, relax::Var};
use std::sync::Arc;

/// Maximum rank of a tensor or buffer, a limit of the executable format.
pub const MAX_RANK: usize = 64;

/// Maximum number of nodes of a dimension's expression. Sizes computed from sizes repeatedly grow without bound.
pub const MAX_DIM_NODES: u32 = 4000;

/// The type of a Relax variable.
#[derive(Clone, Debug)]
pub enum Type {
    /// Anything: `R.Any`.
    Any,
    /// A scalar: `T.int64`.
    Prim(DType),
    /// A string: `I.StringType()`.
    String,
    /// A shape of known or unknown rank, with known or unknown dimensions.
    Shape(ShapeType),
    /// A tensor.
    Tensor(TensorType),
    /// A tuple.
    Tuple(Vec<Type>),
    /// A function.
    Callable(Arc<CallableType>),
    /// A tensor spread over a device mesh.
    DTensor(Arc<DTensorType>),
    /// The type of an expression whose error is already reported: it contradicts nothing, so that the rest of the text
    /// can be checked. Modules passed to passes do not have it.
    Error,
}

/// A shape: `R.Shape([n, 4])`, `R.Shape(ndim=2)`, `R.Shape`.
#[derive(Clone, Debug)]
pub enum ShapeType {
    /// Unknown.
    Unknown,
    /// Known rank.
    Rank(usize),
    /// Known dimensions, as int64 expressions.
    Known(Arc<[PrimExpr]>),
}

/// A tensor's shape, as far as known.
#[derive(Clone, Debug)]
pub enum TensorShape {
    /// Unknown: `R.Tensor(dtype="float32")`.
    Unknown,
    /// The number of dimensions: `R.Tensor(ndim=2)`.
    Rank(usize),
    /// Every dimension, as int64 expressions.
    Known(Arc<[PrimExpr]>),
    /// The value of a variable of type shape, and its rank when that is known.
    Var(Var, Option<usize>),
}

impl TensorShape {
    /// The number of dimensions.
    pub fn ndim(&self) -> Option<usize> {
        match self {
            TensorShape::Unknown => None,
            TensorShape::Rank(n) => Some(*n),
            TensorShape::Known(dims) => Some(dims.len()),
            TensorShape::Var(_, n) => *n,
        }
    }

    /// The dimensions, when all are known.
    pub fn dims(&self) -> Option<&[PrimExpr]> {
        match self {
            TensorShape::Known(dims) => Some(dims),
            _ => None,
        }
    }
}

/// A tensor's type.
#[derive(Clone, Debug)]
pub struct TensorType {
    /// Shape, as far as known.
    pub shape: TensorShape,
    /// The element type, when known.
    pub dtype: Option<DType>,
    /// Device, if given.
    pub vdevice: Option<Arc<VDevice>>,
}

impl TensorType {
    /// A tensor of known shape and dtype.
    pub fn new(dims: impl IntoIterator<Item = impl Into<PrimExpr>>, dtype: DType) -> Self {
        let shape = TensorShape::Known(dims.into_iter().map(Into::into).collect());
        TensorType { shape, dtype: Some(dtype), vdevice: None }
    }

    /// A tensor of known dtype and, perhaps, rank.
    pub fn with_rank(ndim: Option<usize>, dtype: Option<DType>) -> Self {
        TensorType { shape: ndim.map_or(TensorShape::Unknown, TensorShape::Rank), dtype, vdevice: None }
    }

    /// The number of dimensions, when known.
    pub fn ndim(&self) -> Option<usize> {
        self.shape.ndim()
    }

    /// The dimensions, when all are known.
    pub fn dims(&self) -> Option<&[PrimExpr]> {
        self.shape.dims()
    }
}

/// A function's type.
#[derive(Clone, Debug)]
pub struct CallableType {
    /// Parameter types; `None` for an opaque function.
    pub params: Option<Vec<Type>>,
    /// The result's type.
    pub ret: Type,
    /// True if calls have no side effect.
    pub pure: bool,
    /// The name of a function that derives the result's type from a call, for opaque functions.
    pub derive: Option<Name>,
}

/// A distributed tensor's type.
#[derive(Clone, Debug)]
pub struct DTensorType {
    /// The whole tensor.
    pub tensor: TensorType,
    /// The devices.
    pub mesh: Arc<DeviceMesh>,
    /// Placement of the dimensions, in the text's form (`"S[0], R"`).
    pub placement: Name,
}

impl Type {
    /// Name of the kind of type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Type::Any => "an object",
            Type::Prim(_) => "a scalar",
            Type::String => "a string",
            Type::Shape(_) => "a shape",
            Type::Tensor(_) => "a tensor",
            Type::Tuple(_) => "a tuple",
            Type::Callable(_) => "a function",
            Type::DTensor(_) => "a distributed tensor",
            Type::Error => "something with an error",
        }
    }

    /// Returns true if it is, or has a member that is, the type of an erroneous expression.
    pub fn is_erroneous(&self) -> bool {
        match self {
            Type::Error => true,
            Type::Tuple(members) => members.iter().any(Type::is_erroneous),
            _ => false,
        }
    }

    /// The empty tuple: the result of a call that returns nothing.
    pub fn void() -> Self {
        Type::Tuple(Vec::new())
    }

    /// Returns true if it is the empty tuple.
    pub fn is_void(&self) -> bool {
        matches!(self, Type::Tuple(t) if t.is_empty())
    }

    /// A tensor of known shape and dtype.
    pub fn tensor(dims: impl IntoIterator<Item = impl Into<PrimExpr>>, dtype: DType) -> Self {
        Type::Tensor(TensorType::new(dims, dtype))
    }

    /// A shape of known dimensions.
    pub fn shape(dims: impl IntoIterator<Item = impl Into<PrimExpr>>) -> Self {
        Type::Shape(ShapeType::Known(dims.into_iter().map(Into::into).collect()))
    }

    /// The tensor type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Number of types in it, itself included.
    pub fn size(&self) -> usize {
        match self {
            Type::Tuple(members) => 1 + members.iter().map(Type::size).sum::<usize>(),
            Type::Callable(callable) => {
                1 + callable.ret.size() + callable.params.iter().flatten().map(Type::size).sum::<usize>()
            }
            _ => 1,
        }
    }

    /// Description of the part that exceeds [`MAX_RANK`] or [`MAX_DIM_NODES`].
    pub fn excess(&self) -> Option<String> {
        let large = |dims: &[PrimExpr]| {
            let axis = dims.iter().position(|dim| dim.size() > MAX_DIM_NODES)?;
            Some(format!("dimension {axis} is an expression of more than {MAX_DIM_NODES} operations"))
        };
        let tensor = |tensor: &TensorType| match (tensor.shape.ndim(), &tensor.shape) {
            (Some(count), _) if count > MAX_RANK => Some(format!("{count} dimensions are more than {MAX_RANK}")),
            (_, TensorShape::Known(dims)) => large(dims),
            _ => None,
        };
        match self {
            Type::Tensor(t) => tensor(t),
            Type::DTensor(t) => tensor(&t.tensor),
            Type::Shape(ShapeType::Known(dims)) => large(dims),
            Type::Tuple(members) => members.iter().find_map(Type::excess),
            _ => None,
        }
    }

    /// The member types, when it is a tuple.
    pub fn as_tuple(&self) -> Option<&[Type]> {
        match self {
            Type::Tuple(t) => Some(t),
            _ => None,
        }
    }
}

impl From<TensorType> for Type {
    fn from(t: TensorType) -> Self {
        Type::Tensor(t)
    }
}

impl ShapeType {
    /// The number of dimensions, when known.
    pub fn ndim(&self) -> Option<usize> {
        match self {
            ShapeType::Unknown => None,
            ShapeType::Rank(n) => Some(*n),
            ShapeType::Known(d) => Some(d.len()),
        }
    }

    /// The dimensions, when known.
    pub fn dims(&self) -> Option<&[PrimExpr]> {
        match self {
            ShapeType::Known(d) => Some(d),
            _ => None,
        }
    }
}
