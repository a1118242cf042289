//! Running one call of an operator through its legalization and the reference interpreter.
//!
//! Every call runs twice: with the sizes that its tensors have, and with symbolic ones (each size above 1 a variable,
//! equal sizes the same). Both must give the same.

use hammock_ir::{
    AttrValue, DType, Module, Name, PrimExpr, Span, Tensor, Type,
    prim::{Substitution, Var},
    relax::{Body, Call, Constant, Function, InferError, Lambda, Operand},
    types::TensorType,
};
use hammock_kernels::interp::{self, Arg as Value};
use hammock_ops::{CallContext, Lowering, legalize::Legalized, lookup};
use std::collections::BTreeMap;

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

/// A function with a call in it.
struct Site {
    function: Function,
    tensors: Vec<(hammock_ir::relax::Var, Tensor)>,
    /// Variables by the size they stand for; empty for static shapes.
    sizes: Option<BTreeMap<i64, Var>>,
}

impl Site {
    fn new(symbolic: bool) -> Self {
        let lambda = Lambda {
            params: Vec::new(),
            ret_ty: Type::Any,
            pure: true,
            attrs: Default::default(),
            body: Body::of(Operand::Tuple(Vec::new())),
            span: Span::default(),
        };
        let function = Function { vars: Default::default(), lambda };
        Site { function, tensors: Vec::new(), sizes: symbolic.then(BTreeMap::new) }
    }

    fn dim(&mut self, size: i64) -> PrimExpr {
        match &mut self.sizes {
            Some(sizes) if size > 1 => sizes.entry(size).or_insert_with(|| Var::int64(format!("n{size}"))).expr(),
            _ => size.into(),
        }
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
            Arg::Const(t) => Operand::Const(Constant { tensor: t.clone() }),
            Arg::Prim(e) => Operand::Prim(e.clone()),
            Arg::Shape(dims) => Operand::Shape(dims.iter().map(|d| self.dim(*d)).collect()),
            Arg::Ints(values) => Operand::Tuple(values.iter().map(|v| Operand::int(*v)).collect()),
            Arg::List(args) => Operand::Tuple(args.iter().map(|a| self.operand(a)).collect()),
        }
    }

    fn values(&self) -> Substitution {
        self.sizes.iter().flatten().map(|(size, var)| (var.clone(), (*size).into())).collect()
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

fn run_as(symbolic: bool, op: &str, args: &[Arg], attrs: Attrs) -> Vec<Tensor> {
    let mut site = Site::new(symbolic);
    let made = legalize(&mut site, op, args, attrs).unwrap_or_else(|e| panic!("{op}: {e}"));
    let inputs: Vec<Value> = made.args.iter().map(|a| site.value(a)).collect();
    let outputs: Vec<(Vec<i64>, DType)> = leaves(&made.out_ty).iter().map(|t| shape_of(&site, t)).collect();
    let name = Name::from(op);
    interp::call_tir(&made.func, &inputs, &outputs).unwrap_or_else(|e| panic!("{name} (symbolic: {symbolic}): {e}"))
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

/// The results of a call, static and symbolic.
pub fn run(op: &str, args: &[Arg], attrs: Attrs) -> Vec<Tensor> {
    let fixed = run_as(false, op, args, attrs);
    let symbolic = run_as(true, op, args, attrs);
    assert_eq!(fixed.len(), symbolic.len(), "{op}");
    for (a, b) in fixed.iter().zip(&symbolic) {
        assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()), "{op}: symbolic");
        assert_eq!(a.as_bytes().unwrap(), b.as_bytes().unwrap(), "{op}: symbolic");
    }
    fixed
}

/// The results of a call whose sizes must be known.
pub fn run_static(op: &str, args: &[Arg], attrs: Attrs) -> Vec<Tensor> {
    run_as(false, op, args, attrs)
}

/// The only result of a call.
pub fn run1(op: &str, args: &[Arg], attrs: Attrs) -> Tensor {
    run(op, args, attrs).remove(0)
}
