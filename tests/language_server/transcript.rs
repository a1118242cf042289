//! Transcripts: files of requests, each of which is run, and shown with the server's answer in a form for people.
//!
//! `TEXT` in backquotes is a part of the last opened text that occurs once; `|` in it is the cursor. Positions in answers
//! count lines and columns from 1, in UTF-16, and ranges show their text.

use crate::client::{Client, offset};
use serde_json::{Value, json};
use std::fmt::Write;

/// Runs a transcript; returns it with the answers.
pub fn run(script: &str) -> String {
    let capabilities = json!({ "textDocument": { "publishDiagnostics": { "relatedInformation": true } } });
    let (client, result) = Client::initialized(capabilities);
    let mut run = Run { client, name: String::new(), legend: result["capabilities"]["semanticTokensProvider"].clone() };
    let mut shown = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        writeln!(shown, "{line}").unwrap();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut text = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("  | ") || *line == "  |") {
            writeln!(shown, "{line}").unwrap();
            text += line.get(4..).unwrap_or_default();
            text.push('\n');
        }
        let answer = run.step(line, &text);
        answer.trim_end().lines().for_each(|line| writeln!(shown, "    {line}").unwrap());
    }
    run.client.result("shutdown", Value::Null);
    run.client.notify("exit", Value::Null);
    let (status, said) = run.client.end();
    assert!(status.success() && said.is_empty(), "{status}: {said}");
    shown
}

struct Run {
    client: Client,
    name: String,
    legend: Value,
}

impl Run {
    fn step(&mut self, line: &str, text: &str) -> String {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (pattern, rest): (&str, &str) = match rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            Some((pattern, rest)) => (pattern, rest.trim()),
            None => ("", rest),
        };
        let pattern = &pattern.replace("\\n", "\n");
        match command {
            "open" => {
                self.name = rest.to_owned();
                self.client.open(rest, text);
                self.diagnostics()
            }
            "replace" => {
                let new = rest.strip_prefix("by `").unwrap().strip_suffix('`').unwrap();
                self.client.replace(&self.name, pattern, &new.replace("\\n", "\n"));
                self.diagnostics()
            }
            "hover" => {
                let hover = self.ask("textDocument/hover", pattern, json!({}));
                match hover["contents"]["value"].as_str() {
                    Some(text) => format!("at {}\n{text}", self.range(&hover["range"])),
                    None => self.show(&hover),
                }
            }
            "definition" => self.locations("textDocument/definition", pattern),
            "references" => self.locations_with(
                "textDocument/references",
                pattern,
                json!({ "context": { "includeDeclaration": true } }),
            ),
            "highlights" => self.locations("textDocument/documentHighlight", pattern),
            "prepare-rename" => {
                let answer = self.ask("textDocument/prepareRename", pattern, json!({}));
                self.show(&answer)
            }
            "rename" => {
                let name = rest.strip_prefix("to ").unwrap_or(rest);
                let answer = self.ask("textDocument/rename", pattern, json!({ "newName": name }));
                self.edited(&answer)
            }
            "fixes" => {
                let at = self.client.at(&self.name, pattern);
                let range = json!({ "start": at["position"], "end": at["position"] });
                let params =
                    json!({ "textDocument": at["textDocument"], "range": range, "context": { "diagnostics": [] } });
                let actions = self.client.result("textDocument/codeAction", params);
                let shown =
                    |action: &Value| format!("{}\n{}", action["title"].as_str().unwrap(), self.edited(&action["edit"]));
                actions.as_array().unwrap().iter().map(shown).collect()
            }
            "complete" => self.completion(pattern, rest),
            "format" => {
                let answer = self.ask(
                    "textDocument/formatting",
                    "",
                    json!({ "options": { "tabSize": 4, "insertSpaces": true } }),
                );
                match answer.as_array() {
                    Some(_) => self.edited(&json!({ "changes": { Client::uri(&self.name): answer } })),
                    None => self.show(&answer),
                }
            }
            "symbols" => {
                let answer = self.ask("textDocument/documentSymbol", "", json!({}));
                self.show(&answer)
            }
            "tokens" => self.tokens(),
            _ => panic!("unknown step {line}"),
        }
    }

    /// The result of a request about a position or the document, or its error.
    fn ask(&mut self, method: &str, pattern: &str, more: Value) -> Value {
        let mut params = match pattern {
            "" => json!({ "textDocument": { "uri": Client::uri(&self.name) } }),
            pattern => self.client.at(&self.name, pattern),
        };
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let response = self.client.ask(method, params);
        if response["error"].is_null() { response["result"].clone() } else { response["error"].clone() }
    }

    fn diagnostics(&mut self) -> String {
        let published = self.client.notification("textDocument/publishDiagnostics");
        let found = published["diagnostics"].as_array().unwrap();
        let mut shown = String::new();
        for diagnostic in found {
            let severity = ["", "error", "warning", "information"][diagnostic["severity"].as_u64().unwrap() as usize];
            let code = diagnostic["code"].as_str().unwrap_or_default();
            writeln!(shown, "{severity} {code} at {}", self.range(&diagnostic["range"])).unwrap();
            diagnostic["message"].as_str().unwrap().lines().for_each(|line| writeln!(shown, "  {line}").unwrap());
            for related in diagnostic["relatedInformation"].as_array().into_iter().flatten() {
                let range = self.range(&related["location"]["range"]);
                writeln!(shown, "  {range}: {}", related["message"].as_str().unwrap()).unwrap();
            }
        }
        if found.is_empty() { "no diagnostics".to_owned() } else { shown }
    }

    fn locations(&mut self, method: &str, pattern: &str) -> String {
        self.locations_with(method, pattern, json!({}))
    }

    fn locations_with(&mut self, method: &str, pattern: &str, more: Value) -> String {
        let answer = self.ask(method, pattern, more);
        let Some(all) = answer.as_array() else { return self.show(&answer) };
        all.iter().map(|location| self.range(&location["range"]) + "\n").collect()
    }

    fn completion(&mut self, pattern: &str, rest: &str) -> String {
        let answer = self.ask("textDocument/completion", pattern, json!({}));
        let items = answer.as_array().unwrap();
        // `... NAME` shows only the item of that name, with its documentation.
        if let Some(name) = rest.strip_prefix("... ") {
            let item =
                items.iter().find(|item| item["label"] == name).unwrap_or_else(|| panic!("no `{name}` in {items:?}"));
            let resolved = self.client.result("completionItem/resolve", item.clone());
            return format!("one of {}\n{:#}", items.len(), resolved);
        }
        let shown = |item: &Value| {
            let detail = item["detail"].as_str().map_or(String::new(), |detail| format!("  {detail}"));
            format!("{}{detail}\n", item["label"].as_str().unwrap())
        };
        items.iter().map(shown).collect()
    }

    /// The lines that edits change.
    fn edited(&self, edit: &Value) -> String {
        let Some(edits) = edit["changes"][Client::uri(&self.name)].as_array() else { return self.show(edit) };
        let text = self.client.text(&self.name);
        let mut after = text.to_owned();
        for edit in edits.iter().rev() {
            let [start, end] = ["start", "end"].map(|end| offset(text, &edit["range"][end]));
            after.replace_range(start..end, edit["newText"].as_str().unwrap());
        }
        let diff = similar::TextDiff::from_lines(text, &after);
        let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
        changes.map(|change| format!("{} {}\n", change.tag(), change.value().trim_end_matches('\n'))).collect()
    }

    /// Each token with its class, by lines.
    fn tokens(&mut self) -> String {
        let answer = self.ask("textDocument/semanticTokens/full", "", json!({}));
        let types = self.legend["legend"]["tokenTypes"].as_array().unwrap().clone();
        let text = self.client.text(&self.name);
        let data: Vec<u64> = answer["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        let (mut line, mut character, mut shown) = (0, 0, String::new());
        for token in data.chunks(5) {
            if token[0] > 0 && !shown.is_empty() {
                shown.push('\n');
            }
            (line, character) = (line + token[0], if token[0] == 0 { character + token[1] } else { token[1] });
            let at = |character: u64| offset(text, &json!({ "line": line, "character": character }));
            let part = &text[at(character)..at(character + token[2])];
            let declared = if token[4] & 1 == 1 { "'" } else { "" };
            write!(shown, "{part} {}{declared}; ", types[token[3] as usize].as_str().unwrap()).unwrap();
        }
        shown.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// JSON with ranges in short.
    fn show(&self, value: &Value) -> String {
        format!("{:#}", self.shortened(value))
    }

    fn shortened(&self, value: &Value) -> Value {
        match value {
            Value::Object(object) if object.contains_key("start") && object.contains_key("end") => {
                json!(self.range(value))
            }
            Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), self.shortened(value))).collect(),
            Value::Array(list) => list.iter().map(|value| self.shortened(value)).collect(),
            other => other.clone(),
        }
    }

    fn range(&self, range: &Value) -> String {
        let text = self.client.text(&self.name);
        let shown =
            |at: &Value| format!("{}:{}", at["line"].as_u64().unwrap() + 1, at["character"].as_u64().unwrap() + 1);
        let part = &text[offset(text, &range["start"])..offset(text, &range["end"])];
        let part = if part.contains('\n') { "…".to_owned() } else { format!("`{part}`") };
        format!("{}-{} {part}", shown(&range["start"]), shown(&range["end"]))
    }
}
