//! Calls, shapes as values, memory, devices, collectives.

use crate::site::{full, refused, ty, ty_of};
use hammock_ir::{AttrValue, DType, Type, relax::InferError};
use hammock_ops::{AttrKind, Lowering, ParamKind, ops};

#[test]
fn calls_have_the_types_they_are_given() {
    let one = Type::tensor([2i64, 3], DType::FLOAT32);
    let several = [one.clone(), Type::tensor([4i64], DType::INT32)];
    assert_eq!(ty_of("call_tir", &["-", "-"], &[], &several[..1]), "R.Tensor((2, 3), dtype=\"float32\")");
    assert_eq!(
        ty_of("call_dps_packed", &["-", "-"], &[], &several),
        "R.Tuple(R.Tensor((2, 3), dtype=\"float32\"), R.Tensor((4,), dtype=\"int32\"))"
    );
    assert_eq!(ty("call_pure_packed", &["-", "2 3"], &[]), "R.Any");
    assert_eq!(ty("null_value", &[], &[]), "R.Any");
    assert_eq!(ty("print", &["-", "2 3"], &[]), "R.Tuple");
    assert!(refused("call_tir", &["-", "-"], &[]).contains("types of the results are missing"));
    assert!(refused("assert_op", &["3:bool", "-"], &[]).contains("without dimensions"));
    assert_eq!(ty("assert_op", &[":bool", "-"], &[]), "R.Tuple");
}

#[test]
fn shapes_as_values() {
    assert_eq!(ty("shape_of", &["n 3"], &[]), "R.Shape([n, 3])");
    assert_eq!(ty("shape_of", &["?3"], &[]), "R.Shape(ndim=3)");
    assert_eq!(ty("shape_of", &["?"], &[]), "R.Shape(ndim=-1)");
    assert_eq!(ty("shape_to_tensor", &["[n 3]"], &[]), "R.Tensor((2,), dtype=\"int64\")");
    assert_eq!(ty("tensor_to_shape", &["3:int64"], &[]), "R.Shape(ndim=3)");
    assert_eq!(ty("tensor_to_shape", &["n:int64"], &[]), "R.Shape(ndim=-1)");
    assert!(refused("tensor_to_shape", &["?2:int64"], &[]).contains("one dimension"));
    assert_eq!(ty("inspect.tensor_ndim", &["n 3"], &[]), "T.int32");
    assert_eq!(ty("inspect.tensor_shape_i", &["n 3", "#1"], &[]), "T.int64");
    assert!(refused("inspect.tensor_stride_i", &["n 3", "#2"], &[]).contains("no axis 2"));
}

#[test]
fn views_stay_in_their_memory() {
    assert_eq!(ty("memory.view", &["2 3", "[6]"], &[]), "R.Tensor((6,), dtype=\"float32\")");
    assert_eq!(ty("memory.view", &["2 n", "-"], &[]), "R.Tensor((2, n), dtype=\"float32\")");
    assert_eq!(full("memory.view", &["2 3"], &[]).1, 4);
    assert_eq!(
        refused("memory.view", &["2 3", "[6]", "-", "#4"], &[]),
        "`R.memory.view`: the view ends at byte 28, but `data` has only 24"
    );
    assert_eq!(ty("memory.ensure_zero_offset", &["2 n"], &[]), "R.Tensor((2, n), dtype=\"float32\")");
    assert_eq!(ty("vm.kill_object", &["2 n"], &[]), "R.Tuple");
}

#[test]
fn collectives() {
    let workers = [("num_workers", 4i64.into())];
    assert_eq!(ty("ccl.allreduce", &["3 n"], &[("op_type", "max".into())]), "R.Tensor((3, n), dtype=\"float32\")");
    assert_eq!(ty("ccl.allgather", &["3 n"], &workers), "R.Tensor((12, n), dtype=\"float32\")");
    assert_eq!(ty("ccl.scatter_from_worker0", &["8 n"], &workers), "R.Tensor((2, n), dtype=\"float32\")");
    assert!(refused("ccl.scatter_from_worker0", &["9 n"], &workers).contains("cannot be shared evenly"));
    assert!(refused("ccl.allreduce", &["3 n"], &[("op_type", "mean".into())]).contains("\"mean\""));
}

/// Every operator has documentation and a lowering, and returns a type or an error for any operands.
#[test]
fn the_table_is_sound() {
    for op in ops() {
        assert!(!op.doc.is_empty(), "{} has no doc", op.name);
        if let Lowering::Structural(by) = op.lowering {
            assert!(!by.is_empty(), "nothing computes {}", op.name);
        }
        for arg in ["", "n 3 m", "?", "[n 4]", "#7", "-", "0 0 0 0:int32"] {
            let call = op.call((0..op.operands().count()).map(|_| hammock_ir::relax::Operand::int(1)).collect(), []);
            assert_eq!(call.attrs.iter().len(), op.attrs().len(), "{}", op.name);
            let args = vec![arg; op.operands().count()];
            let result: Result<Type, InferError> = crate::site::infer(op.name, &args, &[], &[]);
            if let Err(e) = result {
                let (name, ..) = full(op.name, &args, &[]);
                assert!(e.message.starts_with(&format!("`R.{name}`")), "{name}: {}", e.message);
            }
        }
    }
}

/// Rules return a result for any integer attributes.
#[test]
fn extreme_attributes_are_refused_or_typed() {
    for op in ops() {
        let plain = |kind| match kind {
            AttrKind::Int => Some(AttrValue::Int(1)),
            AttrKind::Ints => Some(vec![1i64, 1].into()),
            AttrKind::Float => Some(AttrValue::Float(1.0)),
            _ => None,
        };
        let required = op.params.iter().filter(|p| p.default.is_none());
        let given: Vec<_> = required
            .filter_map(|p| if let ParamKind::Attr(kind) = p.kind { Some((p.name, plain(kind)?)) } else { None })
            .collect();
        for param in &op.params {
            let ParamKind::Attr(kind) = param.kind else { continue };
            for v in [i64::MIN, i64::MIN + 1, -(1 << 31), -1, 0, 1, 1 << 31, i64::MAX] {
                let value: AttrValue = match kind {
                    AttrKind::Int | AttrKind::OptionalInt => v.into(),
                    AttrKind::Ints | AttrKind::OptionalInts | AttrKind::Any => vec![v, v].into(),
                    _ => continue,
                };
                let mut attrs = given.clone();
                attrs.retain(|(name, _)| *name != param.name);
                attrs.push((param.name, value));
                for arg in ["2 3 4 5", "n 3 m 5", "n m 4", "2 n"] {
                    let args = vec![arg; op.operands().count()];
                    let _ = crate::site::infer(op.name, &args, &attrs, &[]);
                }
            }
        }
    }
}
