//! Matching of weights against the parameters of functions.

use super::{Weights, identifier, similar, type_check::check_type};
use crate::error::listed;
use hammock_runtime::{
    Tensor,
    image::{
        Signature,
        signature::{Dims, Role},
    },
};
use std::collections::{BTreeSet, HashMap, HashSet};

impl Weights {
    /// Matches the tensors against the parameters of functions; `used` returns true for tensors with another use.
    pub fn fit(&self, functions: &[Signature], used: impl Fn(&Tensor) -> bool) -> Fit<'_> {
        let params = || functions.iter().flat_map(|function| function.given().map(move |param| (function, param)));
        let taken: HashSet<&str> = params().filter_map(|(_, param)| Some(self.named(&param.name)?.0)).collect();
        let spare = self.iter().filter(|(name, tensor)| !taken.contains(name) && !used(tensor));
        let spare: Vec<&str> = spare.map(|(name, _)| name).collect();
        let mut open: Vec<&str> =
            params().map(|(_, param)| &*param.name).filter(|name| self.named(name).is_none()).collect();
        open.sort_unstable();
        open.dedup();
        let pair = |(tensor, param): (&str, &str)| format!("`{tensor}` looks like the parameter `{param}`");
        let mut advice: Vec<String> = similar(&spare, &open).map(pair).collect();
        let has = functions.iter().flat_map(|f| &f.params).filter(|param| param.role == Role::Bound);
        let has = has.filter(|param| spare.iter().any(|name| identifier(name) == identifier(&param.name)));
        let has: BTreeSet<&str> = has.map(|param| &*param.name).collect();
        if !has.is_empty() {
            advice.push(format!("the model already has, and goes on to use, its own {}", listed(has.into_iter())));
        }
        if !open.is_empty() && !spare.is_empty() {
            advice.push(format!("parameters without a tensor: {}", listed(open.into_iter())));
        }
        let missing = functions.iter().filter_map(|function| self.missing(function)).collect();
        let wrong = functions.iter().flat_map(|function| self.wrong(function)).collect();
        Fit {
            file: self.source(),
            wrong,
            missing,
            none: spare.len() == self.tensors.len() && !spare.is_empty(),
            spare,
            advice,
        }
    }

    /// A message about a function's weights without a tensor, if others have one.
    fn missing(&self, function: &Signature) -> Option<String> {
        let weights = function.params.iter().filter(|param| param.role == Role::Weight).map(|param| &*param.name);
        let (given, open): (Vec<&str>, Vec<&str>) = weights.partition(|name| self.get(name).is_some());
        let is_part = !given.is_empty() && !open.is_empty();
        is_part.then(|| format!("weights of `{}` have no tensor: {}", function.function, listed(open.into_iter())))
    }

    /// The parameters of a function whose tensors do not match their types.
    fn wrong(&self, function: &Signature) -> Vec<Wrong> {
        let mut sizes = HashMap::new();
        let wrong = function.given().filter_map(|param| {
            let (name, tensor) = self.named(&param.name)?;
            let why = check_type(&param.ty, tensor, &mut sizes).err()?;
            let is = format!("{}{}", tensor.dtype(), Dims::from(tensor.shape()));
            let text = format!("`{name}` is {is}, but parameter `{}` takes {}{why}", param.name, param.ty);
            Some(Wrong { function: function.function.clone(), parameter: param.name.clone(), text })
        });
        wrong.collect()
    }
}

/// Result of matching weights against the parameters of functions.
pub struct Fit<'a> {
    file: String,
    /// Parameters whose tensors have another shape or dtype.
    pub wrong: Vec<Wrong>,
    /// Messages about weights without a tensor.
    pub missing: Vec<String>,
    /// Tensors without a parameter.
    pub spare: Vec<&'a str>,
    /// True if no tensor matches, as with the weights of another model.
    pub none: bool,
    /// Suggestions.
    advice: Vec<String>,
}

/// A parameter whose tensor has another shape or dtype.
pub struct Wrong {
    /// The function.
    pub function: String,
    /// The parameter.
    pub parameter: String,
    /// The parameter's type, and the tensor's.
    pub text: String,
}

impl Fit<'_> {
    /// Returns true if the weights cannot belong to the model.
    pub fn is_error(&self) -> bool {
        self.none || !self.wrong.is_empty()
    }

    /// All mismatches as a message with advice; `None` if everything matches.
    pub fn message(&self) -> Option<(String, Vec<String>)> {
        let (file, spare) = (&self.file, listed(self.spare.iter().copied()));
        let mut said = Vec::new();
        if !self.wrong.is_empty() {
            said.push(format!("tensors of {file} do not fit: {}", joined(self.wrong.iter().map(|wrong| &wrong.text))));
        }
        match self.spare.is_empty() {
            true => {}
            false if self.none => said.push(format!("no tensor of {file} belongs to a parameter: {spare}")),
            false => said.push(format!("{file} has tensors that do not belong to a parameter: {spare}")),
        }
        said.extend(self.missing.iter().cloned());
        let mut said = said.into_iter();
        let first = said.next()?;
        Some((first, said.chain(self.advice.iter().cloned()).collect()))
    }
}

/// Joins sentences, abbreviated if there are many.
fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    const MAX: usize = 24;
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    let more = if texts.len() > MAX { format!("; and {} more", texts.len() - MAX) } else { String::new() };
    texts[..texts.len().min(MAX)].join("; ") + &more
}
