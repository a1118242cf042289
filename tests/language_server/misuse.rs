//! Clients that send nonsense, edits that do not fit, streams that end.

use crate::{client::Client, support::root};
use serde_json::{Value, json};
use std::{fs, path::Path, time::Instant};

const MODEL: &str = "@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    y = R.exp(x)\n    return y\n";

fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {response}"))
}

fn document(name: &str) -> Value {
    json!({ "textDocument": { "uri": Client::uri(name) } })
}

fn at(name: &str, line: u64, character: u64) -> Value {
    let position = json!({ "line": line, "character": character });
    json!({ "textDocument": { "uri": Client::uri(name) }, "position": position })
}

/// Shuts the server down, which must end without errors.
fn finish(mut client: Client) {
    client.result("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    let (status, said) = client.end();
    assert!(status.success() && said.is_empty(), "{status}: {said}");
}

#[test]
fn requests_have_their_time() {
    let mut client = Client::start();
    assert_eq!(code(&client.ask("textDocument/hover", at("a.py", 0, 0))), -32002);
    client.notify("textDocument/didOpen", json!({}));
    assert_eq!(code(&client.ask("initialize", json!({ "capabilities": 7 }))), -32602);
    client.result("initialize", json!({ "capabilities": {} }));
    assert_eq!(code(&client.ask("initialize", json!({ "capabilities": {} }))), -32600);
    client.result("shutdown", Value::Null);
    assert_eq!(code(&client.ask("textDocument/hover", at("a.py", 0, 0))), -32600);
    assert_eq!(code(&client.ask("shutdown", Value::Null)), -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.end().0.code(), Some(0));
}

#[test]
fn the_status_says_how_a_connection_ended() {
    let (mut client, _) = Client::initialized(json!({}));
    client.notify("exit", Value::Null);
    let (status, said) = client.end();
    assert!(status.code() == Some(1) && said.contains("without the request `shutdown`"), "{said}");
    let (client, _) = Client::initialized(json!({}));
    assert_eq!(client.end().0.code(), Some(1), "the stream ends");
    let (mut client, _) = Client::initialized(json!({}));
    client.result("shutdown", Value::Null);
    assert_eq!(client.end().0.code(), Some(0), "the stream ends after `shutdown`");
    let mut client = Client::start();
    client.write(b"hello\r\n\r\n");
    let (status, said) = client.end();
    assert!(status.code() == Some(1) && said.contains("no header: \"hello\""), "{said}");
    let mut client = Client::start();
    client.write(b"Content-Length: 100\r\n\r\n{");
    assert_eq!(client.end().0.code(), Some(1), "the stream ends in a message");
}

#[test]
fn invalid_messages_and_parameters_are_refused() {
    let (mut client, _) = Client::initialized(json!({}));
    for (body, expected) in [
        ("{", -32700),
        ("\u{1}", -32700),
        ("[]", -32600),
        ("null", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (r#"{"id":null,"method":"shutdown"}"#, -32600),
        (r#"{"id":1e30,"method":"shutdown"}"#, -32600),
        (r#"{"id":1,"method":["shutdown"]}"#, -32600),
    ] {
        client.write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        let response = client.receive();
        assert_eq!((code(&response), &response["id"]), (expected, &Value::Null), "{body}");
    }
    client.open("a.py", MODEL);
    for (method, params, expected) in [
        ("no/such", json!({}), -32601),
        ("$/no/such", json!({}), -32601),
        ("textDocument/hover", Value::Null, -32602),
        ("textDocument/hover", json!([1]), -32602),
        ("textDocument/hover", document("a.py"), -32602),
        ("textDocument/hover", json!({ "textDocument": { "uri": 7 }, "position": {} }), -32602),
        ("textDocument/hover", at("other.py", 0, 0), -32602),
        ("textDocument/hover", at("a.py", 99, 0), -32602),
        (
            "textDocument/hover",
            json!({ "textDocument": document("a.py")["textDocument"], "position": { "line": -1, "character": 0 } }),
            -32602,
        ),
        ("textDocument/rename", at("a.py", 0, 0), -32602),
        ("textDocument/semanticTokens/full", document("other.py"), -32602),
    ] {
        let response = client.ask(method, params.clone());
        assert_eq!(code(&response), expected, "{method} {params}: {response}");
    }
    // Responses to nothing and unknown notifications are ignored.
    client.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": null }));
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    // A column after the end of the line is the end of the line.
    let hover = client.result("textDocument/hover", at("a.py", 2, 9999));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("R.Tensor((2,), dtype=\"float32\")"), "{hover}");
    finish(client);
}

#[test]
fn edits_that_do_not_fit_are_reported() {
    let (mut client, _) = Client::initialized(json!({}));
    let change = |client: &mut Client, name: &str, version: i64, changes: Value| {
        let document = json!({ "uri": Client::uri(name), "version": version });
        client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    };
    let logged = |client: &Client| client.notification("window/logMessage")["message"].as_str().unwrap().to_owned();
    let hover = |client: &mut Client| client.ask("textDocument/hover", at("a.py", 2, 4));
    let range = |lines: [u64; 2]| json!({ "start": { "line": lines[0], "character": 0 }, "end": { "line": lines[1], "character": 0 } });

    change(&mut client, "a.py", 2, json!([]));
    assert!(logged(&client).contains("a.py is not open"));
    client.notify("textDocument/didClose", document("a.py"));
    assert!(logged(&client).contains("a.py is not open"));
    client.notify("textDocument/didOpen", json!({ "textDocument": 7 }));
    assert!(logged(&client).contains("invalid parameters"));

    client.open("a.py", MODEL);
    client.open("a.py", MODEL);
    assert!(logged(&client).contains("open already"));
    change(&mut client, "a.py", 1, json!([{ "text": "" }]));
    assert!(logged(&client).contains("version 1 of file:///work/a.py is not after version 1"));
    assert!(hover(&mut client)["result"].is_object(), "the edit is ignored");

    // An edit outside the text makes the text unknown, until it comes as a whole.
    for (version, lines) in [(5, [99, 99]), (7, [2, 1])] {
        change(
            &mut client,
            "a.py",
            version,
            json!([{ "range": range(lines), "text": "x" }, { "range": range([0, 0]), "text": "" }]),
        );
        let said = logged(&client);
        assert!(said.contains("outside the text of 5 lines") || said.contains("before its start"), "{said}");
        let refused = hover(&mut client);
        assert!(code(&refused) == -32803 && refused.to_string().contains("open it again"), "{refused}");
        let published = client.notification("textDocument/publishDiagnostics");
        assert!(published.to_string().contains("does not know this text"), "{published}");
        change(&mut client, "a.py", version + 1, json!([{ "text": MODEL }]));
        assert!(hover(&mut client)["result"].is_object());
    }
    // Several edits apply in order; the end of the text is the line after the last.
    change(
        &mut client,
        "a.py",
        9,
        json!([
            { "range": range([0, 5]), "text": "" },
            { "range": range([0, 0]), "text": MODEL },
            { "range": range([4, 4]), "text": "# end\n" },
        ]),
    );
    assert!(hover(&mut client)["result"].is_object());
    finish(client);
}

#[test]
fn cancelled_requests_are_answered() {
    let (mut client, _) = Client::initialized(json!({}));
    client.open("large.py", &large(1 << 20));
    // The analysis for the first request takes longer than reading the next messages.
    let first = client.request("textDocument/hover", at("large.py", 5, 8));
    let second = client.request("textDocument/hover", at("large.py", 5, 8));
    let third = client.request("textDocument/documentSymbol", document("large.py"));
    client.notify("$/cancelRequest", json!({ "id": second }));
    client.notify("$/cancelRequest", json!({ "id": "unknown" }));
    client.notify("$/cancelRequest", json!(null));
    assert!(client.response(first)["error"].is_null());
    assert_eq!(code(&client.response(second)), -32800);
    assert!(client.response(third)["error"].is_null());
    client.notify("$/cancelRequest", json!({ "id": third }));
    finish(client);
}

/// A module of that many bytes.
pub fn large(bytes: usize) -> String {
    let mut text = "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n".to_owned();
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text += &format!("    @R.function\n    def f{number}(x: R.Tensor((\"n\", 4), \"float32\")):\n");
        for step in 0..50 {
            text += &format!(
                "        y{step} = R.add(x, R.exp(x))\n        x = R.multiply(y{step}, R.const(2.0, \"float32\"))\n"
            );
        }
        text += "        return x\n\n";
    }
    text
}

#[test]
fn a_burst_of_edits_costs_one_analysis() {
    let (mut client, _) = Client::initialized(json!({}));
    client.open("large.py", &large(1 << 20));
    let edits = 100;
    for edit in 0..edits {
        let (old, new) = (format!("\n# {}\n", edit - 1), format!("\n# {edit}\n"));
        client.replace(
            "large.py",
            if edit == 0 { "\nclass Module:\n" } else { &old },
            if edit == 0 { "\n# 0\nclass Module:\n" } else { &new },
        );
    }
    let start = Instant::now();
    let mut published = Vec::new();
    while published.last() != Some(&(edits + 1)) {
        published.push(client.notification("textDocument/publishDiagnostics")["version"].as_i64().unwrap());
    }
    assert!(published.len() <= 5, "analysed {published:?}");
    eprintln!("diagnostics after {edits} edits of 1 MiB: {:?}, of versions {published:?}", start.elapsed());
    finish(client);
}

#[test]
fn columns_are_bytes_if_the_client_can_count_them() {
    let capabilities = json!({ "general": { "positionEncodings": ["utf-32", "utf-8", "utf-16"] } });
    let (mut client, result) = Client::initialized(capabilities);
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-8");
    client.open("a.py", "# CR LF\r\n@R.function\r\ndef main(x: R.Tensor((2,), \"float32\")):\r\n\t\"\"\"𝛼\"\"\"; y = R.exp(q)\r\n\treturn x\r\n");
    let published = client.notification("textDocument/publishDiagnostics");
    let expected = json!({ "start": { "line": 3, "character": 23 }, "end": { "line": 3, "character": 24 } });
    assert_eq!(published["diagnostics"][0]["range"], expected);
    finish(client);
    let (client, result) = Client::initialized(json!({}));
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
    finish(client);
}

/// All files in a folder.
fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, found);
        } else if let Ok(text) = fs::read_to_string(entry) {
            found.push(text);
        }
    }
}

/// Every request about texts with errors, and about texts that end in the middle of something, has a response.
#[test]
fn texts_with_errors_are_served() {
    let (mut client, _) = Client::initialized(json!({}));
    let mut texts = Vec::new();
    files(&root().join("tests/bad"), &mut texts);
    let whole = texts.len();
    let mut examples = Vec::new();
    files(&root().join("ir-examples/language"), &mut examples);
    for text in examples {
        texts.extend([4, 3, 2].map(|part| text[..text.floor_char_boundary(text.len() / part)].to_owned()));
    }
    assert!(whole > 50 && texts.len() > whole + 30);
    for (number, text) in texts.iter().enumerate() {
        let name = format!("{number}.py");
        client.open(&name, text);
        for method in ["semanticTokens/full", "documentSymbol"] {
            client.result(&format!("textDocument/{method}"), document(&name));
        }
        let lines = text.lines().count() as u64;
        for step in 0..8 {
            let position = at(&name, lines * step / 8, (number as u64 * 7 + step * 5) % 40);
            for method in ["hover", "definition", "completion", "documentHighlight"] {
                client.result(&format!("textDocument/{method}"), position.clone());
            }
            let mut rename = position.clone();
            rename["newName"] = json!("renamed");
            client.ask("textDocument/rename", rename);
        }
        client.notify("textDocument/didClose", document(&name));
    }
    finish(client);
}
