//! Raw parameters of a kernel, and the table that checks packed arguments and converts them.

use hammock_ir::{
    DType, Name, PrimExpr,
    bounds::{LARGEST_SIZE, size_in_multiple},
    prim::{PrimType, Substitution, Var},
    print::dim_text,
    tir::{Buffer, Param, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::index::{Poly, Simplifier, same_expr};

/// Description of a packed argument.
#[derive(Clone, Debug)]
pub enum ArgDesc {
    /// A tensor.
    Tensor(TensorDesc),
    /// A number; sizes of tensors may depend on it.
    Scalar(Var),
    /// Any pointer, or a tensor's data.
    Handle {
        /// The parameter's name, for messages.
        name: Name,
    },
}

/// Description of a tensor argument.
#[derive(Clone, Debug)]
pub struct TensorDesc {
    /// The parameter's name, for messages.
    pub name: Name,
    /// Element type.
    pub dtype: DType,
    /// Size of each dimension.
    pub shape: Vec<PrimExpr>,
    /// Strides in elements; `None` for a tensor that must be compact.
    pub strides: Option<Vec<PrimExpr>>,
}

/// Source of a raw parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawParam {
    /// The address of the first element of a tensor argument, or a handle argument itself.
    Data(usize),
    /// A size of a tensor argument's dimension.
    Size(usize, usize),
    /// A stride of a tensor argument's dimension, in elements.
    Stride(usize, usize),
    /// A scalar argument, in its own dtype.
    Scalar(usize),
    /// Address to store the function's return value at.
    Result,
}

/// Packed and raw interface of a kernel. Sizes and strides that are expressions are over the variables of the raw
/// parameters; the caller that fills these checks the values.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Packed arguments in order.
    pub args: Vec<ArgDesc>,
    /// Raw parameters in order, one for each parameter of the flat function: pointers, then sizes and strides as int64,
    /// then scalars, then the address of the result.
    pub raw: Vec<RawParam>,
}

/// Builder of the flat function's parameters.
pub struct Interface {
    /// Raw parameters.
    pub params: Vec<Param>,
    /// Their meaning.
    pub signature: Signature,
    /// Values of symbolic sizes and handles in the body.
    pub values: Substitution,
    /// Buffer of the return value.
    pub result: Option<Buffer>,
    /// Sizes and strides that are expressions of others.
    derived: Vec<Derived>,
}

/// A size or stride of an argument that must equal an expression.
struct Derived {
    actual: Var,
    expected: PrimExpr,
    is_size: bool,
    /// Size of the dimension of a stride, which matters only if it has several elements.
    matters: Option<PrimExpr>,
    what: String,
}

/// Returns the packed arguments of a function, in order.
pub fn arguments(func: &PrimFunc) -> Vec<ArgDesc> {
    interface(func).signature.args
}

/// Computes the interface of a function.
pub fn interface(func: &PrimFunc) -> Interface {
    let mut i = Interface {
        params: Vec::new(),
        signature: Signature { args: Vec::new(), raw: Vec::new() },
        values: Substitution::default(),
        result: None,
        derived: Vec::new(),
    };
    i.add_pointers(func);
    i.add_sizes(func);
    i.add_derived(func);
    i.add_scalars(func);
    i.add_result(func);
    let args = func.params.iter().map(|p| i.describe(p)).collect();
    i.signature.args = args;
    i
}

impl Interface {
    /// Returns the variables that hold sizes.
    pub fn sizes(&self) -> impl Iterator<Item = Var> + '_ {
        let is_size = |raw: &RawParam| matches!(raw, RawParam::Size(..));
        self.params.iter().zip(&self.signature.raw).filter(move |(_, raw)| is_size(raw)).map(|(p, _)| p.var.clone())
    }

    /// Returns statements that check sizes and strides of arguments that the callers' argument table cannot express.
    pub fn checks(&self) -> Vec<Stmt> {
        let check = |d: &Derived| {
            let equal = d.actual.expr().eq(d.expected.clone().cast(DType::INT64));
            // The number that a size is a multiple of must be a valid size: see `size_in_multiple`.
            let number = size_in_multiple(&d.expected).filter(|var| d.is_size && self.is_number(var));
            let within = number
                .map(|var| var.expr().cast(DType::INT64))
                .map(|n| n.clone().ge(PrimExpr::int64(0)).and(n.le(PrimExpr::int64(LARGEST_SIZE))));
            let equal = match within {
                Some(within) => within.and(equal),
                None => equal,
            };
            let condition = match &d.matters {
                Some(size) => size.clone().cast(DType::INT64).le(PrimExpr::int64(1)).or(equal),
                None => equal,
            };
            Stmt::new(StmtKind::Assert(condition, "ValueError".into(), vec![d.what.as_str().into()]))
        };
        self.derived.iter().map(check).collect()
    }

    /// Returns sizes that are expressions of others, with the variables that hold them.
    pub fn derived_sizes(&self) -> impl Iterator<Item = (&PrimExpr, &Var)> {
        self.derived.iter().filter(|d| d.is_size).map(|d| (&d.expected, &d.actual))
    }

    /// Returns true if a variable is a scalar argument.
    fn is_number(&self, var: &Var) -> bool {
        let is_scalar = |raw: &RawParam| matches!(raw, RawParam::Scalar(_));
        self.params.iter().zip(&self.signature.raw).any(|(param, raw)| param.var == *var && is_scalar(raw))
    }

    fn push(&mut self, var: Var, raw: RawParam) {
        self.params.push(Param::scalar(var));
        self.signature.raw.push(raw);
    }

    fn add_pointers(&mut self, func: &PrimFunc) {
        for (i, param) in func.params.iter().enumerate() {
            match &param.buffer {
                Some(buffer) => {
                    self.values.insert(param.var.clone(), buffer.data.expr());
                    self.push(buffer.data.clone(), RawParam::Data(i));
                }
                None if param.var.dtype().is_handle() => self.push(param.var.clone(), RawParam::Data(i)),
                None => {}
            }
        }
    }

    /// Adds a raw parameter for each variable that is a size or stride, and not a parameter itself.
    fn add_sizes(&mut self, func: &PrimFunc) {
        for (i, buffer) in func.params.iter().enumerate().filter_map(|(i, p)| Some((i, p.buffer.as_ref()?))) {
            for (axis, size) in buffer.shape.iter().enumerate() {
                self.add_size(func, size, RawParam::Size(i, axis));
            }
            for (axis, stride) in buffer.strides.iter().enumerate() {
                self.add_size(func, stride, RawParam::Stride(i, axis));
            }
            if let Some(var) = buffer.elem_offset.as_ref().and_then(PrimExpr::as_var) {
                self.values.entry(var.clone()).or_insert_with(|| PrimExpr::int(0, var.dtype()));
            }
        }
    }

    fn add_size(&mut self, func: &PrimFunc, size: &PrimExpr, raw: RawParam) {
        let Some(var) = size.as_var() else { return };
        let known = self.params.iter().any(|p| p.var == *var) || self.values.contains_key(var);
        if known || func.params.iter().any(|p| p.var == *var) {
            return;
        }
        let wide = if var.dtype() == DType::INT64 { var.clone() } else { var.with_ty(DType::INT64) };
        if wide != *var {
            self.values.insert(var.clone(), wide.expr().cast(var.dtype()));
        }
        self.push(wide, raw);
    }

    /// Adds a raw parameter for each size that is an expression, and each stride that is not implied by the sizes.
    fn add_derived(&mut self, func: &PrimFunc) {
        for (i, buffer) in func.params.iter().enumerate().filter_map(|(i, p)| Some((i, p.buffer.as_ref()?))) {
            for (axis, size) in buffer.shape.iter().enumerate() {
                // The argument table compares sizes with equal expressions.
                let known = self.derived.iter().any(|d| d.is_size && same_expr(&d.expected, size));
                if size.as_var().is_none() && size.as_int().is_none() && !known {
                    let what = format!("dimension {axis} of argument `{}` must be {size}", buffer.name);
                    self.derive(size, RawParam::Size(i, axis), None, what);
                }
            }
            let mut compact = Poly::constant(1);
            for (axis, stride) in buffer.strides.iter().enumerate().rev() {
                let is_compact = (&Simplifier::default().poly(stride) - &compact).is_zero();
                if stride.as_var().is_none() && !is_compact {
                    let what = format!("the stride of dimension {axis} of argument `{}` must be {stride}", buffer.name);
                    self.derive(stride, RawParam::Stride(i, axis), buffer.shape.get(axis), what);
                }
                if let Some(size) = buffer.shape.get(axis) {
                    compact = &compact * &Simplifier::default().poly(size);
                }
            }
        }
    }

    fn derive(&mut self, expected: &PrimExpr, raw: RawParam, matters: Option<&PrimExpr>, what: String) {
        let text = dim_text(expected);
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let actual = Var::int64(words.join("_"));
        self.derived.push(Derived {
            actual: actual.clone(),
            expected: expected.clone(),
            is_size: matches!(raw, RawParam::Size(..)),
            matters: matters.cloned(),
            what,
        });
        self.push(actual, raw);
    }

    fn add_scalars(&mut self, func: &PrimFunc) {
        for (i, param) in func.params.iter().enumerate() {
            if param.buffer.is_none() && !param.var.dtype().is_handle() {
                self.push(param.var.clone(), RawParam::Scalar(i));
            }
        }
    }

    fn add_result(&mut self, func: &PrimFunc) {
        let Some(PrimType::Scalar(dtype)) = &func.ret_ty else { return };
        if !dtype.is_void() {
            let buffer = Buffer::new("result", vec![PrimExpr::int64(1)], *dtype);
            self.push(buffer.data.clone(), RawParam::Result);
            self.result = Some(buffer);
        }
    }

    fn describe(&self, param: &Param) -> ArgDesc {
        let (name, dtype) = (param.var.name().clone(), param.var.dtype());
        let Some(buffer) = &param.buffer else {
            return if dtype.is_handle() { ArgDesc::Handle { name } } else { ArgDesc::Scalar(param.var.clone()) };
        };
        let known = |all: &[PrimExpr]| all.iter().map(|e| e.substitute(&self.values)).collect();
        ArgDesc::Tensor(TensorDesc {
            name,
            dtype: buffer.dtype,
            shape: known(&buffer.shape),
            strides: (!buffer.strides.is_empty()).then(|| known(&buffer.strides)),
        })
    }
}
