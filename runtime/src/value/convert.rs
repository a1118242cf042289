//! Conversions between `Any` and Rust types.
use super::any::{Any, Payload};
use super::object::Ref;
use super::{
    Adt, Bytes, Closure, DType, Device, ErrorObject, Function, Opaque, Shape, Storage, Str, Tensor, Tuple, index,
};
#[cfg(feature = "modules")]
use crate::module::Module;
use std::fmt;

/// A type that can be read from an `Any`.
pub trait FromAny<'a>: Sized {
    /// Name in signatures and messages.
    const NAME: &'static str;
    /// True if the value may be missing.
    const OPTIONAL: bool = false;

    /// The value, if it has this type.
    fn from_any(value: &'a Any) -> Option<Self>;
}

impl Any {
    /// The value as `T`, if it has that type. Integers convert to booleans and floats, booleans to integers.
    #[inline]
    pub fn get<'a, T: FromAny<'a>>(&'a self) -> Option<T> {
        T::from_any(self)
    }
}

impl<'a> FromAny<'a> for &'a Any {
    const NAME: &'static str = "Any";

    fn from_any(value: &'a Any) -> Option<&'a Any> {
        Some(value)
    }
}

impl<'a, T: FromAny<'a>> FromAny<'a> for Option<T> {
    const NAME: &'static str = T::NAME;
    const OPTIONAL: bool = true;

    fn from_any(value: &'a Any) -> Option<Option<T>> {
        if value.is_none() { Some(None) } else { T::from_any(value).map(Some) }
    }
}

impl FromAny<'_> for i64 {
    const NAME: &'static str = "int";

    #[inline]
    fn from_any(value: &Any) -> Option<i64> {
        // SAFETY: the tag says that the payload is an integer.
        matches!(value.type_index(), index::INT | index::BOOL).then(|| unsafe { value.payload().int })
    }
}

impl FromAny<'_> for bool {
    const NAME: &'static str = "bool";

    fn from_any(value: &Any) -> Option<bool> {
        i64::from_any(value).map(|int| int != 0)
    }
}

impl FromAny<'_> for f64 {
    const NAME: &'static str = "float";

    fn from_any(value: &Any) -> Option<f64> {
        match value.type_index() {
            // SAFETY: the tag says that the payload is a float.
            index::FLOAT => Some(unsafe { value.payload().float }),
            _ => i64::from_any(value).map(|int| int as f64),
        }
    }
}

impl FromAny<'_> for DType {
    const NAME: &'static str = "dtype";

    fn from_any(value: &Any) -> Option<DType> {
        match value.type_index() {
            // SAFETY: the tag says that the payload is a data type.
            index::DATA_TYPE => Some(unsafe { value.payload().dtype }),
            _ => value.as_str()?.parse().ok(),
        }
    }
}

impl FromAny<'_> for Device {
    const NAME: &'static str = "Device";

    fn from_any(value: &Any) -> Option<Device> {
        // SAFETY: the tag says that the payload is a device.
        (value.type_index() == index::DEVICE).then(|| unsafe { value.payload().device })
    }
}

impl<'a> FromAny<'a> for &'a str {
    const NAME: &'static str = "str";

    fn from_any(value: &'a Any) -> Option<&'a str> {
        value.as_str()
    }
}

impl FromAny<'_> for Str {
    const NAME: &'static str = "str";

    fn from_any(value: &Any) -> Option<Str> {
        value.as_str().map(Str::new)
    }
}

/// Object handles: they can be borrowed from an `Any` without changing the reference count.
macro_rules! handles {
    ($($handle:ident = $index:ident, $name:literal;)*) => {$(
        impl<'a> FromAny<'a> for &'a $handle {
            const NAME: &'static str = $name;

            #[inline]
            fn from_any(value: &'a Any) -> Option<&'a $handle> {
                // SAFETY: the tag says that the payload is a non-null object of this kind; the handle is that pointer.
                (value.type_index() == index::$index).then(|| unsafe { &*(&raw const *value.payload()).cast() })
            }
        }

        impl FromAny<'_> for $handle {
            const NAME: &'static str = $name;

            fn from_any(value: &Any) -> Option<$handle> {
                value.get::<&$handle>().cloned()
            }
        }

        impl From<$handle> for Any {
            fn from(value: $handle) -> Any {
                Any::object(value.0)
            }
        }
    )*};
}

handles! {
    Tensor = TENSOR, "Tensor";
    Shape = SHAPE, "Shape";
    Tuple = ARRAY, "Tuple";
    Function = FUNCTION, "Function";
    Closure = CLOSURE, "Closure";
    Storage = STORAGE, "Storage";
    Opaque = OPAQUE, "Object";
    Adt = ADT, "Adt";
    Bytes = BYTES, "bytes";
    ErrorObject = ERROR, "Error";
}

#[cfg(feature = "modules")]
handles! {
    Module = OWN_MODULE, "Module";
}

const _: () = assert!(size_of::<Ref<super::DLTensor>>() == 8);

impl From<Str> for Any {
    fn from(text: Str) -> Any {
        if text.len() > 7 { Any::object(text.0) } else { Any::str(&text) }
    }
}

impl From<&str> for Any {
    fn from(text: &str) -> Any {
        Any::str(text)
    }
}

macro_rules! plain {
    ($($rust:ty = $index:ident, $value:ident => $payload:expr;)*) => {
        $(impl From<$rust> for Any {
            fn from($value: $rust) -> Any {
                Any::plain(index::$index, $payload)
            }
        })*
    };
}

plain! {
    () = NONE, _unit => Payload { int: 0 };
    i64 = INT, value => Payload { int: value };
    bool = BOOL, value => Payload { int: value.into() };
    f64 = FLOAT, value => Payload { float: value };
    DType = DATA_TYPE, value => payload_of_dtype(value);
    Device = DEVICE, value => Payload { device: value };
}

/// A dtype fills half of the payload; the rest is zero.
fn payload_of_dtype(dtype: DType) -> Payload {
    let mut payload = Payload { int: 0 };
    payload.dtype = dtype;
    payload
}

impl<T: Into<Any>> From<Option<T>> for Any {
    fn from(value: Option<T>) -> Any {
        value.map_or(Any::NONE, Into::into)
    }
}

/// A short text for messages: the kind and, if it is short, the value.
impl fmt::Display for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str() {
            return write!(f, "{text:?}");
        }
        match self.type_index() {
            index::BOOL => write!(f, "{}", self.get::<bool>() == Some(true)),
            index::INT => write!(f, "{}", self.get::<i64>().unwrap_or_default()),
            index::FLOAT => write!(f, "{:?}", self.get::<f64>().unwrap_or_default()),
            index::DATA_TYPE => write!(f, "{}", self.get::<DType>().unwrap_or(DType::VOID)),
            index::DEVICE => write!(f, "{}", self.get::<Device>().unwrap_or(Device::CPU)),
            _ => self.write_object(f),
        }
    }
}

impl Any {
    fn write_object(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tensor) = self.get::<&Tensor>() {
            return write!(f, "{tensor:?}");
        }
        if let Some(shape) = self.get::<&Shape>() {
            return write!(f, "{shape:?}");
        }
        if let Some(adt) = self.get::<&Adt>() {
            return write!(f, "{adt:?}");
        }
        if let Some(error) = self.get::<&ErrorObject>() {
            return write!(f, "{error:?}");
        }
        if let Some(opaque) = self.get::<&Opaque>() {
            return write!(f, "{opaque:?}");
        }
        match self.get::<&Tuple>() {
            Some(tuple) => write!(f, "Tuple of {}", tuple.len()),
            None => f.write_str(self.type_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_convert_where_nothing_is_lost() {
        assert_eq!(Any::from(3i64).get::<f64>(), Some(3.0));
        assert_eq!(Any::from(true).get::<i64>(), Some(1));
        assert_eq!(Any::from(2i64).get::<bool>(), Some(true));
        assert_eq!(Any::from(1.5).get::<i64>(), None);
        assert_eq!(Any::NONE.get::<Option<i64>>(), Some(None));
        assert_eq!(Any::NONE.get::<i64>(), None);
    }

    #[test]
    fn strings_are_inline_up_to_seven_bytes() {
        for (text, index) in [("", index::SMALL_STR), ("seven b", index::SMALL_STR), ("eight by", index::STR)] {
            for value in [Any::from(text), Any::from(Str::new(text)), Any::from(text).clone()] {
                assert_eq!((value.type_index(), value.as_str()), (index, Some(text)));
            }
        }
        assert_eq!(Any::from("float32x4").get::<DType>(), Some(DType::FLOAT32.with_lanes(4)));
    }

    #[test]
    fn objects_are_shared_and_lent() {
        let tensor = Tensor::scalar(1.0f32).unwrap();
        let value = Any::from(tensor.clone());
        assert!(value.get::<&Tensor>().unwrap().ptr_eq(&tensor));
        assert!(value.get::<&Shape>().is_none());
        assert!(value.clone().get::<Tensor>().unwrap().ptr_eq(&tensor));
    }

    #[test]
    fn borrowed_arguments_become_owned_when_cloned() {
        let text = c"from the outside".as_ptr();
        let raw = Any::plain(index::RAW_STR, Payload { ptr: text.cast_mut().cast() });
        assert_eq!(raw.as_str(), Some("from the outside"));
        assert_eq!(raw.clone().type_index(), index::STR);

        let tensor = Tensor::from_slice(&[2], &[1i32, 2]).unwrap();
        let described =
            Any::plain(index::DL_TENSOR_PTR, Payload { ptr: (&raw const *tensor.as_dl()).cast_mut().cast() });
        let copy = described.clone().get::<Tensor>().unwrap();
        assert_eq!(copy.as_slice::<i32>().unwrap(), [1, 2]);

        let mut header = tensor.0.as_header();
        let moved = Any::plain(index::OBJECT_RVALUE_REF, Payload { ptr: (&raw mut header).cast() });
        assert!(moved.clone().get::<&Tensor>().unwrap().ptr_eq(&tensor));
    }

    #[test]
    fn values_print_for_messages() {
        let shape = Any::from(Shape::new(&[2]));
        let tuple = Any::from(Tuple::from_iter([Any::NONE]));
        let text: Vec<_> = [Any::from(1.0), Any::from("a"), Any::from(DType::BOOL), Any::NONE, shape, tuple]
            .iter()
            .map(Any::to_string)
            .collect();
        assert_eq!(text, ["1.0", "\"a\"", "bool", "None", "Shape(2,)", "Tuple of 1"]);
    }
}
