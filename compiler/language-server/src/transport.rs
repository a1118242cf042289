//! Messages on a stream: a header with `Content-Length`, then JSON.
//!
//! Unlike the reader of `lsp-server`, this one survives messages that are no valid JSON or JSON-RPC, limits their size,
//! and reports what is wrong, so that the client gets a response instead of a closed stream.

use crate::refusal::Refusal;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// Maximum length of a message in bytes.
const MAX_MESSAGE: u64 = 256 << 20;
/// Maximum length of a header in bytes.
const MAX_HEADER: u64 = 16 << 10;

/// Something that was read.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// Something that is no message; the error goes to the client.
    Invalid(Refusal),
}

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
/// If the stream fails, or its headers are damaged: the start of the next message is then unknown.
pub fn read(input: &mut dyn BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    if length > MAX_MESSAGE {
        io::copy(&mut input.take(length), &mut io::sink())?;
        let message = format!("a message of {length} bytes exceeds the limit of {MAX_MESSAGE}");
        return Ok(Some(Incoming::Invalid(Refusal::new(ErrorCode::InvalidRequest, message))));
    }
    let mut body = Vec::new();
    if input.take(length).read_to_end(&mut body)? < length as usize {
        return Ok(None);
    }
    Ok(Some(match serde_json::from_slice(&body) {
        Ok(value) => parse(value).map_or_else(Incoming::Invalid, Incoming::Message),
        Err(error) => Incoming::Invalid(Refusal::new(ErrorCode::ParseError, format!("invalid JSON: {error}"))),
    }))
}

/// Reads headers up to the blank line; returns the message's length, or `None` at the end of the stream.
fn read_header(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let damaged = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let (mut length, mut left) = (None, MAX_HEADER);
    loop {
        let mut line = Vec::new();
        let count = (&mut *input).take(left).read_until(b'\n', &mut line)? as u64;
        left -= count;
        if count == 0 && left > 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return if left == 0 { damaged(format!("a header exceeds {MAX_HEADER} bytes")) } else { Ok(None) };
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            return match length {
                Some(length) => Ok(Some(length)),
                None => damaged("a header has no `Content-Length`".to_owned()),
            };
        }
        let Some((name, value)) = line.split_once(':') else { return damaged(format!("no header: {line:?}")) };
        if name.trim().eq_ignore_ascii_case("Content-Length") {
            match value.trim().parse() {
                Ok(value) => length = Some(value),
                Err(_) => return damaged(format!("no length: {line:?}")),
            }
        }
    }
}

/// The message that a JSON value is.
fn parse(value: Value) -> Result<Message, Refusal> {
    let invalid = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let Value::Object(mut object) = value else {
        return invalid("a message is a JSON object; batches are not part of the protocol");
    };
    let id = match object.remove("id") {
        None => None,
        Some(id) => match serde_json::from_value::<RequestId>(id) {
            Ok(id) => Some(id),
            Err(_) => return invalid("`id` is an integer of 32 bits or a string"),
        },
    };
    let params = object.remove("params").unwrap_or_default();
    match (object.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Ok(Request { id, method, params }.into()),
        (Some(Value::String(method)), None) => Ok(Notification { method, params }.into()),
        (Some(_), _) => invalid("`method` is a string"),
        (None, Some(id)) if object.contains_key("result") || object.contains_key("error") => {
            Ok(Response { id, response_result: Ok(Value::Null) }.into())
        }
        (None, _) => invalid("a message has a `method`"),
    }
}

/// Writes a message.
pub fn write(output: &mut dyn Write, message: impl Into<Message>) -> io::Result<()> {
    message.into().write(&mut &mut *output)
}

/// Writes the error about something that is no message; it has no request to refer to.
pub fn write_invalid(output: &mut dyn Write, refusal: Refusal) -> io::Result<()> {
    let error = lsp_server::ResponseError::from(refusal);
    let text = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(body: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\nContent-Type: x\r\n\r\n{body}", body.len()).into_bytes()
    }

    fn read_all(bytes: &[u8]) -> Vec<String> {
        let mut input = io::BufReader::new(bytes);
        let mut found = Vec::new();
        loop {
            found.push(match read(&mut input) {
                Ok(None) => return found,
                Ok(Some(Incoming::Message(Message::Request(request)))) => format!("request {}", request.method),
                Ok(Some(Incoming::Message(Message::Notification(note)))) => format!("notification {}", note.method),
                Ok(Some(Incoming::Message(Message::Response(_)))) => "response".to_owned(),
                Ok(Some(Incoming::Invalid(refusal))) => lsp_server::ResponseError::from(refusal).message,
                Err(error) => {
                    found.push(error.to_string());
                    return found;
                }
            });
        }
    }

    #[test]
    fn messages_after_invalid_ones_are_read() {
        let bodies = [
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#,
            "{",
            "[]",
            r#"{"id":1.5,"method":"a"}"#,
            r#"{"id":2}"#,
            r#"{"method":7}"#,
            r#"{"id":"x","result":3}"#,
            r#"{"method":"b"}"#,
        ];
        let bytes: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
        let expected = [
            "request a",
            "invalid JSON: EOF while parsing an object at line 1 column 1",
            "a message is a JSON object; batches are not part of the protocol",
            "`id` is an integer of 32 bits or a string",
            "a message has a `method`",
            "`method` is a string",
            "response",
            "notification b",
        ];
        assert_eq!(read_all(&bytes), expected);
    }

    #[test]
    fn damaged_headers_end_the_stream() {
        assert_eq!(read_all(b""), [""; 0]);
        assert_eq!(read_all(b"Content-Length: 20\r\n\r\n{}"), [""; 0]);
        assert_eq!(read_all(b"Content-Length: x\r\n\r\n"), ["no length: \"Content-Length: x\""]);
        assert_eq!(read_all(b"\r\n"), ["a header has no `Content-Length`"]);
        assert_eq!(read_all(b"hello\r\n"), ["no header: \"hello\""]);
        assert_eq!(read_all(&vec![b'a'; 1 << 20]), ["a header exceeds 16384 bytes"]);
    }
}
