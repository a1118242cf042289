//! The files that a command reads and writes. No output may be an input or another output of the same command:
//! replacing it would lose data that the user still needs.
//!
//! Two paths are the same file if they have the same device and inode, whatever their names are (symbolic links, hard
//! links, `./x` for `x`); for files that do not exist yet, if they have the same canonical path.

use crate::{
    arguments::argument::files_of, error::InputError, formats::file_kind::FileKind, output::follow,
    weights::shards::weight_files,
};
use hammock_runtime::library::external_weights;
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Inputs and outputs of a command, each with the flag that names it.
#[derive(Debug, Default)]
pub struct CommandFiles {
    inputs: Vec<(String, PathBuf)>,
    outputs: Vec<(String, PathBuf)>,
}

/// Identity of a file.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    /// An existing regular file: its device and inode.
    Existing(u64, u64),
    /// A file that does not exist yet: its canonical path.
    New(PathBuf),
    /// Standard output, written as `-`. If it is named by another path, sharing it is intended.
    Stdout,
}

impl Identity {
    /// `None` for folders and for files that can be shared without loss, such as `/dev/null`.
    fn of(path: &Path) -> Option<Identity> {
        if path == Path::new("-") {
            return Some(Identity::Stdout);
        }
        let path = match follow(path) {
            Ok(path) => path,
            Err(1) => return None,
            Err(descriptor) => PathBuf::from(format!("/proc/self/fd/{descriptor}")),
        };
        match fs::metadata(&path) {
            Ok(known) if known.is_file() => Some(Identity::Existing(known.dev(), known.ino())),
            Ok(_) => None,
            Err(_) => {
                let folder = crate::output::folder(&path);
                let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
                Some(Identity::New(folder.join(path.file_name()?)))
            }
        }
    }
}

impl CommandFiles {
    /// Adds an input: `-` is standard input.
    pub fn reads(&mut self, flag: &str, path: impl AsRef<Path>) {
        let path = if path.as_ref() == Path::new("-") { Path::new("/dev/stdin") } else { path.as_ref() };
        self.inputs.push((format!("`{flag} {}`", path.display()), path.to_owned()));
    }

    /// Adds a model, including the weights file of a compiled one.
    pub fn reads_model(&mut self, flag: &str, path: impl AsRef<Path>) {
        let path = path.as_ref();
        self.reads(flag, path);
        if FileKind::of_file(path) == Some(FileKind::Elf) {
            self.reads_beside(path, external_weights(path));
        }
    }

    /// Adds companion files in a model's folder.
    pub fn reads_beside(&mut self, model: &Path, files: impl IntoIterator<Item = PathBuf>) {
        let named = |file: PathBuf| (format!("{}, which has data of {}", file.display(), model.display()), file);
        self.inputs.extend(files.into_iter().map(named));
    }

    /// Adds a weights file; of an index or a folder, every file.
    pub fn reads_weights(&mut self, flag: &str, path: &Path) {
        self.reads(flag, path);
        // If it cannot be read, reading it reports the error.
        for file in weight_files(path).unwrap_or_default() {
            self.inputs.push((format!("{} of `{flag} {}`", file.display(), path.display()), file));
        }
    }

    /// Adds the files that arguments name.
    pub fn reads_arguments(&mut self, args: &[String]) {
        for arg in args {
            files_of(arg).into_iter().for_each(|file| self.inputs.push((format!("`--arg @{file}`"), file.into())));
        }
    }

    /// Adds an output: `-` is standard output.
    pub fn writes(&mut self, flag: &str, path: impl AsRef<Path>) {
        self.outputs.push((format!("`{flag} {}`", path.as_ref().display()), path.as_ref().to_owned()));
    }

    /// Returns true if the command writes any file.
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Rejects outputs that are also inputs or other outputs.
    ///
    /// # Errors
    /// Names both flags.
    pub fn check(&self) -> Result<(), InputError> {
        let mut known: HashMap<Identity, (&str, &str)> = HashMap::new();
        if self.has_outputs() {
            let inputs = self.inputs.iter().filter_map(|(name, path)| Some((Identity::of(path)?, name.as_str())));
            known.extend(inputs.map(|(identity, name)| (identity, (name, "reads"))));
        }
        for (name, path) in &self.outputs {
            let Some(identity) = Identity::of(path) else { continue };
            if let Some((other, does)) = known.insert(identity, (name, "writes too")) {
                let message = format!("{name} is the same file as {other}, which the command {does}");
                return Err(InputError::new(message).help("name another file for the output"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refusal(inputs: &[&Path], outputs: &[&Path]) -> Option<String> {
        let mut files = CommandFiles::default();
        inputs.iter().for_each(|path| files.reads("--in", path));
        outputs.iter().for_each(|path| files.writes("--out", path));
        files.check().err().map(|error| error.message)
    }

    #[test]
    fn files_are_the_same_by_inode_or_by_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "a").unwrap();
        fs::write(path("b"), "a").unwrap();
        fs::create_dir(path("sub")).unwrap();
        fs::hard_link(path("a"), path("hard")).unwrap();
        symlink("a", path("link")).unwrap();
        symlink("../link", path("sub/far")).unwrap();
        symlink("new", path("dangling")).unwrap();
        symlink(folder.path(), path("here")).unwrap();
        let a = path("a");
        for same in ["a", "./a", "sub/../a", "hard", "link", "sub/far", "here/a"] {
            let message = refusal(&[&a], &[&path(same)]).unwrap();
            assert!(
                message.contains("`--in ") && message.contains("`--out ") && message.contains("reads"),
                "{message}"
            );
            assert!(refusal(&[], &[&a, &path(same)]).unwrap().ends_with("the command writes too"));
        }
        assert_eq!(refusal(&[&a, &a], &[&path("b"), &path("new")]), None);
        for same in ["new", "sub/../new", "here/new", "dangling"] {
            assert!(refusal(&[&a], &[&path("new"), &path(same)]).is_some(), "{same}");
        }
        assert_eq!(refusal(&[], &[Path::new("/dev/null"), Path::new("/dev/null")]), None);
        assert!(refusal(&[], &[Path::new("-"), Path::new("-")]).is_some());
        assert_eq!(refusal(&[], &[Path::new("-"), Path::new("/dev/fd/1")]), None);
    }
}
