//! Signatures of the functions that machine code calls.
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AbiParam, SigRef, Signature, Type};
use cranelift_codegen::isa::CallConv;

/// Signatures of callees.
pub(super) struct Signatures {
    pub(super) native: SigRef,
    /// Signature of `retain` and `discard`.
    pub(super) claim: SigRef,
    /// Signature of `allocate`, `place` and `holds`.
    pub(super) by_plan: SigRef,
    pub(super) test: SigRef,
    /// Signature of `poll` and `step`.
    pub(super) step: SigRef,
    pub(super) after: SigRef,
}

impl Signatures {
    pub(super) fn import(mut import: impl FnMut(Signature) -> SigRef) -> Signatures {
        let mut signature = |params: &[Type], returns: &[Type]| {
            let mut signature = Signature::new(CallConv::SystemV);
            signature.params.extend(params.iter().map(|of| AbiParam::new(*of)));
            signature.returns.extend(returns.iter().map(|of| AbiParam::new(*of)));
            import(signature)
        };
        Signatures {
            native: signature(&[I64, I64, I32, I64], &[I32]),
            claim: signature(&[I64, I64], &[]),
            by_plan: signature(&[I64, I32, I32, I32], &[I32]),
            test: signature(&[I64, I64], &[I32]),
            step: signature(&[I64, I32], &[I32]),
            after: signature(&[I64, I32, I32], &[I32]),
        }
    }
}
