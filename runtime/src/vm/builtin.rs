//! Declarations of builtins: name, typed parameters, a line of documentation, and the function.
use crate::ffi::{self, Args, Error, SafeCall};
use crate::value::{Any, FromAny, Function};
use std::ffi::c_void;
use std::fmt;

/// A parameter of a builtin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Kind of value.
    pub kind: &'static str,
    /// True if it may be none, or omitted at the end.
    pub optional: bool,
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
    /// Parameters in order.
    pub params: &'static [Param],
    /// Description of further arguments, if the function accepts any.
    pub rest: Option<&'static str>,
    /// Kind of the result.
    pub returns: &'static str,
    /// Documentation in one line.
    pub doc: &'static str,
    pub(crate) body: fn(Args<'_>) -> Result<Any, Error>,
}

impl Builtin {
    /// Calls the builtin.
    pub fn call(&self, args: &[Any]) -> Result<Any, Error> {
        let args = Args::new(self.name, args);
        let required = self.params.iter().filter(|param| !param.optional).count();
        let max = if self.rest.is_some() { usize::MAX } else { self.params.len() };
        if args.len() < required || args.len() > max {
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
        write!(f, "{}(", self.name)?;
        for (i, param) in self.params.iter().enumerate() {
            let optional = if param.optional { "?" } else { "" };
            write!(f, "{}{}: {}{optional}", if i > 0 { ", " } else { "" }, param.name, param.kind)?;
        }
        if let Some(rest) = self.rest {
            write!(f, "{}{rest}", if self.params.is_empty() { "" } else { ", " })?;
        }
        write!(f, ") -> {}", self.returns)
    }
}

/// Declares a builtin: name, `function(parameter: type, …; the rest)`, kind of the result, documentation.
///
/// Without "the rest", the function receives its parameters converted; with it, it receives the raw [`Args`].
macro_rules! builtin {
    ($name:literal, $function:ident($($param:ident: $ty:ty),*) -> $returns:literal, $doc:literal) => {
        $crate::vm::Builtin {
            name: $name,
            params: &[$($crate::vm::Param::of::<$ty>(stringify!($param))),*],
            rest: None,
            returns: $returns,
            doc: $doc,
            body: |args| {
                #[allow(unused_mut, unused_variables, reason = "there may be no parameters")]
                let (mut positions, args) = (0.., args);
                $(let $param = args.get::<$ty>(positions.next().unwrap_or_default())?;)*
                $function($($param),*).map($crate::value::Any::from)
            },
        }
    };
    ($name:literal, $function:ident($($param:ident: $ty:ty),*; $rest:literal) -> $returns:literal, $doc:literal) => {
        $crate::vm::Builtin {
            name: $name,
            params: &[$($crate::vm::Param::of::<$ty>(stringify!($param))),*],
            rest: Some($rest),
            returns: $returns,
            doc: $doc,
            body: |args| $function(args).map($crate::value::Any::from),
        }
    };
}

pub(crate) use builtin;
