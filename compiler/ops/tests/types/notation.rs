//! A compact notation for calls and the results of their rules.

use hammock_ir::{
    AttrValue, DType, Module, Name, PrimExpr, Span, TensorType, Type,
    prim::{BinaryOp, Var, binary},
    print,
    relax::{Function, InferError, Operand},
    types::ShapeType,
};
use hammock_ops::{CallContext, lookup};
use std::collections::BTreeMap;

/// An operand: dimensions are separated by spaces and are numbers, names, or `a+b`, `a-b`, `a*b` of them.
#[derive(Clone)]
pub enum A {
    /// A tensor of these dimensions.
    T(&'static str, &'static str),
    /// A tensor of known rank only.
    Rank(usize, &'static str),
    /// A tensor of known dtype only; `""` for an unknown dtype.
    Of(&'static str),
    /// A shape of these dimensions.
    S(&'static str),
    /// A shape variable of that rank.
    SRank(usize),
    /// A scalar.
    P(&'static str),
    /// A scalar variable of the function, as a parameter would be.
    Scalar(&'static str),
    /// A float number.
    F(f64),
    /// A truth value.
    B(bool),
    /// A tuple of scalars.
    Ps(&'static str),
    /// A dtype.
    D(DType),
    /// A tuple.
    L(Vec<A>),
}

/// A call: operator, operands, attributes.
pub struct Case(pub &'static str, pub Vec<A>, pub Vec<(&'static str, AttrValue)>);

struct Scope {
    function: Function,
    names: BTreeMap<&'static str, Var>,
}

impl Scope {
    fn new() -> Self {
        Scope { function: Function::empty(), names: BTreeMap::new() }
    }

    fn dim(&mut self, text: &'static str) -> PrimExpr {
        for (sign, op) in [('+', BinaryOp::Add), ('-', BinaryOp::Sub), ('*', BinaryOp::Mul)] {
            if let Some((a, b)) = text.split_once(sign)
                && !a.is_empty()
            {
                return binary(op, self.dim(a), self.dim(b));
            }
        }
        match text.parse::<i64>() {
            Ok(n) => n.into(),
            Err(_) => self.names.entry(text).or_insert_with(|| Var::int64(text)).expr(),
        }
    }

    fn dims(&mut self, text: &'static str) -> Vec<PrimExpr> {
        text.split_whitespace().map(|d| self.dim(d)).collect()
    }

    fn variable(&mut self, ty: impl Into<Type>) -> Operand {
        self.function.new_var("x", ty.into(), false, Span::default()).into()
    }

    fn operand(&mut self, a: &A) -> Operand {
        match a {
            A::T(dims, dtype) => {
                let ty = TensorType::new(self.dims(dims), dtype.parse().unwrap());
                self.variable(ty)
            }
            A::Rank(n, dtype) => self.variable(TensorType::with_rank(Some(*n), dtype_of(dtype))),
            A::Of(dtype) => self.variable(TensorType::with_rank(None, dtype_of(dtype))),
            A::S(dims) => Operand::Shape(self.dims(dims)),
            A::SRank(n) => self.variable(Type::Shape(ShapeType::Rank(*n))),
            A::P(e) => Operand::Prim(self.dim(e)),
            A::Scalar(name) => {
                let var = self.function.new_var(Name::from(*name), Type::Prim(DType::INT64), false, Span::default());
                self.names.insert(name, self.function.scalar(var).unwrap().clone());
                var.into()
            }
            A::F(v) => Operand::Prim(PrimExpr::float(*v, DType::FLOAT32)),
            A::B(v) => Operand::Prim(PrimExpr::bool(*v)),
            A::D(dtype) => Operand::DType(*dtype),
            A::Ps(values) => Operand::Tuple(self.dims(values).into_iter().map(Operand::Prim).collect()),
            A::L(members) => Operand::Tuple(members.iter().map(|m| self.operand(m)).collect()),
        }
    }
}

impl std::fmt::Display for A {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let commas = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(", ");
        match self {
            A::T(dims, dtype) => write!(f, "({}):{dtype}", commas(dims)),
            A::Rank(n, dtype) => write!(f, "ndim={n}:{dtype}"),
            A::Of(dtype) => write!(f, "?:{dtype}"),
            A::S(dims) => write!(f, "shape({})", commas(dims)),
            A::SRank(n) => write!(f, "shape(ndim={n})"),
            A::P(e) | A::Scalar(e) => f.write_str(e),
            A::F(v) => write!(f, "{v:?}"),
            A::B(v) => write!(f, "{v}"),
            A::D(dtype) => write!(f, "{dtype}"),
            A::Ps(values) => write!(f, "({})", commas(values)),
            A::L(members) => {
                let all: Vec<String> = members.iter().map(A::to_string).collect();
                write!(f, "[{}]", all.join(", "))
            }
        }
    }
}

/// The call and the result of its rule.
pub fn answer(case: &Case) -> String {
    let Case(name, args, attrs) = case;
    let mut parts: Vec<String> = args.iter().map(A::to_string).collect();
    parts.extend(attrs.iter().map(|(n, v)| format!("{n}={}", attr_text(v))));
    let call = format!("{name}({})", parts.join(", "));
    match infer(case) {
        Ok(ty) => format!("{call}\n    {}", print::type_text(&ty)),
        Err(error) => {
            let at = error.arg.map_or(String::new(), |i| format!(" [operand {i}]"));
            let help = error.help.map_or(String::new(), |h| format!("\n    help: {h}"));
            format!("{call}\n    error{at}: {}{help}", error.message)
        }
    }
}

fn infer(Case(name, args, attrs): &Case) -> Result<Type, InferError> {
    let op = lookup(name).unwrap_or_else(|| panic!("no operator {name}"));
    let mut scope = Scope::new();
    let operands = args.iter().map(|a| scope.operand(a)).collect();
    let mut call = op.call(operands, attrs.clone());
    let module = Module::new();
    if let Some(resolve) = op.resolve {
        call = resolve(&CallContext { module: &module, function: &scope.function, op, call: &call })?;
    }
    CallContext { module: &module, function: &scope.function, op, call: &call }.result_ty()
}

fn attr_text(value: &AttrValue) -> String {
    match value {
        AttrValue::None => "None".to_owned(),
        AttrValue::Bool(v) => v.to_string(),
        AttrValue::Int(v) => v.to_string(),
        AttrValue::Str(v) => format!("\"{v}\""),
        AttrValue::DType(v) => v.to_string(),
        AttrValue::List(v) => format!("[{}]", v.iter().map(attr_text).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// The dtype of that name; `None` for `""`.
fn dtype_of(name: &str) -> Option<DType> {
    if name.is_empty() { None } else { name.parse().ok() }
}
