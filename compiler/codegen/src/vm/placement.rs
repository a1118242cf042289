//! Devices of parameters and constants.

use hammock_ir::{Module, Type, VDevice, relax::Function};
use hammock_runtime::image::{Place, Placement};

/// Number of a device in the program.
pub fn number(device: &VDevice) -> i32 {
    i32::try_from(device.number()).unwrap_or(0)
}

/// Returns the devices of constants and of the parameters of functions, by their types.
pub fn placement(module: &Module, constants: Vec<(u32, i32)>) -> Placement {
    let (mut functions, mut last) = (Vec::new(), constants.iter().map(|(_, device)| *device).max().unwrap_or(-1));
    for (name, function) in module.relax_functions() {
        let symbol = module.functions[name].global_symbol().unwrap_or(name);
        let places: Vec<Place> = function.lambda.params.iter().map(|param| place(function.ty(*param))).collect();
        if !places.iter().all(is_first) {
            functions.push((symbol.to_owned(), places));
        }
        last = last.max(last_device(function));
    }
    if constants.is_empty() && functions.is_empty() && last < 1 {
        return Placement::default();
    }
    // Tensors without a device are on the first one.
    Placement { device_count: last.max(0) as u32 + 1, constants, functions }
}

fn place(ty: &Type) -> Place {
    match ty {
        Type::Tensor(tensor) => Place::Device(tensor.vdevice.as_ref().map_or(0, |device| number(device))),
        Type::Tuple(fields) => Place::Tuple(fields.iter().map(place).collect()),
        _ => Place::Device(0),
    }
}

/// Returns true if everything is on the first device.
fn is_first(place: &Place) -> bool {
    match place {
        Place::Device(device) => *device == 0,
        Place::Tuple(fields) => fields.iter().all(is_first),
    }
}

/// Maximum number of a device that a function's tensors are on; -1 if none is on another than the first.
fn last_device(function: &Function) -> i32 {
    let types = function.vars.values().map(|info| &info.ty);
    types.map(|ty| last_of(&place(ty))).max().unwrap_or(-1)
}

fn last_of(place: &Place) -> i32 {
    match place {
        Place::Device(device) => *device,
        Place::Tuple(fields) => fields.iter().map(last_of).max().unwrap_or(-1),
    }
}
