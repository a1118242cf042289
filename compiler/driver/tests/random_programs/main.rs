//! Random programs, after random passes and as they are: both give the same results.
//!
//! Programs have dataflow blocks, branches, functions, tuples, casts, symbolic sizes, and kernels that write over their
//! arguments, between reads of them by this name and others. Bindings run in their order: that is what a program means,
//! and what is in `main`'s arguments afterwards belongs to its results. Kernels are interpreted, so nothing but the
//! passes can be at fault. Programs and passes follow from their numbers: `PROGRAMS=10000` runs more of them, from
//! `PROGRAMS_FROM` on; `PROGRAM=17` one, with its text and the passes that ran.

mod draw;
mod generate;
mod passes;
#[path = "../../../codegen/tests/random_kernels/rng.rs"]
mod rng;

use generate::{Program, program};
use hammock_compiler::{Options, ReadOptions, read_text, reference};
use hammock_diagnostics::SourceFile;
use hammock_passes::{Pipeline, pipeline};
use hammock_runtime::{Any, Tensor, Tuple, vm};
use passes::{Run, drawn};
use rng::Rng;

/// Reassociated sums of numbers around one differ by that much of the largest.
const TOLERANCE: f64 = 2e-4;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn passes_keep_what_programs_compute() {
    let one = number("PROGRAM");
    let from = one.or(number("PROGRAMS_FROM")).unwrap_or(0);
    let count = if one.is_some() { 1 } else { number("PROGRAMS").unwrap_or(60) };
    let mut reports = Vec::new();
    for seed in from..from + count {
        let program = program(seed);
        if one.is_some() {
            println!("{}", program.text);
        }
        let mut ran = Pipeline::default();
        let compared = compare(&program, seed, &mut ran);
        if one.is_some() {
            println!("{ran}");
        }
        if let Err(why) = compared {
            reports.push(format!("program {seed}, {ran}: {why}"));
        }
    }
    assert!(reports.is_empty(), "{} of {count} programs differ:\n{}", reports.len(), reports.join("\n"));
}

/// Compares what a program computes without optimizations and after random passes. `ran` are the passes that were run.
fn compare(program: &Program, seed: u64, ran: &mut Pipeline) -> Result<(), String> {
    let source = SourceFile::new("program.py", program.text.clone()).map_err(|e| e.message.clone())?;
    let module = read_text(&source, &ReadOptions::default()).map_err(|failure| failure.render(false))?;
    let mut rng = Rng::new(seed.wrapping_add(0x5eed));
    let (steps, level) = drawn(&mut rng);
    let options = &Options::default();
    let written = Run { options, source: &source, module: module.clone(), ran: &mut Pipeline::default() };
    let expected = result(written, &pipeline(0), program)?;
    let mut run = Run { options, source: &source, module, ran };
    steps.into_iter().try_for_each(|step| run.drawn(step, &mut rng))?;
    let actual = result(run, &pipeline(level), program)?;
    difference(&expected, &actual).map_or(Ok(()), Err)
}

/// Runs passes, and then `main`. Returns the arguments afterwards, and the result.
fn result(mut run: Run, passes: &Pipeline, program: &Program) -> Result<Any, String> {
    passes.steps.iter().try_for_each(|step| run.step(step))?;
    let vm = reference(&run.module, run.source, None, vm::Options::default());
    let args = program.args();
    let result = vm.map_err(|failure| failure.render(false))?.call("main", &args).map_err(|e| e.to_string())?;
    Ok(Tuple::new([Tuple::new(args.into_iter()).into(), result].into_iter()).into())
}

/// How two values differ.
fn difference(expected: &Any, actual: &Any) -> Option<String> {
    if let (Some(a), Some(b)) = (expected.get::<Tuple>(), actual.get::<Tuple>()) {
        let (a, b) = (a.as_slice(), b.as_slice());
        if a.len() != b.len() {
            return Some(format!("{} results instead of {}", b.len(), a.len()));
        }
        return a.iter().zip(b).enumerate().find_map(|(i, (a, b))| Some(format!("result {i}: {}", difference(a, b)?)));
    }
    let (Some(a), Some(b)) = (expected.get::<Tensor>(), actual.get::<Tensor>()) else {
        return Some("values of different kinds".into());
    };
    if a.shape() != b.shape() || a.dtype() != b.dtype() {
        return Some(format!("{:?} {} instead of {:?} {}", b.shape(), b.dtype(), a.shape(), a.dtype()));
    }
    let (a, b) = (numbers(&a), numbers(&b));
    let largest = a.iter().filter(|v| v.is_finite()).fold(1.0_f64, |most, v| most.max(v.abs()));
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * largest;
    let at = a.iter().zip(&b).position(|pair| !same(pair))?;
    Some(format!("element {at} is {} instead of {}", b[at], a[at]))
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    if let Ok(values) = tensor.as_slice::<f32>() {
        return values.iter().map(|v| f64::from(*v)).collect();
    }
    match tensor.as_slice::<i64>() {
        Ok(values) => values.iter().map(|v| *v as f64).collect(),
        Err(_) => {
            tensor.as_slice::<bool>().map(|v| v.iter().map(|v| f64::from(u8::from(*v))).collect()).unwrap_or_default()
        }
    }
}
