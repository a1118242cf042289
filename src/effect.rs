//! Flags that would have no effect are refused: whoever gives one expects something of it.

use hammock_compiler::Failure;
use hammock_syntax::codes;

/// Refuses the first flag that is given where none of these does anything, for a reason: `m.so is compiled already`.
pub fn refuse(flags: &[(&str, bool)], reason: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            Err(Failure::new(codes::UNSUPPORTED_OPTION, format!("`{flag}` has no effect here: {reason}"))
                .help("leave it out"))
        }
    }
}
