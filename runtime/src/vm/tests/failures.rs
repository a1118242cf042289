//! Errors, and functions that are resolved by name.
use super::*;

#[test]
fn errors_name_functions_and_source_lines() {
    let mut a = Assembler::default();
    let body = [a.call(1, "mul", &[reg(0), reg(0)]), ret(1)];
    a.define("inner", 1, 2, &body);
    let body =
        [a.call(1, "vm.builtin.copy", &[reg(0)]), a.call(2, "inner", &[reg(1)]), a.call(1, "inner", &[reg(2)]), ret(1)];
    a.define("outer", 1, 3, &body);
    let file = a.sources.file("model.py");
    for (instruction, line, text) in [(0, 4, "    y = R.multiply(x, x)"), (3, 9, "    z = cls.inner(y)")] {
        a.sources.add_line(file, line, text);
        a.sources.set(instruction, Span { file, line, column: 5 });
    }
    let error = a.vm().call("outer", &[Any::from("x")]).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "TypeError: arithmetic: argument #0 must be int, got \"x\"\n  \
         in inner at model.py:4\n      y = R.multiply(x, x)\n  \
         in outer at model.py:9\n      z = cls.inner(y)"
    );
}

#[test]
fn wrong_calls_are_errors() {
    let vm = factorial().vm();
    assert_eq!(call(&vm, "factorial", &[]), Err("TypeError: function `factorial` takes 1 argument (p0), not 0".into()));
    assert_eq!(
        call(&vm, "absent", &[]),
        Err("ValueError: there is no function `absent`; the program has `factorial`".into())
    );
    let mut a = Assembler::default();
    let body = [a.call(0, "nobody.has.this", &[]), ret(0)];
    a.define("main", 0, 1, &body);
    let body = [branch(0, 2), ret(0), ret(0)];
    a.define("test", 1, 1, &body);
    let vm = a.vm();
    let unknown =
        "function `nobody.has.this` is neither a kernel of the program nor a builtin, and nobody registered it";
    assert_eq!(vm.call("main", &[]).unwrap_err().message(), unknown);
    assert_eq!(vm.call("test", &[Any::NONE]).unwrap_err().to_string(), "TypeError: None is not a condition");
}

#[test]
fn registered_functions_are_found() {
    crate::registry::register("test.vm.seven", Function::new(|_| Ok(7i64.into())));
    let mut a = Assembler::default();
    let body = [a.call(0, "test.vm.seven", &[]), ret(0)];
    a.define("main", 0, 1, &body);
    assert_eq!(call(&a.vm(), "main", &[]), Ok(7));
    crate::registry::unregister("test.vm.seven");
}
