//! Diagnostics as JSON objects.

use serde_json::{Map, Value, json};

use crate::{Diagnostic, SourceFile, Span};

/// A diagnostic as a JSON object.
///
/// - `source`, always `hammock`; `file`; `code`; `severity`: `error`, `warning` or `note`; `message`
/// - the position of the first primary label
/// - `labels`: objects with `message`, `primary` and a position
/// - `help`: a list of strings
/// - `fixes`: suggested changes, objects with `text` and the position that it replaces
///
/// A position is `line`, `column`, `end_line`, `end_column`, which count from 1, in characters; and `range`, as in the
/// Language Server Protocol: `start` and `end` with `line` and `character`, which count from 0, in UTF-16 code units.
/// Ends are exclusive. All are `null` if no source text is concerned.
pub fn render_json(diagnostic: &Diagnostic, file: Option<&SourceFile>) -> Value {
    let file = diagnostic.file.as_deref().or(file);
    let diagnostic = &diagnostic.narrowed(file);
    let labels = diagnostic.labels.iter().map(|label| {
        let mut object = position(file, label.span);
        object.insert("message".into(), json!(label.message));
        object.insert("primary".into(), json!(label.primary));
        Value::Object(object)
    });
    let fixes = diagnostic.fixes.iter().map(|fix| {
        let mut object = position(file, fix.span);
        object.insert("text".into(), json!(fix.text));
        Value::Object(object)
    });
    let mut object = position(file, diagnostic.span());
    object.insert("source".into(), json!("hammock"));
    object.insert("file".into(), json!(file.map(SourceFile::name)));
    object.insert("code".into(), json!(diagnostic.code));
    object.insert("severity".into(), json!(diagnostic.severity.name()));
    object.insert("message".into(), json!(diagnostic.message));
    object.insert("labels".into(), labels.collect());
    object.insert("help".into(), json!(diagnostic.help));
    object.insert("fixes".into(), fixes.collect());
    Value::Object(object)
}

fn position(file: Option<&SourceFile>, span: Span) -> Map<String, Value> {
    let file = file.filter(|_| !span.is_none());
    let start = file.map(|file| file.position(span.start));
    let end = file.map(|file| file.position(span.end.max(span.start)));
    let range = file.map(|file| {
        json!({ "start": protocol_position(file, span.start), "end": protocol_position(file, span.end.max(span.start)) })
    });
    let mut object = Map::new();
    object.insert("line".into(), json!(start.map(|at| at.line)));
    object.insert("column".into(), json!(start.map(|at| at.column)));
    object.insert("end_line".into(), json!(end.map(|at| at.line)));
    object.insert("end_column".into(), json!(end.map(|at| at.column)));
    object.insert("range".into(), json!(range));
    object
}

/// A position in the Language Server Protocol.
fn protocol_position(file: &SourceFile, offset: u32) -> Value {
    let line = file.line_index(offset);
    let before = &file.text()[file.line_span(line).start as usize..file.text().floor_char_boundary(offset as usize)];
    json!({ "line": line, "character": before.encode_utf16().count() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_both_ways() {
        let file = SourceFile::new("m.py", "x = 1\ny = 𝛼 + zz\n").unwrap();
        let diagnostic = Diagnostic::warning("E0201", "odd")
            .label(Span::new(17, 19), "this")
            .secondary(Span::new(10, 14), "")
            .did_you_mean(Span::new(17, 19), "x");
        let zz = json!({
            "line": 2, "column": 9, "end_line": 2, "end_column": 11,
            "range": {"start": {"line": 1, "character": 9}, "end": {"line": 1, "character": 11}},
        });
        let alpha = json!({
            "line": 2, "column": 5, "end_line": 2, "end_column": 6,
            "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 6}},
        });
        let with = |position: &Value, rest: Value| {
            let mut object = position.as_object().unwrap().clone();
            object.extend(rest.as_object().unwrap().clone());
            Value::Object(object)
        };
        let expected = with(
            &zz,
            json!({
                "source": "hammock", "file": "m.py", "code": "E0201", "severity": "warning", "message": "odd",
                "help": ["did you mean `x`?"],
                "labels": [
                    with(&zz, json!({"message": "this", "primary": true})),
                    with(&alpha, json!({"message": "", "primary": false})),
                ],
                "fixes": [with(&zz, json!({"text": "x"}))],
            }),
        );
        assert_eq!(render_json(&diagnostic, Some(&file)), expected);
    }

    #[test]
    fn places_are_null_without_text() {
        let bare = render_json(&Diagnostic::error("E0301", "no"), None);
        assert_eq!((&bare["line"], &bare["file"], &bare["severity"]), (&Value::Null, &Value::Null, &json!("error")));
        assert_eq!((&bare["range"], &bare["fixes"]), (&Value::Null, &json!([])));
    }
}
