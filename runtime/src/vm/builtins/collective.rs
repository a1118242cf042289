//! Collective operations for a single worker: every result is the worker's own input.
//!
//! Like TVM's, they write the result into the last argument.
use crate::ffi::Error;
use crate::value::{Any, Shape, Tensor};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("runtime.disco.worker_id", worker_id() -> "Shape", "Returns the rank of this worker, which is always 0."),
    builtin!("runtime.disco.allreduce",
        all_reduce(value: &Tensor, reduction: &Shape, in_group: &Any, result: &Tensor) -> "None",
        "Reduces a tensor over all workers: sum, product, minimum, maximum or mean (0 to 4)."),
    builtin!("runtime.disco.allgather", share(value: &Tensor, in_group: &Any, result: &Tensor) -> "None",
        "Concatenates the tensors of all workers."),
    builtin!("runtime.disco.broadcast_from_worker0", share(value: &Tensor, in_group: &Any, result: &Tensor) -> "None",
        "Broadcasts the first worker's tensor to all workers."),
    builtin!("runtime.disco.scatter_from_worker0", share(value: &Tensor, in_group: &Any, result: &Tensor) -> "None",
        "Scatters the first worker's tensor over all workers."),
];

fn worker_id() -> Result<Shape, Error> {
    Ok(Shape::new(&[0]))
}

fn all_reduce(value: &Tensor, _reduction: &Shape, in_group: &Any, result: &Tensor) -> Result<(), Error> {
    share(value, in_group, result)
}

/// Copies a tensor's elements into another one of the same size.
fn share(value: &Tensor, _in_group: &Any, result: &Tensor) -> Result<(), Error> {
    if value.dtype() != result.dtype() || value.element_count() != result.element_count() || !result.is_contiguous() {
        let (given, wanted) = (value.shape(), result.shape());
        return Err(Error::value(format!("there is only one worker: of {given:?} it cannot make {wanted:?}")));
    }
    result.overwrite(&value.to_dense()?.reshape(result.shape())?)
}
