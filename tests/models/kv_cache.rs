//! Attention over the runtime's caches: paged caches of several sequences of random lengths and chunks, compared with
//! attention by the definition.
#![cfg(feature = "llvm")]

use hammock_runtime::{Any, Library, Shape, Tensor, Vm, builtins, vm::Options};
use std::{path::Path, process::Command, sync::Arc};

/// Number of query heads and KV heads, head size, and rows per page, as in `ir-examples/paged_attention.py`.
const HEADS: usize = 4;
const SHARED: usize = 2;
const SIZE: usize = 8;
const ROWS: usize = 4;
const PAGES: usize = 40;

/// One token at a time, with a window of six rows, and with two sink rows and a window of four.
const WINDOWS: &str = r#"
m = TypeVar("m")
@I.ir_module
class Module:
    @R.function(pure=False)
    def window(q: R.Tensor((1, 1, 4, 8), "float32"), k: R.Tensor((1, 2, 8), "float32"), v: R.Tensor((1, 2, 8), "float32"), keys: R.Object, values: R.Object):
        cls = Module
        more_keys = R.call_packed("vm.builtin.attention_kv_cache_window_override", keys, k, R.prim_value(6), ty_args=(R.Object,))
        more_values = R.call_packed("vm.builtin.attention_kv_cache_window_override", values, v, R.prim_value(6), ty_args=(R.Object,))
        result = cls.attention(q, more_keys, more_values)
        return result
    @R.function(pure=False)
    def sinks(q: R.Tensor((1, 1, 4, 8), "float32"), k: R.Tensor((1, 2, 8), "float32"), v: R.Tensor((1, 2, 8), "float32"), keys: R.Object, values: R.Object):
        cls = Module
        more_keys = R.call_packed("vm.builtin.attention_kv_cache_window_override_with_sinks", keys, k, R.prim_value(6), R.prim_value(2), ty_args=(R.Object,))
        more_values = R.call_packed("vm.builtin.attention_kv_cache_window_override_with_sinks", values, v, R.prim_value(6), R.prim_value(2), ty_args=(R.Object,))
        result = cls.attention(q, more_keys, more_values)
        return result
    @R.function(private=True, pure=False)
    def attention(q: R.Tensor((1, 1, 4, 8), "float32"), keys: R.Object, values: R.Object) -> R.Tensor((1, 1, 4, 8), "float32"):
        all_keys = R.match_cast(R.call_packed("vm.builtin.attention_kv_cache_view", keys, ty_args=(R.Tensor(dtype="float32", ndim=3),)), R.Tensor((m, 2, 8), "float32"))
        all_values = R.match_cast(R.call_packed("vm.builtin.attention_kv_cache_view", values, ty_args=(R.Tensor(dtype="float32", ndim=3),)), R.Tensor((m, 2, 8), "float32"))
        result = R.nn.attention(q, R.expand_dims(all_keys, axis=0), R.expand_dims(all_values, axis=0))
        return result
"#;

fn machine(model: &Path) -> Vm {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("model.so");
    let compile = &mut Command::new(env!("CARGO_BIN_EXE_hammock"));
    compile.arg("compile").arg(model).arg("-o").arg(&library);
    assert!(compile.status().unwrap().success());
    Vm::from_library(&Arc::new(Library::open(&library).unwrap()), Options::default()).unwrap()
}

fn builtin(name: &str, args: &[Any]) -> Any {
    builtins().find(|builtin| builtin.name == name).unwrap().call(args).unwrap()
}

fn tensor(shape: &[usize], values: &[f32]) -> Any {
    let shape: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
    Tensor::from_slice(&shape, values).unwrap().into()
}

fn random(count: usize) -> Vec<f32> {
    (0..count).map(|_| fastrand::f32() * 4.0 - 2.0).collect()
}

/// Sequence without pages, with contiguous rows.
#[derive(Default)]
struct Sequence {
    number: i64,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Sequence {
    fn rows(&self) -> usize {
        self.keys.len() / (SHARED * SIZE)
    }

    /// Attention of a query head at row `at` over a window of `window` rows.
    fn attention(&self, query: &[f32], head: usize, at: usize, window: usize) -> Vec<f64> {
        self.over((at + 1).saturating_sub(window)..at + 1, query, head)
    }

    /// Attention of a query head over these rows.
    fn over(&self, rows: impl Iterator<Item = usize> + Clone, query: &[f32], head: usize) -> Vec<f64> {
        let of =
            |rows: &[f32], row: usize, i: usize| f64::from(rows[(row * SHARED + head / (HEADS / SHARED)) * SIZE + i]);
        let scores = rows.clone().map(|row| {
            let dot: f64 = (0..SIZE).map(|i| f64::from(query[i]) * of(&self.keys, row, i)).sum();
            (dot / (SIZE as f64).sqrt()).exp()
        });
        let scores: Vec<f64> = scores.collect();
        let sum: f64 = scores.iter().sum();
        let mixed =
            |i: usize| rows.clone().zip(&scores).map(|(row, score)| score / sum * of(&self.values, row, i)).sum();
        (0..SIZE).map(mixed).collect()
    }
}

fn check(found: &[f32], expected: &[f64], step: usize) {
    for (got, expected) in found.iter().zip(expected) {
        assert!((f64::from(*got) - expected).abs() < 1e-5, "step {step}: {got}, not {expected}");
    }
}

/// Random subsets of sequences grow by random chunks; some end, and others reuse their pages.
#[test]
fn paged_attention_matches_the_definition() {
    fastrand::seed(7);
    let vm = machine(&Path::new(env!("CARGO_MANIFEST_DIR")).join("ir-examples/paged_attention.py"));
    let pages = builtin("hammock.kv_pages.create", &[(PAGES as i64).into(), (ROWS as i64).into()]);
    let zeros = vec![0.0; PAGES * ROWS * SHARED * SIZE];
    let [keys, values] = [(); 2].map(|()| tensor(&[PAGES, ROWS, SHARED, SIZE], &zeros));
    let mut sequences: Vec<Sequence> = (0..5).map(|number| Sequence { number, ..Sequence::default() }).collect();
    for step in 0..40 {
        fastrand::shuffle(&mut sequences);
        let batch = fastrand::usize(1..=3);
        let (one_each, window) = (step % 2 == 0, [3, 9, 1 << 20][step % 3]);
        let counts: Vec<usize> = (0..batch).map(|_| if one_each { 1 } else { fastrand::usize(1..=7) }).collect();
        for sequence in &mut sequences[..batch] {
            if sequence.rows() > 20 {
                builtin("hammock.kv_pages.truncate", &[pages.clone(), sequence.number.into(), 0.into()]);
                *sequence = Sequence { number: sequence.number + 5, ..Sequence::default() };
            }
        }
        let (mut more_keys, mut more_values) = (Vec::new(), Vec::new());
        for (sequence, count) in sequences.iter_mut().zip(&counts) {
            let [new_keys, new_values] = [(); 2].map(|()| random(count * SHARED * SIZE));
            sequence.keys.extend(&new_keys);
            sequence.values.extend(&new_values);
            more_keys.extend(new_keys);
            more_values.extend(new_values);
        }
        let (total, most) = (counts.iter().sum::<usize>(), *counts.iter().max().unwrap());
        let queries = random(batch * most * HEADS * SIZE);
        let shape = |values: Vec<i64>| Any::from(Shape::new(&values));
        let result = vm.call(
            "step",
            &[
                tensor(&[batch, most, HEADS, SIZE], &queries),
                tensor(&[total, SHARED, SIZE], &more_keys),
                tensor(&[total, SHARED, SIZE], &more_values),
                keys.clone(),
                values.clone(),
                pages.clone(),
                shape(sequences[..batch].iter().map(|sequence| sequence.number).collect()),
                shape(counts.iter().map(|count| *count as i64).collect()),
                Tensor::scalar(window as i32).unwrap().into(),
            ],
        );
        let result = result.unwrap();
        let found = result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap();
        for (b, (sequence, count)) in sequences.iter().zip(&counts).enumerate() {
            for (i, head) in (most - count..most).flat_map(|i| (0..HEADS).map(move |head| (i, head))) {
                let offset = ((b * most + i) * HEADS + head) * SIZE;
                let at = sequence.rows() + i - most;
                let expected = sequence.attention(&queries[offset..], head, at, window);
                check(&found[offset..], &expected, step);
            }
        }
    }
}

/// Rows that leave a window are overwritten in place; sink rows are preserved.
#[test]
fn sliding_windows_match_the_definition() {
    fastrand::seed(8);
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("windows.py");
    std::fs::write(&model, WINDOWS).unwrap();
    let vm = machine(&model);
    for (function, sinks) in [("window", 0usize), ("sinks", 2)] {
        let reserve = Any::from(Shape::new(&[2, SHARED as i64, SIZE as i64]));
        let nothing = tensor(&[0, SHARED, SIZE], &[]);
        let [keys, values] = [(); 2].map(|()| {
            builtin("vm.builtin.attention_kv_cache_create", &[nothing.clone(), reserve.clone(), (-1).into()])
        });
        let mut sequence = Sequence::default();
        for step in 0..20 {
            let [key, value] = [(); 2].map(|()| random(SHARED * SIZE));
            sequence.keys.extend(&key);
            sequence.values.extend(&value);
            let query = random(HEADS * SIZE);
            let [k, v] = [key, value].map(|row| tensor(&[1, SHARED, SIZE], &row));
            let arguments = [tensor(&[1, 1, HEADS, SIZE], &query), k, v, keys.clone(), values.clone()];
            let result = vm.call(function, &arguments).unwrap();
            let found = result.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap();
            let rows = (0..sinks.min(step + 1)).chain(sinks.max((step + 1 + sinks).saturating_sub(6))..step + 1);
            for head in 0..HEADS {
                let expected = sequence.over(rows.clone(), &query[head * SIZE..], head);
                check(&found[head * SIZE..], &expected, step);
            }
        }
    }
}
