use super::*;
use crate::samples::{buffer, function, matmul, sblock};
use hammock_ir::DType;

fn n() -> PrimExpr {
    Var::int64("n").expr()
}

#[test]
fn contractions_share_rows_and_fill_registers() {
    let func = matmul(n(), PrimExpr::int64(70), PrimExpr::int64(33), DType::FLOAT32);
    let plan = choose(&func, &Target::avx512()).to_string();
    assert_eq!(plan, "Contraction, axis 0 parallel by 14, axis 0 4 at a time, axis 1 in vectors of 64\n");
    let narrow = choose(&func, &Target::avx2()).to_string();
    assert_eq!(narrow, "Contraction, axis 0 parallel by 14, axis 0 4 at a time, axis 1 in vectors of 8\n");
}

#[test]
fn elementwise_stages_run_along_the_contiguous_axis() {
    let (a, b) = (buffer("A", &[n(), 10.into()], DType::FLOAT32), buffer("B", &[n(), 10.into()], DType::FLOAT32));
    let stage = sblock("double", &[('S', n()), ('S', 10.into())], |v| {
        let value = PrimExpr::load(&a, v.to_vec());
        (None, Stmt::store(&b, v.to_vec(), &value + value.clone()))
    });
    let plan = choose(&function(&[&a, &b], &[], vec![stage]), &Target::avx512());
    assert_eq!(plan.to_string(), "Elementwise, axis 0 parallel by 3276, axis 1 in vectors of 10\n");
}

#[test]
fn transposes_stay_scalar() {
    let m = PrimExpr::int64(8);
    let (a, b) =
        (buffer("A", &[m.clone(), m.clone()], DType::FLOAT32), buffer("B", &[m.clone(), m.clone()], DType::FLOAT32));
    let stage = sblock("transpose", &[('S', m.clone()), ('S', m)], |v| {
        let value = PrimExpr::load(&a, vec![v[1].clone(), v[0].clone()]);
        (None, Stmt::store(&b, v.to_vec(), value))
    });
    let plan = choose(&function(&[&a, &b], &[], vec![stage]), &Target::avx512());
    assert_eq!(plan.to_string(), "Elementwise\n");
}
