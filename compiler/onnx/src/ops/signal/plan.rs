//! Radices of the passes of fast Fourier transforms.

use std::collections::HashMap;

/// Maximum radix. Bluestein's algorithm is faster for larger prime numbers.
const MAX_RADIX: i64 = 512;
/// Cost of a pass in addition to its contraction, in multiplications of a complex number: twiddle factors, and loads and
/// stores of intermediates.
const PASS_COST: i64 = 24;

/// Radices of a transform, and its cost per element.
#[derive(Clone)]
pub struct Plan {
    /// Radices, in the order of the passes.
    pub radices: Vec<i64>,
    /// Cost per element, in multiplications of complex numbers.
    pub cost: i64,
}

impl Plan {
    /// Returns the cheapest plan for a length; `None` if it has a prime factor beyond [`MAX_RADIX`].
    pub fn new(length: i64) -> Option<Plan> {
        let mut plan = Plan::cheapest(length, &mut HashMap::new())?;
        // Results of the first pass are contiguous in all others, so its radix should be a multiple of vectors.
        plan.radices.sort_by_key(|radix| (-(radix & radix.wrapping_neg()), -radix));
        Some(plan)
    }

    fn cheapest(length: i64, known: &mut HashMap<i64, Option<Plan>>) -> Option<Plan> {
        if let Some(plan) = known.get(&length) {
            return plan.clone();
        }
        let mut best = (length <= MAX_RADIX).then(|| Plan { radices: vec![length], cost: length + PASS_COST });
        for radix in (2..=MAX_RADIX.min(length / 2)).filter(|radix| length % radix == 0) {
            let Some(Plan { mut radices, cost }) = Plan::cheapest(length / radix, known) else { continue };
            let cost = cost + radix + PASS_COST;
            if best.as_ref().is_none_or(|best| cost < best.cost) {
                radices.push(radix);
                best = Some(Plan { radices, cost });
            }
        }
        known.insert(length, best.clone());
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_multiply_to_the_length() {
        for length in (1..2000).chain([1 << 22, 3 << 18, 5 * 7 * 11 * 13 * 17]) {
            let plan = Plan::new(length);
            let is_smooth = plan.is_some();
            assert!(plan.as_ref().is_none_or(|plan| plan.radices.iter().product::<i64>() == length), "{length}");
            assert!(is_smooth || length > MAX_RADIX, "{length}");
        }
    }

    #[test]
    fn lengths_with_large_prime_factors_have_no_plan() {
        assert!(Plan::new(521).is_none());
        assert!(Plan::new(2 * 1_000_003).is_none());
    }

    #[test]
    fn the_first_radix_is_a_multiple_of_vectors() {
        assert_eq!(Plan::new(1024).unwrap().radices, [16, 8, 8]);
        assert_eq!(Plan::new(768).unwrap().radices, [8, 8, 12]);
    }
}
