//! Kernels' arguments are checked, whoever calls them.
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program whose kernel `k` writes its first argument, two floats; and the kernel.
fn with_kernel(mut a: Assembler) -> (Assembler, Function) {
    let kind = ParamKind::Tensor { dtype: crate::DType::FLOAT32, shape: vec![Dim::Static(2)], alignment: 4 };
    let params = vec![KernelParam { name: "x".to_owned(), kind, is_written: true }];
    a.kernels.push(KernelSignature { name: "k".to_owned(), device: Device::CPU, symbol_count: 0, params });
    (a, Function::new(|args| Ok(args[0].get::<&Tensor>().map_or(-1, |tensor| tensor.nbytes() as i64).into())))
}

/// A kernel's arguments are checked, whoever calls it.
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

/// Results do not depend on the floating-point state of the caller or on the thread that computes them.
#[test]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn calls_compute_in_a_state_of_their_own() {
    use crate::float_state::FloatState;
    use crate::parallel;
    use std::hint::black_box;

    /// Counts the threads of a loop that preserved a subnormal number, and those that rounded a third to nearest.
    fn kernel(_: &[Any]) -> Result<Any, crate::Error> {
        let (kept, nearest) = (AtomicUsize::new(0), AtomicUsize::new(0));
        parallel::for_each(64, 1, |range| {
            for _ in range {
                kept.fetch_add(usize::from(black_box(1e-38f32) * black_box(0.5) != 0.0), Ordering::Relaxed);
                let third = black_box(1f32) / black_box(3.0);
                nearest.fetch_add(usize::from(third.to_bits() == 0x3EAA_AAAB), Ordering::Relaxed);
            }
        });
        Ok((kept.into_inner() as i64 * 1000 + nearest.into_inner() as i64).into())
    }

    let results = |flush_denormals| {
        let mut a = Assembler::default();
        let body = [a.call(0, "k", &[]), ret(0)];
        a.define("main", 0, 1, &body);
        let options = Options { flush_denormals, ..Options::default() };
        let vm = Vm::new(a.image(), options, |name| Ok((name == "k").then(|| Function::new(kernel)))).unwrap();
        [FloatState::IEEE, FloatState::FLUSH, FloatState::HOSTILE].map(|state| {
            let _caller = state.enter();
            let result = vm.call("main", &[]).map(|value| value.get::<i64>());
            let after = FloatState::current();
            drop(_caller);
            assert_eq!(after, state, "the caller's state is back");
            result.unwrap().unwrap()
        })
    };
    assert_eq!(results(false), [64_064; 3]);
    assert_eq!(results(true), [64; 3]);
    // A kernel as a value, outside of any program.
    let signature = KernelSignature { name: "k".into(), device: Device::CPU, symbol_count: 0, params: vec![] };
    let checked = signature.guard(Function::new(kernel));
    let _caller = FloatState::FLUSH.enter();
    assert_eq!(checked.call(&[]).unwrap().get::<i64>(), Some(64_064));
}

/// Bytecode may pass fewer arguments to a kernel than it takes.
#[test]
fn calls_with_too_few_arguments_are_errors() {
    let (mut a, kernel) = with_kernel(Assembler::default());
    let body = [a.call(0, "k", &[]), ret(0)];
    a.define("main", 0, 1, &body);
    let vm = Vm::new(a.image(), Options::default(), |name| Ok((name == "k").then(|| kernel.clone())));
    let error = vm.and_then(|vm| vm.call("main", &[])).unwrap_err();
    assert!(error.message().contains("takes 1 arguments, not 0"), "{error}");
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

/// A constant that is stored as other data is computed by the first successful call, and is read-only.
#[test]
fn constants_are_prepared_once() {
    let mut a = Assembler::default();
    let k = Arg::Function(a.declare("k"));
    let data = a.constant(Constant::Tensor(Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap()));
    let shape = a.constant(Constant::Shape(Shape::new(&[2, 2])));
    let dtype = a.constant(Constant::DType(crate::DType::FLOAT32));
    let body = [a.call(0, "hammock.prepared", &[int(3), k, shape, dtype, data]), ret(0)];
    a.define("main", 0, 1, &body);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let kernel = Function::new(move |args| {
        let (from, to) = (args[0].get::<&Tensor>().unwrap(), args[1].get::<&Tensor>().unwrap());
        let from = from.as_slice::<f32>().unwrap();
        if counted.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(Error::runtime("the first time it fails"));
        }
        to.overwrite(&Tensor::from_slice(&[2, 2], &[from[0], from[1], from[1], from[0]]).unwrap())?;
        Ok(Any::NONE)
    });
    let vm = Vm::new(a.image(), Options::default(), |name| Ok((name == "k").then(|| kernel.clone()))).unwrap();
    assert!(vm.call("main", &[]).is_err());
    let results = [(); 3].map(|()| vm.call("main", &[]).unwrap());
    for result in &results {
        let tensor = result.get::<&Tensor>().unwrap();
        assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0, 2.0, 2.0, 1.0]);
        assert!(tensor.is_read_only() && tensor.ptr_eq(results[0].get::<&Tensor>().unwrap()));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}
