//! The kernels of file-tests, with arguments made up for them.

use super::{compare, rng::Rng};
use hammock_compiler::{ReadOptions, read_text};
use hammock_diagnostics::SourceFile;
use hammock_interp::Arg;
use hammock_ir::{DType, Function, PrimExpr, Tensor, arith::Analyzer, prim::Substitution, tir::PrimFunc};
use std::path::Path;

#[test]
fn passes_keep_what_kernels_of_file_tests_compute() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let (mut reports, mut compared) = (Vec::new(), 0);
    for suite in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(suite.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let passes = text.lines().next().and_then(|line| line.strip_prefix("# opt:")).map(str::trim);
            let Some(passes) = passes.filter(|p| p.starts_with("tirx.") || p.starts_with("s_tir.")).map(str::to_owned)
            else {
                continue;
            };
            let Ok(source) = SourceFile::new("kernels.py", text) else { continue };
            let Ok(module) = read_text(&source, &ReadOptions::default()) else { continue };
            for (name, function) in &module.functions {
                let Function::Tir(kernel) = function else { continue };
                let Some(args) = arguments(kernel) else { continue };
                match compare(kernel, &|| args.clone(), &passes) {
                    Ok(same) => compared += usize::from(same),
                    Err(why) => reports.push(format!("{}, {name}: {why}", path.display())),
                }
            }
        }
    }
    assert!(reports.is_empty(), "{} differ:\n{}", reports.len(), reports.join("\n"));
    assert!(compared >= 40, "only {compared} comparisons");
}

/// Arguments: sizes that are variables are small.
fn arguments(kernel: &PrimFunc) -> Option<Vec<Arg>> {
    let mut sizes = Substitution::default();
    for size in kernel.buffers().flat_map(|buffer| &buffer.shape) {
        size.each_var(&mut |var| {
            let value = 19 + 5 * sizes.len() as i64;
            sizes.entry(var.clone()).or_insert_with(|| PrimExpr::int(value, var.dtype()));
        });
    }
    let mut rng = Rng::new(7);
    let args = kernel.params.iter().map(|param| match &param.buffer {
        Some(buffer) => {
            let shape: Option<Vec<i64>> =
                buffer.shape.iter().map(|e| Analyzer::new().as_constant(&e.substitute(&sizes))).collect();
            Some(Arg::Tensor(tensor(&mut rng, buffer.dtype, &shape?)?))
        }
        None if param.var.dtype().is_integer() => {
            Some(Arg::Int(sizes.get(&param.var).and_then(PrimExpr::as_int).unwrap_or(3)))
        }
        None if param.var.dtype().is_floating() => Some(Arg::Float(1.5)),
        None => None,
    });
    args.collect()
}

fn tensor(rng: &mut Rng, dtype: DType, shape: &[i64]) -> Option<Tensor> {
    let count: i64 = shape.iter().product();
    let element = |rng: &mut Rng| {
        let value = rng.between(0, 9);
        match dtype {
            DType::FLOAT32 => (value as f32 / 4.0).to_le_bytes().to_vec(),
            DType::FLOAT64 => (value as f64 / 4.0).to_le_bytes().to_vec(),
            DType::FLOAT16 => half::f16::from_f32(value as f32 / 4.0).to_le_bytes().to_vec(),
            _ => value.to_le_bytes()[..dtype.bytes()].to_vec(),
        }
    };
    let bytes: Vec<u8> = (0..count).flat_map(|_| element(rng)).collect();
    Tensor::from_bytes(dtype, shape, &bytes).ok()
}
