//! The `hammock` command line, one file per subcommand. Each parses its flags, calls a library, and prints. The program
//! `hammock` and the Python package run it through [`run`].
//!
//! Exit status: 0 success; 1 the program or its input is wrong (diagnostics on standard error); 2 wrong usage. Results go
//! to standard output, everything else to standard error.
#![forbid(unsafe_code)]

mod asm;
mod bench;
mod bisect;
mod cache;
mod check;
mod compare;
mod compile;
mod explain;
mod failure;
mod fmt;
mod import;
mod inspect;
mod installing;
mod lsp;
mod memory_plan;
mod module;
mod opt;
mod output;
mod pictures;
mod progress;
mod quantize;
mod report;
mod roofline;
mod run;
mod runner;
mod stats;
mod tables;
mod target_flags;
mod targets;
mod tune;
mod unused_flags;

use clap::{CommandFactory, Parser, Subcommand};
use hammock_compiler::{Failure, STACK_BYTES, llvm_version};
use hammock_diagnostics::codes;
use hammock_tools::{BudgetFlags, CommandFiles, TerminalFlags, parse, print_stderr_colored, set_timeout_handler};
use output::print;
use std::{ffi::OsString, io::stderr, sync::LazyLock};

/// The version, with LLVM's and the commit of the sources where they are known.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let llvm = llvm_version().map(|version| format!("LLVM {version}"));
    let commit = option_env!("HAMMOCK_COMMIT").map(|commit| format!("commit {commit}"));
    let known = [Some(env!("CARGO_PKG_VERSION").to_owned()), llvm, commit];
    known.into_iter().flatten().collect::<Vec<_>>().join("\n")
});

/// Compiles machine-learning models, written as text, to small self-contained executables, and runs them
#[derive(Parser)]
#[command(version, long_version = LONG_VERSION.as_str(), propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Try it, from a clone of the repository:
  hammock run ir-examples/digits/model.py --func accuracy --params ir-examples/digits/weights.safetensors \\
      --arg @ir-examples/digits/test.npz#images --arg @ir-examples/digits/test.npz#labels

`hammock COMMAND --help` explains a command, with examples.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    terminal: TerminalFlags,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Compile(compile::Compile),
    Import(import::Import),
    Opt(opt::Opt),
    Check(check::Check),
    Fmt(fmt::Fmt),
    Lsp(lsp::Lsp),
    Inspect(inspect::Inspect),
    Asm(asm::Asm),
    Bench(bench::Bench),
    Report(report::Report),
    Ops(tables::Ops),
    Passes(tables::Passes),
    Builtins(tables::Builtins),
    Rules(tables::Rules),
    Targets(targets::Targets),
    #[command(name = "cache")]
    ShowCache(cache::ShowCache),
    Explain(explain::Explain),
    Completions(installing::Completions),
    ManPages(installing::ManPages),
}

/// Result of a command without errors, for the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The command did what it was asked for.
    Positive,
    /// The command answered a question with no, on standard output: exit status 1 without a message.
    Negative,
}

/// Runs a command line, the program's name and its arguments, and returns the exit status. From now on, signals end the
/// process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match parse::<Cli>(arguments) {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    let color = cli.terminal.color.applies(&stderr());
    output::set_color(color);
    set_timeout_handler(move |error| report(&failure::tool_failure(error.into()), color));
    // The stack is enlarged instead of starting a thread with a larger one, because reference counts cost much less in a
    // process with a single thread.
    match stacker::grow(STACK_BYTES, || cli.command.run(color)) {
        Ok(Answer::Positive) => 0,
        Ok(Answer::Negative) => 1,
        Err(failure) => {
            report(&failure, color);
            if failure.is_wrong_usage() { 2 } else { 1 }
        }
    }
}

fn report(failure: &Failure, color: bool) {
    progress::clear();
    // If even this cannot be written, there is no way left to report it.
    let _ = print_stderr_colored(&format!("{}\n", failure.render(color).trim_end()));
}

impl Command {
    /// The files that the command reads and writes.
    fn files(&self) -> Result<CommandFiles, Failure> {
        let mut files = CommandFiles::default();
        match self {
            Command::Run(c) => c.files(&mut files)?,
            Command::Compile(c) => c.files(&mut files)?,
            Command::Import(c) => c.files(&mut files),
            Command::Fmt(c) => c.files(&mut files),
            Command::Opt(c) => c.files(&mut files)?,
            Command::Inspect(c) => c.files(&mut files),
            Command::Asm(c) => c.files(&mut files),
            Command::Bench(c) => c.files(&mut files)?,
            Command::Report(c) => c.files(&mut files)?,
            Command::ManPages(c) => c.files(Cli::command(), &mut files),
            // These write no files.
            Command::Check(_)
            | Command::Ops(_)
            | Command::Passes(_)
            | Command::Builtins(_)
            | Command::Rules(_)
            | Command::Targets(_)
            | Command::ShowCache(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Lsp(_) => {}
        }
        Ok(files)
    }

    /// `color`: whether to colour messages.
    fn run(self, color: bool) -> Result<Answer, Failure> {
        self.files()?.check().map_err(|e| Failure::of_input(codes::UNSUPPORTED_OPTION, e))?;
        let budget = self.budget();
        budget.compiling(|| self.dispatch(color)).map_err(|e| failure::tool_failure(e.into()))?
    }

    /// Limits of reading and compiling. `run` and `bench` limit only these two, since calls have limits of their own.
    fn budget(&self) -> BudgetFlags {
        match self {
            Command::Compile(compile::Compile { module, .. })
            | Command::Opt(opt::Opt { module, .. })
            | Command::Check(check::Check { module, .. })
            | Command::Inspect(inspect::Inspect { module, .. }) => module.budget.clone(),
            Command::Import(c) => c.budget.clone(),
            _ => BudgetFlags::default(),
        }
    }

    fn dispatch(self, color: bool) -> Result<Answer, Failure> {
        match self {
            Command::Check(c) => return c.run(color),
            Command::Fmt(c) => return c.run(),
            Command::Run(c) => c.run(),
            Command::Compile(c) => c.run(),
            Command::Import(c) => c.run(),
            Command::Opt(c) => c.run(),
            Command::Lsp(c) => c.run(),
            Command::Inspect(c) => c.run(),
            Command::Asm(c) => c.run(),
            Command::Bench(c) => c.run(),
            Command::Report(c) => c.run(),
            Command::Ops(c) => c.run(),
            Command::Passes(c) => c.run(),
            Command::Builtins(c) => c.run(),
            Command::Rules(c) => c.run(),
            Command::Targets(c) => c.run(),
            Command::ShowCache(c) => c.run(),
            Command::Explain(c) => c.run(),
            Command::Completions(c) => c.run(Cli::command()),
            Command::ManPages(c) => c.run(Cli::command()),
        }?;
        Ok(Answer::Positive)
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    /// A heading is for the flags that were declared together with it, and leaks to those that follow a flattened group.
    #[test]
    fn flags_stand_under_their_own_headings() {
        let headings = [
            ("Cache", &["no_cache", "cache_size"][..]),
            ("Tuning", &["tune", "tune_file", "sizes", "tune_size"]),
            ("Stages", &["timing", "verbose"]),
            ("Passes", &["print_after", "dump_dir", "time_passes", "verify_each", "explain_fusion"]),
            ("Profile", &["profile", "profile_output"]),
            ("Limits", &["max_memory", "max_depth", "timeout"]),
        ];
        for command in Cli::command().get_subcommands() {
            for flag in command.get_arguments() {
                let own = headings.iter().find(|(heading, _)| flag.get_help_heading() == Some(heading));
                let stands = own.is_none_or(|(_, flags)| flags.contains(&flag.get_id().as_str()));
                assert!(
                    stands,
                    "{} --help has --{} under {:?}",
                    command.get_name(),
                    flag.get_id(),
                    flag.get_help_heading()
                );
            }
        }
    }
}
