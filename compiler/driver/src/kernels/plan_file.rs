//! Files of plans: how kernels are computed, as `hammock opt --print-plans` prints it and a user may edit it.

use super::functions;
use crate::{Failure, Record, read_source, tune::is_bucket};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::Module;
use hammock_kernels::schedule::{ParsedPlan, PlanError, Plans};

/// Comment at the beginning of a file of tuned plans.
const RECORDS_HEADER: &str = "\
# Plans of kernels, found by `hammock compile --tune --tune-file FILE`; `--tune-file FILE` alone uses them.
# Before each a remark with a kernel that has it. It is for all kernels of the same structure, on the CPU and the number of
# threads that follow the structure's hash, and for the sizes after those; axes and what is copied are called by their numbers.
# To measure anew, remove it.
";

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

    /// Reads a file of plans that were found by measuring, in which kernels are called by what decides on their plans.
    ///
    /// # Errors
    /// As [`PlanFile::read`].
    pub fn read_records(path: &str) -> Result<PlanFile, Failure> {
        let compiled = || {
            Failure::new(codes::UNSUPPORTED_FILE, format!("{path} is a compiled executable, not a file of plans"))
                .help("`hammock compile --tune --tune-file FILE` writes such files")
        };
        PlanFile::records(read_source(path)?.ok_or_else(compiled)?)
    }

    /// The same for a text.
    ///
    /// # Errors
    /// When it is not the text of such plans.
    pub fn records(source: SourceFile) -> Result<PlanFile, Failure> {
        let plans = Plans::read_numbered(source.text()).map_err(|error| failure(error, &source))?;
        if let Some((name, span)) = plans.kernels().find(|(name, _)| !is_key(name)) {
            let error = PlanError::new(span, format!("`{name}` does not say which kernels this plan is for"));
            let error = error.help(
                "expected a hash of 16 digits, the CPU and the number of threads, as `hammock compile --tune` writes them; \
                 `--plan` reads plans of kernels by their names",
            );
            return Err(failure(error, &source));
        }
        Ok(PlanFile { source, plans })
    }

    /// The plans of `before`, if any, with those of `records`, as a file of that name.
    ///
    /// # Errors
    /// If a record does not read back.
    pub fn with_records(before: Option<&PlanFile>, records: &[Record], name: &str) -> Result<PlanFile, Failure> {
        let before = before.map_or(RECORDS_HEADER, PlanFile::text);
        let text = records.iter().fold(before.trim_end().to_owned(), |text, record| format!("{text}\n\n{record}"));
        PlanFile::records(SourceFile::new(name, format!("{}\n", text.trim_end()))?)
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// The plan of a kernel.
    pub fn of(&self, kernel: &str) -> Option<&ParsedPlan> {
        self.plans.of(kernel)
    }

    /// The same with the plan of one kernel only.
    pub fn only(&self, kernel: &str) -> PlanFile {
        PlanFile { source: self.source.clone(), plans: self.plans.only(kernel) }
    }

    /// The same, where a kernel has another name now.
    pub fn renamed(&self, from: &str, to: &str) -> PlanFile {
        PlanFile { source: self.source.clone(), plans: self.plans.renamed(from, to) }
    }

    /// Does the module have all kernels that plans are for?
    ///
    /// # Errors
    /// When it has not.
    pub fn check(&self, module: &Module) -> Result<(), Failure> {
        let names: Vec<&str> = functions(module).map(|(name, _)| name).collect();
        self.plans.check_kernels(&names).map_err(|error| self.failure(error))
    }

    /// An error in a plan, with its line.
    pub fn failure(&self, error: PlanError) -> Failure {
        failure(error, &self.source)
    }
}

/// Returns true if a name has the form of [`plan_key`](kernels::plan_key)'s.
fn is_key(name: &str) -> bool {
    let is_hash =
        |hash: &str| hash.len() == 16 && hash.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
    let parts = name.split_once('-').and_then(|(hash, rest)| Some((hash, rest.rsplit_once('-')?)));
    parts.is_some_and(|(hash, (cpu, rest))| {
        let (threads, bucket) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
        is_hash(hash) && !cpu.is_empty() && threads.parse::<u32>().is_ok() && is_bucket(bucket)
    })
}

fn failure(error: PlanError, source: &SourceFile) -> Failure {
    let diagnostic = Diagnostic::error(codes::BAD_PLAN, error.message).label(error.span, "");
    Failure::from(error.help.into_iter().fold(diagnostic, Diagnostic::help)).within(source)
}
