use super::*;
use crate::cpu_features::Features;
use crate::executable::{Arg, Constant, FunctionInfo, FunctionKind, Instruction, Register};
use crate::value::{Any, DType, Device, Shape, Str, Tensor};
use signature::{Dims, Param, Role, Size, ValueType};

fn sample() -> Image {
    let mut executable = Executable::default();
    let main = FunctionInfo {
        kind: FunctionKind::Bytecode,
        name: "main".into(),
        start: 0,
        end: 2,
        num_args: 1,
        register_count: 2,
        param_names: vec!["x".into()],
    };
    executable.functions = vec![main, FunctionInfo::packed("add")];
    executable.constants = vec![
        Constant::Tensor(Tensor::from_slice(&[3], &[1.0f32, 2.0, 3.0]).unwrap()),
        Constant::Shape(Shape::new(&[2, 3])),
        Constant::Str(Str::new("text")),
        Constant::Int(1 << 60),
        Constant::Float(0.5),
        Constant::DType(DType::FLOAT32),
        Constant::Tensor(Tensor::scalar(7i64).unwrap()),
    ];
    let args = [Arg::Register(Register(0)), Arg::Constant(0), Arg::Constant(6)].to_vec();
    executable.code.push(&Instruction::Call { dst: Register(1), function: 1, args });
    executable.code.push(&Instruction::Ret { value: Register(1) });
    let mut sources = SourceMap::default();
    let file = sources.file("model.py");
    sources.add_line(file, 9, "        lv = R.add(x, w)");
    sources.set(0, Span { file, line: 9, column: 14 });
    let version = Version { target: "x86-64-v3".into(), features: Features::listed("+avx2,+fma") };
    Image {
        executable,
        sources,
        kernels: vec![add_signature()],
        versions: vec![version],
        device_code: Some(DeviceCode { architecture: "sm_80".into(), functions: Vec::new() }),
        placement: Placement { device_count: 1, constants: vec![(6, -1)], functions: Vec::new() },
        signatures: vec![signature()],
        external: None,
    }
}

fn signature() -> Signature {
    let symbol = |text: &str| Size::Symbol(text.into());
    let tensor = |dtype, shape| ValueType::Tensor { dtype, shape };
    let known = |sizes: &[Size]| Dims::Known(sizes.to_vec());
    let param = |name: &str, role, ty| Param { name: name.into(), role, ty };
    let params = vec![
        param("x", Role::Input, tensor(Some(DType::FLOAT32), known(&[symbol("n"), Size::Static(4)]))),
        param("t", Role::Input, ValueType::Tuple(vec![tensor(None, Dims::Rank(2)), ValueType::Shape(Dims::Unknown)])),
        param("k", Role::Input, ValueType::Scalar(DType::INT64)),
        param("w", Role::Weight, tensor(Some(DType::FLOAT16), known(&[]))),
        param("b", Role::Bound, ValueType::Other("R.Any".into())),
    ];
    let results = vec![param("0", Role::Output, ValueType::Shape(known(&[symbol("n * 2")])))];
    Signature { function: "main".into(), params, results }
}

/// The image with its constants in a file `w` of a folder, and the contents of that file.
fn beside(folder: &std::path::Path) -> (Vec<u8>, Vec<u8>) {
    let location = |constants: &ConstantData| External {
        file: "w".into(),
        start: 64,
        len: constants.len(),
        checksum: constants.checksum().finalize(),
    };
    let (bytes, constants) = sample().save_external(location);
    let mut file = vec![7; 64];
    constants.append_to(&mut file);
    std::fs::write(folder.join("w"), &file).unwrap();
    (bytes, file)
}

#[test]
fn constants_may_be_external() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, file) = beside(folder.path());
    let load = |bytes: &[u8], path| {
        Image::load_with_companions(Arc::new(bytes.to_vec()), 0..bytes.len(), Integrity::Check, path)
    };
    let executable = folder.path().join("model.so");
    std::fs::write(&executable, &bytes).unwrap();
    let image = load(&bytes, Some(&executable)).unwrap();
    assert_eq!(image.external.as_ref().unwrap().file, "w");
    assert_eq!(image.save(), sample().save(), "saved again, it has its constants in itself");
    assert!(matches!(load(&bytes, None), Err(ImageError::External(..))));
    let path = folder.path().join("w");
    for at in (64..file.len()).step_by(5) {
        let mut damaged = file.clone();
        damaged[at] ^= 4;
        std::fs::write(&path, damaged).unwrap();
        assert!(load(&bytes, Some(&executable)).is_err(), "byte {at}");
    }
    for other in [&file[..file.len() - 1], &[&file[..], &[0]].concat(), b""] {
        std::fs::write(&path, other).unwrap();
        assert!(load(&bytes, Some(&executable)).is_err());
    }
    std::fs::remove_file(&path).unwrap();
    let missing = load(&bytes, Some(&executable)).unwrap_err().to_string();
    assert!(missing.starts_with("cannot use w, which has the model's weights: there is no such file"), "{missing}");
    let (outside, _) = sample().save_external(|_| External { file: "../w".into(), start: 0, len: 0, checksum: 0 });
    assert!(load(&outside, Some(&executable)).unwrap_err().to_string().contains("folder"));
}

#[test]
fn types_are_shown_in_few_words() {
    let Signature { params, results, .. } = signature();
    let shown: Vec<String> = params.iter().chain(&results).map(|param| param.ty.to_string()).collect();
    let expected = ["float32[n, 4]", "(tensor[?, ?], shape[...])", "int64", "float16[]", "R.Any", "shape[n * 2]"];
    assert_eq!(shown, expected);
}

#[test]
fn types_that_nest_too_deeply_are_refused() {
    let nested = |depth| (0..depth).fold(ValueType::Scalar(DType::INT64), |ty, _| ValueType::Tuple(vec![ty]));
    let image = |depth| {
        let result = Param { name: "0".into(), role: Role::Output, ty: nested(depth) };
        let signature = Signature { function: "main".into(), params: Vec::new(), results: vec![result] };
        Image::from_bytes(Image { signatures: vec![signature], ..sample() }.save())
    };
    assert_eq!(image(100).unwrap().signatures[0].results[0].ty, nested(100));
    assert_eq!(image(101).unwrap_err(), ImageError::Section("functions' signatures"));
}

fn add_signature() -> KernelSignature {
    let tensor = |name: &str, shape: &[Dim]| KernelParam {
        name: name.into(),
        kind: ParamKind::Tensor { dtype: DType::FLOAT32, shape: shape.to_vec(), alignment: 64 },
        is_written: name == "b",
    };
    let kind = ParamKind::Scalar { dtype: DType::INT64, symbol: Some(0) };
    let n = KernelParam { name: "n".into(), kind, is_written: false };
    let params = vec![tensor("a", &[Dim::Symbol(0), Dim::Static(4)]), tensor("b", &[Dim::Symbol(0)]), n];
    KernelSignature { name: "add".into(), device: Device::CPU, symbol_count: 1, params }
}

#[test]
fn round_trips() {
    let bytes = sample().save();
    let image = Image::from_bytes(bytes.clone()).unwrap();
    assert_eq!(image.save(), bytes);
    assert_eq!((&image.kernels, &image.versions), (&sample().kernels, &sample().versions));
    assert_eq!(image.signatures, [signature()]);
    let at = image.sources.locate(0).unwrap();
    assert_eq!((at.file.as_str(), at.line, at.text.trim()), ("model.py", 9, "lv = R.add(x, w)"));
    assert_eq!(image.sources.locate(1), None);
}

#[test]
fn constants_are_used_in_place() {
    let image = Image::from_bytes(sample().save()).unwrap();
    let [Constant::Tensor(first), .., Constant::Tensor(last)] = &image.executable.constants[..] else { panic!() };
    assert_eq!(first.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    assert!(first.is_aligned() && last.is_aligned());
    assert_eq!(last.data_ptr().addr() - first.data_ptr().addr(), 64);
}

#[test]
fn tvm_form_round_trips_with_constants_inline() {
    let executable = sample().executable;
    let bytes = executable.save();
    assert_eq!(Executable::load(&bytes).unwrap().save(), bytes);
    assert_eq!(bytes[..8], 0xD225_DE2F_4214_151E_u64.to_le_bytes());
}

/// Passes every damaged form of `bytes` to `load`, which must return, and must reject it if `strict`.
fn damage(bytes: &[u8], strict: bool, load: impl Fn(Vec<u8>) -> bool) {
    let step = if cfg!(miri) { 101 } else { 1 };
    for len in (0..bytes.len()).step_by(step) {
        assert!(!load(bytes[..len].to_vec()), "truncated to {len}");
    }
    for position in (0..bytes.len()).step_by(step) {
        for bit in 0..8 {
            let mut damaged = bytes.to_vec();
            damaged[position] ^= 1 << bit;
            assert!(!load(damaged) || !strict, "bit {bit} of byte {position}");
        }
    }
    let mut longer = bytes.to_vec();
    longer.push(0);
    assert!(!load(longer));
}

#[test]
fn damaged_images_are_refused() {
    let bytes = sample().save();
    let in_padding = |damaged: &[u8]| Image::from_bytes(damaged.to_vec()).is_ok_and(|image| image.save() == bytes);
    damage(&bytes, true, |damaged| !in_padding(&damaged) && Image::from_bytes(damaged).is_ok());
}

#[test]
fn damage_without_checksums_is_refused_or_harmless() {
    damage(&sample().executable.save(), false, |damaged| {
        Executable::load(&damaged).is_ok_and(|e| !(e.as_text() + &e.as_python() + &e.stats()).is_empty())
    });
    damage(&sample().save(), false, |damaged| {
        let len = damaged.len();
        Image::load(Arc::new(damaged), 0..len, Integrity::Trust).is_ok_and(|image| !image.save().is_empty())
    });
}

#[test]
fn kernel_arguments_are_checked_by_table() {
    let signature = add_signature();
    let tensor = |shape: &[i64]| Any::from(Tensor::empty(DType::FLOAT32, shape, Device::CPU).unwrap());
    let check = |args: [Any; 3]| signature.check(&args).map_err(|error| error.to_string());
    assert_eq!(check([tensor(&[3, 4]), tensor(&[3]), Any::from(3i64)]), Ok(()));
    let cases = [
        ([tensor(&[3, 5]), tensor(&[3]), Any::from(3i64)], "expects shape[1] to be 4 for parameter `a`, got 5"),
        ([tensor(&[3, 4]), tensor(&[2]), Any::from(3i64)], "expects shape[0] to be 3 for parameter `b`, got 2"),
        ([tensor(&[3, 4]), tensor(&[3]), Any::from(4i64)], "expects 3 for parameter `n`, got 4"),
        ([tensor(&[3, 4]), tensor(&[3]), Any::from(0.5)], "expects int64 for parameter `n`, got 0.5"),
        ([tensor(&[3]), tensor(&[3]), Any::from(3i64)], "expects 2 dimensions for parameter `a`, got 1"),
        ([Any::NONE, tensor(&[3]), Any::from(3i64)], "expects a Tensor for parameter `a`, got None"),
    ];
    for (args, message) in cases {
        assert_eq!(check(args), Err(format!("ValueError: kernel `add` {message}")));
    }
    let wrong_type = Any::from(Tensor::empty(DType::INT32, &[3], Device::CPU).unwrap());
    let message = check([tensor(&[3, 4]), wrong_type, Any::from(3i64)]).unwrap_err();
    assert!(message.ends_with("expects elements of float32 for parameter `b`, got int32"), "{message}");
    assert!(signature.check(&[]).unwrap_err().message().ends_with("takes 3 arguments, not 0"));
}
