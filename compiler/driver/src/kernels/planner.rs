//! Targets and plans of kernels, from the options.

use crate::{
    Bounds, Options,
    cache::{Bytes, Key},
};
#[cfg(feature = "native")]
use hammock_codegen::llvm;
use hammock_ir::{hash, tir::PrimFunc};
use hammock_loopnest::PackedParam;
use hammock_passes::Planner;
use hammock_target::Target;

impl Planner for Options {
    /// Kernels for GPUs take weights as they are. All versions of a kernel take the same weights, so a weight is packed only if all versions use the same layout.
    fn packed(&self, kernel: &PrimFunc) -> Vec<PackedParam> {
        if self.gpu.is_some() {
            return Vec::new();
        }
        let mut versions = self.targets().map(|target| packed(kernel, self, target));
        let first = versions.next().unwrap_or_default();
        if versions.all(|other| other == first) { first } else { Vec::new() }
    }
}

/// Packed layouts of a kernel's weights on a target.
fn packed(kernel: &PrimFunc, options: &Options, target: &str) -> Vec<PackedParam> {
    let (target, checked) = (named(target, options.threads), checked(options));
    let strict_order = options.strict_order;
    let options = hammock_kernels::Options { checked, strict_order, ..hammock_kernels::Options::new(&target) };
    // A kernel that cannot be planned packs nothing.
    hammock_kernels::packed_params(kernel, options).unwrap_or_default()
}

/// Key of a kernel among tuned plans: a hash of its structure, the order of reductions and the target's description,
/// followed by the CPU's name, the number of threads and, if given, its symbolic sizes.
pub fn plan_key(func: &PrimFunc, target: &Target, options: &Options) -> String {
    let mut facts = Bytes::default();
    let mut nameless = func.clone();
    nameless.attrs.remove("global_symbol");
    hash::kernel(&nameless, &mut facts);
    facts.text(&format!("{:?}", (target, options.strict_order)));
    let hash = Key::of(&facts).to_string();
    format!("{}-{}-{}{}", &hash[..16], target.cpu, target.threads, options.sizes.bucket(func))
}

/// Returns true if kernels check accesses that are not proved to be in bounds.
pub fn checked(options: &Options) -> bool {
    options.bounds == Bounds::Checked
}

/// LLVM's optimization level.
#[cfg(feature = "native")]
pub fn opt_level(options: &Options) -> llvm::OptLevel {
    match options.level {
        0 => llvm::OptLevel::None,
        1 => llvm::OptLevel::Lean,
        2 => llvm::OptLevel::Unroll,
        _ => llvm::OptLevel::Full,
    }
}

/// Target of kernels that run on `threads` threads. The caller has checked its name.
pub fn target(options: &Options, threads: usize) -> Target {
    named(&options.target, threads)
}

fn named(target: &str, threads: usize) -> Target {
    Target { threads: threads as u32, ..crate::target(target).unwrap_or_else(Target::baseline) }
}
