//! Dot products of packed groups, in flat code.

use crate::{Fault, Interpreter, Value, number};
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        PrimKind,
        flat::{Dot, PACKED_DTYPE},
    },
};

impl Interpreter {
    /// Loads the packed group that starts at an element.
    pub fn load_packed(&mut self, element: &PrimExpr) -> Result<Value, Fault> {
        let PrimKind::Load(buffer, indices, None) = element.kind() else {
            return Err(Fault::Mismatch { expected: "an element of a buffer", found: format!("{element:?}") });
        };
        let access = self.access(buffer, indices, None)?;
        let (first, bits) = (access.position(0)?.unwrap_or(0), buffer.dtype.bits);
        let mut word = 0;
        for n in 0..PACKED_DTYPE.bits / bits {
            let value = self.heap.load(access.view.base, first + i64::from(n), buffer.dtype, &access.view.name)?;
            let low_bits = number::to_bits(&value, buffer.dtype)? & ((1 << bits) - 1);
            word |= low_bits << (n * bits);
        }
        Ok(Value::Int(number::wrap(word as i64, PACKED_DTYPE)))
    }
}

/// Adds the dot product of two packed groups to a sum.
pub fn add(dot: Dot, a: &Value, b: &Value, sum: &Value, to: DType) -> Result<Value, Fault> {
    let [a, b] = [a.int()? as u32, b.int()? as u32];
    let part = |word: u32, n: i64, bits: i64| word >> (n * bits) & ((1 << bits) - 1);
    match dot {
        Dot::Bytes(signed) => {
            let byte = |word, n, signed: bool| {
                let dtype = if signed { DType::INT8 } else { DType::UINT8 };
                number::wrap(i64::from(part(word, n, 8)), dtype)
            };
            let products = (0..dot.group_size()).map(|n| byte(a, n, signed[0]) * byte(b, n, signed[1]));
            Ok(Value::Int(number::wrap(sum.int()? + products.sum::<i64>(), to)))
        }
        Dot::Bfloat16 => {
            let wide = |word, n| f64::from(f32::from_bits(part(word, n, 16) << 16));
            let all =
                (0..dot.group_size()).fold(sum.float()?, |sum, n| number::round(sum + wide(a, n) * wide(b, n), to));
            Ok(Value::Float(all))
        }
    }
}
