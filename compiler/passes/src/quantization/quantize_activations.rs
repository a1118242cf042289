//! QuantizeActivations: int8 activations for matmuls of quantized weights, at run time.
//!
//! A matmul by a constant matrix that a kernel dequantizes (those of QuantizeWeights, and of models with packed weights)
//! becomes integer arithmetic. Each group of elements of a row of the activations is divided by its scale, its maximum
//! magnitude over 127, and rounded to int8 (dynamic, symmetric). Products are summed in int32 by dot instructions, and
//! the sum of a group is multiplied by both scales. So the weights count as they are, and each activation is off by at
//! most 1/254 of the maximum magnitude in its group. A row with NaN or infinities has results that are NaN or infinite.
//!
//! Groups are those of the weights, or parts of them, of 16 to 64 elements, a multiple of 4 that divides the rows of the
//! matrix. Other matrices, those with float16 elements or scales, with zero points that are no bytes, and those whose
//! kernel says that activations are floats (attribute `float_activations`) stay as they are.

use crate::{
    Context, Pass,
    rewrite::{self, Emitter, op_call, shared_functions::SharedFunctions},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Function as Global, Module, PrimExpr, Span, Tensor, TensorType,
    relax::{Binding, Call, CallTir, Constant, Function, Operand, Value, Var},
};
use hammock_ops::{
    dims,
    packed_weights::{FLOAT_ACTIVATIONS, PackedWeights},
};
use hammock_runtime::Element;
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "QuantizeActivations",
    doc: "Quantizes the activations of matmuls by quantized weights to int8, at run time",
    options: &[],
    run,
};

/// Elements of a group of activations.
const MIN_GROUP: i64 = 16;
const MAX_GROUP: i64 = 64;
/// Multiple of elements of a group: those of a packed group.
const GROUP_MULTIPLE: i64 = 4;
/// Smallest maximum magnitude that a group is divided by.
const MIN_MAGNITUDE: f64 = 1e-30;
/// Maximum quantized number.
const MAX_NUMBER: f64 = 127.0;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut pass = Quantizer::default();
    rewrite::relax_functions(module, |module, _, function| {
        pass.matrices.clear();
        rewrite::bindings(function, &mut |function, binding, out| pass.binding(module, function, binding, out))
    })?;
    context.report(|| match pass.count {
        0 => {
            "warning: no activations quantized; no matmul has quantized weights in groups that int8 activations can have".into()
        }
        1 => "1 matmul with int8 activations".into(),
        count => format!("{count} matmuls with int8 activations"),
    });
    Ok(())
}

#[derive(Default)]
struct Quantizer {
    kernels: SharedFunctions,
    /// Dequantized matrices of the function, with the arguments of their kernels.
    matrices: FxHashMap<Var, Matrix>,
    /// Quantized matmuls so far.
    count: usize,
}

impl Quantizer {
    fn binding(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        mut binding: Binding,
        out: &mut Emitter,
    ) -> Result<(), Diagnostic> {
        if let Some(matrix) = Matrix::of(module, &binding.value) {
            self.matrices.insert(binding.var, matrix);
        } else if let Some(matmul) = self.matmul(module, function, &binding.value) {
            binding.value = self.quantized(module, function, matmul, out, binding.span)?;
            self.count += 1;
        }
        out.push(binding);
        Ok(())
    }

    /// Returns a matmul of float32 by a quantized matrix.
    fn matmul(&self, module: &Module, function: &Function, value: &Value) -> Option<Matmul> {
        let call = value.as_op("matmul")?;
        let [x, w] = call.operands()?;
        let matrix = self.matrices.get(&w.as_var()?)?.clone();
        let ty = function.operand_ty(module, x).as_tensor()?.clone();
        let (group, args, dims) = (matrix.group()?, matrix.operands()?, ty.dims()?.to_vec());
        let is_float = ty.dtype == Some(DType::FLOAT32) && ty.vdevice.is_none() && dims.len() >= 2;
        let fits = is_float && dims.last()?.as_int() == Some(matrix.format.shape[0]);
        fits.then(|| Matmul { x: x.clone(), dims, format: matrix.format, args, group })
    }

    /// Emits the matmul of int8 activations, and returns its result.
    fn quantized(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        matmul: Matmul,
        out: &mut Emitter,
        span: Span,
    ) -> Result<Value, Diagnostic> {
        let Matmul { dims, format, args, group, .. } = &matmul;
        let rows = dims::product(&dims[..dims.len() - 1]);
        let numbers = matmul
            .activations(&rows, &mut |name, call| out.call(module, function, name, call, span).map(Into::into))?;
        let kernel = Global::Tir(format.matmul_kernel(rows.as_int(), *group));
        let kernel = self.kernels.share(module, "quantized_matmul", kernel);
        let inputs = numbers.into_iter().chain(args.iter().cloned()).collect();
        let columns = PrimExpr::int64(format.shape[1]);
        let ty = TensorType::new([rows, columns.clone()], DType::FLOAT32);
        let call = Call::tir(kernel, inputs, ty.into());
        if dims.len() == 2 {
            return Ok(Value::Call(call));
        }
        let matmul = out.call(module, function, "matmul", call, span)?;
        let shape = dims[..dims.len() - 1].iter().cloned().chain([columns]).collect();
        Ok(Value::Call(op_call("reshape", vec![matmul.into(), Operand::Shape(shape)], [])?))
    }
}

/// A matmul of float32 activations by a quantized matrix.
struct Matmul {
    x: Operand,
    dims: Vec<PrimExpr>,
    format: PackedWeights,
    args: Vec<Operand>,
    /// Elements of a group of activations.
    group: i64,
}

impl Matmul {
    /// Emits the activations in int8, as a matrix, and their scales.
    fn activations(
        &self,
        rows: &PrimExpr,
        emit: &mut dyn FnMut(&str, Call) -> Result<Operand, Diagnostic>,
    ) -> Result<[Operand; 2], Diagnostic> {
        let terms = self.format.shape[0];
        let groups = vec![rows.clone(), PrimExpr::int64(terms / self.group), PrimExpr::int64(self.group)];
        let number = |value: f64| scalar(value as f32);
        let x = emit("groups", op_call("reshape", vec![self.x.clone(), Operand::Shape(groups)], [])?)?;
        let magnitudes = emit("magnitudes", op_call("abs", vec![x.clone()], [])?)?;
        let along = [("axis", vec![-1i64].into()), ("keepdims", true.into())];
        let maximum = emit("maximum", op_call("max", vec![magnitudes], along)?)?;
        let scales = emit("scales", op_call("multiply", vec![maximum.clone(), number(1.0 / MAX_NUMBER)?], [])?)?;
        let bounded = emit("bounded", op_call("maximum", vec![maximum, number(MIN_MAGNITUDE)?], [])?)?;
        let inverse = emit("inverse", op_call("divide", vec![number(MAX_NUMBER)?, bounded], [])?)?;
        let scaled = emit("scaled", op_call("multiply", vec![x, inverse], [])?)?;
        let zero = scalar(0i8)?;
        let to = [("out_dtype", DType::INT8.into())];
        let numbers = emit("numbers", op_call("quantize", vec![scaled, number(1.0)?, zero], to)?)?;
        let matrix = |columns: i64| Operand::Shape(vec![rows.clone(), PrimExpr::int64(columns)]);
        let numbers = emit("data", op_call("reshape", vec![numbers, matrix(terms)], [])?)?;
        let scales = emit("data_scales", op_call("reshape", vec![scales, matrix(terms / self.group)], [])?)?;
        Ok([numbers, scales])
    }
}

/// Returns a constant scalar.
fn scalar<T: Element>(value: T) -> Result<Operand, Diagnostic> {
    let tensor = Tensor::scalar(value).map_err(|error| Diagnostic::error(codes::NOT_LOWERABLE, error.to_string()))?;
    Ok(Operand::Const(Constant::new(tensor)))
}

/// A constant matrix that a kernel dequantizes.
#[derive(Clone)]
struct Matrix {
    format: PackedWeights,
    /// Packed matrix, scales, zero points.
    args: Vec<Constant>,
}

impl Matrix {
    /// Returns the matrix that a call of a kernel dequantizes.
    fn of(module: &Module, value: &Value) -> Option<Matrix> {
        let call = CallTir::of_value(value)?;
        let Global::Tir(kernel) = module.functions.get(call.kernel()?)? else { return None };
        if kernel.attrs.get(FLOAT_ACTIVATIONS).is_some() {
            return None;
        }
        let constant = |operand: &Operand| match operand {
            Operand::Const(constant) if constant.distributed.is_none() => Some(constant.clone()),
            _ => None,
        };
        let args = call.inputs()?.iter().map(constant).collect::<Option<Vec<_>>>()?;
        let format = PackedWeights::of(kernel)?;
        let is_exact = format.dtype == DType::FLOAT32 && format.has_integer_zeros();
        is_exact.then_some(Matrix { format, args })
    }

    /// Returns the elements of a group of activations.
    fn group(&self) -> Option<i64> {
        let [rows, _] = self.format.shape;
        let of_weights = self.format.group.min(rows);
        let fits = |group: &i64| of_weights % group == 0 && rows % group == 0 && group % GROUP_MULTIPLE == 0;
        (MIN_GROUP..=MAX_GROUP).rev().find(fits)
    }

    /// Returns the constants of the kernel: signed bytes become unsigned.
    fn operands(&self) -> Option<Vec<Operand>> {
        let mut args = self.args.clone();
        let numbers = &mut args.first_mut()?.tensor;
        if numbers.dtype() == DType::INT8 {
            let bytes: Vec<u8> = numbers.as_bytes().ok()?.iter().map(|byte| byte ^ 0x80).collect();
            *numbers = Tensor::from_bytes(DType::UINT8, numbers.shape(), &bytes).ok()?;
        }
        Some(args.into_iter().map(Operand::Const).collect())
    }
}
