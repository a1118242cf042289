#[cfg(not(miri))]
mod hostile;

use super::*;
use crate::module::Module;
use crate::value::{Adt, Any, Closure, DType, Function, Shape, Str, Tensor, Tuple};
use crate::{Error, show};

fn call(name: &str, args: &[Any]) -> Result<Any, Error> {
    find(&format!("vm.builtin.{name}")).or_else(|| find(name)).unwrap().call(args)
}

fn message(name: &str, args: &[Any]) -> String {
    call(name, args).unwrap_err().to_string()
}

fn tensor<T: crate::Element>(shape: &[i64], values: &[T]) -> Any {
    Tensor::from_slice(shape, values).unwrap().into()
}

fn int(value: i64) -> Any {
    value.into()
}

/// Kinds of a builtin's parameters, without those of the rest, and whether it accepts more.
fn kinds(builtin: &Builtin) -> (Vec<&'static str>, bool) {
    let (params, _) = builtin.signature[1..].split_once(") -> ").unwrap();
    let kinds = params.split(", ").filter_map(|param| Some(param.split_once(": ")?.1.trim_end_matches('?')));
    let (min, max) = builtin.arity;
    let has_rest = max == u8::MAX;
    (kinds.take(usize::from(if has_rest { min } else { max })).collect(), has_rest)
}

#[test]
fn features_name_their_builtins() {
    let of = |prefix: &str| all().filter(|builtin| builtin.name.starts_with(prefix)).count();
    let optional: Vec<_> = OPTIONAL.iter().filter(|family| family.is_included).collect();
    for family in &optional {
        assert!(family.prefixes.iter().all(|prefix| of(prefix) > 0), "{}", family.feature);
    }
    let named: usize = optional.iter().flat_map(|family| family.prefixes).map(|prefix| of(prefix)).sum();
    let gated = [
        data::sequence::TABLE,
        data::strings::TABLE,
        debug::TABLE,
        detection::TABLE,
        kv_cache::TABLE,
        kv_pages::TABLE,
        module::TABLE,
        sampling::TABLE,
        set::TABLE,
        sort::TABLE,
        tensor_cache::TABLE,
        text::TABLE,
    ];
    let cuda = usize::from(cfg!(feature = "cuda"));
    assert_eq!(named, gated.iter().map(|table| table.len()).sum::<usize>() + cuda);
    assert_eq!(missing_feature("hammock.strings.join"), None);
}

#[test]
fn the_table_is_sound() {
    let names: Vec<_> = all().map(|builtin| builtin.name).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(names.len(), unique.len());
    for builtin in all() {
        assert!(builtin.doc.ends_with('.') && builtin.to_string().starts_with(builtin.name), "{builtin}");
    }
    assert_eq!(
        find("vm.builtin.alloc_tensor").unwrap().to_string(),
        "vm.builtin.alloc_tensor(storage: Storage, offset: int, shape: Shape, dtype: dtype, scope: str?) -> Tensor"
    );
}

#[test]
fn scratch_memory_of_builtins_counts() {
    use crate::memory::{Allocator, AllocatorKind, meter::Account};
    let allocator = Allocator::new(crate::Device::CPU, AllocatorKind::Pooled, 100_000).unwrap();
    let flag = std::sync::atomic::AtomicU8::new(0);
    let (bytes, floats) = (tensor(&[10_000], &[1i8; 10_000]), tensor(&[1, 4000], &[0.5f32; 4000]));
    let (boxes, scores) = (tensor(&[1, 2000, 4], &[0f32; 8000]), tensor(&[1, 1, 2000], &[0f32; 2000]));
    let one = |value: f32| tensor(&[1], &[value]);
    let no = || Any::from(false);
    let calls: [(&str, Vec<Any>); 6] = [
        ("relax.run.nonzero", vec![bytes.clone()]),
        ("relax.run.unique", vec![bytes.clone(), no(), no(), no(), no(), Any::NONE]),
        ("tvm.contrib.sort.sort", vec![bytes.clone(), bytes.clone(), int(0), true.into()]),
        ("tensor_to_shape", vec![tensor(&[20_000], &[1i8; 20_000])]),
        ("sample_top_p_from_logits", vec![floats, 1.0f64.into(), 1.0f64.into(), 0.5f64.into()]),
        ("all_class_non_max_suppression", vec![boxes, scores, one(1.0), one(0.5), one(0.5), Str::new("onnx").into()]),
    ];
    for (name, args) in &calls {
        call(name, args).unwrap();
    }
    // SAFETY: allocator and flag outlive the account.
    let _call = unsafe { Account::new(&allocator, &flag).enter() };
    for (name, args) in &calls {
        let error = message(name, args);
        assert!(error.contains("would exceed the limit of 100000"), "{name}: {error}");
    }
    assert!(call("relax.run.nonzero", &[tensor(&[100], &[1i8; 100])]).is_ok());
}

#[test]
fn wrong_arguments_name_the_builtin() {
    assert_eq!(
        message("reshape", &[int(1), Shape::new(&[1]).into()]),
        "TypeError: vm.builtin.reshape: argument #0 must be Tensor, got 1"
    );
    assert_eq!(
        message("shape_of", &[]),
        "TypeError: vm.builtin.shape_of: called with 0 arguments; it is vm.builtin.shape_of(value: Tensor) -> Shape"
    );
}

/// The functions that programs compiled by TVM may call, on a CPU and without a serving engine.
#[test]
fn the_table_has_all_of_tvms() {
    let families = [
        "alloc_shape_heap match_shape make_shape match_prim_value make_prim_value shape_of tensor_to_shape",
        "check_tensor_info check_shape_info check_prim_value_info check_string_info check_tuple_info check_func_info",
        "alloc_storage alloc_tensor null_value copy reshape ensure_zero_offset to_device memory_manager.clear",
        "read_if_cond make_tuple tuple_getitem tuple_reset_item make_closure invoke_closure call_tir_dyn",
        "invoke_debug_func debug_print attention_kv_cache_create attention_kv_cache_append attention_kv_cache_view",
        "attention_kv_cache_update attention_kv_cache_window_override attention_kv_cache_window_override_with_sinks",
        "attention_kv_cache_array_popn attention_kv_cache_array_clear sample_top_p_from_logits sample_top_p_from_prob",
        "multinomial_from_uniform apply_repetition_penalty apply_presence_and_frequency_penalty",
        "apply_softmax_with_temperature tensor_cache.load tensor_cache.get tensor_cache.update tensor_cache.remove",
        "tensor_cache.clear param_array_from_cache param_array_from_cache_by_name",
        "param_array_from_cache_by_name_unpacked param_module_from_cache param_module_from_cache_by_name",
    ];
    for name in families.iter().flat_map(|family| family.split(' ')) {
        assert!(find(&format!("vm.builtin.{name}")).is_some(), "{name}");
    }
}

/// Every builtin returns a result or an error for any arguments.
#[test]
fn nothing_panics() {
    let samples = [
        Any::NONE,
        int(0),
        int(-1),
        int(i64::MAX),
        Any::from(0.5),
        "text".into(),
        DType::FLOAT32.into(),
        Shape::new(&[2, -3]).into(),
        Shape::new(&[i64::MAX, 2]).into(),
        tensor(&[2], &[1i64, 2]),
        tensor::<f32>(&[], &[1.0]),
        Tuple::from_iter([int(1)]).into(),
        Closure::new(0, 9, vec![]).into(),
        Adt::new(1, [int(1)].into_iter()).into(),
        Function::new(|_| Ok(Any::NONE)).into(),
        Module::host([("f", Function::new(|_| Ok(Any::NONE)))]).into(),
        Error::value("no").into(),
    ];
    let (some, lists) = if cfg!(miri) { (&samples[7..8], 1) } else { (&samples[..], 2000) };
    // Except builtins that print, and `clear`, which would remove values of other tests from the cache.
    for builtin in all().filter(|builtin| !builtin.name.contains("print") && !builtin.name.ends_with("cache.clear")) {
        for first in some {
            let _ = builtin.call(std::slice::from_ref(first));
            for second in some {
                let _ = builtin.call(&[first.clone(), second.clone()]);
                for third in some {
                    let _ = builtin.call(&[first.clone(), second.clone(), third.clone()]);
                    let _ = builtin.call(&[first, second, third, third, third].map(Any::clone));
                }
            }
        }
        // Longer lists, with as many arguments as parameters and some more, whose first arguments are valid.
        let mut random = 0x2545_F491_4F6C_DD1Du64;
        for length in (0..lists).map(|i| i % 12) {
            let list: Vec<_> = (0..length).map(|_| samples[next(&mut random) % samples.len()].clone()).collect();
            let _ = builtin.call(&list);
            let fitting = kinds(builtin).0.into_iter().map(|kind| {
                let of_kind: Vec<_> = samples.iter().filter(|value| value.type_name() == kind).collect();
                of_kind.get(next(&mut random) % of_kind.len().max(1)).map_or(Any::NONE, |value| (*value).clone())
            });
            let list: Vec<_> = fitting.chain(list).take(kinds(builtin).0.len().max(length)).collect();
            let _ = builtin.call(&list);
        }
    }
}

/// Xorshift, for reproducible tests.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 8) as usize
}

#[test]
fn shapes_match_and_store() {
    let heap = call("alloc_shape_heap", &[Any::NONE, int(2)]).unwrap();
    let x = tensor(&[2, 3], &[0f32; 6]);
    let store = [x.clone(), heap.clone(), int(2), int(1), int(0), int(1), int(1), "".into()];
    call("match_shape", &store).unwrap();
    assert_eq!(heap.get::<&Tensor>().unwrap().as_slice::<i64>().unwrap(), [2, 3]);
    let context = "ErrorContext(match_cast, ty=R.Shape([n, n])) ";
    let again = [Shape::new(&[2, 4]).into(), heap.clone(), int(2), int(2), int(0), int(3), int(1), context.into()];
    assert_eq!(
        message("match_shape", &again),
        "RuntimeError: match_cast: expected R.Shape([n, n]), got Shape(2, 4): shape[1] is 4, not 3, as the values before it say"
    );
    assert_eq!(call("make_prim_value", &[heap.clone(), int(1), int(1)]).unwrap().get::<i64>(), Some(3));
    assert_eq!(
        message("match_prim_value", &[int(5), heap.clone(), int(3), int(0), "here: ".into()]),
        "RuntimeError: here: got 5: it is 5, not 2, as the values before it say"
    );
    let constant = Tensor::from_shared(DType::INT64, &[1], std::sync::Arc::new([0u8; 8]), 0..8);
    let store = [x, constant.unwrap().into(), int(2), int(1), int(0), int(3), int(0), "".into()];
    assert_eq!(message("match_shape", &store), "ValueError: the shape heap is a constant");
    let outside = message("make_shape", &[heap, int(1), int(1), int(2)]);
    assert_eq!(outside, "ValueError: the shape heap has no index 2");
    assert!(message("make_shape", &[Any::NONE, int(3), int(0)]).contains("expected 8 arguments"));
}

#[test]
fn failed_checks_have_precise_messages() {
    let context = "ErrorContext(fn=f, loc=return, annotation=R.Any) ";
    let wrong = |name, value: Any, rest: &[Any]| {
        let args: Vec<_> = [value].iter().chain(rest).cloned().chain([context.into()]).collect();
        let text = message(name, &args);
        text.replace("function `f`, return value: expected R.Any, got ", "")
    };
    let x = tensor(&[2], &[1i32, 2]);
    assert_eq!(
        wrong("check_tensor_info", x.clone(), &[int(1), DType::FLOAT32.into()]),
        "ValueError: a int32 Tensor of shape (2,): its dtype is int32, not float32"
    );
    assert_eq!(
        wrong("check_tensor_info", x.clone(), &[int(3)]),
        "ValueError: a int32 Tensor of shape (2,): it has 1 dimension, not 3"
    );
    assert_eq!(
        wrong("check_shape_info", Shape::new(&[2]).into(), &[int(3)]),
        "ValueError: Shape(2,): it has 1 size, not 3"
    );
    assert_eq!(
        wrong("check_prim_value_info", x.clone(), &[DType::INT64.into()]),
        "TypeError: a int32 Tensor of shape (2,): it is not int64"
    );
    assert_eq!(wrong("check_string_info", int(1), &[]), "TypeError: 1: it is not a string");
    assert_eq!(
        wrong("check_tuple_info", Tuple::from_iter([]).into(), &[int(1)]),
        "ValueError: a Tuple of 0 fields: it has 0 fields, not 1"
    );
    assert_eq!(wrong("check_func_info", int(1), &[]), "TypeError: 1: it cannot be called");
    assert!(call("check_tensor_info", &[x.clone(), int(-1), DType::INT32.into(), Any::NONE]).is_ok());
    assert!(call("check_tensor_info", &[x, int(1), Any::NONE, Any::NONE]).is_ok());
    assert!(call("check_prim_value_info", &[int(1), DType::FLOAT32.into()]).is_ok());
}

#[test]
fn conditions_are_read_from_numbers_and_tensors() {
    for (value, expected) in [
        (int(2), true),
        (false.into(), false),
        (tensor(&[], &[true]), true),
        (tensor(&[], &[256i32]), true),
        (tensor(&[1], &[0u8]), false),
    ] {
        assert_eq!(call("read_if_cond", &[value]).unwrap().get::<bool>(), Some(expected));
    }
    assert_eq!(
        message("read_if_cond", &[tensor(&[2], &[1i32, 1])]),
        "TypeError: Tensor((2,), int32, cpu:0) is not a condition"
    );
}

#[test]
fn tuples_give_and_lose_fields() {
    let tuple = call("make_tuple", &[int(1), int(2)]).unwrap();
    assert_eq!(call("tuple_getitem", &[tuple.clone(), int(1)]).unwrap().get::<i64>(), Some(2));
    let (other, reset) = (tuple.clone(), |at| call("tuple_reset_item", &[tuple.clone(), int(at)]));
    assert!(reset(1).unwrap().is_none() && reset(2).is_err() && reset(-1).is_err());
    let left: Vec<_> = other.get::<&Tuple>().unwrap().iter().map(|field| field.get::<i64>()).collect();
    assert_eq!(left, [Some(1), None]);
    assert_eq!(message("tuple_getitem", &[tuple, int(2)]), "IndexError: a tuple of 2 fields has no field 2");
}

#[test]
fn tensors_move_between_devices() {
    let here = tensor(&[2, 2], &[1f32, 2., 3., 4.]);
    let there = call("to_device", &[here.clone(), int(1), int(1), "global".into()]).unwrap();
    let (from, to) = (here.get::<&Tensor>().unwrap(), there.get::<&Tensor>().unwrap());
    assert_eq!((from.device().id, to.device().to_string()), (0, "cpu:1".to_owned()));
    assert!(from.data_ptr() != to.data_ptr() && from.as_bytes() == to.as_bytes());
    let same = call("to_device", &[there.clone(), int(1), int(1)]).unwrap();
    assert!(same.get::<&Tensor>().unwrap().ptr_eq(to));
    assert_eq!(message("to_device", &[here, int(8), int(0)]), "ValueError: there is no device metal:0");
}

#[test]
fn modules_are_values() {
    let one = Module::host([("f", Function::new(|_| Ok(int(1))))]);
    let machine = Module::from_image(Default::default(), vec![one]);
    let module = Any::from(machine);
    let find =
        |name: &str, imports: bool| call("ffi.ModuleGetFunction", &[module.clone(), name.into(), imports.into()]);
    assert!(find("f", false).unwrap().is_none());
    assert_eq!(find("f", true).unwrap().get::<Function>().unwrap().call(&[]).unwrap().get::<i64>(), Some(1));
    assert_eq!(call("ffi.ModuleGetKind", std::slice::from_ref(&module)).unwrap().as_str(), Some("relax.VMExecutable"));
    assert_eq!(call("ffi.ModuleGetPropertyMask", std::slice::from_ref(&module)).unwrap().get::<i64>(), Some(1));
    let has = call("ffi.ModuleImplementsFunction", &[module.clone(), "stats".into()]).unwrap();
    assert_eq!(has.get::<bool>(), Some(true));
    assert_eq!(call("module_imports", &[module]).unwrap().get::<&Tuple>().unwrap().len(), 1);
}

#[test]
fn tagged_data() {
    let pair = call("alloc_adt", &[int(7), int(1), "two".into()]).unwrap();
    assert_eq!(call("get_tag", std::slice::from_ref(&pair)).unwrap().get::<i64>(), Some(7));
    assert_eq!(call("has_tag", &[pair.clone(), int(8)]).unwrap().get::<bool>(), Some(false));
    assert_eq!(call("get_field", &[pair.clone(), int(1)]).unwrap().as_str(), Some("two"));
    assert_eq!(message("get_field", &[pair, int(-1)]), "IndexError: data of tag 7 with 2 fields has no field -1");
}

#[test]
fn kernels_get_sizes_of_a_shape() {
    let f = Function::new(|args| Ok(args.iter().map(|arg| arg.get::<i64>().unwrap()).sum::<i64>().into()));
    let sum = call("call_tir_dyn", &[f.into(), int(1), Shape::new(&[10, 20]).into()]).unwrap();
    assert_eq!(sum.get::<i64>(), Some(31));
}

#[test]
fn shapes_and_tensors_convert() {
    let shape = call("tensor_to_shape", &[tensor(&[2], &[3i32, -1])]).unwrap();
    assert_eq!(shape.get::<&Shape>().unwrap().as_slice(), [3, -1]);
    let vector = call("relax.run.shape_to_tensor", &[shape]).unwrap();
    assert_eq!(vector.get::<&Tensor>().unwrap().as_slice::<i64>().unwrap(), [3, -1]);
    assert_eq!(
        message("tensor_to_shape", &[tensor(&[1], &[0.5f32])]),
        "TypeError: a shape is made of signed integers, not of float32"
    );
}

#[test]
fn nonzero_lists_indices_by_axis() {
    let indices = call("relax.run.nonzero", &[tensor(&[2, 2], &[0f32, 1.0, f32::NAN, -0.0])]).unwrap();
    let indices = indices.get::<&Tensor>().unwrap();
    assert_eq!((indices.shape(), indices.as_slice::<i64>().unwrap()), (&[2, 2][..], &[0, 1, 1, 0][..]));
    let scalar = call("relax.run.nonzero", &[tensor(&[], &[5i8])]).unwrap();
    assert_eq!(scalar.get::<&Tensor>().unwrap().shape(), [1, 1]);
    // Sparse and dense, with whole rows and planes in between, in elements of every width.
    for every in [1, 2, 7, 50] {
        let is_zero = |at: usize| !(at * at / 3).is_multiple_of(every);
        let of = |value: Any| {
            let indices = call("relax.run.nonzero", &[value]).unwrap();
            indices.get::<&Tensor>().unwrap().as_slice::<i64>().unwrap().to_vec()
        };
        let all = 0..5 * 4 * 9;
        let indices: Vec<usize> = all.clone().filter(|at| !is_zero(*at)).collect();
        let along = |stride: usize, size: usize| indices.iter().map(move |at| (at / stride % size) as i64);
        let expected: Vec<i64> = along(36, 5).chain(along(9, 4)).chain(along(1, 9)).collect();
        let small: Vec<i8> = all.clone().map(|at| if is_zero(at) { 0 } else { i8::MIN }).collect();
        assert_eq!(of(tensor(&[5, 4, 9], &small)), expected);
        let wide: Vec<i64> = all.clone().map(|at| i64::from(!is_zero(at)) << 62).collect();
        assert_eq!(of(tensor(&[5, 4, 9], &wide)), expected);
        let float: Vec<f64> = all.clone().map(|at| if is_zero(at) { -0.0 } else { -1e-300 }).collect();
        assert_eq!(of(tensor(&[5, 4, 9], &float)), expected);
        let half: Vec<u16> = all.map(|at| u16::from(!is_zero(at))).collect();
        assert_eq!(of(tensor(&[5, 4, 9], &half)), expected);
    }
}

fn unique(value: Any, sorted: bool, axis: Option<i64>) -> String {
    let yes = || Any::from(true);
    let result = call("relax.run.unique", &[value, sorted.into(), yes(), yes(), yes(), axis.into()]).unwrap();
    show::plain(&result).replace('\n', "")
}

/// Columns of an outer and an inner axis: some differ in one element, and more values than the first table has slots.
#[test]
fn unique_groups_many_slices() {
    let value = |at: i64| at * 7919 % 1000;
    let elements: Vec<i64> = (0..5000).map(value).collect();
    let flags = [true.into(), true.into(), true.into()];
    let fields = |data: &Any, sorted: bool, axis: Option<i64>| -> Vec<Tensor> {
        let args = [vec![data.clone(), sorted.into()], flags.to_vec(), vec![axis.into()]].concat();
        let result: Tuple = call("relax.run.unique", &args).unwrap().get().unwrap();
        result.iter().map(|field| field.clone().get().unwrap()).collect()
    };
    for sorted in [true, false] {
        let [values, first, inverse, counts] = &fields(&tensor(&[5000], &elements), sorted, None)[..] else { panic!() };
        let (values, first) = (values.as_slice::<i64>().unwrap(), first.as_slice::<i64>().unwrap());
        assert_eq!(values.len(), 1000);
        assert!(if sorted { values.is_sorted() } else { first.is_sorted() });
        assert!(first.iter().zip(values).all(|(at, v)| *at < 1000 && value(*at) == *v));
        assert!(inverse.as_slice::<i64>().unwrap().iter().zip(&elements).all(|(at, v)| values[*at as usize] == *v));
        assert_eq!(counts.as_slice::<i64>().unwrap(), [5; 1000]);
    }
    let (rows, columns, inner) = (3, 40, 7);
    let element = |row: i64, column: i64, at: i64| i64::from(column % 10 >= 5 && (row, at) == (2, column % 5));
    let cube: Vec<i64> =
        (0..rows * columns * inner).map(|at| element(at / inner / columns, at / inner % columns, at % inner)).collect();
    let [values, first, inverse, counts] = &fields(&tensor(&[rows, columns, inner], &cube), false, Some(1))[..] else {
        panic!()
    };
    assert_eq!(values.shape(), [3, 6, 7]);
    assert_eq!(first.as_slice::<i64>().unwrap(), [0, 5, 6, 7, 8, 9]);
    assert_eq!(counts.as_slice::<i64>().unwrap(), [20, 4, 4, 4, 4, 4]);
    let group = |column: i64| if column % 10 < 5 { 0 } else { column % 10 - 4 };
    assert_eq!(inverse.as_slice::<i64>().unwrap(), (0..columns).map(group).collect::<Vec<_>>());
    let sorted = fields(&tensor(&[rows, columns, inner], &cube), true, Some(1));
    assert_eq!(sorted[1].as_slice::<i64>().unwrap(), [0, 9, 8, 7, 6, 5]);
}

#[test]
fn unique_finds_values_indices_and_counts() {
    let x = tensor(&[2, 3], &[3i64, 1, 3, 2, 1, 1]);
    assert_eq!(unique(x.clone(), true, None), "([1 2 3], [1 3 0], [2 0 2 1 0 0], [3 1 2])");
    assert_eq!(unique(x, false, None), "([3 1 2], [0 1 3], [0 1 0 2 1 1], [2 3 1])");
    let rows = tensor(&[3, 2], &[1i32, 2, 0, 1, 1, 2]);
    assert_eq!(unique(rows.clone(), true, Some(0)), "([[0 1] [1 2]], [1 0], [1 0 1], [1 2])");
    assert_eq!(unique(rows, true, Some(-1)), "([[1 2] [0 1] [1 2]], [0 1], [0 1], [1 1])");
    assert_eq!(unique(tensor(&[3], &[f32::NAN, 1.0, f32::NAN]), true, None), "([1.0 nan], [1 0], [1 0 1], [1 2])");
    let no = || Any::from(false);
    let alone = call("relax.run.unique", &[tensor(&[0], &[0i8; 0]), no(), no(), no(), no()]).unwrap();
    assert_eq!(alone.get::<&Tensor>().unwrap().shape(), [0]);
}

#[test]
fn assertions_format_their_message() {
    assert!(call("relax.run.assert_op", &[true.into(), "".into()]).is_ok());
    let fails = |args: &[Any]| message("relax.run.assert_op", &[&[Any::from(false)], args].concat());
    assert_eq!(fails(&["".into()]), "AssertionError: Assertion Failed");
    assert_eq!(fails(&["".into(), int(1), "a".into()]), "AssertionError: 1, a");
    assert_eq!(fails(&["{} {{}} {0} {1}".into(), int(1), tensor(&[2], &[1i8, 2])]), "AssertionError: 1 {} 1 [1 2]");
    assert_eq!(fails(&["{".into()]), "ValueError: \"{\" does not format 0 values");
}

fn kv(name: &str, args: &[Any]) -> Result<Any, Error> {
    call(&format!("attention_kv_cache_{name}"), args)
}

fn rows(values: &[i32]) -> Any {
    tensor(&[values.len() as i64 / 2, 2], values)
}

fn contents(cache: &Any) -> Vec<i32> {
    let view = kv("view", std::slice::from_ref(cache)).unwrap();
    view.get::<&Tensor>().unwrap().as_slice().unwrap().to_vec()
}

#[test]
fn caches_grow_and_views_stay_as_they_are() {
    let cache = kv("create", &[rows(&[1, 2]), Shape::new(&[1, 2]).into(), int(-1)]).unwrap();
    let before = kv("view", &[cache.clone(), Shape::new(&[1, 2]).into()]).unwrap();
    kv("append", &[cache.clone(), rows(&[3, 4, 5, 6])]).unwrap();
    assert_eq!(contents(&cache), [1, 2, 3, 4, 5, 6]);
    kv("update", &[cache.clone(), rows(&[9, 9, 8, 8, 7, 7])]).unwrap();
    assert_eq!(contents(&cache), [9, 9, 8, 8, 7, 7]);
    assert_eq!(before.get::<&Tensor>().unwrap().as_slice::<i32>().unwrap(), [1, 2]);

    let all = Any::from(Tuple::from_iter([cache.clone()]));
    kv("array_popn", &[all.clone(), int(2)]).unwrap();
    assert_eq!(contents(&cache), [9, 9]);
    assert_eq!(kv("array_popn", &[all.clone(), int(2)]).unwrap_err().message(), "cannot take 2 of 1 rows");
    kv("array_clear", &[all]).unwrap();
    assert!(contents(&cache).is_empty());
    assert!(kv("append", &[cache.clone(), tensor(&[1, 3], &[1i32, 2, 3])]).is_err());
    let wrong = kv("view", &[cache, Shape::new(&[2, 2]).into()]).unwrap_err();
    assert_eq!(wrong.message(), "the cache's rows are (0, 2), not (2, 2)");
}

#[test]
fn windows_wrap_around_their_sinks() {
    let cache = kv("create", &[rows(&[0, 0]), Shape::new(&[2, 2]).into(), int(1)]).unwrap();
    let push = |values: &[i32]| {
        kv("window_override_with_sinks", &[cache.clone(), rows(values), int(4), int(1)]).map(|_| contents(&cache))
    };
    assert_eq!(push(&[1, 1, 2, 2]).unwrap(), [0, 0, 1, 1, 2, 2]);
    assert_eq!(push(&[3, 3, 4, 4]).unwrap(), [0, 0, 4, 4, 2, 2, 3, 3]);
    assert_eq!(push(&[5, 5]).unwrap(), [0, 0, 4, 4, 5, 5, 3, 3]);
    // The last rows are removed, wherever they are in the window.
    kv("array_popn", &[Tuple::from_iter([cache.clone()]).into(), int(2)]).unwrap();
    assert_eq!(contents(&cache), [0, 0, 3, 3]);
    assert_eq!(push(&[6, 6]).unwrap(), [0, 0, 3, 3, 6, 6]);
    assert_eq!(push(&[0; 8]).unwrap_err().message(), "4 rows do not fit a window of 4 with 1 sink rows");
}

/// Rows as (position, value) under random operations on caches, compared with a list.
#[test]
fn caches_keep_the_rows_that_came_last() {
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..if cfg!(miri) { 5 } else { 300 } {
        let mut model: Vec<i32> = vec![0; next(&mut random) % 3];
        let first = tensor(&[model.len() as i64, 1], &model);
        let cache = kv("create", &[first, Shape::new(&[2, 1]).into(), int(-1)]).unwrap();
        for step in 1..20 {
            let new: Vec<i32> = (0..next(&mut random) as i32 % 4).map(|i| step * 10 + i).collect();
            let more = tensor(&[new.len() as i64, 1], &new);
            let (window, sinks) = (3 + next(&mut random) % 4, next(&mut random) % 3);
            match next(&mut random) % 4 {
                0 => {
                    kv("append", &[cache.clone(), more]).unwrap();
                    model.extend(new);
                }
                1 => {
                    let count = next(&mut random) % 2;
                    let all = Tuple::from_iter([cache.clone()]).into();
                    let popped = kv("array_popn", &[all, int(count as i64)]);
                    assert_eq!(popped.is_ok(), count <= model.len());
                    model.truncate(model.len().saturating_sub(count));
                }
                _ => {
                    let (w, s) = (int(window as i64), int(sinks as i64));
                    let pushed = kv("window_override_with_sinks", &[cache.clone(), more, w, s]);
                    let fits = new.len() + sinks <= window && model.len() <= window;
                    assert_eq!(pushed.is_ok(), fits);
                    if fits {
                        model.extend(new);
                        model.drain(
                            sinks.min(model.len())
                                ..(sinks + model.len()).saturating_sub(window).max(sinks.min(model.len())),
                        );
                    }
                }
            }
            let mut found: Vec<i32> = {
                let view = kv("view", std::slice::from_ref(&cache)).unwrap();
                view.get::<&Tensor>().unwrap().as_slice::<i32>().unwrap().to_vec()
            };
            let mut expected = model.clone();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "after {step} steps");
        }
    }
}

/// Rows of elements below a byte: they equal rows of bytes that are packed afterwards.
#[test]
fn caches_hold_rows_of_any_type() {
    for (bits, row) in [(4u8, 1i64), (4, 3), (4, 2), (1, 5), (6, 3)] {
        let dtype = DType::uint(bits);
        let pack = |values: &[u8]| {
            let mut bytes = vec![0u8; (values.len() * usize::from(bits)).div_ceil(8)];
            for (at, value) in values.iter().enumerate() {
                (0..usize::from(bits)).for_each(|bit| {
                    let to = at * usize::from(bits) + bit;
                    bytes[to / 8] |= (value >> bit & 1) << (to % 8);
                });
            }
            Any::from(Tensor::from_bytes(dtype, &[values.len() as i64 / row, row], &bytes).unwrap())
        };
        let value = |i: usize| (i * 7 + 3) as u8 & ((1 << bits) - 1);
        let some =
            |from: usize, to: usize| -> Vec<u8> { (from * row as usize..to * row as usize).map(value).collect() };
        let check = |cache: &Any, expected: &[u8]| {
            let view = kv("view", std::slice::from_ref(cache)).unwrap();
            let view = view.get::<&Tensor>().unwrap();
            assert_eq!(view.shape()[0] * row, expected.len() as i64);
            for (at, value) in expected.iter().enumerate() {
                let index = [at as i64 / row, at as i64 % row];
                assert_eq!(view.element(&index), Some(vec![*value]), "uint{bits} {index:?}");
            }
        };
        let cache = kv("create", &[pack(&some(0, 1)), Shape::new(&[1, row]).into(), int(-1)]).unwrap();
        check(&cache, &some(0, 1));
        kv("append", &[cache.clone(), pack(&some(1, 4))]).unwrap();
        check(&cache, &some(0, 4));
        kv("window_override", &[cache.clone(), pack(&some(4, 5)), int(5)]).unwrap();
        check(&cache, &some(0, 5));
        kv("window_override", &[cache.clone(), pack(&some(5, 7)), int(5)]).unwrap();
        check(&cache, &[some(5, 7), some(2, 5)].concat());
        kv("update", &[cache.clone(), pack(&some(10, 15))]).unwrap();
        check(&cache, &some(10, 15));
    }
}

#[test]
fn suppression_lists_selected_boxes() {
    let boxes = tensor(&[1, 3, 4], &[0f32, 0.0, 1.0, 1.0, 1.0, 1.1, 0.0, 0.1, 2.0, 2.0, 3.0, 3.0]);
    let scores = tensor(&[1, 2, 3], &[0.9f32, 0.95, 0.5, 0.1, 0.1, 0.8]);
    let limits = |most: i64| [tensor(&[], &[most]), tensor(&[], &[0.5f32]), tensor(&[1], &[0.2f32])];
    let run = |most, format: &str| {
        let args = [&[boxes.clone(), scores.clone()], &limits(most)[..], &[format.into()]].concat();
        call("all_class_non_max_suppression", &args).unwrap()
    };
    let ints = |result: &Any, field: usize| {
        let fields = result.get::<&Tuple>().unwrap();
        fields[field].get::<&Tensor>().unwrap().as_slice::<i64>().unwrap().to_vec()
    };
    let listed = run(10, "onnx");
    assert_eq!((ints(&listed, 0), ints(&listed, 1)), (vec![0, 0, 1, 0, 0, 2, 0, 1, 2], vec![3]));
    assert_eq!(ints(&run(0, "onnx"), 1), [0]);
    let padded = run(1, "tensorflow");
    let fields = padded.get::<&Tuple>().unwrap();
    assert_eq!(ints(&padded, 0), [0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fields[1].get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), [0.95, 0.8, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(ints(&padded, 2), [2]);
}

#[test]
fn reshaping_keeps_the_number_of_elements() {
    let value = tensor(&[2, 3], &[1i32, 2, 3, 4, 5, 6]);
    let reshape = |shape: &[i64]| call("reshape", &[value.clone(), Shape::new(shape).into()]);
    for (shape, elements) in [(&[3, 2][..], &[1, 2, 3, 4, 5, 6][..]), (&[6], &[1, 2, 3, 4, 5, 6])] {
        let view = reshape(shape).unwrap();
        let view = view.get::<&Tensor>().unwrap();
        assert_eq!((view.shape(), view.as_slice::<i32>().unwrap()), (shape, elements));
    }
    for shape in [&[7][..], &[4], &[6, 0], &[-1], &[-2, -3], &[i64::MAX, 2]] {
        assert!(reshape(shape).is_err(), "{shape:?}");
    }
    assert_eq!(
        reshape(&[4]).unwrap_err().to_string(),
        "ValueError: cannot reshape (2, 3) to (4,): the numbers of elements differ"
    );
}

#[test]
fn a_tensor_tells_of_itself() {
    let value = tensor(&[2, 3], &[0f32; 6]);
    let ask = |what: &str, args: &[Any]| {
        call(&format!("relax.inspect.tensor_{what}"), &[std::slice::from_ref(&value), args].concat())
            .unwrap()
            .get::<i64>()
            .unwrap()
    };
    let plain = ["ndim", "dtype_code", "dtype_bits", "dtype_lanes", "byte_offset", "elem_offset"];
    assert_eq!(plain.map(|what| ask(what, &[])), [2, 2, 32, 1, 0, 0]);
    assert_eq!([0, 1].map(|axis| ask("shape_i", &[int(axis)])), [2, 3]);
    assert_eq!([0, 1].map(|axis| ask("stride_i", &[int(axis)])), [3, 1]);
    assert!(call("relax.inspect.tensor_shape_i", &[value.clone(), int(2)]).is_err());
}

#[test]
fn a_single_worker_gets_its_own_input() {
    let (value, result) = (tensor(&[2, 2], &[1i32, 2, 3, 4]), tensor(&[4], &[0i32; 4]));
    call("runtime.disco.allreduce", &[value.clone(), Shape::new(&[0]).into(), int(1), result.clone()]).unwrap();
    assert_eq!(result.get::<&Tensor>().unwrap().as_slice::<i32>().unwrap(), [1, 2, 3, 4]);
    let constant = result.get::<&Tensor>().unwrap().constant().into();
    let unwritable = message("runtime.disco.allgather", &[value.clone(), int(1), constant]);
    assert!(unwritable.contains("must not be written"), "{unwritable}");
    let more = message("runtime.disco.allgather", &[value, int(1), tensor(&[4, 2], &[0i32; 8])]);
    assert!(more.contains("only one worker"), "{more}");
}
