//! Random arithmetic on data at the limits of int32 and int64: additions, subtractions and multiplications wrap,
//! whatever compares, divides or selects afterwards. Compiled kernels and the reference interpreter are compared with
//! an evaluation in plain Rust, which shares no code with either.

use super::{
    support::{Kernel, function, rng::Rng},
    tensor,
};
use hammock_interp as interp;
use hammock_runtime::{Any, Tensor};

const SIZE: usize = 24;
const KERNELS: u64 = 40;
const OUTPUTS: usize = 6;

/// Values that a kernel uses: elements of its inputs at `i`, a scalar argument, and previously bound values.
struct Point<'a> {
    i: usize,
    narrow: &'a [Vec<i32>; 2],
    wide: &'a [Vec<i64>; 2],
    bytes: &'a [i8],
    scalar: i32,
}

type Value = Box<dyn Fn(&Point) -> i64>;

/// An operation: its spelling and its function.
type Operation<T, R> = (&'static str, fn(T, T) -> R);

const MODULAR: [Operation<i128, i128>; 3] = [("+", |x, y| x + y), ("-", |x, y| x - y), ("*", |x, y| x * y)];
const EXTREMES: [Operation<i64, i64>; 2] = [("min", i64::min), ("max", i64::max)];
/// Floor division and remainder, for positive divisors.
const QUOTIENTS: [Operation<i64, i64>; 2] = [("//", i64::div_euclid), ("%", i64::rem_euclid)];
const COMPARISONS: [Operation<i64, bool>; 6] = [
    ("<", |x, y| x < y),
    ("<=", |x, y| x <= y),
    (">", |x, y| x > y),
    (">=", |x, y| x >= y),
    ("==", |x, y| x == y),
    ("!=", |x, y| x != y),
];

/// An expression and its value.
struct Term {
    text: String,
    value: Value,
}

fn term(text: impl Into<String>, value: impl Fn(&Point) -> i64 + 'static) -> Term {
    Term { text: text.into(), value: Box::new(value) }
}

fn wrap(value: i128, bits: u32) -> i64 {
    if bits == 32 { i64::from(value as i32) } else { value as i64 }
}

fn leaf(rng: &mut Rng, bits: u32) -> Term {
    let number = rng.below(2) as usize;
    let name = ["A", "B"][number];
    match (rng.below(6), bits) {
        (0, 32) => term("s", |p| i64::from(p.scalar)),
        (1, 32) => term("T.Cast(\"int32\", D[i])", |p| i64::from(p.bytes[p.i])),
        (2, 32) => term(format!("({name}[i] + i)"), move |p| wrap(i128::from(p.narrow[number][p.i]) + p.i as i128, 32)),
        (3, _) => {
            let near = [1, 2, 3, i64::from(i32::MAX), i64::from(i32::MIN), -1, 1 << 16];
            let value = *rng.pick(&near);
            term(format!("T.int{bits}({value})"), move |_| value)
        }
        (_, 32) => term(format!("{name}[i]"), move |p| i64::from(p.narrow[number][p.i])),
        (0, _) => term(format!("T.Cast(\"int64\", {name}[i])"), move |p| i64::from(p.narrow[number][p.i])),
        _ => {
            let name = ["X", "Y"][number];
            term(format!("{name}[i]"), move |p| p.wide[number][p.i])
        }
    }
}

fn number(rng: &mut Rng, depth: u64, bits: u32) -> Term {
    if depth == 0 || rng.chance(15) {
        return leaf(rng, bits);
    }
    let depth = depth - 1;
    match rng.below(12) {
        0..5 => {
            // Operands often share a subexpression, which simplification looks for.
            let (a, b) = (number(rng, depth, bits), leaf(rng, bits));
            let (symbol, op) = *rng.pick(&MODULAR);
            let (x, y) = (a.value, b.value);
            term(format!("({} {symbol} {})", a.text, b.text), move |p| wrap(op(x(p).into(), y(p).into()), bits))
        }
        5 | 6 => {
            let (a, b) = (number(rng, depth, bits), number(rng, depth, bits));
            let (name, op) = *rng.pick(&EXTREMES);
            let (x, y) = (a.value, b.value);
            term(format!("T.{name}({}, {})", a.text, b.text), move |p| op(x(p), y(p)))
        }
        7 | 8 => {
            let a = number(rng, depth, bits);
            let divisor = *rng.pick(&[1i64, 2, 3, 4, 7, 64]);
            let (symbol, op) = *rng.pick(&QUOTIENTS);
            let x = a.value;
            term(format!("({} {symbol} T.int{bits}({divisor}))", a.text), move |p| op(x(p), divisor))
        }
        9 => {
            let (c, a, b) = (condition(rng, depth), number(rng, depth, bits), number(rng, depth, bits));
            let name = rng.pick(&["Select", "if_then_else"]);
            let (c_value, x, y) = (c.value, a.value, b.value);
            let text = format!("T.{name}({}, {}, {})", c.text, a.text, b.text);
            term(text, move |p| if c_value(p) != 0 { x(p) } else { y(p) })
        }
        10 => {
            let a = number(rng, depth, 96 - bits);
            let x = a.value;
            term(format!("T.Cast(\"int{bits}\", {})", a.text), move |p| wrap(x(p).into(), bits))
        }
        _ if bits == 32 => {
            // A data-dependent index, which is in bounds after wrapping.
            let a = number(rng, depth, 32);
            let x = a.value;
            let text = format!("A[T.max(T.min({}, {}), 0)]", a.text, SIZE - 1);
            term(text, move |p| i64::from(p.narrow[0][x(p).clamp(0, SIZE as i64 - 1) as usize]))
        }
        _ => leaf(rng, bits),
    }
}

fn condition(rng: &mut Rng, depth: u64) -> Term {
    if depth > 0 && rng.chance(20) {
        let (a, b) = (condition(rng, depth - 1), condition(rng, depth - 1));
        let (symbol, is_and) = *rng.pick(&[("and", true), ("or", false)]);
        let (x, y) = (a.value, b.value);
        return term(format!("({} {symbol} {})", a.text, b.text), move |p| {
            i64::from(if is_and { x(p) != 0 && y(p) != 0 } else { x(p) != 0 || y(p) != 0 })
        });
    }
    let bits = *rng.pick(&[32, 64]);
    let a = number(rng, depth, bits);
    let (symbol, op) = *rng.pick(&COMPARISONS);
    // `x + c < x` and similar, half of the time.
    let (text, value) = if rng.chance(50) {
        let c = leaf(rng, bits);
        let (sign, plus) = *rng.pick(&[("+", true), ("-", false)]);
        let base = std::rc::Rc::new(a.value);
        let (x, y, c_value) = (base.clone(), base, c.value);
        let shifted = move |p: &Point| {
            let (x, c) = (i128::from(x(p)), i128::from(c_value(p)));
            wrap(if plus { x + c } else { x - c }, bits)
        };
        let value: Value = Box::new(move |p| i64::from(op(shifted(p), y(p))));
        (format!("(({} {sign} {}) {symbol} {})", a.text, c.text, a.text), value)
    } else {
        let b = number(rng, depth, bits);
        let (x, y) = (a.value, b.value);
        let value: Value = Box::new(move |p| i64::from(op(x(p), y(p))));
        (format!("({} {symbol} {})", a.text, b.text), value)
    };
    if rng.chance(15) {
        return term(format!("(not {text})"), move |p| i64::from(value(p) == 0));
    }
    Term { text, value }
}

/// An output: a number as int64, or 1 if a condition is true and 2 otherwise.
fn output(rng: &mut Rng, number_of: usize) -> (String, Value) {
    let store = |value: &str| format!("O{number_of}[i] = {value}\n");
    match rng.below(4) {
        0 => {
            let t = number(rng, 4, 64);
            (format!("        {}", store(&t.text)), t.value)
        }
        1 => {
            // A bound value, compared with a sum of itself.
            let t = number(rng, 3, 32);
            let x = t.value;
            let text = format!(
                "        v{number_of}: T.let[T.int32] = {}\n        {}",
                t.text,
                store(&format!("T.Select(v{number_of} + 1 > v{number_of}, T.int64(1), T.int64(2))")),
            );
            (text, Box::new(move |p| if x(p) == i64::from(i32::MAX) { 2 } else { 1 }))
        }
        2 => {
            let c = condition(rng, 3);
            let text = format!(
                "        if {}:\n            {}        else:\n            {}",
                c.text,
                store("T.int64(1)"),
                store("T.int64(2)")
            );
            let holds = c.value;
            (text, Box::new(move |p| if holds(p) != 0 { 1 } else { 2 }))
        }
        _ => {
            let c = condition(rng, 3);
            let text = format!("        {}", store(&format!("T.Select({}, T.int64(1), T.int64(2))", c.text)));
            let holds = c.value;
            (text, Box::new(move |p| if holds(p) != 0 { 1 } else { 2 }))
        }
    }
}

fn narrow_data(rng: &mut Rng) -> Vec<i32> {
    let near = [i32::MAX, i32::MAX - 1, i32::MIN, i32::MIN + 1, 0, 1, -1, 1 << 16, 1 << 30, i32::MAX - 20];
    (0..SIZE).map(|_| if rng.chance(80) { *rng.pick(&near) } else { rng.next() as i32 }).collect()
}

fn wide_data(rng: &mut Rng) -> Vec<i64> {
    let near =
        [i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, 0, 1, -1, 1 << 32, 1 << 62, i32::MAX.into(), i32::MIN.into()];
    (0..SIZE).map(|_| if rng.chance(80) { *rng.pick(&near) } else { rng.next() as i64 }).collect()
}

#[test]
fn data_wrap_in_any_expression() {
    // Debug builds have large frames, so use a stack as large as the command line's.
    let run = std::thread::Builder::new().stack_size(64 << 20).spawn(compare);
    if let Err(panic) = run.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

fn compare() {
    for seed in 0..KERNELS {
        let mut rng = Rng::new(seed);
        let outputs: Vec<(String, Value)> = (0..OUTPUTS).map(|n| output(&mut rng, n)).collect();
        let params: String = (0..OUTPUTS).map(|n| format!(", O{n}: T.Buffer(({SIZE},), \"int64\")")).collect();
        let inputs = [("A", "int32"), ("B", "int32"), ("X", "int64"), ("Y", "int64"), ("D", "int8")];
        let given: String = inputs.iter().map(|(n, t)| format!("{n}: T.Buffer(({SIZE},), \"{t}\"), ")).collect();
        let body: String = outputs.iter().map(|(text, _)| text.as_str()).collect();
        let text = format!("@T.prim_func\ndef f({given}s: T.int32{params}):\n    for i in range({SIZE}):\n{body}");
        let narrow = [narrow_data(&mut rng), narrow_data(&mut rng)];
        let wide = [wide_data(&mut rng), wide_data(&mut rng)];
        let bytes: Vec<i8> = (0..SIZE).map(|_| *rng.pick(&[i8::MIN, i8::MAX, 0, 1, -1])).collect();
        let scalar = *rng.pick(&[i32::MAX, i32::MIN, 0, 1, -1]);
        let tensors = [tensor(&narrow[0]), tensor(&narrow[1]), tensor(&wide[0]), tensor(&wide[1]), tensor(&bytes)];
        let func = function(&text);

        let mut args: Vec<Any> = tensors.iter().map(|t| t.clone().into()).collect();
        args.push(i64::from(scalar).into());
        let compiled = Kernel::new(&func).run(&args);
        let mut args: Vec<interp::Arg> = tensors.iter().map(|t| t.clone().into()).collect();
        args.push(i64::from(scalar).into());
        let interpreted = interp::call_tir(&func, &args, &vec![(vec![SIZE as i64], hammock_ir::DType::INT64); OUTPUTS]);

        let numbers = |t: &Tensor| t.as_slice::<i64>().unwrap().to_vec();
        let interpreted = interpreted.unwrap();
        for (n, (_, value)) in outputs.iter().enumerate() {
            let at = |i| Point { i, narrow: &narrow, wide: &wide, bytes: &bytes, scalar };
            let expected: Vec<i64> = (0..SIZE).map(|i| value(&at(i))).collect();
            assert_eq!(numbers(&interpreted[n]), expected, "interpreted, output {n} of kernel {seed}:\n{text}");
            assert_eq!(numbers(&compiled[n]), expected, "compiled, output {n} of kernel {seed}:\n{text}");
        }
    }
}
