//! Binding of arguments to parameters, and writing back of results.

use crate::{Arg, Fault, Interpreter, Pointer, Value, memory::Heap, number, view};
use hammock_ir::{
    PrimExpr, Tensor, count,
    tir::{Buffer, Param, PrimFunc},
};

/// Memory of each tensor argument.
pub struct BoundArgs(Vec<BoundTensor>);

struct BoundTensor {
    /// Its index among the arguments.
    arg: usize,
    tensor: Tensor,
    base: Pointer,
}

impl Interpreter {
    /// Binds every parameter to its argument and every symbolic size to its value, and checks that they match.
    pub fn bind_arguments(&mut self, func: &PrimFunc, args: &[Arg]) -> Result<BoundArgs, Fault> {
        if func.params.len() != args.len() {
            return Err(Fault::ArgumentCount { expected: func.params.len(), actual: args.len() });
        }
        let mut bound = BoundArgs(Vec::new());
        for (i, (param, arg)) in func.params.iter().zip(args).enumerate() {
            match arg {
                Arg::Tensor(tensor) => self.bind_tensor(param, i, tensor, &mut bound)?,
                Arg::Int(_) | Arg::Float(_) => self.bind_scalar(param, arg)?,
            }
        }
        let buffers = || func.params.iter().zip(args).filter_map(|(p, a)| Some((p.buffer.as_ref()?, a.tensor()?)));
        for (buffer, tensor) in buffers() {
            self.bind_sizes(buffer, tensor);
        }
        for (buffer, tensor) in buffers() {
            self.check_sizes(buffer, tensor)?;
            self.declare(buffer)?;
        }
        Ok(bound)
    }

    fn bind_scalar(&mut self, param: &Param, arg: &Arg) -> Result<(), Fault> {
        let dtype = param.var.dtype();
        let value = match arg {
            Arg::Int(v) if !number::is_float(dtype) && !dtype.is_handle() => Value::Int(number::wrap(*v, dtype)),
            Arg::Int(v) if number::is_float(dtype) => Value::Float(number::round(*v as f64, dtype)),
            Arg::Float(v) if number::is_float(dtype) => Value::Float(number::round(*v, dtype)),
            _ => return Err(wrong_kind(param, arg)),
        };
        self.vars.insert(param.var.clone(), value);
        Ok(())
    }

    fn bind_tensor(&mut self, param: &Param, arg: usize, tensor: &Tensor, bound: &mut BoundArgs) -> Result<(), Fault> {
        let fits = match &param.buffer {
            Some(buffer) => buffer.dtype == tensor.dtype() && buffer.ndim() == tensor.shape().len(),
            None => param.var.dtype().is_handle(),
        };
        if !fits {
            return Err(wrong_kind(param, &Arg::Tensor(tensor.clone())));
        }
        let known = bound.0.iter().find(|b| b.tensor.ptr_eq(tensor)).map(|b| b.base);
        let base = match known {
            Some(base) => base,
            None => self.heap.add(&strided_bytes(tensor)?)?,
        };
        bound.0.push(BoundTensor { arg, tensor: tensor.clone(), base });
        self.vars.insert(param.var.clone(), Value::Pointer(base));
        if let Some(buffer) = &param.buffer {
            self.vars.insert(buffer.data.clone(), Value::Pointer(base));
        }
        Ok(())
    }

    /// Binds sizes, strides and offsets that are plain variables.
    fn bind_sizes(&mut self, buffer: &Buffer, tensor: &Tensor) {
        for (size, actual) in buffer.shape.iter().zip(tensor.shape()) {
            self.bind_if_free(size, *actual);
        }
        for (stride, actual) in buffer.strides.iter().zip(strides(tensor)) {
            self.bind_if_free(stride, actual);
        }
        if let Some(offset) = &buffer.elem_offset {
            self.bind_if_free(offset, 0);
        }
    }

    /// Binds an expression that is an unbound variable.
    pub fn bind_if_free(&mut self, size: &PrimExpr, actual: i64) {
        if let Some(var) = size.as_var() {
            self.vars.entry(var.clone()).or_insert(Value::Int(number::wrap(actual, var.dtype())));
        }
    }

    fn check_sizes(&mut self, buffer: &Buffer, tensor: &Tensor) -> Result<(), Fault> {
        let strides = strides(tensor);
        let sizes = buffer.shape.iter().zip(tensor.shape()).map(|(e, actual)| ("size", e, *actual));
        // The stride of a dimension of one element is never used.
        let used = tensor.shape().iter().map(|n| *n > 1 && !tensor.shape().contains(&0));
        let steps = buffer.strides.iter().zip(strides).zip(used).filter(|(_, used)| *used);
        let steps = steps.map(|((e, actual), _)| ("stride", e, actual));
        for (i, (what, expr, actual)) in sizes.chain(steps).enumerate() {
            let expected = self.int(expr)?;
            if expected != actual {
                let what = format!("{what} {}", i % buffer.ndim());
                return Err(Fault::ArgumentShape { param: buffer.name.clone(), what, expected, actual });
            }
        }
        Ok(())
    }
}

impl BoundArgs {
    /// Replaces the tensors that were written by their new contents.
    pub fn write_back(&self, heap: &Heap, args: &mut [Arg]) -> Result<(), Fault> {
        for bound in &self.0 {
            if let Some(bytes) = heap.written_bytes(bound.base) {
                args[bound.arg] = Arg::Tensor(gather(&bound.tensor, bytes)?);
            }
        }
        Ok(())
    }
}

impl Arg {
    /// Returns the tensor, if it is one.
    pub fn tensor(&self) -> Option<&Tensor> {
        match self {
            Arg::Tensor(tensor) => Some(tensor),
            Arg::Int(_) | Arg::Float(_) => None,
        }
    }

    fn describe(&self) -> String {
        match self {
            Arg::Tensor(t) => format!("a tensor of {} of {}", count(t.shape().len(), "dimension"), t.dtype()),
            Arg::Int(v) => format!("the integer {v}"),
            Arg::Float(v) => format!("the float {v:?}"),
        }
    }
}

fn wrong_kind(param: &Param, arg: &Arg) -> Fault {
    let expected = match &param.buffer {
        Some(b) => format!("a tensor of {} of {}", count(b.ndim(), "dimension"), b.dtype),
        None => format!("a value of {}", param.var.dtype()),
    };
    Fault::ArgumentKind { param: param.var.name().clone(), expected, actual: arg.describe() }
}

fn strides(tensor: &Tensor) -> Vec<i64> {
    match tensor.strides() {
        [] => view::compact_strides(tensor.shape()),
        strides => strides.to_vec(),
    }
}

/// Returns the memory of a tensor from its first to its last element, with gaps filled with ones.
fn strided_bytes(tensor: &Tensor) -> Result<Vec<u8>, Fault> {
    let dense = tensor.to_contiguous()?;
    if tensor.is_contiguous() {
        return Ok(dense.as_bytes()?.to_vec());
    }
    let size = tensor.dtype().bytes();
    let mut bytes = vec![0xff; view::span(tensor.shape(), tensor.strides()) as usize * size];
    for (element, at) in dense.as_bytes()?.chunks_exact(size).zip(positions(tensor)) {
        bytes[at * size..][..size].copy_from_slice(element);
    }
    Ok(bytes)
}

/// Returns a dense tensor of the elements of `bytes`, which have the layout of `like`.
fn gather(like: &Tensor, bytes: &[u8]) -> Result<Tensor, Fault> {
    if like.is_contiguous() {
        return Ok(Tensor::from_bytes(like.dtype(), like.shape(), bytes)?);
    }
    let size = like.dtype().bytes();
    let dense: Vec<u8> = positions(like).flat_map(|at| &bytes[at * size..][..size]).copied().collect();
    Ok(Tensor::from_bytes(like.dtype(), like.shape(), &dense)?)
}

/// Offsets of a tensor's elements in row-major order, in elements from the first.
fn positions(tensor: &Tensor) -> impl Iterator<Item = usize> {
    let (shape, strides) = (tensor.shape(), tensor.strides());
    (0..shape.iter().product::<i64>()).map(move |mut i| {
        shape.iter().zip(strides).rev().fold(0, |at, (n, stride)| {
            let index = i % n;
            i /= n;
            at + (index * stride) as usize
        })
    })
}
