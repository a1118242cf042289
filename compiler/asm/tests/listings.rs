//! Listings assemble back to the same bytes, and damaged ones to diagnostics.

mod survive;

use hammock_asm::assemble;
use hammock_diagnostics::{SourceFile, render_text};
use hammock_runtime::{
    DType, Image, Shape, Str, Tensor,
    executable::{Arg, Code, Constant, Executable, FunctionInfo, FunctionKind, Instruction, Register, verify},
    library::image_of,
};
use hammock_tools::listing::list;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn source(text: &str) -> SourceFile {
    SourceFile::new("listing.txt", text).unwrap()
}

fn image(executable: Executable) -> Image {
    Image { executable, ..Image::default() }
}

/// Prints and assembles; the bytes must be the same.
fn round_trip(image: &Image, max_elements: usize) {
    let listing = list(image, max_elements);
    let find = |name: &str| listing.tensors.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone());
    let source = source(&listing.text);
    match assemble(&source, &find) {
        Ok(again) => assert!(again.save() == image.executable.save(), "{}", listing.text),
        Err(errors) => panic!("{}\n{}", render_text(&errors[0], Some(&source), false), listing.text),
    }
}

fn of_tvm(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/tests/tvm").join(name)
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/asm"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn tvm_executables_round_trip() {
    for name in ["control_flow.so", "constants.bin"] {
        let image = image_of(&of_tvm(name)).unwrap();
        round_trip(&image, usize::MAX);
        round_trip(&image, 0);
        snapshot(name.split('.').next().unwrap(), &list(&image, usize::MAX).text);
    }
}

#[test]
fn mistakes_are_reported_with_spans() {
    let text = include_str!("mistakes.txt");
    let listings = text.split("---\n").map(source);
    let messages = listings.map(|source| {
        let errors = assemble(&source, &|_| None).expect_err("must be refused");
        errors.iter().map(|e| render_text(e, Some(&source), false)).collect::<String>()
    });
    snapshot("mistakes", &messages.collect::<Vec<_>>().join("\n"));
}

#[test]
fn words_outside_of_functions_round_trip() {
    let mut executable = Executable::default();
    executable.code.push_words(&[7, -1]);
    executable.code.push(&Instruction::Ret { value: Register::VOID });
    executable.code.push_words(&[]);
    let main =
        FunctionInfo { kind: FunctionKind::Bytecode, start: 1, end: 2, num_args: 0, ..FunctionInfo::packed("a b") };
    let odd = FunctionInfo { start: 5, end: 1, num_args: 3, register_count: 2, ..FunctionInfo::packed("1") };
    executable.functions = vec![main, FunctionInfo { param_names: vec!["x y".into()], ..odd }];
    verify::verify(&executable).unwrap();
    round_trip(&image(executable), usize::MAX);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z_][a-z0-9_.]{0,6}", 1 => any::<String>()]
}

fn constant() -> impl Strategy<Value = Constant> {
    let floats = prop::collection::vec(any::<f32>(), 0..12);
    let bytes = prop::collection::vec(any::<u8>(), 0..80);
    let dtype = (any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(code, bits, lanes)| DType::new(code, bits, lanes));
    prop_oneof![
        floats.prop_map(|v| Constant::Tensor(Tensor::from_slice(&[v.len() as i64], &v).unwrap())),
        bytes.prop_map(|v| Constant::Tensor(Tensor::from_bytes(DType::BOOL, &[v.len() as i64], &v).unwrap())),
        any::<i64>().prop_map(|v| Constant::Tensor(Tensor::scalar(v).unwrap())),
        any::<[i8; 3]>().prop_map(|v| Constant::Tensor(Tensor::from_slice(&[3, 1], &v).unwrap())),
        prop::collection::vec(any::<i64>(), 0..4).prop_map(|v| Constant::Shape(Shape::new(&v))),
        any::<String>().prop_map(|v| Constant::Str(Str::new(&v))),
        any::<i64>().prop_map(Constant::Int),
        any::<u64>().prop_map(|v| Constant::Float(f64::from_bits(v))),
        dtype.prop_map(Constant::DType),
    ]
}

/// A draft instruction: its kind, its destination or jump, and the kinds and values of its arguments.
type Draft = (u8, u8, Vec<(u8, i64)>);

/// Turns drafts into valid instructions of a function: only parameters are read, and jumps go forwards.
fn body(drafts: &[Draft], params: usize, counts: (usize, usize)) -> Vec<Instruction> {
    let (functions, constants) = counts;
    let param = |n: i64| if params == 0 { Register::VOID } else { Register(n.rem_euclid(params as i64)) };
    let mut code: Vec<Instruction> = Vec::new();
    for (at, (kind, number, args)) in drafts.iter().enumerate() {
        // The function also has a `ret`.
        let forwards = |minimum: usize| {
            let left = drafts.len() - at;
            (left >= minimum).then(|| (minimum + *number as usize % (left - minimum + 1)) as i64)
        };
        code.push(match (kind % 4, forwards(1), forwards(2)) {
            (1, Some(offset), _) => Instruction::Goto { offset },
            (2, _, Some(false_offset)) => Instruction::If { condition: param(0), false_offset },
            _ => {
                let dst = if number % 3 == 0 { Register::VOID } else { Register(i64::from(number % 7)) };
                let arg = |&(kind, n): &(u8, i64)| match kind % 5 {
                    0 => Arg::Register(param(n)),
                    1 if constants > 0 => Arg::Constant(n.rem_euclid(constants as i64)),
                    2 => Arg::Function(n.rem_euclid(functions as i64)),
                    3 => Arg::Register(Register::VM),
                    _ => Arg::Immediate(n >> 9),
                };
                Instruction::Call { dst, function: 0, args: args.iter().map(arg).collect() }
            }
        });
    }
    code.push(Instruction::Ret { value: param(0) });
    code
}

prop_compose! {
    fn executables()(
        names in prop::collection::hash_set(text(), 1..6),
        constants in prop::collection::vec(constant(), 0..8),
        drafts in prop::collection::vec(prop::collection::vec(
            (any::<u8>(), any::<u8>(), prop::collection::vec((any::<u8>(), any::<i64>()), 0..4)), 0..9), 5),
        params in prop::collection::vec(prop::collection::vec(text(), 0..3), 5),
        unused in prop::collection::vec(any::<i64>(), 0..3),
        scope in text(),
        order: bool,
    ) -> Executable {
        let mut code = Code::default();
        let counts = (names.len(), constants.len());
        // The first function is packed, so that all calls may go to it.
        let mut functions: Vec<FunctionInfo> = names.into_iter().map(FunctionInfo::packed).collect();
        let mut indices: Vec<usize> = (1..functions.len()).collect();
        if order {
            indices.reverse();
        }
        for index in indices {
            let start = code.len();
            for instruction in body(&drafts[index], params[index].len(), counts) {
                code.push(&instruction);
            }
            let info = &mut functions[index];
            (info.kind, info.start, info.end) = (FunctionKind::Bytecode, start, code.len());
            (info.num_args, info.register_count) = (params[index].len() as i64, 7);
            info.param_names = params[index].clone();
            if !unused.is_empty() {
                code.push_words(&unused);
            }
        }
        let tensor = constants.iter().position(|c| matches!(c, Constant::Tensor(_)));
        let memory_scopes = tensor.map(|at| (at as i64, scope)).into_iter().collect();
        Executable { functions, memory_scopes, constants, code }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn listings_assemble_to_the_same_bytes(executable in executables(), most in 0usize..100) {
        verify::verify(&executable).unwrap();
        round_trip(&image(executable), most);
    }

    #[test]
    fn damaged_listings_never_panic(
        executable in executables(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, "[ -~\n]{0,4}"), 1..6),
    ) {
        let mut text: Vec<char> = list(&image(executable), usize::MAX).text.chars().collect();
        for (at, len, put) in cuts {
            let at = at.index(text.len() + 1);
            text.splice(at..(at + len).min(text.len()), put.chars());
        }
        survive::survive(&text.into_iter().collect::<String>());
    }
}
