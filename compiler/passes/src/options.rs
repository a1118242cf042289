//! Options of passes. Each is declared with a type, a default and a description, and given as JSON.

use crate::Pass;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_runtime::suggest::nearest;
use serde_json::Value;
use std::fmt;

/// Declaration of an option.
#[derive(Debug, PartialEq)]
pub struct PassOption {
    /// Its name, that of TVM's keyword argument.
    pub name: &'static str,
    /// Its kind of values.
    pub kind: OptionKind,
    /// Its default, as JSON.
    pub default: &'static str,
    /// Its description, in one line.
    pub doc: &'static str,
}

/// Kind of an option's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// An integer.
    Integer,
    /// A string.
    Text,
    /// A string, or `null` for none.
    OptionalText,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// `true`, `false`, or a list of strings.
    BoolOrTexts,
    /// An object whose values are integers.
    Integers,
    /// An object whose values are types of tensors: objects of a `shape`, a `dtype` or both.
    Types,
    /// An object whose values are lists of strings.
    TextLists,
    /// An object whose values are names.
    Names,
    /// An object whose values are lists of index maps, `null` for none.
    IndexMaps,
    /// An object whose values are objects.
    Objects,
    /// Patterns: a file of them, or a list of pairs of strings, each a name and a pattern.
    Patterns,
    /// A device: an object of `target` (a string or an object), `vdevice_id` and `memory_scope`.
    Device,
}

impl OptionKind {
    fn takes(self, value: &Value) -> bool {
        match self {
            OptionKind::Bool => value.is_boolean(),
            OptionKind::Integer => value.is_i64(),
            OptionKind::Text => value.is_string(),
            OptionKind::OptionalText => value.is_string() || value.is_null(),
            OptionKind::BoolOrTexts => OptionKind::Bool.takes(value) || OptionKind::Texts.takes(value),
            OptionKind::Choice(names) => value.as_str().is_some_and(|text| names.contains(&text)),
            OptionKind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            OptionKind::Types => value.as_object().is_some_and(|map| map.values().all(is_type)),
            OptionKind::Integers => value.as_object().is_some_and(|map| map.values().all(Value::is_i64)),
            OptionKind::Objects => value.as_object().is_some_and(|map| map.values().all(Value::is_object)),
            OptionKind::Patterns => value.is_string() || value.as_array().is_some_and(|list| list.iter().all(is_pair)),
            OptionKind::Device => is_device(value),
            OptionKind::Names => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
            OptionKind::IndexMaps => value.as_object().is_some_and(|map| {
                let mut lists = map.values().map(Value::as_array);
                lists.all(|list| list.is_some_and(|list| list.iter().all(|map| OptionKind::OptionalText.takes(map))))
            }),
            OptionKind::TextLists => {
                value.as_object().is_some_and(|map| map.values().all(|list| OptionKind::Texts.takes(list)))
            }
        }
    }
}

impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionKind::Bool => f.write_str("`true` or `false`"),
            OptionKind::Integer => f.write_str("an integer"),
            OptionKind::Text => f.write_str("a string"),
            OptionKind::OptionalText => f.write_str("a string or `null`"),
            OptionKind::BoolOrTexts => f.write_str("`true`, `false` or a list of strings"),
            OptionKind::Choice(names) => {
                let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                f.write_str(&quoted.join(" or "))
            }
            OptionKind::Texts => f.write_str("a list of strings, `[\"a\", \"b\"]`"),
            OptionKind::Types => {
                f.write_str("an object of types, `{\"x\": {\"shape\": [4, \"n\"], \"dtype\": \"float16\"}}`")
            }
            OptionKind::Integers => f.write_str("an object of integers, `{\"n\": 3}`"),
            OptionKind::Objects => f.write_str("an object of objects, `{\"name\": {\"option\": 3}}`"),
            OptionKind::Patterns => {
                f.write_str("a file, `\"my.patterns\"`, or a list, `[[\"name\", \"R.add(_, _)\"]]`")
            }
            OptionKind::Device => {
                f.write_str("a device, `{\"target\": \"cuda\", \"vdevice_id\": 0, \"memory_scope\": \"global\"}`")
            }
            OptionKind::Names => f.write_str("an object of names, `{\"relax.add\": \"my_add\"}`"),
            OptionKind::IndexMaps => f.write_str(
                "an object of lists of index maps, `{\"relax.add\": [\"lambda i: (i // 4, i % 4)\", null]}`",
            ),
            OptionKind::TextLists => f.write_str("an object of lists of strings, `{\"name\": [\"a\", \"b\"]}`"),
        }
    }
}

/// Returns true if a value is an object of a shape (a list of sizes and names of sizes), a dtype, or both.
fn is_type(value: &Value) -> bool {
    value.as_object().is_some_and(|entries| {
        entries.iter().all(|(key, value)| match key.as_str() {
            "dtype" => value.is_string(),
            "shape" => value.as_array().is_some_and(|sizes| sizes.iter().all(|size| size.is_i64() || size.is_string())),
            _ => false,
        })
    })
}

fn is_pair(value: &Value) -> bool {
    value.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(Value::is_string))
}

fn is_device(value: &Value) -> bool {
    value.as_object().is_some_and(|entries| {
        entries.iter().all(|(key, value)| match key.as_str() {
            "target" => value.is_string() || value.is_object(),
            "vdevice_id" => value.is_i64(),
            "memory_scope" => value.is_string(),
            _ => false,
        })
    })
}

/// Options of one run of a pass, all declared by the pass and of the right kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    declared: &'static [PassOption],
    given: Vec<(&'static str, Value)>,
}

impl Options {
    /// Returns the defaults of a pass.
    pub fn of(pass: &'static Pass) -> Self {
        Options { declared: pass.options, given: Vec::new() }
    }

    /// Returns the strings in the values that were set.
    pub fn given_texts(&self) -> Vec<&str> {
        let mut open: Vec<&Value> = self.given.iter().map(|(_, value)| value).collect();
        let mut texts = Vec::new();
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => texts.push(text.as_str()),
                Value::Array(members) => open.extend(members),
                Value::Object(members) => open.extend(members.values()),
                _ => {}
            }
        }
        texts
    }

    /// Sets an option.
    ///
    /// # Errors
    /// If the pass has no such option, it is set already, or the value is of the wrong kind.
    pub fn set(&mut self, pass: &Pass, name: &str, value: Value) -> Result<(), Diagnostic> {
        let option = self.declared.iter().find(|option| option.name == name).ok_or_else(|| unknown(pass, name))?;
        let error = |message| Diagnostic::error(codes::BAD_PASS_OPTIONS, message);
        if self.given.iter().any(|(given, _)| *given == name) {
            return Err(error(format!("option `{name}` of pass `{}` is given twice", pass.name)).help("leave one out"));
        }
        if !option.kind.takes(&value) {
            let message = format!("option `{name}` of pass `{}` cannot be `{value}`", pass.name);
            return Err(error(message).help(format!("it takes {}", option.kind)));
        }
        self.given.push((option.name, value));
        Ok(())
    }

    /// Returns the options with these values, which must be valid.
    pub(crate) fn with<const N: usize>(mut self, given: [(&'static str, Value); N]) -> Self {
        self.given.extend(given);
        self
    }

    /// Returns the value of a boolean option.
    pub fn is_on(&self, name: &str) -> bool {
        self.value(name).as_bool().unwrap_or_default()
    }

    /// Returns the value of an integer option.
    pub fn integer(&self, name: &str) -> i64 {
        self.value(name).as_i64().unwrap_or_default()
    }

    /// Returns the value of a string option.
    pub fn text(&self, name: &str) -> String {
        self.value(name).as_str().unwrap_or_default().to_owned()
    }

    /// Returns the value of an option that is a list of strings.
    pub fn texts(&self, name: &str) -> Vec<String> {
        strings(&self.value(name))
    }

    /// Returns the value of an option that is an object of lists of strings.
    pub fn text_lists(&self, name: &str) -> Vec<(String, Vec<String>)> {
        let value = self.value(name);
        value.as_object().into_iter().flatten().map(|(key, list)| (key.clone(), strings(list))).collect()
    }

    /// Returns the value of an option that is a list of pairs of strings; `None` if it is a string.
    pub fn pairs(&self, name: &str) -> Option<Vec<(String, String)>> {
        let list = self.value(name);
        let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
        Some(list.as_array()?.iter().filter_map(pair).collect())
    }

    /// Returns the entries of an option that is an object.
    pub fn entries(&self, name: &str) -> Vec<(String, Value)> {
        match self.value(name) {
            Value::Object(entries) => entries.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the value of an option that is an object of integers.
    pub fn integers(&self, name: &str) -> Vec<(String, i64)> {
        let value = self.value(name);
        let entries = value.as_object().into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_i64()?))).collect()
    }

    fn value(&self, name: &str) -> Value {
        let given = self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone());
        let declared = || self.declared.iter().find(|option| option.name == name);
        debug_assert!(declared().is_some(), "no option `{name}` is declared");
        given.or_else(|| serde_json::from_str(declared()?.default).ok()).unwrap_or_default()
    }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Prints the options that are set, `{name=value,…}`, or nothing.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.given.is_empty() {
            return Ok(());
        }
        let given: Vec<String> = self.given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        write!(f, "{{{}}}", given.join(","))
    }
}

fn unknown(pass: &Pass, name: &str) -> Diagnostic {
    let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("pass `{}` has no option `{name}`", pass.name));
    let known: Vec<&str> = pass.options.iter().map(|option| option.name).collect();
    error.help(match (nearest(name, known.iter().copied()), known.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("it has none at all: write `{}`", pass.name),
        (None, _) => format!("it has {}", known.join(", ")),
    })
}
