//! Stateful calls, saved functions, calls into tensors, and timing.
use crate::executable::Executable;
use crate::executable::build::{reg, ret};
use crate::image::Image;
use crate::value::{Any, DType, Device, Tensor};
use crate::vm::evaluate::Evaluation;
use crate::vm::{Options, Vm};
use std::sync::Arc;
use std::time::Duration;

/// `pair(a, b) = ((b, a), a)`.
fn vm() -> Vm {
    let mut executable = Executable::default();
    let mut tuple = |dst, args: [i64; 2]| executable.call(dst, "vm.builtin.make_tuple", &args.map(reg));
    let body = [tuple(2, [1, 0]), tuple(2, [2, 0]), ret(2)];
    executable.define("pair", 2, 3, &body).param_names = ["a", "b"].map(String::from).to_vec();
    let image = Image { executable, ..Image::default() };
    let image = Image::from_bytes(image.save()).unwrap();
    Vm::new(Arc::new(image), Options::default(), |_| Ok(None)).unwrap()
}

fn tensor(value: f32) -> Tensor {
    Tensor::from_slice(&[1], &[value]).unwrap()
}

fn number(value: &Any) -> f32 {
    value.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap()[0]
}

#[test]
fn calls_go_in_steps() {
    let vm = vm();
    assert!(vm.invoke_stateful("pair").unwrap_err().message().contains("`a` of `pair` was not set"));
    assert!(vm.output("pair", &[]).is_err());
    vm.set_inputs("pair", &[tensor(1.0).into(), tensor(2.0).into()]).unwrap();
    vm.set_input("pair", "b", &tensor(3.0).into()).unwrap();
    vm.invoke_stateful("pair").unwrap();
    assert_eq!(vm.output_arity("pair", &[]).unwrap(), Some(2));
    assert_eq!(vm.output_arity("pair", &[1]).unwrap(), None);
    assert_eq!(
        [&[0usize, 0][..], &[0, 1], &[1]].map(|path| number(&vm.output("pair", path).unwrap())),
        [3.0, 1.0, 1.0]
    );
    let error = vm.output("pair", &[0, 2]).unwrap_err();
    assert_eq!(error.to_string(), "IndexError: the result of `pair` has nothing at 0.2");
}

#[test]
fn wrong_inputs_are_refused() {
    let vm = vm();
    let error = vm.set_inputs("pair", &[Any::NONE]).unwrap_err();
    assert_eq!(error.message(), "`pair` takes 2 inputs (a, b), not 1");
    assert!(vm.set_input("pair", "c", &Any::NONE).unwrap_err().message().contains("no parameter `c`; it has a, b"));
    assert!(vm.set_inputs("other", &[]).unwrap_err().message().contains("no function `other`"));
}

#[test]
fn results_go_into_given_tensors() {
    let vm = vm();
    let args = [tensor(1.0).into(), tensor(2.0).into()];
    let outputs = [tensor(0.0), tensor(0.0), tensor(0.0)];
    vm.call_into("pair", &args, &outputs).unwrap();
    assert_eq!(outputs.clone().map(|t| number(&t.into())), [2.0, 1.0, 1.0]);
    assert!(vm.call_into("pair", &args, &outputs[..2]).is_err());
    let four = [&outputs[..], &[tensor(0.0)]].concat();
    assert!(vm.call_into("pair", &args, &four).unwrap_err().message().contains("returned 3 tensors, not 4"));
    let double = Tensor::empty(DType::FLOAT64, &[1], Device::CPU).unwrap();
    assert!(vm.call_into("pair", &args, &[double, tensor(0.0), tensor(0.0)]).is_err());
    assert!(vm.call_into("pair", &[1i64.into(), 2i64.into()], &outputs).is_err());
}

#[test]
fn functions_are_saved_with_their_arguments() {
    let vm = vm();
    let args = [tensor(1.0).into(), tensor(2.0).into()];
    vm.save_function("pair", "bound", &args, true).unwrap();
    vm.save_function("pair", "silent", &args, false).unwrap();
    assert!(vm.call("bound", &[]).unwrap().get::<crate::Tuple>().is_some());
    assert!(vm.clone().call("silent", &[]).unwrap().is_none());
    assert!(vm.call("bound", &args).is_err());
    assert!(vm.save_function("pair", "pair", &args, true).is_err());
    assert!(vm.save_function("pair", "short", &args[..1], true).is_err());
    assert!(vm.save_function("none", "short", &[], true).is_err());
    vm.save_function("bound", "again", &[], true).unwrap();
    assert!(vm.call("again", &[]).is_ok());
}

#[test]
fn functions_are_timed() {
    let vm = vm();
    let args = [tensor(1.0).into(), tensor(2.0).into()];
    let how = Evaluation { number: 2, repeat: 3, min_repeat: Duration::from_micros(200), ..Evaluation::default() };
    let timings = vm.time("pair", &args, &how).unwrap();
    assert_eq!(timings.seconds().len(), 3);
    assert!(timings.min() > 0.0 && timings.min() <= timings.median() && timings.median() <= timings.max());
    assert!(vm.time("pair", &[], &how).is_err());
}
