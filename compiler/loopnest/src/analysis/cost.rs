//! Cost of evaluating expressions.

use hammock_ir::{PrimExpr, prim::PrimKind};

/// Approximate cost of computing a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations, including those of indices; a math function counts as many.
    pub operations: u32,
    /// Loads.
    pub loads: u32,
}

impl Cost {
    /// Returns the cost of one element of a value.
    pub fn of(value: &PrimExpr) -> Cost {
        let mut cost = Cost::default();
        value.walk(&mut |e| match e.kind() {
            PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) => {}
            PrimKind::Load(..) => cost.loads += 1,
            PrimKind::Call(call) => cost.operations += call.cost(),
            _ => cost.operations += 1,
        });
        cost
    }

    /// Total cost, assuming that loads hit the cache.
    pub fn total(self) -> u32 {
        self.operations + self.loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::{
        DType,
        prim::{Var, intrinsics::MATH_COST},
        tir::Buffer,
    };

    #[test]
    fn functions_cost_more_than_loads_and_choices() {
        let (buffer, i) = (Buffer::new("x", vec![PrimExpr::int64(8)], DType::FLOAT32), Var::int64("i"));
        let load = PrimExpr::load(&buffer, vec![i.expr() + PrimExpr::int64(1)]);
        let sum = load.clone() + load.clone();
        assert_eq!(Cost::of(&sum), Cost { operations: 3, loads: 2 });
        let chosen = i.expr().lt(PrimExpr::int64(2)).if_then_else(load.clone(), load.clone());
        assert_eq!(Cost::of(&chosen), Cost { operations: 4, loads: 2 });
        assert_eq!(Cost::of(&load.unary("exp")).total(), MATH_COST + 2);
    }
}
