//! Diagnostics as JSON objects.

use serde_json::{Map, Value, json};

use crate::{Diagnostic, SourceFile, Span};

/// A diagnostic as a JSON object.
///
/// `file`, `code`, `severity`, `message`, `help` (a list of strings), `labels` (objects with `message`, `primary` and a
/// place), and the place of the first primary label. A place is `line`, `column`, `end_line`, `end_column`: from 1, in
/// characters, the end exclusive; `null` where no source text is concerned.
pub fn render_json(diagnostic: &Diagnostic, file: Option<&SourceFile>) -> Value {
    let labels = diagnostic.labels.iter().map(|label| {
        let mut object = place(file, label.span);
        object.insert("message".into(), json!(label.message));
        object.insert("primary".into(), json!(label.primary));
        Value::Object(object)
    });
    let mut object = place(file, diagnostic.span());
    object.insert("file".into(), json!(file.map(SourceFile::name)));
    object.insert("code".into(), json!(diagnostic.code));
    object.insert("severity".into(), json!(diagnostic.severity.name()));
    object.insert("message".into(), json!(diagnostic.message));
    object.insert("labels".into(), labels.collect());
    object.insert("help".into(), json!(diagnostic.help));
    Value::Object(object)
}

fn place(file: Option<&SourceFile>, span: Span) -> Map<String, Value> {
    let file = file.filter(|_| !span.is_none());
    let start = file.map(|file| file.position(span.start));
    let end = file.map(|file| file.position(span.end.max(span.start)));
    let mut object = Map::new();
    object.insert("line".into(), json!(start.map(|at| at.line)));
    object.insert("column".into(), json!(start.map(|at| at.column)));
    object.insert("end_line".into(), json!(end.map(|at| at.line)));
    object.insert("end_column".into(), json!(end.map(|at| at.column)));
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_one_based_and_null_without_text() {
        let file = SourceFile::new("m.py", "x = 1\ny = é + z\n").unwrap();
        let diagnostic = Diagnostic::warning("E0201", "odd").label(Span::new(10, 12), "this").help("do that");
        let expected = json!({
            "file": "m.py", "line": 2, "column": 5, "end_line": 2, "end_column": 6,
            "code": "E0201", "severity": "warning", "message": "odd", "help": ["do that"],
            "labels": [{"line": 2, "column": 5, "end_line": 2, "end_column": 6, "message": "this", "primary": true}],
        });
        assert_eq!(render_json(&diagnostic, Some(&file)), expected);
        let bare = render_json(&Diagnostic::error("E0301", "no"), None);
        assert_eq!((&bare["line"], &bare["file"], &bare["severity"]), (&Value::Null, &Value::Null, &json!("error")));
    }
}
