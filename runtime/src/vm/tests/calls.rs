//! Calls of every kind: recursion, tail calls, closures, calls from several threads.
use super::*;

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

/// `down(n, s) = if n { down(n - 1, s + 1) } else { s }`, with the join of a Relax conditional before the Ret.
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

/// `minus(x)` is a closure of `take_away`, which subtracts `x`.
fn subtraction() -> Assembler {
    let mut a = Assembler::default();
    let f_sub = a.declare("take_away");
    let body = [a.call(2, "sub", &[reg(0), reg(1)]), ret(2)];
    a.define("take_away", 2, 3, &body);
    let body = [a.call(1, "vm.builtin.make_closure", &[Arg::Function(f_sub), reg(0)]), ret(1)];
    a.define("minus", 1, 2, &body);
    a
}

#[test]
fn closures_bind_their_last_arguments() {
    let mut a = subtraction();
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
    assert_eq!(vm.invoke(&take_away, &[]).unwrap_err().message(), "function `take_away` takes 1 argument (p0), not 0");
    let stranger = factorial().vm();
    assert_eq!(
        stranger.invoke(&take_away, &ints(&[1])).unwrap_err().message(),
        "the closure belongs to another program"
    );
}

#[test]
fn closures_find_their_program() {
    let vm = subtraction().vm();
    let minus_two = vm.call("minus", &ints(&[2])).unwrap();

    let owner = Vm::of_closure(&minus_two).unwrap();
    assert_eq!(owner.invoke(&minus_two, &ints(&[5])).unwrap().get::<i64>(), Some(3));
    let params = owner.closure_signature(&minus_two).unwrap().params;
    assert_eq!(params.iter().map(|param| &*param.name).collect::<Vec<_>>(), ["p0"]);
    assert!(factorial().vm().closure_signature(&minus_two).is_err());
    assert!(Vm::of_closure(&Any::NONE).is_none());
    drop(vm);
    assert!(Vm::of_closure(&minus_two).is_some());
    drop(owner);
    assert!(Vm::of_closure(&minus_two).is_none());
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

/// Binding arguments repeatedly does not create a chain of functions.
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
