use super::*;
use crate::executable::Code;
use crate::executable::build::{branch, goto, reg, ret};
use crate::value::Tensor;

/// A function `f` with one parameter and four registers, and a packed function `g`.
fn program(instructions: &[Instruction]) -> Executable {
    let mut executable = Executable::default();
    executable.define("f", 1, 4, instructions).param_names = vec!["x".into()];
    executable.declare("g");
    executable.constant(Constant::Tensor(Tensor::scalar(1i32).unwrap()));
    executable
}

fn call(dst: i64, function: i64, args: &[Arg]) -> Instruction {
    Instruction::Call { dst: Register(dst), function, args: args.to_vec() }
}

fn refusal(executable: &Executable) -> String {
    verify(executable).expect_err("must be refused").to_string()
}

#[test]
fn accepts_branches_loops_and_special_registers() {
    let void = Register::VOID.0;
    let args = [Arg::Register(Register::VM), reg(0), Arg::Immediate(-5), Arg::Constant(0), Arg::Function(0)];
    verify(&program(&[
        call(1, 1, &args),
        branch(1, 3),
        call(2, 1, &[reg(1)]),
        goto(2),
        call(2, 1, &[]),
        call(void, 1, &[Arg::Register(Register::VOID), reg(2)]),
        call(3, 0, &[reg(2)]),
        branch(3, 2),
        goto(-8),
        ret(3),
    ]))
    .unwrap();
}

#[test]
fn refuses_invalid_instructions() {
    for (rule, instructions) in [
        ("there is no register %4", vec![ret(4)]),
        ("a result cannot go to %-1", vec![call(-1, 1, &[]), ret(0)]),
        ("a result cannot go to %vm", vec![call(Register::VM.0, 1, &[]), ret(0)]),
        ("there is no constant 1", vec![call(1, 1, &[Arg::Constant(1)]), ret(0)]),
        ("there is no function 2", vec![call(1, 1, &[Arg::Function(2)]), ret(0)]),
        ("there is no function -1", vec![call(1, -1, &[]), ret(0)]),
        ("`f` takes 1 arguments, not 0", vec![call(1, 0, &[]), ret(0)]),
        ("a jump by 1 leaves the function", vec![goto(1)]),
        ("a jump by -1 leaves the function", vec![goto(-1)]),
        ("a jump by 9223372036854775807 leaves the function", vec![goto(0), goto(i64::MAX)]),
        ("an If cannot jump by 1", vec![branch(0, 1), ret(0)]),
        ("the function ends without returning", vec![call(1, 1, &[])]),
        ("an If cannot jump by -2", vec![ret(0), ret(0), branch(0, -2), ret(0)]),
        ("register %1 is read before it is assigned", vec![ret(1)]),
        ("register %1 is read before it is assigned", vec![branch(0, 3), call(1, 1, &[]), goto(1), ret(1)]),
        (
            "register %2 is read before it is assigned",
            vec![call(1, 1, &[]), branch(1, 2), call(3, 1, &[reg(2)]), call(2, 1, &[]), goto(-3)],
        ),
    ] {
        let message = refusal(&program(&instructions));
        assert!(message.ends_with(rule), "{message}");
    }
}

#[test]
fn refuses_invalid_functions() {
    type Breakage = fn(&mut Executable);
    let cases: [(&str, Breakage); 9] = [
        ("another function has the same name", |e| e.functions[1].name = "f".into()),
        ("it has no instructions 0..2", |e| e.functions[0].end = 2),
        ("it has no instructions 1..1", |e| e.functions[0].start = 1),
        ("4 registers cannot hold 5 parameters", |e| e.functions[0].num_args = 5),
        ("4 registers cannot hold -1 parameters", |e| e.functions[0].num_args = -1),
        ("it has 2000000 registers", |e| e.functions[0].register_count = 2_000_000),
        ("it names 2 of 1 parameters", |e| e.functions[0].param_names.push("y".into())),
        ("a memory scope is for constant 7, which is not a tensor", |e| e.memory_scopes.push((7, "global".into()))),
        ("it shares instructions with another", |e| {
            let twin = FunctionInfo { name: "h".into(), ..e.functions[0].clone() };
            e.functions.push(twin);
        }),
    ];
    for (rule, breakage) in cases {
        let mut executable = program(&[ret(0)]);
        breakage(&mut executable);
        let message = refusal(&executable);
        assert!(message.ends_with(rule), "{message}");
    }
}

#[test]
fn compiled_functions_need_room_for_their_result() {
    let mut executable = program(&[ret(0)]);
    executable.functions[0].kind = FunctionKind::Compiled;
    executable.functions[0].end = executable.functions[0].start;
    executable.functions[0].register_count = 1;
    assert!(refusal(&executable).contains("1 registers cannot hold 1 parameters"));
}

#[test]
fn instructions_are_contiguous() {
    for (offsets, words) in
        [(vec![], vec![2, 0]), (vec![1], vec![0, 2, 0]), (vec![0, 2, 1], vec![2, 0]), (vec![0, 3], vec![2])]
    {
        let executable = Executable { code: Code::from_parts(offsets, words), ..Executable::default() };
        assert!(refusal(&executable).ends_with("its instructions are not contiguous"));
    }
}
