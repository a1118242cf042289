//! Compiles kernels, runs them natively and in the interpreter, and compares the results.

use super::generate::{Case, Value, case};
use hammock_codegen::llvm::{self, Emit, Host, OptLevel};
use hammock_diagnostics::SourceFile;
use hammock_interp as interp;
use hammock_ir::{DType, Function, Name, Tensor, print};
use hammock_kernels::{FlatKernel, lower};
use hammock_runtime::{Any, Device, Image, Library, image::Integrity};
use hammock_target::Target;
use std::{io::Write, path::Path, sync::Arc};

/// Runs kernels in batches; writes differences to the file `found`, and the current kernel to `now`.
pub fn all(from: u64, to: u64, batch: u64, dir: &Path) {
    let mut found = std::fs::File::create(dir.join("found")).unwrap();
    let mut at = from;
    while at < to {
        std::fs::write(dir.join("now"), at.to_string()).unwrap();
        let end = (at + batch).min(to);
        let cases: Vec<Case> = (at..end).map(case).collect();
        let note = |number: u64| std::fs::write(dir.join("now"), number.to_string()).unwrap();
        for report in run(&cases, &note) {
            writeln!(found, "{}", report.replace('\n', " ")).unwrap();
        }
        at = end;
    }
}

/// Runs a few kernels; returns the differences.
pub fn batch(cases: &[Case]) -> Vec<String> {
    run(cases, &|_| {})
}

fn run(cases: &[Case], note: &dyn Fn(u64)) -> Vec<String> {
    let (mut reports, mut flat) = (Vec::new(), Vec::new());
    for case in cases {
        note(case.number);
        reports.extend(read_back(case).map(|r| format!("kernel {}: {r}", case.number)));
        match lower(&case.func, &Target { threads: 2, ..Target::host() }) {
            Ok(kernel) => flat.push((case, kernel)),
            Err(e) => reports.push(format!("kernel {}: {e}", case.number)),
        }
    }
    let kernels: Vec<FlatKernel> = flat.iter().map(|(_, k)| k.clone()).collect();
    let Some((first, _)) = flat.first() else { return reports };
    note(first.number);
    let level = [OptLevel::Lean, OptLevel::Full][(first.number / 50 % 4 / 3) as usize];
    let object = match llvm::compile(&kernels, &llvm::host(), Host::Hammock, level, Emit::Object) {
        Ok(object) => object,
        Err(e) => return vec![format!("kernels from {} on: {e}", first.number)],
    };
    let linked = hammock_link::link(&[&object], &Image::default().save()).unwrap();
    let library = Library::from_bytes(Arc::new(linked), Integrity::Trust).unwrap();
    for (case, _) in &flat {
        note(case.number);
        reports.extend(compare(case, &library).map(|r| format!("kernel {}: {r}", case.number)));
    }
    reports
}

/// Returns the difference between the two runs of a kernel.
fn compare(case: &Case, library: &Library) -> Option<String> {
    let mut expected: Vec<interp::Arg> = case.args.iter().map(interpreted).collect();
    let said = interp::run(&case.func, &mut expected);
    let args: Vec<Any> = case.args.iter().map(native).collect();
    let function = library.kernel(&format!("k{}", case.number)).unwrap().unwrap();
    match (function.call(&args), said) {
        (Ok(_), Ok(_)) => {}
        (Err(_), Err(_)) => return None,
        (Ok(_), Err(e)) => return Some(format!("no error, but the interpreter says: {}", e.fault)),
        (Err(e), Ok(_)) => return Some(format!("the interpreter finds no error: {e}")),
    }
    expected.iter().zip(&args).enumerate().find_map(|(number, (expected, found))| {
        let (interp::Arg::Tensor(expected), Some(found)) = (expected, found.get::<&Tensor>()) else { return None };
        let width = found.dtype().bytes();
        let pairs = found.as_bytes().unwrap().chunks(width).zip(expected.as_bytes().unwrap().chunks(width));
        let (at, (a, b)) = pairs.enumerate().find(|(_, (a, b))| !same(a, b, found.dtype()))?;
        Some(format!("argument {number}, element {at}: {a:02x?} instead of {b:02x?}"))
    })
}

fn interpreted(value: &Value) -> interp::Arg {
    match value {
        Value::Tensor(t) => interp::Arg::Tensor(t.clone()),
        Value::Int(v) => interp::Arg::Int(*v),
    }
}

fn native(value: &Value) -> Any {
    match value {
        Value::Tensor(t) => {
            let fresh = Tensor::from_bytes(t.dtype(), t.shape(), t.as_bytes().unwrap()).unwrap();
            debug_assert_eq!(fresh.device(), Device::CPU);
            fresh.into()
        }
        Value::Int(v) => (*v).into(),
    }
}

/// Returns true if bits are equal, or both are NaN.
fn same(a: &[u8], b: &[u8], dtype: DType) -> bool {
    let nan = |bytes: &[u8]| match bytes.len() {
        2 => half::f16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        4 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
    };
    a == b || dtype.is_floating() && nan(a) && nan(b)
}

/// Returns the difference after printing and reading a kernel back.
fn read_back(case: &Case) -> Option<String> {
    let name = Name::from(format!("k{}", case.number));
    let source = SourceFile::new("kernel.py", print::function_text(&name, &Function::Tir(case.func.clone()))).ok()?;
    let module = match hammock_import::read_module(&source, &Default::default()) {
        Ok(module) => module,
        Err(found) => return Some(format!("as text, {}", found[0].message)),
    };
    let Function::Tir(again) = &module.functions[&name] else { return None };
    let [(said, mine), (now, its)] = [&case.func, again].map(|func| {
        let mut args: Vec<interp::Arg> = case.args.iter().map(interpreted).collect();
        (interp::run(func, &mut args).is_ok(), args)
    });
    if said != now {
        return Some(format!("as text, it runs {now} instead of {said}"));
    }
    let differ = |pair: (&interp::Arg, &interp::Arg)| match pair {
        (interp::Arg::Tensor(a), interp::Arg::Tensor(b)) => a.as_bytes().unwrap() != b.as_bytes().unwrap(),
        _ => false,
    };
    (said && mine.iter().zip(&its).any(differ)).then(|| "as text, it gives other numbers".to_owned())
}

/// Returns a kernel's text and arguments.
pub fn text(case: &Case) -> String {
    let function = Function::Tir(case.func.clone());
    let text = print::function_text(&format!("k{}", case.number).into(), &function);
    let args = case.args.iter().map(|v| match v {
        Value::Tensor(t) => format!("{:?} {:02x?}", t, t.as_bytes().unwrap()),
        Value::Int(v) => v.to_string(),
    });
    let args: Vec<String> = args.collect();
    format!("{text}\n{}", args.join("\n"))
}
