//! Constants that the text omits, replaced by zeros (`--params zeros`). Their shape follows only from their use: an
//! annotation, the parameter that they are passed for, or an operator, whose type rule must return the annotated result
//! type.

use super::RelaxEval;
use crate::script::{context::Read, metadata};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    DType, PrimExpr, Tensor, TensorShape, TensorType, Type, equal, prim,
    relax::{Call, Callee, OpTable, Operand, Value as IrValue, Var},
};
use hammock_ops::Table;
use hammock_runtime::Device;
use rustc_hash::FxHashMap;

/// Maximum number of types tried for the constants of one call.
const MAX_TRIES: usize = 60_000;
/// Maximum number of distinct sizes tried in a dimension.
const MAX_SIZES: usize = 8;
/// Window sizes, as in convolutions, which no other operand has.
const WINDOWS: std::ops::RangeInclusive<i64> = 1..=7;

/// A placeholder variable for an omitted constant.
pub(super) struct OmittedConstant {
    var: Var,
    index: i64,
    span: Span,
}

/// A shape and a dtype.
type InferredShape = (Vec<i64>, DType);

impl RelaxEval<'_, '_> {
    /// Creates a placeholder for a constant until the enclosing value is bound.
    pub(super) fn omitted(&mut self, index: i64, span: Span) -> Operand {
        let ty = Type::Tensor(TensorType::with_rank(None, None));
        let var = self.dialect.function.new_var(format!("constant_{index}"), ty, true, span);
        self.dialect.omitted.push(OmittedConstant { var, index, span });
        Operand::Var(var)
    }

    /// Replaces placeholders in a value by zeros when it is bound, given its annotation.
    pub(super) fn replace_placeholders(&mut self, value: &mut IrValue, ty: Option<&Type>) -> Read<()> {
        let mut used = Vec::new();
        value.each_operand(&mut |o| o.each_var(&mut |v| used.push(v)));
        let (mine, others) = std::mem::take(&mut self.dialect.omitted).into_iter().partition(|o| used.contains(&o.var));
        self.dialect.omitted = others;
        let mine: Vec<OmittedConstant> = mine;
        if mine.is_empty() {
            return Ok(());
        }
        let infer_shapes = self.infer_shapes(value, &mine, ty);
        let mut zeros = FxHashMap::default();
        for omitted in &mine {
            let guess = infer_shapes.get(&omitted.var);
            let tensor = guess.and_then(|(shape, dtype)| Tensor::empty(*dtype, shape, Device::CPU).ok());
            let Some(tensor) = tensor else { return Err(self.no_zeros(omitted)) };
            zeros.insert(omitted.var, metadata::constant_operand(tensor));
        }
        value.each_operand_mut(&mut |o| {
            o.map(&mut |o| {
                if let Some(constant) = o.as_var().and_then(|v| zeros.get(&v)) {
                    *o = constant.clone();
                }
            })
        });
        Ok(())
    }

    /// Reports constants that are never bound, unless there are new errors since `errors`, which explain them.
    pub(super) fn report_unbound_constants(&mut self, errors: usize) -> Read<()> {
        let left = std::mem::take(&mut self.dialect.omitted);
        match left.first().filter(|_| self.cx.diagnostics.len() == errors) {
            Some(omitted) => Err(self.no_zeros(omitted)),
            None => Ok(()),
        }
    }

    fn no_zeros(&mut self, omitted: &OmittedConstant) -> crate::script::context::Reported {
        let message = format!("the text does not say what shape constant {} has", omitted.index);
        let help = "bind it to a variable with a type, or give its value: `--params weights.safetensors`";
        self.cx.report(Diagnostic::error(codes::MISSING_METADATA, message).label(omitted.span, "").help(help))
    }

    /// Shapes and dtypes of constants inside a value, as far as they can be inferred.
    fn infer_shapes(
        &mut self,
        value: &IrValue,
        mine: &[OmittedConstant],
        ty: Option<&Type>,
    ) -> FxHashMap<Var, InferredShape> {
        let mut found = FxHashMap::default();
        match value {
            IrValue::Operand(operand) => by_type(operand, ty, &mut found),
            IrValue::MatchCast(operand, ty) => by_type(operand, Some(ty), &mut found),
            IrValue::Call(call) => match (&call.callee, call.args.as_slice()) {
                (Callee::Global(name), args) => {
                    let params = self.cx.module.relax(name).map(|f| (&f.vars, &f.lambda.params));
                    for ((vars, param), arg) in params.iter().flat_map(|(v, p)| p.iter().map(move |p| (v, p))).zip(args)
                    {
                        by_type(arg, Some(&vars[*param].ty), &mut found);
                    }
                }
                (Callee::Op(_), [Operand::Global(kernel), Operand::Tuple(args), ..]) => {
                    found = self.by_kernel(kernel, args);
                }
                (Callee::Op(_), _) => {
                    if let Some(guess) = ty.and_then(|ty| self.by_rule(call, mine, ty)) {
                        found = guess;
                    }
                }
                _ => {}
            },
            _ => {}
        }
        found
    }

    /// From the buffers of the kernel that they are passed to; its symbolic sizes are bound by other arguments.
    fn by_kernel(&self, kernel: &str, args: &[Operand]) -> FxHashMap<Var, InferredShape> {
        let Some(kernel) = self.cx.module.tir(kernel) else { return FxHashMap::default() };
        let mut sizes: FxHashMap<prim::Var, i64> = FxHashMap::default();
        let buffers = || kernel.params.iter().zip(args).filter_map(|(p, arg)| Some((p.buffer.as_ref()?, arg)));
        for (buffer, arg) in buffers() {
            let ty = self.type_of(arg);
            let Type::Tensor(TensorType { shape: TensorShape::Known(dims), .. }) = &ty else { continue };
            for (own, given) in buffer.shape.iter().zip(dims.iter()) {
                if let (Some(var), Some(size)) = (own.as_var(), given.as_int()) {
                    sizes.insert(var.clone(), size);
                }
            }
        }
        let size = |dim: &PrimExpr| dim.as_int().or_else(|| sizes.get(dim.as_var()?).copied());
        let guess = |(buffer, arg): (&hammock_ir::tir::Buffer, &Operand)| {
            let shape = buffer.shape.iter().map(size).collect::<Option<Vec<i64>>>()?;
            Some((arg.as_var()?, (shape, buffer.dtype)))
        };
        buffers().filter_map(guess).collect()
    }

    /// From the operator's type rule: the first shapes for which the call has its annotated type.
    fn by_rule(&mut self, call: &Call, mine: &[OmittedConstant], ty: &Type) -> Option<FxHashMap<Var, InferredShape>> {
        let mut known = Vec::new();
        call.args.iter().for_each(|arg| tensors(&self.type_of(arg), &mut known));
        tensors(ty, &mut known);
        let mut dtypes: Vec<DType> = known.iter().filter_map(|t| t.dtype).collect();
        dtypes.extend([DType::FLOAT32, DType::INT64]);
        unique(&mut dtypes);
        let mut tries = 0;
        for dtype in dtypes {
            // Most operators with several constants take them with equal shapes, as normalizations do.
            let alike = shapes(&known).map(|shape| vec![shape; mine.len()]);
            let pairs = || {
                let few = || shapes(&known).filter(|shape| shape.len() <= 2);
                few().flat_map(move |a| few().map(move |b| vec![a.clone(), b]).collect::<Vec<_>>())
            };
            let apart = (mine.len() == 2).then(pairs).into_iter().flatten();
            for guess in alike.chain(apart) {
                tries += 1;
                if tries > MAX_TRIES {
                    return None;
                }
                if self.has_type(call, mine, &guess, dtype, ty) {
                    return Some(mine.iter().map(|o| o.var).zip(guess.into_iter().map(|s| (s, dtype))).collect());
                }
            }
        }
        None
    }

    /// Returns true if a call has that type for these constant shapes.
    fn has_type(
        &mut self,
        call: &Call,
        mine: &[OmittedConstant],
        shapes: &[Vec<i64>],
        dtype: DType,
        ty: &Type,
    ) -> bool {
        for (omitted, shape) in mine.iter().zip(shapes) {
            let dims = shape.iter().map(|d| PrimExpr::int64(*d));
            self.dialect.function.vars[omitted.var].ty = Type::Tensor(TensorType::new(dims, dtype));
        }
        let inferred = Table.infer(&self.cx.module, &self.dialect.function, call);
        inferred.is_ok_and(|inferred| equal::types(&inferred, ty))
    }
}

/// From the type that an operand must have.
fn by_type(operand: &Operand, ty: Option<&Type>, found: &mut FxHashMap<Var, InferredShape>) {
    match (operand, ty) {
        (Operand::Var(var), Some(Type::Tensor(t))) => {
            let sizes = t.dims().and_then(|dims| dims.iter().map(|d| d.as_int()).collect::<Option<Vec<i64>>>());
            if let (Some(shape), Some(dtype)) = (sizes, t.dtype) {
                found.insert(*var, (shape, dtype));
            }
        }
        (Operand::Tuple(fields), Some(Type::Tuple(members))) => {
            fields.iter().zip(members.iter()).for_each(|(field, ty)| by_type(field, Some(ty), found));
        }
        _ => {}
    }
}

/// The tensors' types in a type.
fn tensors(ty: &Type, found: &mut Vec<TensorType>) {
    match ty {
        Type::Tensor(t) => found.push(t.clone()),
        Type::Tuple(members) => members.iter().for_each(|member| tensors(member, found)),
        _ => {}
    }
}

/// Candidate shapes of a constant given tensors of these types: their shapes, then combinations of their sizes, small
/// ranks first.
fn shapes(known: &[TensorType]) -> impl Iterator<Item = Vec<i64>> + use<> {
    let constant = |t: &TensorType| t.dims()?.iter().map(|d| d.as_int()).collect::<Option<Vec<i64>>>();
    let theirs: Vec<Vec<i64>> = known.iter().filter_map(constant).collect();
    let mut sizes: Vec<i64> = known.iter().filter_map(|t| t.dims()).flatten().filter_map(|d| d.as_int()).collect();
    sizes.push(1);
    unique(&mut sizes);
    sizes.truncate(MAX_SIZES);
    let mut windows: Vec<i64> = WINDOWS.chain(sizes.iter().copied()).collect();
    unique(&mut windows);
    let of = |ranges: Vec<Vec<i64>>| product(ranges);
    theirs
        .into_iter()
        .chain(of(vec![sizes.clone()]))
        .chain([Vec::new()])
        .chain(of(vec![sizes.clone(), sizes.clone()]))
        .chain(of(vec![sizes.clone(), sizes.clone(), windows.clone()]))
        .chain(of(vec![sizes.clone(), sizes, windows.clone(), windows]))
}

/// Cartesian product of ranges.
fn product(ranges: Vec<Vec<i64>>) -> impl Iterator<Item = Vec<i64>> {
    let count = ranges.iter().map(Vec::len).product::<usize>();
    (0..count).map(move |mut number| {
        ranges
            .iter()
            .map(|range| {
                let at = number % range.len();
                number /= range.len();
                range[at]
            })
            .collect()
    })
}

fn unique<T: PartialEq + Copy>(items: &mut Vec<T>) {
    let mut seen = Vec::new();
    items.retain(|item| {
        !seen.contains(item) && {
            seen.push(*item);
            true
        }
    });
}
