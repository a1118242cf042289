//! Recognition of kernels that dequantize weights, by their structure.

use super::PackedWeights;
use hammock_ir::{
    DType, Function, PrimExpr, equal,
    tir::{Buffer, PrimFunc},
};

impl PackedWeights {
    /// Returns the format whose [kernel](Self::kernel) a function is, attributes aside.
    pub fn of(func: &PrimFunc) -> Option<PackedWeights> {
        let buffers: Vec<&Buffer> = func.params.iter().map(|param| param.buffer.as_ref()).collect::<Option<_>>()?;
        let (numbers, scales, zeros, weights) = match buffers[..] {
            [numbers, scales, weights] => (numbers, scales, None, weights),
            [numbers, scales, zeros, weights] => (numbers, scales, Some(zeros), weights),
            _ => return None,
        };
        let sizes = |buffer: &Buffer| -> Option<[i64; 2]> {
            buffer.shape.iter().map(PrimExpr::as_int).collect::<Option<Vec<_>>>()?.try_into().ok()
        };
        let (shape, [groups, _]) = (sizes(weights)?, sizes(scales)?);
        if shape[0] < 1 || groups < 1 {
            return None;
        }
        let whole = (shape[0] + groups - 1) / groups;
        let bits: &[i64] = if numbers.dtype.bits == 8 { &[8] } else { &[4, 2] };
        let candidates = bits.iter().flat_map(|bits| {
            [true, false].into_iter().flat_map(move |is_signed| {
                [whole, (whole as u64).next_power_of_two() as i64].map(|group| (*bits, is_signed, group))
            })
        });
        let mut formats = candidates.map(|(bits, is_signed, group)| PackedWeights {
            shape,
            bits,
            is_signed,
            group,
            dtype: weights.dtype,
            scale_dtype: scales.dtype,
            zero_dtype: zeros.map(|zeros| zeros.dtype),
        });
        let is_it = |format: &PackedWeights| {
            let own = PrimFunc { attrs: func.attrs.clone(), ..format.kernel() };
            format.packed_dtype() == numbers.dtype
                && sizes(numbers) == Some(format.packed_shape())
                && equal::functions(&Function::Tir(own), &Function::Tir(func.clone())).is_ok()
        };
        formats.find(is_it)
    }

    /// Returns true if integer arithmetic can use the weights: scales are float32, and zero points are bytes.
    pub fn has_integer_zeros(&self) -> bool {
        self.scale_dtype == DType::FLOAT32 && self.zero_dtype.is_none_or(|zero| zero == DType::UINT8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_recognized() {
        for (bits, is_signed, zero_dtype) in [
            (4, true, None),
            (4, false, Some(DType::UINT8)),
            (2, true, None),
            (8, true, None),
            (8, false, Some(DType::FLOAT32)),
        ] {
            for group in [32, 100, 64] {
                let (dtype, scale_dtype) = (DType::FLOAT32, DType::FLOAT32);
                let format = PackedWeights { shape: [100, 24], bits, is_signed, group, dtype, scale_dtype, zero_dtype };
                assert_eq!(PackedWeights::of(&format.kernel()), Some(format));
            }
        }
    }

    #[test]
    fn other_kernels_are_not() {
        let (dtype, scale_dtype) = (DType::FLOAT32, DType::FLOAT32);
        let format = PackedWeights {
            shape: [64, 24],
            bits: 4,
            is_signed: true,
            group: 32,
            dtype,
            scale_dtype,
            zero_dtype: None,
        };
        let mut kernel = format.kernel();
        kernel.params.swap(0, 1);
        assert_eq!(PackedWeights::of(&kernel), None);
        kernel.params.truncate(2);
        assert_eq!(PackedWeights::of(&kernel), None);
    }
}
