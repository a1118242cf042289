//! `hammock report`: a model as one page of HTML, with what it takes and gives, its graph, times, memory and sizes.

mod page;

use crate::{
    bench::sizes,
    failure::tool_failure,
    memory_plan::{add_temporaries, svg_of},
    output::{not_stdout, write_file},
    pictures::graph::{Graph, fused_graphs},
    progress::Stages,
    roofline::{Peak, Roofline},
    run::{Adapt, Program},
    stats::Stats,
    unused_flags::refuse,
};
use clap::Args;
use hammock_compiler::{Artifact, Build, Dump, Failure, Flops};
use hammock_ir::Name;
use hammock_passes::MemoryPlan;
use hammock_runtime::image::{
    Signature,
    signature::{Dims, Param, Role, Size, ValueType},
};
use hammock_tools::{CallSpec, CommandFiles, Content, Session, parse_seconds, sample};
use indexmap::IndexMap;
use page::Page;
use std::{path::PathBuf, time::Duration};

/// The heading of this command's own flags in `--help`.
const PAGE: &str = "Page";

/// Writes a page about a model: signature, graph, kernels by time and share of the limit, memory plan, sizes
#[derive(Args)]
#[command(after_help = "\
Without arguments, or with sizes only, inputs are random numbers, or zeros for integers; sizes that are not given are 1.

Examples:
  hammock report model.onnx -o report.html
  hammock report model.onnx -o report.html --arg batch=8
  hammock report model.py --params weights.safetensors --arg @images.npy --threads 1 -o report.html")]
pub struct Report {
    #[command(flatten)]
    program: Program,
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "report.html", help_heading = PAGE)]
    output: PathBuf,
    /// Measure for at least this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds, help_heading = PAGE)]
    min_time: Duration,
}

impl Report {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        files.writes("--output", &self.output);
        self.program.files(files)
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        not_stdout("--output", &self.output)?;
        let mut stages = self.program.stages();
        let page = self.page(&mut stages)?;
        stages.finish()?;
        write_file(&self.output, Content::Text, |out| out.write_all(page.as_bytes()))
    }

    fn page(&self, stages: &mut Stages) -> Result<String, Failure> {
        let call = &self.program.call;
        self.program.refuse_without_text(&[("report", true)])?;
        let mut collected = Collected::default();
        let (session, places) = self.program.open_adapted(Some(call), &mut collected, stages)?;
        let Some(stats) = &collected.stats else {
            return refuse(&[("--exec-mode reference", true)], "interpreted kernels have no times")
                .map(|()| String::new());
        };
        let weights = self.program.weights(&session, stages)?;
        let given = call.spec(weights.as_ref());
        let (args, assumed) = arguments(&session, &given);
        let spec = CallSpec { args: &args, ..given };
        stages.begin_measured("measuring")?;
        let values = session.arguments(&spec).map_err(|error| places.failure(error.into()))?;
        let samples = sample(self.min_time, || session.call(spec.func, &values).map(drop));
        let samples = samples.map_err(|e| tool_failure(e.into()))?;
        let peak_bytes = session.vm().memory().charged_peak;
        let peak = Peak::measure(&call.run_options())?;
        let roofline = Roofline::measure(&session, &spec, self.min_time, std::mem::take(&mut collected.work), peak)?;
        let signature = session.vm().image().signature(spec.func).map(|signature| signature.into_owned());
        let page = Page {
            model: self.program.name(),
            function: spec.func,
            signature: signature.as_ref(),
            arguments: &args,
            assumed: &assumed,
            samples: &samples,
            roofline: &roofline,
            graphs: &collected.graphs,
            memory: svg_of(&collected.memory),
            stats,
            file_bytes: collected.file_bytes,
            peak_bytes,
        };
        Ok(page.html())
    }
}

/// What the page says about a module, collected while it is compiled.
#[derive(Default)]
struct Collected {
    graphs: Vec<Graph>,
    work: Vec<(String, Option<Flops>)>,
    memory: IndexMap<Name, MemoryPlan>,
    stats: Option<Stats>,
    file_bytes: usize,
}

impl Adapt for Collected {
    fn keeps_groups(&self) -> bool {
        true
    }

    fn lowered(&mut self, build: &mut Build, dump: &mut Dump) -> Result<(), Failure> {
        self.work = build.flops()?;
        self.graphs = fused_graphs(build, dump);
        self.memory = std::mem::take(&mut dump.memory);
        Ok(())
    }

    fn compiled(&mut self, build: &Build, artifact: &Artifact) {
        add_temporaries(&mut self.memory, &artifact.temporaries);
        self.stats = Some(Stats::of(build, self.memory.clone(), artifact));
        self.file_bytes = artifact.file.len();
    }
}

/// The arguments of a call, those given, or where only sizes are given, one for each input; with the sizes that are assumed.
fn arguments(session: &Session, spec: &CallSpec) -> (Vec<String>, Vec<String>) {
    let signature = session.vm().image().signature(spec.func);
    let (Some(given), Some(signature)) = (sizes(spec.args), signature) else { return (spec.args.to_vec(), Vec::new()) };
    let mut args = spec.args.to_vec();
    let known = |name: &str| spec.weights.is_some_and(|weights| weights.get(name).is_some());
    let inputs =
        signature.params.iter().filter(|param| matches!(param.role, Role::Input | Role::Weight) && !known(&param.name));
    args.extend(inputs.map(|Param { name, ty, .. }| format!("{name}={}", value(ty))));
    let is_open = |name: &String| given.iter().all(|(known, _)| known != name);
    let assumed: Vec<String> = symbols(&signature).into_iter().filter(is_open).collect();
    args.extend(assumed.iter().map(|name| format!("{name}=1")));
    (args, assumed)
}

/// A value of a type, as an argument.
fn value(ty: &ValueType) -> &'static str {
    match ty {
        ValueType::Tensor { dtype: Some(dtype), .. } if dtype.is_float() => "random",
        ValueType::Scalar(dtype) if dtype.is_float() => "1.0",
        ValueType::Scalar(_) => "1",
        _ => "zeros",
    }
}

/// Symbolic sizes of inputs, in order.
fn symbols(signature: &Signature) -> Vec<String> {
    let mut symbols = Vec::new();
    for param in signature.params.iter().filter(|param| param.role == Role::Input) {
        let ValueType::Tensor { shape: Dims::Known(sizes), .. } = &param.ty else { continue };
        for size in sizes {
            if let Size::Symbol(text) = size
                && text.chars().all(|c| c.is_alphanumeric() || c == '_')
                && !symbols.contains(text)
            {
                symbols.push(text.clone());
            }
        }
    }
    symbols
}
