//! Calls of kernels by other kernels: bindings of the callee's parameters, and the conditions of the call.

use super::{Buffer, Param, PrimFunc, Stmt, StmtKind};
use crate::{
    DType, Name, PrimExpr,
    prim::{BinaryOp, PrimCallee, PrimKind, PrimType, Substitution},
};

/// The parameters of a called kernel, bound to the caller's expressions.
#[derive(Default)]
pub struct BoundCall {
    /// The values of scalar parameters, and of the sizes, strides and offsets that buffers' declarations name.
    pub values: Substitution,
    /// For each buffer or handle parameter, its index and address.
    pub pointers: Vec<(usize, Pointer)>,
    /// Equalities that must hold and are not proven.
    pub equalities: Vec<Equality>,
}

/// An address passed to a kernel.
pub struct Pointer {
    /// Start of the memory.
    pub data: PrimExpr,
    /// Offset of the buffer from there, in elements.
    pub offset: Option<PrimExpr>,
}

/// Two int64 sizes that must be equal when a kernel is called.
pub struct Equality {
    /// Size that the kernel expects.
    pub expected: PrimExpr,
    /// Size that the caller passes.
    pub actual: PrimExpr,
    /// Condition under which it matters: strides only matter in dimensions of several elements.
    pub matters: Option<PrimExpr>,
    /// Description for messages: `dimension 0 of \`A\``.
    pub what: String,
}

/// The reason why a call is invalid.
#[derive(Debug, PartialEq, Eq)]
pub enum CallMismatch {
    /// The number of arguments differs from the number of parameters.
    Count,
    /// An argument that does not match its parameter.
    Argument(String),
}

/// Names of the kernels that a function calls, one per call.
pub fn callees(func: &PrimFunc) -> Vec<&Name> {
    let mut found = Vec::new();
    func.body.walk(&mut |stmt| stmt.each_expr(&mut |e| e.walk(&mut |e| found.extend(callee(e)))));
    found
}

/// The kernel that an expression calls.
pub fn callee(e: &PrimExpr) -> Option<&Name> {
    match e.kind() {
        PrimKind::Call(call) => match &call.callee {
            PrimCallee::Global(name) => Some(name),
            PrimCallee::Intrin(_) => None,
        },
        _ => None,
    }
}

/// Returns a kernel that a statement itself calls where the call may be evaluated not at all, or more than once: in a
/// conditional operand, the condition of `while`, or the bindings of a block.
pub fn conditional_call(stmt: &Stmt) -> Option<Name> {
    let once = matches!(
        stmt.kind,
        StmtKind::For(_)
            | StmtKind::If(..)
            | StmtKind::Evaluate(_)
            | StmtKind::Bind(..)
            | StmtKind::Assert(..)
            | StmtKind::Return(_)
            | StmtKind::Attr { .. }
            | StmtKind::Store { .. }
    );
    let mut found = None;
    stmt.each_expr(&mut |e| found = found.take().or_else(|| if once { called_conditionally(e) } else { called_in(e) }));
    found
}

/// Returns a kernel called anywhere in an expression.
pub fn called_in(e: &PrimExpr) -> Option<Name> {
    let mut found = None;
    e.walk(&mut |e| found = found.take().or_else(|| callee(e).cloned()));
    found
}

/// Returns a kernel called in an operand that may not be evaluated.
fn called_conditionally(e: &PrimExpr) -> Option<Name> {
    let is_lazy = match e.kind() {
        PrimKind::Select(..) | PrimKind::Let(..) | PrimKind::Reduce(_) => true,
        PrimKind::Binary(op, ..) => matches!(op, BinaryOp::And | BinaryOp::Or),
        _ => e.as_intrin("if_then_else").is_some(),
    };
    let (mut number, mut found) = (0, None);
    e.each_child(&mut |child| {
        let certain = !is_lazy || number == 0;
        found = found.take().or_else(|| if certain { called_conditionally(child) } else { called_in(child) });
        number += 1;
    });
    found
}

/// Binds arguments to a kernel's parameters. Buffers are passed as descriptors (`T.tvm_stack_make_array`), to which a
/// buffer's name is lowered, or as addresses, in which case other arguments must determine all of the parameter's
/// sizes.
///
/// # Errors
/// When the arguments are invalid.
pub fn bind_call(func: &PrimFunc, args: &[PrimExpr]) -> Result<BoundCall, CallMismatch> {
    if func.params.len() != args.len() {
        return Err(CallMismatch::Count);
    }
    let mut call = BoundCall::default();
    let pairs = || func.params.iter().zip(args).enumerate();
    for (_, (param, arg)) in pairs().filter(|(_, (p, _))| p.buffer.is_none() && !p.var.dtype().is_handle()) {
        let value = scalar(param, arg).map_err(CallMismatch::Argument)?;
        call.values.insert(param.var.clone(), value);
    }
    for (number, (param, arg)) in pairs().filter(|(_, (p, _))| p.buffer.is_some() || p.var.dtype().is_handle()) {
        let pointer = call.pointer(param, arg).map_err(CallMismatch::Argument)?;
        call.pointers.push((number, pointer));
    }
    for (param, arg) in func.params.iter().zip(args) {
        let Some(buffer) = &param.buffer else { continue };
        if let Some(given) = Description::of(arg) {
            call.compare(buffer, &given);
        }
        call.is_known(buffer).map_err(CallMismatch::Argument)?;
    }
    match call.equalities.iter().find(|e| e.never_holds()) {
        Some(Equality { expected, actual, what, .. }) => {
            Err(CallMismatch::Argument(format!("{what} must be {}, but is {}", plain(expected), plain(actual))))
        }
        None => {
            call.equalities.retain(|e| !e.always_holds());
            Ok(call)
        }
    }
}

/// A tensor descriptor: `T.tvm_stack_make_array(data, shape, strides, ndim, a value of the dtype, offset)`.
pub struct Description<'a> {
    /// The address.
    pub data: &'a PrimExpr,
    /// Sizes.
    pub shape: &'a [PrimExpr],
    /// Strides, in elements; `None` for a compact tensor.
    pub strides: Option<&'a [PrimExpr]>,
    /// Element type.
    pub dtype: DType,
    /// Offset of the first element.
    pub offset: &'a PrimExpr,
}

impl<'a> Description<'a> {
    /// Reads a descriptor; `None` if the expression is none.
    pub fn of(arg: &'a PrimExpr) -> Option<Self> {
        let call = arg.as_intrin("tvm_stack_make_array")?;
        let [data, shape, strides, _, like, offset] = &call.args[..] else { return None };
        let shape = &shape.as_intrin("tvm_stack_make_shape")?.args;
        let strides = strides.as_intrin("tvm_stack_make_shape").map(|call| &call.args[..]);
        Some(Description { data, shape, strides, dtype: like.dtype(), offset })
    }
}

impl BoundCall {
    /// Binds an argument to a buffer or handle parameter, with the sizes that it determines.
    fn pointer(&mut self, param: &Param, arg: &PrimExpr) -> Result<Pointer, String> {
        let name = param.buffer.as_ref().map_or(param.var.name(), |b| &b.name);
        let expected = param.buffer.as_ref().map(|b| b.dtype).or_else(|| element(param.var.ty()));
        let Some(given) = Description::of(arg) else {
            if !arg.dtype().is_handle() {
                let what = if param.buffer.is_some() { "a buffer" } else { "an address" };
                return Err(format!("`{name}` is {what}, but gets a value of {}", arg.dtype()));
            }
            same_elements(name, expected, element(arg.ty()))?;
            return Ok(Pointer { data: arg.clone(), offset: None });
        };
        same_elements(name, expected, Some(given.dtype))?;
        if let Some(buffer) = &param.buffer {
            if given.shape.len() != buffer.ndim() {
                return Err(format!(
                    "`{name}` has rank {}, but gets a buffer of rank {}",
                    buffer.ndim(),
                    given.shape.len()
                ));
            }
            if given.strides.is_some_and(|strides| strides.len() != buffer.ndim()) {
                return Err(format!("`{name}` gets strides of another number of dimensions"));
            }
            self.bind_all(&buffer.shape, given.shape);
            self.bind_all(&buffer.strides, &given.steps());
        }
        let offset = given.offset.as_int() != Some(0);
        Ok(Pointer { data: given.data.clone(), offset: offset.then(|| given.offset.clone()) })
    }

    /// Binds variables that are themselves a size or stride.
    fn bind_all(&mut self, declared: &[PrimExpr], actual: &[PrimExpr]) {
        for (declared, actual) in declared.iter().zip(actual) {
            if let Some(var) = declared.as_var() {
                self.values.entry(var.clone()).or_insert_with(|| cast(actual, var.dtype()));
            }
        }
    }

    /// Records the equalities under which a descriptor matches a buffer's declaration.
    fn compare(&mut self, buffer: &Buffer, given: &Description) {
        let sizes = buffer.shape.iter().zip(given.shape).enumerate();
        let steps = given.steps();
        let declared = if buffer.strides.is_empty() { compact(&buffer.shape) } else { buffer.strides.clone() };
        let mut all: Vec<Equality> = sizes
            .map(|(axis, (e, a))| self.equality(e, a, None, format!("dimension {axis} of `{}`", buffer.name)))
            .collect();
        if !buffer.strides.is_empty() || given.strides.is_some() {
            for (axis, (declared, actual)) in declared.iter().zip(&steps).enumerate() {
                let what = format!("the stride of dimension {axis} of `{}`", buffer.name);
                all.push(self.equality(declared, actual, Some(&given.shape[axis]), what));
            }
        }
        self.equalities.extend(all);
    }

    fn equality(&self, expected: &PrimExpr, actual: &PrimExpr, matters: Option<&PrimExpr>, what: String) -> Equality {
        let expected = cast(&expected.substitute(&self.values), DType::INT64);
        let wide = |e: &PrimExpr| cast(e, DType::INT64);
        Equality { expected, actual: wide(actual), matters: matters.map(wide), what }
    }

    /// Checks that every size of a parameter has a value; offsets of parameters are zero.
    fn is_known(&mut self, buffer: &Buffer) -> Result<(), String> {
        if let Some(offset) = buffer.elem_offset.as_ref().and_then(PrimExpr::as_var) {
            self.values.entry(offset.clone()).or_insert_with(|| PrimExpr::int(0, offset.dtype()));
        }
        let mut unknown = None;
        for size in buffer.shape.iter().chain(&buffer.strides) {
            size.each_var(&mut |v| {
                if !self.values.contains_key(v) {
                    unknown.get_or_insert(v.name().clone());
                }
            });
        }
        match unknown {
            Some(size) => Err(format!(
                "the size `{size}` of `{}` is not known from an address: give the buffer itself, not its `data`",
                buffer.name
            )),
            None => Ok(()),
        }
    }
}

impl Description<'_> {
    /// Stride of each dimension.
    fn steps(&self) -> Vec<PrimExpr> {
        self.strides.map_or_else(|| compact(self.shape), <[PrimExpr]>::to_vec)
    }
}

impl Equality {
    /// The condition.
    pub fn condition(&self) -> PrimExpr {
        let equal = self.actual.clone().eq(self.expected.clone());
        match &self.matters {
            Some(size) => size.clone().le(PrimExpr::int64(1)).or(equal),
            None => equal,
        }
    }

    fn difference(&self) -> Option<i64> {
        let analyzer = crate::arith::Analyzer::new();
        analyzer.as_constant(&(self.actual.clone() - self.expected.clone()))
    }

    fn always_holds(&self) -> bool {
        self.matters.as_ref().and_then(PrimExpr::as_int).is_some_and(|n| n <= 1) || self.difference() == Some(0)
    }

    fn never_holds(&self) -> bool {
        let matters = self.matters.as_ref().is_none_or(|n| n.as_int().is_some_and(|n| n > 1));
        matters && self.difference().is_some_and(|d| d != 0)
    }
}

/// An argument as the value of a scalar parameter: of its dtype, or an integer that it can hold.
fn scalar(param: &Param, arg: &PrimExpr) -> Result<PrimExpr, String> {
    let (expected, found) = (param.var.dtype(), arg.dtype());
    let widens =
        expected.is_integer() && found.is_integer() && found.bits < expected.bits && found.code == expected.code;
    let constant = match (arg.as_int(), arg.as_float()) {
        (Some(value), _) if expected.is_integer() => crate::arith::Interval::of_dtype(expected).contains(value),
        (_, Some(_)) => expected.is_floating(),
        _ => false,
    };
    let is_scalar = !found.is_handle() && arg.as_intrin("tvm_stack_make_array").is_none() && found.is_scalar();
    if found == expected || is_scalar && (widens || constant) {
        return Ok(cast(arg, expected));
    }
    let found = if is_scalar { found.to_string() } else { "a buffer or an address".to_owned() };
    Err(format!("`{}` is {expected}, but gets {found}", param.var.name()))
}

/// Checks that an address points to elements of the expected dtype, as far as known.
fn same_elements(name: &Name, expected: Option<DType>, found: Option<DType>) -> Result<(), String> {
    match (expected, found) {
        (Some(expected), Some(found)) if expected != found => {
            Err(format!("`{name}` has elements of {expected}, but gets {found}"))
        }
        _ => Ok(()),
    }
}

/// Element dtype of a pointer.
fn element(ty: &PrimType) -> Option<DType> {
    match ty {
        PrimType::Pointer(dtype, _) => dtype.filter(|dtype| !dtype.is_void()),
        PrimType::Scalar(_) => None,
    }
}

/// Row-major strides.
fn compact(shape: &[PrimExpr]) -> Vec<PrimExpr> {
    let mut strides = vec![PrimExpr::int64(1); shape.len()];
    for axis in (1..shape.len()).rev() {
        let size = cast(&shape[axis], DType::INT64);
        strides[axis - 1] = crate::arith::binary(crate::prim::BinaryOp::Mul, strides[axis].clone(), size);
    }
    strides
}

fn cast(e: &PrimExpr, dtype: DType) -> PrimExpr {
    if e.dtype() == dtype { e.clone() } else { crate::arith::cast(e.clone(), dtype) }
}

fn plain(e: &PrimExpr) -> String {
    e.as_int().map_or_else(|| e.to_string(), |v| v.to_string())
}
