//! `--tune`: plans of kernels by measuring, and the file that keeps them.

use crate::{
    output::{check_writable, not_stdout, say, write_file},
    unused_flags::refuse,
};
use clap::Args;
use hammock_compiler::{Build, Emit, Failure, PlanFile, Record, Sizes};
use hammock_diagnostics::count;
use hammock_tools::{CommandFiles, Content, parse_seconds};
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
    /// The sizes of the flags.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        // They were parsed before.
        self.tune_size.iter().for_each(|text| _ = sizes.add(text));
        sizes
    }
}

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

    /// Tunes the kernels of a lowered module for `emit`, if asked to, and writes the plans to the file.
    pub fn tune(&self, build: &mut Build, emit: Emit) -> Result<(), Failure> {
        let Some(time) = self.tune else { return Ok(()) };
        build.begin("tuning")?;
        let (target, gpu) = (&build.options().target, build.options().gpu);
        if let Some(gpu) = gpu {
            refuse(&[("--tune", true)], &format!("kernels for {gpu} are not measured"))?;
        }
        if target != "native" {
            refuse(&[("--tune", true)], &format!("kernels for {target} are not measured on this machine"))?;
        }
        let threads = if emit == Emit::Tvm { 1 } else { build.options().threads };
        let name = self.tune_file.as_deref().unwrap_or("<plans found by --tune>");
        let bar = progress_bar();
        let mut report = |done: f64, kernel: &str| {
            bar.set_position((done * STEPS) as u64);
            bar.set_message(hammock_runtime::printable(kernel).into_owned());
        };
        let records = build.tune(time, threads, name, &mut report);
        bar.finish_and_clear();
        say_records(&records?)?;
        let plans = build.options().tuned.as_ref().filter(|_| self.tune_file.is_some());
        plans.map_or(Ok(()), |plans| {
            write_file(Path::new(name), Content::Text, |out| out.write_all(plans.text().as_bytes()))
        })
    }
}

/// A bar for the share of the time that has passed.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(STEPS as u64);
    let style = ProgressStyle::with_template("tuning {bar:40} {percent:>3} %  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints which kernels are faster with another plan.
fn say_records(records: &[Record]) -> Result<(), Failure> {
    let faster: Vec<_> = records.iter().filter(|record| record.gain() > 1.0).collect();
    let tried: usize = records.iter().map(|record| record.tried).sum();
    let what = format!("measured {} with {}", count(records.len(), "kernel"), count(tried, "other plan"));
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
    Ok(())
}
