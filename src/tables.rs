//! `hammock ops`, `passes`, `builtins` and `rules`: lists of what Hammock has.

use crate::{opt::gpu_steps, target_flags::TargetFlags};
use clap::Args;
use hammock_compiler::{
    Failure, GPU_RULES, OnnxOp, Options, PRIMITIVES, Primitive, RULES, STEPS, TRANSFORMS, nearest_operator,
    onnx_operators,
};
use hammock_diagnostics::codes;
use hammock_ops::{Lowering, Op};
use hammock_runtime::suggest::nearest_dotted;

/// Lists the operators, or documents one
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hammock ops\n  hammock ops nn.conv2d\n  hammock ops nn.conv2d --example > example.py"
)]
pub struct Ops {
    /// An operator's name, with or without `R.`
    name: Option<String>,
    /// Print only its example, a module that you can run
    #[arg(long, requires = "name")]
    example: bool,
    /// List the operators of ONNX that can be imported
    #[arg(long, conflicts_with = "name")]
    onnx: bool,
}

/// Lists the passes, documents one, or prints the pipeline that compiles a module
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hammock passes\n  hammock passes DeadCodeElimination\n  hammock passes --pipeline -O1"
)]
#[command(mut_group("TargetFlags", |flags| flags.requires("pipeline")))]
pub struct Passes {
    /// A pass's name
    name: Option<String>,
    /// Print the passes that compile a module, in the form that `--passes` takes
    #[arg(long, conflicts_with = "name")]
    pipeline: bool,
    /// List the steps that make flat code of kernels after the passes (`hammock opt --emit STEP` shows them)
    #[arg(long, conflicts_with_all = ["name", "pipeline"])]
    steps: bool,
    /// List the transforms that rewrite the stages of kernels before they are planned (`hammock opt --emit TRANSFORM`)
    #[arg(long, conflicts_with_all = ["name", "pipeline", "steps"])]
    transforms: bool,
    /// The pipeline's level of optimisation, 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", requires = "pipeline", default_value_t = 2,
        value_parser = clap::value_parser!(u8).range(0..=3))]
    level: u8,
    #[command(flatten)]
    target: TargetFlags,
}

/// Lists the builtin functions of the virtual machine, or documents one
#[derive(Args)]
#[command(after_help = "Examples:\n  hammock builtins\n  hammock builtins vm.builtin.match_shape")]
pub struct Builtins {
    /// A builtin's name
    name: Option<String>,
}

/// Lists the rules that choose the loops of kernels, and the primitives that change them
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hammock rules\n  hammock opt model.py --print-plans      which of them chose what\n  \
                  hammock opt model.py --plan plan.txt    the same after changes by hand"
)]
pub struct Rules {}

impl Ops {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        if self.onnx {
            let mut names: Vec<String> = onnx_operators().map(onnx_name).collect();
            names.sort_unstable();
            return crate::print(&names.concat());
        }
        let Some(name) = self.name else {
            let lines: String = hammock_ops::ops().map(op_line).collect();
            return crate::print(&lines);
        };
        let name = name.strip_prefix("R.").unwrap_or(&name);
        let op = hammock_ops::lookup(name)
            .ok_or_else(|| unknown("operator", name, nearest_operator(name), "hammock ops"))?;
        if self.example {
            let none = || Failure::new(codes::UNKNOWN_NAME, format!("`R.{name}` has no example of its own"));
            return crate::print(&op.example_module().ok_or_else(none)?);
        }
        let doc = format!("{}\n\n{}\n\nlegalizes to: {}\n", op.signature(), op.doc.trim(), lowering(op));
        crate::print(&(doc + &example(op).unwrap_or_default()))
    }
}

/// A line with the name of one of ONNX's operators, after its domain if that is not ONNX's own.
fn onnx_name(op: &OnnxOp) -> String {
    if op.domain.is_empty() { format!("{}\n", op.name) } else { format!("{}.{}\n", op.domain, op.name) }
}

/// An operator's example, and how to run it.
fn example(op: &Op) -> Option<String> {
    let values: String = op.example?.values().iter().map(|v| format!(" --arg '{v}'")).collect();
    let module = op.example_module()?;
    let lines: String = module.lines().map(|l| format!("    {l}\n").replace("    \n", "\n")).collect();
    Some(format!("\n{lines}\nrun it:\n    hammock ops {0} --example | hammock run -{values}\n", op.name))
}

fn op_line(op: &Op) -> String {
    let doc = op.doc.trim().lines().next().unwrap_or_default();
    format!("{:<60} {doc}  [{}]\n", op.signature(), lowering(op))
}

fn lowering(op: &Op) -> String {
    match &op.lowering {
        Lowering::Tir(_) => "TIR".into(),
        Lowering::Decompose(_) => "other operators".into(),
        Lowering::Packed(name) => (*name).into(),
        Lowering::Structural(by) => (*by).into(),
    }
}

impl Passes {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        if self.pipeline {
            // All CPUs have the same passes, and so have all GPUs.
            self.target.cpu()?;
            let options = Options { gpu: self.target.gpu()?, level: self.level, ..Options::default() };
            return crate::print(&format!("{}\n", options.pipeline()));
        }
        let text = match self.name {
            None if self.transforms => {
                TRANSFORMS.iter().map(|transform| format!("{:<24} {}\n", transform.name, transform.doc)).collect()
            }
            None if self.steps => {
                let own = gpu_steps().map(|step| format!("{:<24} for GPUs, {}\n", step.name, step.doc));
                STEPS.iter().map(|step| format!("{:<24} {}\n", step.name, step.doc)).chain(own).collect()
            }
            None => hammock_passes::PASSES.iter().map(|p| format!("{:<24} {}\n", p.name, p.doc)).collect(),
            Some(name) => {
                let pass = hammock_passes::find(&name)?;
                let options: String = pass.options.iter().map(option_lines).collect();
                format!("{}\n\n{}.\n{options}", pass.name, pass.doc)
            }
        };
        crate::print(&text)
    }
}

/// An option of a pass: how it is given, its default, and what it does.
fn option_lines(option: &hammock_passes::PassOption) -> String {
    format!("\n{{{}={}}}\n    {}; takes {}\n", option.name, option.default, option.doc, option.kind)
}

impl Builtins {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let table: Vec<_> = hammock_runtime::builtins().collect();
        let text = match self.name {
            None => table.iter().map(|b| format!("{:<40} {}\n", b.name, b.doc)).collect(),
            Some(name) => {
                let builtin = table.iter().find(|b| b.name == name).ok_or_else(|| {
                    let names: Vec<&str> = table.iter().map(|b| b.name).collect();
                    unknown("builtin", &name, nearest_dotted(&name, &names), "hammock builtins")
                })?;
                format!("{builtin}\n\n{}\n", builtin.doc)
            }
        };
        crate::print(&text)
    }
}

/// The cost model of the remarks in printed plans.
const COST_MODEL: &str = "
Remarks in printed plans predict the share of the roofline. The roofline is the maximum of two times: that of a stage's
operations, with one operation a cycle in every lane of all vector units, and that of its bytes, each moved once: 32 a cycle
from the L2 cache, 16 from the L3 cache, 8 from memory, whichever is the smallest that holds all of them. The prediction counts
the vectors of the plan: operations, loads (two a cycle), stores (one), and four cycles of latency of each accumulation.
Dynamic sizes are assumed to be 64; loops and caches between stages are free. `hammock bench --roofline` measures.
";

/// How primitives are used.
const PRIMITIVES_DOC: &str = "
In a file for `--plan`, primitives edit a plan: `planned` (of the first rule), `planned by RULE`, or explicit loops. They follow
it on lines of their own, indented further, and run in order. A loop is named by its axis and step, as in printed plans
(`i by 4`); the axis alone names its innermost loop. A primitive that does not apply is an error; after the last one, the plan is
checked against the stage.
";

/// What comes before the rules for GPUs.
const GPU_RULES_DOC: &str = "
Kernels for GPUs have rules of their own. A loop is `grid N` (one iteration for each thread, in blocks of N), `block` (one for
each block), `thread` (one for each thread of a block), `warp` (one for each of its warps) or `mma` (the three innermost loops
of a contraction on tensor cores); others run in a thread.
";

impl Rules {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let lines: String =
            RULES.iter().map(|rule| format!("\n{}  ({})\n    {}\n", rule.name, rule.class, rule.doc)).collect();
        let gpu_lines: String =
            GPU_RULES.iter().map(|rule| format!("\n{}  ({})\n    {}\n", rule.name, rule.class, rule.doc)).collect();
        let change = |primitive: &Primitive| {
            let call = format!("{} {}", primitive.name, primitive.form.syntax());
            format!("\n{}\n    {}.\n", call.trim_end(), primitive.doc)
        };
        let changes: String = PRIMITIVES.iter().map(change).collect();
        let first = "The first rule that matches a stage of a kernel chooses its loops.\n";
        crate::print(&format!("{first}{lines}{GPU_RULES_DOC}{gpu_lines}{COST_MODEL}{PRIMITIVES_DOC}{changes}"))
    }
}

/// An unknown name, and the nearest known one.
pub fn unknown(kind: &str, name: &str, near: Option<&str>, list: &str) -> Failure {
    Failure::new(codes::UNKNOWN_NAME, format!("there is no {kind} `{name}`")).help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`{list}` lists them"),
    })
}
