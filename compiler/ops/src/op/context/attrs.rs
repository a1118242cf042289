//! Attributes by name, and axes.

use super::CallContext;
use hammock_ir::{AttrValue, DType, relax::InferError};

/// Maximum magnitude of an attribute used in arithmetic, chosen so that multiplying two does not overflow.
const MAX_MAGNITUDE: u64 = 1 << 31;

impl<'a> CallContext<'a> {
    /// An attribute.
    ///
    /// # Errors
    /// When the call lacks it.
    pub fn attr(&self, name: &str) -> Result<&'a AttrValue, InferError> {
        self.call.attrs.get(name).ok_or_else(|| self.error(format_args!("the attribute `{name}` is missing")))
    }

    /// An integer of any magnitude.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn any_int(&self, name: &str) -> Result<i64, InferError> {
        self.attr(name)?.as_int().ok_or_else(|| self.bad_attr(name, "an integer"))
    }

    /// An integer that rules may add and multiply.
    ///
    /// # Errors
    /// When it is missing, something else, or larger than any size that fits into memory.
    pub fn int(&self, name: &str) -> Result<i64, InferError> {
        self.limited(name, self.any_int(name)?)
    }

    fn limited(&self, name: &str, value: i64) -> Result<i64, InferError> {
        match value.unsigned_abs() <= MAX_MAGNITUDE {
            true => Ok(value),
            false => Err(self.error_at(name, format_args!("`{name}` is {value}, beyond the size of any tensor"))),
        }
    }

    /// An integer, or `None`.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn optional_int(&self, name: &str) -> Result<Option<i64>, InferError> {
        if self.attr(name)?.is_none() { Ok(None) } else { self.int(name).map(Some) }
    }

    /// A number.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn float(&self, name: &str) -> Result<f64, InferError> {
        self.attr(name)?.as_float().ok_or_else(|| self.bad_attr(name, "a number"))
    }

    /// A number, or `None`.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn optional_float(&self, name: &str) -> Result<Option<f64>, InferError> {
        if self.attr(name)?.is_none() { Ok(None) } else { self.float(name).map(Some) }
    }

    /// A truth value.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn bool(&self, name: &str) -> Result<bool, InferError> {
        self.attr(name)?.as_bool().ok_or_else(|| self.bad_attr(name, "True or False"))
    }

    /// A string.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn str(&self, name: &str) -> Result<&'a str, InferError> {
        self.attr(name)?.as_str().ok_or_else(|| self.bad_attr(name, "a string"))
    }

    /// A string, or `None`; the empty string is `None`.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn optional_str(&self, name: &str) -> Result<Option<&'a str>, InferError> {
        if self.attr(name)?.is_none() { Ok(None) } else { Ok(Some(self.str(name)?).filter(|s| !s.is_empty())) }
    }

    /// A string among those allowed.
    ///
    /// # Errors
    /// When it is missing or another.
    pub fn one_of(&self, name: &str, allowed: &[&'static str]) -> Result<&'static str, InferError> {
        let given = self.str(name)?;
        allowed.iter().copied().find(|a| *a == given).ok_or_else(|| {
            let list: Vec<String> = allowed.iter().map(|a| format!("\"{a}\"")).collect();
            self.error_at(name, format_args!("`{name}` must be one of {}, not \"{given}\"", list.join(", ")))
        })
    }

    /// A dtype, or `None` when none is given.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>, InferError> {
        match self.attr(name)? {
            value if value.is_none() => Ok(None),
            AttrValue::DType(t) => Ok(Some(*t)),
            _ => Err(self.bad_attr(name, "a dtype")),
        }
    }

    /// A list of integers; one integer is a list of one.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, InferError> {
        let value = self.attr(name)?;
        let list = match value.as_list() {
            Some(list) => list.iter().map(AttrValue::as_int).collect(),
            None => value.as_int().map(|v| vec![v]),
        };
        let list: Vec<i64> = list.ok_or_else(|| self.bad_attr(name, "a list of integers"))?;
        list.into_iter().map(|value| self.limited(name, value)).collect()
    }

    /// A list of integers, or `None`.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn optional_ints(&self, name: &str) -> Result<Option<Vec<i64>>, InferError> {
        if self.attr(name)?.is_none() { Ok(None) } else { self.ints(name).map(Some) }
    }

    /// A list of numbers.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn floats(&self, name: &str) -> Result<Vec<f64>, InferError> {
        let list = self.attr(name)?.as_list().and_then(|l| l.iter().map(AttrValue::as_float).collect());
        list.ok_or_else(|| self.bad_attr(name, "a list of numbers"))
    }

    /// An axis of a tensor of `ndim` dimensions; negative values count from the end.
    ///
    /// # Errors
    /// When it is missing or out of range.
    pub fn axis(&self, name: &str, ndim: usize) -> Result<usize, InferError> {
        self.normalize_axis(name, self.int(name)?, ndim)
    }

    /// Distinct axes of a tensor of `ndim` dimensions, in the order given.
    ///
    /// # Errors
    /// When the attribute is missing, an axis is out of range, or one is given twice.
    pub fn axes(&self, name: &str, ndim: usize) -> Result<Vec<usize>, InferError> {
        let mut axes = Vec::new();
        for axis in self.ints(name)? {
            let axis = self.normalize_axis(name, axis, ndim)?;
            if axes.contains(&axis) {
                return Err(self.error_at(name, format_args!("`{name}` names axis {axis} twice")));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    /// The same, all axes in order when the attribute is `None`.
    ///
    /// # Errors
    /// As for [`CallContext::axes`].
    pub fn axes_or_all(&self, name: &str, ndim: usize) -> Result<Vec<usize>, InferError> {
        if self.attr(name)?.is_none() { Ok((0..ndim).collect()) } else { self.axes(name, ndim) }
    }

    /// An axis from a value that may count from the end.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn normalize_axis(&self, name: &str, axis: i64, ndim: usize) -> Result<usize, InferError> {
        let count = ndim as i64;
        if axis < -count || axis >= count {
            let rule = format_args!("must be at least {} and less than {count}", -count);
            return Err(self.error_at(
                name,
                format_args!("`{name}` is {axis}, but for {} it {rule}", hammock_ir::count(ndim, "dimension")),
            ));
        }
        Ok(if axis < 0 { axis + count } else { axis } as usize)
    }

    fn bad_attr(&self, name: &str, expected: &str) -> InferError {
        self.error_at(name, format_args!("`{name}` must be {expected}"))
    }
}
