//! Storage, tensor allocation, and copies of tensors.
use crate::ffi::Error;
use crate::memory::ALIGNMENT;
use crate::value::{Any, DType, Device, Shape, Storage, Tensor, TensorError};
use crate::vm::current;
use crate::vm::sizes::storage_bytes;
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.alloc_storage",
        alloc_storage(machine: &Any, shape: &Shape, device: i64, dtype: DType, scope: Option<&str>) -> "Storage",
        "Allocates storage for a tensor of this shape and dtype on one of the program's devices (-1 for the host)."),
    builtin!("vm.builtin.alloc_tensor",
        alloc_tensor(storage: &Storage, offset: i64, shape: &Shape, dtype: DType, scope: Option<&str>) -> "Tensor",
        "Creates a tensor in a storage, at a byte offset."),
    builtin!("vm.builtin.null_value", null_value() -> "None",
        "Returns null; assigning it to a register releases the value that was there."),
    builtin!("vm.builtin.copy", copy(value: &Any) -> "Any", "Returns its argument."),
    builtin!("vm.builtin.reshape", reshape(value: &Tensor, shape: &Shape) -> "Tensor",
        "Returns a view of the tensor with a new shape of as many elements."),
    builtin!("runtime.TVMTensorCreateView",
        view(value: &Tensor, shape: Option<&Shape>, dtype: Option<DType>, offset: Option<i64>) -> "Tensor",
        "Returns a view of the tensor's memory with a new shape, dtype or byte offset."),
    builtin!("vm.builtin.ensure_zero_offset", ensure_zero_offset(value: &Tensor) -> "Tensor",
        "Returns the tensor, or a copy if its data does not start at offset zero."),
    builtin!("vm.builtin.to_device",
        to_device(value: &Tensor, kind: i64, id: i64, scope: Option<&str>) -> "Tensor",
        "Returns the tensor if it is already on the device, otherwise a copy on that device."),
    builtin!("vm.builtin.memory_manager.clear", clear() -> "None",
        "Releases cached memory to the devices."),
];

fn alloc_storage(
    _machine: &Any,
    shape: &Shape,
    device: i64,
    dtype: DType,
    _scope: Option<&str>,
) -> Result<Storage, Error> {
    let bytes = storage_bytes(shape, dtype)?;
    current::with(|program| Ok(Storage::new(program.allocator(device)?.alloc(bytes)?)))
}

fn alloc_tensor(
    storage: &Storage,
    offset: i64,
    shape: &Shape,
    dtype: DType,
    _scope: Option<&str>,
) -> Result<Tensor, Error> {
    let offset =
        usize::try_from(offset).map_err(|_| Error::value(format!("{offset} is not an offset into a storage")))?;
    Ok(storage.tensor(dtype, shape, offset)?)
}

fn null_value() -> Result<(), Error> {
    Ok(())
}

fn copy(value: &Any) -> Result<Any, Error> {
    Ok(value.clone())
}

fn reshape(value: &Tensor, shape: &Shape) -> Result<Tensor, Error> {
    let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |count, size| count.checked_mul(*size));
    let dense = value.to_contiguous()?;
    if count(dense.shape()) != count(shape) {
        return Err(TensorError::Reshape { from: dense.shape().to_vec(), to: shape.to_vec() }.into());
    }
    dense.view(dense.dtype(), shape, 0).map_err(Error::from)
}

fn view(value: &Tensor, shape: Option<&Shape>, dtype: Option<DType>, offset: Option<i64>) -> Result<Tensor, Error> {
    let offset = offset.unwrap_or(0);
    let start = usize::try_from(offset).map_err(|_| Error::value(format!("a view cannot start at byte {offset}")))?;
    let (dtype, shape) = (dtype.unwrap_or(value.dtype()), shape.map_or(value.shape(), |shape| shape));
    Ok(value.to_contiguous()?.view(dtype, shape, start)?)
}

/// Our own views include the offset in the address; tensors from other code may state it separately.
fn ensure_zero_offset(value: &Tensor) -> Result<Tensor, Error> {
    let description = value.as_dl();
    if description.byte_offset == 0 {
        return Ok(value.clone());
    }
    if description.byte_offset.is_multiple_of(ALIGNMENT as u64) {
        return Ok(value.to_contiguous()?.view(value.dtype(), value.shape(), 0)?);
    }
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    on_device_of(value, Tensor::from_bytes(host.dtype(), host.shape(), host.as_bytes()?)?)
}

fn to_device(value: &Tensor, kind: i64, id: i64, _scope: Option<&str>) -> Result<Tensor, Error> {
    let number = |value: i64| i32::try_from(value).map_err(|_| Error::value(format!("{value} is not a device")));
    let named = Device { kind: number(kind)?, id: number(id)? };
    transfer(value, current::with(|program| Ok(program.named_device(named))).unwrap_or(Ok(named))?)
}

/// This tensor if it is on the device, otherwise a copy there.
pub(super) fn transfer(value: &Tensor, device: Device) -> Result<Tensor, Error> {
    if value.device() == device {
        return Ok(value.clone());
    }
    // The program's own allocator for the device, which has a limit, if there is one.
    let own = current::with(|program| Ok(program.allocators.iter().find(|own| own.device() == device).cloned()));
    match own.ok().flatten() {
        Some(allocator) => value.copy_into(&allocator),
        None => value.to_device(device),
    }
}

/// A tensor that a builtin made on the host, on the program's first device, where kernels expect it.
pub(super) fn on_first_device(made: Tensor) -> Result<Tensor, Error> {
    match current::with(|program| Ok(program.allocators[0].device())) {
        Ok(device) if !device.is_host() => transfer(&made, device),
        _ => Ok(made),
    }
}

/// A tensor that a builtin made on the host from data of an operand, on the operand's device.
pub(super) fn on_device_of(operand: &Tensor, made: Tensor) -> Result<Tensor, Error> {
    if operand.device().is_host() { Ok(made) } else { transfer(&made, operand.device()) }
}

/// Rejects a tensor that cannot be changed in place.
pub(super) fn check_in_place(tensor: &Tensor) -> Result<(), Error> {
    if tensor.is_contiguous() && !tensor.is_read_only() {
        return Ok(());
    }
    Err(Error::value(format!("{tensor:?} cannot be changed in place: it must be dense and not a constant")))
}

fn clear() -> Result<(), Error> {
    current::with(|program| {
        program.trim();
        Ok(())
    })
}
