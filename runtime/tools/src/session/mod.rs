//! A loaded model and its calls: the implementation of `run` and `bench`.

pub(crate) mod expect;
pub(crate) mod profiling;
pub(crate) mod timing;

use crate::{
    arguments::{
        CallSpec,
        bind::{Arguments, arguments, given_twice},
    },
    error::{InputError, ToolError, listed},
    flags::{JsonForm, OutputFlags, RunOptions},
    formats::{file_kind::FileKind, npz::save_result},
    inspect::signature::signatures,
    limits::watchdog,
    weights::{Weights, fit::Fit},
};
use hammock_runtime::{
    Any, Error, Library, Tuple, Vm, device,
    image::{Integrity, Signature},
    memory::Reservation,
    parallel, reflect,
    show::show,
    suggest::nearest,
    value::SharedBytes,
};
use std::{
    borrow::Cow,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use timing::{Samples, sample};

/// Step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reading arguments.
    Arguments,
    /// Running the model.
    Call,
    /// Writing the result.
    Output,
}

/// A model that is ready to run.
pub struct Session {
    vm: Vm,
    /// Time limit of a call with its input and output.
    timeout: Option<Duration>,
    /// Reserves memory for the weights among the arguments, so that they count towards the program's limit.
    weights: Mutex<Option<Reservation>>,
}

impl Session {
    /// Opens a compiled file.
    ///
    /// # Errors
    /// If it is damaged, or a kernel or builtin that it needs is missing.
    pub fn open(path: &Path, how: &RunOptions) -> Result<Session, ToolError> {
        let mistaken = FileKind::of_file(path).and_then(|kind| kind.mistaken(&path.display().to_string()));
        if let Some((message, help)) = mistaken {
            return Err(InputError::new(message).help(help).into());
        }
        Session::from_library(Library::open(path)?, how)
    }

    /// Loads a library that was just linked in memory.
    ///
    /// # Errors
    /// If a kernel or builtin that it needs is missing.
    pub fn from_bytes(bytes: Vec<u8>, how: &RunOptions) -> Result<Session, ToolError> {
        let owner: SharedBytes = Arc::new(bytes);
        Session::from_library(Library::from_bytes(owner, Integrity::Trust)?, how)
    }

    /// Loads a library into a virtual machine.
    ///
    /// # Errors
    /// If a kernel or builtin that it needs is missing.
    pub fn from_library(library: Library, how: &RunOptions) -> Result<Session, ToolError> {
        if let Some(threads) = how.threads {
            parallel::set_threads(threads);
        }
        Ok(Session::from_vm(Vm::from_library(&Arc::new(library), how.options())?))
    }

    /// Wraps a virtual machine.
    pub fn from_vm(vm: Vm) -> Session {
        Session { timeout: vm.options().timeout, vm, weights: Mutex::default() }
    }

    /// The virtual machine.
    pub fn vm(&self) -> &Vm {
        &self.vm
    }

    /// The devices other than the host that it runs on, for people.
    pub fn devices(&self) -> Vec<String> {
        let devices = self.vm.options().devices.iter().filter(|device| !device.is_host());
        devices.filter_map(|device| Some(device::find(*device).ok()?.description())).collect()
    }

    /// Resolves the arguments of a call: see [`CallSpec`]. They are on the devices of the function's parameters.
    ///
    /// # Errors
    /// If there is no such function, their number or types are wrong, or one cannot be read.
    pub fn arguments(&self, spec: &CallSpec) -> Result<Vec<Any>, InputError> {
        let signature = self.signature(spec.func)?;
        let read = watchdog::within(self.timeout, || self.vm.counting(|| arguments(&signature, spec)));
        let Arguments { values, weight_bytes } = read.map_err(|error| InputError::new(error.message()))??;
        let failed = |error: Error| InputError::new(error.message());
        if !self.vm.options().devices[0].is_host() {
            return self.vm.place_arguments(spec.func, &values).map_err(failed);
        }
        let counted = self.vm.reserve(weight_bytes).map_err(failed)?;
        *self.weights.lock().unwrap_or_else(PoisonError::into_inner) = Some(counted);
        Ok(values)
    }

    /// Matches weights against the parameters of the functions.
    pub fn fit<'a>(&self, weights: &'a Weights) -> Fit<'a> {
        weights.fit(&signatures(self.vm.image()), |_| false)
    }

    /// A warning about weights that are not used because their parameters have arguments.
    pub fn spare_weights(&self, spec: &CallSpec) -> Option<String> {
        let signature = self.signature(spec.func).ok()?;
        let (twice, weights) = (given_twice(&signature, spec), spec.weights?);
        let twice = (!twice.is_empty()).then(|| listed(twice.into_iter()))?;
        Some(format!(
            "tensors of {} are not used, since arguments are given for their parameters: {twice}",
            weights.source()
        ))
    }

    fn signature(&self, func: &str) -> Result<Cow<'_, Signature>, InputError> {
        self.vm.image().signature(func).ok_or_else(|| {
            let known: Vec<&str> = self.vm.functions().collect();
            let error = InputError::new(format!("there is no function `{func}`"));
            error.help(match (nearest(func, known.iter().copied()), known.as_slice()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => "the program has kernels only, which are not called by themselves: `hammock run` their text \
                               (`--func` names one), or compile it with an `@R.function` that calls them by `R.call_tir`"
                    .to_owned(),
                (None, known) => format!("the program has {}; choose one with --func", known.join(", ")),
            })
        })
    }

    /// Calls the function and returns its result as text, or writes it to a `.npz` file. `began` is called before each
    /// step.
    ///
    /// # Errors
    /// If the arguments do not fit, the model fails, or the file cannot be written.
    pub fn run(&self, spec: &CallSpec, output: &OutputFlags, began: &mut dyn FnMut(Step)) -> Result<String, ToolError> {
        watchdog::within(self.timeout, || {
            began(Step::Arguments);
            let args = self.arguments(spec)?;
            began(Step::Call);
            let result = self.vm.call(spec.func, &args)?;
            began(Step::Output);
            match output.path() {
                Some(path) => {
                    save_result(path, &result)?;
                    Ok(String::new())
                }
                None => Ok(match output.json {
                    // The empty tuple is the result of a function that only writes.
                    None if result.get::<&Tuple>().is_some_and(|fields| fields.is_empty()) => String::new(),
                    None => show(&result),
                    Some(JsonForm::Plain) => reflect::plain(&result)? + "\n",
                    Some(JsonForm::Graph) => reflect::save(&result)? + "\n",
                }),
            }
        })?
    }

    /// Calls the function.
    ///
    /// # Errors
    /// If the arguments do not fit or the model fails.
    pub fn call(&self, func: &str, args: &[Any]) -> Result<Any, Error> {
        watchdog::within(self.timeout, || self.vm.call(func, args))?
    }

    /// Calls the function repeatedly for at min_time `min_time`, and returns the times as text or as JSON.
    ///
    /// # Errors
    /// If the arguments do not fit or the model fails.
    pub fn bench(&self, spec: &CallSpec, min_time: Duration, json: bool) -> Result<String, ToolError> {
        let args = self.arguments(spec)?;
        let samples: Samples = sample(min_time, || self.call(spec.func, &args).map(drop))?;
        let (threads, peak) = (parallel::threads(), self.vm.memory().charged_peak);
        let text = if json { samples.json(threads, peak) } else { samples.text(threads, peak) };
        Ok(text + "\n")
    }
}
