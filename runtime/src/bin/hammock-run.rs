//! `hammock-run`: runs, times and inspects compiled models. It needs no compiler on the machine.

use clap::{Parser, Subcommand};
use hammock_runtime::tools::{BenchFlags, CallFlags, InspectFlags, OutputFlags, Session, ToolError};
use std::{io::Write, path::PathBuf, process::ExitCode};

/// Runs, times and inspects models that `hammock compile` made. Needs no compiler on the machine.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  hammock-run run model.so --func main --arg @x.npy
  hammock-run bench model.so --arg 'random(1,64):float32' --json
  hammock-run inspect model.so --text")]
struct Cli {
    #[command(subcommand)]
    command: Command,
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
    },
    /// Calls a function again and again and prints how long it takes
    Bench {
        /// The compiled model
        file: PathBuf,
        #[command(flatten)]
        call: CallFlags,
        #[command(flatten)]
        bench: BenchFlags,
    },
    /// Shows what is in a compiled model
    Inspect {
        /// The compiled model
        file: PathBuf,
        #[command(flatten)]
        view: InspectFlags,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(text) => {
            let mut out = std::io::stdout().lock();
            // A reader that has gone away (`hammock-run … | head`) is no error.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<String, ToolError> {
    match command {
        Command::Run { file, call, output } => {
            let weights = call.weights()?;
            let session = Session::open(&file, call.thread_count())?;
            session.run(&call.spec(weights.as_ref()), output.path())
        }
        Command::Bench { file, call, bench } => {
            let weights = call.weights()?;
            let session = Session::open(&file, call.thread_count())?;
            session.bench(&call.spec(weights.as_ref()), bench.least()?, bench.json)
        }
        Command::Inspect { file, view } => Ok(Session::open(&file, None)?.inspect(view.view())),
    }
}
