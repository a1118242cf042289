//! Fusion of the kernels that a function calls.

mod names;
mod shapes;

use hammock_ir::{
    Attrs, Module, Name, PrimExpr, Type,
    prim::Substitution,
    relax::{CallTir, Function, Operand, Value, Var},
    tir::{Block, Buffer, EXACT, Param, PrimFunc, Region, Stmt, StmtKind, fresh},
    types::ShapeType,
};
use rustc_hash::{FxHashMap, FxHashSet};
use shapes::{match_size, match_sizes};

/// A fused kernel.
pub struct Fused {
    /// The kernel.
    pub func: PrimFunc,
    /// The function's parameters that it takes, in order: whole, or a field of a tuple.
    pub takes: Vec<(usize, Option<usize>)>,
    /// Argument that each result overwrites; `None` for a new tensor.
    pub results: Vec<Option<usize>>,
}

/// Concatenates the kernels that a function calls, with buffers for intermediates. `None` if they do not consist of
/// blocks, or their sizes cannot be derived from their arguments.
pub fn fuse(module: &Module, function: &Function, keep_unused: bool) -> Option<Fused> {
    let mut fuser = Fuser::new(module, function);
    let takes = fuser.params(keep_unused)?;
    for binding in function.lambda.body.bindings() {
        let buffers = fuser.value(&binding.value)?;
        fuser.buffers.insert(binding.var, buffers);
    }
    let results = fuser.operand(&function.lambda.body.result)?;
    if results.iter().collect::<FxHashSet<_>>().len() < results.len() {
        return None;
    }
    let mut overwritten = Vec::new();
    for buffer in &results {
        let input = fuser.params.iter().position(|param| param.buffer.as_ref() == Some(buffer));
        if input.is_some() && !fuser.written_over.contains(buffer) {
            return None;
        }
        if input.is_none() {
            fuser.params.push(Param::buffer(buffer.clone()));
        }
        overwritten.push(input);
    }
    Some(Fused { func: fuser.kernel(), takes, results: overwritten })
}

struct Fuser<'a> {
    module: &'a Module,
    function: &'a Function,
    params: Vec<Param>,
    /// Buffers of each variable, or of a tuple's fields in order.
    buffers: FxHashMap<Var, Vec<Buffer>>,
    /// Fields of tuples that are parameters.
    fields: FxHashMap<(Var, usize), Buffer>,
    /// Buffers allocated in the root block.
    allocated: Vec<Buffer>,
    /// Parameters that a kernel overwrites with its result.
    written_over: FxHashSet<Buffer>,
    bodies: Vec<Stmt>,
}

impl<'a> Fuser<'a> {
    fn new(module: &'a Module, function: &'a Function) -> Self {
        let (params, buffers, fields, allocated, written_over, bodies) = Default::default();
        Fuser { module, function, params, buffers, fields, allocated, written_over, bodies }
    }

    /// Adds a parameter for each tensor, scalar and size that the function takes; returns the function's parameters
    /// that they are.
    fn params(&mut self, keep_unused: bool) -> Option<Vec<(usize, Option<usize>)>> {
        let (whole, fields) = used(self.function);
        let mut takes = Vec::new();
        for (at, var) in self.function.lambda.params.iter().enumerate() {
            let info = &self.function.vars[*var];
            match &info.ty {
                Type::Tuple(_) if whole.contains(var) => return None,
                Type::Tuple(types) => {
                    let needed = |(field, _): &(usize, &Type)| keep_unused || fields.contains(&(*var, *field));
                    for (field, ty) in types.iter().enumerate().filter(needed) {
                        let buffer = buffer(&format!("{}_{field}", info.name), ty)?;
                        self.params.push(Param::buffer(buffer.clone()));
                        self.fields.insert((*var, field), buffer);
                        takes.push((at, Some(field)));
                    }
                }
                Type::Tensor(_) if keep_unused || whole.contains(var) => {
                    let buffer = buffer(&info.name, &info.ty)?;
                    self.params.push(Param::buffer(buffer.clone()));
                    self.buffers.insert(*var, vec![buffer]);
                    takes.push((at, None));
                }
                Type::Tensor(_) => {}
                Type::Prim(_) => {
                    self.params.push(Param::scalar(info.scalar.clone()?));
                    takes.push((at, None));
                }
                Type::Shape(ShapeType::Known(dims)) => {
                    for dim in dims.iter() {
                        self.params.push(Param::scalar(dim.as_var()?.clone()));
                    }
                    takes.push((at, None));
                }
                _ => return None,
            }
        }
        Some(takes)
    }

    /// Returns the buffers of a value.
    fn value(&mut self, value: &Value) -> Option<Vec<Buffer>> {
        match value {
            Value::Operand(operand) => self.operand(operand),
            Value::TupleGet(Operand::Var(tuple), at) => match self.fields.get(&(*tuple, *at)) {
                Some(buffer) => Some(vec![buffer.clone()]),
                None => {
                    let sizes: Vec<usize> = self.function.ty(*tuple).as_tuple()?.iter().map(tensors).collect();
                    let begin: usize = sizes.get(..*at)?.iter().sum();
                    Some(self.buffers.get(tuple)?.get(begin..begin + sizes.get(*at)?)?.to_vec())
                }
            },
            Value::Call(call) => self.call(CallTir::or_inplace(call)?),
            _ => None,
        }
    }

    fn operand(&self, operand: &Operand) -> Option<Vec<Buffer>> {
        match operand {
            Operand::Var(v) => self.buffers.get(v).cloned(),
            Operand::Tuple(fields) => {
                let fields: Option<Vec<_>> = fields.iter().map(|field| self.operand(field)).collect();
                Some(fields?.concat())
            }
            _ => None,
        }
    }

    /// Adds a kernel's body, and returns the buffers of its results.
    fn call(&mut self, call: CallTir) -> Option<Vec<Buffer>> {
        let (func, args) = (self.module.tir(call.kernel()?)?, call.inputs()?);
        if !func.s_tir || func.ret_ty.is_some() || func.attrs.is_true(EXACT) || !func.buffers().all(is_plain) {
            return None;
        }
        let (mut values, mut buffers) = (Substitution::default(), FxHashMap::default());
        let (inputs, others) = func.params.split_at_checked(args.len())?;
        for (param, arg) in inputs.iter().zip(args) {
            match (&param.buffer, arg) {
                (Some(declared), Operand::Var(_)) => {
                    let [given] = <[Buffer; 1]>::try_from(self.operand(arg)?).ok()?;
                    bind(declared, &given, &mut values, &mut buffers)?;
                }
                (None, Operand::Prim(e)) => match_size(&param.var.expr(), e, &mut values).then_some(())?,
                (None, Operand::Var(v)) => {
                    match_size(&param.var.expr(), &self.function.scalar(*v)?.expr(), &mut values).then_some(())?;
                }
                _ => return None,
            }
        }
        let allocated = self.allocated.len();
        let results = self.results(call, inputs, others, &mut values, &mut buffers)?;
        let known = |e: &PrimExpr| !e.any(&mut |e| e.as_var().is_some_and(|var| !values.contains_key(var)));
        let mut all_defined = others.iter().all(|param| param.buffer.is_some());
        func.buffers().for_each(|buffer| buffer.each_expr(&mut |e| all_defined &= known(e)));
        all_defined.then_some(())?;
        self.body(fresh::copy_body(&func.body, values, buffers), allocated);
        Some(results)
    }

    /// Allocates a call's results, except those that overwrite arguments.
    fn results(
        &mut self,
        call: CallTir,
        inputs: &[Param],
        others: &[Param],
        values: &mut Substitution,
        buffers: &mut FxHashMap<Buffer, Buffer>,
    ) -> Option<Vec<Buffer>> {
        let mut new = others.iter();
        let mut results = Vec::new();
        for (ty, overwritten_input) in call.outputs().iter().zip(call.in_place()) {
            if let Some(input) = overwritten_input {
                let given = buffers.get(inputs.get(input)?.buffer.as_ref()?)?.clone();
                self.written_over.insert(given.clone());
                results.push(given);
                continue;
            }
            let declared = new.next()?.buffer.as_ref()?;
            let dims = ty.as_tensor()?.dims()?.to_vec();
            let name = self.free_name(&format!("{}_intermediate", declared.name));
            let new = Buffer::scoped(name, dims, declared.dtype, declared.scope.clone());
            self.allocated.push(new.clone());
            bind(declared, &new, values, buffers)?;
            results.push(new);
        }
        Some(results)
    }

    fn free_name(&self, wanted: &str) -> Name {
        let mut name = wanted.to_owned();
        let mut number = 0;
        while self.allocated.iter().any(|buffer| *buffer.name == *name) {
            number += 1;
            name += &format!("_{number}");
        }
        name.into()
    }

    /// Adds a body and the buffers that it allocates, before those of its results.
    fn body(&mut self, body: Stmt, allocated: usize) {
        match body.kind {
            StmtKind::Block(block) if block.axes.is_empty() && &*block.name == "root" => {
                self.allocated.splice(allocated..allocated, block.alloc_buffers);
                self.bodies.push(block.body);
            }
            kind => self.bodies.push(Stmt { kind, span: body.span }),
        }
    }

    fn kernel(self) -> PrimFunc {
        let mut body = Stmt::seq(self.bodies);
        names::make_unique(&mut body, &mut FxHashSet::default());
        deduplicate_regions(&mut body);
        let is_param = |buffer: &Buffer| self.params.iter().any(|param| param.buffer.as_ref() == Some(buffer));
        let allocated: Vec<Buffer> = self.allocated.into_iter().filter(|buffer| !is_param(buffer)).collect();
        let body = if allocated.is_empty() { body } else { Block::root(allocated, body).into() };
        let attrs = Attrs::new().with("tirx.noalias", true);
        PrimFunc { params: self.params, ret_ty: None, body, attrs, s_tir: true, span: self.function.lambda.span }
    }
}

/// Returns true if a buffer is a contiguous tensor without an offset.
fn is_plain(buffer: &Buffer) -> bool {
    buffer.strides.is_empty() && buffer.elem_offset.as_ref().is_none_or(|offset| offset.as_int() == Some(0))
}

/// Maps a parameter of a kernel to a buffer of the fused kernel.
fn bind(
    declared: &Buffer,
    given: &Buffer,
    values: &mut Substitution,
    buffers: &mut FxHashMap<Buffer, Buffer>,
) -> Option<()> {
    let fits = declared.dtype == given.dtype && match_sizes(&declared.shape, &given.shape, values);
    fits.then_some(())?;
    values.insert(declared.data.clone(), given.data.expr());
    buffers.insert(declared.clone(), given.clone());
    Some(())
}

fn buffer(name: &str, ty: &Type) -> Option<Buffer> {
    let tensor = ty.as_tensor()?;
    Some(Buffer::new(name, tensor.dims()?.to_vec(), tensor.dtype?))
}

/// Returns the number of tensors in a type.
fn tensors(ty: &Type) -> usize {
    match ty {
        Type::Tuple(fields) => fields.iter().map(tensors).sum(),
        _ => 1,
    }
}

/// Returns the variables that a function's body uses as a whole, and fields of tuples used on their own.
fn used(function: &Function) -> (FxHashSet<Var>, FxHashSet<(Var, usize)>) {
    let (mut whole, mut fields): (FxHashSet<Var>, FxHashSet<(Var, usize)>) = Default::default();
    for binding in function.lambda.body.bindings() {
        match &binding.value {
            Value::TupleGet(Operand::Var(tuple), at) => {
                fields.insert((*tuple, *at));
            }
            value => value.each_operand(&mut |o| {
                o.each_var(&mut |v| {
                    whole.insert(v);
                });
            }),
        }
    }
    function.lambda.body.result.each_var(&mut |v| {
        whole.insert(v);
    });
    (whole, fields)
}

/// Merges equal regions of buffers that have become one.
fn deduplicate_regions(stmt: &mut Stmt) {
    if let StmtKind::Block(block) = &mut stmt.kind {
        for regions in [&mut block.reads, &mut block.writes].into_iter().flatten() {
            let mut distinct: Vec<Region> = Vec::with_capacity(regions.len());
            for region in regions.drain(..) {
                if !distinct.iter().any(|other| is_same(other, &region)) {
                    distinct.push(region);
                }
            }
            *regions = distinct;
        }
    }
    stmt.each_child_mut(&mut deduplicate_regions);
}

fn is_same(a: &Region, b: &Region) -> bool {
    let equal = hammock_ir::equal::exprs;
    let same = |(x, y): (&(PrimExpr, PrimExpr), &(PrimExpr, PrimExpr))| equal(&x.0, &y.0) && equal(&x.1, &y.1);
    a.buffer == b.buffer && a.ranges.len() == b.ranges.len() && a.ranges.iter().zip(&b.ranges).all(same)
}
