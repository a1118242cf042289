//! Files that commands write: whole, or not at all.

use hammock_compiler::Failure;
use hammock_syntax::codes;
use std::{
    fs::Permissions,
    io::{Error, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// Makes a file: `fill` writes it under a temporary name, which it loses when all is written. `mode` is its Unix mode.
pub fn write_whole(path: &Path, mode: u32, fill: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = Permissions::from_mode(mode);
    let file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder).map_err(|e| cannot(path, &e))?;
    fill(file.path())?;
    file.persist(path).map_err(|e| cannot(path, &e.error))?;
    Ok(())
}

/// The failure to write a file.
pub fn cannot(path: &Path, error: &Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(codes::UNWRITABLE_FILE, format!("cannot write {}: {reason}", path.display()))
}
