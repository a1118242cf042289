//! Values of operands that are known at compile time.

use crate::rewrite::editor::Editor;
use hammock_ir::{
    AttrValue, DType, Tensor,
    relax::{Call, Callee, Definitions, Operand},
};
use hammock_runtime::Element;

/// Returns the elements of a constant, also of one that is reshaped or cast to int32.
pub fn elements(e: &Editor, operand: &Operand) -> Option<Vec<f64>> {
    if let Some(constant) = e.constant(operand) {
        return floats(&constant.tensor);
    }
    let call = e.call(operand)?;
    let keeps = call.is_op("reshape") || call.is_op("astype") && e.tensor(operand)?.dtype == Some(DType::INT32);
    let source = call.args.first().filter(|_| keeps)?;
    let whole = e.tensor(source)?.dtype.is_some_and(|dtype| dtype.is_integer());
    elements(e, source).filter(|_| call.is_op("reshape") || whole)
}

/// Returns the only element of a constant.
pub fn number(e: &Editor, operand: &Operand) -> Option<f64> {
    match elements(e, operand)?[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// Returns true if both are constants of one equal element.
pub fn same_number(e: &Editor, a: &Operand, b: &Operand) -> bool {
    number(e, a).is_some_and(|a| number(e, b) == Some(a))
}

/// Returns the value of a scale, if it is known, finite and greater than zero.
pub fn scale(e: &Editor, operand: &Operand) -> Option<f64> {
    number(e, operand).filter(|scale| *scale >= f64::from(f32::MIN_POSITIVE) && scale.is_finite())
}

/// Returns true if all elements are zero.
pub fn is_zero(e: &Editor, operand: &Operand) -> bool {
    elements(e, operand).is_some_and(|all| all.iter().all(|v| *v == 0.0))
}

/// Maximum number of operators between an operand and the constants that it is computed from.
const MAX_DEPTH: usize = 6;

/// Returns true if an operand is computed from constants by a few operators.
pub fn is_known(e: &Editor, operand: &Operand) -> bool {
    is_computed(e, operand, MAX_DEPTH)
}

fn is_computed(e: &Editor, operand: &Operand, depth: usize) -> bool {
    match (e.source(operand), e.call(operand)) {
        (Operand::Const(_) | Operand::Prim(_) | Operand::Shape(_), _) => true,
        (_, Some(call)) => {
            let computes = depth > 0 && matches!(call.callee, Callee::Op(_)) && !call.args.is_empty();
            computes && call.args.iter().all(|arg| is_computed(e, arg, depth - 1))
        }
        _ => false,
    }
}

/// Returns an attribute of a call that is a dtype.
pub fn dtype(call: &Call, name: &str) -> Option<DType> {
    match call.attrs.get(name)? {
        AttrValue::DType(dtype) if *dtype != DType::VOID => Some(*dtype),
        _ => None,
    }
}

fn floats(tensor: &Tensor) -> Option<Vec<f64>> {
    fn read<T: Element + Into<f64>>(tensor: &Tensor) -> Option<Vec<f64>> {
        Some(tensor.as_slice::<T>().ok()?.iter().map(|v| (*v).into()).collect())
    }
    match tensor.dtype() {
        DType::FLOAT32 => read::<f32>(tensor),
        DType::INT8 => read::<i8>(tensor),
        DType::UINT8 => read::<u8>(tensor),
        DType::INT32 => read::<i32>(tensor),
        _ => None,
    }
}
