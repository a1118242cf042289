//! What the reader of PTX accepts, and what it says about the rest.
use crate::support::{kernel, module};
use hammock_cuda_emulator::ptx::Module;

fn message(text: &str) -> String {
    Module::parse(text).expect_err(text).to_string()
}

#[test]
fn kernels_have_their_parameters_and_bounds() {
    let text = module(
        ".visible .entry k(.param .u32 a, .param .u64 .ptr .global .align 16 b, .param .align 4 .b8 c[12])\n\
         .maxntid 128, 2, 1\n.minnctapersm 3\n{ .reg .b32 %r<4>; .shared .align 16 .b8 s[100]; .local .align 8 .b8 l[24];\n\
         .reg .b64 %rd; mov.u64 %rd, s; ret; }",
    );
    let module = Module::parse(&text).unwrap();
    let kernel = &module.kernels["k"];
    let offsets: Vec<_> = kernel.params.iter().map(|param| (param.offset, param.bytes, param.align)).collect();
    assert_eq!(offsets, [(0, 4, 4), (8, 8, 8), (16, 12, 4)]);
    assert_eq!((kernel.param_bytes, kernel.shared_bytes, kernel.local_bytes), (28, 100, 24));
    assert_eq!((kernel.max_block, kernel.min_blocks), (Some([128, 2, 1]), Some(3)));
    assert_eq!((module.version, module.target, module.arch_specific), ((8, 0), 90, false));
}

#[test]
fn variables_have_their_initializers() {
    let text = module(
        ".visible .global .align 4 .u32 a[4] = {1, 2, -1};\n.const .f32 b = 0f3F800000;\n\
         .visible .global .align 8 .u64 p[2] = {a, generic(a)+4};\n.global .b8 q[8] = {0xFF(a), 0xFF00(a), 0xFF0000(a), \
         0xFF000000(a), 0xFF00000000(a), 0xFF0000000000(a), 0xFF000000000000(a), 0xFF00000000000000(a)};",
    );
    let variables = Module::parse(&text).unwrap().variables;
    assert_eq!(variables[0].init, [1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255]);
    assert_eq!((variables[0].bytes, variables[0].is_visible, variables[1].is_const), (16, true, true));
    assert_eq!(variables[2].relocations, [(0, 0, 0), (8, 0, 4)]);
    assert_eq!((variables[3].relocations.as_slice(), variables[3].init.len()), ([(0, 0, 0)].as_slice(), 8));
}

#[test]
fn what_is_unknown_is_an_error_by_name() {
    let rows = [
        ("frobnicate.b32 %r0, %r1;", "line 10 of PTX: unknown instruction `frobnicate.b32`"),
        ("add.rn.fast.f32 %r0, %r1, %r2;", "line 10 of PTX: unknown modifier `.fast` of `add.rn.fast.f32`"),
        ("bar.sync.frob 0;", "line 10 of PTX: unknown modifier `.frob` of `bar.sync.frob`"),
        ("cp.async.bulk.commit_group;", "line 10 of PTX: unknown instruction `cp.async.bulk.commit_group`"),
        ("ld.global.b32 %r0, [%rd1], %rd2;", "line 10 of PTX: `ld.global.b32` with 3 operands"),
        ("mov.u32 %r0, %tid.w;", "line 10 of PTX: unknown register `%tid.w`"),
        ("bra NOWHERE;", "line 10 of PTX: unknown label `NOWHERE`"),
        ("add.s32 %r0, %rd1, 1;", "line 10 of PTX: operand 2 of `add.s32` is not a register of 32 bits"),
        ("add.s32 %r0, x, 1;", "line 10 of PTX: unknown name `x`"),
        ("call (%r0), vprintf, (%r1);", "line 10 of PTX: call of `vprintf`, which the module does not define"),
        (".frob 3;", "line 10 of PTX: unknown instruction `.frob`"),
        ("mov.u32 %r0, 5", "line 11 of PTX: expected `,` or `;`, not `}`"),
        ("mov.u32 %r0, 0x1G;", "line 10 of PTX: `0x1G` is no number"),
    ];
    for (body, expected) in rows {
        assert_eq!(message(&kernel("", body)), expected, "{body}");
    }
}

#[test]
fn bad_modules_are_errors() {
    let rows = [
        ("", "line 1 of PTX: expected `.version`, not the end of the text"),
        (".version 8.0\n.target gfx90\n", "line 2 of PTX: unsupported: target `gfx90`"),
        (".version 99.0\n", "line 1 of PTX: unsupported: PTX ISA 99.0"),
        (".version 8.0\n.target sm_80\n.tex .u32 t;", "line 3 of PTX: expected a directive for a module, not `.tex`"),
        (
            ".version 8.0\n.target sm_80\n.extern .global .u32 t;",
            "line 3 of PTX: unsupported: `.extern` variable `t`, for there is no linker",
        ),
        (
            ".version 8.0\n.target sm_80\n.entry k() {",
            "line 3 of PTX: expected an instruction, directive or label, not the end of the text",
        ),
        (".version 8.0\n.target sm_80\n/* ", "line 3 of PTX: a comment without end"),
    ];
    for (text, expected) in rows {
        assert_eq!(message(text), expected, "{text}");
    }
}

#[test]
fn instructions_need_their_target() {
    let text = kernel("", "cp.async.commit_group;").replace("sm_90", "sm_75");
    assert_eq!(message(&text), "line 10 of PTX: `cp.async.commit_group` needs sm_80, and the module is for sm_75");
}

#[test]
fn recursion_is_unsupported() {
    let text = module(".func f() { call f; ret; } .entry k() { call f; ret; }");
    assert!(message(&text).contains("recursion of `f`"));
}

/// No prefix of a module, and no change of a character, makes the reader panic.
#[test]
fn broken_text_never_panics() {
    let text = include_str!("../ptx/llvm.ptx");
    for end in (0..text.len()).step_by(7) {
        let _ = Module::parse(&text[..end]);
    }
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..600 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = *random.choice(b"{}[]()%.,;:0x@!|_-\n").unwrap();
        }
        let _ = Module::parse(std::str::from_utf8(&bytes).unwrap());
    }
}
