//! Processor families: the instruction set that Cranelift generates code for, and the name of the family in objects.

use super::NativeError;
use cranelift_codegen::isa::{OwnedTargetIsa, lookup_by_name};
use cranelift_codegen::settings::{self, Configurable};
use hammock_target::Family;
use object::Architecture;

/// Returns the baseline of a family: the code copies words and calls functions, which newer instructions do not speed
/// up.
pub(super) fn isa(family: Family) -> Result<OwnedTargetIsa, NativeError> {
    let unsupported = |reason: &dyn std::fmt::Display| NativeError::Target { family, reason: reason.to_string() };
    let mut flags = settings::builder();
    let debug = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", debug), ("unwind_info", "false")] {
        flags.set(name, value).map_err(|error| unsupported(&error))?;
    }
    let builder = lookup_by_name(family.triple()).map_err(|error| unsupported(&error))?;
    builder.finish(settings::Flags::new(flags)).map_err(|error| unsupported(&error))
}

/// Returns the name of a family in objects.
pub(super) fn architecture(family: Family) -> Architecture {
    match family {
        Family::X86_64 => Architecture::X86_64,
    }
}
