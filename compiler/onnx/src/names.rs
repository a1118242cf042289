//! Valid identifiers from the names in a model.

use hammock_ir::print::RESERVED;
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces all characters but letters and digits by `_`.
pub fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// Returns the identifier of a node's output: `/layer1/Conv_output_0` becomes `layer1_Conv_output_0`.
pub fn binding_name(name: &str) -> String {
    let text = identifier(name);
    let bare = text.trim_start_matches('_');
    if bare.starts_with(|c: char| c.is_ascii_alphabetic()) { bare.to_owned() } else { format!("v{text}") }
}

/// Unique names of parameters and symbolic dimensions, so the printed text has the same names.
#[derive(Default)]
pub struct Names {
    taken: FxHashSet<String>,
    /// Names of parameters, by their names in the model.
    parameters: FxHashMap<String, String>,
}

impl Names {
    /// Returns the unique name of a parameter, creating it on first use.
    pub fn intern_parameter(&mut self, name: &str) -> String {
        if let Some(text) = self.parameters.get(name) {
            return text.clone();
        }
        let text = self.unique(identifier(name));
        self.parameters.insert(name.to_owned(), text.clone());
        text
    }

    /// Returns the name of a parameter, if it was created.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Creates a unique name for a symbolic dimension.
    pub fn add_size(&mut self, name: &str) -> String {
        self.unique(binding_name(name))
    }

    fn unique(&mut self, wanted: String) -> String {
        let mut text = wanted.clone();
        let mut number = 0;
        while RESERVED.contains(&text.as_str()) || !self.taken.insert(text.clone()) {
            number += 1;
            text = format!("{wanted}_{number}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = Names::default();
        let parameters =
            ["a.b", "a_b", "a_b_1", "n", "Module", "class", "R", ""].map(|name| names.intern_parameter(name));
        assert_eq!(parameters, ["a_b", "a_b_1", "a_b_1_1", "n", "Module_1", "class_1", "R_1", "_"]);
        assert_eq!(["n", "a.b", "class", "m"].map(|name| names.add_size(name)), ["n_1", "a_b_2", "class_2", "m"]);
        assert_eq!(names.intern_parameter("a_b"), "a_b_1");
    }
}
