//! Regions, writes and their order, on sketches of functions.

use super::*;
use crate::{
    Attrs, DType, Module, Span, Type,
    relax::{Block, Body, Call, Callee, InferError, Lambda, OperandWrites, ResultMemory},
};

/// `own` returns new memory, `view` that of its operand; `write` overwrites all its operands.
struct Ops;

impl OpTable for Ops {
    fn is_pure(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn result_memory(&self, op: &str) -> ResultMemory {
        match op {
            "own" => ResultMemory::Own,
            "view" => ResultMemory::View,
            _ => ResultMemory::Unknown,
        }
    }

    fn operand_writes(&self, op: &str) -> OperandWrites {
        match op {
            "call_tir_inplace" => OperandWrites::InPlace,
            "write" => OperandWrites::Any,
            _ => OperandWrites::Nothing,
        }
    }

    fn infer(&self, _: &Module, _: &Function, _: &Call) -> Result<Type, InferError> {
        Ok(Type::Any)
    }
}

struct Sketch(Function);

fn tensor() -> Type {
    Type::tensor([4], DType::FLOAT32)
}

fn op(name: &'static str, args: &[Var]) -> Value {
    Value::Call(Call::op(name, args.iter().map(|v| Operand::Var(*v)).collect(), Attrs::new()))
}

fn over_first(args: &[Var]) -> Value {
    let args = args.iter().map(|v| Operand::Var(*v)).collect();
    Value::Call(Call::tir_inplace("kernel".into(), args, tensor(), &[Some(0)]))
}

impl Sketch {
    /// `def f(x, y)`.
    fn new() -> (Self, Var, Var) {
        let mut f = Function::empty();
        let x = f.new_var("x", tensor(), false, Span::NONE);
        let y = f.new_var("y", tensor(), false, Span::NONE);
        f.lambda.params = vec![x, y];
        f.lambda.body.blocks.push(Block::default());
        (Sketch(f), x, y)
    }

    fn bind(&mut self, value: Value) -> Var {
        self.bind_as(tensor(), value)
    }

    fn bind_as(&mut self, ty: Type, value: Value) -> Var {
        let var = self.0.new_var("v", ty, false, Span::NONE);
        self.0.lambda.body.blocks[0].bindings.push(Binding { var, value, span: Span::NONE });
        var
    }

    fn value(&self, var: Var) -> Value {
        self.0.lambda.body.bindings().find(|binding| binding.var == var).expect("bound").value.clone()
    }

    fn memory(&self) -> MemoryDependences {
        let mut module = Module::new();
        module.functions.insert("f".into(), crate::Function::Relax(self.0.clone()));
        MemoryDependences::of(&self.0, &Writers::of(&module, &Ops), &Ops)
    }

    fn order(&self) -> Vec<(Var, Var)> {
        self.memory().order(self.0.lambda.body.bindings())
    }
}

#[test]
fn reads_stay_before_the_write_and_after_it() {
    let (mut f, x, _) = Sketch::new();
    let p = f.bind(op("own", &[x]));
    let before = f.bind(op("own", &[p]));
    let q = f.bind(over_first(&[p, x]));
    let after = f.bind(op("own", &[p]));
    let last = f.bind(op("own", &[before, after]));
    f.0.lambda.body.result = last.into();
    assert_eq!(f.order(), [(before, q), (q, after)]);
    let memory = f.memory();
    assert!(memory.is_written(p) && !memory.is_written(q) && !memory.is_written(before));
    assert!(memory.changes_between(&f.value(before), before, last), "it reads what is written");
    assert!(!memory.changes_between(&f.value(after), after, last));
    assert!(!memory.changes_between(&f.value(last), before, last));
    assert_eq!(memory.regions(p), memory.regions(q));
}

#[test]
fn aliases_are_followed() {
    let (mut f, x, _) = Sketch::new();
    let p = f.bind(op("own", &[x]));
    let cast = f.bind(Value::MatchCast(p.into(), tensor()));
    let pair =
        f.bind_as(Type::Tuple(vec![tensor(), tensor()]), Value::Operand(Operand::Tuple(vec![x.into(), cast.into()])));
    let field = f.bind(Value::TupleGet(pair.into(), 1));
    let view = f.bind(op("view", &[field]));
    let read = f.bind(op("own", &[view]));
    let q = f.bind(over_first(&[p]));
    let memory = f.memory();
    for alias in [p, cast, field, view, q] {
        assert_eq!(memory.regions(alias), memory.regions(p));
    }
    assert_eq!(f.order(), [(view, q), (read, q)], "a view may be a copy, other names read nothing");
    assert!(memory.is_written(view));
}

#[test]
fn parameters_may_be_one_tensor() {
    let (mut f, x, y) = Sketch::new();
    let read = f.bind(op("own", &[y]));
    let q = f.bind(over_first(&[x]));
    let own = f.bind(op("own", &[read]));
    assert_eq!(f.order(), [(read, q)]);
    assert!(!f.memory().is_written(own));
}

#[test]
fn branches_and_closures_write_where_they_run() {
    let (mut f, x, _) = Sketch::new();
    let p = f.bind(op("own", &[x]));
    let read = f.bind(op("own", &[p]));
    let inner = f.0.new_var("inner", tensor(), false, Span::NONE);
    let write = Binding { var: inner, value: over_first(&[p]), span: Span::NONE };
    let body = Body { blocks: vec![Block { dataflow: false, bindings: vec![write] }], result: inner.into() };
    let lambda = Lambda { body: body.clone(), ret_ty: tensor(), ..Function::empty().lambda };
    let closure = f.bind_as(Type::Any, Value::Function(Box::new(lambda)));
    let again = f.bind(op("own", &[p]));
    let callee = Callee::Var(closure);
    let called = f.bind(Value::Call(Call { callee, args: Vec::new(), attrs: Attrs::new(), ty_args: Vec::new() }));
    let third = f.bind(op("own", &[p]));
    assert_eq!(f.order(), [(p, called), (read, called), (again, called), (called, third)]);
    let memory = f.memory();
    assert!(!memory.writes(closure), "it writes when it is called");
    assert!(memory.changes_between(&f.value(read), read, third) && memory.changes_between(&f.value(read), read, inner));

    let (mut f, x, _) = Sketch::new();
    let p = f.bind(op("own", &[x]));
    let read = f.bind(op("own", &[p]));
    let inner = f.0.new_var("inner", tensor(), false, Span::NONE);
    let write = Binding { var: inner, value: over_first(&[p]), span: Span::NONE };
    let then = Body { blocks: vec![Block { dataflow: false, bindings: vec![write] }], result: inner.into() };
    let branch = f.bind(Value::If { cond: x.into(), then, otherwise: Body::of(x.into()) });
    assert_eq!(f.order(), [(read, branch)]);
}

#[test]
fn functions_that_call_writers_write() {
    let mut module = Module::new();
    let mut add = |name: &str, value: &dyn Fn(Var) -> Value| {
        let (mut f, x, _) = Sketch::new();
        let result = f.bind(value(x));
        f.0.lambda.body.result = result.into();
        module.functions.insert(name.into(), crate::Function::Relax(f.0));
    };
    let call = |name: &'static str| {
        move |x: Var| {
            let callee = Callee::Global(name.into());
            Value::Call(Call { callee, args: vec![x.into()], attrs: Attrs::new(), ty_args: Vec::new() })
        }
    };
    add("outer", &call("middle"));
    add("middle", &call("writer"));
    add("writer", &|x| over_first(&[x]));
    add("reader", &|x| op("own", &[x]));
    let writers = Writers::of(&module, &Ops);
    let (_, x, _) = Sketch::new();
    let writes = |name: &'static str| writers.writes(&call(name)(x), &Ops);
    assert_eq!(["outer", "middle", "writer", "reader", "unknown"].map(writes), [true, true, true, false, true]);
}
