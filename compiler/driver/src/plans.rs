//! Files of plans: how kernels are computed, as `hammock opt --print-plans` prints it and a user may edit it.

use crate::{Failure, kernels, read_source};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::Module;
use hammock_kernels::plan::{PlanError, Plans, Written};

/// A file of plans.
#[derive(Clone, Debug)]
pub struct PlanFile {
    source: SourceFile,
    plans: Plans,
}

impl PlanFile {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be read, or is not the text of plans.
    pub fn read(path: &str) -> Result<PlanFile, Failure> {
        let compiled = || {
            Failure::new(codes::UNSUPPORTED_FILE, format!("{path} is a compiled executable, not a file of plans"))
                .help("`hammock opt --print-plans` prints plans")
        };
        let source = read_source(path)?.ok_or_else(compiled)?;
        match Plans::read(source.text()) {
            Ok(plans) => Ok(PlanFile { source, plans }),
            Err(error) => Err(failure(error, &source)),
        }
    }

    /// The plan of a kernel.
    pub fn of(&self, kernel: &str) -> Option<&Written> {
        self.plans.of(kernel)
    }

    /// The same with the plan of one kernel only.
    pub fn only(&self, kernel: &str) -> PlanFile {
        PlanFile { source: self.source.clone(), plans: self.plans.only(kernel) }
    }

    /// Does the module have all kernels that plans are for?
    ///
    /// # Errors
    /// When it has not.
    pub fn check(&self, module: &Module) -> Result<(), Failure> {
        let names: Vec<&str> = kernels::functions(module).map(|(name, _)| name).collect();
        self.plans.check_kernels(&names).map_err(|error| self.failure(error))
    }

    /// What is wrong with a plan, with its line.
    pub fn failure(&self, error: PlanError) -> Failure {
        failure(error, &self.source)
    }
}

fn failure(error: PlanError, source: &SourceFile) -> Failure {
    let diagnostic = Diagnostic::error(codes::BAD_PLAN, error.message).label(error.span, "");
    Failure::from(error.help.into_iter().fold(diagnostic, Diagnostic::help)).within(source)
}
