//! Shared libraries for Hammock's runtime.

use super::{Artifact, Lowered, Output, graphs};
use crate::{
    Clock, Failure, Options, Timing,
    kernels::{self, Compiled, Temporaries, extern_call_span},
};
use hammock_codegen::llvm::Host;
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_link::{LinkError, Object};
use hammock_runtime::{
    executable::ConstantData,
    image::{DeviceCode, Image, Version},
};
use hammock_target::Target;
use hammock_tools::ExternalWeights;

/// Kernels of one target.
pub type Kernels = (Version, Vec<Compiled>);

/// Compiles the kernels for each target, and links them with the image.
pub fn compile(
    lowered: Lowered,
    image: Image,
    options: &Options,
    times: &mut Vec<Timing>,
) -> Result<Artifact, Failure> {
    let mut clock = Clock::start();
    let versions = compile_kernels(lowered, options, Host::Hammock, options.threads)?;
    clock.lap("kernels to machine code", times);
    let (file, weights) = link(lowered, image, &versions, options)?;
    clock.lap("linking", times);
    Ok(Artifact { weights, ..artifact(file, &versions) })
}

/// Compiles the kernels for each target.
pub fn compile_kernels(
    lowered: Lowered,
    options: &Options,
    host: Host,
    threads: usize,
) -> Result<Vec<Kernels>, Failure> {
    let version = |target: &String| {
        let options = Options { target: target.clone(), ..options.clone() };
        let kernels = kernels::compile_all(lowered.module, lowered.source, &options, host, threads)?;
        let Target { cpu: target, features, .. } = kernels::target(&options, threads);
        Ok((Version { target, features }, kernels))
    };
    options.targets().map(version).collect()
}

/// A library with the kernels of these versions.
pub fn artifact(file: Output, versions: &[Kernels]) -> Artifact {
    let mut temporaries = Temporaries::new();
    for kernel in every(versions).filter(|kernel| kernel.temporary_bytes > 0) {
        let max = temporaries.entry(kernel.name.clone()).or_default();
        *max = kernel.temporary_bytes.max(*max);
    }
    let last = versions.last().map_or(&[][..], |(_, kernels)| kernels);
    Artifact {
        kernels: every(versions).count(),
        compiled: every(versions).filter(|kernel| !kernel.is_cached).count(),
        accesses: last.iter().map(|kernel| (kernel.name.clone(), kernel.accesses)).collect(),
        temporaries,
        ..Artifact::of(file)
    }
}

/// Kernels of all versions.
pub fn every(versions: &[Kernels]) -> impl Iterator<Item = &Compiled> {
    versions.iter().flat_map(|(_, kernels)| kernels)
}

fn link(
    lowered: Lowered,
    mut image: Image,
    versions: &[Kernels],
    options: &Options,
) -> Result<(Output, Option<ExternalWeights>), Failure> {
    // A library without kernels runs on any CPU.
    image.versions = versions.iter().filter(|(_, own)| !own.is_empty()).map(|(version, _)| version.clone()).collect();
    let functions =
        || versions.last().into_iter().flat_map(|(_, own)| own.iter().flat_map(|kernel| kernel.device.clone()));
    image.device_code = options
        .gpu
        .map(|gpu| DeviceCode { architecture: gpu.name.to_owned(), functions: functions().collect() })
        .filter(|code| !code.functions.is_empty());
    image.kernels = versions.last().map_or(Vec::new(), |(_, own)| own.iter().map(|k| k.signature.clone()).collect());
    let code = graphs::compile(&mut image.executable, &image.kernels, options)?;
    let renamed: Vec<_> = versions
        .iter()
        .enumerate()
        .flat_map(|(number, (_, kernels))| kernels.iter().map(move |kernel| kernel.renamed(number)))
        .collect();
    let kernels = every(versions).zip(&renamed);
    let kernels = kernels.map(|(kernel, renamed)| Object { bytes: &kernel.object, renamed });
    let others = lowered.objects.iter().map(Vec::as_slice).chain(code.as_deref());
    let objects: Vec<Object> = kernels.chain(others.map(Object::plain)).collect();
    let (image, constants, weights) = match &options.external_weights {
        None => {
            let (image, constants) = image.save_in_parts();
            (image, constants, None)
        }
        Some(name) => {
            let mut head = Vec::new();
            let (image, constants) = image.save_external(|constants| {
                let place;
                (place, head) = ExternalWeights::locate(name, constants);
                place
            });
            (image, ConstantData::default(), Some(ExternalWeights::new(head, constants)))
        }
    };
    let library = hammock_link::link_apart(&objects, &image, constants).map_err(|e| link_failure(&e, lowered))?;
    Ok((Output::Library(library), weights))
}

/// A link error, at the call of an undefined symbol.
pub fn link_failure(error: &LinkError, Lowered { module, source, .. }: Lowered) -> Failure {
    let d = Diagnostic::error(codes::LINK_FAILED, format!("cannot link the kernels: {error}"));
    let span = match error {
        LinkError::Undefined { symbol, .. } => extern_call_span(module, symbol),
        _ => Span::NONE,
    };
    Failure::from(if span.is_none() { d } else { d.label(span, "") }).within(source)
}
