//! Function multiversioning: the versions in which kernels are compiled, and the choice among them at load time.
//!
//! Kernels of version 0 have their plain name, those of other versions a name of their own ([`symbol`]). Code that is
//! not compiled for a particular CPU, such as that of other compilers, exists once, under the plain name.
use crate::bytes::{Put, Reader, Truncated};
use crate::cpu_features::Features;
use std::ffi::CStr;
use std::fmt::{self, Display};

/// The environment variable that selects a version.
pub const VARIABLE: &CStr = c"HAMMOCK_TARGET";

/// Prefix of a kernel's symbol.
pub const KERNEL_PREFIX: &str = "__tvm_ffi_";

/// The symbol of a kernel in a version.
pub fn symbol(kernel: &str, version: usize) -> String {
    match version {
        0 => format!("{KERNEL_PREFIX}{kernel}"),
        _ => format!("__hammock_{version}_{kernel}"),
    }
}

/// A version of an executable's kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The CPU that it is compiled for, by LLVM's name.
    pub target: String,
    /// Features that a machine must have to run it.
    pub features: Features,
}

/// Reason why a machine runs none of the versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionError {
    /// No version has the requested name.
    Unknown(String),
    /// The machine lacks these features for this target.
    Lacks(String, Features),
}

/// The version to run: the requested one, otherwise the last one whose features the machine has.
pub fn choose(versions: &[Version], machine: Features, wanted: Option<&[u8]>) -> Result<usize, VersionError> {
    let lacks = |version: &Version| version.features.without(machine);
    let unfit = |version: &Version| VersionError::Lacks(version.target.clone(), lacks(version));
    match wanted {
        _ if versions.is_empty() => Ok(0),
        Some(name) => match versions.iter().position(|version| version.target.as_bytes() == name) {
            Some(number) if lacks(&versions[number]).is_empty() => Ok(number),
            Some(number) => Err(unfit(&versions[number])),
            None => Err(VersionError::Unknown(String::from_utf8_lossy(name).into_owned())),
        },
        None => versions.iter().rposition(|version| lacks(version).is_empty()).ok_or_else(|| unfit(&versions[0])),
    }
}

impl Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionError::Unknown(name) => {
                write!(f, "they are not compiled for `{name}`, which HAMMOCK_TARGET asks for")
            }
            VersionError::Lacks(target, features) => {
                write!(f, "they are compiled for {target}, and this machine has no")?;
                for (number, name) in features.names().enumerate() {
                    write!(f, "{}{name}", if number > 0 { ", " } else { " " })?;
                }
                f.write_str("; compile for it with --target-cpu, or for several with --multi-version")
            }
        }
    }
}

pub(super) fn encode(versions: &[Version], out: &mut Vec<u8>) {
    out.put_u64(versions.len() as u64);
    for version in versions {
        out.put_blob(version.target.as_bytes());
        out.put_u64(version.features.bits());
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Version>, Truncated> {
    let mut reader = Reader::new(bytes);
    let versions = reader.list(16, |reader| {
        let target = reader.text()?;
        Ok::<_, Truncated>(Version { target, features: Features::from_bits(reader.u64()?) })
    })?;
    if reader.remaining() == 0 { Ok(versions) } else { Err(Truncated) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(target: &str, features: &str) -> Version {
        Version { target: target.into(), features: Features::listed(features) }
    }

    #[test]
    fn machines_run_the_last_that_they_can() {
        let versions = [version("small", "+sse4.1"), version("middle", "+sse4.1,+avx2"), version("large", "+avx512f")];
        let choose = |machine: &str, wanted: Option<&str>| {
            choose(&versions, Features::listed(machine), wanted.map(str::as_bytes))
        };
        assert_eq!(choose("+sse4.1", None), Ok(0));
        assert_eq!(choose("+sse4.1,+avx2,+fma", None), Ok(1));
        assert_eq!(choose("+sse4.1,+avx2,+avx512f", None), Ok(2));
        assert_eq!(choose("+sse4.1,+avx2,+avx512f", Some("middle")), Ok(1));
        let error = choose("+avx2", None).unwrap_err().to_string();
        assert!(error.starts_with("they are compiled for small, and this machine has no sse4.1;"), "{error}");
        let error = choose("+sse4.1", Some("large")).unwrap_err().to_string();
        assert!(error.contains("for large, and this machine has no avx512f;"), "{error}");
        let error = choose("", Some("tiny")).unwrap_err().to_string();
        assert_eq!(error, "they are not compiled for `tiny`, which HAMMOCK_TARGET asks for");
    }

    #[test]
    fn images_without_versions_run_anywhere() {
        assert_eq!(choose(&[], Features::default(), Some(b"any")), Ok(0));
    }
}
