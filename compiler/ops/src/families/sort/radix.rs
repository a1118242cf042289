//! LSD radix sort of lines.
//!
//! A key is an unsigned integer that compares like its element. Elements are sorted stably by each digit of their keys,
//! starting with the least significant. The histograms of all digits are computed in one pass; digits that are equal
//! for all elements are skipped.

use super::Order;
use crate::legalize::loops::{Cell, each, in_order, when};
use hammock_ir::{
    DType, PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// Bits of a digit, and number of digit values.
const BITS: i64 = 8;
const DIGITS: i64 = 1 << BITS;

/// The radix sort of a line.
pub struct Radix<'a> {
    /// The element at a position.
    pub element: &'a dyn Fn(&PrimExpr) -> PrimExpr,
    /// Order.
    pub order: Order,
    /// Number of elements.
    pub length: &'a PrimExpr,
    /// Upper bound of the number of elements, which is known when memory is allocated.
    pub capacity: &'a PrimExpr,
    /// Number of elements of the sorted line that are stored.
    pub stored: &'a PrimExpr,
    /// The dtype of positions.
    pub position: DType,
}

impl Radix<'_> {
    /// Sorts a line: `put` stores an element and its original position at an index of the sorted line.
    pub fn sort(&self, put: impl FnOnce(&PrimExpr, PrimExpr, PrimExpr) -> Stmt) -> Stmt {
        let (at, position) = (self.element, self.position);
        let zero = || PrimExpr::int64(0);
        let (dtype, bits) = key_type(at(&zero()).dtype());
        let both = vec![2i64.into(), self.capacity.clone()];
        let [keys, slots] =
            [("keys", dtype), ("places", position)].map(|(name, dtype)| Buffer::new(name, both.clone(), dtype));
        let counts = Buffer::scoped("counts", vec![(bits / BITS).into(), DIGITS.into()], position, "local");
        let half = Cell::new("half", DType::INT64);
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        let load = |buffer: &Buffer, half: PrimExpr, j: &PrimExpr| PrimExpr::load(buffer, vec![half, j.clone()]);
        let count = |d: &PrimExpr, key: PrimExpr| vec![d.clone(), digit(key, d)];
        let clear = each("d", bits / BITS, |d| {
            each("digit", DIGITS, |digit| {
                Stmt::store(&counts, vec![d.clone(), digit.clone()], PrimExpr::int(0, position))
            })
        });
        let fill = each("j", self.length.clone(), |j| {
            let key = Cell::new("key", dtype);
            let counted = (0..bits / BITS).map(|d| add(&counts, count(&d.into(), key.get())));
            in_order(key.declare(self.order.key(at(j))).into_iter().chain(counted).chain([
                Stmt::store(&keys, vec![zero(), j.clone()], key.get()),
                Stmt::store(&slots, vec![zero(), j.clone()], j.clone().cast(position)),
            ]))
        });
        let pass = each("d", bits / BITS, |d| {
            let starts = starts(&counts, d);
            let moves = each("j", self.length.clone(), |j| {
                let key = Cell::new("key", dtype);
                let to = Cell::new("to", DType::INT64);
                let own = PrimExpr::load(&counts, count(d, key.get()));
                let there = vec![PrimExpr::int64(1) - half.get(), to.get()];
                in_order(
                    key.declare(load(&keys, half.get(), j))
                        .into_iter()
                        .chain(to.declare(own.cast(DType::INT64)))
                        .chain([
                            add(&counts, count(d, key.get())),
                            Stmt::store(&keys, there.clone(), key.get()),
                            Stmt::store(&slots, there, load(&slots, half.get(), j)),
                        ]),
                )
            });
            let first = PrimExpr::load(&counts, count(d, load(&keys, half.get(), &zero())));
            let differs = first.cast(DType::INT64).ne(self.length.clone());
            when(differs, in_order([starts, moves, half.set(PrimExpr::int64(1) - half.get())]))
        });
        let done = each("j", self.stored.clone(), |j| {
            let slot = load(&slots, half.get(), j);
            put(j, at(&slot.clone().cast(DType::INT64)), slot)
        });
        let all = [&keys, &slots, &counts].map(alloc).into_iter().chain(half.declare(zero()));
        let sorted = when(self.length.clone().gt(0i64), pass);
        in_order(all.chain([clear, fill, sorted, done]))
    }
}

/// The dtype of keys, and their number of significant bits.
pub fn key_type(dtype: DType) -> (DType, i64) {
    match dtype.bits {
        64 => (DType::UINT64, 64),
        8 | 16 if !dtype.is_floating() => (DType::UINT32, i64::from(dtype.bits)),
        _ if dtype.is_bool() => (DType::UINT32, BITS),
        _ => (DType::UINT32, 32),
    }
}

/// A digit of a key.
fn digit(key: PrimExpr, d: &PrimExpr) -> PrimExpr {
    let dtype = key.dtype();
    let shifted = PrimExpr::intrin("shift_right", vec![key, (d * PrimExpr::int64(BITS)).cast(dtype)], dtype);
    PrimExpr::intrin("bitwise_and", vec![shifted, PrimExpr::int(DIGITS - 1, dtype)], dtype).cast(DType::INT64)
}

fn add(counts: &Buffer, at: Vec<PrimExpr>) -> Stmt {
    let more = PrimExpr::load(counts, at.clone()) + PrimExpr::int(1, counts.dtype);
    Stmt::store(counts, at, more)
}

/// Converts a histogram to start offsets, by an exclusive prefix sum.
fn starts(counts: &Buffer, d: &PrimExpr) -> Stmt {
    let (sum, own) = (Cell::new("sum", counts.dtype), Cell::new("own", counts.dtype));
    let next = each("digit", DIGITS, |digit| {
        let at = vec![d.clone(), digit.clone()];
        let count = own.declare(PrimExpr::load(counts, at.clone()));
        in_order(count.into_iter().chain([Stmt::store(counts, at, sum.get()), sum.add(own.get())]))
    });
    in_order(sum.declare(PrimExpr::int(0, counts.dtype)).into_iter().chain([next]))
}

impl Order {
    /// The key of an element.
    pub fn key(self, e: PrimExpr) -> PrimExpr {
        let (dtype, bits) = key_type(e.dtype());
        let ones = || PrimExpr::int(0, dtype) - PrimExpr::int(1, dtype);
        // The other bits of a narrow key are zero.
        let significant = || if bits < i64::from(dtype.bits) { PrimExpr::int((1 << bits) - 1, dtype) } else { ones() };
        let sign =
            || PrimExpr::intrin("shift_left", vec![PrimExpr::int(1, dtype), PrimExpr::int(bits - 1, dtype)], dtype);
        let xor = |a: PrimExpr, b: PrimExpr| PrimExpr::intrin("bitwise_xor", vec![a, b], dtype);
        let key = match e.dtype() {
            float if float.is_floating() => {
                let wide = if bits == 64 { e } else { e.cast(DType::FLOAT32) };
                // Both zeros have one key, and so do all NaNs.
                let zero = PrimExpr::constant(0.0, wide.dtype());
                let is_nan = PrimExpr::intrin("isnan", vec![wide.clone()], DType::BOOL);
                let value = wide.clone().eq(zero.clone()).select(zero.clone(), wide.clone());
                let word = PrimExpr::intrin("reinterpret", vec![value], dtype);
                let ordered = wide.lt(zero).select(xor(word.clone(), ones()), xor(word, sign()));
                is_nan.select(ones(), ordered)
            }
            int if int.is_int() => {
                xor(PrimExpr::intrin("bitwise_and", vec![e.cast(dtype), significant()], dtype), sign())
            }
            _ => e.cast(dtype),
        };
        match self {
            Order::Ascending => key,
            Order::Descending => xor(key, significant()),
        }
    }
}
