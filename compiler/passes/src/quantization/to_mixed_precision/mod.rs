//! ToMixedPrecision: computes matmuls and convolutions of float32 in 16 bits, and propagates the precision.
//!
//! Operators declare their [`Precision`]. The operands of one that *always* converts are cast to 16 bits, it
//! accumulates in `out_dtype`, and its result is stored in 16 bits. One that *follows* computes in 16 bits if all its
//! operands are there already, or are constants that fit; otherwise in float32. All others *never* do: they get the
//! program's dtypes. A value used only by operators of the first kind is converted once, at its definition, and
//! others at each use.
//!
//! Only dataflow blocks are converted; values that leave one have their original dtype. With `fp16_input_names`,
//! parameters of those names are passed in 16 bits.

mod block;
mod inputs;
mod required_precision;

use crate::{Context, OptionKind, Pass, PassOption, rewrite};
use block::Caster;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Module,
    relax::{
        Body, Function, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::{Table, precision::Precision};
use inputs::Inputs;
use required_precision::Requirements;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ToMixedPrecision",
    doc: "Computes matmuls and convolutions in 16 bits, and keeps float32 where precision matters",
    options: &[
        PassOption {
            name: "out_dtype",
            kind: OptionKind::Choice(&["float32", "float16", "bfloat16"]),
            default: "\"float32\"",
            doc: "Accumulator dtype of matmuls and convolutions",
        },
        PassOption {
            name: "fp16_input_names",
            kind: OptionKind::Texts,
            default: "[]",
            doc: "Parameters that are passed in 16 bits",
        },
        PassOption {
            name: "dtype",
            kind: OptionKind::Choice(&["float16", "bfloat16"]),
            default: "\"float16\"",
            doc: "16-bit dtype: float16 is more precise, bfloat16 has float32's range",
        },
    ],
    run,
};

/// Dtypes of a run of the pass.
#[derive(Clone, Copy)]
struct Dtypes {
    /// 16-bit dtype.
    short: DType,
    /// Accumulator dtype.
    out: DType,
}

impl Dtypes {
    /// Returns true if tensors of this dtype are converted.
    fn takes(self, dtype: Option<DType>) -> bool {
        dtype == Some(self.short) || dtype == Some(DType::FLOAT32)
    }
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let dtypes = dtypes(context)?;
    let mut inputs = Inputs::read(module, context.options.texts("fp16_input_names"))?;
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, name, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let mut body = rewrite::take_body(function);
        let params = function.lambda.params.clone();
        let given = inputs.convert(name, function, &mut body, dtypes)?;
        bodies(&FunctionContext { module, dtypes, given: &given, memory: &memory }, function, &params, &mut body)?;
        function.lambda.body = body;
        Ok(())
    })
}

fn dtypes(context: &Context) -> Result<Dtypes, Diagnostic> {
    let dtype = |name: &str| match context.options.text(name).as_str() {
        "float16" => DType::FLOAT16,
        "bfloat16" => DType::BFLOAT16,
        _ => DType::FLOAT32,
    };
    let (short, out) = (dtype("dtype"), dtype("out_dtype"));
    if out != short && out != DType::FLOAT32 {
        let message = format!("pass `ToMixedPrecision` cannot add up in {out} what it computes in {short}");
        let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, message);
        return Err(error.help(format!("write `ToMixedPrecision{{dtype=\"{out}\",out_dtype=\"{out}\"}}`")));
    }
    Ok(Dtypes { short, out })
}

/// Context shared by all blocks of a function.
struct FunctionContext<'a> {
    module: &'a Module,
    dtypes: Dtypes,
    /// Parameters passed in 16 bits, with the new variables.
    given: &'a [(Var, Var)],
    memory: &'a MemoryDependences,
}

/// Converts the dataflow blocks of a body and its nested bodies.
fn bodies(
    shared: &FunctionContext,
    function: &mut Function,
    params: &[Var],
    body: &mut Body,
) -> Result<(), Diagnostic> {
    let requirements = Requirements::of(shared.module, function, body, shared.dtypes);
    for block in &mut body.blocks {
        if block.dataflow {
            let caster = Caster::new(shared, function, &requirements);
            block.bindings = caster.block(params, std::mem::take(&mut block.bindings))?;
        }
        for binding in &mut block.bindings {
            let params = match &binding.value {
                hammock_ir::relax::Value::Function(lambda) => lambda.params.clone(),
                _ => Vec::new(),
            };
            let mut result = Ok(());
            binding.value.each_body_mut(&mut |nested| {
                if result.is_ok() {
                    result = bodies(shared, function, &params, nested);
                }
            });
            result?;
        }
    }
    Ok(())
}

/// Returns the precision of a call's operator; with operands other than floats, *always* becomes *never*.
fn precision(module: &Module, function: &Function, call: &hammock_ir::relax::Call, dtypes: Dtypes) -> Precision {
    use hammock_ir::{Type, relax::Callee};
    let Callee::Op(name) = &call.callee else { return Precision::Never };
    let declared = hammock_ops::lookup(name).map_or(Precision::Never, |op| op.precision);
    let takes = |operand| match function.operand_ty(module, operand) {
        Type::Tensor(t) => dtypes.takes(t.dtype),
        _ => true,
    };
    match declared {
        Precision::Always if !call.args.iter().all(takes) => Precision::Never,
        declared => declared,
    }
}
