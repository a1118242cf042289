//! Images: an executable with the data that TVM's format cannot hold, in one checked, position-independent block of
//! bytes that is used in place.
//!
//! An image is a header, a section table, and sections; see [`container`] for the layout. Sections:
//!
//! | kind | contents |
//! |---|---|
//! | 1 executable | TVM's format; tensors of the constant pool have no data |
//! | 2 constants | the tensors' data, each aligned to 64 bytes; written last; absent if they are external |
//! | 3 sources | source file and line of each instruction ([`SourceMap`]) |
//! | 4 kernels | parameters of each kernel, and which of them it writes ([`KernelSignature`]) |
//! | 5 versions | the CPUs that kernels are compiled for ([`Version`]); absent if they run on all |
//! | 6 signatures | parameters and results of functions ([`Signature`]); absent if unknown |
//! | 7 external | the file next to the executable that has the tensors' data ([`External`]) |
//! | 8 device code | the GPU that kernels are compiled for, and their device functions ([`DeviceCode`]); absent if none |
//! | 9 placement | devices of constants and parameters ([`Placement`]); absent if all are on the first one |
//!
//! A linked library has its image under the symbol [`SYMBOL`].
mod argument_check;
mod checked;
pub mod container;
mod device_code;
mod external;
mod fit;
mod kernels;
mod placement;
pub mod signature;
mod sources;
pub mod versions;

pub use argument_check::ArgumentCheck;
pub use container::{ContainerError, Integrity};
pub use device_code::{DeviceCode, DeviceFunction};
pub use external::External;
pub use fit::Fit;
pub use kernels::{Dim, KernelParam, KernelSignature, ParamKind};
pub use placement::{MAX_DEVICES, Place, Placement};
pub use signature::Signature;
pub use sources::{SourceFile, SourceMap, Span};
pub use versions::Version;

use crate::executable::{ConstantData, Constants, Executable, ExecutableError, decode, encode, verify};
use crate::memory::{ALIGNMENT, Buffer};
use crate::value::SharedBytes;
use container::{Contents, Section};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The symbol of the image in a linked library. It must be aligned to 64 bytes.
pub const SYMBOL: &str = "hammock_image";

const EXECUTABLE: u32 = 1;
const CONSTANTS: u32 = 2;
const SOURCES: u32 = 3;
const KERNELS: u32 = 4;
const VERSIONS: u32 = 5;
const SIGNATURES: u32 = 6;
const EXTERNAL: u32 = 7;
const DEVICE_CODE: u32 = 8;
const PLACEMENT: u32 = 9;

/// A compiled model without its machine code.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// Functions, constants and instructions.
    pub executable: Executable,
    /// Source locations of instructions.
    pub sources: SourceMap,
    /// Signatures of kernels.
    pub kernels: Vec<KernelSignature>,
    /// CPUs that the kernels are compiled for, the most capable last.
    pub versions: Vec<Version>,
    /// Device code of the kernels, if they are compiled for a GPU.
    pub device_code: Option<DeviceCode>,
    /// Devices of constants and parameters.
    pub placement: Placement,
    /// Signatures of functions.
    pub signatures: Vec<Signature>,
    /// Location of constants that were read from a separate file; it is not written again.
    pub external: Option<External>,
}

/// Reason why an image is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The container is damaged.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// The executable in it is damaged or invalid.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
    /// Another section is damaged.
    #[error("the image's {0} are damaged")]
    Section(&'static str),
    /// The file with the constants is missing or is another one.
    #[error("cannot use {0}, which has the model's weights: {1}")]
    External(String, String),
}

impl Image {
    /// The signature of the kernel `name`, if it is known.
    pub fn kernel(&self, name: &str) -> Option<&KernelSignature> {
        self.kernels.iter().find(|signature| signature.name == name)
    }

    /// The signature of the function `name`; if the image has none, one with the parameters' names only.
    pub fn signature(&self, name: &str) -> Option<Cow<'_, Signature>> {
        let function = &self.executable.functions[self.executable.function(name)?];
        let names = || function.param_names.iter();
        let is_right =
            |known: &&Signature| known.function == name && known.given().map(|param| &param.name).eq(names());
        let known = self.signatures.iter().find(is_right).map(Cow::Borrowed);
        Some(known.unwrap_or_else(|| Cow::Owned(Signature::of_names(name, names()))))
    }

    /// Serializes the image. The output is deterministic.
    pub fn save(&self) -> Vec<u8> {
        let (mut bytes, constants) = self.save_in_parts();
        constants.append_to(&mut bytes);
        bytes
    }

    /// Like [`save`](Image::save), in two parts: the bytes before the constants' data, and that data, which is not
    /// copied.
    pub fn save_in_parts(&self) -> (Vec<u8>, ConstantData) {
        self.save_with(|_| None)
    }

    /// Like [`save_in_parts`](Image::save_in_parts), for constants in a separate file; `location` returns where they
    /// will be.
    pub fn save_external(&self, location: impl FnOnce(&ConstantData) -> External) -> (Vec<u8>, ConstantData) {
        self.save_with(|constants| Some(location(constants)))
    }

    fn save_with(&self, location: impl FnOnce(&ConstantData) -> Option<External>) -> (Vec<u8>, ConstantData) {
        let mut constants = ConstantData::default();
        let executable = encode(&self.executable, &mut Constants::Append(&mut constants));
        let mut sources = Vec::new();
        self.sources.encode(&mut sources);
        let mut table = Vec::new();
        kernels::encode(&self.kernels, &mut table);
        let mut targets = Vec::new();
        versions::encode(&self.versions, &mut targets);
        let mut signatures = Vec::new();
        signature::encode(&self.signatures, &mut signatures);
        let device = self.device_code.as_ref().map(|code| {
            let mut bytes = Vec::new();
            device_code::encode(code, &mut bytes);
            bytes
        });
        let mut placement = Vec::new();
        placement::encode(&self.placement, &mut placement);
        let section = |kind, bytes| Section { kind, alignment: 8, contents: Contents::Bytes(bytes) };
        let mut sections = vec![section(EXECUTABLE, &executable), section(SOURCES, &sources), section(KERNELS, &table)];
        sections.extend((!self.versions.is_empty()).then(|| section(VERSIONS, &targets)));
        sections.extend(device.as_ref().map(|bytes| section(DEVICE_CODE, bytes)));
        sections.extend((self.placement != Placement::default()).then(|| section(PLACEMENT, &placement)));
        sections.extend((!self.signatures.is_empty()).then(|| section(SIGNATURES, &signatures)));
        let mut beside = Vec::new();
        if let Some(external) = location(&constants) {
            external.encode(&mut beside);
            sections.push(section(EXTERNAL, &beside));
        } else {
            let data = Contents::Later(constants.len(), constants.checksum().finalize());
            sections.push(Section { kind: CONSTANTS, alignment: ALIGNMENT, contents: data });
        }
        (container::write(&sections), constants)
    }

    /// Reads an image as [`load_with_companions`](Image::load_with_companions) does, without external constants.
    pub fn load(owner: SharedBytes, range: Range<usize>, integrity: Integrity) -> Result<Image, ImageError> {
        Image::load_with_companions(owner, range, integrity, None)
    }

    /// Reads and verifies the image that fills `range` of `owner`'s bytes. Constants refer to those bytes and keep
    /// `owner` alive; bytes that are not aligned to 64 are copied first. A file with constants is searched next to
    /// `executable`.
    pub fn load_with_companions(
        owner: SharedBytes,
        range: Range<usize>,
        integrity: Integrity,
        executable: Option<&Path>,
    ) -> Result<Image, ImageError> {
        Image::read(owner, range, integrity, executable, None)
    }

    /// Like [`load_with_companions`](Image::load_with_companions), for bytes that were just written without the
    /// constants, which are passed.
    pub(crate) fn load_with(
        owner: SharedBytes,
        range: Range<usize>,
        constants: &ConstantData,
    ) -> Result<Image, ImageError> {
        Image::read(owner, range, Integrity::Trust, None, Some(constants))
    }

    fn read(
        owner: SharedBytes,
        range: Range<usize>,
        integrity: Integrity,
        executable: Option<&Path>,
        given: Option<&ConstantData>,
    ) -> Result<Image, ImageError> {
        let (owner, range) = aligned(owner, range)?;
        let bytes = (*owner).as_ref().get(range.clone()).ok_or(ContainerError::Truncated)?;
        let container = container::read(bytes, integrity)?;
        let section = |kind| container.get(kind).ok_or(ContainerError::Missing(kind));
        let external = container.get(EXTERNAL).map(|range| External::decode(&bytes[range])).transpose();
        let external = external.map_err(|_| ImageError::Section("constants' location"))?;
        let apart = match (&external, given) {
            (_, Some(constants)) => Constants::Tensors(constants),
            (Some(external), None) => {
                let (owner, range) = external.open(executable)?;
                Constants::Separate(owner, range)
            }
            (None, None) => {
                let data = section(CONSTANTS)?;
                Constants::Separate(owner.clone(), range.start + data.start..range.start + data.end)
            }
        };
        let executable = decode(&bytes[section(EXECUTABLE)?], &apart)?;
        verify::verify(&executable)?;
        let sources = SourceMap::decode(&bytes[section(SOURCES)?]).map_err(|_| ImageError::Section("source lines"))?;
        let kernels =
            kernels::decode(&bytes[section(KERNELS)?]).map_err(|_| ImageError::Section("kernel signatures"))?;
        let versions = container.get(VERSIONS).map_or(Ok(Vec::new()), |range| versions::decode(&bytes[range]));
        let versions = versions.map_err(|_| ImageError::Section("kernels' targets"))?;
        let device_code = container.get(DEVICE_CODE).map(|range| device_code::decode(&bytes[range])).transpose();
        let device_code = device_code.map_err(|_| ImageError::Section("device functions"))?;
        let placement = container.get(PLACEMENT).map(|range| placement::decode(&bytes[range])).transpose();
        let placement = placement.map_err(|_| ImageError::Section("devices"))?.unwrap_or_default();
        let signatures = container.get(SIGNATURES).map_or(Ok(Vec::new()), |range| signature::decode(&bytes[range]));
        let signatures = signatures.map_err(|_| ImageError::Section("functions' signatures"))?;
        Ok(Image { executable, sources, kernels, versions, device_code, placement, signatures, external })
    }

    /// Reads and verifies an image, taking ownership of its bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Image, ImageError> {
        let len = bytes.len();
        Image::load(Arc::new(bytes), 0..len, Integrity::Check)
    }
}

/// Range of the constants' data in an image's bytes.
pub(crate) fn constants_range(bytes: &[u8]) -> Option<Range<usize>> {
    container::read(bytes, Integrity::Trust).ok()?.get(CONSTANTS)
}

/// The path of the file next to an executable that has its constants, if there is one, without any check.
pub(crate) fn external_file(bytes: &[u8], executable: &Path) -> Option<PathBuf> {
    let external = container::read(bytes, Integrity::Trust).ok()?.get(EXTERNAL)?;
    External::decode(&bytes[external]).ok()?.find(executable).ok()
}

/// Returns the bytes aligned to [`ALIGNMENT`], copied if necessary.
fn aligned(owner: SharedBytes, range: Range<usize>) -> Result<(SharedBytes, Range<usize>), ImageError> {
    struct Aligned(Buffer);
    impl AsRef<[u8]> for Aligned {
        fn as_ref(&self) -> &[u8] {
            // SAFETY: the buffer has `len` initialized bytes, which nobody writes after `aligned` filled them.
            unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.0.len()) }
        }
    }
    let bytes = (*owner).as_ref().get(range.clone()).ok_or(ContainerError::Truncated)?;
    if bytes.as_ptr().addr().is_multiple_of(ALIGNMENT) {
        return Ok((owner, range));
    }
    let copy = Buffer::new(bytes.len()).ok_or(ContainerError::OutOfMemory)?;
    // SAFETY: the buffer is new and as long as the bytes.
    unsafe { copy.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    let range = 0..copy.len();
    Ok((Arc::new(Aligned(copy)), range))
}

#[cfg(test)]
mod tests;
