//! cuBLASLt: matmuls with a bias and an activation, on CUDA devices.

use super::{Library, LibraryCall, Site};
use crate::analysis::permutation::swaps_last_two;
use hammock_ir::{
    DType, PrimExpr, TensorType, Type,
    relax::{Call, Definitions, Operand, Var},
};
use hammock_ops::dims;

/// See the module's documentation.
pub(super) static LIBRARY: Library = Library {
    name: "cublas",
    doc: "Matmuls of float16, bfloat16, float32 and float64 with a bias, ReLU or the GELU by a tanh",
    patterns,
    call,
};

/// Activations: the operator, and what the builtin calls it.
const ACTIVATIONS: [(&str, &str); 2] = [("nn.relu", "relu"), ("nn.gelu_tanh", "gelu_tanh")];

fn patterns() -> Vec<(String, String)> {
    let matmuls = [("_transposed", "R.matmul(_, R.permute_dims(_))"), ("", "R.matmul(_, _)")];
    let biased =
        matmuls.iter().map(|(name, text)| (format!("{name}_bias"), format!("R.add({text}, _) | R.add(_, {text})")));
    let sums: Vec<(String, String)> =
        biased.chain(matmuls.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))).collect();
    let activated = ACTIVATIONS.iter().flat_map(|(op, activation)| {
        sums.iter().map(move |(name, text)| (format!("{name}_{activation}"), format!("R.{op}({text})")))
    });
    let all = activated.chain(sums.iter().cloned());
    all.map(|(name, text)| (format!("cublas.matmul{name}"), text)).collect()
}

fn call(site: &Site, root: Var) -> Option<LibraryCall> {
    let mut value_count = 1;
    let mut value = Operand::Var(root);
    let mut activation = "none";
    let result = tensor(site, &value)?;
    for (op, name) in ACTIVATIONS {
        if let Some(call) = site.graph.op(&value, op) {
            activation = name;
            value = only_used_here(site, call.args.first()?)?;
            value_count += 1;
            break;
        }
    }
    let mut bias = None;
    if let Some([first, second]) = site.graph.op(&value, "add").and_then(Call::operands) {
        let of = |operand| site.graph.op(operand, "matmul").map(|_| operand);
        let (sum, added) = of(first).map(|sum| (sum, second)).or_else(|| Some((of(second)?, first)))?;
        bias = Some(added.clone());
        value = only_used_here(site, sum)?;
        value_count += 1;
    }
    let [lhs, rhs] = site.graph.op(&value, "matmul")?.operands()?;
    let (mut rhs, mut transposed) = (rhs.clone(), false);
    if let Some(permute) = site.graph.op(&rhs, "permute_dims")
        && swaps_last_two(permute, tensor(site, &rhs)?.ndim()?)
        && let Some(permuted) = only_used_here(site, &rhs)
        && site.graph.op(&permuted, "permute_dims").is_some()
    {
        rhs = permute.args.first()?.clone();
        transposed = true;
        value_count += 1;
    }
    let problem = Problem { lhs: tensor(site, lhs)?, rhs: tensor(site, &rhs)?, transposed, result };
    let bias_ty = bias.as_ref().map(|bias| tensor(site, bias));
    if !problem.is_supported() || bias_ty.is_some_and(|ty| !ty.is_some_and(|ty| problem.takes_bias(&ty))) {
        return None;
    }
    if (bias.is_some() || activation != "none") && problem.result.dtype == Some(DType::FLOAT64) {
        return None;
    }
    let args = [lhs.clone(), rhs].into_iter().chain(bias);
    let options = [Operand::Prim(PrimExpr::bool(transposed)), Operand::Str(activation.into())];
    Some(LibraryCall { builtin: "hammock.cublas.matmul", args: args.chain(options).collect(), value_count })
}

/// Types of the operands and the result of a matmul.
struct Problem {
    lhs: TensorType,
    rhs: TensorType,
    transposed: bool,
    result: TensorType,
}

impl Problem {
    /// Returns true if the builtin accepts them: one matrix for all rows, or one for each element of a batch.
    fn is_supported(&self) -> bool {
        let (Some(lhs), Some(rhs)) = (self.lhs.dims(), self.rhs.dims()) else { return false };
        let ([lhs_batch @ .., _, _], [rhs_batch @ .., _, _]) = (lhs, rhs) else { return false };
        let is_half = |dtype| matches!(dtype, DType::FLOAT16 | DType::BFLOAT16);
        let (Some(dtype), Some(result)) = (self.lhs.dtype, self.result.dtype) else { return false };
        let has_dtype = is_half(dtype) || matches!(dtype, DType::FLOAT32 | DType::FLOAT64);
        has_dtype
            && self.rhs.dtype == Some(dtype)
            && (result == dtype || (is_half(dtype) && result == DType::FLOAT32))
            && (rhs_batch.is_empty() || dims::all_equal(rhs_batch, lhs_batch))
            && [&self.lhs, &self.rhs, &self.result].into_iter().all(is_on_cuda)
    }

    /// Returns true if a tensor can be added to each row. A sum of no elements has no bias.
    fn takes_bias(&self, bias: &TensorType) -> bool {
        let Some([.., k]) = self.lhs.dims() else { return false };
        let Some([.., rows, columns]) = self.rhs.dims() else { return false };
        let n = if self.transposed { rows } else { columns };
        let has_extent =
            bias.dims().is_some_and(|dims| matches!(dims, [extent] if dims::equal(extent, n) == Some(true)));
        k.as_int().is_some_and(|k| k > 0) && has_extent && bias.dtype == self.result.dtype && is_on_cuda(bias)
    }
}

/// Returns true unless a tensor is on a device of another kind.
fn is_on_cuda(tensor: &TensorType) -> bool {
    tensor.vdevice.as_ref().is_none_or(|device| device.kind() == "cuda")
}

/// Returns an operand with one use, so that it need not be stored.
fn only_used_here(site: &Site, operand: &Operand) -> Option<Operand> {
    let is_private = operand.as_var().is_some_and(|var| site.graph.use_count(var) == 1);
    is_private.then(|| operand.clone())
}

fn tensor(site: &Site, operand: &Operand) -> Option<TensorType> {
    match site.function.operand_ty(site.module, operand) {
        Type::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}
