//! Winograd: computes convolutions with small constant kernels by Winograd's algorithm.
//!
//! A convolution of stride 1 with a 3x3 kernel uses the algorithm F(4x4, 3x3) (A. Lavin, S. Gray: "Fast Algorithms for
//! Convolutional Neural Networks", 2015): the weights are transformed (FoldConstant does this at compile time), and a
//! kernel transforms tiles of the data, computes 36 matmuls, and transforms their results back. This takes a quarter of
//! the multiplications, and four times the memory for the weights. Other kernels of up to 5x5 elements use the same
//! tiles of data for other numbers of results, F(2x2, 5x5) for 5x5. A dilated convolution is computed at positions that
//! are as far apart as the elements of its window.
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
        convolution::{Convolution, layout, permutation, tensor},
        op_pattern::{OP_PATTERN, OpPattern},
    },
    rewrite::{self, Emitter, op_call, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, DType, Function as Global, Module, PrimExpr, Span, Tensor, TensorShape, TensorType, Type,
    relax::{Binding, Call, Constant, Function, Operand, Value},
};
use hammock_ops::{CallContext, Lowering, WinogradTiles, dims, winograd, winograd_weights};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "Winograd",
    doc: "Computes convolutions with small constant kernels by Winograd's algorithm",
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

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let cheaper = context.options.is_on(CHEAPER.name);
    let mut shared = SharedFunctions::default();
    rewrite::relax_functions(module, |module, _, function| {
        let known = CompileTime::of(function, false);
        rewrite::bindings(function, &mut |function, binding, out| {
            let convolution = Convolution::of(module, function, &binding.value).filter(|c| known.knows(&c.weights));
            let fits = |c: &Convolution| out.dataflow && (!cheaper || is_profitable(c));
            match convolution.filter(fits).and_then(|c| Some((c.winograd_tiles()?, c))) {
                Some((tiles, c)) => {
                    let span = binding.span;
                    ConvolutionEmitter { module, shared: &mut shared, function, out, span }.emit(&c, tiles, binding)
                }
                None => {
                    out.push(binding);
                    Ok(())
                }
            }
        })
    })
}

fn is_profitable(c: &Convolution) -> bool {
    c.winograd_cost().is_some_and(|cost| cost < c.direct_cost())
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
    fn emit(&mut self, c: &Convolution, tiles: [WinogradTiles; 2], binding: Binding) -> Result<(), Diagnostic> {
        let weights = self.weights(c, tiles)?;
        let attrs = [
            ("padding", [&c.before[..], &c.after].concat().into()),
            ("dilation", c.dilation.clone().into()),
            ("window", tiles.map(|tiles| tiles.window).to_vec().into()),
            ("groups", AttrValue::Int(c.groups)),
            ("data_layout", AttrValue::Str(c.data_layout.to_string().into())),
        ];
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
            result = op_call("permute_dims", vec![before], [("axes", axes.into())])?;
        }
        if c.dtype != DType::FLOAT32 {
            let wide = self.bind(result)?;
            result = op_call("astype", vec![wide], [("dtype", AttrValue::DType(c.dtype))])?;
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

    /// Emits the transformed weights, `[input tile height, input tile width, channels of a group, channels of results]`.
    fn weights(&mut self, c: &Convolution, tiles: [WinogradTiles; 2]) -> Result<Operand, Diagnostic> {
        let mut weights = self.upcast(&c.weights)?;
        if let Some(axes) = permutation(&c.kernel_layout, &layout("HWIO")) {
            weights = self.op("permute_dims", vec![weights], [("axes", axes.into())])?;
        }
        let both = dims::mul(&c.kernel[1], &c.kernel[0]);
        let flat = Operand::Shape(vec![tiles.map(|tiles| tiles.window).iter().product::<i64>().into(), both]);
        let flat = self.op("reshape", vec![weights, flat], [])?;
        let transformed = self.op("matmul", vec![kernel_transform(tiles), flat], [])?;
        let [height, width] = tiles.map(|tiles| PrimExpr::from(tiles.input()));
        let shape = Operand::Shape(vec![height, width, c.kernel[1].clone(), c.kernel[0].clone()]);
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
        self.bind(op_call(name, args, attrs)?)
    }

    fn bind(&mut self, call: Call) -> Result<Operand, Diagnostic> {
        Ok(self.out.call(self.module, self.function, "lv", call, self.span)?.into())
    }
}

/// Returns the Kronecker product of the matrices G of both axes as a constant: a row for each element of a transformed
/// kernel, a column for each element of the kernel.
fn kernel_transform(tiles: [WinogradTiles; 2]) -> Operand {
    let [down, across] = tiles.map(winograd_weights);
    let pairs = |row: &[f64], other: &[f64]| -> Vec<f32> {
        row.iter().flat_map(|a| other.iter().map(move |b| (a * b) as f32)).collect()
    };
    let elements: Vec<f32> = down.iter().flat_map(|row| across.iter().flat_map(|other| pairs(row, other))).collect();
    let shape = [tiles.map(|tiles| tiles.input()), tiles.map(|tiles| tiles.window)].map(|sizes| sizes.iter().product());
    let tensor = Tensor::from_slice(&shape, &elements);
    Operand::Const(Constant::new(tensor.unwrap_or_else(|_| unreachable!("the sizes are those of the matrix"))))
}
