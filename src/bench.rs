//! `hammock bench`: times a function, or a single kernel.

use crate::{
    failure::{input_failure, tool_failure},
    output::write_file,
    progress::Stages,
    roofline::{Peak, Roofline},
    run::{Adapt, Program},
};
use clap::Args;
use hammock_compiler::{Build, Dump, Failure, Flops};
use hammock_tools::{BenchFlags, CallSpec, CommandFiles, Content, ProfileFlags};
use std::path::PathBuf;

/// The heading of this command's own flags in `--help`.
const MEASURING: &str = "Measuring";

/// Times a function of a text module (compiled first) or of a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock bench model.so --arg 'random(1,64):float32'
  hammock bench model.py --params weights.safetensors --arg @images.npy --threads 1 --min-time 0.5 --json
  hammock bench kernel.py --kernel double                  a single kernel, also a lone T.prim_func, with random arguments
  hammock bench model.py --kernel mean --arg n=128         the same, with a symbolic size
  hammock bench model.py --params weights.safetensors --arg @images.npy --roofline --roofline-svg roofline.svg")]
pub struct Bench {
    #[command(flatten)]
    program: Program,
    /// Time a single kernel of the compiled module (`hammock opt --print-plans` lists them) with random arguments; --arg n=128
    /// sets a symbolic size `n`. Or give one --arg for each of its parameters, outputs included
    #[arg(long, value_name = "NAME", help_heading = MEASURING, conflicts_with_all = ["func", "profile"])]
    kernel: Option<String>,
    /// Print each kernel's time, GFLOP/s (a multiply-add counts as 2, a math function as 16, a square root as 8), GB/s of its
    /// tensors, and their share of this machine's peak, which is measured first: float32 multiply-adds in registers, and
    /// copies within a core's cache and from memory
    #[arg(long, help_heading = MEASURING, conflicts_with = "profile")]
    roofline: bool,
    /// Draw the roofline as SVG
    #[arg(long, value_name = "FILE", help_heading = MEASURING, requires = "roofline")]
    roofline_svg: Option<PathBuf>,
    #[command(flatten)]
    bench: BenchFlags,
    #[command(flatten)]
    profile: ProfileFlags,
}

impl Bench {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.program.files(files)?;
        self.roofline_svg.iter().for_each(|path| files.writes("--roofline-svg", path));
        self.profile.files(files);
        Ok(())
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let mut stages = self.program.stages();
        let text = self.result(&mut stages)?;
        stages.finish()?;
        crate::print(&text)
    }

    /// The output of the command.
    fn result(&self, stages: &mut Stages) -> Result<String, Failure> {
        let least = self.bench.min_time().map_err(input_failure)?;
        self.program.refuse_without_text(&[("--kernel", self.kernel.is_some()), ("--roofline", self.roofline)])?;
        let sizes = sizes(&self.program.call.args);
        let call = Some(&self.program.call).filter(|_| self.kernel.is_none());
        let mut measured =
            Measured { roofline: self.roofline, kernel: self.kernel.as_deref(), sizes, ..Measured::default() };
        let (session, places) = self.program.open_adapted(call, &mut measured, stages)?;
        let Measured { work, random, .. } = measured;
        let weights = self.program.weights(&session, stages)?;
        let spec = self.program.call.spec(weights.as_ref());
        let spec = if random.is_empty() { spec } else { CallSpec { func: "main", args: &random, weights: None } };
        stages.begin_measured("measuring")?;
        if self.roofline {
            let how = self.program.call.run_options();
            let roofline = Roofline::measure(&session, &spec, least, work, Peak::measure(&how)?)?;
            if let Some(path) = &self.roofline_svg {
                write_file(path, Content::Text, |out| out.write_all(roofline.svg().as_bytes()))?;
            }
            return Ok(if self.bench.json { roofline.json() } else { roofline.table() });
        }
        let times = session.bench(&spec, least, self.bench.json).map_err(|error| places.failure(error))?;
        self.profile.repeat(&session, &spec).map_err(tool_failure)?;
        Ok(times)
    }
}

/// The kernels to measure.
#[derive(Default)]
struct Measured<'a> {
    roofline: bool,
    /// Name of the only kernel to measure, and the sizes of its random arguments, unless there are others.
    kernel: Option<&'a str>,
    sizes: Option<Vec<(&'a str, i64)>>,
    /// Operations of each kernel.
    work: Vec<(String, Option<Flops>)>,
    random: Vec<String>,
}

impl Adapt for Measured<'_> {
    fn lowered(&mut self, build: &mut Build, _: &mut Dump) -> Result<(), Failure> {
        if self.roofline {
            self.work = build.flops()?;
        }
        if let Some(kernel) = self.kernel {
            let kept = build.keep_kernel(kernel)?;
            if let Some(sizes) = &self.sizes {
                self.random = kept.arguments(sizes)?;
            }
        }
        Ok(())
    }
}

/// The sizes that arguments give by name; `None` if there is an argument of another kind.
pub fn sizes(args: &[String]) -> Option<Vec<(&str, i64)>> {
    args.iter().map(|text| size(text)).collect()
}

/// `NAME=N`
fn size(text: &str) -> Option<(&str, i64)> {
    let (name, value) = text.split_once('=')?;
    Some((name.trim(), value.trim().parse().ok()?))
}
