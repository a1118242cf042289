//! Invariants of every operator's declaration.

use hammock_ir::{
    Module,
    relax::{Call, Function, Operand},
};
use hammock_ops::{CallContext, Lowering, Op, OperandKind, ParamKind, ops};

#[test]
fn every_operator_is_documented() {
    for op in ops() {
        assert!(op.doc.ends_with('.') || op.doc.ends_with('`'), "{}: {:?} is not a sentence", op.name, op.doc);
        assert!(!op.doc.starts_with("R."), "{}", op.name);
    }
}

#[test]
fn every_operator_says_how_it_is_computed() {
    for op in ops() {
        match op.lowering {
            Lowering::Structural(by) => assert!(!by.is_empty(), "{} has no lowering", op.name),
            Lowering::Packed(name) => assert!(name.contains('.'), "{}: {name}", op.name),
            Lowering::Tir(_) | Lowering::Decompose(_) => {}
        }
    }
}

#[test]
fn every_operator_has_a_type_rule() {
    let (module, function) = (Module::new(), function());
    for op in ops() {
        let call = Call::op(op.name, Vec::new(), Default::default());
        let result = (op.infer)(&CallContext { module: &module, function: &function, op, call: &call });
        if let Err(error) = result {
            assert!(!error.message.contains("has no type rule"), "{}", op.name);
            assert!(error.message.contains(op.name), "{}: {error}", op.name);
        }
    }
}

#[test]
fn parameters_are_sound() {
    for op in ops() {
        let mut optional = false;
        for param in &op.params {
            let is_operand = matches!(param.kind, ParamKind::Operand(kind) if kind != OperandKind::Variadic);
            assert!(!is_operand || !optional || param.default.is_some(), "{}: `{}`", op.name, param.name);
            optional |= is_operand && param.default.is_some();
        }
        check_order(op);
    }
}

/// The printing order names exactly the attributes.
fn check_order(op: &Op) {
    let Some(order) = op.attr_order else { return };
    let mut order = order.to_vec();
    let mut attrs: Vec<&str> = op.attrs().iter().map(|p| p.name).collect();
    order.sort_unstable();
    attrs.sort_unstable();
    assert_eq!(order, attrs, "{}", op.name);
}

/// A call in full form has all attributes in printing order, and no absent operand at its end; but a view, whose
/// operands have fixed positions, always has four.
#[test]
fn calls_are_completed() {
    for op in ops() {
        let call = op.call(Vec::new(), []);
        let names: Vec<&str> = call.attrs.iter().map(|(n, _)| n.as_str()).collect();
        let expected: Vec<&str> = op.attrs().iter().map(|p| p.name).collect();
        if call.is_op(op.name) {
            assert_eq!(names, expected, "{}", op.name);
        }
        let absent = matches!(call.args.last(), Some(Operand::Tuple(m)) if m.is_empty());
        assert_eq!(absent, op.name == "memory.view", "{}", op.name);
    }
}

fn function() -> Function {
    Function::empty()
}

/// Structural operators without a lowering of their own: later passes handle calls, memory, devices and shapes.
#[test]
fn only_these_have_no_legalization() {
    let structural = |op: &&Op| matches!(op.lowering, Lowering::Structural(_));
    let names: Vec<&str> = ops().filter(structural).map(|op| op.name).collect();
    let calls = ["call_builtin_with_ctx", "call_dps_packed", "call_inplace_packed", "call_pure_packed", "call_py_func"];
    let kernels = ["call_tir", "call_tir_inplace", "call_tir_with_grad", "vm.call_tir_dyn"];
    let closures = ["invoke_closure", "invoke_pure_closure", "make_closure", "null_value"];
    let memory = ["builtin.alloc_tensor", "memory.alloc_storage", "memory.alloc_tensor", "memory.ensure_zero_offset"];
    let released = ["memory.kill_storage", "memory.kill_tensor", "memory.view", "vm.kill_object"];
    let machine = ["vm.alloc_storage", "vm.alloc_tensor", "shape_of"];
    let places =
        ["dist.annotate_sharding", "dist.call_tir_local_view", "dist.redistribute", "hint_on_device", "to_vdevice"];
    let all = [&calls[..], &kernels, &closures, &memory, &released, &machine, &places];
    let mut expected: Vec<&str> = all.concat();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

/// All others have an example. These are created by the compiler, or need functions or devices of the surrounding
/// program.
#[test]
fn only_these_have_no_example() {
    let lacks = |op: &&Op| op.example.is_none();
    for op in ops().filter(lacks) {
        assert!(matches!(op.lowering, Lowering::Structural(_)), "{} has no example", op.name);
    }
    let shown = ["memory.ensure_zero_offset", "memory.view", "null_value", "shape_of"];
    assert!(ops().filter(|op| shown.contains(&op.name)).all(|op| op.example.is_some()));
}
