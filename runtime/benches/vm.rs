//! Cost of one step of a program. Every program repeats its step; the reported time is per step.
//!
//! The programs consist of the steps that a compiled model has. They are built by hand, so no compiler is needed.

use criterion::{Criterion, criterion_group, criterion_main};
use hammock_runtime::{
    Any, DType, Device, Executable, Function, Image, Shape, Str, Tensor, Vm,
    executable::{
        Arg, Constant, Instruction,
        build::{self, VM, VOID, reg, ret},
    },
    ffi::SafeCall,
    image::{Dim, KernelParam, KernelSignature, ParamKind},
    vm::Options,
};
use std::{
    ffi::c_void,
    hint::black_box,
    ops::{Deref, DerefMut},
    sync::Arc,
    time::{Duration, Instant},
};

/// Steps per program.
const STEPS: usize = 500;

/// A function `main` under construction; the parameters come first among its registers.
#[derive(Default)]
struct Program {
    executable: Executable,
    kernels: Vec<KernelSignature>,
}

impl Deref for Program {
    type Target = Executable;

    fn deref(&self) -> &Executable {
        &self.executable
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Executable {
        &mut self.executable
    }
}

impl Program {
    fn shape(&mut self, sizes: &[i64]) -> Arg {
        self.constant(Constant::Shape(Shape::new(sizes)))
    }

    fn text(&mut self, text: &str) -> Arg {
        self.constant(Constant::Str(Str::new(text)))
    }

    /// Defines `main`: `prologue`, then every step, then the return of `result`.
    fn main(mut self, num_args: usize, registers: usize, body: Vec<Instruction>, result: i64) -> Program {
        let body: Vec<_> = body.into_iter().chain([ret(result)]).collect();
        self.define("main", num_args, registers, &body);
        self
    }

    /// Declares that `name` takes two vectors of four floats, which the virtual machine has to check.
    fn signature(&mut self, name: &str) {
        let param = |name: &str| KernelParam {
            name: name.to_owned(),
            kind: ParamKind::Tensor { dtype: DType::FLOAT32, shape: vec![Dim::Static(4)], alignment: 4 },
            is_written: name == "b",
        };
        let (name, params) = (name.to_owned(), vec![param("a"), param("b")]);
        self.kernels.push(KernelSignature { name, device: Device::CPU, symbol_count: 0, params });
    }

    fn load(self) -> Vm {
        let image = Image { executable: self.executable, kernels: self.kernels, ..Image::default() };
        let image = Image::from_bytes(image.save()).expect("the program is well-formed");
        let kernel = |name: &str| {
            let call: SafeCall = match name {
                "nothing" => nothing,
                "add_one" => add_one,
                _ => return None,
            };
            // SAFETY: both follow the packed convention and live as long as the program.
            Some(unsafe { Function::from_c(call, ()) })
        };
        Vm::new(Arc::new(image), Options::default(), |name| Ok(kernel(name))).expect("the program loads")
    }
}

/// Returns at once.
unsafe extern "C" fn nothing(_: *mut c_void, _: *const Any, _: i32, _: *mut Any) -> i32 {
    0
}

/// `b = a + 1` on vectors of four floats, like a compiled kernel.
unsafe extern "C" fn add_one(_: *mut c_void, args: *const Any, _: i32, _: *mut Any) -> i32 {
    // SAFETY: programs here call it with two such vectors.
    unsafe {
        let data = |i: usize| (*args.add(i)).as_dl_tensor().map_or(std::ptr::null_mut(), |t| t.data.cast::<[f32; 4]>());
        *data(1) = (*data(0)).map(|x| x + 1.0);
    }
    0
}

fn vector() -> Any {
    Tensor::from_slice(&[4], &[1f32; 4]).expect("four floats").into()
}

/// Times `main` and reports the time per step.
fn race(c: &mut Criterion, name: &str, program: Program, args: &[Any]) {
    let vm = program.load();
    c.bench_function(name, |b| {
        b.iter_custom(|rounds| {
            let start = Instant::now();
            for _ in 0..rounds {
                black_box(vm.call("main", args).expect("the program runs"));
            }
            per_step(start.elapsed())
        })
    });
}

fn per_step(time: Duration) -> Duration {
    time / STEPS as u32
}

/// A call of a native function that does nothing.
fn packed(c: &mut Criterion) {
    let mut p = Program::default();
    let body = (0..STEPS).map(|_| p.call(VOID, "nothing", &[reg(0), reg(1)])).collect();
    race(c, "packed", p.main(2, 2, body, 1), &[vector(), vector()]);
}

/// A kernel call with checked arguments and a preallocated output.
fn kernel(c: &mut Criterion) {
    let mut p = Program::default();
    p.signature("add_one");
    let body = (0..STEPS).map(|_| p.call(VOID, "add_one", &[reg(0), reg(1)])).collect();
    race(c, "kernel", p.main(2, 2, body, 1), &[vector(), vector()]);
}

/// A statically planned tensor, a kernel, and the release of the previous tensor.
fn planned(c: &mut Criterion) {
    let mut p = Program::default();
    p.signature("add_one");
    let (bytes, four, scope) = (p.shape(&[16]), p.shape(&[4]), p.text("global"));
    let (float, byte) = (p.constant(Constant::DType(DType::FLOAT32)), p.constant(Constant::DType(DType::UINT8)));
    let at = Arg::Immediate(0);
    let mut body: Vec<_> =
        (1..=2).map(|r| p.call(r, "vm.builtin.alloc_storage", &[VM, bytes, at, byte, scope])).collect();
    body.push(p.call(3, "vm.builtin.copy", &[reg(0)]));
    for step in 0..STEPS as i64 {
        let (from, to, storage) = (3 + step % 2, 4 - step % 2, 1 + step % 2);
        body.push(p.call(to, "vm.builtin.alloc_tensor", &[reg(storage), at, four, float, scope]));
        body.push(p.call(VOID, "add_one", &[reg(from), reg(to)]));
        body.push(p.call(from, "vm.builtin.null_value", &[]));
    }
    race(c, "planned", p.main(1, 5, body, 3 + STEPS as i64 % 2), &[vector()]);
}

/// Like `planned`, but each tensor gets storage from the pool and a computed shape.
fn symbolic(c: &mut Criterion) {
    let mut p = Program::default();
    let (zero, one) = (Arg::Immediate(0), Arg::Immediate(1));
    let (store, load) = (one, one);
    let scope = p.text("global");
    let float = p.constant(Constant::DType(DType::FLOAT32));
    let context = p.text("");
    let mut body = vec![
        p.call(1, "vm.builtin.alloc_shape_heap", &[VM, one]),
        p.call(VOID, "vm.builtin.match_shape", &[reg(0), reg(1), one, store, zero, context]),
        p.call(2, "vm.builtin.copy", &[reg(0)]),
    ];
    for step in 0..STEPS as i64 {
        let (from, to) = (2 + step % 2, 3 - step % 2);
        body.push(p.call(4, "vm.builtin.make_shape", &[reg(1), one, load, zero]));
        body.push(p.call(5, "vm.builtin.alloc_storage", &[VM, reg(4), zero, float, scope]));
        body.push(p.call(to, "vm.builtin.alloc_tensor", &[reg(5), zero, reg(4), float, scope]));
        body.push(p.call(5, "vm.builtin.null_value", &[]));
        body.push(p.call(VOID, "add_one", &[reg(from), reg(to)]));
        body.push(p.call(from, "vm.builtin.null_value", &[]));
    }
    race(c, "symbolic", p.main(1, 6, body, 2 + STEPS as i64 % 2), &[vector()]);
}

/// Storage from the pool, released at once.
fn storage(c: &mut Criterion) {
    let mut p = Program::default();
    let (bytes, scope, byte) = (p.shape(&[64]), p.text("global"), p.constant(Constant::DType(DType::UINT8)));
    let args = [VM, bytes, Arg::Immediate(0), byte, scope];
    let body = (0..STEPS)
        .flat_map(|_| [p.call(1, "vm.builtin.alloc_storage", &args), p.call(1, "vm.builtin.null_value", &[])])
        .collect();
    race(c, "storage", p.main(1, 2, body, 0), &[vector()]);
}

/// A copy from register to register.
fn copy(c: &mut Criterion) {
    let mut p = Program::default();
    let body = (0..STEPS as i64).map(|i| p.call(i + 1, "vm.builtin.copy", &[reg(i)])).collect();
    race(c, "copy", p.main(1, STEPS + 1, body, STEPS as i64), &[vector()]);
}

/// A call of a function that returns its argument.
fn function(c: &mut Criterion) {
    let mut p = Program::default();
    p.define("same", 1, 1, &[ret(0)]);
    let body = (0..STEPS as i64).map(|i| p.call(i + 1, "same", &[reg(i)])).collect();
    race(c, "function", p.main(1, STEPS + 1, body, STEPS as i64), &[vector()]);
}

/// A condition, a copy on either side, and the join.
fn branch(c: &mut Criterion) {
    let mut p = Program::default();
    let mut body = Vec::new();
    for i in 1..=STEPS as i64 {
        body.push(build::branch(0, 3));
        body.push(p.call(i + 1, "vm.builtin.copy", &[reg(i)]));
        body.push(build::goto(2));
        body.push(p.call(i + 1, "vm.builtin.copy", &[reg(1)]));
    }
    race(c, "if", p.main(2, STEPS + 2, body, STEPS as i64 + 1), &[true.into(), vector()]);
}

criterion_group! {
    name = vm;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = packed, kernel, planned, symbolic, storage, copy, function, branch
}
criterion_main!(vm);
