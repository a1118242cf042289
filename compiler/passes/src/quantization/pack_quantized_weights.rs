//! PackQuantizedWeights: packs constant weights that a model dequantizes, for matmuls that dequantize in registers.
//!
//! A matmul by `R.dequantize` of a constant int8 or uint8 matrix, whose scales and zero points are for the whole matrix or
//! for its columns, reads the matrix as it is stored: a kernel dequantizes it (FuseOps fuses it into the matmul). Elements
//! that fit into 4 bits are packed in words. If int8 numbers have no zero points and the matrix is float32, the scales
//! multiply the result of the matmul instead.
//!
//! Matrices of up to 64 KiB stay as they are: they are dequantized at compile time. So do those with other parameters.
//! FakeQuantizationToInteger, which runs before, handles matmuls whose activations are quantized as well, and moves
//! transposes before the dequantization.

use crate::{
    Context, OptionKind, Pass, PassOption,
    rewrite::{self, Emitter, op_call, shared_functions::SharedFunctions},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, DType, Function as Global, Module, Span, Tensor,
    relax::{Binding, Call, Constant, Function, Operand, Value, Var},
};
use hammock_ops::packed_weights::QuantizedMatrix;
use hammock_runtime::value::TensorError;
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "PackQuantizedWeights",
    doc: "Packs constant dequantized weights for matmuls that dequantize in registers",
    options: &[MIN_BYTES],
    run,
};

const MIN_BYTES: PassOption = PassOption {
    name: "min_bytes",
    kind: OptionKind::Integer,
    default: "65537",
    doc: "Minimum size in bytes of a dequantized matrix to pack",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let min_bytes = context.options.integer(MIN_BYTES.name);
    let mut packer = Packer { min_bytes, kernels: SharedFunctions::default(), matrices: FxHashMap::default() };
    rewrite::relax_functions(module, |module, _, function| {
        packer.matrices.clear();
        rewrite::bindings(function, &mut |function, binding, out| packer.binding(module, function, binding, out))
    })
}

struct Packer {
    min_bytes: i64,
    kernels: SharedFunctions,
    /// Dequantized matrices of the function.
    matrices: FxHashMap<Var, Dequantized>,
}

impl Packer {
    fn binding(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        mut binding: Binding,
        out: &mut Emitter,
    ) -> Result<(), Diagnostic> {
        if let Some(matrix) = Dequantized::of(&binding.value, self.min_bytes) {
            self.matrices.insert(binding.var, matrix);
        } else if let Some((call, matrix)) = self.matmul(&binding.value)
            && let Some(packed) = matrix.quantized().map_err(|error| failed(&error))?
            && let Some(value) =
                self.packed_matmul(module, function, call, (matrix.dtype, packed), out, binding.span)?
        {
            binding.value = value;
        }
        out.push(binding);
        Ok(())
    }

    /// Returns a matmul by a dequantized matrix.
    fn matmul(&self, value: &Value) -> Option<(Call, Dequantized)> {
        let call = value.as_op("matmul")?;
        let [_, w] = call.operands()?;
        Some((call.clone(), self.matrices.get(&w.as_var()?)?.clone()))
    }

    /// Emits the matmul by the packed matrix; `None` if there is no kernel for it.
    fn packed_matmul(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        mut call: Call,
        (dtype, matrix): (DType, QuantizedMatrix),
        out: &mut Emitter,
        span: Span,
    ) -> Result<Option<Value>, Diagnostic> {
        let Some((format, inputs)) = matrix.packed(dtype).map_err(|error| failed(&error))? else { return Ok(None) };
        let operand = |tensor: Tensor| Operand::Const(Constant::new(tensor));
        let scale_dtype = matrix.scales.dtype();
        let is_plain = matrix.zeros.is_none() && [dtype, scale_dtype] == [DType::FLOAT32; 2];
        if !(is_plain && inputs[0].dtype() == DType::INT8) {
            let kernel = self.kernels.share(module, "dequantize_weights", Global::Tir(format.kernel()));
            let floats = Call::tir(kernel, inputs.into_iter().map(operand).collect(), format.ty());
            call.args[1] = out.call(module, function, "weights", floats, span)?.into();
            return Ok(Some(Value::Call(call)));
        }
        let floats = op_call("astype", vec![operand(matrix.numbers)], [("dtype", dtype.into())])?;
        call.args[1] = out.call(module, function, "weights", floats, span)?.into();
        let matmul = out.call(module, function, "product", call, span)?;
        let scales = matrix.scales.view(scale_dtype, &[format.shape[1]], 0).map_err(|error| failed(&error))?;
        Ok(Some(Value::Call(op_call("multiply", vec![matmul.into(), operand(scales)], [])?)))
    }
}

fn failed(error: &TensorError) -> Diagnostic {
    Diagnostic::error(codes::NOT_LOWERABLE, error.to_string())
}

/// A constant matrix that `R.dequantize` computes.
#[derive(Clone)]
struct Dequantized {
    numbers: Tensor,
    scale: Tensor,
    zero: Tensor,
    /// Axis of the parameters, if they are vectors.
    axis: usize,
    dtype: DType,
}

impl Dequantized {
    fn of(value: &Value, min_bytes: i64) -> Option<Dequantized> {
        let call = value.as_op("dequantize")?;
        let [numbers, scale, zero] = call.operands()?;
        let constant = |operand: &Operand| match operand {
            Operand::Const(Constant { tensor, vdevice: None, distributed: None, .. }) => Some(tensor.clone()),
            _ => None,
        };
        let axis = call.attrs.get("axis")?.as_int()?;
        let axis = usize::try_from(if axis < 0 { axis + 2 } else { axis }).ok()?;
        let (numbers, scale, zero) = (constant(numbers)?, constant(scale)?, constant(zero)?);
        let Some(AttrValue::DType(dtype)) = call.attrs.get("out_dtype") else { return None };
        let is_byte = |tensor: &Tensor| matches!(tensor.dtype(), DType::INT8 | DType::UINT8);
        let is_large = (numbers.element_count() * dtype.bytes()) as i64 >= min_bytes;
        let fits = numbers.shape().len() == 2 && is_byte(&numbers) && is_byte(&zero) && is_large;
        fits.then_some(Dequantized { numbers, scale, zero, axis, dtype: *dtype })
    }

    /// Returns the matrix with parameters for columns; `None` if these are for rows.
    fn quantized(&self) -> Result<Option<QuantizedMatrix>, TensorError> {
        let &[rows, columns] = self.numbers.shape() else { return Ok(None) };
        let row = |parameter: &Tensor| -> Result<Option<Tensor>, TensorError> {
            let bytes = parameter.as_bytes()?;
            let bytes = match parameter.element_count() {
                1 => bytes.repeat(columns as usize),
                count if self.axis == 1 && count as i64 == columns => bytes.to_vec(),
                _ => return Ok(None),
            };
            Tensor::from_bytes(parameter.dtype(), &[1, columns], &bytes).map(Some)
        };
        let has_zeros = self.zero.as_bytes()?.iter().any(|zero| *zero != 0);
        let (Some(scales), Some(zeros)) = (row(&self.scale)?, row(&self.zero)?) else { return Ok(None) };
        let (numbers, zeros) = (self.numbers.clone(), has_zeros.then_some(zeros));
        Ok(Some(QuantizedMatrix { numbers, scales, zeros, group: rows }))
    }
}
