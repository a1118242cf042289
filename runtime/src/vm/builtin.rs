//! Declarations of builtins: name, typed parameters, a line of documentation, and the function.
use crate::ffi::{self, Args, Error, SafeCall};
use crate::value::{Any, FromAny, Function};
use std::ffi::c_void;
use std::fmt;

/// A parameter of a builtin; the compiler turns it into a part of the signature.
#[derive(Clone, Copy)]
pub(crate) struct Param {
    name: &'static str,
    /// Kind of value.
    kind: &'static str,
    /// True if it may be none, or omitted at the end.
    optional: bool,
}

impl Param {
    /// A parameter of type `T`.
    pub(crate) const fn of<T: FromAny<'static>>(name: &'static str) -> Param {
        Param { name, kind: T::NAME, optional: T::OPTIONAL }
    }
}

/// A function of the runtime that programs call by name.
pub struct Builtin {
    /// Name, as in TVM.
    pub name: &'static str,
    /// Parameters and result: `(param: kind, …) -> kind`.
    pub signature: &'static str,
    /// Documentation in one line.
    pub doc: &'static str,
    /// Minimum and maximum number of arguments.
    pub(crate) arity: (u8, u8),
    pub(crate) body: fn(Args<'_>) -> Result<Any, Error>,
}

/// The maximum of an arity without one.
const UNLIMITED: u8 = u8::MAX;

impl Builtin {
    /// Calls the builtin.
    pub fn call(&self, args: &[Any]) -> Result<Any, Error> {
        let args = Args::new(self.name, args);
        let (min, max) = self.arity;
        if args.len() < min.into() || args.len() > max.into() && max != UNLIMITED {
            return Err(args.error(format!("called with {} arguments; it is {self}", args.len())));
        }
        (self.body)(args)
    }

    /// The builtin as a value.
    pub fn function(&'static self) -> Function {
        Function::new(move |args| self.call(args))
    }

    /// The C function that calls the builtin whose address is its handle.
    pub(super) fn safe_call(&'static self) -> (SafeCall, *mut c_void) {
        (call_builtin, (&raw const *self).cast_mut().cast())
    }
}

unsafe extern "C" fn call_builtin(handle: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32 {
    // SAFETY: `safe_call` pairs this function with the address of a static builtin; the caller passes `count` arguments
    // and space for a result.
    unsafe {
        let builtin = &*handle.cast::<Builtin>();
        ffi::answer(result, || builtin.call(ffi::arguments(args, count)))
    }
}

/// The signature: `name(param: kind, …) -> kind`.
impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.signature)
    }
}

/// Minimum and maximum number of arguments.
pub(crate) const fn arity(params: &[Param], rest: &str) -> (u8, u8) {
    let (mut min, mut at) = (0, 0);
    while at < params.len() {
        min += !params[at].optional as u8;
        at += 1;
    }
    (min, if rest.is_empty() { params.len() as u8 } else { UNLIMITED })
}

/// Writes as much of a signature as fits, and returns its length.
pub(crate) const fn write_signature(params: &[Param], rest: &str, returns: &str, out: &mut [u8]) -> usize {
    let (mut len, mut at) = (put(out, 0, "("), 0);
    while at < params.len() {
        let Param { name, kind, optional } = params[at];
        len = put(out, len, if at > 0 { ", " } else { "" });
        len = put(out, len, name);
        len = put(out, len, ": ");
        len = put(out, len, kind);
        len = put(out, len, if optional { "?" } else { "" });
        at += 1;
    }
    len = put(out, len, if at > 0 && !rest.is_empty() { ", " } else { "" });
    len = put(out, len, rest);
    len = put(out, len, ") -> ");
    put(out, len, returns)
}

/// Writes a text at `len`, and returns the position after it.
const fn put(out: &mut [u8], len: usize, text: &str) -> usize {
    let mut at = 0;
    while at < text.len() {
        if len + at < out.len() {
            out[len + at] = text.as_bytes()[at];
        }
        at += 1;
    }
    len + at
}

/// Declares a builtin: name, `function(parameter: type, …; the rest)`, kind of the result, documentation.
///
/// Without "the rest", the function receives its parameters converted; with it, it receives the raw [`Args`].
macro_rules! builtin {
    ($name:literal, $function:ident($($param:ident: $ty:ty),*) -> $returns:literal, $doc:literal) => {
        $crate::vm::builtin::builtin!(@ $name, ($($param: $ty),*), "", $returns, $doc, |args| {
            #[allow(unused_mut, unused_variables, reason = "there may be no parameters")]
            let (mut positions, args) = (0.., args);
            $(let $param = args.get::<$ty>(positions.next().unwrap_or_default())?;)*
            $function($($param),*).map($crate::value::Any::from)
        })
    };
    ($name:literal, $function:ident($($param:ident: $ty:ty),*; $rest:literal) -> $returns:literal, $doc:literal) => {
        $crate::vm::builtin::builtin!(@ $name, ($($param: $ty),*), $rest, $returns, $doc, |args| {
            $function(args).map($crate::value::Any::from)
        })
    };
    (@ $name:literal, ($($param:ident: $ty:ty),*), $rest:literal, $returns:literal, $doc:literal, $body:expr) => {{
        use $crate::vm::builtin::{Param, arity, write_signature};
        const PARAMS: &[Param] = &[$(Param::of::<$ty>(stringify!($param))),*];
        const LEN: usize = write_signature(PARAMS, $rest, $returns, &mut []);
        const SIGNATURE: [u8; LEN] = {
            let mut text = [0; LEN];
            write_signature(PARAMS, $rest, $returns, &mut text);
            text
        };
        let Ok(signature) = std::str::from_utf8(&SIGNATURE) else { unreachable!() };
        $crate::vm::Builtin { name: $name, signature, doc: $doc, arity: arity(PARAMS, $rest), body: $body }
    }};
}

pub(crate) use builtin;
