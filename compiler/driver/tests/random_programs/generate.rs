//! Programs as texts, with arguments.

use crate::rng::Rng;
use hammock_runtime::{Any, Tensor};

/// A program and what to call its `main` with.
pub struct Program {
    pub text: String,
    /// Shapes and elements of the arguments: a program may write over them, so each run has its own.
    args: Vec<(Vec<i64>, Vec<f32>)>,
}

impl Program {
    pub fn args(&self) -> Vec<Any> {
        self.args.iter().map(|(shape, values)| Any::from(Tensor::from_slice(shape, values).unwrap())).collect()
    }
}

/// A float32 tensor that a name stands for; its sizes as texts. What it holds depends on the order of bindings: calls
/// write over tensors that have several names.
#[derive(Clone)]
struct Value {
    name: String,
    shape: Vec<String>,
    /// The pieces of memory that it may be in, by number.
    memory: Vec<usize>,
}

struct Generator {
    rng: Rng,
    lines: Vec<String>,
    indent: usize,
    known: Vec<Value>,
    next: usize,
}

/// The program of a number.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let args = [&[3, 4][..], &[4], &[4, 4], &[2, 4, 3], &[1, 4]].map(|shape| {
        let count = shape.iter().product::<i64>();
        let values: Vec<f32> = (0..count).map(|_| rng.between(-8, 8) as f32 / 8.0).collect();
        (shape.to_vec(), values)
    });
    let params =
        [("x", &["n", "m"][..]), ("y", &["m"]), ("w", &["m", "m"]), ("z", &["2", "m", "n"]), ("u", &["1", "4"])];
    let mut g = Generator { rng, lines: Vec::new(), indent: 0, known: Vec::new(), next: 0 };
    g.lines.push(HEAD.to_owned());
    g.function(
        "helper",
        "@R.function(private=True)",
        &[("p", &["n", "m"]), ("q", &["n", "m"]), ("w", &["m", "m"]), ("y", &["m"])],
        |g| {
            // Callers may give one tensor twice.
            g.known.iter_mut().for_each(|value| value.memory = vec![0]);
            g.dataflow();
            let result = g.with_shape(&["n", "m"]).name;
            g.line(format!("return {result}"));
        },
    );
    g.function("main", "@R.function", &params, |g| {
        for _ in 0..g.rng.between(1, 4) {
            match g.rng.below(8) {
                0..=2 => g.branch(),
                3 => g.closure(),
                4 => g.written_over(),
                _ => g.dataflow(),
            }
        }
        let results: Vec<String> = (0..g.rng.between(1, 4)).map(|_| g.any().name).collect();
        g.line(format!("return ({},)", results.join(", ")));
    });
    Program { text: g.lines.join("\n") + "\n", args: args.into() }
}

/// Numbers of memory below are those of parameters.
const MAX_PARAMS: usize = 8;

const HEAD: &str = r#"from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((n, m), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(n, m):
            with T.sblock("bump"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = x[vi, vj] * T.float32(0.5) + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def accumulate(x: T.Buffer((n, m), "float32"), y: T.Buffer((n, m), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(n, m):
            with T.sblock("accumulate"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = x[vi, vj] * T.float32(0.5) + y[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def exchange(x: T.Buffer((n, m), "float32"), y: T.Buffer((n, m), "float32"), old: T.Buffer((n, m), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(n, m):
            with T.sblock("old"):
                vi, vj = T.axis.remap("SS", [i, j])
                old[vi, vj] = x[vi, vj]
        for i, j in T.grid(n, m):
            with T.sblock("new"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = y[vi, vj] - T.float32(0.25)

    @T.prim_func(private=True, s_tir=True)
    def both(x: T.Buffer((n, m), "float32"), sum: T.Buffer((n,), "float32"), twice: T.Buffer((n, m), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(n, m):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    sum[vi] = T.float32(0)
                sum[vi] = sum[vi] + x[vi, vj]
        for i, j in T.grid(n, m):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                twice[vi, vj] = x[vi, vj] + x[vi, vj]
"#;

impl Generator {
    fn function(&mut self, name: &str, decorator: &str, params: &[(&str, &[&str])], body: impl FnOnce(&mut Generator)) {
        let list: Vec<String> =
            params.iter().map(|(n, s)| format!("{n}: R.Tensor(({},), \"float32\")", s.join(", "))).collect();
        self.indent = 1;
        self.line(decorator.to_owned());
        self.line(format!("def {name}({}):", list.join(", ")));
        self.indent = 2;
        let owned = |(memory, (name, shape)): (usize, &(&str, &[&str]))| Value {
            name: (*name).to_owned(),
            shape: shape.iter().map(|s| (*s).to_owned()).collect(),
            memory: vec![memory],
        };
        self.known = params.iter().enumerate().map(owned).collect();
        body(self);
        self.lines.push(String::new());
    }

    fn line(&mut self, text: String) {
        self.lines.push("    ".repeat(self.indent) + &text);
    }

    fn any(&mut self) -> Value {
        self.rng.pick(&self.known).clone()
    }

    fn fresh(&mut self, value: String, shape: Vec<String>) -> Value {
        let memory = vec![self.next + MAX_PARAMS];
        self.bound(value, shape, memory)
    }

    /// A value in memory that there is.
    fn bound(&mut self, value: String, shape: Vec<String>, memory: Vec<usize>) -> Value {
        let name = format!("v{}", self.next);
        self.next += 1;
        self.line(format!("{name} = {value}"));
        let value = Value { name, shape, memory };
        self.known.push(value.clone());
        value
    }

    /// A dataflow block; what it does not give out is forgotten.
    fn dataflow(&mut self) {
        let before = self.known.len();
        self.line("with R.dataflow():".to_owned());
        self.indent += 1;
        for _ in 0..self.rng.between(2, 9) {
            self.statement();
        }
        let own = self.known.split_off(before);
        let mut kept: Vec<Value> = own.iter().filter(|_| self.rng.chance(35)).cloned().collect();
        if kept.is_empty() {
            kept.extend(own.last().cloned());
        }
        self.line(format!("R.output({})", kept.iter().map(|v| v.name.clone()).collect::<Vec<_>>().join(", ")));
        self.indent -= 1;
        self.known.append(&mut kept);
    }

    fn branch(&mut self) {
        let (of, name) = (self.any(), format!("v{}", self.next));
        self.next += 1;
        let condition = format!("c{}", self.next);
        let bound = self.rng.between(-2, 2);
        self.line(format!("{condition} = R.greater(R.sum({}), R.const({bound}.0, \"float32\"))", of.name));
        for head in [format!("if {condition}:"), "else:".to_owned()] {
            self.line(head);
            self.indent += 1;
            let before = self.known.len();
            let mut last = of.clone();
            if self.rng.chance(25) {
                self.written_over();
            }
            for _ in 0..self.rng.between(0, 3) {
                last = self.unary(&last);
            }
            let call = self.unary_call(&last.name);
            self.line(format!("{name} = {call}"));
            self.known.truncate(before);
            self.indent -= 1;
        }
        self.known.push(Value { name, shape: of.shape, memory: vec![self.next + MAX_PARAMS] });
        self.next += 1;
    }

    /// A nested function that uses a value from around, called twice.
    fn closure(&mut self) {
        let (captured, of) = (self.any(), self.known[0].clone());
        let name = format!("f{}", self.next);
        self.next += 1;
        self.line("@R.function".to_owned());
        self.line(format!("def {name}(a: R.Tensor((n, m), \"float32\")) -> R.Tensor((n, m), \"float32\"):"));
        let scale = format!("R.sum(R.tanh({}))", captured.name);
        if captured.shape == of.shape && self.rng.chance(30) {
            self.line(format!("    written = {}", inplace("bump", &captured.name)));
        }
        self.line(format!("    b = R.multiply(a, {scale})"));
        self.line("    return R.tanh(b)".to_owned());
        let once = self.fresh(format!("{name}({})", of.name), of.shape.clone());
        self.fresh(format!("{name}({})", once.name), of.shape);
    }

    /// A value of a shape.
    fn with_shape(&mut self, shape: &[&str]) -> Value {
        let fits: Vec<Value> = self.known.iter().filter(|v| v.shape == shape).cloned().collect();
        self.rng.pick(&fits).clone()
    }

    fn unary_call(&mut self, of: &str) -> String {
        match self.rng.below(9) {
            0 => format!("R.exp(R.tanh({of}))"),
            1 => format!("R.add({of}, R.const({}.5, \"float32\"))", self.rng.between(-2, 2)),
            2 => format!("R.multiply({of}, R.const(0.5, \"float32\"))"),
            3 => format!("R.maximum({of}, R.const(-0.25, \"float32\"))"),
            n => format!("R.{}({of})", ["tanh", "nn.relu", "negative", "sigmoid", "abs"][n as usize - 4]),
        }
    }

    fn unary(&mut self, of: &Value) -> Value {
        let call = self.unary_call(&of.name);
        self.fresh(call, of.shape.clone())
    }

    fn statement(&mut self) {
        let a = self.any();
        match self.rng.below(23) {
            0..=4 => drop(self.unary(&a)),
            5..=7 => self.binary(&a),
            8 | 9 => self.matmul(),
            10 => self.transposed(&a),
            11 => self.reduced(&a),
            12 => self.joined(&a),
            13 => self.flattened(&a),
            14 => self.through_a_tuple(&a),
            15 => self.kernels(),
            16 => {
                let (p, q) = (self.with_shape(&["n", "m"]), self.with_shape(&["n", "m"]));
                if self.lines.iter().any(|line| line.contains("def main")) {
                    // It may give what it was given.
                    let call = format!("Module.helper({}, {}, w, y)", p.name, q.name);
                    let memory = [p.memory, q.memory, vec![self.next + MAX_PARAMS]].concat();
                    self.bound(call, p.shape, memory);
                }
            }
            17..=20 => self.written_over(),
            21 => {
                let value = *self.rng.pick(&["ones", "zeros"]);
                self.fresh(format!("R.{value}(R.shape([n, m]), \"float32\")"), vec!["n".into(), "m".into()]);
            }
            _ => {
                let ty = a.shape.join(", ");
                let cast = format!("R.match_cast({}, R.Tensor(({ty},), \"float32\"))", a.name);
                self.bound(cast, a.shape.clone(), a.memory.clone());
            }
        }
    }

    fn binary(&mut self, a: &Value) {
        let suffix = |b: &Value| b.shape.len() <= a.shape.len() && a.shape.ends_with(&b.shape);
        let fits: Vec<Value> = self.known.iter().filter(|b| suffix(b)).cloned().collect();
        let b = self.rng.pick(&fits).clone();
        let op = *self.rng.pick(&["add", "subtract", "maximum", "multiply"]);
        let (first, second) = if self.rng.chance(50) { (&a.name, &b.name) } else { (&b.name, &a.name) };
        let call = format!("R.{op}({first}, {second})");
        let call = if op == "multiply" { format!("R.tanh({call})") } else { call };
        self.fresh(call, a.shape.clone());
    }

    fn matmul(&mut self) {
        let square = self.with_shape(&["m", "m"]).name;
        let rows: Vec<Value> = self.known.iter().filter(|v| v.shape.len() == 2 && v.shape[1] == "m").cloned().collect();
        let a = self.rng.pick(&rows).clone();
        let b = if self.rng.chance(40) { format!("R.permute_dims({square}, axes=[1, 0])") } else { square };
        let product = self.fresh(format!("R.matmul({}, {b})", a.name), a.shape);
        if self.rng.chance(60) {
            let biased = self.fresh(format!("R.add({}, y)", product.name), product.shape.clone());
            self.fresh(format!("R.tanh({})", biased.name), biased.shape);
        }
    }

    fn transposed(&mut self, a: &Value) {
        let mut axes: Vec<usize> = (0..a.shape.len()).collect();
        axes.rotate_left(1);
        let shape = axes.iter().map(|axis| a.shape[*axis].clone()).collect();
        self.fresh(format!("R.permute_dims({}, axes={axes:?})", a.name), shape);
    }

    fn reduced(&mut self, a: &Value) {
        let axis = self.rng.below(a.shape.len() as u64) as usize;
        let op = *self.rng.pick(&["sum", "max", "mean", "nn.softmax"]);
        if op == "nn.softmax" {
            self.fresh(format!("R.nn.softmax({}, axis={axis})", a.name), a.shape.clone());
            return;
        }
        let mut shape = a.shape.clone();
        shape[axis] = "1".into();
        self.fresh(format!("R.{op}({}, axis=[{axis}], keepdims=True)", a.name), shape);
    }

    fn joined(&mut self, a: &Value) {
        let same: Vec<Value> = self.known.iter().filter(|b| b.shape == a.shape).cloned().collect();
        let b = self.rng.pick(&same).clone();
        let both = self.fresh(format!("R.concat(({}, {}), axis=0)", a.name, b.name), a.shape.clone());
        self.known.pop();
        let (half, name) = (self.rng.below(2), both.name);
        self.fresh(format!("R.split({name}, 2, axis=0)[{half}]"), a.shape.clone());
    }

    fn flattened(&mut self, a: &Value) {
        let flat = self.fresh(format!("R.reshape({}, R.shape([{}]))", a.name, a.shape.join(" * ")), Vec::new());
        self.known.pop();
        let (sizes, call) = (a.shape.join(", "), self.unary_call(&flat.name));
        self.fresh(format!("R.reshape({call}, R.shape([{sizes}]))"), a.shape.clone());
    }

    fn through_a_tuple(&mut self, a: &Value) {
        let b = self.any();
        let name = format!("t{}", self.next);
        self.next += 1;
        self.line(format!("{name} = ({}, ({}, {}))", a.name, b.name, a.name));
        let (field, of) = if self.rng.chance(50) { ("[0]", a.clone()) } else { ("[1][0]", b) };
        self.bound(format!("{name}{field}"), of.shape, of.memory);
    }

    /// A kernel that writes over what other names, other values or callers may still read.
    fn written_over(&mut self) {
        let target = self.with_shape(&["n", "m"]);
        let apart = |v: &&Value| v.shape == target.shape && !v.memory.iter().any(|at| target.memory.contains(at));
        let others: Vec<Value> = self.known.iter().filter(apart).cloned().collect();
        let (name, memory) = (target.name, target.memory);
        match self.rng.below(4) {
            0 | 1 => drop(self.bound(inplace("bump", &name), target.shape, memory)),
            choice if !others.is_empty() => {
                let other = self.rng.pick(&others).name.clone();
                if choice == 2 {
                    let call = inplace("accumulate", &format!("{name}, {other}"));
                    self.bound(call, target.shape, memory);
                    return;
                }
                let results = format!("r{}", self.next);
                let call = format!(
                    "R.call_tir_inplace(Module.exchange, ({name}, {other}), out_ty=[{TY}, {TY}], inplace_indices=[0, -1])"
                );
                self.line(format!("{results} = {call}"));
                self.fresh(format!("{results}[1]"), target.shape.clone());
                self.bound(format!("{results}[0]"), target.shape, memory);
            }
            _ => {}
        }
    }

    /// Kernels of several results, and one that writes over what nothing else uses.
    fn kernels(&mut self) {
        let a = self.with_shape(&["n", "m"]).name;
        if self.rng.chance(50) {
            let types = format!("[R.Tensor((n,), dtype=\"float32\"), {TY}]");
            let both = format!("R.call_tir(Module.both, ({a},), out_ty={types})[1]");
            self.fresh(both, vec!["n".into(), "m".into()]);
            return;
        }
        let own = self.fresh(format!("R.add({a}, R.const(1.0, \"float32\"))"), Vec::new());
        self.known.pop();
        self.fresh(inplace("bump", &own.name), vec!["n".into(), "m".into()]);
    }
}

const TY: &str = "R.Tensor((n, m), dtype=\"float32\")";

/// A call of a kernel that writes over its first argument.
fn inplace(kernel: &str, args: &str) -> String {
    format!("R.call_tir_inplace(Module.{kernel}, ({args},), out_ty={TY}, inplace_indices=[0])")
}
