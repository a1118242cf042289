//! Copies of arguments on the device where a program expects them.
use super::Vm;
use crate::ffi::Error;
use crate::memory::Allocator;
use crate::value::{Any, Tensor, Tuple};

/// Maximum nesting depth of tuples whose tensors are copied.
const MAX_DEPTH: usize = 100;
/// Maximum number of values in them.
const MAX_PARTS: usize = 1 << 20;

impl Vm {
    /// The value with its tensors on the program's first device: those elsewhere are copied, in memory that counts towards
    /// the program's limit.
    ///
    /// # Errors
    /// If there is no memory, or tuples are nested more than 100 deep or have more than 2^20 fields.
    pub fn on_first_device(&self, value: &Any) -> Result<Any, Error> {
        let allocator = &self.allocators()[0];
        if allocator.device().is_host() {
            return match value.get::<&Tensor>() {
                Some(tensor) => Ok(tensor.to_device(allocator.device())?.into()),
                None => Ok(value.clone()),
            };
        }
        place(&value.owned()?, allocator, 0, &mut 0)
    }
}

fn place(value: &Any, allocator: &Allocator, depth: usize, parts: &mut usize) -> Result<Any, Error> {
    *parts += 1;
    if depth > MAX_DEPTH || *parts > MAX_PARTS {
        let message =
            format!("tuples of more than {MAX_PARTS} values, or {MAX_DEPTH} deep, cannot be copied to a device");
        return Err(Error::value(message));
    }
    if let Some(tensor) = value.get::<&Tensor>() {
        let is_there = tensor.device() == allocator.device();
        return Ok(if is_there { tensor.clone() } else { tensor.copy_into(allocator)? }.into());
    }
    let Some(tuple) = value.get::<&Tuple>() else { return Ok(value.clone()) };
    let fields: Vec<Any> =
        tuple.iter().map(|field| place(field, allocator, depth + 1, parts)).collect::<Result<_, _>>()?;
    Ok(Tuple::new(fields.into_iter()).into())
}
