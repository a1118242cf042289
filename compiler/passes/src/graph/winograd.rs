//! Winograd: computes convolutions with constant 3x3 kernels by Winograd's algorithm.
//!
//! A convolution of stride 1 uses the algorithm F(4x4, 3x3) (A. Lavin, S. Gray: "Fast Algorithms for Convolutional
//! Neural Networks", 2015): the weights are transformed (FoldConstant does this at compile time), and a kernel
//! transforms tiles of the data, computes 36 matmuls, and transforms their results back. This takes a quarter of the
//! multiplications, and four times the memory for the weights.
//!
//! With 16-bit floats, all this is computed in float32: data and weights are upcast, and results rounded once.
//!
//! Results are rounded differently: with 64 channels they differ from exact results by up to about 7e-7 of the
//! largest, with 256 by 1e-6; those of a direct convolution by 3e-7. An infinity or NaN in the data makes all results
//! of the tiles that contain it NaN.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{
        compile_time::CompileTime,
        op_pattern::{OP_PATTERN, OpPattern},
    },
    rewrite::{self, Emitter, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, DType, Function as Global, Module, PrimExpr, Span, Tensor, TensorShape, TensorType, Type,
    relax::{Binding, Call, Constant, Function, Operand, Value},
};
use hammock_ops::{
    CallContext, Lowering, Op, WINOGRAD_INPUT_TILE, WINOGRAD_OUTPUT_TILE, dims, layout::Layout, lookup, winograd,
    winograd_weights,
};
use hammock_target::assumed_machine::L2_SET_STRIDE;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "Winograd",
    doc: "Computes convolutions with constant 3x3 kernels by Winograd's algorithm",
    options: &[CHEAPER],
    run,
};

pub const CHEAPER: PassOption = PassOption {
    name: "cheaper",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Only if the multiplications that it saves take longer than transforming data and results and reading more \
          weights",
};

/// Cost of transforming one element of data or results, and of reading one weight from memory, in multiplications of
/// 9 ps. With 64 channels of 56x56 elements a convolution takes 0.4 of the time, with 256 of 14x14 0.5 of it, but
/// with 16 of 224x224 or 512 of 7x7 1.5 times as long: there is too much to transform, or there are more weights than
/// data.
const ELEMENT_COST: i64 = 25;
const WEIGHT_COST: i64 = 20;
/// The 36 parts of the transformed data alias in the L2 cache if their stride is a multiple of this, because they map to
/// two sets: the transform takes three times as long, e.g. for 128x128 elements of 32 channels.
const ALIASING_STRIDE: i64 = L2_SET_STRIDE / 2;

/// Elements of a kernel along an axis.
const KERNEL: i64 = 3;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let cheaper = context.options.is_on(CHEAPER.name);
    let mut shared = SharedFunctions::default();
    rewrite::relax_functions(module, |module, _, function| {
        let known = CompileTime::of(function, false);
        rewrite::bindings(function, &mut |function, binding, out| {
            let convolution = Convolution::of(module, function, &known, &binding.value);
            match convolution.filter(|c| out.dataflow && (!cheaper || c.is_profitable())) {
                Some(convolution) => {
                    let span = binding.span;
                    ConvolutionEmitter { module, shared: &mut shared, function, out, span }.emit(&convolution, binding)
                }
                None => {
                    out.push(binding);
                    Ok(())
                }
            }
        })
    })
}

/// A supported convolution.
struct Convolution {
    data: Operand,
    weights: Operand,
    padding: AttrValue,
    data_layout: AttrValue,
    kernel_layout: Layout,
    out_layout: Layout,
    /// Batch, channels, height and width of the result.
    results: Vec<PrimExpr>,
    /// Channels of the data.
    channels: PrimExpr,
    /// Dtype of the results.
    dtype: DType,
}

impl Convolution {
    fn of(module: &Module, function: &Function, known: &CompileTime, value: &Value) -> Option<Convolution> {
        let call = value.as_op("nn.conv2d")?;
        let [data, weights] = call.operands()?;
        let (data_ty, weights_ty) = (tensor(module, function, data)?, tensor(module, function, weights)?);
        let dtype = data_ty.dtype.filter(|dtype| weights_ty.dtype == Some(*dtype))?;
        let is_float = dtype == DType::FLOAT32 || dtype.is_float16() || dtype.is_bfloat16();
        let ones = |name: &str| call.attrs.get(name)?.as_list()?.iter().all(|n| n.as_int() == Some(1)).then_some(());
        ones("strides").and(ones("dilation"))?;
        let is_plain = call.attrs.get("groups")?.as_int() == Some(1) && data_ty.vdevice.is_none();
        let result = match call.attrs.get("out_dtype")? {
            AttrValue::DType(own) if *own != DType::VOID => *own,
            AttrValue::DType(_) => dtype,
            other => other.is_none().then_some(dtype)?,
        };
        let fits = is_float && (result == dtype || result == DType::FLOAT32);
        let layout_of = |name: &str, axes: &str| {
            let text = call.attrs.get(name)?.as_str()?;
            Layout::parse(text).filter(|layout| layout.is_layout_of(axes) && !layout.has_blocks())
        };
        let data_layout = layout_of("data_layout", "NCHW")?;
        let out_layout = layout_of("out_layout", "NCHW").unwrap_or_else(|| data_layout.clone());
        let kernel_layout = layout_of("kernel_layout", "OIHW")?;
        let kernel = kernel_layout.to_primal("OIHW", weights_ty.dims()?);
        let is_3x3 = kernel[2..].iter().all(|size| size.as_int() == Some(KERNEL));
        if !is_plain || !fits || !is_3x3 || !known.knows(weights) {
            return None;
        }
        let padding = call.attrs.get("padding")?.clone();
        let before: Vec<i64> = padding.as_list()?.iter().map(AttrValue::as_int).collect::<Option<_>>()?;
        let [top, left, bottom, right] = before[..] else { return None };
        let sizes = data_layout.to_primal("NCHW", data_ty.dims()?);
        let positions = |size: &PrimExpr, around: i64| Some(size.as_int()? + around - KERNEL + 1).filter(|n| *n > 0);
        let (height, width) = (positions(&sizes[2], top + bottom)?, positions(&sizes[3], left + right)?);
        Some(Convolution {
            results: vec![sizes[0].clone(), kernel[0].clone(), height.into(), width.into()],
            channels: sizes[1].clone(),
            dtype: result,
            data: data.clone(),
            weights: weights.clone(),
            padding,
            data_layout: call.attrs.get("data_layout")?.clone(),
            kernel_layout,
            out_layout,
        })
    }

    /// Returns true if it is cheaper than direct convolution; a batch of unknown size is assumed to be 1.
    fn is_profitable(&self) -> bool {
        let size = |dim: &PrimExpr| dim.as_int().unwrap_or(1);
        let product = |sizes: &[i64]| sizes.iter().copied().fold(1, i64::saturating_mul);
        let (into, from, taps) =
            (size(&self.channels), size(&self.results[1]), WINOGRAD_INPUT_TILE * WINOGRAD_INPUT_TILE);
        let positions: Vec<i64> = [0, 2, 3].iter().map(|axis| size(&self.results[*axis])).collect();
        let tiles = product(&[positions[0], tiles_along(positions[1]), tiles_along(positions[2])]);
        let weights = into.saturating_mul(from);
        let direct = product(&[KERNEL * KERNEL, weights, product(&positions)]);
        let saved = direct.saturating_sub(product(&[taps, weights, tiles]));
        let aliases = |channels: i64| product(&[tiles, channels, DType::FLOAT32.bytes() as i64]) % ALIASING_STRIDE == 0;
        let times = if aliases(into) || aliases(from) { 3 } else { 1 };
        let transformed = product(&[taps, tiles, into.saturating_add(from), ELEMENT_COST, times]);
        let read = product(&[taps - KERNEL * KERNEL, weights, WEIGHT_COST]);
        saved > transformed.saturating_add(read)
    }
}

/// Emits the steps of one convolution.
struct ConvolutionEmitter<'a> {
    module: &'a mut Module,
    shared: &'a mut SharedFunctions,
    function: &'a mut Function,
    out: &'a mut Emitter,
    span: Span,
}

impl ConvolutionEmitter<'_> {
    fn emit(&mut self, c: &Convolution, binding: Binding) -> Result<(), Diagnostic> {
        let weights = self.weights(c)?;
        let attrs = [("padding", c.padding.clone()), ("data_layout", c.data_layout.clone())];
        let data = self.upcast(&c.data)?;
        let mut call = winograd().call(vec![data, weights], attrs);
        let own = layout("NHWC");
        call.ty_args = vec![Type::Tensor(TensorType {
            shape: TensorShape::Known(own.from_primal("NCHW", &c.results).into()),
            dtype: Some(DType::FLOAT32),
            vdevice: None,
        })];
        let mut result = self.kernel(call)?;
        if let Some(axes) = permutation(&own, &c.out_layout) {
            let before = self.bind(result)?;
            result = op("permute_dims").call(vec![before], [("axes", axes.into())]);
        }
        if c.dtype != DType::FLOAT32 {
            let wide = self.bind(result)?;
            result = op("astype").call(vec![wide], [("dtype", AttrValue::DType(c.dtype))]);
        }
        self.out.push(Binding { value: Value::Call(result), ..binding });
        Ok(())
    }

    /// Casts to float32.
    fn upcast(&mut self, operand: &Operand) -> Result<Operand, Diagnostic> {
        match tensor(self.module, self.function, operand).and_then(|tensor| tensor.dtype) {
            Some(DType::FLOAT32) => Ok(operand.clone()),
            _ => self.op("astype", vec![operand.clone()], [("dtype", AttrValue::DType(DType::FLOAT32))]),
        }
    }

    /// Emits the transformed weights, `[6, 6, channels of data, channels of results]`.
    fn weights(&mut self, c: &Convolution) -> Result<Operand, Diagnostic> {
        let mut weights = self.upcast(&c.weights)?;
        if let Some(axes) = permutation(&c.kernel_layout, &layout("HWIO")) {
            weights = self.op("permute_dims", vec![weights], [("axes", axes.into())])?;
        }
        let both = dims::mul(&c.channels, &c.results[1]);
        let taps = PrimExpr::from(WINOGRAD_INPUT_TILE);
        let flat = Operand::Shape(vec![(KERNEL * KERNEL).into(), both]);
        let flat = self.op("reshape", vec![weights, flat], [])?;
        let transformed = self.op("matmul", vec![matrix(&kernel_transform()), flat], [])?;
        let shape = Operand::Shape(vec![taps.clone(), taps, c.channels.clone(), c.results[1].clone()]);
        self.op("reshape", vec![transformed, shape], [])
    }

    /// Returns the `call_tir` that computes it, marked as a contraction for fusion.
    fn kernel(&mut self, call: Call) -> Result<Call, Diagnostic> {
        let op = winograd();
        let context = CallContext { module: self.module, function: self.function, op, call: &call };
        let Lowering::Tir(build) = &op.lowering else { unreachable!("it is a kernel") };
        let made = build(&context).map_err(|error| rewrite::rule_broken(error, self.span))?;
        let mut func = made.func;
        func.attrs.set(OP_PATTERN, OpPattern::OutElementWiseFusable as i64);
        let name = self.shared.share(self.module, &made.name, Global::Tir(func));
        Ok(Call::tir(name, made.args, made.out_ty))
    }

    fn op<const N: usize>(
        &mut self,
        name: &str,
        args: Vec<Operand>,
        attrs: [(&'static str, AttrValue); N],
    ) -> Result<Operand, Diagnostic> {
        self.bind(op(name).call(args, attrs))
    }

    fn bind(&mut self, call: Call) -> Result<Operand, Diagnostic> {
        Ok(self.out.call(self.module, self.function, "lv", call, self.span)?.into())
    }
}

fn tensor(module: &Module, function: &Function, operand: &Operand) -> Option<TensorType> {
    function.operand_ty(module, operand).as_tensor().cloned()
}

/// Returns the number of tiles for `results` results along an axis.
fn tiles_along(results: i64) -> i64 {
    (results + WINOGRAD_OUTPUT_TILE - 1) / WINOGRAD_OUTPUT_TILE
}

/// Returns the axes of `permute_dims` between layouts; `None` if they are the same.
fn permutation(from: &Layout, to: &Layout) -> Option<Vec<i64>> {
    to.permutation_from(from).filter(|_| from != to)
}

fn layout(text: &str) -> Layout {
    Layout::parse(text).unwrap_or_else(|| unreachable!("{text} is a layout"))
}

fn op(name: &str) -> &'static Op {
    lookup(name).unwrap_or_else(|| unreachable!("`{name}` is an operator"))
}

/// Returns the Kronecker product of G with itself: a row for each element of a transformed kernel, a column for each
/// element of the kernel.
fn kernel_transform() -> [[f32; 9]; 36] {
    let weights = winograd_weights();
    std::array::from_fn(|to| std::array::from_fn(|from| (weights[to / 6][from / 3] * weights[to % 6][from % 3]) as f32))
}

/// Returns a matrix as a constant.
fn matrix<const R: usize, const C: usize>(rows: &[[f32; C]; R]) -> Operand {
    let tensor = Tensor::from_slice(&[R as i64, C as i64], rows.as_flattened());
    Operand::Const(Constant::new(tensor.unwrap_or_else(|_| unreachable!("the sizes are those of the matrix"))))
}
