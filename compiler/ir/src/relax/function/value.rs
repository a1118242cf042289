//! Values of bindings.

use super::{Body, Lambda};
use crate::{Attrs, DTensorType, DType, Name, PrimExpr, Tensor, TensorType, Type, VDevice, relax::Var, tir::PrimFunc};
use std::sync::Arc;

/// The right side of a binding.
#[derive(Clone, Debug)]
pub enum Value {
    /// An alias of an operand.
    Operand(Operand),
    /// A call of an operator or function.
    Call(Call),
    /// One member of a tuple.
    TupleGet(Operand, usize),
    /// Both branches' results have the type of the bound variable.
    If {
        /// A bool tensor of rank 0, or a bool scalar.
        cond: Operand,
        /// The body run when it is true.
        then: Body,
        /// The body run when it is false.
        otherwise: Body,
    },
    /// A nested function. It may use variables of the functions around it, and itself.
    Function(Box<Lambda>),
    /// The operand, checked at run time to have this type; binds the type's new symbolic variables.
    MatchCast(Operand, Type),
}

/// An argument: something that needs no computation.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A variable.
    Var(Var),
    /// A constant tensor.
    Const(Constant),
    /// A scalar: a number, or an expression over symbolic variables.
    Prim(PrimExpr),
    /// `R.shape([n, 4])`: int64 expressions.
    Shape(Vec<PrimExpr>),
    /// `R.str("…")`.
    Str(Name),
    /// `R.dtype("float32")`.
    DType(DType),
    /// A global function of the module.
    Global(Name),
    /// A function found by name at run time.
    Extern(Name),
    /// `(x, y)`.
    Tuple(Vec<Operand>),
    /// An operator or any other named entity passed as a value, such as `R.device(…)` in printed form.
    Opaque(Box<crate::AttrValue>),
}

/// A constant tensor; clones share its bytes.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The data.
    pub tensor: Tensor,
    /// Its type, when it is spread over a mesh of devices.
    pub distributed: Option<Arc<DTensorType>>,
    /// Its device.
    pub vdevice: Option<Arc<VDevice>>,
    /// How it was computed, if that was from less data than it has itself. Not part of equality.
    pub origin: Option<Arc<Origin>>,
}

/// The computation by which a pass obtained a constant.
#[derive(Debug)]
pub struct Origin {
    /// The kernel that computed it, which calls no other functions.
    pub kernel: PrimFunc,
    /// Arguments of the kernel.
    pub inputs: Vec<Source>,
    /// The shape and dtype of its result.
    pub ty: TensorType,
}

/// The source of a constant.
#[derive(Clone, Debug)]
pub enum Source {
    /// Data.
    Constant(Tensor),
    /// A computed constant.
    Computed(Arc<Origin>),
}

impl Origin {
    /// Number of bytes needed to recompute the constant.
    pub fn bytes(&self) -> usize {
        let of = |source: &Source| match source {
            Source::Constant(tensor) => tensor.nbytes(),
            Source::Computed(origin) => origin.bytes(),
        };
        self.inputs.iter().map(of).sum()
    }
}

impl Constant {
    /// A constant without a device.
    pub fn new(tensor: Tensor) -> Self {
        Constant { tensor, distributed: None, vdevice: None, origin: None }
    }

    /// Its origin, or its data if it was not computed.
    pub fn source(&self) -> Source {
        match &self.origin {
            Some(origin) => Source::Computed(origin.clone()),
            None => Source::Constant(self.tensor.clone()),
        }
    }

    /// A number as a rank-0 tensor; `None` for dtypes other than floats of at least 16 bits.
    pub fn float(value: f64, dtype: DType) -> Option<Self> {
        let bytes = match dtype {
            DType::FLOAT64 => value.to_le_bytes().to_vec(),
            DType::FLOAT32 => (value as f32).to_le_bytes().to_vec(),
            DType::FLOAT16 => hammock_runtime::value::small_float::to_float16(value).to_le_bytes().to_vec(),
            DType::BFLOAT16 => hammock_runtime::value::small_float::to_bfloat16(value).to_le_bytes().to_vec(),
            _ => return None,
        };
        Some(Constant::new(Tensor::from_bytes(dtype, &[], &bytes).ok()?))
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        match &self.distributed {
            Some(ty) => Type::DTensor(ty.clone()),
            None => {
                let ty = TensorType::new(self.tensor.shape().iter().copied(), self.tensor.dtype());
                TensorType { vdevice: self.vdevice.clone(), ..ty }.into()
            }
        }
    }
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Callee.
    pub callee: Callee,
    /// Arguments in order.
    pub args: Vec<Operand>,
    /// Attributes: for an operator all it declares, in its order.
    pub attrs: Attrs,
    /// Types given to the call: `out_ty` of `call_tir`, `ty_args` of packed calls.
    pub ty_args: Vec<Type>,
}

/// Callee of a call.
#[derive(Clone, Debug)]
pub enum Callee {
    /// An operator, by the name in the operator table without the `R.` prefix: `add`, `nn.conv2d`, `call_tir`.
    Op(&'static str),
    /// A global function of the module.
    Global(Name),
    /// `R.call_packed("name", …)`.
    Extern(Name),
    /// A variable that holds a function.
    Var(Var),
}

impl Operand {
    /// The variable, when it is one.
    pub fn as_var(&self) -> Option<Var> {
        match self {
            Operand::Var(v) => Some(*v),
            _ => None,
        }
    }

    /// An int64 scalar.
    pub fn int(v: i64) -> Self {
        Operand::Prim(PrimExpr::int64(v))
    }
}

impl From<Var> for Operand {
    fn from(v: Var) -> Self {
        Operand::Var(v)
    }
}

impl Call {
    /// A call of an operator.
    pub fn op(name: &'static str, args: Vec<Operand>, attrs: Attrs) -> Self {
        Call { callee: Callee::Op(name), args, attrs, ty_args: Vec::new() }
    }

    /// `R.call_packed(name, args…, ty_args=…)`.
    pub fn packed(name: impl Into<Name>, args: Vec<Operand>, ty_args: Vec<Type>) -> Self {
        Call { callee: Callee::Extern(name.into()), args, attrs: Attrs::new(), ty_args }
    }

    /// Returns true if it calls the operator of that name.
    pub fn is_op(&self, name: &str) -> bool {
        matches!(self.callee, Callee::Op(n) if n == name)
    }
}
