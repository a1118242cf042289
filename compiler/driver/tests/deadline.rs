//! A program that compiles with a deadline goes on with an error once that has passed, and so does one that cancels.

use hammock_compiler::{Emit, Evaluator, Failure, Options, ReadOptions, compile, lower, plans, read_text};
use hammock_diagnostics::{Diagnostic, SourceFile};
use hammock_ir::Module;
use hammock_passes::{Context, Pass, Pipeline, StopCondition, pipeline};
use std::time::{Duration, Instant};

const MODEL: &str = r#"@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.add(x, x)
        return y
"#;

fn read() -> (Module, SourceFile) {
    let source = SourceFile::new("model.py", MODEL.to_owned()).unwrap();
    let module = read_text(&source, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)));
    (module, source)
}

fn lowered(options: &Options, passes: &Pipeline) -> Result<(Module, SourceFile), Failure> {
    let (mut module, source) = read();
    let evaluator = Evaluator::new();
    lower(&mut module, &source, passes, &options.environment(&evaluator), &mut Default::default())?;
    Ok((module, source))
}

fn until(deadline: Instant) -> Options {
    Options { stop: StopCondition::at(deadline), ..Options::default() }
}

const MESSAGE: &str = "TimeoutError: compiling exceeded its time limit";

#[test]
fn compiling_within_the_deadline_works() {
    let options = until(Instant::now() + Duration::from_secs(600));
    let (module, source) = lowered(&options, &pipeline(2)).unwrap_or_else(|e| panic!("{}", e.render(false)));
    compile(&module, &source, &options, Emit::Bytecode).unwrap_or_else(|e| panic!("{}", e.render(false)));
}

#[test]
fn no_kernel_is_compiled_after_the_deadline() {
    let (module, source) = lowered(&Options::default(), &pipeline(2)).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let failure = plans(&module, &source, &until(Instant::now())).err().unwrap();
    assert!(failure.render(false).contains(MESSAGE), "{}", failure.render(false));
    if cfg!(feature = "native") {
        let failure = compile(&module, &source, &until(Instant::now()), Emit::Lib).err().unwrap();
        assert!(failure.render(false).contains(MESSAGE), "{}", failure.render(false));
    }
}

/// A pass that ends when the deadline has passed.
static UNTIL_THE_DEADLINE: Pass = Pass { name: "UntilTheDeadline", doc: "Waits", options: &[], run: wait };

fn wait(_: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    while context.environment.stop.deadline().is_some_and(|deadline| Instant::now() < deadline) {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn no_pass_begins_after_the_deadline() {
    let passes = Pipeline::parse_with("UntilTheDeadline,Normalize", &[&UNTIL_THE_DEADLINE]).unwrap();
    let failure = lowered(&until(Instant::now() + Duration::from_millis(20)), &passes).err().unwrap();
    assert!(failure.render(false).contains(MESSAGE), "{}", failure.render(false));
    let alone = Pipeline::parse_with("UntilTheDeadline", &[&UNTIL_THE_DEADLINE]).unwrap();
    assert!(lowered(&until(Instant::now() + Duration::from_millis(20)), &alone).is_ok());
}

#[test]
fn nothing_is_compiled_once_it_is_cancelled() {
    let options = Options::default();
    let (module, source) = lowered(&options, &pipeline(2)).unwrap_or_else(|e| panic!("{}", e.render(false)));
    options.stop.clone().cancel();
    for failure in [plans(&module, &source, &options).err(), lowered(&options, &pipeline(0)).err()] {
        let said = failure.unwrap().render(false);
        assert!(said.contains("CancelledError: compiling was cancelled"), "{said}");
    }
}
