//! Flags that the command line and `hammock-run` share.

use crate::{
    arguments::CallSpec, command_files::CommandFiles, error::InputError, inspect::View, limits::LimitFlags,
    weights::Weights,
};
use clap::{Args, ValueEnum};
use hammock_runtime::{Device, vm::Options};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A call: function and arguments.
#[derive(Args, Clone, Debug)]
pub struct CallFlags {
    /// The function to call
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub func: String,
    /// An argument: @x.npy, @x.npz#name, @x.safetensors#name, @input_0.pb (a tensor as ONNX writes it), shape(2,3), 7, 1.5,
    /// true, "text", null, (A, B), [[1, 2], [3, 4]]:float32, 2.5:float32, zeros(2,3):float32, random(2,3):float32; give one
    /// for each parameter, in order, or by name: NAME=VALUE. Without a shape, zeros, ones and random take the parameter's
    /// (`hammock inspect FILE` shows it); n=128 sets its symbolic size `n`
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub args: Vec<String>,
    /// Weights by name (.safetensors, an index or a folder of them, or .npz), for the parameters without an --arg
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// Number of threads to run kernels on [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Devices to run on, in the order of the module's device numbers, such as cpu:0,cpu:1 or cuda:0 [default: cuda:0 for
    /// kernels that are compiled for CUDA, otherwise cpu:0]
    #[arg(long = "device", value_name = "DEVICES", value_delimiter = ',')]
    pub devices: Vec<Device>,
    /// Flush denormals to zero (FTZ and DAZ) on all threads: numbers below 1.2e-38 in float32, which slow processors down by
    /// up to hundreds of times
    #[arg(long)]
    pub flush_denormals: bool,
    /// Limits of memory, time and depth.
    #[command(flatten)]
    pub limits: LimitFlags,
}

/// Execution options.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of threads for kernels; all by default.
    pub threads: Option<usize>,
    /// Devices, by number; by default, the one that the kernels are compiled for.
    pub devices: Vec<Device>,
    /// True if denormals are flushed to zero.
    pub flush_denormals: bool,
    /// Limits of memory, time and depth.
    pub limits: LimitFlags,
}

impl RunOptions {
    /// The virtual machine's options.
    pub fn options(&self) -> Options {
        let devices = self.devices.clone();
        let mut options = Options { devices, flush_denormals: self.flush_denormals, ..Options::default() };
        self.limits.apply(&mut options);
        options
    }
}

impl CallFlags {
    /// Loads the weights of `--params`.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn weights(&self) -> Result<Option<Weights>, InputError> {
        self.params.as_deref().map(Weights::open).transpose()
    }

    /// The files that a call reads.
    pub fn files(&self, files: &mut CommandFiles) {
        self.params.iter().for_each(|path| files.reads_weights("--params", path));
        files.reads_arguments(&self.args);
    }

    /// The call.
    pub fn spec<'a>(&'a self, weights: Option<&'a Weights>) -> CallSpec<'a> {
        CallSpec { func: &self.func, args: &self.args, weights }
    }

    /// Execution options.
    pub fn run_options(&self) -> RunOptions {
        RunOptions {
            threads: self.threads.map(usize::from),
            devices: self.devices.clone(),
            flush_denormals: self.flush_denormals,
            limits: self.limits.clone(),
        }
    }
}

/// Where the result goes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Write the tensors of the result to this .npz file (`-` for standard output): a single value as `0`, members of tuples
    /// as `0`, `1`, `1.0`, …
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "plain",
        conflicts_with = "output"
    )]
    pub json: Option<JsonForm>,
}

/// How a value is written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JsonForm {
    /// Numbers and lists; tensors as {"dtype", "shape", "data"} with lists of their elements
    Plain,
    /// A graph, in the form in which tvm-ffi saves values: {"root_index", "nodes", "metadata"}
    Graph,
}

impl OutputFlags {
    /// The file of `--output`.
    pub fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }
}

/// How to time.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Measuring")]
pub struct BenchFlags {
    /// Keep calling for at least this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub min_time: f64,
    /// Print one JSON object: median_ns, p90_ns, min_ns, samples, threads, and peak_bytes, the most that counted towards
    /// `--max-memory` at once
    #[arg(long)]
    pub json: bool,
}

impl BenchFlags {
    /// Minimum measurement time.
    ///
    /// # Errors
    /// If it is not a valid time.
    pub fn min_time(&self) -> Result<Duration, InputError> {
        Duration::try_from_secs_f64(self.min_time)
            .map_err(|_| InputError::new(format!("--min-time {} is not a time in seconds", self.min_time)))
    }
}

/// The view of an executable.
#[derive(Args, Clone, Debug)]
pub struct InspectFlags {
    /// What functions take and give (the default) as JSON
    #[arg(long, group = "view")]
    pub json: bool,
    /// The bytecode as text, like TVM's `as_text`
    #[arg(long, group = "view")]
    pub text: bool,
    /// The bytecode as Python, like TVM's `as_python`
    #[arg(long, group = "view")]
    pub python: bool,
    /// The sizes of the tables, like TVM's `stats`
    #[arg(long, group = "view")]
    pub stats: bool,
    /// All of the bytecode as a listing that `hammock asm` assembles
    #[arg(long, alias = "asm", group = "view")]
    pub listing: bool,
    /// With `--listing`: write tensors of more than 256 bytes to this file (.safetensors or .npz), not into the listing
    #[arg(long, value_name = "FILE", requires = "listing")]
    pub params_out: Option<PathBuf>,
}

/// Maximum size in bytes of tensors in a listing with a separate file for tensors.
const MAX_INLINE: usize = 256;

impl InspectFlags {
    /// The requested view.
    pub fn view(&self) -> View {
        match self {
            _ if self.listing && self.params_out.is_some() => View::Listing(MAX_INLINE),
            _ if self.listing => View::Listing(usize::MAX),
            _ if self.python => View::Python,
            _ if self.stats => View::Stats,
            _ if self.text => View::Text,
            _ if self.json => View::SignatureJson,
            _ => View::Signature,
        }
    }
}
