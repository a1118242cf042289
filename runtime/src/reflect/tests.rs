use super::*;
use crate::ffi::Error;
use crate::value::{Adt, Any, Bytes, Closure, DType, Device, Function, Opaque, Shape, Tensor, Tuple};

fn tuple<const N: usize>(fields: [Any; N]) -> Any {
    Tuple::new(fields.into_iter()).into()
}

fn adt<const N: usize>(tag: i64, fields: [Any; N]) -> Any {
    Adt::new(tag, fields.into_iter()).into()
}

/// One value of each kind that can be saved.
fn samples() -> Vec<Any> {
    let tensor = Tensor::from_slice(&[2, 2], &[1.5f32, -0.0, f32::NAN, 4.0]).unwrap();
    let error = Error::value("no").with_cause(Error::runtime("deep"));
    vec![
        Any::NONE,
        true.into(),
        Any::from(-7i64),
        Any::from(i64::MIN),
        1.25.into(),
        f64::NAN.into(),
        f64::NEG_INFINITY.into(),
        (-0.0).into(),
        "seven".into(),
        "more than seven \"quoted\" ü".into(),
        Bytes::new(&[0, 255, 7]).into(),
        DType::BFLOAT16.with_lanes(4).into(),
        Device::cuda(2).into(),
        Shape::new(&[2, -1]).into(),
        tensor.into(),
        Tensor::scalar(true).unwrap().into(),
        tuple([]),
        tuple([1i64.into(), tuple(["x".into()])]),
        adt(3, [adt(0, []), 2i64.into()]),
        error.into(),
    ]
}

#[test]
fn values_are_saved_and_read_back() {
    for value in samples() {
        let json = save(&value).unwrap();
        let back = load(&json).unwrap();
        assert!(equal(&value, &back), "{value} {json}");
        assert_eq!((value.type_index(), hash(&value)), (back.type_index(), hash(&back)), "{value}");
        assert_eq!(save(&back).unwrap(), json);
        assert_eq!(text(&back), text(&value));
    }
}

#[test]
fn different_values_differ() {
    let samples = samples();
    let hashes: Vec<_> = samples.iter().map(hash).collect();
    for (i, a) in samples.iter().enumerate().step_by(if cfg!(miri) { 5 } else { 1 }) {
        for (j, b) in samples.iter().enumerate() {
            assert_eq!(equal(a, b), i == j, "{a} {b}");
            assert_eq!(hashes[i] == hashes[j], i == j, "{a} {b}");
        }
    }
    let f = Any::from(Function::new(|_| Ok(Any::NONE)));
    assert!(equal(&f, &f.clone()) && !equal(&f, &Function::new(|_| Ok(Any::NONE)).into()));
}

#[test]
fn the_graph_is_tvm_ffis() {
    let pair = tuple([2i64.into(), "x".into()]);
    let value = tuple([1i64.into(), pair.clone(), pair]);
    let version = env!("CARGO_PKG_VERSION");
    let nodes = r#"{"type":"int","data":1},{"type":"int","data":2},{"type":"ffi.String","data":"x"},{"type":"ffi.Array","data":[1,2]},{"type":"ffi.Array","data":[0,3,3]}"#;
    let expected = format!(r#"{{"root_index":4,"nodes":[{nodes}],"metadata":{{"hammock_version":"{version}"}}}}"#);
    assert_eq!(save(&value).unwrap(), expected);
}

#[test]
fn values_print_on_a_line() {
    let value = adt(1, [Tensor::scalar(2.5f32).unwrap().into(), "hi".into(), adt(0, [])]);
    assert_eq!(text(&value), "Adt(tag=1, fields=(2.5, \"hi\", Adt(tag=0, fields=())))");
    assert_eq!(text(&tuple([Tensor::from_slice(&[2], &[1i8, 2]).unwrap().into()])), "(Tensor((2,), int8, cpu:0))");
}

#[test]
fn depth_and_sharing_cost_nothing() {
    let long = || (0..if cfg!(miri) { 70 } else { 20_000i64 }).fold(adt(0, []), |rest, i| adt(1, [i.into(), rest]));
    let (a, b) = (long(), long());
    assert!(equal(&a, &b) && hash(&a) == hash(&b));
    assert!(equal(&load(&save(&a).unwrap()).unwrap(), &b));
    assert!(text(&a).ends_with(&")".repeat(60)));
    let depth = if cfg!(miri) { 30 } else { 200 };
    let wide = || (0..depth).fold(Any::from(1i64), |part, _| tuple([part.clone(), part]));
    assert!(equal(&wide(), &wide()) && hash(&wide()) == hash(&wide()));
    assert_eq!(save(&wide()).unwrap().matches("\"type\"").count(), depth + 2);
}

#[test]
fn process_local_values_are_not_saved() {
    let function = Any::from(Function::new(|_| Ok(Any::NONE)));
    let closure = Any::from(Closure::new(1, 2, vec![true.into()]));
    for (value, name) in [(tuple([function]), "Function"), (closure, "hammock.Closure")] {
        let message = save(&value).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains("cannot be saved"), "{message}");
    }
    assert!(load(r#"{"root_index":0,"nodes":[{"type":"hammock.Closure","data":{}}]}"#).is_err());
}

#[derive(Debug, PartialEq)]
struct Point {
    x: f64,
    label: String,
}

impl Reflect for Point {
    const KEY: &'static str = "test.Point";

    fn fields(&self) -> Vec<(&'static str, Any)> {
        vec![("x", self.x.into()), ("label", self.label.as_str().into())]
    }

    fn from_fields(fields: &Fields<'_>) -> Result<Point, Error> {
        Ok(Point { x: fields.get("x")?, label: fields.get::<&str>("label")?.to_owned() })
    }
}

struct Taken;

impl Reflect for Taken {
    const KEY: &'static str = "test.Point";

    fn fields(&self) -> Vec<(&'static str, Any)> {
        Vec::new()
    }

    fn from_fields(_: &Fields<'_>) -> Result<Taken, Error> {
        Ok(Taken)
    }
}

#[test]
fn users_types_declare_their_fields() {
    let point = |x: f64| Any::from(Opaque::new(Point { x, label: "here".to_owned() }));
    assert!(save(&Opaque::new(1u8).into()).is_err());
    register::<Point>().unwrap();
    register::<Point>().unwrap();
    assert!(register::<Taken>().is_err());
    assert!(equal(&point(1.0), &point(1.0)) && !equal(&point(1.0), &point(2.0)));
    assert_eq!(text(&point(1.0)), "Point(x=1.0, label=\"here\")");
    let back = load(&save(&tuple([point(0.5)])).unwrap()).unwrap();
    let back = back.get::<&Tuple>().unwrap()[0].get::<Opaque>().unwrap();
    assert_eq!(back.downcast::<Point>().unwrap(), &Point { x: 0.5, label: "here".to_owned() });
    let broken = save(&point(0.5)).unwrap().replace("label", "lapel");
    assert!(load(&broken).unwrap_err().to_string().contains("needs a field `label` of kind str"));
}

#[test]
fn damaged_graphs_are_refused() {
    let samples = samples().into_iter().step_by(if cfg!(miri) { 5 } else { 1 });
    let json = save(&Tuple::new(samples.collect::<Vec<_>>().into_iter()).into()).unwrap();
    for end in (0..json.len()).step_by(if cfg!(miri) { 499 } else { 11 }).filter(|end| json.is_char_boundary(*end)) {
        assert!(load(&json[..end]).is_err());
    }
    // With one character changed, it is either rejected or read.
    for (i, c) in json.char_indices().step_by(if cfg!(miri) { 997 } else { 31 }) {
        for other in ["\"", "[", "}", "9", "-", "\\", ""] {
            let _ = load(&format!("{}{other}{}", &json[..i], &json[i + c.len_utf8()..]));
        }
    }
    for (from, to) in [("\"data\":-7", "\"data\":[]"), ("[13", "[99"), ("ffi.Shape", "ffi.Shade"), ("float32x4", "f")] {
        let damaged = json.replace(from, to);
        if damaged != json {
            assert!(load(&damaged).is_err(), "{from}");
        }
    }
    for graph in [
        r#"{"nodes":[]}"#,
        r#"{"root_index":0,"nodes":[]}"#,
        r#"{"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]}"#,
    ] {
        assert!(load(graph).is_err(), "{graph}");
    }
}
