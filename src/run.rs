//! `hammock run`: calls a function of a module or executable.

use crate::{
    compile::{CodeArgs, ExecMode, build, lowered},
    effect::refuse,
    module::{ModuleArgs, is_zeros},
    opt::Watch,
    output::say,
};
use clap::Args;
use hammock_compiler::{Emit, Evaluator, Failure, Options, reference, unreadable};
use hammock_runtime::{
    library::LibraryError,
    tools::{CallFlags, FileKind, InputError, OutputFlags, ProfileFlags, Session, ToolError, Weights},
};
use hammock_syntax::{Diagnostic, codes};
use std::path::Path;

/// Runs a function of a text module (compiled first) or of a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock run model.py --params weights.safetensors --arg @images.npy
  hammock run model.so --func classify --arg @test.npz#images --output out.npz
  hammock run kernels.py --bytecode tvm.so --arg @x.npy
  hammock run kernel.py --arg 'random(8):float32' --arg 'zeros(8):float32'   a lone T.prim_func: all its arguments in
                                          order, outputs too; the result is the buffers that it writes
  hammock run model.py --params weights.safetensors --arg 'random(2,64):float32' --json")]
pub struct Run {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    profile: ProfileFlags,
}

/// Flags that name a program and a call.
#[derive(Args)]
pub struct Program {
    /// A text module, a compiled executable, or `-` for text on standard input
    file: String,
    /// Which module to use, if the file has several
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    #[command(flatten)]
    pub call: CallFlags,
    #[command(flatten)]
    code: CodeArgs,
    #[command(flatten)]
    watch: Watch,
}

impl Program {
    /// The tensors that `--params` gives to parameters of their names: none when it only stands in zeros for constants.
    /// Says which belong to none, unless that was said when text was compiled.
    pub fn weights(&self, session: &Session) -> Result<Option<Weights>, Failure> {
        if is_zeros(self.call.params.as_deref()) {
            return Ok(None);
        }
        let weights = self.call.weights().map_err(input_failure)?;
        let unused = weights.as_ref().filter(|_| is_executable(&self.file)).and_then(|w| session.unused(w));
        if let Some(unused) = unused {
            let warning = Diagnostic::warning(codes::UNUSED_WEIGHT, unused.error.message);
            let warning = unused.error.help.into_iter().fold(warning, Diagnostic::help);
            say(&Failure::from(warning).render(false))?;
        }
        Ok(weights)
    }

    /// Opens the executable, or compiles the text in memory.
    pub fn open(&self) -> Result<Session, Failure> {
        let how = self.call.how();
        if is_executable(&self.file) {
            let idle = [("--module", self.module.is_some()), ("--params zeros", is_zeros(self.call.params.as_deref()))];
            let idle = [&self.code.given()[..], &self.watch.given(), &idle].concat();
            refuse(&idle, &format!("{} is compiled already", self.file))?;
            return Session::open(Path::new(&self.file), &how).map_err(tool_failure);
        }
        let module =
            ModuleArgs { file: self.file.clone(), module: self.module.clone(), params: self.call.params.clone() };
        // With bytecode, the module has kernels only, and the functions are the bytecode's.
        let call = Some(&self.call).filter(|_| self.code.bytecode.is_none());
        if self.code.exec_mode()? == ExecMode::Reference {
            refuse(&self.code.of_kernels(), "kernels are interpreted")?;
            let defaults = Options::default();
            let options = Options { level: self.code.level.unwrap_or(defaults.level), ..defaults };
            let (module, source, _) = lowered(&module, &options, &Evaluator::interpreting(), &self.watch, call)?;
            return reference(&module, &source, self.code.bytecode()?.as_deref(), how.options()).map(Session::from_vm);
        }
        let options = self.code.options()?;
        let options = Options { threads: how.threads.unwrap_or(options.threads), ..options };
        let artifact = build(&module, &options, Emit::Lib, &self.watch, call)?;
        self.code.report(&artifact)?;
        Session::from_bytes(artifact.bytes, &how).map_err(tool_failure)
    }
}

fn is_executable(file: &str) -> bool {
    file != "-" && FileKind::of_file(Path::new(file)) == Some(FileKind::Elf)
}

impl Run {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let session = self.program.open()?;
        let weights = self.program.weights(&session)?;
        let spec = self.program.call.spec(weights.as_ref());
        let run = || session.run(&spec, &self.output);
        crate::print(&self.profile.watch(&session, run).map_err(tool_failure)?)
    }
}

/// What went wrong with a compiled program, as a diagnostic.
pub fn tool_failure(error: ToolError) -> Failure {
    match error {
        ToolError::Input(error) => input_failure(error),
        ToolError::Library(error @ LibraryError::OfTvm) => Failure::new(codes::UNSUPPORTED_FILE, error.to_string())
            .help(
                "`hammock inspect` shows its bytecode; `--bytecode` runs that with kernels compiled from a text module",
            ),
        ToolError::Library(LibraryError::Read { path, cause }) => unreadable(&path.display().to_string(), &cause),
        ToolError::Library(error) => {
            let help = "compile the module again";
            Failure::new(codes::DAMAGED_EXECUTABLE, error.to_string()).help(help)
        }
        ToolError::Run(error) => Failure::new(codes::RUN_FAILED, format!("{error:#}")),
    }
}

/// What is wrong with an argument, as a diagnostic.
pub fn input_failure(error: InputError) -> Failure {
    Failure::of_input(codes::BAD_ARGUMENT, error)
}
