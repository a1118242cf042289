//! A module's graphs as an executable image.

use super::precompiled;
use crate::{Failure, failure::not_lowerable, model::signature};
use hammock_codegen::vm::{self, Bytecode};
use hammock_diagnostics::{SourceFile, Span, codes};
use hammock_ir::Module;
use hammock_runtime::image::{self, Image, Placement, Signature, SourceMap};
use hammock_target::Gpu;

/// Bytecode of a module's graphs with source locations and signatures (`known` is from before passes ran), or `given`
/// bytecode that calls the module's kernels. Without a GPU, all devices are CPUs, which share memory.
pub(crate) fn image(
    module: &Module,
    source: &SourceFile,
    given: Option<&Image>,
    known: &[Signature],
    gpu: Option<Gpu>,
) -> Result<Image, Failure> {
    let image = match given {
        Some(given) => precompiled::adopt(given, module, source)?,
        None => generated(module, source, known)?,
    };
    let placement = if gpu.is_some() { image.placement } else { Placement::default() };
    if given.is_some() && gpu.is_some() && placement == Placement::default() && is_on_several_devices(module) {
        let message = "the bytecode does not tell the devices of constants and arguments, and the module has several";
        return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave out `--bytecode`"));
    }
    Ok(Image { placement, ..image })
}

/// Returns true if a module for a GPU declares other devices than the first.
fn is_on_several_devices(module: &Module) -> bool {
    module.vdevices().any(|device| device.number() != 0)
}

fn generated(module: &Module, source: &SourceFile, known: &[Signature]) -> Result<Image, Failure> {
    let bytecode = vm::generate(module).map_err(|e| not_lowerable(e.to_string(), e.span(), source))?;
    let sources = source_map(source, &bytecode.spans);
    let signatures = signature::lowered(module, known);
    let Bytecode { executable, placement, .. } = bytecode;
    Ok(Image { executable, sources, placement, signatures, ..Image::default() })
}

/// Locations of instructions, with the lines that messages quote.
fn source_map(source: &SourceFile, spans: &[Span]) -> SourceMap {
    let mut map = SourceMap::default();
    let file = map.file(source.name());
    for (instruction, span) in spans.iter().enumerate().filter(|(_, s)| !s.is_none()) {
        let position = source.position(span.start);
        let line = source.slice(source.line_span(source.line_index(span.start)));
        map.add_line(file, position.line, line.trim_end());
        map.set(instruction, image::Span { file, line: position.line, column: position.column });
    }
    map
}
