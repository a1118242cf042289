//! Values on the devices of a program, where its kernels expect them.
use super::Vm;
use super::program::{Program, numbered};
use crate::ffi::Error;
use crate::image::Place;
use crate::value::MAX_PARTS;
use crate::value::{Any, Device, Tensor, Tuple};

/// Maximum nesting depth of tuples whose tensors are copied.
const MAX_DEPTH: usize = 100;

/// The device of values without a placement.
const FIRST: Place = Place::Device(0);

impl Vm {
    /// The value with its tensors on the program's first device: those elsewhere are copied, in memory that counts towards
    /// the program's limit.
    ///
    /// # Errors
    /// If there is no memory, or tuples are nested too deeply.
    pub fn on_first_device(&self, value: &Any) -> Result<Any, Error> {
        self.0.placed(value, &FIRST)
    }

    /// The arguments of a function with their tensors on the devices of its parameters: those elsewhere are copied, as by
    /// [`on_first_device`](Vm::on_first_device).
    ///
    /// # Errors
    /// If there is no memory, or tuples are nested too deeply.
    pub fn place_arguments(&self, function: &str, args: &[Any]) -> Result<Vec<Any>, Error> {
        args.iter().enumerate().map(|(index, arg)| self.place_argument(function, index, arg)).collect()
    }

    /// An argument of a function, by its parameter's index, with its tensors on the parameter's devices.
    ///
    /// # Errors
    /// As for [`place_arguments`](Vm::place_arguments).
    pub fn place_argument(&self, function: &str, index: usize, value: &Any) -> Result<Any, Error> {
        self.0.placed(value, self.image().placement.params(function).get(index).unwrap_or(&FIRST))
    }

    /// A tensor of an argument that is on another device than the host and not where its parameter is: its device, and
    /// that of the parameter.
    pub fn misplaced(&self, function: &str, index: usize, value: &Any) -> Option<(Device, Device)> {
        self.0.misplaced(value, self.image().placement.params(function).get(index).unwrap_or(&FIRST))
    }
}

impl Place {
    /// The place of a field of a tuple.
    fn field(&self, index: usize) -> &Place {
        match self {
            Place::Tuple(fields) => fields.get(index).unwrap_or(&FIRST),
            place => place,
        }
    }

    /// Number of the device of a tensor.
    fn device(&self) -> i64 {
        if let Place::Device(device) = self { i64::from(*device) } else { 0 }
    }
}

impl Program {
    fn misplaced(&self, value: &Any, place: &Place) -> Option<(Device, Device)> {
        let Some(tensor) = value.get::<&Tensor>() else {
            let mut fields = value.get::<&Tuple>()?.iter().enumerate();
            return fields.find_map(|(index, field)| self.misplaced(field, place.field(index)));
        };
        let (device, expected) = (tensor.device(), numbered(&self.allocators, place.device()).ok()?.device());
        (device != expected && !device.is_host()).then_some((device, expected))
    }

    fn placed(&self, value: &Any, place: &Place) -> Result<Any, Error> {
        if self.is_on_device {
            return self.copied(&value.owned()?, place, 0, &mut 0);
        }
        match value.get::<&Tensor>() {
            Some(tensor) => Ok(tensor.to_device(self.allocators[0].device())?.into()),
            None => Ok(value.clone()),
        }
    }

    /// The value with its tensors where `place` tells: those elsewhere are copied, into memory of the device's allocator.
    fn copied(&self, value: &Any, place: &Place, depth: usize, parts: &mut usize) -> Result<Any, Error> {
        *parts += 1;
        if depth > MAX_DEPTH || *parts > MAX_PARTS {
            let limits = format!("tuples of more than {MAX_PARTS} values, or nested more than {MAX_DEPTH} deep,");
            return Err(Error::value(format!("{limits} cannot be copied to {}", self.allocators[0].device())));
        }
        if let Some(tensor) = value.get::<&Tensor>() {
            let allocator = numbered(&self.allocators, place.device())?;
            let is_there = tensor.device() == allocator.device();
            return Ok(match is_there {
                true => tensor.clone(),
                false if allocator.device().is_host() => tensor.to_device(allocator.device())?,
                false => tensor.copy_into(allocator)?,
            }
            .into());
        }
        let Some(tuple) = value.get::<&Tuple>() else { return Ok(value.clone()) };
        let fields =
            tuple.iter().enumerate().map(|(index, field)| self.copied(field, place.field(index), depth + 1, parts));
        let fields: Vec<Any> = fields.collect::<Result<_, _>>()?;
        Ok(Tuple::new(fields.into_iter()).into())
    }
}
