//! How a module runs.

use crate::Failure;
use hammock_diagnostics::codes;
use hammock_runtime::suggest::nearest;
use std::str::FromStr;

/// How graphs and kernels run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExecMode {
    /// Graphs as bytecode, kernels as machine code.
    #[default]
    Bytecode,
    /// Both as machine code.
    Compiled,
    /// The same, but only these graphs as machine code.
    Mixed(Vec<String>),
    /// Graphs as bytecode, kernels interpreted.
    Reference,
}

impl ExecMode {
    /// Returns true if a graph runs as machine code.
    pub fn compiles(&self, function: &str) -> bool {
        match self {
            ExecMode::Bytecode | ExecMode::Reference => false,
            ExecMode::Compiled => true,
            ExecMode::Mixed(names) => names.iter().any(|name| name == function),
        }
    }

    /// Refuses the mode without machine code, and so without files.
    ///
    /// # Errors
    /// If kernels are interpreted.
    pub fn check_emits_code(&self) -> Result<(), Failure> {
        if *self != ExecMode::Reference {
            return Ok(());
        }
        let message = "`--exec-mode reference` makes no machine code, and so no files";
        Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("it is for `hammock run` on text modules"))
    }
}

/// `bytecode`, `compiled`, `compiled=f,g` or `reference`.
impl FromStr for ExecMode {
    type Err = Failure;

    fn from_str(text: &str) -> Result<ExecMode, Failure> {
        match text {
            "bytecode" => Ok(ExecMode::Bytecode),
            "compiled" => Ok(ExecMode::Compiled),
            "reference" => Ok(ExecMode::Reference),
            other => match other.strip_prefix("compiled=") {
                Some(names) => {
                    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                    Ok(ExecMode::Mixed(names.map(str::to_owned).collect()))
                }
                None => Err(Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no execution mode `{other}`"))
                    .help(match nearest(other, ["bytecode", "compiled", "reference"]) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "the modes are `bytecode`, `compiled`, `compiled=FUNCTIONS` and `reference`".to_owned(),
                    })),
            },
        }
    }
}
