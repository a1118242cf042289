//! Matmuls by cuBLASLt. RunCodegen makes the calls of this builtin.
use crate::device::{
    self,
    matmul::{Activation, Matmul, MatmulDType, Problem},
};
use crate::ffi::{Args, Error, launch};
use crate::value::{DType, Tensor};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[builtin!("hammock.cublas.matmul",
    matmul(; "lhs, rhs, bias…: Tensor, transposed: bool, activation: str, out: Tensor") -> "None",
    "Writes `activation(lhs @ rhs + bias)`, computed by cuBLASLt. `bias` can be omitted; the last axes of `rhs` are \
     swapped if `transposed`; `activation` is `none`, `relu` or `gelu_tanh`.")];

fn matmul(args: Args<'_>) -> Result<(), Error> {
    let operands = args.len().saturating_sub(3);
    if !(2..=3).contains(&operands) {
        return Err(args.error(format!("called with {} arguments, and not 5 or 6", args.len())));
    }
    let (lhs, rhs): (&Tensor, &Tensor) = (args.get(0)?, args.get(1)?);
    let bias: Option<&Tensor> = if operands == 3 { Some(args.get(2)?) } else { None };
    let out: &Tensor = args.get(operands + 2)?;
    let activation = match args.get::<&str>(operands + 1)? {
        "none" => Activation::None,
        "relu" => Activation::Relu,
        "gelu_tanh" => Activation::GeluTanh,
        other => return Err(args.error(format!("there is no activation `{other}`"))),
    };
    let problem = problem((lhs, rhs, out), args.get(operands)?, activation).map_err(|why| args.error(why))?;
    check_bias(bias, &problem, out).map_err(|why| args.error(why))?;
    let device = lhs.device();
    let tensors = [Some(lhs), Some(rhs), bias, Some(out)];
    if tensors.iter().flatten().any(|tensor| tensor.device() != device) {
        return Err(args.error("the tensors are on several devices"));
    }
    if !tensors.iter().flatten().all(|tensor| tensor.is_contiguous()) {
        return Err(args.error("the tensors are not contiguous"));
    }
    let bias = bias.map_or(std::ptr::null(), |bias| bias.data_ptr().cast_const());
    let matmul = Matmul { problem, lhs: lhs.data_ptr(), rhs: rhs.data_ptr(), bias, out: out.data_ptr() };
    // SAFETY: the tensors are on the device, with the shapes and dtypes of the problem. Their memory is reused only by
    // work that is queued later.
    unsafe { launch::queue_matmul(device::find(device)?, &matmul) }
}

/// The problem of tensors that fit together.
fn problem(
    (lhs, rhs, out): (&Tensor, &Tensor, &Tensor),
    transposed: bool,
    activation: Activation,
) -> Result<Problem, String> {
    let (dtype, out_dtype) = (matmul_dtype(lhs.dtype())?, matmul_dtype(out.dtype())?);
    let is_wider = matches!(dtype, MatmulDType::Float16 | MatmulDType::BFloat16) && out_dtype == MatmulDType::Float32;
    let fits = || {
        let ([lhs_batch @ .., m, k], [batch @ .., rows, columns]) = (lhs.shape(), rhs.shape()) else { return None };
        let (rhs_k, n) = if transposed { (*columns, *rows) } else { (*rows, *columns) };
        let shares_rhs = batch.is_empty();
        let has_result = out.shape().split_last().is_some_and(|(last, rest)| {
            *last == n && rest.split_last().is_some_and(|(rows, batch)| rows == m && batch == lhs_batch)
        });
        let fits = rhs_k == *k && (shares_rhs || batch == lhs_batch) && has_result && lhs.dtype() == rhs.dtype();
        let count = lhs_batch.iter().try_fold(1i64, |count, extent| count.checked_mul(*extent))?;
        let (m, batch) = if shares_rhs { (m.checked_mul(count)?, 1) } else { (*m, count) };
        fits.then_some(Problem { m, n, k: *k, batch, shares_rhs, transposed, dtype, out_dtype, activation })
    };
    let problem = fits().filter(|_| (dtype == out_dtype || is_wider) && !out.is_read_only());
    problem.ok_or_else(|| {
        let [lhs, rhs, out] = [lhs, rhs, out].map(|tensor| format!("{} of {:?}", tensor.dtype(), tensor.shape()));
        format!("a tensor of {lhs} times one of {rhs} cannot be written to one of {out}")
    })
}

fn check_bias(bias: Option<&Tensor>, problem: &Problem, out: &Tensor) -> Result<(), String> {
    match bias {
        Some(bias) if bias.shape() != [problem.n] || bias.dtype() != out.dtype() => Err(format!(
            "the bias must be {} of [{}], and is {} of {:?}",
            out.dtype(),
            problem.n,
            bias.dtype(),
            bias.shape()
        )),
        _ => Ok(()),
    }
}

fn matmul_dtype(dtype: DType) -> Result<MatmulDType, String> {
    match dtype {
        DType::FLOAT16 => Ok(MatmulDType::Float16),
        DType::BFLOAT16 => Ok(MatmulDType::BFloat16),
        DType::FLOAT32 => Ok(MatmulDType::Float32),
        DType::FLOAT64 => Ok(MatmulDType::Float64),
        other => Err(format!("matrices of {other} are not supported")),
    }
}
