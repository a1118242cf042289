//! Contents of executables as text.

pub(crate) mod c_header;
pub mod listing;
mod registers;
pub(crate) mod signature;

use crate::error::ToolError;
use hammock_runtime::{
    image::{DeviceCode, DeviceFunction, Image, Version},
    library::image_of,
};
use listing::{Listing, list};
use registers::Usage;
use signature::{signature_json, signature_text, signatures};
use std::path::Path;

/// A view of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Signatures of functions.
    Signature,
    /// Signatures as JSON.
    SignatureJson,
    /// Instructions, in the format of TVM's `as_text`.
    Text,
    /// Instructions as Python, in the format of TVM's `as_python`.
    Python,
    /// Sizes of the tables, in the format of TVM's `stats`.
    Stats,
    /// The whole executable, as a listing that can be assembled; tensors of more than this many bytes are in a separate
    /// file.
    Listing(usize),
}

/// The CPUs that kernels are compiled for, one per line.
fn targets(image: &Image) -> String {
    let line = |version: &Version| {
        let features: Vec<&str> = version.features.names().collect();
        let needs = if features.is_empty() { "nothing more".to_owned() } else { features.join(", ") };
        format!("  {} (needs {needs})\n", version.target)
    };
    let lines: String = image.versions.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("Kernels for:\n{lines}") }
}

/// The device functions, with their registers where `ptxas` is installed, and the kernels that run on the host
/// nevertheless, one per line.
fn device_functions(path: &Path, image: &Image) -> String {
    let Some(DeviceCode { architecture, functions }) = &image.device_code else { return String::new() };
    let usages = registers::usages(path, architecture);
    let line = |function: &DeviceFunction| {
        let DeviceFunction { kernel, name, max_threads, static_shared } = function;
        let usage = usages.get(name).map_or_else(String::new, |Usage { registers, spilled_bytes }| {
            let spilled = if *spilled_bytes == 0 { String::new() } else { format!(", {spilled_bytes} bytes spilled") };
            format!(", {registers} registers{spilled}")
        });
        format!(
            "  {name} of {kernel}: blocks of up to {max_threads} threads, {static_shared} bytes of shared memory{usage}\n"
        )
    };
    let lines: String = functions.iter().map(line).collect();
    let on_host = image.kernels.iter().filter(|kernel| kernel.device.is_host());
    let on_host: String = on_host.map(|kernel| format!("  {}\n", kernel.name)).collect();
    let on_host = if on_host.is_empty() { on_host } else { format!("Kernels on the host:\n{on_host}") };
    format!("Device functions for {architecture}:\n{lines}{on_host}")
}

/// Lists the contents of an executable: a linked model, a library that TVM exported, or plain bytecode.
///
/// # Errors
/// If it cannot be read or is damaged.
pub fn inspect(path: &Path, view: View) -> Result<Listing, ToolError> {
    let image = image_of(path)?;
    let text = match view {
        View::Signature => signature_text(&signatures(&image)),
        View::SignatureJson => signature_json(&signatures(&image)),
        View::Text => image.executable.as_text(),
        View::Python => image.executable.as_python(),
        View::Stats => image.executable.stats() + &targets(&image) + &device_functions(path, &image),
        View::Listing(max_inline) => return Ok(list(&image, max_inline)),
    };
    Ok(Listing { text, tensors: Vec::new() })
}
