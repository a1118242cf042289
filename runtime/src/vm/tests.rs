use super::*;
use crate::executable::build::{VM, VOID, branch, goto, int, reg, ret};
use crate::executable::{Arg, Constant, Executable};
use crate::ffi::{Args, kind};
use crate::image::{Dim, KernelParam, KernelSignature, ParamKind, SourceMap, Span};
use crate::value::{Shape, Str, Tensor, Tuple};
use std::ops::{Deref, DerefMut};

/// An executable under construction, and where its instructions come from.
#[derive(Default)]
pub(super) struct Assembler {
    executable: Executable,
    sources: SourceMap,
    kernels: Vec<KernelSignature>,
}

impl Deref for Assembler {
    type Target = Executable;

    fn deref(&self) -> &Executable {
        &self.executable
    }
}

impl DerefMut for Assembler {
    fn deref_mut(&mut self) -> &mut Executable {
        &mut self.executable
    }
}

impl Assembler {
    pub(super) fn image(self) -> Arc<Image> {
        let image = Image { executable: self.executable, sources: self.sources, kernels: self.kernels };
        Arc::new(Image::from_bytes(image.save()).unwrap())
    }

    fn vm_with(self, options: Options) -> Vm {
        Vm::new(self.image(), options, |name| Ok(arithmetic(name))).unwrap()
    }

    fn vm(self) -> Vm {
        self.vm_with(Options::default())
    }
}

/// Integer functions that the tests' programs call as kernels.
pub(super) fn arithmetic(name: &str) -> Option<Function> {
    let operation: fn(i64, i64) -> i64 = match name {
        "add" => |a, b| a + b,
        "sub" => |a, b| a - b,
        "mul" => |a, b| a * b,
        "less" => |a, b| i64::from(a < b),
        _ => return None,
    };
    Some(Function::new(move |values| {
        let args = Args::new("arithmetic", values);
        Ok(operation(args.get(0)?, args.get(1)?).into())
    }))
}

fn ints(values: &[i64]) -> Vec<Any> {
    values.iter().map(|value| Any::from(*value)).collect()
}

fn call(vm: &Vm, name: &str, args: &[i64]) -> Result<i64, String> {
    vm.call(name, &ints(args)).map(|value| value.get().unwrap()).map_err(|error| error.to_string())
}

/// `factorial(n) = n * factorial(n - 1)`, by recursion that is not a tail call.
fn factorial() -> Assembler {
    let mut a = Assembler::default();
    let body = [
        branch(0, 5),
        a.call(1, "sub", &[reg(0), int(1)]),
        a.call(1, "factorial", &[reg(1)]),
        a.call(2, "mul", &[reg(0), reg(1)]),
        goto(2),
        a.call(2, "vm.builtin.copy", &[int(1)]),
        ret(2),
    ];
    a.define("factorial", 1, 3, &body);
    a
}

#[test]
fn functions_call_themselves() {
    let vm = factorial().vm();
    assert_eq!(call(&vm, "factorial", &[10]), Ok(3_628_800));
    assert_eq!(vm.functions().collect::<Vec<_>>(), ["factorial"]);
}

#[test]
fn loops_jump_back() {
    // i = 0; s = 0; while i < n { s += i; i += 1 }; s
    let mut a = Assembler::default();
    let body = [
        a.call(1, "vm.builtin.copy", &[int(0)]),
        a.call(2, "vm.builtin.copy", &[int(0)]),
        a.call(3, "less", &[reg(1), reg(0)]),
        branch(3, 4),
        a.call(2, "add", &[reg(2), reg(1)]),
        a.call(1, "add", &[reg(1), int(1)]),
        goto(-4),
        ret(2),
    ];
    a.define("sum", 1, 4, &body);
    assert_eq!(call(&a.vm(), "sum", &[1000]), Ok(499_500));
}

/// `down(n, s) = if n { down(n - 1, s + 1) } else { s }`, with the merge of a Relax conditional before the Ret.
fn down() -> Assembler {
    let mut a = Assembler::default();
    let body = [
        branch(0, 7),
        a.call(2, "sub", &[reg(0), int(1)]),
        a.call(3, "add", &[reg(1), int(1)]),
        a.call(4, "down", &[reg(2), reg(3)]),
        a.call(2, "vm.builtin.null_value", &[]),
        a.call(5, "vm.builtin.copy", &[reg(4)]),
        goto(2),
        a.call(5, "vm.builtin.copy", &[reg(1)]),
        ret(5),
    ];
    a.define("down", 2, 6, &body);
    a
}

#[test]
fn tail_calls_take_constant_space() {
    let options = Options { max_depth: 2, max_stack: 1 << 20, ..Options::default() };
    let steps = if cfg!(miri) { 1000 } else { 1_000_000 };
    assert_eq!(call(&down().vm_with(options), "down", &[steps, 0]), Ok(steps));
}

#[test]
fn deep_recursion_is_an_error_with_a_short_trace() {
    const MAX_STACK: usize = if cfg!(miri) { 1 << 15 } else { 1 << 20 };
    let vm = factorial().vm_with(Options { max_depth: 1000, ..Options::default() });
    let error = vm.call("factorial", &ints(&[2000])).unwrap_err();
    assert_eq!(error.to_string(), "RecursionError: calls are nested more than 1000 deep, at `factorial`");
    let trace: Vec<_> = error.trace().iter().map(|entry| entry.function.as_str()).collect();
    assert_eq!(trace.len(), 33);
    assert_eq!(trace[16], "… 968 more calls …");
    assert_eq!(call(&vm, "factorial", &[5]), Ok(120), "the machine is as good as new");

    let vm = factorial().vm_with(Options { max_stack: MAX_STACK, ..Options::default() });
    let error = vm.call("factorial", &ints(&[1_000_000])).unwrap_err();
    let message = format!("the frames of the calls under way take more than {MAX_STACK} bytes");
    assert_eq!(error.message(), message);
}

#[test]
fn closures_bind_their_last_arguments() {
    let mut a = Assembler::default();
    let f_sub = a.declare("take_away");
    let body = [a.call(2, "sub", &[reg(0), reg(1)]), ret(2)];
    a.define("take_away", 2, 3, &body);
    let body = [a.call(1, "vm.builtin.make_closure", &[Arg::Function(f_sub), reg(0)]), ret(1)];
    a.define("minus", 1, 2, &body);
    let body =
        [a.call(2, "vm.builtin.invoke_closure", &[VM, reg(0), reg(1)]), a.call(3, "add", &[reg(2), int(0)]), ret(3)];
    a.define("apply", 2, 4, &body);
    let vm = a.vm();

    let minus_two = vm.call("minus", &ints(&[2])).unwrap();
    let apply = |callee: Any| vm.call("apply", &[callee, 10i64.into()]);
    assert_eq!(apply(minus_two.clone()).unwrap().get::<i64>(), Some(8));
    assert_eq!(vm.invoke(&minus_two, &ints(&[5])).unwrap().get::<i64>(), Some(3));
    let native = Function::new(|args| Ok((args[0].get::<i64>().unwrap() * 2).into()));
    assert_eq!(apply(native.into()).unwrap().get::<i64>(), Some(20));

    let calls_back = Function::new(move |args| invoke(&minus_two, args));
    assert_eq!(apply(calls_back.into()).unwrap().get::<i64>(), Some(8), "native code may call closures");
    assert_eq!(apply(Any::NONE).unwrap_err().to_string(), "TypeError: None is not a function");
    let take_away = vm.call("minus", &[Any::from("x")]).unwrap();
    assert_eq!(
        vm.invoke(&take_away, &[]).unwrap_err().message(),
        "function `take_away` takes 2 arguments (p0, p1), not 1"
    );
    let stranger = factorial().vm();
    assert_eq!(
        stranger.invoke(&take_away, &ints(&[1])).unwrap_err().message(),
        "the closure belongs to another program"
    );
}

#[test]
#[cfg_attr(miri, ignore = "takes many minutes: hundreds of calls deep")]
fn native_recursion_is_an_error() {
    let mut a = Assembler::default();
    let body = [a.call(1, "vm.builtin.invoke_closure", &[VM, reg(0), reg(0)]), ret(1)];
    a.define("again", 1, 2, &body);
    let vm = a.vm();
    let again = vm.function("again").unwrap();
    let calls_back = Function::new(move |args| again.call(args));
    let error = vm.call("again", &[calls_back.into()]).unwrap_err();
    assert_eq!(error.kind(), kind::RECURSION);
}

#[test]
fn threads_share_a_program() {
    let vm = factorial().vm();
    let rounds = if cfg!(miri) { 3 } else { 500 };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let vm = vm.clone();
            scope.spawn(move || (0..rounds).for_each(|_| assert_eq!(call(&vm, "factorial", &[12]), Ok(479_001_600))));
        }
    });
}

#[test]
fn errors_name_functions_and_source_lines() {
    let mut a = Assembler::default();
    let body = [a.call(1, "mul", &[reg(0), reg(0)]), ret(1)];
    a.define("inner", 1, 2, &body);
    let body =
        [a.call(1, "vm.builtin.copy", &[reg(0)]), a.call(2, "inner", &[reg(1)]), a.call(1, "inner", &[reg(2)]), ret(1)];
    a.define("outer", 1, 3, &body);
    let file = a.sources.file("model.py");
    for (instruction, line, text) in [(0, 4, "    y = R.multiply(x, x)"), (3, 9, "    z = cls.inner(y)")] {
        a.sources.add_line(file, line, text);
        a.sources.set(instruction, Span { file, line, column: 5 });
    }
    let error = a.vm().call("outer", &[Any::from("x")]).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "TypeError: arithmetic: argument #0 must be int, got \"x\"\n  \
         in inner at model.py:4\n      y = R.multiply(x, x)\n  \
         in outer at model.py:9\n      z = cls.inner(y)"
    );
}

#[test]
fn wrong_calls_are_errors() {
    let vm = factorial().vm();
    assert_eq!(call(&vm, "factorial", &[]), Err("TypeError: function `factorial` takes 1 argument (p0), not 0".into()));
    assert_eq!(
        call(&vm, "absent", &[]),
        Err("ValueError: there is no function `absent`; the program has `factorial`".into())
    );
    let mut a = Assembler::default();
    let body = [a.call(0, "nobody.has.this", &[]), ret(0)];
    a.define("main", 0, 1, &body);
    let body = [branch(0, 2), ret(0), ret(0)];
    a.define("test", 1, 1, &body);
    let vm = a.vm();
    let unknown =
        "function `nobody.has.this` is neither a kernel of the program nor a builtin, and nobody registered it";
    assert_eq!(vm.call("main", &[]).unwrap_err().message(), unknown);
    assert_eq!(vm.call("test", &[Any::NONE]).unwrap_err().to_string(), "TypeError: None is not a condition");
}

#[test]
fn registered_functions_are_found() {
    crate::registry::register("test.vm.seven", Function::new(|_| Ok(7i64.into())));
    let mut a = Assembler::default();
    let body = [a.call(0, "test.vm.seven", &[]), ret(0)];
    a.define("main", 0, 1, &body);
    assert_eq!(call(&a.vm(), "main", &[]), Ok(7));
    crate::registry::unregister("test.vm.seven");
}

#[test]
fn constants_are_no_heaps_to_write() {
    let mut a = Assembler::default();
    let context = a.constant(Constant::Str(Str::new("")));
    let check = [reg(0), reg(1), int(1), int(1), int(0), context];
    let body = [a.call(VOID, "vm.builtin.match_shape", &check), ret(0)];
    a.define("main", 2, 2, &body);
    let constant = Tensor::from_shared(crate::DType::INT64, &[1], Arc::new([0u8; 8]), 0..8).unwrap();
    let error = a.vm().call("main", &[Shape::new(&[3]).into(), constant.into()]).unwrap_err();
    assert!(error.message().ends_with("the heap of sizes is a constant"), "{error}");
}

#[test]
fn dynamic_shapes_flow_through_the_heap() {
    // main(x: (n, 4)) -> storage of n * 4 floats viewed as (4, n), and the shape (n, 7)
    let mut a = Assembler::default();
    let context = a.constant(Constant::Str(Str::new(
        "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4), dtype=\"float32\")) ",
    )));
    let float = a.constant(Constant::DType(crate::DType::FLOAT32));
    let bytes = a.constant(Constant::DType(crate::DType::UINT8));
    let size = a.constant(Constant::Shape(Shape::new(&[4096])));
    let scope = a.constant(Constant::Str(Str::new("global")));
    let vm_arg = VM;
    let body = [
        a.call(1, "vm.builtin.alloc_shape_heap", &[vm_arg, int(2)]),
        a.call(VOID, "vm.builtin.check_tensor_info", &[reg(0), int(2), float, context]),
        a.call(VOID, "vm.builtin.match_shape", &[reg(0), reg(1), int(2), int(1), int(0), int(0), int(4), context]),
        a.call(2, "vm.builtin.alloc_storage", &[vm_arg, size, int(0), bytes, scope]),
        a.call(3, "vm.builtin.make_shape", &[reg(1), int(2), int(0), int(4), int(1), int(0)]),
        a.call(4, "vm.builtin.alloc_tensor", &[reg(2), int(64), reg(3), float]),
        a.call(2, "vm.builtin.null_value", &[]),
        a.call(5, "vm.builtin.make_shape", &[reg(1), int(2), int(1), int(0), int(0), int(7)]),
        a.call(6, "vm.builtin.make_tuple", &[reg(4), reg(5)]),
        ret(6),
    ];
    a.define("main", 1, 7, &body);
    let vm = a.vm();
    let tensor = |shape: &[i64]| Any::from(Tensor::empty(crate::DType::FLOAT32, shape, Device::CPU).unwrap());
    let result = vm.call("main", &[tensor(&[3, 4])]).unwrap();
    let fields = result.get::<&Tuple>().unwrap();
    assert_eq!(fields[0].get::<&Tensor>().unwrap().shape(), [4, 3]);
    assert_eq!(fields[1].get::<&Shape>().unwrap().as_slice(), [3, 7]);
    assert_eq!(vm.memory().used, 4096, "the tensor keeps its storage");
    drop(result);
    // The heap of sizes takes 64 bytes.
    assert_eq!(vm.memory(), MemoryStats { used: 0, peak: 4160, pooled: 4160 });
    vm.trim();
    assert_eq!(vm.memory(), MemoryStats { used: 0, peak: 4160, pooled: 0 });

    let message = |arg| vm.call("main", &[arg]).unwrap_err().to_string();
    let expected = "function `main`, parameter `x`: expected R.Tensor((n, 4), dtype=\"float32\"), got ";
    assert_eq!(
        message(tensor(&[3, 5])),
        format!("RuntimeError: {expected}a float32 Tensor of shape (3, 5): shape[1] is 5, not 4")
    );
    assert_eq!(
        message(tensor(&[4])),
        format!("ValueError: {expected}a float32 Tensor of shape (4,): it has 1 dimension, not 2")
    );
    assert_eq!(message(7i64.into()), format!("TypeError: {expected}7: it is not a Tensor"));
}

#[test]
fn memory_limits_are_errors() {
    let mut a = Assembler::default();
    let size = a.constant(Constant::Shape(Shape::new(&[1 << 20])));
    let bytes = a.constant(Constant::DType(crate::DType::UINT8));
    let body = [a.call(0, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]), ret(0)];
    a.define("main", 0, 1, &body);
    let vm = a.vm_with(Options { memory_limit: 1 << 19, ..Options::default() });
    assert_eq!(vm.call("main", &[]).unwrap_err().kind(), kind::MEMORY);
}

/// What a program takes other than by its allocations counts as well.
#[test]
fn memory_limits_count_everything() {
    const LIMIT: usize = 1 << 20;
    let limited = |a: Assembler| a.vm_with(Options { memory_limit: LIMIT, ..Options::default() });
    let refused = |vm: &Vm, args: &[i64]| {
        let error = vm.call("main", &ints(args)).unwrap_err();
        assert_eq!(error.kind(), kind::MEMORY, "{error}");
    };
    // Values: main(n) = if n { main(n - 1, (t, t)) } else { t }
    let mut a = Assembler::default();
    let body = [
        branch(0, 4),
        a.call(2, "sub", &[reg(0), int(1)]),
        a.call(1, "vm.builtin.make_tuple", &[reg(1), reg(1)]),
        a.call(1, "main", &[reg(2), reg(1)]),
        ret(1),
    ];
    a.define("main", 2, 3, &body);
    let vm = limited(a);
    assert!(vm.call("main", &ints(&[100, 0])).is_ok());
    refused(&vm, &[1_000_000, 0]);
    assert!(vm.call("main", &ints(&[100, 0])).is_ok(), "the machine is as good as new");

    // Frames: main(n) = if n { main(n - 1) + 1 } else { n }
    let mut a = Assembler::default();
    let body = [
        branch(0, 4),
        a.call(1, "sub", &[reg(0), int(1)]),
        a.call(1, "main", &[reg(1)]),
        a.call(0, "add", &[reg(1), int(1)]),
        ret(0),
    ];
    a.define("main", 1, 2, &body);
    refused(&limited(a), &[1_000_000]);

    // Tensors of builtins: a cache for more rows than there is room for.
    let mut a = Assembler::default();
    let row = a.constant(Constant::Tensor(Tensor::from_slice(&[1, 4], &[0f32; 4]).unwrap()));
    let room = a.constant(Constant::Shape(Shape::new(&[1 << 17, 4])));
    let body = [a.call(0, "vm.builtin.attention_kv_cache_create", &[row, room, int(-1)]), ret(0)];
    a.define("main", 0, 1, &body);
    refused(&limited(a), &[]);

    // The model itself.
    let mut a = Assembler::default();
    a.constant(Constant::Tensor(Tensor::empty(crate::DType::UINT8, &[LIMIT as i64 + 1], Device::CPU).unwrap()));
    let options = Options { memory_limit: LIMIT, ..Options::default() };
    let error = Vm::new(a.image(), options, |_| Ok(None)).err().unwrap();
    assert_eq!(error.message(), "the model: 1048577 bytes on cpu:0 would exceed the limit of 1048576 (0 are in use)");
}

/// A call that is over before anybody looked at its time took too long all the same.
#[test]
fn the_shortest_times_count() {
    let mut a = Assembler::default();
    let body = [a.call(1, "add", &[reg(0), int(1)]), ret(1)];
    a.define("main", 1, 2, &body);
    let vm = a.vm();
    let within = |nanos| {
        let limits = CallLimits { interrupt: None, timeout: Some(Duration::from_nanos(nanos)) };
        vm.call_with(&limits, "main", &ints(&[1]))
    };
    assert_eq!(within(1).unwrap_err().kind(), kind::TIMEOUT);
    assert_eq!(within(3_600_000_000_000).unwrap().get::<i64>(), Some(2));
}

#[test]
fn long_chains_of_values_are_dropped_safely() {
    // nest(n, t) = if n { nest(n - 1, (t,)) } else { t }
    let mut a = Assembler::default();
    let body = [
        branch(0, 4),
        a.call(2, "sub", &[reg(0), int(1)]),
        a.call(1, "vm.builtin.make_tuple", &[reg(1)]),
        a.call(1, "nest", &[reg(2), reg(1)]),
        ret(1),
    ];
    a.define("nest", 2, 3, &body);
    let depth: i64 = if cfg!(miri) { 300 } else { 60_000 };
    drop(a.vm().call("nest", &[depth.into(), Any::NONE]).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "leaves the thread that watches the time behind, which miri takes for a leak")]
fn calls_can_be_stopped() {
    // forever() = while 1 {}
    let mut a = Assembler::default();
    let body = [a.call(0, "vm.builtin.copy", &[int(1)]), branch(0, 2), goto(-1), ret(0)];
    a.define("forever", 0, 1, &body);
    let vm = a.vm();
    let limits = CallLimits { timeout: Some(Duration::from_millis(20)), ..CallLimits::default() };
    let error = vm.call_with(&limits, "forever", &[]).unwrap_err();
    assert_eq!((error.kind(), error.trace().len()), (kind::TIMEOUT, 1));

    for timeout in [None, Some(Duration::from_secs(600))] {
        let interrupt = Interrupt::new();
        let limits = CallLimits { interrupt: Some(interrupt.clone()), timeout };
        let error = std::thread::scope(|scope| {
            let call = scope.spawn(|| vm.call_with(&limits, "forever", &[]).unwrap_err());
            std::thread::sleep(Duration::from_millis(5));
            interrupt.cancel();
            call.join().unwrap()
        });
        assert_eq!(error.to_string(), "CancelledError: the call was cancelled");
        assert_eq!(vm.call_with(&limits, "forever", &[]).unwrap_err().kind(), kind::CANCELLED);
    }
}

/// Writes down what it sees; keeps `sub` from running.
#[derive(Default)]
struct Notes(std::sync::Mutex<Vec<String>>);

impl Instrument for Notes {
    fn before(&self, call: &instrument::Call<'_>) -> Result<instrument::Action, Error> {
        let args: Vec<_> = call.args.iter().map(Any::to_string).collect();
        self.0.lock().unwrap().push(format!("{} {} {}({})", call.function, call.kind, call.callee, args.join(", ")));
        Ok(match call.callee {
            "sub" => instrument::Action::Skip(0i64.into()),
            _ => instrument::Action::Run,
        })
    }

    fn after(&self, call: &instrument::Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        self.0.lock().unwrap().push(format!(
            "{} = {}",
            call.callee,
            result.map_or_else(Error::to_string, Any::to_string)
        ));
        Ok(())
    }

    fn enter(&self, function: &str) {
        self.0.lock().unwrap().push(format!("> {function}"));
    }

    fn leave(&self, function: &str) {
        self.0.lock().unwrap().push(format!("< {function}"));
    }
}

#[test]
fn instruments_see_every_call() {
    let vm = factorial().vm();
    let notes = Arc::new(Notes::default());
    vm.set_instrument(Some(notes.clone()));
    // The subtraction that is kept from running would give 2.
    assert_eq!(call(&vm, "factorial", &[3]), Ok(3));
    let seen = std::mem::take(&mut *notes.0.lock().unwrap());
    let expected = [
        "> factorial",
        "factorial registered sub(3, 1)",
        "factorial function factorial(0)",
        "> factorial",
        "factorial builtin vm.builtin.copy(1)",
        "vm.builtin.copy = 1",
        "< factorial",
        "factorial = 1",
        "factorial registered mul(3, 1)",
        "mul = 3",
        "< factorial",
    ];
    assert_eq!(seen.iter().map(|line| line.replace("kernel", "registered")).collect::<Vec<_>>(), expected);
    vm.set_instrument(None);
    assert_eq!(call(&vm, "factorial", &[3]), Ok(6));
    assert!(notes.0.lock().unwrap().is_empty());
}

/// A program whose kernel `k` writes its first argument, two floats; that kernel.
fn with_kernel(mut a: Assembler) -> (Assembler, Function) {
    let kind = ParamKind::Tensor { dtype: crate::DType::FLOAT32, shape: vec![Dim::Static(2)], alignment: 4 };
    let params = vec![KernelParam { name: "x".to_owned(), kind, is_written: true }];
    a.kernels.push(KernelSignature { name: "k".to_owned(), device: Device::CPU, symbol_count: 0, params });
    (a, Function::new(|args| Ok(args[0].get::<&Tensor>().map_or(-1, |tensor| tensor.nbytes() as i64).into())))
}

/// However a kernel is called, its arguments are looked at.
#[test]
fn kernels_as_values_check_their_arguments() {
    let (mut a, kernel) = with_kernel(Assembler::default());
    let k = Arg::Function(a.declare("k"));
    let empty = a.constant(Constant::Shape(Shape::new(&[])));
    let dynamic = [a.call(1, "vm.builtin.call_tir_dyn", &[k, reg(0), empty]), ret(1)];
    a.define("dynamic", 1, 2, &dynamic);
    let bound = [a.call(1, "vm.builtin.make_closure", &[k, reg(0)]), ret(1)];
    a.define("bound", 1, 2, &bound);
    let invoked = [
        a.call(1, "vm.builtin.make_closure", &[k]),
        a.call(1, "vm.builtin.invoke_closure", &[VM, reg(1), reg(0)]),
        ret(1),
    ];
    a.define("invoked", 1, 2, &invoked);
    let direct = [a.call(1, "k", &[reg(0)]), ret(1)];
    a.define("direct", 1, 2, &direct);
    let value = [a.call(1, "vm.builtin.copy", &[k]), ret(1)];
    a.define("value", 0, 2, &value);
    let vm = Vm::new(a.image(), Options::default(), |name| Ok((name == "k").then(|| kernel.clone()))).unwrap();
    let two = || Any::from(Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap());
    let three = Any::from(Tensor::from_slice(&[3], &[1f32, 2.0, 3.0]).unwrap());
    let constant = Any::from(Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap().constant());
    let function = vm.call("value", &[]).unwrap();
    type Call<'a> = &'a dyn Fn(&[Any]) -> Result<Any, Error>;
    let calls: [(&str, Call<'_>); 5] = [
        ("dynamic", &|args| vm.call("dynamic", args)),
        ("bound", &|args| vm.invoke(&vm.call("bound", args)?, &[])),
        ("invoked", &|args| vm.call("invoked", args)),
        ("direct", &|args| vm.call("direct", args)),
        ("function value", &|args| function.get::<&Function>().unwrap().call(args)),
    ];
    for (how, call) in calls {
        assert_eq!(call(&[two()]).unwrap().get(), Some(8i64), "{how}");
        for (wrong, why) in
            [(&three, "shape[0] to be 2"), (&7i64.into(), "a Tensor"), (&constant, "writes parameter `x`")]
        {
            let error = call(std::slice::from_ref(wrong)).unwrap_err();
            assert!(error.message().contains(why), "{how}: {error}");
        }
    }
}

#[test]
fn kernels_do_not_write_constants_of_the_program() {
    let (mut a, kernel) = with_kernel(Assembler::default());
    let constant = a.constant(Constant::Tensor(Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap()));
    let shape = a.constant(Constant::Shape(Shape::new(&[2])));
    let body = [a.call(0, "k", &[constant]), ret(0)];
    a.define("main", 0, 1, &body);
    let view = [a.call(0, "vm.builtin.reshape", &[constant, shape]), a.call(0, "k", &[reg(0)]), ret(0)];
    a.define("view", 0, 1, &view);
    let vm = Vm::new(a.image(), Options::default(), |name| Ok((name == "k").then(|| kernel.clone()))).unwrap();
    for function in ["main", "view"] {
        let error = vm.call(function, &[]).unwrap_err();
        assert!(error.message().contains("writes parameter `x`, which must not change"), "{function}: {error}");
    }
}

/// Binding arguments again and again makes no chain of functions that call each other.
#[test]
fn functions_bound_over_and_over_are_called_without_native_stack() {
    let make = builtins::find("vm.builtin.make_closure").unwrap();
    let list = Function::new(|args| Ok(args.iter().filter_map(|arg| arg.get()).fold(0, |n, i: i64| n * 10 + i).into()));
    let rounds = if cfg!(miri) { 100 } else { 100_000 };
    let bound = make.call(&[list.into(), 3i64.into()]).unwrap();
    let bound = (0..rounds).fold(bound, |function, _| make.call(&[function]).unwrap());
    let bound = make.call(&[bound, 2i64.into()]).unwrap();
    assert_eq!(bound.get::<&Function>().unwrap().call(&ints(&[1])).unwrap().get(), Some(123i64));
}

#[test]
fn functions_of_tvms_form_get_what_is_called() {
    let vm = factorial().vm();
    let kinds = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = kinds.clone();
    vm.set_instrument(Some(Arc::new(Function::new(move |args| {
        let before = args[2].get() == Some(true);
        seen.lock().unwrap().push(format!("{} {} {before}", args[1].as_str().unwrap(), args[0].type_name()));
        // The function that it gets can be called: what a kernel makes of the arguments comes out afterwards again.
        if let (Some(function), false) = (args[0].get::<&Function>(), before) {
            assert_eq!(function.call(&args[4..])?.get::<i64>(), args[3].get());
        }
        Ok(Any::NONE)
    }))));
    assert_eq!(call(&vm, "factorial", &[1]), Ok(1));
    let calls = ["sub Function", "factorial Closure", "vm.builtin.copy Function"];
    for said in calls.iter().flat_map(|said| [format!("{said} true"), format!("{said} false")]) {
        assert!(kinds.lock().unwrap().contains(&said), "{said} is not in {kinds:?}");
    }
}
