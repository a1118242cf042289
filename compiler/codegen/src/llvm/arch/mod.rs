//! Processor families: LLVM's settings for each, and the operations that LLVM's IR lacks.
//!
//! Each family is a file here that implements [`Arch`]. The emitter writes LLVM's generic operations itself, and asks
//! for the others by what they compute; it knows no instruction of a processor.

pub(super) mod nvptx;
mod x86_64;

use super::text::{Function, Module, Ty, Value};
use hammock_target::{Family, Target};

/// A processor family.
pub(super) trait Arch: Sync {
    /// LLVM's data layout under the family's ABI.
    fn data_layout(&self) -> &'static str;

    /// Returns the family's own attributes of functions.
    fn attributes(&self, target: &Target) -> String;

    /// Registers the family's backend in LLVM.
    #[cfg(feature = "native")]
    fn initialize(&self);

    /// Adds the dot products of pairs of bfloat16 to the float32 lanes of a register.
    fn dot_bfloat16(&self, b: &mut Builder<'_>, operands: [&Value; 2], sum: &Value) -> Value;

    /// Adds the dot products of packed groups of four bytes, each operand signed or not, to the int32 lanes of a
    /// register. If one operand needs preprocessing, it should be the second if that is a broadcast: several dot
    /// products then share the work.
    fn dot_int8(
        &self,
        b: &mut Builder<'_>,
        signed: [bool; 2],
        is_second_broadcast: bool,
        operands: [&Value; 2],
        sum: &Value,
    ) -> Value;

    /// `a * 2^floor(n)`, for a register of floats, if [`Target::masks`].
    fn scale(&self, b: &mut Builder<'_>, a: &Value, n: &Value) -> Value;

    /// Clamps the magnitude of `x` to that of `bound`, with the sign of `x`, for a register of floats, if
    /// [`Target::masks`]. NaN becomes the bound.
    fn clamp_magnitude(&self, b: &mut Builder<'_>, x: &Value, bound: &Value) -> Value;

    /// Looks up elements of a table of floats that fills a register, by the lowest bits of the lanes of `index`, if
    /// [`Target::masks`]. The result may have more lanes.
    fn look_up(&self, b: &mut Builder<'_>, table: &Value, index: &Value) -> Value;

    /// Clears the thread's invalid-operation flag and runs code that returns a status. Returns the status, and true if
    /// the code set the flag. Flags that were set before stay set.
    fn watch_invalid(&self, b: &mut Builder<'_>, run: &mut dyn FnMut(&mut Builder<'_>) -> Value) -> [Value; 2];
}

/// Returns a family's properties.
pub(super) fn of(family: Family) -> &'static dyn Arch {
    match family {
        Family::X86_64 => &x86_64::X86_64,
    }
}

/// A function under construction.
pub(super) struct Builder<'b> {
    /// Target of the module.
    pub target: &'b Target,
    /// Module of the function.
    pub module: &'b mut Module,
    /// The function; instructions go to the end of its current block.
    pub f: &'b mut Function,
}

impl Builder<'_> {
    /// Calls an LLVM intrinsic that is not overloaded.
    fn intrinsic(&mut self, name: &str, ret: Ty, args: &[&Value]) -> Value {
        let params: Vec<Ty> = args.iter().map(|a| a.ty).collect();
        let callee = self.module.declare(name, ret, &params);
        self.f.call(&callee, ret, args)
    }
}
