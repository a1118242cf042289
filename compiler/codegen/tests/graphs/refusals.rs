//! Compiled functions with invalid code are rejected.
use super::program::{Program, int, reg, ret};
use hammock_codegen::native;
use hammock_runtime::executable::FunctionKind;
use hammock_runtime::image::{Image, Integrity};
use hammock_runtime::vm::Options;
use hammock_runtime::{Device, Library, Vm};
use hammock_target::Family;
use std::sync::Arc;

fn library(keep_code: bool, change: impl Fn(&mut Vec<u8>)) -> Arc<Library> {
    let mut p = Program::default();
    let body = [
        p.call(1, "add", &[reg(0), int(1)]),
        p.call(1, "add", &[reg(1), int(1)]),
        p.call(1, "add", &[reg(1), int(1)]),
        ret(1),
    ];
    p.function("main", 1, 2, &body);
    let mut executable = p.executable;
    let function = executable.function("main").unwrap();
    executable.functions[function].kind = FunctionKind::Compiled;
    let compiled: Vec<usize> = Some(function).filter(|_| keep_code).into_iter().collect();
    let mut object = native::compile(Family::X86_64, &executable, &[], &compiled).unwrap();
    change(&mut object);
    let image = Image { executable, ..Image::default() }.save();
    let bytes = hammock_link::link(&[&object], &image).unwrap();
    Arc::new(Library::from_bytes(Arc::new(bytes), Integrity::Check).unwrap())
}

fn refusal(library: &Arc<Library>, options: Options) -> String {
    Vm::from_library(library, options).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn missing_code_is_an_error() {
    let expected = "ValueError: function `main` is compiled, but its machine code is missing";
    assert_eq!(refusal(&library(false, |_| ()), Options::default()), expected);
    let image = library(true, |_| ()).image().clone();
    let error = Vm::new(image, Options::default(), |_| Ok(None)).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn code_for_another_runtime_is_an_error() {
    let version = hammock_runtime::vm::native::VERSION.to_le_bytes();
    let other = library(true, |object| {
        let at = object.windows(8).position(|bytes| bytes == version).unwrap();
        object[at] += 1;
    });
    let message = refusal(&other, Options::default());
    assert!(message.contains("compiled for another version of the runtime"), "{message}");
}

#[test]
fn code_is_for_the_cpu() {
    let options = Options { devices: vec![Device::cuda(0)], ..Options::default() };
    refusal(&library(true, |_| ()), options);
    let second = Options { devices: vec![Device { id: 1, ..Device::CPU }], ..Options::default() };
    assert!(Vm::from_library(&library(true, |_| ()), second).is_ok());
}
