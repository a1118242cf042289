//! `hammock import`: makes a text module of an ONNX model.

use crate::{
    module::{DigestFlag, OnnxFlags, reads_model},
    output::{expect_weights, say, write_file},
    progress::StageFlags,
};
use clap::Args;
use hammock_compiler::{
    Assumption, Failure, ImportOptions, Imported, OnnxWeights, Overridden, Progress, import_onnx, write_weights,
};
use hammock_ir::print::{PrintOptions, module_text};
use hammock_tools::{BudgetFlags, CommandFiles, Content};
use std::path::{Path, PathBuf};

/// Maximum number of assumptions that are printed.
const MAX_ASSUMPTIONS: usize = 50;

/// Converts an ONNX model to a text module
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock import model.onnx -o model.py --params-out weights.safetensors
  hammock run model.py --params weights.safetensors --arg @images.npy
  hammock run model.onnx --arg @images.npy      the same, without files in between

Parameters of `main` are the model's inputs, in its order, then its weights; names have `_` for what is not a letter or
digit. Small tensors, which operators may have to know, are constants of the text. Shapes that depend on data are
assumed, checked when the model runs (`R.match_cast`), and listed with the nodes that need them.")]
pub struct Import {
    /// An ONNX model, with its external data next to it, or `-` for standard input
    file: String,
    /// The text module to write, or `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write the weights to this .safetensors or .npz file instead of as constants into the text
    #[arg(long, value_name = "FILE")]
    params_out: Option<PathBuf>,
    /// Inputs with a default value (an initializer) that become parameters; other such inputs are weights or constants.
    /// With --params-out, the default values are among the weights
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    overridable: Vec<String>,
    #[command(flatten)]
    onnx: OnnxFlags,
    #[command(flatten)]
    digest: DigestFlag,
    #[command(flatten)]
    pub budget: BudgetFlags,
    #[command(flatten)]
    stages: StageFlags,
}

impl Import {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) {
        reads_model(files, &self.file, &self.onnx);
        files.writes("-o", &self.output);
        self.params_out.iter().for_each(|path| files.writes("--params-out", path));
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let weights = match &self.params_out {
            Some(path) => {
                expect_weights("--params-out", path)?;
                OnnxWeights::Parameters
            }
            None => OnnxWeights::Constants,
        };
        let mut stages = self.stages.start(true);
        stages.begin("reading the model")?;
        self.digest.expect(&self.file)?;
        let overridden = Overridden { required: self.overridable.clone(), ..Overridden::default() };
        let OnnxFlags { data_folders, shapes } = self.onnx.clone();
        let options = ImportOptions { weights, data_folders, overridden, shapes, ..ImportOptions::default() };
        let imported = import_onnx(&self.file, &options)?;
        if let Some(path) = &self.params_out {
            stages.begin("writing weights")?;
            write_weights(path, &imported.weights)?;
        }
        stages.begin("writing the text")?;
        let text = module_text(&imported.module, &PrintOptions::default());
        if self.output == Path::new("-") {
            crate::print(&text)?;
        } else {
            write_file(&self.output, Content::Text, |out| out.write_all(text.as_bytes()))?;
        }
        say(&assumptions_text(&imported))?;
        stages.finish()
    }
}

/// Returns the shapes that the program assumes, a line for each with its node.
fn assumptions_text(imported: &Imported) -> String {
    let assumptions = imported.assumptions();
    if assumptions.is_empty() {
        return String::new();
    }
    let source = &imported.source;
    let line = |assumption: &Assumption| {
        let line = source.line_index(assumption.span.start);
        format!("  {}:{}: {}: {}\n", source.name(), line + 1, source.slice(assumption.span), assumption.ty)
    };
    let more = assumptions.len().saturating_sub(MAX_ASSUMPTIONS);
    let more = if more > 0 { format!("  and {more} more: each `R.match_cast` of the text\n") } else { String::new() };
    let shown: String = assumptions.iter().take(MAX_ASSUMPTIONS).map(line).collect();
    format!("Shapes that are only known when the model runs, and checked then:\n{shown}{more}")
}
