//! ToMixedPrecision: products and convolutions of float32 compute in 16 bits, and what can follows them.
//!
//! Operators say in their declarations what they do ([`Precision`]). One that *always* goes down has its operands
//! converted to 16 bits, adds up in `out_dtype`, and its result is kept in 16 bits. One that *follows* does so when all
//! its operands are there already, or are constants that fit; else it gets float32. All others *never* do: they get the
//! dtypes that the program gave their operands. A value that only operators of the first kind use is converted once,
//! where it is made, and others at each use.
//!
//! Only dataflow blocks are converted; what leaves one has the dtype that it had, so nothing outside notices. With
//! `fp16_input_names`, parameters of those names are in 16 bits themselves.

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
use required_precision::Needs;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ToMixedPrecision",
    doc: "Computes products and convolutions in 16 bits, and keeps float32 where it matters",
    options: &[
        PassOption {
            name: "out_dtype",
            kind: OptionKind::Choice(&["float32", "float16", "bfloat16"]),
            default: "\"float32\"",
            doc: "The dtype in which products and convolutions add up",
        },
        PassOption {
            name: "fp16_input_names",
            kind: OptionKind::Texts,
            default: "[]",
            doc: "Parameters that are given in 16 bits",
        },
        PassOption {
            name: "dtype",
            kind: OptionKind::Choice(&["float16", "bfloat16"]),
            default: "\"float16\"",
            doc: "The 16 bits: short and exact, or of float32's range",
        },
    ],
    run,
};

/// The dtypes of a run.
#[derive(Clone, Copy)]
struct Dtypes {
    /// The 16 bits.
    short: DType,
    /// What products add up in.
    out: DType,
}

impl Dtypes {
    /// Returns true if tensors of this dtype take part.
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
        bodies(&Pieces { module, dtypes, given: &given, memory: &memory }, function, &params, &mut body)?;
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

/// What all blocks of a function have in common.
struct Pieces<'a> {
    module: &'a Module,
    dtypes: Dtypes,
    /// Parameters that are in 16 bits, with the variables that hold them.
    given: &'a [(Var, Var)],
    memory: &'a MemoryDependences,
}

/// Converts the dataflow blocks of a body, and of the bodies nested in it.
fn bodies(pieces: &Pieces, function: &mut Function, params: &[Var], body: &mut Body) -> Result<(), Diagnostic> {
    let needs = Needs::of(pieces.module, function, body, pieces.dtypes);
    for block in &mut body.blocks {
        if block.dataflow {
            let caster = Caster::new(pieces, function, &needs);
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
                    result = bodies(pieces, function, &params, nested);
                }
            });
            result?;
        }
    }
    Ok(())
}

/// What a call's operator does; one that always goes down never does with other operands than floats.
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
