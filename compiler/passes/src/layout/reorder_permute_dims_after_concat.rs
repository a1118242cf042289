//! ReorderPermuteDimsAfterConcat: concatenates tensors before permuting them, if all are permuted in the same way.
//!
//! `concat((permute_dims(a), permute_dims(b)))` becomes `permute_dims(concat((a, b)))`. With CombineParallelMatmul
//! this concatenates the weights of linear layers that read the same input.
//!
//! Kernels that read whole rows of a large tensor are faster than those that gather parts of several. But if the
//! concatenation is only copied, concatenating permuted parts is as fast: `for_products` leaves it.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::permutation::permutation,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{Call, Definitions, Operand, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ReorderPermuteDimsAfterConcat",
    doc: "Concatenates tensors before permuting them, if all are permuted in the same way",
    options: &[FOR_MATMULS],
    run,
};

pub const FOR_MATMULS: PassOption = PassOption {
    name: "for_products",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Only if the only user of the concatenation is a matmul or another permute",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let for_products = context.options.is_on(FOR_MATMULS.name);
    editor::apply(module, |_, _| Some(if for_products { reorder_below } else { reorder }))
}

/// Rewrites a matmul or permute of concatenated tensors into one of a tensor permuted after the concatenation.
fn reorder_below(e: &mut Editor, value: &Value) -> Option<Value> {
    let user = value.as_op("matmul").or_else(|| value.as_op("permute_dims"))?;
    let concatenated = user.args.last()?;
    if e.is_shared(concatenated) {
        return None;
    }
    let concat = Value::Call(e.op(concatenated, "concat")?.clone());
    let permuted = reorder(e, &concat)?;
    let mut user = user.clone();
    *user.args.last_mut()? = e.bind(permuted)?;
    Some(Value::Call(user))
}

fn reorder(e: &mut Editor, value: &Value) -> Option<Value> {
    let concat = value.as_op("concat")?;
    let [parts] = concat.operands()?;
    let parts = e.members(parts)?;
    let permuted: Vec<&Call> = parts.iter().map(|part| e.op(part, "permute_dims")).collect::<Option<_>>()?;
    let permutations: Vec<Vec<i64>> =
        permuted.iter().map(|call| permutation(call, e.tensor(call.args.first()?)?.ndim()?)).collect::<Option<_>>()?;
    let [first, others @ ..] = permutations.as_slice() else { return None };
    if others.is_empty() || others.iter().any(|other| other != first) {
        return None;
    }
    let axis = first[axis(concat, first.len())?];
    let axes = permuted[0].attrs.get("axes")?.clone();
    let inputs = permuted.iter().map(|call| call.args.first().cloned()).collect::<Option<_>>()?;
    let concatenated = e.emit("concat", [Operand::Tuple(inputs)], [("axis", axis.into())])?;
    e.make("permute_dims", [concatenated], [("axes", axes)])
}

/// Returns the axis of a `concat`.
fn axis(concat: &Call, ndim: usize) -> Option<usize> {
    let axis = concat.attrs.get("axis")?.as_int()?;
    usize::try_from(if axis < 0 { axis + ndim as i64 } else { axis }).ok().filter(|axis| *axis < ndim)
}
