//! FoldConstant: evaluates expressions of constants at compile time.
//!
//! - A `call_tir` of constants runs its kernel; an operator in a dataflow block that lowers to a kernel runs that
//!   kernel.
//! - `shape_of`, `shape_to_tensor` and `tensor_to_shape` in a dataflow block fold if shapes are known, and such
//!   shapes in types are replaced by their sizes.
//! - All users share one constant, which is on the device of the result; unused bindings are removed.
//!
//! A call stays if a kernel cannot run at compile time or fails there (it then fails when the program runs), if its
//! result may be written to, and if the constant would be large and is cheap to compute: see the options.
//!
//! Quantized weights stay quantized if they are only used by matmuls: a dequantized weight for `matmul` alone does
//! not become a constant, as that would take several times the memory, and matmuls of few rows are memory-bound.
//! Their kernels dequantize in registers (see FuseOps).

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{
        op_pattern::OpPattern,
        types::{is_incomplete, refine_type},
    },
    params::is_much_smaller,
    rewrite::{self, dead_code::remove_unused},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Module, PrimExpr, Tensor, TensorType, Type,
    relax::{
        Binding, Call, CallTir, Callee, Constant, Function, Operand, Origin, Replacements, Value, Var,
        memory::{MemoryDependences, Writers},
    },
    tir::PrimFunc,
};
use hammock_ops::{CallContext, Lowering, Table, legalize::has_normal_operands, lookup};
use hammock_runtime::Any;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FoldConstant",
    doc: "Evaluates expressions of constants at compile time",
    options: &[
        PassOption {
            name: "max_created",
            kind: OptionKind::Integer,
            default: "1024",
            doc: "Maximum number of elements of a result that uses no tensor, such as `R.zeros`",
        },
        PassOption {
            name: "max_growth",
            kind: OptionKind::Integer,
            default: "8",
            doc: "Maximum ratio of the size of a result over 64 KiB to that of its constants",
        },
    ],
    run,
};

/// Results up to this many bytes always fold.
const ALWAYS_FOLDED_BYTES: i64 = 64 << 10;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let (known, tuples, shapes) = Default::default();
        let only_for_matmuls = only_for_matmuls(module, function);
        let mut uses: FxHashMap<Var, usize> = FxHashMap::default();
        function.lambda.body.each_use(&mut |v| *uses.entry(v).or_default() += 1);
        let mut folder = Folder { module, context, memory, only_for_matmuls, uses, known, tuples, shapes };
        rewrite::bindings(function, &mut |function, binding, out| {
            let binding = folder.binding(function, binding, out.dataflow);
            // A dataflow variable is invisible outside the block, and inside it the constant replaces it.
            if !folder.known.contains_key(&binding.var) || !function.vars[binding.var].dataflow {
                out.push(binding);
            }
            Ok(())
        })?;
        function.replace(&folder.known);
        remove_unused(module, function, &writers);
        Ok(())
    })
}

struct Folder<'a> {
    module: &'a Module,
    context: &'a Context<'a>,
    memory: MemoryDependences,
    /// Variables that only matmuls use.
    only_for_matmuls: FxHashSet<Var>,
    /// Remaining uses of variables: intermediate constants are freed early.
    uses: FxHashMap<Var, usize>,
    /// Variables with constant values.
    known: Replacements,
    /// Variables that are tuples of constants.
    tuples: FxHashMap<Var, Vec<Operand>>,
    /// Variables that are shapes of known sizes.
    shapes: Replacements,
}

impl Folder<'_> {
    /// Returns the binding with known values inserted; records its variable if its value is constant.
    fn binding(&mut self, function: &mut Function, mut binding: Binding, dataflow: bool) -> Binding {
        self.insert_known(&mut binding.value, dataflow);
        self.retype(function, &binding);
        let folded = match &binding.value {
            _ if self.memory.is_written(binding.var) => None,
            Value::Call(call) => match (CallTir::of(call), &call.callee) {
                (Some(call), _) => self.call_tir(binding.var, call),
                (None, Callee::Op(name)) if dataflow => self.operator(function, binding.var, name, call),
                _ => None,
            },
            Value::TupleGet(Operand::Var(tuple), i) => {
                self.tuples.get(tuple).and_then(|fields| fields.get(*i)).cloned()
            }
            _ => None,
        };
        binding.value = folded.map_or(binding.value, Value::Operand);
        self.note(function, &binding);
        binding
    }

    /// Replaces variables by constants, and by known shapes among the arguments of operators.
    fn insert_known(&mut self, value: &mut Value, dataflow: bool) {
        value.each_operand_mut(&mut |o| {
            o.map(&mut |o| {
                if let Operand::Var(v) = o
                    && let Some(known) = self.known.get(v)
                {
                    let (var, known) = (*v, known.clone());
                    *o = known;
                    self.used(var);
                }
            });
        });
        let Value::Call(call) = value else { return };
        call.ty_args.iter_mut().for_each(|ty| ty.replace(&self.shapes));
        if dataflow && matches!(call.callee, Callee::Op(_)) {
            for arg in &mut call.args {
                if let Some(shape) = arg.as_var().and_then(|v| self.shapes.get(&v)) {
                    *arg = shape.clone();
                }
            }
        }
    }

    /// Counts a use of a constant, which is dropped after the last.
    fn used(&mut self, var: Var) {
        let left = self.uses.entry(var).or_default();
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.known.remove(&var);
        }
    }

    /// Inserts the sizes of known shapes into the variable's type, and refines it from the operands' types.
    fn retype(&self, function: &mut Function, binding: &Binding) {
        if self.shapes.is_empty() {
            return;
        }
        let mut ty = function.ty(binding.var).clone();
        ty.replace(&self.shapes);
        if let Value::Call(call @ Call { callee: Callee::Op(_), .. }) = &binding.value
            && is_incomplete(&ty)
            && let Ok(inferred) = self.context.environment.operators.infer(self.module, function, call)
        {
            ty = refine_type(&ty, &inferred);
        }
        function.vars[binding.var].ty = ty;
    }

    /// Records a variable that is constant.
    fn note(&mut self, function: &mut Function, binding: &Binding) {
        if self.memory.is_written(binding.var) {
            return;
        }
        match &binding.value {
            Value::Operand(constant @ Operand::Const(_)) => drop(self.known.insert(binding.var, constant.clone())),
            Value::Operand(Operand::Tuple(fields)) if fields.iter().all(|field| matches!(field, Operand::Const(_))) => {
                self.tuples.insert(binding.var, fields.clone());
            }
            Value::Operand(shape @ Operand::Shape(dims)) => {
                function.vars[binding.var].ty = Type::shape(dims.iter().cloned());
                self.shapes.insert(binding.var, shape.clone());
            }
            _ => {}
        }
    }

    /// Evaluates an operator in a dataflow block on constants.
    fn operator(&self, function: &Function, var: Var, name: &'static str, call: &Call) -> Option<Operand> {
        let op = lookup(name).filter(|op| op.pure && !op.unique)?;
        match (name, call.args.as_slice()) {
            ("shape_of", [tensor]) => match function.operand_ty(self.module, tensor) {
                Type::Tensor(t) => Some(Operand::Shape(t.dims()?.to_vec())),
                _ => None,
            },
            ("shape_to_tensor", [Operand::Shape(dims)]) => tensor_of(dims).map(constant),
            ("tensor_to_shape", [Operand::Const(tensor)]) => shape_of(&tensor.tensor),
            _ => {
                let Lowering::Tir(build) = &op.lowering else { return None };
                if !call.args.iter().all(is_known) {
                    return None;
                }
                let ty = self.context.environment.operators.infer(self.module, function, call).ok()?;
                let outputs = outputs(&ty)?;
                self.check_size(var, &call.args, &outputs)?;
                let call = CallContext { module: self.module, function, op, call };
                let made = has_normal_operands(&call).then(|| build(&call).ok()).flatten()?;
                self.evaluate(&made.func, &made.args, &made.out_ty)
            }
        }
    }

    /// Evaluates a kernel of the module on constants.
    fn call_tir(&self, var: Var, call: CallTir) -> Option<Operand> {
        let args = call.inputs().filter(|args| args.iter().all(is_known))?;
        self.check_size(var, args, &outputs(call.out_ty)?)?;
        self.evaluate(self.module.tir(call.kernel()?)?, args, call.out_ty)
    }

    /// Succeeds if constants of these shapes are worth their size, for a variable.
    fn check_size(&self, var: Var, args: &[Operand], outputs: &[(Vec<i64>, DType)]) -> Option<()> {
        let options = self.context.options;
        let count = |shape: &[i64]| shape.iter().try_fold(1i64, |count, size| count.checked_mul(*size));
        let (mut elements, mut bytes) = (0i64, 0i64);
        for (shape, dtype) in outputs {
            let count = count(shape)?;
            elements = elements.checked_add(count)?;
            bytes = bytes.checked_add(count.checked_mul(dtype.bytes() as i64)?)?;
        }
        let (mut given, mut from_tensors, mut integers) = (0i64, false, 0i64);
        args.iter().for_each(|arg| {
            arg.walk(&mut |o| {
                if let Operand::Const(constant) = o {
                    let bytes = constant.tensor.nbytes() as i64;
                    given = given.saturating_add(bytes);
                    integers += if constant.tensor.dtype().is_integer() { bytes } else { 0 };
                    from_tensors = true;
                }
            });
        });
        // Mostly integers, and the floats dequantized from them are 1.5 times as large, or more.
        let floats = outputs.iter().all(|(_, dtype)| dtype.is_floating());
        let widens = floats && integers.saturating_mul(2) > given && bytes.saturating_mul(2) >= given.saturating_mul(3);
        if bytes > ALWAYS_FOLDED_BYTES && widens && self.only_for_matmuls.contains(&var) {
            return None;
        }
        let fits = if from_tensors {
            bytes <= ALWAYS_FOLDED_BYTES || bytes <= given.saturating_mul(options.integer("max_growth"))
        } else {
            elements <= options.integer("max_created")
        };
        fits.then_some(())
    }

    /// Runs a kernel on constants; `None` when it cannot run.
    fn evaluate(&self, kernel: &PrimFunc, args: &[Operand], ty: &Type) -> Option<Operand> {
        let inputs: Vec<Any> = args.iter().map(argument).collect::<Option<_>>()?;
        let results = self.context.environment.evaluator.call_tir(self.module, kernel, &inputs, &outputs(ty)?).ok()?;
        let placed = |(tensor, ty): (Tensor, &Type)| {
            let vdevice = ty.as_tensor().and_then(|ty| ty.vdevice.clone());
            Constant { vdevice, ..Constant::new(tensor) }
        };
        match ty {
            Type::Tensor(tensor_ty) => {
                let result = placed((results.into_iter().next()?, ty));
                let origin = origin(kernel, args, tensor_ty, result.tensor.nbytes());
                Some(Operand::Const(Constant { origin: origin.map(Arc::new), ..result }))
            }
            _ => {
                Some(Operand::Tuple(results.into_iter().zip(ty.as_tuple()?).map(placed).map(Operand::Const).collect()))
            }
        }
    }
}

/// Returns variables that only matmuls use, possibly through permutes, reshapes and casts.
fn only_for_matmuls(module: &Module, function: &Function) -> FxHashSet<Var> {
    let mut users: FxHashMap<Var, Vec<User>> = FxHashMap::default();
    function.lambda.body.walk(&mut |binding| {
        let user = User::of(module, binding);
        binding.value.each_operand(&mut |o| o.each_var(&mut |var| users.entry(var).or_default().push(user)));
    });
    let mut found = FxHashSet::default();
    let mut bindings = Vec::new();
    function.lambda.body.walk(&mut |binding| bindings.push(binding.var));
    for var in bindings.into_iter().rev().filter(|var| function.vars[*var].dataflow) {
        let fits = |user: &User| match user {
            User::Product => true,
            User::Rearranges(result) => found.contains(result),
            User::Other => false,
        };
        if users.get(&var).is_some_and(|users| users.iter().all(fits)) {
            found.insert(var);
        }
    }
    found
}

/// Kind of a user.
#[derive(Clone, Copy)]
enum User {
    Product,
    Rearranges(Var),
    Other,
}

impl User {
    fn of(module: &Module, binding: &Binding) -> User {
        let Value::Call(call) = &binding.value else { return User::Other };
        let kernel = CallTir::of(call).and_then(|call| module.tir(call.kernel()?));
        match (kernel.map(|kernel| OpPattern::of(kernel, true)), &call.callee) {
            (Some(OpPattern::OutElementWiseFusable), _) => User::Product,
            (Some(pattern), _) if pattern <= OpPattern::Injective => User::Rearranges(binding.var),
            (None, Callee::Op("matmul")) => User::Product,
            (None, Callee::Op("permute_dims" | "reshape" | "astype")) => User::Rearranges(binding.var),
            _ => User::Other,
        }
    }
}

/// Returns the origin of a constant of `bytes` bytes that was computed from fewer, for PrepareConstants.
fn origin(kernel: &PrimFunc, args: &[Operand], ty: &TensorType, bytes: usize) -> Option<Origin> {
    if bytes as i64 <= ALWAYS_FOLDED_BYTES || kernel.body.runs_functions() {
        return None;
    }
    let source = |arg: &Operand| match arg {
        Operand::Const(constant) => Some(constant.source()),
        _ => None,
    };
    let inputs = args.iter().map(source).collect::<Option<_>>()?;
    let origin = Origin { kernel: kernel.clone(), inputs, ty: ty.clone() };
    // An origin that is not worth using would keep its data in memory.
    is_much_smaller(origin.bytes(), bytes).then_some(origin)
}

fn constant(tensor: Tensor) -> Operand {
    Operand::Const(Constant::new(tensor))
}

/// Returns true if a kernel's argument is known at compile time.
fn is_known(operand: &Operand) -> bool {
    match operand {
        Operand::Const(constant) => constant.distributed.is_none(),
        Operand::Tuple(fields) => fields.iter().all(is_known),
        Operand::Prim(e) => e.as_int().is_some() || e.as_float().is_some(),
        Operand::Shape(dims) => dims.iter().all(|dim| dim.as_int().is_some()),
        Operand::Str(_) | Operand::DType(_) => true,
        _ => false,
    }
}

/// Returns a kernel's argument.
fn argument(operand: &Operand) -> Option<Any> {
    match operand {
        Operand::Const(constant) => Some(constant.tensor.clone().into()),
        Operand::Prim(e) => e.as_int().map(Any::from).or_else(|| e.as_float().map(Any::from)),
        _ => None,
    }
}

/// Returns the shapes and dtypes of a result, if all are known.
fn outputs(ty: &Type) -> Option<Vec<(Vec<i64>, DType)>> {
    let tensor = |t: &TensorType| {
        let dims = t.dims()?.iter().map(|dim| dim.as_int().filter(|size| *size >= 0)).collect::<Option<_>>()?;
        t.dtype.map(|dtype| (dims, dtype))
    };
    match ty {
        Type::Tensor(t) => tensor(t).map(|output| vec![output]),
        Type::Tuple(members) if !members.is_empty() => {
            members.iter().map(|member| member.as_tensor().and_then(tensor)).collect()
        }
        _ => None,
    }
}

/// Returns the int64 vector of a shape's sizes.
fn tensor_of(dims: &[PrimExpr]) -> Option<Tensor> {
    let sizes: Vec<i64> = dims.iter().map(PrimExpr::as_int).collect::<Option<_>>()?;
    Tensor::from_slice(&[sizes.len() as i64], &sizes).ok()
}

/// Returns the shape that an integer vector holds.
fn shape_of(tensor: &Tensor) -> Option<Operand> {
    let sizes = tensor.as_slice::<i64>().ok()?.iter();
    let sizes = sizes.map(|size| (*size >= 0).then(|| PrimExpr::int64(*size)));
    sizes.collect::<Option<_>>().map(Operand::Shape)
}
