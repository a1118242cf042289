//! Arguments of a call, with typed accessors whose errors name the function.
use super::Error;
use crate::value::{Any, FromAny};
use std::ops::Range;

/// Value of an optional argument that was omitted.
static MISSING: Any = Any::NONE;

/// Arguments, and the name of the callee.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    function: &'a str,
    values: &'a [Any],
}

impl<'a> Args<'a> {
    /// The arguments of a call of `function`.
    pub fn new(function: &'a str, values: &'a [Any]) -> Args<'a> {
        Args { function, values }
    }

    /// Number of arguments.
    #[expect(clippy::len_without_is_empty, reason = "functions ask for a number of arguments, never for none")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// All arguments.
    pub fn values(&self) -> &'a [Any] {
        self.values
    }

    /// Argument number `position` as `T`. Optional ones may be missing.
    pub fn get<T: FromAny<'a>>(&self, position: usize) -> Result<T, Error> {
        match self.values.get(position) {
            Some(value) => T::from_any(value).ok_or_else(|| self.wrong_type::<T>(position)),
            None if T::OPTIONAL => T::from_any(&MISSING).ok_or_else(|| self.wrong_type::<T>(position)),
            None => Err(self.error(format!("argument #{position} is missing"))),
        }
    }

    /// The arguments of a range.
    pub fn slice(&self, range: Range<usize>) -> Result<&'a [Any], Error> {
        let missing = || self.error(format!("expected {} arguments, got {}", range.end, self.len()));
        self.values.get(range.clone()).ok_or_else(missing)
    }

    /// A `TypeError` that names the function.
    pub fn error(&self, message: impl AsRef<str>) -> Error {
        Error::type_error(format!("{}: {}", self.function, message.as_ref()))
    }

    /// The error for an argument of the wrong type.
    pub(crate) fn wrong_type<T: FromAny<'a>>(&self, position: usize) -> Error {
        let value = self.values.get(position).unwrap_or(&MISSING);
        self.error(format!("argument #{position} must be {}, got {value}", T::NAME))
    }
}
