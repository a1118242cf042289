//! Text as bytes: the input of language models, and their output one byte at a time.
use super::memory::on_first_device;
use super::order::scratch;
use crate::ffi::{Error, kind};
use crate::printable;
use crate::value::Tensor;
use crate::vm::{Builtin, builtin::builtin};
use std::io::{ErrorKind, Write};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("hammock.text.bytes", bytes(text: &str) -> "Tensor", "Returns the bytes of a string as an int64 vector."),
    builtin!("hammock.text.print", print(text: &str) -> "None", "Writes a string to standard output, at once."),
    builtin!("hammock.text.print_byte", print_byte(byte: i64) -> "None",
        "Writes one byte of a text to standard output, at once."),
];

fn bytes(text: &str) -> Result<Tensor, Error> {
    let _scratch = scratch(text.len(), size_of::<i64>())?;
    let bytes: Vec<i64> = text.bytes().map(i64::from).collect();
    on_first_device(Tensor::from_slice(&[bytes.len() as i64], &bytes)?)
}

fn print(text: &str) -> Result<(), Error> {
    output(printable(text).as_bytes())
}

fn print_byte(byte: i64) -> Result<(), Error> {
    let value = u8::try_from(byte).map_err(|_| Error::new(kind::VALUE, format!("{byte} is not a byte")))?;
    if value.is_ascii() { print(char::from(value).encode_utf8(&mut [0])) } else { output(&[value]) }
}

/// A closed standard output does not make a program fail.
fn output(text: &[u8]) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::runtime(format!("cannot write: {error}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_bytes() {
        assert_eq!(bytes("né").unwrap().as_slice::<i64>().unwrap(), [110, 195, 169]);
        assert_eq!(bytes("").unwrap().shape(), [0]);
        assert_eq!(print_byte(256).unwrap_err().to_string(), "ValueError: 256 is not a byte");
    }
}
