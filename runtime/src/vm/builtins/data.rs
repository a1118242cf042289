//! Tuples.
use crate::ffi::{Args, Error, kind};
use crate::value::{Any, Tuple};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.make_tuple", make_tuple(; "fields…") -> "Tuple", "Makes a tuple."),
    builtin!("vm.builtin.tuple_getitem", tuple_getitem(tuple: &Tuple, index: i64) -> "Any",
        "Returns a field of a tuple."),
    builtin!("vm.builtin.tuple_reset_item", tuple_reset_item(tuple: &Tuple, index: i64) -> "Tuple",
        "Returns the tuple with a field emptied."),
];

fn make_tuple(args: Args<'_>) -> Result<Tuple, Error> {
    Ok(Tuple::new(args.values().iter().cloned()))
}

fn position(tuple: &Tuple, index: i64) -> Result<usize, Error> {
    let outside = || Error::new(kind::INDEX, format!("a tuple of {} fields has no field {index}", tuple.len()));
    usize::try_from(index).ok().filter(|index| *index < tuple.len()).ok_or_else(outside)
}

fn tuple_getitem(tuple: &Tuple, index: i64) -> Result<Any, Error> {
    Ok(tuple[position(tuple, index)?].clone())
}

fn tuple_reset_item(tuple: &Tuple, index: i64) -> Result<Tuple, Error> {
    Ok(tuple.without(position(tuple, index)?))
}
