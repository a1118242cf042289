//! The arguments of a call: from text to values that fit the parameters.

pub(crate) mod argument;
pub(crate) mod bind;
pub(crate) mod split;
mod tensor_literal;

use crate::weights::{Weights, identifier};
use split::split_name;

/// A call: function and arguments.
#[derive(Clone, Debug, Default)]
pub struct CallSpec<'a> {
    /// The function.
    pub func: &'a str,
    /// Arguments as on the command line: positional ones are, in order, for the parameters without another value.
    pub args: &'a [String],
    /// Values of parameters that `args` lack, by name; not used if `args` has one for each parameter.
    pub weights: Option<&'a Weights>,
}

impl CallSpec<'_> {
    /// The names of named arguments, and the number of positional ones.
    pub fn names(&self) -> (Vec<&str>, usize) {
        let names: Vec<&str> = self.args.iter().filter_map(|text| Some(split_name(text)?.0)).collect();
        let unnamed = self.args.len() - names.len();
        (names, unnamed)
    }

    /// The weights that a function with these parameters uses: those without an argument, and none if every parameter
    /// has an argument.
    pub fn weights_for(&self, params: &[&str]) -> Option<Weights> {
        let named: Vec<&str> = self.args.iter().filter_map(|text| Some(split_name(text)?.0)).collect();
        let is_named = |param: &str| named.iter().any(|name| identifier(name) == identifier(param));
        let open = params.iter().filter(|param| !is_named(param)).count();
        let is_every = !self.args.is_empty() && self.args.len() - named.len() >= open;
        self.weights.filter(|_| !is_every).map(|weights| weights.without(&named))
    }
}
