//! Programs and arguments of random shapes, dtypes and values.

use crate::rng::Rng;
use half::f16;
use hammock_runtime::Tensor;

/// A case: a program, the arguments of its `main`, and how far results may be away, relative to the largest.
pub struct Case {
    pub text: String,
    pub args: Vec<Tensor>,
    pub tolerance: f64,
}

/// A size: a number, or a symbol that has this value in the call.
#[derive(Clone, Debug)]
pub struct Dim {
    pub size: i64,
    pub text: String,
}

impl Dim {
    pub fn known(size: i64) -> Dim {
        Dim { size, text: size.to_string() }
    }
}

/// Values of an argument.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// Multiples of 1/16 between two numbers.
    Between(i64, i64),
    /// Multiples of 1/4 between -4 and 4, with zeros of both signs, infinities and NaN among them.
    Special,
    /// Indices below a number, of which none occurs twice in a row along the last axis.
    Distinct(i64),
}

/// A value of a program.
#[derive(Clone, Debug)]
pub struct Value {
    pub name: String,
    pub dtype: &'static str,
    pub shape: Vec<Dim>,
}

impl Value {
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn is_float(&self) -> bool {
        self.dtype.starts_with("float")
    }

    /// The sizes as a list.
    pub fn sizes(&self) -> String {
        self.shape.iter().map(|dim| dim.text.clone()).collect::<Vec<_>>().join(", ")
    }
}

/// Sizes: small ones, primes, powers of two with their neighbours, some that take several blocks.
const SIZES: [i64; 28] =
    [1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 23, 31, 32, 33, 48, 64, 65, 97, 127, 128, 129, 255, 300, 513, 1024, 2050];
/// Share of sizes that are zero, and that are dynamic, in per cent.
const EMPTY: u64 = 3;
const DYNAMIC: u64 = 40;

/// Draws a case.
pub struct Draw {
    pub rng: Rng,
    pub tolerance: f64,
    symbols: usize,
    values: usize,
    params: Vec<String>,
    args: Vec<Tensor>,
    lines: Vec<String>,
    results: Vec<String>,
}

impl Draw {
    pub fn new(seed: u64) -> Draw {
        let none = Vec::new;
        Draw {
            rng: Rng::new(seed),
            tolerance: 2e-5,
            symbols: 0,
            values: 0,
            params: none(),
            args: Vec::new(),
            lines: none(),
            results: none(),
        }
    }

    /// A size of up to `most`.
    pub fn dim(&mut self, most: i64) -> Dim {
        let size = if self.rng.chance(EMPTY) { 0 } else { self.full_dim(most).size };
        self.maybe_dynamic(size)
    }

    /// A size from one to `most`.
    pub fn full_dim(&mut self, most: i64) -> Dim {
        let fits: Vec<i64> = SIZES.into_iter().filter(|size| *size <= most).collect();
        let size = *self.rng.pick(&fits);
        self.maybe_dynamic(size)
    }

    /// A size between two.
    pub fn between(&mut self, low: i64, high: i64) -> Dim {
        let size = self.rng.between(low, high.max(low));
        self.maybe_dynamic(size)
    }

    fn maybe_dynamic(&mut self, size: i64) -> Dim {
        if !self.rng.chance(DYNAMIC) {
            return Dim::known(size);
        }
        self.dynamic(size)
    }

    /// A dynamic dimension that has a size in the call.
    pub fn dynamic(&mut self, size: i64) -> Dim {
        self.symbols += 1;
        Dim { size, text: format!("n{}", self.symbols) }
    }

    /// A shape of some rank with up to `most` elements.
    pub fn shape(&mut self, ranks: (i64, i64), most: i64) -> Vec<Dim> {
        let rank = self.rng.between(ranks.0, ranks.1);
        let mut left = most;
        let mut shape: Vec<Dim> = Vec::new();
        for _ in 0..rank {
            let dim = self.dim(left);
            left /= dim.size.max(1);
            shape.push(dim);
        }
        // The large sizes are at either end.
        let by = (self.rng.below(rank.max(1) as u64) as usize).min(shape.len());
        shape.rotate_left(by);
        shape
    }

    /// Draws an axis of a value.
    pub fn axis(&mut self, value: &Value) -> usize {
        self.rng.below(value.rank() as u64) as usize
    }

    /// A parameter of `main`.
    pub fn param(&mut self, dtype: &'static str, shape: &[Dim], values: Values) -> Value {
        let name = format!("p{}", self.params.len());
        let value = Value { name, dtype, shape: shape.to_vec() };
        let comma = if shape.len() == 1 { "," } else { "" };
        self.params.push(format!("{}: R.Tensor(({}{comma}), \"{dtype}\")", value.name, value.sizes()));
        let sizes: Vec<i64> = shape.iter().map(|dim| dim.size).collect();
        let numbers = self.numbers(sizes.iter().product(), sizes.last().copied().unwrap_or(1), values);
        self.args.push(tensor(dtype, &sizes, &numbers));
        value
    }

    fn numbers(&mut self, count: i64, row: i64, values: Values) -> Vec<f64> {
        let rng = &mut self.rng;
        let special = |rng: &mut Rng| match rng.below(24) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => 0.0,
            _ => rng.between(-16, 16) as f64 / 4.0,
        };
        match values {
            Values::Between(low, high) => (0..count).map(|_| rng.between(low * 16, high * 16) as f64 / 16.0).collect(),
            Values::Special => (0..count).map(|_| special(rng)).collect(),
            Values::Distinct(below) => {
                let mut all = Vec::new();
                while (all.len() as i64) < count {
                    let mut row_values: Vec<i64> = (0..below.max(row)).collect();
                    for at in (1..row_values.len()).rev() {
                        row_values.swap(at, rng.below(at as u64 + 1) as usize);
                    }
                    all.extend(row_values.into_iter().take(row as usize).map(|v| v as f64));
                }
                all
            }
        }
    }

    /// A value of a call.
    pub fn bind(&mut self, call: String, dtype: &'static str, shape: Vec<Dim>) -> Value {
        let name = self.bind_any(call);
        Value { name, dtype, shape }
    }

    /// The name of a value whose shape the program does not need.
    pub fn bind_any(&mut self, call: String) -> String {
        self.values += 1;
        self.lines.push(format!("v{} = {call}", self.values));
        format!("v{}", self.values)
    }

    /// Makes a value one of the results.
    pub fn result(&mut self, name: impl Into<String>) {
        self.results.push(name.into());
    }

    pub fn case(self) -> Case {
        let symbols: Vec<String> = (1..=self.symbols).map(|i| format!("n{i} = TypeVar(\"n{i}\")\n")).collect();
        let lines: Vec<String> = self.lines.iter().map(|line| format!("            {line}\n")).collect();
        let results = self.results.join(", ");
        let text = format!(
            "from typing import TypeVar\nfrom tvm.script import ir as I\nfrom tvm.script import relax as R\n\n{}\
             @I.ir_module\nclass Module:\n    @R.function\n    def main({}):\n        with R.dataflow():\n{}            \
             R.output({results})\n        return ({results},)\n",
            symbols.concat(),
            self.params.join(", "),
            lines.concat(),
        );
        Case { text, args: self.args, tolerance: self.tolerance }
    }
}

fn tensor(dtype: &str, shape: &[i64], values: &[f64]) -> Tensor {
    macro_rules! elements {
        ($element:expr) => {
            Tensor::from_slice(shape, &values.iter().map($element).collect::<Vec<_>>())
        };
    }
    let tensor = match dtype {
        "float64" => elements!(|v| *v),
        "float32" => elements!(|v| *v as f32),
        "float16" => elements!(|v| f16::from_f64(*v)),
        "int64" => elements!(|v| *v as i64),
        "int32" => elements!(|v| *v as i32),
        "int8" => elements!(|v| *v as i8),
        "uint8" => elements!(|v| *v as u8),
        "bool" => elements!(|v| *v > 0.0),
        other => panic!("no test has tensors of {other}"),
    };
    tensor.unwrap_or_else(|error| panic!("{dtype} {shape:?}: {error}"))
}
