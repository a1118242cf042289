//! Attributes of ONNX operators by version.
//!
//! Nodes are checked against the declarations of their operators before they are imported. Otherwise an attribute that
//! the operator does not have in the model's version would be ignored, or have the meaning of a later version.

use super::Op;
use hammock_ir::relax::InferError;
use hammock_runtime::suggest::nearest;

/// Newest supported version of the file format.
pub const MAX_IR_VERSION: i64 = 14;

/// Newest supported versions of ONNX's domains, whose operators declare their attributes.
pub const MAX_OPSETS: &[(&str, i64)] = &[("", 28), ("ai.onnx.ml", 5), ("ai.onnx.preview", 1)];

/// An attribute of an operator, and the versions that have it.
struct Attribute {
    name: &'static str,
    since: i64,
    until: i64,
}

impl Attribute {
    /// Returns the attributes that an operator declares.
    fn all(op: &Op) -> Vec<Attribute> {
        op.attributes.split_whitespace().map(Attribute::parse).collect()
    }

    fn parse(text: &'static str) -> Attribute {
        let (name, versions) = text.split_once('@').unwrap_or((text, ""));
        let (since, until) = versions.split_once('-').unwrap_or((versions, ""));
        Attribute { name, since: since.parse().unwrap_or(1), until: until.parse().unwrap_or(i64::MAX) }
    }
}

/// Checks that an operator has these attributes in a version.
///
/// # Errors
/// If an attribute does not exist.
pub fn check_attributes<'n>(op: &Op, version: i64, names: impl IntoIterator<Item = &'n str>) -> Result<(), InferError> {
    let known = Attribute::all(op);
    let is_listed = MAX_OPSETS.iter().any(|(domain, _)| *domain == op.domain) || !known.is_empty();
    names.into_iter().filter(|_| is_listed).try_for_each(|name| check_attribute(op, version, &known, name))
}

fn check_attribute(op: &Op, version: i64, known: &[Attribute], name: &str) -> Result<(), InferError> {
    let has = |attribute: &&Attribute| (attribute.since..=attribute.until).contains(&version);
    let of_name = || known.iter().filter(|attribute| attribute.name == name);
    if of_name().any(|attribute| has(&attribute)) {
        return Ok(());
    }
    let shown = crate::listing::brief(name);
    match (of_name().find(|a| a.since > version), of_name().find(|a| a.until < version)) {
        (Some(later), _) => {
            let since = later.since;
            let message =
                format!("its attribute `{shown}` came in version {since}, but the model uses version {version}");
            Err(InferError::new(message).help("leave the attribute out, or import a newer version of the operators"))
        }
        (_, Some(earlier)) => {
            let until = earlier.until;
            let message =
                format!("it has no attribute `{shown}` after version {until}, and the model uses version {version}");
            Err(InferError::new(message).help("leave the attribute out; what it said may be an input now"))
        }
        (None, None) => {
            let names: Vec<&str> = known.iter().filter(has).map(|attribute| attribute.name).collect();
            let error = InferError::new(format!("`{}` has no attribute `{shown}`", op.name));
            Err(error.help(match (nearest(name, names.iter().copied()), names.as_slice()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => format!("in version {version} it has none"),
                (None, names) => format!("in version {version} it has {}", names.join(", ")),
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    fn message(name: &str, version: i64, attribute: &str) -> Option<String> {
        let op = ops::find("", name).unwrap();
        check_attributes(op, version, [attribute]).err().map(|error| error.message)
    }

    #[test]
    fn attributes_belong_to_versions() {
        assert_eq!(message("Clip", 10, "min"), None);
        assert_eq!(message("MaxPool", 28, "strides"), None);
        let later = message("MaxPool", 9, "ceil_mode").unwrap();
        assert_eq!(later, "its attribute `ceil_mode` came in version 10, but the model uses version 9");
        let earlier = message("Clip", 13, "min").unwrap();
        assert_eq!(earlier, "it has no attribute `min` after version 10, and the model uses version 13");
        assert_eq!(message("MaxPool", 13, "stride").unwrap(), "`MaxPool` has no attribute `stride`");
        assert_eq!(message("Add", 6, "axis"), None);
        assert_eq!(message("Abs", 13, "axis").unwrap(), "`Abs` has no attribute `axis`");
    }

    /// Each attribute has well-formed versions, and each operator is declared once.
    #[test]
    fn declarations_are_well_formed() {
        let mut declared = std::collections::HashSet::new();
        for Op { domain, name, attributes, .. } in ops::all() {
            assert!(declared.insert((domain, name)), "{name} is declared twice");
            for text in attributes.split_whitespace() {
                let Attribute { since, until, .. } = Attribute::parse(text);
                let versions = text.split_once('@').map_or("", |(_, versions)| versions);
                let well_formed = versions.split('-').all(|v| v.is_empty() || v.parse::<i64>().is_ok());
                assert!(well_formed && since <= until && text.matches('-').count() <= 1, "{name}: {text}");
            }
        }
    }
}
