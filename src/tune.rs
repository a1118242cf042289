//! `--tune`: plans of kernels by measuring, and the file that keeps them.

use crate::{
    effect::refuse,
    output::{check_writable, not_stdout, say, write_file},
    progress::Stages,
};
use clap::Args;
use hammock_compiler::{Failure, Options, PlanFile, Record, Sizes, tune};
use hammock_diagnostics::{SourceFile, count};
use hammock_ir::Module;
use hammock_runtime::tools::{CommandFiles, Content, parse_seconds};
use indicatif::{ProgressBar, ProgressStyle};
use std::{path::Path, sync::Arc, time::Duration};

/// How finely the bar is divided.
const STEPS: f64 = 1000.0;

/// Flags that say which measured plans are used.
#[derive(Args)]
#[command(next_help_heading = "Tuning")]
pub struct TuneFlags {
    /// Autotune: time alternative plans (`hammock opt --print-plans`) for about SECONDS [default: 60] and keep the fastest
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "60",
          value_parser = parse_seconds)]
    pub tune: Option<Duration>,
    /// Use the plans of this file, and with `--tune` add those that are found; without `--tune` nothing is measured
    #[arg(long, value_name = "FILE")]
    pub tune_file: Option<String>,
    #[command(flatten)]
    pub sizes: SizeFlags,
}

/// Sizes that plans are measured for.
#[derive(Args)]
#[command(next_help_heading = "Tuning")]
pub struct SizeFlags {
    /// Tune kernels with symbolic sizes at this size, for all sizes or those of a name [default: one plan, the best by geometric
    /// mean over 1, 16, 64, 256 and 1024]
    #[arg(long = "tune-size", value_name = "[NAME=]N", value_parser = parse_size)]
    tune_size: Vec<String>,
}

/// A size that [`Sizes`] can take.
fn parse_size(text: &str) -> Result<String, String> {
    Sizes::default().add(text).map(|()| text.to_owned())
}

impl SizeFlags {
    /// What is said of sizes.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        // They were parsed before.
        self.tune_size.iter().for_each(|text| _ = sizes.add(text));
        sizes
    }
}

/// What a new file begins with.
const HEAD: &str = "\
# Plans of kernels, found by `hammock compile --tune --tune-file FILE`; `--tune-file FILE` alone uses them.
# Before each a remark with a kernel that has it. It is for all kernels of the same structure, on the CPU and the number of
# threads that follow the structure's hash, and for the sizes after those; axes and what is copied are called by their numbers.
# To measure anew, remove it.
";

impl TuneFlags {
    /// The flags, and whether each was given.
    pub fn given(&self) -> [(&'static str, bool); 3] {
        let sizes = ("--tune-size", !self.sizes.sizes().is_empty());
        [("--tune", self.tune.is_some()), ("--tune-file", self.tune_file.is_some()), sizes]
    }

    /// The file of plans: with `--tune` it is both read and written.
    pub fn files(&self, files: &mut CommandFiles) {
        let Some(path) = &self.tune_file else { return };
        if self.tune.is_some() { files.writes("--tune-file", path) } else { files.reads("--tune-file", path) }
    }

    /// The plans that the file has. With `--tune` it need not be there yet.
    pub fn read(&self) -> Result<Option<Arc<PlanFile>>, Failure> {
        let [(_, tunes), (_, has_file), sizes] = self.given();
        if !tunes && !has_file {
            refuse(&[sizes], "nothing is measured, and no file of plans is used")?;
        }
        let Some(path) = &self.tune_file else { return Ok(None) };
        if self.tune.is_some() {
            not_stdout("--tune-file", Path::new(path))?;
            check_writable(Path::new(path))?;
            if !Path::new(path).exists() {
                return Ok(None);
            }
        }
        PlanFile::read_records(path).map(Arc::new).map(Some)
    }

    /// The options with plans that measuring finds for a module's kernels on so many threads, if that is asked for.
    pub fn tuned(
        &self,
        module: &Module,
        source: &SourceFile,
        options: Options,
        threads: usize,
        stages: &mut Stages,
    ) -> Result<Options, Failure> {
        let Some(time) = self.tune else { return Ok(options) };
        stages.begin("tuning")?;
        if options.target != "native" {
            refuse(&[("--tune", true)], &format!("kernels for {} are not measured on this machine", options.target))?;
        }
        let found = measured(module, source, &options, threads, time)?;
        let before = options.tuned.as_ref().map_or(HEAD, |file| file.text());
        let text = found.iter().fold(before.trim_end().to_owned(), |text, record| format!("{text}\n\n{record}"));
        let text = format!("{}\n", text.trim_end());
        let name = self.tune_file.as_deref().unwrap_or("<plans found by --tune>");
        if self.tune_file.is_some() {
            write_file(Path::new(name), Content::Text, |out| out.write_all(text.as_bytes()))?;
        }
        let file = SourceFile::new(name, text.as_str()).map_err(Failure::from)?;
        Ok(Options { tuned: Some(Arc::new(PlanFile::records(file)?)), ..options })
    }
}

/// Measures, with a bar that shows how far it is, and says what was found.
fn measured(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
    time: Duration,
) -> Result<Vec<Record>, Failure> {
    let bar = ProgressBar::new(STEPS as u64);
    let style = ProgressStyle::with_template("tuning {bar:40} {percent:>3} %  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut report = |done: f64, kernel: &str| {
        bar.set_position((done * STEPS) as u64);
        bar.set_message(hammock_runtime::printable(kernel).into_owned());
    };
    let found = tune(module, source, options, threads, time, &mut report);
    bar.finish_and_clear();
    let found = found?;
    let faster: Vec<_> = found.iter().filter(|record| record.gain() > 1.0).collect();
    let tried: usize = found.iter().map(|record| record.tried).sum();
    let what = format!("measured {} with {}", count(found.len(), "kernel"), count(tried, "other plan"));
    say(&format!(
        "{what}: {} faster with another\n",
        match faster.len() {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    ))?;
    for record in faster {
        let [before, after] = record.times.map(|seconds| seconds * 1e3);
        say(&format!("{:>8.2} x  {}: {after:.4} ms, not {before:.4} ms\n", record.gain(), record.kernel))?;
    }
    Ok(found)
}
