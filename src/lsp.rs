//! `hammock lsp`: the language server.

use clap::Args;
use hammock_compiler::Failure;
use hammock_diagnostics::codes;
use hammock_language_server::{Ended, serve};
use std::io::{stdin, stdout};

/// Runs the language server for text modules on standard input and output; editors start it
#[derive(Args)]
#[command(after_help = "\
An editor that speaks the Language Server Protocol starts this command for text modules
(TVMScript). It shows diagnostics with fixes, inferred types and the documentation of
operators, finds definitions and references, renames, completes, colours and formats. The
chapter \"Editors\" of the book has the configuration of VS Code, Neovim and Helix.

Neovim, from 0.11 on:
  vim.lsp.config('hammock', { cmd = { 'hammock', 'lsp' }, filetypes = { 'hammock' } })
  vim.lsp.enable('hammock')")]
pub struct Lsp {
    /// Communicate over standard input and output, which is what the server does anyway; editors pass it
    #[arg(long)]
    stdio: bool,
}

impl Lsp {
    /// Runs the subcommand until the editor ends it.
    pub fn run(self) -> Result<(), Failure> {
        match serve(stdin(), stdout().lock()) {
            Ok(Ended::AfterShutdown) => Ok(()),
            Ok(Ended::WithoutShutdown) => {
                let message = "the editor ended the connection without the request `shutdown`";
                Err(Failure::new(codes::RUN_FAILED, message))
            }
            Err(error) => {
                Err(Failure::new(codes::UNWRITABLE_FILE, format!("the connection to the editor failed: {error}")))
            }
        }
    }
}
