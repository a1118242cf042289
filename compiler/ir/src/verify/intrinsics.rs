//! Verifies the dtypes of math functions' arguments.

use super::kernel::Kernel;
use crate::{
    DType,
    prim::{
        PrimCall, PrimCallee,
        intrinsics::{self, LaneKind},
    },
};
use hammock_diagnostics::codes;

impl Kernel<'_> {
    /// Checks the arguments of a math function.
    pub fn intrinsic(&mut self, call: &PrimCall) {
        let PrimCallee::Intrin(name) = &call.callee else { return };
        let Some(of) = intrinsics::lanes(name) else { return };
        let fits: fn(DType) -> bool = match of {
            LaneKind::Floats => DType::is_floating,
            LaneKind::Integers => |t| t.is_integer() || t.is_bool(),
            LaneKind::Numbers => |t| !t.is_handle(),
            LaneKind::Any => return,
        };
        let mut dtypes = call.args.iter().map(|arg| arg.dtype());
        let Some(first) = dtypes.next() else { return };
        if !fits(first) {
            let (of, to) = if of == LaneKind::Floats { ("a float", "float32") } else { ("an integer", "int32") };
            let message = format!("`T.{name}` is a function of {of}, not of {first}");
            self.error(codes::KERNEL_TYPES, message).help(format!("convert it: `T.{name}(T.Cast(\"{to}\", …))`"));
        } else if let Some(other) = dtypes.find(|t| *t != first) {
            let message = format!("`T.{name}` takes values of one dtype, not {first} and {other}");
            self.error(codes::KERNEL_TYPES, message).help("convert one of them: `T.Cast(\"…\", …)`");
        }
    }
}
