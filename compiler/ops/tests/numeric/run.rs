//! Running one call of an operator through its legalization and the reference interpreter.
//!
//! Every call runs with the sizes that its tensors have, then with symbolic ones: once with one variable for equal
//! sizes, once with a variable per dimension, where nothing can be proved. All must give the same results.

use hammock_interp::{self as interp, Arg as Value};
use hammock_ir::{
    AttrValue, DType, Module, PrimExpr, Span, Tensor, Type,
    prim::{Substitution, Var},
    relax::{Call, Constant, Function, InferError, Operand},
    types::TensorType,
};
use hammock_ops::{CallContext, Lowering, legalize::Legalized, lookup};

/// An argument of a call.
#[derive(Clone)]
pub enum Arg {
    T(Tensor),
    Const(Tensor),
    Prim(PrimExpr),
    Shape(Vec<i64>),
    Ints(Vec<i64>),
    List(Vec<Arg>),
}

impl From<Tensor> for Arg {
    fn from(t: Tensor) -> Self {
        Arg::T(t)
    }
}

impl From<&Tensor> for Arg {
    fn from(t: &Tensor) -> Self {
        Arg::T(t.clone())
    }
}

impl From<i64> for Arg {
    fn from(v: i64) -> Self {
        Arg::Prim(v.into())
    }
}

impl From<f64> for Arg {
    fn from(v: f64) -> Self {
        Arg::Prim(PrimExpr::float(v, DType::FLOAT32))
    }
}

/// Attributes given to a call.
pub type Attrs<'a> = &'a [(&'static str, AttrValue)];

/// Representation of sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Sizes {
    /// As numbers.
    Numbers,
    /// Those above 1 as variables, one for each size.
    Shared,
    /// Each as a variable of its own.
    Distinct,
}

/// A function with a call in it.
struct Site {
    function: Function,
    tensors: Vec<(hammock_ir::relax::Var, Tensor)>,
    how: Sizes,
    /// Variables with their sizes.
    sizes: Vec<(i64, Var)>,
}

impl Site {
    fn new(how: Sizes) -> Self {
        let function = Function::empty();
        Site { function, tensors: Vec::new(), how, sizes: Vec::new() }
    }

    fn dim(&mut self, size: i64) -> PrimExpr {
        let known = self.sizes.iter().find(|(s, _)| *s == size);
        match (self.how, known) {
            (Sizes::Numbers, _) => return size.into(),
            (Sizes::Shared, _) if size <= 1 => return size.into(),
            (Sizes::Shared, Some((_, var))) => return var.expr(),
            _ => {}
        }
        let var = Var::int64(format!("n{}", self.sizes.len()));
        self.sizes.push((size, var.clone()));
        var.expr()
    }

    fn operand(&mut self, arg: &Arg) -> Operand {
        match arg {
            Arg::T(t) => {
                let dims: Vec<PrimExpr> = t.shape().iter().map(|d| self.dim(*d)).collect();
                let ty = TensorType::new(dims, t.dtype()).into();
                let var = self.function.new_var(format!("x{}", self.tensors.len()), ty, false, Span::default());
                self.tensors.push((var, t.clone()));
                var.into()
            }
            Arg::Const(t) => Operand::Const(Constant::new(t.clone())),
            Arg::Prim(e) => Operand::Prim(e.clone()),
            Arg::Shape(dims) if self.how == Sizes::Distinct => {
                Operand::Shape(dims.iter().map(|d| (*d).into()).collect())
            }
            Arg::Shape(dims) => Operand::Shape(dims.iter().map(|d| self.dim(*d)).collect()),
            Arg::Ints(values) => Operand::Tuple(values.iter().map(|v| Operand::int(*v)).collect()),
            Arg::List(args) => Operand::Tuple(args.iter().map(|a| self.operand(a)).collect()),
        }
    }

    fn values(&self) -> Substitution {
        self.sizes.iter().map(|(size, var)| (var.clone(), (*size).into())).collect()
    }

    fn eval(&self, e: &PrimExpr) -> i64 {
        evaluate(&e.substitute(&self.values()))
    }

    fn value(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Var(v) => self.tensors.iter().find(|(var, _)| var == v).unwrap().1.clone().into(),
            Operand::Const(c) => c.tensor.clone().into(),
            Operand::Prim(e) => self.eval(e).into(),
            other => panic!("argument {other:?}"),
        }
    }
}

/// The value of an expression without variables, by running it.
fn evaluate(e: &PrimExpr) -> i64 {
    use hammock_ir::tir::{Buffer, Param, PrimFunc, Stmt};
    let out = Buffer::new("out", vec![1i64.into()], DType::INT64);
    let body = Stmt::store(&out, vec![0i64.into()], e.clone());
    let params = vec![Param::buffer(out)];
    let func = PrimFunc { params, ret_ty: None, body, attrs: Default::default(), s_tir: true, span: Span::default() };
    interp::call_tir(&func, &[], &[(vec![1], DType::INT64)]).unwrap()[0].as_slice::<i64>().unwrap()[0]
}

/// The call with its legalization.
fn legalize(site: &mut Site, op: &str, args: &[Arg], attrs: Attrs) -> Result<Legalized, InferError> {
    let op = lookup(op).unwrap_or_else(|| panic!("no operator {op}"));
    let operands = args.iter().map(|a| site.operand(a)).collect();
    let call = op.call(operands, attrs.to_vec());
    legalize_call(site, op, &call)
}

fn legalize_call(site: &Site, op: &hammock_ops::Op, call: &Call) -> Result<Legalized, InferError> {
    let module = Module::new();
    let cx = CallContext { module: &module, function: &site.function, op, call };
    match &op.lowering {
        Lowering::Tir(build) => build(&cx),
        _ => panic!("{} has no TIR", op.name),
    }
}

fn run_as(how: Sizes, op: &str, args: &[Arg], attrs: Attrs) -> Result<Vec<Tensor>, InferError> {
    let mut site = Site::new(how);
    let made = legalize(&mut site, op, args, attrs)?;
    let inputs: Vec<Value> = made.args.iter().map(|a| site.value(a)).collect();
    let outputs: Vec<(Vec<i64>, DType)> = leaves(&made.out_ty).iter().map(|t| shape_of(&site, t)).collect();
    let result = interp::call_tir(&made.func, &inputs, &outputs);
    Ok(result.unwrap_or_else(|e| panic!("{op} with {how:?}: {e}")))
}

fn leaves(ty: &Type) -> Vec<TensorType> {
    match ty {
        Type::Tensor(t) => vec![t.clone()],
        Type::Tuple(members) => members.iter().flat_map(leaves).collect(),
        other => panic!("result {other:?}"),
    }
}

fn shape_of(site: &Site, ty: &TensorType) -> (Vec<i64>, DType) {
    (ty.dims().expect("known shape").iter().map(|d| site.eval(d)).collect(), ty.dtype.expect("known dtype"))
}

/// The results of a call. Calls that need known sizes must still run with one variable for equal sizes.
pub fn run(op: &str, args: &[Arg], attrs: Attrs) -> Vec<Tensor> {
    let fixed = run_static(op, args, attrs);
    let shared = run_symbolic(op, args, attrs);
    let distinct = run_as(Sizes::Distinct, op, args, attrs).ok();
    for symbolic in [Some(shared), distinct].into_iter().flatten() {
        assert_eq!(fixed.len(), symbolic.len(), "{op}");
        for (a, b) in fixed.iter().zip(&symbolic) {
            assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()), "{op}: symbolic");
            assert_eq!(a.as_bytes().unwrap(), b.as_bytes().unwrap(), "{op}: symbolic");
        }
    }
    fixed
}

/// The results of a call whose sizes must be known.
pub fn run_static(op: &str, args: &[Arg], attrs: Attrs) -> Vec<Tensor> {
    run_as(Sizes::Numbers, op, args, attrs).unwrap_or_else(|e| panic!("{op}: {e}"))
}

/// The results of a call with one variable for equal sizes.
pub fn run_symbolic(op: &str, args: &[Arg], attrs: Attrs) -> Vec<Tensor> {
    run_as(Sizes::Shared, op, args, attrs).unwrap_or_else(|e| panic!("{op} with symbolic sizes: {e}"))
}

/// The error of a rejected call.
pub fn error(op: &str, args: &[Arg], attrs: Attrs) -> String {
    let mut site = Site::new(Sizes::Numbers);
    legalize(&mut site, op, args, attrs).map(|_| op).expect_err("the call fits").to_string()
}

/// The run-time error of a call with a variable for every size.
pub fn stops(op: &str, args: &[Arg], attrs: Attrs) -> String {
    stops_as(Sizes::Distinct, op, args, attrs)
}

/// The run-time error of a call with known sizes.
pub fn stops_static(op: &str, args: &[Arg], attrs: Attrs) -> String {
    stops_as(Sizes::Numbers, op, args, attrs)
}

fn stops_as(how: Sizes, op: &str, args: &[Arg], attrs: Attrs) -> String {
    let mut site = Site::new(how);
    let made = legalize(&mut site, op, args, attrs).unwrap_or_else(|e| panic!("{op}: {e}"));
    let inputs: Vec<Value> = made.args.iter().map(|a| site.value(a)).collect();
    let outputs: Vec<(Vec<i64>, DType)> = leaves(&made.out_ty).iter().map(|t| shape_of(&site, t)).collect();
    interp::call_tir(&made.func, &inputs, &outputs).expect_err("the call runs").to_string()
}

/// The only result of a call.
pub fn run1(op: &str, args: &[Arg], attrs: Attrs) -> Tensor {
    run(op, args, attrs).remove(0)
}
