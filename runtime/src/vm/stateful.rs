//! Stateful calls (set inputs, invoke, read outputs), and functions saved with their arguments.
//!
//! Inputs and outputs belong to the virtual machine, by function; threads that share a virtual machine share them.
//! Setting and reading are each atomic; for independent calls, use [`Vm::call`].
use super::Vm;
use crate::ffi::{Error, kind};
use crate::sorted_map::SortedMap;
use crate::value::{Any, Function, MAX_PARTS, Tensor, Tuple};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State of a virtual machine between calls.
#[derive(Default)]
pub(super) struct State {
    /// Stateful calls by function.
    calls: Mutex<SortedMap<String, StatefulCall>>,
    /// Saved functions by name.
    saved: Mutex<SortedMap<String, Function>>,
}

/// Inputs and result of a stateful call.
#[derive(Default)]
struct StatefulCall {
    /// By parameter.
    inputs: Vec<Option<Any>>,
    output: Option<Any>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// The saved function `name`.
    pub(super) fn saved(&self, name: &str) -> Option<Function> {
        lock(&self.saved).get(name).cloned()
    }
}

impl Vm {
    /// Sets all inputs of a function. Tensors are copied to the devices of its parameters.
    pub fn set_inputs(&self, function: &str, args: &[Any]) -> Result<(), Error> {
        let names = self.parameters(function)?;
        if args.len() != names.len() {
            let takes = format!("`{function}` takes {} inputs ({})", names.len(), names.join(", "));
            return Err(Error::type_error(format!("{takes}, not {}", args.len())));
        }
        let inputs = self.place_arguments(function, args)?.into_iter().map(Some).collect();
        lock(&self.1.calls).get_or_default(function.to_owned()).inputs = inputs;
        Ok(())
    }

    /// Sets one input of a function by parameter name.
    pub fn set_input(&self, function: &str, parameter: &str, value: &Any) -> Result<(), Error> {
        let names = self.parameters(function)?;
        let position = names.iter().position(|name| name == parameter).ok_or_else(|| {
            let known = names.join(", ");
            Error::value(format!("`{function}` has no parameter `{parameter}`; it has {known}"))
        })?;
        let value = self.place_argument(function, position, value)?;
        let mut calls = lock(&self.1.calls);
        let inputs = &mut calls.get_or_default(function.to_owned()).inputs;
        inputs.resize(names.len(), None);
        inputs[position] = Some(value);
        Ok(())
    }

    /// Calls a function with the inputs that were set, which stay set, and stores its result.
    pub fn invoke_stateful(&self, function: &str) -> Result<(), Error> {
        let names = self.parameters(function)?;
        let inputs = lock(&self.1.calls).get(function).map(|steps| steps.inputs.clone()).unwrap_or_default();
        let missing =
            |position: usize| Error::value(format!("input `{}` of `{function}` was not set", names[position]));
        let input = |position: usize| inputs.get(position).cloned().flatten().ok_or_else(|| missing(position));
        let args = (0..names.len()).map(input).collect::<Result<Vec<_>, _>>()?;
        let result = self.call(function, &args)?;
        lock(&self.1.calls).get_or_default(function.to_owned()).output = Some(result);
        Ok(())
    }

    /// The stored result of a function, or the part of it that `path` selects: a field, a field of that, …
    pub fn output(&self, function: &str, path: &[usize]) -> Result<Any, Error> {
        let output = lock(&self.1.calls).get(function).and_then(|steps| steps.output.clone());
        let output = output.ok_or_else(|| Error::value(format!("`{function}` was not invoked with inputs set")))?;
        path.iter().enumerate().try_fold(output, |value, (depth, index)| {
            let field = value.get::<&Tuple>().and_then(|tuple| tuple.as_slice().get(*index)).cloned();
            field.ok_or_else(|| no_output(function, &path[..=depth]))
        })
    }

    /// Number of fields of the stored result or of the part that `path` selects; `None` if it is not a tuple.
    pub fn output_arity(&self, function: &str, path: &[usize]) -> Result<Option<usize>, Error> {
        Ok(self.output(function, path)?.get::<&Tuple>().map(|tuple| tuple.len()))
    }

    /// Calls a function and writes its result into given tensors: one for each tensor of the result in order, with
    /// tuples flattened.
    ///
    /// The result is copied, because programs allocate their results. The copies need no allocation.
    pub fn call_into(&self, function: &str, args: &[Any], outputs: &[Tensor]) -> Result<(), Error> {
        let result = self.call(function, args)?;
        let mut rest = outputs;
        fill(&result, &mut rest)?;
        match rest.len() {
            0 => Ok(()),
            left => Err(Error::type_error(format!(
                "`{function}` returned {} tensors, not {}",
                outputs.len() - left,
                outputs.len()
            ))),
        }
    }

    /// Defines `saved` as a function without parameters that calls `function` with `args`. Without `include_return`, it
    /// returns nothing.
    pub fn save_function(&self, function: &str, saved: &str, args: &[Any], include_return: bool) -> Result<(), Error> {
        if self.image().executable.function(saved).is_some() {
            return Err(Error::value(format!("the program itself has a function `{saved}`")));
        }
        let target = self.function(function).ok_or_else(|| self.unknown(function))?;
        let expected = self.parameters(function).map_or(args.len(), <[String]>::len);
        if args.len() != expected {
            return Err(Error::type_error(format!("`{function}` takes {expected} arguments, not {}", args.len())));
        }
        let args = self.place_arguments(function, args)?;
        let call = Function::new(move |given| match given.len() {
            0 => target.call(&args).map(|result| if include_return { result } else { Any::NONE }),
            count => Err(Error::type_error(format!("a saved function takes no arguments, not {count}"))),
        });
        lock(&self.1.saved).insert(saved.to_owned(), call);
        Ok(())
    }
}

fn no_output(function: &str, path: &[usize]) -> Error {
    let path: Vec<_> = path.iter().map(usize::to_string).collect();
    Error::new(kind::INDEX, format!("the result of `{function}` has nothing at {}", path.join(".")))
}

/// Copies the tensors of a value to the first of `outputs`, and removes these from the list.
fn fill(value: &Any, outputs: &mut &[Tensor]) -> Result<(), Error> {
    let (mut values, mut looked_at) = (vec![value], 0);
    while let Some(value) = values.pop() {
        if let Some(tuple) = value.get::<&Tuple>() {
            // Tuples may be shared, so a small value may expand without end.
            looked_at += 1 + tuple.len();
            if looked_at > MAX_PARTS {
                return Err(Error::type_error(format!("the result has more than {MAX_PARTS} parts")));
            }
            values.extend(tuple.iter().rev());
            continue;
        }
        let Some(tensor) = value.get::<&Tensor>() else {
            return Err(Error::type_error(format!("the result holds {value}, which cannot be put into a tensor")));
        };
        let (first, rest) =
            outputs.split_first().ok_or_else(|| Error::type_error("the result has more tensors than outputs"))?;
        *outputs = rest;
        first.overwrite(&tensor.to_dense()?)?;
    }
    Ok(())
}
