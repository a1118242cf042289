//! A call written in short, and its type as text.
//!
//! Operands: `"n 3 m"` is a float32 tensor of that shape, `"?4"` one of that rank, `"?"` one of unknown shape;
//! `":int32"` at the end is its dtype, `":?"` an unknown one; `"[n 4]"` is a shape, `"#7"` a number, `"-"` nothing.

use hammock_ir::{
    AttrValue, DType, Module, PrimExpr, Span, TensorShape, TensorType, Type,
    prim::Var,
    print::type_text,
    relax::{Call, Callee, Function, InferError, OpTable, Operand},
};
use hammock_ops::{Table, lookup};
use std::collections::BTreeMap;

/// Attributes given to a call.
pub type Attrs<'a> = &'a [(&'static str, AttrValue)];

struct Site {
    function: Function,
    symbols: BTreeMap<String, Var>,
}

impl Site {
    fn new() -> Self {
        Site { function: Function::empty(), symbols: BTreeMap::new() }
    }

    fn dims(&mut self, text: &str) -> Vec<PrimExpr> {
        let mut dim = |t: &str| match t.parse::<i64>() {
            Ok(size) => size.into(),
            Err(_) => self.symbols.entry(t.to_owned()).or_insert_with(|| Var::int64(t)).expr(),
        };
        text.split_whitespace().map(&mut dim).collect()
    }

    fn operand(&mut self, text: &str) -> Operand {
        if text == "-" {
            return Operand::Tuple(Vec::new());
        }
        if let Some(number) = text.strip_prefix('#') {
            return Operand::int(number.parse().unwrap());
        }
        if let Some(dims) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            return Operand::Shape(self.dims(dims));
        }
        let (shape, dtype) = text.split_once(':').unwrap_or((text, "float32"));
        let dtype = (dtype != "?").then(|| dtype.parse::<DType>().unwrap());
        let shape = match shape.strip_prefix('?') {
            Some("") => TensorShape::Unknown,
            Some(rank) => TensorShape::Rank(rank.parse().unwrap()),
            None => TensorShape::Known(self.dims(shape).into()),
        };
        let ty = TensorType { shape, dtype, vdevice: None }.into();
        self.function.new_var("x", ty, false, Span::default()).into()
    }
}

/// The type of a call, or its error.
pub fn infer(op: &str, args: &[&str], attrs: Attrs, ty_args: &[Type]) -> Result<Type, InferError> {
    let mut site = Site::new();
    let op = lookup(op).unwrap_or_else(|| panic!("no operator {op}"));
    let operands = args.iter().map(|a| site.operand(a)).collect();
    let mut call = op.call(operands, attrs.to_vec());
    call.ty_args = ty_args.to_vec();
    Table.infer(&Module::new(), &site.function, &call)
}

/// The type of a call, as a text has it.
#[track_caller]
pub fn ty(op: &str, args: &[&str], attrs: Attrs) -> String {
    type_text(&infer(op, args, attrs, &[]).unwrap_or_else(|e| panic!("{e}")))
}

/// The type of a call with type arguments.
#[track_caller]
pub fn ty_of(op: &str, args: &[&str], attrs: Attrs, ty_args: &[Type]) -> String {
    type_text(&infer(op, args, attrs, ty_args).unwrap_or_else(|e| panic!("{e}")))
}

/// The type error of a call.
#[track_caller]
pub fn refused(op: &str, args: &[&str], attrs: Attrs) -> String {
    infer(op, args, attrs, &[]).expect_err(op).to_string()
}

/// A call in full form: the operator's name, the number of its operands, and its attributes.
pub fn full(op: &str, args: &[&str], attrs: Attrs) -> (&'static str, usize, Vec<(String, AttrValue)>) {
    let mut site = Site::new();
    let operands = args.iter().map(|a| site.operand(a)).collect();
    let Call { callee, args, attrs, .. } = lookup(op).unwrap().call(operands, attrs.to_vec());
    let Callee::Op(name) = callee else { panic!("{callee:?}") };
    (name, args.len(), attrs.iter().map(|(n, v)| (n.to_string(), v.clone())).collect())
}
