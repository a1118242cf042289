//! A client of `hammock lsp`, which mirrors the texts that it opens.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// Maximum time of an answer.
const LIMIT: Duration = Duration::from_secs(120);

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: i64,
    texts: BTreeMap<String, (i64, String)>,
}

impl Client {
    /// Starts the server.
    pub fn start() -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
        command.args(["lsp", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Client { child, input, messages, next_id: 0, texts: BTreeMap::new() }
    }

    /// Starts the server and initializes it.
    pub fn initialized(capabilities: Value) -> (Client, Value) {
        let mut client = Client::start();
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities });
        let result = client.result("initialize", params);
        client.notify("initialized", json!({}));
        (client, result)
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        // The server may have ended.
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request; returns its number.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params }));
        self.next_id
    }

    /// The next message.
    pub fn receive(&self) -> Value {
        self.messages.recv_timeout(LIMIT).expect("the server answers")
    }

    /// The response to a request, after other messages.
    pub fn response(&self, id: i64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The response to a new request.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.response(id)
    }

    /// The result of a new request, which must not fail.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let response = self.ask(method, params);
        assert!(response["error"].is_null(), "{response}");
        response["result"].clone()
    }

    /// The next notification of that method.
    pub fn notification(&self, method: &str) -> Value {
        loop {
            let message = self.receive();
            if message["method"] == method {
                return message["params"].clone();
            }
        }
    }

    /// Waits for the end of the server; returns its status and what it wrote to standard error.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.input = None;
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    pub fn uri(name: &str) -> String {
        format!("file:///work/{name}")
    }

    pub fn text(&self, name: &str) -> &str {
        &self.texts[name].1
    }

    /// Opens a text.
    pub fn open(&mut self, name: &str, text: &str) {
        self.texts.insert(name.to_owned(), (1, text.to_owned()));
        let document = json!({ "uri": Client::uri(name), "languageId": "hammock", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces a part of a text that occurs once.
    pub fn replace(&mut self, name: &str, old: &str, new: &str) {
        let (version, text) = self.texts[name].clone();
        let start = only(&text, old);
        let range = json!({ "start": position(&text, start), "end": position(&text, start + old.len()) });
        let after = format!("{}{new}{}", &text[..start], &text[start + old.len()..]);
        self.texts.insert(name.to_owned(), (version + 1, after));
        let document = json!({ "uri": Client::uri(name), "version": version + 1 });
        let changes = json!([{ "range": range, "text": new }]);
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// The parameters of a request about the position of `|` in a part of a text that occurs once.
    pub fn at(&self, name: &str, pattern: &str) -> Value {
        let text = self.text(name);
        let before = pattern.find('|').expect("a pattern has a cursor");
        let offset = only(text, &pattern.replacen('|', "", 1)) + before;
        json!({ "textDocument": { "uri": Client::uri(name) }, "position": position(text, offset) })
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the server writes JSON"))
}

fn only(text: &str, part: &str) -> usize {
    assert_eq!(text.matches(part).count(), 1, "`{part}` in:\n{text}");
    text.find(part).unwrap()
}

/// The position of an offset, in UTF-16.
pub fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": before.matches('\n').count(), "character": before[line_start..].encode_utf16().count() })
}

/// The offset of a position in UTF-16.
pub fn offset(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().unwrap() as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let units = position["character"].as_u64().unwrap() as usize;
    let mut count = 0;
    let chars = text[start..].char_indices().take_while(|(_, c)| {
        let is_before = count < units;
        count += c.len_utf16();
        is_before
    });
    start + chars.map(|(_, c)| c.len_utf8()).sum::<usize>()
}
