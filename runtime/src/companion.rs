//! Companion files in a model's folder: external data of an ONNX model, weights of a compiled one.
//!
//! The model names its companion files, and it may come from an untrusted source, so it must not reach any file that
//! its reader can access. A file is used only if its path, with all symbolic links resolved, is in the folder in which
//! the model is opened or in the folder of the model's own file. The two differ when the model is opened through a
//! link, as in the cache of a model hub, whose links point into a folder of blobs: `snapshots/1/model.onnx` to
//! `blobs/a`, and `snapshots/1/model.onnx_data` to `blobs/b`. The caller can name further folders that links may point
//! to.

use std::{
    fmt, io,
    path::{Component, Path, PathBuf},
};

/// Reason why a companion file is rejected.
#[derive(Debug)]
pub enum CompanionError {
    /// Its path leads out of the model's folder.
    Outside,
    /// It is a link that points out of the model's folder.
    Link(PathBuf),
    /// It does not exist or cannot be resolved.
    Missing(io::Error),
}

impl fmt::Display for CompanionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompanionError::Outside => f.write_str("it is not in the model's folder"),
            CompanionError::Link(target) => {
                let target = target.display();
                write!(
                    f,
                    "it is a link to {target}, out of the model's folder and of the folder of the model's own file"
                )
            }
            CompanionError::Missing(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("there is no such file")
            }
            CompanionError::Missing(error) => error.fmt(f),
        }
    }
}

/// Finds a file by its path relative to a model's folder: first in the folder of the path by which the model is opened,
/// then in the folder of the model's own file. The result has no links.
///
/// # Errors
/// If the file is in neither folder, see the [module](self).
pub fn find_companion(model: &Path, file: &str) -> Result<PathBuf, CompanionError> {
    find_linked(model, file, &[])
}

/// Like [`find_companion`], but links may also point to files under `targets`.
///
/// # Errors
/// If the file is in none of these folders, or one of `targets` cannot be resolved.
pub fn find_linked(model: &Path, file: &str, targets: &[PathBuf]) -> Result<PathBuf, CompanionError> {
    let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if file.is_empty() || !Path::new(file).components().all(inside) {
        return Err(CompanionError::Outside);
    }
    let opened_in = folder(model).canonicalize().map_err(CompanionError::Missing)?;
    let own = model.canonicalize().map_err(CompanionError::Missing)?;
    let folders = [opened_in.as_path(), folder(&own)];
    let targets = targets.iter().map(|folder| folder.canonicalize()).collect::<Result<Vec<_>, _>>();
    let targets = targets.map_err(CompanionError::Missing)?;
    let allowed = |found: &Path| {
        folders.iter().any(|folder| found.starts_with(folder)) || targets.iter().any(|folder| found.starts_with(folder))
    };
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for folder in folders {
        match folder.join(file).canonicalize() {
            Ok(found) if allowed(&found) => return Ok(found),
            Ok(found) => return Err(CompanionError::Link(found)),
            Err(error) => missing = error,
        }
    }
    Err(CompanionError::Missing(missing))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    /// A folder `store` next to a folder `models`, with a file `data` in each, and `secret` next to both.
    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for folder in ["models/sub", "store"] {
            fs::create_dir_all(tree.path().join(folder)).unwrap();
        }
        for file in ["models/model", "models/data", "models/sub/data", "store/model", "store/data", "secret"] {
            fs::write(tree.path().join(file), file).unwrap();
        }
        tree
    }

    #[test]
    fn files_of_the_folder_are_found() {
        let tree = tree();
        let models = tree.path().canonicalize().unwrap().join("models");
        for (file, found) in [("data", "data"), ("./data", "data"), ("sub/data", "sub/data")] {
            assert_eq!(find_companion(&models.join("model"), file).unwrap(), models.join(found));
        }
        symlink("sub/data", models.join("inside")).unwrap();
        assert_eq!(find_companion(&models.join("model"), "inside").unwrap(), models.join("sub/data"));
        assert!(matches!(find_companion(&models.join("model"), "none"), Err(CompanionError::Missing(_))));
        for file in ["", "../secret", "/etc/passwd", "sub/../../secret"] {
            assert!(matches!(find_companion(&models.join("model"), file), Err(CompanionError::Outside)), "{file}");
        }
    }

    #[test]
    fn links_out_of_the_folder_are_refused() {
        let tree = tree();
        let model = tree.path().join("models/model");
        symlink("../secret", tree.path().join("models/one")).unwrap();
        symlink("one", tree.path().join("models/two")).unwrap();
        symlink("..", tree.path().join("models/up")).unwrap();
        for file in ["one", "two", "up/secret", "up/store/data"] {
            assert!(matches!(find_companion(&model, file), Err(CompanionError::Link(_))), "{file}");
        }
    }

    #[test]
    fn links_may_lead_where_the_models_own_file_is() {
        let tree = tree();
        let models = tree.path().join("models");
        let store = tree.path().join("store").canonicalize().unwrap();
        symlink("../store/model", models.join("link")).unwrap();
        symlink("../store/data", models.join("blob")).unwrap();
        symlink("../secret", models.join("out")).unwrap();
        symlink("../secret", store.join("out")).unwrap();
        let model = models.join("link");
        assert_eq!(find_companion(&model, "blob").unwrap(), store.join("data"));
        // A model that is not a link does not reach the store, and nothing reaches a file outside both folders.
        assert!(matches!(find_companion(&models.join("model"), "blob"), Err(CompanionError::Link(_))));
        assert!(matches!(find_companion(&model, "out"), Err(CompanionError::Link(_))));
        // The link's folder first, then its target's.
        assert!(find_companion(&model, "data").unwrap().ends_with("models/data"));
        fs::remove_file(models.join("data")).unwrap();
        assert_eq!(find_companion(&model, "data").unwrap(), store.join("data"));
    }

    #[test]
    fn links_may_lead_to_folders_that_are_named() {
        let tree = tree();
        let (models, store) = (tree.path().join("models"), tree.path().join("store").canonicalize().unwrap());
        fs::write(tree.path().join("store-2"), "no folder of that name").unwrap();
        symlink("../store/data", models.join("blob")).unwrap();
        symlink("../secret", models.join("out")).unwrap();
        symlink("../store-2", models.join("near")).unwrap();
        symlink("../secret", store.join("out")).unwrap();
        symlink("../store/out", models.join("twice")).unwrap();
        let find = |file: &str, targets: &[PathBuf]| find_linked(&models.join("model"), file, targets);
        let named = [store.clone()];
        assert_eq!(find("blob", &named).unwrap(), store.join("data"));
        assert!(matches!(find("blob", &[models.join("sub")]), Err(CompanionError::Link(_))));
        for file in ["out", "near", "twice"] {
            assert!(matches!(find(file, &named), Err(CompanionError::Link(_))), "{file}");
        }
        // Only links may point there.
        assert!(matches!(find("../store/data", &named), Err(CompanionError::Outside)));
        assert!(matches!(find("data2", &named), Err(CompanionError::Missing(_))));
        assert!(matches!(find("blob", &[tree.path().join("none")]), Err(CompanionError::Missing(_))));
    }
}
