//! Random text programs.

use std::fmt::Write;

/// Kinds of values: the type of each, as text.
const TYPES: [&str; 5] = [
    r#"R.Tensor((6, 4), dtype="float32")"#,
    r#"R.Tensor((n, 4), dtype="float32")"#,
    r#"R.Tensor((24,), dtype="float32")"#,
    r#"R.Tensor((n * 2, 4), dtype="float32")"#,
    r#"R.Tensor((24,), dtype="int32")"#,
];
const UNARY: [&str; 3] = ["negative", "abs", "sign"];
const BINARY: [&str; 4] = ["add", "subtract", "maximum", "minimum"];
/// Maximum number of bindings in a body.
const MOST: usize = 14;

const HEAD: &str = r#"from typing import TypeVar
from tvm.script import ir as I, relax as R, tir as T

n = TypeVar("n")
k = TypeVar("k")
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((6, 4), "float32")):
        for i, j in T.grid(6, 4):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + A[vi, vj]

    @R.function(private=True)
    def swap(a: R.Tensor((24,), dtype="float32"), b: R.Tensor((24,), dtype="float32")) -> R.Tuple(R.Tensor((24,), dtype="float32"), R.Tensor((24,), dtype="float32")):
        c = R.negative(b)
        d = R.abs(c)
        e = R.subtract(d, c)
        return (e, a)

    @R.function
    def main(p0: R.Tensor((6, 4), dtype="float32"), p1: R.Tensor((n, 4), dtype="float32"), p2: R.Tensor((24,), dtype="float32"), c: R.Tensor((), dtype="bool")):
        cls = Module
"#;

/// Generates a program from a seed.
pub fn random(seed: u64) -> String {
    let mut writer = Writer { random: fastrand::Rng::with_seed(seed), text: HEAD.to_owned(), next: 0 };
    let mut known: Vec<(String, usize)> = (0..3).map(|i| (format!("p{i}"), i)).collect();
    writer.body(&mut known, 8, 2);
    let results: Vec<String> = (0..1 + writer.below(3)).map(|_| writer.pick(&known, None).unwrap().0).collect();
    // Returned values are live at the same time, and compared together.
    let list = if results.len() == 1 { results[0].clone() } else { format!("({})", results.join(", ")) };
    writeln!(writer.text, "        return {list}").unwrap();
    writer.text
}

struct Writer {
    random: fastrand::Rng,
    text: String,
    next: usize,
}

impl Writer {
    /// Returns a random number below a limit.
    fn below(&mut self, limit: usize) -> usize {
        self.random.usize(..limit)
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    /// Returns a value, of a kind if given; prefers recent ones.
    fn pick(&mut self, known: &[(String, usize)], kind: Option<usize>) -> Option<(String, usize)> {
        let fitting: Vec<_> = known.iter().filter(|(_, of)| kind.is_none_or(|kind| kind == *of)).collect();
        let recent = fitting.len().min(1 + self.below(8));
        (!fitting.is_empty()).then(|| fitting[fitting.len() - 1 - self.below(recent)].clone())
    }

    fn line(&mut self, indent: usize, name: &str, kind: usize, value: &str) {
        writeln!(self.text, "{:indent$}{name}: {} = {value}", "", TYPES[kind]).unwrap();
    }

    fn body(&mut self, known: &mut Vec<(String, usize)>, indent: usize, depth: usize) {
        for _ in 0..1 + self.below(MOST) {
            let (name, (a, kind)) = (self.fresh(), self.pick(known, None).unwrap());
            let choice = self.below(12);
            let made = match choice {
                0..=2 => {
                    let op = UNARY[self.below(3)];
                    Some((kind, format!("R.{op}({a})")))
                }
                3 | 4 => {
                    let (b, op) = (self.pick(known, Some(kind)).unwrap().0, BINARY[self.below(4)]);
                    Some((kind, format!("R.{op}({a}, {b})")))
                }
                5 => self.convert(known, &a, kind),
                6 => self.alias(indent, known, &a, kind),
                7 if kind == 2 => {
                    let (b, _) = self.pick(known, Some(2)).unwrap();
                    let (tuple, field) = (self.fresh(), self.below(2));
                    writeln!(self.text, "{:indent$}{tuple} = cls.swap({a}, {b})", "").unwrap();
                    Some((2, format!("{tuple}[{field}]")))
                }
                8 if kind == 0 => {
                    // An overwritten value has no alias.
                    let fresh = self.fresh();
                    self.line(indent, &fresh, 0, &format!("R.negative({a})"));
                    let ty = TYPES[0];
                    Some((0, format!("R.call_tir_inplace(cls.double, ({fresh},), inplace_indices=[0], out_ty={ty})")))
                }
                9 | 10 if depth > 0 => {
                    self.branches(known, indent, depth, &name, kind);
                    known.push((name.clone(), kind));
                    None
                }
                _ => None,
            };
            if let Some((kind, value)) = made {
                self.line(indent, &name, kind, &value);
                known.push((name, kind));
            }
        }
    }

    /// Binds a value of another kind.
    fn convert(&mut self, known: &[(String, usize)], a: &str, kind: usize) -> Option<(usize, String)> {
        Some(match kind {
            0 => (2, format!("R.reshape({a}, R.shape([24]))")),
            1 => {
                let (b, _) = self.pick(known, Some(1))?;
                (3, format!("R.concat(({a}, {b}), axis=0)"))
            }
            2 => (4, format!("R.astype({a}, dtype=\"int32\")")),
            3 => (1, format!("R.strided_slice({a}, axes=[0], begin=[0], end=[n])")),
            _ => (2, format!("R.astype({a}, dtype=\"float32\")")),
        })
    }

    /// Binds an alias of a value.
    fn alias(&mut self, indent: usize, known: &[(String, usize)], a: &str, kind: usize) -> Option<(usize, String)> {
        let view = |of: usize, shape: &str| {
            let ty = TYPES[of];
            (of, format!("R.call_pure_packed(\"vm.builtin.reshape\", {a}, R.shape({shape}), ty_args=({ty},))"))
        };
        Some(match (self.below(4), kind) {
            (0, 0) => view(2, "[24]"),
            (0, 2) => view(0, "[6, 4]"),
            (1, _) => {
                let ((b, _), tuple) = (self.pick(known, None)?, self.fresh());
                writeln!(self.text, "{:indent$}{tuple} = ({b}, {a})", "").unwrap();
                (kind, format!("{tuple}[1]"))
            }
            (2, _) => (kind, format!("R.match_cast({a}, {})", TYPES[kind])),
            _ => (kind, a.to_owned()),
        })
    }

    fn branches(&mut self, known: &[(String, usize)], indent: usize, depth: usize, name: &str, kind: usize) {
        for head in ["if c:", "else:"] {
            writeln!(self.text, "{:indent$}{head}", "").unwrap();
            let mut inner = known.to_vec();
            self.body(&mut inner, indent + 4, depth - 1);
            let (result, _) = self.pick(&inner, Some(kind)).unwrap();
            self.line(indent + 4, name, kind, &result);
        }
    }
}
