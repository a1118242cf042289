//! Control flow: branches, loops, recursion, closures, interruption, errors.
use super::program::{Program, VM, VOID, branch, goto, int, reg, ret};
use hammock_runtime::ffi::kind;
use hammock_runtime::vm::instrument::{Call, Instrument};
use hammock_runtime::vm::{CallLimits, HostCheck, Interrupt, Options};
use hammock_runtime::{Any, Error};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn ints(values: &[i64]) -> Vec<Any> {
    values.iter().map(|value| Any::from(*value)).collect()
}

fn all(_: &str) -> bool {
    true
}

/// Returns a program that sums the squares below `n` in a loop.
fn squares() -> Program {
    let mut p = Program::default();
    let body = [
        p.call(1, "vm.builtin.copy", &[int(0)]),
        p.call(2, "vm.builtin.copy", &[int(0)]),
        p.call(3, "less", &[reg(1), reg(0)]),
        branch(3, 5),
        p.call(4, "mul", &[reg(1), reg(1)]),
        p.call(2, "add", &[reg(2), reg(4)]),
        p.call(1, "add", &[reg(1), int(1)]),
        goto(-5),
        ret(2),
    ];
    p.function("main", 1, 5, &body);
    p
}

/// Returns a program that computes `n!` by recursion that is not a tail call.
fn factorial() -> Program {
    let mut p = Program::default();
    let body = [
        p.call(1, "less", &[reg(0), int(2)]),
        branch(1, 3),
        p.call(2, "vm.builtin.copy", &[int(1)]),
        ret(2),
        p.call(3, "sub", &[reg(0), int(1)]),
        p.call(3, "main", &[reg(3)]),
        p.call(2, "mul", &[reg(0), reg(3)]),
        ret(2),
    ];
    p.function("main", 1, 4, &body);
    p
}

#[test]
fn loops_and_branches() {
    assert_eq!(squares().run(&ints(&[100])).unwrap().get::<i64>(), Some(328_350));
    assert_eq!(squares().run(&ints(&[0])).unwrap().get::<i64>(), Some(0));
}

#[test]
fn recursion_takes_heap_frames() {
    assert_eq!(factorial().run(&ints(&[15])).unwrap().get::<i64>(), Some(1_307_674_368_000));
    let options = Options { max_depth: 50_000, ..Options::default() };
    assert!(factorial().run_with(&options, &ints(&[49_999])).is_ok());
    let error = factorial().run_with(&options, &ints(&[60_000])).unwrap_err();
    assert_eq!(error.kind(), kind::RECURSION);
}

#[test]
fn a_million_tail_calls() {
    let mut p = Program::default();
    let body = [
        p.call(2, "less", &[int(0), reg(0)]),
        branch(2, 5),
        p.call(2, "sub", &[reg(0), int(1)]),
        p.call(3, "add", &[reg(1), reg(0)]),
        p.call(2, "main", &[reg(2), reg(3)]),
        ret(2),
        ret(1),
    ];
    p.function("main", 2, 4, &body);
    let options = Options { max_depth: 2, ..Options::default() };
    let vm = p.load(&options, all);
    assert_eq!(vm.call("main", &ints(&[1_000_000, 0])).unwrap().get::<i64>(), Some(500_000_500_000));
}

#[test]
fn functions_of_both_kinds_call_each_other() {
    let mut p = Program::default();
    for (name, other) in [("main", "odd"), ("odd", "main")] {
        let body = [
            p.call(1, "less", &[reg(0), int(1)]),
            branch(1, 3),
            p.call(2, "vm.builtin.copy", &[int(i64::from(name == "main"))]),
            ret(2),
            p.call(1, "sub", &[reg(0), int(1)]),
            p.call(2, other, &[reg(1)]),
            p.call(2, "add", &[reg(2), int(0)]),
            ret(2),
        ];
        p.function(name, 1, 3, &body);
    }
    assert_eq!(p.run(&ints(&[1000])).unwrap().get::<i64>(), Some(1));
    assert_eq!(p.run(&ints(&[1001])).unwrap().get::<i64>(), Some(0));
}

#[test]
fn closures_and_function_values() {
    let mut p = Program::default();
    let (weighted, add) = (p.value("weighted"), p.value("add"));
    let main = [
        p.call(1, "vm.builtin.make_closure", &[weighted, int(10)]),
        p.call(2, "vm.builtin.invoke_closure", &[VM, reg(1), reg(0)]),
        p.call(3, "vm.builtin.invoke_closure", &[VM, add, reg(2), int(7)]),
        p.call(4, "vm.builtin.make_tuple", &[reg(1), reg(2), reg(3)]),
        p.call(5, "vm.builtin.tuple_getitem", &[reg(4), int(2)]),
        p.call(4, "vm.builtin.null_value", &[]),
        p.call(6, "vm.builtin.invoke_closure", &[VM, reg(1), reg(5)]),
        ret(6),
    ];
    p.function("main", 1, 7, &main);
    let body = [
        p.call(2, "mul", &[reg(0), reg(1)]),
        p.call(2, "mul", &[reg(2), int(2)]),
        p.call(2, "add", &[reg(2), int(1)]),
        ret(2),
    ];
    p.function("weighted", 2, 3, &body);
    assert_eq!(p.run(&ints(&[3])).unwrap().get::<i64>(), Some((61 + 7) * 20 + 1));
}

#[test]
fn errors_are_identical() {
    let mut p = Program::default();
    let main = [
        p.call(1, "add", &[reg(0), int(1)]),
        p.call(1, "add", &[reg(1), reg(1)]),
        p.call(1, "middle", &[reg(1)]),
        p.call(1, "add", &[reg(1), reg(1)]),
        ret(1),
    ];
    p.function("main", 1, 2, &main);
    let middle = [
        p.call(1, "add", &[reg(0), int(1)]),
        p.call(2, "mul", &[reg(0), reg(1)]),
        p.call(VOID, "fail", &[reg(1)]),
        p.call(1, "add", &[reg(1), reg(2)]),
        ret(1),
    ];
    p.function("middle", 1, 3, &middle);
    let error = p.run(&ints(&[3])).unwrap_err();
    assert_eq!(format!("{error:#}"), "ValueError: on purpose\n  in middle at model.py:8\n  in main at model.py:3");
}

#[test]
fn invalid_conditions_are_errors() {
    let mut p = Program::default();
    let body = [
        p.call(1, "vm.builtin.copy", &[reg(0)]),
        p.call(2, "vm.builtin.copy", &[int(2)]),
        branch(1, 2),
        p.call(2, "vm.builtin.copy", &[int(1)]),
        ret(2),
    ];
    p.function("main", 1, 3, &body);
    assert_eq!(p.run(&ints(&[5])).unwrap().get::<i64>(), Some(1));
    assert_eq!(p.run(&[Any::from(true)]).unwrap().get::<i64>(), Some(1));
    assert_eq!(p.run(&ints(&[0])).unwrap().get::<i64>(), Some(2));
    assert_eq!(p.run(&[Any::str("a text, not a number")]).unwrap_err().kind(), kind::TYPE);
}

/// Also loops without a call.
#[test]
fn compiled_loops_can_be_stopped() {
    let mut p = Program::default();
    let body = [
        p.call(1, "vm.builtin.copy", &[reg(0)]),
        p.call(2, "vm.builtin.copy", &[reg(1)]),
        branch(2, 2),
        goto(-3),
        ret(1),
    ];
    p.function("main", 1, 3, &body);
    let vm = p.load(&Options::default(), all);
    let limits = CallLimits { timeout: Some(Duration::from_millis(20)), ..CallLimits::default() };
    assert_eq!(vm.call_with(&limits, "main", &ints(&[1])).unwrap_err().kind(), kind::TIMEOUT);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let limits = CallLimits { interrupt: Some(interrupt), ..CallLimits::default() };
    let error = vm.call_with(&limits, "main", &ints(&[1])).unwrap_err();
    assert_eq!(error.kind(), kind::CANCELLED);
    assert_eq!(error.trace().len(), 1);
    assert_eq!(vm.call("main", &ints(&[0])).unwrap().get::<i64>(), Some(0));
}

/// Machine code makes the host's check and goes on.
#[test]
fn compiled_loops_make_the_hosts_check() {
    static CHECKS: AtomicU32 = AtomicU32::new(0);
    static CHECK: HostCheck = HostCheck::new(|| match CHECKS.fetch_add(1, Ordering::SeqCst) {
        0..5 => Ok(()),
        _ => Err(Error::new("KeyboardInterrupt", "")),
    });
    let mut p = Program::default();
    let body = [
        p.call(1, "vm.builtin.copy", &[reg(0)]),
        p.call(2, "vm.builtin.copy", &[reg(1)]),
        branch(2, 2),
        goto(-3),
        ret(1),
    ];
    p.function("main", 1, 3, &body);
    let vm = p.load(&Options::default(), all);
    let error = std::thread::scope(|scope| {
        let call = scope.spawn(|| CHECK.within(|| vm.call("main", &ints(&[1])).unwrap_err()));
        while !call.is_finished() {
            CHECK.request();
            std::thread::yield_now();
        }
        call.join().unwrap()
    });
    assert_eq!((error.kind(), CHECKS.load(Ordering::SeqCst)), ("KeyboardInterrupt", 6));
    assert_eq!(error.trace().len(), 1);
}

/// Records the callees of all calls.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Instrument for Notes {
    fn after(&self, call: &Call<'_>, _: Result<&Any, &Error>) -> Result<(), Error> {
        self.0.lock().unwrap().push(call.callee.to_owned());
        Ok(())
    }
}

#[test]
fn instruments_see_every_call() {
    let [bytecode, compiled] = [false, true].map(|compiled| {
        let vm = factorial().load(&Options::default(), |_| compiled);
        let notes = Arc::new(Notes::default());
        vm.set_instrument(Some(notes.clone()));
        assert_eq!(vm.call("main", &ints(&[5])).unwrap().get::<i64>(), Some(120));
        vm.set_instrument(None);
        assert_eq!(vm.call("main", &ints(&[6])).unwrap().get::<i64>(), Some(720));
        std::mem::take(&mut *notes.0.lock().unwrap())
    });
    assert_eq!(compiled, bytecode);
    assert_eq!(compiled.len(), 5 + 1 + 3 * 4);
}
