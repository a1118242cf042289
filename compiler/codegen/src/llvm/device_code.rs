//! Device code of a kernel, as the host function gets it.

use hammock_runtime::device::launch::ErrorRecord;
use std::mem::offset_of;

/// Maximum number of values of a message.
pub const MAX_VALUES: usize = (size_of::<ErrorRecord>() - offset_of!(ErrorRecord, values)) / size_of::<i64>();

/// Device functions of a kernel as PTX.
#[derive(Clone, Debug)]
pub struct DeviceCode {
    /// The text.
    pub ptx: Vec<u8>,
    /// Hash of the text.
    pub hash: [u64; 2],
    /// Functions in the text.
    pub entries: Vec<DeviceEntry>,
    /// Messages of the errors that they report, by number.
    pub messages: Vec<Message>,
}

/// A device function.
#[derive(Clone, Debug)]
pub struct DeviceEntry {
    /// Name in launches.
    pub name: String,
    /// Name in the text.
    pub symbol: String,
    /// Upper bound of the threads of a block.
    pub max_threads: u32,
    /// Bytes of shared memory of constant size.
    pub shared_bytes: u32,
}

/// Message of an error, with values between its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Kind of the error, such as `IndexError`.
    pub kind: String,
    /// Texts around the values.
    pub texts: Vec<String>,
}

impl Message {
    /// A message of texts around values. Of more values than a record has, the last ones are not shown.
    pub fn new(kind: &str, texts: &[&str]) -> Message {
        let (shown, others) = texts.split_at(texts.len().min(MAX_VALUES + 1));
        let mut texts: Vec<String> = shown.iter().map(|text| (*text).to_owned()).collect();
        if let Some(last) = texts.last_mut() {
            others.iter().for_each(|text| *last += &format!("…{text}"));
        }
        Message { kind: kind.to_owned(), texts }
    }

    /// Number of values.
    pub fn value_count(&self) -> usize {
        self.texts.len().saturating_sub(1)
    }
}
