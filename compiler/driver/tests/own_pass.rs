//! How a program that uses Hammock as a library adds a pass of its own: a function, and its declaration. The pass runs
//! among Hammock's under its name, with options, and messages that know it.

use hammock_compiler::{Evaluator, Options, ReadOptions, read_text};
use hammock_diagnostics::{Diagnostic, SourceFile};
use hammock_ir::{Module, print::module_text, relax::Value};
use hammock_passes::{
    Context, OptionKind, Pass, PassOption, Pipeline, Silent,
    editor::{self, Editor},
    pipeline,
};

/// `R.nn.gelu` becomes the approximation by `tanh`, or another operator.
static FASTER_GELU: Pass = Pass {
    name: "FasterGelu",
    doc: "Approximates nn.gelu by another operator",
    options: &[PassOption {
        name: "by",
        kind: OptionKind::Choice(&["nn.gelu_tanh", "nn.silu"]),
        default: "\"nn.gelu_tanh\"",
        doc: "The operator",
    }],
    run: faster_gelu,
};

fn faster_gelu(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let by = context.options.text("by");
    let rule = |e: &mut Editor, value: &Value| {
        let [x] = value.as_op("nn.gelu")?.operands()?;
        e.make(&by, [x.clone()], [])
    };
    editor::apply(module, |_, _| Some(rule))
}

const MODEL: &str = r#"from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        with R.dataflow():
            y = R.nn.gelu(x)
            z = R.add(y, x)
            R.output(z)
        return z
"#;

/// The module's text after passes.
fn after(passes: &Pipeline) -> String {
    let source = SourceFile::new("model.py", MODEL.to_owned()).unwrap();
    let mut module = read_text(&source, &ReadOptions::default()).map_err(|failure| failure.render(false)).unwrap();
    let (options, evaluator) = (Options::default(), Evaluator::new());
    passes.run(&mut module, &options.environment(&evaluator), &mut Silent).map_err(|d| d.message).unwrap();
    module_text(&module, &Default::default())
}

#[test]
fn a_pass_of_ones_own_runs_among_the_others() {
    let own = [&FASTER_GELU];
    let alone = Pipeline::parse_with("Normalize,FasterGelu", &own).unwrap();
    assert!(after(&alone).contains("R.nn.gelu_tanh(x)"), "{}", after(&alone));
    let other = Pipeline::parse_with("FasterGelu{by=\"nn.silu\"},CanonicalizeBindings", &own).unwrap();
    assert_eq!(other.to_string(), "FasterGelu{by=\"nn.silu\"},CanonicalizeBindings");
    assert!(after(&other).contains("R.nn.silu(x)"), "{}", after(&other));

    // In front of all that compiles a module at -O2.
    let compiled = Pipeline::parse_with(&format!("FasterGelu,{}", pipeline(2)), &own).unwrap();
    assert!(after(&compiled).contains("gelu_tanh"), "{}", after(&compiled));
    assert!(!after(&pipeline(2)).contains("gelu_tanh"));
}

#[test]
fn mistakes_in_its_name_and_options_are_found() {
    let said = |text: &str| Pipeline::parse_with(text, &[&FASTER_GELU]).err().unwrap();
    assert!(said("FasterGelo").help.iter().any(|help| help.contains("FasterGelu")));
    assert!(said("FasterGelu{by=\"nn.relu\"}").message.contains("cannot be"));
    assert!(Pipeline::parse("FasterGelu").is_err(), "only those who add it know it");
}
