//! Dtype assignment in one dataflow block, and the conversions between dtypes.

use super::{
    Dtypes, FunctionContext, precision,
    required_precision::{Requirement, Requirements},
};
use crate::{
    analysis::types::{is_incomplete, refine_type},
    rewrite::{
        Emitter, call_ty,
        leaves::{Converted, Site, captured_vars},
    },
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, DType, Module, Span, Type,
    relax::{Binding, Call, Constant, Function, Operand, Replacements, Value, Var, memory::MemoryDependences},
};
use hammock_ops::{lookup, precision::Precision};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rewrites the bindings of one block. A variable whose value has another dtype is replaced by a new one, so that the
/// old one has the program's dtypes.
pub struct Caster<'a> {
    module: &'a Module,
    dtypes: Dtypes,
    function: &'a mut Function,
    requirements: &'a Requirements,
    memory: &'a MemoryDependences,
    current: FxHashMap<Var, Var>,
    out: Emitter,
    span: Span,
}

impl<'a> Caster<'a> {
    /// Returns a rewriter for a block of a body with these requirements.
    pub fn new(shared: &FunctionContext<'a>, function: &'a mut Function, requirements: &'a Requirements) -> Self {
        let (module, dtypes, memory) = (shared.module, shared.dtypes, shared.memory);
        let out = Emitter::new(true);
        let current = shared.given.iter().copied().collect();
        Caster { module, dtypes, function, requirements, memory, current, out, span: Span::NONE }
    }

    /// Returns the new bindings of the block; parameters that it uses only in 16 bits are converted first.
    ///
    /// # Errors
    /// If a converted call breaks its operator's type rule.
    pub fn block(mut self, params: &[Var], bindings: Vec<Binding>) -> Result<Vec<Binding>, Diagnostic> {
        let mut used = FxHashSet::default();
        for binding in &bindings {
            binding.value.each_var(&mut |v| {
                used.insert(v);
            });
        }
        for param in params.iter().filter(|p| used.contains(p) && !self.memory.is_overwritten(**p)) {
            self.span = self.function.vars[*param].span;
            self.shorten(*param)?;
        }
        for binding in bindings {
            self.span = binding.span;
            let var = binding.var;
            self.binding(binding)?;
            if self.may_change(var) {
                self.shorten(var)?;
            }
        }
        Ok(self.out.bindings)
    }

    fn binding(&mut self, Binding { var, mut value, .. }: Binding) -> Result<(), Diagnostic> {
        self.release_captured(&mut value)?;
        match value {
            Value::Call(call) if call.is_op("wrap_param") && self.is_short_or_full(&call.args[0]) => {
                let operand = self.renamed(&call.args[0]);
                self.bind(var, Converted::Is(operand).into())
            }
            Value::Call(call) => self.call(var, call),
            Value::Operand(operand @ Operand::Tuple(_)) => {
                let operand = self.renamed(&operand);
                self.bind(var, Value::Operand(operand))
            }
            Value::Operand(operand) => {
                let ty = self.function.operand_ty(self.module, &operand);
                let operand = self.renamed(&operand);
                let value = self.converted_like(operand, &ty)?.into();
                self.bind(var, value)
            }
            Value::TupleGet(tuple, index) => {
                let tuple = self.renamed(&tuple);
                self.bind(var, Value::TupleGet(tuple, index))
            }
            Value::MatchCast(operand, ty) => {
                let operand = self.in_program_dtypes(&operand)?;
                self.bind(var, Value::MatchCast(operand, ty))
            }
            value @ (Value::If { .. } | Value::Function(_)) => self.bind(var, value),
        }
    }

    fn call(&mut self, var: Var, mut call: Call) -> Result<(), Diagnostic> {
        let precision = precision(self.module, self.function, &call, self.dtypes);
        if precision == Precision::Never {
            for arg in &mut call.args {
                *arg = self.in_program_dtypes(arg)?;
            }
            return self.bind(var, Value::Call(call));
        }
        call.args.iter_mut().for_each(|arg| *arg = self.renamed(arg));
        let dtype = match precision {
            Precision::Always => self.dtypes.short,
            _ if call.args.iter().all(|arg| self.is_short(arg)) => self.dtypes.short,
            _ => DType::FLOAT32,
        };
        for arg in &mut call.args {
            *arg = self.converted_to(arg.clone(), dtype)?;
        }
        if precision == Precision::Always && call.attrs.get("out_dtype").is_some() {
            call.attrs.set("out_dtype", self.dtypes.out);
        }
        let ty = call_ty(self.module, self.function, &call, self.span)?;
        let is_kept_short = precision == Precision::Always && self.may_change(var);
        if !is_kept_short || only(&ty, dtype) {
            return self.bind(var, Value::Call(call));
        }
        let wide = self.out.bind(self.function, "lv", ty, Value::Call(call), self.span);
        let dtypes = self.dtypes;
        let value = self.site().convert_unbound(wide.into(), &|_, o, t| cast(dtypes, o, t.dtype, Some(dtype)))?;
        self.bind(var, value.into())
    }

    /// Returns true if a variable may be replaced by one of another dtype: it is invisible elsewhere, and nothing
    /// overwrites it.
    fn may_change(&self, var: Var) -> bool {
        self.function.vars[var].dataflow && !self.memory.is_overwritten(var)
    }

    /// Binds a variable, or, inside a block, its replacement of another dtype. One that is visible outside gets the
    /// dtypes of the program.
    fn bind(&mut self, var: Var, value: Value) -> Result<(), Diagnostic> {
        let declared = self.function.ty(var).clone();
        let found = match &value {
            Value::Call(call) => call_ty(self.module, self.function, call, self.span)?,
            Value::Operand(operand) => self.function.operand_ty(self.module, operand),
            Value::TupleGet(tuple, index) => {
                let ty = self.function.operand_ty(self.module, tuple);
                ty.as_tuple().and_then(|members| members.get(*index)).cloned().unwrap_or(Type::Any)
            }
            _ => declared.clone(),
        };
        if same_dtypes(&declared, &found) {
            if is_incomplete(&declared) {
                self.function.vars[var].ty = refine_type(&declared, &found);
            }
            self.out.push(Binding { var, value, span: self.span });
            return Ok(());
        }
        if self.may_change(var) {
            let name = self.function.vars[var].name.clone();
            let new = self.out.bind(self.function, &name, found, value, self.span);
            self.current.insert(var, new);
            return Ok(());
        }
        let operand = match value {
            Value::Operand(operand) => operand,
            value => self.out.bind(self.function, "lv", found, value, self.span).into(),
        };
        let value = self.converted_like(operand, &declared)?.into();
        self.out.push(Binding { var, value, span: self.span });
        Ok(())
    }

    /// Converts a variable to 16 bits, if it is only used in 16 bits.
    fn shorten(&mut self, var: Var) -> Result<(), Diagnostic> {
        let requirement = self.requirements.get(var);
        let now: Operand = self.renamed(&var.into());
        let (dtypes, short) = (self.dtypes, self.dtypes.short);
        let value = self.site().convert_unbound(now, &|position, operand, ty| {
            (requirement.at(position) == Requirement::Short)
                .then(|| cast(dtypes, operand, ty.dtype, Some(short)))
                .flatten()
        })?;
        let new = match value {
            Converted::Is(Operand::Var(_)) => return Ok(()),
            Converted::Is(tuple) => {
                let ty = self.function.operand_ty(self.module, &tuple);
                self.out.bind(self.function, "lv", ty, Value::Operand(tuple), self.span)
            }
            Converted::By(call) => self.out.call(self.module, self.function, "lv", call, self.span)?,
        };
        self.current.insert(var, new);
        Ok(())
    }

    /// Converts variables captured by nested bodies back to the program's dtypes.
    fn release_captured(&mut self, value: &mut Value) -> Result<(), Diagnostic> {
        let mut values = Replacements::default();
        for var in captured_vars(value, |v| self.current.contains_key(&v)) {
            values.insert(var, self.in_program_dtypes(&var.into())?);
        }
        if !values.is_empty() {
            value.each_body_mut(&mut |body| body.replace(&values));
        }
        Ok(())
    }

    /// Returns an operand of the program in its current dtypes.
    fn renamed(&self, operand: &Operand) -> Operand {
        let mut operand = operand.clone();
        operand.map(&mut |o| {
            if let Operand::Var(v) = o
                && let Some(new) = self.current.get(v)
            {
                *v = *new;
            }
        });
        operand
    }

    /// Returns an operand of the program in the program's dtypes.
    fn in_program_dtypes(&mut self, operand: &Operand) -> Result<Operand, Diagnostic> {
        let ty = self.function.operand_ty(self.module, operand);
        let (operand, dtypes) = (self.renamed(operand), self.dtypes);
        self.site().convert(operand, &|position, o, t| cast(dtypes, o, t.dtype, dtype_at(&ty, position)))
    }

    fn converted_like(&mut self, operand: Operand, ty: &Type) -> Result<Converted, Diagnostic> {
        let dtypes = self.dtypes;
        self.site().convert_unbound(operand, &|position, o, t| cast(dtypes, o, t.dtype, dtype_at(ty, position)))
    }

    fn converted_to(&mut self, operand: Operand, dtype: DType) -> Result<Operand, Diagnostic> {
        let dtypes = self.dtypes;
        self.site().convert(operand, &|_, o, t| cast(dtypes, o, t.dtype, Some(dtype)))
    }

    fn site(&mut self) -> Site<'_> {
        Site { module: self.module, function: self.function, out: &mut self.out, span: self.span }
    }

    /// Returns true if an operand consists of 16-bit tensors and constants that fit into 16 bits.
    fn is_short(&self, operand: &Operand) -> bool {
        match (operand, self.function.operand_ty(self.module, operand)) {
            (Operand::Const(constant), _) => fits(constant, self.dtypes.short),
            (Operand::Tuple(members), _) => members.iter().all(|m| self.is_short(m)),
            (_, Type::Tensor(t)) => t.dtype == Some(self.dtypes.short),
            (_, ty) => !holds_tensors(&ty),
        }
    }

    fn is_short_or_full(&self, operand: &Operand) -> bool {
        let ty = self.function.operand_ty(self.module, operand);
        ty.as_tensor().is_some_and(|t| self.dtypes.takes(t.dtype))
    }
}

/// Returns the call that converts a tensor between the two precisions; `None` for other dtypes.
fn cast(dtypes: Dtypes, operand: &Operand, from: Option<DType>, to: Option<DType>) -> Option<Call> {
    let to = to.filter(|to| from != Some(*to) && dtypes.takes(from) && dtypes.takes(Some(*to)))?;
    Some(lookup("astype")?.call(vec![operand.clone()], [("dtype", AttrValue::DType(to))]))
}

/// Returns the dtype of the tensor at a position in nested tuples.
fn dtype_at(ty: &Type, position: &[usize]) -> Option<DType> {
    match (ty, position) {
        (Type::Tensor(t), []) => t.dtype,
        (Type::Tuple(members), [first, rest @ ..]) => dtype_at(members.get(*first)?, rest),
        _ => None,
    }
}

fn only(ty: &Type, dtype: DType) -> bool {
    match ty {
        Type::Tensor(t) => t.dtype == Some(dtype),
        Type::Tuple(members) => members.iter().all(|ty| only(ty, dtype)),
        _ => true,
    }
}

fn holds_tensors(ty: &Type) -> bool {
    match ty {
        Type::Tuple(members) => members.iter().any(holds_tensors),
        ty => matches!(ty, Type::Tensor(_) | Type::DTensor(_)),
    }
}

fn same_dtypes(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => a.dtype.is_none() || b.dtype.is_none() || a.dtype == b.dtype,
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_dtypes(a, b)),
        _ => true,
    }
}

/// Returns true if every element of a constant is representable in these 16 bits.
fn fits(constant: &Constant, short: DType) -> bool {
    let tensor = &constant.tensor;
    let largest = if short == DType::BFLOAT16 { f64::from(f32::MAX) } else { 65504.0 };
    fn all<T: hammock_runtime::Element>(tensor: &hammock_ir::Tensor, largest: f64, f: impl Fn(&T) -> f64) -> bool {
        tensor.as_slice::<T>().is_ok_and(|values| values.iter().all(|v| f(v).abs() <= largest))
    }
    match tensor.dtype() {
        dtype if dtype == short => true,
        DType::FLOAT32 => all::<f32>(tensor, largest, |v| f64::from(*v)),
        DType::FLOAT64 => all::<f64>(tensor, largest, |v| *v),
        DType::INT8 => all::<i8>(tensor, largest, |v| f64::from(*v)),
        DType::INT16 => all::<i16>(tensor, largest, |v| f64::from(*v)),
        DType::INT32 => all::<i32>(tensor, largest, |v| f64::from(*v)),
        DType::INT64 => all::<i64>(tensor, largest, |v| *v as f64),
        _ => false,
    }
}
