//! Structural equality and hashing.
//!
//! Floats compare by their bits, so NaN equals itself and the two zeros differ; tensors compare by dtype, shape and
//! elements, on any device.
use super::graph::{Node, nodes};
use crate::value::{Any, DType, Device, Shape, Tensor};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// Contents of a node, with its parts replaced by their value numbers. Equal contents have equal numbers.
#[derive(PartialEq, Eq, Hash)]
enum Contents {
    Leaf(Leaf),
    Tuple(Vec<usize>),
    Object(&'static str, Vec<usize>),
}

/// A value without parts.
#[derive(PartialEq, Eq, Hash)]
enum Leaf {
    None,
    Bool(bool),
    Int(i64),
    Float(u64),
    Str(String),
    Bytes(Vec<u8>),
    DType(DType),
    Device(Device),
    Shape(Vec<i64>),
    Tensor(DType, Vec<i64>, Elements),
    /// Compared by its address.
    Address(usize),
}

/// The elements of a contiguous host tensor.
struct Elements(Tensor);

impl Elements {
    fn bytes(&self) -> &[u8] {
        self.0.as_bytes().unwrap_or_default()
    }
}

impl PartialEq for Elements {
    fn eq(&self, other: &Elements) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Elements {}

impl Hash for Elements {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(self.bytes());
    }
}

impl Leaf {
    fn of(value: &Any) -> Leaf {
        if let Some(text) = value.as_str() {
            return Leaf::Str(text.to_owned());
        }
        match value.type_name() {
            "None" => Leaf::None,
            "bool" => Leaf::Bool(value.get() == Some(true)),
            "int" => Leaf::Int(value.get().unwrap_or_default()),
            "float" => Leaf::Float(value.get::<f64>().unwrap_or_default().to_bits()),
            "dtype" => Leaf::DType(value.get().unwrap_or(DType::VOID)),
            "Device" => Leaf::Device(value.get().unwrap_or(Device::CPU)),
            _ => Leaf::of_object(value),
        }
    }

    fn of_object(value: &Any) -> Leaf {
        if let Some(shape) = value.get::<&Shape>() {
            return Leaf::Shape(shape.to_vec());
        }
        if let Some(bytes) = value.as_bytes() {
            return Leaf::Bytes(bytes.to_vec());
        }
        let host = value.get::<&Tensor>().and_then(|tensor| tensor.to_device(Device::CPU).ok()?.to_contiguous().ok());
        match host {
            Some(tensor) => Leaf::Tensor(tensor.dtype(), tensor.shape().to_vec(), Elements(tensor)),
            None => Leaf::Address(value.address().unwrap_or_default()),
        }
    }
}

/// Value numbering: equal contents get equal numbers.
#[derive(Default)]
struct Numbers(HashMap<Contents, usize>);

impl Numbers {
    /// The number of a value; `None` if an object contains itself.
    fn of(&mut self, value: &Any) -> Option<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        for node in nodes(value).ok()? {
            let contents = match node {
                Node::Leaf(value) => Contents::Leaf(Leaf::of(&value)),
                Node::Tuple(parts) => Contents::Tuple(parts.into_iter().map(|part| numbers[part]).collect()),
                Node::Object(ty, fields) => {
                    Contents::Object(ty.key, fields.into_iter().map(|(_, part)| numbers[part]).collect())
                }
            };
            let next = self.0.len();
            numbers.push(*self.0.entry(contents).or_insert(next));
        }
        numbers.last().copied()
    }
}

/// Returns true if both values have the same contents.
pub fn equal(a: &Any, b: &Any) -> bool {
    let mut numbers = Numbers::default();
    let (a, b) = (numbers.of(a), numbers.of(b));
    a.is_some() && a == b
}

/// A hash of the contents. It is the same in every process that runs the same build, unless the value contains
/// functions or objects without declared fields.
pub fn hash(value: &Any) -> u64 {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut hashes: Vec<u64> = Vec::new();
    for node in nodes(value).unwrap_or_default() {
        hashes.push(match node {
            Node::Leaf(value) => hasher.hash_one(Leaf::of(&value)),
            Node::Tuple(parts) => hasher.hash_one(("", parts.iter().map(|part| hashes[*part]).collect::<Vec<_>>())),
            Node::Object(ty, fields) => {
                hasher.hash_one((ty.key, fields.iter().map(|(_, part)| hashes[*part]).collect::<Vec<_>>()))
            }
        });
    }
    hashes.last().copied().unwrap_or_default()
}
