//! Tuples and ADT values; sequences and tensors of strings, which are tuples.
#[cfg(feature = "sequences")]
pub(super) mod sequence;
#[cfg(feature = "strings")]
pub(super) mod strings;

use crate::ffi::{Args, Error, kind};
use crate::value::{Adt, Any, Tuple};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.make_tuple", make_tuple(; "fields…") -> "Tuple", "Creates a tuple."),
    builtin!("vm.builtin.tuple_getitem", tuple_getitem(tuple: &Tuple, index: i64) -> "Any",
        "Returns a field of a tuple."),
    builtin!("vm.builtin.tuple_reset_item", tuple_reset_item(tuple: &Tuple, index: i64) -> "None",
        "Empties a field of a tuple in place, for all who have the tuple."),
    builtin!("vm.builtin.alloc_adt", alloc_adt(tag: i64; "fields…") -> "Adt",
        "Creates an algebraic data value from a constructor tag and its fields."),
    builtin!("vm.builtin.get_tag", get_tag(value: &Adt) -> "int",
        "Returns the constructor tag of an algebraic data value."),
    builtin!("vm.builtin.has_tag", has_tag(value: &Adt, tag: i64) -> "bool",
        "Tests whether an algebraic data value has this constructor tag."),
    builtin!("vm.builtin.get_field", get_field(value: &Adt, index: i64) -> "Any",
        "Returns a field of an algebraic data value."),
];

fn make_tuple(args: Args<'_>) -> Result<Tuple, Error> {
    Ok(Tuple::new(args.values().iter().cloned()))
}

fn position(tuple: &Tuple, index: i64) -> Result<usize, Error> {
    let outside = || Error::new(kind::INDEX, format!("a tuple of {} fields has no field {index}", tuple.len()));
    usize::try_from(index).ok().filter(|index| *index < tuple.len()).ok_or_else(outside)
}

fn alloc_adt(args: Args<'_>) -> Result<Adt, Error> {
    Ok(Adt::new(args.get(0)?, args.values()[1..].iter().cloned()))
}

fn get_tag(value: &Adt) -> Result<i64, Error> {
    Ok(value.tag())
}

fn has_tag(value: &Adt, tag: i64) -> Result<bool, Error> {
    Ok(value.tag() == tag)
}

fn get_field(value: &Adt, index: i64) -> Result<Any, Error> {
    let field = usize::try_from(index).ok().and_then(|index| value.fields().get(index));
    let outside = || {
        let (tag, count) = (value.tag(), value.fields().len());
        Error::new(kind::INDEX, format!("data of tag {tag} with {count} fields has no field {index}"))
    };
    Ok(field.ok_or_else(outside)?.clone())
}

fn tuple_getitem(tuple: &Tuple, index: i64) -> Result<Any, Error> {
    Ok(tuple[position(tuple, index)?].clone())
}

fn tuple_reset_item(tuple: &Tuple, index: i64) -> Result<(), Error> {
    let position = position(tuple, index)?;
    // SAFETY: the virtual machine and builtins hold fields of their own, never references to a tuple's fields, while
    // they run anything. A caller that reads a tuple's fields during a call of a model, or passes one tuple to two
    // calls at once, must know whether the model empties it, as with TVM's runtime.
    drop(unsafe { tuple.take(position) });
    Ok(())
}
