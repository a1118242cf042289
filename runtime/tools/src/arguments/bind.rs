//! The arguments of a call: by position, by name (`NAME=VALUE`), from weights, or generated to fit (`random`).

use super::{
    CallSpec,
    argument::{GENERATED, generate, parse_for},
    split::split_name,
};
use crate::{
    error::{InputError, brief},
    weights::{Weights, identifier, type_check::check_type},
};
use hammock_runtime::{
    Any, Tensor,
    image::signature::{Dims, Param, Signature, Size, ValueType},
    suggest::nearest,
};
use std::collections::HashMap;

/// The arguments of a call in order, and the total size of those that are weights.
pub(crate) struct Arguments {
    pub(crate) values: Vec<Any>,
    pub(crate) weight_bytes: usize,
}

/// Source of a parameter's value.
#[derive(Clone, Copy)]
enum Given<'a> {
    /// An argument on the command line.
    Text(&'a str),
    /// A tensor, with its name in the weights file.
    Weight(&'a str, &'a Tensor),
}

/// The arguments of a call. Positional arguments go, in order, to the parameters that have neither a named argument nor
/// a weight; if there is one for every parameter without a named argument, weights are not used.
///
/// # Errors
/// If their number is wrong, one cannot be read, or some do not match the signature: all of these are listed.
pub(crate) fn arguments(signature: &Signature, spec: &CallSpec) -> Result<Arguments, InputError> {
    let params: Vec<&Param> = signature.given().collect();
    let mut call = Call { signature, params, sizes: HashMap::new() };
    let given = call.assign(spec)?;
    let values = call.values(&given)?;
    call.check(&given, &values, spec.weights)?;
    let weight = |given: &Given| if let Given::Weight(_, tensor) = given { tensor.nbytes() } else { 0 };
    Ok(Arguments { weight_bytes: given.iter().map(weight).sum(), values })
}

/// The parameters that have both an argument and a weight.
pub(crate) fn given_twice<'a>(signature: &'a Signature, spec: &CallSpec) -> Vec<&'a str> {
    let params: Vec<&Param> = signature.given().collect();
    let mut call = Call { signature, params, sizes: HashMap::new() };
    let (Some(weights), Ok(given)) = (spec.weights, call.assign(spec)) else { return Vec::new() };
    let twice = call.params.iter().zip(given);
    let twice = twice.filter(|(param, given)| matches!(given, Given::Text(_)) && weights.get(&param.name).is_some());
    twice.map(|(param, _)| param.name.as_str()).collect()
}

/// State of resolving the arguments of a call.
struct Call<'a> {
    signature: &'a Signature,
    params: Vec<&'a Param>,
    /// Symbolic sizes: those given by name, and those of arguments.
    sizes: HashMap<String, i64>,
}

impl Call<'_> {
    /// The source of each parameter's value.
    fn assign<'a>(&mut self, spec: &CallSpec<'a>) -> Result<Vec<Given<'a>>, InputError> {
        let mut given: Vec<Option<Given>> = vec![None; self.params.len()];
        let mut unnamed = Vec::new();
        for text in spec.args {
            let Some((name, value)) = split_name(text) else {
                unnamed.push(text.as_str());
                continue;
            };
            match self.parameter(name) {
                Some(at) if given[at].is_none() => given[at] = Some(Given::Text(value)),
                Some(at) => {
                    let name = &self.params[at].name;
                    return Err(InputError::new(format!("parameter `{name}` is given twice")).about([name.as_str()]));
                }
                None => self.size(name, value)?,
            }
        }
        let open = |given: &[Option<Given>]| (0..given.len()).filter(|at| given[*at].is_none()).collect::<Vec<_>>();
        if let Some(weights) = spec.weights.filter(|_| unnamed.len() < open(&given).len()) {
            for at in open(&given) {
                given[at] = weights.named(&self.params[at].name).map(|(name, tensor)| Given::Weight(name, tensor));
            }
        }
        let open = open(&given);
        if open.len() != unnamed.len() {
            return Err(self.wrong_count(&open, unnamed.len(), spec.weights));
        }
        for (at, text) in open.into_iter().zip(unnamed) {
            given[at] = Some(Given::Text(text));
        }
        Ok(given.into_iter().flatten().collect())
    }

    /// The parameter of a name, or the only one that differs from it only in punctuation.
    fn parameter(&self, name: &str) -> Option<usize> {
        let known = self.params.iter().position(|param| param.name == name);
        let mut alike = (0..self.params.len()).filter(|at| identifier(&self.params[*at].name) == identifier(name));
        known.or_else(|| alike.next().filter(|_| alike.next().is_none()))
    }

    /// Sets a symbolic size.
    fn size(&mut self, name: &str, value: &str) -> Result<(), InputError> {
        let mut symbols: Vec<&str> = Vec::new();
        for param in &self.params {
            each_size(&param.ty, &mut |size| {
                if let Size::Symbol(text) = size {
                    symbols.push(text);
                }
            });
        }
        if !symbols.contains(&name) {
            let message = format!("`{}` has no parameter `{}`", self.signature.function, brief(name));
            let names = self.params.iter().map(|param| param.name.as_str()).chain(symbols);
            let near = nearest(name, names).map(|near| format!("did you mean `{near}`? "));
            let takes = self.described(0..self.params.len());
            return Err(InputError::new(message).help(format!("{}it takes {takes}", near.unwrap_or_default())));
        }
        let size = value.parse().ok().filter(|size| *size >= 0);
        let wrong = || InputError::new(format!("`{}` is not a size, which `{name}` is", brief(value)));
        self.sizes.insert(name.to_owned(), size.ok_or_else(wrong)?);
        Ok(())
    }

    fn wrong_count(&self, open: &[usize], given: usize, weights: Option<&Weights>) -> InputError {
        let function = &self.signature.function;
        if let (true, [param, others @ ..]) = (open.is_empty(), &self.params[..]) {
            let message = match others.len() {
                0 => format!("parameter `{}` of `{function}` is already set by name", param.name),
                others => format!("all {} parameters of `{function}` are already set by name", others + 1),
            };
            return InputError::new(message).help("remove the positional `--arg`");
        }
        let many = |n: usize| format!("{n} argument{}", if n == 1 { "" } else { "s" });
        let message = format!("`{function}` takes {}, {given} given", many(open.len()));
        let names: Vec<&str> = open.iter().map(|at| self.params[*at].name.as_str()).collect();
        let meant = weights.and_then(|w| w.suggestions_for(&names)).map(|text| format!("; {text}"));
        InputError::new(message).about(names).help(if open.is_empty() {
            "remove the positional `--arg`".to_owned()
        } else {
            format!("one --arg each for: {}{}", self.described(open.iter().copied()), meant.unwrap_or_default())
        })
    }

    /// Parameters with their types, for a message.
    fn described(&self, which: impl Iterator<Item = usize>) -> String {
        let one = |at: usize| format!("{}: {}", self.params[at].name, self.params[at].ty);
        let all: Vec<String> = which.map(one).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    }

    /// The values; those whose shape depends on others come last.
    fn values(&mut self, given: &[Given]) -> Result<Vec<Any>, InputError> {
        let is_generated = |given: &Given| matches!(given, Given::Text(text) if GENERATED.contains(text));
        let mut values = vec![Any::default(); given.len()];
        for (at, given) in given.iter().enumerate().filter(|(_, given)| !is_generated(given)) {
            values[at] = match given {
                Given::Text(text) => parse_for(text, self.params[at].ty.dtype())?,
                Given::Weight(_, tensor) => (*tensor).clone().into(),
            };
            self.bind(at, &values[at]);
        }
        for (at, given) in given.iter().enumerate().filter(|(_, given)| is_generated(given)) {
            let Given::Text(kind) = given else { continue };
            values[at] = self.generate(at, kind)?;
        }
        Ok(values)
    }

    /// Binds unknown symbols to the sizes of an argument.
    fn bind(&mut self, at: usize, value: &Any) {
        let (Some(tensor), Some(sizes)) = (value.get::<&Tensor>(), self.params[at].ty.sizes()) else { return };
        for (size, actual) in sizes.iter().zip(tensor.shape()) {
            if let Size::Symbol(name) = size {
                self.sizes.entry(name.clone()).or_insert(*actual);
            }
        }
    }

    /// Generates a tensor of a parameter's shape.
    fn generate(&self, at: usize, kind: &str) -> Result<Any, InputError> {
        let Param { name, ty, .. } = self.params[at];
        let (ValueType::Tensor { dtype: Some(dtype), .. }, Some(sizes)) = (ty, ty.sizes()) else {
            let message = format!("`{kind}` needs a shape, since parameter `{name}` is {ty}");
            return Err(InputError::new(message)
                .about([name.as_str()])
                .help(format!("such as {name}={kind}(2,3):float32")));
        };
        let form: Vec<String> =
            sizes.iter().map(|size| if let Size::Static(n) = size { n.to_string() } else { "2".into() }).collect();
        let form = format!("{name}={kind}({})", form.join(","));
        let sizes = sizes.iter().map(|size| match size {
            Size::Static(size) => Ok(*size),
            Size::Symbol(symbol) => self.sizes.get(symbol).copied().ok_or(symbol),
        });
        let sizes: Result<Vec<i64>, &String> = sizes.collect();
        let sizes = sizes.map_err(|symbol| {
            let message = format!("`{kind}` needs the size `{symbol}`, since parameter `{name}` is {ty}");
            let is_name = symbol.chars().all(|c| c.is_alphanumeric() || c == '_');
            InputError::new(message).about([name.as_str()]).help(match is_name {
                true => format!("give it with --arg {symbol}=128, or the shape: {form}"),
                false => format!("give the shape: {form}"),
            })
        })?;
        generate(kind, *dtype, &sizes)
    }

    /// Rejects tensors that do not have their parameters' types.
    fn check(&self, given: &[Given], values: &[Any], weights: Option<&Weights>) -> Result<(), InputError> {
        let mut sizes = self.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        let (mut wrong, mut about) = (Vec::new(), Vec::new());
        for ((param, value), given) in self.params.iter().zip(values).zip(given) {
            let Some(tensor) = value.get::<&Tensor>() else { continue };
            let Err(why) = check_type(&param.ty, tensor, &mut sizes) else { continue };
            let of_file = match (given, weights) {
                (Given::Weight(name, _), Some(weights)) => format!(", which `{name}` of {} is", weights.source()),
                _ => String::new(),
            };
            let is = format!("{}{}", tensor.dtype(), Dims::from(tensor.shape()));
            about.push(param.name.as_str());
            wrong.push(format!("`{}` takes {}, not {is}{of_file}{why}", param.name, param.ty));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let message = format!("arguments do not fit `{}`: {}", self.signature.function, wrong.join("; "));
        Err(InputError::new(message).about(about))
    }
}

fn each_size<'a>(ty: &'a ValueType, each: &mut dyn FnMut(&'a Size)) {
    match ty {
        ValueType::Tuple(fields) => fields.iter().for_each(|field| each_size(field, each)),
        other => other.sizes().into_iter().flatten().for_each(each),
    }
}
