//! What functions take and give, with the names and types that the model's text has for them.
//!
//! The machine does not read this: it is for people and for programs that call a model they do not know.
use crate::bytes::{Put, Reader, Truncated};
use crate::value::DType;
use std::fmt::{self, Display};

/// What a function takes and gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// The function's name.
    pub function: String,
    /// Its parameters in order, and weights among them that are constants by now.
    pub params: Vec<Param>,
    /// Its results: the members of the tuple if it gives one.
    pub results: Vec<Param>,
}

/// A parameter or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name; results without one have their number.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// Which values it has.
    pub ty: ValueType,
}

/// What a parameter or result is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Role {
    /// An argument of each call.
    Input = 0,
    /// A weight that each call is given.
    Weight = 1,
    /// A weight that the model has: calls are not given it.
    Bound = 2,
    /// A result.
    Output = 3,
    /// An argument with a default value, which calls need not give.
    Default = 4,
}

impl Role {
    const ALL: [Role; 5] = [Role::Input, Role::Weight, Role::Bound, Role::Output, Role::Default];

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Weight => "weight",
            Role::Bound => "bound",
            Role::Output => "output",
            Role::Default => "default",
        }
    }
}

/// Which values a parameter or result has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// Tensors.
    Tensor {
        /// Of these elements, if that is known.
        dtype: Option<DType>,
        /// Of this shape.
        shape: Dims,
    },
    /// Shapes.
    Shape(Dims),
    /// Numbers.
    Scalar(DType),
    /// Tuples.
    Tuple(Vec<ValueType>),
    /// Others, as the model's text writes their type.
    Other(String),
}

/// What is known of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dims {
    /// Nothing.
    Unknown,
    /// How many sizes it has.
    Rank(usize),
    /// Each size.
    Known(Vec<Size>),
}

/// A size of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// Exactly this.
    Static(i64),
    /// A name or expression, such as `n` or `n * 2`.
    Symbol(String),
}

/// Tuples inside each other that are read; types of models have fewer.
const MOST_NESTED: usize = 100;

impl Signature {
    /// Of a function of which only the names of its parameters are known.
    pub fn of_names<'a>(function: &str, names: impl Iterator<Item = &'a String>) -> Signature {
        let param = |name: &String| Param { name: name.clone(), role: Role::Input, ty: ValueType::unknown() };
        Signature { function: function.to_owned(), params: names.map(param).collect(), results: Vec::new() }
    }

    /// The parameters that calls give: all but those that the model has, or has a default value for.
    pub fn given(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| !matches!(param.role, Role::Bound | Role::Default))
    }
}

impl ValueType {
    /// Anything.
    pub fn unknown() -> ValueType {
        ValueType::Other("any".to_owned())
    }

    /// The type of its elements, or of the number that it is.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            ValueType::Tensor { dtype, .. } => *dtype,
            ValueType::Scalar(dtype) => Some(*dtype),
            _ => None,
        }
    }

    /// The sizes of a tensor or shape, if all are known or named.
    pub fn sizes(&self) -> Option<&[Size]> {
        match self {
            ValueType::Tensor { shape: Dims::Known(sizes), .. } | ValueType::Shape(Dims::Known(sizes)) => Some(sizes),
            _ => None,
        }
    }
}

impl From<&[i64]> for Dims {
    fn from(sizes: &[i64]) -> Dims {
        Dims::Known(sizes.iter().map(|size| Size::Static(*size)).collect())
    }
}

impl Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Tensor { dtype: Some(dtype), shape } => write!(f, "{dtype}{shape}"),
            ValueType::Tensor { dtype: None, shape } => write!(f, "tensor{shape}"),
            ValueType::Shape(dims) => write!(f, "shape{dims}"),
            ValueType::Scalar(dtype) => write!(f, "{dtype}"),
            ValueType::Tuple(fields) => write!(f, "({})", Listed(fields)),
            ValueType::Other(text) => f.write_str(text),
        }
    }
}

impl Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dims::Unknown => f.write_str("[...]"),
            Dims::Rank(rank) => write!(f, "[{}]", vec!["?"; *rank].join(", ")),
            Dims::Known(sizes) => write!(f, "[{}]", Listed(sizes)),
        }
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Static(size) => write!(f, "{size}"),
            Size::Symbol(text) => f.write_str(text),
        }
    }
}

/// Things with commas between them.
struct Listed<'a, T>(&'a [T]);

impl<T: Display> Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if number > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

pub(super) fn encode(signatures: &[Signature], out: &mut Vec<u8>) {
    out.put_u64(signatures.len() as u64);
    for Signature { function, params, results } in signatures {
        out.put_blob(function.as_bytes());
        for values in [params, results] {
            out.put_u64(values.len() as u64);
            for Param { name, role, ty } in values {
                out.put_blob(name.as_bytes());
                out.put_u32(*role as u32);
                put_type(ty, out);
            }
        }
    }
}

fn put_type(ty: &ValueType, out: &mut Vec<u8>) {
    let dtype = |out: &mut Vec<u8>, dtype: DType| {
        out.put(&[dtype.code, dtype.bits]);
        out.put(&dtype.lanes.to_le_bytes());
    };
    match ty {
        ValueType::Tensor { dtype: elements, shape } => {
            out.put_u32(0);
            dtype(out, elements.unwrap_or(DType::VOID));
            put_dims(shape, out);
        }
        ValueType::Shape(dims) => {
            out.put_u32(1);
            put_dims(dims, out);
        }
        ValueType::Scalar(number) => {
            out.put_u32(2);
            dtype(out, *number);
        }
        ValueType::Tuple(fields) => {
            out.put_u32(3);
            out.put_u64(fields.len() as u64);
            fields.iter().for_each(|field| put_type(field, out));
        }
        ValueType::Other(text) => {
            out.put_u32(4);
            out.put_blob(text.as_bytes());
        }
    }
}

fn put_dims(dims: &Dims, out: &mut Vec<u8>) {
    match dims {
        Dims::Unknown => out.put_u32(0),
        Dims::Rank(rank) => {
            out.put_u32(1);
            out.put_u32(*rank as u32);
        }
        Dims::Known(sizes) => {
            out.put_u32(2);
            out.put_u64(sizes.len() as u64);
            for size in sizes {
                match size {
                    Size::Static(size) => {
                        out.put_u32(0);
                        out.put_i64(*size);
                    }
                    Size::Symbol(text) => {
                        out.put_u32(1);
                        out.put_blob(text.as_bytes());
                    }
                }
            }
        }
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Signature>, Truncated> {
    let mut reader = Reader::new(bytes);
    let signatures = reader.list(24, |reader| {
        let function = text(reader)?;
        let (params, results) = (reader.list(16, param)?, reader.list(16, param)?);
        Ok::<_, Truncated>(Signature { function, params, results })
    })?;
    if reader.remaining() == 0 { Ok(signatures) } else { Err(Truncated) }
}

fn text(reader: &mut Reader<'_>) -> Result<String, Truncated> {
    String::from_utf8(reader.blob()?.to_vec()).map_err(|_| Truncated)
}

fn param(reader: &mut Reader<'_>) -> Result<Param, Truncated> {
    let (name, role) = (text(reader)?, reader.u32()?);
    let role = Role::ALL.into_iter().find(|one| *one as u32 == role).ok_or(Truncated)?;
    Ok(Param { name, role, ty: read_type(reader, 0)? })
}

/// A type inside of so many tuples.
fn read_type(reader: &mut Reader<'_>, depth: usize) -> Result<ValueType, Truncated> {
    let dtype = |reader: &mut Reader<'_>| Ok(DType::new(reader.u8()?, reader.u8()?, reader.u16()?));
    Ok(match reader.u32()? {
        0 => {
            let dtype = Some(dtype(reader)?).filter(|dtype| *dtype != DType::VOID);
            ValueType::Tensor { dtype, shape: read_dims(reader)? }
        }
        1 => ValueType::Shape(read_dims(reader)?),
        2 => ValueType::Scalar(dtype(reader)?),
        3 if depth < MOST_NESTED => ValueType::Tuple(reader.list(8, |reader| read_type(reader, depth + 1))?),
        4 => ValueType::Other(text(reader)?),
        _ => return Err(Truncated),
    })
}

fn read_dims(reader: &mut Reader<'_>) -> Result<Dims, Truncated> {
    Ok(match reader.u32()? {
        0 => Dims::Unknown,
        // Displayed as so many marks, so that it has to be small.
        1 => Dims::Rank(reader.u32().map(usize::try_from)?.ok().filter(|rank| *rank <= 1 << 10).ok_or(Truncated)?),
        2 => Dims::Known(reader.list(12, |reader| match reader.u32()? {
            0 => reader.i64().map(Size::Static),
            1 => text(reader).map(Size::Symbol),
            _ => Err(Truncated),
        })?),
        _ => return Err(Truncated),
    })
}
