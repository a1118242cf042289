//! Names of the file as names that a text can have.

use hammock_ir::print::RESERVED;
use rustc_hash::{FxHashMap, FxHashSet};

/// A name with `_` for everything but letters and digits.
pub fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// The name of what a node computes: `/layer1/Conv_output_0` is `layer1_Conv_output_0`.
pub fn of_binding(name: &str) -> String {
    let text = identifier(name);
    let bare = text.trim_start_matches('_');
    if bare.starts_with(|c: char| c.is_ascii_alphabetic()) { bare.to_owned() } else { format!("v{text}") }
}

/// Names of parameters and of symbolic sizes: no two are the same, so that a text has them as they are here.
#[derive(Default)]
pub struct Names {
    taken: FxHashSet<String>,
    /// Names of parameters, by those of the model.
    parameters: FxHashMap<String, String>,
}

impl Names {
    /// The name for a parameter, which nothing else gets.
    pub fn of_parameter(&mut self, name: &str) -> String {
        if let Some(text) = self.parameters.get(name) {
            return text.clone();
        }
        let text = self.unique(identifier(name));
        self.parameters.insert(name.to_owned(), text.clone());
        text
    }

    /// The name that a parameter has, if it has one.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The name for a symbolic size, which nothing else gets.
    pub fn of_size(&mut self, name: &str) -> String {
        self.unique(of_binding(name))
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
        let parameters = ["a.b", "a_b", "a_b_1", "n", "Module", "class", "R", ""].map(|name| names.of_parameter(name));
        assert_eq!(parameters, ["a_b", "a_b_1", "a_b_1_1", "n", "Module_1", "class_1", "R_1", "_"]);
        assert_eq!(["n", "a.b", "class", "m"].map(|name| names.of_size(name)), ["n_1", "a_b_2", "class_2", "m"]);
        assert_eq!(names.of_parameter("a_b"), "a_b_1");
    }
}
