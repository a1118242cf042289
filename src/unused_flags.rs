//! Refuses flags that would have no effect: a user who gives one expects it to do something.

use hammock_compiler::Failure;
use hammock_diagnostics::codes;

/// Refuses the first of these flags that was given, because none has an effect here; `reason` says why: `m.so is compiled already`.
pub fn refuse(flags: &[(&str, bool)], reason: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            Err(Failure::new(codes::UNSUPPORTED_OPTION, format!("`{flag}` has no effect here: {reason}"))
                .help("leave it out"))
        }
    }
}
