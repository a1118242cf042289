//! Hand-built modules and their text.

use super::*;
use crate::{
    AttrValue, Attrs, DType, Span, TensorType,
    module::ExternFunc,
    prim::{BinaryOp, IterKind, Var, binary},
    relax::{self, Binding, Block, Body, Call, Callee, Constant, Lambda, Operand, Value},
    tir::{self, BlockAxis, Buffer, Param, PrimFunc, Region, StmtKind},
};
use pretty::assert_text;

/// Comparing long texts.
mod pretty {
    /// Panics with both texts when they differ.
    pub fn assert_text(found: &str, expected: &str) {
        let expected = expected.strip_prefix('\n').unwrap_or(expected);
        assert!(found == expected, "found:\n{found}\nexpected:\n{expected}");
    }
}

const SPAN: Span = Span::NONE;

fn global(name: &str) -> Attrs {
    Attrs::new().with("global_symbol", name)
}

/// A function under construction.
struct Graph(relax::Function);

impl Graph {
    fn new() -> Self {
        let lambda = Lambda {
            params: Vec::new(),
            ret_ty: Type::Any,
            pure: true,
            attrs: global("main"),
            body: Body::of(Operand::Tuple(Vec::new())),
            span: SPAN,
        };
        Graph(relax::Function { vars: Default::default(), lambda })
    }

    fn param(&mut self, name: &str, ty: Type) -> relax::Var {
        let var = self.0.new_var(name, ty, false, SPAN);
        self.0.lambda.params.push(var);
        var
    }

    fn bind(&mut self, name: &str, ty: Type, dataflow: bool, value: Value) -> (relax::Var, Binding) {
        let var = self.0.new_var(name, ty, dataflow, SPAN);
        (var, Binding { var, value, span: SPAN })
    }

    fn finish(mut self, blocks: Vec<Block>, result: Operand, ret_ty: Type) -> Module {
        self.0.lambda.body = Body { blocks, result };
        self.0.lambda.ret_ty = ret_ty;
        let mut module = Module::new();
        module.functions.insert("main".into(), Function::Relax(self.0));
        module
    }
}

fn block(dataflow: bool, bindings: Vec<Binding>) -> Block {
    Block { dataflow, bindings }
}

fn add_kernel(n: &Var) -> PrimFunc {
    let dims = || vec![n.expr(), PrimExpr::int64(8)];
    let (a, b) = (Buffer::new("A", dims(), DType::FLOAT32), Buffer::new("B", dims(), DType::FLOAT32));
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let (vi, vj) = (Var::int64("v_i"), Var::int64("v_j"));
    let at = || vec![vi.expr(), vj.expr()];
    let axis = |var: &Var, extent: PrimExpr, binding: &Var| BlockAxis {
        var: var.clone(),
        dom: (PrimExpr::int64(0), extent),
        kind: IterKind::Spatial,
        binding: binding.expr(),
    };
    let body = tir::Block {
        name: "add".into(),
        axes: vec![axis(&vi, n.expr(), &i), axis(&vj, PrimExpr::int64(8), &j)],
        reads: Some(vec![Region::point(&a, at())]),
        writes: Some(vec![Region::point(&b, at())]),
        body: Stmt::store(&b, at(), PrimExpr::load(&a, at()) + PrimExpr::float(1.0, DType::FLOAT32)),
        ..tir::Block::root(Vec::new(), Stmt::nop())
    };
    let inner = Stmt::serial(j, PrimExpr::int64(8), body.into());
    let loops = Stmt::serial(i, n.expr(), inner);
    PrimFunc {
        params: vec![Param::buffer(a), Param::buffer(b)],
        ret_ty: None,
        body: tir::Block::root(Vec::new(), loops).into(),
        attrs: Attrs::new().with("tirx.noalias", true).with("op_pattern", 0i64),
        s_tir: true,
        span: SPAN,
    }
}

#[test]
fn a_module_with_kernels_graphs_and_externs() {
    let n = Var::int64("n");
    let ty = Type::tensor([n.expr(), PrimExpr::int64(8)], DType::FLOAT32);
    let double = Type::tensor([n.expr() * 2i64, PrimExpr::int64(8)], DType::FLOAT32);
    let mut g = Graph::new();
    let x = g.param("x", ty.clone());
    let call = Call::tir("add".into(), vec![x.into()], ty.clone());
    let (lv, first) = g.bind("lv", ty, true, Value::Call(call));
    let attrs = Attrs::new().with("axis", 0i64);
    let concat = Call::op("concat", vec![Operand::Tuple(vec![lv.into(), x.into()])], attrs);
    let (gv, second) = g.bind("gv", double.clone(), false, Value::Call(concat));
    let mut module = g.finish(vec![block(true, vec![first, second])], gv.into(), double);
    module.functions.insert("add".into(), Function::Tir(add_kernel(&Var::int64("n"))));
    let ext = ExternFunc { symbol: "my_ext".into(), ty: None, span: SPAN };
    module.functions.insert("ext".into(), Function::Extern(ext));
    assert_text(
        &module.to_string(),
        r#"
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((n, T.int64(8)), "float32"), B: T.Buffer((n, T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(n, T.int64(8)):
            with T.sblock("add"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(A[v_i, v_j])
                T.writes(B[v_i, v_j])
                B[v_i, v_j] = A[v_i, v_j] + T.float32(1.0)

    ext = R.ExternFunc("my_ext")
    @R.function
    def main(x: R.Tensor((n, 8), dtype="float32")) -> R.Tensor(("n * 2", 8), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.add, (x,), out_ty=R.Tensor((n, 8), dtype="float32"))
            gv: R.Tensor((n * 2, 8), dtype="float32") = R.concat((lv, x), axis=0)
            R.output(gv)
        return gv
"#,
    );
}

#[test]
fn constants_go_to_metadata() {
    let mut g = Graph::new();
    let weights = Constant::new(Tensor::from_slice(&[2], &[1.0f32, 2.0]).expect("two floats"));
    let scalar = Constant::new(Tensor::scalar(0.1f32).expect("one float"));
    let ty = Type::tensor([2i64], DType::FLOAT32);
    let args = vec![Operand::Const(weights.clone()), Operand::Const(scalar)];
    let (lv, first) = g.bind("lv", ty.clone(), false, Value::Call(Call::op("add", args, Attrs::new())));
    let args = vec![Operand::Const(weights), lv.into()];
    let (gv, second) = g.bind("gv", ty.clone(), false, Value::Call(Call::op("add", args, Attrs::new())));
    let module = g.finish(vec![block(false, vec![first, second])], gv.into(), ty);
    let text = module.to_string();
    assert!(
        text.contains("R.add(metadata[\"ir.GenericConst\"][0], R.const(0.10000000149011612, \"float32\"))"),
        "{text}"
    );
    assert!(text.contains("R.add(metadata[\"ir.GenericConst\"][0], lv)"), "{text}");
    assert!(text.ends_with("\n\n# Metadata omitted. Use show_meta=True in script() method to show it.\n"), "{text}");
    assert_eq!(constants(&module).len(), 1);
    let text = module_text(&module, &PrintOptions::default());
    assert!(text.starts_with("metadata = tvm.ir.load_json(\"\"\"{\n  \\\"root_index\\\": "), "{text}");
    assert!(text.contains("\"\"\")\n# from tvm.script import ir as I\n"), "{text}");
}

#[test]
fn control_flow_nested_functions_and_symbols() {
    let (n, m) = (Var::int64("n"), Var::int64("m"));
    let ty = Type::tensor([n.expr()], DType::FLOAT32);
    let mut g = Graph::new();
    let x = g.param("x", ty.clone());
    let c = g.param("c", Type::tensor([0i64; 0], DType::BOOL));
    let y = g.0.new_var("y", ty.clone(), false, SPAN);
    let inner = Lambda {
        params: vec![y],
        ret_ty: ty.clone(),
        pure: true,
        attrs: Attrs::new(),
        body: Body::of(y.into()),
        span: SPAN,
    };
    let callable = Type::Callable(std::sync::Arc::new(g.0.lambda_ty(&inner)));
    let (f, first) = g.bind("f", callable, false, Value::Function(Box::new(inner)));
    let call = Call { callee: Callee::Var(f), args: vec![x.into()], attrs: Attrs::new(), ty_args: Vec::new() };
    let (lv, in_then) = g.bind("lv", ty.clone(), false, Value::Call(call));
    let choice = Value::If {
        cond: c.into(),
        then: Body { blocks: vec![block(false, vec![in_then])], result: lv.into() },
        otherwise: Body::of(x.into()),
    };
    let (z, second) = g.bind("z", ty.clone(), false, choice);
    let cast_ty = Type::tensor([m.expr()], DType::FLOAT32);
    let (w, third) = g.bind("w", cast_ty.clone(), false, Value::MatchCast(z.into(), cast_ty));
    let print = Call::op("print", vec![Operand::Str("{}".into()), w.into()], Attrs::new());
    let (_, fourth) = g.bind("_", Type::void(), false, Value::Call(print));
    let result = Operand::Tuple(vec![w.into(), z.into()]);
    let module = g.finish(vec![block(false, vec![first, second, third, fourth])], result, Type::Any);
    assert_text(
        &module.to_string(),
        r#"
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Any:
        m = T.int64()
        # from tvm.script import relax as R
        
        @R.function
        def f(y: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
            return y

        if c:
            lv: R.Tensor((n,), dtype="float32") = f(x)
            z: R.Tensor((n,), dtype="float32") = lv
        else:
            z: R.Tensor((n,), dtype="float32") = x
        w: R.Tensor((m,), dtype="float32") = R.match_cast(z, R.Tensor((m,), dtype="float32"))
        R.print(w, format=R.str("{}"))
        return (w, z)
"#,
    );
    let [graph] = &graph_texts(&module)[..] else { panic!("one graph") };
    assert_eq!((&*graph.params[1].0, &*graph.params[1].1), ("c", "R.Tensor((), dtype=\"bool\")"));
    assert_eq!((&*graph.ret_ty, &*graph.result), ("R.Any", "(w, z)"));
    let parts: Vec<_> = graph.bindings.iter().map(|b| (&*b.var, &*b.value)).collect();
    assert!(parts[0].0 == "f" && parts[0].1.contains("\n@R.function\ndef f(y: R.Tensor((n,), "), "{parts:?}");
    assert!(parts[1].0 == "z" && parts[1].1.starts_with("if c:\n    lv: R.Tensor("), "{parts:?}");
    let cast = "R.match_cast(z, R.Tensor((m,), dtype=\"float32\"))";
    assert_eq!(parts[2..], [("w", cast), ("_", "R.print(w, format=R.str(\"{}\"))")]);
    assert_eq!(graph.bindings[2].ty, "R.Tensor((m,), dtype=\"float32\")");
}

#[test]
fn parentheses_follow_python() {
    let [a, b] = ["a", "b"].map(|n| Var::new(n, DType::INT32).expr());
    let one = || PrimExpr::int32(1);
    let bits = |op: &str, a: &PrimExpr, b: &PrimExpr| PrimExpr::intrin(op, vec![a.clone(), b.clone()], DType::INT32);
    let cases = [
        ((&a - (&b - one())), "a - (b - 1)"),
        (((&a - &b) - one()), "a - b - 1"),
        (((&a - one()) * &b).floordiv(2i32), "(a - 1) * b // 2"),
        ((&a * (&b * one())), "a * T.Mul(b, 1)"),
        ((one() + PrimExpr::int32(2)), "T.Add(1, 2)"),
        (a.clone().lt(3).and(a.clone().gt(1).or(a.clone().eq(2))), "a < 3 and (a > 1 or a == 2)"),
        (a.clone().lt(3).not().and(a.clone().lt(3)), "not a < 3 and a < 3"),
        (a.clone().lt(3).eq(b.clone().lt(3)), "(a < 3) == (b < 3)"),
        (bits("shift_left", &(&a + one()), &b), "a + 1 << b"),
        (bits("bitwise_and", &bits("shift_left", &a, &b), &bits("bitwise_or", &a, &b)), "a << b & (a | b)"),
        (PrimExpr::intrin("bitwise_not", vec![&a + one()], DType::INT32), "~(a + 1)"),
        (binary(BinaryOp::Div, a.clone(), b.clone()), "T.Div(a, b)"),
        (binary(BinaryOp::Mod, a.clone(), b.clone()), "T.truncmod(a, b)"),
        (a.clone().cast(DType::INT64), "T.Cast(\"int64\", a)"),
        (PrimExpr::int(-1, DType::UINT64), "T.uint64(18446744073709551615)"),
        (PrimExpr::bool(true), "T.bool(True)"),
        (
            PrimExpr::intrin("call_extern", vec![PrimExpr::str("f"), a.clone()], DType::INT32),
            "T.call_extern(\"int32\", \"f\", a)",
        ),
        (PrimExpr::ramp(a.clone(), one(), 4), "T.Ramp(a, 1, 4)"),
        (a.clone().broadcast(4), "T.Broadcast(a, 4)"),
    ];
    for (expr, text) in cases {
        assert_eq!(expr_text(&expr), text);
    }
    assert_eq!(dim_text(&(Var::int64("n").expr() * 4i64)), "n * 4");
}

#[test]
fn types_have_their_notation() {
    let cases = [
        (Type::void(), "R.Tuple"),
        (Type::Tuple(vec![Type::Any, Type::Prim(DType::INT64)]), "R.Tuple(R.Any, T.int64)"),
        (TensorType::with_rank(None, None).into(), "R.Tensor"),
        (TensorType::with_rank(Some(2), Some(DType::FLOAT16)).into(), "R.Tensor(dtype=\"float16\", ndim=2)"),
        (Type::Shape(crate::types::ShapeType::Unknown), "R.Shape(ndim=-1)"),
        (Type::shape([PrimExpr::int64(2)]), "R.Shape([2])"),
        (Type::Callable(std::sync::Arc::new(crate::CallableType::opaque())), "R.Callable"),
    ];
    for (ty, text) in cases {
        assert_eq!(ty.to_string(), text);
    }
}

#[test]
fn statements_of_flat_kernels() {
    let a = Buffer::new("A", vec![PrimExpr::int32(16)], DType::INT32);
    let t = crate::prim::IterVar {
        var: Var::new("tx", DType::INT32),
        dom: None,
        kind: IterKind::ThreadIndex,
        thread: "threadIdx.x".into(),
    };
    let store = Stmt::store(&a, vec![t.var.expr()], PrimExpr::int32(1));
    let launch = |body| {
        Stmt::new(StmtKind::Attr {
            node: tir::AttrNode::Thread(t.clone()),
            key: "thread_extent".into(),
            value: PrimExpr::int32(32),
            body: Box::new(body),
        })
    };
    assert_text(&launch(store.clone()).to_string(), "tx = T.launch_thread(\"threadIdx.x\", 32)\nA[tx] = 1\n");
    let both = Stmt::new(StmtKind::Seq(vec![launch(store.clone()), Stmt::new(StmtKind::Evaluate(PrimExpr::int32(0)))]));
    assert_text(&both.to_string(), "with T.launch_thread(\"threadIdx.x\", 32) as tx:\n    A[tx] = 1\nT.evaluate(0)\n");
    let lanes = PrimExpr::ramp(PrimExpr::int32(0), PrimExpr::int32(2), 4);
    let vector = Stmt::store(&a, vec![lanes.clone()], PrimExpr::load(&a, vec![lanes]));
    assert_text(&vector.to_string(), "A[0:8:2] = A[T.Ramp(0, 2, 4)]\n");
    let z = Buffer::scoped("z", vec![PrimExpr::int32(1)], DType::INT32, "local")
        .change(|b| b.layout = Some(AttrValue::from(tir::DEFAULT_LAYOUT)));
    let zero = || vec![PrimExpr::int32(0)];
    let scalar = Stmt::new(StmtKind::Seq(vec![
        Stmt::new(StmtKind::Alloc(z.clone(), Attrs::new())),
        Stmt::store(&z, zero(), PrimExpr::int32(0)),
        Stmt::store(&z, zero(), PrimExpr::load(&z, zero()) + PrimExpr::int32(1)),
    ]));
    assert_text(&scalar.to_string(), "z: T.int32 = 0\nz = z + 1\n");
}

#[test]
fn equal_programs_print_alike() {
    let kernel = |n: &str| Function::Tir(add_kernel(&Var::int64(n)));
    assert_eq!(crate::equal::functions(&kernel("n"), &kernel("m")), Ok(()));
    assert_eq!(crate::hash::function(&kernel("n")), crate::hash::function(&kernel("m")));
    assert!(function_text(&"add".into(), &kernel("n")).starts_with("# from typing import TypeVar\n"));
}
