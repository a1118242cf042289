//! Destination-passing calls: reads and builds `R.call_tir` and its variants.

use super::{Call, Callee, Operand, Value};
use crate::{AttrValue, Attrs, Name, Type};

const PLAIN: &str = "call_tir";
const IN_PLACE: &str = "call_tir_inplace";
const WITH_GRADIENT: &str = "call_tir_with_grad";
const PACKED: &str = "call_dps_packed";

const LOCAL_VIEW: &str = "dist.call_tir_local_view";

/// For each result, the index of the argument that it overwrites; -1 for a new tensor.
const INPLACE_INDICES: &str = "inplace_indices";

/// A decomposed call of `R.call_tir` or a variant.
#[derive(Clone, Copy, Debug)]
pub struct CallTir<'a> {
    /// The function called, a kernel of the module; of `R.call_dps_packed`, one that is found at run time.
    pub function: &'a Operand,
    /// The arguments, scalars included: a tuple literal or a variable.
    pub args: &'a Operand,
    /// The type of the result: a tensor, or a tuple of tensors.
    pub out_ty: &'a Type,
    in_place: Option<&'a [AttrValue]>,
}

impl<'a> CallTir<'a> {
    /// The operators that take a function, the tuple of its arguments and the type of its results.
    pub const OPS: [&'static str; 5] = [PLAIN, IN_PLACE, WITH_GRADIENT, PACKED, LOCAL_VIEW];

    /// Reads `R.call_tir(cls.kernel, args, out_ty)`, whose results are all new.
    pub fn of(call: &'a Call) -> Option<Self> {
        Self::by(&[PLAIN], call)
    }

    /// The same for the right side of a binding.
    pub fn of_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::Call(call) => Self::of(call),
            _ => None,
        }
    }

    /// Reads `R.call_tir` and `R.call_tir_inplace`: some results may overwrite arguments.
    pub fn or_inplace(call: &'a Call) -> Option<Self> {
        Self::by(&[PLAIN, IN_PLACE], call)
    }

    /// Reads every call of a kernel of the module that declares the result types.
    pub fn of_kernel(call: &'a Call) -> Option<Self> {
        Self::by(&[PLAIN, IN_PLACE, WITH_GRADIENT], call)
    }

    /// Reads `R.call_dps_packed`, too.
    pub fn of_any(call: &'a Call) -> Option<Self> {
        Self::by(&[PLAIN, IN_PLACE, WITH_GRADIENT, PACKED], call)
    }

    fn by(ops: &[&str], call: &'a Call) -> Option<Self> {
        let Callee::Op(op) = call.callee else { return None };
        let ([function, args], [out_ty], true) = (call.args.as_slice(), call.ty_args.as_slice(), ops.contains(&op))
        else {
            return None;
        };
        let in_place = call.attrs.get(INPLACE_INDICES).and_then(AttrValue::as_list);
        Some(CallTir { function, args, out_ty, in_place })
    }

    /// The kernel of the module that is called.
    pub fn kernel(&self) -> Option<&'a Name> {
        match self.function {
            Operand::Global(name) => Some(name),
            _ => None,
        }
    }

    /// The individual arguments, if they are a tuple literal.
    pub fn inputs(&self) -> Option<&'a [Operand]> {
        match self.args {
            Operand::Tuple(inputs) => Some(inputs),
            _ => None,
        }
    }

    /// The types of the individual results.
    pub fn outputs(&self) -> &'a [Type] {
        match self.out_ty {
            Type::Tuple(members) => members,
            single => std::slice::from_ref(single),
        }
    }

    /// For each result, the index of the argument that it overwrites; `None` for a new tensor.
    pub fn in_place(&self) -> impl Iterator<Item = Option<usize>> + use<'a> {
        let in_place = self.in_place.unwrap_or_default();
        let index = |i: usize| in_place.get(i).and_then(AttrValue::as_int).and_then(|v| usize::try_from(v).ok());
        (0..self.outputs().len()).map(index)
    }
}

impl Call {
    /// `R.call_tir(cls.kernel, (inputs…), out_ty)`.
    pub fn tir(kernel: Name, inputs: Vec<Operand>, out_ty: Type) -> Self {
        destination(PLAIN, Operand::Global(kernel), inputs, out_ty)
    }

    /// `R.call_tir_inplace`: each result overwrites the argument that `in_place` names, or is new.
    pub fn tir_inplace(kernel: Name, inputs: Vec<Operand>, out_ty: Type, in_place: &[Option<usize>]) -> Self {
        let indices: Vec<i64> = in_place.iter().map(|index| index.map_or(-1, |i| i as i64)).collect();
        let attrs = Attrs::new().with(INPLACE_INDICES, indices);
        Call { attrs, ..destination(IN_PLACE, Operand::Global(kernel), inputs, out_ty) }
    }

    /// `R.call_dps_packed("symbol", (inputs…), out_ty)`.
    pub fn dps_packed(symbol: Name, inputs: Vec<Operand>, out_ty: Type) -> Self {
        destination(PACKED, Operand::Extern(symbol), inputs, out_ty)
    }
}

fn destination(op: &'static str, function: Operand, inputs: Vec<Operand>, out_ty: Type) -> Call {
    Call { ty_args: vec![out_ty], ..Call::op(op, vec![function, Operand::Tuple(inputs)], Attrs::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, TensorType};

    #[test]
    fn what_is_made_reads_back() {
        let ty = Type::from(TensorType::new([4], DType::FLOAT32));
        let (inputs, both) = (vec![Operand::int(3)], Type::Tuple(vec![ty.clone(), ty.clone()]));
        let plain = Call::tir("kernel".into(), inputs.clone(), ty);
        let view = CallTir::of(&plain).expect("a plain one");
        assert_eq!((view.kernel().map(|name| &**name), view.inputs().map(<[_]>::len)), (Some("kernel"), Some(1)));
        assert_eq!((view.outputs().len(), view.in_place().collect::<Vec<_>>()), (1, vec![None]));
        let over = Call::tir_inplace("kernel".into(), inputs.clone(), both.clone(), &[None, Some(0)]);
        assert!(CallTir::of(&over).is_none(), "results of a plain call are new");
        let view = CallTir::or_inplace(&over).expect("one that writes over an argument");
        assert_eq!((view.outputs().len(), view.in_place().collect::<Vec<_>>()), (2, vec![None, Some(0)]));
        let packed = Call::dps_packed("symbol".into(), inputs, both);
        assert!(CallTir::of_kernel(&packed).is_none(), "its function is found at run time");
        assert!(CallTir::of_any(&packed).is_some_and(|view| view.kernel().is_none()));
    }
}
