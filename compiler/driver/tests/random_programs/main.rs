//! Random programs, after random passes and as they are: both give the same results.
//!
//! Programs have dataflow blocks, branches, functions, tuples, casts, symbolic sizes, and kernels that write over their
//! arguments, between reads of them by this name and others. Bindings run in their order: that is what a program means,
//! and what is in `main`'s arguments afterwards belongs to its results. Kernels are interpreted, so nothing but the
//! passes can be at fault. Programs and passes follow from their numbers: `PROGRAMS=10000` runs more of them, from
//! `PROGRAMS_FROM` on; `PROGRAM=17` one, with its text and the passes that ran.

mod draw;
mod generate;
#[path = "../../../codegen/tests/random_kernels/rng.rs"]
mod rng;

use draw::Advice;
use generate::{Program, program};
use hammock_compiler::{Evaluator, Options, ReadOptions, read_text, reference};
use hammock_diagnostics::{Diagnostic, SourceFile, render_text};
use hammock_ir::{Module, print::module_text};
use hammock_passes::{Pipeline, Silent, Step, pipeline};
use hammock_runtime::{Any, Tensor, Tuple, vm};
use rng::Rng;

/// Sizes are known: memory is planned in another way then.
const KNOWN_SIZES: &str = r#"BindSymbolicVars{binding_map={"n":3,"m":4}}"#;

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

/// Random passes, then those of a level; for every other program, with sizes that are known.
fn passes(rng: &mut Rng) -> (Vec<Step>, Pipeline) {
    let known = Pipeline::parse(KNOWN_SIZES).unwrap().steps.into_iter().filter(|_| rng.chance(50));
    let mut drawn: Vec<Step> = known.collect();
    if rng.chance(60) {
        drawn.extend(draw::lowered_partly(rng));
    }
    drawn.extend((0..rng.below(8)).map(|_| draw::any(rng)));
    (drawn, pipeline(rng.below(4) as u8))
}

/// Compares what a program computes without optimizations and after random passes. `ran` are the passes that were run.
fn compare(program: &Program, seed: u64, ran: &mut Pipeline) -> Result<(), String> {
    let source = SourceFile::new("program.py", program.text.clone()).map_err(|e| e.message.clone())?;
    let module = read_text(&source, &ReadOptions::default()).map_err(|failure| failure.render(false))?;
    let mut rng = Rng::new(seed.wrapping_add(0x5eed));
    let (drawn, level) = passes(&mut rng);
    let expected =
        Run { source: &source, module: module.clone(), ran: &mut Pipeline::default() }.result(&pipeline(0), program)?;
    let mut run = Run { source: &source, module, ran };
    drawn.into_iter().try_for_each(|step| run.drawn(step, &mut rng))?;
    let actual = run.result(&level, program)?;
    difference(&expected, &actual).map_or(Ok(()), Err)
}

/// A module, and the passes that were run on it.
struct Run<'a> {
    source: &'a SourceFile,
    module: Module,
    ran: &'a mut Pipeline,
}

impl Run<'_> {
    /// Runs a pass on a copy of the module, and verifies it.
    fn after(&self, step: &Step) -> Result<Module, Diagnostic> {
        let (options, evaluator) = (Options::default(), Evaluator::new());
        let mut module = self.module.clone();
        let alone = Pipeline { steps: vec![step.clone()] };
        alone.run(&mut module, &options.environment(&evaluator), &mut Silent)?;
        Ok(module)
    }

    /// Replaces the module by the result of a pass.
    fn keep(&mut self, step: Step, module: Module) -> Result<(), String> {
        self.module = module;
        self.ran.steps.push(step);
        verified(&self.module)
    }

    fn text(&self, step: &Step, error: &Diagnostic) -> String {
        format!("pass {}{}: {}", step.pass.name, step.options, render_text(error, Some(self.source), false))
    }

    /// Runs a drawn pass, after those that its error asks for. Leaves it out if the module is not for it.
    fn drawn(&mut self, step: Step, rng: &mut Rng) -> Result<(), String> {
        let mut open = vec![step];
        let mut tries = 0;
        while let Some(step) = open.last() {
            tries += 1;
            match self.after(step) {
                Ok(module) if draw::is_comparable(&self.module, &module) => {
                    self.keep(open.remove(open.len() - 1), module)?
                }
                Ok(_) => return Ok(()),
                Err(error) => match draw::advice(rng, &error) {
                    Some(Advice::RunFirst(steps)) if tries < MAX_TRIES => open.extend(steps.into_iter().rev()),
                    Some(Advice::LeaveOut) => return Ok(()),
                    _ => return Err(self.text(step, &error)),
                },
            }
        }
        Ok(())
    }

    /// Runs passes, and then `main`. Returns the arguments afterwards, and the result.
    fn result(mut self, passes: &Pipeline, program: &Program) -> Result<Any, String> {
        for step in &passes.steps {
            let module = self.after(step).map_err(|error| self.text(step, &error))?;
            self.keep(step.clone(), module)?;
        }
        let vm = reference(&self.module, self.source, None, vm::Options::default());
        let args = program.args();
        let result = vm.map_err(|failure| failure.render(false))?.call("main", &args).map_err(|e| e.to_string())?;
        Ok(Tuple::new([Tuple::new(args.into_iter()).into(), result].into_iter()).into())
    }
}

/// Maximum number of passes that run because a drawn one asks for them, and of attempts to run it.
const MAX_TRIES: usize = 12;

fn verified(module: &Module) -> Result<(), String> {
    match hammock_ir::verify::module(module, &hammock_ops::Table).iter().find(|found| found.is_error()) {
        None => Ok(()),
        Some(error) => Err(format!("{}\n{}", error.message, module_text(module, &Default::default()))),
    }
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
