//! Random numbers.
//!
//! They are hashes of the elements' indices (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014), so a model is a pure function: every call returns the same numbers. A node without `seed`
//! has its number among such nodes instead.

use super::{Op, Result, activation::axis_attr, op};
use crate::node::{self, Node, product, scalar};
use hammock_ir::{
    DType, PrimExpr, Tensor,
    relax::{Constant, InferError, Operand},
};

pub const OPS: &[Op] = &[
    op("Bernoulli", bernoulli).attributes("dtype seed"),
    op("Multinomial", multinomial).attributes("dtype sample_size seed"),
    op("RandomNormal", |n| random(n, Distribution::Normal)).attributes("dtype mean scale seed shape"),
    op("RandomNormalLike", |n| random(n, Distribution::Normal)).attributes("dtype mean scale seed"),
    op("RandomUniform", |n| random(n, Distribution::Uniform)).attributes("dtype high low seed shape"),
    op("RandomUniformLike", |n| random(n, Distribution::Uniform)).attributes("dtype high low seed"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Normal,
    Uniform,
}

/// Increment and multipliers of SplitMix64.
const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
const MULTIPLIERS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

/// The shape is an attribute, or that of the input.
fn random(n: &mut Node, distribution: Distribution) -> Result {
    let (shape, like) = match n.given(0) {
        Some(_) => {
            let x = n.input(0)?;
            (n.dims(&x)?, Some(n.dtype(&x)?))
        }
        None => match n.attrs.ints("shape")? {
            Some(shape) => (shape.into_iter().map(PrimExpr::int64).collect(), None),
            None => return n.error("its attribute `shape` is missing"),
        },
    };
    let dtype = match n.attrs.int("dtype")? {
        Some(number) => n.dtype_from_code(number)?,
        None => like.unwrap_or(DType::FLOAT32),
    };
    if !dtype.is_floating() {
        return n.error(format!("random numbers of {dtype} are not supported"));
    }
    let seed = n.seed()?;
    let held = if dtype == DType::FLOAT64 { dtype } else { DType::FLOAT32 };
    let (values, offset, scale) = match distribution {
        Distribution::Uniform => {
            let (low, high) = (n.attrs.float_or("low", 0.0)?, n.attrs.float_or("high", 1.0)?);
            (n.uniform(&shape, held, seed, 0)?, low, high - low)
        }
        Distribution::Normal => {
            let (mean, scale) = (n.attrs.float_or("mean", 0.0)?, n.attrs.float_or("scale", 1.0)?);
            (n.normal(&shape, held, seed)?, mean, scale)
        }
    };
    let scaled = n.with_scalar("multiply", &values, scale)?;
    let moved = n.with_scalar("add", &scaled, offset)?;
    Ok(n.cast(moved, dtype)?.into())
}

/// True with the probability that the input has for each element.
fn bernoulli(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let (shape, own) = (n.dims(&x)?, n.dtype(&x)?);
    let dtype = match n.attrs.int("dtype")? {
        Some(number) => n.dtype_from_code(number)?,
        None => own,
    };
    let seed = n.seed()?;
    let held = if own == DType::FLOAT64 { own } else { DType::FLOAT32 };
    let (x, uniform) = (n.cast(x, held)?, n.uniform(&shape, held, seed, 0)?);
    let drawn = n.call("less", [uniform, x])?;
    Ok(n.cast(drawn, dtype)?.into())
}

/// Samples classes by their unnormalized log-probabilities: the maximum of these, each plus Gumbel noise.
fn multinomial(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let [rows, classes] = n.dims(&x)?.try_into().or_else(|_| n.error("its input has to be a matrix"))?;
    let samples = n.attrs.int_or("sample_size", 1)?;
    if samples < 1 {
        return n.error(format!("its `sample_size` is {samples}"));
    }
    let number = n.attrs.int_or("dtype", 6)?;
    let dtype = n.dtype_from_code(number)?;
    let seed = n.seed()?;
    let x = n.cast(x, DType::FLOAT32)?;
    let x = n.reshape(x, vec![rows.clone(), PrimExpr::int64(1), classes.clone()])?;
    let uniform = n.uniform(&[rows, PrimExpr::int64(samples), classes], DType::FLOAT32, seed, 0)?;
    // Uniform numbers in (0, 1), so that the noise is finite.
    let uniform = n.with_scalar("add", &uniform, 2f64.powi(-25))?;
    let exponential = n.call("log", [uniform])?;
    let exponential = n.call("negative", [exponential])?;
    let noise = n.call("log", [exponential])?;
    let noisy = n.call("subtract", [x, noise])?;
    let chosen = n.call_with("argmax", [noisy], &[("axis", axis_attr(2)), ("keepdims", false.into())])?;
    Ok(n.cast(chosen, dtype)?.into())
}

impl Node<'_, '_> {
    /// Returns the seed of the node.
    fn seed(&mut self) -> node::Result<u64> {
        match self.attrs.float("seed")? {
            Some(seed) => Ok(u64::from((seed as f32).to_bits())),
            None => {
                self.importer.unseeded_nodes += 1;
                Ok(self.importer.unseeded_nodes << 32)
            }
        }
    }

    /// Uniform random numbers in [0, 1). Streams of one seed are independent.
    fn uniform(&mut self, shape: &[PrimExpr], dtype: DType, seed: u64, stream: u64) -> node::Result<Operand> {
        let args = [Operand::int(0), Operand::Prim(product(shape)), Operand::int(1)];
        let indices = self.call_with("arange", args, &[("dtype", DType::INT64.into())])?;
        let indices = self.cast(indices, DType::UINT64)?;
        let state = self.with_bits("multiply", indices, INCREMENT)?;
        // The seed is hashed, too: sequences of near seeds must not overlap.
        let mut hash = self.with_bits("add", state, mixed(seed ^ mixed(stream)))?;
        for (shift, multiplier) in [30, 27].into_iter().zip(MULTIPLIERS) {
            let shifted = self.with_bits("right_shift", hash.clone(), shift)?;
            let combined = self.call("bitwise_xor", [hash, shifted])?;
            hash = self.with_bits("multiply", combined, multiplier)?;
        }
        let shifted = self.with_bits("right_shift", hash.clone(), 31)?;
        let hash = self.call("bitwise_xor", [hash, shifted])?;
        let digits: u64 = if dtype == DType::FLOAT64 { 53 } else { 24 };
        let high = self.with_bits("right_shift", hash, 64 - digits)?;
        // An int64 of these bits is not negative, and converts to floats faster.
        let high = self.cast(high, DType::INT64)?;
        let number = self.cast(high, dtype)?;
        let uniform = self.with_scalar("multiply", &number, 0.5f64.powi(digits as i32))?;
        self.reshape(uniform, shape.to_vec())
    }

    /// Normal random numbers, by the Box-Muller transform.
    fn normal(&mut self, shape: &[PrimExpr], dtype: DType, seed: u64) -> node::Result<Operand> {
        let radius = self.uniform(shape, dtype, seed, 0)?;
        let one = scalar(1.0, dtype)?;
        let positive = self.call("subtract", [one, radius])?;
        let log = self.call("log", [positive])?;
        let squared = self.with_scalar("multiply", &log, -2.0)?;
        let radius = self.call("sqrt", [squared])?;
        let angle = self.uniform(shape, dtype, seed, 1)?;
        let angle = self.with_scalar("multiply", &angle, std::f64::consts::TAU)?;
        let cos = self.call("cos", [angle])?;
        self.call("multiply", [radius, cos])
    }

    /// Appends `x op bits` for uint64 operands.
    fn with_bits(&mut self, op: &'static str, x: Operand, bits: u64) -> node::Result<Operand> {
        let tensor = Tensor::scalar(bits).map_err(|error| InferError::new(error.to_string()))?;
        self.call(op, [x, Operand::Const(Constant::new(tensor))])
    }
}

/// SplitMix64's hash of a state.
fn mixed(state: u64) -> u64 {
    let mut hash = state.wrapping_add(INCREMENT);
    hash = (hash ^ (hash >> 30)).wrapping_mul(MULTIPLIERS[0]);
    hash = (hash ^ (hash >> 27)).wrapping_mul(MULTIPLIERS[1]);
    hash ^ (hash >> 31)
}
