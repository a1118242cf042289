//! SHA-256 of files that are read.

use super::stream::{read_stream, unreadable};
use crate::Failure;
use hammock_diagnostics::codes;
use hammock_runtime::open_regular;
use sha2::{Digest as _, Sha256};
use std::{fmt, io, str::FromStr};

/// Expected SHA-256 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl FromStr for Digest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.chars().map(|c| c.to_digit(16)).collect::<Option<Vec<u32>>>().filter(|list| list.len() == 64);
        let digits = digits.ok_or("a SHA-256 has 64 hexadecimal digits")?;
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(digits.chunks(2)).for_each(|(byte, pair)| *byte = (pair[0] << 4 | pair[1]) as u8);
        Ok(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Digest {
    /// The digest of a file, or of standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &str) -> Result<Digest, Failure> {
        let mut hash = Sha256::new();
        match read_stream(path)? {
            Some(bytes) => hash.update(&**bytes),
            None => {
                let copied =
                    open_regular(path.as_ref()).and_then(|mut file| io::copy(&mut file, &mut Writer(&mut hash)));
                copied.map_err(|e| unreadable(path, &e))?;
            }
        }
        Ok(Digest(hash.finalize().into()))
    }

    /// Refuses a file with another digest.
    ///
    /// # Errors
    /// When it has one, or cannot be read.
    pub fn expect(self, path: &str) -> Result<(), Failure> {
        let found = Digest::of(path)?;
        if found == self {
            return Ok(());
        }
        let message = format!("{path} is not the file that was asked for: its SHA-256 is {found}, not {self}");
        Err(Failure::new(codes::OTHER_FILE, message)
            .help("the file is damaged, or another version of it; get it again, or correct `--sha256`"))
    }
}

/// A writer that hashes.
struct Writer<'a>(&'a mut Sha256);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
