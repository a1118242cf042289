//! Values on a program's first device, where its kernels expect them.
use super::Vm;
use crate::ffi::Error;
use crate::memory::Allocator;
use crate::show::MAX_PARTS;
use crate::value::{Any, Tensor, Tuple};

/// Maximum nesting depth of tuples whose tensors are copied.
const MAX_DEPTH: usize = 100;

impl Vm {
    /// The value with its tensors on the program's first device: those elsewhere are copied, in memory that counts towards
    /// the program's limit.
    ///
    /// # Errors
    /// If there is no memory, or tuples are nested too deeply.
    pub fn on_first_device(&self, value: &Any) -> Result<Any, Error> {
        let allocator = &self.allocators()[0];
        if !allocator.device().is_host() {
            return copied_into(&value.owned()?, allocator, 0, &mut 0);
        }
        match value.get::<&Tensor>() {
            Some(tensor) => Ok(tensor.to_device(allocator.device())?.into()),
            None => Ok(value.clone()),
        }
    }
}

/// The value with its tensors on an allocator's device: those elsewhere are copied, into its memory.
fn copied_into(value: &Any, allocator: &Allocator, depth: usize, parts: &mut usize) -> Result<Any, Error> {
    *parts += 1;
    if depth > MAX_DEPTH || *parts > MAX_PARTS {
        let limits = format!("tuples of more than {MAX_PARTS} values, or nested more than {MAX_DEPTH} deep,");
        return Err(Error::value(format!("{limits} cannot be copied to {}", allocator.device())));
    }
    if let Some(tensor) = value.get::<&Tensor>() {
        let is_there = tensor.device() == allocator.device();
        return Ok(if is_there { tensor.clone() } else { tensor.copy_into(allocator)? }.into());
    }
    let Some(tuple) = value.get::<&Tuple>() else { return Ok(value.clone()) };
    let fields = tuple.iter().map(|field| copied_into(field, allocator, depth + 1, parts));
    let fields: Vec<Any> = fields.collect::<Result<_, _>>()?;
    Ok(Tuple::new(fields.into_iter()).into())
}
