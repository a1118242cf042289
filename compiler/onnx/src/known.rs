//! Small tensors whose elements are known when compiling, as numbers or as expressions over sizes.
//!
//! Exported models compute shapes with operators: `Shape`, `Gather`, `Concat`, arithmetic, then `Reshape`. Their results
//! are kept as such lists, so that operators that need sizes get `n * 12`, not a tensor that is known at run time only.

use hammock_ir::{
    DType, PrimExpr, Tensor,
    relax::{Constant, Operand},
};
use hammock_ops::dims;
use std::rc::Rc;

/// The most elements of a tensor of integers that is looked into, and of one of floats.
const MOST_INTEGERS: usize = 1024;
const MOST_FLOATS: usize = 8;

/// A tensor whose elements are known.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its dtype.
    pub dtype: DType,
    /// Its elements in row-major order: floats as numbers of its dtype, integers and bools as int64 expressions.
    pub elements: Rc<[PrimExpr]>,
}

impl Known {
    /// A tensor of those elements; none if there are too many, or one of them cannot be in a tensor of that dtype.
    pub fn new(shape: &[i64], dtype: DType, elements: impl IntoIterator<Item = PrimExpr>) -> Option<Known> {
        let elements: Vec<PrimExpr> = elements.into_iter().collect();
        let fits = |e: &PrimExpr| match (dtype.is_floating(), e.as_int()) {
            (true, _) => e.as_float().is_some(),
            (false, Some(value)) => holds(dtype, value),
            (false, None) => e.size() <= hammock_ir::types::MAX_DIM_NODES && dtype.bits >= 32,
        };
        let whole = count(shape) == Some(elements.len()) && elements.len() <= MOST_INTEGERS;
        let known = whole && elements.iter().all(fits);
        known.then(|| Known { shape: shape.to_vec(), dtype, elements: elements.into() })
    }

    /// A vector of int64.
    pub fn vector(elements: Vec<PrimExpr>) -> Option<Known> {
        Known::new(&[elements.len() as i64], DType::INT64, elements)
    }

    /// A single number of int64, of rank 0.
    pub fn scalar(element: PrimExpr) -> Option<Known> {
        Known::new(&[], DType::INT64, [element])
    }

    /// What a constant holds, if it is small enough to be looked into.
    pub fn of_tensor(tensor: &Tensor) -> Option<Known> {
        let dtype = tensor.dtype();
        let most = if dtype.is_floating() { MOST_FLOATS } else { MOST_INTEGERS };
        if tensor.element_count() > most {
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
        Some(Known { shape: tensor.shape().to_vec(), dtype, elements: elements.into() })
    }

    /// The elements as integers, if they are numbers.
    pub fn ints(&self) -> Option<Vec<i64>> {
        self.elements.iter().map(PrimExpr::as_int).collect()
    }

    /// The elements as floats, if they are numbers.
    pub fn floats(&self) -> Option<Vec<f64>> {
        let number = |e: &PrimExpr| e.as_float().or_else(|| e.as_int().map(|v| v as f64));
        self.elements.iter().map(number).collect()
    }

    /// The tensor as a constant, if its elements are numbers.
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

    /// The same elements in another shape.
    pub fn reshaped(&self, shape: Vec<i64>) -> Option<Known> {
        (count(&shape) == Some(self.elements.len())).then(|| Known { shape, ..self.clone() })
    }

    /// A tensor of another shape, with the elements that are here at the places that places there stand for.
    pub fn taken(&self, shape: &[i64], place: impl Fn(&[i64]) -> Vec<i64>) -> Option<Known> {
        let strides =
            |shape: &[i64]| (1..=shape.len()).map(|axis| shape[axis..].iter().product()).collect::<Vec<i64>>();
        let (own, there) = (strides(&self.shape), strides(shape));
        let element = |number: usize| {
            let index = |(size, stride): (&i64, &i64)| number as i64 / stride % size;
            let index: Vec<i64> = shape.iter().zip(&there).map(index).collect();
            let at: i64 = place(&index).iter().zip(&own).map(|(index, stride)| index * stride).sum();
            self.elements.get(usize::try_from(at).ok()?).cloned()
        };
        Known::new(shape, self.dtype, (0..count(shape)?).map(element).collect::<Option<Vec<_>>>()?)
    }

    /// The same elements in another dtype.
    pub fn cast(&self, dtype: DType) -> Option<Known> {
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
        Known::new(&self.shape, dtype, elements)
    }
}

/// How many elements a shape has, if they may all be known.
pub fn count(shape: &[i64]) -> Option<usize> {
    let count = shape.iter().try_fold(1usize, |all, size| all.checked_mul(usize::try_from(*size).ok()?));
    count.filter(|count| *count <= MOST_INTEGERS)
}

/// A float as a tensor of that dtype holds it.
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

/// An integer or bool of any dtype but uint64.
struct Integer(i64);

macro_rules! integer {
    ($($t:ty),*) => { $(impl From<$t> for Integer { fn from(v: $t) -> Self { Integer(i64::from(v)) } })* };
}
integer!(i8, i16, i32, i64, u8, u16, u32, bool);

/// Returns true if a dtype of integers or bools has that value.
fn holds(dtype: DType, value: i64) -> bool {
    let bits = u32::from(dtype.bits.min(64));
    match dtype {
        DType::BOOL => value == 0 || value == 1,
        _ if dtype.is_uint() => value >= 0 && (bits >= 63 || value >> bits == 0),
        _ => bits >= 64 || (value >> (bits - 1) == 0 || value >> (bits - 1) == -1),
    }
}
