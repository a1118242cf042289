//! Random expressions.

use super::generate::{FLOATS, Generator, INTEGERS, Int, Memory};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, Var, binary},
};

const DIVISIONS: [BinaryOp; 4] = [BinaryOp::Div, BinaryOp::Mod, BinaryOp::FloorDiv, BinaryOp::FloorMod];
const COMPARISONS: [BinaryOp; 6] = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];

impl Generator {
    /// Generates a value of any numeric dtype.
    pub fn value(&mut self, dtype: DType, depth: usize) -> PrimExpr {
        match dtype {
            t if t.is_bool() => self.truth(depth),
            t if t.is_floating() => self.float(t, depth),
            t => self.integer(t, depth),
        }
    }

    /// Generates a bounded integer for indices, small enough that arithmetic on it does not overflow.
    pub fn small(&mut self, depth: usize) -> Int {
        if depth == 0 || self.rng.chance(40) {
            return if self.rng.chance(70) {
                self.rng.pick(&self.ints.clone()).clone()
            } else {
                let value = self.rng.between(-3, 9);
                Int { expr: PrimExpr::int64(value), low: value, high: value }
            };
        }
        let (a, b) = (self.small(depth - 1), self.small(depth - 1));
        let around = |expr: PrimExpr, values: [i64; 4]| Int {
            expr,
            low: *values.iter().min().unwrap(),
            high: *values.iter().max().unwrap(),
        };
        let (al, ah, bl, bh) = (a.low, a.high, b.low, b.high);
        let product = [al, ah].into_iter().flat_map(|x| [bl, bh].map(|y| x * y)).all(|v| v.abs() < 10_000);
        match self.rng.below(7) {
            0 | 1 => around(a.expr + b.expr, [al + bl, ah + bh, al + bl, ah + bh]),
            2 => around(a.expr - b.expr, [al - bh, ah - bl, al - bh, ah - bl]),
            3 if product => around(a.expr * b.expr, [al * bl, al * bh, ah * bl, ah * bh]),
            4 => {
                let c = self.rng.between(1, 5);
                let c_expr = PrimExpr::int64(c);
                if self.rng.chance(50) {
                    around(a.expr.floormod(c_expr), [0, c - 1, 0, c - 1])
                } else {
                    around(
                        a.expr.floordiv(c_expr),
                        [
                            al.div_euclid(c),
                            ah.div_euclid(c),
                            0.max(al.div_euclid(c)).min(ah.div_euclid(c)),
                            ah.div_euclid(c),
                        ],
                    )
                }
            }
            5 => around(a.expr.min(b.expr), [al.min(bl), ah.min(bh), al.min(bl), ah.min(bh)]),
            6 => around(a.expr.max(b.expr), [al.max(bl), ah.max(bh), al.max(bl), ah.max(bh)]),
            _ => self.loaded_small().unwrap_or(a),
        }
    }

    /// Generates a load from a buffer of indices.
    pub fn loaded_small(&mut self) -> Option<Int> {
        let memory = self.memories.iter().find(|m| m.indexes)?.clone();
        let indices = self.indices(&memory, 0)?;
        Some(Int { expr: PrimExpr::load(&memory.buffer, indices).cast(DType::INT64), low: -2, high: 9 })
    }

    /// Generates indices of a buffer; `None` for an empty one.
    pub fn indices(&mut self, memory: &Memory, depth: usize) -> Option<Vec<PrimExpr>> {
        let sizes: Vec<_> = memory.buffer.shape.iter().cloned().zip(memory.shape.iter().copied()).collect();
        if !self.manners.wild && memory.shape.contains(&0) {
            return None;
        }
        Some(sizes.into_iter().map(|(extent, size)| self.index(&extent, size, depth)).collect())
    }

    fn index(&mut self, extent: &PrimExpr, size: i64, depth: usize) -> PrimExpr {
        if self.manners.wild && (size == 0 || self.rng.chance(6)) {
            return self.small(1).expr;
        }
        let fitting: Vec<Int> = self.ints.iter().filter(|i| i.low >= 0 && i.high < size).cloned().collect();
        match self.rng.below(10) {
            0..=5 if !fitting.is_empty() => self.rng.pick(&fitting).expr.clone(),
            6 | 7 => {
                let loaded = if depth > 0 { self.loaded_small() } else { None };
                let any = loaded.unwrap_or_else(|| self.small(depth));
                // A symbolic extent is not proved to be nonzero.
                any.expr.floormod(extent.clone().cast(DType::INT64))
            }
            8 => {
                let any = self.small(depth).expr;
                any.min(extent.clone().cast(DType::INT64) - 1i64).max(0i64)
            }
            _ => PrimExpr::int64(self.rng.between(0, size - 1)),
        }
    }

    /// Generates a load of the dtype from a buffer in scope.
    fn load(&mut self, dtype: DType, depth: usize) -> Option<PrimExpr> {
        let fitting: Vec<Memory> = self.memories.iter().filter(|m| m.buffer.dtype == dtype).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let memory = self.rng.pick(&fitting).clone();
        let indices = self.indices(&memory, depth.min(1))?;
        Some(PrimExpr::load(&memory.buffer, indices))
    }

    fn integer(&mut self, dtype: DType, depth: usize) -> PrimExpr {
        if depth == 0 {
            return match self.rng.below(3) {
                0 => self.constant(dtype),
                1 => self.small(0).expr.cast(dtype),
                _ => self.load(dtype, 0).unwrap_or_else(|| self.constant(dtype)),
            };
        }
        let d = depth - 1;
        match self.rng.below(16) {
            0..=2 => self.load(dtype, d).unwrap_or_else(|| self.constant(dtype)),
            3..=5 => {
                let op = *self.rng.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max]);
                binary(op, self.integer(dtype, d), self.integer(dtype, d))
            }
            6 | 7 => self.division(dtype, d),
            8 => self.shift(dtype, d),
            9 => {
                let name = *self.rng.pick(&["bitwise_and", "bitwise_or", "bitwise_xor"]);
                PrimExpr::intrin(name, vec![self.integer(dtype, d), self.integer(dtype, d)], dtype)
            }
            10 => {
                let name = *self.rng.pick(&["bitwise_not", "popcount", "clz", "abs"]);
                self.integer(dtype, d).unary(name)
            }
            11 | 12 => {
                let from = if self.rng.chance(50) { *self.rng.pick(&INTEGERS) } else { *self.rng.pick(&FLOATS) };
                if from == dtype { self.integer(dtype, d) } else { self.value(from, d).cast(dtype) }
            }
            13 => self.truth(d).cast(dtype),
            _ => self.choice(dtype, d),
        }
    }

    /// Generates a constant, occasionally an extreme one.
    pub fn constant(&mut self, dtype: DType) -> PrimExpr {
        if dtype.is_floating() {
            let value = *self.rng.pick(&[0.0, 1.0, -1.5, 2.25, 1e-3, 300.0]);
            let value = if dtype.is_float16() { half::f16::from_f64(value).to_f64() } else { f64::from(value as f32) };
            return PrimExpr::float(value, dtype);
        }
        let bits = u32::from(dtype.bits);
        let most = if dtype.is_uint() && bits < 64 { (1i64 << bits) - 1 } else { i64::MAX >> (64 - bits) };
        let least = if dtype.is_uint() { 0 } else { -most - 1 };
        let small = self.rng.between(if dtype.is_uint() { 0 } else { -5 }, 12);
        let value = *self.rng.pick(&[least, most, small, small, small, small]);
        PrimExpr::int(value, dtype)
    }

    fn division(&mut self, dtype: DType, d: usize) -> PrimExpr {
        let (op, a) = (*self.rng.pick(&DIVISIONS), self.integer(dtype, d));
        let zero = PrimExpr::int(0, dtype);
        match self.rng.below(4) {
            0 if self.manners.traps => binary(op, a, self.integer(dtype, d)),
            1 => {
                let b = self.integer(dtype, d);
                b.clone().ne(zero.clone()).if_then_else(binary(op, a, b), zero)
            }
            2 => {
                let b = self.integer(dtype, d);
                binary(op, a, b.clone().eq(zero).select(PrimExpr::int(3, dtype), b))
            }
            _ => binary(op, a, PrimExpr::int(*self.rng.pick(&[1, 2, 3, 7, 16]), dtype)),
        }
    }

    fn shift(&mut self, dtype: DType, d: usize) -> PrimExpr {
        let name = *self.rng.pick(&["shift_left", "shift_right"]);
        let (x, width) = (self.integer(dtype, d), i64::from(dtype.bits));
        let count = match self.rng.below(3) {
            0 if self.manners.traps => self.integer(dtype, d),
            1 => PrimExpr::int(self.rng.between(0, width - 1), dtype),
            _ => {
                let mask = PrimExpr::int(width - 1, dtype);
                PrimExpr::intrin("bitwise_and", vec![self.integer(dtype, d), mask], dtype)
            }
        };
        PrimExpr::intrin(name, vec![x, count], dtype)
    }

    fn choice(&mut self, dtype: DType, d: usize) -> PrimExpr {
        match self.rng.below(3) {
            0 => {
                let (c, a, b) = (self.truth(d), self.value(dtype, d), self.value(dtype, d));
                if self.rng.chance(50) { c.select(a, b) } else { c.if_then_else(a, b) }
            }
            1 => {
                let var = Var::new(self.name("t"), dtype);
                let value = self.value(dtype, d);
                let rest = self.value(dtype, d);
                let body = if dtype.is_bool() { var.expr().and(rest) } else { var.expr().max(rest) };
                PrimExpr::bind(var, value, body)
            }
            _ => self.load(dtype, d).unwrap_or_else(|| self.value(dtype, 0)),
        }
    }

    /// Generates a float. 16-bit floats are only loaded, converted and selected, since intermediate rounding is
    /// unspecified.
    fn float(&mut self, dtype: DType, depth: usize) -> PrimExpr {
        if depth == 0 {
            return match self.rng.below(2) {
                0 => self.constant(dtype),
                _ => self.load(dtype, 0).unwrap_or_else(|| self.constant(dtype)),
            };
        }
        let d = depth - 1;
        let other = *self.rng.pick(&[DType::FLOAT32, DType::FLOAT64]);
        match self.rng.below(12) {
            0..=3 => self.load(dtype, d).unwrap_or_else(|| self.constant(dtype)),
            4..=6 if !dtype.is_float16() => {
                let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max];
                let op = *self.rng.pick(&ops);
                binary(op, self.float(dtype, d), self.float(dtype, d))
            }
            7 if !dtype.is_float16() => {
                let name = *self.rng.pick(&["sqrt", "floor", "ceil", "trunc", "fabs", "nearbyint"]);
                self.float(dtype, d).unary(name)
            }
            8 => {
                let from = *self.rng.pick(&INTEGERS);
                self.integer(from, d).cast(dtype)
            }
            9 if dtype != other => self.float(other, d).cast(dtype),
            10 => self.choice(dtype, d),
            _ => self.truth(d).cast(dtype),
        }
    }

    /// Generates a boolean.
    pub fn truth(&mut self, depth: usize) -> PrimExpr {
        if depth == 0 {
            return match self.rng.below(3) {
                0 => PrimExpr::bool(self.rng.chance(50)),
                1 => self.load(DType::BOOL, 0).unwrap_or_else(|| PrimExpr::bool(true)),
                _ => binary(*self.rng.pick(&COMPARISONS), self.small(0).expr, self.small(0).expr),
            };
        }
        let d = depth - 1;
        match self.rng.below(8) {
            0 | 1 => binary(*self.rng.pick(&COMPARISONS), self.small(d).expr, self.small(d).expr),
            2 => {
                // Comparisons of 32 and 64 bits are assumed to be of sizes, which do not wrap.
                let dtype = *self.rng.pick(&[DType::INT8, DType::UINT8, DType::INT16, DType::UINT32]);
                binary(*self.rng.pick(&COMPARISONS), self.integer(dtype, d), self.integer(dtype, d))
            }
            3 => {
                let dtype = *self.rng.pick(&FLOATS);
                binary(*self.rng.pick(&COMPARISONS), self.float(dtype, d), self.float(dtype, d))
            }
            4 => self.truth(d).and(self.truth(d)),
            5 => self.truth(d).or(self.truth(d)),
            6 => self.truth(d).not(),
            _ => self.load(DType::BOOL, d).unwrap_or_else(|| PrimExpr::bool(true)),
        }
    }
}
