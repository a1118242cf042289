//! Builder of the Relax function: appends operator calls, with the same type inference as the text importer.

mod broadcast_dims;
mod constants;
pub mod nested;
mod sequence;
mod store_row;
pub mod strings;

use crate::{
    known_tensor::KnownTensor,
    value::{
        Value,
        sequence::{OptionalValue, Sequence},
    },
};
use broadcast_dims::{JointDims, UnifiedOperands, unify_dims};
use constants::Constants;
use hammock_diagnostics::Span;
use hammock_ir::{
    AttrValue, DType, Function as Global, Module, Name, PrimExpr, TensorShape, TensorType, Type, equal, prim,
    relax::{Binding, Call, Constant, Function, InferError, OpTable, Operand, Value as Bound, Var},
    tir::PrimFunc,
};
use hammock_ops::{CallContext, Table, lookup};
use store_row::RowKernels;

/// Maximum number of calls per model. Nested loops with few iterations are unrolled even from small files; each call
/// takes about 1 kB.
const MAX_CALLS: usize = 100_000;

/// Function under construction, and its module.
pub struct Builder {
    /// Module with the finished functions.
    pub module: Module,
    /// The function's variables; its body is assembled at the end.
    pub function: Function,
    /// Bindings of the current body so far.
    pub bindings: Vec<Binding>,
    /// Number of bindings in all bodies.
    pub calls: usize,
    /// Span of the node that is being imported.
    pub span: Span,
    /// Dimensions of broadcast results.
    pub joint_dims: JointDims,
    /// Values of variables that are computed from small constants.
    pub constants: Constants,
    row_kernels: RowKernels,
}

impl Builder {
    /// Creates an empty function in an empty module.
    pub fn new() -> Self {
        Builder {
            module: Module::new(),
            function: Function::empty(),
            bindings: Vec::new(),
            calls: 0,
            span: Span::NONE,
            joint_dims: JointDims::default(),
            constants: Constants::default(),
            row_kernels: RowKernels::default(),
        }
    }

    /// Binds the result of an operator call; dynamic dimensions of the result get names.
    pub fn call(
        &mut self,
        op: &'static str,
        args: Vec<Operand>,
        attrs: &[(&'static str, AttrValue)],
    ) -> Result<Operand, InferError> {
        let op = lookup(op).ok_or_else(|| InferError::new(format!("there is no operator `R.{op}`")))?;
        let UnifiedOperands { args, result } = unify_dims(self, op, args)?;
        let mut call = op.call(args, attrs.to_vec());
        if let Some(resolve) = op.resolve {
            let (module, function) = (&self.module, &self.function);
            call = resolve(&CallContext { module, function, op, call: &call })?;
        }
        let ty = Table.infer(&self.module, &self.function, &call)?;
        let value = self.evaluate(op, &call, &ty);
        let var = self.bind(ty, Bound::Call(call))?;
        self.constants.record(var, value);
        self.with_symbolic_dims(var, result)
    }

    /// Binds the result of a kernel; equal kernels are added to the module once.
    pub fn call_kernel(
        &mut self,
        wanted: &str,
        kernel: PrimFunc,
        args: Vec<Operand>,
        ty: Type,
    ) -> Result<Operand, InferError> {
        let kernel = Global::Tir(kernel);
        let same = |(_, other): &(&Name, &Global)| equal::functions(other, &kernel).is_ok();
        let name = self.module.functions.iter().find(same).map(|(name, _)| name.clone());
        let name = name.unwrap_or_else(|| self.module.add_unique(wanted, kernel));
        self.bind(ty.clone(), Bound::Call(Call::tir(name, args, ty))).map(Operand::Var)
    }

    /// Binds the fields of a tuple.
    pub fn members(&mut self, tuple: &Operand) -> Result<Vec<Operand>, InferError> {
        let Type::Tuple(members) = self.ty(tuple) else { return Err(InferError::new("its result is not a tuple")) };
        let bound = members.into_iter().enumerate().map(|(n, ty)| {
            let var = self.bind(ty, Bound::TupleGet(tuple.clone(), n))?;
            self.with_symbolic_dims(var, None)
        });
        bound.collect()
    }

    /// Binds a value to a new name, with a type that is checked at run time.
    pub fn match_cast(&mut self, value: Operand, ty: Type) -> Result<Operand, InferError> {
        self.bind(ty.clone(), Bound::MatchCast(value, ty)).map(Operand::Var)
    }

    /// Binds a value to a new variable.
    pub fn bind(&mut self, ty: Type, value: Bound) -> Result<Var, InferError> {
        if self.calls >= MAX_CALLS {
            return Err(InferError::new(format!("the model becomes more than {MAX_CALLS} calls of operators"))
                .help("functions are inlined, and loops with few iterations unrolled"));
        }
        if let Some(size) = negative_size(&ty) {
            return Err(InferError::new(format!("its result would have a dimension of {size} elements")));
        }
        if let Some(excess) = ty.excess() {
            return Err(InferError::new(format!("the result is too large: {excess}")));
        }
        let var = self.function.new_var("lv", ty, true, self.span);
        self.push(var, value);
        Ok(var)
    }

    /// Binds a value to a variable.
    pub fn push(&mut self, var: Var, value: Bound) {
        self.bindings.push(Binding { var, value, span: self.span });
        self.calls += 1;
    }

    /// Gives a tensor of unknown shape the given dimensions, or a new symbolic one for each axis.
    fn with_symbolic_dims(&mut self, var: Var, sizes: Option<Vec<PrimExpr>>) -> Result<Operand, InferError> {
        let Type::Tensor(TensorType { shape: TensorShape::Rank(rank), dtype, vdevice }) = self.function.ty(var).clone()
        else {
            return Ok(Operand::Var(var));
        };
        let dims = sizes.filter(|sizes| sizes.len() == rank);
        let dims = dims.unwrap_or_else(|| (0..rank).map(|_| prim::Var::int64("m").expr()).collect());
        let dims = dims.into();
        self.match_cast(Operand::Var(var), TensorType { shape: TensorShape::Known(dims), dtype, vdevice }.into())
    }

    /// Returns the type of an operand.
    pub fn ty(&self, operand: &Operand) -> Type {
        self.function.operand_ty(&self.module, operand)
    }

    /// Returns the type of a tensor.
    pub fn tensor(&self, operand: &Operand) -> Result<TensorType, InferError> {
        match self.ty(operand) {
            Type::Tensor(ty) => Ok(ty),
            other => Err(InferError::new(format!("a tensor was expected, not {}", other.kind()))),
        }
    }

    /// Returns the dtype of a tensor.
    pub fn dtype(&self, operand: &Operand) -> Result<DType, InferError> {
        self.tensor(operand)?.dtype.ok_or_else(|| InferError::new("the dtype of an input is not known"))
    }

    /// Returns the shape of a tensor.
    pub fn dims(&self, operand: &Operand) -> Result<Vec<PrimExpr>, InferError> {
        let ty = self.tensor(operand)?;
        let dims = ty.shape.dims().map(<[PrimExpr]>::to_vec);
        dims.ok_or_else(|| {
            InferError::new("the shape of an input is not known").help("give the model's inputs shapes, at least ranks")
        })
    }

    /// Returns a value as an operand: known elements become a constant, or are computed from dimensions.
    pub fn operand(&mut self, value: &Value) -> Result<Operand, InferError> {
        match value {
            Value::Operand(operand) | Value::Narrow(operand, _) => Ok(operand.clone()),
            Value::Known(known) => match known.constant() {
                Some(constant) => Ok(constant),
                None => self.computed(known),
            },
            Value::Strings(_) | Value::Sequence(_) | Value::Optional(_) | Value::Maps(_) => {
                let kind = value.other_kind().unwrap_or_default();
                Err(InferError::new(format!("an input is {kind}, where a tensor of numbers is expected")))
            }
            Value::Broken => Err(InferError::new("an input has an error")),
        }
    }

    /// Returns a value of any kind as an operand.
    pub fn any_operand(&mut self, value: &Value) -> Result<Operand, InferError> {
        match value {
            Value::Sequence(Sequence::Known(values, _)) => {
                Ok(Operand::Tuple(values.iter().map(|value| self.any_operand(value)).collect::<Result<_, _>>()?))
            }
            Value::Sequence(sequence) => self.sequence_operand(sequence),
            Value::Strings(strings) => self.strings_operand(strings),
            Value::Maps(maps) => Ok(maps.clone()),
            Value::Optional(OptionalValue::Absent) => self.call("null_value", Vec::new(), &[]),
            Value::Optional(OptionalValue::Dynamic(operand, _)) => Ok(operand.clone()),
            tensor => self.operand(tensor),
        }
    }

    fn computed(&mut self, known: &KnownTensor) -> Result<Operand, InferError> {
        let shape = Operand::Shape(known.elements.to_vec());
        let mut tensor = self.call("shape_to_tensor", vec![shape], &[])?;
        if known.shape.len() != 1 {
            let shape = known.shape.iter().map(|d| PrimExpr::int64(*d)).collect();
            tensor = self.call("reshape", vec![tensor, Operand::Shape(shape)], &[])?;
        }
        self.cast(tensor, known.dtype)
    }

    /// Casts a tensor to another dtype.
    pub fn cast(&mut self, x: Operand, dtype: DType) -> Result<Operand, InferError> {
        if self.dtype(&x)? == dtype {
            return Ok(x);
        }
        self.call("astype", vec![x], &[("dtype", dtype.into())])
    }

    /// Returns a value's elements if they are known.
    pub fn known(&self, value: &Value) -> Option<KnownTensor> {
        match value {
            Value::Known(known) => Some(known.clone()),
            Value::Operand(Operand::Const(Constant { tensor, .. })) => KnownTensor::of_tensor(tensor),
            Value::Operand(Operand::Var(var)) => KnownTensor::of_tensor(self.constants.get(*var)?),
            _ => None,
        }
    }
}

/// Returns a dimension that is a negative constant.
fn negative_size(ty: &Type) -> Option<i64> {
    match ty {
        Type::Tensor(tensor) => tensor.dims()?.iter().filter_map(PrimExpr::as_int).find(|size| *size < 0),
        Type::Tuple(fields) => fields.iter().find_map(negative_size),
        _ => None,
    }
}
