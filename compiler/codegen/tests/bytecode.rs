//! Bytecode listings of lowered modules, and runs of them on the virtual machine.

use hammock_codegen::vm::{ExecBuilder, generate};
use hammock_ir::{
    Attrs, DType, Function as Global, Module, Name, PrimExpr, Span, Tensor, Type,
    relax::{Binding, Block, Body, Call, Callee, Constant, Function, Operand, Value, Var},
    tir::{Param, PrimFunc, Stmt},
};
use hammock_runtime::{
    Any, Image,
    executable::{FunctionKind, Register},
    vm::{Options, Vm},
};
use std::{path::Path, sync::Arc};

/// A function under construction.
struct Builder {
    f: Function,
    bindings: Vec<Vec<Binding>>,
}

impl Builder {
    fn new(params: &[&str]) -> Builder {
        let mut f = Function::empty();
        f.lambda.pure = false;
        for name in params {
            let var = f.new_var(*name, Type::Any, false, Span::default());
            f.lambda.params.push(var);
        }
        Builder { f, bindings: vec![Vec::new()] }
    }

    fn param(&self, i: usize) -> Operand {
        self.f.lambda.params[i].into()
    }

    fn bind(&mut self, ty: Type, value: Value) -> Var {
        let var = self.f.new_var("v", ty, false, Span::default());
        self.bindings.last_mut().unwrap().push(Binding { var, value, span: Span::default() });
        var
    }

    fn call(&mut self, callee: Callee, args: Vec<Operand>) -> Operand {
        self.bind(Type::Any, Value::Call(Call { callee, args, attrs: Attrs::new(), ty_args: Vec::new() })).into()
    }

    fn packed(&mut self, name: &str, args: Vec<Operand>) -> Operand {
        self.call(Callee::Extern(name.into()), args)
    }

    fn void(&mut self, callee: Callee, args: Vec<Operand>) {
        self.bind(Type::void(), Value::Call(Call { callee, args, attrs: Attrs::new(), ty_args: Vec::new() }));
    }

    fn branch(&mut self, f: impl FnOnce(&mut Builder) -> Operand) -> Body {
        self.bindings.push(Vec::new());
        let result = f(self);
        let bindings = self.bindings.pop().unwrap();
        Body { blocks: vec![Block { dataflow: false, bindings }], result }
    }

    fn choose(
        &mut self,
        cond: Operand,
        then: impl FnOnce(&mut Builder) -> Operand,
        otherwise: impl FnOnce(&mut Builder) -> Operand,
    ) -> Operand {
        let (then, otherwise) = (self.branch(then), self.branch(otherwise));
        self.bind(Type::Any, Value::If { cond, then, otherwise }).into()
    }

    fn finish(mut self, module: &mut Module, name: &str, result: Operand) {
        let bindings = self.bindings.pop().unwrap();
        self.f.lambda.body = Body { blocks: vec![Block { dataflow: false, bindings }], result };
        self.f.lambda.attrs.set("global_symbol", name);
        module.functions.insert(name.into(), Global::Relax(self.f));
    }
}

fn int32(value: i32) -> Operand {
    Operand::Const(Constant::new(Tensor::scalar(value).unwrap()))
}

fn floats(values: &[f32]) -> Operand {
    Operand::Const(Constant::new(Tensor::from_slice(&[values.len() as i64], values).unwrap()))
}

fn sizes(values: &[i64]) -> Operand {
    Operand::Shape(values.iter().map(|v| PrimExpr::int64(*v)).collect())
}

fn global(name: &str) -> Operand {
    Operand::Global(Name::from(name))
}

fn kernel() -> Global {
    let params = vec![Param::scalar(hammock_ir::prim::Var::new("A", DType::HANDLE))];
    let attrs = Attrs::new().with("global_symbol", "kern");
    Global::Tir(PrimFunc { params, ret_ty: None, body: Stmt::nop(), attrs, s_tir: false, span: Span::default() })
}

fn listing(module: &Module, name: &str) {
    let executable = generate(module).unwrap().executable;
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/codegen_vm"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, executable.as_text()));
}

/// A recursive function with nested branches.
fn add_helper(module: &mut Module) {
    let mut b = Builder::new(&["x", "k"]);
    let (x, k) = (b.param(0), b.param(1));
    let stop = b.packed("test.less", vec![k.clone(), int32(0)]);
    let result = b.choose(
        stop,
        |b| {
            let zero = b.packed("test.zero", vec![k.clone()]);
            b.choose(zero, |_| x.clone(), |b| b.packed("test.neg", vec![x.clone()]))
        },
        |b| {
            let less = b.packed("test.dec", vec![k.clone()]);
            b.call(Callee::Global("helper".into()), vec![x.clone(), less])
        },
    );
    b.finish(module, "helper", result);
}

#[test]
fn calls_of_every_kind() {
    let mut module = Module::new();
    module.functions.insert("kern".into(), kernel());
    add_helper(&mut module);
    let lifted = Builder::new(&["y", "x"]);
    let x = lifted.param(1);
    lifted.finish(&mut module, "lifted", x);

    let mut b = Builder::new(&["x", "s"]);
    let (x, s) = (b.param(0), b.param(1));
    let f = b.packed("vm.builtin.make_closure", vec![global("lifted"), x]);
    let a = b.call(Callee::Var(f.as_var().unwrap()), vec![s]);
    let y = b.call(Callee::Global("helper".into()), vec![a, int32(3)]);
    let args = vec![
        y,
        Operand::Str("abc".into()),
        Operand::DType(DType::FLOAT32),
        sizes(&[4, 5]),
        Operand::int(7),
        Operand::Prim(PrimExpr::float(0.5, DType::FLOAT32)),
        Operand::int(1 << 55),
        Operand::int(-(1 << 55)),
        Operand::int((1 << 55) - 1),
        global("kern"),
        global("lifted"),
        Operand::Extern("test.other".into()),
    ];
    b.packed("test.thing", args);
    let scope = Operand::Str("global".into());
    let storage = vec![sizes(&[64]), Operand::int(0), Operand::DType(DType::UINT8), scope];
    let storage = b.call(Callee::Op("vm.alloc_storage"), storage);
    let tensor = vec![storage.clone(), Operand::int(0), sizes(&[4]), Operand::DType(DType::FLOAT32)];
    let t = b.call(Callee::Op("vm.alloc_tensor"), tensor);
    b.void(Callee::Op("vm.kill_object"), vec![storage]);
    b.void(Callee::Extern("test.void".into()), vec![t.clone()]);
    let null = b.call(Callee::Op("null_value"), vec![]);
    let heap = vec![Operand::Extern("vm.builtin.alloc_shape_heap".into()), Operand::Tuple(vec![Operand::int(4)])];
    let heap = b.call(Callee::Op("call_builtin_with_ctx"), heap);
    let pair: Operand = b.bind(Type::Any, Value::Operand(Operand::Tuple(vec![t.clone(), heap.clone()]))).into();
    let item: Operand = b.bind(Type::Any, Value::TupleGet(pair, 1)).into();
    let nested = Operand::Tuple(vec![t.clone(), Operand::Tuple(vec![heap, null]), floats(&[1.0, 2.0])]);
    b.packed("test.tuple", vec![nested]);
    b.void(Callee::Global("kern".into()), vec![t.clone(), t]);
    let renamed: Operand = b.bind(Type::Any, Value::Operand(item)).into();
    b.packed("test.use", vec![renamed, floats(&[1.0, 2.0])]);
    b.finish(&mut module, "main", int32(1));
    listing(&module, "calls_of_every_kind");
}

#[test]
fn branches_share_a_result_register() {
    let mut module = Module::new();
    let mut b = Builder::new(&["x", "s", "c"]);
    let (x, s, c) = (b.param(0), b.param(1), b.param(2));
    let y = b.call(Callee::Global("zeta".into()), vec![s.clone(), s.clone()]);
    let r = b.choose(c.clone(), |_| int32(1), |_| Operand::Str("x".into()));
    let zeta = |b: &mut Builder| b.call(Callee::Global("zeta".into()), vec![s.clone(), s.clone()]);
    let r1 = b.choose(c.clone(), zeta, |b| b.call(Callee::Op("null_value"), vec![]));
    let r2 =
        b.choose(c, |_| Operand::Tuple(vec![s.clone(), x.clone()]), |_| Operand::Tuple(vec![x.clone(), s.clone()]));
    let alias: Operand = b.bind(Type::Any, Value::Operand(global("zeta"))).into();
    b.packed("test.use", vec![y, r, r1, r2, alias.clone()]);
    b.finish(&mut module, "main", alias);
    let zeta = Builder::new(&["y", "x"]);
    let result = Operand::Tuple(vec![zeta.param(1), zeta.param(0)]);
    zeta.finish(&mut module, "zeta", result);
    listing(&module, "choices");
}

#[test]
fn recursion_runs() {
    // count(x, n): x tuples around x, by recursion.
    let mut module = Module::new();
    let mut b = Builder::new(&["x", "more"]);
    let (x, more) = (b.param(0), b.param(1));
    let result = b.choose(
        more.clone(),
        |b| {
            let wrapped: Operand = b.bind(Type::Any, Value::Operand(Operand::Tuple(vec![x.clone()]))).into();
            b.call(Callee::Global("main".into()), vec![wrapped, Operand::Prim(PrimExpr::bool(false))])
        },
        |_| x.clone(),
    );
    b.finish(&mut module, "main", result);
    let image = Image { executable: generate(&module).unwrap().executable, ..Image::default() };
    let vm = Vm::new(Arc::new(image), Options::default(), |_| Ok(None)).unwrap();
    assert_eq!(vm.call("main", &[Any::from(5i64), Any::from(false)]).unwrap().get::<i64>(), Some(5));
    let wrapped = vm.call("main", &[Any::from(5i64), Any::from(true)]).unwrap();
    assert_eq!(wrapped.get::<&hammock_runtime::Tuple>().unwrap().len(), 1);
}

#[test]
fn unlowered_operators_are_reported() {
    let mut module = Module::new();
    let mut b = Builder::new(&["x"]);
    let x = b.param(0);
    let y = b.call(Callee::Op("add"), vec![x.clone(), x]);
    b.finish(&mut module, "main", y);
    let error = generate(&module).err().unwrap();
    assert_eq!(error.to_string(), "`R.add` in function `main` has no lowering");
}

#[test]
fn instructions_have_spans() {
    let mut module = Module::new();
    let mut b = Builder::new(&["x"]);
    let x = b.param(0);
    let span = Span::new(10, 20);
    let y = b.packed("test.use", vec![Operand::Tuple(vec![x])]);
    b.bindings[0][0].span = span;
    b.finish(&mut module, "main", y);
    let bytecode = generate(&module).unwrap();
    assert_eq!(bytecode.executable.code.len(), 3);
    assert_eq!(bytecode.spans[..2], [span, span]);
    assert_eq!(bytecode.spans.len(), 3);
}

#[test]
fn builders_verify_executables() {
    let build = |write: &dyn Fn(&mut ExecBuilder)| {
        let mut b = ExecBuilder::new();
        b.begin_function("main", 1, vec![]);
        write(&mut b);
        b.end_function();
        b.get()
    };
    assert!(build(&|b| b.emit_ret(Register(0))).is_ok());
    assert!(build(&|b| b.emit_ret(Register(1))).is_err());
    let outside = |b: &mut ExecBuilder| {
        b.emit_goto(-1);
    };
    assert!(build(&outside).is_err());
    let unassigned = |b: &mut ExecBuilder| {
        let jump = b.emit_if(Register(0), 0);
        let args = vec![b.vm_state(), b.void_arg()];
        b.emit_call("test.use", args, Register(1));
        b.land(jump);
        b.emit_ret(Register(1));
    };
    assert!(build(&unassigned).is_err());
    let mut b = ExecBuilder::new();
    assert_eq!(b.declare_function("f", FunctionKind::Bytecode), 0);
    assert_eq!(b.f("f"), hammock_runtime::executable::Arg::Function(0));
}
