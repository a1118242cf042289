//! Small tensors whose elements are known at compile time, as constants or expressions over symbolic dimensions.
//!
//! Exported models compute shapes with operators: `Shape`, `Gather`, `Concat`, arithmetic, then `Reshape`. Evaluating
//! these symbolically gives operators that need dimensions `n * 12` instead of a tensor that is only known at run time.

use hammock_ir::{
    DType, PrimExpr, Tensor,
    relax::{Constant, Operand},
};
use hammock_ops::dims;
use std::rc::Rc;

/// Maximum number of elements of an integer tensor, and of a float tensor, that is tracked.
const MAX_INTEGERS: usize = 1024;
const MAX_FLOATS: usize = 8;

/// Tensor whose elements are known.
#[derive(Clone, Debug)]
pub struct KnownTensor {
    /// Shape.
    pub shape: Vec<i64>,
    /// Dtype.
    pub dtype: DType,
    /// Elements in row-major order: floats as constants of the dtype, integers and bools as int64 expressions.
    pub elements: Rc<[PrimExpr]>,
}

impl KnownTensor {
    /// Creates a tensor; `None` if it has too many elements, or one is out of the dtype's range.
    pub fn new(shape: &[i64], dtype: DType, elements: impl IntoIterator<Item = PrimExpr>) -> Option<KnownTensor> {
        let elements: Vec<PrimExpr> = elements.into_iter().collect();
        let fits = |e: &PrimExpr| match (dtype.is_floating(), e.as_int()) {
            (true, _) => e.as_float().is_some(),
            (false, Some(value)) => can_represent(dtype, value),
            (false, None) => e.size() <= hammock_ir::types::MAX_DIM_NODES && dtype.bits >= 32,
        };
        let is_complete = count(shape) == Some(elements.len()) && elements.len() <= MAX_INTEGERS;
        let known = is_complete && elements.iter().all(fits);
        known.then(|| KnownTensor { shape: shape.to_vec(), dtype, elements: elements.into() })
    }

    /// Creates an int64 vector.
    pub fn vector(elements: Vec<PrimExpr>) -> Option<KnownTensor> {
        KnownTensor::new(&[elements.len() as i64], DType::INT64, elements)
    }

    /// Creates an int64 scalar.
    pub fn scalar(element: PrimExpr) -> Option<KnownTensor> {
        KnownTensor::new(&[], DType::INT64, [element])
    }

    /// Returns the elements of a constant if it is small enough.
    pub fn of_tensor(tensor: &Tensor) -> Option<KnownTensor> {
        let dtype = tensor.dtype();
        let limit = if dtype.is_floating() { MAX_FLOATS } else { MAX_INTEGERS };
        if tensor.element_count() > limit {
            return None;
        }
        let elements: Vec<PrimExpr> = match dtype {
            DType::FLOAT16 => floats(tensor.as_slice::<half::f16>().ok()?.iter().map(|v| v.to_f64()), dtype),
            DType::BFLOAT16 => floats(tensor.as_slice::<half::bf16>().ok()?.iter().map(|v| v.to_f64()), dtype),
            DType::FLOAT32 => floats(tensor.as_slice::<f32>().ok()?.iter().map(|v| f64::from(*v)), dtype),
            DType::FLOAT64 => floats(tensor.as_slice::<f64>().ok()?.iter().copied(), dtype),
            DType::INT8 => integers(tensor.as_slice::<i8>().ok()?),
            DType::INT16 => integers(tensor.as_slice::<i16>().ok()?),
            DType::INT32 => integers(tensor.as_slice::<i32>().ok()?),
            DType::INT64 => integers(tensor.as_slice::<i64>().ok()?),
            DType::UINT8 => integers(tensor.as_slice::<u8>().ok()?),
            DType::UINT16 => integers(tensor.as_slice::<u16>().ok()?),
            DType::UINT32 => integers(tensor.as_slice::<u32>().ok()?),
            DType::BOOL => integers(tensor.as_slice::<bool>().ok()?),
            _ => return None,
        };
        Some(KnownTensor { shape: tensor.shape().to_vec(), dtype, elements: elements.into() })
    }

    /// Returns the elements as integers, if they are constants.
    pub fn ints(&self) -> Option<Vec<i64>> {
        self.elements.iter().map(PrimExpr::as_int).collect()
    }

    /// Returns the elements as floats, if they are constants.
    pub fn floats(&self) -> Option<Vec<f64>> {
        let number = |e: &PrimExpr| e.as_float().or_else(|| e.as_int().map(|v| v as f64));
        self.elements.iter().map(number).collect()
    }

    /// Returns the tensor as a constant operand, if its elements are constants.
    pub fn constant(&self) -> Option<Operand> {
        let bytes: Vec<u8> = match self.dtype.is_floating() {
            true => {
                let one = |v: f64| Some(Constant::float(v, self.dtype)?.tensor.as_bytes().ok()?.to_vec());
                self.floats()?.into_iter().map(one).collect::<Option<Vec<_>>>()?.concat()
            }
            false => {
                let bytes = self.dtype.bytes();
                self.ints()?.into_iter().flat_map(|v| v.to_le_bytes()[..bytes].to_vec()).collect()
            }
        };
        let tensor = Tensor::from_bytes(self.dtype, &self.shape, &bytes).ok()?;
        Some(Operand::Const(Constant::new(tensor)))
    }

    /// Reshapes the tensor.
    pub fn reshaped(&self, shape: Vec<i64>) -> Option<KnownTensor> {
        (count(&shape) == Some(self.elements.len())).then(|| KnownTensor { shape, ..self.clone() })
    }

    /// Builds a tensor of another shape from an index map: `index_map` maps an index of the result to one of this
    /// tensor.
    pub fn map_indices(&self, shape: &[i64], index_map: impl Fn(&[i64]) -> Vec<i64>) -> Option<KnownTensor> {
        let strides =
            |shape: &[i64]| (1..=shape.len()).map(|axis| shape[axis..].iter().product()).collect::<Vec<i64>>();
        let (strides_from, strides_to) = (strides(&self.shape), strides(shape));
        let element = |number: usize| {
            let index = |(size, stride): (&i64, &i64)| number as i64 / stride % size;
            let index: Vec<i64> = shape.iter().zip(&strides_to).map(index).collect();
            let at: i64 = index_map(&index).iter().zip(&strides_from).map(|(index, stride)| index * stride).sum();
            self.elements.get(usize::try_from(at).ok()?).cloned()
        };
        KnownTensor::new(shape, self.dtype, (0..count(shape)?).map(element).collect::<Option<Vec<_>>>()?)
    }

    /// Converts the elements to another dtype.
    pub fn cast(&self, dtype: DType) -> Option<KnownTensor> {
        let cast = |e: &PrimExpr| match (self.dtype.is_floating(), dtype.is_floating()) {
            (_, true) => Some(float(e.as_float().or_else(|| e.as_int().map(|v| v as f64))?, dtype)),
            (false, false) if dtype.is_bool() => Some(dims::simplify(&PrimExpr::int64(i64::from(e.as_int()? != 0)))),
            (false, false) => Some(e.clone()),
            (true, false) => {
                let value = e.as_float()?;
                let value = if dtype.is_bool() { f64::from(u8::from(value != 0.0)) } else { value.trunc() };
                (value.abs() < 9e15).then_some(PrimExpr::int64(value as i64))
            }
        };
        let elements = self.elements.iter().map(cast).collect::<Option<Vec<_>>>()?;
        KnownTensor::new(&self.shape, dtype, elements)
    }
}

/// Number of elements of a shape; `None` if it exceeds the limit for known elements.
pub fn count(shape: &[i64]) -> Option<usize> {
    let count = shape.iter().try_fold(1usize, |all, size| all.checked_mul(usize::try_from(*size).ok()?));
    count.filter(|count| *count <= MAX_INTEGERS)
}

/// Returns a float rounded to a dtype.
pub fn float(value: f64, dtype: DType) -> PrimExpr {
    let rounded = match dtype {
        DType::FLOAT16 => hammock_runtime::value::small_float::to_float16(value).to_f64(),
        DType::BFLOAT16 => hammock_runtime::value::small_float::to_bfloat16(value).to_f64(),
        DType::FLOAT32 => f64::from(value as f32),
        _ => value,
    };
    PrimExpr::float(rounded, dtype)
}

fn floats(values: impl Iterator<Item = f64>, dtype: DType) -> Vec<PrimExpr> {
    values.map(|v| PrimExpr::float(v, dtype)).collect()
}

fn integers<T: Copy + Into<Integer>>(values: &[T]) -> Vec<PrimExpr> {
    values.iter().map(|v| PrimExpr::int64((*v).into().0)).collect()
}

/// Integer or bool of any dtype but uint64.
struct Integer(i64);

macro_rules! integer {
    ($($t:ty),*) => { $(impl From<$t> for Integer { fn from(v: $t) -> Self { Integer(i64::from(v)) } })* };
}
integer!(i8, i16, i32, i64, u8, u16, u32, bool);

/// Returns true if an integer or bool dtype can represent a value.
fn can_represent(dtype: DType, value: i64) -> bool {
    let bits = u32::from(dtype.bits.min(64));
    match dtype {
        DType::BOOL => value == 0 || value == 1,
        _ if dtype.is_uint() => value >= 0 && (bits >= 63 || value >> bits == 0),
        _ => bits >= 64 || (value >> (bits - 1) == 0 || value >> (bits - 1) == -1),
    }
}
