//! Runnable examples of operators.

use super::Op;

/// An example call of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The parameters of the enclosing function, such as `x: float32[2, 3]; i: int64[2]`; may be empty.
    pub params: &'static str,
    /// The arguments of the call, as written in a program.
    pub args: &'static str,
}

/// A parameter: its name, dtype and dimensions.
struct Tensor {
    name: &'static str,
    dtype: &'static str,
    dims: &'static str,
}

impl Example {
    fn tensors(&self) -> impl Iterator<Item = Tensor> + use<> {
        self.params.split("; ").filter_map(|param| {
            let (name, ty) = param.split_once(": ")?;
            let (dtype, dims) = ty.strip_suffix(']')?.split_once('[')?;
            Some(Tensor { name, dtype, dims })
        })
    }

    /// A value for each parameter, as `hammock run --arg` takes them.
    pub fn values(&self) -> Vec<String> {
        let value = |t: Tensor| {
            let how = if t.dtype.contains("float") { "random" } else { "zeros" };
            format!("{how}({}):{}", t.dims.replace(' ', ""), t.dtype)
        };
        self.tensors().map(value).collect()
    }
}

impl Op {
    /// A module whose function `main` contains the example call; `None` for an operator that only makes sense in a
    /// larger program.
    pub fn example_module(&self) -> Option<String> {
        let example = self.example?;
        let ty = |t: Tensor| {
            let comma = if t.dims.is_empty() || t.dims.contains(',') { "" } else { "," };
            format!("{}: R.Tensor(({}{comma}), dtype=\"{}\")", t.name, t.dims, t.dtype)
        };
        let params: Vec<String> = example.tensors().map(ty).collect();
        let (params, call) = (params.join(", "), format!("R.{}({})", self.name, example.args));
        let function = if self.pure { "@R.function" } else { "@R.function(pure=False)" };
        Some(format!(
            "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    \
             {function}\n    def main({params}):\n        result = {call}\n        return result\n"
        ))
    }
}
