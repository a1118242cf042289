//! Each rule, broken once.

use super::*;
use crate::{
    Attrs, DType, PrimExpr, Span, Type,
    prim::Var as Scalar,
    relax::{Binding, Block, Body, Call, Callee, InferError, Lambda, Operand, OperandWrites, ResultMemory, Value, Var},
    tir::{Buffer, Param, PrimFunc, Stmt, StmtKind},
};

/// `R.same(x)` has the type of `x`; `R.print(x)` has effects.
struct Ops;

impl OpTable for Ops {
    fn is_pure(&self, op: &str) -> Option<bool> {
        Some(op != "print")
    }

    fn result_memory(&self, _: &str) -> ResultMemory {
        ResultMemory::Own
    }

    fn operand_writes(&self, _: &str) -> OperandWrites {
        OperandWrites::Nothing
    }

    fn infer(&self, module: &Module, f: &crate::relax::Function, call: &Call) -> Result<Type, InferError> {
        match (&call.callee, &call.args[..]) {
            (Callee::Op("same"), [x]) => Ok(f.operand_ty(module, x)),
            (Callee::Op("same"), _) => Err(InferError::new("`R.same` takes one operand")),
            (Callee::Op("print"), _) => Ok(Type::void()),
            _ => Ok(call.ty_args.first().cloned().unwrap_or(Type::Any)),
        }
    }
}

/// A span, to distinguish bindings.
fn at(n: u32) -> Span {
    Span::new(n, n + 1)
}

fn floats(dims: &[PrimExpr]) -> Type {
    Type::tensor(dims.iter().cloned(), DType::FLOAT32)
}

struct Test {
    f: crate::relax::Function,
    blocks: Vec<Block>,
    module: Module,
}

impl Test {
    fn new() -> Self {
        let lambda = Lambda {
            params: Vec::new(),
            ret_ty: Type::Any,
            pure: true,
            attrs: Attrs::new().with("global_symbol", "main"),
            body: Body::of(Operand::Tuple(Vec::new())),
            span: at(0),
        };
        let f = crate::relax::Function { vars: Default::default(), lambda };
        Test { f, blocks: vec![Block::default()], module: Module::new() }
    }

    fn param(&mut self, name: &str, ty: Type) -> Var {
        let var = self.f.new_var(name, ty, false, at(0));
        self.f.lambda.params.push(var);
        var
    }

    fn block(&mut self, dataflow: bool) {
        self.blocks.push(Block { dataflow, bindings: Vec::new() });
    }

    fn bind(&mut self, name: &str, ty: Type, value: Value) -> Var {
        let count = self.f.vars.len() as u32;
        let block = self.blocks.last_mut().expect("there is a block");
        let var = self.f.new_var(name, ty, false, at(count));
        block.bindings.push(Binding { var, value, span: at(count) });
        var
    }

    fn same(&mut self, name: &str, x: Var) -> Var {
        let ty = self.f.ty(x).clone();
        self.bind(name, ty, Value::Call(Call::op("same", vec![x.into()], Attrs::new())))
    }

    fn kernel(&mut self, params: Vec<Param>) {
        let func = PrimFunc { params, ret_ty: None, body: Stmt::nop(), attrs: Attrs::new(), s_tir: true, span: at(90) };
        self.module.functions.insert("kernel".into(), Function::Tir(func));
    }

    /// Codes and messages of the diagnostics.
    fn check(mut self, result: impl Into<Operand>) -> Vec<(&'static str, String)> {
        self.f.lambda.body = Body { blocks: self.blocks, result: result.into() };
        self.module.functions.insert("main".into(), Function::Relax(self.f));
        module(&self.module, &Ops).into_iter().map(|d| (d.code, d.message)).collect()
    }
}

fn expect(found: &[(&'static str, String)], expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> = found.iter().map(|(c, m)| (*c, m.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn good_functions_pass() {
    let n = Scalar::int64("n");
    let mut t = Test::new();
    let x = t.param("x", floats(&[n.expr()]));
    let y = t.same("y", x);
    t.block(true);
    let z = t.same("z", y);
    expect(&t.check(z), &[]);
}

#[test]
fn scopes() {
    let mut t = Test::new();
    let x = t.param("x", floats(&[PrimExpr::int64(2)]));
    t.block(true);
    let inner = t.same("inner", x);
    t.f.vars[inner].dataflow = true;
    t.block(false);
    let y = t.same("y", inner);
    let z = t.same("z", y);
    let last = t.blocks.last_mut().expect("a block");
    last.bindings.swap(0, 1);
    expect(
        &t.check(z),
        &[("E0251", "`y` is used before it is bound"), ("E0251", "`inner` is used outside of its dataflow block")],
    );
}

#[test]
fn variables_of_dataflow_blocks_are_bound_in_them() {
    let mut t = Test::new();
    let x = t.param("x", floats(&[]));
    let y = t.same("y", x);
    t.f.vars[y].dataflow = true;
    expect(&t.check(y), &[("E0252", "`y` is confined to a dataflow block, but bound outside of one")]);
}

#[test]
fn variables_are_bound_once() {
    let mut t = Test::new();
    let x = t.param("x", floats(&[]));
    let y = t.same("y", x);
    let again = t.blocks[0].bindings[0].clone();
    t.blocks[0].bindings.push(again);
    expect(&t.check(y), &[("E0250", "`y` is bound more than once")]);
}

#[test]
fn effects() {
    let print = |x: Var| Value::Call(Call::op("print", vec![x.into()], Attrs::new()));
    let mut t = Test::new();
    let x = t.param("x", floats(&[]));
    t.bind("_", Type::void(), print(x));
    t.f.lambda.pure = false;
    t.bind("_", Type::void(), print(x));
    t.block(true);
    t.bind("_", Type::void(), print(x));
    expect(&t.check(x), &[("E0253", "a dataflow block calls `R.print`, which has effects")]);
    let mut t = Test::new();
    let x = t.param("x", floats(&[]));
    t.bind("_", Type::void(), print(x));
    expect(&t.check(x), &[("E0253", "a pure function calls `R.print`, which has effects")]);
    let mut t = Test::new();
    let x = t.param("x", floats(&[]));
    t.f.lambda.attrs.set("relax.force_pure", true);
    t.bind("_", Type::void(), print(x));
    expect(&t.check(x), &[]);
}

#[test]
fn symbolic_variables_are_defined() {
    let (n, m) = (Scalar::int64("n"), Scalar::int64("m"));
    let mut t = Test::new();
    let x = t.param("x", floats(&[n.expr() * 2i64]));
    let cast = floats(&[m.expr()]);
    let y = t.bind("y", cast.clone(), Value::MatchCast(x.into(), cast));
    let z = t.bind("z", Type::shape([m.expr() + 1i64]), Value::Operand(Operand::Shape(vec![m.expr() + 1i64])));
    expect(
        &t.check(Operand::Tuple(vec![y.into(), z.into()])),
        &[("E0258", "nothing defines the symbolic variable `n`")],
    );
}

#[test]
fn types_do_not_contradict() {
    let mut t = Test::new();
    let x = t.param("x", floats(&[PrimExpr::int64(2)]));
    let y = t.bind("y", floats(&[PrimExpr::int64(3)]), Value::Operand(x.into()));
    let tuple = Operand::Tuple(vec![x.into()]);
    let z = t.bind("z", Type::Any, Value::TupleGet(tuple, 1));
    t.bind("w", Type::Any, Value::Call(Call::op("same", vec![], Attrs::new())));
    t.f.lambda.ret_ty = Type::Tuple(vec![Type::Any]);
    expect(
        &t.check(Operand::Tuple(vec![y.into(), z.into()])),
        &[
            ("E0256", "`y` is declared as R.Tensor((3,), dtype=\"float32\"), but in dimension 0, 2 is not 3"),
            ("E0214", "member 1 is taken of a tuple of 1"),
            ("E0214", "`R.same` takes one operand"),
            ("E0256", "the function is declared to return R.Tuple(R.Any), but a tuple of 2 is not a tuple of 1"),
        ],
    );
}

#[test]
fn calls_of_kernels_fit() {
    let buffer = |name: &str, dims: &[i64]| {
        Param::buffer(Buffer::new(name, dims.iter().map(|d| PrimExpr::int64(*d)).collect(), DType::FLOAT32))
    };
    let call = |x: Var, dims: &[i64]| {
        let ty = floats(&dims.iter().map(|d| PrimExpr::int64(*d)).collect::<Vec<_>>());
        (ty.clone(), Value::Call(Call::tir("kernel".into(), vec![x.into()], ty)))
    };
    let mut t = Test::new();
    t.kernel(vec![buffer("a", &[2]), buffer("b", &[4])]);
    let x = t.param("x", floats(&[PrimExpr::int64(2)]));
    let (ty, good) = call(x, &[4]);
    t.bind("good", ty, good);
    let (ty, rank) = call(x, &[4, 4]);
    t.bind("rank", ty, rank);
    let (ty, size) = call(x, &[5]);
    t.bind("size", ty, size);
    let none = Value::Call(Call::tir("kernel".into(), vec![], floats(&[])));
    t.bind("none", Type::Any, none);
    let missing = Value::Call(Call::tir("other".into(), vec![], floats(&[])));
    t.bind("missing", Type::Any, missing);
    expect(
        &t.check(x),
        &[
            ("E0257", "output 0 does not fit `b` of kernel `kernel`: 2 dimensions are not 1"),
            ("E0257", "output 0 does not fit `b` of kernel `kernel`: in dimension 0, 5 is not 4"),
            ("E0254", "kernel `kernel` has 2 parameters, but gets 0 arguments and 1 output"),
            ("E0201", "the module has no function `other`"),
        ],
    );
}

#[test]
fn kernels() {
    let a = Buffer::new("a", vec![PrimExpr::int64(4)], DType::FLOAT32);
    let b = Buffer::new("b", vec![PrimExpr::int64(4)], DType::FLOAT32);
    let (i, j) = (Scalar::int64("i"), Scalar::int64("j"));
    let half = || PrimExpr::float(0.5, DType::FLOAT32);
    let stmts = [
        Stmt::store(&a, vec![i.expr(), j.expr()], half()),
        Stmt::store(&a, vec![i.expr()], PrimExpr::int64(1)),
        Stmt::store(&b, vec![i.expr()], half()),
        Stmt::new(StmtKind::Evaluate(i.expr() + PrimExpr::int32(1))),
        Stmt::new(StmtKind::If(i.expr().cast(DType::FLOAT32), Box::new(Stmt::nop()), None)),
        Stmt::serial(i.clone(), PrimExpr::int64(4), Stmt::new(StmtKind::Break)),
    ];
    let body = Stmt::serial(i, PrimExpr::int64(4), Stmt::new(StmtKind::Seq(stmts.to_vec())));
    let params = vec![Param::buffer(a)];
    let func = PrimFunc { params, ret_ty: None, body, attrs: Attrs::new(), s_tir: true, span: at(0) };
    let mut t = Module::new();
    t.functions.insert("f".into(), Function::Tir(func));
    let found: Vec<_> = module(&t, &Ops).into_iter().map(|d| (d.code, d.message)).collect();
    expect(
        &found,
        &[
            ("E0260", "`a` has 1 dimension, but gets 2 indices"),
            ("E0251", "nothing defines `j` here"),
            ("E0259", "what is stored in `a` is int64, not float32"),
            ("E0251", "nothing defines the buffer `b` here"),
            ("E0259", "`i` is int64, but `1` is int32, in one operation"),
            ("E0259", "the condition `T.Cast(\"float32\", i)` is float32, which is not a bool"),
            ("E0250", "`i` is defined where it is defined already"),
        ],
    );
}
