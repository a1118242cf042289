//! The reference interpreter: runs block, scheduled and flat TIR on host tensors, slowly and exactly.
//!
//! It defines the meaning of TIR: every faster way to run TIR is tested against it. It also folds constants. Nothing
//! here is undefined: an index outside its buffer, a division by zero, a shift by a negative count or by the width or
//! more, or an argument of the wrong shape is an [`InterpError`] that names the function.
//!
//! Semantics it fixes:
//! - Integers wrap to the width of their dtype (in functions that compute sizes they must not, see
//!   [`EXACT`](hammock_ir::tir::EXACT)). Each float operation rounds once to the dtype of its node; functions such as
//!   `exp` are computed in double precision first, so f32 results are the nearest value except in rare ties.
//! - `min(a, b)` and `max(a, b)` of floats propagate NaN: the result is NaN if an operand is. Otherwise they are
//!   `a < b ? a : b` and `a > b ? a : b`, so of two zeros the result is `b`.
//! - `T.if_then_else`, `T.Select` with a scalar condition, `and` and `or` evaluate only the operands they need.
//! - Fresh memory is filled with ones, a NaN in every float dtype, so that reads of unwritten memory show.
//! - A block whose reduction has no iteration runs its `init` all the same.
//! - A loop over threads is a serial loop, and a barrier does nothing; except in device functions, which
//!   [`run_kernel`] runs by all threads of a block in turn, from one barrier to the next.
//!
//! ```
//! use hammock_ir::{DType, PrimExpr, Tensor, prim::Var, tir::{Buffer, Param, PrimFunc, Stmt}};
//! use hammock_interp as interp;
//!
//! let n = Var::int64("n");
//! let (a, b) = (Buffer::new("A", vec![n.expr()], DType::FLOAT32), Buffer::new("B", vec![n.expr()], DType::FLOAT32));
//! let i = Var::int64("i");
//! let double = PrimExpr::load(&a, vec![i.expr()]) * PrimExpr::float(2.0, DType::FLOAT32);
//! let body = Stmt::serial(i.clone(), n.expr(), Stmt::store(&b, vec![i.expr()], double));
//! let params = vec![Param::buffer(a), Param::buffer(b)];
//! let func = PrimFunc { params, ret_ty: None, body, attrs: Default::default(), s_tir: true, span: Default::default() };
//!
//! let x = Tensor::from_slice(&[3], &[1f32, 2.0, 3.0]).unwrap();
//! let out = interp::call_tir(&func, &[x.into()], &[(vec![3], DType::FLOAT32)]).unwrap();
//! assert_eq!(out[0].as_slice::<f32>().unwrap(), [2.0, 4.0, 6.0]);
//! ```
#![forbid(unsafe_code)]

mod arguments;
mod arith;
mod dot;
mod error;
mod expr;
mod intrinsic;
mod memory;
mod number;
mod pointer;
mod races;
pub mod samples;
mod simt;
mod stmt;
mod value;
mod view;

pub use error::{DIVISION_BY_ZERO, Fault, InterpError, shift_error};
pub use number::round as round_to;
pub use pointer::Pointer;
pub use value::Value;

use hammock_ir::{
    DType, Name, PrimExpr, Tensor,
    prim::Var,
    tir::{Buffer, PrimFunc, empty_reductions::hoist_inits},
};
use hammock_runtime::Device;
use memory::Heap;
use rustc_hash::FxHashMap;
use view::View;

/// Argument of a TIR function.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A buffer, or the memory behind a raw pointer. It has the new contents after the call.
    Tensor(Tensor),
    /// An integer or bool.
    Int(i64),
    /// A float.
    Float(f64),
}

impl From<Tensor> for Arg {
    fn from(tensor: Tensor) -> Self {
        Arg::Tensor(tensor)
    }
}

impl From<i64> for Arg {
    fn from(value: i64) -> Self {
        Arg::Int(value)
    }
}

impl From<f64> for Arg {
    fn from(value: f64) -> Self {
        Arg::Float(value)
    }
}

/// Runs a function. Tensors that it writes are replaced in `args` by dense tensors with the new contents (the tensors
/// passed in never change); two arguments that are the same tensor share memory. Returns the value of `return`.
///
/// # Errors
/// When arguments do not fit the parameters, or the function does something wrong: see [`Fault`].
pub fn run(func: &PrimFunc, args: &mut [Arg]) -> Result<Option<Value>, InterpError> {
    let mut interpreter = Interpreter::default();
    let result = interpreter.run(func, args);
    result.map_err(|fault| InterpError { function: function_name(func), span: interpreter.span, fault })
}

/// Runs the flat host function of a kernel for a GPU with its device functions, by name. Besides what [`run`] reports,
/// two threads that access the same element without a barrier between them, one of which stores, are an error, and so
/// is a barrier that not all threads of a block reach.
///
/// # Errors
/// As [`run`].
pub fn run_kernel(
    host: &PrimFunc,
    device: &[(Name, PrimFunc)],
    args: &mut [Arg],
) -> Result<Option<Value>, InterpError> {
    let device = device.iter().cloned().collect();
    let mut interpreter = Interpreter { device: std::rc::Rc::new(device), ..Interpreter::default() };
    let result = interpreter.run(host, args);
    result.map_err(|fault| InterpError { function: function_name(host), span: interpreter.span, fault })
}

/// Runs a function as `R.call_tir` does: on inputs (and scalars), then fresh outputs of the given shapes and dtypes,
/// which it returns.
///
/// # Errors
/// As [`run`]; also when an output cannot be allocated.
pub fn call_tir(func: &PrimFunc, inputs: &[Arg], outputs: &[(Vec<i64>, DType)]) -> Result<Vec<Tensor>, InterpError> {
    let mut args = inputs.to_vec();
    for (shape, dtype) in outputs {
        let tensor = Tensor::empty(*dtype, shape, Device::CPU).map_err(|e| InterpError {
            function: function_name(func),
            span: func.span,
            fault: Fault::Tensor(e),
        })?;
        args.push(Arg::Tensor(tensor));
    }
    run(func, &mut args)?;
    let tensors = args.into_iter().skip(inputs.len()).filter_map(|arg| match arg {
        Arg::Tensor(tensor) => Some(tensor),
        Arg::Int(_) | Arg::Float(_) => None,
    });
    Ok(tensors.collect())
}

/// Evaluates an expression, given values of its variables.
///
/// # Errors
/// As [`run`].
pub fn evaluate(e: &PrimExpr, values: &[(Var, Value)]) -> Result<Value, Fault> {
    let mut interpreter = Interpreter::default();
    interpreter.vars.extend(values.iter().cloned());
    interpreter.eval(e)
}

/// Returns the function's symbol, for messages.
fn function_name(func: &PrimFunc) -> Name {
    func.attrs.get("global_symbol").and_then(|v| v.as_str()).unwrap_or("(private)").into()
}

/// The state of a run.
#[derive(Default)]
struct Interpreter {
    heap: Heap,
    vars: FxHashMap<Var, Value>,
    views: FxHashMap<Buffer, std::rc::Rc<View>>,
    /// Source span of the innermost statement.
    span: hammock_ir::Span,
    /// True if integers must not wrap.
    exact: bool,
    /// Device functions that a host function may launch.
    device: std::rc::Rc<FxHashMap<Name, PrimFunc>>,
    /// Values that the threads of a block exchange in the current statement.
    exchanged: Option<simt::Exchanged>,
}

impl Interpreter {
    fn run(&mut self, func: &PrimFunc, args: &mut [Arg]) -> Result<Option<Value>, Fault> {
        self.span = func.span;
        self.exact = func.attrs.is_true(hammock_ir::tir::EXACT);
        let bound = self.bind_arguments(func, args)?;
        let flow = self.execute(&hoist_inits(&func.body))?;
        bound.write_back(&self.heap, args)?;
        Ok(flow.returned())
    }
}

#[cfg(test)]
mod tests;
