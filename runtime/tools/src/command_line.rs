//! `hammock-run`: runs, times and inspects compiled models, without a compiler.

use crate::{
    BenchFlags, CallFlags, CallSpec, CommandFiles, ExpectFlags, InputError, InspectFlags, OutputFlags, ProfileFlags,
    Session, TerminalFlags, ToolError, Weights, inspect, parse, print, print_stderr, report_fatal, save_weights,
};
use clap::{CommandFactory, Parser, Subcommand};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Runs, times and inspects models that `hammock compile` made; needs no compiler on the machine
#[derive(Parser)]
#[command(name = "hammock-run", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  hammock-run run model.so --func main --arg @images.npy
  hammock-run run model.so --arg @images.npy --output scores.npz
  hammock-run run model.so --arg @images.npy --expect scores.npz    compares with what was recorded
  hammock-run bench model.so --arg 'random(1,64):float32' --json
  hammock-run inspect model.so
  hammock-run inspect model.so --listing --params-out weights.safetensors > listing.txt")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    terminal: TerminalFlags,
}

#[derive(Subcommand)]
enum Command {
    /// Calls a function and prints its result
    Run {
        /// The compiled model
        file: PathBuf,
        #[command(flatten)]
        call: CallFlags,
        #[command(flatten)]
        output: OutputFlags,
        #[command(flatten)]
        expect: ExpectFlags,
        #[command(flatten)]
        profile: ProfileFlags,
    },
    /// Calls a function repeatedly and prints how long it takes
    Bench {
        /// The compiled model
        file: PathBuf,
        #[command(flatten)]
        call: CallFlags,
        #[command(flatten)]
        bench: BenchFlags,
        #[command(flatten)]
        profile: ProfileFlags,
    },
    /// Shows what functions of a compiled model take and give, and all else that is in it
    Inspect {
        /// The compiled model, a library that TVM exported, or bytecode
        file: PathBuf,
        #[command(flatten)]
        view: InspectFlags,
    },
}

/// The command line of `hammock-run`.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs a command line, the program's name and its arguments, and returns the exit status. From now on, signals end the
/// process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    match start(arguments) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => report_fatal(&error),
        Err(status) => status,
    }
}

/// The result of the command, or the exit status if the command line is invalid.
fn start(arguments: impl IntoIterator<Item = OsString>) -> Result<Result<(), ToolError>, u8> {
    let text = run_command(parse::<Cli>(arguments)?.command);
    Ok(text.and_then(|text| Ok(print(&text)?)))
}

/// Calls the function; returns the text to print: its result, or the comparison with `--expect`.
fn result(session: &Session, spec: &CallSpec, output: &OutputFlags, expect: &ExpectFlags) -> Result<String, ToolError> {
    if expect.expect.is_none() {
        return session.run(spec, output, &mut |_| {});
    }
    let result = session.call(spec.func, &session.arguments(spec)?)?;
    expect.check(&result).map(Option::unwrap_or_default)
}

/// Loads the weights of `--params`. Warns about those that match no parameter, and rejects those of another model.
///
/// # Errors
/// If they cannot be read or are those of another model.
pub fn call_weights(call: &CallFlags, session: &Session) -> Result<Option<Weights>, ToolError> {
    let weights = call.weights()?;
    if let Some(fit) = weights.as_ref().map(|weights| session.fit(weights))
        && let Some((message, advice)) = fit.message()
    {
        let help = (!advice.is_empty()).then(|| advice.join("; "));
        let error = InputError { help, ..InputError::new(message) };
        if fit.is_error() {
            return Err(error.into());
        }
        print_stderr(&format!("warning: {error}\n"))?;
    }
    if let Some(spare) = session.spare_weights(&call.spec(weights.as_ref())) {
        print_stderr(&format!("warning: {spare}\n"))?;
    }
    Ok(weights)
}

/// Rejects outputs that are also inputs or other outputs.
fn check(command: &Command) -> Result<(), InputError> {
    match command {
        Command::Run { file, call, output, expect, profile } => {
            let mut files = files(file, call, profile);
            expect.expect.iter().for_each(|path| files.reads_weights("--expect", path));
            output.path().iter().for_each(|path| files.writes("--output", path));
            files.check()
        }
        Command::Bench { file, call, profile, .. } => files(file, call, profile).check(),
        Command::Inspect { file, view } => {
            let mut files = CommandFiles::default();
            files.reads_model("FILE", file);
            view.params_out.iter().for_each(|path| files.writes("--params-out", path));
            files.check()
        }
    }
}

/// The files that a command reads and writes: its model's and its call's.
fn files(model: &Path, call: &CallFlags, profile: &ProfileFlags) -> CommandFiles {
    let mut files = CommandFiles::default();
    files.reads_model("FILE", model);
    call.files(&mut files);
    profile.files(&mut files);
    files
}

fn run_command(command: Command) -> Result<String, ToolError> {
    check(&command)?;
    match command {
        Command::Run { file, call, output, expect, profile } => {
            let session = Session::open(&file, &call.run_options())?;
            let weights = call_weights(&call, &session)?;
            profile.watch(&session, || result(&session, &call.spec(weights.as_ref()), &output, &expect))
        }
        Command::Bench { file, call, bench, profile } => {
            let session = Session::open(&file, &call.run_options())?;
            let weights = call_weights(&call, &session)?;
            let times = session.bench(&call.spec(weights.as_ref()), bench.min_time()?, bench.json)?;
            profile.repeat(&session, &call.spec(weights.as_ref()))?;
            Ok(times)
        }
        Command::Inspect { file, view } => {
            let listing = inspect(&file, view.view())?;
            if let Some(path) = &view.params_out {
                save_weights(path, &listing.tensors)?;
            }
            Ok(listing.text)
        }
    }
}
