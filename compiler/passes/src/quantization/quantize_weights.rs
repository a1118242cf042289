//! QuantizeWeights: weight-only quantization of constant matmul weights to int8 or int4.
//!
//! Each column of a matrix is divided into groups of rows. The elements of a group are integers, -127 to 127 or -7 to
//! 7, times one scale: the maximum magnitude in the group over 127 or 7. Eight int4 numbers are packed in a word.
//! A kernel dequantizes them (FuseOps fuses it into the matmul); if a column of float32 is one int8 group, its scale
//! multiplies the result of the matmul instead.
//!
//! Matrices of up to 64 KiB stay as they are: they would be dequantized at compile time. The accuracy loss is
//! reported: the root of the sum of squared differences, over that of the elements.

use crate::{
    Context, OptionKind, Options, Pass, PassOption,
    rewrite::{self, Emitter, op_call, shared_functions::SharedFunctions},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Function as Global, Module, PrimExpr, Tensor, TensorType, VDevice,
    relax::{Binding, Call, Constant, Function, Operand, Value},
};
use hammock_ops::packed_weights::PackedWeights;
use hammock_runtime::Element;
use indexmap::IndexMap;
use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "QuantizeWeights",
    doc: "Quantizes constant matmul weights to int8 or int4 (weight-only)",
    options: &[
        PassOption {
            name: "dtype",
            kind: OptionKind::Choice(&["int8", "int4"]),
            default: "\"int8\"",
            doc: "Dtype of quantized weights",
        },
        PassOption {
            name: "group",
            kind: OptionKind::Integer,
            default: "0",
            doc: "Rows of a column that share a scale; 0 for all rows with int8 and 32 with int4",
        },
        PassOption {
            name: "min_bytes",
            kind: OptionKind::Integer,
            default: "65537",
            doc: "Minimum size in bytes of a matrix to quantize",
        },
        SCALE_AFTER,
        PassOption {
            name: "table",
            kind: OptionKind::Bool,
            default: "false",
            doc: "Report the accuracy loss of each matrix, by the name of a matmul",
        },
    ],
    run,
};

/// True if the scales of int8 columns multiply results, instead of weights.
pub const SCALE_AFTER: PassOption = PassOption {
    name: "scale_after",
    kind: OptionKind::Bool,
    default: "true",
    doc: "Multiply results by the scales of int8 columns, instead of weights",
};

/// Returns the options for this dtype and group size.
pub fn to(dtype: &str, group: i64) -> Options {
    Options::of(&PASS).with([("dtype", dtype.into()), ("group", group.into())])
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let format = Format::of(context.options)?;
    let mut quantizer = Quantizer { format, kernels: SharedFunctions::default(), matrices: IndexMap::new() };
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, binding, out| quantizer.binding(module, function, binding, out))
    })?;
    context.report(|| quantizer.report(context.options.is_on("table")));
    Ok(())
}

/// Offset of int4 numbers in words.
const INT4_OFFSET: i8 = 8;

/// Quantized format.
#[derive(Clone, Copy)]
struct Format {
    /// Bits: 8 or 4.
    bits: i64,
    /// Rows per group, for all matrices; 0 for all rows.
    group: i64,
    /// Minimum size of a matrix in bytes.
    min_bytes: i64,
    /// True if the scales of int8 columns multiply results.
    scale_after: bool,
}

impl Format {
    fn of(options: &Options) -> Result<Self, Diagnostic> {
        let (bits, group) = (if options.text("dtype") == "int4" { 4 } else { 8 }, options.integer("group"));
        if group < 0 {
            let wrong = format!("`group` of pass `QuantizeWeights` is a number of rows, not {group}");
            return Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, wrong));
        }
        let group = if group == 0 && bits == 4 { 32 } else { group };
        let (min_bytes, scale_after) = (options.integer("min_bytes"), options.is_on(SCALE_AFTER.name));
        Ok(Format { bits, group, min_bytes, scale_after })
    }

    /// Returns the maximum quantized number.
    fn max(self) -> f32 {
        if self.bits == 4 { 7.0 } else { 127.0 }
    }

    /// Returns the format that kernels dequantize.
    fn packed(self, shape: [i64; 2], group: i64, dtype: DType) -> PackedWeights {
        let (scale_dtype, zero_dtype) = (DType::FLOAT32, None);
        PackedWeights { shape, bits: self.bits, is_signed: true, group, dtype, scale_dtype, zero_dtype }
    }
}

struct Quantizer {
    format: Format,
    kernels: SharedFunctions,
    /// Quantized matrices, each with the name of a matmul; equal constants are quantized once.
    matrices: IndexMap<Contents, (String, Option<Matrix>)>,
}

/// A constant, compared by its elements.
struct Contents(Tensor);

impl Contents {
    fn parts(&self) -> (DType, &[i64], &[u8]) {
        (self.0.dtype(), self.0.shape(), self.0.as_bytes().unwrap_or_default())
    }
}

impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Contents {}

impl Hash for Contents {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl Quantizer {
    fn binding(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        mut binding: Binding,
        out: &mut Emitter,
    ) -> Result<(), Diagnostic> {
        if let Some((call, Constant { tensor: weights, vdevice, .. })) = self.matmul(&binding.value) {
            let format = self.format;
            let made = || (function.vars[binding.var].name.to_string(), Matrix::quantize(&weights, format));
            let (_, matrix) = self.matrices.entry(Contents(weights.clone())).or_insert_with(made);
            if let Some(matrix) = matrix.clone() {
                binding.value = self.quantized_matmul(module, function, call, (matrix, vdevice), out, binding.span)?;
            }
        }
        out.push(binding);
        Ok(())
    }

    /// Returns a matmul by a constant matrix that is worth quantizing.
    fn matmul(&self, value: &Value) -> Option<(Call, Constant)> {
        let call = value.as_op("matmul")?;
        let [_, Operand::Const(constant @ Constant { tensor, distributed: None, .. })] = call.operands()? else {
            return None;
        };
        let fits = tensor.shape().len() == 2 && tensor.nbytes() as i64 >= self.format.min_bytes;
        fits.then(|| (call.clone(), constant.clone()))
    }

    /// Emits the matmul by a quantized matrix, which is on the device of the original one.
    fn quantized_matmul(
        &mut self,
        module: &mut Module,
        function: &mut Function,
        mut call: Call,
        (matrix, vdevice): (Matrix, Option<Arc<VDevice>>),
        out: &mut Emitter,
        span: hammock_ir::Span,
    ) -> Result<Value, Diagnostic> {
        let operand =
            |tensor: &Tensor| Operand::Const(Constant { vdevice: vdevice.clone(), ..Constant::new(tensor.clone()) });
        let scaled_after = self.format.scale_after
            && matrix.columns_are_groups()
            && matrix.dtype == DType::FLOAT32
            && self.format.bits == 8;
        let floats = match scaled_after {
            true => op_call("astype", vec![operand(&matrix.numbers)], [("dtype", matrix.dtype.into())])?,
            false => {
                let kernel = Global::Tir(self.format.packed(matrix.shape, matrix.group, matrix.dtype).kernel());
                let kernel = self.kernels.share(module, "dequantize_weights", kernel);
                let inputs = vec![operand(&matrix.numbers), operand(&matrix.scales)];
                let ty = TensorType::new(matrix.shape.map(PrimExpr::int64), matrix.dtype);
                Call::tir(kernel, inputs, TensorType { vdevice: vdevice.clone(), ..ty }.into())
            }
        };
        call.args[1] = out.call(module, function, "weights", floats, span)?.into();
        if !scaled_after {
            return Ok(Value::Call(call));
        }
        let matmul = out.call(module, function, "product", call, span)?;
        let scales = matrix.scales.view(DType::FLOAT32, &[matrix.shape[1]], 0);
        let scales = scales.map_err(|e| Diagnostic::error(codes::NOT_LOWERABLE, e.to_string()))?;
        Ok(Value::Call(op_call("multiply", vec![matmul.into(), operand(&scales)], [])?))
    }

    /// Returns a line for all matrices, with `table` preceded by a line for each.
    fn report(&self, table: bool) -> String {
        let matrices = || self.matrices.iter().filter_map(|(was, (name, is))| Some((&was.0, name, is.as_ref()?)));
        let line = |name: &str, before: usize, after: usize, squares: [f64; 2]| {
            let [before, after] = [before, after].map(|bytes| bytes as f64 / 1e6);
            let error = if squares[1] > 0.0 { (squares[0] / squares[1]).sqrt() * 100.0 } else { 0.0 };
            format!("{name}: {before:.3} MB become {after:.3} MB, with a relative error of {error:.2} %")
        };
        let mut lines = Vec::new();
        let (mut count, mut before, mut after, mut squares) = (0, 0, 0, [0.0; 2]);
        for (was, name, is) in matrices() {
            let bytes = is.numbers.nbytes() + is.scales.nbytes();
            lines.extend(table.then(|| line(name, was.nbytes(), bytes, is.squares)));
            (count, before, after) = (count + 1, before + was.nbytes(), after + bytes);
            squares = [0, 1].map(|i| squares[i] + is.squares[i]);
        }
        if count == 0 {
            let limit = self.format.min_bytes.saturating_sub(1);
            let limit = if limit % 1024 == 0 { format!("{} KiB", limit / 1024) } else { format!("{limit} bytes") };
            return format!("warning: nothing quantized; no constant matmul weight exceeds {limit}");
        }
        let matrices = if count == 1 { "matrix" } else { "matrices" };
        lines.push(line(&format!("{count} {matrices} in int{}", self.format.bits), before, after, squares));
        lines.join("\n")
    }
}

/// A quantized matrix.
#[derive(Clone)]
struct Matrix {
    /// Rows and columns.
    shape: [i64; 2],
    dtype: DType,
    /// Rows per group.
    group: i64,
    /// int8 of this shape, or words of eight int4 numbers.
    numbers: Tensor,
    /// float32 of shape (groups, columns).
    scales: Tensor,
    /// Sums of squares of the differences and of the elements.
    squares: [f64; 2],
}

impl Matrix {
    /// Quantizes a matrix of finite floats; `None` for others.
    fn quantize(weights: &Tensor, format: Format) -> Option<Matrix> {
        let values = floats(weights)?;
        let &[rows, columns] = weights.shape() else { return None };
        if !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let group = if format.group == 0 { rows } else { format.group.min(rows) };
        let (width, per_group) = (columns as usize, (group * columns) as usize);
        let (mut numbers, mut scales, mut squares) = (Vec::with_capacity(values.len()), Vec::new(), [0.0; 2]);
        for part in values.chunks(per_group) {
            let mut largest = vec![0f32; width];
            for row in part.chunks(width) {
                largest.iter_mut().zip(row).for_each(|(max, value)| *max = max.max(value.abs()));
            }
            let group_scales: Vec<f32> = largest.iter().map(|max| max / format.max()).collect();
            for row in part.chunks(width) {
                for (value, scale) in row.iter().zip(&group_scales) {
                    // The scale of a group of zeros is zero.
                    let number = if *scale > 0.0 { (value / scale).round_ties_even() } else { 0.0 };
                    let number = number.clamp(-format.max(), format.max());
                    squares[0] += f64::from(value - number * scale).powi(2);
                    squares[1] += f64::from(*value).powi(2);
                    numbers.push(number as i8);
                }
            }
            scales.extend(group_scales);
        }
        let groups = (scales.len() / width) as i64;
        let packed = format.packed([rows, columns], group, weights.dtype());
        let numbers = match format.bits {
            4 => {
                let words = packed.pack(|row, column| (numbers[row * width + column] + INT4_OFFSET) as u8);
                Tensor::from_slice(&packed.packed_shape(), &words)
            }
            _ => Tensor::from_slice(&[rows, columns], &numbers),
        };
        let (numbers, scales) = (numbers.ok()?, Tensor::from_slice(&[groups, columns], &scales).ok()?);
        Some(Matrix { shape: [rows, columns], dtype: weights.dtype(), group, numbers, scales, squares })
    }

    fn columns_are_groups(&self) -> bool {
        self.scales.shape()[0] == 1
    }
}

/// Returns the elements of a contiguous tensor of floats.
fn floats(tensor: &Tensor) -> Option<Vec<f32>> {
    fn read<T: Element>(tensor: &Tensor, to: fn(T) -> f32) -> Option<Vec<f32>> {
        Some(tensor.as_slice::<T>().ok()?.iter().map(|value| to(*value)).collect())
    }
    match tensor.dtype() {
        DType::FLOAT32 => read(tensor, |value: f32| value),
        DType::FLOAT16 => read(tensor, half::f16::to_f32),
        DType::BFLOAT16 => read(tensor, half::bf16::to_f32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(bits: i64, group: i64) -> Format {
        Format { bits, group, min_bytes: 0, scale_after: true }
    }

    #[test]
    fn numbers_are_the_nearest_multiples_of_their_scale() {
        let weights = Tensor::from_slice(&[3, 2], &[12.7f32, 0.0, -0.149, 0.0, 2.54, 0.0]).unwrap();
        let whole = Matrix::quantize(&weights, format(8, 0)).unwrap();
        assert_eq!(whole.numbers.as_slice::<i8>().unwrap(), [127, 0, -1, 0, 25, 0]);
        assert_eq!(whole.scales.as_slice::<f32>().unwrap(), [12.7 / 127.0, 0.0]);
        let groups = Matrix::quantize(&weights, format(8, 2)).unwrap();
        assert_eq!((groups.scales.shape(), groups.numbers.as_slice::<i8>().unwrap()[4]), (&[2, 2][..], 127));
        let expected = (0.049f64.powi(2) + 0.04f64.powi(2)).sqrt();
        assert!((whole.squares[0].sqrt() - expected).abs() < 1e-6, "{}", whole.squares[0].sqrt());
    }

    #[test]
    fn int4_numbers_are_packed_in_words() {
        // Rows 0 to 3 are in the low bits of the bytes of a word, rows 4 to 7 in the high bits, each plus 8.
        let weights = [-7f32, -3.0, 7.0, 0.0, 3.0, -6.0, 1.0, 2.0, 5.0].map(|weight| [weight, 7.0]).concat();
        let matrix = Matrix::quantize(&Tensor::from_slice(&[9, 2], &weights).unwrap(), format(4, 0)).unwrap();
        assert_eq!(matrix.scales.as_slice::<f32>().unwrap(), [1.0, 1.0]);
        assert_eq!(matrix.numbers.as_slice::<u32>().unwrap(), [0xa89f_25b1, 0xffff_ffff, 0x0d, 0x0f]);
    }

    #[test]
    fn other_constants_stay() {
        let infinite = Tensor::from_slice(&[1, 2], &[f32::INFINITY, 0.0]).unwrap();
        let integers = Tensor::from_slice(&[1, 2], &[1i32, 2]).unwrap();
        assert!(
            Matrix::quantize(&infinite, format(8, 0)).is_none() && Matrix::quantize(&integers, format(4, 0)).is_none()
        );
    }
}
