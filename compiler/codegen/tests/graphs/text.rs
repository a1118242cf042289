//! Cranelift IR of a small function.
use super::program::{Program, VOID, branch, goto, int, reg, ret};
use hammock_codegen::native;
use hammock_runtime::image::{Dim, KernelParam, KernelSignature, ParamKind};
use hammock_runtime::{DType, Device};
use hammock_target::Family;
use std::path::Path;

#[test]
fn a_small_function() {
    let kind = ParamKind::Tensor { dtype: DType::FLOAT32, shape: vec![Dim::Static(4)], alignment: 4 };
    let param = KernelParam { name: "a".to_owned(), kind, is_written: false };
    let (name, device) = ("increment".to_owned(), Device::CPU);
    let kernel = KernelSignature { name, device, symbol_count: 0, params: vec![param] };
    let mut p = Program { kernels: vec![kernel], ..Program::default() };
    let body =
        [p.call(VOID, "increment", &[reg(0)]), branch(1, 3), p.call(1, "sub", &[reg(1), int(1)]), goto(-3), ret(0)];
    p.function("main", 2, 2, &body);
    let function = p.executable.function("main").unwrap();
    let text = native::text(Family::X86_64, &p.executable, &p.kernels, function).unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/native"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("small_function", text));
}
