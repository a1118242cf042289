//! Kn2row: computes convolutions that read much padding as sums of matmuls, one for each element of the kernel.
//!
//! An element of the kernel multiplies data only at positions where it is inside of them; at the others it is in the
//! padding. For each element, the data that it multiplies are sliced and multiplied by its matrix of weights, and the
//! results are added at their positions (A. Vasudevan et al.: "Parallel Multi Channel Convolution using General Matrix
//! Multiplication", 2017). So padding takes no time: of a 3x3 kernel of dilation 12 over 14x14 elements, the center has
//! 196 positions, its four neighbours 28, and the corners 4. Each weight is read once.
//!
//! Data and results are moved to the layout `NHWC`, or `NWC`, `NDHWC`. Results of 16-bit floats are summed in float32.
//! Sums are rounded in another order. Infinite or NaN weights do not multiply the zeros of the padding.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{
        compile_time::CompileTime,
        convolution::{Convolution, Tap, layout, permutation},
    },
    rewrite::{self, Emitter, int_tuple, op_call},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, DType, Module, PrimExpr, Span,
    relax::{Binding, Function, Operand, Value},
};
use hammock_ops::{dims, layout::Layout};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "Kn2row",
    doc: "Computes convolutions that read much padding as sums of matmuls, one for each element of the kernel",
    options: &[CHEAPER],
    run,
};

pub const CHEAPER: PassOption = PassOption {
    name: "cheaper",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Only if the multiplications of padding take longer than moving data and results, and Winograd's algorithm \
          takes longer",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let cheaper = context.options.is_on(CHEAPER.name);
    rewrite::relax_functions(module, |module, _, function| {
        let known = CompileTime::of(function, false);
        rewrite::bindings(function, &mut |function, binding, out| {
            let convolution = Convolution::of(module, function, &binding.value);
            let fits = |c: &Convolution| out.dataflow && known.knows(&c.weights) && (!cheaper || is_profitable(c));
            match convolution.filter(fits).and_then(|c| Some((c.inside_taps()?, c))) {
                Some((taps, c)) => {
                    let span = binding.span;
                    SumEmitter { module, function, out, c: &c, span }.emit(&taps, binding)
                }
                None => {
                    out.push(binding);
                    Ok(())
                }
            }
        })
    })
}

/// Maximum number of matmuls of a convolution, which bounds the size of the code.
const MAX_TAPS: usize = 64;

/// Minimum gain in per cent: 3x3 kernels over 7x7 elements, where a fifth of the multiplications are of padding, gain
/// nothing in ResNet-18.
const MIN_GAIN: i64 = 15;

fn is_profitable(c: &Convolution) -> bool {
    let others = c.winograd_cost().map_or(c.direct_cost(), |cost| cost.min(c.direct_cost()));
    let is_small = c.inside_taps().is_some_and(|taps| taps.len() <= MAX_TAPS);
    is_small && c.kn2row_cost().is_some_and(|cost| cost < others / 100 * (100 - MIN_GAIN))
}

/// Emits the steps of one convolution.
struct SumEmitter<'a> {
    module: &'a Module,
    function: &'a mut Function,
    out: &'a mut Emitter,
    c: &'a Convolution,
    span: Span,
}

impl SumEmitter<'_> {
    fn emit(&mut self, taps: &[Tap], binding: Binding) -> Result<(), Diagnostic> {
        let c = self.c;
        let spatial = &c.primal[2..];
        let own = layout(&format!("N{spatial}C"));
        let data = self.permuted(&c.data, &c.data_layout, &own)?;
        let weights = self.permuted(&c.weights, &c.kernel_layout, &layout(&format!("{spatial}IO")))?;
        let mut sum: Option<Operand> = None;
        for tap in taps {
            let results = self.results_of(tap, &data, &weights)?;
            sum = Some(match sum {
                Some(sum) => self.op("add", vec![sum, results], [])?,
                None => results,
            });
        }
        let Some(mut result) = sum else {
            self.out.push(binding);
            return Ok(());
        };
        if self.accumulator().is_some_and(|dtype| dtype != c.dtype) {
            result = self.op("astype", vec![result], [("dtype", AttrValue::DType(c.dtype))])?;
        }
        let result = self.permuted(&result, &own, &c.out_layout)?;
        self.out.push(Binding { value: Value::Operand(result), ..binding });
        Ok(())
    }

    /// Emits the results of an element of the kernel at all positions: zero where it is in the padding.
    fn results_of(&mut self, tap: &Tap, data: &Operand, weights: &Operand) -> Result<Operand, Diagnostic> {
        let c = self.c;
        let read: Vec<[i64; 3]> = (0..c.rank())
            .map(|axis| {
                let ((tap, results), stride) = (&tap[axis], c.strides[axis]);
                let begin = results.start * stride + tap * c.dilation[axis] - c.before[axis];
                [begin, begin + (results.end - results.start - 1) * stride + 1, stride]
            })
            .collect();
        let sizes: Vec<i64> = tap.iter().map(|(_, results)| results.end - results.start).collect();
        let positions = dims::mul(&c.results[0], &sizes.iter().product::<i64>().into());
        let [into, from] = [&c.sizes[1], &c.kernel[0]].map(PrimExpr::clone);
        let data = match read.iter().zip(&c.sizes[2..]).all(|(read, size)| is_whole(read, size)) {
            true => data.clone(),
            false => self.slice(data, 1, &read)?,
        };
        let data = self.reshape(data, vec![positions, into.clone()])?;
        let at: Vec<[i64; 3]> = tap.iter().map(|(tap, _)| [*tap, tap + 1, 1]).collect();
        let matrix = self.slice(weights, 0, &at)?;
        let matrix = self.reshape(matrix, vec![into, from.clone()])?;
        let attrs = self.accumulator().map(|dtype| ("out_dtype", AttrValue::DType(dtype)));
        let results = match attrs {
            Some(wide) => self.op("matmul", vec![data, matrix], [wide])?,
            None => self.op("matmul", vec![data, matrix], [])?,
        };
        let sizes = sizes.into_iter().map(PrimExpr::from);
        let shape = [c.results[0].clone()].into_iter().chain(sizes).chain([from]).collect();
        let results = self.reshape(results, shape)?;
        let widths = tap
            .iter()
            .zip(&c.results[2..])
            .flat_map(|((_, results), size)| [results.start, size.as_int().map_or(0, |size| size - results.end)]);
        let widths: Vec<i64> = [0, 0].into_iter().chain(widths).chain([0, 0]).collect();
        match widths.iter().all(|width| *width == 0) {
            true => Ok(results),
            false => self.op("nn.pad", vec![results], [("pad_width", widths.into())]),
        }
    }

    /// Dtype of the sums, if it is not that of the operands.
    fn accumulator(&self) -> Option<DType> {
        (self.c.operand_dtype.bits == 16).then_some(DType::FLOAT32)
    }

    /// Emits slices `begin..end` with a stride of the axes from `first` on.
    fn slice(&mut self, tensor: &Operand, first: usize, slices: &[[i64; 3]]) -> Result<Operand, Diagnostic> {
        let mut args = vec![tensor.clone(), int_tuple((first as i64..).take(slices.len()))];
        args.extend((0..3).map(|part| int_tuple(slices.iter().map(|slice| slice[part]))));
        self.op("strided_slice", args, [])
    }

    fn reshape(&mut self, tensor: Operand, shape: Vec<PrimExpr>) -> Result<Operand, Diagnostic> {
        self.op("reshape", vec![tensor, Operand::Shape(shape)], [])
    }

    fn permuted(&mut self, tensor: &Operand, from: &Layout, to: &Layout) -> Result<Operand, Diagnostic> {
        match permutation(from, to) {
            Some(axes) => self.op("permute_dims", vec![tensor.clone()], [("axes", axes.into())]),
            None => Ok(tensor.clone()),
        }
    }

    fn op<const N: usize>(
        &mut self,
        name: &str,
        args: Vec<Operand>,
        attrs: [(&'static str, AttrValue); N],
    ) -> Result<Operand, Diagnostic> {
        Ok(self.out.call(self.module, self.function, "lv", op_call(name, args, attrs)?, self.span)?.into())
    }
}

/// Returns true if a slice is all of an axis.
fn is_whole(slice: &[i64; 3], size: &PrimExpr) -> bool {
    slice[0] == 0 && slice[2] == 1 && size.as_int() == Some(slice[1])
}
