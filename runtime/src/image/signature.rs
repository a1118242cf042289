//! Signatures of functions, with the names and types of the model's source.
//!
//! The virtual machine does not read them: they are for people and for programs that call an unknown model.
use crate::bytes::{Put, Reader, Truncated};
use crate::value::DType;
use std::fmt::{self, Display};

/// Signature of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// The function's name.
    pub function: String,
    /// Parameters in order, including weights that are constants by now.
    pub params: Vec<Param>,
    /// Results: the fields of the tuple if it returns one.
    pub results: Vec<Param>,
}

/// A parameter or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Name; results without one have their index.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Type of its values.
    pub ty: ValueType,
}

/// Role of a parameter or result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Role {
    /// An argument of every call.
    Input = 0,
    /// A weight that every call passes.
    Weight = 1,
    /// A weight that is bound in the model: calls do not pass it.
    Bound = 2,
    /// A result.
    Output = 3,
    /// An argument with a default value, which calls may omit.
    Default = 4,
}

impl Role {
    const ALL: [Role; 5] = [Role::Input, Role::Weight, Role::Bound, Role::Output, Role::Default];

    /// The role's name.
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

/// Type of a parameter or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// A tensor.
    Tensor {
        /// Dtype, if known.
        dtype: Option<DType>,
        /// Shape.
        shape: Dims,
    },
    /// A shape.
    Shape(Dims),
    /// A number.
    Scalar(DType),
    /// A tuple.
    Tuple(Vec<ValueType>),
    /// Another type, as the model's source writes it.
    Other(String),
}

/// A shape, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dims {
    /// Nothing.
    Unknown,
    /// Only the rank is known.
    Rank(usize),
    /// Every size is known or symbolic.
    Known(Vec<Size>),
}

/// A size of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// A constant.
    Static(i64),
    /// A name or expression, such as `n` or `n * 2`.
    Symbol(String),
}

/// Maximum nesting depth of tuples; models have less.
const MAX_NESTING: usize = 100;

impl Signature {
    /// A signature with only the parameters' names.
    pub fn of_names<'a>(function: &str, names: impl Iterator<Item = &'a String>) -> Signature {
        let param = |name: &String| Param { name: name.clone(), role: Role::Input, ty: ValueType::unknown() };
        Signature { function: function.to_owned(), params: names.map(param).collect(), results: Vec::new() }
    }

    /// The parameters that calls must pass: all but bound weights and those with default values.
    pub fn given(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| !matches!(param.role, Role::Bound | Role::Default))
    }
}

impl ValueType {
    /// Anything.
    pub fn unknown() -> ValueType {
        ValueType::Other("any".to_owned())
    }

    /// Dtype of the tensor or number.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            ValueType::Tensor { dtype, .. } => *dtype,
            ValueType::Scalar(dtype) => Some(*dtype),
            _ => None,
        }
    }

    /// Sizes of a tensor or shape, if the rank is known.
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

/// Displays items separated by commas.
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
        let function = reader.text()?;
        let (params, results) = (reader.list(16, param)?, reader.list(16, param)?);
        Ok::<_, Truncated>(Signature { function, params, results })
    })?;
    if reader.remaining() == 0 { Ok(signatures) } else { Err(Truncated) }
}

fn param(reader: &mut Reader<'_>) -> Result<Param, Truncated> {
    let (name, role) = (reader.text()?, reader.u32()?);
    let role = Role::ALL.into_iter().find(|one| *one as u32 == role).ok_or(Truncated)?;
    Ok(Param { name, role, ty: read_type(reader, 0)? })
}

/// Reads a type at this nesting depth.
fn read_type(reader: &mut Reader<'_>, depth: usize) -> Result<ValueType, Truncated> {
    let dtype = |reader: &mut Reader<'_>| Ok(DType::new(reader.u8()?, reader.u8()?, reader.u16()?));
    Ok(match reader.u32()? {
        0 => {
            let dtype = Some(dtype(reader)?).filter(|dtype| *dtype != DType::VOID);
            ValueType::Tensor { dtype, shape: read_dims(reader)? }
        }
        1 => ValueType::Shape(read_dims(reader)?),
        2 => ValueType::Scalar(dtype(reader)?),
        3 if depth < MAX_NESTING => ValueType::Tuple(reader.list(8, |reader| read_type(reader, depth + 1))?),
        4 => ValueType::Other(reader.text()?),
        _ => return Err(Truncated),
    })
}

fn read_dims(reader: &mut Reader<'_>) -> Result<Dims, Truncated> {
    Ok(match reader.u32()? {
        0 => Dims::Unknown,
        // Displayed with one mark per axis, so it must be small.
        1 => Dims::Rank(reader.u32().map(usize::try_from)?.ok().filter(|rank| *rank <= 1 << 10).ok_or(Truncated)?),
        2 => Dims::Known(reader.list(12, |reader| match reader.u32()? {
            0 => reader.i64().map(Size::Static),
            1 => reader.text().map(Size::Symbol),
            _ => Err(Truncated),
        })?),
        _ => return Err(Truncated),
    })
}
