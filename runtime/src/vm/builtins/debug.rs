//! Printing and assertions. Programs print to standard error: standard output is for results.
use crate::ffi::{Args, Error, kind};
use crate::memory::meter::GrowingReservation;
use crate::printable;
use crate::registry;
use crate::show;
use crate::value::{Any, Device, Tensor};
use crate::vm::{Builtin, builtin::builtin};
use std::io::{ErrorKind, Write};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("relax.run.print", print(format: &str; "values…") -> "None",
        "Prints values, formatted by a Python format string unless that is empty."),
    builtin!("relax.run.assert_op", assert_op(condition: &Any, format: &str; "values…") -> "None",
        "Raises an error with a formatted message unless the condition holds."),
    builtin!("vm.builtin.debug_print", debug_print(location: &str, value: &Tensor) -> "None",
        "Prints a tensor with the source line that asked for it."),
    builtin!("vm.builtin.invoke_debug_func",
        invoke_debug_func(effect: &Any, function: &str, location: &str; "values…") -> "Any",
        "Calls a registered function with a source line and the values, and returns the effect."),
];

/// Writes a line. A closed standard error does not make a program fail.
fn write_line(text: &str) -> Result<(), Error> {
    match writeln!(std::io::stderr().lock(), "{}", printable(text)) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::runtime(format!("cannot print: {error}"))),
        _ => Ok(()),
    }
}

fn print(args: Args<'_>) -> Result<(), Error> {
    let values: Vec<_> = args.values()[1..].iter().map(show::plain).collect();
    match args.get::<&str>(0)? {
        "" => write_line(&values.join(" ")),
        template => write_line(&format_values(template, &values)?),
    }
}

fn assert_op(args: Args<'_>) -> Result<(), Error> {
    if holds(args.get(0)?)? {
        return Ok(());
    }
    let values: Vec<_> = args.values()[2..].iter().map(show::plain).collect();
    let message = match args.get::<&str>(1)? {
        "" if values.is_empty() => "Assertion Failed".to_owned(),
        "" => values.join(", "),
        template => format_values(template, &values)?,
    };
    Err(Error::new(kind::ASSERTION, message))
}

/// Reads an assertion's condition: a number or a boolean scalar.
fn holds(condition: &Any) -> Result<bool, Error> {
    if let Some(value) = condition.get::<bool>() {
        return Ok(value);
    }
    let scalar = condition.get::<&Tensor>().filter(|tensor| tensor.dtype().is_bool() && tensor.shape().is_empty());
    let scalar = scalar.ok_or_else(|| Error::value(format!("the condition must be a bool scalar, not {condition}")))?;
    Ok(scalar.to_device(Device::CPU)?.as_bytes()?.iter().any(|byte| *byte != 0))
}

/// Formats like Python's `str.format`, with `{}`, `{0}`, `{{` and `}}`.
fn format_values(template: &str, values: &[String]) -> Result<String, Error> {
    let bad = || Error::value(format!("{template:?} does not format {} values", values.len()));
    let too_long = |bytes| Error::new(kind::MEMORY, format!("there is no memory for a text of {bytes} bytes"));
    let (mut out, mut rest, mut next) = (String::new(), template, 0);
    let mut counted = GrowingReservation::default();
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = tail;
            continue;
        }
        let (field, tail) = rest.split_once('}').filter(|_| brace == "{").ok_or_else(bad)?;
        let index = if field.is_empty() { next } else { field.parse::<usize>().map_err(|_| bad())? };
        let value = values.get(index).ok_or_else(bad)?;
        // A template may contain a long value any number of times.
        counted.cover(out.len() + value.len())?;
        out.try_reserve(value.len()).map_err(|_| too_long(out.len() + value.len()))?;
        out.push_str(value);
        (rest, next) = (tail, next + 1);
    }
    Ok(out + rest)
}

fn debug_print(location: &str, value: &Tensor) -> Result<(), Error> {
    let data = show::plain(&value.clone().into());
    let shape = crate::Shape::new(value.shape());
    write_line(&format!("{location}: shape = {shape}, dtype = {}, data =\n{data}", value.dtype()))
}

fn invoke_debug_func(args: Args<'_>) -> Result<Any, Error> {
    let (effect, name) = (args.get::<&Any>(0)?, args.get::<&str>(1)?);
    let builtin = || super::find(name).map(Builtin::function);
    let function = registry::get(name).or_else(builtin);
    let function = function.ok_or_else(|| Error::value(format!("nobody registered the debug function `{name}`")))?;
    function.call(&args.values()[2..])?;
    Ok(effect.clone())
}
