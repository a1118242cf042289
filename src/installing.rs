//! `hammock completions` and `hammock man-pages`: files that packages install beside the programs.

use crate::output::write_file;
use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use hammock_compiler::Failure;
use hammock_diagnostics::codes;
use hammock_tools::{CommandFiles, Content};
use std::{fs, io, path::PathBuf};

/// Prints the completions of a shell for `hammock` or `hammock-run`
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock completions bash > hammock.bash
  hammock completions zsh --of hammock-run > _hammock-run")]
pub struct Completions {
    /// The shell
    shell: Shell,
    /// The program
    #[arg(long, value_name = "PROGRAM", value_enum, default_value_t = Program::Hammock)]
    of: Program,
}

/// A program with a command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    /// The compiler
    Hammock,
    /// The program that runs compiled models
    HammockRun,
}

impl Completions {
    /// Runs the subcommand. `hammock` is the compiler's command line.
    pub fn run(self, hammock: Command) -> Result<(), Failure> {
        let mut command = if self.of == Program::Hammock { hammock } else { hammock_tools::command() };
        let (name, mut script) = (command.get_name().to_owned(), Vec::new());
        generate(self.shell, &mut command, name, &mut script);
        crate::print(&String::from_utf8_lossy(&script))
    }
}

/// Writes manual pages of `hammock` and `hammock-run`, one for each command
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock man-pages man1 && man -l man1/hammock-compile.1")]
pub struct ManPages {
    /// The folder, which is created if it is missing
    folder: PathBuf,
}

impl ManPages {
    /// The files that the command writes.
    pub fn files(&self, hammock: Command, files: &mut CommandFiles) {
        all_pages(hammock).iter().for_each(|(name, _)| files.writes("FOLDER", self.folder.join(name)));
    }

    /// Runs the subcommand. `hammock` is the compiler's command line.
    pub fn run(self, hammock: Command) -> Result<(), Failure> {
        let unwritable = |error: io::Error| {
            Failure::new(codes::UNWRITABLE_FILE, format!("cannot create {}: {error}", self.folder.display()))
        };
        fs::create_dir_all(&self.folder).map_err(unwritable)?;
        for (name, command) in all_pages(hammock) {
            write_file(&self.folder.join(name), Content::Text, |out| {
                clap_mangen::Man::new(command).render(&mut &mut *out)
            })?;
        }
        Ok(())
    }
}

/// The pages of both programs and their commands, by file name.
fn all_pages(hammock: Command) -> Vec<(String, Command)> {
    [hammock, hammock_tools::command()].into_iter().flat_map(pages).collect()
}

/// The pages of a program and its commands.
fn pages(mut program: Command) -> Vec<(String, Command)> {
    program.build();
    let page = |name: String, command: &Command| (format!("{name}.1"), command.clone().name(&name).display_name(&name));
    let of_command = |command: &Command| {
        let name = format!("{}-{}", program.get_name(), command.get_name());
        // The page `hammock-run` is the program's.
        page(if name == hammock_tools::command().get_name() { name + "-command" } else { name }, command)
    };
    let commands = program.get_subcommands().filter(|command| command.get_name() != "help").map(of_command);
    std::iter::once(page(program.get_name().to_owned(), &program)).chain(commands).collect()
}
