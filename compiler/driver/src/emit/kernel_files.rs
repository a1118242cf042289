//! Kernels alone: object code, LLVM IR, assembly.

use super::{Artifact, Emit, Lowered, Output};
use crate::{Clock, Failure, Options, Timing, kernels};

/// Compiles the kernels, to a file for each target.
pub fn compile(lowered: Lowered, options: &Options, emit: Emit, times: &mut Vec<Timing>) -> Result<Artifact, Failure> {
    let Lowered { module, source, .. } = lowered;
    let mut clock = Clock::start();
    let versions = options.targets().map(|target| Options { target: target.clone(), ..options.clone() });
    let flat = versions.map(|options| Ok((kernels::lower_all(module, source, &options)?, options)));
    let flat = flat.collect::<Result<Vec<_>, Failure>>()?;
    clock.lap("kernels to flat TIR", times);
    let (mut others, mut compiled) = (Vec::new(), 0);
    for (kernels, options) in &flat {
        let (bytes, is_cached) = kernels::compile_together(module, kernels, source, options, emit)?;
        compiled += if is_cached { 0 } else { kernels.len() };
        others.push((options.target.clone(), Output::Bytes(bytes)));
    }
    clock.lap("kernels to machine code", times);
    let every = || flat.iter().flat_map(|(kernels, _)| kernels).map(|kernel| &kernel.host);
    let (kernels, temporaries) = (every().count(), kernels::temporaries_of(every(), options.threads));
    let accesses = flat.last().map_or(&[][..], |(kernels, _)| kernels);
    let accesses = accesses.iter().map(|kernel| (kernel.host.name.to_string(), kernel.host.accesses)).collect();
    let file = others.pop().map_or_else(|| Output::Bytes(Vec::new()), |(_, file)| file);
    Ok(Artifact { others, kernels, compiled, accesses, temporaries, ..Artifact::of(file) })
}
