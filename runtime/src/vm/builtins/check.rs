//! Checks of values against annotations, and their messages.
use crate::ffi::{Args, Error, kind};
use crate::value::{Any, Closure, DType, Function, Shape, Tensor, Tuple, dtype_code};
use crate::vm::{Builtin, builtin::builtin};
use std::fmt;

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.check_tensor_info", check_tensor_info(value: &Any, ndim: i64; "dtype?: dtype, context: str?") -> "None",
        "Checks that the value is a tensor of this rank (-1 for any) and dtype."),
    builtin!("vm.builtin.check_shape_info", check_shape_info(value: &Any, ndim: i64, context: Option<&str>) -> "None",
        "Checks that the value is a shape of this rank (-1 for any)."),
    builtin!("vm.builtin.check_prim_value_info",
        check_prim_value_info(value: &Any, dtype: DType, context: Option<&str>) -> "None",
        "Checks that the value is a number of the dtype's kind."),
    builtin!("vm.builtin.check_string_info", check_string_info(value: &Any, context: Option<&str>) -> "None",
        "Checks that the value is a string."),
    builtin!("vm.builtin.check_tuple_info", check_tuple_info(value: &Any, size: i64, context: Option<&str>) -> "None",
        "Checks that the value is a tuple with this many fields."),
    builtin!("vm.builtin.check_func_info", check_func_info(value: &Any, context: Option<&str>) -> "None",
        "Checks that the value is callable."),
];

/// The context of a check, which the compiler provides for the message of a failure.
///
/// It comes as a string: `ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n,), dtype="float32")) `,
/// `ErrorContext(fn=main, loc=return, annotation=…) ` or `ErrorContext(match_cast, ty=…) `.
pub(super) struct Context<'a>(Option<&'a str>);

impl<'a> Context<'a> {
    pub(super) fn new(text: Option<&'a str>) -> Context<'a> {
        Context(text)
    }

    /// The error for a value that does not match its annotation.
    pub(super) fn error(&self, kind: &'static str, value: &Any, reason: impl fmt::Display) -> Error {
        Error::new(kind, format!("{self}got {}: {reason}", describe(value)))
    }

    fn parts(&self) -> Option<&'a str> {
        self.0?.trim_end().strip_prefix("ErrorContext(")?.strip_suffix(')')
    }
}

/// `function `main`, parameter `x`: expected …, `
impl fmt::Display for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parts) = self.parts() else { return f.write_str(self.0.unwrap_or_default()) };
        if let Some(annotation) = parts.strip_prefix("match_cast, ty=") {
            return write!(f, "match_cast: expected {annotation}, ");
        }
        let Some((location, annotation)) = parts.split_once(", annotation=") else { return write!(f, "{parts}: ") };
        let field = |name: &str| location.split(", ").find_map(|part| part.strip_prefix(name));
        write!(f, "function `{}`", field("fn=").unwrap_or("?"))?;
        match (field("param="), field("loc=")) {
            (Some(param), _) => write!(f, ", parameter `{param}`")?,
            (None, Some("return")) => f.write_str(", return value")?,
            (None, Some(location)) => write!(f, ", {location}")?,
            (None, None) => (),
        }
        write!(f, ": expected {annotation}, ")
    }
}

/// Describes a value for a message.
fn describe(value: &Any) -> String {
    if let Some(tensor) = value.get::<&Tensor>() {
        return format!("a {} Tensor of shape {}", tensor.dtype(), Shape::new(tensor.shape()));
    }
    match value.get::<&Tuple>() {
        Some(tuple) => format!("a Tuple of {} fields", tuple.len()),
        None => value.to_string(),
    }
}

fn check_tensor_info(args: Args<'_>) -> Result<(), Error> {
    let (value, ndim) = (args.get::<&Any>(0)?, args.get::<i64>(1)?);
    let (dtype, context) = match args.len() {
        0..=3 => (None, args.get(2)?),
        _ => (args.get::<Option<DType>>(2)?, args.get(3)?),
    };
    let context = Context::new(context);
    let tensor = value.get::<&Tensor>().ok_or_else(|| context.error(kind::TYPE, value, "it is not a Tensor"))?;
    let actual = tensor.shape().len() as i64;
    if ndim != -1 && actual != ndim {
        return Err(context.error(kind::VALUE, value, format!("it has {}, not {ndim}", count(actual, "dimension"))));
    }
    match dtype {
        Some(dtype) if dtype != tensor.dtype() => {
            Err(context.error(kind::VALUE, value, format!("its dtype is {}, not {dtype}", tensor.dtype())))
        }
        _ => Ok(()),
    }
}

fn check_shape_info(value: &Any, ndim: i64, context: Option<&str>) -> Result<(), Error> {
    let context = Context::new(context);
    let shape = value.get::<&Shape>().ok_or_else(|| context.error(kind::TYPE, value, "it is not a Shape"))?;
    if ndim != -1 && shape.len() as i64 != ndim {
        let reason = format!("it has {}, not {ndim}", count(shape.len() as i64, "size"));
        return Err(context.error(kind::VALUE, value, reason));
    }
    Ok(())
}

fn check_prim_value_info(value: &Any, dtype: DType, context: Option<&str>) -> Result<(), Error> {
    let fits = match dtype.code {
        dtype_code::BOOL | dtype_code::INT | dtype_code::UINT => value.get::<i64>().is_some(),
        dtype_code::HANDLE if dtype.is_handle() => value.as_opaque().is_some() || value.is_none(),
        dtype_code::HANDLE => false,
        _ => value.get::<f64>().is_some(),
    };
    let context = Context::new(context);
    if fits { Ok(()) } else { Err(context.error(kind::TYPE, value, format!("it is not {dtype}"))) }
}

fn check_string_info(value: &Any, context: Option<&str>) -> Result<(), Error> {
    let is_string = value.as_str().is_some();
    if is_string { Ok(()) } else { Err(Context::new(context).error(kind::TYPE, value, "it is not a string")) }
}

fn check_tuple_info(value: &Any, size: i64, context: Option<&str>) -> Result<(), Error> {
    let context = Context::new(context);
    let tuple = value.get::<&Tuple>().ok_or_else(|| context.error(kind::TYPE, value, "it is not a Tuple"))?;
    if tuple.len() as i64 == size {
        return Ok(());
    }
    Err(context.error(kind::VALUE, value, format!("it has {}, not {size}", count(tuple.len() as i64, "field"))))
}

fn check_func_info(value: &Any, context: Option<&str>) -> Result<(), Error> {
    let callable = value.get::<&Function>().is_some() || value.get::<&Closure>().is_some();
    if callable { Ok(()) } else { Err(Context::new(context).error(kind::TYPE, value, "it cannot be called")) }
}

fn count(number: i64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
